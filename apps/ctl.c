/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/ctl.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "apps/ctl_choose.h"
#include "apps/ctl_print.h"
#include "apps/ctl_socket.h"
#include "apps/exit_code.h"
#include "lib/config/nearest.h"

#define PIDS_MAX 4096
/* Processes that do not answer a list within this are left out of it. */
#define LIST_TIMEOUT_MS 1000
/* Bytes of a request, with the zero; the process's limit counts a newline. */
#define REQUEST_MAX 256

struct options {
	pid_t pid; /* 0: not given */
	const char *dev;
	const char *port;
	bool json;
	bool help;
	char **words; /* the command */
};

/* A command of roost ctl; usage lists its words. */
struct command {
	const char *name;
	const char *usage;
	const char *summary;
	unsigned int nb_words_min, nb_words_max; /* after the name */
	int (*run)(const struct options *o);
};

static int fail(int exit_code, const char *what)
{
	fprintf(stderr, "roost: %s\n", what);
	return exit_code;
}

/* ---- options ---------------------------------------------------------------
 */

/* Is it one word of a request: not empty, and without blanks? */
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
		return roost_ctl_take_pid(value, &o->pid);
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

/* Take an option and its value. Returns the number of their words; 0: an error,
 * with one line on stderr.
 */
static unsigned int take_option(struct options *o, char **argv)
{
	static const char *const known[] = { "--pid", "--dev", "--port",
					     "--json", "--help" };
	const size_t nb = sizeof(known) / sizeof(known[0]);
	char advice[ROOST_NAME_ADVICE_MAX];

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
	fprintf(stderr, "roost: %s: unknown option; %s\n", *argv,
		roost_name_advise(advice, *argv, known, nb, "*",
				  "see roost help ctl"));
	return 0;
}

/* Parse options, which may be before, between and after the command's words. */
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

/* ---- commands --------------------------------------------------------------
 */

/* Parse the answer, and free text. text NULL: there is no answer. */
static struct json_object *parse_json(pid_t pid, char *text, char *err)
{
	struct json_object *answer;

