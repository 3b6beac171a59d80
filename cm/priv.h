/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_PRIV_H
#define ROOST_CM_PRIV_H

/*
 * Inside of the connection manager; for cm/ only.
 *
 * One lock per CM guards everything in it. It is released around callbacks:
 * after roost_cm_tell() conn may be gone (the return value says so), and
 * everything else may have changed. It is also released while the CM looks for
 * the next hop back to a requester, because that may ask the kernel.
 */

#include <pthread.h>
#include <sys/queue.h>

#include <roost/cm.h>
#include "cm/msg.h"
#include "cm/state.h"
#include "cm/watch.h"
#include "lib/engine/core/conn_view.h"
#include "lib/engine/core/dev.h"
#include "lib/engine/transport/gsi.h"
#include "lib/engine/core/idmap.h"
#include "lib/engine/core/route.h"
#include "lib/engine/core/service.h"
#include "lib/engine/core/timer.h"

/* For the connections of timewait, too: 105,000 at 50,000 a second. */
#define ROOST_CM_BUCKETS 32768u
#define ROOST_CM_PEERS 1024u
#define ROOST_CM_HOP_BUCKETS 1024u
/* Maximum of half-open connections: requests that were not answered, and
 * replies that were not confirmed. A peer may have as many as are still free,
 * so a peer that is alone gets half of them. For one more, the oldest one of
 * the peer with the most half-open connections is dropped. So no peer keeps
 * others out, a peer that floods takes its own places, and established
 * connections are not affected.
 */
#define ROOST_CM_HALF_OPEN_MAX 20480u
/* Requests that are held until the next hop back is known: how many, and for
 * how long.
 */
#define ROOST_CM_HELD_MAX 256u
#define ROOST_CM_HELD_NS 1000000000ull
/* A program that opens a device listens soon, and whoever asks meanwhile need
 * not ask again: so many requests wait for a listener, in this time after the
 * CM's first run.
 */
#define ROOST_CM_EARLY_MAX 64u
#define ROOST_CM_YOUNG_NS 250000000ull
/* Maximum of answers that are kept for duplicates of the request. */
#define ROOST_CM_KEPT_MAX 4096u
#define ROOST_CM_CODE_MAX 31u
/* The timers of connections last for seconds: the time of their wheel is in
 * units of 128 ns, so that a tick is 1.05 ms and a round 8.6 s, longer than any
 * of them but a peer's long timewait. A timer that is more than a round away
 * would move in each round.
 */
#define ROOST_CM_TIMER_SHIFT 7

/* How much later than its call a timer may begin, which spares a wake of the
 * control thread for each; a timer that is shorter than sixteen times that
 * begins at once.
 */
#define ROOST_CM_BEGIN_NS (1ull << 25) /* 34 ms */

/* The key of a peer's number. */
struct roost_cm_key {
	struct roost_gid gid;
	uint64_t ca_guid; /* SIDR: 0 */
	uint32_t number;  /* communication ID, QPN, or request ID */
};

struct roost_cm_entry {
	LIST_ENTRY(roost_cm_entry) link;
	struct roost_cm_key key;
	struct roost_cm_conn *conn;
	bool in;
};

struct roost_cm_table {
	uint64_t secret;
	LIST_HEAD(, roost_cm_entry) buckets[ROOST_CM_BUCKETS];
};

/* A step that a connection took; consecutive equal ones are one. */
struct roost_cm_moment {
	uint64_t at_ns; /* of the last one; 0: since the last run */
	uint16_t count;
	uint16_t code; /* reason of a REJ, status of a SIDR_REP; else 0 */
	uint8_t input; /* enum roost_cm_input */
	uint8_t state; /* enum roost_cm_state, after it */
};

/* One end of a connection, or of the lookup of a datagram service. */
struct roost_cm_conn {
	struct roost_cm *cm;
	roost_cm_callback *callback;
	void *arg;
	enum roost_cm_state state;
	enum roost_cm_lap_state lap;
	bool pinned; /* a waiting thread refers to it: not to be freed */
	bool owned;  /* false: no owner; exists until its timer fires */
	bool passive;
	bool comm_est;                          /* the next run raises
						 * ESTABLISHED */
	struct roost_cm_peer_bounds *half_open; /* the peer that conn counts
						 * for; NULL: not half-open */
	TAILQ_ENTRY(roost_cm_conn) half_open_link;
	/* The listener whose backlog counts conn; NULL: the request was
	 * fetched.
	 */
	struct roost_cm_listener *backlog;

