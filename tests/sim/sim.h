/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_SIM_SIM_H
#define ROOST_TESTS_SIM_SIM_H

/*
 * Two engines joined by simulated links, under virtual time.
 *
 * A world (struct sim) has two ends, each a device of its own with two ports,
 * and two links, port 1 to port 1 and port 2 to port 2, that lose, double,
 * reorder, corrupt and delay frames as they are told. What does not name a
 * port is about the first: only tests of path migration use the other. Time
 * moves from event to event, so that a timeout of seconds takes microseconds.
 * With ROOST_SIM_WORKERS=N each device has N workers, which turn in an order by
 * chance; frames come to a queue by their flow, by chance, and a port may have
 * less queues than there are workers.
 * With ROOST_SIM_SELECTIVE=ab (or a, b) both ends (or that one) repeat
 * selectively; else both go back N.
 * All chance comes from one seed: the first argument of the program, or
 * ROOST_SIM_SEED, or 1; it is printed. With ROOST_SIM_PCAP=FILE every frame
 * that a test sends is written to that file too.
 *
 * The world watches by itself, and fails the running test when
 * - a frame that is sent is malformed, skips a PSN or leaves the window;
 * - a work request completes twice, out of order, or unsignalled with success;
 * - received data differ from what was sent, or a byte outside the receive
 *   buffer was written;
 * - an async event is raised before a completion that happened before it can be
 *   polled;
 * - an mbuf, a neighbour reference or an event is left over in the end.
 *
 * Thread: one, but for the locks of the engine; see test_arm.c for threads.
 */

#include <pthread.h>
#include <stdbool.h>

#include <roost/cq.h>
#include <roost/mr.h>
#include <roost/qp.h>
#include <roost/srq.h>
#include "lib/engine/core/dev.h"
#include "lib/engine/core/port.h"
#include "lib/engine/core/shim.h"
#include "lib/engine/core/workers.h"
#include "lib/engine/sched/worker.h"
#include "lib/wire/frame.h"
#include "tests/cmocka.h"

struct rte_mempool;
struct sim;
struct sim_qp;

#define SIM_A 0
#define SIM_B 1
#define SIM_QPS_MAX 128
#define SIM_SGES_MAX 8
#define SIM_ASYNC_TYPES 32
#define SIM_US 1000ull
#define SIM_MS 1000000ull
#define SIM_S 1000000000ull

/* ---- random numbers (rng.c) ----------------------------------------- */

struct sim_rng {
	uint64_t state;
};

uint64_t sim_random(struct sim_rng *rng);
/* 0 .. limit - 1; 0 when limit is 0. */
uint64_t sim_random_below(struct sim_rng *rng, uint64_t limit);
bool sim_random_chance(struct sim_rng *rng, uint32_t ppm);
void sim_random_fill(struct sim_rng *rng, uint8_t *p, size_t len);

/* ---- the link (link.c) ---------------------------------------------- */

/* What happens to frames of one direction: those that one end sends. */
struct sim_faults {
	uint32_t drop_ppm;
	uint32_t dup_ppm;
	uint32_t corrupt_ppm;  /* one flipped bit */
	uint32_t mark_ppm;     /* ECN: CE, of those that may be marked */
	uint32_t reorder_pkts; /* how many later frames may overtake one */
	uint64_t delay_ns;
	uint64_t jitter_ns; /* up to this much more, for each frame */
	int64_t drop_nth;   /* the frame with this number; -1: none */
	uint64_t dup_nth;   /* the same, counted from 1; 0: none */
	uint64_t late_nth;  /* comes late_ns later than it should */
	uint64_t late_ns;
	bool carrier_off;  /* everything is lost */
	bool takes_none;   /* the port takes no frame */
	uint16_t take_max; /* of a burst the port takes so many; 0: all */
};

/* A frame as it was sent, before the link did anything to it. */
struct sim_sent {
	uint64_t at_ns;
	struct roost_psn psn;
	uint8_t opcode;
	uint8_t syndrome; /* of an ACK */
};

