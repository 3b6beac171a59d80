/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/dump/filter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/wire/bytes.h"
#include "lib/wire/frame.h"
#include "lib/wire/opcode.h"

#define QPN_MAX 0xffffffu

/* ---- words --------------------------------------------------------------- */

static int add_number(uint32_t *values, uint32_t *nb, const char *text,
		      uint32_t max)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 0);
	if (*text < '0' || *text > '9' || *end || errno || value > max)
		return -EINVAL;
	if (*nb == ROOST_DUMP_FILTERS_MAX)
		return -ENOSPC;
	values[(*nb)++] = (uint32_t)value;
	return 0;
}

static int add_addr(struct roost_dump_filter *filter, const char *text)
{
	struct roost_gid gid;
	uint8_t v4[4];

	if (inet_pton(AF_INET, text, v4) == 1)
		gid = roost_gid_from_v4(v4);
	else if (inet_pton(AF_INET6, text, gid.b) != 1)
		return -EINVAL;
	if (filter->nb_addrs == ROOST_DUMP_FILTERS_MAX)
		return -ENOSPC;
	filter->addrs[filter->nb_addrs++] = gid;
	return 0;
}

int roost_dump_filter_add(struct roost_dump_filter *filter, const char *word,
			  const char *value)
{
	if (strcmp(word, "qp") == 0)
		return add_number(filter->qpns, &filter->nb_qpns, value,
				  QPN_MAX);
	if (strcmp(word, "cm-id") == 0)
		return add_number(filter->cm_ids, &filter->nb_cm_ids, value,
				  UINT32_MAX);
	if (strcmp(word, "address") == 0)
		return add_addr(filter, value);
	return -ENOENT;
}

/* ---- frames -------------------------------------------------------------- */

/* What is found in a frame. */
struct found {
	bool has_addrs;
	struct roost_gid from, to;
	const uint8_t *bth; /* NULL: it is no RoCEv2, or cut off before it */
	uint32_t bth_bytes; /* that are there from it on */
};

/* Senders and targets of ARP for IPv4. */
static void find_arp(const uint8_t *at, uint32_t len, struct found *f)
{
	f->has_addrs = len >= 28;
	if (!f->has_addrs)
		return;
	f->from = roost_gid_from_v4(at + 14);
	f->to = roost_gid_from_v4(at + 24);
}

static void find_bth(const uint8_t *udp, uint32_t len, struct found *f)
{
	if (len < ROOST_UDP_LEN + ROOST_BTH_LEN ||
	    roost_be16_get(udp + 2) != ROOST_UDP_PORT)
		return;
	f->bth = udp + ROOST_UDP_LEN;
	f->bth_bytes = len - ROOST_UDP_LEN;
}

static void find_v4(const uint8_t *at, uint32_t len, struct found *f)
{
	uint32_t hdr_bytes;

	if (len < ROOST_IPV4_LEN)
		return;
	f->has_addrs = true;
	f->from = roost_gid_from_v4(at + 12);
	f->to = roost_gid_from_v4(at + 16);
	hdr_bytes = (at[0] & 0xfu) * 4;
	/* A fragment but the first one has no ports. */
	if (hdr_bytes >= ROOST_IPV4_LEN && hdr_bytes <= len && at[9] == 17 &&
	    (roost_be16_get(at + 6) & 0x1fff) == 0)
		find_bth(at + hdr_bytes, len - hdr_bytes, f);
}

static void find_v6(const uint8_t *at, uint32_t len, struct found *f)
{
	if (len < ROOST_IPV6_LEN)
		return;
	f->has_addrs = true;
	memcpy(f->from.b, at + 8, sizeof(f->from.b));
	memcpy(f->to.b, at + 24, sizeof(f->to.b));
	if (at[6] == 17)
		find_bth(at + ROOST_IPV6_LEN, len - ROOST_IPV6_LEN, f);
}

