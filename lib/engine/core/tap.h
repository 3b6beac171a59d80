/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_TAP_H
#define ROOST_ENGINE_CORE_TAP_H

/*
 * A tap: who copies the frames of a device, for packet capture. A worker looks
 * for one once per burst. It shows the tap each frame that it receives before
 * it looks at it itself, says afterwards why it dropped it, and shows each
 * frame that it sends before the port gets it. A frame of a device to itself is
 * shown once.
 *
 * A frame that a worker sends and another one hands to the port is shown by the
 * first one, and a received frame by the worker that it is for.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/drop.h>

struct rte_mbuf;
struct roost_dev;
struct roost_gid;
struct roost_worker;

enum roost_tap_way {
	ROOST_TAP_RECEIVED,
	ROOST_TAP_SENT,
	ROOST_TAP_LOOPED, /* on no wire */
};

struct roost_tap_frame {
	struct roost_worker *worker;
	struct rte_mbuf *mbuf; /* received frames: maybe in place
				* (in_place.h) */
	unsigned int port_index;
	enum roost_tap_way way;
	bool again; /* it was sent before */
};

/* Copies that a tap may make of one frame. */
#define ROOST_TAP_COPIES 4u

/* Between begin and end; the tap's. */
struct roost_tap_mark {
	uint64_t place[ROOST_TAP_COPIES];
};

struct roost_tap {
	/* Thread: the holder of the worker's turn; must not block. The frame
	 * stays the caller's. end follows begin, on the same thread; in between
	 * are frames that the worker sends meanwhile.
	 */
	void (*begin)(const struct roost_tap *tap,
		      const struct roost_tap_frame *frame,
		      struct roost_tap_mark *mark);
	void (*end)(const struct roost_tap *tap,
		    const struct roost_tap_mark *mark,
		    const struct roost_tap_frame *frame, enum roost_drop drop);
};

/* Show the tap all frames of the device from now on; NULL: show none. The tap
 * outlives this, and the one before it is used no more when the function
 * returns. Thread: any that holds no turn.
 */
void roost_dev_set_tap(struct roost_dev *dev, const struct roost_tap *tap);

/* Has the worker a connected QP of number qpn, whose peer is dest_qpn at dgid?
 * Thread: the holder of its turn.
 */
bool roost_tap_is_from(struct roost_worker *worker, uint32_t qpn,
		       uint32_t dest_qpn, const struct roost_gid *dgid);

#endif
