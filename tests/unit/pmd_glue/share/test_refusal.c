/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What a user reads when the daemon refuses something. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/pmd_glue/share/session_world.h"

static int saved, pipe_fds[2];

static void hear(void)
{
	saved = dup(STDERR_FILENO);
	assert_int_equal(pipe2(pipe_fds, O_NONBLOCK), 0);
	dup2(pipe_fds[1], STDERR_FILENO);
}

/* All that was said since. */
static void assert_heard(const char *expected)
{
	char text[1024] = "";

	dup2(saved, STDERR_FILENO);
	close(saved);
	close(pipe_fds[1]);
	(void)!read(pipe_fds[0], text, sizeof(text) - 1);
	close(pipe_fds[0]);
	assert_string_equal(text, expected);
}

static void refusal__of_an_attach(void **state)
{
	d.attach = FAKE_REFUSES;
	d.attached.status = -EDQUOT;
	fake_start(&d);
	hear();
	assert_int_equal(open_session(d.path), -EDQUOT);
	assert_heard("roost: a port: refused by roostd: ticket\n");
}

static void refusal__of_a_version(void **state)
{
	d.attach = FAKE_IS_NEWER;
	fake_start(&d);
	hear();
	assert_int_equal(open_session(d.path), -EPROTONOSUPPORT);
	assert_heard("roost: a port: its daemon has another version of the "
		     "session; update the older one of the two\n");
}

static bool refuse(struct fake_daemon *f, struct roost_share_packet *packet)
{
	struct roost_share_msg msg = {
		.type = ROOST_SHARE_REPLY,
		.tag = packet->msg.tag,
		.status = -EDQUOT,
	};

	if (packet->msg.type != ROOST_SHARE_QPNS &&
	    packet->msg.type != ROOST_SHARE_CLAIM)
		return false;
	snprintf(msg.reply.reason, sizeof(msg.reply.reason), "%s \033[2J you",
		 packet->msg.type == ROOST_SHARE_QPNS ? "no more QPs for"
						      : "no services for");
	roost_share_send(atomic_load(&f->fd), &msg, NULL, 0, NULL);
	return true;
}

static int request(enum roost_share_type type)
{
	struct roost_share_msg msg = { .type = (uint16_t)type };

	return roost_share_request(s, &msg);
}

/* Once, however often a program tries. */
static void refusal__of_a_request(void **state)
{
	d.serve = refuse;
	fake_start(&d);
	hear();
	assert_int_equal(open_session(d.path), 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(request(ROOST_SHARE_QPNS), -EDQUOT);
	assert_int_equal(request(ROOST_SHARE_JOIN), 0);
	assert_int_equal(request(ROOST_SHARE_CLAIM), -EDQUOT);
	assert_heard("roost: a port: refused by roostd: no more QPs for ?[2J "
		     "you\n"
		     "roost: a port: refused by roostd: no services for ?[2J "
		     "you\n");
	roost_share_session_close(s);
	roost_share_grant_drop(&grant);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(refusal__of_an_attach),
		TEST(refusal__of_a_version),
		TEST(refusal__of_a_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
