/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* riomap, riowrite, riounmap. */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"
#include "pair.h"

#define WINDOW (1u << 20)

static uint8_t window[WINDOW];
static uint8_t data[WINDOW];

static void iomap__write(void **state)
{
	struct pair pair;
	char byte;

	memset(window, 0, sizeof(window));
	pair_fill(data, sizeof(data), 9);
	pair_open(&pair, 4);
	assert_int_equal(riomap(pair.server, window, WINDOW, PROT_WRITE, 0,
				1 << 30),
			 1 << 30);
	/* Known to the peer with the next data. */
	assert_int_equal(riowrite(pair.client, data, 10, 1 << 30, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rsend(pair.server, "m", 1, 0), 1);
	assert_int_equal(rrecv(pair.client, &byte, 1, 0), 1);

	assert_int_equal(riowrite(pair.client, data, WINDOW, 1 << 30, 0),
			 WINDOW);
	assert_int_equal(rsend(pair.client, "d", 1, 0), 1);
	assert_int_equal(rrecv(pair.server, &byte, 1, 0), 1);
	assert_int_equal(byte, 'd');
	assert_memory_equal(window, data, WINDOW);

	/* A part, across the end: what fits is written. */
	assert_int_equal(riowrite(pair.client, data, 100,
				  (1 << 30) + WINDOW - 60, 0),
			 60);
	pair_close(&pair);
}

static void iomap__offset_of_its_own(void **state)
{
	struct pair pair;
	char byte;

	pair_open(&pair, 1);
	assert_int_equal(riomap(pair.server, window, 4096, PROT_WRITE, 0, -1),
			 (uintptr_t)window);
	/* The peer has room for one. */
	assert_int_equal(riomap(pair.server, data, 4096, PROT_WRITE, 0, -1),
			 -1);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(riomap(pair.server, data, 4096, PROT_NONE, 0, 5), 5);
	rsend(pair.server, "m", 1, 0);
	rrecv(pair.client, &byte, 1, 0);
	assert_int_equal(riowrite(pair.client, "abc", 3,
				  (off_t)(uintptr_t)window + 1, 0),
			 3);
	rsend(pair.client, "d", 1, 0);
	rrecv(pair.server, &byte, 1, 0);
	assert_memory_equal(window + 1, "abc", 3);
	assert_int_equal(riounmap(pair.server, window, 4096), 0);
	assert_int_equal(riounmap(pair.server, window, 4096), -1);
	assert_int_equal(errno, EINVAL);
	/* The key is gone: the connection of who uses it still goes with it. */
	assert_int_equal(riowrite(pair.client, "abc", 3,
				  (off_t)(uintptr_t)window, 0),
			 3);
	assert_int_equal(rrecv(pair.client, &byte, 1, 0), -1);
	assert_int_equal(errno, EIO);
	pair_close(&pair);
}

static void iomap__misuse(void **state)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);
	struct pair pair;

	assert_int_equal(riomap(fd, window, 10, PROT_WRITE, 0, 0), -1);
	assert_int_equal(errno, EINVAL);
	rclose(fd);
	pair_open(&pair, 0);
	assert_int_equal(riomap(pair.client, window, 10, PROT_WRITE, 0, 0), -1);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(riomap(pair.client, window, 10, PROT_READ, 0, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(riomap(4711, window, 10, PROT_NONE, 0, 0), -1);
	assert_int_equal(errno, EBADF);
	pair_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(iomap__write),
		cmocka_unit_test(iomap__offset_of_its_own),
		cmocka_unit_test(iomap__misuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
