/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The reader's side of the memory. Every value in it may be wrong, and may
 * change while it is read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "pmd_glue/channel/sealed.h"
#include "pmd_glue/dump/ring.h"

#define SIZE_MAX_BYTES ((size_t)ROOST_DUMP_BUFFER_MAX_KIB * 1024 * 2)

static const struct roost_dump_head *head_of(const struct roost_dump_view *view)
{
	return (const struct roost_dump_head *)(const void *)view->base;
}

int roost_dump_view_init(struct roost_dump_view *view, const uint8_t *base,
			 size_t size_bytes)
{
	struct roost_dump_head head;

	*view = (struct roost_dump_view){ .base = base,
					  .size_bytes = size_bytes };
	if (size_bytes < ROOST_DUMP_HEAD_BYTES)
		return -EPROTO;
	memcpy(&head, base, sizeof(head));
	if (head.magic != ROOST_DUMP_MAGIC ||
	    head.version != ROOST_DUMP_VERSION ||
	    head.snaplen < ROOST_DUMP_SNAPLEN_MIN ||
	    head.snaplen > ROOST_DUMP_SNAPLEN_MAX ||
	    head.slot_bytes != roost_dump_slot_bytes(head.snaplen) ||
	    head.nb_slots == 0 || (head.nb_slots & (head.nb_slots - 1)) != 0 ||
	    (size_bytes - ROOST_DUMP_HEAD_BYTES) / head.slot_bytes <
		    head.nb_slots)
		return -EPROTO;
	view->slot_bytes = head.slot_bytes;
	view->nb_slots = head.nb_slots;
	view->snaplen = head.snaplen;
	view->slot = malloc(view->slot_bytes);
	return view->slot ? 0 : -ENOMEM;
}

int roost_dump_view_open(struct roost_dump_view *view, int fd)
{
	struct stat st;
	uint8_t *base;
	int ret = roost_sealed_check(fd);

	if (ret)
		return ret;
	if (fstat(fd, &st) != 0)
		return -errno;
	if ((uint64_t)st.st_size > SIZE_MAX_BYTES ||
	    st.st_size < (off_t)ROOST_DUMP_HEAD_BYTES)
		return -EMSGSIZE;
	ret = roost_sealed_map(fd, (size_t)st.st_size, &base);
	if (ret)
		return ret;
	ret = roost_dump_view_init(view, base, (size_t)st.st_size);
	if (ret)
		munmap(base, (size_t)st.st_size);
	return ret;
}

void roost_dump_view_close(struct roost_dump_view *view)
{
	free(view->slot);
	munmap((void *)(uintptr_t)view->base, view->size_bytes);
}

/* Make it text that a terminal and a packet analyser can show. */
static void make_plain(char *text, size_t size_bytes)
{
	text[size_bytes - 1] = '\0';
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

/* Returns false: the slot was written anew meanwhile. */
static bool copy(struct roost_dump_view *view,
		 const struct roost_dump_slot *from, uint64_t at)
{
	struct roost_dump_slot *slot = view->slot;

	memcpy(slot, from, sizeof(*slot));
	if (slot->copied_bytes > view->snaplen)
		slot->copied_bytes = view->snaplen;
	memcpy(slot->bytes, from->bytes, slot->copied_bytes);
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&from->at, memory_order_relaxed) != at)
		return false;
	if (slot->frame_bytes < slot->copied_bytes)
		slot->frame_bytes = slot->copied_bytes;
	if (slot->source >= ROOST_DUMP_SOURCES_MAX)
		slot->source = ROOST_DUMP_SOURCES_MAX - 1;
	if (slot->way > ROOST_DUMP_VOID)
		slot->way = ROOST_DUMP_VOID;
	make_plain(slot->comment, sizeof(slot->comment));
	return true;
}

bool roost_dump_view_next(struct roost_dump_view *view, bool ended)
{
	const uint64_t head = atomic_load_explicit(&head_of(view)->head,
						   memory_order_acquire);

	/* No writer is further ahead than that. */
	while (view->next < head && head - view->next <= view->nb_slots) {
		const uint64_t pos = view->next;
		const struct roost_dump_slot *slot =
			(const void *)(view->base + ROOST_DUMP_HEAD_BYTES +
				       (pos & (view->nb_slots - 1)) *
					       view->slot_bytes);

		if (atomic_load_explicit(&slot->at, memory_order_acquire) !=
		    pos + 1) {
			if (!ended)
				return false;
			view->next++;
			continue;
		}
		view->next++;
		if (copy(view, slot, pos + 1) &&
		    view->slot->way != ROOST_DUMP_VOID)
			return true;
	}
	return false;
}

void roost_dump_view_name(const struct roost_dump_view *view, uint16_t source,
			  char name[ROOST_DUMP_NAME_MAX])
{
	memcpy(name, head_of(view)->sources[source], ROOST_DUMP_NAME_MAX);
	make_plain(name, ROOST_DUMP_NAME_MAX);
}

uint64_t roost_dump_view_lost(const struct roost_dump_view *view)
{
	return atomic_load_explicit(&head_of(view)->lost, memory_order_relaxed);
}
