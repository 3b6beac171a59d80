/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Frames of clients, and of the port, into a switch with leases, with claims,
 * memberships and deaths between them. Whatever comes: nothing leaves with a
 * source that is not its sender's, and nothing reaches a client that is not for
 * it. A ticket that was changed is never taken. Input: steps; each begins with
 * a byte that says which.
 */

#include <stdlib.h>
#include <string.h>

#include "apps/roostd/switch/claim.h"
#include "apps/roostd/switch/group.h"
#include "apps/roostd/switch/switch.h"
#include "lib/wire/bytes.h"
#include "lib/wire/icrc.h"
#include "tests/fuzz/fuzz.h"

#define NB 3u /* clients: two share the port's addresses, 2 has its own */
#define FRAME_MAX 600u
#define STEPS_MAX 20
#define FIRST_BLOCK 100u
#define FIRST_PREFIX 50u
#define V4(w, x, y, z)                                                         \
	{                                                                      \
		.b = { [10] = 0xff, 0xff, w, x, y, z }                         \
	}
#define RESTART_NS UINT64_C(1000000000000)

static const uint8_t port_mac[6] = { 2, 0, 0, 0, 0, 1 };
static const uint8_t peer_mac[6] = { 2, 0, 0, 0, 0, 2 };
static const struct roost_gid port_v4 = V4(198, 18, 0, 1);
static const struct roost_gid port_v6 = { .b = { 0xfe, 0x80, [15] = 1 } };
static const struct roost_gid own_v4 = V4(198, 18, 0, 9);
static const struct roost_gid peer_v4 = V4(198, 18, 7, 2);
static const struct roost_gid peer_v6 = { .b = { 0xfe, 0x80, [15] = 2 } };
static const struct roost_gid group = V4(239, 1, 2, 3);

static struct roost_lease_state disk;
static struct roost_lease *lease;
static struct roost_switch *sw;
static struct roost_sw_port port;
static uint64_t now_ns = RESTART_NS;
static uint16_t ids[NB];
static bool alive[NB], is_member[NB];
static unsigned int sender; /* of the frame in work; NB: the port, or nobody */
static uint32_t port_room;

struct kept {
	uint32_t len_bytes;
	uint8_t bytes[FRAME_MAX];
};

/* ---- whose is it, by the numbers that were given out here ---------------- */

static unsigned int by_qpn(uint32_t qpn)
{
	const uint32_t index = roost_idmap_invert(&lease->qpns, qpn) & 0xfffff;
	const uint32_t i = (index >> ROOST_LEASE_BLOCK_SHIFT) - FIRST_BLOCK;

	return qpn > 1 && qpn < 0xffffff && i < NB && alive[i] ? i : NB;
}

static unsigned int by_comm(uint32_t id)
{
	const uint32_t number = roost_idmap_invert(&lease->comms, id);
	const uint32_t i = (number >> ROOST_LEASE_PREFIX_SHIFT) - FIRST_PREFIX;

	return id != 0 && i < NB && alive[i] ? i : NB;
}

static uint32_t qpn_of(unsigned int i)
{
	return roost_idmap_permute(
		&lease->qpns, (FIRST_BLOCK + i) << ROOST_LEASE_BLOCK_SHIFT | 3);
}

static uint32_t comm_of(unsigned int i, uint32_t number)
{
	const uint32_t prefix = (FIRST_PREFIX + i) << ROOST_LEASE_PREFIX_SHIFT;

	return roost_idmap_permute(&lease->comms, prefix | number);
}

static bool is_addr_of(const struct roost_gid *gid, unsigned int i)
{
	if (i == 2)
		return roost_gid_eq(gid, &own_v4);
	return roost_gid_eq(gid, &port_v4) || roost_gid_eq(gid, &port_v6);
}

static bool is_ours(const struct roost_gid *gid)
{
	return is_addr_of(gid, 0) || is_addr_of(gid, 2);
}

/* ---- what must hold ------------------------------------------------------ */

static void join(const struct roost_sw_frame *frame, uint8_t *bytes)
{
	uint32_t head = frame->head_len_bytes;

	if (head > frame->len_bytes)
		head = frame->len_bytes;
	FUZZ_CHECK(frame->len_bytes <= FRAME_MAX);
	memcpy(bytes, frame->head, head);
	if (frame->len_bytes > head)
		memcpy(bytes + head, frame->payload, frame->len_bytes - head);
}

