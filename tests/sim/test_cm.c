/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Connections from resolution to timewait, on a good link. */

#include <errno.h>
#include <string.h>

#include "cm/priv.h"
#include "cm/serve.h"
#include "lib/engine/core/service.h"
#include "tests/sim/cm_world.h"

/* ---- addresses -------------------------------------------------------- */

static void resolve__tells_the_path(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);
	struct roost_cm_path path;

	assert_false(roost_cm_conn_path(o->conn, &path));
	assert_int_equal(roost_cm_resolve(o->conn, NULL,
					  &w->sim->ends[SIM_B].gid, 2000),
			 0);
	assert_int_equal(roost_cm_resolve(o->conn, NULL,
					  &w->sim->ends[SIM_B].gid, 2000),
			 -EALREADY);
	cm_expect_nothing(o);
	sim_turn(w->sim);
	cm_expect(o, ROOST_CM_ADDR_RESOLVED, 1);
	assert_true(roost_cm_conn_path(o->conn, &path));
	assert_memory_equal(&path.sgid, &w->sim->ends[SIM_A].gid, 16);
	assert_memory_equal(path.dmac, w->sim->ends[SIM_B].ports[0].mac, 6);
	assert_int_equal(path.port_num, 1);
	assert_int_equal(path.sgid_index, 0);
	assert_int_equal(path.mtu, ROOST_MTU_4096);
	assert_int_equal(path.pkey, 0xffff);
	cm_world_free(w);
}

static void resolve_now__needs_no_event_for_a_known_hop(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p = cm_owner_new(w);
	struct roost_neigh *neigh = &w->sim->ends[SIM_A].ports[0].neigh;
	const struct roost_gid *to = &w->sim->ends[SIM_B].gid;
	struct roost_cm_path path;
	uint64_t mac_gen;

	assert_int_equal(roost_cm_resolve_now(o->conn, NULL, to, 2000), 1);
	assert_true(roost_cm_conn_path(o->conn, &path));
	assert_memory_equal(path.dmac, w->sim->ends[SIM_B].ports[0].mac, 6);
	sim_run_for(w->sim, 3 * SIM_S);
	cm_expect_nothing(o);
	mac_gen = atomic_exchange(&neigh->mac_gen, 0);
	assert_int_equal(roost_cm_resolve_now(p->conn, NULL, to, 2000), 0);
	atomic_store(&neigh->mac_gen, mac_gen + (1 << 16));
	sim_run_for(w->sim, 3 * SIM_S);
	cm_expect(p, ROOST_CM_ADDR_RESOLVED, 1);
	/* The first one knew the MAC address before. */
	cm_expect(o, ROOST_CM_ADDR_CHANGE, 1);
	cm_world_free(w);
}

static void resolve__silence_is_an_error_at_the_timeout(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);
	struct roost_neigh *neigh = &w->sim->ends[SIM_A].ports[0].neigh;
	uint64_t mac_gen = atomic_exchange(&neigh->mac_gen, 0);

	assert_int_equal(roost_cm_resolve(o->conn, NULL,
					  &w->sim->ends[SIM_B].gid, 2000),
			 0);
	sim_run_for(w->sim, 1999 * SIM_MS);
	assert_int_equal(o->seen[ROOST_CM_ADDR_ERROR], 0);
	sim_run_for(w->sim, 2 * SIM_MS);
	cm_expect(o, ROOST_CM_ADDR_ERROR, 1);
	assert_int_equal(o->last[ROOST_CM_ADDR_ERROR].status, -ETIMEDOUT);
	/* And once more, with an answer in between. */
	assert_int_equal(roost_cm_resolve(o->conn, NULL,
					  &w->sim->ends[SIM_B].gid, 2000),
			 0);
	sim_run_for(w->sim, SIM_S);
	atomic_store(&neigh->mac_gen, mac_gen);
	roost_dev_service_wake(w->sim->ends[SIM_A].dev);
	sim_turn(w->sim);
	assert_int_equal(o->seen[ROOST_CM_ADDR_RESOLVED], 1);
	sim_run_for(w->sim, 5 * SIM_S);
	cm_expect(o, ROOST_CM_ADDR_RESOLVED, 1, ROOST_CM_ADDR_ERROR, 1);
	cm_world_free(w);
}

