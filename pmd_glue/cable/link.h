/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CABLE_LINK_H
#define ROOST_PMD_GLUE_CABLE_LINK_H

/*
 * The names of links. A link is a cable between two processes of one user; it
 * has two ends. The first process takes end 0, the second one end 1. When a
 * process closes its end or dies, the end is free again.
 *
 * A process claims an end by listening at the abstract UNIX socket
 * "roost/UID/NAME/1" or ".../2", where its peer meets it (cable.h). The kernel
 * releases the name when the process dies, and there is no file. A third
 * process connects and reads the holder's pid (SO_PEERCRED). Abstract names
 * belong to a network namespace: a link does not connect two namespaces.
 */

#include <stdint.h>
#include <sys/types.h>

#include <roost/config.h>

/* Bytes of an address as roost_shm_listen() takes it. */
#define ROOST_LINK_ADDRESS_MAX (ROOST_LINK_NAME_MAX + 24)

struct roost_link {
	unsigned int end; /* 0 or 1 */
	int fd;           /* the claim: a socket that listens; not blocking */
};

/*
 * Claim a free end; waits up to a tenth of a second for one. Returns 0; -EBUSY
 * with the holders' pids (0: not known); or an error of roost_shm_listen().
 * Thread: any.
 */
int roost_link_claim(const char *name, struct roost_link *link, pid_t pids[2]);
void roost_link_release(struct roost_link *link);

/* Where the holder of that end listens. */
void roost_link_address(const char *name, unsigned int end,
			char address[ROOST_LINK_ADDRESS_MAX]);

/* The MAC of an end: 02:..., from the name and the end alone. */
void roost_link_mac(const char *name, unsigned int end, uint8_t mac[6]);

#endif
