/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The host that a port is: ARP, ND, echo, IGMP and MLD, in sequences, with time
 * going on between them. Input: operations. A frame is a piece of bytes whose
 * addresses and checksums are made right on demand, so that it is believed.
 */

#include <stdlib.h>
#include <string.h>

#include "lib/wire/bytes.h"
#include "pmd_glue/host/ether.h"
#include "pmd_glue/host/host.h"
#include "pmd_glue/host/icmp_refusal.h"
#include "pmd_glue/host/ip.h"
#include "pmd_glue/host/membership.h"
#include "pmd_glue/host/nd.h"
#include "pmd_glue/netif/twin_sort.h"
#include "tests/fuzz/fuzz.h"

#define S 1000000000ull
#define HELD_MAX 8u
#define FRAME_MAX 1514u
/* What one frame that came in may make us say at once: an answer, or our word
 * to all in defence of an address.
 */
#define ANSWERS_MAX 2u

static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
static struct roost_host *host;
static struct roost_membership *groups;
static struct roost_neigh *held[HELD_MAX];
static unsigned int nb_held;
static unsigned int nb_sent;
static uint64_t now_ns;

static void check_ip(const uint8_t *frame, size_t len_bytes)
{
	const uint8_t *ip = frame + ROOST_ETH_LEN;

	if (roost_ether_type(frame) == RTE_ETHER_TYPE_IPV4) {
		size_t hdr_bytes = (size_t)(ip[0] & 15) * 4;

		FUZZ_CHECK(roost_be16_get(ip + 2) <= len_bytes - ROOST_ETH_LEN);
		FUZZ_CHECK(rte_raw_cksum(ip, hdr_bytes) == ROOST_INET_OK);
	} else if (roost_ether_type(frame) == RTE_ETHER_TYPE_IPV6) {
		FUZZ_CHECK(roost_be16_get(ip + 4) <=
			   len_bytes - ROOST_ETH_LEN - ROOST_IPV6_LEN);
	} else {
		FUZZ_CHECK(roost_ether_type(frame) == RTE_ETHER_TYPE_ARP);
	}
}

/* From us, to somebody, and nothing that was not put in. */
static void send_frame(void *ctx, const uint8_t *frame, size_t len_bytes)
{
	(void)ctx;
	FUZZ_CHECK(len_bytes >= ROOST_ETH_LEN && len_bytes <= FRAME_MAX);
	FUZZ_CHECK(memcmp(frame + 6, mac, 6) == 0);
	check_ip(frame, len_bytes);
	nb_sent++;
}

static void wake(void *ctx)
{
	(void)ctx;
}

static const struct roost_gid ours_v4 = {
	.b = { [10] = 0xff, [11] = 0xff, 198, 18, 0, 1 },
};
static const struct roost_gid ours_v6 = { .b = { 0xfd, [15] = 1 } };

static void open_all(void)
{
	struct roost_host_conf conf = {
		.routes.on_link = {
			.nb = 2,
			.v = {
				{ ours_v4, 24 },
				{ ours_v6, 64 },
			},
		},
		.send = send_frame,
		.wake = wake,
	};
	struct roost_membership_conf member = {
		.ipv4 = ours_v4,
		.ipv6 = roost_nd_link_local(mac),
		.ip_mtu_bytes = 1500,
		.seed = 1,
		.send = send_frame,
	};

	memcpy(conf.mac, mac, 6);
	memcpy(member.mac, mac, 6);
	FUZZ_CHECK(roost_host_create(&conf, &host) == 0);
	FUZZ_CHECK(roost_membership_create(&member, &groups) == 0);
	now_ns = 1000 * S;
	nb_held = 0;
}

static void close_all(void)
{
	while (nb_held > 0)
		roost_host_neigh_put(host, held[--nb_held]);
	roost_membership_leave_all(groups, now_ns);
	roost_membership_destroy(groups);
	roost_host_destroy(host);
}

/* ---- frames ----------------------------------------------------------- */

enum mend {
	MEND_DST_MAC = 1 << 0,
	MEND_TYPE = 1 << 1,
	MEND_LENGTH = 1 << 2,
	MEND_SUMS = 1 << 3,
	MEND_TARGET = 1 << 4, /* an address of ours where the target stands */
};

static void mend_v4(uint8_t *frame, size_t len_bytes, uint8_t mend)
{
	uint8_t *ip = frame + ROOST_ETH_LEN;
	size_t ip_bytes = len_bytes - ROOST_ETH_LEN, hdr_bytes;

	if (ip_bytes < ROOST_IPV4_LEN + 8)
		return;
	if (mend & MEND_LENGTH) {
		ip[0] = 0x40 | (ip[0] & 7) | 5;
		roost_be16_put(ip + 2, (uint16_t)ip_bytes);
		roost_be16_put(ip + 6, 0);
	}
	if (mend & MEND_TARGET)
		memcpy(ip + 16, (const uint8_t[4]){ 198, 18, 0, 1 }, 4);
	hdr_bytes = (size_t)(ip[0] & 15) * 4;
	if (!(mend & MEND_SUMS) || hdr_bytes + 8 > ip_bytes)
		return;
	roost_inet_seal(ip + 10, ip, hdr_bytes);
	roost_inet_seal(ip + hdr_bytes + 2, ip + hdr_bytes,
			ip_bytes - hdr_bytes);
}

