/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_PORT_H
#define ROOST_ENGINE_CORE_PORT_H

/*
 * Changes of a port, for the owner of the device. A change takes effect between
 * two turns of the worker, and every context gets the event that belongs to it;
 * setting the value that is already set raises no event. port_num counts
 * from 1. Thread: the control thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/dev.h>
#include <roost/ecn.h>
#include <roost/qos.h>

/*
 * Set entry index of the GID table; a zero gid clears it. Raises GID_CHANGE,
 * and LID_CHANGE if the LID changes with the address. QPs that send from the
 * old address stay as they are; peers can no longer reach them at that address.
 * Returns 0, -EINVAL, -EEXIST (the gid is in another entry of the table).
 */
int roost_port_set_gid(struct roost_dev *dev, uint8_t port_num,
		       unsigned int index, const struct roost_gid *gid);
/*
 * Set the source MAC of the frames. The caller afterwards gives every struct
 * roost_neigh of the port a new generation; until then, packets to that
 * neighbour carry the old source MAC. Raises no event.
 */
int roost_port_set_mac(struct roost_dev *dev, uint8_t port_num,
		       const uint8_t mac[6]);
/* ip_mtu_bytes: the IP MTU of the port; UD QPs use it at once, and its change
 * raises no event. Raises PORT_ACTIVE when the state becomes active, PORT_ERR
 * when it was active and is so no more. A port that was removed stays down.
 */
void roost_port_set_link(struct roost_dev *dev, uint8_t port_num,
			 enum roost_port_state state, uint32_t ip_mtu_bytes,
			 uint32_t speed_mbps);
/* A port can reach its network again; a link by name is ACTIVE without that,
 * too. What services sent before may be lost. Thread: any.
 */
void roost_port_carrier_up(struct roost_dev *dev);
/*
 * Returns how many connected QPs (loopback QPs not counted) have a path MTU
 * that is too large for the port now: their packets above the port's MTU are
 * lost. *path_mtu_bytes gets the largest path MTU of these QPs.
 */
unsigned int roost_port_nb_above_mtu(struct roost_dev *dev, uint8_t port_num,
				     uint32_t *path_mtu_bytes);
/*
 * Set entry index of the P_Key table; a P_Key whose low 15 bits are 0 makes the
 * entry empty. Raises PKEY_CHANGE. QPs that name the entry have the new P_Key
 * from here on; QPs that name an empty entry take no packet.
 * Returns 0, -EINVAL, -EEXIST (another entry of the table has this P_Key).
 */
int roost_port_set_pkey(struct roost_dev *dev, uint8_t port_num,
			unsigned int index, uint16_t pkey);
/* Raises LID_CHANGE. lid 0: the LID that follows from the addresses. Returns 0,
 * -EINVAL.
 */
int roost_port_set_lid(struct roost_dev *dev, uint8_t port_num, uint16_t lid);
/* Raises SM_CHANGE. Returns 0, -EINVAL. */
int roost_port_set_sm_lid(struct roost_dev *dev, uint8_t port_num,
			  uint16_t sm_lid);
/* Raises CLIENT_REREGISTER. Returns 0, -EINVAL. */
int roost_port_reregister(struct roost_dev *dev, uint8_t port_num);
/* Set the parameters of congestion notification; each is in its range. Raises
 * no event. Returns 0, -EINVAL.
 */
int roost_port_set_ecn(struct roost_dev *dev, uint8_t port_num,
		       const struct roost_ecn *ecn);
/* Returns 0, -EINVAL. Thread: any. */
int roost_port_query_ecn(struct roost_dev *dev, uint8_t port_num,
			 struct roost_ecn *ecn);
/* Set the priorities of what is connected, and of address handles that are
 * made, from now on. Raises no event. Returns 0, -EINVAL.
 */
int roost_port_set_qos(struct roost_dev *dev, uint8_t port_num,
		       const struct roost_qos *qos);
/* Returns 0, -EINVAL. Thread: any. */
int roost_port_query_qos(struct roost_dev *dev, uint8_t port_num,
			 struct roost_qos *qos);
/*
 * The port stands still, or goes on. While it does, it may take no frames from
 * the engine (tx_burst returns 0), and what is sent, or was before, may be
 * lost, such as while the daemon of a shared port is started again. It raises
 * no event. Requesters wait without spending retries, and complete what is
 * acknowledged. When the port goes on, they send again, at once, what was not,
 * and their timers begin anew.
 */
void roost_port_set_still(struct roost_dev *dev, uint8_t port_num,
			  bool is_still, uint64_t now_ns);
/*
 * The port is removed for ever: it goes down, and PORT_ERR is raised if the
 * device has another port. With its last port the device is gone: every QP goes
 * to ERR and flushes its posted requests; DEVICE_FATAL is the last event of
 * every context (its channel is hung up, see roost/channel.h); no context can
 * be opened; a QP can only be in ERR or RESET. A second call does nothing.
 */
void roost_port_remove(struct roost_dev *dev, uint8_t port_num);

#endif
