/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * CM MADs in every state, among what a program does with its connections.
 * Input: operations. A MAD is one of each type with ids that we gave out, so
 * that it is of a connection; then bytes of it may be spoilt. It comes as a
 * frame, through QP1.
 */

#include <string.h>

#include <roost/cm.h>
#include "cm/msg.h"
#include "lib/engine/transport/gsi.h"
#include "lib/engine/core/service.h"
#include "lib/engine/sched/worker.h"
#include "lib/wire/bytes.h"
#include "tests/fuzz/engine.h"

#define S 1000000000ull
#define OPS_MAX 32u
#define CONNS_MAX 16u
#define IDS_MAX 8u
#define PORT 7471u
#define STRANGER 3 /* the last byte of another address */
/* Timers after the program has let go of all: none lives longer. */
#define END_RUNS_MAX 4096u
/* What one MAD may make us send: an answer, and a word to whom it drives out or
 * what the program says then.
 */
#define ANSWERS_MAX 2u
/* What time may make us send: of each connection what waited for a MAC, and a
 * repetition.
 */
#define DUE_MAX (2 * CONNS_MAX)

struct owner {
	struct roost_cm_conn *conn; /* NULL: free */
	bool is_told;               /* in its callback */
};

static struct roost_cm *cm;
static struct roost_cm_listener *listeners[2]; /* TCP, UDP */
static struct owner owners[CONNS_MAX];
static uint32_t ids[IDS_MAX]; /* of ours, as they were seen in MADs */
static unsigned int nb_ids;
static uint8_t policy; /* what callbacks do */
static unsigned int nb_mads_out;
static unsigned int nb_mads_allowed; /* to be out when the next turn is over */

static const struct roost_gid our_gid = {
	.b = { [10] = 0xff, [11] = 0xff, 198, 18, 0, 1 },
};
static const struct roost_gid peer_gid = {
	.b = { [10] = 0xff, [11] = 0xff, 198, 18, 0, 2 },
};

/* ---- the program ------------------------------------------------------ */

static void accept_conn(struct roost_cm_conn *conn)
{
	const struct roost_cm_rep_param rep = {
		.qpn = 0x123,
		.starting_psn = 1,
		.responder_resources = 1,
		.initiator_depth = 1,
	};

	roost_cm_accept(conn, &rep);
}

static void reply_sidr(struct roost_cm_conn *conn)
{
	const struct roost_cm_sidr_rep_param rep = {
		.qpn = 0x123,
		.qkey = 0x11111111,
	};

	roost_cm_sidr_reply(conn, &rep);
}

static void on_event(void *arg, struct roost_cm_conn *conn,
		     const struct roost_cm_event *event)
{
	struct owner *o = arg;
	struct roost_qp_attr attr;
	uint32_t mask;

	FUZZ_CHECK(o->conn == conn && !o->is_told);
	FUZZ_CHECK(event->type < ROOST_CM_EVENT_TYPES);
	FUZZ_CHECK(event->data_len_bytes <= ROOST_CM_DATA_MAX);
	FUZZ_CHECK(event->data != NULL || event->data_len_bytes == 0);
	FUZZ_CHECK(event->info_len_bytes <= ROOST_CM_INFO_MAX);
	for (enum roost_qp_state to = ROOST_QPS_INIT; to <= ROOST_QPS_RTS; to++)
		roost_cm_conn_qp_attr(conn, to, &attr, &mask);
	if (event->type == ROOST_CM_REP_RECEIVED && policy & 1)
		roost_cm_establish(conn, NULL, 0);
	if (event->type == ROOST_CM_DREQ_RECEIVED && policy & 2)
		roost_cm_disconnect(conn, NULL, 0);
	if (event->type == ROOST_CM_LAP_RECEIVED && policy & 4)
		roost_cm_apr(conn, 0, NULL, 0, NULL, 0);
	if (policy & 8) {
		o->conn = NULL;
		roost_cm_conn_destroy(conn);
	}
}

static struct owner *free_owner(void)
{
	for (unsigned int i = 0; i < CONNS_MAX; i++)
		if (owners[i].conn == NULL)
			return &owners[i];
	return NULL;
}

