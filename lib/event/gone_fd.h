/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_EVENT_GONE_FD_H
#define ROOST_EVENT_GONE_FD_H

/*
 * An eventfd that looks to poll(2) as an uverbs file does whose device is gone:
 * POLLERR, and whoever reads is answered at once.
 *
 * eventfd says POLLERR when its counter is at UINT64_MAX, where write(2) cannot
 * bring it: only a signal from inside the kernel can, as that of a finished
 * request of Linux AIO (IOCB_FLAG_RESFD). So the counter is written up to one
 * below, and each reader that took one gives it back by such a signal. Where
 * there is no AIO, the fd says POLLIN alone.
 */

/* The counter is 0, and nobody else writes: make it UINT64_MAX - 1. */
void roost_gone_fd_fill(int fd);

/* Add one to a filled counter, up to UINT64_MAX. Thread: any. */
void roost_gone_fd_signal(int fd);

#endif
