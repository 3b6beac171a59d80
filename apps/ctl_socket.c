/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/ctl_socket.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "apps/ctl_print.h"
#include "apps/ctl_process.h"
#include "pmd_glue/process/ctl_address.h"

#define TIMEOUT_MS 10000u
/* Interval of connect(2): poll(2) does not tell when a full queue has room. */
#define CONNECT_AGAIN_MS 10
/* Descriptors for other purposes than calls. */
#define OTHER_FDS 64u

/* Numbers of processes are below it (PID_MAX_LIMIT). */
#define NUMBER_MAX 4194304

/* The flag of a socket that listens, in /proc/net/unix. */
#define LISTENS 0x10000u

/* ---- finding sockets -------------------------------------------------------
 */

/* The pid in a line about a control socket; 0: another line. */
static pid_t pid_of_line(const char *line)
{
	unsigned int flags, alike;
	pid_t pid;
	int end = 0, rest = 0;

	/* Num RefCount Protocol Flags Type St Inode Path */
	if (sscanf(line, "%*s %*s %*s %x %*s %*s %*s @" ROOST_CTL_NAME "%n",
		   &flags, &pid, &end) != 2 ||
	    pid <= 0)
		return 0;
	if (sscanf(line + end, "/%u%n", &alike, &rest) == 1 &&
	    alike < ROOST_CTL_ALIKE)
		end += rest;
	if (line[end] != '\n' && line[end] != '\0')
		return 0;
	return flags & LISTENS ? pid : 0;
}

static int compare(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static size_t unique(pid_t *pids, size_t nb)
{
	size_t kept = 0;

	qsort(pids, nb, sizeof(*pids), compare);
	for (size_t i = 0; i < nb; i++)
		if (i == 0 || pids[i] != pids[i - 1])
			pids[kept++] = pids[i];
	return kept;
}

size_t roost_ctl_read_pids(FILE *file, bool (*keep)(pid_t pid), pid_t *pids,
			   size_t max)
{
	char *line = NULL;
	size_t room = 0, nb = 0;
	pid_t pid;

	while (nb < max && getline(&line, &room, file) > 0) {
		pid = pid_of_line(line);
		if (pid && (!keep || keep(pid)))
			pids[nb++] = pid;
	}
	free(line);
	return unique(pids, nb);
}

/* ---- the owner of a socket -------------------------------------------------
 */

/* May the process answer this user? Checked before a socket is opened, because
 * any user may listen at many names of processes that do not exist.
 */
static bool may_answer(pid_t pid)
{
	struct roost_ctl_process p;

	return geteuid() == 0 ? roost_ctl_process_read(pid, &p)
			      : roost_ctl_process_is_of(pid, geteuid());
}

/*
 * Check the owner of the socket, because any process may take any name. By the
 * kernel (SO_PEERCRED) the process that listens must be pid, with that
 * process's user, and this user may talk to it. Returns 0; -EPERM: it is
 * another user's; -EBADE: it is not that process's socket.
 */
static int check_owner(int fd, pid_t pid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	if (cred.pid != pid)
		return -EBADE;
	if (geteuid() != 0 && cred.uid != geteuid())
		return -EPERM;
	return roost_ctl_process_is_of(pid, cred.uid) ? 0 : -EBADE;
}

/* ---- questions -------------------------------------------------------------
 */

enum progress {
	CONNECTING, /* or waiting for room in the accept queue */
	SAYING,
	HEARING,
	DONE,
};

/* One of several requests that are in progress at the same time. */
struct call {
	struct roost_ctl_question *question;
	enum progress progress;
	int fd; /* -1: none */
	size_t said_bytes;
	char *text;
	size_t len_bytes, room_bytes;
	/* Once DONE: an errno value, or STOPPED; 0: no error, text is the
	 * complete answer.
	 */
	int error;
};

#define STOPPED (-1)

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void finish(struct call *call, int error)
{
	if (call->fd >= 0)
		close(call->fd);
	call->fd = -1;
	call->error = error;
	call->progress = DONE;
	if (error == 0)
		return;
	free(call->text);
	call->text = NULL;
}

/* name: the number that the process knows itself by. */
static int connect_to(pid_t pid, pid_t name, unsigned int alike)
{
	struct sockaddr_un addr;
	socklen_t len = roost_ctl_address(&addr, name, alike);
	int ret, fd;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&addr, len) < 0)
		ret = -errno;
	else
		ret = check_owner(fd, pid);
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

/* Any of its names may be another process's. Of several errors the first one is
 * told that says more than that nobody has the name, or that a stranger has.
 */
int roost_ctl_connect(pid_t pid)
{
	const pid_t name = roost_ctl_process_number(pid);
	int first = -ECONNREFUSED;

	for (unsigned int i = 0; i < ROOST_CTL_ALIKE; i++) {
		int ret = connect_to(pid, name, i);

		if (ret >= 0)
			return ret;
		if (first == -ECONNREFUSED || first == -EBADE)
			first = ret == -ECONNREFUSED ? first : ret;
	}
	return first;
}

/* Connect. With a full accept queue, or without a free descriptor, the call is
 * tried again later.
 */
