/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/ping.h"

#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>

#include <rte_icmp.h>

#include "lib/wire/bytes.h"
#include "pmd_glue/host/ether.h"
#include "pmd_glue/host/ip.h"

#define TTL 64
#define TIME_BYTES 12u /* three times, behind the header */
#define TIME_RECEIVED 4u
#define TIME_SENT 8u
#define NOT_STANDARD_MS 0x80000000u
#define DAY_MS 86400000u
#define FIRST_GROUP_V4 224 /* first byte of multicast, class E, broadcast */

#define HDR_BYTES sizeof(struct rte_icmp_hdr)

/* ---- requests ------------------------------------------------------------ */

/* The same for ICMP and ICMPv6. */
static void put_icmp(const struct roost_ping *ping, uint8_t type, uint8_t *icmp,
		     size_t len_bytes)
{
	const struct rte_icmp_hdr hdr = {
		.icmp_type = type,
		.icmp_ident = rte_cpu_to_be_16(ping->id),
		.icmp_seq_nb = rte_cpu_to_be_16(ping->seq),
	};

	memcpy(icmp, &hdr, sizeof(hdr));
	memset(icmp + sizeof(hdr), 0, len_bytes - sizeof(hdr));
}

static void put_v4(const struct roost_ping *ping, uint8_t *ip, size_t ip_bytes)
{
	struct rte_ipv4_hdr hdr = {
		.version_ihl = RTE_IPV4_VHL_DEF,
		.type_of_service = ping->tos,
		.total_length = rte_cpu_to_be_16((uint16_t)ip_bytes),
		.packet_id = rte_cpu_to_be_16(ping->seq),
		.fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG),
		.time_to_live = TTL,
		.next_proto_id = IPPROTO_ICMP,
	};
	uint8_t *icmp = ip + sizeof(hdr);
	const size_t icmp_bytes = ip_bytes - sizeof(hdr);

	memcpy(&hdr.src_addr, &ping->sgid.b[12], sizeof(hdr.src_addr));
	memcpy(&hdr.dst_addr, &ping->dgid.b[12], sizeof(hdr.dst_addr));
	memcpy(ip, &hdr, sizeof(hdr));
	roost_inet_seal(ip + offsetof(struct rte_ipv4_hdr, hdr_checksum), ip,
			sizeof(hdr));
	put_icmp(ping, ping->asks_time ? ICMP_TIMESTAMP : ICMP_ECHO, icmp,
		 icmp_bytes);
	roost_inet_seal(icmp + offsetof(struct rte_icmp_hdr, icmp_cksum), icmp,
			icmp_bytes);
}

static void put_v6(const struct roost_ping *ping, uint8_t *ip, size_t ip_bytes)
{
	struct rte_ipv6_hdr hdr = {
		.vtc_flow =
			rte_cpu_to_be_32(6u << 28 | (uint32_t)ping->tos << 20),
		.payload_len =
			rte_cpu_to_be_16((uint16_t)(ip_bytes - sizeof(hdr))),
		.proto = IPPROTO_ICMPV6,
		.hop_limits = TTL,
	};
	uint8_t *icmp = ip + sizeof(hdr);

	memcpy(&hdr.src_addr, ping->sgid.b, sizeof(hdr.src_addr));
	memcpy(&hdr.dst_addr, ping->dgid.b, sizeof(hdr.dst_addr));
	memcpy(ip, &hdr, sizeof(hdr));
	put_icmp(ping, ICMP6_ECHO_REQUEST, icmp, ip_bytes - sizeof(hdr));
	roost_icmp6_seal(ping->sgid.b, ping->dgid.b, icmp,
			 ip_bytes - sizeof(hdr));
}

size_t roost_ping_build(const struct roost_ping *ping, const uint8_t src_mac[6],
			const uint8_t dst_mac[6], uint8_t *frame)
{
	const bool is_v4 = roost_gid_is_v4(&ping->dgid);
	const size_t least = (is_v4 ? sizeof(struct rte_ipv4_hdr)
				    : sizeof(struct rte_ipv6_hdr)) +
			     HDR_BYTES + (ping->asks_time ? TIME_BYTES : 0);
	const size_t ip_bytes = ping->ip_bytes ? ping->ip_bytes : least;

	if (is_v4 != roost_gid_is_v4(&ping->sgid) || ip_bytes < least ||
	    ip_bytes > ROOST_PING_IP_MAX_BYTES ||
	    (ping->asks_time && (!is_v4 || ip_bytes != least)))
		return 0;
	roost_ether_put(frame, dst_mac, src_mac,
			is_v4 ? RTE_ETHER_TYPE_IPV4 : RTE_ETHER_TYPE_IPV6);
	(is_v4 ? put_v4 : put_v6)(ping, frame + ROOST_IP_OFF, ip_bytes);
	return ROOST_IP_OFF + ip_bytes;
}

