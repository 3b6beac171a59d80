/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "apps/ctl_socket.h"
#include "tests/cmocka.h"

static _Atomic unsigned int nb_connects;

/* The library's, counted. */
int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	nb_connects++;
	return (int)syscall(SYS_connect, fd, addr, len);
}

static size_t read_from(const char *text, pid_t *pids, size_t max)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	size_t nb = roost_ctl_read_pids(file, NULL, pids, max);

	fclose(file);
	return nb;
}

static void read_pids__of_listening_sockets(void **state)
{
	static const char text[] =
		"Num       RefCount Protocol Flags    Type St Inode Path\n"
		"0000000000000000: 2 0 00010000 0001 01 30 @roost/ctl/4242\n"
		"0000000000000000: 2 0 00010000 0001 01 31 @roost/ctl/7\n"
		"0000000000000000: 3 0 00000000 0001 03 32 @roost/ctl/7\n"
		"0000000000000000: 3 0 00000000 0001 03 33 @roost/ctl/8\n"
		"0000000000000000: 2 0 00010000 0001 01 34 @roost/0/lab/1\n"
		"0000000000000000: 2 0 00010000 0001 01 35 @roost/ctl/9x\n"
		"0000000000000000: 2 0 00010000 0001 01 36 @roost/ctl/-3\n"
		"0000000000000000: 2 0 00010000 0001 01 37 @roost/ctl/\n"
		"0000000000000000: 2 0 00010000 0001 01 38 /roost/ctl/10\n"
		"0000000000000000: 2 0 00000000 0002 01 39\n"
		"0000000000000000: 2 0 00010000 0001 01 41 @roost/ctl/11/63\n"
		"0000000000000000: 2 0 00010000 0001 01 42 @roost/ctl/12/64\n"
		"0000000000000000: 2 0 00010000 0001 01 43 @roost/ctl/13/1/\n"
		"0000000000000000: 2 0 00010000 0001 01 40 @roost/ctl/4242\n";
	pid_t pids[8];

	assert_int_equal(read_from(text, pids, 8), 3);
	assert_int_equal(pids[0], 7);
	assert_int_equal(pids[1], 11);
	assert_int_equal(pids[2], 4242);
	assert_int_equal(read_from(text, pids, 1), 1);
	assert_int_equal(read_from("\n", pids, 8), 0);
}

/* ---- asking -----------------------------------------------------------------
 */

/* Answers one connection under our own pid, and keeps what it was asked. */
static struct {
	int fd;
	const char *answer;
	char request[600];
} server;

static void *serve(void *arg)
{
	int fd;

	(void)arg;
	/* Whoever looks which processes there are connects, too. */
	while ((fd = accept(server.fd, NULL, NULL)) >= 0) {
		ssize_t n =
			recv(fd, server.request, sizeof(server.request) - 1, 0);

		if (n > 0) {
			server.request[n] = '\0';
			send(fd, server.answer, strlen(server.answer), 0);
		}
		close(fd);
	}
	return NULL;
}

static char *ask_with(const char *answer, const char *request, char *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
			   "roost/ctl/%d", getpid());
	pid_t pids[64];
	size_t nb, i;
	pthread_t thread;
	char *text;

	server.answer = answer;
	server.fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(server.fd, (struct sockaddr *)&addr,
			      (socklen_t)(offsetof(struct sockaddr_un,
						   sun_path) +
					  1 + (size_t)len)),
			 0);
	listen(server.fd, 4);
	pthread_create(&thread, NULL, serve, NULL);
	nb = roost_ctl_find_pids(pids, 64);
	for (i = 0; i < nb && pids[i] != getpid(); i++)
		;
	assert_true(i < nb);
	text = roost_ctl_ask(getpid(), request, err);
	shutdown(server.fd, SHUT_RDWR);
	pthread_join(thread, NULL);
	close(server.fd);
	return text;
}

static void ask__answers(void **state)
{
	char err[ROOST_CTL_ERR_MAX];
	char *text;

	text = ask_with("ok\n{\"a\":1}", "show port", err);
	assert_string_equal(text, "{\"a\":1}");
	assert_string_equal(server.request, "show port\n");
	free(text);
	text = ask_with("ok\n", "set - - lid 1", err);
	assert_string_equal(text, "");
	free(text);
}

/* What a process answers is told with its number. */
static void assert_says(const char *err, const char *words)
{
	char expected[ROOST_CTL_ERR_MAX];

	snprintf(expected, sizeof(expected), "process %d: %s", getpid(), words);
	assert_string_equal(err, expected);
}