static void mend_v6(uint8_t *frame, size_t len_bytes, uint8_t mend)
{
	uint8_t *ip = frame + ROOST_ETH_LEN;
	uint8_t *icmp = ip + ROOST_IPV6_LEN;
	size_t bytes = len_bytes - ROOST_ETH_LEN - ROOST_IPV6_LEN;

	if (len_bytes < ROOST_ETH_LEN + ROOST_IPV6_LEN + 24)
		return;
	if (mend & MEND_LENGTH) {
		ip[0] = 0x60;
		roost_be16_put(ip + 4, (uint16_t)bytes);
	}
	/* Behind a hop-by-hop header, as in MLD. */
	if (ip[6] == 0 && bytes > 8 + 24 && icmp[1] == 0) {
		icmp += 8;
		bytes -= 8;
	} else if (mend & MEND_TARGET) {
		memcpy(icmp + 8, ours_v6.b, 16);
		if (icmp[0] == 128)
			memcpy(ip + 24, ours_v6.b, 16);
	}
	if (mend & MEND_SUMS)
		roost_icmp6_seal(ip + 8, ip + 24, icmp, bytes);
}

static void mend_frame(uint8_t *frame, size_t len_bytes, uint8_t mend,
		       uint8_t how)
{
	static const uint16_t types[] = { RTE_ETHER_TYPE_ARP,
					  RTE_ETHER_TYPE_IPV4,
					  RTE_ETHER_TYPE_IPV6,
					  RTE_ETHER_TYPE_VLAN };

	if (len_bytes < ROOST_ETH_LEN)
		return;
	if (mend & MEND_DST_MAC)
		memcpy(frame, mac, 6);
	if (mend & MEND_TYPE)
		roost_be16_put(frame + 12, types[how & 3]);
	if (roost_ether_type(frame) == RTE_ETHER_TYPE_IPV4)
		mend_v4(frame, len_bytes, mend);
	else if (roost_ether_type(frame) == RTE_ETHER_TYPE_IPV6)
		mend_v6(frame, len_bytes, mend);
	else if (mend & MEND_TARGET && len_bytes >= 42)
		memcpy(frame + 38, (const uint8_t[4]){ 198, 18, 0, 1 }, 4);
}

static void input(struct fuzz_in *in)
{
	const uint8_t mend = fuzz_u8(in), how = fuzz_u8(in);
	struct fuzz_in piece = fuzz_piece(in);
	size_t len_bytes = piece.left_bytes;
	unsigned int before = nb_sent;
	struct roost_refusal refusal;
	uint8_t *frame;

	if (len_bytes > FRAME_MAX)
		len_bytes = FRAME_MAX;
	frame = malloc(len_bytes + 1);
	FUZZ_CHECK(frame != NULL);
	frame = realloc(frame, len_bytes == 0 ? 1 : len_bytes);
	fuzz_take(&piece, frame, len_bytes);
	mend_frame(frame, len_bytes, mend, how);
	roost_twin_frame_is_shared(frame, len_bytes);
	if (roost_refusal_parse(frame, len_bytes, &refusal) == 0)
		FUZZ_CHECK(roost_ether_type(frame) == RTE_ETHER_TYPE_IPV6 ||
			   roost_gid_is_v4(&refusal.peer));
	if (!roost_membership_input(groups, frame, len_bytes, now_ns))
		roost_host_input(host, frame, len_bytes, now_ns);
	FUZZ_CHECK(nb_sent - before <= ANSWERS_MAX);
	free(frame);
}

/* ---- the rest --------------------------------------------------------- */

static struct roost_gid some_addr(struct fuzz_in *in)
{
	struct roost_gid gid = fuzz_u8(in) & 1 ? ours_v4 : ours_v6;

	gid.b[15] = fuzz_u8(in);
	return gid;
}

static void ask(struct fuzz_in *in)
{
	struct roost_gid to = some_addr(in);
	struct roost_gid from = roost_gid_is_v4(&to) ? ours_v4 : ours_v6;

	if (nb_held == HELD_MAX)
		roost_host_neigh_put(host, held[--nb_held]);
	if (roost_host_ask(host, &from, &to, NULL, &held[nb_held]) == 0)
		nb_held++;
}

static void join(struct fuzz_in *in)
{
	struct roost_gid group = fuzz_u8(in) & 1 ? ours_v4 : ours_v6;

	group.b[roost_gid_is_v4(&group) ? 12 : 0] |= 0xe0;
	group.b[0] = roost_gid_is_v4(&group) ? 0 : 0xff;
	group.b[15] = fuzz_u8(in) & 7;
	if (fuzz_u8(in) & 1)
		roost_membership_leave(groups, &group, now_ns);
	else
		FUZZ_CHECK(roost_membership_join(groups, &group, now_ns) == 0);
}

static void go_on(struct fuzz_in *in)
{
	static const uint64_t steps[] = { S / 1000, S / 10, S,
					  10 * S,   60 * S, 400 * S };
	uint64_t next_ns;

	now_ns += steps[fuzz_below(in, 6)];
	roost_host_tick(host, now_ns);
	next_ns = roost_membership_tick(groups, now_ns);
	FUZZ_CHECK(next_ns > now_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct fuzz_in in = { data, len_bytes };

	open_all();
	while (in.left_bytes > 0) {
		switch (fuzz_u8(&in) & 7) {
		case 0:
			ask(&in);
			break;
		case 1:
			join(&in);
			break;
		case 2:
			go_on(&in);
			break;
		case 3:
			roost_host_link_up(host, now_ns);
			roost_membership_link_up(groups, now_ns);
			break;
		default:
			input(&in);
			break;
		}
	}
	close_all();
	return 0;
}