	uint32_t local_id;
	uint32_t remote_id; /* 0: not known yet */
	uint64_t tid;       /* of the exchange */
	uint64_t service_id;
	struct roost_cm_entry by_id;  /* the peer's number: tables.ids, or
				       * tables.sidr */
	struct roost_cm_entry by_qpn; /* the peer's QPN */

	struct roost_cm_path path;
	struct roost_cm_path alternate;
	bool has_path;
	bool has_alternate;
	struct roost_gsi_addr addr; /* for our MADs */
	struct roost_neigh *neigh;  /* reference, or NULL */
	struct roost_cm_hop *hop;   /* of neigh; NULL: none, or no memory */
	LIST_ENTRY(roost_cm_conn) hop_link;
	uint64_t mac_gen; /* generation of neigh's MAC that the owner
			   * knows; 0: none yet */

	/* Of the QP. */
	enum roost_qp_type qp_type; /* ours */
	uint32_t local_qpn;
	uint32_t remote_qpn;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t timeout;     /* local ACK timeout code of the path */
	uint8_t alt_timeout; /* of the alternate one */
	uint8_t ack_timeout; /* set by the owner; 0: use timeout */

	/* The last message that may be sent again. */
	uint8_t mad[ROOST_CM_MAD_LEN];
	enum roost_cm_msg_type mad_type;
	bool mad_waits;   /* for the MAC of the next hop, or for room */
	uint8_t *lap_mad; /* last LAP that was sent; NULL: none */
	uint8_t max_tries;
	uint8_t tries_left;
	uint8_t service_timeout; /* of our MRAs */
	bool retrying;
	uint64_t retry_ns; /* between two tries */
	uint64_t soon_ns;  /* to the next repetition; 0: that is retry_ns */
	/* The timer starts when the services run, because only they have the
	 * time.
	 */
	uint64_t wait_ns; /* 0: no timer to start */
	bool in_fresh;
	struct roost_timer timer;
	TAILQ_ENTRY(roost_cm_conn) fresh_link;

	/* Address resolution. */
	bool resolving;
	bool in_asking;
	uint64_t resolve_ns;     /* duration; 0: the deadline is set */
	uint64_t resolve_at_ns;  /* deadline */
	uint64_t resolve_for_ns; /* duration, for the line to the user */
	TAILQ_ENTRY(roost_cm_conn) asking_link;
	bool in_held;
	TAILQ_ENTRY(roost_cm_conn) held_link;
	bool in_unsent;
	TAILQ_ENTRY(roost_cm_conn) unsent_link;
	LIST_ENTRY(roost_cm_conn) all_link;

	/* Its story (cm/view.c). */
	struct roost_cm_moment moments[ROOST_CONN_STEPS]; /* a ring */
	uint32_t nb_moments;                              /* ever */
	uint64_t since_ns; /* in this state; 0: as at_ns of a moment */
	bool in_noted;
	LIST_ENTRY(roost_cm_conn) noted_link;
};

/* The neighbour that connections send to. Once a second it is compared with
 * what it was, so that the time this takes depends on the number of neighbours,
 * and on the connections of those that changed.
 */
struct roost_cm_hop {
	struct roost_neigh *neigh; /* each connection has a reference */
	uint64_t mac_gen;          /* when it was last compared */
	LIST_HEAD(, roost_cm_conn) conns;
	LIST_ENTRY(roost_cm_hop) link;
	LIST_ENTRY(roost_cm_hop) bucket_link;
};

struct roost_cm_listener {
	struct roost_cm *cm;
	struct roost_cm_listen_param param;
	roost_cm_callback *callback;
	void *arg;
	int nb_waiting; /* requests not fetched */
	uint64_t nb_requests;
	uint64_t nb_dropped; /* because of the backlog */
	uint64_t dropped_at_ns;
	LIST_ENTRY(roost_cm_listener) link;
};

