/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/port/peer_socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Does a process listen on the socket at path? */
static bool is_served(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	bool refused = false;
	/* Non-blocking: if the server is stopped, its accept queue may be full.
	 */
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return true;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (connect(fd, (const void *)&addr, sizeof(addr)) < 0)
		refused = errno == ECONNREFUSED;
	close(fd);
	return !refused;
}

static int prepare_server(const char *path, char *why, size_t size)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode)) {
		snprintf(why, size,
			 "\"%s\" is there and no socket; name another path",
			 path);
		return -ENOTSOCK;
	}
	if (is_served(path)) {
		snprintf(why, size,
			 "another process serves \"%s\"; stop it, or name "
			 "another path",
			 path);
		return -EBUSY;
	}
	unlink(path);
	return 0;
}

int roost_peer_socket_prepare(const char *path, bool serves, bool must_be_there,
			      char *why, size_t size)
{
	struct sockaddr_un addr;
	char folder[sizeof(addr.sun_path)];
	const char *slash = strrchr(path, '/');
	struct stat st;

	if (strlen(path) >= sizeof(addr.sun_path)) {
		snprintf(why, size,
			 "the path of a socket has at most %zu bytes; name a "
			 "shorter one",
			 sizeof(addr.sun_path) - 1);
		return -ENAMETOOLONG;
	}
	snprintf(folder, sizeof(folder), "%.*s",
		 slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
	if (stat(folder, &st) < 0 || !S_ISDIR(st.st_mode)) {
		snprintf(why, size,
			 "no directory \"%s\" for its socket; make it, or name "
			 "another path",
			 folder);
		return -ENOENT;
	}
	if (serves)
		return prepare_server(path, why, size);
	if (must_be_there && stat(path, &st) < 0) {
		snprintf(why, size,
			 "nobody serves \"%s\" yet; start the other end first",
			 path);
		return -ENOENT;
	}
	return 0;
}