/* Decides about each frame before the faults do. Returns false: it is lost. */
typedef bool sim_filter(struct sim *sim, int side, const struct roost_pkt *pkt,
			void *arg);

struct sim_wire; /* frames on their way in one direction */

struct sim_link {
	struct sim_faults faults[2]; /* by the side that sends */
	sim_filter *filter;
	void *filter_arg;
	struct sim_sent *log[2];
	size_t nb_log[2], log_room[2];
	uint64_t nb_lost[2], nb_corrupt[2], nb_dup[2], nb_marked[2];
	struct sim_wire *wires[2];
};

/* Put a frame on the wire of port 1 from a side as it is, past all faults. */
void sim_link_put(struct sim *sim, int side, const void *frame, size_t len);

/* ---- the world (sim.c) ---------------------------------------------- */

struct sim_port {
	struct sim_end *end;
	uint8_t num; /* 1 or 2 */
	struct sim_link *link;
	uint8_t mac[6];
	struct roost_gid gid;     /* index 0, IPv4 */
	struct roost_gid gid6;    /* index 1, IPv6 */
	struct roost_neigh neigh; /* of the port at the other end */
};

struct sim_end {
	struct sim *sim;
	int side;
	uint16_t vlan_id; /* of both ports */
	bool punts_vlans;
	bool shares_addrs; /* SIM_B has the addresses of SIM_A */
	bool sends_any;    /* frames that are not RoCEv2, too */
	struct sim_port ports[2];
	struct roost_gid gid; /* those of port 1, too */
	struct roost_gid gid6;
	struct rte_mempool *pool;    /* of frames that it sends */
	struct rte_mempool *rx_pool; /* of frames that it receives */
	unsigned int pool_before, rx_pool_before;
	struct roost_dev *dev;
	unsigned int nb_queues;      /* of each port */
	struct roost_worker *worker; /* the first one */
	struct roost_qp *shifts[ROOST_DEV_WORKERS_MAX];
	unsigned int nb_shifts;
	struct roost_ctx *ctx;
	struct roost_pd *pd;
	struct roost_mr *mr; /* of the whole arena, for every access */
	struct roost_cq *cq; /* of QPs that bring none */
	int neigh_refs;      /* of both ports */
	int meet_error;      /* what it says of those that it meets; or 0 */
	pthread_mutex_t *not_under; /* nobody asks under it; or NULL */
	unsigned int nb_punted;
	_Atomic uint64_t services_due_ns;      /* when the services run next */
	uint32_t other_async[SIM_ASYNC_TYPES]; /* not of QPs */
	struct roost_dev_counters counters;    /* sim_counters() */
};

struct sim {
	uint64_t now_ns;
	/* The workers turn at multiples of this, so that frames come in
	 * bursts; 1: whenever something happens.
	 */
	uint64_t turn_ns;
	struct sim_rng rng;
	struct sim_end ends[2];
	struct sim_link link;  /* between the first ports */
	struct sim_link link2; /* between the second */
	struct sim_qp *qps[SIM_QPS_MAX];
	unsigned int nb_qps;
	bool nobody_polls; /* completions stay in their CQs */
	uint8_t *arena;
	size_t arena_used;
};

struct sim *sim_new(void);
/* Which ends of worlds that are made from now on repeat selectively. */
void sim_set_selective(bool a, bool b);
/* The same from another seed than the program's. */
struct sim *sim_new_seeded(uint64_t seed);
/* Its ends are on these VLANs. */
struct sim *sim_new_on_vlans(uint16_t a, uint16_t b);
/* They are on none, and give frames of any VLAN to their hosts. */
struct sim *sim_new_with_twins(void);
/* Both have the same addresses, as clients of a shared port. */
struct sim *sim_new_sharing(void);
/* Destroy everything that is left, and check what must be so in the end. */
void sim_free(struct sim *sim);

/* Run until nothing is in flight nor to be sent, or for so long. */
void sim_run(struct sim *sim);
void sim_run_for(struct sim *sim, uint64_t ns);
/* Turn both workers at the time that it is, until they are idle. */
void sim_turn(struct sim *sim);
/* Has a worker of the end requests in flight, or anything else to do? */
bool sim_is_busy(const struct sim_end *end);
/* Take all completions and async events there are. */
void sim_poll(struct sim *sim);
/* Both directions of the first link. */
void sim_set_faults(struct sim *sim, const struct sim_faults *faults);
/* Read the counters of a side, freshly. */
const struct roost_dev_counters *sim_counters(struct sim *sim, int side);

