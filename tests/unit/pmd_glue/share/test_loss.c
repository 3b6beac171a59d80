/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What a session keeps of a daemon that goes, or of a packet that is lost. */

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pmd_glue/share/session_priv.h"
#include "tests/unit/pmd_glue/share/session_world.h"

static int close_all(void **state)
{
	roost_share_session_close(s);
	roost_share_grant_drop(&grant);
	return teardown(state);
}

static void attach(void)
{
	fake_start(&d);
	assert_int_equal(open_session(d.path), 0);
}

#define CROWD 4

static uint32_t tags[CROWD];
static unsigned int nb_tags;

static bool serve_later(struct fake_daemon *f,
			struct roost_share_packet *packet)
{
	if (packet->msg.type != ROOST_SHARE_QPNS)
		return false;
	tags[nb_tags++ % CROWD] = packet->msg.tag;
	return true;
}

static void *request_qpns(void *arg)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_QPNS };

	*(int *)arg = roost_share_request(s, &msg);
	return NULL;
}

/* The daemon answers and goes. A sender sees that it has gone before the reader
 * reads the answers; they count.
 */
static void loss__answers_before_the_end_count(void **state)
{
	pthread_t threads[CROWD];
	int ret[CROWD];

	d.serve = serve_later;
	d.attached.attached.patience_ms = 100;
	attach();
	for (int i = 0; i < CROWD; i++)
		pthread_create(&threads[i], NULL, request_qpns, &ret[i]);
	fake_await(&d, ROOST_SHARE_QPNS, CROWD);
	pthread_mutex_lock(&s->lock);
	assert_true(s->reading);
	for (int i = 0; i < CROWD; i++)
		fake_reply(&d, tags[i], 0, 1);
	fake_hang_up(&d);
	s->lost = true; /* as a sender does */
	pthread_cond_broadcast(&s->read);
	pthread_mutex_unlock(&s->lock);
	for (int i = 0; i < CROWD; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(ret[i], 0);
	}
}

/* Receive with room for so many descriptors. */
static struct roost_share_news news_with_room(unsigned int room)
{
	struct roost_share_news news;
	struct rlimit before, none;
	int lowest = dup(memory.fd);

	close(lowest);
	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = (rlim_t)lowest + room;
	setrlimit(RLIMIT_NOFILE, &none);
	news = roost_share_session_news(s);
	setrlimit(RLIMIT_NOFILE, &before);
	return news;
}

/* The session goes on without the peer, and keeps none of its descriptors. */
static void loss__a_peer_that_finds_no_room(void **state)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_PEER,
				       .peer = { .mark = 7, .seat = 3 } };
	struct roost_share_packet packet;
	int bells[2];

	attach();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, bells), 0);
	for (unsigned int room = 0; room < 2; room++) {
		assert_int_equal(roost_share_send(atomic_load(&d.fd), &msg,
						  NULL, 0, bells),
				 0);
		assert_false(news_with_room(room).ended);
		assert_true(roost_share_session_peer(s, &packet));
		assert_int_equal(packet.msg.type, ROOST_SHARE_PEER);
		assert_int_equal(packet.msg.peer.mark, 7);
		assert_int_equal(packet.nb_fds, 0);
		assert_int_equal(packet.fds[0], -1);
		assert_int_equal(packet.fds[1], -1);
	}
	close(bells[0]);
	close(bells[1]);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, close_all)
	const struct CMUnitTest tests[] = {
		TEST(loss__answers_before_the_end_count),
		TEST(loss__a_peer_that_finds_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
