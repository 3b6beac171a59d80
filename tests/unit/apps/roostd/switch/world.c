/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdlib.h>
#include <string.h>

#include "lib/wire/bytes.h"
#include "lib/wire/icrc.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

const struct roost_gid gid_peer_v4 = {
	.b = { [10] = 0xff, 0xff, 198, 18, 7, 2 }
};
const struct roost_gid gid_peer_v6 = { .b = { 0xfe, 0x80, [15] = 2 } };
const struct roost_gid gid_group = { .b = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };

static const uint8_t port_mac[6] = { 2, 0, 0, 0, 0, 1 };
static const uint8_t peer_mac[6] = { 2, 0, 0, 0, 0, 2 };

static struct roost_lease_state disk;

void world_init(struct world *w)
{
	*w = (struct world){ 0 };
	fresh_state(&disk);
	w->lease = start_lease(&disk, 0);
	w->seen = calloc(1, sizeof(*w->seen));
	assert_non_null(w->seen);
	roost_seen_init(w->seen, w->lease, 7);
	memcpy(w->port.mac, port_mac, sizeof(port_mac));
	w->port.max_frame_bytes = 4300;
	w->port.nb_pkeys = 2;
	w->port.pkeys[0] = 0xffff;
	w->port.pkeys[1] = 0x8001;
	for (unsigned int i = 0; i < NB_CLIENTS; i++) {
		struct roost_client_conf conf = client_conf(1000 + i);
		uint32_t unit;

		if (i == 2) {
			conf.nb_gids = 1;
			conf.gids[0] = gid_own;
		}
		assert_int_equal(roost_lease_client_add(w->lease, &conf, 0,
							&w->client[i]),
				 0);
		roost_seen_client_add(w->seen, w->client[i], 0);
		assert_int_equal(roost_lease_block(w->lease, w->client[i], 0,
						   &unit),
				 0);
		w->qpn[i] = qpn_of(w->lease, unit, 5);
		assert_int_equal(roost_lease_prefix(w->lease, w->client[i], 0,
						    &unit),
				 0);
		w->comm[i] = comm_of(w->lease, unit, 5);
	}
}

void world_fini(struct world *w)
{
	roost_seen_fini(w->seen);
	free(w->seen);
	roost_lease_destroy(w->lease);
}

struct maker ud_of(const struct world *w, unsigned int i)
{
	struct maker m = {
		.flow = { .hop_limit = 64, .udp_src = 0xc123 },
		.opcode = ROOST_OPCODE_UD_SEND_ONLY,
		.pkey = 0xffff,
		.dest_qpn = 77,
		.src_qpn = w->qpn[i],
		.qkey = 0x11111111,
		.payload_bytes = 64,
	};

	memcpy(m.flow.src_mac, port_mac, sizeof(port_mac));
	memcpy(m.flow.dst_mac, peer_mac, sizeof(peer_mac));
	m.flow.sgid = i == 2 ? gid_own : gid_v4;
	m.flow.dgid = gid_peer_v4;
	return m;
}

struct maker rc_of(const struct world *w, unsigned int i)
{
	struct maker m = ud_of(w, i);

	m.opcode = ROOST_OPCODE_RC_SEND_ONLY;
	return m;
}

struct maker mad_of(const struct world *w, unsigned int i,
		    enum roost_cm_msg_type type)
{
	struct maker m = ud_of(w, i);

	m.dest_qpn = m.src_qpn = ROOST_SW_GSI_QPN;
	m.qkey = ROOST_SW_GSI_QKEY;
	m.has_msg = true;
	m.msg = (struct roost_cm_msg){
		.type = type,
		.tid = 0x1234,
		.local_id = w->comm[i],
		.remote_id = 0x9999,
		.service_id = (uint64_t)ROOST_CM_PS_TCP << 16 | 7471,
		.qpn = type == ROOST_CM_DREQ || type == ROOST_CM_LAP
			       ? 0x4242
			       : w->qpn[i],
		.mtu = ROOST_MTU_1024,
		.primary = { .local_gid = m.flow.sgid,
			     .remote_gid = m.flow.dgid },
		.alternate = { .local_gid = m.flow.sgid,
			       .remote_gid = m.flow.dgid },
	};
	return m;
}

