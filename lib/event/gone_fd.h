/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_EVENT_GONE_FD_H
#define ROOST_EVENT_GONE_FD_H

/*
 * An eventfd that behaves in poll(2) like a uverbs file whose device is gone:
 * POLLERR, and a reader gets an answer at once.
 *
 * An eventfd reports POLLERR when its counter is UINT64_MAX. write(2) cannot
 * set that value: only a signal from inside the kernel can, such as the
 * completion of a Linux AIO request (IOCB_FLAG_RESFD). So the counter is
 * written to UINT64_MAX - 1, and each reader that took one gives it back by
 * such a signal. Without AIO, the fd reports POLLIN alone.
 */

/* Set the counter to UINT64_MAX - 1. It is 0, and no other thread writes it. */
void roost_gone_fd_fill(int fd);

/* Add one to a filled counter, up to UINT64_MAX. Thread: any. */
void roost_gone_fd_signal(int fd);

#endif
