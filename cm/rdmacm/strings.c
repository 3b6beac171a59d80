/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Names and port numbers, for whoever looks at an id or an event.
 */

#include <arpa/inet.h>

#include "cm/rdmacm/addr.h"
#include "cm/rdmacm/newer.h"
#include "cm/rdmacm/rdmacm.h"

#define NB(a) (sizeof(a) / sizeof((a)[0]))
#define NAME(event) [event] = #event

/* Letter for letter as rdma-core has them: programs compare output. */
const char *rdma_event_str(enum rdma_cm_event_type event)
{
	static const char *const names[] = {
		NAME(RDMA_CM_EVENT_ADDR_RESOLVED),
		NAME(RDMA_CM_EVENT_ADDR_ERROR),
		NAME(RDMA_CM_EVENT_ROUTE_RESOLVED),
		NAME(RDMA_CM_EVENT_ROUTE_ERROR),
		NAME(RDMA_CM_EVENT_CONNECT_REQUEST),
		NAME(RDMA_CM_EVENT_CONNECT_RESPONSE),
		NAME(RDMA_CM_EVENT_CONNECT_ERROR),
		NAME(RDMA_CM_EVENT_UNREACHABLE),
		NAME(RDMA_CM_EVENT_REJECTED),
		NAME(RDMA_CM_EVENT_ESTABLISHED),
		NAME(RDMA_CM_EVENT_DISCONNECTED),
		NAME(RDMA_CM_EVENT_DEVICE_REMOVAL),
		NAME(RDMA_CM_EVENT_MULTICAST_JOIN),
		NAME(RDMA_CM_EVENT_MULTICAST_ERROR),
		NAME(RDMA_CM_EVENT_ADDR_CHANGE),
		NAME(RDMA_CM_EVENT_TIMEWAIT_EXIT),
		[ROOST_RDMACM_ADDRINFO_RESOLVED] =
			"RDMA_CM_EVENT_ADDRINFO_RESOLVED",
		[ROOST_RDMACM_ADDRINFO_ERROR] = "RDMA_CM_EVENT_ADDRINFO_ERROR",
		[ROOST_RDMACM_USER] = "RDMA_CM_EVENT_USER",
		[ROOST_RDMACM_INTERNAL] = "RDMA_CM_EVENT_INTERNAL",
	};

	return (unsigned int)event < NB(names) ? names[event] : "UNKNOWN EVENT";
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return htons(roost_rdmacm_addr_port(&id->route.addr.src_addr));
}

__be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return htons(roost_rdmacm_addr_port(&id->route.addr.dst_addr));
}
