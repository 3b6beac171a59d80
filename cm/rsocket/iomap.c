/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Direct placement: buffers of the program that the peer may write. A buffer is
 * announced to the peer's I/O map in front of the next data that is sent, as in
 * rsocket(7). Removing a buffer removes its key; the peer's entry stays, and is
 * no longer valid.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cm/rsocket/stream.h"

/* Maximum of bytes in one request. */
#define PIECE_BYTES 65536u

/* lock held. An entry of the peer's I/O map that no map of this end uses; -1:
 * none.
 */
static int free_index(const struct roost_rs_stream *st)
{
	const struct roost_rs_map *map;

	for (uint32_t i = 0; i < st->ep.nb_peer_iomaps; i++) {
		TAILQ_FOREACH(map, &st->maps, link) {
			if (map->index == (int)i)
				break;
		}
		if (!map)
			return (int)i;
	}
	return -1;
}

/* lock held. */
static int map_new(struct roost_rs_stream *st, struct roost_rs_map *map,
		   bool remote)
{
	unsigned int access = IBV_ACCESS_LOCAL_WRITE;

	if (!st->ep.channel)
		return -EINVAL;
	map->index = -1;
	if (remote) {
		access |= IBV_ACCESS_REMOTE_WRITE;
		map->index = free_index(st);
		if (map->index < 0)
			return -ENOMEM;
	}
	map->mr = ibv_reg_mr(st->id->pd, map->addr, map->length_bytes, access);
	if (!map->mr)
		return -errno;
	map->queued = remote;
	if (remote)
		st->nb_maps_queued++;
	TAILQ_INSERT_TAIL(&st->maps, map, link);
	return 0;
}

off_t roost_rs_map_add(struct roost_rs_stream *st, void *addr,
		       size_t length_bytes, int prot, off_t offset)
{
	struct roost_rs_map *map;
	int ret;

	if ((prot & ~PROT_WRITE) != 0 || length_bytes > UINT32_MAX)
		return -EINVAL;
	map = calloc(1, sizeof(*map));
	if (!map)
		return -ENOMEM;
	map->addr = addr;
	map->length_bytes = length_bytes;
	if (offset == -1)
		offset = (off_t)(uintptr_t)addr;
	map->offset = (uint64_t)offset;
	pthread_mutex_lock(&st->rs.lock);
	ret = map_new(st, map, prot & PROT_WRITE);
	pthread_mutex_unlock(&st->rs.lock);
	if (ret < 0) {
		free(map);
		return ret;
	}
	return offset;
}

/* lock held. */
static void map_free(struct roost_rs_stream *st, struct roost_rs_map *map)
{
	TAILQ_REMOVE(&st->maps, map, link);
	if (map->queued)
		st->nb_maps_queued--;
	ibv_dereg_mr(map->mr);
	free(map);
}

int roost_rs_map_remove(struct roost_rs_stream *st, const void *addr,
			size_t length_bytes)
{
	struct roost_rs_map *map;
	int ret = -EINVAL;

	pthread_mutex_lock(&st->rs.lock);
	TAILQ_FOREACH(map, &st->maps, link) {
		if (map->addr == addr && map->length_bytes == length_bytes) {
			map_free(st, map);
			ret = 0;
			break;
		}
	}
	pthread_mutex_unlock(&st->rs.lock);
	return ret;
}

void roost_rs_map_free_all(struct roost_rs_stream *st)
{
	struct roost_rs_map *map;

	while ((map = TAILQ_FIRST(&st->maps)) != NULL)
		map_free(st, map);
}

/* lock held. Into the ring, in one piece or two. */
static void put_entry(const struct ibv_sge *sges, int nb_sges,
		      const uint8_t *entry)
{
	for (int i = 0; i < nb_sges; i++) {
		memcpy((void *)(uintptr_t)sges[i].addr, entry, sges[i].length);
		entry += sges[i].length;
	}
}

/* send_lock and lock held; can_send. */
static int tell(struct roost_rs_stream *st, struct roost_rs_map *map)
{
	struct roost_rs_ep *ep = &st->ep;
	const struct roost_rs_iomap entry = {
		.offset = map->offset,
		.slot.addr = (uintptr_t)map->addr,
		.slot.key = map->mr->rkey,
		.slot.length_bytes = (uint32_t)map->length_bytes,
	};
	uint8_t bytes[ROOST_RS_IOMAP_BYTES];
	struct ibv_sge sges[2];
	struct roost_rs_write write = {
		.sges = sges,
		.length_bytes = ROOST_RS_IOMAP_BYTES,
		.addr = ep->slots_addr +
			(uint64_t)ep->nb_slots * ROOST_RS_SLOT_BYTES +
			(uint64_t)map->index * ROOST_RS_IOMAP_BYTES,
		.key = ep->slots_key,
		.has_msg = true,
		.msg = roost_rs_msg(ROOST_RS_OP_IOMAP, (uint32_t)map->index),
		.wr_id = roost_rs_wr_id(ROOST_RS_WR_DATA, ROOST_RS_IOMAP_BYTES),
	};
	int ret;

	roost_rs_iomap_put(bytes, &entry, ep->big_endian);
	write.nb_sges = roost_rs_ring_take(st, ROOST_RS_IOMAP_BYTES, sges);
	put_entry(sges, write.nb_sges, bytes);
	ep->send_free_bytes -= ROOST_RS_IOMAP_BYTES;
	ep->send_free_wr--;
	ep->send_seq++;
	map->queued = false;
	st->nb_maps_queued--;
	ret = roost_rs_ep_post_write(st, &write);
	if (ret < 0)
		roost_rs_stream_fail(st, -ret);
	return ret;
}

