/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_RDMACM_STATE_H
#define ROOST_CM_RDMACM_STATE_H

/*
 * The states of an rdma_cm_id, and the calls that each allows. States and
 * errors are those of the Linux kernel's rdma_cm, which programs rely on. Pure.
 */

enum roost_rdmacm_state {
	ROOST_RDMACM_IDLE,
	ROOST_RDMACM_BOUND,         /* to an address, or to the wildcard */
	ROOST_RDMACM_ADDR_QUERY,    /* the next hop is being resolved */
	ROOST_RDMACM_ADDR_RESOLVED, /* the id has a device */
	ROOST_RDMACM_ROUTE_RESOLVED,
	ROOST_RDMACM_CONNECT,    /* from the request on, either side */
	ROOST_RDMACM_DISCONNECT, /* DISCONNECTED was raised */
	ROOST_RDMACM_LISTEN,
	ROOST_RDMACM_REMOVED, /* its device is gone */
	ROOST_RDMACM_STATES,
};

enum roost_rdmacm_call {
	ROOST_RDMACM_CALL_BIND,
	ROOST_RDMACM_CALL_RESOLVE_ADDR,
	ROOST_RDMACM_CALL_RESOLVE_ROUTE,
	ROOST_RDMACM_CALL_SET_PATH, /* rdma_set_option(RDMA_OPTION_IB_PATH) */
	ROOST_RDMACM_CALL_LISTEN,
	ROOST_RDMACM_CALL_CONNECT,
	ROOST_RDMACM_CALL_ACCEPT, /* and rdma_establish() */
	ROOST_RDMACM_CALL_JOIN,
	ROOST_RDMACM_CALL_AFONLY,   /* rdma_set_option() */
	ROOST_RDMACM_CALL_NO_REUSE, /* take REUSEADDR back */
	ROOST_RDMACM_CALL_REUSE,
	ROOST_RDMACM_CALLS,
};

/* Returns 0 when the state allows the call, or -errno. */
int roost_rdmacm_state_allows(enum roost_rdmacm_call call,
			      enum roost_rdmacm_state state);

#endif
