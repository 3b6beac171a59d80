/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_SWITCH_SWITCH_H
#define ROOST_APPS_ROOSTD_SWITCH_SWITCH_H

/*
 * The switch between the clients of a port and the port: frames in, verdicts
 * out by callbacks. It joins the files of this room, and is what a daemon
 * calls.
 *
 * A frame of a client that passes the checks goes to another client at once,
 * or is kept in the client's queue to the port, which roost_switch_send()
 * empties fairly. A frame from the port goes to clients at once. A client whose
 * ring is full loses the frame, unless the sender can wait (is_ready).
 *
 * Work is bounded: one frame in is at most one frame out for each member of its
 * group, and all else has a budget.
 *
 * Lanes. A port with several threads has a lane for each: a switch that shares
 * with the first one. A client belongs to one lane, which alone offers its
 * frames, delivers those to other clients, and has its queue to the port; the
 * lanes' rounds are in step (step.h). Messages of the CM are worked on in
 * turns, under a lock. What the lanes read of the lease, the port and the
 * clients changes only while all of them stand still: the functions without
 * "Hot" are for then.
 *
 * Thread: the port's (crew.h), for all functions; those with "Hot" the thread
 * of the lane. Callbacks may not call back.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "apps/roostd/switch/departed.h"
#include "apps/roostd/switch/fair.h"
#include "apps/roostd/switch/frame.h"
#include "apps/roostd/switch/lease.h"
#include "apps/roostd/switch/seen.h"

struct roost_switch_ops {
	/* Copy a frame for the port. Returns the copy, NULL: no memory. */
	void *(*keep)(void *arg, const struct roost_sw_frame *frame);
	/* Send a copy, and free it. Returns false: the port is full, and the
	 * copy stays.
	 */
	bool (*send)(void *arg, void *kept);
	void (*discard)(void *arg, void *kept);
	/* May a client get a frame of another one now? false: its ring is full
	 * and it reads, so the sender waits. NULL: always. Not asked for groups
	 * and for frames from the port, which are lost where there is no room.
	 */
	bool (*is_ready)(void *arg, uint16_t client);
	/* Copy a frame into the client's ring. looped: it comes from a client.
	 * Returns false: the ring is full.
	 */
	bool (*deliver)(void *arg, uint16_t client,
			const struct roost_sw_frame *frame, bool looped);
	/* A frame from the port for the daemon's host, of any VLAN. */
	void (*host)(void *arg, const struct roost_sw_frame *frame);
	/* The last member of the group died: the port leaves it. */
	void (*leave)(void *arg, const struct roost_gid *group);
};

struct roost_switch_counters {
	uint64_t tx_frames; /* of the client, that passed */
	uint64_t tx_bytes;
	uint64_t rx_frames; /* to the client */
	uint64_t rx_bytes;
	uint64_t drops[ROOST_SW_DROPS];
};

/* The daemon's own place among the clients: its messages to peers, and frames
 * from the port that nobody gets.
 */
#define ROOST_SWITCH_SELF ROOST_CLIENTS_MAX

/* What several lanes share. */
struct roost_switch_lanes {
	uint32_t nb; /* beside the first one */
	struct roost_switch *v[ROOST_STEP_LANES_MAX - 1];
	pthread_mutex_t turn; /* messages of the CM: seen and departed */
	struct roost_steps steps;
};

struct roost_switch {
	struct roost_sw_port port;
	struct roost_lease *lease;
	const struct roost_switch_ops *ops;
	void *arg;
	struct roost_switch *first;       /* the first lane's, maybe itself */
	struct roost_switch_lanes *lanes; /* NULL: there is one lane */
	/* The first lane's alone. */
	struct roost_seen_table seen;
	struct roost_departed departed;
	/* Each lane's own. */
	struct roost_fair fair;
	bool waits;              /* see roost_switch_waits() */
	struct roost_sw_mad mad; /* of the frame in work */
	/* The reason of the last drop; a caller may clear it. */
	enum roost_sw_drop last_drop;
	struct roost_switch_counters counters[ROOST_CLIENTS_MAX + 1];
	/* The sum of those of clients that have gone. */
	struct roost_switch_counters gone;
};

