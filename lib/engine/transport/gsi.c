/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_ring_elem.h>

#include "lib/engine/core/service.h"
#include "lib/engine/sched/sched.h"
#include "lib/engine/transport/gsi_priv.h"
#include "lib/event/ring.h"

/* MADs that wait for the services; more are lost as on a busy network, and a
 * lost MAD costs its sender seconds. So there is room for the answers of ten
 * thousand peers to requests that were sent at once. MADs are copied: a flood
 * of them must not use up the port's mbufs.
 */
#define MADS_LEN 16384u

#define HOP_LIMIT_DEFAULT 64

static_assert(sizeof(struct roost_gsi_msg) % 4 == 0,
	      "rte_ring copies elements in words");

struct roost_gsi {
	struct rte_ring *mads; /* struct roost_gsi_msg; workers to services */
	_Atomic uint32_t next_psn;
};

/* ---- open and close ----------------------------------------------------- */

int roost_gsi_open(struct roost_dev *dev)
{
	struct roost_gsi *gsi = calloc(1, sizeof(*gsi)), *none = NULL;
	int ret;

	if (!gsi)
		return -ENOMEM;
	ret = roost_ring_create(
		"roost_mads", sizeof(struct roost_gsi_msg), MADS_LEN,
		RING_F_SC_DEQ | (dev->nb_workers == 1 ? RING_F_SP_ENQ : 0),
		&gsi->mads);
	if (ret == 0 && !atomic_compare_exchange_strong(&dev->gsi, &none, gsi))
		ret = -EBUSY;
	if (ret) {
		free(gsi->mads);
		free(gsi);
	}
	return ret;
}

void roost_gsi_close(struct roost_dev *dev)
{
	struct roost_gsi *gsi = atomic_exchange(&dev->gsi, NULL);

	roost_dev_turns_pass(dev);
	free(gsi->mads);
	free(gsi);
}

/* ---- receive ------------------------------------------------------------ */

static bool has_pkey(const struct roost_port *port, uint16_t pkey)
{
	for (unsigned int i = 0; i < ROOST_PKEY_TABLE_LEN; i++)
		if (port->pkeys[i] != 0 &&
		    roost_pkey_match(port->pkeys[i], pkey))
			return true;
	return false;
}

static void copy_mad(unsigned int port_index, const struct roost_frame *frame,
		     const struct roost_pkt *pkt, struct roost_gsi_msg *msg)
{
	size_t len = RTE_MIN(pkt->payload_len_bytes, sizeof(msg->mad));

	msg->addr = (struct roost_gsi_addr){
		.port_num = (uint8_t)(port_index + 1),
		.local = frame->dgid,
		.peer = frame->sgid,
		.pkey = pkt->pkey,
		.traffic_class = frame->tclass,
		.sl = (uint8_t)(frame->vlan_tci >> ROOST_VLAN_PCP_SHIFT),
		.hop_limit = HOP_LIMIT_DEFAULT,
		.flow_label = frame->flow_label,
	};
	memcpy(msg->addr.peer_mac, frame->src_mac, 6);
	msg->src_qpn = pkt->src_qpn;
	msg->len_bytes = pkt->payload_len_bytes;
	memcpy(msg->mad, pkt->payload, len);
	memset(msg->mad + len, 0, sizeof(msg->mad) - len);
}

enum roost_drop roost_gsi_take(struct roost_worker *w, unsigned int port_index,
			       const struct roost_frame *frame,
			       const struct roost_pkt *pkt)
{
	struct roost_gsi *gsi = w->dev->gsi;
	struct roost_gsi_msg msg;

	/* A group is spoken to by its QPN alone (IBTA 10.5.2). */
	if (!gsi || roost_gid_is_multicast(&frame->dgid))
		return ROOST_DROP_QPN;
	if (pkt->opcode != ROOST_OPCODE_UD_SEND_ONLY)
		return ROOST_DROP_QP_TYPE;
	if (roost_port_is_feigned(w->dev, port_index, frame))
		return ROOST_DROP_SRC_ADDR;
	if (!has_pkey(&w->dev->ports[port_index], pkt->pkey))
		return ROOST_DROP_PKEY;
	if (pkt->qkey != ROOST_GSI_QKEY)
		return ROOST_DROP_QKEY;
	copy_mad(port_index, frame, pkt, &msg);
	if (rte_ring_enqueue_elem(gsi->mads, &msg, sizeof(msg)) != 0)
		return ROOST_DROP_NO_BUFFER;
	roost_dev_service_arrived(w->dev);
	return ROOST_DROP_NONE;
}