static void parse(const uint8_t *bytes, uint32_t len, struct roost_frame *frame,
		  struct roost_pkt *pkt)
{
	FUZZ_CHECK(roost_frame_parse(bytes, len, frame) == ROOST_FRAME_ROCE);
	FUZZ_CHECK(roost_pkt_parse(frame, pkt) == ROOST_DROP_NONE);
}

static void parse_mad(const struct roost_frame *frame,
		      const struct roost_pkt *pkt, struct roost_cm_msg *msg)
{
	enum roost_cm_drop why;

	FUZZ_CHECK(pkt->src_qpn == 1 && pkt->qkey == 0x80010000);
	FUZZ_CHECK(roost_frame_icrc_ok(frame));
	FUZZ_CHECK(roost_cm_msg_decode(pkt->payload, pkt->payload_len_bytes,
				       msg, &why));
}

/* A message of client i has its numbers. */
static void check_mad_from(const struct roost_frame *frame,
			   const struct roost_pkt *pkt, unsigned int i)
{
	struct roost_cm_msg msg;

	parse_mad(frame, pkt, &msg);
	if (msg.type == ROOST_CM_SIDR_REP ||
	    (msg.type == ROOST_CM_REJ && msg.local_id == 0))
		return;
	FUZZ_CHECK(by_comm(msg.local_id) == i);
	if (msg.type == ROOST_CM_REQ) {
		FUZZ_CHECK(by_qpn(msg.qpn) == i);
		FUZZ_CHECK(is_addr_of(&msg.primary.local_gid, i));
	}
}

static void check_from(const uint8_t *bytes, uint32_t len, unsigned int i)
{
	struct roost_frame frame;
	struct roost_pkt pkt;

	parse(bytes, len, &frame, &pkt);
	FUZZ_CHECK(memcmp(frame.src_mac, port_mac, 6) == 0);
	FUZZ_CHECK(roost_vlan_id(frame.vlan_tci) == 0);
	FUZZ_CHECK(frame.l3 + frame.l3_len_bytes == bytes + len);
	FUZZ_CHECK(pkt.pkey == 0xffff);
	FUZZ_CHECK(is_ours(&frame.sgid));
	if (i == NB)
		return;
	FUZZ_CHECK(is_addr_of(&frame.sgid, i));
	if (pkt.dest_qpn == 1)
		check_mad_from(&frame, &pkt, i);
	else if (pkt.info->hdrs & ROOST_HDR_BIT(DETH))
		FUZZ_CHECK(by_qpn(pkt.src_qpn) == i);
}

static void *keep(void *arg, const struct roost_sw_frame *frame)
{
	struct kept *kept = malloc(sizeof(*kept));

	FUZZ_CHECK(arg == NULL && kept != NULL);
	kept->len_bytes = frame->len_bytes;
	join(frame, kept->bytes);
	check_from(kept->bytes, kept->len_bytes, sender);
	return kept;
}

static bool send_kept(void *arg, void *kept)
{
	if (arg != NULL || port_room == 0)
		return false;
	port_room--;
	free(kept);
	return true;
}

static void discard(void *arg, void *kept)
{
	FUZZ_CHECK(arg == NULL);
	free(kept);
}

static void check_mad_to(const struct roost_frame *frame,
			 const struct roost_pkt *pkt, unsigned int i)
{
	struct roost_cm_msg msg;

	parse_mad(frame, pkt, &msg);
	if (msg.type == ROOST_CM_REQ || msg.type == ROOST_CM_SIDR_REQ)
		return;
	if (msg.type == ROOST_CM_SIDR_REP)
		FUZZ_CHECK(by_comm(msg.local_id) == i);
	else if (msg.type != ROOST_CM_REJ || msg.remote_id != 0)
		FUZZ_CHECK(by_comm(msg.remote_id) == i);
}

