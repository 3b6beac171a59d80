/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_RDMACM_RDMACM_H
#define ROOST_CM_RDMACM_RDMACM_H

/*
 * The objects behind the structs of rdma_cma.h, for cm/rdmacm alone.
 *
 * An id holds what the program sees of an rdma_cm_id, and the state that the
 * kernel's rdma_cm would keep: state, port, device, the connection or the
 * listeners of the CM (roost/cm.h). Events are created when they happen, on the
 * control thread or in a call. The work that rdma-core's library does when it
 * reads an event (move the QP, attach it to a group, take a device) is done
 * when the program reads the event, in rdma_get_cm_event() (deliver.c).
 *
 * Locks of an id, in this order:
 *   call  one call, or one delivery, at a time uses the CM's objects of an id;
 *         may be held while the network is waited for, never while an event is.
 *   ids_lock of a device: who is on it.
 *   lock  state and events; a leaf but for the channels' own, held shortly, and
 *         the only one that the CM's callbacks take.
 *
 * Forks: ids, channels and events belong to the process that made them. In a
 * child of it they are dead: calls answer EIO, acks do nothing, and a call that
 * ends an object frees its own memory and descriptor only.
 *
 * Dialect: calls return 0, or -1 and errno. Functions inside return 0 or
 * -errno; roost_rdmacm_result() converts.
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
#include "lib/event/process.h"
#include "lib/event/source.h"

struct roost_rdmacm_id;
struct roost_rdmacm_mc;
struct roost_rdmacm_source;

/* Room for the longest private data of any message (SIDR REQ). */
#define ROOST_RDMACM_DATA_MAX 256

/* An event, from when it happens until it is acked. */
struct roost_rdmacm_event {
	struct rdma_cm_event event; /* first */
	uint32_t process;           /* that made it */
	uint8_t data[ROOST_RDMACM_DATA_MAX];
	struct roost_rdmacm_id *child;         /* CONNECT_REQUEST: the new id,
						* until the program has it */
	struct roost_rdmacm_source *source;    /* the source that it was read
						* from */
	STAILQ_ENTRY(roost_rdmacm_event) link; /* while it waits */
};

STAILQ_HEAD(roost_rdmacm_events, roost_rdmacm_event);

/*
 * The events of an id, or of a group that it joined, on one channel. When the
 * id moves to another channel, it gets a new source; the old one lives until
 * all events that were read from it are acked.
 */
struct roost_rdmacm_source {
	struct roost_event_source ev; /* one entry in the channel for each event
				       * in waiting; owner: this struct */
	_Atomic unsigned int refs;    /* held by its id, and by events that were
				       * read */
	struct roost_rdmacm_id *id;
	struct roost_rdmacm_mc *mc;         /* or NULL */
	struct roost_rdmacm_events waiting; /* under id->lock */
};

struct roost_rdmacm_channel {
	struct rdma_event_channel rdma; /* first */
	uint32_t process;               /* that made it */
	struct roost_channel *channel;
	atomic_uint readers;  /* threads in rdma_get_cm_event() */
	pthread_mutex_t lock; /* guards ids; taken inside no other
			       * lock */
	LIST_HEAD(, roost_rdmacm_id)
	ids; /* ids whose events use this
	      * channel */
};

/* A group that an id has joined. */
struct roost_rdmacm_mc {
	struct roost_rdmacm_source *source;
	struct sockaddr_storage addr;
	union ibv_gid mgid;
	bool send_only;
	bool attached; /* the QP is attached; under id->call */
	void *context;
	LIST_ENTRY(roost_rdmacm_mc) link; /* under id->call */
};

/* A listening id's part on one device. */
struct roost_rdmacm_listen {
	struct roost_rdmacm_id *id;
	struct roost_rdmacm_device *device;
	struct roost_cm_listener *listener;
};

/* The names that an id looks up (lookup.c). end: the id ends, whether or not a
 * name is being looked up; under id->call, not under id->lock. is_dead: in a
 * forked child.
 */
struct roost_rdmacm_lookups {
	void (*end)(struct roost_rdmacm_lookups *lookups, bool is_dead);
};

/* The device and address of an id, for events of the device (watch.c). */
struct roost_rdmacm_place {
	struct roost_rdmacm_device *device; /* NULL: none; under id->call */
	/* Under device->ids_lock. */
	uint8_t port_num;
	struct roost_gid addr;
	bool lost;      /* the port has lost the address */
	uint8_t mac[6]; /* of the port, as last reported to the id */
	LIST_ENTRY(roost_rdmacm_place) link;
};

struct roost_rdmacm_id {
	struct rdma_cm_id id; /* first; the program's */
	uint32_t process;     /* that made it */
	bool sync;            /* id.channel belongs to the id */

