/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_SWITCH_DROP_H
#define ROOST_APPS_ROOSTD_SWITCH_DROP_H

/*
 * Why the switch dropped a frame, in the order of the checks. The counters are
 * those of the client that sent the frame; the last group is of the client that
 * would have received it, or of the port.
 *
 * Thread: any.
 */

enum roost_sw_drop {
	ROOST_SW_OK = 0,
	ROOST_SW_NOT_ROCE,  /* ARP, ND, ICMP, ...: the daemon's alone */
	ROOST_SW_MALFORMED, /* broken headers, fragment, options, BTH */
	ROOST_SW_LENGTH,    /* bytes behind the ICRC, or longer than the MTU */
	ROOST_SW_VLAN,
	ROOST_SW_SRC_MAC,
	ROOST_SW_SRC_ADDR,
	ROOST_SW_DST_ADDR, /* no address that a packet can have */
	ROOST_SW_PKEY,     /* not in the port's table */
	ROOST_SW_SRC_QPN,  /* DETH: not the client's */
	ROOST_SW_DST_QPN,  /* 0, or QPN 1 from another QP */
	/* Management datagrams (MADs) on QP1. */
	ROOST_SW_MAD_ICRC,
	ROOST_SW_MAD_CLASS,     /* no message of the CM */
	ROOST_SW_MAD_ID,        /* communication id: not the client's */
	ROOST_SW_MAD_QPN,       /* QPN in the message: not the client's */
	ROOST_SW_MAD_ADDR,      /* address in the message: not the client's */
	ROOST_SW_MAD_ANSWER,    /* to nothing that the client was asked */
	ROOST_SW_MAD_RATE,      /* more messages than one may send */
	ROOST_SW_MAD_HALF_OPEN, /* more than one may have at once */
	ROOST_SW_MAD_CONNS,     /* the client's limit */
	/* On the way in. */
	ROOST_SW_NOT_OURS,    /* destination address: nobody's here */
	ROOST_SW_NO_QP,       /* destination QPN: nobody leases it */
	ROOST_SW_NO_CONN,     /* MAD: communication id of nobody */
	ROOST_SW_NO_MEMBER,   /* of the group */
	ROOST_SW_CLIENT_FULL, /* the client does not read */
	ROOST_SW_PORT_FULL,   /* no memory for a frame to the port */
	ROOST_SW_DROPS,
};

/* Short lower-case name for counters; "unknown" for no reason. */
const char *roost_sw_drop_name(enum roost_sw_drop reason);

#endif
