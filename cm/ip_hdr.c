/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The header at the front of the private data of a REQ or SIDR_REQ made with IP
 * addresses (IBTA Annex A11.4): version, IP version, port, source, destination.
 * An IPv4 address is in the last four of sixteen bytes, behind zeros.
 */

#include <string.h>

#include "cm/msg.h"
#include "lib/wire/bytes.h"

#define AT_PORT 2u
#define AT_SRC 4u
#define AT_DST 20u

static void put_addr(const struct roost_gid *gid, uint8_t *at)
{
	memset(at, 0, 16);
	if (roost_gid_is_v4(gid))
		memcpy(at + 12, &gid->b[12], 4);
	else
		memcpy(at, gid->b, 16);
}

static struct roost_gid get_addr(const uint8_t *at, uint8_t version)
{
	struct roost_gid gid;

	if (version == 4)
		return roost_gid_from_v4(at + 12);
	memcpy(gid.b, at, 16);
	return gid;
}

void roost_cm_ip_hdr_encode(const struct roost_cm_ip_hdr *hdr,
			    uint8_t data[ROOST_CM_IP_HDR_LEN])
{
	data[0] = 0;
	data[1] = roost_gid_is_v4(&hdr->dst) ? 4 << 4 : 6 << 4;
	roost_be16_put(data + AT_PORT, hdr->src_port);
	put_addr(&hdr->src, data + AT_SRC);
	put_addr(&hdr->dst, data + AT_DST);
}

bool roost_cm_ip_hdr_decode(const uint8_t data[ROOST_CM_IP_HDR_LEN],
			    struct roost_cm_ip_hdr *hdr)
{
	uint8_t version = data[1] >> 4;

	if (data[0] != 0 || (version != 4 && version != 6))
		return false;
	hdr->src_port = roost_be16_get(data + AT_PORT);
	hdr->src = get_addr(data + AT_SRC, version);
	hdr->dst = get_addr(data + AT_DST, version);
	return true;
}
