/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Three ports on two threads, with the daemon's real loop. TSan runs it, too.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "apps/roostd/crew.h"
#include "apps/roostd/handover.h"
#include "apps/roostd/loop.h"
#include "pmd_glue/process/clock.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/port_world.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

#define PORTS 3u
#define THREADS 2u
#define FRAMES 4000u
#define IN_FLIGHT 16u
#define FRAME_MAX 256u
#define PATIENCE_NS 20000000000ull
#define HELD_US 20000u
#define SLOW_US 2000000u
#define SLEEP_US 400000u /* all threads of the daemon are asleep then */

static struct roostd_port ports[PORTS];
static int listener;
static pthread_t daemon_thread;

/* The daemon makes memory slowly. */
static atomic_bool is_slow;

int __real_roost_shm_memory_make(const struct roost_shm_shape *shape,
				 struct roost_shm_memory *mem);
int __wrap_roost_shm_memory_make(const struct roost_shm_shape *shape,
				 struct roost_shm_memory *mem);

int __wrap_roost_shm_memory_make(const struct roost_shm_shape *shape,
				 struct roost_shm_memory *mem)
{
	if (atomic_load(&is_slow) &&
	    pthread_equal(pthread_self(), daemon_thread))
		usleep(SLOW_US);
	return __real_roost_shm_memory_make(shape, mem);
}

static void *serve(void *arg)
{
	static struct roostd_service service;

	(void)arg;
	assert_int_equal(roostd_loop_run(ports, NULL, &service), 0);
	return NULL;
}

/* Ports without a network that do not end when they are alone. */
static int setup_ports(void **state)
{
	(void)state;
	runs_itself = true;
	if (listen_for_clients(&listener) || roostd_loop_make(THREADS) ||
	    roostd_loop_watch_listener(listener) ||
	    roostd_loop_watch_handover(roostd_handover_open()))
		return -1;
	for (uint32_t i = 0; i < PORTS; i++) {
		if (roostd_hub_open(&ports[i], listener,
				    roostd_loop_epoll_fd(i), NULL,
				    roost_now_ns()))
			return -1;
		ports[i].first = ports;
		ports[i].nb_ports = PORTS;
		ports[i].is_hub = false;
	}
	return pthread_create(&daemon_thread, NULL, serve, NULL);
}

static int teardown_ports(void **state)
{
	(void)state;
	roostd_loop_stop();
	pthread_join(daemon_thread, NULL);
	for (uint32_t i = 0; i < PORTS; i++)
		roostd_port_close(&ports[i]);
	roostd_handover_close();
	roostd_loop_free();
	close(listener);
	return 0;
}

static void attach(struct client *c, uint32_t number)
{
	of_clients = &ports[number];
	c_attach(c);
}

/* ---- what is seen of all ports, from another thread -----------------------
 */

struct seen {
	uint32_t nb_attached[PORTS];
	uint64_t nb_frames[PORTS];
	bool moved; /* frames did, while all was held */
};

static uint64_t frames_of(const struct roostd_port *p)
{
	uint64_t nb = p->sw->gone.rx_frames;

	for (uint32_t i = 0; i < ROOST_CLIENTS_MAX; i++)
		nb += p->sw->counters[i].rx_frames;
	return nb;
}

static int look_at(void *arg)
{
	struct seen *seen = arg;

	for (uint32_t i = 0; i < PORTS; i++) {
		seen->nb_attached[i] = ports[i].nb_attached;
		seen->nb_frames[i] = frames_of(&ports[i]);
	}
	return 0;
}

static int look_twice(void *arg)
{
	struct seen *seen = arg;

	look_at(seen);
	usleep(HELD_US);
	for (uint32_t i = 0; i < PORTS; i++)
		seen->moved |= frames_of(&ports[i]) != seen->nb_frames[i];
	return 0;
}

static struct seen look(void)
{
	struct seen seen = { .moved = false };

	assert_int_equal(roostd_handover(look_at, &seen), 0);
	return seen;
}

static void await_attached(uint32_t number, uint32_t nb)
{
	const uint64_t until_ns = roost_now_ns() + PATIENCE_NS;

	while (look().nb_attached[number] != nb) {
		assert_true(roost_now_ns() < until_ns);
		usleep(1000);
	}
}

