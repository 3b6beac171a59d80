/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/kernel/packet_socket.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/event/high_fd.h"

/* Longer frames are no requests to a host: they are truncated, and so invalid.
 */
#define FRAME_MAX_BYTES 9216u
/* Bound per run: a flood must not block the control thread. */
#define FRAMES_A_RUN 256u

/*
 * Accepted frames: to this host, broadcast or multicast; without a VLAN tag
 * (the kernel keeps the tag apart from the frame); and of one of these kinds:
 * ARP; RoCEv1, to report it; IPv4 with ICMP or IGMP; IPv6 with ICMPv6, directly
 * or after hop-by-hop options (MLD).
 */
#define AD(what) ((uint32_t)SKF_AD_OFF + SKF_AD_##what)
#define IP4_PROTOCOL (ETH_HLEN + 9)
#define IP6_NEXT (ETH_HLEN + 6)

static struct sock_filter rules[] = {
	/*  0 */ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, AD(PKTTYPE)),
	/*  1 */ BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, PACKET_MULTICAST, 14, 0),
	/*  2 */ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, AD(VLAN_TAG_PRESENT)),
	/*  3 */ BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 0, 12, 0),
	/*  4 */ BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 2 * ETH_ALEN),
	/*  5 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_ARP, 9, 0),
	/*  6 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IBOE, 8, 0),
	/*  7 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 3),
	/*  8 */ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, IP4_PROTOCOL),
	/*  9 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMP, 5, 0),
	/* 10 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_IGMP, 4, 5),
	/* 11 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 0, 4),
	/* 12 */ BPF_STMT(BPF_LD | BPF_B | BPF_ABS, IP6_NEXT),
	/* 13 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMPV6, 1, 0),
	/* 14 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_HOPOPTS, 0, 1),
	/* 15 */ BPF_STMT(BPF_RET | BPF_K, FRAME_MAX_BYTES),
	/* 16 */ BPF_STMT(BPF_RET | BPF_K, 0),
};

static uint64_t listen_to(void *ctx, uint64_t now_ns)
{
	struct roost_packet_socket *packet_socket = ctx;
	uint8_t frame[FRAME_MAX_BYTES];
	ssize_t len;

	if (!packet_socket->client.seen)
		return UINT64_MAX;
	for (unsigned int i = 0; i < FRAMES_A_RUN; i++) {
		len = recv(packet_socket->fd, frame, sizeof(frame),
			   MSG_DONTWAIT);
		if (len < 0)
			return UINT64_MAX;
		packet_socket->receive(packet_socket->ctx, frame, (size_t)len);
	}
	return now_ns;
}

/* Attach the filter before bind(2), so that no other frame is queued. */
static int prepare(int fd, unsigned int ifindex)
{
	const struct sock_fprog program = {
		.len = sizeof(rules) / sizeof(rules[0]),
		.filter = rules,
	};
	const struct sockaddr_ll addr = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)ifindex,
	};

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
		       sizeof(program)) < 0 ||
	    bind(fd, (const void *)&addr, sizeof(addr)) < 0)
		return -errno;
	return 0;
}

int roost_packet_socket_open(
	struct roost_packet_socket *packet_socket, unsigned int ifindex,
	void (*receive)(void *ctx, uint8_t *frame, size_t len_bytes), void *ctx)
{
	int ret;

	packet_socket->fd =
		roost_high_fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
	if (packet_socket->fd < 0)
		return -errno;
	ret = prepare(packet_socket->fd, ifindex);
	if (ret) {
		close(packet_socket->fd);
		packet_socket->fd = -1;
		return ret;
	}
	packet_socket->receive = receive;
	packet_socket->ctx = ctx;
	packet_socket->client = (struct roost_control_client){
		.run = listen_to,
		.ctx = packet_socket,
		.fd = packet_socket->fd,
		.events = POLLIN,
	};
	roost_control_add(&packet_socket->client);
	return 0;
}

void roost_packet_socket_close(struct roost_packet_socket *packet_socket)
{
	if (packet_socket->fd < 0)
		return;
	roost_control_remove(&packet_socket->client);
	close(packet_socket->fd);
	packet_socket->fd = -1;
}
