/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_PRIV_H
#define ROOST_CM_PRIV_H

/*
 * Inside of the connection manager; for cm/ only.
 *
 * One lock per CM guards everything in it. It is let go around callbacks, so
 * whoever tells an event (roost_cm_tell) may find that conn is gone when it
 * returns, which it says, and that all else has changed. And it is let go
 * where a request asks for the way back, because that may ask the kernel.
 */

#include <pthread.h>
#include <sys/queue.h>

#include <roost/cm.h>
#include "cm/msg.h"
#include "cm/state.h"
#include "lib/engine/transport/gsi.h"
#include "lib/engine/core/idmap.h"
#include "lib/engine/core/route.h"
#include "lib/engine/core/service.h"
#include "lib/engine/core/timer.h"

#define ROOST_CM_BUCKETS 4096u
#define ROOST_CM_PEERS 1024u
/* Requests that were not answered, and replies that were not confirmed. A peer
 * may have as many as are left, so half of them when it is alone. For one more,
 * the oldest of the peer that has most goes. So nobody keeps others out, one
 * that floods takes its own places, and what stands is not concerned.
 */
#define ROOST_CM_HALF_OPEN_MAX 20480u
/* Requests that are not shown before the way back is known, and for how long.
 */
#define ROOST_CM_HELD_MAX 256u
#define ROOST_CM_HELD_NS 1000000000ull
/* Answers that are kept for duplicates. */
#define ROOST_CM_KEPT_MAX 4096u
#define ROOST_CM_CODE_MAX 31u

/* What makes a peer's number unique. */
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

/* One end of a connection, or of the lookup of a datagram service. */
struct roost_cm_conn {
	struct roost_cm *cm;
	roost_cm_callback *callback;
	void *arg;
	enum roost_cm_state state;
	enum roost_cm_lap_state lap;
	bool pinned; /* somebody waits with it in hand: not to be freed */
	bool owned;  /* false: it only waits for its timer */
	bool passive;
	bool comm_est;                          /* ESTABLISHED is to be told */
	struct roost_cm_peer_bounds *half_open; /* who is counted; NULL: not */
	TAILQ_ENTRY(roost_cm_conn) half_open_link;
	/* Whose backlog counts it; NULL: it was fetched. */
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
	uint64_t mac_gen;           /* of it, as it was told; 0: not yet */

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
	uint8_t ack_timeout; /* asked for by the owner; 0: timeout */

	/* The last message that may be sent again. */
	uint8_t mad[ROOST_CM_MAD_LEN];
	enum roost_cm_msg_type mad_type;
	bool mad_waits;   /* for the MAC of the next hop, or for room */
	uint8_t *lap_mad; /* LAP that was sent; NULL: none ever was */
	uint8_t max_tries;
	uint8_t tries_left;
	uint8_t service_timeout; /* of our MRAs */
	bool retrying;
	uint64_t retry_ns; /* between two tries */
	/* Begins when the services run: the time is theirs. */
	uint64_t wait_ns; /* 0: nothing to begin */
	bool in_fresh;
	struct roost_timer timer;
	TAILQ_ENTRY(roost_cm_conn) fresh_link;

	/* Address resolution. */
	bool resolving;
	bool in_asking;
	uint64_t resolve_ns;     /* to wait; 0: deadline is set */
	uint64_t resolve_at_ns;  /* deadline */
	uint64_t resolve_for_ns; /* the same, from its beginning */
	TAILQ_ENTRY(roost_cm_conn) asking_link;
	bool in_held;
	TAILQ_ENTRY(roost_cm_conn) held_link;
	bool in_unsent;
	TAILQ_ENTRY(roost_cm_conn) unsent_link;
	LIST_ENTRY(roost_cm_conn) all_link;
};

struct roost_cm_listener {
	struct roost_cm *cm;
	struct roost_cm_listen_param param;
	roost_cm_callback *callback;
	void *arg;
	int nb_waiting; /* requests not fetched */
	LIST_ENTRY(roost_cm_listener) link;
};