/* A request that nobody listens for yet. */
struct roost_cm_early {
	struct roost_gsi_msg in;
	TAILQ_ENTRY(roost_cm_early) link;
};

/* Limits of a peer. Peers whose addresses have the same hash share an entry. */
struct roost_cm_peer_bounds {
	uint64_t at_ns;
	uint32_t tokens; /* token bucket of requests */
	uint32_t nb_half_open;
	TAILQ_HEAD(, roost_cm_conn) half_open; /* oldest first */
};

struct roost_cm {
	struct roost_dev *dev;
	unsigned int refs; /* of programs; under the lock of all CMs */
	bool is_resident;  /* exists as long as dev; likewise */
	LIST_ENTRY(roost_cm) link;
	struct roost_dev_service service;

	pthread_mutex_t lock;
	/* Of the last run, less the time that the device stood still. */
	uint64_t now_ns;
	uint64_t at_ns;   /* of the last run, by the caller's clock */
	bool stood_still; /* in the last run */
	bool ran;         /* the timer wheel was initialised */
	bool running;
	bool serving; /* running on another thread than the control thread */
	/* The request that a thread that serves has left to the control thread.
	 */
	bool has_left;
	struct roost_gsi_msg left;
	uint64_t due_ns;      /* when the control thread runs next */
	bool must_run;        /* before the time that the last run told */
	bool soon;            /* a run comes at begin_at_ns, if not before */
	uint64_t begin_at_ns; /* for the timers of calls */
	uint64_t sweep_at_ns;
	struct roost_timer_wheel timers;
	struct roost_idmap ids; /* conns by our communication ID */
	struct roost_cm_table peer_ids;
	struct roost_cm_table peer_qpns;
	struct roost_cm_table sidrs;
	struct roost_cm_peer_bounds peers[ROOST_CM_PEERS];
	LIST_HEAD(, roost_cm_listener) listeners;
	LIST_HEAD(roost_cm_conns, roost_cm_conn) conns;
	LIST_HEAD(roost_cm_hops, roost_cm_hop) hops;
	struct roost_cm_hops hops_by_neigh[ROOST_CM_HOP_BUCKETS];
	LIST_HEAD(, roost_cm_watch) watches;
	bool gone;                         /* the device is gone, and watches
					    * were told */
	uint32_t gid_gen;                  /* roost_dev_gid_gen() at the last
					    * run */
	uint32_t up_gen;                   /* roost_dev_up_gen() */
	TAILQ_HEAD(, roost_cm_conn) fresh; /* timers to start */
	LIST_HEAD(, roost_cm_conn) noted;  /* moments without a time */
	/* Connections that wait for a MAC. */
	TAILQ_HEAD(roost_cm_asking, roost_cm_conn) asking;
	uint32_t nb_asking;
	TAILQ_HEAD(, roost_cm_conn) held; /* requests; oldest first */
	uint32_t nb_held;
	TAILQ_HEAD(, roost_cm_early) early; /* oldest first */
	uint32_t nb_early;
	uint64_t young_until_ns;            /* 0: it did not run yet */
	TAILQ_HEAD(, roost_cm_conn) unsent; /* no room in the worker's queue */
	uint64_t room_ns;                   /* until the next try */
	uint32_t nb_conns;
	uint32_t nb_half_open;
	uint32_t nb_timewait;
	uint32_t nb_kept;
	struct roost_cm_counters counters;

	/* The callback that is running. */
	struct roost_cm_conn *telling;
	struct roost_cm_listener *telling_listener;
	bool telling_gone; /* the callback destroyed conn */
	pthread_t telling_thread;
	pthread_cond_t told;
};

static inline void roost_cm_lock(struct roost_cm *cm)
{
	pthread_mutex_lock(&cm->lock);
}

/* The control thread is woken when it can have the lock. A run that is in
 * progress looks at must_run at its end.
 */
static inline void roost_cm_unlock(struct roost_cm *cm)
{
	const bool wake = cm->must_run && !cm->running;
	struct roost_dev *dev = cm->dev;

	pthread_mutex_unlock(&cm->lock);
	if (wake)
		roost_dev_service_wake(dev);
}

