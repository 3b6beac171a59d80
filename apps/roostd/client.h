/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_CLIENT_H
#define ROOST_APPS_ROOSTD_CLIENT_H

/*
 * A client of the daemon: its session (pmd_glue/share/message.h), and the
 * frames to and from it.
 *
 * A frame is read in the client's memory, of which the first bytes are copied
 * to ours, and is copied once into the slot of its receiver: the memory that
 * the daemon has for this one client. The slots of that memory are used in
 * turn.
 *
 * A client is polled while it sends. After a while without frames it sleeps: it
 * then rings its doorbell with the next frame, so that many idle clients cost
 * nothing.
 *
 * A client belongs to one lane of its port (port.h), whose thread reads its
 * ring. All lanes write into the ring to the client, under its lock where there
 * are several.
 *
 * Thread: the port's (crew.h); what is for frames and sleep: the lane's, and
 * under the lock any lane's where it says so.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "apps/roostd/introduce.h"
#include "apps/roostd/neighs.h"
#include "apps/roostd/policy.h"
#include "apps/roostd/switch/frame.h"
#include "apps/roostd/switch/lease.h"
#include "pmd_glue/channel/memory.h"
#include "pmd_glue/channel/pipe.h"
#include "pmd_glue/share/message.h"

struct roostd_lane;
struct roostd_port;

/* Why the daemon takes nobody; its own report may go nowhere (a hub's). */
#define ROOSTD_NO_DESCRIPTORS                                                  \
	"it has no descriptors left; let it have more (LimitNOFILE, ulimit "   \
	"-n)"

/*
 * How long senders wait for a client whose ring is full. Meanwhile they wait
 * with all that is behind in their rings, also for others. So they wait for
 * 50 ms at most beyond what a client needs that consumes a frame in 31 us; of
 * what a client has spent, it gets back an eighth of the time that goes by.
 */
struct roostd_patience {
	uint64_t since_ns; /* its ring was full then; 0: it has room */
	uint64_t full_ns;  /* and still, when a sender last looked */
	uint32_t consumed; /* frames that it had consumed at since_ns */
	uint64_t spent_ns; /* as of spent_at_ns */
	uint64_t spent_at_ns;
};

struct roostd_client {
	/* Until it attaches: the daemon's first one. */
	struct roostd_port *port;
	int socket;   /* the session */
	int doorbell; /* connected to the client's; -1: not attached */
	/* Readable when the process has ended, also if a child of it has the
	 * session still. -1: not attached, or the kernel has none for us.
	 */
	int pidfd;
	pid_t pid; /* 0: of a PID namespace that is not the daemon's */
	uid_t uid;
	char command[ROOST_SHARE_COMMAND_MAX];
	/* Once admitted: the name of its policy, and what the policy says of
	 * channels to other clients.
	 */
	char policy[ROOSTD_POLICY_NAME_MAX + 1];
	bool direct;
	uint16_t slot; /* in the lease; ROOST_CLIENT_NONE: not attached */
	bool gone;     /* to be freed when nobody uses it */
	/* It has presented a ticket, and has not said BACK. */
	bool returns;
	/* Its session has ended: the frames that it has left are moved, until
	 * then at the latest. 0: it has not.
	 */
	uint64_t leaves_ns;
	/* Requests: the next one is due then, at the rate that is allowed; see
	 * request.c. paused: nothing is read from it until resume_ns.
	 */
	uint64_t due_ns;
	uint64_t resume_ns;
	bool paused;
	struct roostd_refs refs;        /* to neighbours */
	struct roost_shm_memory ours;   /* for this client */
	struct roost_shm_memory theirs; /* the client's */
	int memory_fd;                  /* of the client's, for its peers */
	struct roostd_peers peers;
	struct roostd_lane *lane; /* valid once it is attached */
	bool hung_up;             /* its doorbell is closed */
	struct roost_shm_in in;
	bool asleep;        /* it rings before it is polled again */
	uint64_t active_ns; /* when it last sent */
	/* Any lane, under the lock. */
	_Alignas(64) pthread_mutex_t lock;
	struct roost_shm_out out;
	uint64_t rung;  /* see roost_shm_must_ring() */
	uint32_t rings; /* by lane: it has frames, and is to be rung */
	struct roostd_patience patience;
	/* Its rates over the last second, and its counters then; see
	 * roostd_ctl_sample().
	 */
	uint64_t tx_bps, rx_bps;
	uint64_t tx_bytes, rx_bytes;
	LIST_ENTRY(roostd_client) all;
	TAILQ_ENTRY(roostd_client) awake; /* valid while it is not asleep */
	TAILQ_ENTRY(roostd_client) pause; /* valid while it is paused */
};

/* A connection was accepted. Owns: socket, also on error. Returns the client,
 * NULL: no memory, or the kernel does not say whose it is.
 */
struct roostd_client *roostd_client_create(int socket);
/* Close and free all of it. It is in no list, and its lease has ended. */
void roostd_client_destroy(struct roostd_client *c);

/*
 * Make the memory for an attached client, of that shape, and map its own:
 * descriptors as they came with ATTACH. *their_doorbell: the end that the
 * client gets, which the caller closes. Returns 0, -errno of
 * roost_shm_memory_make(), roost_shm_memory_map() or socketpair(2), -EPROTO
 * (seat).
 */
int roostd_client_attach(struct roostd_client *c,
			 const struct roost_shm_shape *shape, int memory,
			 uint32_t seat, int *their_doorbell);

/* Our seat in our memory for a client: the only one. */
#define ROOSTD_SEAT 0u

/* May a frame be delivered? false: the ring is full, and the client is waited
 * for (struct roostd_patience): the frame is to be offered again. One that is
 * waited for no more is ready, and loses the frame. Under the lock.
 */
bool roostd_client_is_ready(struct roostd_client *c, uint64_t now_ns);
/* Copy a frame into the ring. Returns false: it is full. Under the lock. */
bool roostd_client_deliver(struct roostd_client *c,
			   const struct roost_sw_frame *frame);
/* Frames were published: ring the doorbell, if the client sleeps. Under the
 * lock.
 */
void roostd_client_ring(struct roostd_client *c);

/* Has it frames that were not moved? */
bool roostd_client_has_frames(const struct roostd_client *c);

/* The client has been still: it is to ring. Returns false: it has just sent. */
bool roostd_client_sleep(struct roostd_client *c);
/* It has rung. Returns false: its doorbell is closed. */
bool roostd_client_awake(struct roostd_client *c);

#endif
