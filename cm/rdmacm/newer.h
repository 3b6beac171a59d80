/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_RDMACM_NEWER_H
#define ROOST_CM_RDMACM_NEWER_H

/*
 * What rdma_cma.h got with rdma-core 60: event numbers under names of our own,
 * and calls with the prototypes that a newer rdma_cma.h declares, too.
 * event.param begins with the argument of events that programs write
 * (param.arg).
 */

#include <stdint.h>

#include <rdma/rdma_cma.h>

enum {
	ROOST_RDMACM_ADDRINFO_RESOLVED = 16,
	ROOST_RDMACM_ADDRINFO_ERROR, /* status: as rdma_getaddrinfo() fails */
	ROOST_RDMACM_USER,
	ROOST_RDMACM_INTERNAL,
};

/* Flags of struct rdma_addrinfo: ask the name service (the default), or the
 * subnet administration.
 */
#define ROOST_RDMACM_RAI_SA 0x10
#define ROOST_RDMACM_RAI_DNS 0x20

/* Raise a USER or INTERNAL event with this status and argument. Thread: any.
 * Returns 0, or -1 and errno.
 */
int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event,
			int status, uint64_t arg);
/* rdma_getaddrinfo() on a thread of its own, which raises an event of the id.
 * Returns 0, or -1 and errno.
 */
int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node,
			  const char *service,
			  const struct rdma_addrinfo *hints);
/* A copy of what the id's last rdma_resolve_addrinfo() found; the caller frees
 * it. Returns 0, or -1 and errno (ENODATA: nothing).
 */
int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info);

#endif
