/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_UNREACHED_H
#define ROOST_PMD_GLUE_HOST_UNREACHED_H

/*
 * Reports of peers that are not reached: one line for each cause, for any
 * number of calls that fail.
 *
 * A cause is reported again after 256 other causes, or ten minutes after its
 * last report. At most eight lines are reported in a row; then one every ten
 * seconds.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/engine/core/port_io.h"
#include "pmd_glue/host/route.h"

#define ROOST_UNREACHED_TEXT_MAX 1536

/* The state of the port when a peer is not reached. */
struct roost_unreached_port {
	const char *label; /* from roost_config_label() */
	struct roost_routes routes;
	struct roost_gid link_local; /* of its MAC */
	const char *iface;           /* interface that it follows; NULL: none */
	bool is_shared;              /* its daemon configures it */
	/* The cause of a missing answer, if it is known; empty: not known. */
	char hint[512];
};

/* Write the line, without "roost: ". hop: the next hop to what->dgid, which was
 * asked by ARP or ND; for NO_NEIGH only. Thread: any.
 */
void roost_unreached_text(const struct roost_unreached_port *port,
			  const struct roost_unreached *what,
			  const struct roost_gid *hop,
			  char text[ROOST_UNREACHED_TEXT_MAX]);

/* Returns true if the cause is to be reported now, and counts it as reported.
 * Thread: any.
 */
bool roost_unreached_is_new(const char *label,
			    const struct roost_unreached *what,
			    const struct roost_gid *hop, uint64_t now_ns);

#endif