/* ---- traffic --------------------------------------------------------------
 */

struct stream {
	struct client from, to;
	struct roost_sw_frame frame;
	uint8_t bytes[FRAME_MAX];
	uint32_t sent, got;
};

static void open_stream(struct stream *s, uint32_t number)
{
	*s = (struct stream){ .sent = 0 };
	attach(&s->from, number);
	attach(&s->to, number);
	s->frame = rc(&s->to, 64);
	assert_true(s->frame.len_bytes <= FRAME_MAX);
	memcpy(s->bytes, s->frame.head, s->frame.len_bytes);
	s->frame.head = s->bytes;
}

static void close_stream(struct stream *s)
{
	c_close(&s->from);
	c_close(&s->to);
}

/* Frames carry a number; each is to arrive, in order. */
static void turn(struct stream *s, uint32_t nb)
{
	uint8_t *number = s->bytes + s->frame.len_bytes - 8;
	const uint8_t *got;
	uint32_t len, value;

	while (s->sent < nb && s->sent - s->got < IN_FLIGHT) {
		memcpy(number, &s->sent, sizeof(s->sent));
		s->sent++;
		c_publish(&s->from, &s->frame);
	}
	while ((got = c_take(&s->to, &len)) != NULL) {
		assert_int_equal(len, s->frame.len_bytes);
		memcpy(&value, got + len - 8, sizeof(value));
		assert_int_equal(value, s->got);
		s->got++;
	}
}

static bool is_over(const struct stream *s, uint32_t nb)
{
	return s->got == nb;
}

static void run_all(struct stream *streams, uint32_t nb)
{
	const uint64_t until_ns = roost_now_ns() + PATIENCE_NS;
	bool over;

	do {
		over = true;
		for (uint32_t i = 0; i < PORTS; i++) {
			turn(&streams[i], nb);
			over = over && is_over(&streams[i], nb);
		}
		assert_true(roost_now_ns() < until_ns);
	} while (!over);
}

static struct stream streams[PORTS];

/* ---- tests ----------------------------------------------------------------
 */

static void loop__each_port_is_a_threads(void **state)
{
	(void)state;
	assert_int_equal(roostd_crew_nb(), THREADS);
	assert_int_equal(roostd_loop_epoll_fd(0), roostd_loop_epoll_fd(2));
	assert_int_not_equal(roostd_loop_epoll_fd(0), roostd_loop_epoll_fd(1));
	for (uint32_t i = 0; i < PORTS; i++)
		open_stream(&streams[i], i);
	for (uint32_t i = 0; i < PORTS; i++)
		assert_int_equal(look().nb_attached[i], 2);
	run_all(streams, FRAMES);
	for (uint32_t i = 0; i < PORTS; i++) {
		assert_int_equal(look().nb_frames[i], FRAMES);
		close_stream(&streams[i]);
		await_attached(i, 0);
	}
}

struct crowd {
	atomic_bool stop;
	uint32_t nb_come, nb_looked;
};

/* Sees that there is nothing between two states. */
static void *watch(void *arg)
{
	struct crowd *crowd = arg;

	while (!atomic_load(&crowd->stop)) {
		struct seen seen = look();

		for (uint32_t i = 0; i < PORTS; i++)
			assert_in_range(seen.nb_attached[i], 2, 3);
		crowd->nb_looked++;
	}
	return NULL;
}

/* One client after the other comes to a port and is gone, like one that was
 * killed, while pairs of all ports go on, and another thread looks at all.
 */
static void loop__clients_come_and_go(void **state)
{
	struct crowd crowd = { .stop = false };
	struct client c;
	pthread_t watcher;

	(void)state;
	for (uint32_t i = 0; i < PORTS; i++)
		open_stream(&streams[i], i);
	assert_int_equal(pthread_create(&watcher, NULL, watch, &crowd), 0);
	for (uint32_t n = 1; n <= 30; n++) {
		const uint32_t number = n % PORTS;

		attach(&c, number);
		run_all(streams, n * 50);
		c_close(&c);
		await_attached(number, 2);
	}
	atomic_store(&crowd.stop, true);
	pthread_join(watcher, NULL);
	assert_true(crowd.nb_looked > 0);
	for (uint32_t i = 0; i < PORTS; i++) {
		close_stream(&streams[i]);
		await_attached(i, 0);
	}
}

