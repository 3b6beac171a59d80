/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Descriptors that libibverbs has the control thread watch.
 */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "lib/face/shim.h"
#include "pmd_glue/process/control.h"

struct roost_watch {
	struct roost_control_client client;
	void (*ready)(void *arg);
	void *arg;
};

static uint64_t run(void *ctx, uint64_t now_ns)
{
	struct roost_watch *w = ctx;

	(void)now_ns;
	if (w->client.seen)
		w->ready(w->arg);
	return UINT64_MAX;
}

static int add(void *arg)
{
	struct roost_watch *w = arg;

	roost_control_add(&w->client);
	return 0;
}

static int del(void *arg)
{
	struct roost_watch *w = arg;

	roost_control_remove(&w->client);
	return 0;
}

int roost_watch_new(int fd, void (*ready)(void *arg), void *arg,
		    struct roost_watch **watch)
{
	struct roost_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->client = (struct roost_control_client){
		.run = run,
		.ctx = w,
		.fd = fd,
		.events = POLLIN,
	};
	w->ready = ready;
	w->arg = arg;
	*watch = w;
	return roost_control_call(add, w);
}

void roost_watch_free(struct roost_watch *watch)
{
	roost_control_call(del, watch);
	free(watch);
}
