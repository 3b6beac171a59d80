/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The fake engine's receive work queues and their tables.
 */

#include "fake_engine.h"

static char a_wq[16], a_table;

int roost_wq_create(struct roost_pd *pd, struct roost_wq_init *init,
		    struct roost_wq **wq)
{
	fake.last_pd = pd;
	fake.wq_init = *init;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	*wq = (struct roost_wq *)&a_wq[fake.wqs++];
	init->max_wr++;
	fake.wq_async.owner = init->owner;
	fake.wq_state = ROOST_WQS_RESET;
	return 0;
}

int roost_wq_destroy(struct roost_wq *wq, uint64_t *async_acked)
{
	(void)wq;
	(void)async_acked;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.wqs--;
	return 0;
}

uint32_t roost_wq_num(const struct roost_wq *wq)
{
	return 0x777000 + (uint32_t)((const char *)wq - a_wq);
}

enum roost_wq_state roost_wq_state(const struct roost_wq *wq)
{
	(void)wq;
	return fake.wq_state;
}

struct roost_event_source *roost_wq_async_source(struct roost_wq *wq)
{
	(void)wq;
	return &fake.wq_async;
}

int roost_wq_modify(struct roost_wq *wq, enum roost_wq_state to)
{
	(void)wq;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.wq_state = to;
	return 0;
}

int roost_wq_set_store_flags(struct roost_wq *wq, uint8_t flags, uint8_t mask)
{
	(void)wq;
	fake.wq_store_flags = flags;
	fake.wq_store_mask = mask;
	return FAKE_RESULT();
}

void roost_wq_recv_begin(struct roost_wq *wq)
{
	(void)wq;
	fake.wq_begins++;
}

int roost_wq_recv_add(struct roost_wq *wq, const struct roost_recv_wr *wr)
{
	(void)wq;
	return fake_add_recv(wr);
}

void roost_wq_recv_end(struct roost_wq *wq)
{
	(void)wq;
	fake.wq_ends++;
}

int roost_ind_table_create(struct roost_ctx *ctx, struct roost_wq *const *wqs,
			   uint32_t log_size, struct roost_ind_table **table)
{
	(void)ctx;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	for (uint32_t i = 0; i < 4 && i < 1u << log_size; i++)
		fake.table_wqs[i] = wqs[i];
	fake.table_log_size = log_size;
	*table = (struct roost_ind_table *)&a_table;
	fake.ind_tables++;
	return 0;
}

int roost_ind_table_destroy(struct roost_ind_table *table)
{
	(void)table;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.ind_tables--;
	return 0;
}