static void find(const uint8_t *frame, uint32_t len, struct found *f)
{
	uint32_t off = ROOST_ETH_LEN;
	uint16_t type;

	*f = (struct found){ .bth = NULL };
	if (len < off)
		return;
	type = roost_be16_get(frame + 12);
	for (int tags = 0; (type == 0x8100 || type == 0x88a8) && tags < 2;
	     tags++) {
		if (len < off + ROOST_VLAN_LEN)
			return;
		type = roost_be16_get(frame + off + 2);
		off += ROOST_VLAN_LEN;
	}
	if (type == 0x0800)
		find_v4(frame + off, len - off, f);
	else if (type == 0x86dd)
		find_v6(frame + off, len - off, f);
	else if (type == 0x0806)
		find_arp(frame + off, len - off, f);
}

static bool takes_addrs(const struct roost_dump_filter *filter,
			const struct found *f)
{
	if (filter->nb_addrs == 0)
		return true;
	for (uint32_t i = 0; f->has_addrs && i < filter->nb_addrs; i++)
		if (roost_gid_eq(&filter->addrs[i], &f->from) ||
		    roost_gid_eq(&filter->addrs[i], &f->to))
			return true;
	return false;
}

static uint32_t be24(const uint8_t *at)
{
	return roost_be32_get(at) & QPN_MAX;
}

/* Datagrams have a service of their own: the upper three bits of an opcode. */
static bool is_datagram(const struct found *f)
{
	return f->bth[0] >> 5 == 3 &&
	       f->bth_bytes >= ROOST_BTH_LEN + ROOST_DETH_LEN;
}

static bool takes_qpn(const struct roost_dump_filter *filter,
		      const struct found *f, roost_dump_is_from *is_from,
		      void *ctx)
{
	const uint32_t dest_qpn = be24(f->bth + 4);
	const bool datagram = is_datagram(f);

	for (uint32_t i = 0; i < filter->nb_qpns; i++) {
		const uint32_t qpn = filter->qpns[i];

		if (qpn == dest_qpn)
			return true;
		if (datagram ? qpn == be24(f->bth + ROOST_BTH_LEN + 4)
			     : is_from && is_from(ctx, qpn, dest_qpn, &f->to))
			return true;
	}
	return false;
}

/* Messages of the CM: the sender's id, and behind it, in answers, the other
 * one's (IBTA 12.6). The others are SIDR's, and REQ.
 */
static bool takes_cm_id(const struct roost_dump_filter *filter,
			const struct found *f)
{
	enum {
		CLASS_CM = 7,
		MAD_HDR = 24,
		REQ = 0x10,
		SIDR_REQ = 0x17
	};
	const uint32_t off = ROOST_BTH_LEN + ROOST_DETH_LEN;
	const uint8_t *mad = f->bth + off;
	uint16_t attr;

	if (!is_datagram(f) || be24(f->bth + 4) != 1 ||
	    f->bth_bytes < off + MAD_HDR + 8 || mad[1] != CLASS_CM)
		return false;
	attr = roost_be16_get(mad + 16);
	for (uint32_t i = 0; i < filter->nb_cm_ids; i++) {
		const uint32_t id = filter->cm_ids[i];

		if (id == roost_be32_get(mad + MAD_HDR) ||
		    (attr != REQ && attr != SIDR_REQ && attr != SIDR_REQ + 1 &&
		     id == roost_be32_get(mad + MAD_HDR + 4)))
			return true;
	}
	return false;
}

bool roost_dump_filter_takes(const struct roost_dump_filter *filter,
			     const uint8_t *frame, uint32_t len_bytes,
			     roost_dump_is_from *is_from, void *ctx)
{
	struct found f;

	if (filter->nb_qpns + filter->nb_cm_ids + filter->nb_addrs == 0)
		return true;
	find(frame, len_bytes, &f);
	if (!takes_addrs(filter, &f))
		return false;
	if (filter->nb_qpns + filter->nb_cm_ids == 0)
		return true;
	return f.bth &&
	       (takes_qpn(filter, &f, is_from, ctx) || takes_cm_id(filter, &f));
}
