/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Those who take too much of a hub: others do not notice. */

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apps/roostd/client.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/port_world.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

static struct client a, b;

/* Sessions that never attach: a process has few, the newest. */
static void bounds__silent_sessions_are_few(void **state)
{
	struct client silent[40];

	for (unsigned int i = 0; i < 40; i++) {
		c_connect(&silent[i]);
		pump();
	}
	assert_int_equal(port.nb_clients, 16);
	assert_int_equal(c_receive(&silent[0]), -ECONNRESET);
	assert_int_equal(c_receive(&silent[39]), -EAGAIN);
	c_attach(&a);
	c_close(&a);
	for (unsigned int i = 0; i < 40; i++)
		c_close(&silent[i]);
	assert_int_equal(port.nb_clients, 0);
}

/* Whose the next connections are; 0: as they are. */
static uid_t next_uid;
static pid_t next_pid;

struct roostd_client *__real_roostd_client_create(int socket);
struct roostd_client *__wrap_roostd_client_create(int socket);

struct roostd_client *__wrap_roostd_client_create(int socket)
{
	struct roostd_client *c = __real_roostd_client_create(socket);

	if (c && next_uid != 0) {
		c->uid = next_uid;
		c->pid = next_pid;
	}
	return c;
}

static void connect_as(struct client *c, uid_t uid, pid_t pid)
{
	next_uid = uid;
	next_pid = pid;
	c_connect(c);
	pump();
	next_uid = 0;
}

/* Processes of a user that connect without end push out their own sessions, not
 * those of others.
 */
static void bounds__silent_sessions_of_a_user(void **state)
{
	struct client other[4], silent[60];

	(void)state;
	port.max_silent = 20;
	for (unsigned int i = 0; i < 3; i++)
		connect_as(&other[i], 7001, (pid_t)(100 + i));
	for (unsigned int i = 0; i < 60; i++)
		connect_as(&silent[i], 7000, (pid_t)(1000 + i));
	connect_as(&other[3], 7001, 103);
	assert_true(port.nb_clients < 20);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(c_receive(&other[i]), -EAGAIN);
	assert_int_equal(c_receive(&silent[0]), -ECONNRESET);
	assert_int_equal(c_receive(&silent[59]), -EAGAIN);
	for (unsigned int i = 0; i < 4; i++)
		c_close(&other[i]);
	for (unsigned int i = 0; i < 60; i++)
		c_close(&silent[i]);
}

/* Sessions are looked at, and frames do not move. */
static void look_at_all(void)
{
	struct roostd_client *c;

	LIST_FOREACH(c, &port.clients, all)
		roostd_port_tagged(c);
}

/* Frames move between those who attach. */
static void bounds__attaches_in_a_round(void **state)
{
	struct client many[16];

	(void)state;
	for (unsigned int i = 0; i < 16; i++) {
		c_connect(&many[i]);
		pump();
	}
	for (unsigned int i = 0; i < 16; i++)
		c_send_attach(&many[i], NULL);
	look_at_all();
	look_at_all();
	assert_int_equal(port.nb_attached, 8);
	roostd_port_poll(&port, now_ns);
	look_at_all();
	assert_int_equal(port.nb_attached, 16);
	for (unsigned int i = 0; i < 16; i++)
		c_close(&many[i]);
}

/* Ask without waiting for answers; returns how many came. */
static unsigned int flood_of(struct client *c, struct roost_share_msg msg,
			     unsigned int nb)
{
	unsigned int answers = 0;

	for (unsigned int i = 0; i < nb; i++) {
		(void)!roost_share_send(c->socket, &msg, NULL, 0, NULL);
		pump();
		while (c_receive(c) == 0)
			answers++;
	}
	return answers;
}

static unsigned int flood(struct client *c, unsigned int nb)
{
	return flood_of(c,
			(struct roost_share_msg){ .type = ROOST_SHARE_SOURCE },
			nb);
}

/* Requests that cost the daemon more count for more. */
static void bounds__requests_have_weights(void **state)
{
	const struct roost_share_msg join = { .type = ROOST_SHARE_JOIN,
					      .addr.dgid = gid_group };
	const struct roost_share_msg resolve = { .type = ROOST_SHARE_RESOLVE,
						 .addr.dgid = gid_peer_v4 };

	c_attach(&a);
	c_attach(&b);
	assert_in_range(flood_of(&a, join, 1200), 120, 128);
	assert_in_range(flood_of(&b, resolve, 1200), 248, 256);
	c_close(&a);
	c_close(&b);
}

/* Who asks without end is answered at the rate that all have, in turn, and
 * others are answered at once.
 */
