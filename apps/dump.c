/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "apps/ctl_capture.h"
#include "apps/ctl_choose.h"
#include "apps/ctl_socket.h"
#include "apps/exit_code.h"
#include "apps/pcapng.h"
#include "lib/config/nearest.h"
#include "pmd_glue/dump/ring.h"

/* Of a request, with the newline. */
#define REQUEST_MAX 256
/* All of a RoCEv2 frame. */
#define SNAPLEN_DEFAULT "4608"
#define KIB_DEFAULT "16384"
/* Frames between two words to the process, and to the output. */
#define BATCH 64u
/* Of the last ones, when we are told to end. */
#define LAST_BATCHES 1024
/* The sleeps while there is no frame. */
#define NAP_MIN_MS 1
#define NAP_MAX_MS 16
#define NO_INTERFACE UINT32_MAX

struct options {
	pid_t pid; /* 0: not given */
	const char *dev;
	const char *snaplen, *kib;
	const char *path; /* NULL: not given */
	uint64_t max;     /* frames; 0: no limit */
	char filter[REQUEST_MAX];
	size_t filter_len;
	bool help;
};

struct capture {
	int socket;
	struct roost_dump_view view;
	FILE *out;
	uint64_t max, nb; /* frames */
	uint64_t lost;    /* that the last frame told */
	struct {
		uint32_t number; /* NO_INTERFACE: not written yet */
		uint64_t nb;
	} interfaces[ROOST_DUMP_SOURCES_MAX];
	uint32_t nb_interfaces;
	bool ended; /* the process has gone, or has closed its devices */
};

static volatile sig_atomic_t stopped;

/* ---- frames ---------------------------------------------------------------
 */

static uint32_t interface_of(struct capture *c, uint16_t source)
{
	char name[ROOST_DUMP_NAME_MAX];

	if (c->interfaces[source].number == NO_INTERFACE) {
		roost_dump_view_name(&c->view, source, name);
		roost_pcapng_interface(c->out, name, c->view.snaplen);
		c->interfaces[source].number = c->nb_interfaces++;
	}
	c->interfaces[source].nb++;
	return c->interfaces[source].number;
}

static void write_frame(struct capture *c)
{
	static const enum roost_pcapng_way ways[] = {
		[ROOST_DUMP_RECEIVED] = ROOST_PCAPNG_INBOUND,
		[ROOST_DUMP_SENT] = ROOST_PCAPNG_OUTBOUND,
		[ROOST_DUMP_INSIDE] = ROOST_PCAPNG_UNKNOWN,
	};
	const struct roost_dump_slot *slot = c->view.slot;
	struct roost_pcapng_packet packet = {
		.interface = interface_of(c, slot->source),
		.time_ns = slot->time_ns,
		.captured_bytes = slot->copied_bytes,
		.length_bytes = slot->frame_bytes,
		.bytes = slot->bytes,
		.way = ways[slot->way],
		.comment = slot->comment,
	};

	if (slot->lost > c->lost) {
		packet.lost = slot->lost - c->lost;
		c->lost = slot->lost;
	}
	roost_pcapng_packet(c->out, &packet);
	c->nb++;
}

static bool is_full(const struct capture *c)
{
	return c->max != 0 && c->nb >= c->max;
}

/* Say what was consumed. A word that does not fit into the socket is made up
 * for by the next one.
 */
