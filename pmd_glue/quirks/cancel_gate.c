/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/quirks/cancel_gate.h"

#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_log.h>

#include "pmd_glue/quirks/import.h"

/* Parts of the file names of libraries that run inside a burst, and of the one
 * that asks the kernel for routes. Not EAL: it cancels its own threads at their
 * system calls.
 */
static const char *const libraries[] = {
	"/librte_net_",
	"/librte_vhost.so",
	"/librte_bus_",
	"/libmnl.so",
};

/* Not lib/uncancelled.c's: its readv() stays a cancellation point, for threads
 * that wait for events.
 */
static ssize_t readv_uncancelled(int fd, const struct iovec *iov, int nb)
{
	ssize_t ret;
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	ret = readv(fd, iov, nb);
	pthread_setcancelstate(state, NULL);
	return ret;
}

/* rte_log() prints, by system calls. */
static int log_uncancelled(uint32_t level, uint32_t type, const char *format,
			   ...) __attribute__((format(printf, 3, 4)));

static int log_uncancelled(uint32_t level, uint32_t type, const char *format,
			   ...)
{
	va_list args;
	int state, ret;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	va_start(args, format);
	ret = rte_vlog(level, type, format, args);
	va_end(args);
	pthread_setcancelstate(state, NULL);
	return ret;
}

int roost_cancel_gate_put(void)
{
	/* In this file, too, these names are the functions of
	 * lib/uncancelled.c.
	 */
	const struct roost_import imports[] = {
		{ "eventfd_read", eventfd_read },
		{ "eventfd_write", eventfd_write },
		{ "poll", poll },
		{ "pread64", pread },
		{ "pwrite64", pwrite },
		{ "read", read },
		{ "readv", readv_uncancelled },
		{ "recv", recv },
		{ "recvfrom", recvfrom },
		{ "recvmsg", recvmsg },
		{ "rte_log", log_uncancelled },
		{ "send", send },
		{ "sendmsg", sendmsg },
		{ "sendto", sendto },
		{ "write", write },
		{ "writev", writev },
	};
	int ret = 0;

	for (size_t i = 0; i < RTE_DIM(libraries) && ret >= 0; i++)
		ret = roost_imports_replace(libraries[i], imports,
					    RTE_DIM(imports));
	return ret < 0 ? ret : 0;
}