static void bounds__requests_are_bounded(void **state)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_QPNS };
	unsigned int answers;

	c_attach(&a);
	c_attach(&b);
	answers = flood(&a, 1200);
	assert_in_range(answers, 1000, 1024);
	assert_int_equal(c_ask(&b, msg), 0);
	assert_true(TAILQ_FIRST(&port.paused) != NULL);
	/* The others wait, and none is lost. */
	for (unsigned int i = 0; i < 20; i++) {
		now_ns += MS;
		pump();
		while (c_receive(&a) == 0)
			answers++;
	}
	assert_int_equal(answers, 1200);
	/* One that is paused may end. */
	flood(&a, 1500);
	assert_true(TAILQ_FIRST(&port.paused) != NULL);
	c_close(&a);
	now_ns += 10 * MS;
	pump();
	assert_int_equal(port.nb_clients, 1);
	assert_true(TAILQ_FIRST(&port.paused) == NULL);
	c_close(&b);
}

/* A receiver that takes a frame now and then holds up its sender no longer than
 * one that takes none.
 */
static void bounds__receiver_that_hardly_reads(void **state)
{
	const uint64_t from_ns = now_ns;
	struct roost_sw_frame frame;
	struct client other;
	uint32_t len;

	c_attach(&a);
	c_attach(&b);
	c_attach(&other);
	for (unsigned int i = 0; i < 256 + 4; i++) {
		frame = rc(&b, 64);
		c_publish(&a, &frame);
		pump();
		roost_shm_out_free(&a.out, roost_shm_out_collect(&a.out));
	}
	assert_int_equal(roost_shm_out_pending(&a.out), 4);
	frame = rc(&other, 64);
	c_publish(&a, &frame);
	for (unsigned int ms = 1; !c_take(&other, &len); ms++) {
		assert_true(now_ns < from_ns + 100 * MS);
		now_ns += MS;
		pump();
		if (ms % 40 != 0)
			continue;
		assert_non_null(c_take(&b, &len));
		c_take(&b, &len);
	}
	c_close(&a);
	c_close(&b);
	c_close(&other);
}

static void bounds__who_does_not_read_its_session(void **state)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_QPNS };
	struct client other;

	c_attach(&a);
	c_attach(&other);
	for (unsigned int i = 0; i < 5000 && port.nb_attached == 2; i++) {
		(void)!roost_share_send(a.socket, &msg, NULL, 0, NULL);
		now_ns += MS;
		pump();
	}
	assert_int_equal(port.nb_attached, 1);
	assert_int_equal(c_ask(&other, msg), 0);
	c_close(&a);
	c_close(&other);
}

/* Who ends its session, and goes on with frames, has the time of all who
 * leave.
 */
static void bounds__who_leaves_and_goes_on(void **state)
{
	struct roost_sw_frame frame;
	unsigned int ms = 0;
	uint32_t len;

	c_attach(&a);
	c_attach(&b);
	frame = rc(&b, 64);
	c_publish(&a, &frame);
	shutdown(a.socket, SHUT_RDWR);
	for (; port.nb_attached == 2 && ms < 2000; ms++) {
		now_ns += MS;
		pump();
		c_take(&b, &len);
		roost_shm_out_free(&a.out, roost_shm_out_collect(&a.out));
		c_publish(&a, &frame);
	}
	assert_true(ms < 1100);
	c_close(&a);
	c_close(&b);
}

/* Who cannot be served does not wait at the listener, and others are served
 * when there are descriptors again.
 */
static void bounds__no_descriptor_is_left(void **state)
{
	struct rlimit before, none;

	/* However much it sends, it is not read. */
	c_connect(&a);
	while (send(a.socket, "", 1, MSG_NOSIGNAL) == 1)
		;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = (rlim_t)dup(0);
	close((int)none.rlim_cur);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	pump();
	assert_int_equal(recv(a.socket, &none, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(c_receive(&a), 0);
	assert_int_equal(a.packet.msg.type, ROOST_SHARE_ATTACHED);
	assert_int_equal(a.packet.msg.status, -EAGAIN);
	assert_non_null(
		memmem(a.packet.tail, a.packet.msg.tail_bytes, "ulimit -n", 9));
	assert_true(port.is_short);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	c_close(&a);
	c_attach(&b);
	c_close(&b);
}

/* Its doorbell would be readable for ever. */
static void bounds__who_closes_its_doorbell(void **state)
{
	c_attach(&a);
	now_ns += MS;
	pump();
	close(a.doorbell);
	a.doorbell = -1;
	assert_true(c_is_cut_off(&a));
	assert_int_equal(port.nb_clients, 0);
	c_close(&a);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(bounds__silent_sessions_are_few),
		cmocka_unit_test_setup_teardown(
			bounds__silent_sessions_of_a_user, setup_nic, teardown),
		TEST(bounds__attaches_in_a_round),
		TEST(bounds__requests_are_bounded),
		TEST(bounds__requests_have_weights),
		TEST(bounds__receiver_that_hardly_reads),
		TEST(bounds__who_does_not_read_its_session),
		TEST(bounds__who_leaves_and_goes_on),
		TEST(bounds__no_descriptor_is_left),
		TEST(bounds__who_closes_its_doorbell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
