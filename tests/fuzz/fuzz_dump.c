/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Captures: the memory of a process that anybody may have written, as `roost
 * dump` reads it; and the filter, which looks at frames as they come from the
 * network. Input: a byte that says which, then the memory or the frame.
 */

#include <stdlib.h>
#include <string.h>

#include "pmd_glue/dump/filter.h"
#include "pmd_glue/dump/ring.h"
#include "tests/fuzz/fuzz.h"

#define SNAPLEN 64u
#define SLOTS 8u
#define FRAMES_MAX 1000u

static void check_text(const char *text, size_t size)
{
	const size_t len = strnlen(text, size);

	FUZZ_CHECK(len < size);
	for (size_t i = 0; i < len; i++)
		FUZZ_CHECK(text[i] >= ' ' && text[i] <= '~');
}

/* The input is all of it, or, what comes further, the slots behind a head. */
static void read_memory(const uint8_t *data, size_t len, bool has_head)
{
	const size_t slot = roost_dump_slot_bytes(SNAPLEN);
	const size_t size = ROOST_DUMP_HEAD_BYTES + SLOTS * slot;
	uint8_t *memory = aligned_alloc(64, size);
	struct roost_dump_head *head = (void *)memory;
	char name[ROOST_DUMP_NAME_MAX];
	struct roost_dump_view view;
	uint8_t *to = has_head ? memory : memory + ROOST_DUMP_HEAD_BYTES;
	const size_t room = (size_t)(memory + size - to);
	int ret;

	FUZZ_CHECK(memory != NULL);
	memset(memory, 0, size);
	if (!has_head) {
		head->magic = ROOST_DUMP_MAGIC;
		head->version = ROOST_DUMP_VERSION;
		head->snaplen = SNAPLEN;
		head->slot_bytes = (uint32_t)slot;
		head->nb_slots = SLOTS;
		head->head = SLOTS;
	}
	memcpy(to, data, len < room ? len : room);
	ret = roost_dump_view_init(&view, memory, size);
	for (unsigned int i = 0;
	     ret == 0 && i < FRAMES_MAX && roost_dump_view_next(&view, true);
	     i++) {
		FUZZ_CHECK(view.slot->copied_bytes <= view.snaplen);
		FUZZ_CHECK(view.slot->frame_bytes >= view.slot->copied_bytes);
		FUZZ_CHECK(view.slot->way < ROOST_DUMP_VOID);
		check_text(view.slot->comment, sizeof(view.slot->comment));
		roost_dump_view_name(&view, view.slot->source, name);
		check_text(name, sizeof(name));
	}
	if (ret == 0)
		free(view.slot);
	free(memory);
}

static void filter_frame(const uint8_t *data, size_t len)
{
	struct roost_dump_filter filter = { .nb_qpns = 0 };
	/* The sanitizer sees a read behind it. */
	uint8_t *frame = malloc(len ? len : 1);

	FUZZ_CHECK(frame != NULL);
	roost_dump_filter_add(&filter, "address", "198.18.0.1");
	memcpy(frame, data, len);
	roost_dump_filter_takes(&filter, frame, (uint32_t)len, NULL, NULL);
	filter.nb_addrs = 0;
	roost_dump_filter_add(&filter, "qp", "5");
	roost_dump_filter_add(&filter, "cm-id", "11");
	roost_dump_filter_takes(&filter, frame, (uint32_t)len, NULL, NULL);
	free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 65536)
		return 0;
	if (data[0] % 3 == 2)
		filter_frame(data + 1, size - 1);
	else
		read_memory(data + 1, size - 1, data[0] % 3 == 0);
	return 0;
}
