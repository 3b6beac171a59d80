/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include "pmd_glue/channel/meet.h"
#include "tests/cmocka.h"
#include "tests/unit/open_fds.h"
#include "tests/unit/pmd_glue/channel/pair.h"

#define NOW 1000u

static const struct roost_shm_self self_a = {
	.mac.addr_bytes = { 2, 0, 0, 0, 0, 1 },
	.mtu_bytes = 9000,
};
static const struct roost_shm_self self_b = {
	.mac.addr_bytes = { 2, 0, 0, 0, 0, 2 },
	.mtu_bytes = 1500,
};

static struct roost_peer_trust trust = { .label = "a port" };
static struct roost_shm_channel *a, *b;
static char name[64];
static int listening;

static int open_ends(void **state)
{
	snprintf(name, sizeof(name), "@roost-test-meet-%d", (int)getpid());
	a = pair_open(2);
	b = pair_open(2);
	listening = roost_shm_listen(name);
	assert_true(listening >= 0);
	return 0;
}

static int close_ends(void **state)
{
	close(listening);
	roost_shm_channel_close(a);
	roost_shm_channel_close(b);
	return 0;
}

/* Both ends of a new connection. */
static void connect_ends(int *accepted, int *connected)
{
	*connected = roost_shm_connect(name, &trust);
	assert_true(*connected >= 0);
	*accepted = roost_shm_accept(listening, &trust);
	assert_true(*accepted >= 0);
	assert_int_equal(roost_shm_accept(listening, &trust), -EAGAIN);
}

/* ---- honest peers
 * --------------------------------------------------------------- */

static void meet__and_frames_pass(void **state)
{
	struct roost_shm_meeting ma, mb;
	struct rte_mbuf *mbuf;
	int fd_a, fd_b;

	connect_ends(&fd_a, &fd_b);
	assert_int_equal(roost_shm_meet_begin(&ma, a, fd_a, true, &self_a, NOW),
			 0);
	assert_int_equal(roost_shm_meet_look(&ma, NOW), 0);
	assert_int_equal(roost_shm_meet_begin(&mb, b, fd_b, false, &self_b,
					      NOW),
			 0);
	assert_int_equal(roost_shm_meet_look(&ma, NOW), 1);
	assert_int_equal(roost_shm_meet_look(&mb, NOW), 1);
	assert_int_equal(ma.peer_mtu_bytes, 1500);
	assert_int_equal(mb.peer_mtu_bytes, 9000);
	assert_memory_equal(&mb.peer_mac, &self_a.mac, 6);
	assert_int_equal(roost_shm_peer_join(a, ma.seat, &ma.peer), 0);
	assert_int_equal(roost_shm_peer_join(b, mb.seat, &mb.peer), 0);
	/* No time is too late for who has met. */
	assert_int_equal(roost_shm_meet_look(&ma, UINT64_MAX), 0);

	assert_true(roost_shm_sleep(b));
	mbuf = pair_frame(a, 1, 2, 0x1234, 1000, 1);
	assert_int_equal(pair_send(a, 0, &mbuf, 1), 1);
	assert_int_equal(poll(&(struct pollfd){ .fd = roost_shm_channel_fd(b),
						.events = POLLIN },
			      1, 0),
			 1);
	roost_shm_awake(b);
	assert_int_equal(roost_shm_rx_burst(b, &mbuf, 1), 1);
	assert_true(pair_is_frame(mbuf, 1, 2, 0x1234, 1000, 1));
	rte_pktmbuf_free(mbuf);

	roost_shm_meet_end(&ma, a);
	roost_shm_meet_end(&ma, a);
	assert_int_equal(roost_shm_meet_look(&mb, NOW), -ECONNRESET);
	roost_shm_meet_end(&mb, b);
	roost_shm_peer_leave(a, ma.seat);
	roost_shm_peer_leave(b, mb.seat);
	assert_int_equal(roost_shm_channel_reap(a), 0);
	assert_int_equal(roost_shm_channel_reap(b), 0);
}

