/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * A static program that looks for devices: by system calls, and by io_uring.
 * Prints what it finds.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define TYPE "/sys/class/infiniband/roost0/node_type"
#define NODE "/dev/infiniband/uverbs_roost0"

static int fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return 1;
}

static int print_text(const char *how, int fd)
{
	char text[64] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return fail(how);
	close(fd);
	printf("%s: %s", how, text);
	return 0;
}

/* ---- io_uring: one request ----------------------------------------------- */

struct uring {
	int fd;
	struct io_uring_params params;
	uint8_t *sq, *cq;
	struct io_uring_sqe *sqes;
};

static void *map(const struct uring *u, size_t size, off_t offset)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_POPULATE, u->fd, offset);

	return at == MAP_FAILED ? NULL : at;
}

static int setup(struct uring *u)
{
	memset(u, 0, sizeof(*u));
	u->fd = (int)syscall(SYS_io_uring_setup, 1, &u->params);
	if (u->fd < 0)
		return -1;
	u->sq = map(u, u->params.sq_off.array + sizeof(uint32_t),
		    IORING_OFF_SQ_RING);
	u->cq = map(u, u->params.cq_off.cqes + 2 * sizeof(struct io_uring_cqe),
		    IORING_OFF_CQ_RING);
	u->sqes = map(u, sizeof(*u->sqes), IORING_OFF_SQES);
	return u->sq && u->cq && u->sqes ? 0 : -1;
}

static int open_by_uring(const char *path)
{
	const struct io_uring_cqe *done;
	struct uring u;

	if (setup(&u) != 0)
		return -1;
	u.sqes[0] = (struct io_uring_sqe){
		.opcode = IORING_OP_OPENAT,
		.fd = AT_FDCWD,
		.addr = (uintptr_t)path,
		.open_flags = O_RDONLY,
	};
	*(uint32_t *)(void *)(u.sq + u.params.sq_off.array) = 0;
	__atomic_store_n((uint32_t *)(void *)(u.sq + u.params.sq_off.tail), 1,
			 __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, u.fd, 1, 1, IORING_ENTER_GETEVENTS,
		    NULL, 0) != 1)
		return -1;
	done = (const void *)(u.cq + u.params.cq_off.cqes);
	errno = done->res < 0 ? -done->res : 0;
	return done->res;
}

/* ---- */

int main(void)
{
	struct stat st;
	int fd = open_by_uring("/dev/null");

	if (fd < 0)
		printf("no io_uring here: %s\n", strerror(errno));
	else if (print_text("io_uring", open_by_uring(TYPE)) != 0)
		return 1;
	if (print_text("openat",
		       (int)syscall(SYS_openat, AT_FDCWD, TYPE, O_RDONLY)) != 0)
		return 1;
	if (lstat(NODE, &st) != 0 || !S_ISCHR(st.st_mode) ||
	    access(NODE, R_OK | W_OK) != 0)
		return fail(NODE);
	printf("node: %u:%u\n", major(st.st_rdev), minor(st.st_rdev));
	return 0;
}