/* To ask may take a second, in which other threads have messages to take. */
static void resolve__asks_without_the_lock(void **state)
{
	struct cm_world *w = cm_world_new();
	struct sim_end *a = &w->sim->ends[SIM_A];
	struct cm_owner *o = cm_owner_new(w);
	const struct roost_gid *to = &w->sim->ends[SIM_B].gid;

	a->not_under = &w->cm[SIM_A]->lock;
	assert_int_equal(roost_cm_resolve_now(o->conn, NULL, to, 2000), 1);
	assert_int_equal(a->neigh_refs, 1);
	/* Another one, instead of the one before. */
	assert_int_equal(roost_cm_resolve_now(o->conn, NULL, to, 2000), 1);
	assert_int_equal(a->neigh_refs, 1);
	atomic_store(&a->ports[0].neigh.mac_gen, 0);
	assert_int_equal(roost_cm_resolve(o->conn, NULL, to, 2000), 0);
	/* It is refused, and what it asked for is given back. */
	assert_int_equal(roost_cm_resolve(o->conn, NULL, to, 2000), -EALREADY);
	assert_int_equal(a->neigh_refs, 1);
	a->not_under = NULL;
	cm_world_free(w);
}

static void resolve__another_mac_is_told_once(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);

	roost_cm_resolve(o->conn, NULL, &w->sim->ends[SIM_B].gid, 2000);
	sim_run_for(w->sim, 3 * SIM_S);
	cm_expect(o, ROOST_CM_ADDR_RESOLVED, 1);
	atomic_store(&w->sim->ends[SIM_A].ports[0].neigh.mac_gen,
		     0x0202020202020002u);
	sim_run_for(w->sim, 5 * SIM_S);
	cm_expect(o, ROOST_CM_ADDR_RESOLVED, 1, ROOST_CM_ADDR_CHANGE, 1);
	cm_world_free(w);
}

static void route__errors(void **state)
{
	struct cm_world *w = cm_world_new();
	struct roost_cm_path path;
	const struct sim_end *a = &w->sim->ends[SIM_A], *b = a + 1;
	const struct roost_gid none = { { 0 } };

	assert_int_equal(roost_cm_route(w->cm[0], &b->gid, &b->gid, &path),
			 -EADDRNOTAVAIL);
	assert_int_equal(roost_cm_route(w->cm[0], &a->gid6, &b->gid, &path),
			 -EINVAL);
	assert_int_equal(roost_cm_route(w->cm[0], NULL, &none, &path), -EINVAL);
	assert_int_equal(roost_cm_route(w->cm[0], &a->gid6, &b->gid6, &path),
			 0);
	assert_int_equal(path.sgid_index, 1);
	/* Ourselves. */
	assert_int_equal(roost_cm_route(w->cm[0], NULL, &a->gid, &path), 0);
	assert_memory_equal(&path.sgid, &a->gid, 16);
	cm_world_free(w);
}

/* ---- connections ------------------------------------------------------ */

static void connect__many_calls_wake_the_control_thread_once(void **state)
{
	struct cm_world *w = cm_world_new();
	struct sim_end *a = &w->sim->ends[SIM_A];
	struct roost_cm_counters c;

	/* Nobody answers a REQ. */
	w->sim->link.faults[SIM_A].carrier_off = true;
	cm_connect(cm_owner_new(w), 1000);
	assert_int_equal(a->services_due_ns, 0);
	sim_turn(w->sim);
	for (unsigned int i = 1; i < 10; i++) {
		cm_connect(cm_owner_new(w), 1000 + i);
		assert_true(a->services_due_ns > w->sim->now_ns);
		sim_run_for(w->sim, SIM_MS);
		/* Runs for another reason change nothing. */
		for (unsigned int runs = 0; i == 1 && runs < 2; runs++) {
			roost_dev_service_wake(a->dev);
			sim_turn(w->sim);
		}
	}
	/* No timer begins much later for that, and no wake is left. */
	sim_run_for(w->sim, 6442 * SIM_MS);
	roost_cm_counters(w->cm[SIM_A], &c);
	assert_true(c.retries[ROOST_CM_REQ] < 10);
	sim_run_for(w->sim, 40 * SIM_MS);
	roost_cm_counters(w->cm[SIM_A], &c);
	assert_int_equal(c.retries[ROOST_CM_REQ], 10);
	sim_run_for(w->sim, 100 * SIM_MS);
	assert_true(a->services_due_ns > w->sim->now_ns + 200 * SIM_MS);
	cm_world_free(w);
}