	pthread_mutex_t lock;
	enum roost_rdmacm_state state; /* under lock */
	bool quiet;                    /* under lock: events are discarded */
	struct roost_rdmacm_source *source;       /* under lock */
	struct roost_rdmacm_channel *channel;     /* under lock; NULL: the
						   * program destroyed it before
						   * the id */
	LIST_ENTRY(roost_rdmacm_id) channel_link; /* under channel->lock */

	pthread_mutex_t call;               /* guards everything below */
	struct roost_rdmacm_device *device; /* NULL: not bound to one */
	bool held;                          /* device->refs counts this id */
	struct roost_rdmacm_place place;    /* on device */
	struct roost_rdmacm_claim claim;    /* valid if family is not 0 */
	/* Present addresses; id.route.addr has those of the last delivered
	 * event.
	 */
	struct sockaddr_storage src, dst;
	struct roost_cm_conn *conn; /* NULL: none yet */
	struct roost_cm_path path;  /* source: valid with device; the rest: from
				     * ADDR_RESOLVED on */
	bool begun;      /* the CM has sent or received a message for conn */
	bool conn_error; /* CONNECT_ERROR was delivered: REJECTED and
			  * DISCONNECTED are suppressed */
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
	struct roost_rdmacm_lookups *lookups; /* NULL: none yet */
	/* rdma_create_ep(): attributes for the QPs of requests; data to put
	 * before the private data.
	 */
	struct ibv_qp_init_attr *qp_init_attr;
	void *connect_data;
	size_t connect_len_bytes;
};

static inline struct roost_rdmacm_id *roost_rdmacm_id(struct rdma_cm_id *id)
{
	return (struct roost_rdmacm_id *)id;
}

/* True if an object of this process number was inherited by a fork. */
static inline bool roost_rdmacm_is_dead(uint32_t process)
{
	return process != roost_process();
}

static inline bool roost_rdmacm_is_ud(const struct roost_rdmacm_id *id)
{
	return id->id.qp_type == IBV_QPT_UD;
}

/* 0 or -errno in; 0 or -1 out, and errno. */
static inline int roost_rdmacm_result(int ret)
{
	if (ret == 0)
		return 0;
	errno = -ret;
	return -1;
}

/* -errno in; NULL out, and errno. */
static inline void *roost_rdmacm_null(int ret)
{
	errno = -ret;
	return NULL;
}

/* ---- channel.c: events and their channels ------------------------------- */

/* Returns 0, -ENOMEM, -EMFILE. A new source has no events. */
int roost_rdmacm_source_new(struct roost_rdmacm_id *id,
			    struct roost_rdmacm_mc *mc,
			    struct roost_rdmacm_channel *channel,
			    struct roost_rdmacm_source **source);
/*
 * Remove the waiting events, wait for the acks of the events that were read,
 * and free the source. Returns the events that waited, for the caller to free.
 */
struct roost_rdmacm_events
roost_rdmacm_source_end(struct roost_rdmacm_source *source);

/* An event of the id; NULL: no memory. */
struct roost_rdmacm_event *roost_rdmacm_event_new(struct roost_rdmacm_id *id,
						  enum rdma_cm_event_type type,
						  int status);
/*
 * Queue an event of the id, or of mc if mc is not NULL. Takes the event. An id
 * that is quiet discards it. Thread: any, not under id->lock.
 */
void roost_rdmacm_push(struct roost_rdmacm_id *id, struct roost_rdmacm_mc *mc,
		       struct roost_rdmacm_event *event);
/* As roost_rdmacm_push(), for an event without data. Returns 0, -ENOMEM. */
int roost_rdmacm_tell(struct roost_rdmacm_id *id, enum rdma_cm_event_type type,
		      int status);
/* Free events that will not be read; new ids in them are destroyed. */
void roost_rdmacm_events_free(struct roost_rdmacm_events *events);
/* Add the id to the channel, or remove it: its events use the channel from here
 * on, or no longer.
 */
void roost_rdmacm_channel_add(struct roost_rdmacm_channel *channel,
			      struct roost_rdmacm_id *id);
void roost_rdmacm_channel_remove(struct roost_rdmacm_id *id);

/* ---- call.c ------------------------------------------------------------- */

enum roost_rdmacm_state roost_rdmacm_id_state(struct roost_rdmacm_id *id);
/* Set the state. An id in state REMOVED keeps it. */
void roost_rdmacm_id_set_state(struct roost_rdmacm_id *id,
			       enum roost_rdmacm_state state);
/* Move from one state to another; false: the id was not in `from`, and keeps
 * its state.
 */
bool roost_rdmacm_id_move(struct roost_rdmacm_id *id,
			  enum roost_rdmacm_state from,
			  enum roost_rdmacm_state to);
/*
 * Begin a call: take id->call. Returns 0, and the caller unlocks it; -EBADF
 * (its channel was destroyed), -EIO (its device is gone, or it is dead).
 */
