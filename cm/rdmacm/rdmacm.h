/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_RDMACM_RDMACM_H
#define ROOST_CM_RDMACM_RDMACM_H

/*
 * What stands behind the structs of rdma_cma.h, for this folder alone.
 *
 * An rdma_cm_id is here what it is to a program on Linux, and besides what the
 * kernel's rdma_cm keeps of it: state, port, device, the connection or the
 * listeners of the CM (roost/cm.h). Events are made when they
 * happen, on the control thread or in a call; what rdma-core's library does
 * when it reads one (move the QP, attach it to a group, take a device) is done
 * when the program reads it, in rdma_get_cm_event() (deliver.c).
 *
 * Locks of an id, in this order:
 *   call  one call, or one delivery, at a time uses the CM's objects of an id;
 *         may be held while the network is waited for, never while an event is.
 *   ids_lock of a device: who is on it.
 *   lock  state and events; a leaf but for the channels' own, held shortly, and
 *         the only one that the CM's callbacks take.
 *
 * Forks: ids, channels and events belong to the process that made them. In a
 * child of it they are dead: calls answer EIO, acks do nothing, and what ends
 * one frees its own memory and descriptor, and no more.
 *
 * Dialect: calls return 0, or -1 and errno; roost_rdmacm_result() makes that
 * of the -errno that functions inside return.
 */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rdma/rdma_cma.h>

#include <roost/cm.h>
#include "cm/rdmacm/device.h"
#include "cm/rdmacm/ports.h"
#include "cm/rdmacm/state.h"
#include <roost/config.h>
#include <roost/channel.h>
#include "lib/event/process.h"

struct roost_rdmacm_id;
struct roost_rdmacm_mc;
struct roost_rdmacm_source;

/* The longest private data of any message: SIDR REQ's. */
#define ROOST_RDMACM_DATA_MAX 256

/* An event, from when it happens until it is acked. */
struct roost_rdmacm_event {
	struct rdma_cm_event event; /* first */
	uint32_t process;           /* that made it */
	uint8_t data[ROOST_RDMACM_DATA_MAX];
	struct roost_rdmacm_id *child;         /* CONNECT_REQUEST: the new id,
						* until it is the program's */
	struct roost_rdmacm_source *source;    /* that it was read from */
	STAILQ_ENTRY(roost_rdmacm_event) link; /* while it waits */
};

STAILQ_HEAD(roost_rdmacm_events, roost_rdmacm_event);

/*
 * The events of an id, or of a group that it joined, on one channel. Moving to
 * another channel makes a new one; the old one lives until what was read from
 * it is acked.
 */
struct roost_rdmacm_source {
	struct roost_event_source ev; /* one entry in the channel for each of
				       * waiting; owner: this */
	_Atomic unsigned int refs; /* of its id, and of events that were read */
	struct roost_rdmacm_id *id;
	struct roost_rdmacm_mc *mc;         /* or NULL */
	struct roost_rdmacm_events waiting; /* under id->lock */
};

struct roost_rdmacm_channel {
	struct rdma_event_channel rdma; /* first */
	uint32_t process;               /* that made it */
	struct roost_channel *channel;
	pthread_mutex_t lock;             /* of ids; inside no other */
	LIST_HEAD(, roost_rdmacm_id) ids; /* whose events come here */
};

/* A group that an id has joined. */
struct roost_rdmacm_mc {
	struct roost_rdmacm_source *source;
	struct sockaddr_storage addr;
	union ibv_gid mgid;
	bool send_only;
	bool attached; /* the QP is in the group; under id->call */
	void *context;
	LIST_ENTRY(roost_rdmacm_mc) link; /* under id->call */
};

/* What an id that listens has on each device. */
struct roost_rdmacm_listen {
	struct roost_rdmacm_id *id;
	struct roost_rdmacm_device *device;
	struct roost_cm_listener *listener;
};

/* Where an id is: who hears what becomes of a device (watch.c). */
struct roost_rdmacm_place {
	struct roost_rdmacm_device *device; /* NULL: nowhere; under id->call */
	/* Under device->ids_lock. */
	uint8_t port_num;
	struct roost_gid addr;
	bool lost;      /* the port has lost the address */
	uint8_t mac[6]; /* of the port, as it was last told */
	LIST_ENTRY(roost_rdmacm_place) link;
};

struct roost_rdmacm_id {
	struct rdma_cm_id id; /* first; the program's */
	uint32_t process;     /* that made it */
	bool sync;            /* id.channel is its own */

	pthread_mutex_t lock;
	enum roost_rdmacm_state state; /* under lock */
	bool quiet;                    /* under lock: events are nobody's */
	struct roost_rdmacm_source *source;       /* under lock */
	struct roost_rdmacm_channel *channel;     /* under lock; NULL: destroyed
						   * under the id */
	LIST_ENTRY(roost_rdmacm_id) channel_link; /* under channel->lock */

