/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apps/command.h"
#include "apps/elf_file.h"

/* The kernel's limits on nested interpreters, and on the `#!` line. */
#define INTERPRETERS_MAX 5u
#define LINE_MAX_BYTES 256u
#define ARGS_MAX 64u
/* Nested commands of env(1). */
#define COMMANDS_MAX 8u
/* The value of $LIB on Debian; elsewhere lib or lib64. */
#if defined(__x86_64__)
#define MULTIARCH "lib/x86_64-linux-gnu"
#elif defined(__aarch64__)
#define MULTIARCH "lib/aarch64-linux-gnu"
#else
#define MULTIARCH "lib"
#endif

struct look {
	const char *dirs;
	struct roost_command_word *word;
	/* The script that the interpreter runs; empty: no script. */
	char script[PATH_MAX];
};

static void say(struct look *look, bool cannot_run, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void say(struct look *look, bool cannot_run, const char *format, ...)
{
	char *line = look->word->line;
	size_t room = sizeof(look->word->line);
	va_list args;
	size_t len = 0;

	if (!cannot_run)
		len += (size_t)snprintf(line, room, "warning: ");
	else
		len += (size_t)snprintf(line, room, "cannot run ");
	if (look->script[0])
		len += (size_t)snprintf(line + len, room - len,
					"'%s': its interpreter ", look->script);
	va_start(args, format);
	vsnprintf(line + len, room - len, format, args);
	va_end(args);
	/* Quoted input of users must not break the line. */
	for (; *line; line++)
		if ((unsigned char)*line < ' ')
			*line = '?';
	look->word->cannot_run = cannot_run;
}

/* ---- libraries that are found before ours ---------------------------------
 */

/* Is the file the library in our directories? Compares inodes, as there may be
 * symbolic links.
 */
static bool is_ours(const struct look *look, const char *library,
		    const struct stat *st)
{
	char path[2 * PATH_MAX];
	const char *dir = look->dirs;
	struct stat own;

	for (; *dir; dir += strspn(dir, ":")) {
		const int len = (int)strcspn(dir, ":");

		snprintf(path, sizeof(path), "%.*s/%s", len, dir, library);
		if (stat(path, &own) == 0 && own.st_dev == st->st_dev &&
		    own.st_ino == st->st_ino)
			return true;
		dir += len;
	}
	return false;
}

static bool is_foreign(const struct look *look, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat st;

	if (stat(path, &st) != 0)
		return false;
	return !is_ours(look, slash ? slash + 1 : path, &st);
}

/* The value of the dynamic linker's token at at; NULL: there is no token. */
static const char *token(const char *at, size_t *len, const char *origin,
			 const char *lib)
{
	static const char *const names[] = { "ORIGIN", "LIB", "PLATFORM" };
	const bool braces = at[1] == '{';
	const char *name = at + 1 + braces, *platform;

	for (size_t i = 0; i < 3; i++) {
		const size_t n = strlen(names[i]);

		if (strncmp(name, names[i], n) != 0 ||
		    (braces && name[n] != '}'))
			continue;
		*len = 1 + n + 2 * braces;
		platform = (const char *)getauxval(AT_PLATFORM);
		return i == 0     ? origin
		       : i == 1   ? lib
		       : platform ? platform
				  : "";
	}
	return NULL;
}

/* Copy one directory of the list and replace its tokens. Returns false: too
 * long.
 */
static bool expand(const char *dir, size_t len, const char *origin,
		   const char *lib, char *to)
{
	const char *end = dir + len;
	size_t at = 0;

	while (dir < end) {
		size_t taken = 1;
		const char *text =
			*dir == '$' ? token(dir, &taken, origin, lib) : NULL;
		const int n = snprintf(to + at, PATH_MAX - at, "%.*s",
				       text ? (int)strlen(text) : 1,
				       text ? text : dir);

		at += (size_t)n;
		if (at >= PATH_MAX)
			return false;
		dir += text ? taken : 1;
	}
	to[at] = '\0';
	return at > 0;
}

/* Find the first library in DT_RPATH that is not ours. */
static bool find_by_rpath(const struct look *look, const char *rpath,
			  const char *origin, char *found)
{
	/* The possible values of $LIB. */
	static const char *const libs[] = { "lib", "lib64", MULTIARCH };
	char dir[PATH_MAX];

	for (; *rpath; rpath += strspn(rpath, ":")) {
		const size_t len = strcspn(rpath, ":");

		for (size_t i = 0; i < 3; i++) {
			if (!expand(rpath, len, origin, libs[i], dir))
				continue;
			for (size_t k = 0; roost_elf_libraries[k]; k++) {
				if (snprintf(found, PATH_MAX, "%s/%s", dir,
					     roost_elf_libraries[k]) <
					    PATH_MAX &&
				    is_foreign(look, found))
					return true;
			}
		}
		rpath += len;
	}
	return false;
}

/* ---- one file -------------------------------------------------------------
 */

/* Does the kernel run foreign programs by an emulator (binfmt_misc)? */
static bool emulates(void)
{
	static const char dir_name[] = "/proc/sys/fs/binfmt_misc";
	struct dirent *entry;
	bool found = false;
	DIR *dir = opendir(dir_name);

	while (dir && !found && (entry = readdir(dir)))
		found = entry->d_name[0] != '.' &&
			strcmp(entry->d_name, "register") != 0 &&
			strcmp(entry->d_name, "status") != 0;
	if (dir)
		closedir(dir);
	return found;
}

/* Is it a 32-bit program of this processor? The kernel may run it. */
static bool is_narrow(const struct roost_elf *elf)
{
	struct roost_elf own;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int ret = fd < 0 ? -1 : roost_elf_read(fd, &own);

	if (fd >= 0)
		close(fd);
	return ret == 0 && elf->class < own.class && elf->data == own.data;
}

static void look_at_foreign(struct look *look, const char *path,
			    const struct roost_elf *elf)
{
	char machine[48];

	look->word->is_alien = true;
	roost_elf_machine(elf, machine);
	if (is_narrow(elf) || emulates())
		say(look, false,
		    "%s is a program for another architecture (%s): Roost's "
		    "libraries cannot be in it, and it runs without; use one "
		    "that was built for this machine",
		    path, machine);
	else
		say(look, true,
		    "'%s': it is for another architecture (%s); use one that "
		    "was built for this machine",
		    path, machine);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void look_at_linker(struct look *look, const char *path,
			   const struct roost_elf *elf, const char *own_interp)
{
	if (access(elf->interp, F_OK) != 0 && errno == ENOENT)
		say(look, true,
		    "'%s': its dynamic linker %s is not here; install the C "
		    "library that it was built for",
		    path, elf->interp);
	else if (own_interp[0] &&
		 strcmp(base_name(elf->interp), base_name(own_interp)) != 0) {
		look->word->is_alien = true;
		say(look, false,
		    "%s is built for another C library (%s): Roost's libraries "
		    "do not work in it; use a program that was built for %s",
		    path, elf->interp, own_interp);
	}
}

static void read_own_interp(char *interp)
{
	struct roost_elf own;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	interp[0] = '\0';
	if (fd >= 0 && roost_elf_read(fd, &own) == 0)
		strcpy(interp, own.interp);
	if (fd >= 0)
		close(fd);
}

/* Get $ORIGIN: the directory of the file, without symbolic links. */
static void find_origin(const char *path, char *origin)
{
	char *slash;

	origin[0] = '\0';
	if (!realpath(path, origin))
		return;
	slash = strrchr(origin, '/');
	if (slash)
		*slash = '\0';
}

static void look_at_libraries(struct look *look, const char *path,
			      const struct roost_elf *elf, int fd)
{
	char origin[PATH_MAX], found[PATH_MAX];

	find_origin(path, origin);
	if (elf->needed_path[0] && is_foreign(look, elf->needed_path))
		say(look, false,
		    "%s needs %s by its full path, and gets that instead of "
		    "Roost's; link it with -libverbs and -lrdmacm",
		    path, elf->needed_path);
	else if (find_by_rpath(look, elf->rpath, origin, found))
		say(look, false,
		    "%s has a DT_RPATH that finds %s before Roost's; take it "
		    "out (\"chrpath -d\") or make it a RUNPATH (\"chrpath "
		    "-c\")",
		    path, found);
	else if (roost_elf_find_path(fd, found), is_foreign(look, found))
		say(look, false,
		    "%s names %s by its full path: what it opens so is not "
		    "Roost's; let it open \"%s\"",
		    path, found, base_name(found));
}

static void look_at_elf(struct look *look, const char *path,
			const struct roost_elf *elf, int fd)
{
	char own_interp[PATH_MAX];

	if (!roost_elf_is_native(elf)) {
		look_at_foreign(look, path, elf);
		return;
	}
	if (elf->is_linker)
		return; /* a linker uses LD_LIBRARY_PATH for its argument */
	if (!elf->interp[0]) {
		say(look, false,
		    "%s is statically linked: it loads no libraries, and runs "
		    "without Roost; link it dynamically (what it starts can "
		    "use Roost)",
		    path);
		return;
	}
	read_own_interp(own_interp);
	look_at_linker(look, path, elf, own_interp);
	if (!look->word->line[0])
		look_at_libraries(look, path, elf, fd);
}

/* ---- scripts and env ------------------------------------------------------
 */

/* The words of a command that is to be checked next. */
struct words {
	char text[LINE_MAX_BYTES];
	char *argv[ARGS_MAX + 1];
};

/*
 * Parse `#! interpreter [argument]` as the kernel does. Returns false: it is no
 * such line.
 */
static bool read_line(int fd, struct words *words)
{
	char text[LINE_MAX_BYTES] = "";
	char *p = words->text, *end;
	unsigned int nb = 0;

	if (pread(fd, text, sizeof(text) - 1, 0) < 3 || text[0] != '#' ||
	    text[1] != '!')
		return false;
	/* Not earlier: the words of the present command may be in words. */
	memcpy(words->text, text, sizeof(text));
	p += 2;
	p[strcspn(p, "\n")] = '\0';
	end = p + strlen(p);
	while (end > p && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	p += strspn(p, " \t");
	if (*p == '\0')
		return false;
	words->argv[nb++] = p;
	p += strcspn(p, " \t");
	if (*p) {
		*p++ = '\0';
		/* The rest of the line is one argument. */
		words->argv[nb++] = p + strspn(p, " \t");
	}
	words->argv[nb] = NULL;
	return true;
}

/* Split the argument of `env -S` at blanks; quotes are not interpreted. */
static void split(const char *text, char *const *rest, struct words *words)
{
	unsigned int nb = 0;
	char *save = NULL;

	snprintf(words->text, sizeof(words->text), "%s", text);
	for (char *word = strtok_r(words->text, " \t", &save);
	     word && nb < ARGS_MAX; word = strtok_r(NULL, " \t", &save))
		words->argv[nb++] = word;
	for (; *rest && nb < ARGS_MAX; rest++)
		words->argv[nb++] = *rest;
	words->argv[nb] = NULL;
}

/* Does NAME or NAME=VALUE remove Roost's directories from LD_LIBRARY_PATH? */
static bool is_dropped(const struct look *look, const char *name)
{
	static const char variable[] = "LD_LIBRARY_PATH";
	const size_t len = strlen(variable);

	if (strncmp(name, variable, len) != 0)
		return false;
	return name[len] == '\0' ||
	       (name[len] == '=' && !strstr(name, look->dirs));
}

/* The value of an option of env: "-uNAME", "-u NAME", "--unset=NAME"; *argv
 * becomes its last word. NULL: it is another option, or has no value.
 */
static char *env_value(char *const **argv, char letter, const char *name)
{
	char *word = **argv;
	const size_t len = strlen(name);

	if (strncmp(word, name, len) == 0 && word[len] == '=')
		return word + len + 1;
	if (word[1] != letter)
		return NULL;
	if (word[2])
		return word + 2;
	if (!(*argv)[1])
		return NULL;
	return *++*argv;
}

/* Skip env's options. Returns the command that env starts; NULL: none, or not
 * known. words: for -S.
 */
static char *const *look_at_env(struct look *look, const char *path,
				char *const *argv, struct words *words)
{
	bool drops = false;
	char *value;

	argv++;
	while (*argv && (*argv)[0] == '-') {
		const char *o = *argv;

		if (strcmp(o, "--") == 0) {
			argv++;
			break;
		}
		drops |= strcmp(o, "-") == 0 || strcmp(o, "-i") == 0 ||
			 strcmp(o, "--ignore-environment") == 0;
		value = env_value(&argv, 'S', "--split-string");
		if (value) {
			split(value, argv + 1, words);
			argv = words->argv;
			continue;
		}
		value = env_value(&argv, 'u', "--unset");
		drops |= value && is_dropped(look, value);
		if (!value)
			env_value(&argv, 'C', "--chdir");
		argv++;
	}
	for (; *argv && strchr(*argv, '='); argv++)
		drops |= is_dropped(look, *argv);
	if (drops && *argv)
		say(look, false,
		    "%s drops LD_LIBRARY_PATH, by which Roost's libraries are "
		    "found: %s runs without Roost; put roost run behind env",
		    path, *argv);
	return *argv ? argv : NULL;
}

static bool is_env(const char *path)
{
	return strcmp(base_name(path), "env") == 0;
}

static void look_at_privileges(struct look *look, const char *path)
{
	if (roost_command_is_privileged(path))
		say(look, false,
		    "%s is setuid, setgid or has file capabilities: the "
		    "system's libraries will be used, not Roost's; run it as "
		    "root or run a plain copy",
		    path);
}

/*
 * Check one file. Returns true: it is a script, and line has its interpreter
 * and argument.
 */
static bool look_at_file(struct look *look, const char *path,
			 struct words *line)
{
	char found[PATH_MAX];
	struct roost_elf elf;
	bool is_script;
	int ret;
	/* A user may have the right to execute it, but not to read it. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0) {
		look_at_privileges(look, path);
		return false;
	}
	is_script = read_line(fd, line);
	if (is_script) {
		/* The kernel ignores setuid of scripts. */
		roost_elf_find_path(fd, found);
		if (is_foreign(look, found))
			say(look, false,
			    "%s names %s by its full path: what it opens so is "
			    "not Roost's; let it open \"%s\"",
			    path, found, base_name(found));
	} else {
		ret = roost_elf_read(fd, &elf);
		look->word->is_elf |= ret != -ENOEXEC;
		/* env itself does not use Roost's libraries. */
		if (ret == 0 && !is_env(path))
			look_at_elf(look, path, &elf, fd);
		if (!look->word->cannot_run)
			look_at_privileges(look, path);
	}
	close(fd);
	return is_script;
}

/* Follow a script to the program that runs it. Returns the words of env's
 * command line if that program is env(1); NULL: the check is complete.
 */
static char *const *look_at_chain(struct look *look, char *const *argv,
				  struct words *line, char *path)
{
	static char *words[ARGS_MAX + 1];
	unsigned int nb;

	if (!roost_command_find(argv[0], path))
		return NULL;
	for (unsigned int i = 0; look_at_file(look, path, line); i++) {
		if (look->word->line[0] || i == INTERPRETERS_MAX)
			return NULL;
		if (!look->script[0])
			snprintf(look->script, sizeof(look->script), "%s",
				 path);
		if (access(line->argv[0], F_OK) != 0 && errno == ENOENT) {
			say(look, true,
			    "%s is not here; install it, or mend "
			    "the first line of the script",
			    line->argv[0]);
			return NULL;
		}
		snprintf(path, PATH_MAX, "%s", line->argv[0]);
		/* For env(1): the words of the `#!` line. The script, which
		 * would be the last word, is left out.
		 */
		for (nb = 0; line->argv[nb]; nb++)
			words[nb] = line->argv[nb];
		words[nb] = NULL;
		argv = words;
	}
	return look->word->line[0] || !is_env(path) ? NULL : argv;
}

void roost_command_look(char *const *argv, const char *dirs,
			struct roost_command_word *word)
{
	/* Static: too big for the stack. */
	static struct words lines[COMMANDS_MAX], splits[COMMANDS_MAX];
	static struct look look;
	char path[PATH_MAX];

	memset(word, 0, sizeof(*word));
	look = (struct look){ .dirs = dirs, .word = word };
	for (unsigned int i = 0; argv && *argv && i < COMMANDS_MAX; i++) {
		argv = look_at_chain(&look, argv, &lines[i], path);
		/* Continue with the command that env starts. */
		if (argv)
			argv = look_at_env(&look, path, argv, &splits[i]);
		if (word->line[0])
			return;
	}
}
