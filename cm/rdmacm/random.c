/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "cm/rdmacm/random.h"

#include <pthread.h>
#include <sys/random.h>

/* getrandom(2) gives up to 256 bytes at once, whatever happens. */
#define NUMBERS 64u

static struct {
	pthread_mutex_t lock;
	unsigned int left; /* of numbers, from number 0 */
	uint32_t numbers[NUMBERS];
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

uint32_t roost_rdmacm_random(void)
{
	uint32_t number = 0;

	pthread_mutex_lock(&pool.lock);
	/* Fails only before the kernel has gathered its first entropy. */
	if (pool.left == 0 &&
	    getrandom(pool.numbers, sizeof(pool.numbers), GRND_NONBLOCK) > 0)
		pool.left = NUMBERS;
	if (pool.left > 0)
		number = pool.numbers[--pool.left];
	pthread_mutex_unlock(&pool.lock);
	return number;
}

void roost_rdmacm_random_forget(void)
{
	pthread_mutex_init(&pool.lock, NULL);
	pool.left = 0;
}