static void meet__death_is_seen_at_once(void **state)
{
	struct roost_shm_meeting m;
	int fd_a, fd_b, status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		fd_b = roost_shm_connect(name, &trust);
		_exit(fd_b < 0 ||
		      roost_shm_meet_begin(&m, pair_open(1), fd_b, false,
					   &self_b, NOW) != 0 ||
		      pause());
	}
	assert_int_equal(poll(&(struct pollfd){ .fd = listening,
						.events = POLLIN },
			      1, 5000),
			 1);
	fd_a = roost_shm_accept(listening, &trust);
	assert_int_equal(roost_shm_meet_begin(&m, a, fd_a, true, &self_a, NOW),
			 0);
	assert_int_equal(poll(&(struct pollfd){ .fd = fd_a, .events = POLLIN },
			      1, 5000),
			 1);
	assert_int_equal(roost_shm_meet_look(&m, NOW), 1);
	assert_int_equal(roost_shm_meet_look(&m, NOW), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(poll(&(struct pollfd){ .fd = fd_a, .events = POLLIN },
			      1, 5000),
			 1);
	assert_int_equal(roost_shm_meet_look(&m, NOW), -ECONNRESET);
	roost_shm_meet_end(&m, a);
	assert_int_equal(roost_shm_peer_join(a, m.seat, &m.peer), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void meet__names(void **state)
{
	char path[] = "/tmp/roost-meet-XXXXXX", where[64], longest[200];
	int fd, peer;

	assert_non_null(mkdtemp(path));
	snprintf(where, sizeof(where), "%s/s", path);
	assert_int_equal(roost_shm_connect(where, &trust), -ENOENT);
	fd = roost_shm_listen(where);
	assert_true(fd >= 0);
	assert_int_equal(roost_shm_listen(where), -EADDRINUSE);
	peer = roost_shm_connect(where, &trust);
	assert_true(peer >= 0);
	close(peer);
	close(fd);
	assert_int_equal(roost_shm_connect(where, &trust), -ECONNREFUSED);
	unlink(where);
	rmdir(path);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(roost_shm_listen(longest), -ENAMETOOLONG);
	assert_int_equal(roost_shm_listen(""), -ENAMETOOLONG);
}

static void meet__users_that_are_not_trusted(void **state)
{
	int fd;

	if (geteuid() != 0) {
		print_message("skipped: only root can be another user\n");
		skip();
	}
	/* Their report is not the test's. */
	atomic_store(&trust.quiet_until_ns, UINT64_MAX);
	assert_int_equal(seteuid(4321), 0);
	fd = roost_shm_connect(name, &trust);
	assert_int_equal(seteuid(0), 0);
	assert_true(fd >= 0);
	assert_int_equal(roost_shm_accept(listening, &trust), -EPERM);
	close(fd);
	assert_int_equal(seteuid(4321), 0);
	fd = roost_shm_listen("@roost-test-meet-other");
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(roost_shm_connect("@roost-test-meet-other", &trust),
			 -EPERM);
	close(fd);
}

/* ---- hostile peers
 * --------------------------------------------------------------- */

static void put_fds(struct msghdr *header, char *control, const int *fds,
		    unsigned int nb)
{
	struct cmsghdr *cmsg;

	if (nb == 0)
		return;
	header->msg_control = control;
	header->msg_controllen = CMSG_SPACE(nb * sizeof(int));
	cmsg = CMSG_FIRSTHDR(header);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(nb * sizeof(int));
	memcpy(CMSG_DATA(cmsg), fds, nb * sizeof(int));
}

static void send_raw(int fd, const void *bytes, size_t len, const int *fds,
		     unsigned int nb)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(16 * sizeof(int))];
	struct iovec part = { (void *)(uintptr_t)bytes, len };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	put_fds(&header, control, fds, nb);
	assert_true(sendmsg(fd, &header, 0) == (ssize_t)len);
}

/* A HELLO as it should be. */
static void honest_hello(uint8_t bytes[40])
{
	struct roost_shm_meeting m;
	int fd_a, fd_b;

	connect_ends(&fd_a, &fd_b);
	assert_int_equal(roost_shm_meet_begin(&m, b, fd_b, false, &self_b, NOW),
			 0);
	memset(bytes, 0, 40);
	assert_int_equal(recv(fd_a, bytes, 40, 0), 32);
	close(fd_a);
	roost_shm_meet_end(&m, b);
}

/* What a packet leads to at who accepted, or who connected. */
static int outcome(bool accepted, const void *bytes, size_t len, const int *fds,
		   unsigned int nb)
{
	struct roost_shm_meeting m;
	unsigned int before;
	int ours, theirs, ret;

	connect_ends(accepted ? &ours : &theirs, accepted ? &theirs : &ours);
	assert_int_equal(roost_shm_meet_begin(&m, a, ours, accepted, &self_a,
					      NOW),
			 0);
	before = open_fds();
	send_raw(theirs, bytes, len, fds, nb);
	ret = roost_shm_meet_look(&m, NOW);
	assert_int_equal(open_fds(), before + (ret == 1 && !accepted));
	roost_shm_meet_end(&m, a);
	close(theirs);
	if (ret == 1) {
		assert_int_equal(roost_shm_peer_join(a, m.seat, &m.peer), 0);
		roost_shm_peer_leave(a, m.seat);
		roost_shm_channel_reap(a);
	}
	/* The seat is free again. */
	assert_int_equal(roost_shm_seat_take(a), 0);
	roost_shm_seat_leave(a, 0);
	return ret;
}

static void hostile__packets(void **state)
{
	const int memory = roost_shm_channel_memory(b)->fd;
	const int many[3] = { memory, memory, memory };
	uint8_t hello[40], bad[40];

	honest_hello(hello);
	assert_int_equal(outcome(true, hello, 32, many, 1), 1);
	assert_int_equal(outcome(true, hello, 32, many, 0), -EPROTO);
	assert_int_equal(outcome(true, hello, 32, many, 2), -EPROTO);
	assert_int_equal(outcome(true, hello, 32, many, 3), -EPROTO);
	assert_int_equal(outcome(true, hello, 31, many, 1), -EPROTO);
	assert_int_equal(outcome(true, hello, 33, many, 1), -EPROTO);
	assert_int_equal(outcome(true, hello, 1, many, 1), -EPROTO);
	for (size_t i = 0; i < 32; i++) {
		memcpy(bad, hello, sizeof(bad));
		bad[i] ^= 0x80;
		assert_int_equal(outcome(true, bad, 32, many, 1),
				 i < 8    ? -EPROTO
				 : i < 12 ? -EPROTONOSUPPORT
				 : i < 16 ? -EPROTO
				 : i < 28 ? 1
					  : -EPROTO);
		if (i == 15)
			i = 19; /* the seat: see below */
	}
	hello[12] = 2; /* BYE */
	assert_int_equal(outcome(true, hello, 32, many, 0), -ECONNRESET);
	assert_int_equal(outcome(true, hello, 32, many, 1), -EPROTO);
}

