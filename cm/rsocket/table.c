/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Numbers of rsockets, and references to them. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cm/rsocket/rs.h"

static struct {
	pthread_mutex_t lock;
	struct roost_rs **slots; /* by number; NULL: not an rsocket */
	int nb;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* table.lock held. */
static int grow(int fd)
{
	int nb = table.nb == 0 ? 64 : table.nb;
	struct roost_rs **slots;

	while (nb <= fd)
		nb *= 2;
	if (nb == table.nb)
		return 0;
	slots = realloc(table.slots, (size_t)nb * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	memset(slots + table.nb, 0, (size_t)(nb - table.nb) * sizeof(*slots));
	table.slots = slots;
	table.nb = nb;
	return 0;
}

int roost_rs_insert(struct roost_rs *rs)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int ret;

	if (fd < 0)
		return -errno;
	pthread_mutex_lock(&table.lock);
	ret = grow(fd);
	if (ret == 0) {
		rs->fd = fd;
		rs->refs++;
		table.slots[fd] = rs;
	}
	pthread_mutex_unlock(&table.lock);
	if (ret < 0) {
		close(fd);
		return ret;
	}
	return fd;
}

struct roost_rs *roost_rs_get(int fd)
{
	struct roost_rs *rs = NULL;

	pthread_mutex_lock(&table.lock);
	if (fd >= 0 && fd < table.nb)
		rs = table.slots[fd];
	if (rs)
		rs->refs++;
	pthread_mutex_unlock(&table.lock);
	return rs;
}

bool roost_rs_ref_live(struct roost_rs *rs)
{
	bool live;

	pthread_mutex_lock(&table.lock);
	live = rs->refs > 0;
	if (live)
		rs->refs++;
	pthread_mutex_unlock(&table.lock);
	return live;
}

void roost_rs_put(struct roost_rs *rs)
{
	bool last;

	pthread_mutex_lock(&table.lock);
	last = --rs->refs == 0;
	pthread_mutex_unlock(&table.lock);
	if (last)
		rs->ops->free(rs);
}

bool roost_rs_remove(struct roost_rs *rs)
{
	int fd;

	pthread_mutex_lock(&table.lock);
	fd = rs->fd;
	if (fd < 0 || fd >= table.nb || table.slots[fd] != rs) {
		pthread_mutex_unlock(&table.lock);
		return false;
	}
	table.slots[fd] = NULL;
	pthread_mutex_unlock(&table.lock);
	/* Only now may the number come back as something else. */
	close(fd);
	roost_rs_put(rs);
	return true;
}

void roost_rs_table_forget(void)
{
	pthread_mutex_init(&table.lock, NULL);
	for (int fd = 0; fd < table.nb; fd++) {
		struct roost_rs *rs = table.slots[fd];

		if (!rs)
			continue;
		if (rs->ops->forget)
			rs->ops->forget(rs);
		close(fd);
		table.slots[fd] = NULL;
	}
}
