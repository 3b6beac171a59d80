/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "cm/rdmacm/state.h"

#include <errno.h>
#include <stdbool.h>

#define IN(state) [ROOST_RDMACM_##state] = true

/* Where it says nothing: EINVAL. */
static const bool allowed[ROOST_RDMACM_CALLS][ROOST_RDMACM_STATES] = {
	[ROOST_RDMACM_CALL_BIND] = { IN(IDLE) },
	/* An id that is not bound yet is bound on the way. */
	[ROOST_RDMACM_CALL_RESOLVE_ADDR] = { IN(IDLE), IN(BOUND) },
	[ROOST_RDMACM_CALL_RESOLVE_ROUTE] = { IN(ADDR_RESOLVED) },
	[ROOST_RDMACM_CALL_SET_PATH] = { IN(ADDR_RESOLVED) },
	[ROOST_RDMACM_CALL_LISTEN] = { IN(IDLE), IN(BOUND) },
	[ROOST_RDMACM_CALL_CONNECT] = { IN(ROUTE_RESOLVED) },
	[ROOST_RDMACM_CALL_ACCEPT] = { IN(CONNECT) },
	[ROOST_RDMACM_CALL_JOIN] = { IN(BOUND), IN(ADDR_RESOLVED) },
	[ROOST_RDMACM_CALL_AFONLY] = { IN(IDLE), IN(BOUND) },
	[ROOST_RDMACM_CALL_NO_REUSE] = { IN(IDLE) },
	[ROOST_RDMACM_CALL_REUSE] = {
		IN(IDLE), IN(BOUND), IN(ADDR_QUERY), IN(ADDR_RESOLVED),
		IN(ROUTE_RESOLVED), IN(CONNECT), IN(DISCONNECT), IN(REMOVED),
	},
};

int roost_rdmacm_state_allows(enum roost_rdmacm_call call,
			      enum roost_rdmacm_state state)
{
	return allowed[call][state] ? 0 : -EINVAL;
}
