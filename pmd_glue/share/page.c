/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/share/page.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pmd_glue/channel/sealed.h"

/* A daemon that was stopped while it wrote is not waited for. */
#define READ_TRIES 1000u

_Static_assert(sizeof(struct roost_share_facts) % sizeof(uint64_t) == 0 &&
		       offsetof(struct roost_share_page, facts) %
				       sizeof(uint64_t) ==
			       0,
	       "the facts are copied word by word");

#define FACT_WORDS (sizeof(struct roost_share_facts) / sizeof(uint64_t))

/* The facts as words: both ends may use them at the same time. */
static _Atomic uint64_t *words(const struct roost_share_page *page)
{
	return (_Atomic uint64_t *)(uintptr_t)&page->facts;
}

int roost_share_page_make(struct roost_share_page **page, int *fd)
{
	uint8_t *base;
	int ret;

	*fd = roost_sealed_make("roost-port", sizeof(**page), &base);
	if (*fd < 0)
		return *fd;
	*page = (struct roost_share_page *)(void *)base;
	(*page)->version = ROOST_SHARE_PAGE_VERSION;
	(*page)->size_bytes = sizeof(**page);
	ret = roost_sealed_seal(*fd);
	if (ret) {
		roost_share_page_close(*page);
		close(*fd);
	}
	return ret;
}

/* The fences pair with those of roost_share_page_read() (a sequence lock). */
bool roost_share_page_write(struct roost_share_page *page,
			    const struct roost_share_facts *facts)
{
	uint64_t copy[FACT_WORDS];
	uint32_t generation =
		atomic_load_explicit(&page->generation, memory_order_relaxed);

	if (memcmp(&page->facts, facts, sizeof(*facts)) == 0)
		return false;
	memcpy(copy, facts, sizeof(copy));
	atomic_store_explicit(&page->generation, generation + 1,
			      memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	for (size_t i = 0; i < FACT_WORDS; i++)
		atomic_store_explicit(&words(page)[i], copy[i],
				      memory_order_relaxed);
	atomic_store_explicit(&page->generation, generation + 2,
			      memory_order_release);
	return true;
}

int roost_share_page_map(int fd, const struct roost_share_page **page)
{
	const struct roost_share_page *got;
	uint8_t *base;
	int ret = roost_sealed_check(fd);

	if (!ret)
		ret = roost_sealed_map(fd, sizeof(*got), &base);
	if (ret)
		return ret == -EMSGSIZE ? -EPROTO : ret;
	got = (const struct roost_share_page *)(void *)base;
	if (got->version == ROOST_SHARE_PAGE_VERSION &&
	    got->size_bytes == sizeof(*got)) {
		*page = got;
		return 0;
	}
	roost_share_page_close(got);
	return -EPROTONOSUPPORT;
}

int roost_share_page_read(const struct roost_share_page *page,
			  struct roost_share_facts *facts, uint32_t *generation)
{
	uint64_t copy[FACT_WORDS];
	uint32_t before, after;

	for (unsigned int i = 0; i < READ_TRIES; i++) {
		before = atomic_load_explicit(&page->generation,
					      memory_order_acquire);
		for (size_t k = 0; k < FACT_WORDS; k++)
			copy[k] = atomic_load_explicit(&words(page)[k],
						       memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		after = atomic_load_explicit(&page->generation,
					     memory_order_relaxed);
		if (before != after || (before & 1) != 0)
			continue;
		memcpy(facts, copy, sizeof(*facts));
		*generation = before;
		return 0;
	}
	return -EAGAIN;
}

void roost_share_page_close(const struct roost_share_page *page)
{
	munmap((void *)(uintptr_t)page, sizeof(*page));
}
