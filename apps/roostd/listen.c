/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "apps/roostd/lock.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/share/hub.h"

#define BACKLOG 256

static int make_socket(int type)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

static int bind_to(int type, const struct sockaddr_un *addr, socklen_t len)
{
	int fd = make_socket(type);
	int ret;

	if (fd < 0)
		return fd;
	if (bind(fd, (const struct sockaddr *)addr, len) == 0)
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

int roostd_listen_as_hub(void)
{
	struct sockaddr_un addr;
	socklen_t len = roost_share_hub_address(&addr);

	return bind_to(SOCK_SEQPACKET, &addr, len);
}

void roostd_listen_begin(int fd)
{
	listen(fd, BACKLOG);
}

/* ---- a file -------------------------------------------------------------- */

static int address_of(const char *path, struct sockaddr_un *addr)
{
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(addr->sun_path))
		return -EINVAL;
	strcpy(addr->sun_path, path);
	return 0;
}

int roostd_listen_look(const char *path)
{
	struct sockaddr_un addr;
	int ret = address_of(path, &addr);
	int fd;

	if (ret)
		return ret;
	if (strcmp(path, ROOST_SHARE_SYSTEM_SOCKET) == 0)
		mkdir("/run/roost", 0755);
	fd = make_socket(SOCK_SEQPACKET);
	if (fd < 0)
		return fd;
	/* EAGAIN: it has no time. Another kind of socket is alive, too. */
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 ||
	    errno == EAGAIN || errno == EPROTOTYPE)
		ret = -EADDRINUSE;
	close(fd);
	return ret;
}

/* Daemons that start and end at one time look and move one after the other.
 * The lock is a file of this user: whoever can open a file can lock it, and so
 * anybody the folder. It is there only while it is held.
 */
struct place {
	int fd; /* of the lock; -errno */
	char lock[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 8];
};

static void take_place(struct place *place, const char *path)
{
	const char *why = NULL;

	snprintf(place->lock, sizeof(place->lock), "%s.lock", path);
	place->fd = roostd_lock_open(place->lock, O_RDWR | O_CREAT, &why);
	if (place->fd == -EINVAL)
		roost_report("%s: not used: %s; remove it", place->lock, why);
	if (place->fd == -EBUSY)
		roost_report("%s: locked for a second: another daemon starts "
			     "or ends there; try again",
			     place->lock);
}

static void leave_place(const struct place *place)
{
	if (place->fd < 0)
		return;
	unlink(place->lock);
	close(place->fd);
}

/* Whatever is at the path but a socket is somebody's. */
static int check_place(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	return S_ISSOCK(st.st_mode) ? roostd_listen_look(path) : -EEXIST;
}

/* From here on clients find it. */
static int publish(struct roostd_listener *listener, const char *made)
{
	struct stat st = { 0 };
	struct place place;
	int ret;

	take_place(&place, listener->path);
	ret = place.fd < 0 ? place.fd : check_place(listener->path);
	if (!ret && (listen(listener->fd, BACKLOG) < 0 ||
		     lstat(made, &st) < 0 || rename(made, listener->path) < 0))
		ret = -errno;
	listener->dev = st.st_dev;
	listener->ino = st.st_ino;
	leave_place(&place);
	return ret;
}

int roostd_listen_at(const char *path, int type, mode_t mode, gid_t gid,
		     struct roostd_listener *listener)
{
	struct sockaddr_un addr;
	char made[sizeof(addr.sun_path)];
	int ret = address_of(path, &addr);

	*listener = (struct roostd_listener){ .fd = -1, .path = path };
	if (!ret && snprintf(made, sizeof(made), "%s.%d", path,
			     (int)getpid()) >= (int)sizeof(made))
		ret = -EINVAL;
	if (ret)
		return ret;
	address_of(made, &addr);
	unlink(made);
	listener->fd = bind_to(type, &addr, sizeof(addr));
	if (listener->fd < 0)
		return listener->fd;
	if (chown(made, (uid_t)-1, gid) < 0 || chmod(made, mode) < 0)
		ret = -errno;
	if (!ret)
		ret = publish(listener, made);
	if (!ret)
		return 0;
	unlink(made);
	close(listener->fd);
	listener->fd = -1;
	return ret;
}

void roostd_listen_end(struct roostd_listener *listener)
{
	struct place place;
	struct stat st;

	take_place(&place, listener->path);
	if (lstat(listener->path, &st) == 0 && st.st_dev == listener->dev &&
	    st.st_ino == listener->ino)
		unlink(listener->path);
	leave_place(&place);
	close(listener->fd);
	listener->fd = -1;
}