static void turn_round(struct maker *m)
{
	const struct roost_gid sgid = m->flow.sgid;

	m->flow.sgid = m->flow.dgid;
	m->flow.dgid = sgid;
	memcpy(m->flow.src_mac, peer_mac, sizeof(peer_mac));
	memcpy(m->flow.dst_mac, port_mac, sizeof(port_mac));
}

struct maker mad_to(const struct world *w, unsigned int i,
		    enum roost_cm_msg_type type)
{
	struct maker m = mad_of(w, i, type);

	turn_round(&m);
	m.msg.primary.local_gid = m.msg.alternate.local_gid = m.flow.sgid;
	m.msg.primary.remote_gid = m.msg.alternate.remote_gid = m.flow.dgid;
	m.msg.qpn = 0x4242;
	m.msg.remote_id = w->comm[i];
	m.msg.local_id = 0x9999;
	return m;
}

struct maker rc_to(const struct world *w, unsigned int i)
{
	struct maker m = rc_of(w, i);

	turn_round(&m);
	m.dest_qpn = w->qpn[i];
	return m;
}

struct roost_sw_frame make(const struct maker *m)
{
	const bool ud = roost_opcodes[m->opcode].hdrs & ROOST_HDR_BIT(DETH);
	const size_t ext = ud ? ROOST_DETH_LEN : 0;
	const size_t payload = m->has_msg ? ROOST_CM_MAD_LEN : m->payload_bytes;
	const struct roost_bth bth = {
		.opcode = m->opcode,
		.migreq = true,
		.pkey = m->pkey,
		.dest_qpn = m->dest_qpn,
	};
	struct roost_hdr_template t;
	static uint8_t *last;
	uint8_t buf[FRAME_ROOM];
	size_t len;

	roost_hdr_template_init(&t, &m->flow);
	len = roost_hdr_emit(&t, buf, &bth, ext + payload);
	if (ud)
		roost_deth_put(buf + len, m->qkey, m->src_qpn);
	len += ext;
	memset(buf + len, 0x5a, payload);
	if (m->has_msg)
		roost_cm_msg_encode(&m->msg, buf + len);
	len += payload;
	roost_frame_seal(&t, buf, len);
	len += ROOST_ICRC_LEN;
	/* One at a time: the caller need not free it. */
	free(last);
	last = malloc(len);
	assert_non_null(last);
	memcpy(last, buf, len);
	return (struct roost_sw_frame){
		.head = last,
		.head_len_bytes = (uint32_t)len,
		.len_bytes = (uint32_t)len,
	};
}

uint8_t *bytes_of(struct roost_sw_frame *frame)
{
	return (uint8_t *)(uintptr_t)frame->head;
}

void mend(struct roost_sw_frame *frame)
{
	uint8_t *p = bytes_of(frame);
	const bool tagged = p[12] == 0x81;
	uint8_t *l3 = p + (tagged ? 18 : 14);
	const bool ipv6 = l3[-2] == 0x86;
	const size_t covered =
		frame->len_bytes - (size_t)(l3 - p) - ROOST_ICRC_LEN;
	uint32_t icrc, sum = 0;

	if (!ipv6) {
		l3[10] = l3[11] = 0;
		for (unsigned int i = 0; i < 20; i += 2)
			sum += roost_be16_get(l3 + i);
		while (sum >> 16)
			sum = (sum & 0xffff) + (sum >> 16);
		roost_be16_put(l3 + 10, (uint16_t)~sum);
	}
	icrc = roost_icrc(l3, ipv6, covered);
	memcpy(l3 + covered, &icrc, sizeof(icrc));
}
