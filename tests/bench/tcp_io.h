/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_BENCH_TCP_IO_H
#define ROOST_TESTS_BENCH_TCP_IO_H

/*
 * Bytes over one connected TCP socket, by one thread that polls and never
 * sleeps: tcp_poll.c by send and recv, tcp_uring.c by io_uring. Each function
 * exits when it fails.
 */

#include <stdbool.h>
#include <stddef.h>

void tcp_io_open(int fd);
/* Send n bytes. The buffer is read until the next call of tcp_io_take() or
 * tcp_io_flush() returns. False: the other end is gone.
 */
bool tcp_io_give(const void *buf, size_t n);
/* Receive at most n bytes, at least one; 0: the other end is gone. */
size_t tcp_io_take(void *buf, size_t n);
/* All that was given is sent. */
void tcp_io_flush(void);

#endif