static void connect__both_ends_know_all(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p;
	const struct roost_cm_event *req, *rep;

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	p = cm_establish(o, 0x1234);
	req = &p->last[ROOST_CM_REQ_RECEIVED];
	assert_true(req->has_ip);
	assert_memory_equal(&req->ip, &cm_ip, sizeof(cm_ip));
	assert_int_equal(req->data_len_bytes, 56);
	assert_int_equal(req->service_id, 0x01060000 + CM_PORT);
	assert_int_equal(req->peer.qpn, 0x1234);
	assert_int_equal(req->peer.starting_psn, 0x111111);
	assert_int_equal(req->peer.responder_resources, 3);
	assert_int_equal(req->peer.initiator_depth, 4);
	assert_int_equal(req->peer.retry_count, 5);
	assert_int_equal(req->peer.rnr_retry_count, 6);
	assert_int_equal(req->peer.ca_guid, 1);
	rep = &o->last[ROOST_CM_REP_RECEIVED];
	assert_int_equal(rep->peer.qpn, 0x21234);
	assert_int_equal(rep->peer.starting_psn, 0x222222);
	assert_int_equal(rep->peer.responder_resources, 4);
	assert_int_equal(rep->peer.initiator_depth, 3);
	assert_int_equal(rep->peer.ca_guid, 2);
	assert_int_equal(rep->data_len_bytes, 196);
	assert_int_equal(cm_drops(w, SIM_A) + cm_drops(w, SIM_B), 0);
	cm_world_free(w);
}

static void check_private_data(struct cm_world *w, const struct cm_owner *o,
			       enum roost_cm_event_type type, size_t len)
{
	assert_int_equal(o->last[type].data_len_bytes, len);
	assert_memory_equal(o->data[type], w->data, len);
}

/* Two clients of one port: even the addresses are the same. */
static void connect__at_our_own_address(void **state)
{
	struct cm_world *w = cm_world_new_in(sim_new_sharing());
	struct cm_owner *o = cm_owner_new(w), *p;

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	p = cm_establish(o, 0x1234);
	assert_int_equal(p->side, SIM_B);
	assert_int_equal(o->last[ROOST_CM_REP_RECEIVED].peer.ca_guid, 2);
	assert_int_equal(cm_drops(w, SIM_A) + cm_drops(w, SIM_B), 0);
	cm_world_free(w);
}

/* A thread that waits for events attends to B; its control thread has no part
 * in it.
 */
static void serve__takes_what_came_and_leaves_the_timers(void **state)
{
	struct cm_world *w = cm_world_new();
	struct sim_end *b = &w->sim->ends[SIM_B];
	struct cm_owner *o = cm_owner_new(w);

	w->policy = CM_LEAVE;
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	sim_run_for(w->sim, SIM_S);
	roost_dev_service_attend(true);
	cm_connect(o, 0x1234);
	sim_run_for(w->sim, SIM_MS);
	roost_dev_service_attend(false);
	assert_true(b->services_due_ns > w->sim->now_ns);
	assert_int_equal(cm_nb_passive(w), 0);
	roost_cm_serve(w->cm[SIM_B], w->sim->now_ns);
	assert_int_equal(cm_nb_passive(w), 1);
	cm_expect(cm_passive(w, 0), ROOST_CM_REQ_RECEIVED, 1);
	/* What it began goes on when nobody attends: REPs, and their end. */
	w->sim->link.faults[SIM_B].carrier_off = true;
	assert_int_equal(roost_cm_accept(cm_passive(w, 0)->conn,
					 &(struct roost_cm_rep_param){
						 .qpn = 0x21234 }),
			 0);
	roost_cm_serve(w->cm[SIM_B], w->sim->now_ns);
	sim_run_for(w->sim, 80 * SIM_S);
	assert_int_equal(cm_counters(w, SIM_B).retries[ROOST_CM_REP], 15);
	assert_int_equal(cm_passive(w, 0)->seen[ROOST_CM_REP_ERROR], 1);
	cm_world_free(w);
}

/* B, to which this request comes, is served by a thread of the program. */
static void forge_to_server(struct cm_world *w, const struct roost_cm_msg *msg)
{
	roost_dev_service_attend(true);
	cm_forge_msg(w, SIM_A, msg);
	sim_run_for(w->sim, SIM_MS);
	roost_cm_serve(w->cm[SIM_B], w->sim->now_ns);
	roost_dev_service_attend(false);
}