static void on_request(void *arg, struct roost_cm_conn *conn,
		       const struct roost_cm_event *event)
{
	struct owner *o = free_owner();

	(void)arg;
	FUZZ_CHECK(event->listener == listeners[0] ||
		   event->listener == listeners[1]);
	FUZZ_CHECK(!event->has_ip || roost_gid_eq(&event->ip.src, &peer_gid));
	if (policy & 16)
		roost_cm_conn_fetched(conn);
	if (o == NULL) {
		roost_cm_conn_destroy(conn);
		return;
	}
	o->conn = conn;
	roost_cm_conn_set_owner(conn, on_event, o);
	if (!(policy & 32))
		return;
	if (event->type == ROOST_CM_REQ_RECEIVED)
		accept_conn(conn);
	else
		reply_sidr(conn);
}

static struct roost_cm_path path_to_peer(void)
{
	struct roost_cm_path path;

	FUZZ_CHECK(roost_cm_route(cm, NULL, &peer_gid, &path) == 0);
	return path;
}

static void begin(struct fuzz_in *in)
{
	struct owner *o = free_owner();
	const uint8_t how = fuzz_u8(in);
	const struct roost_cm_req_param req = {
		.path = path_to_peer(),
		.service_id = roost_cm_service_id(ROOST_CM_PS_TCP, PORT),
		.qp_type = how & 1 ? ROOST_QPT_XRC_INI : ROOST_QPT_RC,
		.qpn = 0x200u + (how >> 4),
		.responder_resources = 1,
		.retry_count = 7,
		.max_cm_retries = how & 2 ? 1 : 15,
	};
	const struct roost_cm_sidr_req_param sidr = {
		.path = req.path,
		.service_id = roost_cm_service_id(ROOST_CM_PS_UDP, PORT),
		.max_cm_retries = 2,
	};

	if (o == NULL || roost_cm_conn_create(cm, on_event, o, &o->conn) != 0)
		return;
	nb_mads_allowed++;
	if (how & 4)
		roost_cm_resolve(o->conn, NULL, &peer_gid, 100);
	else if (how & 8)
		roost_cm_sidr_request(o->conn, &sidr);
	else
		roost_cm_connect(o->conn, &req);
}

static void call(struct fuzz_in *in)
{
	struct owner *o = &owners[fuzz_below(in, CONNS_MAX)];
	const uint8_t how = fuzz_u8(in);
	struct roost_cm_path path;

	if (o->conn == NULL)
		return;
	nb_mads_allowed++;
	switch (how & 15) {
	case 0:
		roost_cm_conn_destroy(o->conn);
		o->conn = NULL;
		break;
	case 1:
		accept_conn(o->conn);
		break;
	case 2:
		roost_cm_establish(o->conn, &how, 1);
		break;
	case 3:
		roost_cm_reject(o->conn, ROOST_CM_REJ_CONSUMER_DEFINED, &how, 1,
				&how, 1);
		break;
	case 4:
		roost_cm_disconnect(o->conn, &how, 1);
		break;
	case 5:
		roost_cm_mra(o->conn, how >> 3, NULL, 0);
		break;
	case 6:
		path = path_to_peer();
		roost_cm_load_path(o->conn, &path, NULL, 0);
		break;
	case 7:
		roost_cm_apr(o->conn, how >> 4 & 1, NULL, 0, NULL, 0);
		break;
	case 8:
		roost_cm_conn_comm_est(o->conn);
		break;
	case 9:
		reply_sidr(o->conn);
		break;
	default:
		roost_cm_conn_fetched(o->conn);
		break;
	}
}

static void listen_at(unsigned int i, int backlog)
{
	const struct roost_cm_listen_param param = {
		.service_id = roost_cm_service_id(i == 0 ? ROOST_CM_PS_TCP
							 : ROOST_CM_PS_UDP,
						  PORT),
		.backlog = backlog,
	};

	FUZZ_CHECK(roost_cm_listen(cm, &param, on_request, NULL,
				   &listeners[i]) == 0);
}

static void change_listener(struct fuzz_in *in)
{
	const uint8_t how = fuzz_u8(in);
	const unsigned int i = how & 1;

	if (listeners[i] != NULL) {
		roost_cm_listener_destroy(listeners[i]);
		listeners[i] = NULL;
	} else {
		listen_at(i, 1 + (how >> 1 & 7));
	}
}

/* ---- the wire --------------------------------------------------------- */