/*
 * lease and ops stay the caller's, and outlive the switch; clients that are in
 * the lease already are entered by roost_switch_client_enter().
 * Returns 0, -ENOMEM.
 */
int roost_switch_create(const struct roost_sw_port *port,
			struct roost_lease *lease,
			const struct roost_switch_ops *ops, void *arg,
			uint64_t now_ns, struct roost_switch **sw);
/* Discards what is kept; tells nobody. With all its lanes; the first one. */
void roost_switch_destroy(struct roost_switch *sw);
/* One more lane of a switch, with an argument of its own for the callbacks.
 * Returns 0, -ENOMEM.
 */
int roost_switch_add_lane(struct roost_switch *first, void *arg,
			  struct roost_switch **lane);

/* The port has changed. */
void roost_switch_set_port(struct roost_switch *sw,
			   const struct roost_sw_port *port);

/* A client of this lane, that has just got its lease (roost_lease_client_add()
 * or roost_lease_present()). Returns 0; -ENOMEM: it is not in the switch.
 */
int roost_switch_client_enter(struct roost_switch *lane, uint16_t client,
			      uint64_t now_ns);
/* A client goes to this lane. For a millisecond it sends nothing to the port:
 * what it has sent by the queue of the other lane leaves before.
 */
void roost_switch_client_move(struct roost_switch *lane, uint16_t client,
			      uint64_t now_ns);

/* Other limits for a client from now on: all of conf but uid and addresses.
 * What it leases beyond them stays its own.
 */
void roost_switch_client_limit(struct roost_switch *sw, uint16_t client,
			       const struct roost_client_conf *conf,
			       uint64_t now_ns);

/* True if the port has not taken all frames of the client yet. */
bool roost_switch_keeps(struct roost_switch *sw, uint16_t client);

/*
 * A client died, or left: its peers are told, from the next roost_switch_run()
 * on, its frames are discarded, and its lease ends.
 */
void roost_switch_client_remove(struct roost_switch *sw, uint16_t client,
				uint64_t now_ns);

/*
 * A frame from a client. Returns true: it was sent on or dropped; false: the
 * client's queue to the port is full, or its receiver is not ready; the frame
 * had no effect, and the caller offers it again later. Hot.
 */
bool roost_switch_from_client(struct roost_switch *sw, uint16_t client,
			      const struct roost_sw_frame *frame,
			      uint64_t now_ns);

/* A frame from the port. Hot. */
void roost_switch_from_port(struct roost_switch *sw,
			    const struct roost_sw_frame *frame);

/*
 * Send up to budget frames of the lane to the port, fairly. Returns how many;
 * less than the budget: the port is full, or nothing may be sent now. Hot.
 */
uint32_t roost_switch_send(struct roost_switch *lane, uint64_t now_ns,
			   uint32_t budget);
/* Did the last one leave frames that the port, or a lane that is behind, keeps
 * waiting? Hot.
 */
static inline bool roost_switch_waits(const struct roost_switch *lane)
{
	return lane->waits;
}

/*
 * Make up to budget messages to the peers of clients that died.
 * Returns the time of the next one, or of the next frame that waits for its
 * rate; UINT64_MAX: neither.
 */
uint64_t roost_switch_run(struct roost_switch *sw, uint64_t now_ns,
			  uint32_t budget);

/* Of a client; ROOST_SWITCH_SELF: of the daemon. */
struct roost_switch_counters
roost_switch_counters(const struct roost_switch *sw, uint32_t client);

/* Add some to a sum. */
void roost_switch_counters_add(struct roost_switch_counters *sum,
			       const struct roost_switch_counters *some);

#endif