/* It does not ask who is next on the way to them. */
static void serve__leaves_strangers_to_the_control_thread(void **state)
{
	struct cm_world *w = cm_world_new();
	struct sim_end *b = &w->sim->ends[SIM_B];
	_Atomic uint64_t *mac_gen = &b->ports[0].neigh.mac_gen;
	struct roost_cm_msg one = cm_forged_req(w, 1, 0x1234),
			    two = cm_forged_req(w, 2, 0x1235),
			    three = cm_forged_req(w, 3, 0x1236);
	uint64_t known;

	w->policy = CM_LEAVE;
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	sim_run_for(w->sim, SIM_S);
	known = atomic_exchange(mac_gen, 0);
	forge_to_server(w, &one);
	assert_int_equal(b->neigh_refs, 0);
	assert_int_equal(cm_counters(w, SIM_B).nb_conns, 0);
	assert_int_equal(cm_counters(w, SIM_B).rx[ROOST_CM_REQ], 0);
	cm_forge_msg(w, SIM_A, &two);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(b->neigh_refs, 2);
	assert_int_equal(cm_counters(w, SIM_B).rx[ROOST_CM_REQ], 2);
	atomic_store(mac_gen, known);
	roost_dev_service_wake(b->dev);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(cm_nb_passive(w), 2);
	/* Where the next hop is known, there is nothing to wait for. */
	forge_to_server(w, &three);
	assert_int_equal(cm_nb_passive(w), 3);
	cm_world_free(w);
}

/* To the last byte of every message, and not one more. */
static void connect__private_data(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p;
	uint8_t data[ROOST_CM_DATA_MAX];
	struct roost_cm_req_param param;

	sim_random_fill(&w->sim->rng, data, sizeof(data));
	w->data = data;
	w->policy = CM_LEAVE;
	w->leave_rep = true;
	w->leave_dreq = true;
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	param = cm_req_param(w, 0x77, &cm_ip);
	param.data = data;
	param.data_len_bytes = 57;
	assert_int_equal(roost_cm_connect(o->conn, &param), -EINVAL);
	param.data_len_bytes = 56;
	assert_int_equal(roost_cm_connect(o->conn, &param), 0);
	sim_run_for(w->sim, SIM_MS);
	p = cm_passive(w, 0);
	check_private_data(w, p, ROOST_CM_REQ_RECEIVED, 56);

	struct roost_cm_rep_param rep = { .qpn = 0x78,
					  .data = data,
					  .data_len_bytes = 197 };
	assert_int_equal(roost_cm_accept(p->conn, &rep), -EINVAL);
	rep.data_len_bytes = 196;
	assert_int_equal(roost_cm_accept(p->conn, &rep), 0);
	sim_run_for(w->sim, SIM_MS);
	check_private_data(w, o, ROOST_CM_REP_RECEIVED, 196);
	assert_int_equal(roost_cm_establish(o->conn, data, 225), -EINVAL);
	assert_int_equal(roost_cm_establish(o->conn, data, 224), 0);
	sim_run_for(w->sim, SIM_MS);
	check_private_data(w, p, ROOST_CM_RTU_RECEIVED, 224);
	assert_int_equal(roost_cm_disconnect(o->conn, data, 221), -EINVAL);
	assert_int_equal(roost_cm_disconnect(o->conn, data, 220), 0);
	sim_run_for(w->sim, SIM_MS);
	check_private_data(w, p, ROOST_CM_DREQ_RECEIVED, 220);
	assert_int_equal(roost_cm_disconnect(p->conn, data, 225), -EINVAL);
	assert_int_equal(roost_cm_disconnect(p->conn, data, 224), 0);
	sim_run_for(w->sim, SIM_MS);
	check_private_data(w, o, ROOST_CM_DREP_RECEIVED, 224);
	cm_world_free(w);
}

/* Without the header of IP addresses all 92 bytes are the owner's. */
static void connect__without_ip_header(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w);
	uint8_t data[92];
	struct roost_cm_req_param param;

	memset(data, 0xab, sizeof(data));
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	param = cm_req_param(w, 0x77, NULL);
	param.data = data;
	param.data_len_bytes = sizeof(data);
	assert_int_equal(roost_cm_connect(o->conn, &param), 0);
	sim_run_for(w->sim, SIM_MS);
	w->data = data;
	check_private_data(w, cm_passive(w, 0), ROOST_CM_REQ_RECEIVED, 92);
	assert_false(cm_passive(w, 0)->last[ROOST_CM_REQ_RECEIVED].has_ip);
	w->data = NULL;
	cm_world_free(w);
}

static void modify(struct cm_owner *o, struct sim_qp *qp,
		   enum roost_qp_state to)
{
	struct roost_qp_attr attr;
	uint32_t mask;

