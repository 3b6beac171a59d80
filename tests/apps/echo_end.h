/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_APPS_ECHO_END_H
#define ROOST_TESTS_APPS_ECHO_END_H

/*
 * Connections of rdma_cm(7) for languages that call C, with one buffer each:
 * what a binding has, and no more. Functions that fail return NULL or a
 * negative errno. Thread: any; one at a time for each end.
 */

#include <stddef.h>

struct echo_end;

/* A listener, from which echo_accept() makes ends. */
struct echo_end *echo_listen(const char *address, const char *port);
/* The buffer is the caller's, who keeps it until echo_close(): a message of
 * len_bytes to send, and behind it room for one that is received.
 */
struct echo_end *echo_accept(struct echo_end *listener, void *buffer,
			     size_t len_bytes);
struct echo_end *echo_connect(const char *address, const char *port,
			      void *buffer, size_t len_bytes);
/* Send, and wait until it is sent. */
int echo_send(struct echo_end *end);
/* Wait for a message, asleep on the completion channel. */
int echo_receive(struct echo_end *end);
/*
 * Memory that the peer WRITEs and READs. It is the caller's, who keeps its
 * addresses until echo_close(), but not what is there. One end sends an offer
 * as a message, and the other one takes it by echo_take(), with len_bytes of
 * memory of its own that keeps a copy. echo_fill() WRITEs a byte all over the
 * offered memory and READs all of it into the copy.
 */
int echo_offer(struct echo_end *end, void *memory, size_t len_bytes);
int echo_take(struct echo_end *end, void *copy, size_t len_bytes);
int echo_fill(struct echo_end *end, int byte);
/* Take every access away, by a system call that no library sees. */
int echo_hide(void *memory, size_t len_bytes);

/* The received message was read: there is room for the next one. */
int echo_post(struct echo_end *end);
void echo_close(struct echo_end *end);

#endif