/*
 * The main function of a program of tests: seed, EAL, cmocka. argv[2], if
 * there is one, says which tests to run (a pattern).
 */
int sim_main(int argc, char **argv, const char *name,
	     const struct CMUnitTest *tests, size_t nb_tests);
uint64_t sim_seed(void);
/* In the list of tests, one that looks at single iterations, or at an order
 * that one worker gives: it is left out where there are several.
 */
#define SIM_TEST_ONE_WORKER(test)                                              \
	{                                                                      \
		.name = #test, .test_func = (test),                            \
		.initial_state = &sim_one_worker                               \
	}
extern char sim_one_worker;
#define SIM_MAIN(name, tests)                                                  \
	int main(int argc, char **argv)                                        \
	{                                                                      \
		return sim_main(argc, argv, name, tests,                       \
				sizeof(tests) / sizeof((tests)[0]));           \
	}

/* ---- QPs (qp.c) ----------------------------------------------------- */

struct sim_qp_conf {
	enum roost_qp_type type;
	enum roost_mtu mtu;
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_inline_bytes;
	int64_t sq_psn; /* -1: random */
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t min_rnr_timer;
	uint8_t rd_atomic; /* READs and atomics at a time, both directions */
	uint32_t access;   /* what the peer may do */
	uint32_t qkey;     /* UD */
	uint8_t tclass;    /* of its packets; not UD */
	bool sig_all;
	bool block_self_mcast;
	bool ipv6;
	/* Its window is that of a new path; else it is open, as after slow
	 * start.
	 */
	bool first_window;
	struct roost_cq *cq; /* NULL: the one of the end */
	struct roost_srq *srq;
	struct roost_xrcd *xrcd; /* XRC_TGT */
};

extern const struct sim_qp_conf sim_qp_conf_default;

struct sim_slice {
	uint8_t *data; /* guard bytes stand before and behind */
	uint32_t len_bytes;
};

/* One work request. */
struct sim_wr {
	struct sim_slice slices[SIM_SGES_MAX];
	uint32_t nb_slices;
	uint32_t len_bytes;
	uint32_t flags; /* enum roost_send_flags */
	uint32_t imm_be;
	uint8_t opcode;          /* enum roost_wr_opcode */
	struct sim_slice remote; /* what it works on over there */
	uint64_t orig;           /* atomics: what must come back */
	bool check_orig;
	unsigned int nb_completions;
	bool received; /* a send: a receive was for it */
	struct roost_cqe cqe;
};

struct sim_wrs {
	struct sim_wr *wr;
	uint32_t count, room;
	uint32_t completed; /* all before this one are over */
};

struct sim_qp {
	struct sim *sim;
	struct sim_end *end;
	struct sim_qp *peer;
	unsigned int index; /* in sim.qps */
	struct roost_qp *qp;
	uint32_t qpn;
	struct sim_qp_conf conf;
	uint32_t sq_psn;
	struct roost_psn top_psn; /* behind the highest that was seen sent */
	int32_t read_psns;        /* the most that one READ took */
	/* Where its atomics go, and what must stand there when all that were
	 * posted are done.
	 */
	struct sim_slice counter;
	uint64_t counted;
	struct sim_wrs sends;
	struct sim_wrs recvs;
	uint32_t match; /* the peer's send that the next receive should take */
	uint32_t async[SIM_ASYNC_TYPES]; /* events seen, by type */
	bool no_data_check; /* what comes is not all of the peer's making */
	bool rearmed;       /* its packets need not say MigReq */
};

/* In state RESET. conf NULL: the default. */
struct sim_qp *sim_qp_new(struct sim *sim, int side,
			  const struct sim_qp_conf *conf);
