/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Wrappers of the C library's cancellation points, used in all of Roost's
 * shared libraries, so that a cancellation does not end a thread inside a call
 * of Roost.
 *
 * A thread of the application may be cancelled at any cancellation point, also
 * at one inside ibv_post_send(), and would leave the turn, a lock or a list as
 * it is there. So the linker (--wrap) redirects every call of these functions
 * to the wrappers, which call the function with cancellation disabled; a
 * pending cancellation waits for the program's own next cancellation point. The
 * cost is small, and only at calls of the kernel.
 *
 * ppoll() and readv() have no wrapper: a call that must be a cancellation
 * point, because it waits for an event, sleeps in one of these, with a cleanup
 * handler for its locks and references. Roost's own threads, which are never
 * cancelled, use them freely.
 *
 * The names are in lib/meson.build, too: a name that is missing in one of the
 * two places does not link. tests/unit/verbs/test_uncancelled.sh knows all
 * cancellation points.
 */

/* With _FORTIFY_SOURCE, calls here would go to the checking variants, which
 * have rows of their own.
 */
#undef _FORTIFY_SOURCE

#include <dirent.h>
#include <ftw.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static int hold_off(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

/* Restore the state, without acting on a pending cancellation. */
static void restore(int state)
{
	pthread_setcancelstate(state, NULL);
}

/* A function NAME(PARAMS) that returns TYPE, called with ARGS. */
#define UNCANCELLED(type, name, params, args)                                  \
	type __real_##name params;                                             \
	type __wrap_##name params;                                             \
	type __wrap_##name params                                              \
	{                                                                      \
		int state = hold_off();                                        \
		type ret = __real_##name args;                                 \
                                                                               \
		restore(state);                                                \
		return ret;                                                    \
	}

/* ---- descriptors ------------------------------------------------------- */

UNCANCELLED(int, close, (int fd), (fd))
UNCANCELLED(ssize_t, read, (int fd, void *buf, size_t n), (fd, buf, n))
UNCANCELLED(ssize_t, __read_chk, (int fd, void *buf, size_t n, size_t size),
	    (fd, buf, n, size))
UNCANCELLED(ssize_t, pread64, (int fd, void *buf, size_t n, off_t at),
	    (fd, buf, n, at))
UNCANCELLED(ssize_t, __pread64_chk,
	    (int fd, void *buf, size_t n, off_t at, size_t size),
	    (fd, buf, n, at, size))
UNCANCELLED(ssize_t, preadv64v2,
	    (int fd, const struct iovec *iov, int nb, off_t at, int flags),
	    (fd, iov, nb, at, flags))
UNCANCELLED(ssize_t, write, (int fd, const void *buf, size_t n), (fd, buf, n))
UNCANCELLED(ssize_t, pwrite64, (int fd, const void *buf, size_t n, off_t at),
	    (fd, buf, n, at))
UNCANCELLED(ssize_t, writev, (int fd, const struct iovec *iov, int nb),
	    (fd, iov, nb))
UNCANCELLED(int, eventfd_read, (int fd, eventfd_t *value), (fd, value))
UNCANCELLED(int, eventfd_write, (int fd, eventfd_t value), (fd, value))
UNCANCELLED(int, poll, (struct pollfd * fds, nfds_t nb, int timeout_ms),
	    (fds, nb, timeout_ms))
UNCANCELLED(int, __poll_chk,
	    (struct pollfd * fds, nfds_t nb, int timeout_ms, size_t size),
	    (fds, nb, timeout_ms, size))
UNCANCELLED(int, __open64_2, (const char *path, int flags), (path, flags))

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
	int state = hold_off();
	va_list args;
	mode_t mode;
	int fd;

	va_start(args, flags);
	mode = va_arg(args, mode_t); /* read where flags say it is there */
	va_end(args);
	fd = __real_open64(path, flags, mode);
	restore(state);
	return fd;
}

/* ---- sockets ------------------------------------------------------------ */

UNCANCELLED(int, accept, (int fd, struct sockaddr *addr, socklen_t *len),
	    (fd, addr, len))
UNCANCELLED(int, accept4,
	    (int fd, struct sockaddr *addr, socklen_t *len, int flags),
	    (fd, addr, len, flags))
UNCANCELLED(int, connect, (int fd, const struct sockaddr *addr, socklen_t len),
	    (fd, addr, len))
UNCANCELLED(ssize_t, send, (int fd, const void *buf, size_t n, int flags),
	    (fd, buf, n, flags))
UNCANCELLED(ssize_t, sendto,
	    (int fd, const void *buf, size_t n, int flags,
	     const struct sockaddr *to, socklen_t len),
	    (fd, buf, n, flags, to, len))
UNCANCELLED(ssize_t, sendmsg, (int fd, const struct msghdr *msg, int flags),
	    (fd, msg, flags))