/* ---- replies ------------------------------------------------------------- */

/* A packet of ICMP, or one of ICMPv6, with a good checksum. */
static bool parse_packet(const uint8_t *frame, size_t len_bytes,
			 struct roost_ip_packet *ip)
{
	if (len_bytes < ROOST_ETH_LEN)
		return false;
	if (roost_ipv4_parse(frame, len_bytes, IPPROTO_ICMP, ip) == 0)
		return ip->len_bytes >= HDR_BYTES &&
		       rte_raw_cksum(frame + ip->off_bytes, ip->len_bytes) ==
			       ROOST_INET_OK;
	return roost_ipv6_parse(frame, len_bytes, IPPROTO_ICMPV6, ip) == 0 &&
	       ip->len_bytes >= HDR_BYTES && !roost_gid_is_v4(&ip->src) &&
	       !roost_gid_is_v4(&ip->dst) &&
	       roost_icmp6_ok(ip->src.b, ip->dst.b, frame + ip->off_bytes,
			      ip->len_bytes);
}

static uint8_t tos_of(const uint8_t *ip, bool is_v4)
{
	return is_v4 ? ip[1] : (uint8_t)(roost_be16_get(ip) >> 4);
}

static uint32_t time_of(const uint8_t *times)
{
	const uint32_t ms = roost_be32_get(times + TIME_SENT);

	/* The high bit says so, or the value does. */
	return ms & NOT_STANDARD_MS || ms >= DAY_MS ? ROOST_PING_NO_MS : ms;
}

int roost_ping_parse(const uint8_t *frame, size_t len_bytes,
		     struct roost_ping_reply *reply)
{
	struct roost_ip_packet ip;
	struct rte_icmp_hdr hdr;
	bool is_v4;

	if (!parse_packet(frame, len_bytes, &ip))
		return -EINVAL;
	is_v4 = roost_gid_is_v4(&ip.src);
	memcpy(&hdr, frame + ip.off_bytes, sizeof(hdr));
	*reply = (struct roost_ping_reply){
		.sgid = ip.src,
		.dgid = ip.dst,
		.id = rte_be_to_cpu_16(hdr.icmp_ident),
		.seq = rte_be_to_cpu_16(hdr.icmp_seq_nb),
		.tos = tos_of(frame + ROOST_IP_OFF, is_v4),
		.ip_bytes =
			(uint16_t)(ip.off_bytes + ip.len_bytes - ROOST_IP_OFF),
		.time_ms = ROOST_PING_NO_MS,
	};
	if (hdr.icmp_code != 0)
		return -EINVAL;
	if (is_v4 && hdr.icmp_type == ICMP_TIMESTAMPREPLY &&
	    ip.len_bytes >= HDR_BYTES + TIME_BYTES) {
		reply->has_time = true;
		reply->time_ms = time_of(frame + ip.off_bytes + HDR_BYTES);
		return 0;
	}
	return hdr.icmp_type == (is_v4 ? ICMP_ECHOREPLY : ICMP6_ECHO_REPLY)
		       ? 0
		       : -EINVAL;
}

/* ---- timestamps of ours -------------------------------------------------- */

size_t roost_ping_answer_time(uint8_t *frame, size_t len_bytes, uint32_t now_ms,
			      struct roost_gid *dst)
{
	struct roost_ip_packet ip;
	struct rte_icmp_hdr icmp;
	struct rte_ipv4_hdr hdr;
	uint8_t *at, *times;

