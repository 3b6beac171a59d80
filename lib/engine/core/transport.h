/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_TRANSPORT_H
#define ROOST_ENGINE_CORE_TRANSPORT_H

/*
 * What the scheduler and the objects call in the transport. The transport is
 * above both: the creator of a device passes this table (lib/engine/device.c),
 * and the device and its workers keep it.
 *
 * Thread: the holder of the turn of the worker, or of the QP's worker; for
 * calls that take a device, the holder of all turns.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/qp.h>

struct rte_mbuf;
struct roost_dev;
struct roost_timer;
struct roost_worker;

/* In mbuf->port and in `from`, added to the port: this device sent the frame,
 * and the frame was on no wire.
 */
#define ROOST_LOOPED 0x8000u
/* In mbuf->port of frames to be sent: it was sent before; and, a tap has seen
 * it (tap.h).
 */
#define ROOST_AGAIN 0x4000u
#define ROOST_SHOWN 0x2000u
/* In mbuf->port of copies that another worker passed on (lib/engine/transport,
 * raw_priv.h): for sniffers alone; and, for rules, too.
 */
#define ROOST_RAW_SNIFFED 0x1000u
#define ROOST_RAW_LED 0x0800u
#define ROOST_PORT_MASK 0x07ffu

struct roost_transport {
	/* ---- of the scheduler: calls by the burst ---- */

	/* Frames that were received on one port. Takes them. */
	void (*receive)(struct roost_worker *w, unsigned int port_index,
			struct rte_mbuf **pkts, unsigned int n);
	/* Frames from rings and loopback: mbuf->port is the port of each, and
	 * ROOST_LOOPED. Takes them.
	 */
	void (*receive_each)(struct roost_worker *w, struct rte_mbuf **pkts,
			     unsigned int n);
	/* A QP that wants to send may send up to burst packets. Returns how
	 * many it sent; a QP that could go on wants to send again.
	 */
	unsigned int (*transmit)(struct roost_worker *w, struct roost_qp *qp,
				 unsigned int burst);
	/* A QP sends the responses and the ACK that it owes its peer, at most
	 * *burst packets of responses; *burst gets the rest of it. Returns
	 * false when something is left, unless the QP's rate holds it back:
	 * then a timer makes the QP want to answer again.
	 */
	bool (*answer)(struct roost_worker *w, struct roost_qp *qp,
		       unsigned int *burst);
	/* Frames leave by a port with sniffers (flow.h). They stay the
	 * caller's.
	 */
	void (*sniff)(struct roost_worker *w, unsigned int port_index,
		      struct rte_mbuf **frames, unsigned int n);
	/* A timer that the transport set has run out. */
	void (*expire)(struct roost_worker *w, struct roost_timer *timer);
	/* Complete the requests of a QP in ERR, or the sends of a QP in SQE, at
	 * most worker.flush_left of them (roost_worker_flush_later()).
	 */
	void (*flush)(struct roost_worker *w, struct roost_qp *qp);

	/* ---- of the objects: cold ---- */

	/* The QP goes to ERR for a reason that no request caused. event: enum
	 * roost_async_event to raise; negative: none. Idempotent.
	 */
	void (*end)(struct roost_qp *qp, enum roost_qp_error_code code,
		    int event);
	/* As end, when no path to a peer is left: nothing is sent. */
	void (*lose)(struct roost_qp *qp, enum roost_qp_error_code code);
	/* The QP's port stood still (roost_port_set_still()) and goes on: send
	 * again what was not acknowledged.
	 */
	void (*go_on)(struct roost_qp *qp);
	/* The port went down: QPs that may migrate leave it. */
	void (*port_down)(struct roost_dev *dev, unsigned int port_index);
};

#endif
