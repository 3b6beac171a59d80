/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_REAL_FORK_PAIR_H
#define ROOST_TESTS_REAL_FORK_PAIR_H

/*
 * The two files of fork_pair: pair.c has the traffic, and owns what is in end;
 * pair_child.c makes the children that inherit it.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rdma/rdma_cma.h>

/* What a process of fork_pair has, and its children inherit. */
struct pair_end {
	struct rdma_cm_id *id;    /* connected */
	struct rdma_cm_id *other; /* the listener; NULL: none */
	struct ibv_mr *mr;
	uint8_t *buf;
	bool is_at_hub; /* children may open the device */
	unsigned int nb_children;
};

extern struct pair_end end;

/* Make a child of the kind that is next, and see it end well and in time. */
bool pair_child(unsigned int number);

#endif