static void *look_long(void *arg)
{
	for (int i = 0; i < 5; i++) {
		assert_int_equal(roostd_handover(look_twice, arg), 0);
		usleep(HELD_US);
	}
	return NULL;
}

static void loop__nothing_moves_while_it_is_held(void **state)
{
	struct seen seen = { .moved = false };
	uint32_t nb = 0;
	pthread_t watcher;

	(void)state;
	for (uint32_t i = 0; i < PORTS; i++)
		open_stream(&streams[i], i);
	assert_int_equal(pthread_create(&watcher, NULL, look_long, &seen), 0);
	do
		run_all(streams, nb += 100);
	while (pthread_tryjoin_np(watcher, NULL) != 0);
	assert_false(seen.moved);
	assert_true(nb > 100);
	for (uint32_t i = 0; i < PORTS; i++)
		close_stream(&streams[i]);
}

static void *attach_one(void *arg)
{
	attach(arg, 1);
	return NULL;
}

/* Memory for a client is made while other threads go on, also that of its own
 * port.
 */
static void loop__traffic_goes_on_while_a_client_attaches(void **state)
{
	uint64_t at_ns, longest_ns = 0;
	uint32_t nb = 0;
	struct client c;
	pthread_t comer;

	(void)state;
	open_stream(&streams[1], 1);
	atomic_store(&is_slow, true);
	assert_int_equal(pthread_create(&comer, NULL, attach_one, &c), 0);
	do {
		at_ns = roost_now_ns();
		nb += IN_FLIGHT;
		while (!is_over(&streams[1], nb))
			turn(&streams[1], nb);
		at_ns = roost_now_ns() - at_ns;
		if (longest_ns < at_ns)
			longest_ns = at_ns;
	} while (pthread_tryjoin_np(comer, NULL) != 0);
	atomic_store(&is_slow, false);
	assert_true(longest_ns < SLOW_US * 1000u / 2);
	c_close(&c);
	close_stream(&streams[1]);
}

static uint64_t time_to_wake_ns(void)
{
	uint64_t began_ns;

	usleep(SLEEP_US);
	began_ns = roost_now_ns();
	open_stream(&streams[1], 1);
	while (!is_over(&streams[1], 100))
		turn(&streams[1], 100);
	began_ns = roost_now_ns() - began_ns;
	close_stream(&streams[1]);
	return began_ns;
}

/* A client that comes to a port whose thread is asleep is served at once, and
 * not by the next tick of the loop. A busy machine may be late: the best of
 * some tries.
 */
static void loop__wakes_a_thread_that_it_held(void **state)
{
	uint64_t best_ns = UINT64_MAX;

	(void)state;
	for (int i = 0; i < 10 && best_ns >= 150 * MS; i++) {
		uint64_t ns = time_to_wake_ns();

		best_ns = ns < best_ns ? ns : best_ns;
		await_attached(1, 0);
	}
	assert_true(best_ns < 150 * MS);
}

static void crew__has_a_thread_for_each_port_and_processor(void **state)
{
	const uint32_t all = roostd_crew_size(1000, 0);

	(void)state;
	assert_true(all >= 1 && all <= 1000);
	assert_int_equal(roostd_crew_size(1, 0), 1);
	assert_int_equal(roostd_crew_size(0, 0), 1);
	assert_int_equal(roostd_crew_size(1000, 1), 1);
	assert_int_equal(roostd_crew_size(1000, all), all);
}

#define LOOP_TEST(name)                                                        \
	cmocka_unit_test_setup_teardown(name, setup_ports, teardown_ports)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			crew__has_a_thread_for_each_port_and_processor),
		LOOP_TEST(loop__each_port_is_a_threads),
		LOOP_TEST(loop__clients_come_and_go),
		LOOP_TEST(loop__nothing_moves_while_it_is_held),
		LOOP_TEST(loop__traffic_goes_on_while_a_client_attaches),
		LOOP_TEST(loop__wakes_a_thread_that_it_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