	pthread_mutex_t call;               /* of everything below */
	struct roost_rdmacm_device *device; /* NULL: not bound to one */
	bool held;                          /* counts in device->refs */
	struct roost_rdmacm_place place;    /* on device */
	struct roost_rdmacm_claim claim;    /* counts if family is not 0 */
	/* Addresses as they are; id.route.addr shows what was delivered. */
	struct sockaddr_storage src, dst;
	struct roost_cm_conn *conn; /* NULL: none yet */
	struct roost_cm_path path;  /* its source with device; all of it from
				     * ADDR_RESOLVED on */
	bool begun;      /* the CM has sent or got something for conn */
	bool conn_error; /* CONNECT_ERROR was told, and the end is not */
	unsigned int nb_listens;
	struct roost_rdmacm_listen listens[ROOST_PORTS_MAX];
	LIST_HEAD(, roost_rdmacm_mc) groups;
	uint32_t starting_psn;
	uint8_t initiator_depth;
	uint8_t responder_resources;
	uint8_t tos;
	bool tos_set;
	uint8_t ack_timeout;
	bool ack_timeout_set;
	bool afonly_set;
	struct ibv_ece local_ece, remote_ece;
	/* rdma_create_ep(): for the QPs of requests; leads private data. */
	struct ibv_qp_init_attr *qp_init_attr;
	void *connect_data;
	size_t connect_len_bytes;
};

static inline struct roost_rdmacm_id *roost_rdmacm_id(struct rdma_cm_id *id)
{
	return (struct roost_rdmacm_id *)id;
}

/* Was it, whose process is given, inherited by a fork? */
static inline bool roost_rdmacm_is_dead(uint32_t process)
{
	return process != roost_process();
}

static inline bool roost_rdmacm_is_ud(const struct roost_rdmacm_id *id)
{
	return id->id.qp_type == IBV_QPT_UD;
}

/* 0 or -errno in; 0 or -1 out, and errno. */
static inline int roost_rdmacm_result(int rc)
{
	if (rc == 0)
		return 0;
	errno = -rc;
	return -1;
}

/* -errno in; NULL out, and errno. */
static inline void *roost_rdmacm_null(int rc)
{
	errno = -rc;
	return NULL;
}

/* ---- channel.c: events, and who gets them ------------------------------- */

/* Returns 0, -ENOMEM, -EMFILE. A new source has no events. */
int roost_rdmacm_source_new(struct roost_rdmacm_id *id,
			    struct roost_rdmacm_mc *mc,
			    struct roost_rdmacm_channel *channel,
			    struct roost_rdmacm_source **source);
/*
 * Remove what waits, and wait for the acks of what was read. Then the source is
 * gone. Returns what waited, for the caller to free.
 */
struct roost_rdmacm_events
roost_rdmacm_source_end(struct roost_rdmacm_source *source);

/* An event of the id; NULL: no memory. */
struct roost_rdmacm_event *roost_rdmacm_event_new(struct roost_rdmacm_id *id,
						  enum rdma_cm_event_type type,
						  int status);
/*
 * Takes the event of the id, or of mc if that is not NULL. An id that is quiet
 * loses it. Thread: any, not under id->lock.
 */
void roost_rdmacm_push(struct roost_rdmacm_id *id, struct roost_rdmacm_mc *mc,
		       struct roost_rdmacm_event *event);
/* The same for an event without data. Returns 0, -ENOMEM. */
int roost_rdmacm_tell(struct roost_rdmacm_id *id, enum rdma_cm_event_type type,
		      int status);
/* Free what nobody will read; new ids in it are destroyed. */
void roost_rdmacm_events_free(struct roost_rdmacm_events *events);
/* The id's events come to the channel from here on, or no longer. */
void roost_rdmacm_channel_add(struct roost_rdmacm_channel *channel,
			      struct roost_rdmacm_id *id);
void roost_rdmacm_channel_remove(struct roost_rdmacm_id *id);

/* ---- deliver.c ---------------------------------------------------------- */

/*
 * Do what an event that was read asks for, and complete its data. Returns
 * false: it is not for the program.
 */
bool roost_rdmacm_deliver(struct roost_rdmacm_event *event);

/* ---- id.c --------------------------------------------------------------- */

/* An id without channel, for rdma_create_id() and for requests. Returns NULL:
 * no memory.
 */
struct roost_rdmacm_id *roost_rdmacm_id_new(enum rdma_port_space ps,
					    enum ibv_qp_type qp_type,
					    void *context);
/* Join a channel; NULL: one of its own, and synchronous mode. */
int roost_rdmacm_id_attach(struct roost_rdmacm_id *id,
			   struct rdma_event_channel *channel);
int roost_rdmacm_id_create(struct rdma_event_channel *channel,
			   struct rdma_cm_id **id, void *context,
			   enum rdma_port_space ps, enum ibv_qp_type qp_type);
