/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/event/gone_fd.h"

#include <linux/aio_abi.h>
#include <poll.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

void roost_gone_fd_fill(int fd)
{
	const uint64_t most = UINT64_MAX - 1;
	ssize_t n = write(fd, &most, sizeof(most));

	(void)n; /* the counter was 0: it fits */
}

void roost_gone_fd_signal(int fd)
{
	/* The fd is readable, so the request completes as soon as it is
	 * submitted.
	 */
	struct iocb poll_fd = {
		.aio_lio_opcode = IOCB_CMD_POLL,
		.aio_fildes = (uint32_t)fd,
		.aio_buf = POLLIN,
		.aio_flags = IOCB_FLAG_RESFD,
		.aio_resfd = (uint32_t)fd,
	};
	struct iocb *list = &poll_fd;
	aio_context_t context = 0;

	if (syscall(SYS_io_setup, 1, &context) < 0)
		return;
	syscall(SYS_io_submit, context, 1, &list);
	syscall(SYS_io_destroy, context);
}
