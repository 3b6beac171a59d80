/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pmd_glue/share/message.h"
#include "tests/cmocka.h"
#include "tests/unit/open_fds.h"

#define HEAD_BYTES offsetof(struct roost_share_msg, attach)

static int ends[2]; /* the client's, the daemon's */
static struct roost_share_packet got;

static int setup(void **state)
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

static int teardown(void **state)
{
	close(ends[0]);
	close(ends[1]);
	return 0;
}

static void message__attach_brings_descriptors_and_ticket(void **state)
{
	struct roost_share_msg msg = {
		.type = ROOST_SHARE_ATTACH,
		.tag = 77,
		.attach = { .command = "ib_write_bw", .seat = 16 },
	};
	int fds[1] = { eventfd(6, 0) };
	uint64_t value = 0;

	assert_int_equal(roost_share_send(ends[0], &msg, "ticket", 6, fds), 0);
	assert_int_equal(roost_share_receive(ends[1], false, &got), 0);
	assert_int_equal(got.msg.type, ROOST_SHARE_ATTACH);
	assert_int_equal(got.msg.tag, 77);
	assert_string_equal(got.msg.attach.command, "ib_write_bw");
	assert_int_equal(got.msg.attach.seat, 16);
	assert_int_equal(got.msg.tail_bytes, 6);
	assert_memory_equal(got.tail, "ticket", 6);
	assert_int_equal(got.nb_fds, 1);
	assert_int_equal(read(got.fds[0], &value, sizeof(value)), 8);
	assert_int_equal(value, 6);
	roost_share_packet_close(&got);
	close(fds[0]);
}

/* A refusal has the same type, and no descriptors. */
static void message__refused_attach_has_no_descriptors(void **state)
{
	struct roost_share_msg msg = {
		.type = ROOST_SHARE_ATTACHED,
		.status = -ENOSPC,
	};

	assert_int_equal(roost_share_send(ends[1], &msg, NULL, 0, NULL), 0);
	assert_int_equal(roost_share_receive(ends[0], true, &got), 0);
	assert_int_equal(got.msg.status, -ENOSPC);
	assert_int_equal(got.nb_fds, 0);
}

static void message__every_type_arrives_from_its_end_alone(void **state)
{
	int fds[ROOST_SHARE_FDS_MAX];
	unsigned int before;

	for (unsigned int i = 0; i < ROOST_SHARE_FDS_MAX; i++)
		fds[i] = eventfd(0, 0);
	before = open_fds();
	for (unsigned int t = 0; t < ROOST_SHARE_TYPES; t++) {
		const bool from_daemon = t >= ROOST_SHARE_ATTACHED;
		struct roost_share_msg msg = { .type = (uint16_t)t };

		assert_int_equal(roost_share_send(ends[0], &msg, NULL, 0, fds),
				 0);
		assert_int_equal(roost_share_receive(ends[1], !from_daemon,
						     &got),
				 -EPROTO);
		assert_int_equal(got.nb_fds, 0);
		assert_int_equal(roost_share_send(ends[0], &msg, NULL, 0, fds),
				 0);
		assert_int_equal(roost_share_receive(ends[1], from_daemon,
						     &got),
				 0);
		assert_int_equal(got.msg.type, t);
		roost_share_packet_close(&got);
	}
	assert_int_equal(open_fds(), before);
	for (unsigned int i = 0; i < ROOST_SHARE_FDS_MAX; i++)
		close(fds[i]);
}

static void message__none_there_and_end(void **state)
{
	assert_int_equal(roost_share_receive(ends[1], false, &got), -EAGAIN);
	shutdown(ends[0], SHUT_WR);
	assert_int_equal(roost_share_receive(ends[1], false, &got),
			 -ECONNRESET);
}

/* Also if the other end has not read all that we sent. */
static void message__last_words_are_heard(void **state)
{
	struct roost_share_msg bye = { .type = ROOST_SHARE_BYE };
	struct roost_share_msg changed = { .type = ROOST_SHARE_CHANGED };

	assert_int_equal(roost_share_send(ends[0], &bye, NULL, 0, NULL), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(roost_share_send(ends[1], &changed, NULL, 0,
						  NULL),
				 0);
	close(ends[1]);
	ends[1] = -1;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(roost_share_receive(ends[0], true, &got), 0);
		assert_int_equal(got.msg.type, ROOST_SHARE_CHANGED);
	}
	assert_int_equal(roost_share_receive(ends[0], true, &got), -ECONNRESET);
}

/* A peer that does not read makes no sender wait. */
static void message__full_socket_is_said(void **state)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_CHANGED };
	int ret = 0;

	for (unsigned int i = 0; i < 100000 && !ret; i++)
		ret = roost_share_send(ends[1], &msg, NULL, 0, NULL);
	assert_int_equal(ret, -EAGAIN);
	close(ends[0]);
	ret = roost_share_send(ends[1], &msg, NULL, 0, NULL);
	assert_true(ret == -EPIPE || ret == -ECONNRESET);
	ends[0] = -1;
}

/* ---- what is no message -------------------------------------------------- */

static void send_raw(const void *bytes, size_t len, unsigned int nb_fds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * 16)];
	} control = { 0 };
	struct iovec part = { (void *)(uintptr_t)bytes, len };
	struct msghdr packet = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;

	if (nb_fds) {
		packet.msg_control = control.bytes;
		packet.msg_controllen = CMSG_SPACE(sizeof(int) * nb_fds);
		cmsg = CMSG_FIRSTHDR(&packet);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * nb_fds);
		for (unsigned int i = 0; i < nb_fds; i++)
			memcpy(CMSG_DATA(cmsg) + i * sizeof(int), &ends[0],
			       sizeof(int));
	}
	assert_true(sendmsg(ends[0], &packet, 0) == (ssize_t)len);
}

