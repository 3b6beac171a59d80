/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pmd_glue/quirks/quirk.h"

static bool gives_program(const char *devargs)
{
	static const char key[] = ",xdp_prog";
	const char *at = devargs;

	while ((at = strstr(at, key))) {
		at += sizeof(key) - 1;
		if (*at == '=' || *at == ',' || *at == '\0')
			return true;
	}
	return false;
}

/* Add the XDP program to the devargs, unless the user gave one. */
static int open_port(struct roost_quirk_port *port,
		     const struct roost_quirk_conf *conf, char *why,
		     size_t size)
{
	bool theirs = gives_program(conf->devargs);
	size_t len = strlen(conf->devargs);
	int ret = roost_xdp_open(&port->xdp);

	if (ret == -ENOENT && !theirs)
		snprintf(why, size,
			 "Roost was built without clang, and so without an XDP "
			 "program; build it with clang and libbpf-dev, or give "
			 "xdp_prog=FILE");
	else if (ret && ret != -ENOENT)
		snprintf(why, size, "no XDP program: %s", strerror(-ret));
	if (theirs)
		return 0;
	if (ret == 0)
		snprintf(conf->devargs + len, conf->devargs_size - len,
			 ",xdp_prog=/proc/self/fd/%d", port->xdp.program_fd);
	return ret == -ENOENT ? -ENODEV : ret;
}

static void close_port(struct roost_quirk_port *port)
{
	roost_xdp_close(&port->xdp);
}

static void enter(struct roost_quirk_port *port)
{
	roost_xdp_gate_enter(&port->xdp);
}

static int sockets(const struct roost_quirk_port *port, const int **fds)
{
	*fds = port->xdp.socket_fds;
	return (int)port->xdp.nb_sockets;
}

static bool tell_why(const struct roost_quirk_port *port, const char *iface,
		     char *text, size_t size)
{
	if (port->xdp.failed == ROOST_XDP_ALL_WELL)
		return false;
	roost_xdp_why(&port->xdp, iface, text, size);
	return true;
}

const struct roost_quirk roost_quirk_af_xdp = {
	.library = "librte_net_af_xdp.so, libxdp or libbpf",
	.missing = "not loaded, or of another kind",
	.put = roost_xdp_gate_put,
	.open = open_port,
	.close = close_port,
	.enter = enter,
	.leave = roost_xdp_gate_leave,
	.sockets = sockets,
	.why = tell_why,
};
