/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_QOS_H
#define ROOST_QOS_H

/*
 * The priorities of a port: which one packets have, and what their VLAN tag
 * says. Names and tables are those of NVIDIA's ConnectX (mlnx_qos):
 * doc/congestion.md has the sources.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ROOST_QOS_DSCPS 64u
#define ROOST_QOS_PRIOS 8u

/* What decides the priority of a packet. */
enum roost_trust {
	ROOST_TRUST_DSCP, /* dscp2prio */
	ROOST_TRUST_PCP,  /* the service level that the program gave */
};

struct roost_qos {
	enum roost_trust trust;
	/* The type of service of what the CM connects, where the program set
	 * none.
	 */
	uint32_t default_roce_tos;
	uint8_t dscp2prio[ROOST_QOS_DSCPS];
	uint8_t prio2pcp[ROOST_QOS_PRIOS]; /* PCP of the VLAN tag */
};

/* The defaults: eight DSCPs a priority, which is the PCP. */
static inline void roost_qos_init(struct roost_qos *qos)
{
	qos->trust = ROOST_TRUST_DSCP;
	qos->default_roce_tos = 0;
	for (unsigned int i = 0; i < ROOST_QOS_DSCPS; i++)
		qos->dscp2prio[i] = (uint8_t)(i / ROOST_QOS_PRIOS);
	for (unsigned int i = 0; i < ROOST_QOS_PRIOS; i++)
		qos->prio2pcp[i] = (uint8_t)i;
}

#ifdef __cplusplus
}
#endif

#endif
