/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_PORT_H
#define ROOST_APPS_ROOSTD_PORT_H

/*
 * A shared port: its clients, the switch between them, the page that they read,
 * and the socket at which they attach.
 *
 * Most have a network behind them (nic.h). A hub is a port without a NIC: a
 * MAC, one IPv4 address and its link-local one that all clients share, and no
 * world outside.
 *
 * Thread: the port's (crew.h), for all functions; before and after the loop,
 * the daemon's first one.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <roost/config.h>
#include "apps/roostd/client.h"
#include "apps/roostd/neighs.h"
#include "apps/roostd/state.h"
#include "apps/roostd/switch/switch.h"
#include "pmd_glue/share/page.h"

struct roost_uplink;

/* Clients with frames that one lane has not rung yet; more are rung at once. */
#define ROOSTD_TO_RING_MAX 256u

/*
 * What a thread has of a port. The first lane is the port's thread. The others
 * are helpers' (crew.h): each has clients whose rings it alone reads, and a
 * queue of the port, and does nothing but move frames. What else there is to do
 * for its clients the port's thread does, while it holds the helpers.
 *
 * Thread: the lane's.
 */
struct roostd_lane {
	_Alignas(64) struct roostd_port *port;
	uint32_t number; /* among the port's lanes; also of the queue */
	uint32_t thread; /* crew.h; of the first lane: in the loop */
	int epoll_fd;    /* of that thread */
	struct roostd_lane *next; /* of that thread; see loop.c */
	uint32_t nb_clients;
	uint64_t rx_frames; /* from its queue, the host's too */
	uint64_t tx_frames; /* of clients and the daemon, to its queue */
	struct roost_switch *sw;
	uint64_t now_ns;   /* of the round */
	uint64_t moved_ns; /* when a frame moved last */
	bool is_hosts; /* the frame from the uplink, in work, is the host's */
	/* A client of it has broken a rule or has hung up: the port's thread is
	 * to look.
	 */
	atomic_bool has_trouble;
	TAILQ_HEAD(, roostd_client) awake;
	struct roostd_client *got; /* who got the frame in work; NULL: none */
	uint32_t nb_to_ring;
	struct roostd_client *to_ring[ROOSTD_TO_RING_MAX];
};

/* Sessions of a port, attached or not. */
#define ROOSTD_SESSIONS_MAX 2048u

struct roostd_port {
	const char *label;
	/* The daemon's ports are one array: this is its first one. */
	struct roostd_port *first;
	uint32_t nb_ports;
	int listener;                         /* not the port's */
	int epoll_fd;                         /* not the port's */
	const struct roostd_service *service; /* not the port's */
	bool is_hub;
	uid_t uid; /* of a hub: its user */
	struct roostd_state_file state;
	/* It ends: the next daemon has what its clients lease, and their peers
	 * are told nothing.
	 */
	bool leaves_clients;
	struct roost_uplink *uplink; /* NULL: a hub */
	bool is_shown;               /* there are captures (dump.h) */
	struct roostd_neighs neighs;
	struct roost_lease *lease;
	struct roost_switch *sw;
	struct roost_share_page *page;
	int page_fd;
	struct roost_share_facts facts;
	struct roost_sw_port shape; /* as frames show it */
	uint32_t nb_clients;        /* sessions, attached or not */
	uint32_t max_silent;        /* of these, not attached */
	uint32_t nb_attaches;       /* since frames moved, of the first port */
	/* Attached, of all ports of the daemon: see roostd_admit(). */
	uint32_t max_attached;
	uint32_t nb_attached;
	/* Given up for a moment to refuse who cannot be served, for lack of
	 * descriptors; -1: there is none.
	 */
	int spare_fd;
	bool is_short; /* of descriptors, which was reported */
	LIST_HEAD(, roostd_client) clients;
	TAILQ_HEAD(roostd_paused, roostd_client) paused; /* by resume_ns */
	LIST_HEAD(, roostd_client) gone;
	struct roostd_pairs pairs;
	struct roostd_client *by_slot[ROOST_CLIENTS_MAX];
	/* What the first lane writes in each round, apart from what all read.
	 */
	_Alignas(64) uint64_t now_ns; /* of the work that is done */
	uint64_t sampled_ns;          /* see roostd_ctl_sample() */
	uint64_t due_ns;              /* see roost_switch_run() */
	bool is_held; /* the helpers are, until the end of the round */
	_Alignas(64) uint32_t nb_lanes; /* 1 or more */
	struct roostd_lane lanes[ROOST_WORKERS_MAX];
};

/* Make a hub of this user. state_path: see state.h; NULL: it keeps no state.
 * Returns 0, -errno, reported.
 */
int roostd_hub_open(struct roostd_port *port, int listener, int epoll_fd,
		    const char *state_path, uint64_t now_ns);
/* Fill *port with what a port begins with. */
void roostd_port_init(struct roostd_port *port);
/* Make what clients share, of the facts and the shape. state_path: as above.
 * Returns 0, -errno; port_close() frees it, also after an error.
 */
