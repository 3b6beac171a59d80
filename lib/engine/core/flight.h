/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_FLIGHT_H
#define ROOST_ENGINE_CORE_FLIGHT_H

/*
 * The flight recorder of a QP: its last changes of state, and its last rare
 * events. It is always on. Nothing is recorded for a packet that is as it
 * should be, so a record costs nothing where the rate counts; where something
 * goes wrong it costs the search of six entries.
 *
 * The memory is part of the QP and has a fixed size. So that thousands of
 * retries do not push out the NAK before them, events of the same kind and
 * argument are one entry, with a count and the last of their times. A new entry
 * replaces the one with the oldest time.
 *
 * A failure that somebody watches (roost_dev_watch_failures()) is copied as it
 * was, with the rest of the QP, so that it can be told after the QP was
 * destroyed.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/drop.h>
#include <roost/gid.h>

struct roost_dev;
struct roost_frame;
struct roost_pkt;
struct roost_qp;
struct roost_qp_view;
struct roost_worker;

#define ROOST_FLIGHT_STATES 6
#define ROOST_FLIGHT_EVENTS 6

enum roost_flight_kind {
	ROOST_FLIGHT_NONE, /* the entry is empty */
	/* arg: enum roost_qp_state; value: enum roost_qp_error_code, or
	 * ROOST_QPE_MODIFIED: the program modified it.
	 */
	ROOST_FLIGHT_STATE,
	ROOST_FLIGHT_NAK_SENT,     /* arg: syndrome, RNR too; value: PSN */
	ROOST_FLIGHT_NAK_RECEIVED, /* the same */
	ROOST_FLIGHT_TIMEOUT,      /* of local ACK; value: PSN */
	ROOST_FLIGHT_PROBE,        /* early retransmission; value: PSN */
	ROOST_FLIGHT_RESPONSE_GAP, /* a response is missing; value: PSN */
	ROOST_FLIGHT_PORT_DOWN,    /* at a timeout; arg: port number */
	ROOST_FLIGHT_MIGRATED,     /* arg: the new port number */
	ROOST_FLIGHT_MIG_REFUSED,  /* PATH_MIG_ERR */
	ROOST_FLIGHT_CNP_SENT,
	ROOST_FLIGHT_CNP_HANDLED,
	/* arg: enum roost_drop; value: the P_Key or Q_Key of the packet for
	 * ROOST_DROP_PKEY and ROOST_DROP_QKEY, else the PSN.
	 */
	ROOST_FLIGHT_DROP,
	ROOST_FLIGHT_KINDS,
};

struct roost_flight_entry {
	uint64_t at_ns; /* the last time; 0: empty. now_ns of the worker's
			 * iteration, or of its last one */
	uint32_t value; /* of the last one */
	uint16_t count; /* UINT16_MAX: that many or more */
	uint8_t kind;   /* enum roost_flight_kind */
	uint8_t arg;
};

/* An entry of ROOST_FLIGHT_STATE in eight bytes, as a QP has it. */
struct roost_flight_change {
	uint64_t at_ns : 56; /* the low bits, which begin again after two
			      * years; 0: empty */
	uint64_t state : 3;  /* enum roost_qp_state */
	uint64_t by : 5;     /* see flight.c */
};

/* Writer: the holder of the turn. Entries are in no order. */
struct roost_flight {
	struct roost_flight_entry states[ROOST_FLIGHT_STATES];
	struct roost_flight_entry events[ROOST_FLIGHT_EVENTS];
};

/* The last packet that a worker dropped for a reason. */
struct roost_last_drop {
	uint64_t at_ns; /* 0: none */
	uint32_t qpn;   /* that the packet names, right or not; 0: none */
	uint32_t value; /* as in the entry of a QP */
	struct roost_gid sgid;
};

/* Record an event. Holder of the turn. */
void roost_flight_note(struct roost_qp *qp, enum roost_flight_kind kind,
		       uint8_t arg, uint32_t value) __attribute__((cold));
/* Record a change of state, to the present one. by: enum roost_qp_error_code.
 * Holder of the turn.
 */
void roost_flight_state(struct roost_qp *qp, uint8_t by) __attribute__((cold));
/* Record a packet that is dropped, for the worker, and for the QP that the
 * packet names. pkt: parsed, unless the reason is of a check before that.
 * Holder of the turn.
 */
void roost_flight_drop(struct roost_worker *w, const struct roost_frame *frame,
		       const struct roost_pkt *pkt, enum roost_drop reason)
	__attribute__((cold));
/* As roost_flight_drop(), for a QP that took the packet first. */
void roost_flight_drop_at(struct roost_qp *qp, const struct roost_frame *frame,
			  const struct roost_pkt *pkt, enum roost_drop reason)
	__attribute__((cold));
/* The QP's changes of state. Holder of the turn. */
void roost_flight_states(
	const struct roost_qp *qp,
	struct roost_flight_entry entries[ROOST_FLIGHT_STATES]);
/* The entries of a kind of record in the order of time, without the empty ones.
 * Returns their number. Pure.
 */
unsigned int roost_flight_sort(const struct roost_flight_entry *entries,
			       unsigned int nb,
			       struct roost_flight_entry *sorted);

/* ---- failures ----------------------------------------------------------- */

/* Failures that are kept until they are told; more are counted. */
#define ROOST_FAILURES_MAX 16u

/*
 * Watch QPs that go to ERR or SQE by themselves: fn is called with each, soon
 * after, and takes no lock of the device. lost: failures since the last call
 * that there was no room for. Call it once, before the device has QPs. Returns
 * 0, -ENOMEM. Thread: the one that creates the device; fn runs on the control
 * thread, or, at the exit of the process, on the thread that exits.
 */
int roost_dev_watch_failures(struct roost_dev *dev,
			     void (*fn)(void *arg,
					const struct roost_qp_view *qp,
					unsigned int lost),
			     void *arg);
/* Before the device is freed. */
void roost_dev_unwatch_failures(struct roost_dev *dev);
/* The QP has failed by itself. Holder of the turn. */
void roost_failure_note(struct roost_qp *qp) __attribute__((cold));

#endif
