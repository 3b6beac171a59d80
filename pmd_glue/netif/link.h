/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_NETIF_LINK_H
#define ROOST_PMD_GLUE_NETIF_LINK_H

/*
 * A link: a cable between two processes of one user, by name. It has two ends;
 * whoever comes first takes end 0, the next end 1, and an end that was left,
 * in whatever way, is free again. Underneath is a memif port, end 0 being its
 * server.
 *
 * An end is claimed by binding the abstract UNIX socket "roost/UID/NAME/1" or
 * ".../2": the kernel lets go of it when the process dies, and nothing stands
 * in any file system. The claim listens, so that a third process can learn
 * from SO_PEERCRED who holds it. Abstract names belong to a network namespace:
 * a link does not reach into another one.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct roost_link {
	unsigned int end; /* 0 or 1 */
	int fd;           /* the claim */
};

/*
 * Claim an end; waits a tenth of a second for one to become free.
 * Returns 0; -EBUSY with the holders in pids (0: not known), or what socket(2)
 * and bind(2) give. Thread: any.
 */
int roost_link_claim(const char *name, struct roost_link *link, pid_t pids[2]);
void roost_link_release(struct roost_link *link);
/* Take and forget those who came to ask for our pid; now and then.
 * Thread: one at a time.
 */
void roost_link_serve(const struct roost_link *link);

/* The MAC of an end, the same whoever has it: 02:... of the name and end. */
void roost_link_mac(const char *name, unsigned int end, uint8_t mac[6]);

/* devargs of the port of an end; device: a name for it in this process.
 * Returns 0, -ENAMETOOLONG.
 */
int roost_link_devargs(const char *name, unsigned int end, const char *device,
		       char *devargs, size_t size);

#endif
