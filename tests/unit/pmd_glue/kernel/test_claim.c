/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pmd_glue/kernel/claim.h"
#include "tests/cmocka.h"

/* Numbers that no interface has, another one for each process that tests. */
static unsigned int ifindex;

static int choose_ifindex(void **state)
{
	ifindex = 0x40000000u + (unsigned int)getpid();
	return 0;
}

/* A child that does as told, says so, and then waits to be killed. */
static pid_t child(void (*act)(void))
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		act();
		if (write(ready[1], &byte, 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void skip_unless_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("skipped: only root can be another user\n");
	skip();
}

static void become_another(void)
{
	if (setresuid(54321, 54321, 54321) != 0)
		_exit(1);
}

static void claim_it(void)
{
	static struct roost_claim claim;
	pid_t holder;

	if (roost_claim_take(&claim, ROOST_CLAIM_PORT, ifindex, 7, &holder) !=
	    0)
		_exit(1);
}

static void assert_free(uint16_t vlan_id)
{
	struct roost_claim claim = { .nb = 0 };
	pid_t holder = 0;

	assert_int_equal(roost_claim_take(&claim, ROOST_CLAIM_PORT, ifindex,
					  vlan_id, &holder),
			 0);
	roost_claim_release(&claim);
}

static void assert_taken(uint16_t vlan_id, pid_t by)
{
	struct roost_claim claim = { .nb = 0 };
	pid_t holder = 0;

	assert_int_equal(roost_claim_take(&claim, ROOST_CLAIM_PORT, ifindex,
					  vlan_id, &holder),
			 -EBUSY);
	assert_int_equal(holder, by);
	assert_int_equal(claim.nb, 0);
}

static void claim__second_learns_whose_it_is(void **state)
{
	struct roost_claim tap = { .nb = 0 };
	pid_t pid = child(claim_it), holder;

	assert_taken(7, pid);
	assert_free(0);
	assert_free(8);
	ifindex++;
	assert_free(7);
	ifindex--;
	/* The other end of that cable. */
	assert_int_equal(roost_claim_take(&tap, ROOST_CLAIM_TAP, ifindex, 7,
					  &holder),
			 0);
	roost_claim_release(&tap);
	end(pid);
	assert_free(7);
}

static void claim__of_two_ports_of_one_process(void **state)
{
	struct roost_claim claim = { .nb = 0 };
	pid_t holder;

	assert_int_equal(roost_claim_take(&claim, ROOST_CLAIM_PORT, ifindex, 0,
					  &holder),
			 0);
	assert_taken(0, getpid());
	/* As members of a bond. */
	assert_int_equal(roost_claim_take(&claim, ROOST_CLAIM_PORT, ifindex, 1,
					  &holder),
			 0);
	assert_taken(1, getpid());
	roost_claim_release(&claim);
	assert_free(0);
	assert_free(1);
}

static void do_nothing(void)
{
}

static void claim__forked_child_holds_nothing(void **state)
{
	struct roost_claim claim = { .nb = 0 };
	pid_t holder, pid;

	assert_int_equal(roost_claim_take(&claim, ROOST_CLAIM_PORT, ifindex, 0,
					  &holder),
			 0);
	pid = child(do_nothing);
	roost_claim_release(&claim);
	assert_free(0);
	end(pid);
}

static void listen_as(const char *more, int backlog)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int len = snprintf(addr.sun_path + 1, 100, "roost/port/%u/7/%s",
			   ifindex, more);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (bind(fd, (struct sockaddr *)&addr,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			     (size_t)len)) != 0 ||
	    listen(fd, backlog) != 0)
		_exit(1);
	/* Fill it. */
	for (int i = 0; backlog == 0 && i < 2; i++) {
		int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

		connect(peer, (struct sockaddr *)&addr,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				    (size_t)len));
	}
}

static void squat(void)
{
	become_another();
	for (int i = 0; i < 300; i++) {
		char more[32];

		snprintf(more, sizeof(more), "%016x", i);
		listen_as(more, 5);
	}
	listen_as("a-name-that-is-much-longer-than-any-of-ours-can-ever-be", 5);
	listen_as("", 5);
}

/* As many as he likes, by any user who could have no such port. */
static void claim__strangers_do_not_count(void **state)
{
	struct timespec begin, done;
	pid_t pid;

	skip_unless_root();
	pid = child(squat);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	assert_free(7);
	clock_gettime(CLOCK_MONOTONIC, &done);
	assert_true(done.tv_sec - begin.tv_sec < 5);
	end(pid);
}

static void squat_and_take_nobody_in(void)
{
	become_another();
	listen_as("0", 0);
}

static void claim__a_stranger_who_takes_nobody_in(void **state)
{
	pid_t pid;

	skip_unless_root();
	pid = child(squat_and_take_nobody_in);
	assert_free(7);
	end(pid);
}

/* A user who may have packet sockets is no stranger. */
static void claim_with_net_raw(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {
		{ .effective = 1u << CAP_NET_RAW,
		  .permitted = 1u << CAP_NET_RAW },
	};

	prctl(PR_SET_KEEPCAPS, 1);
	become_another();
	if (syscall(SYS_capset, &header, data) != 0)
		_exit(1);
	claim_it();
}

static void claim__of_a_user_with_the_right_to_it(void **state)
{
	pid_t pid;

	skip_unless_root();
	pid = child(claim_with_net_raw);
	assert_taken(7, pid);
	end(pid);
}

/* Those who ask must not fill the queue for good. */
static void claim_serve__everybody_learns_the_pid(void **state)
{
	struct roost_claim claim = { .nb = 0 };
	pid_t holder;

	assert_int_equal(roost_claim_take(&claim, ROOST_CLAIM_PORT, ifindex, 0,
					  &holder),
			 0);
	for (int i = 0; i < 40; i++) {
		assert_taken(0, getpid());
		if (i % 10 == 9)
			roost_claim_serve(&claim);
	}
	roost_claim_release(&claim);
}

/* Each waits for the same moment, claims, and holds what it has. */
#define RACERS 8

static int race(int start_fd)
{
	struct roost_claim claim = { .nb = 0 };
	pid_t holder;
	char byte;

	if (read(start_fd, &byte, 1) < 0)
		_exit(2);
	_exit(roost_claim_take(&claim, ROOST_CLAIM_PORT, ifindex, 3, &holder) ==
			      0
		      ? (usleep(2000000), 0)
		      : 1);
}

static void claim__never_two(void **state)
{
	int start[2], status, winners = 0;

	for (int round = 0; round < 3; round++) {
		assert_int_equal(pipe(start), 0);
		for (int i = 0; i < RACERS; i++) {
			if (fork() != 0)
				continue;
			close(start[1]);
			race(start[0]);
		}
		close(start[0]);
		close(start[1]);
		winners = 0;
		for (int i = 0; i < RACERS; i++) {
			wait(&status);
			winners +=
				WIFEXITED(status) && WEXITSTATUS(status) == 0;
		}
		assert_true(winners <= 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claim__second_learns_whose_it_is),
		cmocka_unit_test(claim__of_two_ports_of_one_process),
		cmocka_unit_test(claim__forked_child_holds_nothing),
		cmocka_unit_test(claim__strangers_do_not_count),
		cmocka_unit_test(claim__a_stranger_who_takes_nobody_in),
		cmocka_unit_test(claim__of_a_user_with_the_right_to_it),
		cmocka_unit_test(claim_serve__everybody_learns_the_pid),
		cmocka_unit_test(claim__never_two),
	};

	return cmocka_run_group_tests(tests, choose_ifindex, NULL);
}