static void hostile__descriptors(void **state)
{
	int memory = roost_shm_channel_memory(b)->fd, ends[2], pipes[2];
	int udp = socket(AF_UNIX, SOCK_DGRAM, 0);
	int inet = socket(AF_INET, SOCK_STREAM, 0);
	uint8_t hello[40];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(pipe(pipes), 0);
	honest_hello(hello);
	assert_int_equal(outcome(true, hello, 32, pipes, 1), -EPERM);
	assert_int_equal(outcome(false, hello, 32, (int[]){ memory, ends[0] },
				 2),
			 1);
	assert_int_equal(outcome(false, hello, 32, (int[]){ memory, pipes[1] },
				 2),
			 -EPROTO);
	assert_int_equal(outcome(false, hello, 32, (int[]){ memory, udp }, 2),
			 -EPROTO);
	assert_int_equal(outcome(false, hello, 32, (int[]){ memory, inet }, 2),
			 -EPROTO);
	assert_int_equal(outcome(false, hello, 32, (int[]){ memory, memory },
				 2),
			 -EPROTO);
	assert_int_equal(outcome(false, hello, 32, (int[]){ ends[0], memory },
				 2),
			 -EPROTO);
	close(ends[0]);
	close(ends[1]);
	close(pipes[0]);
	close(pipes[1]);
	close(udp);
	close(inet);
}

static void hostile__seat_that_is_none(void **state)
{
	struct roost_shm_meeting m;
	uint8_t hello[40];
	int fd_a, fd_b;

	honest_hello(hello);
	hello[19] = 0x80;
	connect_ends(&fd_a, &fd_b);
	assert_int_equal(roost_shm_meet_begin(&m, a, fd_a, true, &self_a, NOW),
			 0);
	send_raw(fd_b, hello, 32, &roost_shm_channel_memory(b)->fd, 1);
	assert_int_equal(roost_shm_meet_look(&m, NOW), 1);
	assert_int_equal(roost_shm_peer_join(a, m.seat, &m.peer), -EPROTO);
	roost_shm_meet_end(&m, a);
	assert_int_equal(roost_shm_seat_take(a), 0);
	close(fd_b);
}

static void hostile__hello_twice_or_never(void **state)
{
	struct roost_shm_meeting m;
	uint8_t hello[40];
	int fd_a, fd_b;

	honest_hello(hello);
	connect_ends(&fd_a, &fd_b);
	assert_int_equal(roost_shm_meet_begin(&m, a, fd_a, true, &self_a, NOW),
			 0);
	assert_int_equal(roost_shm_meet_look(&m, NOW + ROOST_SHM_MEET_NS - 1),
			 0);
	assert_int_equal(roost_shm_meet_look(&m, NOW + ROOST_SHM_MEET_NS),
			 -ETIMEDOUT);
	send_raw(fd_b, hello, 32, &roost_shm_channel_memory(b)->fd, 1);
	send_raw(fd_b, hello, 32, &roost_shm_channel_memory(b)->fd, 1);
	assert_int_equal(roost_shm_meet_look(&m, NOW), 1);
	assert_int_equal(roost_shm_meet_look(&m, NOW), -EPROTO);
	roost_shm_meet_end(&m, a);
	assert_int_equal(roost_shm_peer_join(a, m.seat, &m.peer), 0);
	close(fd_b);
}

static void meet__no_seat(void **state)
{
	struct roost_shm_meeting m;
	int fd_a, fd_b;

	assert_int_equal(roost_shm_seat_take(a), 0);
	assert_int_equal(roost_shm_seat_take(a), 1);
	connect_ends(&fd_a, &fd_b);
	assert_int_equal(roost_shm_meet_begin(&m, a, fd_a, true, &self_a, NOW),
			 -ENOSPC);
	assert_int_equal(m.fd, -1);
	close(fd_b);
}

#define meet_test(f) cmocka_unit_test_setup_teardown(f, open_ends, close_ends)

int main(void)
{
	const struct CMUnitTest tests[] = {
		meet_test(meet__and_frames_pass),
		meet_test(meet__death_is_seen_at_once),
		meet_test(meet__names),
		meet_test(meet__users_that_are_not_trusted),
		meet_test(hostile__packets),
		meet_test(hostile__descriptors),
		meet_test(hostile__seat_that_is_none),
		meet_test(hostile__hello_twice_or_never),
		meet_test(meet__no_seat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
