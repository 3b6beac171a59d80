/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * A stranger: puts REQs on an interface that look as if many hosts wanted to
 * connect, of whom there is none.
 *
 * usage: cm_forge IFACE MAC ADDR FIRST SOURCES REQUESTS PER_SECOND
 *
 * MAC and ADDR are of the one that is asked, at port 7471; the sources are
 * SOURCES addresses from FIRST on, in turn. PER_SECOND 0: as fast as it goes.
 */

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cm/msg.h"
#include "lib/engine/transport/gsi.h"
#include "lib/wire/frame.h"

#define PORT 7471
#define FRAME_ROOM 512

struct target {
	uint8_t mac[6];
	uint8_t own_mac[6];
	struct roost_gid gid;
	uint32_t first; /* source, host order */
	uint32_t nb_sources;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct roost_gid gid_of(uint32_t v4)
{
	const uint8_t b[4] = { (uint8_t)(v4 >> 24), (uint8_t)(v4 >> 16),
			       (uint8_t)(v4 >> 8), (uint8_t)v4 };

	return roost_gid_from_v4(b);
}

static uint32_t number(const char *text)
{
	return (uint32_t)strtoul(text, NULL, 0);
}

static void make_mad(const struct target *to, const struct roost_gid *from,
		     uint32_t i, uint8_t mad[ROOST_CM_MAD_LEN])
{
	const struct roost_cm_ip_hdr ip = {
		.src = *from,
		.dst = to->gid,
		.src_port = (uint16_t)(1024 + i % 60000),
	};
	struct roost_cm_msg msg = {
		.type = ROOST_CM_REQ,
		.tid = i + 1,
		.local_id = i + 1,
		.service_id = roost_cm_service_id(ROOST_CM_PS_TCP, PORT),
		.ca_guid = 0x0200000000000042,
		.qpn = 2 + i % 0xfffff0,
		.responder_resources = 1,
		.remote_cm_timeout = 20,
		.local_cm_timeout = 20,
		.pkey = 0xffff,
		.mtu = ROOST_MTU_1024,
		.max_cm_retries = 15,
		.primary = {
			.local_lid = 0xffff,
			.remote_lid = 0xffff,
			.local_gid = *from,
			.remote_gid = to->gid,
			.hop_limit = 64,
			.ack_timeout = 19,
		},
	};

	roost_cm_ip_hdr_encode(&ip, msg.data);
	roost_cm_msg_encode(&msg, mad);
}

static size_t make_frame(const struct target *to, uint32_t i,
			 uint8_t frame[FRAME_ROOM])
{
	const struct roost_gid from = gid_of(to->first + i % to->nb_sources);
	struct roost_flow flow = {
		.sgid = from,
		.dgid = to->gid,
		.hop_limit = 64,
		.udp_src = (uint16_t)(0xc000 | (i & 0x3fff)),
	};
	const struct roost_bth bth = {
		.opcode = ROOST_OPCODE_UD_SEND_ONLY,
		.migreq = true,
		.pkey = 0xffff,
		.dest_qpn = ROOST_GSI_QPN,
		.psn = roost_psn(i),
	};
	struct roost_hdr_template t;
	uint8_t mad[ROOST_CM_MAD_LEN];
	size_t len;

	make_mad(to, &from, i, mad);
	memcpy(flow.src_mac, to->own_mac, 6);
	memcpy(flow.dst_mac, to->mac, 6);
	roost_hdr_template_init(&t, &flow);
	len = roost_hdr_emit(&t, frame, &bth, ROOST_DETH_LEN + sizeof(mad));
	roost_deth_put(frame + len, ROOST_GSI_QKEY, ROOST_GSI_QPN);
	len += ROOST_DETH_LEN;
	memcpy(frame + len, mad, sizeof(mad));
	len += sizeof(mad);
	roost_frame_seal(&t, frame, len);
	return len + ROOST_ICRC_LEN;
}

static int open_iface(const char *name, uint8_t own_mac[6])
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET };
	struct ifreq req = { .ifr_ifindex = 0 };
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	strncpy(req.ifr_name, name, sizeof(req.ifr_name) - 1);
	if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &req) != 0)
		die(name);
	memcpy(own_mac, req.ifr_hwaddr.sa_data, 6);
	at.sll_ifindex = (int)if_nametoindex(name);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
		die(name);
	return fd;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void send_all(int fd, const struct target *to, uint32_t nb,
		     uint32_t rate)
{
	uint8_t frame[FRAME_ROOM];
	uint64_t begun_ns = now_ns();

	for (uint32_t i = 0; i < nb; i++) {
		size_t len = make_frame(to, i, frame);

		while (rate != 0 &&
		       now_ns() - begun_ns < 1000000000ull * i / rate)
			usleep(20);
		if (send(fd, frame, len, 0) != (ssize_t)len)
			die("send");
	}
	printf("%u requests in %.3f s\n", nb,
	       (double)(now_ns() - begun_ns) / 1e9);
}

int main(int argc, char **argv)
{
	struct target to;
	struct in_addr addr;
	int fd;

	if (argc != 8)
		return 2;
	fd = open_iface(argv[1], to.own_mac);
	if (sscanf(argv[2], "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &to.mac[0],
		   &to.mac[1], &to.mac[2], &to.mac[3], &to.mac[4],
		   &to.mac[5]) != 6 ||
	    inet_pton(AF_INET, argv[3], &addr) != 1)
		return 2;
	to.gid = gid_of(ntohl(addr.s_addr));
	if (inet_pton(AF_INET, argv[4], &addr) != 1)
		return 2;
	to.first = ntohl(addr.s_addr);
	to.nb_sources = number(argv[5]);
	if (to.nb_sources == 0)
		return 2;
	send_all(fd, &to, number(argv[6]), number(argv[7]));
	return 0;
}
