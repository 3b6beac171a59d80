/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PROCESS_CTL_ADDRESS_H
#define ROOST_PMD_GLUE_PROCESS_CTL_ADDRESS_H

/* Where control sockets listen: pmd_glue/ctl/ctl.h tells what they are. */

#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

/* Processes that have the same number. */
#define ROOST_CTL_ALIKE 64u
#define ROOST_CTL_NAME "roost/ctl/%d"

/* The address of the process with this number; alike: from 0, below
 * ROOST_CTL_ALIKE. Returns its length. Thread: any.
 */
static inline socklen_t roost_ctl_address(struct sockaddr_un *addr, pid_t pid,
					  unsigned int alike)
{
	int len;

	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* An abstract name begins with a zero byte, and ends without one. */
	len = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1,
		       alike ? ROOST_CTL_NAME "/%u" : ROOST_CTL_NAME, pid,
		       alike);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)len);
}

#endif