static bool entry_is_decided(struct roost_rs *rs)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);

	return !st->writable ||
	       (roost_rs_stream_can_send(st) &&
		st->ep.send_free_bytes >= ROOST_RS_IOMAP_BYTES);
}

int roost_rs_map_flush(struct roost_rs_stream *st, bool nonblock)
{
	struct roost_rs_map *map;
	int ret = 0;

	while (ret == 0 && st->nb_maps_queued > 0) {
		ret = roost_rs_block(&st->rs, entry_is_decided, nonblock);
		if (ret == 0 && !st->writable)
			ret = -ECONNRESET;
		if (ret < 0)
			break;
		/* The list may have changed while this waited. */
		TAILQ_FOREACH(map, &st->maps, link) {
			if (map->queued) {
				ret = tell(st, map);
				break;
			}
		}
	}
	return ret;
}

/* lock held. Find the peer's entry for offset. */
static bool find(const struct roost_rs_stream *st, uint64_t offset,
		 struct roost_rs_slot *at)
{
	for (uint32_t i = 0; i < st->rs.sizes.nb_iomaps; i++) {
		volatile struct roost_rs_iomap *entry = &st->ep.iomaps[i];
		/* Pairs with the peer's write, as in adopt_slot(). */
		const uint32_t length =
			__atomic_load_n(&entry->slot.length_bytes,
					__ATOMIC_ACQUIRE);
		const uint64_t inside = offset - entry->offset;

		if (offset < entry->offset || inside >= length)
			continue;
		at->addr = entry->slot.addr + inside;
		at->key = entry->slot.key;
		at->length_bytes = length - (uint32_t)inside;
		return true;
	}
	return false;
}

static bool ring_is_decided(struct roost_rs *rs)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);

	return !st->writable ||
	       (st->ep.send_free_wr > 0 && st->ep.send_free_bytes > 0);
}

/* send_lock and lock held. Returns bytes or -errno. */
static ssize_t write_piece(struct roost_rs_stream *st, const uint8_t *from,
			   size_t left, uint64_t offset)
{
	struct roost_rs_ep *ep = &st->ep;
	struct roost_rs_write write = { 0 };
	struct roost_rs_slot at;
	struct ibv_sge sges[2];
	uint32_t bytes = PIECE_BYTES;
	int ret;

	if (!find(st, offset, &at))
		return -EINVAL;
	if (left < bytes)
		bytes = (uint32_t)left;
	if (at.length_bytes < bytes)
		bytes = at.length_bytes;
	if (ep->send_free_bytes < bytes)
		bytes = ep->send_free_bytes;
	write.nb_sges = roost_rs_ring_take(st, bytes, sges);
	put_entry(sges, write.nb_sges, from);
	write.sges = sges;
	write.length_bytes = bytes;
	write.addr = at.addr;
	write.key = at.key;
	write.wr_id = roost_rs_wr_id(ROOST_RS_WR_DATA, bytes);
	ep->send_free_bytes -= bytes;
	ep->send_free_wr--;
	ret = roost_rs_ep_post_write(st, &write);
	if (ret < 0)
		roost_rs_stream_fail(st, -ret);
	return ret < 0 ? ret : (ssize_t)bytes;
}

ssize_t roost_rs_map_write(struct roost_rs_stream *st, const void *from,
			   size_t length_bytes, uint64_t offset, int flags)
{
	const bool nonblock = roost_rs_nonblock(&st->rs, flags);
	size_t done = 0;
	ssize_t ret;

	roost_rs_lock(&st->rs, &st->rs.send_lock);
	ret = roost_rs_stream_ready(st, nonblock);
	if (ret == 0)
		ret = roost_rs_map_flush(st, nonblock);
	while (ret == 0 && done < length_bytes) {
		ret = roost_rs_block(&st->rs, ring_is_decided, nonblock);
		if (ret == 0 && !st->writable)
			ret = -ECONNRESET;
		if (ret == 0)
			ret = write_piece(st, (const uint8_t *)from + done,
					  length_bytes - done, offset + done);
		if (ret > 0) {
			done += (size_t)ret;
			ret = 0;
		}
	}
	if (ret < 0 && done == 0)
		ret = roost_rs_stream_cause(st, (int)ret);
	roost_rs_unlock(&st->rs);
	return ret < 0 && done == 0 ? ret : (ssize_t)done;
}
