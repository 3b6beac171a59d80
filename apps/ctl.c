/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/ctl.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "apps/ctl_print.h"
#include "apps/ctl_socket.h"
#include "apps/exit_code.h"
#include "lib/config/nearest.h"

#define PIDS_MAX 4096

static const char usage[] =
	"Usage: roost ctl [--pid PID] [--dev DEV] [--port N] [-j] COMMAND "
	"[ARG...]\n"
	"\n"
	"See and change the devices of a process that runs over Roost.\n"
	"\n"
	"Commands:\n"
	"  list                        the processes, their devices and ports\n"
	"  show [TOPIC]                all, or device, port, qp, cq, srq, "
	"channel,\n"
	"                              worker, counters\n"
	"  link up|down                the port's carrier\n"
	"  address add|del ADDR/LEN    an address, and its GID\n"
	"  pkey INDEX VALUE            an entry of the P_Key table; 0 clears "
	"it\n"
	"  lid VALUE                   the port's LID; 0: as its address has "
	"it\n"
	"  sm-lid VALUE                the subnet manager's LID\n"
	"  re-register                 ask clients to register again\n"
	"  remove                      unplug the port, for good\n"
	"\n"
	"Options:\n"
	"  --pid PID                   which process; not needed where there "
	"is one\n"
	"  --dev DEV                   which device: roost0, ...\n"
	"  --port N                    which port of it, from 1\n"
	"  -j, --json                  print JSON\n"
	"  -h, --help                  this text\n"
	"\n"
	"roost-ctl(1) tells more.\n";

int roost_ctl_help(void)
{
	fputs(usage, stdout);
	return ROOST_EXIT_OK;
}

struct options {
	pid_t pid; /* 0: not given */
	const char *dev;
	const char *port;
	bool json;
	bool help;
	char **words; /* the command */
};

static int fail(int exit_code, const char *what)
{
	fprintf(stderr, "roost: %s\n", what);
	return exit_code;
}

/* ---- options ---------------------------------------------------------------
 */

static int take_pid(struct options *o, const char *text)
{
	char *end;
	long pid = strtol(text, &end, 10);

	if (*text == '\0' || *end || pid <= 0 || pid > INT32_MAX) {
		fprintf(stderr,
			"roost: --pid %.40s: no process has such a number; "
			"see roost ctl list\n",
			text);
		return ROOST_EXIT_USAGE;
	}
	o->pid = (pid_t)pid;
	return ROOST_EXIT_OK;
}

/* A word of the request: a blank would make two of it. */
static bool is_word(const char *text)
{
	return *text && !strpbrk(text, " \t\n");
}

static int take_value(struct options *o, const char *option, const char *value)
{
	if (!value || !is_word(value)) {
		fprintf(stderr, "roost: %s: no value behind it; write %s %s\n",
			option, option,
			strcmp(option, "--pid") == 0   ? "PID"
			: strcmp(option, "--dev") == 0 ? "DEV"
						       : "N");
		return ROOST_EXIT_USAGE;
	}
	if (strcmp(option, "--pid") == 0)
		return take_pid(o, value);
	if (strcmp(option, "--dev") == 0)
		o->dev = value;
	else
		o->port = value;
	return ROOST_EXIT_OK;
}

static bool is_one_of(const char *word, const char *name, const char *letter)
{
	return strcmp(word, name) == 0 || strcmp(word, letter) == 0;
}

/* Takes an option and its value. Returns how many words these are, 0: none,
 * one line on stderr has said why.
 */
static unsigned int take_option(struct options *o, char **argv)
{
	static const char *const known[] = { "--pid", "--dev", "--port",
					     "--json", "--help" };
	const size_t nb = sizeof(known) / sizeof(known[0]);

	if (is_one_of(*argv, "--json", "-j")) {
		o->json = true;
		return 1;
	}
	if (is_one_of(*argv, "--help", "-h")) {
		o->help = true;
		return 1;
	}
	for (size_t i = 0; i < 3; i++)
		if (strcmp(*argv, known[i]) == 0)
			return take_value(o, argv[0], argv[1]) ? 0 : 2;
	fprintf(stderr,
		"roost: %s: unknown option; the nearest known one is %s\n",
		*argv, roost_name_nearest(*argv, known, nb));
	return 0;
}

/* Options stand before, between and behind the words of the command. */
static int parse(struct options *o, char **argv)
{
	char **word = argv;
	unsigned int taken;

	*o = (struct options){ .dev = "-", .port = "-", .words = argv };
	while (*argv && !o->help) {
		if (**argv != '-') {
			*word++ = *argv++;
			continue;
		}
		taken = take_option(o, argv);
		if (taken == 0)
			return ROOST_EXIT_USAGE;
		argv += taken;
	}
	*word = NULL;
	return ROOST_EXIT_OK;
}

/* ---- which process ---------------------------------------------------------
 */

