/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/run.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apps/command.h"
#include "apps/exit_code.h"
#include "apps/hub.h"
#include "apps/picture.h"
#include "apps/picture_mount.h"
#include "apps/run_init.h"
#include "apps/run_options.h"
#include "apps/service.h"
#include "apps/shim.h"
#include <roost/config.h>
#include "lib/config/resolve.h"
#include "pmd_glue/share/hub.h"

static const char purpose[] =
	"\n"
	"Run CMD with Roost's verbs library in front of the system's.\n"
	"Options win over ROOST_* variables, and these over the file; without "
	"any,\n"
	"it is the system's roostd if there is one, else this user's --hub.\n"
	"\n";

int roost_run_help(void)
{
	roost_run_options_synopsis(stdout);
	fputs(purpose, stdout);
	roost_run_options_describe(stdout);
	fputs("\nroost(1) tells more, roost.conf(5) the file and the "
	      "variables.\n",
	      stdout);
	return ROOST_EXIT_OK;
}

/* Has the value only characters that a shell needs no quotes for? */
static bool is_plain(const char *value)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789_./:,=@%+-";

	return value[strspn(value, plain)] == '\0';
}

static int print_variable(void *arg, const char *name, const char *value)
{
	const char *now = getenv(name);

	(void)arg;
	/* An empty value counts as not set, and fits into a line. */
	if (!value && (!now || *now == '\0'))
		return 0;
	if (!value)
		value = "";
	if (is_plain(value)) {
		printf("%s=%s\n", name, value);
		return 0;
	}
	printf("%s='", name);
	for (; *value; value++) {
		if (*value == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*value);
	}
	puts("'");
	return 0;
}

static int set_variable(void *arg, const char *name, const char *value)
{
	int ret = value ? setenv(name, value, 1) : unsetenv(name);

	(void)arg;
	return ret ? -errno : 0;
}

/* The shims' directories, separated by colons; put_environment() sets it. */
static char dirs[ROOST_SHIM_DIRS_MAX];

static int fail(int exit_code, const char *what)
{
	fprintf(stderr, "roost: %s\n", what);
	return exit_code;
}

/* exe: PATH_MAX bytes. */
static int find_exe(char *exe)
{
	ssize_t len = readlink("/proc/self/exe", exe, PATH_MAX - 1);

	if (len < 0)
		return fail(ROOST_EXIT_FAILED,
			    "/proc/self/exe: cannot be "
			    "read, so the shims cannot be found; mount /proc");
	exe[len] = '\0';
	return ROOST_EXIT_OK;
}

/* If a port is the hub, there has to be one. */
static int hold_hub(const struct roost_config *config, const char *exe)
{
	char err[ROOST_HUB_ERR_MAX];

	for (unsigned int i = 0; i < config->nb_ports; i++)
		if (strcmp(config->ports[i].service, "hub") == 0)
			return roost_hub_hold(exe, err)
				       ? fail(ROOST_EXIT_FAILED, err)
				       : ROOST_EXIT_OK;
	return ROOST_EXIT_OK;
}

/* Call put() for each variable with which the program uses Roost. */
static int put_environment(const struct roost_config *config, const char *exe,
			   int (*put)(void *arg, const char *name,
				      const char *value))
{
	char err[ROOST_CONFIG_ERR_MAX];
	char *library_path;
	int ret;

	if (roost_shim_find(exe, dirs, err))
		return fail(ROOST_EXIT_FAILED, err);
	library_path = roost_shim_library_path(dirs, getenv("LD_LIBRARY_PATH"));
	ret = library_path ? put(NULL, "LD_LIBRARY_PATH", library_path)
			   : -ENOMEM;
	free(library_path);
	if (ret == 0)
		ret = roost_config_export(config, put, NULL);
	if (ret)
		return fail(ROOST_EXIT_FAILED, "environment: out of memory; "
					       "free some");
	return ROOST_EXIT_OK;
}

/* ---- the devices in /sys -------------------------------------------------
 */

/* The option, or else the variable. */
static int choose_sysfs(enum roost_run_sysfs *sysfs, char *err)
{
	static const char variable[] = "ROOST_SYSFS";
	const char *value = getenv(variable);

	if (*sysfs != ROOST_RUN_SYSFS_DEFAULT || !value || *value == '\0')
		return 0;
	return roost_run_sysfs_parse(sysfs, variable, value, err);
}

/* value: freed; NULL: no memory. */
static int set_and_free(const char *name, char *value)
{
	int ret = value ? setenv(name, value, 1) : -1;

	free(value);
	return ret ? -ENOMEM : 0;
}

