/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/service.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lib/config/key.h"
#include "lib/config/resolve.h"
#include "pmd_glue/share/message.h"

#define ANSWER_MS 1000
/* A daemon that is restarted leaves its socket, and is back soon. */
#define TRIES 25
#define TRY_NS 20000000

/* ---- one daemon ---------------------------------------------------------- */

static int try_connect(const struct sockaddr_un *addr)
{
	/* A daemon that is stopped accepts nobody. */
	const struct timeval patience = { .tv_sec = 1 };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int ret;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0)
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

static int connect_to(const char *path)
{
	const struct timespec wait = { .tv_nsec = TRY_NS };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int ret = -ECONNREFUSED;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	for (int i = 0; i < TRIES && ret == -ECONNREFUSED; i++) {
		if (i > 0)
			nanosleep(&wait, NULL);
		ret = try_connect(&addr);
	}
	return ret;
}

static int ask(int fd)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_PORTS, .tag = 1 };
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	struct roost_share_packet packet;
	int ret = roost_share_send(fd, &msg, NULL, 0, NULL);

	/* EPIPE: it said why before it was asked, and hung up. */
	if (ret && ret != -EPIPE)
		return ret;
	if (poll(&wait, 1, ANSWER_MS) != 1)
		return -ETIMEDOUT;
	ret = roost_share_receive(fd, true, &packet);
	if (ret)
		return ret;
	roost_share_packet_close(&packet);
	/* Who has no descriptor for us says so, whatever it is asked. */
	if (packet.msg.type == ROOST_SHARE_ATTACHED)
		return -EMFILE;
	if (packet.msg.type != ROOST_SHARE_REPLY ||
	    packet.msg.reply.value < 1 ||
	    packet.msg.reply.value > ROOST_PORTS_MAX)
		return -EPROTO;
	return packet.msg.status ? packet.msg.status
				 : (int)packet.msg.reply.value;
}

int roost_service_ask(const char *path)
{
	int fd = connect_to(path);
	int ret;

	if (fd < 0)
		return fd;
	ret = ask(fd);
	close(fd);
	return ret;
}

/* ---- the one that is meant ----------------------------------------------- */

static void name(struct roost_port_config *port, const char *path,
		 unsigned int number)
{
	memset(port, 0, sizeof(*port));
	port->set = ROOST_KEY_BIT(ROOST_KEY_SERVICE);
	if (number == 0)
		snprintf(port->service, sizeof(port->service), "%s", path);
	else
		snprintf(port->service, sizeof(port->service), "%s,%u", path,
			 number);
}

/* With other ports beside it, it stays one. */
static void take(struct roost_config *config, unsigned int at, const char *path,
		 int nb)
{
	name(&config->ports[at], path, 0);
	for (int i = 1; config->nb_ports == (unsigned int)i && i < nb; i++)
		name(&config->ports[config->nb_ports++], path, (unsigned int)i);
}

static void take_default(struct roost_config *config, unsigned int at,
			 const char *system)
{
	int nb = roost_service_ask(system);

	if (nb > 0) {
		take(config, at, system, nb);
		return;
	}
	if (nb != -ENOENT && nb != -ECONNREFUSED && nb != -EACCES)
		fprintf(stderr,
			"roost: service \"%s\": cannot be used: %s; this "
			"user's hub is, instead\n",
			system, strerror(-nb));
	name(&config->ports[at], "hub", 0);
}

void roost_service_find(struct roost_config *config, const char *variable,
			const char *system)
{
	for (unsigned int i = 0; i < config->nb_ports; i++)
		if (strcmp(config->ports[i].service, "default") == 0) {
			take_default(config, i, system);
			return;
		}
	/* What it names is there or not: the program's own open says it. */
	if (config->nb_ports == 1 && variable && variable[0] == '/' &&
	    strcmp(config->ports[0].service, variable) == 0)
		take(config, 0, variable, roost_service_ask(variable));
}
