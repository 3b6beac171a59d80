/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/config/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/config/fail.h"

static unsigned int family_bits(const struct roost_gid *gid)
{
	return roost_gid_is_v4(gid) ? 32 : 128;
}

/* The bytes of the address in its own family. */
static const uint8_t *family_bytes(const struct roost_gid *gid)
{
	return roost_gid_is_v4(gid) ? &gid->b[12] : gid->b;
}

static const char *kind_v4(const uint8_t a[4])
{
	static const uint8_t broadcast[4] = { 255, 255, 255, 255 };

	if (a[0] == 0)
		return "the unspecified address";
	if (a[0] == 127)
		return "a loopback address";
	if (a[0] >= 224 && a[0] <= 239)
		return "a multicast address";
	if (memcmp(a, broadcast, 4) == 0)
		return "the broadcast address";
	return NULL;
}

static const char *kind_v6(const struct roost_gid *gid)
{
	static const struct roost_gid loopback = { .b = { [15] = 1 } };

	if (roost_gid_is_zero(gid))
		return "the unspecified address";
	if (roost_gid_eq(gid, &loopback))
		return "a loopback address";
	if (gid->b[0] == 0xff)
		return "a multicast address";
	return NULL;
}

int roost_addr_parse(const char *text, struct roost_gid *gid, char *cause)
{
	struct roost_gid found;
	const char *kind;
	uint8_t v4[4];

	if (inet_pton(AF_INET, text, v4) == 1) {
		found = roost_gid_from_v4(v4);
		kind = kind_v4(v4);
	} else if (inet_pton(AF_INET6, text, found.b) == 1) {
		if (roost_gid_is_v4(&found))
			return roost_config_fail(
				cause,
				"'%.80s': an IPv4 address written as "
				"IPv6; write it with dots only",
				text);
		kind = kind_v6(&found);
	} else {
		return roost_config_fail(
			cause,
			"'%.80s': not an IP address; write it like "
			"198.18.0.1 or fd00::1",
			text);
	}
	if (kind)
		return roost_config_fail(cause,
					 "'%.80s': %s; give a unicast address",
					 text, kind);
	*gid = found;
	return 0;
}

/* Decimal digits only: strtoul would take signs and blanks. */
static int len_parse(const char *text, unsigned int max, uint8_t *len_bits)
{
	unsigned int len = 0;

	if (*text == '\0')
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		len = len * 10 + (unsigned int)(*text - '0');
		if (len > max)
			return -EINVAL;
	}
	if (len == 0)
		return -EINVAL;
	*len_bits = (uint8_t)len;
	return 0;
}

/* The all-zeros or all-ones host part of an IPv4 subnet (RFC 3021: not /31). */
static const char *subnet_kind(const struct roost_prefix *prefix)
{
	uint32_t addr, hosts;

	if (!roost_gid_is_v4(&prefix->gid) || prefix->len_bits > 30)
		return NULL;
	memcpy(&addr, &prefix->gid.b[12], sizeof(addr));
	hosts = UINT32_MAX >> prefix->len_bits;
	addr = ntohl(addr) & hosts;
	if (addr == 0)
		return "the network's own address";
	if (addr == hosts)
		return "the network's broadcast address";
	return NULL;
}

int roost_prefix_parse(const char *text, struct roost_prefix *prefix,
		       char *cause)
{
	const char *slash = strchr(text, '/');
	size_t addr_len = slash ? (size_t)(slash - text) : strlen(text);
	char addr[ROOST_PREFIX_STRLEN];
	struct roost_prefix found;
	const char *kind;
	int ret;

	if (addr_len >= sizeof(addr))
		addr_len = sizeof(addr) - 1;
	memcpy(addr, text, addr_len);
	addr[addr_len] = '\0';
	ret = roost_addr_parse(addr, &found.gid, cause);
	if (ret)
		return ret;
	if (!slash)
		return roost_config_fail(
			cause,
			"'%.80s': no prefix length; write %s/%u, or "
			"what the subnet has",
			text, addr, roost_gid_is_v4(&found.gid) ? 24u : 64u);
	if (len_parse(slash + 1, family_bits(&found.gid), &found.len_bits))
		return roost_config_fail(
			cause,
			"'%.80s': prefix length out of range; use 1 to "
			"%u",
			text, family_bits(&found.gid));
	kind = subnet_kind(&found);
	if (kind)
		return roost_config_fail(
			cause, "'%.80s': %s; give a host's address in it", text,
			kind);
	*prefix = found;
	return 0;
}

const char *roost_addr_format(const struct roost_gid *gid, char *buf)
{
	return inet_ntop(roost_gid_is_v4(gid) ? AF_INET : AF_INET6,
			 family_bytes(gid), buf, ROOST_PREFIX_STRLEN);
}

const char *roost_prefix_format(const struct roost_prefix *prefix, char *buf)
{
	size_t len;

	roost_addr_format(&prefix->gid, buf);
	len = strlen(buf);
	snprintf(buf + len, ROOST_PREFIX_STRLEN - len, "/%u", prefix->len_bits);
	return buf;
}

bool roost_prefix_contains(const struct roost_prefix *prefix,
			   const struct roost_gid *gid)
{
	const uint8_t *a = family_bytes(&prefix->gid);
	const uint8_t *b = family_bytes(gid);
	unsigned int whole = prefix->len_bits / 8;
	unsigned int rest = prefix->len_bits % 8;

	if (roost_gid_is_v4(&prefix->gid) != roost_gid_is_v4(gid))
		return false;
	if (memcmp(a, b, whole) != 0)
		return false;
	return rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}