	assert_int_equal(roost_cm_conn_qp_attr(o->conn, to, &attr, &mask), 0);
	if (to == ROOST_QPS_RTR && o->side == SIM_B)
		attr.rq_psn = qp->peer->sq_psn;
	assert_int_equal(roost_qp_modify(qp->qp, &attr, mask), 0);
}

/* The attributes make two QPs that speak to each other. */
static void connect__attributes_serve_the_qps(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p;
	struct sim_qp *a = sim_qp_new(w->sim, SIM_A, NULL);
	struct sim_qp *b = sim_qp_new(w->sim, SIM_B, NULL);
	struct roost_cm_req_param req = cm_req_param(w, a->qpn, &cm_ip);
	struct roost_cm_rep_param rep = {
		.qpn = b->qpn,
		.starting_psn = a->sq_psn,
		.responder_resources = 3,
		.initiator_depth = 4,
	};
	struct roost_qp_attr attr;
	uint32_t mask;

	w->policy = CM_LEAVE;
	w->leave_rep = true;
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	sim_qp_join(a, b);
	a->top_psn = roost_psn(a->sq_psn);
	b->top_psn = roost_psn(b->sq_psn);
	req.starting_psn = b->sq_psn;
	req.path.mtu = a->conf.mtu;
	assert_int_equal(roost_cm_connect(o->conn, &req), 0);
	modify(o, a, ROOST_QPS_INIT);
	assert_int_equal(roost_cm_conn_qp_attr(o->conn, ROOST_QPS_RTR, &attr,
					       &mask),
			 -EINVAL);
	sim_run_for(w->sim, SIM_MS);
	p = cm_passive(w, 0);
	modify(p, b, ROOST_QPS_INIT);
	modify(p, b, ROOST_QPS_RTR);
	modify(p, b, ROOST_QPS_RTS);
	assert_int_equal(roost_cm_accept(p->conn, &rep), 0);
	sim_run_for(w->sim, SIM_MS);
	modify(o, a, ROOST_QPS_RTR);
	modify(o, a, ROOST_QPS_RTS);
	assert_int_equal(roost_cm_establish(o->conn, NULL, 0), 0);
	for (int i = 0; i < 3; i++) {
		sim_recv(a, 5000);
		sim_recv(b, 5000);
		sim_send(a, 5000);
		sim_send(b, 4096);
	}
	sim_run_for(w->sim, SIM_S);
	sim_expect_all_good(a, b);
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_RTU_RECEIVED, 1);
	roost_qp_query(a->qp, &attr, &(struct roost_qp_init){ 0 });
	assert_int_equal(attr.timeout, 19);
	assert_int_equal(attr.retry_cnt, 5);
	assert_int_equal(attr.max_rd_atomic, 3);
	assert_int_equal(attr.max_dest_rd_atomic, 4);
	cm_world_free(w);
}

/* ---- alternate paths -------------------------------------------------- */

static void lap__loaded_and_refused(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p;
	struct roost_cm_path alternate = cm_path(w, SIM_A, true);
	uint8_t data[168];
	struct roost_qp_attr attr;
	uint32_t mask;

	sim_random_fill(&w->sim->rng, data, sizeof(data));
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	p = cm_establish(o, 0x1234);
	w->data = data;
	assert_int_equal(roost_cm_load_path(o->conn, &alternate, data, 169),
			 -EINVAL);
	assert_int_equal(roost_cm_load_path(p->conn, &alternate, NULL, 0),
			 -EINVAL);
	assert_int_equal(roost_cm_load_path(o->conn, &alternate, data, 168), 0);
	sim_run_for(w->sim, SIM_MS);
	check_private_data(w, p, ROOST_CM_LAP_RECEIVED, 168);
	assert_memory_equal(&p->last[ROOST_CM_LAP_RECEIVED].alternate.dgid,
			    &w->sim->ends[SIM_A].gid6, 16);
	assert_memory_equal(&p->last[ROOST_CM_LAP_RECEIVED].alternate.sgid,
			    &w->sim->ends[SIM_B].gid6, 16);
	assert_int_equal(roost_cm_apr(p->conn, 0, data, 72, data, 148), 0);
	sim_run_for(w->sim, SIM_MS);
	check_private_data(w, o, ROOST_CM_APR_RECEIVED, 148);
	assert_int_equal(o->last[ROOST_CM_APR_RECEIVED].info_len_bytes, 72);
	assert_int_equal(roost_cm_conn_qp_attr(o->conn, ROOST_QPS_RTS, &attr,
					       &mask),
			 0);
	assert_int_equal(mask, ROOST_QP_ALT_PATH | ROOST_QP_PATH_MIG_STATE);
	assert_memory_equal(&attr.alt_av.dgid, &w->sim->ends[SIM_B].gid6, 16);
	/* Once more, refused; and once without an answer. */
	assert_int_equal(roost_cm_load_path(o->conn, &alternate, NULL, 0), 0);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(roost_cm_apr(p->conn, 3, NULL, 0, NULL, 0), 0);
	sim_run_for(w->sim, SIM_MS);
	assert_int_equal(o->last[ROOST_CM_APR_RECEIVED].status, 3);
	w->sim->link.faults[SIM_A].carrier_off = true;
	assert_int_equal(roost_cm_load_path(o->conn, &alternate, NULL, 0), 0);
	sim_run_for(w->sim, 200 * SIM_S);
	assert_int_equal(o->seen[ROOST_CM_LAP_ERROR], 1);
	w->sim->link.faults[SIM_A].carrier_off = false;
	w->data = NULL;
	cm_world_free(w);
}