static void try_to_connect(struct call *call)
{
	call->fd = roost_ctl_connect(call->question->pid);
	if (call->fd < 0 && call->fd != -EAGAIN && call->fd != -EMFILE)
		finish(call, -call->fd);
	else if (roost_ctl_process_is_stopped(call->question->pid))
		finish(call, STOPPED);
	else if (call->fd >= 0)
		call->progress = SAYING;
}

/* Send the request. If the server has refused us, its answer tells why, and is
 * read in any case.
 */
static void say(struct call *call, const char *line)
{
	size_t left = strlen(line) - call->said_bytes;
	ssize_t n = send(call->fd, line + call->said_bytes, left, MSG_NOSIGNAL);

	if (n > 0)
		call->said_bytes += (size_t)n;
	if ((n >= 0 && (size_t)n == left) || (n < 0 && errno != EAGAIN))
		call->progress = HEARING;
}

static bool make_room(struct call *call, size_t max_bytes)
{
	size_t room = call->room_bytes ? call->room_bytes * 2 : 65536;
	char *grown;

	if (call->len_bytes + 1 < call->room_bytes)
		return true;
	if (room > max_bytes)
		return false;
	grown = realloc(call->text, room);
	if (!grown)
		return false;
	call->text = grown;
	call->room_bytes = room;
	return true;
}

static void hear(struct call *call, size_t max_bytes)
{
	ssize_t n;

	if (!make_room(call, max_bytes)) {
		finish(call, EMSGSIZE);
		return;
	}
	n = recv(call->fd, call->text + call->len_bytes,
		 call->room_bytes - call->len_bytes - 1, 0);
	if (n < 0 && errno == EAGAIN)
		return;
	/* ECONNRESET: the server closed before it read the whole request. */
	if (n < 0 && errno != ECONNRESET) {
		finish(call, errno);
		return;
	}
	if (n > 0)
		call->len_bytes += (size_t)n;
	call->text[call->len_bytes] = '\0';
	if (n <= 0)
		finish(call, 0);
}

static void go_on(struct call *call, const char *line, size_t max_bytes)
{
	if (call->progress == CONNECTING)
		try_to_connect(call);
	if (call->progress == SAYING)
		say(call, line);
	if (call->progress == HEARING)
		hear(call, max_bytes);
}

/* Wait for the calls that are not done; poll(2) passes over an fd of -1.
 * Returns false: all calls are done, or until_ms has passed.
 */
static bool wait_for(const struct call *calls, struct pollfd *fds, size_t nb,
		     uint64_t until_ms)
{
	uint64_t now = now_ms();
	bool connecting = false, waiting = false;

	for (size_t i = 0; i < nb; i++) {
		connecting |= calls[i].progress == CONNECTING;
		waiting |= calls[i].fd >= 0;
		fds[i].fd = calls[i].fd;
		fds[i].events = calls[i].progress == SAYING ? POLLOUT : POLLIN;
	}
	if ((!waiting && !connecting) || now >= until_ms)
		return false;
	poll(fds, nb, connecting ? CONNECT_AGAIN_MS : (int)(until_ms - now));
	return true;
}

/* Keep a process whose accept queue is full: it may answer. */
static bool has_socket(pid_t pid)
{
	int fd = roost_ctl_connect(pid);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || fd == -EAGAIN;
}

/* Which numbers have a name, a bit each: any user may take many. NULL: none. */
static uint8_t *read_numbers(FILE *file)
{
	uint8_t *bits = calloc(NUMBER_MAX / 8, 1);
	char *line = NULL;
	size_t room = 0;
	pid_t number;

	rewind(file);
	while (bits && getline(&line, &room, file) > 0) {
		number = pid_of_line(line);
		if (number > 0 && number < NUMBER_MAX)
			bits[number / 8] |= (uint8_t)(1u << number % 8);
	}
	free(line);
	return bits;
}

static bool is_number(const uint8_t *bits, pid_t number)
{
	return number > 0 && number < NUMBER_MAX &&
	       bits[number / 8] & 1u << number % 8;
}

/* Those of other PID namespaces, which have names by other numbers than ours,
 * among numbers; pids has nb so far. Returns their number.
 */
static size_t find_contained(const uint8_t *numbers, pid_t *pids, size_t nb,
			     size_t max)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	pid_t pid, number;

	while (dir && nb < max && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		pid = (pid_t)atoi(entry->d_name);
		number = roost_ctl_process_number(pid);
		if (number != pid && is_number(numbers, number) &&
		    may_answer(pid) && has_socket(pid))
			pids[nb++] = pid;
	}
	if (dir)
		closedir(dir);
	return nb;
}

size_t roost_ctl_find_pids(pid_t *pids, size_t max)
{
	FILE *file = fopen("/proc/net/unix", "re");
	uint8_t *numbers = NULL;
	size_t nb = 0, kept = 0;

	if (file) {
		nb = roost_ctl_read_pids(file, may_answer, pids, max);
		numbers = read_numbers(file);
		fclose(file);
	}
	for (size_t i = 0; i < nb; i++)
		if (has_socket(pids[i]))
			pids[kept++] = pids[i];
	if (numbers)
		kept = find_contained(numbers, pids, kept, max);
	free(numbers);
	return unique(pids, kept);
}

