/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_DEV_H
#define ROOST_ENGINE_CORE_DEV_H

/*
 * Devices as their owner sees them: they are made of ports.
 *
 * The engine does no I/O and reads no clock. Packets come and go through
 * struct roost_frame_io; time is an argument of roost_worker_iterate()
 * (lib/engine/sched/worker.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/dev.h>
#include <roost/ecn.h>
#include <roost/qos.h>
#include "lib/engine/core/port.h"
#include "lib/engine/core/port_io.h"

struct roost_leases;
struct rte_mempool;

#define ROOST_DEV_PORTS_MAX 2
#define ROOST_DEV_WORKERS_MAX 16
#define ROOST_GID_TABLE_LEN 64
#define ROOST_PKEY_TABLE_LEN 16
#define ROOST_CQE_MAX (1u << 22) /* entries of one CQ */

struct roost_dev_conf {
	const char *name;         /* "roost0"; copied */
	struct rte_mempool *pool; /* data room >= ROOST_FRAME_OVERHEAD_MAX +
				   * 4096 behind the headroom; borrowed */
	unsigned int nb_ports;    /* 1..ROOST_DEV_PORTS_MAX */
	unsigned int nb_workers;  /* 0: one; up to ROOST_DEV_WORKERS_MAX */
	struct roost_frame_io frame_io[ROOST_DEV_PORTS_MAX];
	struct roost_addr_io addr_io[ROOST_DEV_PORTS_MAX];
	uint8_t mac[ROOST_DEV_PORTS_MAX][6];
	/* VLAN ID of the port. All packets of the port carry this tag, with the
	 * priority that qos gives them, and frames of another VLAN are not
	 * taken. 0: none; packets carry no tag, or the tag of VLAN
	 * 0.
	 */
	uint16_t vlan_id[ROOST_DEV_PORTS_MAX];
	/* Frames of other VLANs, and frames with two tags, are punted, not
	 * dropped.
	 */
	bool punts_vlans[ROOST_DEV_PORTS_MAX];
	/* Other devices have the same addresses, as the clients of a shared
	 * port do: QPNs tell them apart. Frames for our own addresses leave by
	 * the port unless the QP that they are for is of this device, and
	 * frames that come from our own addresses are taken.
	 */
	bool shares_addrs;
	/* Selective repeat with peers that can do so, too; else go-back-N with
	 * all of them, and packets that come early are not held.
	 */
	bool selective_repeat;
	/* Congestion notification of all ports; NULL: the defaults. */
	const struct roost_ecn *ecn;
	const struct roost_qos *qos; /* the same of priorities */
	uint64_t node_guid;          /* host order */
	uint64_t now_ns; /* what workers take for the time before their first
			  * turn */
	/* Numbers and services that the device shares with others (lease.h);
	 * outlives the device. NULL: it shares none.
	 */
	const struct roost_leases *leases;
	uint64_t seed[2]; /* keys of the id permutations; 0,0: draw
			   * from the kernel's CSPRNG */
};

/* Returns 0, -ENOMEM, -EINVAL. The device starts with no GIDs, port down. */
int roost_dev_create(const struct roost_dev_conf *conf, struct roost_dev **dev);
/* Returns 0, or -EBUSY while a context or the CM of the device is open. */
int roost_dev_destroy(struct roost_dev *dev);

/* True when the last port of the device was removed. The services run soon
 * after that. Thread: any.
 */
bool roost_dev_failed(const struct roost_dev *dev);
/* Do all ports of the device stand still (roost_port_set_still())? And for how
 * long, in ns, did they so far? Who waits for answers of peers does not count
 * this time. Thread: any that holds no turn.
 */
bool roost_dev_is_still(const struct roost_dev *dev);
uint64_t roost_dev_still_ns(struct roost_dev *dev, uint64_t now_ns);
/* A number that changes with each change of a GID table or of a MAC. The
 * services run soon after each change. Thread: any.
 */
uint32_t roost_dev_gid_gen(const struct roost_dev *dev);
/* The same of roost_port_carrier_up(). Thread: any. */
uint32_t roost_dev_up_gen(const struct roost_dev *dev);

#endif