/* What a peer may ask for. Peers whose addresses have the same hash share one.
 */
struct roost_cm_peer_bounds {
	uint64_t at_ns;
	uint32_t tokens; /* requests that it may send; a bucket */
	uint32_t nb_half_open;
	TAILQ_HEAD(, roost_cm_conn) half_open; /* oldest first */
};

struct roost_cm {
	struct roost_dev *dev;
	unsigned int refs; /* under the lock of all CMs */
	LIST_ENTRY(roost_cm) link;
	struct roost_dev_service service;

	pthread_mutex_t lock;
	uint64_t now_ns; /* of the last run */
	bool ran;        /* the wheel has its time */
	bool running;
	uint64_t sweep_at_ns;
	struct roost_timer_wheel timers;
	struct roost_idmap ids; /* conns by our communication ID */
	struct roost_cm_table peer_ids;
	struct roost_cm_table peer_qpns;
	struct roost_cm_table sidrs;
	struct roost_cm_peer_bounds peers[ROOST_CM_PEERS];
	LIST_HEAD(, roost_cm_listener) listeners;
	LIST_HEAD(roost_cm_conns, roost_cm_conn) conns;
	LIST_HEAD(, roost_cm_watch) watches;
	bool gone;                         /* the device is, and it was told */
	uint32_t gid_gen;                  /* of the device, as it was told */
	TAILQ_HEAD(, roost_cm_conn) fresh; /* timers to begin */
	TAILQ_HEAD(roost_cm_asking, roost_cm_conn) asking; /* for a MAC */
	uint32_t nb_asking;
	TAILQ_HEAD(, roost_cm_conn) held; /* requests; oldest first */
	uint32_t nb_held;
	TAILQ_HEAD(, roost_cm_conn) unsent; /* no room in the worker */
	uint64_t room_ns;                   /* until the next try */
	uint32_t nb_conns;
	uint32_t nb_half_open;
	uint32_t nb_timewait;
	uint32_t nb_kept;
	struct roost_cm_counters counters;

	/* The callback that runs. */
	struct roost_cm_conn *telling;
	struct roost_cm_listener *telling_listener;
	bool telling_gone; /* conn was destroyed by it */
	pthread_t telling_thread;
	pthread_cond_t told;
};

/* States in which the last answer is there for duplicates of the request. */
static inline bool roost_cm_is_kept(enum roost_cm_state state)
{
	return state == ROOST_CM_REJ_SENT || state == ROOST_CM_SIDR_REPLIED;
}

/* 4.096 us * 2^code. Codes have five bits; programs may say more in a path. */
static inline uint64_t roost_cm_code_ns(uint8_t code)
{
	return 4096ull << (code < ROOST_CM_CODE_MAX ? code : ROOST_CM_CODE_MAX);
}

/* Local ACK timeout of a path: twice its lifetime, and what the far end takes
 * (IBTA 12.7.34), both codes.
 */
uint8_t roost_cm_ack_timeout(uint8_t ack_delay, uint8_t packet_lifetime);

static inline void roost_cm_drop(struct roost_cm *cm, enum roost_cm_drop why)
{
	cm->counters.drops[why]++;
}

/* ---- core.c: events ----------------------------------------------------- */

/* Call the owner; the lock is let go meanwhile. Returns whether conn is still
 * there: it is until the lock is let go again. Control thread.
 */
bool roost_cm_tell(struct roost_cm_conn *conn, struct roost_cm_event *event);
/* A callback of conn, or listener, runs in another thread: wait. */
void roost_cm_wait_told(struct roost_cm *cm, const struct roost_cm_conn *conn,
			const struct roost_cm_listener *listener);

/* ---- conn.c ------------------------------------------------------------- */