UNCANCELLED(ssize_t, recv, (int fd, void *buf, size_t n, int flags),
	    (fd, buf, n, flags))
UNCANCELLED(ssize_t, __recv_chk,
	    (int fd, void *buf, size_t n, size_t size, int flags),
	    (fd, buf, n, size, flags))
UNCANCELLED(ssize_t, recvfrom,
	    (int fd, void *buf, size_t n, int flags, struct sockaddr *from,
	     socklen_t *len),
	    (fd, buf, n, flags, from, len))
UNCANCELLED(ssize_t, __recvfrom_chk,
	    (int fd, void *buf, size_t n, size_t size, int flags,
	     struct sockaddr *from, socklen_t *len),
	    (fd, buf, n, size, flags, from, len))
UNCANCELLED(ssize_t, recvmsg, (int fd, struct msghdr *msg, int flags),
	    (fd, msg, flags))
UNCANCELLED(int, getifaddrs, (struct ifaddrs * *all), (all))
UNCANCELLED(int, getaddrinfo,
	    (const char *node, const char *service,
	     const struct addrinfo *hints, struct addrinfo **found),
	    (node, service, hints, found))

/* ---- waiting ------------------------------------------------------------ */

UNCANCELLED(int, nanosleep,
	    (const struct timespec *time, struct timespec *left), (time, left))
UNCANCELLED(int, usleep, (useconds_t us), (us))
UNCANCELLED(int, pthread_cond_wait, (pthread_cond_t * c, pthread_mutex_t *m),
	    (c, m))
UNCANCELLED(int, pthread_cond_timedwait,
	    (pthread_cond_t * c, pthread_mutex_t *m,
	     const struct timespec *until),
	    (c, m, until))
UNCANCELLED(int, pthread_join, (pthread_t thread, void **result),
	    (thread, result))
UNCANCELLED(ssize_t, getrandom, (void *buf, size_t n, unsigned int flags),
	    (buf, n, flags))

/* ---- files --------------------------------------------------------------- */

UNCANCELLED(FILE *, fopen64, (const char *path, const char *mode), (path, mode))
UNCANCELLED(int, fclose, (FILE * file), (file))
UNCANCELLED(int, fflush, (FILE * file), (file))
UNCANCELLED(char *, fgets, (char *buf, int n, FILE *file), (buf, n, file))
UNCANCELLED(char *, __fgets_chk, (char *buf, size_t size, int n, FILE *file),
	    (buf, size, n, file))
UNCANCELLED(size_t, fread, (void *buf, size_t size, size_t nb, FILE *file),
	    (buf, size, nb, file))
UNCANCELLED(size_t, __fread_chk,
	    (void *buf, size_t room, size_t size, size_t nb, FILE *file),
	    (buf, room, size, nb, file))
UNCANCELLED(int, getgrnam_r,
	    (const char *name, struct group *entry, char *buf, size_t n,
	     struct group **found),
	    (name, entry, buf, n, found))
UNCANCELLED(int, getpwnam_r,
	    (const char *name, struct passwd *entry, char *buf, size_t n,
	     struct passwd **found),
	    (name, entry, buf, n, found))
UNCANCELLED(DIR *, opendir, (const char *path), (path))
UNCANCELLED(struct dirent *, readdir64, (DIR * dir), (dir))
UNCANCELLED(int, closedir, (DIR * dir), (dir))
UNCANCELLED(int, nftw64,
	    (const char *path, __nftw64_func_t visit, int nb_fds, int flags),
	    (path, visit, nb_fds, flags))

void __real_rewind(FILE *file);
void __wrap_rewind(FILE *file);
void __wrap_rewind(FILE *file)
{
	int state = hold_off();

	__real_rewind(file);
	restore(state);
}

/* A function that prints or scans by a format, called through its v... variant.
 */
#define UNCANCELLED_FORMAT(name, params, vname, kind, format_at)               \
	int __wrap_##name params                                               \
		__attribute__((format(kind, format_at, (format_at) + 1)));     \
	int __wrap_##name params                                               \
	{                                                                      \
		int state = hold_off();                                        \
		va_list args;                                                  \
		int ret;                                                       \
                                                                               \
		va_start(args, format);                                        \
		ret = vname(file, format, args);                               \
		va_end(args);                                                  \
		restore(state);                                                \
		return ret;                                                    \
	}

UNCANCELLED_FORMAT(fprintf, (FILE * file, const char *format, ...), vfprintf,
		   printf, 2)
UNCANCELLED_FORMAT(__fprintf_chk,
		   (FILE * file, int flag __attribute__((unused)),
		    const char *format, ...),
		   vfprintf, printf, 3)
UNCANCELLED_FORMAT(__isoc99_fscanf, (FILE * file, const char *format, ...),
		   vfscanf, scanf, 2)
