/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdlib.h>
#include <string.h>

#include "lib/engine/transport/gsi.h"
#include "tests/sim/cm_world.h"

const struct roost_cm_ip_hdr cm_ip = {
	.src = { { [10] = 0xff, [11] = 0xff, 198, 18, 0, 1 } },
	.dst = { { [10] = 0xff, [11] = 0xff, 198, 18, 0, 2 } },
	.src_port = 40000,
};

/* ---- owners ----------------------------------------------------------- */

static struct cm_owner *owner_take(struct cm_world *w, int side,
				   struct roost_cm_conn *conn)
{
	struct cm_owner *o = &w->owners[w->nb_owners++];

	assert_true(w->nb_owners <= CM_CONNS_MAX);
	*o = (struct cm_owner){ .world = w, .side = side, .conn = conn };
	return o;
}

static void note(struct cm_owner *o, const struct roost_cm_event *event)
{
	o->seen[event->type]++;
	o->last[event->type] = *event;
	assert_true(event->data_len_bytes <= ROOST_CM_DATA_MAX);
	if (event->data != NULL)
		memcpy(o->data[event->type], event->data,
		       event->data_len_bytes);
}

static void accept_req(struct cm_owner *o, const struct roost_cm_event *event)
{
	const struct roost_cm_rep_param rep = {
		.qpn = 0x20000 + event->peer.qpn,
		.starting_psn = 0x222222,
		.responder_resources = event->peer.responder_resources,
		.initiator_depth = event->peer.initiator_depth,
		.rnr_retry_count = 6,
		.data = o->world->data,
		.data_len_bytes = o->world->data_len_bytes,
	};

	assert_int_equal(roost_cm_accept(o->conn, &rep), 0);
}

static void answer_request(struct cm_owner *o,
			   const struct roost_cm_event *event)
{
	struct cm_world *w = o->world;

	if (!w->keep_backlog)
		roost_cm_conn_fetched(o->conn);
	switch (w->policy) {
	case CM_ACCEPT:
		if (event->type == ROOST_CM_REQ_RECEIVED)
			accept_req(o, event);
		break;
	case CM_REJECT:
		assert_int_equal(roost_cm_reject(o->conn,
						 ROOST_CM_REJ_CONSUMER_DEFINED,
						 NULL, 0, w->data,
						 w->data_len_bytes),
				 0);
		break;
	case CM_DESTROY:
		cm_owner_destroy(o);
		break;
	case CM_LEAVE:
		break;
	}
}

static void on_event(void *arg, struct roost_cm_conn *conn,
		     const struct roost_cm_event *event)
{
	struct cm_owner *o = arg;
	struct cm_world *w = o->world;

	assert_ptr_equal(conn, o->conn);
	note(o, event);
	if (event->type == ROOST_CM_REP_RECEIVED && !w->leave_rep)
		assert_int_equal(roost_cm_establish(conn, w->data,
						    w->data_len_bytes),
				 0);
	if (event->type == ROOST_CM_DREQ_RECEIVED && !w->leave_dreq)
		roost_cm_disconnect(conn, w->data, w->data_len_bytes);
}

static void on_request(void *arg, struct roost_cm_conn *conn,
		       const struct roost_cm_event *event)
{
	struct cm_world *w = arg;
	struct cm_owner *o = owner_take(w, SIM_B, conn);

	assert_ptr_equal(event->listener, w->listener);
	roost_cm_conn_set_owner(conn, on_event, o);
	note(o, event);
	answer_request(o, event);
}

struct cm_owner *cm_owner_new(struct cm_world *w)
{
	struct cm_owner *o = owner_take(w, SIM_A, NULL);

	assert_int_equal(roost_cm_conn_create(w->cm[SIM_A], on_event, o,
					      &o->conn),
			 0);
	return o;
}

void cm_owner_destroy(struct cm_owner *o)
{
	roost_cm_conn_destroy(o->conn);
	o->conn = NULL;
}

