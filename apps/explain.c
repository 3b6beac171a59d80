/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/explain.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "apps/ctl_socket.h"
#include "apps/exit_code.h"
#include "lib/config/nearest.h"

#define PIDS_MAX 4096
#define ANSWER_MS 5000
#define REQUEST_MAX 128
#define LINE_COLUMNS 80
#define INDENT 2

struct options {
	pid_t pid; /* 0: all */
	bool json;
	bool help;
	const char *word; /* NULL: none yet */
};

/* ---- output ---------------------------------------------------------------
 */

/* Print words in lines that fit a terminal; indent: of all but the first. */
static void print_wrapped(const char *text, int indent)
{
	int column = printf("%*s", INDENT, "");
	const char *begin = text;

	while (*text) {
		int len = (int)strcspn(text, " ");

		if (text != begin && column + 1 + len > LINE_COLUMNS)
			column = printf("\n%*s", indent, "") - 1;
		else if (text != begin)
			column += printf(" ");
		column += printf("%.*s", len, text);
		text += len + (text[len] == ' ');
	}
	puts("");
}

static const char *member(struct json_object *object, const char *name)
{
	const char *text =
		json_object_get_string(json_object_object_get(object, name));

	return text ? text : "";
}

static void print_object(struct json_object *process, struct json_object *o)
{
	struct json_object *story = json_object_object_get(o, "story");
	const char *cause = member(o, "cause");

	printf("Process %s (%s)\n", member(process, "pid"),
	       member(process, "program"));
	print_wrapped(*cause ? cause : "nothing is known to be wrong", INDENT);
	for (size_t i = 0; json_object_is_type(story, json_type_array) &&
			   i < json_object_array_length(story);
	     i++)
		print_wrapped(json_object_get_string(
				      json_object_array_get_idx(story, i)),
			      INDENT + INDENT);
}

static void print_all(struct json_object *processes)
{
	for (size_t i = 0; i < json_object_array_length(processes); i++) {
		struct json_object *process =
			json_object_array_get_idx(processes, i);
		struct json_object *objects =
			json_object_object_get(process, "objects");

		for (size_t k = 0;
		     json_object_is_type(objects, json_type_array) &&
		     k < json_object_array_length(objects);
		     k++)
			print_object(process,
				     json_object_array_get_idx(objects, k));
	}
}

/* ---- questions ------------------------------------------------------------
 */

/* The answer of a process that knows the object; NULL: it does not. */
static struct json_object *take_answer(struct roost_ctl_question *q, char *err)
{
	struct json_object *process =
		q->answer ? json_tokener_parse(q->answer) : NULL;

	if (!q->answer)
		memcpy(err, q->err, ROOST_CTL_ERR_MAX);
	free(q->answer);
	if (json_object_is_type(process, json_type_object)) {
		json_object_object_add(process, "pid",
				       json_object_new_int(q->pid));
		return process;
	}
	json_object_put(process);
	return NULL;
}

/* The caller puts it. err: why nobody has answered. */
static struct json_object *ask(const struct options *o, char *err)
{
	static struct roost_ctl_question questions[PIDS_MAX];
	static pid_t pids[PIDS_MAX] = { 0 };
	struct json_object *processes = json_object_new_array(), *one;
	char request[REQUEST_MAX];
	size_t nb = 1;

	pids[0] = o->pid;
	if (!o->pid)
		nb = roost_ctl_find_pids(pids, PIDS_MAX);
	snprintf(request, sizeof(request), "explain %.100s", o->word);
	snprintf(err, ROOST_CTL_ERR_MAX,
		 "no process of yours has a Roost device open in this network "
		 "namespace; start one with roost run, or look in another one");
	for (size_t i = 0; i < nb; i++)
		questions[i] = (struct roost_ctl_question){ .pid = pids[i] };
	roost_ctl_ask_all(questions, nb, request, ROOST_CTL_SHORT_ANSWER_MAX,
			  ANSWER_MS);
	for (size_t i = 0; i < nb; i++) {
		one = take_answer(&questions[i], err);
		if (one)
			json_object_array_add(processes, one);
	}
	if (nb > 1)
		snprintf(err, ROOST_CTL_ERR_MAX,
			 "%.40s: none of %zu processes has such an object; "
			 "name a QP number, a CM id, the port of a listener, "
			 "or a device; see roost ctl show",
			 o->word, nb);
	return processes;
}

