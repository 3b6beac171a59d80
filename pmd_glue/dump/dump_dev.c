/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Devices as sources. Hot while there are captures.
 */
#include <stddef.h>
#include <stdio.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include <roost/dev.h>

#include "lib/engine/core/dev.h"
#include "lib/engine/core/in_place.h"
#include "pmd_glue/dump/dump.h"

_Static_assert(ROOST_DUMP_PLACES_MAX >= ROOST_DEV_PORTS_MAX,
	       "a place for each port");

static bool is_from(void *ctx, uint32_t qpn, uint32_t dest_qpn,
		    const struct roost_gid *dgid)
{
	return roost_tap_is_from(ctx, qpn, dest_qpn, dgid);
}

static void begin(const struct roost_tap *tap,
		  const struct roost_tap_frame *shown,
		  struct roost_tap_mark *mark)
{
	static const enum roost_dump_way ways[] = {
		[ROOST_TAP_RECEIVED] = ROOST_DUMP_RECEIVED,
		[ROOST_TAP_SENT] = ROOST_DUMP_SENT,
		[ROOST_TAP_LOOPED] = ROOST_DUMP_INSIDE,
	};
	const struct roost_dump_dev *own = (const void *)tap;
	struct rte_mbuf *mbuf = shown->mbuf;
	struct roost_dump_frame frame = {
		.source = &own->source,
		.place = shown->port_index,
		.way = ways[shown->way],
		.head = rte_pktmbuf_mtod(mbuf, const void *),
		.head_bytes = mbuf->data_len,
		.frame_bytes = mbuf->pkt_len,
		.ctx = shown->worker,
	};

	if (shown->way != ROOST_TAP_RECEIVED)
		frame.is_from = is_from;
	if (mbuf->nb_segs > 1) {
		frame.rest = rte_pktmbuf_mtod(mbuf->next, const void *);
		frame.rest_bytes = mbuf->next->data_len;
	} else if (shown->way == ROOST_TAP_RECEIVED &&
		   roost_is_in_place(mbuf)) {
		frame.rest = roost_in_place_frame(mbuf) + mbuf->data_len;
		frame.rest_bytes = mbuf->pkt_len - mbuf->data_len;
	}
	roost_dump_begin(&frame, mark);
}

static void end(const struct roost_tap *tap, const struct roost_tap_mark *mark,
		const struct roost_tap_frame *shown, enum roost_drop drop)
{
	static const char *const others[2][2] = {
		{ NULL, "retransmission" },
		{ "loopback", "loopback; retransmission" },
	};
	const bool looped = shown->way == ROOST_TAP_LOOPED;
	char comment[ROOST_DUMP_COMMENT_MAX];
	const char *other = others[looped][shown->again];

	(void)tap;
	if (likely(drop == ROOST_DROP_NONE)) {
		roost_dump_end(mark, other);
		return;
	}
	snprintf(comment, sizeof(comment), "dropped: %s%s%s",
		 roost_drop_name(drop), other ? "; " : "", other ? other : "");
	roost_dump_end(mark, comment);
}

static struct roost_dump_dev *dev_of(struct roost_dump_source *source)
{
	return (void *)((char *)source -
			offsetof(struct roost_dump_dev, source));
}

static int set(struct roost_dump_source *source, bool on)
{
	struct roost_dump_dev *d = dev_of(source);

	roost_dev_set_tap(d->dev, on ? &d->tap : NULL);
	return 0;
}

void roost_dump_add_dev(struct roost_dump_dev *d, struct roost_dev *dev,
			unsigned int nb_ports, const char *label)
{
	*d = (struct roost_dump_dev){
		.tap = { .begin = begin, .end = end },
		.dev = dev,
		.source = {
			.device = label ? label : roost_dev_name(dev),
			.nb_names = nb_ports,
			.set = set,
		},
	};
	for (unsigned int i = 0; label == NULL && i < nb_ports; i++)
		snprintf(d->source.names[i], ROOST_DUMP_NAME_MAX, "%s port %u",
			 roost_dev_name(dev), i + 1);
	if (label)
		snprintf(d->source.names[0], ROOST_DUMP_NAME_MAX, "%s", label);
	roost_dump_add(&d->source);
}
