/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmd_glue/process/clock.h"
#include "pmd_glue/share/session_priv.h"
#include "tests/unit/open_fds.h"
#include "tests/unit/pmd_glue/share/session_world.h"

static void attach(void)
{
	fake_start(&d);
	assert_int_equal(open_session(d.path), 0);
}

static void detach(void)
{
	roost_share_session_close(s);
	roost_share_grant_drop(&grant);
}

static int request(enum roost_share_type type)
{
	struct roost_share_msg msg = { .type = (uint16_t)type };

	return roost_share_request(s, &msg);
}

static void session__names_the_port(void **state)
{
	char service[128];

	fake_start(&d);
	snprintf(service, sizeof(service), "%s,7", d.path);
	assert_int_equal(open_session(service), 0);
	assert_int_equal(d.attach_msg.attach.port, 7);
	detach();
}

/* ---- attach -------------------------------------------------------------- */

static void session__attaches_and_says_bye(void **state)
{

	attach();
	assert_int_equal(d.attach_msg.attach.seat, 1);
	assert_string_equal(d.attach_msg.attach.command,
			    program_invocation_short_name);
	assert_int_equal(d.client_memory.shape.nb_slots, 64);
	assert_int_equal(grant.attached.qpn_block, 5);
	assert_int_equal(grant.memory.shape.nb_seats, 2);
	assert_true(grant.doorbell >= 0);
	assert_int_equal(grant.page->facts.ip_mtu_bytes, 4200);
	assert_int_equal(s->ticket_bytes, 6);
	assert_memory_equal(s->ticket, "ticket", 6);
	assert_false(roost_share_session_news(s).ended);
	assert_false(roost_share_session_news(s).changed);
	detach();
	fake_await(&d, ROOST_SHARE_BYE, 1);
}

static void session__no_daemon(void **state)
{
	const unsigned int before = open_fds();

	fake_start(&d);
	assert_int_equal(open_session("/tmp/roost-nobody.sock"), -ENOENT);
	assert_int_equal(open_session("/tmp"), -ECONNREFUSED);
	assert_int_equal(open_fds(), before + 1); /* the fake's listener */
}

/* Whatever the daemon does instead of granting. */
static void refuse(enum fake_attach how, int status, int expected)
{
	unsigned int before;

	setup(NULL);
	before = open_fds();
	d.attach = how;
	d.attached.status = status;
	fake_start(&d);
	assert_int_equal(open_session(d.path), expected);
	assert_int_equal(open_fds(), before + 2); /* listener, session */
	teardown(NULL);
}

static void session__every_refusal_of_an_attach(void **state)
{
	refuse(FAKE_REFUSES, -ENOSPC, -ENOSPC);
	refuse(FAKE_HANGS_UP, 0, -ECONNRESET);
	refuse(FAKE_SENDS_RAW, 0, -EPROTO);
	refuse(FAKE_REPLIES, 0, -EPROTO);
}

static void session__silent_daemon_is_given_two_seconds(void **state)
{
	uint64_t begin_ns = roost_now_ns(), waited_ns;

	refuse(FAKE_IS_SILENT, 0, -ETIMEDOUT);
	waited_ns = roost_now_ns() - begin_ns;
	assert_in_range(waited_ns, ROOST_SHARE_ATTACH_NS,
			ROOST_SHARE_ATTACH_NS + 1000000000u);
}

static void spoil(unsigned int i, struct roost_share_attached *a)
{
	switch (i) {
	case 0:
		a->label[0] = '\0';
		break;
	case 1:
		a->label[1] = '\033';
		break;
	case 2:
		memset(a->label, 'x', sizeof(a->label));
		break;
	case 3:
		a->mac[0] |= 1;
		break;
	case 4:
		memset(a->mac, 0, 6);
		break;
	case 5:
		a->node_guid = 0;
		break;
	case 6:
		a->vlan_id = 4095;
		break;
	case 7:
		a->qpn_index_bits = 24;
		break;
	case 8:
		a->qpn_index_bits = 9;
		break;
	case 9:
		a->qpn_block_shift = 21;
		break;
	case 10:
		a->qpn_block = 1u << 14;
		break;
	case 11:
		a->comm_prefix_bits = 0;
		break;
	case 12:
		a->comm_prefix_bits = 32;
		break;
	case 13:
		a->comm_prefix = 1u << 13;
		break;
	case 14:
		a->max_qps = 0;
		break;
	case 15:
		a->qpn_index_bits = UINT32_MAX;
		a->qpn_block_shift = UINT32_MAX;
		break;
	}
}

