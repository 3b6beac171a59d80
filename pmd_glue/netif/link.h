/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_NETIF_LINK_H
#define ROOST_PMD_GLUE_NETIF_LINK_H

/*
 * A link: a cable with a name between two processes of one user. It has two
 * ends. The first process takes end 0, the second one end 1. When a process
 * closes its end or dies, the end is free again. Each end is a memif port; that
 * of end 0 is the server.
 *
 * A process claims an end by binding the abstract UNIX socket
 * "roost/UID/NAME/1" or ".../2". The kernel releases the name when the process
 * dies, and there is no file. The socket listens, so that a third process can
 * read the holder's pid (SO_PEERCRED). Abstract names belong to a network
 * namespace: a link does not connect two namespaces.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct roost_link {
	unsigned int end; /* 0 or 1 */
	int fd;           /* the claim */
};

/*
 * Claim a free end; waits up to a tenth of a second for one. Returns 0; -EBUSY
 * with the holders' pids (0: not known); or the error of socket(2) or bind(2).
 * Thread: any.
 */
int roost_link_claim(const char *name, struct roost_link *link, pid_t pids[2]);
void roost_link_release(struct roost_link *link);
/* Accept and close the connections of processes that asked for our pid. To be
 * called now and then. Thread: one at a time.
 */
void roost_link_serve(const struct roost_link *link);

/* The MAC of an end: 02:..., from the name and the end alone. */
void roost_link_mac(const char *name, unsigned int end, uint8_t mac[6]);

/* Write the devargs of the memif port of an end. device: the last part of the
 * device's name, which is unique in this process. Returns 0, -ENAMETOOLONG.
 */
int roost_link_devargs(const char *name, unsigned int end, const char *device,
		       char *devargs, size_t size);

#endif