	if (!text)
		return NULL;
	answer = json_tokener_parse(text);
	free(text);
	if (json_object_is_type(answer, json_type_object)) {
		/* Set the pid that was asked: the answer may have another one.
		 */
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

/* Choose the processes to ask for a list. Returns their number. */
static size_t choose_all(const struct options *o,
			 struct roost_ctl_question **questions)
{
	static pid_t pids[PIDS_MAX];
	size_t nb = 1;

	pids[0] = o->pid;
	if (!o->pid)
		nb = roost_ctl_find_pids(pids, PIDS_MAX);
	*questions = calloc(nb ? nb : 1, sizeof(**questions));
	if (!*questions)
		return 0;
	for (size_t i = 0; i < nb; i++)
		(*questions)[i].pid = pids[i];
	return nb;
}

static int list(const struct options *o)
{
	struct json_object *all, *one;
	struct roost_ctl_question *questions;
	size_t nb;

	if (strcmp(o->dev, "-") != 0 || strcmp(o->port, "-") != 0)
		return fail(ROOST_EXIT_USAGE,
			    "ctl list: it has all devices and ports; leave "
			    "--dev and --port out");
	all = json_object_new_array();
	nb = choose_all(o, &questions);
	roost_ctl_ask_all(questions, nb, "show port",
			  ROOST_CTL_SHORT_ANSWER_MAX, LIST_TIMEOUT_MS);
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

/* Send a request. len: its full length; with REQUEST_MAX or more it was
 * truncated. daemon: it is for one. *pid: the process that answered.
 */
static int ask(const struct options *given, bool daemon, const char *request,
	       int len, char **answer, pid_t *pid)
{
	char err[ROOST_CTL_ERR_MAX];
	struct options o = *given;
	int ret;

	if (len >= REQUEST_MAX)
		return fail(ROOST_EXIT_USAGE,
			    "ctl: the words are too long; see roost help ctl");
	ret = roost_ctl_choose("ctl", daemon, &o.pid);
	if (ret)
		return ret;
	*pid = o.pid;
	*answer = roost_ctl_ask(o.pid, request, err);
	return *answer ? ROOST_EXIT_OK : fail(ROOST_EXIT_REFUSED, err);
}

/* Is it of daemons, and not of devices? */
static bool is_of_daemons(const char *topic)
{
	return strcmp(topic, "shared") == 0 || strcmp(topic, "clients") == 0;
}

/* Show. An older process does not accept a device in the request. */
static int show(const struct options *o)
{
	const char *topic = o->words[1] ? o->words[1] : "-";
	const bool daemon = is_of_daemons(topic);
	char request[REQUEST_MAX], err[ROOST_CTL_ERR_MAX];
	struct json_object *document;
	char *answer;
	pid_t pid;
	int len, ret;

	if (daemon && (strcmp(o->dev, "-") != 0 || strcmp(o->port, "-") != 0))
		return fail(ROOST_EXIT_USAGE,
			    "ctl show: a daemon shows all of its ports and "
			    "clients; leave --dev and --port out");
	if (strcmp(o->dev, "-") != 0 || strcmp(o->port, "-") != 0)
		len = snprintf(request, sizeof(request), "show %s %s %s", topic,
			       o->dev, o->port);
	else
		len = snprintf(request, sizeof(request), "show %s",
			       o->words[1] ? o->words[1] : "");
	ret = ask(o, daemon, request, len, &answer, &pid);
	if (ret)
		return ret;
	document = parse_json(pid, answer, err);
	if (!document)
		return fail(ROOST_EXIT_REFUSED, err);
	if (o->json)
		print_json(document);
	else
		roost_ctl_print(stdout, document);
	json_object_put(document);
	return ROOST_EXIT_OK;
}

/* Send the words behind a prefix; the answer is ok or an error. */
static int command(const struct options *o, bool daemon, char *request, int len)
{
	char *answer;
	pid_t pid;
	int ret;

	for (char **word = o->words + daemon; *word && len < REQUEST_MAX;
	     word++)
		len += snprintf(request + len, REQUEST_MAX - (size_t)len, " %s",
				*word);
	ret = ask(o, daemon, request, len, &answer, &pid);
	if (ret == ROOST_EXIT_OK)
		free(answer);
	return ret;
}

static int set(const struct options *o)
{
	char request[REQUEST_MAX];
	int len = snprintf(request, sizeof(request), "set %s %s", o->dev,
			   o->port);

	return command(o, false, request, len);
}

/* The clients of a daemon have no device: --port is a port that it shares. */
static int change_client(const struct options *o)
{
	char request[REQUEST_MAX];
	int len = snprintf(request, sizeof(request), "%s %s", o->words[0],
			   o->port);

	if (strcmp(o->dev, "-") != 0)
		return fail(ROOST_EXIT_USAGE,
			    "ctl: a daemon's clients have numbers for each "
			    "port; leave --dev out");
	return command(o, true, request, len);
}

static int help(const struct options *o __attribute__((unused)))
{
	return roost_ctl_help();
}

static const struct command commands[] = {
	{ "list", "list", "the processes, their devices and ports", 0, 0,
	  list },
	{ "show", "show [TOPIC]",
	  "all, or device, port, qp, cq, srq, channel,\n"
	  "                            cm, worker, counters, ecn, qos;\n"
	  "                            of a daemon shared, clients",
	  0, 1, show },
	{ "link", "link up|down", "the port's carrier", 1, 1, set },
	{ "address", "address add|del ADDR/LEN", "an address, and its GID", 2,
	  2, set },
	{ "pkey", "pkey INDEX VALUE",
	  "an entry of the P_Key table; 0 clears it", 2, 2, set },
	{ "lid", "lid VALUE", "the port's LID; 0: as its address has it", 1, 1,
	  set },
	{ "sm-lid", "sm-lid VALUE", "the subnet manager's LID", 1, 1, set },
	{ "ecn", "ecn NAME VALUE", "a parameter that show ecn shows", 2, 2,
	  set },
	{ "qos", "qos NAME VALUE", "a parameter that show qos shows", 2, 2,
	  set },
	{ "re-register", "re-register", "ask clients to register again", 0, 0,
	  set },
	{ "remove", "remove", "unplug the port, for good", 0, 0, set },
	{ "limit", "limit CLIENT NAME VALUE",
	  "a daemon's client: qps, connections,\n"
	  "                            half_open, services, memberships, "
	  "rate,\n"
	  "                            weight",
	  3, 3, change_client },
	{ "evict", "evict CLIENT [REASON]",
	  "a daemon's client: end it, for good", 1, 6, change_client },
	{ "help", "help", "this text", 0, 1, help },
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

int roost_ctl_help(void)
{
	fputs("Usage: roost ctl [--pid PID] [--dev DEV] [--port N] [-j] "
	      "COMMAND [ARG...]\n"
	      "\n"
	      "See and change the devices of a process that runs over Roost.\n"
	      "\n"
	      "Commands:\n",
	      stdout);
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-26s%s\n", commands[i].usage, commands[i].summary);
	fputs("\n"
	      "Options:\n"
	      "  --pid PID                 which process; not needed where "
	      "there is one\n"
	      "  --dev DEV                 which device: roost0, ...\n"
	      "  --port N                  which port of it, from 1; of a "
	      "daemon, from 0\n"
	      "  -j, --json                print JSON\n"
	      "  -h, --help                this text\n"
	      "\n"
	      "roost-ctl(1) tells more.\n",
	      stdout);
	return ROOST_EXIT_OK;
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

static const struct command *find_command(const char *name)
{
	char advice[ROOST_NAME_ADVICE_MAX];
	const char *names[COMMANDS];

	for (size_t i = 0; i < COMMANDS; i++) {
		names[i] = commands[i].name;
		if (strcmp(name, names[i]) == 0)
			return &commands[i];
	}
	fprintf(stderr, "roost: ctl %.40s: unknown command; %s\n", name,
		roost_name_advise(advice, name, names, COMMANDS, "*",
				  "see roost help ctl"));
	return NULL;
}

static int run(const struct options *o)
{
	const struct command *command = find_command(o->words[0]);
	unsigned int nb = 0;

	if (!command)
		return ROOST_EXIT_USAGE;
	while (o->words[nb + 1])
		nb++;
	if (nb < command->nb_words_min || nb > command->nb_words_max) {
		fprintf(stderr,
			"roost: ctl %s: wrong number of words; write roost ctl "
			"%s\n",
			command->name, command->usage);
		return ROOST_EXIT_USAGE;
	}
	return command->run(o);
}

int roost_ctl(char **argv)
{
	struct options o;
	int ret = parse(&o, argv);

	if (ret)
		return ret;
	if (o.help)
		return roost_ctl_help();
	ret = check_words(o.words);
	return ret ? ret : run(&o);
}