static void session__every_wrong_grant_is_refused(void **state)
{
	for (unsigned int i = 0; i < 16; i++) {
		unsigned int before;

		setup(NULL);
		before = open_fds();
		spoil(i, &d.attached.attached);
		fake_start(&d);
		assert_int_equal(open_session(d.path), -EPROTO);
		assert_int_equal(open_fds(), before + 2);
		teardown(NULL);
	}
}

/* A memory or a page that the daemon could change under its reader. */
static void session__wrong_descriptors_are_refused(void **state)
{
	static const unsigned int which[] = { 0, 2 };

	for (unsigned int i = 0; i < 2; i++) {
		unsigned int before;
		int fd = memfd_create("unsealed", MFD_CLOEXEC);

		setup(NULL);
		assert_int_equal(ftruncate(fd, 1 << 20), 0);
		close(d.fds[which[i]]);
		d.fds[which[i]] = fd;
		before = open_fds();
		fake_start(&d);
		assert_int_equal(open_session(d.path), -EPERM);
		assert_int_equal(open_fds(), before + 2);
		teardown(NULL);
	}
}

/* Every user may take the name of another user's hub. */
static void session__a_hub_of_another_user_is_refused(void **state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int status, ready[2], len;
	pid_t child;
	char byte;

	fake_start(&d);
	if (getuid() != 0)
		skip();
	len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
		       "roost/%u/hub", getuid());
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

		if (setuid(12345) != 0 ||
		    bind(fd, (struct sockaddr *)&addr,
			 (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				     1 + (size_t)len)) != 0 ||
		    listen(fd, 1) != 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) == 1)
		assert_int_equal(open_session("hub"), -EPERM);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	close(ready[0]);
}

/* ---- requests ------------------------------------------------------------ */

#define CROWD 8

/* Answers all requests of a crowd in the opposite order. */
static bool serve_backwards(struct fake_daemon *f,
			    struct roost_share_packet *packet)
{
	static uint32_t tags[CROWD];
	static unsigned int nb;

	if (packet->msg.type != ROOST_SHARE_CLAIM)
		return false;
	tags[nb++] = packet->msg.tag;
	if (nb < CROWD)
		return true;
	fake_reply(f, UINT32_MAX, 0, 99); /* of nobody */
	while (nb-- > 0) {
		fake_reply(f, tags[nb], 0, tags[nb]);
		fake_reply(f, tags[nb], 0, 99); /* too many */
	}
	nb = 0;
	return true;
}

static void *request_claim(void *arg)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_CLAIM };
	uint64_t *ok = arg;
	int ret = roost_share_request(s, &msg);

	*ok = ret == 0 && msg.reply.value == msg.tag;
	return NULL;
}

static void session__many_threads_get_their_own_answers(void **state)
{
	pthread_t threads[CROWD];
	uint64_t ok[CROWD] = { 0 };

	d.serve = serve_backwards;
	attach();
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < CROWD; i++)
			pthread_create(&threads[i], NULL, request_claim,
				       &ok[i]);
		for (int i = 0; i < CROWD; i++) {
			pthread_join(threads[i], NULL);
			assert_int_equal(ok[i], 1);
		}
	}
	detach();
}

static bool serve_error(struct fake_daemon *f,
			struct roost_share_packet *packet)
{
	if (packet->msg.type != ROOST_SHARE_JOIN)
		return false;
	fake_reply(f, packet->msg.tag, -ENOSPC, 3);
	return true;
}

static bool serve_nothing(struct fake_daemon *f,
			  struct roost_share_packet *packet)
{
	(void)f;
	return packet->msg.type == ROOST_SHARE_RESOLVE;
}

static void session__errors_of_answers_are_returned(void **state)
{
	d.serve = serve_error;
	attach();
	assert_int_equal(request(ROOST_SHARE_JOIN), -ENOSPC);
	assert_int_equal(request(ROOST_SHARE_LEAVE), 0);
	detach();
}

