/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ECN_H
#define ROOST_ECN_H

/*
 * The parameters of congestion notification (ECN, CNPs) of a port. Names, units
 * and defaults are those of NVIDIA's ConnectX: doc/congestion.md has them, and
 * the sources.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, name, default, least, most) for each parameter. */
#define ROOST_ECN_PARAMS(X)                                                    \
	/* Least time between two CNPs of a QP, in us; 0: every packet that is \
	 * marked is answered.                                                 \
	 */                                                                    \
	X(MIN_TIME_BETWEEN_CNPS, min_time_between_cnps, 4, 0, 131071)          \
	/* The DSCP of CNPs, and the priority of their VLAN tag. */            \
	X(CNP_DSCP, cnp_dscp, 48, 0, 63)                                       \
	X(CNP_802P_PRIO, cnp_802p_prio, 6, 0, 7)

#define ROOST_ECN_MEMBER(upper, name, normal, least, most) uint32_t name;

struct roost_ecn {
	ROOST_ECN_PARAMS(ROOST_ECN_MEMBER)
};

#ifdef __cplusplus
}
#endif

#endif
