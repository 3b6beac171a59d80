/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Owners in threads of their own, against the control thread: whoever has
 * destroyed a connection hears nothing of it any more, and all memory goes.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/engine/core/service.h"
#include "tests/sim/cm_world.h"

#define THREADS 2
#define ROUNDS 24

struct racer {
	struct roost_cm *cm;
	struct roost_cm_req_param param;
	pthread_t thread;
	unsigned int id;
};

/* What the owner of one connection has; freed right after its destroy. */
struct mine {
	atomic_uint calls;
	atomic_bool gone;
};

static atomic_uint nb_done;
static atomic_uint nb_told;

static void on_event(void *arg, struct roost_cm_conn *conn,
		     const struct roost_cm_event *event)
{
	struct mine *mine = arg;

	if (atomic_load(&mine->gone))
		abort();
	atomic_fetch_add(&mine->calls, 1);
	atomic_fetch_add(&nb_told, 1);
	if (event->type == ROOST_CM_REP_RECEIVED)
		roost_cm_establish(conn, NULL, 0);
}

/* Connect, wait for this or that, destroy. */
static void *race(void *arg)
{
	struct racer *r = arg;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct mine *mine = calloc(1, sizeof(*mine));
		struct roost_cm_conn *conn;

		roost_cm_conn_create(r->cm, on_event, mine, &conn);
		r->param.qpn = 0x1000 + r->id * ROUNDS + i;
		roost_cm_connect(conn, &r->param);
		/* Right away, or right after the first callback began. */
		while (i % 4 != 0 && atomic_load(&mine->calls) == 0)
			usleep(20);
		if (i % 3 == 0)
			roost_cm_disconnect(conn, NULL, 0);
		roost_cm_conn_destroy(conn);
		atomic_store(&mine->gone, true);
		free(mine);
	}
	atomic_fetch_add(&nb_done, 1);
	return NULL;
}

static void on_request(void *arg, struct roost_cm_conn *conn,
		       const struct roost_cm_event *event)
{
	(void)arg;
	if (event->type == ROOST_CM_REQ_RECEIVED) {
		roost_cm_conn_fetched(conn);
		roost_cm_accept(conn, &(struct roost_cm_rep_param){ .qpn = 7 });
	} else if (event->type != ROOST_CM_RTU_RECEIVED &&
		   event->type != ROOST_CM_MRA_RECEIVED) {
		roost_cm_conn_destroy(conn);
	}
}

static void destroy__against_callbacks(void **state)
{
	struct cm_world *w = cm_world_new();
	const struct roost_cm_listen_param param = {
		.service_id = roost_cm_service_id(ROOST_CM_PS_TCP, CM_PORT),
	};
	struct racer racers[THREADS];

	assert_int_equal(roost_cm_listen(w->cm[SIM_B], &param, on_request, NULL,
					 &w->listener),
			 0);
	for (unsigned int i = 0; i < THREADS; i++) {
		racers[i] = (struct racer){
			.cm = w->cm[SIM_A],
			.param = cm_req_param(w, 2, &cm_ip),
			.id = i,
		};
		racers[i].param.ip = NULL;
		assert_int_equal(pthread_create(&racers[i].thread, NULL, race,
						&racers[i]),
				 0);
	}
	while (atomic_load(&nb_done) < THREADS)
		sim_run_for(w->sim, 100 * SIM_US);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(racers[i].thread, NULL);
	sim_run_for(w->sim, 200 * SIM_S);
	assert_true(atomic_load(&nb_told) >= THREADS * ROUNDS / 2);
	assert_int_equal(cm_counters(w, SIM_A).nb_conns, 0);
	assert_int_equal(cm_counters(w, SIM_B).nb_conns, 0);
	cm_world_free(w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(destroy__against_callbacks),
	};

	return sim_main(argc, argv, "cm_threads", tests,
			sizeof(tests) / sizeof(tests[0]));
}