/* Write an error as one line that is safe for a terminal. */
static void say_error(char *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say_error(char *err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err, ROOST_CTL_ERR_MAX, format, args);
	va_end(args);
	roost_ctl_plain(err);
}

char *roost_ctl_explain(pid_t pid, int error, unsigned int timeout_ms,
			char *err)
{
	if (error == ECONNREFUSED)
		say_error(err,
			  "process %d: no control socket: it does not run, has "
			  "no Roost device open, or is in another network "
			  "namespace; see roost ctl list",
			  pid);
	else if (error == EPERM)
		say_error(err,
			  "process %d: permission denied: it is another "
			  "user's; ask as that user or as root",
			  pid);
	else if (error == EBADE)
		say_error(err,
			  "process %d: its control socket is not its own: "
			  "another process has taken the name, or it is in "
			  "another process namespace; do not believe it",
			  pid);
	else if (error == EMSGSIZE)
		say_error(err,
			  "process %d: its answer is too long; ask for one "
			  "topic",
			  pid);
	else if (error == ETIMEDOUT)
		say_error(err,
			  "process %d: no answer within %u s: it is busy, or "
			  "other controllers are; try again, or look at what "
			  "it does",
			  pid, timeout_ms / 1000);
	else if (error == STOPPED)
		say_error(err,
			  "process %d: it is stopped and cannot answer; "
			  "continue it (kill -CONT %d), or have its debugger "
			  "do so",
			  pid, pid);
	else
		say_error(err,
			  "process %d: its control socket failed: %s; try "
			  "again",
			  pid, strerror(error));
	return NULL;
}

char *roost_ctl_understand(pid_t pid, char *answer, char *err)
{
	size_t len = strlen(answer);

	if (strncmp(answer, "ok\n", 3) == 0) {
		memmove(answer, answer + 3, len - 3 + 1);
		return answer;
	}
	len = strcspn(answer, "\n");
	if (strncmp(answer, "error ", 6) == 0 && len > 6)
		say_error(err, "process %d: %.*s", pid, (int)len - 6,
			  answer + 6);
	else
		say_error(
			err,
			"process %d: it did not answer: it ended, or was busy "
			"for too long; see roost ctl list",
			pid);
	free(answer);
	return NULL;
}

static void settle(struct call *call, unsigned int timeout_ms)
{
	struct roost_ctl_question *q = call->question;

	if (call->progress != DONE)
		finish(call, ETIMEDOUT);
	if (call->error == 0)
		q->answer = roost_ctl_understand(q->pid, call->text, q->err);
	else
		q->answer = roost_ctl_explain(q->pid, call->error, timeout_ms,
					      q->err);
}

/* Raise the limit, so that there is a descriptor for each call at once. */
static void raise_fd_limit(size_t nb)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
	    limit.rlim_cur >= nb + OTHER_FDS)
		return;
	limit.rlim_cur = nb + OTHER_FDS < limit.rlim_max ? nb + OTHER_FDS
							 : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void ask_at_once(struct call *calls, struct pollfd *fds, size_t nb,
			const char *line, size_t max_bytes,
			unsigned int timeout_ms)
{
	uint64_t until_ms = now_ms() + timeout_ms;

	raise_fd_limit(nb);
	do {
		for (size_t i = 0; i < nb; i++)
			if (calls[i].progress == CONNECTING || fds[i].revents)
				go_on(&calls[i], line, max_bytes);
	} while (wait_for(calls, fds, nb, until_ms));
	for (size_t i = 0; i < nb; i++)
		settle(&calls[i], timeout_ms);
}

static void ask_nobody(struct roost_ctl_question *questions, size_t nb,
		       const char *why)
{
	for (size_t i = 0; i < nb; i++) {
		questions[i].answer = NULL;
		say_error(questions[i].err, "ctl: %s", why);
	}
}

void roost_ctl_ask_all(struct roost_ctl_question *questions, size_t nb,
		       const char *request, size_t max_bytes,
		       unsigned int timeout_ms)
{
	struct call *calls = calloc(nb, sizeof(*calls));
	struct pollfd *fds = calloc(nb, sizeof(*fds));
	char line[512];
	int len = snprintf(line, sizeof(line), "%s\n", request);

	for (size_t i = 0; calls && i < nb; i++)
		calls[i] = (struct call){ .question = &questions[i], .fd = -1 };
	if (len >= (int)sizeof(line))
		ask_nobody(questions, nb,
			   "the words are too long; see roost help ctl");
	else if (!calls || !fds)
		ask_nobody(questions, nb, "no memory; try again");
	else
		ask_at_once(calls, fds, nb, line, max_bytes, timeout_ms);
	free(fds);
	free(calls);
}

char *roost_ctl_ask(pid_t pid, const char *request, char *err)
{
	struct roost_ctl_question question = { .pid = pid };

	roost_ctl_ask_all(&question, 1, request, ROOST_CTL_ANSWER_MAX,
			  TIMEOUT_MS);
	strcpy(err, question.err);
	return question.answer;
}