static bool deliver(void *arg, uint16_t client,
		    const struct roost_sw_frame *whole, bool looped)
{
	uint8_t bytes[FRAME_MAX];
	struct roost_frame frame;
	struct roost_pkt pkt;
	unsigned int i = 0;

	(void)arg;
	while (i < NB && (!alive[i] || ids[i] != client))
		i++;
	FUZZ_CHECK(i < NB);
	join(whole, bytes);
	parse(bytes, whole->len_bytes, &frame, &pkt);
	FUZZ_CHECK(looped || !is_ours(&frame.sgid) ||
		   (!alive[2] && is_addr_of(&frame.sgid, 2)));
	/* What a client sends to QP1 may come back as the daemon's answer. */
	if (looped)
		check_from(bytes, whole->len_bytes,
			   i == sender && pkt.dest_qpn == 1 ? NB : sender);
	if (roost_gid_is_multicast(&frame.dgid)) {
		FUZZ_CHECK(is_member[i] && pkt.dest_qpn == 0xffffff);
		FUZZ_CHECK(i != sender);
		return true;
	}
	FUZZ_CHECK(is_addr_of(&frame.dgid, i));
	if (pkt.dest_qpn == 1)
		check_mad_to(&frame, &pkt, i);
	else
		FUZZ_CHECK(by_qpn(pkt.dest_qpn) == i);
	return port_room % 5 != 1;
}

static void host(void *arg, const struct roost_sw_frame *frame)
{
	FUZZ_CHECK(arg == NULL && frame->len_bytes > 0 && sender == NB);
}

static void leave(void *arg, const struct roost_gid *gid)
{
	FUZZ_CHECK(arg == NULL && roost_gid_eq(gid, &group));
}

static const struct roost_switch_ops ops = {
	.keep = keep,
	.send = send_kept,
	.discard = discard,
	.deliver = deliver,
	.host = host,
	.leave = leave,
};

/* ---- the world ----------------------------------------------------------- */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const struct roost_lease_conf conf = { .quarantine_ns = 1 };

	FUZZ_CHECK(argc != NULL && argv != NULL);
	memcpy(port.mac, port_mac, sizeof(port_mac));
	port.max_frame_bytes = FRAME_MAX;
	port.nb_pkeys = 1;
	port.pkeys[0] = 0xffff;
	disk.mac_key[0] = 42;
	disk.qpn_seed[0] = 43;
	disk.comm_seed[0] = 44;
	FUZZ_CHECK(roost_lease_create(&conf, &disk, 0, &lease) == 0);
	FUZZ_CHECK(roost_lease_addr_add(lease, &port_v4) == 0);
	FUZZ_CHECK(roost_lease_addr_add(lease, &port_v6) == 0);
	FUZZ_CHECK(roost_switch_create(&port, lease, &ops, NULL, 0, &sw) == 0);
	return 0;
}

static void add(unsigned int i)
{
	struct roost_client_conf conf = {
		.max_prefixes = 1,
		.max_services = 4,
		.max_groups = 2,
		.max_conns = 6,
		.max_half_open = 3,
		.weight = 1 + i,
		.rate_bytes_per_s = i == 1 ? 1000000 : 0,
	};

	if (alive[i])
		return;
	if (i == 2) {
		conf.nb_gids = 1;
		conf.gids[0] = own_v4;
	}
	FUZZ_CHECK(roost_lease_client_add(lease, &conf, now_ns, &ids[i]) == 0);
	FUZZ_CHECK(roost_pool_take_this(&lease->blocks, ids[i], 0,
					&lease->clients[ids[i]].blocks,
					FIRST_BLOCK + i) == 0);
	FUZZ_CHECK(roost_pool_take_this(&lease->prefixes, ids[i], 0,
					&lease->clients[ids[i]].prefixes,
					FIRST_PREFIX + i) == 0);
	FUZZ_CHECK(roost_switch_client_enter(sw, ids[i], now_ns) == 0);
	alive[i] = true;
}

static void kill_client(unsigned int i)
{
	if (!alive[i])
		return;
	alive[i] = is_member[i] = false;
	roost_switch_client_remove(sw, ids[i], now_ns);
}

static void begin(void)
{
	lease->random = 7;
	for (unsigned int i = 0; i < NB; i++)
		add(i);
}

/* As before the first input, but for the time. */
static void end(void)
{
	for (unsigned int i = 0; i < NB; i++)
		kill_client(i);
	roost_departed_fini(&sw->departed);
	port_room = 1000;
	while (roost_switch_send(sw, now_ns, 32) == 32)
		;
	now_ns += RESTART_NS;
}

/* ---- frames -------------------------------------------------------------- */

static struct roost_gid pick_gid(struct fuzz_in *in)
{
	static const struct roost_gid *const gids[] = {
		&port_v4, &own_v4, &peer_v4, &port_v6, &peer_v6, &group,
	};

	return *gids[fuzz_below(in, 6)];
}

