/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_VERBS_HANDOVER_H
#define ROOST_VERBS_HANDOVER_H

/*
 * What a process tells others about its objects, so that they can import them.
 *
 * A context's cmd_fd is one end of a socket of packets; the other end is the
 * door of the context, which its process keeps. Whoever has been given cmd_fd
 * may ask at the door: a question is one packet with one end of a new socket,
 * by which the answer comes. So those who share cmd_fd do not see each other's
 * answers, and neither names nor namespaces matter. cmd_fd is all the
 * permission that is needed, as with the kernel's.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/config.h>

struct roost_verbs_context;

enum roost_handover_what {
	ROOST_HANDOVER_DEVICE,
	ROOST_HANDOVER_PD,
	ROOST_HANDOVER_MR,
};

struct roost_handover_told {
	int32_t error;      /* 0 or -errno; the rest counts if 0 */
	uint32_t pd_handle; /* MR: of its PD */
	uint32_t key;
	uint32_t access; /* enum roost_access */
	uint64_t iova;
	uint64_t len_bytes;
	uint64_t offset; /* of the memory, in the file that comes with it */
	uint64_t guid;   /* DEVICE */
	char service[ROOST_SERVICE_MAX];
};

/* Make cmd_fd and the door of a context whose device is open; all or nothing.
 * Returns 0, -errno.
 */
int roost_handover_open(struct roost_verbs_context *c);
void roost_handover_close(struct roost_verbs_context *c);

/* The number of the socket that cmd_fd is. Returns 0, -EBADF, -EINVAL (no
 * cmd_fd).
 */
int roost_handover_cookie(int cmd_fd, uint64_t *cookie);
/*
 * Ask at the door behind cmd_fd. *file: the memory of a region, for the caller
 * to close; -1: none came. Returns 0; the error that was told (-EINVAL: no such
 * object; -EOPNOTSUPP: not to be had by others); -EIO (the process is gone),
 * -ETIMEDOUT, -EMFILE. Thread: any but the control thread.
 */
int roost_handover_ask(int cmd_fd, enum roost_handover_what what,
		       uint32_t handle, struct roost_handover_told *told,
		       int *file);

/*
 * handover_file.c: a descriptor of the shared memory at [at, at + len_bytes) of
 * this process, and the offset of at in it. writable: it can be mapped for
 * writing. Returns the descriptor, for the caller to close; -EOPNOTSUPP:
 * private memory, or nothing that is open or has a name leads to it.
 */
int roost_handover_file(const void *at, uint64_t len_bytes, bool writable,
			uint64_t *offset);

#endif