static void session__an_answer_that_does_not_come(void **state)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_RESOLVE,
				       .addr.asks = 1 };
	uint64_t begin_ns = roost_now_ns();

	d.serve = serve_nothing;
	attach();
	assert_int_equal(roost_share_request(s, &msg), -ETIMEDOUT);
	assert_in_range(roost_now_ns() - begin_ns, ROOST_SHARE_ASK_NS,
			ROOST_SHARE_ASK_NS + 1000000000u);
	/* It comes later, and hurts nobody. */
	fake_reply(&d, msg.tag, 0, 1);
	assert_int_equal(request(ROOST_SHARE_QPNS), 0);
	detach();
}

/* ---- news ---------------------------------------------------------------- */

static void send_news(enum roost_share_type type)
{
	struct roost_share_msg msg = { .type = (uint16_t)type };

	strcpy(msg.reason, "policy\033[1m");
	assert_int_equal(roost_share_send(atomic_load(&d.fd), &msg, "newer",
					  type == ROOST_SHARE_REPLY ? 5 : 0,
					  NULL),
			 0);
}

static void session__news_are_told_once(void **state)
{

	attach();
	send_news(ROOST_SHARE_CHANGED);
	send_news(ROOST_SHARE_REPLY);
	assert_true(roost_share_session_news(s).changed);
	assert_false(roost_share_session_news(s).changed);
	assert_int_equal(s->ticket_bytes, 5);
	assert_memory_equal(s->ticket, "newer", 5);
	/* Read by a thread that waits for an answer. */
	send_news(ROOST_SHARE_CHANGED);
	assert_int_equal(request(ROOST_SHARE_QPNS), 0);
	assert_true(roost_share_session_news(s).changed);
	detach();
}

/* Which may have to wait for the control thread's processor. */
static void session__who_reads_is_let_run(void **state)
{
	const uint64_t until_ns = roost_now_ns() + 50000000u;
	unsigned int n = 0;

	attach();
	pthread_mutex_lock(&s->lock);
	s->reading = true; /* as roost_share_request() in another thread */
	pthread_mutex_unlock(&s->lock);
	send_news(ROOST_SHARE_CHANGED);
	/* The socket is readable: each sleep of the control thread ends. */
	for (; roost_now_ns() < until_ns; n++)
		assert_false(roost_share_session_news(s).changed);
	assert_in_range(n, 1, 60);
	pthread_mutex_lock(&s->lock);
	s->reading = false;
	pthread_mutex_unlock(&s->lock);
	assert_true(roost_share_session_news(s).changed);
	detach();
}

static int put(void)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_PUT, .index = 1 };

	return roost_share_tell(s, &msg);
}

static void session__eviction_ends_it(void **state)
{
	struct roost_share_news news;

	attach();
	send_news(ROOST_SHARE_EVICTED);
	news = roost_share_session_news(s);
	assert_true(news.ended);
	assert_string_equal(news.why, "its daemon ended it: policy?[1m");
	assert_false(roost_share_session_news(s).ended);
	assert_int_equal(request(ROOST_SHARE_QPNS), -ENODEV);
	assert_int_equal(put(), -ENODEV);
	detach();
}

static bool serve_hang_up(struct fake_daemon *f,
			  struct roost_share_packet *packet)
{
	if (packet->msg.type != ROOST_SHARE_QPNS)
		return false;
	shutdown(atomic_load(&f->fd), SHUT_RDWR);
	return true;
}

static void session__a_daemon_that_goes_ends_it(void **state)
{
	struct roost_share_news news;
	uint64_t begin_ns = roost_now_ns();

	d.serve = serve_hang_up;
	d.no_ticket = true;
	attach();
	assert_int_equal(request(ROOST_SHARE_QPNS), -ENODEV);
	assert_true(roost_now_ns() - begin_ns < 1000000000u);
	news = roost_share_session_news(s);
	assert_true(news.ended);
	assert_string_equal(news.why, "its daemon has gone");
	detach();
}

