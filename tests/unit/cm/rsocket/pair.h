/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef TESTS_UNIT_CM_RSOCKET_PAIR_H
#define TESTS_UNIT_CM_RSOCKET_PAIR_H

/* Listeners and connected pairs over the fake device, and threads. */

#include <netinet/in.h>

#include <rdma/rsocket.h>

#include "tests/cmocka.h"

#define PORT 7471

struct pair {
	int listener;
	int client;
	int server;
};

/* An address that the kernel does not have. */
struct sockaddr_in pair_addr(uint16_t port);
int pair_listen(int backlog);
/* iomaps: of both ends; sizes as the configuration's. */
void pair_open(struct pair *pair, int iomaps);
void pair_close(struct pair *pair);
/* Nothing is left of the objects of the fake. */
void pair_assert_clean(void);
/* Fails the test unless condition(arg) holds within two seconds. */
void pair_wait(int (*condition)(void *arg), void *arg);
void pair_nonblock(int socket);
/* Bytes whose order can be checked. */
void pair_fill(uint8_t *buf, size_t bytes, unsigned int seed);

#endif
