/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/dump.h"

#include <stdatomic.h>
#include <stdio.h>

#include "apps/roostd/handover.h"
#include "pmd_glue/dump/dump.h"

enum {
	NETWORK,
	CLIENTS,
	PLACES
};

/* Of each port. */
static struct roost_dump_source sources[ROOST_PORTS_MAX];
static struct roostd_port *ports; /* NULL: not started */
/* The daemon's thread waits for the control thread, which may do its work. */
static bool waits;

/* ---- life ---------------------------------------------------------------- */

struct change {
	struct roostd_port *port;
	bool on;
};

static int change(void *arg)
{
	const struct change *c = arg;

	c->port->is_shown = c->on;
	return 0;
}

static int set(struct roost_dump_source *source, bool on)
{
	struct change c = { &ports[source - sources], on };

	return waits ? change(&c) : roostd_handover(change, &c);
}

void roostd_dump_start(struct roostd_port *first)
{
	ports = first;
	waits = true;
	for (uint32_t i = 0; i < first->nb_ports; i++) {
		struct roost_dump_source *source = &sources[i];

		*source = (struct roost_dump_source){
			.device = ports[i].label,
			.nb_names = PLACES,
			.set = set,
		};
		snprintf(source->names[NETWORK], ROOST_DUMP_NAME_MAX, "%s",
			 ports[i].label);
		snprintf(source->names[CLIENTS], ROOST_DUMP_NAME_MAX,
			 "%.50s clients", ports[i].label);
		roost_dump_add(source);
	}
	waits = false;
}

void roostd_dump_stop(void)
{
	waits = true;
	for (uint32_t i = 0; i < ports->nb_ports; i++)
		roost_dump_remove(&sources[i]);
	waits = false;
}

/* ---- frames -------------------------------------------------------------- */

void roostd_dump_begin(struct roostd_lane *lane, uint16_t client,
		       const struct roost_sw_frame *frame,
		       struct roost_tap_mark *mark)
{
	const struct roost_dump_frame shown = {
		.source = &sources[lane->port - ports],
		.place = client == ROOST_CLIENT_NONE ? NETWORK : CLIENTS,
		.way = ROOST_DUMP_RECEIVED,
		.head = frame->head,
		.head_bytes = frame->head_len_bytes,
		.rest = frame->payload,
		.rest_bytes = frame->len_bytes - frame->head_len_bytes,
		.frame_bytes = frame->len_bytes,
	};

	lane->sw->last_drop = ROOST_SW_OK;
	lane->got = NULL;
	roost_dump_begin(&shown, mark);
}

void roostd_dump_end(const struct roostd_lane *lane, uint16_t client,
		     const struct roost_tap_mark *mark)
{
	const enum roost_sw_drop drop = lane->sw->last_drop;
	char comment[ROOST_DUMP_COMMENT_MAX];
	int len = 0;

	comment[0] = '\0';
	if (client != ROOST_CLIENT_NONE)
		len = snprintf(comment, sizeof(comment), "from client %u",
			       client);
	if (lane->got)
		len += snprintf(comment + len, sizeof(comment) - (size_t)len,
				"%sto client %u", len ? " " : "",
				lane->got->slot);
	if (drop != ROOST_SW_OK)
		snprintf(comment + len, sizeof(comment) - (size_t)len,
			 "%sdropped: %s", len ? "; " : "",
			 roost_sw_drop_name(drop));
	roost_dump_end(mark, comment);
}
