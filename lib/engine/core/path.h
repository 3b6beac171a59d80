/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_PATH_H
#define ROOST_ENGINE_CORE_PATH_H

/*
 * The path to a peer: addresses, the next hop, and the headers that every frame
 * to the peer begins with. QPs and AHs have paths; for lib/engine only.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/engine/core/dev_priv.h"
#include <roost/qp.h>
#include "lib/wire/frame.h"

/* Written by modify, holding the turn. */
struct roost_path {
	struct roost_hdr_template template;
	struct roost_gid sgid;
	struct roost_gid dgid;
	/* Reference; the port's own for a group, NULL for a loopback path. */
	struct roost_neigh *neigh;
	uint64_t mac_gen; /* generation of neigh's MAC that is in template */
	uint8_t port_index;
	uint8_t to_index; /* loopback: the port that has dgid */
	bool loopback;    /* dgid is an address of this device */
	bool multicast;   /* dgid is a group */
	bool valid;
	const struct roost_neigh *own; /* the port's */
};

/*
 * Make the path for av: find the source address, resolve the neighbour (this
 * may block), fill the template. Not holding the turn.
 * Returns 0, -EINVAL, -EIO (the device is gone), -EHOSTUNREACH, -ETIMEDOUT.
 */
int roost_path_resolve(struct roost_dev *dev, const struct roost_av *av,
		       uint32_t qpn, uint32_t dest_qpn,
		       struct roost_path *path);
void roost_path_release(struct roost_dev *dev, struct roost_path *path);
/* mac_gen has changed: write the present MACs into the template. */
void roost_path_renew(struct roost_path *path, uint64_t mac_gen);
/* The queue that frames of the path leave by. */
static inline unsigned int roost_path_queue(const struct roost_path *path)
{
	return path->loopback ? ROOST_TX_LOOPBACK : path->port_index;
}

/* Update the template if the MAC of the neighbour, or of this port, has
 * changed.
 */
static inline void roost_path_refresh(struct roost_path *path)
{
	uint64_t mac_gen;

	if (!path->neigh)
		return;
	mac_gen = atomic_load_explicit(&path->neigh->mac_gen,
				       memory_order_acquire);
	if (mac_gen != path->mac_gen && mac_gen != 0)
		roost_path_renew(path, mac_gen);
}

/* As roost_path_renew(), for one frame, when other workers use the path too. */
void roost_path_renew_frame(const struct roost_path *path, uint64_t mac_gen,
			    uint8_t *frame);
static inline void roost_path_readdress(const struct roost_path *path,
					uint8_t *frame)
{
	uint64_t mac_gen;

	if (!path->neigh)
		return;
	mac_gen = atomic_load_explicit(&path->neigh->mac_gen,
				       memory_order_acquire);
	if (mac_gen != path->mac_gen && mac_gen != 0)
		roost_path_renew_frame(path, mac_gen, frame);
}

#endif