/* True in states that keep the last answer for duplicates of the request. */
static inline bool roost_cm_is_kept(enum roost_cm_state state)
{
	return state == ROOST_CM_REJ_SENT || state == ROOST_CM_SIDR_REPLIED;
}

/* 4.096 us * 2^code. Codes have five bits; larger values from a program's path
 * are cut to 31.
 */
static inline uint64_t roost_cm_code_ns(uint8_t code)
{
	return 4096ull << (code < ROOST_CM_CODE_MAX ? code : ROOST_CM_CODE_MAX);
}

/* Local ACK timeout code of a path: twice its packet lifetime, plus the ACK
 * delay of the far end (IBTA 12.7.34); both arguments are codes.
 */
uint8_t roost_cm_ack_timeout(uint8_t ack_delay, uint8_t packet_lifetime);

static inline void roost_cm_drop(struct roost_cm *cm, enum roost_cm_drop why)
{
	cm->counters.drops[why]++;
}

/* ---- conn.c ------------------------------------------------------------- */

/* A conn with a number, not owned yet. Returns 0, -ENOMEM. */
int roost_cm_conn_new(struct roost_cm *cm, struct roost_cm_conn **conn);
/* Free conn. No callback of conn runs or will run. */
void roost_cm_conn_free(struct roost_cm_conn *conn);
/* True if conn must stay without an owner: a timer, duplicates of a request, or
 * a waiting thread still need it.
 */
bool roost_cm_conn_lingers(const struct roost_cm_conn *conn);
void roost_cm_conn_off_backlog(struct roost_cm_conn *conn);

/* conn no longer waits for a MAC, or for room. */
void roost_cm_stop_asking(struct roost_cm_conn *conn);
void roost_cm_stop_sending(struct roost_cm_conn *conn);
/* Take conn off the list of held requests. */
void roost_cm_release(struct roost_cm_conn *conn);
/* Call the owner's callback; the lock is released meanwhile. Returns true when
 * conn still exists; it exists until the lock is released again. Control
 * thread.
 */
bool roost_cm_tell(struct roost_cm_conn *conn, struct roost_cm_event *event);
/* Wait for a callback of conn, or of listener, that another thread runs. */
void roost_cm_wait_told(struct roost_cm *cm, const struct roost_cm_conn *conn,
			const struct roost_cm_listener *listener);

/* ---- table.c ------------------------------------------------------------ */

/* Returns the conn that has the key already; NULL: the entry was added. */
struct roost_cm_conn *roost_cm_table_add(struct roost_cm_table *table,
					 struct roost_cm_entry *entry,
					 const struct roost_cm_key *key,
					 struct roost_cm_conn *conn);
struct roost_cm_conn *roost_cm_table_find(const struct roost_cm_table *table,
					  const struct roost_cm_key *key);
void roost_cm_table_del(struct roost_cm_entry *entry);

void roost_cm_peers_init(struct roost_cm *cm);
/* Take a token of this peer. Returns false when it has none: the request is
 * dropped.
 */
bool roost_cm_rate_take(struct roost_cm *cm, const struct roost_gid *peer);
/* The half-open connection to drop for one more of this peer; NULL: there is
 * room.
 */
struct roost_cm_conn *roost_cm_crowded_out(struct roost_cm *cm,
					   const struct roost_gid *peer);
/* Count conn as half-open, unless it is counted already. Its peer's address is
 * set.
 */
void roost_cm_opened(struct roost_cm_conn *conn);
void roost_cm_closed(struct roost_cm_conn *conn);

/* ---- hop.c -------------------------------------------------------------- */

/* conn sends to this neighbour, whose reference it takes; NULL: none. */
void roost_cm_hop_join(struct roost_cm_conn *conn, struct roost_neigh *neigh);
/* Give the reference back, if there is one. */
void roost_cm_hop_leave(struct roost_cm_conn *conn);
/* Generation of a neighbour's MAC; 0: not known. neigh may be NULL. */
uint64_t roost_cm_mac_gen(const struct roost_neigh *neigh);

/* ---- step.c: carry out -------------------------------------------------- */

