/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "apps/ctl_socket.h"

static size_t read_from(const char *text, pid_t *pids, size_t max)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	size_t nb = roost_ctl_read_pids(file, pids, max);

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
		"0000000000000000: 2 0 00010000 0001 01 40 @roost/ctl/4242\n";
	pid_t pids[8];

	(void)state;
	assert_int_equal(read_from(text, pids, 8), 2);
	assert_int_equal(pids[0], 7);
	assert_int_equal(pids[1], 4242);
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

	(void)state;
	text = ask_with("ok\n{\"a\":1}", "show port", err);
	assert_string_equal(text, "{\"a\":1}");
	assert_string_equal(server.request, "show port\n");
	free(text);
	text = ask_with("ok\n", "set - - lid 1", err);
	assert_string_equal(text, "");
	free(text);
}

static void ask__errors(void **state)
{
	char err[ROOST_CTL_ERR_MAX], request[600];

	(void)state;
	assert_null(ask_with("error lid 9: no; yes\n", "set", err));
	assert_string_equal(err, "lid 9: no; yes");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_pids__of_listening_sockets),
		cmocka_unit_test(ask__answers),
		cmocka_unit_test(ask__errors),
	};

	return cmocka_run_group_tests_name("ctl_socket", tests, NULL, NULL);
}