/* Whoever accepted has a neighbour, too. */
static void accepted__another_mac_of_the_peer_is_told(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p;
	struct roost_neigh *neigh = &w->sim->ends[SIM_B].ports[0].neigh;
	uint64_t mac_gen;

	cm_listen(w, ROOST_CM_PS_TCP, 10);
	p = cm_establish(o, 0x1234);
	sim_run_for(w->sim, 5 * SIM_S);
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_RTU_RECEIVED, 1);
	mac_gen = atomic_exchange(&neigh->mac_gen, 0x0202020202020002u);
	sim_run_for(w->sim, 5 * SIM_S);
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_RTU_RECEIVED, 1,
		  ROOST_CM_ADDR_CHANGE, 1);
	/* It ends with a DREQ to the right place. */
	atomic_store(&neigh->mac_gen, mac_gen);
	cm_world_free(w);
}

/* The answer goes where the question came from, if nobody knows better. */
static void accepted__answers_go_where_the_question_came_from(void **state)
{
	struct cm_world *w = cm_world_new();
	struct cm_owner *o = cm_owner_new(w), *p;
	const struct roost_cm_rep_param rep = { .qpn = 0x78 };

	w->policy = CM_LEAVE;
	cm_listen(w, ROOST_CM_PS_TCP, 10);
	cm_connect(o, 0x1234);
	sim_run_for(w->sim, SIM_MS);
	p = cm_passive(w, 0);
	atomic_store(&w->sim->ends[SIM_B].ports[0].neigh.mac_gen, 0);
	assert_int_equal(roost_cm_accept(p->conn, &rep), 0);
	sim_run_for(w->sim, 3 * SIM_S);
	assert_int_equal(roost_cm_disconnect(p->conn, NULL, 0), 0);
	sim_run_for(w->sim, 5 * SIM_S);
	cm_expect(p, ROOST_CM_REQ_RECEIVED, 1, ROOST_CM_RTU_RECEIVED, 1,
		  ROOST_CM_DREP_RECEIVED, 1, ROOST_CM_TIMEWAIT_EXIT, 1);
	cm_world_free(w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resolve__tells_the_path),
		cmocka_unit_test(resolve_now__needs_no_event_for_a_known_hop),
		cmocka_unit_test(resolve__silence_is_an_error_at_the_timeout),
		cmocka_unit_test(resolve__asks_without_the_lock),
		cmocka_unit_test(resolve__another_mac_is_told_once),
		cmocka_unit_test(accepted__another_mac_of_the_peer_is_told),
		cmocka_unit_test(
			accepted__answers_go_where_the_question_came_from),
		cmocka_unit_test(route__errors),
		cmocka_unit_test(
			connect__many_calls_wake_the_control_thread_once),
		cmocka_unit_test(connect__both_ends_know_all),
		cmocka_unit_test(connect__at_our_own_address),
		cmocka_unit_test(serve__takes_what_came_and_leaves_the_timers),
		cmocka_unit_test(serve__leaves_strangers_to_the_control_thread),
		cmocka_unit_test(connect__private_data),
		cmocka_unit_test(connect__without_ip_header),
		cmocka_unit_test(connect__attributes_serve_the_qps),
		cmocka_unit_test(lap__loaded_and_refused),
	};

	return sim_main(argc, argv, "cm", tests,
			sizeof(tests) / sizeof(tests[0]));
}
