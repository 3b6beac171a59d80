/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <pthread.h>
#include <unistd.h>

#include "apps/roostd/crew.h"
#include "apps/roostd/handover.h"
#include "apps/roostd/loop.h"
#include "pmd_glue/process/clock.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/lanes_world.h"
#include "tests/unit/apps/roostd/nic_world.h"

static int listener;
static pthread_t daemon_thread;

static void *serve(void *arg)
{
	static struct roostd_service service;

	(void)arg;
	assert_int_equal(roostd_loop_run(&port, NULL, &service), 0);
	return NULL;
}

int open_lanes(void (*on_sent)(const uint8_t *frame, uint32_t len_bytes))
{
	runs_itself = true;
	now_ns = roost_now_ns();
	fake_reset();
	fake.nb_workers = LANES;
	fake.on_sent = on_sent;
	if (listen_for_clients(&listener) || roostd_loop_make(1) ||
	    roostd_loop_watch_listener(listener) ||
	    roostd_loop_watch_handover(roostd_handover_open()) ||
	    open_nic_at(roostd_loop_epoll_fd(0), listener))
		return -1;
	return pthread_create(&daemon_thread, NULL, serve, NULL);
}

int teardown_lanes(void **state)
{
	(void)state;
	roostd_loop_stop();
	roostd_crew_kick(0);
	pthread_join(daemon_thread, NULL);
	roostd_port_close(&port);
	roostd_handover_close();
	roostd_loop_free();
	close(listener);
	return 0;
}