int roostd_port_make(struct roostd_port *port, const char *state_path);
/* Clients may come back to the next daemon, if the state is kept. */
void roostd_port_close(struct roostd_port *port);

/* What epoll says: data.ptr of a session is the client, of a doorbell the
 * client's address plus 1, of its process that address plus 2.
 */
static inline void *roostd_doorbell_tag(struct roostd_client *c)
{
	return (char *)c + 1;
}

static inline void *roostd_process_tag(struct roostd_client *c)
{
	return (char *)c + 2;
}

/* Connections wait at the listener. Until they attach, they are the first
 * port's.
 */
void roostd_port_accept(struct roostd_port *port);
/* A client has rung. Thread: its lane's. */
void roostd_port_rung(struct roostd_port *port, struct roostd_client *c);
/* What epoll says of a client: one of the two, or its process has ended,
 * whoever has its session (request.c).
 */
void roostd_port_tagged(void *tag);

/* ---- lanes --------------------------------------------------------------- */

/* The first lane of a port. */
void roostd_lane_init(struct roostd_port *port);
/* One more lane, with a thread of its own. The port has its switch, whose
 * callbacks are roostd_lanes_switch_ops. Returns 0, -errno. Before the start.
 */
int roostd_port_add_lane(struct roostd_port *port);
/* Have the lanes stand still, until the end of the round or of the look at
 * descriptors: what they read may be changed. With one lane, nothing.
 */
void roostd_port_hold(struct roostd_port *port);
void roostd_port_let_go(struct roostd_port *port);

/* As roostd_port_poll() and what follows, for the lanes beside the first. */
unsigned int roostd_lane_poll(struct roostd_lane *lane, uint64_t now_ns);
/* Nothing has moved in the last poll: is it still for long enough to sleep? Any
 * lane.
 */
bool roostd_lane_is_still(const struct roostd_lane *lane, uint64_t now_ns);
bool roostd_lane_sleep(struct roostd_lane *lane, uint64_t now_ns,
		       uint64_t *until_ns);
void roostd_lane_awake(struct roostd_lane *lane);

/* ---- rounds -------------------------------------------------------------- */

/* Move frames. Returns how many; 0: there was nothing to do. */
unsigned int roostd_port_poll(struct roostd_port *port, uint64_t now_ns);
/*
 * Prepare for a sleep. *until_ns, at most as it is, gets the time of the next
 * poll. Returns false: there is work. Afterwards, in both cases:
 * roostd_lane_awake().
 */
bool roostd_port_sleep(struct roostd_port *port, uint64_t now_ns,
		       uint64_t *until_ns);
/* Once a second, with the rates of the last one, and while the helpers are
 * held: if a lane sends a third more than another one, the client goes there
 * that evens it out best, if that takes half of the difference at least.
 */
void roostd_port_balance(struct roostd_port *port);
/* Free clients that have gone. No event of epoll names them any more. */
void roostd_port_reap(struct roostd_port *port);

/* ---- for the files of this room ------------------------------------------ */

/* frames.c: for one lane, and for several. */
extern const struct roost_switch_ops roostd_port_switch_ops;
extern const struct roost_switch_ops roostd_lanes_switch_ops;

/* An address of the port: its clients share it, unless it is for one of them.
 * Zeros: nothing. Returns 0, -ENOMEM. (admit.c)
 */
int roostd_port_add_addr(struct roostd_port *port, const struct roost_gid *gid);
/* The first client has joined a group, and the last one has left it (groups.c).
 * The port follows soon (pmd_glue/uplink.h). Returns 0, -ENOMEM.
 */
int roostd_port_join(struct roostd_port *port, const struct roost_gid *group);
void roostd_port_leave(struct roostd_port *port, const struct roost_gid *group);
/* The page has changed: all clients are told (request.c). */
void roostd_port_tell_changed(struct roostd_port *port);
/* If all old clients are back, or the grace is over, clients are told. */
void roostd_port_recover(struct roostd_port *port);
/* Answer the questions that waited for the network (request.c). */
void roostd_port_answer(struct roostd_port *port);
/* End with a client, when its last frames were moved: its peers are told. why:
 * for a line on stderr; NULL: it went as it may.
 */
void roostd_port_drop(struct roostd_port *port, struct roostd_client *c,
		      const char *why);
/* Its session has ended, and its last frames are being moved. */
void roostd_port_go_on_leaving(struct roostd_port *port,
			       struct roostd_client *c);
/* End with a client at once: its peers are told. */
void roostd_port_finish(struct roostd_port *port, struct roostd_client *c);
/* A session that has not attached goes to this port, which may be another
 * thread's that is held (crew.h). Returns 0, -errno: it stays.
 */
int roostd_port_take(struct roostd_port *port, struct roostd_client *c);
/* Enter an attached client: it is polled from now on. Returns 0, -errno. */
int roostd_port_enter(struct roostd_port *port, struct roostd_client *c);
/* Leave the session of a client alone for a while. */
void roostd_port_pause(struct roostd_port *port, struct roostd_client *c);
/* Listen again to those that were left alone long enough. */
void roostd_port_resume(struct roostd_port *port);

#endif
