/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_METRICS_ADDR_H
#define ROOST_APPS_METRICS_ADDR_H

/*
 * Where metrics are told: the absolute path of a socket, or an address of this
 * machine alone with a TCP port: 127.0.0.1:9464, [::1]:9464, localhost:9464.
 * The page has no authentication, so no other address is taken.
 *
 * Thread: any.
 */

#include <sys/socket.h>

#include <roost/config.h>

/* The longest one is a path. */
#define ROOST_METRICS_ADDR_MAX ROOST_SERVICE_MAX

/* Its address for a hub that "roost run" starts. */
#define ROOST_METRICS_VARIABLE "ROOST_METRICS"

/* Returns 0, -EINVAL. */
int roost_metrics_addr_parse(const char *text, struct sockaddr_storage *addr,
			     socklen_t *len);

#endif