static int preload(const char *library)
{
	static const char asan[] = "ASAN_OPTIONS";
	const char *options = getenv(asan);
	char *value = NULL;
	int ret =
		set_and_free("LD_PRELOAD",
			     roost_shim_preload(library, getenv("LD_PRELOAD")));

	/* libasan wants to be the first library, for the sake of malloc(). This
	 * one has none.
	 */
	if (ret == 0 &&
	    (!options || !strstr(options, "verify_asan_link_order")))
		ret = asprintf(&value, "verify_asan_link_order=0%s%s",
			       options ? ":" : "", options ? options : "") < 0
			      ? -ENOMEM
			      : set_and_free(asan, value);
	return ret;
}

/* Without a picture, a program runs as well; one line says why. Who asks for a
 * mount needs it. Returns enum roost_exit_code.
 */
static int show_devices(const struct roost_config *config, const char *exe,
			bool mount)
{
	char library[PATH_MAX], picture[ROOST_PICTURE_PATH_MAX];
	char err[ROOST_PICTURE_ERR_MAX];

	if ((!mount && roost_shim_find_preload(exe, library, err)) ||
	    roost_picture_start(config, picture, err)) {
		fprintf(stderr, "roost: %s\n", err);
		return mount ? ROOST_EXIT_FAILED : ROOST_EXIT_OK;
	}
	if (mount && roost_picture_mount(picture, err))
		return fail(ROOST_EXIT_FAILED, err);
	if ((!mount && preload(library)) ||
	    setenv(ROOST_PICTURE_VARIABLE, picture, 1))
		fprintf(stderr, "roost: environment: out of memory; free "
				"some\n");
	return ROOST_EXIT_OK;
}

/* ---- the command ---------------------------------------------------------
 */

static struct sigaction inherited; /* of SIGCHLD */

static int become(char **command, const struct roost_config *config,
		  const char *exe, enum roost_run_sysfs sysfs)
{
	static struct roost_command_word word;
	char path[PATH_MAX];
	const bool mount = sysfs == ROOST_RUN_SYSFS_MOUNT;
	int error, ret;

	roost_command_look(command, dirs, &word);
	if (word.line[0])
		fprintf(stderr, "roost: %s\n", word.line);
	if (word.cannot_run)
		return ROOST_EXIT_CANNOT_RUN;
	unsetenv(ROOST_PICTURE_VARIABLE);
	if (mount || (sysfs != ROOST_RUN_SYSFS_NONE && !word.is_alien)) {
		ret = show_devices(config, exe, mount);
		if (ret)
			return ret;
	}
	sigaction(SIGCHLD, &inherited, NULL);
	/* If the kernel refuses a file, execvp() runs a shell on it: avoid that
	 * for ELF files.
	 */
	if (word.is_elf && roost_command_find(command[0], path))
		execv(path, command);
	else
		execvp(command[0], command);
	error = errno;
	if (error == ENOENT) {
		fprintf(stderr,
			"roost: cannot run '%s': %s; check the name "
			"and PATH\n",
			command[0], strerror(error));
		return ROOST_EXIT_NOT_FOUND;
	}
	fprintf(stderr,
		"roost: cannot run '%s': %s; name an executable "
		"file\n",
		command[0], strerror(error));
	return ROOST_EXIT_CANNOT_RUN;
}

int roost_run(char **argv)
{
	static struct roost_run_options options;
	static struct roost_config config;
	char err[ROOST_CONFIG_ERR_MAX];
	char exe[PATH_MAX];
	int ret;

	if (roost_run_options_parse(&options, argv, err))
		return fail(ROOST_EXIT_USAGE, err);
	if (options.help)
		return roost_run_help();
	if (choose_sysfs(&options.sysfs, err))
		return fail(ROOST_EXIT_USAGE, err);
	if (!*options.command && !options.print_env)
		return fail(ROOST_EXIT_USAGE,
			    "run: no command; write roost "
			    "run [OPTION...] -- CMD [ARG...]");
	ret = roost_config_resolve(&config, options.file, environ,
				   &options.config, err);
	if (ret)
		return fail(ROOST_EXIT_USAGE, err);
	roost_config_tell_unknown(&config);
	ret = find_exe(exe);
	if (ret)
		return ret;
	roost_service_find(&config, getenv("ROOST_SERVICE"),
			   ROOST_SHARE_SYSTEM_SOCKET);
	if (options.print_env)
		return put_environment(&config, exe, print_variable);
	if (getpid() == 1 && roost_run_init())
		return fail(ROOST_EXIT_FAILED, "run: no process for the "
					       "program; raise the limit of "
					       "processes");
	/* Before LD_LIBRARY_PATH names the shims. */
	/* We wait for children of ours, whatever we inherited. */
	sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_DFL },
		  &inherited);
	ret = hold_hub(&config, exe);
	if (!ret)
		ret = put_environment(&config, exe, set_variable);
	if (ret)
		return ret;
	return become(options.command, &config, exe, options.sysfs);
}