bool roost_gsi_receive(struct roost_dev *dev, struct roost_gsi_msg *msg)
{
	return rte_ring_sc_dequeue_elem(dev->gsi->mads, msg, sizeof(*msg)) == 0;
}

/* ---- send --------------------------------------------------------------- */

/* Equal for all MADs to one peer (A17.9.1). */
static uint16_t udp_source(const struct roost_gid *peer)
{
	uint32_t mix = 0;

	for (unsigned int i = 0; i < sizeof(peer->b); i++)
		mix = mix * 31 + peer->b[i];
	return (uint16_t)(0xc000 | (mix * 0x9e3779b9u) >> 18);
}

static void write_frame(struct roost_dev *dev, const struct roost_flow *flow,
			uint16_t pkey, const uint8_t *mad,
			struct rte_mbuf *mbuf)
{
	uint32_t psn = atomic_fetch_add_explicit(&dev->gsi->next_psn, 1,
						 memory_order_relaxed);
	const struct roost_bth bth = {
		.opcode = ROOST_OPCODE_UD_SEND_ONLY,
		.migreq = true,
		.pkey = pkey,
		.dest_qpn = ROOST_GSI_QPN,
		.psn = roost_psn(psn),
	};
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *);
	struct roost_hdr_template t;
	size_t len;

	roost_hdr_template_init(&t, flow);
	len = roost_hdr_emit(&t, frame, &bth, ROOST_DETH_LEN + ROOST_MAD_LEN);
	roost_deth_put(frame + len, ROOST_GSI_QKEY, ROOST_GSI_QPN);
	len += ROOST_DETH_LEN;
	memcpy(frame + len, mad, ROOST_MAD_LEN);
	len += ROOST_MAD_LEN;
	roost_frame_seal(&t, frame, len);
	rte_pktmbuf_append(mbuf, (uint16_t)(len + ROOST_ICRC_LEN));
}

int roost_gsi_send(struct roost_dev *dev, const struct roost_gsi_addr *addr,
		   const uint8_t mad[ROOST_MAD_LEN])
{
	struct roost_port *port;
	struct roost_flow flow = {
		.sgid = addr->local,
		.dgid = addr->peer,
		.tclass = addr->traffic_class,
		.hop_limit = addr->hop_limit != 0 ? addr->hop_limit
						  : HOP_LIMIT_DEFAULT,
		.flow_label = addr->flow_label,
		.udp_src = udp_source(&addr->peer),
	};
	struct rte_mbuf *mbuf;
	bool own;

	if (addr->port_num < 1 || addr->port_num > dev->nb_ports)
		return -EINVAL;
	port = &dev->ports[addr->port_num - 1];
	mbuf = rte_pktmbuf_alloc(dev->pool);
	if (!mbuf)
		return -ENOBUFS;
	pthread_mutex_lock(&dev->lock);
	own = roost_port_owns(port, &addr->peer);
	roost_port_tag(port, &flow, addr->sl);
	pthread_mutex_unlock(&dev->lock);
	roost_port_mac_get(port, flow.src_mac);
	memcpy(flow.dst_mac, own ? flow.src_mac : addr->peer_mac, 6);
	write_frame(dev, &flow, addr->pkey, mad, mbuf);
	return roost_worker_send_roce(dev->workers[0], addr->port_num, mbuf,
				      own && !dev->shares_addrs);
}