static void tell(const struct capture *c)
{
	(void)!send(c->socket, &c->view.next, sizeof(c->view.next),
		    MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Returns the number of frames. */
static unsigned int write_batch(struct capture *c)
{
	unsigned int n = 0;

	while (n < BATCH && !is_full(c) &&
	       roost_dump_view_next(&c->view, c->ended)) {
		write_frame(c);
		n++;
	}
	if (n > 0 && !c->ended)
		tell(c);
	return n;
}

static void nap(struct capture *c, int ms)
{
	struct pollfd poll_fd = { .fd = c->socket, .events = POLLIN };
	char bytes[64];

	if (poll(&poll_fd, 1, ms) <= 0)
		return;
	/* The process has nothing to say. */
	if (recv(c->socket, bytes, sizeof(bytes), MSG_DONTWAIT) == 0 ||
	    (poll_fd.revents & (POLLHUP | POLLERR)))
		c->ended = true;
}

static void follow(struct capture *c)
{
	int ms = NAP_MIN_MS;

	while (!stopped && !is_full(c)) {
		const bool ended = c->ended;

		if (write_batch(c) > 0) {
			ms = NAP_MIN_MS;
			continue;
		}
		if (fflush(c->out) != 0 || ended)
			return;
		nap(c, ms);
		if (ms < NAP_MAX_MS)
			ms *= 2;
	}
	/* What passed while we slept; the process may go on for ever. */
	for (int i = 0; i < LAST_BATCHES && write_batch(c) > 0; i++)
		;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The interfaces that are there: a capture without frames is one, too. */
static void begin(struct capture *c)
{
	char name[ROOST_DUMP_NAME_MAX];

	roost_pcapng_section(c->out, "roost " ROOST_VERSION);
	for (uint16_t i = 0; i < ROOST_DUMP_SOURCES_MAX; i++) {
		c->interfaces[i].number = NO_INTERFACE;
		roost_dump_view_name(&c->view, i, name);
		if (*name) {
			interface_of(c, i);
			c->interfaces[i].nb = 0;
		}
	}
}

/* Returns false: the output cannot be written. */
static bool end(struct capture *c)
{
	const uint64_t lost = roost_dump_view_lost(&c->view);

	for (uint16_t i = 0; i < ROOST_DUMP_SOURCES_MAX; i++)
		if (c->interfaces[i].number != NO_INTERFACE)
			roost_pcapng_statistics(c->out, c->interfaces[i].number,
						now_ns(), c->interfaces[i].nb,
						lost);
	return fflush(c->out) == 0 && !ferror(c->out);
}

/* ---- from the beginning to the end ----------------------------------------
 */

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

/* SIGPIPE: a reader of ours that ends ends us, without a word. */
static void catch_signals(void)
{
	const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = stop };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int fail(const char *path, int error)
{
	fprintf(stderr, "roost: dump: %s: %s; choose another file with -w\n",
		path, strerror(error));
	return ROOST_EXIT_FAILED;
}

static FILE *open_output(const char *path)
{
	return strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
}

static int run(struct capture *c, const char *path)
{
	bool ok;

	c->out = open_output(path);
	if (!c->out)
		return fail(path, errno);
	errno = 0;
	begin(c);
	follow(c);
	ok = end(c);
	if (!ok && errno != EPIPE)
		return fail(path, errno);
	fprintf(stderr,
		"roost: dump: %" PRIu64 " frames; %" PRIu64
		" others not recorded for lack of room\n",
		c->nb, roost_dump_view_lost(&c->view));
	if (c->out != stdout)
		fclose(c->out);
	else if (!ok)
		clearerr(stdout);
	return ROOST_EXIT_OK;
}

static int capture(struct options *o)
{
	static struct capture c;
	char request[2 * REQUEST_MAX], err[ROOST_CTL_ERR_MAX];
	int len, memory, ret;

	len = snprintf(request, sizeof(request), "dump %s %s %s%s", o->dev,
		       o->snaplen, o->kib, o->filter);
	if (len >= REQUEST_MAX) {
		fputs("roost: dump: the filters are too long; give fewer of "
		      "them\n",
		      stderr);
		return ROOST_EXIT_USAGE;
	}
	ret = roost_ctl_choose("dump", false, &o->pid);
	if (ret)
		return ret;
	c.max = o->max;
	c.socket = roost_ctl_capture(o->pid, request, &memory, err);
	if (c.socket < 0) {
		fprintf(stderr, "roost: %s\n", err);
		return ROOST_EXIT_REFUSED;
	}
	ret = roost_dump_view_open(&c.view, memory);
	close(memory);
	if (ret == 0) {
		ret = run(&c, o->path);
		roost_dump_view_close(&c.view);
	} else {
		fprintf(stderr,
			"roost: process %d: its memory is no capture: %s; do "
			"not believe it, or use the roost of the same "
			"version\n",
			o->pid, strerror(-ret));
		ret = ROOST_EXIT_REFUSED;
	}
	close(c.socket);
	return ret;
}

/* ---- options --------------------------------------------------------------
 */

int roost_dump_help(void)
{
	fputs("Usage: roost dump [--pid PID] [-i DEV] [-c N] [-s BYTES] "
	      "[-w FILE]\n"
	      "                  [--qp QPN] [--cm-id ID] [--addr ADDR]\n"
	      "\n"
	      "Write the frames of a running process, or of roostd, as pcapng: "
	      "for wireshark,\n"
	      "tshark and tcpdump. Comments say which frames were dropped, and "
	      "why, and which\n"
	      "were sent again.\n"
	      "\n"
	      "  roost dump -w - | tcpdump -r -\n"
	      "  roost dump -w - | wireshark -k -i -\n"
	      "\n"
	      "Options:\n"
	      "  --pid PID            which process; not needed where there is "
	      "one\n"
	      "  -i, --dev DEV        which device of it: roost0, ...\n"
	      "  --qp QPN             frames from and to this QP\n"
	      "  --cm-id ID           messages of the CM with this "
	      "communication id\n"
	      "  --addr ADDR          frames from or to this IP address\n"
	      "                       (each up to 8 times)\n"
	      "  -c N                 end after N frames\n"
	      "  -s, --snaplen BYTES  of each frame; " SNAPLEN_DEFAULT
	      " if not given\n"
	      "  -B, --buffer KIB     memory in the process; " KIB_DEFAULT
	      " if not given\n"
	      "  -w FILE              write there; -: to stdout, as it is if "
	      "that is no terminal\n"
	      "  -h, --help           this text\n"
	      "\n"
	      "roost-dump(1) tells more.\n",
	      stdout);
	return ROOST_EXIT_OK;
}

static bool is(const char *word, const char *name, const char *letter)
{
	return strcmp(word, name) == 0 || strcmp(word, letter) == 0;
}

/* Filters go to the process as they are; it knows their values. */
static void add_filter(struct options *o, const char *word, const char *value)
{
	int len = snprintf(o->filter + o->filter_len,
			   sizeof(o->filter) - o->filter_len, " %s %s", word,
			   value);

	/* Too long: the request will be, too. */
	o->filter_len += (size_t)len;
	if (o->filter_len >= sizeof(o->filter))
		o->filter_len = sizeof(o->filter) - 1;
}

static int take_count(struct options *o, const char *value)
{
	char *end;

	errno = 0;
	o->max = strtoull(value, &end, 10);
	if (*value >= '0' && *value <= '9' && !*end && !errno && o->max > 0)
		return ROOST_EXIT_OK;
	fprintf(stderr, "roost: dump: -c %.40s: give a number from 1\n", value);
	return ROOST_EXIT_USAGE;
}

static int take_value(struct options *o, const char *option, const char *value)
{
	if (strcmp(option, "-w") == 0)
		o->path = value;
	else if (strcmp(option, "--pid") == 0)
		return roost_ctl_take_pid(value, &o->pid);
	else if (is(option, "--dev", "-i"))
		o->dev = value;
	else if (is(option, "--snaplen", "-s"))
		o->snaplen = value;
	else if (is(option, "--buffer", "-B"))
		o->kib = value;
	else if (strcmp(option, "--qp") == 0)
		add_filter(o, "qp", value);
	else if (strcmp(option, "--cm-id") == 0)
		add_filter(o, "cm-id", value);
	else if (strcmp(option, "--addr") == 0)
		add_filter(o, "address", value);
	else
		return take_count(o, value);
	return ROOST_EXIT_OK;
}

static int take_option(struct options *o, const char *option, const char *value)
{
	static const char *const known[] = {
		"--pid",     "--dev",    "--qp",   "--cm-id", "--addr",
		"--snaplen", "--buffer", "--help", "-i",      "-c",
		"-s",        "-B",       "-w",
	};
	const size_t nb = sizeof(known) / sizeof(known[0]);
	char advice[ROOST_NAME_ADVICE_MAX];
	size_t i = 0;

	while (i < nb && strcmp(option, known[i]) != 0)
		i++;
	if (i == nb) {
		fprintf(stderr, "roost: dump: %s: unknown %s; %s\n", option,
			*option == '-' ? "option" : "word",
			roost_name_advise(advice, option, known, nb, "*",
					  "see roost help dump"));
		return ROOST_EXIT_USAGE;
	}
	/* Words of a request: not empty, and without blanks. */
	if (!value || !*value ||
	    (strcmp(option, "-w") != 0 && strpbrk(value, " \t\n"))) {
		fprintf(stderr,
			"roost: dump: %s: no value behind it; see roost help "
			"dump\n",
			option);
		return ROOST_EXIT_USAGE;
	}
	return take_value(o, option, value);
}

static int parse(struct options *o, char **argv)
{
	int ret = ROOST_EXIT_OK;

	for (; *argv && ret == ROOST_EXIT_OK && !o->help; argv++) {
		if (is(*argv, "--help", "-h")) {
			o->help = true;
			continue;
		}
		ret = take_option(o, argv[0], argv[1]);
		argv += ret == ROOST_EXIT_OK;
	}
	return ret;
}

int roost_dump(char **argv)
{
	struct options o = {
		.dev = "-",
		.snaplen = SNAPLEN_DEFAULT,
		.kib = KIB_DEFAULT,
	};
	int ret = parse(&o, argv);

	if (ret != ROOST_EXIT_OK)
		return ret;
	if (o.help)
		return roost_dump_help();
	if (!o.path && !isatty(STDOUT_FILENO))
		o.path = "-";
	if (!o.path || (strcmp(o.path, "-") == 0 && isatty(STDOUT_FILENO))) {
		fputs("roost: dump: stdout is a terminal; write -w FILE, or "
		      "pipe it: roost dump | tcpdump -r -\n",
		      stderr);
		return ROOST_EXIT_USAGE;
	}
	catch_signals();
	return capture(&o);
}