static void ask__errors(void **state)
{
	char err[ROOST_CTL_ERR_MAX], request[600];

	assert_null(ask_with("error lid 9: no; yes\n", "set", err));
	assert_says(err, "lid 9: no; yes");
	assert_null(ask_with("", "set", err));
	assert_non_null(strstr(err, "did not answer"));
	assert_null(ask_with("HTTP/1.0 400\n", "set", err));
	assert_non_null(strstr(err, "did not answer"));
	memset(request, 'a', sizeof(request));
	request[sizeof(request) - 1] = '\0';
	assert_null(ask_with("ok\n", request, err));
	assert_non_null(strstr(err, "too long"));
	assert_null(roost_ctl_ask(getpid(), "show", err));
	assert_non_null(strstr(err, "no control socket"));
}

/* ---- whom to believe --------------------------------------------------------
 */

/* A child that listens under the name of process name (0: its own), as user,
 * and does as told.
 */
static pid_t listener(pid_t name, uid_t user, void (*then)(int fd))
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int len, fd, ready[2];
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (user != 0 && setresuid(user, user, user) != 0)
			_exit(1);
		len = snprintf(addr.sun_path + 1, 64, "roost/ctl/%d",
			       name ? name : getpid());
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		if (bind(fd, (struct sockaddr *)&addr,
			 (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				     1 + (size_t)len)) != 0 ||
		    listen(fd, 1) != 0 || write(ready[1], &byte, 1) != 1)
			_exit(1);
		then(fd);
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void sleep_for_ever(int fd)
{
	(void)fd;
	for (;;)
		pause();
}

static void answer_ok(int fd)
{
	char request[256];
	int peer;

	while ((peer = accept(fd, NULL, NULL)) >= 0) {
		if (recv(peer, request, sizeof(request), 0) > 0)
			send(peer, "ok\n{}", 5, 0);
		close(peer);
	}
}

static void talk_for_ever(int fd)
{
	static char much[65536];
	int peer = accept(fd, NULL, NULL);

	memset(much, ' ', sizeof(much));
	send(peer, "ok\n", 3, 0);
	while (send(peer, much, sizeof(much), MSG_NOSIGNAL) > 0)
		;
	pause();
}

static void drip_for_ever(int fd)
{
	int peer = accept(fd, NULL, NULL);

	while (send(peer, "o", 1, MSG_NOSIGNAL) > 0)
		usleep(100000);
	pause();
}

static bool is_found(pid_t pid)
{
	pid_t pids[64];
	size_t nb = roost_ctl_find_pids(pids, 64);

	for (size_t i = 0; i < nb; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* Root asks process 1, and a user of the machine answers in its place. */
static void ask__not_who_took_the_name(void **state)
{
	char err[ROOST_CTL_ERR_MAX] = "";
	pid_t pid, own, innocent;

	if (geteuid() != 0)
		skip();
	innocent = fork();
	if (innocent == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sleep_for_ever(0);
	}
	pid = listener(innocent, 54321, answer_ok);
	assert_false(is_found(innocent));
	assert_null(roost_ctl_ask(innocent, "show", err));
	assert_non_null(strstr(err, "not its own"));
	end(pid);
	/* One of the same user under that name is no better. */
	pid = listener(innocent, 0, answer_ok);
	assert_false(is_found(innocent));
	assert_null(roost_ctl_ask(innocent, "show", err));
	end(pid);
	/* A user's own process answers root, for itself. */
	own = listener(0, 54321, answer_ok);
	assert_true(is_found(own));
	free(roost_ctl_ask(own, "show", err));
	assert_string_equal(err, "");
	end(own);
	end(innocent);
}

static long ms_since(const struct timespec *begin)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - begin->tv_sec) * 1000 +
	       (now.tv_nsec - begin->tv_nsec) / 1000000;
}

static void assert_names(const struct roost_ctl_question *q, const char *words)
{
	char pid[32];

	snprintf(pid, sizeof(pid), "process %d: ", q->pid);
	assert_null(q->answer);
	assert_ptr_equal(strstr(q->err, pid), q->err);
	assert_non_null(strstr(q->err, words));
}