/* ---- options --------------------------------------------------------------
 */

int roost_explain_help(void)
{
	fputs("Usage: roost explain [--pid PID] [-j] "
	      "QP|CM-ID|LISTEN-PORT|DEVICE\n"
	      "\n"
	      "The story of a queue pair, a connection, a listener or a "
	      "device in sentences:\n"
	      "what is wrong with it, what happened to it and when, what it "
	      "waits for. All\n"
	      "processes are asked that have a device open.\n"
	      "\n"
	      "  QP       its number, as programs and roost ctl show qp print "
	      "it: 17, 0x11\n"
	      "  CM-ID    the communication id of a connection, as roost ctl "
	      "show cm prints it\n"
	      "  LISTEN-PORT  the port number of a listener, as 7471\n"
	      "  DEVICE   roost0, ...\n"
	      "\n"
	      "Options:\n"
	      "  --pid PID     this process only\n"
	      "  -j, --json    JSON\n"
	      "  -h, --help    this text\n"
	      "\n"
	      "roost-explain(1) tells more.\n",
	      stdout);
	return ROOST_EXIT_OK;
}

static int usage(const char *word, const char *what)
{
	fprintf(stderr, "roost: explain%s%.40s: %s\n", *word ? " " : "", word,
		what);
	return ROOST_EXIT_USAGE;
}

static int unknown(const char *word)
{
	static const char *const known[] = { "--pid", "--json", "--help" };
	char advice[ROOST_NAME_ADVICE_MAX];

	fprintf(stderr, "roost: explain: %s: unknown option; %s\n", word,
		roost_name_advise(advice, word, known,
				  sizeof(known) / sizeof(known[0]), "*",
				  "see roost help explain"));
	return ROOST_EXIT_USAGE;
}

static int take_pid(struct options *o, const char *text)
{
	char *end = NULL;
	long pid = text ? strtol(text, &end, 10) : 0;

	if (!text || !*text || *end || pid <= 0 || pid > INT32_MAX)
		return usage("--pid", "write the number of a process behind "
				      "it; see roost ctl list");
	o->pid = (pid_t)pid;
	return ROOST_EXIT_OK;
}

static int take_word(struct options *o, const char *word)
{
	if (!*word || strpbrk(word, " \t\n"))
		return usage("",
			     "the name is empty or has a blank in it; name "
			     "a QP number, a CM id, the port of a listener, or "
			     "a device");
	if (o->word)
		return usage(word, "one object at a time; leave one out");
	o->word = word;
	return ROOST_EXIT_OK;
}

static int parse(struct options *o, char **argv)
{
	int ret = ROOST_EXIT_OK;

	for (; *argv && ret == ROOST_EXIT_OK && !o->help; argv++) {
		if (strcmp(*argv, "--json") == 0 || strcmp(*argv, "-j") == 0) {
			o->json = true;
		} else if (strcmp(*argv, "--help") == 0 ||
			   strcmp(*argv, "-h") == 0) {
			o->help = true;
		} else if (strcmp(*argv, "--pid") == 0) {
			ret = take_pid(o, argv[1]);
			argv += ret == ROOST_EXIT_OK;
		} else if (**argv == '-') {
			ret = unknown(*argv);
		} else {
			ret = take_word(o, *argv);
		}
	}
	if (ret == ROOST_EXIT_OK && !o->help && !o->word)
		return usage("",
			     "no object; name a QP number, a CM id, the port "
			     "of a listener, or a device such as roost0");
	return ret;
}

int roost_explain(char **argv)
{
	struct options o = { .pid = 0 };
	struct json_object *processes;
	char err[ROOST_CTL_ERR_MAX];
	int ret = parse(&o, argv);

	if (ret != ROOST_EXIT_OK)
		return ret;
	if (o.help)
		return roost_explain_help();
	processes = ask(&o, err);
	if (json_object_array_length(processes) == 0) {
		fprintf(stderr, "roost: explain: %s\n", err);
		ret = ROOST_EXIT_REFUSED;
	} else if (o.json) {
		puts(json_object_to_json_string_ext(
			processes, JSON_C_TO_STRING_PRETTY |
					   JSON_C_TO_STRING_NOSLASHESCAPE));
	} else {
		print_all(processes);
	}
	json_object_put(processes);
	return ret;
}
