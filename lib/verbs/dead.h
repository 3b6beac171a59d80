/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_VERBS_DEAD_H
#define ROOST_VERBS_DEAD_H

/*
 * What a process inherits by fork(2): contexts, and all that was made with
 * them, are dead (doc/threads.md, "Forks"). Calls answer EIO, as the kernel
 * does for a device that is gone; what ends an object frees the struct that
 * the program sees, closes its descriptors and returns 0; acks do nothing. The
 * engine's objects are not touched: their locks may be held by threads that
 * this process has not.
 *
 * Operations that go through pointers in the objects are exchanged when the
 * child begins, so that they cost nothing before; calls by name ask
 * roost_verbs_is_dead().
 */

#include <stdbool.h>

#include <infiniband/verbs.h>

/* Was it made in this process? Thread: any. */
bool roost_verbs_is_dead(const struct ibv_context *context);

/* The context is open, or closed. Holds off forks. Thread: any. */
void roost_verbs_context_add(struct ibv_context *context);
void roost_verbs_context_del(struct ibv_context *context);

/* End a dead one. Return 0, the result of their calls. */
int roost_verbs_dead_close(struct ibv_context *context);
int roost_verbs_dead_channel_destroy(struct ibv_comp_channel *channel);
/* Any other object, whose struct is at the begin of its memory. */
int roost_verbs_dead_destroy(void *object);
int roost_verbs_dead_qp_destroy(struct ibv_qp *qp);

#endif