/* A conn with a number, not owned yet. Returns 0, -ENOMEM. */
int roost_cm_conn_new(struct roost_cm *cm, struct roost_cm_conn **conn);
/* Nobody tells, or is told, about it any more. */
void roost_cm_conn_free(struct roost_cm_conn *conn);
/* It may be freed when it is not owned and waits for nothing. */
bool roost_cm_conn_lingers(const struct roost_cm_conn *conn);
/* The owner's side of destroy: the step, without waiting. */
void roost_cm_conn_abandon(struct roost_cm_conn *conn);
void roost_cm_conn_off_backlog(struct roost_cm_conn *conn);

/* ---- table.c ------------------------------------------------------------ */

void roost_cm_table_init(struct roost_cm_table *table, uint64_t secret);
/* Returns the conn that has the key already, or NULL: entry is in. */
struct roost_cm_conn *roost_cm_table_add(struct roost_cm_table *table,
					 struct roost_cm_entry *entry,
					 const struct roost_cm_key *key,
					 struct roost_cm_conn *conn);
struct roost_cm_conn *roost_cm_table_find(const struct roost_cm_table *table,
					  const struct roost_cm_key *key);
void roost_cm_table_del(struct roost_cm_entry *entry);

void roost_cm_peers_init(struct roost_cm *cm);
/* May this peer ask for something once more? */
bool roost_cm_rate_take(struct roost_cm *cm, const struct roost_gid *peer);
/* Who makes room for one more in doubt of this peer; NULL: there is room. */
struct roost_cm_conn *roost_cm_crowded_out(struct roost_cm *cm,
					   const struct roost_gid *peer);
/* Count conn as in doubt, if it is not. It has its peer's address. */
void roost_cm_opened(struct roost_cm_conn *conn);
void roost_cm_closed(struct roost_cm_conn *conn);

/* ---- step.c: carry out -------------------------------------------------- */

/* A message of the conversation that conn is: its transaction and ids. */
struct roost_cm_msg roost_cm_msg_between(const struct roost_cm_conn *conn,
					 enum roost_cm_msg_type type);
/*
 * Take a step. msg: what ACT_SEND sends; from it ids, tid are filled in.
 * mra_ns: for ACT_WAIT_MRA. Returns the event to tell or ROOST_CM_NO_EVENT.
 */
unsigned int roost_cm_take_step(struct roost_cm_conn *conn,
				const struct roost_cm_step *step,
				struct roost_cm_msg *msg, uint64_t mra_ns);
unsigned int roost_cm_take_lap_step(struct roost_cm_conn *conn,
				    const struct roost_cm_step *step,
				    struct roost_cm_msg *msg, uint64_t mra_ns);
/* Send a message that belongs to no conn, back where in came from. */
void roost_cm_reply(struct roost_cm *cm, const struct roost_gsi_msg *in,
		    const struct roost_cm_msg *msg);
/* Which MAC the next hop has, if it is known now. */
bool roost_cm_refresh_mac(struct roost_cm_conn *conn);
/* The MAC is known now: send what waited for it. */
void roost_cm_send_waiting(struct roost_cm_conn *conn);
/* How long the peer may keep us waiting after this MRA. */
uint64_t roost_cm_mra_ns(const struct roost_cm_conn *conn,
			 const struct roost_cm_msg *msg);
/* Begin to wait for ns when the services run. */
void roost_cm_wait(struct roost_cm_conn *conn, uint64_t ns);
/* The timer of conn fired. */
void roost_cm_timer(struct roost_cm_conn *conn);

/* ---- input.c, request.c, lap.c ------------------------------------------ */

void roost_cm_input(struct roost_cm *cm, const struct roost_gsi_msg *in);
void roost_cm_got_req(struct roost_cm *cm, const struct roost_gsi_msg *in,
		      const struct roost_cm_msg *msg);
void roost_cm_got_sidr_req(struct roost_cm *cm, const struct roost_gsi_msg *in,
			   const struct roost_cm_msg *msg);