/* A message with the transaction and the ids of conn. */
struct roost_cm_msg roost_cm_msg_between(const struct roost_cm_conn *conn,
					 enum roost_cm_msg_type type);
/* The message that a REJ of this end refers to: enum roost_cm_about. */
uint8_t roost_cm_about(enum roost_cm_state state);
/*
 * Execute a step. msg: the message of ACT_SEND, whose ids and tid are filled
 * in. mra_ns: for ACT_WAIT_MRA. Returns the event to raise, or
 * ROOST_CM_NO_EVENT.
 */
unsigned int roost_cm_take_step(struct roost_cm_conn *conn,
				const struct roost_cm_step *step,
				const struct roost_cm_msg *msg,
				uint64_t mra_ns);
/* As above, of the input's step, which is valid; its story gets a moment. msg:
 * also a message that came.
 */
unsigned int roost_cm_take_input(struct roost_cm_conn *conn,
				 enum roost_cm_input input,
				 const struct roost_cm_msg *msg,
				 uint64_t mra_ns);
unsigned int roost_cm_take_lap_step(struct roost_cm_conn *conn,
				    const struct roost_cm_step *step,
				    struct roost_cm_msg *msg, uint64_t mra_ns);
/* The state machine's part of destroy, without waiting. */
void roost_cm_conn_abandon(struct roost_cm_conn *conn);
/* Send a message that belongs to no conn back to the sender of `in`. */
void roost_cm_reply(struct roost_cm *cm, const struct roost_gsi_msg *in,
		    const struct roost_cm_msg *msg);
/* Copy the MAC of the next hop to conn. Returns false if conn has no MAC to
 * send to yet.
 */
bool roost_cm_refresh_mac(struct roost_cm_conn *conn);
/* The MAC is known now: send the message that waited for it. */
void roost_cm_send_waiting(struct roost_cm_conn *conn);
/* How long this end waits for the peer after this MRA. */
uint64_t roost_cm_mra_ns(const struct roost_cm_conn *conn,
			 const struct roost_cm_msg *msg);
/* Start the timer of conn with ns when the services run. */
void roost_cm_wait(struct roost_cm_conn *conn, uint64_t ns);
/* Send all messages again that have no answer yet; it is no retry. */
void roost_cm_repeat_all(struct roost_cm *cm);
/* There is a link again: send them again now and, as the peer may have just
 * begun, too, in ever longer intervals up to that of the retries.
 */
void roost_cm_link_up(struct roost_cm *cm);
/* The host of the peer says that nobody is there: shorten the waits for a DREP.
 */
void roost_cm_hasten(struct roost_cm *cm, const struct roost_gid *peer);
/* The timer of conn fired. */
void roost_cm_timer(struct roost_cm_conn *conn);

/* ---- input.c, request.c, lap.c ------------------------------------------ */

void roost_cm_input(struct roost_cm *cm, const struct roost_gsi_msg *in);
void roost_cm_got_req(struct roost_cm *cm, const struct roost_gsi_msg *in,
		      const struct roost_cm_msg *msg);
void roost_cm_got_sidr_req(struct roost_cm *cm, const struct roost_gsi_msg *in,
			   const struct roost_cm_msg *msg);
/* Pass held requests to their listeners, or drop them. Returns the time of the
 * next call. Control thread.
 */
uint64_t roost_cm_run_held(struct roost_cm *cm);
/* Look for listeners again for early requests. Returns the time of the next
 * call. Control thread.
 */
uint64_t roost_cm_run_early(struct roost_cm *cm);
void roost_cm_forget_early(struct roost_cm *cm);
void roost_cm_got_lap(struct roost_cm_conn *conn,
		      const struct roost_cm_msg *msg);
void roost_cm_got_apr(struct roost_cm_conn *conn,
		      const struct roost_cm_msg *msg);
void roost_cm_got_mra_lap(struct roost_cm_conn *conn,
			  const struct roost_cm_msg *msg);
