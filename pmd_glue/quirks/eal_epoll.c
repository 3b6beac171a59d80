/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/quirks/eal_epoll.h"

#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/event/high_fd.h"
#include "pmd_glue/quirks/import.h"

#define LOOK_US 10000u

static int epoll_create_some_time(int size)
{
	int fd;

	for (;;) {
		fd = roost_high_fd(epoll_create(size));
		if (fd >= 0 || (errno != EMFILE && errno != ENFILE))
			return fd;
		usleep(LOOK_US);
		pthread_testcancel(); /* EAL ends this thread by cancelling */
	}
}

void roost_eal_epoll_put(void)
{
	static const struct roost_import import = { "epoll_create",
						    epoll_create_some_time };

	roost_imports_replace("/librte_eal.so", &import, 1);
}
