/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_DEV_H
#define ROOST_DEV_H

/*
 * An RDMA device: what it is and what it counts, its ports, and contexts.
 *
 * A struct roost_dev comes from roost_device_dev() (roost/roost.h) or from
 * roost_loop_dev() (roost/loop.h), and lives until that device is closed or
 * destroyed.
 *
 * A context is one opening of the device by one program: it owns the async
 * channel on which the events of its objects arrive.
 *
 * Thread: any application thread, and callbacks of the CM. Calls on different
 * objects may run at the same time.
 */

#include <stdint.h>

#include <roost/drop.h>
#include <roost/qp_error.h>
#include <roost/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct roost_channel;
struct roost_ctx;
struct roost_dev;

/* Limits of the device; constants of this build. max_*: objects per device
 * unless the comment says otherwise.
 */
struct roost_dev_limits {
	uint32_t max_qp;
	uint32_t max_qp_wr; /* requests of one queue */
	uint32_t max_sge;   /* of one request */
	uint32_t max_inline_bytes;
	uint32_t max_cq;
	uint32_t max_cqe; /* entries of one CQ */
	uint32_t max_mr;
	uint64_t max_mr_size; /* bytes */
	uint32_t max_mw;
	uint32_t max_srq;
	uint32_t max_ah;
	uint32_t max_mcast_grp;
	uint32_t max_mcast_qp_attach; /* QPs in one group */
	uint32_t max_pd;
	uint32_t max_qp_rd_atom; /* READs and atomics in flight, of one QP */
	uint32_t max_gids;       /* entries of a port's GID table */
	uint32_t max_pkeys;      /* entries of a port's P_Key table */
	uint32_t max_msg_bytes;
};
/* The limits; never NULL. Valid as long as the device. */
const struct roost_dev_limits *roost_dev_limits(const struct roost_dev *dev);
/* The name: "roost0", or that of struct roost_loop_conf. Valid as long as the
 * device.
 */
const char *roost_dev_name(const struct roost_dev *dev);
/* The node GUID, in host order. */
uint64_t roost_dev_node_guid(const struct roost_dev *dev);
/* The number of ports, 1 or 2. */
unsigned int roost_dev_nb_ports(const struct roost_dev *dev);

/* ---- ports of a device -------------------------------------------------- */

struct roost_port_attr {
	enum roost_port_state state;
	enum roost_mtu max_mtu;
	enum roost_mtu active_mtu; /* largest path MTU that fits the port */
	/* A RoCE port has no LID of its own. Roost uses the low 16 bits of the
	 * first IPv4 address, so that programs that exchange only LIDs find
	 * each other: a packet of an AV that is not global goes to the address
	 * whose upper 16 bits equal those of this port's address. 0: no IPv4
	 * address. A LID that `roost ctl` has set is reported here, and leads
	 * to no address.
	 */
	uint16_t lid;
	uint16_t sm_lid;     /* 0: none was set */
	uint32_t speed_mbps; /* 0: not known */
	uint16_t vlan_id;    /* 0: none */
	uint32_t gid_len;    /* entries of the tables, empty ones included */
	uint32_t pkey_len;
	uint32_t bad_pkey_count; /* packets dropped because of their P_Key */
	uint32_t qkey_viol_count;
};

/*
 * Query the attributes of a port, its MAC address, and entries of its GID and
 * P_Key tables. port_num counts from 1, index from 0. An empty entry reads as a
 * zero GID, or as a P_Key whose low 15 bits are 0. The address of the port is
 * in the GID table (roost/gid.h). Returns 0, or -EINVAL (no such port, index
 * outside the table). Thread: any. The MAC address is read without waiting.
 */
int roost_port_query(struct roost_dev *dev, uint8_t port_num,
		     struct roost_port_attr *attr);
int roost_port_query_gid(struct roost_dev *dev, uint8_t port_num,
			 unsigned int index, struct roost_gid *gid);
int roost_port_query_mac(struct roost_dev *dev, uint8_t port_num,
			 uint8_t mac[6]);
int roost_port_query_pkey(struct roost_dev *dev, uint8_t port_num,
			  unsigned int index, uint16_t *pkey);

/* ---- contexts of a device ----------------------------------------------- */

/* Open a context: the owner of objects and of their async events.
 * Returns 0; -ENOMEM, -EMFILE/-ENFILE (no eventfd for its channel), -ENODEV
 * (the last port of the device was removed). After an error *ctx is unchanged.
 */
int roost_ctx_open(struct roost_dev *dev, struct roost_ctx **ctx);
/* Close a context. Returns 0, or -EBUSY while it has objects. Does not wait for
 * the acks of port events.
 */
int roost_ctx_close(struct roost_ctx *ctx);
/* The channel of async events: roost_event.type is an enum roost_async_event.
 * Of an event of an object, roost_event.owner is what the object was created
 * with; of an event of a port, it is ctx, and roost_event.arg is the port's
 * number. The channel belongs to the context.
 */
struct roost_channel *roost_ctx_async_channel(struct roost_ctx *ctx);

/* ---- counters of a device ----------------------------------------------- */

/* Since the creation of the device, over all its ports and workers. */
struct roost_dev_counters {
	uint64_t rx_pkts, tx_pkts;       /* RoCEv2 frames */
	uint64_t rx_bytes, tx_bytes;     /* of frames, Ethernet to ICRC */
	uint64_t drops[ROOST_DROPS_MAX]; /* by enum roost_drop */
	uint64_t punted_pkts;
	uint64_t acks_sent, naks_sent, rnr_naks_sent;
	uint64_t retransmits; /* go-back-N events */
	/* Part of retransmits: early ones, after a PTO derived from SRTT and
	 * before the local ACK timeout.
	 */
	uint64_t adaptive_retransmits;
	uint64_t timeouts;
	uint64_t loopback_pkts;
	/* Frames from the workers' own RX queues, RoCEv2 or not; and of these,
	 * the frames that were handed to another worker because they are for
	 * its QPs.
	 */
	uint64_t queue_pkts, handed_pkts;
	uint64_t missing_responses; /* implied NAKs */
	uint64_t naks_sent_of[ROOST_NAK_KINDS];
	uint64_t naks_received_of[ROOST_NAK_KINDS];
	uint64_t rnr_naks_received;
	uint64_t duplicates;      /* requests received again */
	uint64_t out_of_order;    /* requests received behind a gap */
	uint64_t ecn_marked_pkts; /* received with ECN = CE */
	uint64_t cnps_sent;
	uint64_t cnps_handled;  /* received CNPs that slowed a QP down */
	uint64_t cnps_ignored;  /* received ones that did not */
	uint64_t held_pkts;     /* of out_of_order: kept until the gap closed */
	uint64_t resent_pkts;   /* requests sent again alone, not by going back
				 */
	uint64_t spurious_pkts; /* of these, not lost but late */
	uint64_t reports_sent, reports_received;
	uint64_t errors[ROOST_QPE_END]; /* by enum roost_qp_error_code */
	/* Packets that read zeros from, or were to write to, registered memory
	 * that the program has unmapped. Of the device, not of a worker.
	 */
	uint64_t gone_reads, gone_writes;
};
/* Copy the counters; those of different workers are not read at one moment.
 * Thread: any.
 */
void roost_dev_counters(struct roost_dev *dev, struct roost_dev_counters *c);

#ifdef __cplusplus
}
#endif

#endif