/* Show requests that were held, or drop them; returns when to look again.
 * Control thread.
 */
uint64_t roost_cm_run_held(struct roost_cm *cm);
/* It is not held any more. */
void roost_cm_release(struct roost_cm_conn *conn);
void roost_cm_got_lap(struct roost_cm_conn *conn,
		      const struct roost_cm_msg *msg);
void roost_cm_got_apr(struct roost_cm_conn *conn,
		      const struct roost_cm_msg *msg);
void roost_cm_got_mra_lap(struct roost_cm_conn *conn,
			  const struct roost_cm_msg *msg);
/* A new connection has the QPN of this one. */
void roost_cm_got_stale(struct roost_cm_conn *conn);
/* It is in doubt, and others need its place. */
void roost_cm_got_crowded(struct roost_cm_conn *conn);
/* A REJ of in, which no conn answers. */
void roost_cm_reject_msg(struct roost_cm *cm, const struct roost_gsi_msg *in,
			 const struct roost_cm_msg *msg,
			 enum roost_cm_about about, uint16_t reason);

/* ---- news.c ------------------------------------------------------------- */

/* What became of the device since the last run. Returns false: it is gone.
 * Control thread.
 */
bool roost_cm_run_news(struct roost_cm *cm);

/* ---- listen.c ----------------------------------------------------------- */

/* Who takes a request: the one with its address, or one for all. NULL: nobody.
 */
struct roost_cm_listener *
roost_cm_find_listener(struct roost_cm *cm, uint64_t service_id,
		       const struct roost_cm_ip_hdr *ip);

/* ---- path.c ------------------------------------------------------------- */

/* Ask for the next hop of conn's path. Returns as roost_dev_ask(). */
int roost_cm_ask(struct roost_cm_conn *conn);
/* Tell the user that its request, sent so often, has no answer. Under the lock.
 */
void roost_cm_tell_silence(const struct roost_cm_conn *conn, uint32_t tries);
/* Who is next on the way to where conn's request came from: 0: it is known, or
 * nobody need be; -EAGAIN: somebody asks, and the neighbour is conn's; else as
 * roost_dev_meet(). Lets the lock go: only conn is as it was. Control thread.
 */
int roost_cm_meet_peer(struct roost_cm_conn *conn);
/* The worker had no room for its message: it goes with the next run. */
void roost_cm_send_later(struct roost_cm_conn *conn);
/* It waits for neither any more. */
void roost_cm_stop_asking(struct roost_cm_conn *conn);
void roost_cm_stop_sending(struct roost_cm_conn *conn);
/* Who waited for a MAC; returns when to look again. Control thread. */
uint64_t roost_cm_run_asking(struct roost_cm *cm);
/* Send for the connections that waited for room, until there is none again;
 * returns after how long to try again if some wait still. Control thread.
 */
uint64_t roost_cm_run_unsent(struct roost_cm *cm);
/* Whose next hop has another MAC. Control thread. */
void roost_cm_sweep(struct roost_cm *cm);
void roost_cm_path_to_msg(const struct roost_cm_path *path,
			  struct roost_cm_msg_path *to);
/* From the receiver's side: the sender's local is our remote. port_num 0: any
 * port that has the address. Returns 0, or -EADDRNOTAVAIL: none has.
 */
int roost_cm_path_from_msg(struct roost_cm *cm, uint8_t port_num,
			   const struct roost_cm_msg_path *from,
			   struct roost_cm_path *path);
/*
 * The owner of a request goes on with it: conn holds the peer's neighbour from
 * here on. So its QP finds it, however much others claim in between, and
 * another MAC is told. Asks nobody who may take long. Not under the lock.
 */
void roost_cm_hold_peer(struct roost_cm_conn *conn);
void roost_cm_set_path(struct roost_cm_conn *conn,
		       const struct roost_cm_path *path);

#endif
