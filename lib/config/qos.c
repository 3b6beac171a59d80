/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/config/qos.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <roost/qos.h>
#include "lib/config/fail.h"
#include "lib/config/list.h"

static const char *const trust_names[] = {
	[ROOST_TRUST_DSCP] = "dscp",
	[ROOST_TRUST_PCP] = "pcp",
};

int roost_config_parse_trust(void *member, const char *value, char *cause)
{
	enum roost_trust *trust = member;

	for (size_t i = 0; i < sizeof(trust_names) / sizeof(trust_names[0]);
	     i++) {
		if (strcmp(value, trust_names[i]) == 0) {
			*trust = (enum roost_trust)i;
			return 0;
		}
	}
	return roost_config_fail(cause,
				 "'%.80s': nothing that priorities come from; "
				 "use dscp or pcp",
				 value);
}

void roost_config_format_trust(const void *member, char *buf, size_t size)
{
	const enum roost_trust *trust = member;

	snprintf(buf, size, "%s", trust_names[*trust]);
}

/* A number up to most at *s, which then is behind it. */
static bool take_number(const char **s, uint32_t most, uint32_t *number)
{
	size_t len = strspn(*s, "0123456789");

	*number = 0;
	for (size_t i = 0; i < len && *number <= most; i++)
		*number = *number * 10 + (uint32_t)((*s)[i] - '0');
	*s += len;
	return len != 0 && *number <= most;
}

int roost_config_parse_tos(void *member, const char *value, char *cause)
{
	const char *s = value;
	uint32_t tos;

	if (!take_number(&s, UINT8_MAX, &tos) || *s != '\0')
		return roost_config_fail(cause,
					 "'%.80s': out of range; use a number "
					 "from 0 to 255",
					 value);
	*(uint32_t *)member = tos;
	return 0;
}

/* ---- tables ------------------------------------------------------------- */

/* "N:P" or "N-M:P". */
static bool take_entry(uint8_t *table, uint32_t nb, const char *s)
{
	uint32_t first, last, to;

	if (!take_number(&s, nb - 1, &first))
		return false;
	last = first;
	if (*s == '-' && (s++, !take_number(&s, nb - 1, &last)))
		return false;
	if (*s++ != ':' || !take_number(&s, ROOST_QOS_PRIOS - 1, &to) ||
	    *s != '\0' || last < first)
		return false;
	memset(table + first, (int)to, last - first + 1);
	return true;
}

/* nb: entries of the table. */
static int parse_table(uint8_t *table, uint32_t nb, const char *value,
		       char *cause)
{
	uint8_t copy[ROOST_QOS_DSCPS];
	char entry[32];
	size_t len;

	memcpy(copy, table, nb);
	value += strspn(value, ROOST_LIST_SEPARATORS);
	if (*value == '\0')
		return roost_config_fail(cause, "no entry of the table; give "
						"one or leave it out");
	for (; *value; value += strspn(value, ROOST_LIST_SEPARATORS)) {
		len = strcspn(value, ROOST_LIST_SEPARATORS);
		snprintf(entry, sizeof(entry), "%.*s", (int)len, value);
		if (len >= sizeof(entry) || !take_entry(copy, nb, entry))
			return roost_config_fail(
				cause,
				"'%s': no entry of the table; use N:P or "
				"N-M:P, N and M from 0 to %u, P from 0 to %u",
				entry, nb - 1, ROOST_QOS_PRIOS - 1);
		value += len;
	}
	memcpy(table, copy, nb);
	return 0;
}

/* Neighbours with the same value are one entry of the list. */
static void format_table(const uint8_t *table, uint32_t nb, char *buf,
			 size_t size)
{
	uint32_t end;
	size_t len = 0;

	*buf = '\0';
	for (uint32_t i = 0; i < nb && len < size; i = end) {
		for (end = i + 1; end < nb && table[end] == table[i]; end++)
			;
		len += (size_t)snprintf(buf + len, size - len,
					i > 0 ? ",%u" : "%u", i);
		if (end > i + 1 && len < size)
			len += (size_t)snprintf(buf + len, size - len, "-%u",
						end - 1);
		if (len < size)
			len += (size_t)snprintf(buf + len, size - len, ":%u",
						table[i]);
	}
}

int roost_config_parse_dscp2prio(void *member, const char *value, char *cause)
{
	return parse_table(member, ROOST_QOS_DSCPS, value, cause);
}

void roost_config_format_dscp2prio(const void *member, char *buf, size_t size)
{
	format_table(member, ROOST_QOS_DSCPS, buf, size);
}

int roost_config_parse_prio2pcp(void *member, const char *value, char *cause)
{
	return parse_table(member, ROOST_QOS_PRIOS, value, cause);
}

void roost_config_format_prio2pcp(const void *member, char *buf, size_t size)
{
	format_table(member, ROOST_QOS_PRIOS, buf, size);
}