	if (len_bytes < ROOST_ETH_LEN ||
	    !roost_mac_is_station(roost_ether_src(frame)) ||
	    roost_ipv4_parse(frame, len_bytes, IPPROTO_ICMP, &ip) ||
	    ip.len_bytes != HDR_BYTES + TIME_BYTES ||
	    rte_raw_cksum(frame + ip.off_bytes, ip.len_bytes) !=
		    ROOST_INET_OK ||
	    ip.src.b[12] == 0 || ip.src.b[12] >= FIRST_GROUP_V4 ||
	    ip.dst.b[12] >= FIRST_GROUP_V4)
		return 0;
	at = frame + ip.off_bytes;
	times = at + HDR_BYTES;
	memcpy(&icmp, at, sizeof(icmp));
	if (icmp.icmp_type != ICMP_TIMESTAMP || icmp.icmp_code != 0)
		return 0;
	*dst = ip.dst;
	at[0] = ICMP_TIMESTAMPREPLY;
	roost_be32_put(times + TIME_RECEIVED, now_ms);
	roost_be32_put(times + TIME_SENT, now_ms);
	roost_inet_seal(at + offsetof(struct rte_icmp_hdr, icmp_cksum), at,
			ip.len_bytes);
	memcpy(&hdr, frame + ROOST_IP_OFF, sizeof(hdr));
	memcpy(&hdr.src_addr, &ip.dst.b[12], sizeof(hdr.src_addr));
	memcpy(&hdr.dst_addr, &ip.src.b[12], sizeof(hdr.dst_addr));
	hdr.time_to_live = TTL;
	memcpy(frame + ROOST_IP_OFF, &hdr, sizeof(hdr));
	roost_inet_seal(frame + ROOST_IP_OFF +
				offsetof(struct rte_ipv4_hdr, hdr_checksum),
			frame + ROOST_IP_OFF, ip.off_bytes - ROOST_IP_OFF);
	roost_ether_put(frame, roost_ether_src(frame), frame,
			RTE_ETHER_TYPE_IPV4);
	return ip.off_bytes + ip.len_bytes;
}

/* ---- what was heard ------------------------------------------------------ */

void roost_ping_log_add(struct roost_ping_log *log,
			const struct roost_ping_reply *reply, uint64_t now_ns)
{
	const unsigned int nb =
		atomic_load_explicit(&log->nb, memory_order_relaxed);

	if (reply->id != log->id || !roost_gid_eq(&reply->sgid, &log->peer) ||
	    nb >= ROOST_PINGS_MAX)
		return;
	log->v[nb] = (struct roost_ping_heard){
		.at_ns = now_ns,
		.seq = reply->seq,
		.ip_bytes = reply->ip_bytes,
		.tos = reply->tos,
		.time_ms = reply->has_time ? reply->time_ms : ROOST_PING_NO_MS,
	};
	/* Pairs with the acquire of readers. */
	atomic_store_explicit(&log->nb, nb + 1, memory_order_release);
}

static void count_ecn(struct roost_ping_sum *sum, uint8_t tos)
{
	const uint8_t ecn = tos & 3;

	sum->ce += ecn == 3;
	sum->not_ect += ecn == 0;
	sum->ect += ecn == 1 || ecn == 2;
}

static void count_rtt(struct roost_ping_sum *sum, uint64_t rtt_ns)
{
	if (sum->answered == 0 || rtt_ns < sum->rtt_min_ns)
		sum->rtt_min_ns = rtt_ns;
	if (rtt_ns > sum->rtt_max_ns)
		sum->rtt_max_ns = rtt_ns;
	sum->rtt_avg_ns += rtt_ns;
	sum->answered++;
}

void roost_ping_sum(const struct roost_ping_log *log, uint16_t first_seq,
		    const uint64_t *sent_ns, unsigned int nb,
		    struct roost_ping_sum *sum)
{
	const unsigned int heard =
		atomic_load_explicit(&log->nb, memory_order_acquire);
	bool seen[ROOST_PINGS_MAX] = { false };
	int latest = -1;

	*sum = (struct roost_ping_sum){ .sent = nb };
	for (unsigned int i = 0; i < heard; i++) {
		const struct roost_ping_heard *h = &log->v[i];
		const uint16_t at = (uint16_t)(h->seq - first_seq);

		if (at >= nb)
			continue;
		if (seen[at]) {
			sum->duplicates++;
			continue;
		}
		seen[at] = true;
		sum->late += at < latest;
		latest = at > latest ? at : latest;
		count_ecn(sum, h->tos);
		count_rtt(sum, h->at_ns - sent_ns[at]);
	}
	if (sum->answered)
		sum->rtt_avg_ns /= sum->answered;
}
