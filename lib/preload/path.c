/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/preload/path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	char path[ROOST_PICTURE_PATH_MAX];
	size_t len; /* 0: there is none */
} picture;

void roost_preload_set_picture(const char *path)
{
	size_t len = path && *path == '/' ? strlen(path) : 0;

	if (len >= sizeof(picture.path))
		len = 0;
	memcpy(picture.path, len ? path : "", len + 1);
	picture.len = len;
}

size_t roost_preload_hidden(const char *path, size_t len)
{
	return picture.len && len > picture.len && path[picture.len] == '/' &&
			       memcmp(path, picture.path, picture.len) == 0
		       ? picture.len
		       : 0;
}

/* ---- the word ------------------------------------------------------------
 * Horspool's search (1980): of most paths it looks at each tenth byte.
 */

static const char word[] = "infiniband";

#define WORD_LEN (sizeof(word) - 1)

/* How far behind a byte the word may end next: the distance of the byte's last
 * place in the word, but for its end, from the end.
 */
static size_t step(char byte)
{
	switch (byte) {
	case 'n':
		return 1;
	case 'a':
		return 2;
	case 'b':
		return 3;
	case 'i':
		return 4;
	case 'f':
		return 7;
	default:
		return WORD_LEN;
	}
}

bool roost_preload_may_be_ours(const char *path)
{
	const size_t len = path ? strlen(path) : 0;

	for (size_t end = WORD_LEN - 1; end < len; end += step(path[end]))
		if (path[end] == word[WORD_LEN - 1] &&
		    memcmp(path + end - (WORD_LEN - 1), word, WORD_LEN - 1) ==
			    0)
			return true;
	return false;
}

/* ---- the picture ---------------------------------------------------------
 */

/* Write the directory to dir, which has size bytes. Returns its length, 0: not
 * known.
 */
static size_t get_directory(int dirfd, char *dir, size_t size)
{
	static const char fds[] = "/proc/self/fd/";
	char link[sizeof(fds) + 12], digits[12];
	size_t at = sizeof(fds) - 1, nb = 0;
	long len;

	if (dirfd == AT_FDCWD) {
		len = syscall(SYS_getcwd, dir, size);
		return len > 0 && dir[0] == '/' ? strlen(dir) : 0;
	}
	if (dirfd < 0)
		return 0;
	/* In a signal handler, by hand. */
	for (unsigned int n = (unsigned int)dirfd; n || nb == 0; n /= 10)
		digits[nb++] = (char)('0' + n % 10);
	memcpy(link, fds, at);
	while (nb > 0)
		link[at++] = digits[--nb];
	link[at] = '\0';
	len = syscall(SYS_readlinkat, AT_FDCWD, link, dir, size);
	if (len <= 0 || (size_t)len >= size || dir[0] != '/')
		return 0;
	dir[len] = '\0';
	return (size_t)len;
}

/* Is this the top of a tree in the picture? */
static bool is_top(const char *path, size_t len)
{
	static const char class[] = "/sys/class/infiniband";
	static const char devices[] = "/sys/devices/infiniband_roost";
	static const char nodes[] = "/dev/infiniband";

	if (len >= sizeof(class) - 1 &&
	    memcmp(path, class, sizeof(class) - 1) == 0)
		return !memchr(path + sizeof(class) - 1, '/',
			       len - (sizeof(class) - 1));
	return (len == sizeof(devices) - 1 &&
		memcmp(path, devices, len) == 0) ||
	       (len == sizeof(nodes) - 1 && memcmp(path, nodes, len) == 0);
}

/* A link that leads to the root. */
static bool is_root(const char *path, size_t len)
{
	static const char root[] = "/proc/self/root";

	return len == sizeof(root) - 1 && memcmp(path, root, len) == 0;
}

/* The next component behind at; *len 0: there is none. */
static const char *component(const char *at, size_t *len)
{
	at += strspn(at, "/");
	*len = strcspn(at, "/");
	return at;
}

static bool is_dot(const char *name, size_t len)
{
	return len == 1 && name[0] == '.';
}

static bool is_dot_dot(const char *name, size_t len)
{
	return len == 2 && name[0] == '.' && name[1] == '.';
}

/* If the rest of a path leaves the directory at once: what is behind `..`; else
 * NULL.
 */
