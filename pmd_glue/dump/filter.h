/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_DUMP_FILTER_H
#define ROOST_PMD_GLUE_DUMP_FILTER_H

/*
 * Which frames a capture takes: those of some QPs or of some CM ids, and of
 * some addresses. Frames may be broken in any way, as those are that are
 * dropped: only what is there is looked at.
 *
 * Thread: any; nothing is kept.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/gid.h>

#define ROOST_DUMP_FILTERS_MAX 8u

struct roost_dump_filter {
	/* Neither QPs nor CM ids: all frames. */
	uint32_t nb_qpns, nb_cm_ids;
	uint32_t qpns[ROOST_DUMP_FILTERS_MAX];
	uint32_t cm_ids[ROOST_DUMP_FILTERS_MAX];
	/* No addresses: of all. */
	uint32_t nb_addrs;
	struct roost_gid addrs[ROOST_DUMP_FILTERS_MAX];
};

/* Is a packet to dest_qpn at dgid from a QP of number qpn? Asked for packets
 * that do not say whose they are. NULL: not known.
 */
typedef bool roost_dump_is_from(void *ctx, uint32_t qpn, uint32_t dest_qpn,
				const struct roost_gid *dgid);

/*
 * Add a word and its value: qp NUMBER, cm-id NUMBER, address ADDR. Returns 0;
 * -EINVAL: a wrong value; -ENOSPC: too many; -ENOENT: there is no such word.
 */
int roost_dump_filter_add(struct roost_dump_filter *filter, const char *word,
			  const char *value);

/* Does the filter take a frame, of which len_bytes are there? */
bool roost_dump_filter_takes(const struct roost_dump_filter *filter,
			     const uint8_t *frame, uint32_t len_bytes,
			     roost_dump_is_from *is_from, void *ctx);

#endif