struct cm_owner *cm_passive(struct cm_world *w, unsigned int n)
{
	for (unsigned int i = 0; i < w->nb_owners; i++)
		if (w->owners[i].side == SIM_B && n-- == 0)
			return &w->owners[i];
	return NULL;
}

unsigned int cm_nb_passive(const struct cm_world *w)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < w->nb_owners; i++)
		n += w->owners[i].side == SIM_B;
	return n;
}

void cm_expect_(const struct cm_owner *o, const unsigned int *types)
{
	unsigned int want[ROOST_CM_EVENT_TYPES] = { 0 };

	for (; types[1] != 0; types += 2)
		want[types[0]] = types[1];
	for (unsigned int i = 0; i < ROOST_CM_EVENT_TYPES; i++)
		if (o->seen[i] != want[i])
			fail_msg("side %d: event %u came %u times, not %u",
				 o->side, i, o->seen[i], want[i]);
}

/* ---- the world -------------------------------------------------------- */

struct cm_world *cm_world_new(void)
{
	return cm_world_new_in(sim_new());
}

struct cm_world *cm_world_new_in(struct sim *sim)
{
	struct cm_world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->sim = sim;
	for (int side = 0; side < 2; side++)
		assert_int_equal(roost_cm_get(w->sim->ends[side].dev,
					      &w->cm[side]),
				 0);
	return w;
}

void cm_world_free(struct cm_world *w)
{
	if (w->listener != NULL)
		roost_cm_listener_destroy(w->listener);
	for (unsigned int i = 0; i < w->nb_owners; i++)
		if (w->owners[i].conn != NULL)
			cm_owner_destroy(&w->owners[i]);
	sim_turn(w->sim);
	roost_cm_put(w->cm[SIM_A]);
	roost_cm_put(w->cm[SIM_B]);
	sim_free(w->sim);
	free(w);
}

void cm_listen(struct cm_world *w, enum roost_cm_port_space ps, int backlog)
{
	const struct roost_cm_listen_param param = {
		.service_id = roost_cm_service_id(ps, CM_PORT),
		.backlog = backlog,
	};

	assert_int_equal(roost_cm_listen(w->cm[SIM_B], &param, on_request, w,
					 &w->listener),
			 0);
}

struct roost_cm_path cm_path(struct cm_world *w, int from, bool ipv6)
{
	const struct sim_end *to = &w->sim->ends[!from];
	struct roost_cm_path path;

	assert_int_equal(roost_cm_route(w->cm[from], NULL,
					ipv6 ? &to->gid6 : &to->gid, &path),
			 0);
	return path;
}

struct roost_cm_req_param cm_req_param(struct cm_world *w, uint32_t qpn,
				       const struct roost_cm_ip_hdr *ip)
{
	return (struct roost_cm_req_param){
		.path = cm_path(w, SIM_A, false),
		.service_id = roost_cm_service_id(ROOST_CM_PS_TCP, CM_PORT),
		.ip = ip,
		.qp_type = ROOST_QPT_RC,
		.qpn = qpn,
		.starting_psn = 0x111111,
		.responder_resources = 4,
		.initiator_depth = 3,
		.retry_count = 5,
		.rnr_retry_count = 6,
	};
}

void cm_connect(struct cm_owner *o, uint32_t qpn)
{
	struct roost_cm_ip_hdr ip = cm_ip;
	struct roost_cm_req_param param;

	ip.dst = o->world->sim->ends[SIM_B].gid;
	param = cm_req_param(o->world, qpn, &ip);
	assert_int_equal(roost_cm_connect(o->conn, &param), 0);
}

struct cm_owner *cm_establish(struct cm_owner *o, uint32_t qpn)
{
	struct cm_world *w = o->world;
	struct cm_owner *passive;

	cm_connect(o, qpn);
	sim_run_for(w->sim, SIM_S);
	passive = cm_passive(w, cm_nb_passive(w) - 1);
	cm_expect(o, ROOST_CM_REP_RECEIVED, 1);
	cm_expect(passive, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_RTU_RECEIVED, 1);
	return passive;
}

