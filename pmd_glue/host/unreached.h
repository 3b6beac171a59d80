/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_UNREACHED_H
#define ROOST_PMD_GLUE_HOST_UNREACHED_H

/*
 * Why a peer is not reached, in words: one line for each cause, however many
 * calls fail of it.
 *
 * A cause is told again when 256 others were told since, or when it comes up
 * ten minutes after it was told. No more than eight lines are told in a row;
 * then one every ten seconds.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/dev.h>
#include "pmd_glue/host/route.h"

#define ROOST_UNREACHED_TEXT_MAX 1536

/* The port, as it is when somebody is not reached from it. */
struct roost_unreached_port {
	const char *label; /* as roost_config_label() has it */
	struct roost_routes routes;
	struct roost_gid link_local; /* by its MAC */
	const char *iface;           /* that it follows; NULL: none */
	/* What is known of why nobody answers; empty: nothing. */
	char hint[512];
};

/* Write the line, without "roost: ". hop: who is asked by ARP or ND on the way
 * to what->dgid; only of NO_NEIGH. Thread: any.
 */
void roost_unreached_text(const struct roost_unreached_port *port,
			  const struct roost_unreached *what,
			  const struct roost_gid *hop,
			  char text[ROOST_UNREACHED_TEXT_MAX]);

/* May it be told now? Then it counts as told. Thread: any. */
bool roost_unreached_is_new(const char *label,
			    const struct roost_unreached *what,
			    const struct roost_gid *hop, uint64_t now_ns);

#endif
