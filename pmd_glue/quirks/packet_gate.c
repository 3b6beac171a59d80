/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/quirks/packet_gate.h"

#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <linux/if_packet.h>

#include "pmd_glue/quirks/import.h"
#include "pmd_glue/quirks/quirk.h"

/* The port whose driver this thread is inside; NULL: none. */
static _Thread_local struct roost_packet *current;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, roost_packet) packets = LIST_HEAD_INITIALIZER(packets);

/* ---- what the driver calls ------------------------------------------------
 */

/* Record the socket: the driver binds the socket of each queue once. */
static int bind_socket(int fd, const struct sockaddr *addr, socklen_t len)
{
	const struct sockaddr_ll *ll =
		(const struct sockaddr_ll *)(const void *)addr;
	int ret = bind(fd, addr, len);

	if (ret == 0 && current && addr->sa_family == AF_PACKET &&
	    current->nb_sockets < ROOST_PACKET_QUEUES_MAX) {
		current->ifindex = (unsigned int)ll->sll_ifindex;
		current->socket_fds[current->nb_sockets++] = fd;
	}
	return ret;
}

/* Set promiscuous mode on the socket. Returns 0, or -1 and errno. */
static int set_promiscuous(const struct ifreq *ifr)
{
	const unsigned int ifindex = if_nametoindex(ifr->ifr_name);
	const struct packet_mreq mreq = {
		.mr_ifindex = (int)ifindex,
		.mr_type = PACKET_MR_PROMISC,
	};
	const bool on = ifr->ifr_flags & IFF_PROMISC;
	const struct roost_packet *p;
	int fd = -1;

	pthread_mutex_lock(&lock);
	LIST_FOREACH(p, &packets, link)
		if (p->nb_sockets != 0 && p->ifindex == ifindex)
			fd = p->socket_fds[0];
	pthread_mutex_unlock(&lock);
	/* Dropping a membership that was never added is no error. */
	if (setsockopt(fd, SOL_PACKET,
		       on ? PACKET_ADD_MEMBERSHIP : PACKET_DROP_MEMBERSHIP,
		       &mreq, sizeof(mreq)) < 0 &&
	    on)
		return -1;
	return 0;
}

/* Does the interface already have this value? get: the request that reads it.
 */
static bool has_it(int fd, unsigned long get, const struct ifreq *want)
{
	struct ifreq has = { 0 };

	memcpy(has.ifr_name, want->ifr_name, sizeof(has.ifr_name));
	if (ioctl(fd, get, &has) < 0)
		return false;
	if (get == SIOCGIFHWADDR)
		return memcmp(has.ifr_hwaddr.sa_data, want->ifr_hwaddr.sa_data,
			      6) == 0;
	return has.ifr_mtu == want->ifr_mtu;
}

static int ioctl_gated(int fd, unsigned long request, void *arg)
{
	if (request == SIOCSIFFLAGS)
		return set_promiscuous(arg);
	if (request == SIOCSIFHWADDR && has_it(fd, SIOCGIFHWADDR, arg))
		return 0;
	if (request == SIOCSIFMTU && has_it(fd, SIOCGIFMTU, arg))
		return 0;
	return ioctl(fd, request, arg);
}

/* ---- before the driver ----------------------------------------------------
 */

static int gate_put(const char *library)
{
	static const struct roost_import imports[] = {
		{ "bind", bind_socket },
		{ "ioctl", ioctl_gated },
	};
	const size_t nb = sizeof(imports) / sizeof(imports[0]);
	int ret = roost_imports_replace(library, imports, nb);

	if (ret < 0)
		return ret;
	return ret < (int)nb ? -ENOENT : 0;
}

static int packet_open(struct roost_quirk_port *port,
		       const struct roost_quirk_conf *conf
		       __attribute__((unused)),
		       char *why __attribute__((unused)),
		       size_t size __attribute__((unused)))
{
	port->packet = (struct roost_packet){ .ifindex = 0 };
	pthread_mutex_lock(&lock);
	LIST_INSERT_HEAD(&packets, &port->packet, link);
	pthread_mutex_unlock(&lock);
	return 0;
}

static void packet_close(struct roost_quirk_port *port)
{
	pthread_mutex_lock(&lock);
	LIST_REMOVE(&port->packet, link);
	pthread_mutex_unlock(&lock);
}

static void gate_enter(struct roost_quirk_port *port)
{
	current = &port->packet;
}

static void gate_leave(void)
{
	current = NULL;
}

static int sockets(const struct roost_quirk_port *port, const int **fds)
{
	*fds = port->packet.socket_fds;
	return (int)port->packet.nb_sockets;
}

/* When the interface goes down, a socket stays readable until its error is
 * read.
 */
static void read_errors(const struct roost_quirk_port *port)
{
	const struct roost_packet *packet = &port->packet;
	socklen_t len = sizeof(int);
	int error;

	for (unsigned int i = 0; i < packet->nb_sockets; i++)
		getsockopt(packet->socket_fds[i], SOL_SOCKET, SO_ERROR, &error,
			   &len);
}

const struct roost_quirk roost_quirk_af_packet = {
	.library = "librte_net_af_packet.so",
	.missing = "not loaded",
	.put = gate_put,
	.open = packet_open,
	.close = packet_close,
	.enter = gate_enter,
	.leave = gate_leave,
	.sockets = sockets,
	.read_errors = read_errors,
	.may_be_member = true,
};