static uint32_t pick_qpn(struct fuzz_in *in)
{
	const uint8_t which = fuzz_u8(in);

	if (which < 2 * NB)
		return qpn_of(which % NB);
	return which == 7 ? 0xffffff : which == 8 ? fuzz_u32(in) : which & 1;
}

static uint32_t pick_id(struct fuzz_in *in)
{
	const uint8_t which = fuzz_u8(in);

	if (which % 8 < NB)
		return comm_of(which % 8, which >> 5);
	return which % 8 == 7   ? fuzz_u32(in)
	       : which % 8 == 6 ? 0
				: 0x9990u + which / 64;
}

static void pick_msg(struct fuzz_in *in, const struct roost_sw_route *route,
		     struct roost_cm_msg *msg)
{
	*msg = (struct roost_cm_msg){
		.type = (enum roost_cm_msg_type)fuzz_below(in,
							   ROOST_CM_MSG_COUNT),
		.tid = fuzz_u8(in) & 1,
		.local_id = pick_id(in),
		.remote_id = pick_id(in),
		.service_id =
			(uint64_t)ROOST_CM_PS_TCP << 16 | fuzz_below(in, 3),
		.qpn = pick_qpn(in),
		.mtu = ROOST_MTU_1024,
		.primary = { .local_gid = route->local,
			     .remote_gid = route->peer },
		.alternate = { .local_gid = route->local,
			       .remote_gid = route->peer },
	};
}

static void put_addrs(struct fuzz_in *in, bool from_client,
		      struct roost_flow *flow)
{
	flow->sgid = pick_gid(in);
	flow->dgid = pick_gid(in);
	if (roost_gid_is_v4(&flow->sgid) != roost_gid_is_v4(&flow->dgid))
		flow->dgid = roost_gid_is_v4(&flow->sgid) ? peer_v4 : peer_v6;
	memcpy(flow->src_mac, from_client ? port_mac : peer_mac, 6);
	memcpy(flow->dst_mac, from_client ? peer_mac : port_mac, 6);
}

/* A frame as it should be, or nearly. */
static uint32_t build(struct fuzz_in *in, bool from_client, uint8_t *buf)
{
	struct roost_flow flow = { .hop_limit = 9, .udp_src = 0xc000 };
	const uint8_t kind = fuzz_u8(in);
	const bool ud = kind & 1, mad = kind & 2;
	struct roost_bth bth = {
		.opcode = ud || mad ? ROOST_OPCODE_UD_SEND_ONLY
				    : ROOST_OPCODE_RC_SEND_ONLY,
		.pkey = kind & 0x80 ? fuzz_u16(in) : 0xffff,
	};
	const size_t payload = mad ? ROOST_CM_MAD_LEN : (kind >> 2 & 7) * 4u;
	struct roost_hdr_template t;
	struct roost_cm_msg msg;
	size_t len;

	put_addrs(in, from_client, &flow);
	flow.tagged = kind & 0x40;
	bth.dest_qpn = mad ? 1 : pick_qpn(in);
	roost_hdr_template_init(&t, &flow);
	len = roost_hdr_emit(&t, buf, &bth,
			     payload + (ud || mad ? ROOST_DETH_LEN : 0));
	if (ud || mad) {
		roost_deth_put(buf + len, mad ? 0x80010000 : 5,
			       mad ? 1 : pick_qpn(in));
		len += ROOST_DETH_LEN;
	}
	memset(buf + len, 0, payload);
	if (mad) {
		const struct roost_sw_route route = { .local = flow.sgid,
						      .peer = flow.dgid };

		pick_msg(in, &route, &msg);
		roost_cm_msg_encode(&msg, buf + len);
	}
	len += payload;
	/* Bytes of the input in some places. */
	for (uint32_t nb = fuzz_below(in, 4); nb > 0; nb--)
		buf[fuzz_below(in, (uint32_t)len)] = fuzz_u8(in);
	roost_frame_seal(&t, buf, len);
	return (uint32_t)len + ROOST_ICRC_LEN;
}

static uint32_t pick_frame(struct fuzz_in *in, bool from_client, uint8_t *buf)
{
	struct fuzz_in piece;

	if (fuzz_u8(in) % 4 != 0)
		return build(in, from_client, buf);
	piece = fuzz_piece(in);
	return (uint32_t)fuzz_take(&piece, buf, FRAME_MAX);
}