static const struct {
	struct roost_share_msg msg;
	size_t len;
	unsigned int nb_fds;
	int ret;
} wrong[] = {
	{ { .version = 1, .type = ROOST_SHARE_BYE }, 3, 0, -EPROTO },
	{ { .version = 1, .type = ROOST_SHARE_BYE },
	  HEAD_BYTES + 1,
	  0,
	  -EPROTO },
	{ { .version = 1, .type = ROOST_SHARE_CLAIM }, HEAD_BYTES, 0, -EPROTO },
	{ { .version = 1, .type = ROOST_SHARE_TYPES }, HEAD_BYTES, 0, -EPROTO },
	{ { .version = 1, .type = UINT16_MAX }, HEAD_BYTES, 0, -EPROTO },
	{ { .version = 2, .type = ROOST_SHARE_BYE },
	  HEAD_BYTES,
	  0,
	  -EPROTONOSUPPORT },
	/* What that has in it is not ours to judge. */
	{ { .version = 2, .type = ROOST_SHARE_TYPES, .tail_bytes = UINT32_MAX },
	  HEAD_BYTES + 1,
	  1,
	  -EPROTONOSUPPORT },
	{ { .version = 1, .type = ROOST_SHARE_BYE, .status = -1 },
	  HEAD_BYTES,
	  0,
	  -EPROTO },
	{ { .version = 1, .type = ROOST_SHARE_BYE, .tail_bytes = 1 },
	  HEAD_BYTES,
	  0,
	  -EPROTO },
	{ { .version = 1,
	    .type = ROOST_SHARE_ATTACH,
	    .tail_bytes = UINT32_MAX },
	  HEAD_BYTES + sizeof(struct roost_share_attach),
	  1,
	  -EPROTO },
	{ { .version = 1, .type = ROOST_SHARE_ATTACH },
	  HEAD_BYTES + sizeof(struct roost_share_attach),
	  0,
	  -EPROTO },
	{ { .version = 1, .type = ROOST_SHARE_ATTACH },
	  HEAD_BYTES + sizeof(struct roost_share_attach),
	  2,
	  -EPROTO },
	{ { .version = 1, .type = ROOST_SHARE_ATTACH },
	  HEAD_BYTES + sizeof(struct roost_share_attach),
	  3,
	  -EPROTO },
	/* The kernel has closed some. */
	{ { .version = 1, .type = ROOST_SHARE_ATTACH },
	  HEAD_BYTES + sizeof(struct roost_share_attach),
	  16,
	  -EMFILE },
	{ { .version = 1, .type = ROOST_SHARE_BYE }, HEAD_BYTES, 1, -EPROTO },
};

static void message__wrong_packets_are_refused(void **state)
{
	static uint8_t long_packet[sizeof(struct roost_share_msg) +
				   ROOST_SHARE_TAIL_MAX + 1];
	const unsigned int before = open_fds();

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		send_raw(&wrong[i].msg, wrong[i].len, wrong[i].nb_fds);
		assert_int_equal(roost_share_receive(ends[1], false, &got),
				 wrong[i].ret);
		assert_int_equal(got.nb_fds, 0);
	}
	long_packet[0] = ROOST_SHARE_VERSION;
	send_raw(long_packet, sizeof(long_packet), 0);
	assert_int_equal(roost_share_receive(ends[1], false, &got), -EPROTO);
	assert_int_equal(open_fds(), before);
}

/* Only an answer may refuse, and then has no descriptors: none of a packet
 * before it are left, either.
 */
static void message__a_status_without_an_answer(void **state)
{
	struct roost_share_msg msg = { .status = -EPERM };

	for (uint16_t t = ROOST_SHARE_ATTACHED; t < ROOST_SHARE_TYPES; t++) {
		const bool is_answer =
			t == ROOST_SHARE_ATTACHED || t == ROOST_SHARE_REPLY;

		msg.type = t;
		memset(got.fds, 0, sizeof(got.fds));
		assert_int_equal(roost_share_send(ends[1], &msg, NULL, 0, NULL),
				 0);
		assert_int_equal(roost_share_receive(ends[0], true, &got),
				 is_answer ? 0 : -EPROTO);
		assert_int_equal(got.nb_fds, 0);
		for (unsigned int i = 0; i < ROOST_SHARE_FDS_MAX; i++)
			assert_int_equal(got.fds[i], -1);
	}
}

/* Descriptors that find no room are lost, and the message says whose. */
static void message__no_descriptor_left(void **state)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_ATTACH };
	struct rlimit before, none;
	int fds[1] = { ends[0] };

	assert_int_equal(roost_share_send(ends[0], &msg, NULL, 0, fds), 0);
	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	assert_int_equal(roost_share_receive(ends[1], false, &got), -EMFILE);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(got.msg.type, ROOST_SHARE_ATTACH);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(message__attach_brings_descriptors_and_ticket),
		TEST(message__refused_attach_has_no_descriptors),
		TEST(message__every_type_arrives_from_its_end_alone),
		TEST(message__none_there_and_end),
		TEST(message__last_words_are_heard),
		TEST(message__full_socket_is_said),
		TEST(message__wrong_packets_are_refused),
		TEST(message__a_status_without_an_answer),
		TEST(message__no_descriptor_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
