/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_VERBS_DEAD_H
#define ROOST_VERBS_DEAD_H

/*
 * Objects that a process inherits by fork(2): contexts, and all objects made
 * with them, are dead (doc/threads.md, "Forks"). Calls answer EIO, as the
 * kernel does for a device that is gone. A call that ends an object frees the
 * struct that the program sees, closes its descriptors and returns 0; acks do
 * nothing. The engine's objects are not touched, because threads that this
 * process does not have may hold their locks.
 *
 * Operations that go through pointers in the objects are replaced when the
 * child begins, so that a live context pays nothing; functions that are called
 * by name ask roost_verbs_is_dead().
 */

#include <stdbool.h>

#include <infiniband/verbs.h>

struct roost_verbs_context;
struct roost_verbs_object;

/* True if the context was made in another process. Thread: any. */
bool roost_verbs_is_dead(const struct ibv_context *context);

/* Add or remove an open context. Holds off forks. Thread: any. */
void roost_verbs_context_add(struct ibv_context *context);
void roost_verbs_context_del(struct ibv_context *context);

/*
 * The root whose cmd_fd has this cookie, counted in nb_imports; NULL: no
 * context of this process that the program has open. put: undo the count; a
 * root that is closed and has no more imports ends.
 */
struct roost_verbs_context *roost_verbs_root(uint64_t cookie);
void roost_verbs_root_put(struct roost_verbs_context *root);
/* An object by its handle, in one of the contexts of this cookie; NULL: none.
 * Under roost_process_fork_hold().
 */
struct roost_verbs_object *roost_verbs_object_find(uint64_t cookie, int kind,
						   uint32_t handle);

/* End a dead context or channel. Return 0, the result of the program's call. */
int roost_verbs_dead_close(struct ibv_context *context);
int roost_verbs_dead_channel_destroy(struct ibv_comp_channel *channel);
/* Any other object whose ibv_ struct is at the begin of its memory. */
int roost_verbs_dead_destroy(void *object);
int roost_verbs_dead_qp_destroy(struct ibv_qp *qp);

#endif