/* ---- MADs of our own making ------------------------------------------- */

void cm_forge(struct cm_world *w, int from, const uint8_t *mad, size_t len)
{
	const struct sim_end *a = &w->sim->ends[from];
	const struct sim_end *b = &w->sim->ends[!from];
	struct roost_flow flow = {
		.sgid = a->gid,
		.dgid = b->gid,
		.hop_limit = 64,
		.udp_src = 0xc123,
	};
	const struct roost_bth bth = {
		.opcode = ROOST_OPCODE_UD_SEND_ONLY,
		.pad_bytes = (uint8_t)(-len & 3),
		.migreq = true,
		.pkey = 0xffff,
		.dest_qpn = ROOST_GSI_QPN,
	};
	uint8_t frame[ROOST_FRAME_OVERHEAD_MAX + 1024] = { 0 };
	struct roost_hdr_template t;
	size_t at, padded = (len + 3) & ~(size_t)3;

	assert_true(padded <= 1024);
	memcpy(flow.src_mac, a->ports[0].mac, 6);
	memcpy(flow.dst_mac, b->ports[0].mac, 6);
	roost_hdr_template_init(&t, &flow);
	at = roost_hdr_emit(&t, frame, &bth, ROOST_DETH_LEN + padded);
	roost_deth_put(frame + at, ROOST_GSI_QKEY, ROOST_GSI_QPN);
	at += ROOST_DETH_LEN;
	memcpy(frame + at, mad, len);
	at += padded;
	roost_frame_seal(&t, frame, at);
	sim_link_put(w->sim, from, frame, at + ROOST_ICRC_LEN);
}

void cm_forge_msg(struct cm_world *w, int from, const struct roost_cm_msg *msg)
{
	uint8_t mad[ROOST_CM_MAD_LEN];

	roost_cm_msg_encode(msg, mad);
	cm_forge(w, from, mad, sizeof(mad));
}

void cm_put_ip(struct cm_world *w, struct roost_cm_msg *msg)
{
	const struct roost_cm_ip_hdr ip = {
		.src = w->sim->ends[SIM_A].gid,
		.dst = w->sim->ends[SIM_B].gid,
		.src_port = 40000,
	};

	roost_cm_ip_hdr_encode(&ip, msg->data);
}

struct roost_cm_msg cm_forged_req(struct cm_world *w, uint32_t local_id,
				  uint32_t qpn)
{
	struct roost_cm_msg msg = {
		.type = ROOST_CM_REQ,
		.tid = local_id,
		.local_id = local_id,
		.service_id = roost_cm_service_id(ROOST_CM_PS_TCP, CM_PORT),
		.ca_guid = roost_dev_node_guid(w->sim->ends[SIM_A].dev),
		.qpn = qpn,
		.remote_cm_timeout = 20,
		.local_cm_timeout = 20,
		.pkey = 0xffff,
		.mtu = ROOST_MTU_1024,
		.max_cm_retries = 15,
		.primary = {
			.local_lid = 0xffff,
			.remote_lid = 0xffff,
			.local_gid = w->sim->ends[SIM_A].gid,
			.remote_gid = w->sim->ends[SIM_B].gid,
			.hop_limit = 64,
			.ack_timeout = 19,
		},
	};

	cm_put_ip(w, &msg);
	return msg;
}

struct roost_cm_counters cm_counters(struct cm_world *w, int side)
{
	struct roost_cm_counters counters;

	roost_cm_counters(w->cm[side], &counters);
	return counters;
}

uint64_t cm_drops(struct cm_world *w, int side)
{
	struct roost_cm_counters c = cm_counters(w, side);
	uint64_t sum = 0;

	for (unsigned int i = 0; i < ROOST_CM_DROP_COUNT; i++)
		sum += c.drops[i];
	return sum;
}