/* Four that would keep a controller for ever keep him once, together. */
static void ask_all__at_the_same_time(void **state)
{
	struct roost_ctl_question q[5] = { 0 };
	struct timespec begin;

	q[0].pid = listener(0, 0, sleep_for_ever);
	q[1].pid = listener(0, 0, talk_for_ever);
	q[2].pid = listener(0, 0, answer_ok);
	q[3].pid = listener(0, 0, drip_for_ever);
	q[4].pid = listener(0, 0, sleep_for_ever);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	roost_ctl_ask_all(q, 5, "show", 1 << 20, 2000);
	assert_in_range(ms_since(&begin), 1900, 5000);
	assert_names(&q[0], "no answer within 2 s");
	assert_names(&q[1], "too long");
	assert_string_equal(q[2].answer, "{}");
	assert_names(&q[3], "no answer within 2 s");
	assert_names(&q[4], "no answer within 2 s");
	free(q[2].answer);
	for (int i = 0; i < 5; i++)
		end(q[i].pid);
}

/* Who is stopped is known not to answer, and nobody waits for that. */
static void ask_all__not_who_is_stopped(void **state)
{
	struct roost_ctl_question q[2] = { 0 };
	struct timespec begin;

	for (int i = 0; i < 2; i++) {
		q[i].pid = listener(0, 0, answer_ok);
		if (i == 1)
			kill(q[i].pid, SIGSTOP);
	}
	waitpid(q[1].pid, NULL, WUNTRACED);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	roost_ctl_ask_all(q, 2, "show", 1 << 20, 20000);
	assert_true(ms_since(&begin) < 10000);
	assert_string_equal(q[0].answer, "{}");
	assert_names(&q[1], "it is stopped");
	free(q[0].answer);
	for (int i = 0; i < 2; i++)
		end(q[i].pid);
}

/* Another user's sockets, more than were once asked at a time: they say nothing
 * and keep nobody from being asked.
 */
static void ask_all__many_that_are_mute(void **state)
{
	enum {
		MUTE = 300
	};
	static struct roost_ctl_question q[MUTE + 1];
	const struct rlimit few = { 128, 4096 };
	struct timespec begin;

	if (geteuid() != 0)
		skip();
	setrlimit(RLIMIT_NOFILE, &few);
	for (int i = 0; i < MUTE; i++)
		q[i].pid = listener(0, 54321, sleep_for_ever);
	q[MUTE].pid = listener(0, 0, answer_ok);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	roost_ctl_ask_all(q, MUTE + 1, "show", 1 << 20, 2000);
	assert_in_range(ms_since(&begin), 1900, 8000);
	for (int i = 0; i < MUTE; i++)
		assert_names(&q[i], "no answer within 2 s");
	assert_non_null(q[MUTE].answer);
	assert_string_equal(q[MUTE].answer, "{}");
	free(q[MUTE].answer);
	for (int i = 0; i <= MUTE; i++)
		end(q[i].pid);
}

static unsigned int connects_to_find(void)
{
	const unsigned int before = nb_connects;
	pid_t pids[64];

	roost_ctl_find_pids(pids, 64);
	return nb_connects - before;
}

/* The first process of a PID namespace, and its parent. */
static void contain(int ready)
{
	pid_t pid;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pid = unshare(CLONE_NEWPID) == 0 ? fork() : -1;
	if (pid < 0)
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pid == 0 && write(ready, "", 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

/* A process of another PID namespace that has no name is not connected to. */
static void find_pids__contained_without_a_name(void **state)
{
	unsigned int alone;
	int ready[2];
	pid_t pid;
	char c;

	if (geteuid() != 0)
		skip();
	assert_int_equal(pipe(ready), 0);
	alone = connects_to_find();
	pid = fork();
	if (pid == 0)
		contain(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_in_range(connects_to_find(), 0, alone + 10);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(ready[1]);
}

/* What would be obeyed by the terminal. */
static void ask__errors_are_clean(void **state)
{
	char err[ROOST_CTL_ERR_MAX];

	assert_null(ask_with("error a\033[2Jb\rc\n", "set", err));
	assert_says(err, "a?[2Jb?c");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_pids__of_listening_sockets),
		cmocka_unit_test(find_pids__contained_without_a_name),
		cmocka_unit_test(ask__answers),
		cmocka_unit_test(ask__errors),
		cmocka_unit_test(ask__errors_are_clean),
		cmocka_unit_test(ask__not_who_took_the_name),
		cmocka_unit_test(ask_all__at_the_same_time),
		cmocka_unit_test(ask_all__not_who_is_stopped),
		cmocka_unit_test(ask_all__many_that_are_mute),
	};

	return cmocka_run_group_tests_name("ctl_socket", tests, NULL, NULL);
}