/* End its part in the CM: no callbacks any more. Under no lock. */
void roost_rdmacm_id_quit(struct roost_rdmacm_id *id);
void roost_rdmacm_id_free(struct roost_rdmacm_id *id);
/* Show the program the device of the id. Under id->call. Returns 0, -ENOMEM. */
int roost_rdmacm_id_show_device(struct roost_rdmacm_id *id);
/* Show addresses and GIDs. Under id->call. */
void roost_rdmacm_id_show_addr(struct roost_rdmacm_id *id);
/* The address that the path begins at is the id's. Under id->call. */
void roost_rdmacm_id_take_source(struct roost_rdmacm_id *id);
/* How to send to dgid from where the id is. Under id->call. */
void roost_rdmacm_id_show_ah(const struct roost_rdmacm_id *id,
			     const struct roost_gid *dgid,
			     struct ibv_ah_attr *attr);
enum roost_rdmacm_state roost_rdmacm_id_state(struct roost_rdmacm_id *id);
/* REMOVED is for good. */
void roost_rdmacm_id_set_state(struct roost_rdmacm_id *id,
			       enum roost_rdmacm_state state);
/* From one state to another; false: it was in neither, and stays. */
bool roost_rdmacm_id_move(struct roost_rdmacm_id *id,
			  enum roost_rdmacm_state from,
			  enum roost_rdmacm_state to);
/*
 * Begin a call: take id->call. Returns 0, and the caller unlocks it; -EBADF
 * (its channel was destroyed), -EIO (its device is gone, or it is dead).
 */
int roost_rdmacm_enter(struct roost_rdmacm_id *id);
/* The same for a call that tidies up: a device that is gone does not matter. */
int roost_rdmacm_enter_last(struct roost_rdmacm_id *id);
/* The same for a call that the state of the id may forbid. */
int roost_rdmacm_enter_as(struct roost_rdmacm_id *id,
			  enum roost_rdmacm_call call);
/* The same for a call that needs a device: -EINVAL without one. */
int roost_rdmacm_enter_bound(struct roost_rdmacm_id *id);
/* End a call with rc (0 or -errno); a good one of a synchronous id then waits
 * for the event that it brings, if it is to. ADDR_CHANGE is none that a call
 * brings, and is lost there. Returns 0, or -1 and errno.
 */
int roost_rdmacm_leave(struct roost_rdmacm_id *id, int rc);
int roost_rdmacm_leave_complete(struct roost_rdmacm_id *id, int rc);
/* What comes next for a synchronous id; acks what came before. Returns 0, or -1
 * and errno.
 */
int roost_rdmacm_next_event(struct roost_rdmacm_id *id,
			    struct rdma_cm_event **event);

/* ---- watch.c ------------------------------------------------------------ */

/* Hear what becomes of a device that was opened, for all ids on it. */
void roost_rdmacm_watch(struct roost_rdmacm_device *d);
/*
 * The id is on the device, at this address, and nowhere else: it gets
 * DEVICE_REMOVAL and ADDR_CHANGE. Under id->call, or the id is nobody's yet.
 * Returns 0, -ENODEV (it is gone).
 */
int roost_rdmacm_place_take(struct roost_rdmacm_id *id,
			    struct roost_rdmacm_device *d, uint8_t port_num,
			    const struct roost_gid *addr);
/* Nothing to do if it is nowhere. */
void roost_rdmacm_place_drop(struct roost_rdmacm_id *id);

/* ---- bind.c ------------------------------------------------------------- */

/* Bind an idle id. Under id->call. Returns 0 or -errno as rdma_bind_addr(). */
int roost_rdmacm_bind(struct roost_rdmacm_id *id, const struct sockaddr *addr);

/* ---- callback.c --------------------------------------------------------- */

/* The callbacks of connections and of listeners; see roost/cm.h. */
void roost_rdmacm_on_event(void *arg, struct roost_cm_conn *conn,
			   const struct roost_cm_event *event);
void roost_rdmacm_on_request(void *arg, struct roost_cm_conn *conn,
			     const struct roost_cm_event *event);

/* ---- qp.c --------------------------------------------------------------- */

/* Take the QP of a connection on; no QP, nothing to do. Under id->call. Return
 * 0 or -errno.
 */
int roost_rdmacm_qp_to_rtr(struct roost_rdmacm_id *id, uint8_t resources);
int roost_rdmacm_qp_to_rts(struct roost_rdmacm_id *id, uint8_t depth);
int roost_rdmacm_qp_to_err(struct roost_rdmacm_id *id);

/* ---- connect.c ---------------------------------------------------------- */

/* The answer to REP: RTU, with the QP made ready first. Returns 0 or -errno. */
int roost_rdmacm_answer(struct roost_rdmacm_id *id);

/* ---- resolve.c ---------------------------------------------------------- */

/* Show the path of the id as a path record. Under id->call. Returns 0,
 * -ENOMEM.
 */
int roost_rdmacm_id_show_route(struct roost_rdmacm_id *id);

/* ---- mcast.c ------------------------------------------------------------ */

/* Attach the QP, if there is one. Under id->call. Returns 0 or -errno. */
int roost_rdmacm_mc_joined(struct roost_rdmacm_id *id,
			   struct roost_rdmacm_mc *mc);
/* Leave all groups. Under id->call. */
void roost_rdmacm_mc_leave_all(struct roost_rdmacm_id *id);

#endif