static void take_mad(const struct roost_frame *frame,
		     const struct roost_pkt *pkt)
{
	enum roost_cm_drop drop;
	struct roost_cm_msg msg;

	/* Whoever asked is answered. */
	FUZZ_CHECK(roost_gid_eq(&frame->dgid, &peer_gid) ||
		   frame->dgid.b[15] == STRANGER);
	FUZZ_CHECK(pkt->dest_qpn == ROOST_GSI_QPN &&
		   pkt->src_qpn == ROOST_GSI_QPN &&
		   pkt->payload_len_bytes == ROOST_CM_MAD_LEN);
	FUZZ_CHECK(roost_cm_msg_decode(pkt->payload, pkt->payload_len_bytes,
				       &msg, &drop));
	nb_mads_out++;
	ids[nb_ids++ % IDS_MAX] = msg.local_id;
}

static void turn(uint64_t ns)
{
	if (ns > 0)
		nb_mads_allowed += DUE_MAX;
	engine_turn(ns);
	roost_dev_service_run_all(engine.dev, engine.now_ns);
	engine_turn(0);
	FUZZ_CHECK(nb_mads_out <= nb_mads_allowed);
	nb_mads_allowed = nb_mads_out;
}

static void put_mad(const uint8_t *mad, size_t len_bytes, uint8_t how)
{
	struct roost_flow flow = engine_flow(ENGINE_RC);
	const struct roost_bth bth = {
		.opcode = ROOST_OPCODE_UD_SEND_ONLY,
		.pad_bytes = (uint8_t)(-len_bytes & 3),
		.migreq = true,
		.pkey = 0xffff,
		.dest_qpn = ROOST_GSI_QPN,
	};
	uint8_t frame[ROOST_FRAME_OVERHEAD_MAX + ROOST_CM_MAD_LEN] = { 0 };
	size_t at, padded = (len_bytes + 3) & ~(size_t)3;
	struct roost_hdr_template t;

	if (how & 1)
		flow.sgid.b[15] = STRANGER;
	roost_hdr_template_init(&t, &flow);
	at = roost_hdr_emit(&t, frame, &bth, ROOST_DETH_LEN + padded);
	roost_deth_put(frame + at, ROOST_GSI_QKEY, how & 2 ? 7 : ROOST_GSI_QPN);
	at += ROOST_DETH_LEN;
	memcpy(frame + at, mad, len_bytes);
	at += padded;
	roost_frame_seal(&t, frame, at);
	engine_put(frame, at + ROOST_ICRC_LEN);
}

static uint32_t some_id(struct fuzz_in *in)
{
	const uint8_t how = fuzz_u8(in);

	return how & 0x80 ? how & 7u : ids[how % IDS_MAX];
}

static struct roost_cm_msg msg_of(struct fuzz_in *in)
{
	struct roost_cm_msg msg = {
		.type = fuzz_below(in, ROOST_CM_MSG_COUNT),
		.tid = fuzz_u8(in),
		.local_id = 1u + (fuzz_u8(in) & 3),
		.remote_id = some_id(in),
		.ca_guid = 0x77u + (fuzz_u8(in) & 1),
		.qpn = 0x500u + (fuzz_u8(in) & 3),
		.qkey = 0x11111111,
		.starting_psn = 5,
		.responder_resources = 1,
		.initiator_depth = 1,
		.remote_cm_timeout = 20,
		.local_cm_timeout = 20,
		.pkey = 0xffff,
		.mtu = ROOST_MTU_1024,
		.max_cm_retries = 15,
		.about = fuzz_u8(in) & 3,
		.service_timeout = fuzz_u8(in) & 31,
		.reason = fuzz_u8(in) & 31,
		.primary = {
			.local_lid = 0xffff,
			.remote_lid = 0xffff,
			.local_gid = peer_gid,
			.remote_gid = our_gid,
			.hop_limit = 64,
			.ack_timeout = 19,
		},
	};
	const struct roost_cm_ip_hdr ip = {
		.src = peer_gid,
		.dst = our_gid,
		.src_port = 4000,
	};
	const uint8_t how = fuzz_u8(in);