static void session__hostile_packets_end_it(void **state)
{
	struct roost_share_msg attached;
	unsigned int before;

	for (int i = 0; i < 3; i++) {
		setup(NULL);
		attach();
		before = open_fds();
		attached = d.attached;
		if (i == 0)
			assert_int_equal(send(atomic_load(&d.fd), "x", 1, 0),
					 1);
		else if (i == 1) /* with descriptors */
			assert_int_equal(roost_share_send(atomic_load(&d.fd),
							  &attached, NULL, 0,
							  d.fds),
					 0);
		else { /* what clients send */
			attached = (struct roost_share_msg){
				.type = ROOST_SHARE_BYE,
			};
			assert_int_equal(roost_share_send(atomic_load(&d.fd),
							  &attached, NULL, 0,
							  NULL),
					 0);
		}
		assert_true(roost_share_session_news(s).ended);
		assert_int_equal(request(ROOST_SHARE_QPNS), -ENODEV);
		assert_int_equal(open_fds(), before);
		detach();
		teardown(NULL);
	}
}

/* Nothing that the daemon sends keeps the control thread. */
static void session__a_flood_is_read_in_parts(void **state)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_CHANGED };
	struct pollfd fd = { .events = POLLIN };
	unsigned int nb = 0;

	attach();
	while (roost_share_send(atomic_load(&d.fd), &msg, NULL, 0, NULL) == 0)
		nb++;
	fd.fd = roost_share_session_fd(s);
	assert_true(nb > 100);
	assert_true(roost_share_session_news(s).changed);
	assert_int_equal(poll(&fd, 1, 0), 1);
	assert_int_equal(request(ROOST_SHARE_QPNS), 0);
	detach();
}

/* What nobody takes is closed with the session. */
static void session__news_of_peers(void **state)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_PEER,
				       .peer = { .mark = 7, .seat = 3 } };
	struct roost_share_packet packet;
	int bells[2];

	attach();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, bells), 0);
	for (uint32_t i = 0; i < 2; i++) {
		msg.peer.peer_seat = i;
		assert_int_equal(roost_share_send(atomic_load(&d.fd), &msg,
						  NULL, 0, bells),
				 0);
	}
	/* Read by a thread that waits for an answer. */
	assert_int_equal(request(ROOST_SHARE_QPNS), 0);
	assert_true(roost_share_session_peer(s, &packet));
	assert_int_equal(packet.msg.type, ROOST_SHARE_PEER);
	assert_int_equal(packet.msg.peer.peer_seat, 0);
	assert_int_equal(packet.nb_fds, 2);
	roost_share_packet_close(&packet);
	detach();
	close(bells[0]);
	assert_int_equal(recv(bells[1], &packet, 1, MSG_DONTWAIT), 0);
	close(bells[1]);
}

static void session__a_child_has_none(void **state)
{
	int status;
	pid_t child;

	attach();
	child = fork();
	if (child == 0) {
		int ret = 0;

		if (fcntl(roost_share_session_fd(s), F_GETFD) != -1)
			ret = 1;
		else if (request(ROOST_SHARE_QPNS) != -ENODEV)
			ret = 2;
		else if (put() != -ENODEV)
			ret = 3;
		_exit(ret);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(request(ROOST_SHARE_QPNS), 0);
	assert_false(roost_share_session_news(s).ended);
	detach();
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(session__attaches_and_says_bye),
		TEST(session__names_the_port),
		TEST(session__no_daemon),
		cmocka_unit_test(session__every_refusal_of_an_attach),
		cmocka_unit_test(session__silent_daemon_is_given_two_seconds),
		cmocka_unit_test(session__every_wrong_grant_is_refused),
		cmocka_unit_test(session__wrong_descriptors_are_refused),
		TEST(session__a_hub_of_another_user_is_refused),
		TEST(session__many_threads_get_their_own_answers),
		TEST(session__errors_of_answers_are_returned),
		TEST(session__an_answer_that_does_not_come),
		TEST(session__news_are_told_once),
		TEST(session__who_reads_is_let_run),
		TEST(session__eviction_ends_it),
		TEST(session__a_daemon_that_goes_ends_it),
		cmocka_unit_test(session__hostile_packets_end_it),
		TEST(session__a_flood_is_read_in_parts),
		TEST(session__news_of_peers),
		TEST(session__a_child_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
