/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"
#include "pair.h"

struct sockaddr_in pair_addr(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(0xc6120001) };
}

int pair_listen(int backlog)
{
	struct sockaddr_in addr = pair_addr(PORT);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(rbind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(rlisten(fd, backlog), 0);
	return fd;
}

void pair_open(struct pair *pair, int iomaps)
{
	struct sockaddr_in addr = pair_addr(PORT);

	pair->listener = pair_listen(4);
	pair->client = rsocket(AF_INET, SOCK_STREAM, 0);
	assert_true(pair->client >= 0);
	if (iomaps > 0) {
		assert_int_equal(rsetsockopt(pair->listener, SOL_RDMA,
					     RDMA_IOMAPSIZE, &iomaps,
					     sizeof(iomaps)),
				 0);
		assert_int_equal(rsetsockopt(pair->client, SOL_RDMA,
					     RDMA_IOMAPSIZE, &iomaps,
					     sizeof(iomaps)),
				 0);
	}
	assert_int_equal(rconnect(pair->client, (struct sockaddr *)&addr,
				  sizeof(addr)),
			 0);
	pair->server = raccept(pair->listener, NULL, NULL);
	assert_true(pair->server >= 0);
}

void pair_close(struct pair *pair)
{
	assert_int_equal(rclose(pair->client), 0);
	assert_int_equal(rclose(pair->server), 0);
	assert_int_equal(rclose(pair->listener), 0);
	pair_assert_clean();
}

static int is_clean(void *arg)
{
	static const struct fake_count none;
	struct fake_count count = fake_count();

	(void)arg;
	return memcmp(&count, &none, sizeof(none)) == 0;
}

void pair_assert_clean(void)
{
	/* The service thread may hold the last reference for a moment. */
	pair_wait(is_clean, NULL);
}

void pair_wait(int (*condition)(void *arg), void *arg)
{
	for (int i = 0; i < 2000; i++) {
		if (condition(arg))
			return;
		usleep(1000);
	}
	fail_msg("did not happen within two seconds");
}

void pair_nonblock(int socket)
{
	assert_int_equal(rfcntl(socket, F_SETFL, O_NONBLOCK), 0);
}

void pair_fill(uint8_t *buf, size_t bytes, unsigned int seed)
{
	for (size_t i = 0; i < bytes; i++)
		buf[i] = (uint8_t)(seed + i * 7 + (i >> 8) * 13);
}