void sim_qp_destroy(struct sim_qp *qp);
/* Each of the other's peer; they need not be on different sides. */
void sim_qp_join(struct sim_qp *a, struct sim_qp *b);
int sim_qp_to_init(struct sim_qp *qp);
int sim_qp_to_rtr(struct sim_qp *qp);
int sim_qp_to_rts(struct sim_qp *qp);
/* RESET, ERR or SQD: states that ask for nothing. */
int sim_qp_to(struct sim_qp *qp, enum roost_qp_state state);
/* All of this for a pair, both in RTS. */
void sim_pair(struct sim *sim, const struct sim_qp_conf *conf,
	      struct sim_qp **a, struct sim_qp **b);
void sim_connect(struct sim_qp *a, struct sim_qp *b);

/* ---- work requests (wr.c) ------------------------------------------- */

struct sim_msg {
	enum roost_wr_opcode opcode;
	uint32_t flags;
	uint32_t imm_be;
	uint32_t nb_sges;
	uint32_t sge_len_bytes[SIM_SGES_MAX];
	uint32_t lkey;    /* instead of the right one; 0: the right one */
	uint32_t bad_sge; /* the SGE that gets lkey */
	/* Of requests to remote memory. Each WRITE and READ has memory of its
	 * own there, and all atomics of a QP the same eight bytes, unless
	 * remote says otherwise; then the result is not compared.
	 */
	uint64_t remote;
	uint32_t rkey;
	uint64_t swap_add;
	uint64_t compare;
	uint8_t flush_type;
	struct roost_mw_bind bind;
};

/* Post; the number of the request, counted from 0 for each queue. They fail
 * the test when posting fails.
 */
uint32_t sim_send(struct sim_qp *qp, uint32_t len_bytes);
uint32_t sim_send_msg(struct sim_qp *qp, const struct sim_msg *msg);
uint32_t sim_recv(struct sim_qp *qp, uint32_t len_bytes);
uint32_t sim_recv_msg(struct sim_qp *qp, const struct sim_msg *msg);
/* The same, but for the outcome: 0 or what the engine said. */
int sim_try_send(struct sim_qp *qp, const struct sim_msg *msg);

/* A completion that the world has polled. */
void sim_wr_complete(struct sim *sim, const struct roost_cqe *cqe);

/* It completed, with this status. */
void sim_expect_send(struct sim_qp *qp, uint32_t i,
		     enum roost_wc_status status);
void sim_expect_recv(struct sim_qp *qp, uint32_t i,
		     enum roost_wc_status status);
/* It did not complete. */
void sim_expect_send_open(struct sim_qp *qp, uint32_t i);
void sim_expect_recv_open(struct sim_qp *qp, uint32_t i);
/* Every send (if signalled) and every receive of both completed well. */
void sim_expect_all_good(struct sim_qp *a, struct sim_qp *b);
/* Its atomics were executed once each. */
void sim_check_counter(struct sim_qp *qp);
/* No byte outside the buffers of its requests was written, here or there. */
void sim_check_guards(struct sim_qp *qp);

/* ---- frames (frame.c, pcap.c) --------------------------------------- */

/* Fail the test when a frame that the engine sent is not as it must be. */
void sim_check_frame(const struct sim_port *from, const void *data, size_t len,
		     struct roost_pkt *pkt);
/* Make a frame as the peer of qp would, and put it on the wire to qp. */
void sim_forge(struct sim_qp *qp, const struct roost_bth *bth,
	       const void *after_bth, size_t len);
/* An ACK or a NAK to qp. */
void sim_forge_ack(struct sim_qp *qp, uint8_t syndrome, uint32_t psn);
/* How many PSNs a READ of that length takes. */
uint32_t sim_read_psns(const struct sim_qp *qp, uint32_t len_bytes);
/* Flow of frames from the peer of qp to qp. */
struct roost_flow sim_flow_to(struct sim_qp *qp);
void sim_forge_on(struct sim_qp *qp, const struct roost_flow *flow,
		  const struct roost_bth *bth, const void *after_bth,
		  size_t len);

void sim_pcap_open(void);
void sim_pcap_write(uint64_t at_ns, const void *data, size_t len);

#endif
