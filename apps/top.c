/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/top.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "apps/ctl_socket.h"
#include "apps/exit_code.h"
#include "apps/thread_stat.h"
#include "apps/top_rows.h"
#include "apps/top_screen.h"
#include "apps/top_text.h"
#include "lib/config/nearest.h"

#define PIDS_MAX 4096
/* Processes that do not answer within this are left out this time. */
#define ANSWER_MS 1000
#define ANSWER_MAX (ROOST_CTL_ANSWER_MAX / 4)
#define INTERVAL_DEFAULT_S 1.0
#define INTERVAL_MIN_S 0.1
#define INTERVAL_MAX_S 3600.0
/* Rows of a table; JSON has all. */
#define ROWS_MAX 100u

struct options {
	pid_t pid; /* 0: all */
	double interval_s;
	bool once;
	bool json;
};

/* All processes at one time. */
struct sample {
	struct json_object *processes;
	struct timespec at;
	size_t nb_silent;            /* that were asked and did not answer */
	char err[ROOST_CTL_ERR_MAX]; /* of one of them */
};

/* ---- what processes show --------------------------------------------------
 */

static void add_thread(struct json_object *threads, pid_t pid, const char *tid)
{
	char name[ROOST_THREAD_NAME_MAX];
	struct json_object *thread;
	uint64_t cpu_ns;

	if (!roost_thread_stat(pid, tid, name, &cpu_ns) ||
	    strncmp(name, "roost", strlen("roost")) != 0)
		return;
	thread = json_object_new_object();
	json_object_object_add(thread, "tid", json_object_new_int(atoi(tid)));
	json_object_object_add(thread, "name", json_object_new_string(name));
	json_object_object_add(thread, "cpu_ns",
			       json_object_new_uint64(cpu_ns));
	json_object_array_add(threads, thread);
}

/* Roost's own; a program that polls does Roost's work in its own, too. */
static struct json_object *threads_of(pid_t pid)
{
	struct json_object *threads = json_object_new_array();
	struct dirent *entry;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			add_thread(threads, pid, entry->d_name);
	if (dir)
		closedir(dir);
	return threads;
}

static void take_answer(struct sample *sample, struct roost_ctl_question *q)
{
	struct json_object *process =
		q->answer ? json_tokener_parse(q->answer) : NULL;

	if (json_object_is_type(process, json_type_object)) {
		json_object_object_add(process, "pid",
				       json_object_new_int(q->pid));
		json_object_object_add(process, "threads", threads_of(q->pid));
		json_object_array_add(sample->processes, process);
	} else {
		json_object_put(process);
		sample->nb_silent++;
		if (q->answer)
			snprintf(sample->err, sizeof(sample->err),
				 "process %d: its answer is no JSON; use the "
				 "roost of the same version",
				 q->pid);
		else
			memcpy(sample->err, q->err, sizeof(sample->err));
	}
	free(q->answer);
}

/* The caller puts the processes. */
static struct sample take_sample(const struct options *o)
{
	static struct roost_ctl_question questions[PIDS_MAX];
	static pid_t pids[PIDS_MAX] = { 0 };
	struct sample sample = { .processes = json_object_new_array() };
	size_t nb = 1;

	pids[0] = o->pid;
	if (!o->pid)
		nb = roost_ctl_find_pids(pids, PIDS_MAX);
	for (size_t i = 0; i < nb; i++)
		questions[i] = (struct roost_ctl_question){ .pid = pids[i] };
	roost_ctl_ask_all(questions, nb, "show", ANSWER_MAX, ANSWER_MS);
	clock_gettime(CLOCK_MONOTONIC, &sample.at);
	for (size_t i = 0; i < nb; i++)
		take_answer(&sample, &questions[i]);
	return sample;
}

static double seconds_between(const struct timespec *a,
			      const struct timespec *b)
{
	return (double)(b->tv_sec - a->tv_sec) +
	       (double)(b->tv_nsec - a->tv_nsec) / 1e9;
}

/* The rows since the sample, which becomes the next one. */
static struct json_object *next_rows(const struct options *o,
				     struct sample *sample)
{
	struct sample now = take_sample(o);
	struct json_object *rows =
		roost_top_rows(sample->processes, now.processes,
			       seconds_between(&sample->at, &now.at));

	json_object_put(sample->processes);
	*sample = now;
	return rows;
}

/* ---- output ---------------------------------------------------------------
 */

static void sleep_s(double seconds)
{
	struct timespec left = {
		.tv_sec = (time_t)seconds,
		.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9),
	};

	while (nanosleep(&left, &left) != 0)
		;
}

/* The caller frees it. NULL: no memory. */
static char *text_of(struct json_object *rows)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	roost_top_print(out, rows, ROWS_MAX);
	return fclose(out) == 0 ? text : NULL;
}

/* Without the marks of the lines of names. */
static void print_text(struct json_object *rows)
{
	char *text = text_of(rows);

	for (const char *at = text; at && *at; at++)
		if (*at != ROOST_TOP_NAMES)
			putchar(*at);
	free(text);
}

static int fail(const struct sample *sample)
{
	if (sample->nb_silent)
		fprintf(stderr, "roost: top: %s\n", sample->err);
	else
		fprintf(stderr,
			"roost: top: no process of yours has a Roost device "
			"open in this network namespace; start one with roost "
			"run, or look in another one\n");
	return ROOST_EXIT_REFUSED;
}