/* Of a client, in two parts, in memory that ends with each. */
static void frame_of(struct fuzz_in *in, unsigned int i)
{
	uint8_t buf[FRAME_MAX];
	const uint32_t len = pick_frame(in, true, buf);
	struct roost_sw_frame frame = { .len_bytes = len };
	uint8_t *head, *payload;

	frame.head_len_bytes =
		len < ROOST_SW_HEAD_MAX ? len : ROOST_SW_HEAD_MAX;
	head = malloc(frame.head_len_bytes + 1);
	head = realloc(head, frame.head_len_bytes ? frame.head_len_bytes : 1);
	payload = malloc(len - frame.head_len_bytes + 1);
	FUZZ_CHECK(head != NULL && payload != NULL);
	memcpy(head, buf, frame.head_len_bytes);
	memcpy(payload, buf + frame.head_len_bytes, len - frame.head_len_bytes);
	frame.head = head;
	frame.payload = payload;
	sender = i;
	if (alive[i])
		roost_switch_from_client(sw, ids[i], &frame, now_ns);
	sender = NB;
	free(head);
	free(payload);
}

static void frame_of_port(struct fuzz_in *in)
{
	uint8_t buf[FRAME_MAX];
	const uint32_t len = pick_frame(in, false, buf);
	struct roost_sw_frame frame = { .len_bytes = len,
					.head_len_bytes = len };
	uint8_t *whole = malloc(len ? len : 1);

	FUZZ_CHECK(whole != NULL);
	memcpy(whole, buf, len);
	frame.head = whole;
	sender = NB;
	roost_switch_from_port(sw, &frame);
	free(whole);
}

/* ---- all else ------------------------------------------------------------ */

static void claim_of(struct fuzz_in *in, unsigned int i)
{
	const uint8_t how = fuzz_u8(in);
	struct roost_claim claim = {
		.service_id = (uint64_t)ROOST_CM_PS_TCP << 16 | (how & 3),
		.family = how >> 2 & 3,
		.listens = how & 16,
		.reuseaddr = how & 32,
	};

	if (!alive[i])
		return;
	if (how & 64)
		roost_lease_unclaim(lease, ids[i], &claim);
	else
		roost_lease_claim(lease, ids[i], &claim, now_ns);
}

static void join_of(unsigned int i)
{
	bool port_too;

	if (!alive[i])
		return;
	FUZZ_CHECK((is_member[i] ? roost_group_leave
				 : roost_group_join)(lease, ids[i], &group,
						     &port_too) == 0);
	is_member[i] = !is_member[i];
}

static void ticket_of(struct fuzz_in *in, unsigned int i)
{
	const struct roost_client_conf conf = { .weight = 1,
						.max_prefixes = 1 };
	/* Not a byte more than the bound: a longer ticket is ASan's to find. */
	const size_t room_bytes = roost_lease_ticket_max(lease, ids[i]);
	uint8_t *ticket = malloc(room_bytes);
	ptrdiff_t len = roost_lease_issue(lease, ids[i], ticket, room_bytes);
	uint16_t client;

	FUZZ_CHECK(len > 0);
	ticket[fuzz_below(in, (uint32_t)len)] ^= fuzz_u8(in);
	FUZZ_CHECK(roost_lease_present(lease, ticket, (size_t)len, &conf,
				       now_ns, &client) != 0);
	free(ticket);
}

static void advance(struct fuzz_in *in)
{
	now_ns += (uint64_t)fuzz_u8(in) << fuzz_below(in, 32);
	sender = NB;
	roost_switch_run(sw, now_ns, 8);
	port_room = fuzz_u8(in);
	roost_switch_send(sw, now_ns, 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct fuzz_in in = { data, len_bytes };

	begin();
	for (int i = 0; i < STEPS_MAX && in.left_bytes > 0; i++) {
		const uint8_t step = fuzz_u8(&in);
		const unsigned int client = step / 16 % NB;

		switch (step % 16) {
		case 0:
			claim_of(&in, client);
			break;
		case 1:
			join_of(client);
			break;
		case 2:
			kill_client(client);
			break;
		case 3:
			add(client);
			break;
		case 4:
			advance(&in);
			break;
		case 5:
			if (alive[client])
				ticket_of(&in, client);
			break;
		default:
			if (step % 16 < 10)
				frame_of_port(&in);
			else
				frame_of(&in, client);
		}
	}
	end();
	return 0;
}