/* A new connection has the peer's QPN of this one. */
void roost_cm_got_stale(struct roost_cm_conn *conn);
/* conn is half-open, and another connection needs its place. */
void roost_cm_got_crowded(struct roost_cm_conn *conn);
/* Answer `in` with a REJ, when it belongs to no conn. */
void roost_cm_reject_msg(struct roost_cm *cm, const struct roost_gsi_msg *in,
			 const struct roost_cm_msg *msg,
			 enum roost_cm_about about, uint16_t reason);

/* ---- news.c ------------------------------------------------------------- */

/* Look for changes of the device since the last run. Returns false when the
 * device is gone. Control thread.
 */
bool roost_cm_run_news(struct roost_cm *cm);

/* ---- view.c ------------------------------------------------------------- */

/* Add a moment to the story of conn. No call reads a clock: outside of a run,
 * it gets the time of the next one, which is within a second. msg NULL: none.
 */
void roost_cm_note(struct roost_cm_conn *conn, enum roost_cm_input input,
		   enum roost_cm_state next, const struct roost_cm_msg *msg);
/* A run begins: give the moments since the last one their time. */
void roost_cm_stamp(struct roost_cm *cm, uint64_t now_ns);
/* conn will be freed. */
void roost_cm_stop_noting(struct roost_cm_conn *conn);
/* The view of the service. */
void roost_cm_view(void *arg, uint64_t now_ns,
		   const struct roost_conn_viewer *viewer);

/* ---- listen.c ----------------------------------------------------------- */

/* The listener for a request: the one with its address, or one for all
 * addresses. NULL: none.
 */
struct roost_cm_listener *
roost_cm_find_listener(struct roost_cm *cm, uint64_t service_id,
		       const struct roost_cm_ip_hdr *ip);

/* ---- path.c ------------------------------------------------------------- */

/* Ask for the next hop of conn's path. Returns as roost_dev_ask(). */
int roost_cm_ask(struct roost_cm_conn *conn);
/* Print a line for the user: the request of conn was sent `tries` times without
 * an answer. Under the lock.
 */
void roost_cm_tell_silence(const struct roost_cm_conn *conn, uint32_t tries);
/* The same: the peer has no resources for one more. */
void roost_cm_tell_full(const struct roost_cm_conn *conn);
/* Would the next hop back to there have to be asked for? Releases the lock. */
bool roost_cm_has_to_ask(struct roost_cm *cm,
			 const struct roost_gsi_addr *addr);
/* Find the next hop back to the sender of conn's request. Returns 0 when it is
 * known or not needed; -EAGAIN while it is being asked for, with the neighbour
 * held by conn; else as roost_dev_meet(). Releases the lock: only conn stays
 * unchanged. Control thread.
 */
int roost_cm_meet_peer(struct roost_cm_conn *conn);
/* The worker's queue had no room for conn's message: send it in the next run.
 */
void roost_cm_send_later(struct roost_cm_conn *conn);
/* Serve the connections that wait for a MAC. Returns the time of the next call.
 * Control thread.
 */
uint64_t roost_cm_run_asking(struct roost_cm *cm);
/* Send the messages that waited for room, until there is no room again. Returns
 * the delay to the next try if some still wait. Control thread.
 */
uint64_t roost_cm_run_unsent(struct roost_cm *cm);
/* Find connections whose next hop has another MAC, and raise ADDR_CHANGE.
 * Control thread.
 */
void roost_cm_sweep(struct roost_cm *cm);
void roost_cm_path_to_msg(const struct roost_cm_path *path,
			  struct roost_cm_msg_path *to);
/* Convert to the receiver's view: the sender's local end is this end's remote.
 * port_num 0: any port that has the address. Returns 0, or -EADDRNOTAVAIL: no
 * port has it.
 */
int roost_cm_path_from_msg(struct roost_cm *cm, uint8_t port_num,
			   const struct roost_cm_msg_path *from,
			   struct roost_cm_path *path);
/*
 * The owner of a request goes on with it: conn holds the peer's neighbour from
 * here on. So its QP finds the neighbour, however many other addresses are
 * looked up in between, and another MAC is reported. Does not wait for the
 * network, but may ask the kernel: not under the lock.
 */
void roost_cm_hold_peer(struct roost_cm_conn *conn);
void roost_cm_set_path(struct roost_cm_conn *conn,
		       const struct roost_cm_path *path);

#endif
