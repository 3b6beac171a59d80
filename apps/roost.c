/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The roost command: a table of subcommands.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "apps/ctl.h"
#include "apps/doctor.h"
#include "apps/dump.h"
#include "apps/exit_code.h"
#include "apps/explain.h"
#include "apps/ports.h"
#include "apps/run.h"
#include "apps/setup.h"
#include "apps/top.h"
#include "lib/config/nearest.h"

struct command {
	const char *name;
	const char *summary;
	int (*run)(char **argv); /* argv: the words after the name */
	int (*help)(void);       /* NULL: the general help */
};

static int help(char **argv);

static const struct command commands[] = {
	{ "run", "run a program over Roost", roost_run, roost_run_help },
	{ "ports", "what could be a port here, and who has it", roost_ports,
	  roost_ports_help },
	{ "doctor", "what is wrong between here and a peer, and what to do",
	  roost_doctor, roost_doctor_help },
	{ "setup", "prepare this machine for a port on a NIC, and undo that",
	  roost_setup, roost_setup_help },
	{ "ctl", "see and change the devices of a running process", roost_ctl,
	  roost_ctl_help },
	{ "explain", "what is wrong with a queue pair or a device, and why",
	  roost_explain, roost_explain_help },
	{ "top", "what devices, queue pairs and clients do now", roost_top,
	  roost_top_help },
	{ "dump", "the frames of a running process, as pcapng", roost_dump,
	  roost_dump_help },
	{ "help", "this text, or the help of a command", help, NULL },
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_general_help(FILE *out)
{
	fputs("Usage: roost COMMAND [ARG...]\n"
	      "       roost --help | --version\n"
	      "\n"
	      "RDMA on ordinary NICs: unmodified verbs programs over DPDK "
	      "ports.\n"
	      "\n"
	      "Commands:\n",
	      out);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-8s%s\n", commands[i].name,
			commands[i].summary);
	fputs("\n"
	      "'roost help COMMAND' tells more. First steps, in two "
	      "terminals:\n"
	      "  roost run -- ibv_rc_pingpong\n"
	      "  roost run -- ibv_rc_pingpong localhost\n",
	      out);
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
	fprintf(stderr, "roost: %s: unknown command; %s\n", name,
		roost_name_advise(advice, name, names, COMMANDS, "*",
				  "see roost --help"));
	return NULL;
}

static int help(char **argv)
{
	const struct command *command;

	if (*argv) {
		command = find_command(*argv);
		if (!command)
			return ROOST_EXIT_USAGE;
		if (command->help)
			return command->help();
	}
	print_general_help(stdout);
	return ROOST_EXIT_OK;
}

static int unknown_option(const char *word)
{
	static const char *const known[] = { "--help", "--version" };
	char advice[ROOST_NAME_ADVICE_MAX];

	fprintf(stderr, "roost: %s: unknown option; %s\n", word,
		roost_name_advise(advice, word, known, 2, "*",
				  "see roost --help"));
	return ROOST_EXIT_USAGE;
}

static int dispatch(char **argv)
{
	const struct command *command;

	if (!*argv) {
		print_general_help(stderr);
		return ROOST_EXIT_USAGE;
	}
	if (strcmp(*argv, "--help") == 0 || strcmp(*argv, "-h") == 0)
		return help(argv + 1);
	if (strcmp(*argv, "--version") == 0) {
		puts("roost " ROOST_VERSION);
		return ROOST_EXIT_OK;
	}
	if (**argv == '-')
		return unknown_option(*argv);
	command = find_command(*argv);
	return command ? command->run(argv + 1) : ROOST_EXIT_USAGE;
}

int main(int argc, char **argv)
{
	int ret = dispatch(argc > 0 ? argv + 1 : argv);

	/* If stdout could not be written, the command has failed. */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr,
			"roost: stdout: %s; make room or close the "
			"other end later\n",
			strerror(errno));
		return ROOST_EXIT_FAILED;
	}
	return ret;
}