/* For scripts: once, or a line of JSON for each interval. */
static int follow(const struct options *o, struct sample *sample)
{
	struct json_object *rows;

	do {
		sleep_s(o->interval_s);
		rows = next_rows(o, sample);
		if (!o->json)
			print_text(rows);
		else
			puts(json_object_to_json_string_ext(
				rows, (o->once ? JSON_C_TO_STRING_PRETTY
					       : JSON_C_TO_STRING_PLAIN) |
					      JSON_C_TO_STRING_NOSLASHESCAPE));
		json_object_put(rows);
	} while (!o->once && fflush(stdout) == 0);
	if (!sample->nb_silent)
		return ROOST_EXIT_OK;
	return fail(sample);
}

static int watch(const struct options *o, struct sample *sample)
{
	char title[128], clock[16];
	struct json_object *rows;
	struct tm tm;
	time_t now;
	char *text;

	if (!roost_top_screen_open()) {
		fprintf(stderr,
			"roost: top: this type of terminal is not known; set "
			"TERM, or use --once\n");
		return ROOST_EXIT_FAILED;
	}
	do {
		rows = next_rows(o, sample);
		text = text_of(rows);
		now = time(NULL);
		strftime(clock, sizeof(clock), "%H:%M:%S",
			 localtime_r(&now, &tm));
		snprintf(title, sizeof(title),
			 "roost top  %s  %zu processes%s  q: quit", clock,
			 json_object_array_length(sample->processes),
			 sample->nb_silent ? ", some do not answer" : "");
		roost_top_screen_show(title, text ? text : "");
		free(text);
		json_object_put(rows);
	} while (roost_top_screen_wait((unsigned int)(o->interval_s * 1000)));
	roost_top_screen_close();
	return ROOST_EXIT_OK;
}

/* ---- options --------------------------------------------------------------
 */

int roost_top_help(void)
{
	fputs("Usage: roost top [--once] [--json] [--interval SECONDS] "
	      "[--pid PID]\n"
	      "\n"
	      "What the devices, workers, clients and queue pairs of all "
	      "processes do now,\n"
	      "the busiest first; of roostd, its clients. Keys: q quits; "
	      "arrows and pages scroll.\n"
	      "\n"
	      "Options:\n"
	      "  --once               one interval, as text, and end\n"
	      "  -j, --json           JSON: all rows, a line for each "
	      "interval\n"
	      "  --interval SECONDS   0.1 to 3600; 1 if not given\n"
	      "  --pid PID            this process only\n"
	      "  -h, --help           this text\n"
	      "\n"
	      "roost-top(1) tells more.\n",
	      stdout);
	return ROOST_EXIT_OK;
}

static int take_number(const char *option, const char *text, double least,
		       double most, double *value)
{
	char *end = NULL;

	if (text)
		*value = strtod(text, &end);
	if (text && *text && *end == '\0' && *value >= least && *value <= most)
		return ROOST_EXIT_OK;
	fprintf(stderr,
		"roost: top: %s: write a number behind it, from %.10g to "
		"%.10g\n",
		option, least, most);
	return ROOST_EXIT_USAGE;
}

static int unknown(const char *word)
{
	static const char *const known[] = { "--once", "--json", "--interval",
					     "--pid", "--help" };
	char advice[ROOST_NAME_ADVICE_MAX];

	fprintf(stderr, "roost: top: %s: unknown option; %s\n", word,
		roost_name_advise(advice, word, known,
				  sizeof(known) / sizeof(known[0]), "*",
				  "see roost help top"));
	return ROOST_EXIT_USAGE;
}

/* *help: the user wants nothing but that. */
static int parse(struct options *o, char **argv, bool *help)
{
	double number;
	int ret = ROOST_EXIT_OK;

	*help = false;
	for (; *argv && ret == ROOST_EXIT_OK && !*help; argv++) {
		const char *word = *argv;

		if (strcmp(word, "--once") == 0) {
			o->once = true;
		} else if (strcmp(word, "--json") == 0 ||
			   strcmp(word, "-j") == 0) {
			o->json = true;
		} else if (strcmp(word, "--help") == 0 ||
			   strcmp(word, "-h") == 0) {
			*help = true;
		} else if (strcmp(word, "--interval") == 0) {
			ret = take_number(word, argv[1], INTERVAL_MIN_S,
					  INTERVAL_MAX_S, &o->interval_s);
			argv += ret == ROOST_EXIT_OK;
		} else if (strcmp(word, "--pid") == 0) {
			ret = take_number(word, argv[1], 1, INT32_MAX, &number);
			if (ret == ROOST_EXIT_OK)
				o->pid = (pid_t)number;
			argv += ret == ROOST_EXIT_OK;
		} else {
			ret = unknown(word);
		}
	}
	return ret;
}

int roost_top(char **argv)
{
	struct options o = { .interval_s = INTERVAL_DEFAULT_S };
	struct sample sample;
	bool help, nobody;
	int ret = parse(&o, argv, &help);

	if (ret != ROOST_EXIT_OK)
		return ret;
	if (help)
		return roost_top_help();
	if (!o.once && !o.json && !isatty(STDOUT_FILENO)) {
		fputs("roost: top: stdout is no terminal; use --once or "
		      "--json\n",
		      stderr);
		return ROOST_EXIT_USAGE;
	}
	sample = take_sample(&o);
	nobody = json_object_array_length(sample.processes) == 0;
	/* A script gets its JSON in any case. */
	if (!nobody || o.json)
		ret = o.once || o.json ? follow(&o, &sample)
				       : watch(&o, &sample);
	if (nobody && ret == ROOST_EXIT_OK)
		ret = fail(&sample);
	json_object_put(sample.processes);
	return ret;
}
