/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The words of stories that several objects have in common. */

#include "pmd_glue/ctl/story.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/wire/frame.h"

void roost_story_say(struct roost_story *s, const char *format, ...)
{
	va_list args;

	if (s->nb == ROOST_STORY_LINES)
		return;
	va_start(args, format);
	vsnprintf(s->lines[s->nb++], ROOST_STORY_LINE_MAX, format, args);
	va_end(args);
}

void roost_story_blame(struct roost_story *s, const char *format, ...)
{
	size_t len = strlen(s->cause);
	va_list args;

	va_start(args, format);
	vsnprintf(s->cause + len, sizeof(s->cause) - len, format, args);
	va_end(args);
}

const char *roost_story_ago(uint64_t now_ns, uint64_t at_ns,
			    char text[ROOST_STORY_AGO_MAX])
{
	uint64_t ago_ms = now_ns > at_ns ? (now_ns - at_ns) / 1000000u : 0;

	if (ago_ms < 3600000u)
		snprintf(text, ROOST_STORY_AGO_MAX, "%u.%03u s ago",
			 (unsigned int)(ago_ms / 1000u),
			 (unsigned int)(ago_ms % 1000u));
	else
		snprintf(text, ROOST_STORY_AGO_MAX, "%.1f h ago",
			 (double)ago_ms / 3600000.0);
	return text;
}

const char *roost_story_nak(uint8_t syndrome, char text[ROOST_STORY_NAK_MAX])
{
	static const char *const kinds[ROOST_NAK_KINDS] = {
		"PSN sequence error",
		"invalid request",
		"remote access error",
		"remote operational error",
	};
	uint8_t value = syndrome & ROOST_AETH_VALUE_MASK;

	if ((syndrome & ROOST_AETH_TYPE_MASK) == ROOST_AETH_RNR_NAK)
		snprintf(text, ROOST_STORY_NAK_MAX, "RNR NAK (wait %.2f ms)",
			 (double)roost_rnr_timer_ns(value) / 1e6);
	else
		snprintf(text, ROOST_STORY_NAK_MAX, "NAK (%s)",
			 value < ROOST_NAK_KINDS ? kinds[value] : "unknown");
	return text;
}

const char *roost_story_drop(enum roost_drop reason)
{
	static const char *const texts[ROOST_DROPS_MAX] = {
		[ROOST_DROP_ICRC] = "their ICRC was wrong: they were broken "
				    "on the way, or the sender has no ICRC",
		[ROOST_DROP_QPN] = "no QP here has the number that they name",
		[ROOST_DROP_QP_TYPE] = "their opcode is not for this type of "
				       "QP",
		[ROOST_DROP_QP_STATE] = "the QP did not receive in its state",
		[ROOST_DROP_SRC_ADDR] = "their source is not the QP's peer",
		[ROOST_DROP_PKEY] = "their P_Key does not match that of the "
				    "QP",
		[ROOST_DROP_QKEY] = "their Q_Key is not that of the QP",
		[ROOST_DROP_RNR_WAIT] = "no receive was posted",
		[ROOST_DROP_INV_REQUEST] = "they are invalid requests",
		[ROOST_DROP_ACCESS] = "their rkey, range or access is wrong",
		[ROOST_DROP_ROCE_V1] = "they are RoCEv1; let the sender use "
				       "RoCEv2",
		[ROOST_DROP_VLAN] = "they are of another VLAN than the port",
		[ROOST_DROP_NO_BUFFER] = "there was no buffer",
		[ROOST_DROP_WORKER_BUSY] = "the worker of their QP was busy",
	};

	return (unsigned int)reason < ROOST_DROPS_MAX ? texts[reason] : NULL;
}

bool roost_story_port_up(struct roost_dev *dev, const struct roost_qp_view *qp)
{
	struct roost_port_attr attr = { .state = ROOST_PORT_ACTIVE };

	if (qp->port_num != 0)
		roost_port_query(dev, qp->port_num, &attr);
	return attr.state == ROOST_PORT_ACTIVE;
}