int roost_rdmacm_enter(struct roost_rdmacm_id *id);
/* As roost_rdmacm_enter(), for a call that cleans up: a device that is gone is
 * no error.
 */
int roost_rdmacm_enter_last(struct roost_rdmacm_id *id);
/* As roost_rdmacm_enter(), for a call that the state of the id may forbid. */
int roost_rdmacm_enter_as(struct roost_rdmacm_id *id,
			  enum roost_rdmacm_call call);
/* As roost_rdmacm_enter(), for a call that needs a device: -EINVAL without one.
 */
int roost_rdmacm_enter_bound(struct roost_rdmacm_id *id);
/* End a call with ret (0 or -errno). Returns 0, or -1 and errno. */
int roost_rdmacm_leave(struct roost_rdmacm_id *id, int ret);

/* ---- deliver.c ---------------------------------------------------------- */

/* Fill in the device of the id for the program. Under id->call. Returns 0,
 * -ENOMEM.
 */
int roost_rdmacm_id_show_device(struct roost_rdmacm_id *id);
/* Fill in addresses and GIDs for the program. Under id->call. */
void roost_rdmacm_id_show_addr(struct roost_rdmacm_id *id);
/* Fill in the attributes of an AH to dgid from the id's port and address. Under
 * id->call.
 */
void roost_rdmacm_id_show_ah(const struct roost_rdmacm_id *id,
			     const struct roost_gid *dgid,
			     struct ibv_ah_attr *attr);
/* Answer REP with RTU, after moving the QP. Returns 0 or -errno. */
int roost_rdmacm_answer(struct roost_rdmacm_id *id);
/* As roost_rdmacm_leave(); after a successful call, a synchronous id waits for
 * the event of the call. ADDR_CHANGE is not the event of any call, and is
 * discarded there.
 */
int roost_rdmacm_leave_complete(struct roost_rdmacm_id *id, int ret);
/* Wait for the next event of a synchronous id; acks the one before. Returns 0,
 * or -1 and errno.
 */
int roost_rdmacm_next_event(struct roost_rdmacm_id *id,
			    struct rdma_cm_event **event);

/* ---- id.c --------------------------------------------------------------- */

/* Create an id without channel, for rdma_create_id() and for requests. Returns
 * NULL: no memory.
 */
struct roost_rdmacm_id *roost_rdmacm_id_new(enum rdma_port_space ps,
					    enum ibv_qp_type qp_type,
					    void *context);
/* Attach the id to a channel; NULL: a channel of its own, and synchronous mode.
 */
int roost_rdmacm_id_attach(struct roost_rdmacm_id *id,
			   struct rdma_event_channel *channel);
int roost_rdmacm_id_create(struct rdma_event_channel *channel,
			   struct rdma_cm_id **id, void *context,
			   enum rdma_port_space ps, enum ibv_qp_type qp_type);
/* End the id's use of the CM: no callbacks any more. Under no lock. */
void roost_rdmacm_id_quit(struct roost_rdmacm_id *id);
void roost_rdmacm_id_free(struct roost_rdmacm_id *id);

/* ---- watch.c ------------------------------------------------------------ */

/* Watch a device that was opened, for all ids on it. */
void roost_rdmacm_watch(struct roost_rdmacm_device *d);
/*
 * Put the id on the device at this address, and remove it from any other: it
 * gets DEVICE_REMOVAL and ADDR_CHANGE. Under id->call, or before another thread
 * can see the id. Returns 0, -ENODEV (the device is gone).
 */
int roost_rdmacm_place_take(struct roost_rdmacm_id *id,
			    struct roost_rdmacm_device *d, uint8_t port_num,
			    const struct roost_gid *addr);
/* Take the id off its device; does nothing if it is on none. */
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

/* Move the QP of a connection; without a QP they do nothing. Under id->call.
 * Return 0 or -errno.
 */
int roost_rdmacm_qp_to_rtr(struct roost_rdmacm_id *id, uint8_t resources);
int roost_rdmacm_qp_to_rts(struct roost_rdmacm_id *id, uint8_t depth);
int roost_rdmacm_qp_to_err(struct roost_rdmacm_id *id);
/* The connection cannot be: say so to the peer. */
void roost_rdmacm_give_up(struct roost_rdmacm_id *id);
/* Attach the QP, if there is one. Under id->call. Returns 0 or -errno. */
int roost_rdmacm_mc_joined(struct roost_rdmacm_id *id,
			   struct roost_rdmacm_mc *mc);
/* Detach the QP. Under id->call. */
void roost_rdmacm_mc_detach(struct roost_rdmacm_id *id,
			    struct roost_rdmacm_mc *mc);
/* Detach the QP from all groups. Under id->call. */
void roost_rdmacm_mc_leave_all(struct roost_rdmacm_id *id);

#endif
