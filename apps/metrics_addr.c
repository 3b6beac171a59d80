/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/metrics_addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

static int parse_path(const char *text, struct sockaddr_storage *addr,
		      socklen_t *len)
{
	struct sockaddr_un *path = (struct sockaddr_un *)addr;

	_Static_assert(sizeof(path->sun_path) >= ROOST_METRICS_ADDR_MAX,
		       "all paths fit");
	path->sun_family = AF_UNIX;
	strcpy(path->sun_path, text);
	*len = sizeof(*path);
	return 0;
}

/* Digits alone, and a port that one can connect to. */
static int parse_port(const char *text, in_port_t *port_be)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end != '\0' || port == 0 ||
	    port > UINT16_MAX)
		return -EINVAL;
	*port_be = htons((uint16_t)port);
	return 0;
}

int roost_metrics_addr_parse(const char *text, struct sockaddr_storage *addr,
			     socklen_t *len)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;
	const char *colon = strrchr(text, ':');
	char host[INET_ADDRSTRLEN];

	memset(addr, 0, sizeof(*addr));
	if (strlen(text) >= ROOST_METRICS_ADDR_MAX)
		return -EINVAL;
	if (text[0] == '/')
		return parse_path(text, addr, len);
	if (!colon)
		return -EINVAL;
	if (strncmp(text, "[::1]:", 6) == 0) {
		in6->sin6_family = AF_INET6;
		in6->sin6_addr = in6addr_loopback;
		*len = sizeof(*in6);
		return parse_port(text + 6, &in6->sin6_port);
	}
	if (colon - text >= (ptrdiff_t)sizeof(host))
		return -EINVAL;
	snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	if (strcmp(host, "localhost") == 0)
		strcpy(host, "127.0.0.1");
	if (inet_pton(AF_INET, host, &in->sin_addr) != 1 ||
	    ntohl(in->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET)
		return -EINVAL;
	in->sin_family = AF_INET;
	*len = sizeof(*in);
	return parse_port(colon + 1, &in->sin_port);
}
