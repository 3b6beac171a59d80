/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The control socket from the other side: `roost ctl` against a process that
 * answers anything. Input: a byte that says which command, and the answer. The
 * terminal gets text: no control character but newlines, whatever comes; JSON
 * is for programs.
 */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apps/ctl.h"
#include "tests/fuzz/fuzz.h"

#define ANSWER_MAX 65536u
#define SHOWN_MAX (1u << 20)

static const uint8_t *answer;
static size_t answer_bytes;
static char pid[16];
static char *shown;
static FILE *terminal;

/* The linker gives these to apps/ctl_socket.c (--wrap). */
int __wrap_socket(int domain, int type, int protocol);
int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t length);

/* The process has answered before it was asked. */
int __wrap_socket(int domain, int type, int protocol)
{
	int fds[2];

	static int last = -1;

	FUZZ_CHECK(socketpair(domain, type, protocol, fds) == 0);
	FUZZ_CHECK(answer_bytes == 0 || send(fds[1], answer, answer_bytes, 0) ==
						(ssize_t)answer_bytes);
	shutdown(fds[1], SHUT_WR);
	/* Who reads it has the other end; ours is closed with the next one. */
	if (last >= 0)
		close(last);
	last = fds[1];
	return fds[0];
}

int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t length)
{
	(void)fd;
	(void)addr;
	(void)length;
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	snprintf(pid, sizeof(pid), "%d", getpid());
	shown = malloc(SHOWN_MAX);
	FUZZ_CHECK(shown != NULL);
	return 0;
}

static void check_shown(const char *text, size_t len_bytes)
{
	for (size_t i = 0; i < len_bytes; i++) {
		const uint8_t c = (uint8_t)text[i];

		FUZZ_CHECK(c == '\n' || !iscntrl(c));
		/* C1, as UTF-8 has it. */
		FUZZ_CHECK(c != 0xc2 || i + 1 == len_bytes ||
			   (uint8_t)((uint8_t)text[i + 1] - 0x80) >= 0x20);
	}
}

static void run(char **argv, bool is_text)
{
	FILE *out = stdout, *err = stderr;
	size_t len_bytes;

	terminal = fmemopen(shown, SHOWN_MAX, "w");
	FUZZ_CHECK(terminal != NULL);
	stdout = stderr = terminal;
	roost_ctl(argv);
	stdout = out;
	stderr = err;
	len_bytes = (size_t)ftell(terminal);
	fclose(terminal);
	if (is_text)
		check_shown(shown, len_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	char *show[] = { "show", "--pid", pid, NULL };
	char *json[] = { "show", "--json", "--pid", pid, NULL };
	char *list[] = { "list", "--pid", pid, NULL };
	char *set[] = { "set", "--pid", pid, "link", "up", NULL };
	char **const commands[] = { show, json, list, set };
	struct fuzz_in in = { data, len_bytes };
	const uint8_t which = fuzz_u8(&in) & 3;

	answer = in.at;
	answer_bytes = in.left_bytes < ANSWER_MAX ? in.left_bytes : ANSWER_MAX;
	run(commands[which], commands[which] != json);
	return 0;
}
