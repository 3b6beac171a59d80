/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_TURN_LIST_H
#define ROOST_ENGINE_CORE_TURN_LIST_H

/*
 * A list that workers walk in their turns while another thread changes it. An
 * entry begins with its link. The writers have a lock of their own, and free an
 * entry that they removed after roost_dev_turns_pass().
 */

#include <stdatomic.h>

struct roost_turn_link {
	_Atomic(struct roost_turn_link *) next; /* NULL: the last one */
};

/* The entry behind a link, or the first one of a list; NULL: none. Thread: the
 * holder of a turn, or of the list's lock.
 */
static inline void *roost_turn_list_next(const struct roost_turn_link *link)
{
	return atomic_load_explicit(&link->next, memory_order_acquire);
}

/* Insert behind an entry, or as the first one of a list. */
static inline void roost_turn_list_insert(struct roost_turn_link *behind,
					  struct roost_turn_link *entry)
{
	atomic_store_explicit(&entry->next, roost_turn_list_next(behind),
			      memory_order_relaxed);
	atomic_store_explicit(&behind->next, entry, memory_order_release);
}

/* Who stands at the entry goes on behind it. */
static inline void roost_turn_list_remove(struct roost_turn_link *list,
					  struct roost_turn_link *entry)
{
	while (roost_turn_list_next(list) != entry)
		list = roost_turn_list_next(list);
	atomic_store_explicit(&list->next, roost_turn_list_next(entry),
			      memory_order_release);
}

#endif