	msg.service_id =
		roost_cm_service_id(how & 1 ? ROOST_CM_PS_UDP : ROOST_CM_PS_TCP,
				    PORT);
	if (msg.type == ROOST_CM_SIDR_REQ || msg.type == ROOST_CM_SIDR_REP)
		msg.service_id = roost_cm_service_id(ROOST_CM_PS_UDP, PORT);
	if (msg.type == ROOST_CM_SIDR_REP)
		msg.local_id = msg.remote_id;
	/* Numbers of our own QPs are those that a peer speaks of. */
	if (msg.type == ROOST_CM_DREQ)
		msg.qpn = how & 2 ? 0x123u : 0x200u + (how >> 4);
	if (how & 4)
		msg.alternate = msg.primary;
	if (how & 8)
		roost_cm_ip_hdr_encode(&ip, msg.data);
	if (msg.type == ROOST_CM_REJ && msg.reason == ROOST_CM_REJ_TIMEOUT) {
		msg.info_len_bytes = 8;
		roost_be64_put(msg.info, msg.ca_guid);
	}
	return msg;
}

static void put_msg(struct fuzz_in *in)
{
	uint8_t mad[ROOST_CM_MAD_LEN] = { 0 };
	const uint8_t how = fuzz_u8(in);
	size_t len_bytes = sizeof(mad);
	struct roost_cm_msg msg = msg_of(in);

	roost_cm_msg_encode(&msg, mad);
	for (unsigned int i = how >> 2 & 3; i > 0; i--) {
		uint8_t at = fuzz_u8(in);

		mad[at] ^= fuzz_u8(in);
	}
	if (how & 0x40)
		len_bytes = fuzz_u8(in);
	put_mad(mad, len_bytes, how);
	nb_mads_allowed += ANSWERS_MAX;
	if (how & 0x80)
		return; /* several at a time */
	turn(0);
}

/* ---- the input -------------------------------------------------------- */

static void go_on(struct fuzz_in *in)
{
	static const uint64_t steps[] = { 1000,  S / 1000, S / 10, S,
					  5 * S, 30 * S,   100 * S };

	turn(steps[fuzz_below(in, sizeof(steps) / sizeof(steps[0]))]);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	engine_open();
	engine.take_mad = take_mad;
	FUZZ_CHECK(roost_cm_get(engine.dev, &cm) == 0);
	return 0;
}

/* The program lets go of all, and the CM forgets. */
static void end(void)
{
	struct roost_cm_counters counters;
	uint64_t next_ns = 0;

	policy = 0;
	for (unsigned int i = 0; i < 2; i++)
		if (listeners[i] != NULL)
			roost_cm_listener_destroy(listeners[i]);
	memset(listeners, 0, sizeof(listeners));
	for (unsigned int i = 0; i < CONNS_MAX; i++)
		if (owners[i].conn != NULL)
			roost_cm_conn_destroy(owners[i].conn);
	memset(owners, 0, sizeof(owners));
	for (unsigned int i = 0; i < END_RUNS_MAX; i++) {
		engine_turn(0);
		next_ns = roost_dev_service_run_all(engine.dev, engine.now_ns);
		engine_turn(0);
		roost_cm_counters(cm, &counters);
		if (counters.nb_conns == 0)
			break;
		FUZZ_CHECK(next_ns != UINT64_MAX);
		if (next_ns > engine.now_ns)
			engine.now_ns = next_ns;
	}
	FUZZ_CHECK(counters.nb_conns == 0 && counters.nb_half_open == 0 &&
		   counters.nb_timewait == 0);
	nb_mads_allowed = nb_mads_out;
	/* What a peer may ask for in a second is full again. */
	turn(10 * S);
	memset(ids, 0, sizeof(ids));
	nb_ids = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct fuzz_in in = { data, len_bytes };

	policy = fuzz_u8(&in);
	listen_at(0, 4);
	listen_at(1, 4);
	for (unsigned int n = 0; n < OPS_MAX && in.left_bytes > 0; n++) {
		switch (fuzz_u8(&in) & 15) {
		case 0:
		case 1:
			begin(&in);
			break;
		case 2:
		case 3:
			call(&in);
			break;
		case 4:
			go_on(&in);
			break;
		case 5:
			change_listener(&in);
			break;
		case 6:
			policy = fuzz_u8(&in);
			break;
		case 7:
			engine_move_peer(fuzz_u8(&in) & 3);
			nb_mads_allowed += DUE_MAX;
			break;
		default:
			put_msg(&in);
			break;
		}
	}
	engine_move_peer(1);
	end();
	engine_reset();
	return 0;
}
