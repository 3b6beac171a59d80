/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * roost-echo: a server that answers each SEND with the same bytes. It uses
 * libroost alone, no verbs, and is started by itself. Clients are any RDMA
 * programs that connect with the connection manager, as rdma_client does.
 *
 * usage: roost-echo [--port DEVARGS | --link NAME] [--ip ADDRESS/LENGTH]
 *                   [--service PORT] [--count CONNECTIONS]
 *
 * Without these options the port is what ROOST_* variables say (roost.conf(5)).
 *
 * Callbacks of the CM run on libroost's control thread; main() sleeps on the
 * channel of the CQ and on an eventfd of its own, and takes completions.
 */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <roost/roost.h>

#include "echo_server.h"

static int ends; /* eventfd: readable when a connection has ended */

static void check(const char *what, int ret)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "roost-echo: %s: %s\n", what, strerror(-ret));
	exit(EXIT_FAILURE);
}

static void tell_end(void)
{
	check("eventfd", eventfd_write(ends, 1) ? -errno : 0);
}

static struct roost_device *open_device(void)
{
	static struct roost_config config; /* 14 KiB */
	char err[ROOST_CONFIG_ERR_MAX];
	struct roost_device *device;

	if (roost_config_load(&config, err) != 0) {
		fprintf(stderr, "roost-echo: %s\n", err);
		exit(EXIT_FAILURE);
	}
	roost_config_tell_unknown(&config);
	/* A failure has told its cause on stderr. */
	if (roost_device_open(&config, 0, &device) != 0)
		exit(EXIT_FAILURE);
	return device;
}

/* Take completions until there are none, and send the posted answers. */
static void drain(struct roost_device *device)
{
	int n;

	do {
		roost_device_help_cq(device, echo_cq());
		n = echo_poll();
	} while (n > 0);
	check("CQ", n);
}

/* Serve until count connections have ended; 0: without end. */
static void serve(struct roost_device *device, struct roost_channel *channel,
		  unsigned int count)
{
	struct pollfd fds[] = {
		{ .fd = roost_channel_fd(channel), .events = POLLIN },
		{ .fd = ends, .events = POLLIN },
	};
	struct roost_event event;

	for (;;) {
		roost_cq_arm(echo_cq(), false);
		/* A completion from before the arming raises no event. */
		drain(device);
		if (count != 0 && echo_nb_ended() >= count)
			return;
		roost_device_expect(device);
		check("poll", poll(fds, 2, -1) < 0 ? -errno : 0);
		while (roost_channel_read(channel, &event) == 0)
			roost_event_ack(event.source, 1);
		eventfd_read(ends, &(eventfd_t){ 0 });
	}
}

static void run(uint16_t service, unsigned int count)
{
	struct roost_device *device = open_device();
	struct roost_channel *channel;

	check("channel", roost_channel_create(64, &channel));
	fcntl(roost_channel_fd(channel), F_SETFL, O_NONBLOCK);
	ends = eventfd(0, EFD_NONBLOCK);
	check("eventfd", ends < 0 ? -errno : 0);
	check("start",
	      echo_start(roost_device_dev(device), service, channel, tell_end));
	fprintf(stderr, "roost-echo: listening at port %u\n", service);
	serve(device, channel, count);
	check("stop", echo_stop());
	close(ends);
	roost_channel_destroy(channel);
	roost_device_close(device);
}

/* Set an option as the environment variable of the same meaning. */
static void set(const char *name, const char *value)
{
	if (setenv(name, value, 1) != 0)
		exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "port", required_argument, NULL, 'p' },
		{ "link", required_argument, NULL, 'l' },
		{ "ip", required_argument, NULL, 'i' },
		{ "service", required_argument, NULL, 's' },
		{ "count", required_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 },
	};
	uint16_t service = 7471;
	unsigned int count = 0;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'p')
			set("ROOST_PORT0_DEVARGS", optarg);
		else if (option == 'l')
			set("ROOST_PORT0_LINK", optarg);
		else if (option == 'i')
			set("ROOST_PORT0_IP", optarg);
		else if (option == 's')
			service = (uint16_t)strtoul(optarg, NULL, 10);
		else if (option == 'c')
			count = (unsigned int)strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	run(service, count);
	return EXIT_SUCCESS;
}
