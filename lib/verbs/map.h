/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_VERBS_MAP_H
#define ROOST_VERBS_MAP_H

/*
 * Translation between verbs.h and the engine: every enum and every set of
 * flags, in the direction in which it travels. Pure.
 *
 * Verbs to engine may refuse: -EINVAL for values that verbs.h does not define
 * or that have no meaning here, -EOPNOTSUPP for values that it defines and
 * Roost does not support. Engine to verbs always succeeds, for everything that
 * the engine defines.
 */

#include <stdint.h>

#include <infiniband/verbs.h>

#include <roost/cq.h>
#include <roost/dev.h>
#include <roost/qp.h>
#include <roost/types.h>

/* Each returns 0, -EINVAL or -EOPNOTSUPP; *out is written on success only. */
int roost_map_qp_type(enum ibv_qp_type type, enum roost_qp_type *out);
int roost_map_wr_opcode(enum ibv_wr_opcode opcode, enum roost_wr_opcode *out);
int roost_map_send_flags(unsigned int flags, uint32_t *out);
/* Optional flags (relaxed ordering) and hints (huge pages) are accepted and
 * ignored: they permit an optimisation and require nothing.
 */
int roost_map_access(unsigned int access, uint32_t *out);
int roost_map_qp_state(enum ibv_qp_state state, enum roost_qp_state *out);
int roost_map_qp_attr_mask(int mask, uint32_t *out);

/* Reads only the members that the mask names. */
int roost_map_qp_attr(const struct ibv_qp_attr *attr, int mask,
		      struct roost_qp_attr *out, uint32_t *out_mask);

void roost_map_av(const struct ibv_ah_attr *attr, struct roost_av *av);

enum ibv_qp_type roost_unmap_qp_type(enum roost_qp_type type);
enum ibv_qp_state roost_unmap_qp_state(enum roost_qp_state state);
int roost_map_wq_state(enum ibv_wq_state state, enum roost_wq_state *out);
enum ibv_wq_state roost_unmap_wq_state(enum roost_wq_state state);
enum ibv_mtu roost_unmap_mtu(enum roost_mtu mtu);
enum ibv_port_state roost_unmap_port_state(enum roost_port_state state);
enum ibv_wc_status roost_unmap_wc_status(uint8_t status);
enum ibv_wc_opcode roost_unmap_wc_opcode(uint8_t opcode);
unsigned int roost_unmap_wc_flags(uint8_t flags);
unsigned int roost_unmap_access(uint32_t access);
void roost_unmap_qp_attr(const struct roost_qp_attr *attr,
			 struct ibv_qp_attr *out);
void roost_unmap_qp_cap(const struct roost_qp_cap *cap, struct ibv_qp_cap *out);
void roost_map_qp_cap(const struct ibv_qp_cap *cap, struct roost_qp_cap *out);
void roost_unmap_cqe(const struct roost_cqe *cqe, struct ibv_wc *wc);

/* What kind of object an async event is about. */
enum roost_event_scope {
	ROOST_EVENT_OF_CQ,
	ROOST_EVENT_OF_QP,
	ROOST_EVENT_OF_SRQ,
	ROOST_EVENT_OF_WQ,
	ROOST_EVENT_OF_PORT, /* and the device */
};

enum ibv_event_type roost_unmap_event(uint32_t type);
enum roost_event_scope roost_event_scope(enum ibv_event_type type);

/* ibv_port_attr's active_width and active_speed for a speed; 0: not known. */
void roost_unmap_speed(uint32_t mbps, uint8_t *width, uint8_t *speed);

#endif
