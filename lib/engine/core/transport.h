/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_TRANSPORT_H
#define ROOST_ENGINE_CORE_TRANSPORT_H

/*
 * What the scheduler and the objects ask of the transport. The transport is
 * above both: the one who creates a device hands over this table
 * (lib/engine/device.c), and the device and its workers keep it.
 *
 * Thread: the holder of the turn of the worker or of the QP's worker; where it
 * takes a device, of all turns.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/qp.h>

struct rte_mbuf;
struct roost_dev;
struct roost_timer;
struct roost_worker;

/* In mbuf->port and in from, beside the port: we sent the frame, it was on no
 * wire.
 */
#define ROOST_LOOPED 0x8000u

struct roost_transport {
	/* ---- of the scheduler: calls by the burst ---- */

	/* Frames that came in by one port. Takes them. */
	void (*receive)(struct roost_worker *w, unsigned int port_index,
			struct rte_mbuf **pkts, unsigned int n);
	/* Frames from elsewhere: mbuf->port is the port of each, and
	 * ROOST_LOOPED. Takes them.
	 */
	void (*receive_each)(struct roost_worker *w, struct rte_mbuf **pkts,
			     unsigned int n);
	/* A QP that wanted to send may: up to burst packets. Returns how many;
	 * while the QP could go on, it wants to send again.
	 */
	unsigned int (*transmit)(struct roost_worker *w, struct roost_qp *qp,
				 unsigned int burst);
	/* A QP sends what it owes its peer, of responses up to *burst, which is
	 * what is left of it then. Returns false when something is left.
	 */
	bool (*answer)(struct roost_worker *w, struct roost_qp *qp,
		       unsigned int *burst);
	/* A timer that the transport set has run out. */
	void (*expire)(struct roost_worker *w, struct roost_timer *timer);
	/* Complete what was posted to a QP in ERR, or the sends of one in SQE,
	 * as far as worker.flush_left goes (roost_worker_flush_later()).
	 */
	void (*flush)(struct roost_worker *w, struct roost_qp *qp);

	/* ---- of the objects: cold ---- */

	/* The QP goes to ERR for a reason that is no request's. event: enum
	 * roost_async_event to raise, a negative number: none. Idempotent.
	 */
	void (*end)(struct roost_qp *qp, enum roost_qp_error_code code,
		    int event);
	/* The same, and there is no way to a peer any more: nothing is sent. */
	void (*lose)(struct roost_qp *qp, enum roost_qp_error_code code);
	/* The port went down: QPs that may migrate leave it. */
	void (*port_down)(struct roost_dev *dev, unsigned int port_index);
};

#endif
