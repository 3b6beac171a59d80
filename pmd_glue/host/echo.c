/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/echo.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/wire/bytes.h"
#include "lib/wire/frame.h"
#include "pmd_glue/host/ether.h"

#define ICMP_ECHO_REQUEST 8
#define ICMP_ECHO_REPLY 0
#define ICMP6_ECHO_REQUEST 128
#define ICMP6_ECHO_REPLY 129
#define IPPROTO_ICMP4 1
#define IPPROTO_ICMP6 58
#define IPV4_FRAGMENT_BITS 0x3fff /* more fragments, offset */
#define ICMP_LEN 8 /* type, code, checksum, identifier, sequence number */
#define REPLY_TTL 64
#define FIRST_GROUP_V4 224 /* first byte of multicast, class E, broadcast */

/* Offsets from the start of the frame. */
enum {
	OFF_IP = ROOST_ETH_LEN,
	OFF_IP4_LEN = OFF_IP + 2,
	OFF_IP4_FRAG = OFF_IP + 6,
	OFF_IP4_TTL = OFF_IP + 8,
	OFF_IP4_PROTO = OFF_IP + 9,
	OFF_IP4_SUM = OFF_IP + 10,
	OFF_IP4_SRC = OFF_IP + 12,
	OFF_IP4_DST = OFF_IP + 16,
	OFF_IP6_LEN = OFF_IP + 4,
	OFF_IP6_NEXT = OFF_IP + 6,
	OFF_IP6_HOPS = OFF_IP + 7,
	OFF_IP6_SRC = OFF_IP + 8,
	OFF_IP6_DST = OFF_IP + 24,
};

static int parse_v4(const uint8_t *frame, size_t len_bytes,
		    struct roost_echo *echo)
{
	size_t hdr_bytes, ip_bytes, icmp_bytes;
	const uint8_t *icmp;

	if (len_bytes < OFF_IP + ROOST_IPV4_LEN || frame[OFF_IP] >> 4 != 4)
		return -EINVAL;
	hdr_bytes = (size_t)(frame[OFF_IP] & 0xf) * 4;
	ip_bytes = roost_be16_get(frame + OFF_IP4_LEN);
	if (hdr_bytes < ROOST_IPV4_LEN || ip_bytes < hdr_bytes + ICMP_LEN ||
	    ip_bytes > len_bytes - OFF_IP ||
	    frame[OFF_IP4_PROTO] != IPPROTO_ICMP4 ||
	    (roost_be16_get(frame + OFF_IP4_FRAG) & IPV4_FRAGMENT_BITS) ||
	    roost_inet_fold(roost_inet_sum(0, frame + OFF_IP, hdr_bytes)) != 0)
		return -EINVAL;
	icmp = frame + OFF_IP + hdr_bytes;
	icmp_bytes = ip_bytes - hdr_bytes;
	if (icmp[0] != ICMP_ECHO_REQUEST || icmp[1] != 0 ||
	    roost_inet_fold(roost_inet_sum(0, icmp, icmp_bytes)) != 0)
		return -EINVAL;
	if (frame[OFF_IP4_SRC] == 0 || frame[OFF_IP4_SRC] >= FIRST_GROUP_V4)
		return -EINVAL;
	echo->src = roost_gid_from_v4(frame + OFF_IP4_SRC);
	echo->dst = roost_gid_from_v4(frame + OFF_IP4_DST);
	echo->len_bytes = OFF_IP + ip_bytes;
	echo->icmp_off_bytes = OFF_IP + hdr_bytes;
	return 0;
}

static int parse_v6(const uint8_t *frame, size_t len_bytes,
		    struct roost_echo *echo)
{
	size_t icmp_bytes;
	const uint8_t *icmp = frame + OFF_IP + ROOST_IPV6_LEN;
	uint32_t sum;

	if (len_bytes < OFF_IP + ROOST_IPV6_LEN + ICMP_LEN ||
	    frame[OFF_IP] >> 4 != 6 || frame[OFF_IP6_NEXT] != IPPROTO_ICMP6)
		return -EINVAL;
	icmp_bytes = roost_be16_get(frame + OFF_IP6_LEN);
	if (icmp_bytes < ICMP_LEN ||
	    icmp_bytes > len_bytes - OFF_IP - ROOST_IPV6_LEN)
		return -EINVAL;
	sum = roost_icmp6_sum(frame + OFF_IP6_SRC, frame + OFF_IP6_DST,
			      icmp_bytes);
	if (icmp[0] != ICMP6_ECHO_REQUEST || icmp[1] != 0 ||
	    roost_inet_fold(roost_inet_sum(sum, icmp, icmp_bytes)) != 0)
		return -EINVAL;
	memcpy(echo->src.b, frame + OFF_IP6_SRC, 16);
	memcpy(echo->dst.b, frame + OFF_IP6_DST, 16);
	/* No IPv4-mapped address in an IPv6 header (RFC 4291, 2.5.5.2) */
	if (roost_gid_is_zero(&echo->src) || echo->src.b[0] == 0xff ||
	    roost_gid_is_v4(&echo->src) || roost_gid_is_v4(&echo->dst))
		return -EINVAL;
	echo->len_bytes = OFF_IP + ROOST_IPV6_LEN + icmp_bytes;
	echo->icmp_off_bytes = OFF_IP + ROOST_IPV6_LEN;
	return 0;
}

int roost_echo_parse(const uint8_t *frame, size_t len_bytes,
		     struct roost_echo *echo)
{
	if (len_bytes < ROOST_ETH_LEN || !roost_mac_is_station(frame + 6))
		return -EINVAL;
	switch (roost_ether_type(frame)) {
	case ROOST_ETHERTYPE_IPV4:
		return parse_v4(frame, len_bytes, echo);
	case ROOST_ETHERTYPE_IPV6:
		return parse_v6(frame, len_bytes, echo);
	default:
		return -EINVAL;
	}
}

static void swap(uint8_t *a, uint8_t *b, size_t len_bytes)
{
	uint8_t t[16];

	memcpy(t, a, len_bytes);
	memcpy(a, b, len_bytes);
	memcpy(b, t, len_bytes);
}

void roost_echo_reply(const struct roost_echo *echo, uint8_t *frame)
{
	uint8_t *icmp = frame + echo->icmp_off_bytes;
	size_t icmp_bytes = echo->len_bytes - echo->icmp_off_bytes;
	size_t ip_bytes = echo->icmp_off_bytes - OFF_IP;
	uint32_t sum = 0;

	swap(frame, frame + 6, 6);
	if (roost_gid_is_v4(&echo->src)) {
		swap(frame + OFF_IP4_SRC, frame + OFF_IP4_DST, 4);
		frame[OFF_IP4_TTL] = REPLY_TTL;
		roost_be16_put(frame + OFF_IP4_SUM, 0);
		roost_be16_put(frame + OFF_IP4_SUM,
			       roost_inet_fold(roost_inet_sum(0, frame + OFF_IP,
							      ip_bytes)));
		icmp[0] = ICMP_ECHO_REPLY;
	} else {
		swap(frame + OFF_IP6_SRC, frame + OFF_IP6_DST, 16);
		frame[OFF_IP6_HOPS] = REPLY_TTL;
		icmp[0] = ICMP6_ECHO_REPLY;
		sum = roost_icmp6_sum(frame + OFF_IP6_SRC, frame + OFF_IP6_DST,
				      icmp_bytes);
	}
	roost_be16_put(icmp + 2, 0);
	roost_be16_put(icmp + 2,
		       roost_inet_fold(roost_inet_sum(sum, icmp, icmp_bytes)));
}
