/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_BENCH_WRITES_H
#define ROOST_TESTS_BENCH_WRITES_H

/*
 * Small WRITEs with inline data over an RC QP, by an ordinary verbs program;
 * for programs that measure what such a message costs.
 */

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define WRITES_BYTES_MAX 64u
#define WRITES_OUTSTANDING_MAX 1024u
#define WRITES_LIST_MAX 64u

struct writes_end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	union ibv_gid gid;
	uint8_t buf[WRITES_BYTES_MAX]; /* sent, or written to */
};

/* What an end tells its peer. */
struct writes_peer {
	union ibv_gid gid;
	uint64_t addr;
	uint32_t qpn;
	uint32_t rkey;
};

struct writes {
	unsigned long count;
	unsigned int bytes;        /* of each; 1 to WRITES_BYTES_MAX */
	unsigned int outstanding;  /* at most */
	unsigned int signal_every; /* one of so many; fewer than outstanding */
	unsigned int list; /* posted by one call; fewer than outstanding */
	/* Called while completions are waited for; NULL: nothing. */
	void (*idle)(void);
};

/* All of these exit, saying why, where a call fails. */

void writes_open(struct writes_end *end, struct ibv_device *device);
struct writes_peer writes_tell(const struct writes_end *end);
/* Wait until the port is active, and connect. */
void writes_connect(struct writes_end *end, const struct writes_peer *peer);
/* Open the only device, and connect with the process behind fd, which calls
 * this, too.
 */
void writes_join(struct writes_end *end, int fd, struct writes_peer *peer);
/* Exit unless the numbers are within what is said above. */
void writes_check(const struct writes *writes);
/* Send them all, and see them complete. */
void writes_run(struct writes_end *end, const struct writes_peer *peer,
		const struct writes *writes);

#endif
