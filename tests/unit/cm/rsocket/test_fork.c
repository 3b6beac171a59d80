/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A child has rsockets of its own, and none of its parent's. */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cm/rsocket/stream.h"
#include "pair.h"

static int in_child(int inherited)
{
	struct sockaddr_in addr = pair_addr(PORT + 1);
	char byte = 0;
	int listener;
	int fd;
	int other;

	if (rsend(inherited, "x", 1, 0) != -1 || errno != EBADF)
		return 2;
	listener = rsocket(AF_INET, SOCK_STREAM, 0);
	if (rbind(listener, (struct sockaddr *)&addr, sizeof(addr)) != 0 ||
	    rlisten(listener, 1) != 0)
		return 3;
	fd = rsocket(AF_INET, SOCK_STREAM, 0);
	if (rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
		return 4;
	other = raccept(listener, NULL, NULL);
	if (rsend(fd, "y", 1, 0) != 1 || rrecv(other, &byte, 1, 0) != 1)
		return 5;
	if (rclose(fd) != 0 || rclose(other) != 0 || rclose(listener) != 0)
		return 6;
	return byte == 'y' ? 0 : 7;
}

static void check_child(int inherited)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(20);
		_exit(in_child(inherited));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void fork__child_starts_anew(void **state)
{
	struct pair pair;
	char byte;

	pair_open(&pair, 0);
	check_child(pair.client);
	/* The parent's are as they were. */
	assert_int_equal(rsend(pair.client, "z", 1, 0), 1);
	assert_int_equal(rrecv(pair.server, &byte, 1, 0), 1);
	pair_close(&pair);
}

/* A port that the parent has given up is not held by its child. */
static void fork__child_holds_no_port(void **state)
{
	struct sockaddr_in addr = pair_addr(0);
	socklen_t length = sizeof(addr);
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);
	pid_t pid;
	int ret;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(rbind(fd, (struct sockaddr *)&addr, length), 0);
	assert_int_equal(rgetsockname(fd, (struct sockaddr *)&addr, &length),
			 0);
	pid = fork();
	if (pid == 0) {
		sleep(20);
		_exit(0);
	}
	usleep(50000);
	assert_int_equal(rclose(fd), 0);
	fd = rsocket(AF_INET, SOCK_DGRAM, 0);
	ret = rbind(fd, (struct sockaddr *)&addr, length);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(ret, 0);
	assert_int_equal(rclose(fd), 0);
	pair_assert_clean();
}

static pthread_barrier_t in_hand;

static void *hold_family_lock(void *arg)
{
	roost_rs_family_lock();
	pthread_barrier_wait(&in_hand);
	pthread_barrier_wait(&in_hand);
	roost_rs_family_unlock();
	return arg;
}

/* As the service thread does while it takes in an event. */
static void fork__child_needs_no_lock_of_the_parent(void **state)
{
	struct pair pair;
	pthread_t holder;

	pair_open(&pair, 0);
	pthread_barrier_init(&in_hand, NULL, 2);
	assert_int_equal(pthread_create(&holder, NULL, hold_family_lock, NULL),
			 0);
	pthread_barrier_wait(&in_hand);
	check_child(pair.client);
	pthread_barrier_wait(&in_hand);
	pthread_join(holder, NULL);
	pthread_barrier_destroy(&in_hand);
	pair_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fork__child_starts_anew),
		cmocka_unit_test(fork__child_holds_no_port),
		cmocka_unit_test(fork__child_needs_no_lock_of_the_parent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
