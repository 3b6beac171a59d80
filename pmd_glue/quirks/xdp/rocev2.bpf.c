/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The XDP program of net_af_xdp. It redirects packets to UDP port 4791, over
 * IPv4 and IPv6, with at most one VLAN tag, to the sockets of Roost. All other
 * frames go to the kernel: ARP, ping, ssh, fragments (only the first one has
 * ports), IPv6 extension headers. The kernel runs it once per received frame.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define ROCEV2_PORT 4791
#define QUEUES_MAX 1024
#define FRAGMENT_BITS 0x3fff /* more fragments, and the offset */

struct vlan_header {
	__be16 tci;
	__be16 type;
};

/* The sockets, by queue of the interface. net_af_xdp finds the map by its name.
 */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, QUEUES_MAX);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} xsks_map SEC(".maps");

/* Find the UDP header; NULL: there is none, or the packet is a fragment. */
static __always_inline const struct udphdr *find_udp4(const void *ip,
						      const void *end)
{
	const struct iphdr *ip4 = ip;

	if ((const void *)(ip4 + 1) > end || ip4->ihl < 5 ||
	    ip4->protocol != IPPROTO_UDP ||
	    (ip4->frag_off & bpf_htons(FRAGMENT_BITS)))
		return 0;
	return ip + 4 * ip4->ihl;
}

static __always_inline const struct udphdr *find_udp6(const void *ip,
						      const void *end)
{
	const struct ipv6hdr *ip6 = ip;

	if ((const void *)(ip6 + 1) > end || ip6->nexthdr != IPPROTO_UDP)
		return 0;
	return (const void *)(ip6 + 1);
}

SEC("xdp")
int roost_rocev2(struct xdp_md *ctx)
{
	const void *end = (const void *)(long)ctx->data_end;
	const struct ethhdr *eth = (const void *)(long)ctx->data;
	const void *next = eth + 1;
	const struct udphdr *udp = 0;
	__be16 type;

	if (next > end)
		return XDP_PASS;
	type = eth->h_proto;
	if (type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD)) {
		const struct vlan_header *vlan = next;

		next = vlan + 1;
		if (next > end)
			return XDP_PASS;
		type = vlan->type;
	}
	if (type == bpf_htons(ETH_P_IP))
		udp = find_udp4(next, end);
	else if (type == bpf_htons(ETH_P_IPV6))
		udp = find_udp6(next, end);
	if (!udp || (const void *)(udp + 1) > end ||
	    udp->dest != bpf_htons(ROCEV2_PORT))
		return XDP_PASS;
	/* All frames of a queue without a socket of Roost go to the kernel. */
	return (int)bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_PASS);
}

const char terms[] SEC("license") = "Dual BSD/GPL";
