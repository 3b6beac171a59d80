/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/cable/link_others.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmd_glue/process/open_file.h"

/* Network namespaces that are searched; more are skipped. */
#define SPACES_MAX 64u
#define OTHERS_MAX 3u
#define LISTENS 0x10000u /* flag of a socket in net/unix */
#define REST_MAX 108     /* "NAME/END" */

struct other {
	uid_t uid;
	pid_t pid;     /* 0: not known */
	bool is_apart; /* in another network namespace */
};

/* Network namespaces by the inode of their net/unix, which any user may read.
 */
struct spaces {
	ino_t own;
	ino_t seen[SPACES_MAX];
	unsigned int nb;
};

static ino_t space_of(const char *pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%.20s/net/unix", pid);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* Is the namespace another one than ours, and not seen yet? */
static bool is_new(struct spaces *s, ino_t space)
{
	if (space == 0 || space == s->own || s->nb == SPACES_MAX)
		return false;
	for (unsigned int i = 0; i < s->nb; i++)
		if (s->seen[i] == space)
			return false;
	s->seen[s->nb++] = space;
	return true;
}

/* The pid of the process in that namespace that has the socket; 0: not known.
 */
static pid_t owner(ino_t space, unsigned long inode)
{
	const struct dirent *e;
	DIR *proc = opendir("/proc");
	char socket[64];
	pid_t pid = 0;

	snprintf(socket, sizeof(socket), "socket:[%lu]", inode);
	while (proc && pid == 0 && (e = readdir(proc)) != NULL)
		if (isdigit((unsigned char)e->d_name[0]) &&
		    space_of(e->d_name) == space &&
		    roost_open_file_is_of(e->d_name, socket))
			pid = (pid_t)strtol(e->d_name, NULL, 10);
	if (proc)
		closedir(proc);
	return pid;
}

/* Is path the claim of an end of a link of that name? *uid: its user. */
static bool parse_claim(const char *path, const char *name, uid_t *uid)
{
	char rest[REST_MAX];
	unsigned int user, end;

	/* "@roost/UID/NAME/END"; abstract names may end with @ where zeros
	 * stand.
	 */
	if (sscanf(path, "@roost/%u/%107[^\n]", &user, rest) != 2)
		return false;
	for (end = 1; end <= 2; end++) {
		char wanted[REST_MAX + 16];

		snprintf(wanted, sizeof(wanted), "%s/%u", name, end);
		if (strcmp(rest, wanted) == 0) {
			*uid = user;
			return true;
		}
	}
	return false;
}

/* Find the claims in the network namespace of process pid. Returns how many. */
static unsigned int look(const char *pid, bool is_apart, const char *name,
			 struct other *others, unsigned int max)
{
	char path[64], line[512];
	unsigned int nb = 0, flags;
	unsigned long inode;
	const char *at;
	uid_t uid;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.20s/net/unix", pid);
	file = fopen(path, "re");
	while (file && nb < max && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		at = strchr(line, '@');
		if (!at || !parse_claim(at, name, &uid) ||
		    (!is_apart && uid == getuid()) ||
		    sscanf(line, "%*s %*s %*s %x %*s %*s %lu", &flags,
			   &inode) != 2 ||
		    !(flags & LISTENS))
			continue; /* a connection has the name of its claim */
		others[nb++] = (struct other){
			.uid = uid,
			.pid = owner(space_of(pid), inode),
			.is_apart = is_apart,
		};
	}
	if (file)
		fclose(file);
	return nb;
}

/* Find processes that hold an end of a link of this name, but belong to another
 * user or are in another network namespace. Returns how many, max at most.
 */
static unsigned int find_others(const char *name, struct other *others,
				unsigned int max)
{
	struct spaces spaces = { .own = space_of("self") };
	unsigned int nb = look("self", false, name, others, max);
	const struct dirent *e;
	DIR *proc = opendir("/proc");

	while (proc && nb < max && (e = readdir(proc)) != NULL)
		if (isdigit((unsigned char)e->d_name[0]) &&
		    is_new(&spaces, space_of(e->d_name)))
			nb += look(e->d_name, true, name, others + nb,
				   max - nb);
	if (proc)
		closedir(proc);
	return nb;
}

void roost_link_waits_for(const char *name, char *text, size_t size)
{
	struct other others[OTHERS_MAX];
	unsigned int nb = find_others(name, others, OTHERS_MAX);
	size_t len;
	char who[64];

	snprintf(text, size,
		 "nobody has its other end: it waits for another process of "
		 "user %u in this network namespace with --link %s",
		 getuid(), name);
	for (unsigned int i = 0; i < nb; i++) {
		len = strlen(text);
		if (others[i].pid)
			snprintf(who, sizeof(who), "process %d of user %u",
				 others[i].pid, others[i].uid);
		else
			snprintf(who, sizeof(who), "user %u", others[i].uid);
		snprintf(text + len, size - len, "; %s has one of that name%s",
			 who,
			 others[i].is_apart ? " in another network namespace"
					    : "");
	}
	if (nb == 0)
		return;
	len = strlen(text);
	snprintf(text + len, size - len,
		 ": a link joins processes of one user in one network "
		 "namespace");
}