static const char *behind_leaving(const char *rest)
{
	const char *name;
	size_t len;

	do {
		name = component(rest, &len);
		rest = name + len;
	} while (is_dot(name, len));
	return is_dot_dot(name, len) ? rest : NULL;
}

/* A path that leaves a top again, from the folder of the top, which has len
 * bytes at folder: the kernel, which need not have the top, gets it without the
 * detour.
 */
static const char *leave(struct roost_preload_path *to, const char *folder,
			 size_t len, const char *rest)
{
	const size_t rest_len = strlen(rest);

	if (len + rest_len >= sizeof(to->buf)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	memcpy(to->buf, folder, len);
	memcpy(to->buf + len, rest, rest_len + 1);
	return to->buf;
}

static const char *finish(struct roost_preload_path *to, size_t len,
			  const char *rest)
{
	static const char nodes[] = "/dev/infiniband";
	const size_t rest_len = strlen(rest);
	size_t name_len;
	const char *name;

	if (len + rest_len >= sizeof(to->buf)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	memcpy(to->buf + len, rest, rest_len + 1);
	name = component(rest, &name_len);
	to->is_node = len == picture.len + sizeof(nodes) - 1 && name_len != 0 &&
		      name[name_len] == '\0' && !is_dot(name, name_len);
	return to->buf;
}

/* Follow the path by its words, as far as to the top of a tree. The folders
 * above are no links, so `..` leads back.
 */
static const char *follow(const char *path, struct roost_preload_path *to,
			  size_t len)
{
	const char *rest = path, *left = NULL, *name;
	size_t name_len, folder_len = 0;
	char folder[sizeof("/sys/devices")]; /* the longest one */

	for (;;) {
		name = component(rest, &name_len);
		rest = name + name_len;
		if (name_len == 0)
			return left ? leave(to, folder, folder_len, left)
				    : path;
		if (is_dot(name, name_len))
			continue;
		if (is_dot_dot(name, name_len)) {
			while (len > picture.len && to->buf[--len] != '/')
				;
			continue;
		}
		if (len + 1 + name_len >= sizeof(to->buf))
			return path; /* the kernel says what is wrong */
		to->buf[len++] = '/';
		memcpy(to->buf + len, name, name_len);
		len += name_len;
		if (is_root(to->buf + picture.len, len - picture.len)) {
			len = picture.len;
			continue;
		}
		if (!is_top(to->buf + picture.len, len - picture.len))
			continue;
		left = behind_leaving(rest);
		if (!left)
			return finish(to, len, rest);
		folder_len = len - picture.len - name_len - 1;
		memcpy(folder, to->buf + picture.len, folder_len);
	}
}

const char *roost_preload_rewrite(int dirfd, const char *path,
				  struct roost_preload_path *to)
{
	const int error = errno;
	size_t len = 0;

	to->is_node = false;
	if (picture.len == 0)
		return path;
	memcpy(to->buf, picture.path, picture.len);
	if (*path != '/') {
		char *dir = to->buf + picture.len;

		len = get_directory(dirfd, dir, sizeof(to->buf) - picture.len);
		errno = error;
		if (len == 0 || roost_preload_hidden(dir, len))
			return path;
		if (len == 1)
			len = 0; /* the root */
	}
	return follow(path, to, picture.len + len);
}

static bool look(const char *path, struct stat *st)
{
	return syscall(SYS_newfstatat, AT_FDCWD, path, st, 0) == 0;
}

/* Is the path that of a new file in a folder that exists? */
static bool is_new(struct roost_preload_path *to)
{
	char *slash = strrchr(to->buf, '/');
	struct stat st;
	bool found;

	*slash = '\0';
	found = look(to->buf, &st);
	*slash = '/';
	return found;
}

bool roost_preload_refuses(const char *path, struct roost_preload_path *to,
			   int flags)
{
	const bool writes = (flags & (O_ACCMODE | O_TRUNC)) != O_RDONLY;
	const int error = errno;
	struct stat st;
	bool refuses;

	/* The path may also be one that has left the picture again. */
	if (path != to->buf || roost_preload_hidden(path, strlen(path)) == 0 ||
	    (!writes && !(flags & O_CREAT)))
		return false;
	if (look(path, &st))
		refuses = writes && S_ISREG(st.st_mode) &&
			  (st.st_mode & 0222) == 0;
	else
		refuses = flags & O_CREAT && is_new(to);
	errno = refuses ? EACCES : error;
	return refuses;
}