static int choose(struct options *o)
{
	static pid_t pids[PIDS_MAX];
	size_t nb;

	if (o->pid)
		return ROOST_EXIT_OK;
	nb = roost_ctl_find_pids(pids, PIDS_MAX);
	if (nb == 0)
		return fail(ROOST_EXIT_REFUSED,
			    "ctl: no process of yours has a Roost device open "
			    "in this network namespace; start one with roost "
			    "run, or look in another one");
	if (nb > 1) {
		fprintf(stderr,
			"roost: ctl: several processes have Roost devices "
			"open; choose one with --pid:");
		for (size_t i = 0; i < nb; i++)
			fprintf(stderr, " %d", pids[i]);
		fputs("\n", stderr);
		return ROOST_EXIT_REFUSED;
	}
	o->pid = pids[0];
	return ROOST_EXIT_OK;
}

/* ---- commands --------------------------------------------------------------
 */

/* Takes text, the answer; NULL: there was none. */
static struct json_object *parse_json(pid_t pid, char *text, char *err)
{
	struct json_object *answer;

	if (!text)
		return NULL;
	answer = json_tokener_parse(text);
	free(text);
	if (json_object_is_type(answer, json_type_object)) {
		/* Whoever answers may say that it is another one. */
		json_object_object_add(answer, "pid", json_object_new_int(pid));
		return answer;
	}
	json_object_put(answer);
	snprintf(err, ROOST_CTL_ERR_MAX,
		 "process %d: its answer is no JSON; use the roost of the same "
		 "version",
		 pid);
	return NULL;
}

static void print_json(struct json_object *document)
{
	puts(json_object_to_json_string_ext(
		document,
		JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
}

/* The processes to ask for a list. Returns their number. */
static size_t choose_all(const struct options *o,
			 struct roost_ctl_question **questions)
{
	static pid_t pids[PIDS_MAX];
	size_t nb = roost_ctl_find_pids(pids, PIDS_MAX);

	if (o->pid) {
		pids[0] = o->pid;
		nb = 1;
	}
	*questions = calloc(nb ? nb : 1, sizeof(**questions));
	if (!*questions)
		return 0;
	for (size_t i = 0; i < nb; i++)
		(*questions)[i].pid = pids[i];
	return nb;
}

static int list(const struct options *o)
{
	struct json_object *all = json_object_new_array(), *one;
	struct roost_ctl_question *questions;
	size_t nb = choose_all(o, &questions);

	roost_ctl_ask_all(questions, nb, "show port",
			  ROOST_CTL_SHORT_ANSWER_MAX);
	for (size_t i = 0; i < nb; i++) {
		struct roost_ctl_question *q = &questions[i];

		one = parse_json(q->pid, q->answer, q->err);
		if (one)
			json_object_array_add(all, one);
		else
			fprintf(stderr, "roost: %s\n", q->err);
	}
	free(questions);
	if (o->json)
		print_json(all);
	else
		roost_ctl_print_list(stdout, all);
	nb -= json_object_array_length(all);
	json_object_put(all);
	return nb ? ROOST_EXIT_REFUSED : ROOST_EXIT_OK;
}

static int show(const struct options *o, const char *request)
{
	char err[ROOST_CTL_ERR_MAX];
	struct json_object *document =
		parse_json(o->pid, roost_ctl_ask(o->pid, request, err), err);

	if (!document)
		return fail(ROOST_EXIT_REFUSED, err);
	if (o->json)
		print_json(document);
	else
		roost_ctl_print(stdout, document);
	json_object_put(document);
	return ROOST_EXIT_OK;
}

static int set(const struct options *o, const char *request)
{
	char err[ROOST_CTL_ERR_MAX];
	char *answer = roost_ctl_ask(o->pid, request, err);

	if (!answer)
		return fail(ROOST_EXIT_REFUSED, err);
	free(answer);
	return ROOST_EXIT_OK;
}

/* The words of the command line as one request. Returns false: too long. */
static bool make_request(const struct options *o, bool is_show, char *request,
			 size_t size)
{
	int len =
		is_show ? 0
			: snprintf(request, size, "set %s %s", o->dev, o->port);

	for (char **word = o->words; *word && len < (int)size; word++)
		len += snprintf(request + len, size - (size_t)len, "%s%s",
				len ? " " : "", *word);
	return len < (int)size;
}

static int check_words(char **words)
{
	if (!*words)
		return fail(ROOST_EXIT_USAGE,
			    "ctl: no command; write roost ctl list, show, or "
			    "see roost help ctl");
	for (; *words; words++)
		if (!is_word(*words))
			return fail(ROOST_EXIT_USAGE,
				    "ctl: a word is empty or has a blank in "
				    "it; see roost help ctl");
	return ROOST_EXIT_OK;
}

int roost_ctl(char **argv)
{
	struct options o;
	char request[256];
	bool is_show;
	int ret = parse(&o, argv);

	if (ret)
		return ret;
	if (o.help)
		return roost_ctl_help();
	ret = check_words(o.words);
	if (ret)
		return ret;
	if (strcmp(o.words[0], "list") == 0)
		return list(&o);
	is_show = strcmp(o.words[0], "show") == 0;
	if (!make_request(&o, is_show, request, sizeof(request)))
		return fail(ROOST_EXIT_USAGE,
			    "ctl: the words are too long; see roost help ctl");
	ret = choose(&o);
	if (ret)
		return ret;
	return is_show ? show(&o, request) : set(&o, request);
}
