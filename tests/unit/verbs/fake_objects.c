/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The fake engine's objects beside CQs and QPs: memory, addresses, SRQs.
 */

#include <errno.h>
#include <string.h>

#include "fake_engine.h"

static char a_mr, a_mw, an_srq, an_ah;
/* Objects of which a test looks at more than one. */
static char a_pd[64], an_xrcd[64];

/* ---- memory ------------------------------------------------------------- */

int roost_pd_alloc(struct roost_ctx *ctx, struct roost_pd **pd)
{
	(void)ctx;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	*pd = (struct roost_pd *)&a_pd[fake.pds++];
	return 0;
}

int roost_pd_dealloc(struct roost_pd *pd)
{
	(void)pd;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.pds--;
	return 0;
}

uint32_t roost_pd_handle(const struct roost_pd *pd)
{
	(void)pd;
	return 77;
}

int roost_mr_reg(struct roost_pd *pd, void *addr, size_t len_bytes,
		 uint64_t iova, uint32_t access, struct roost_mr **mr)
{
	if (FAKE_RESULT())
		return FAKE_RESULT();
	*mr = (struct roost_mr *)&a_mr;
	fake.last_pd = pd;
	fake.mr_addr = addr;
	fake.mr_len = len_bytes;
	fake.mr_iova = iova;
	fake.mr_access = access;
	fake.mrs++;
	return 0;
}

int roost_mr_reg_as(struct roost_pd *pd, void *addr, size_t len_bytes,
		    uint64_t iova, uint32_t access, uint32_t key,
		    struct roost_mr **mr)
{
	fake.mr_key = key;
	return roost_mr_reg(pd, addr, len_bytes, iova, access, mr);
}

struct roost_mr_facts roost_mr_facts(const struct roost_mr *mr)
{
	(void)mr;
	return (struct roost_mr_facts){
		.host = fake.mr_addr,
		.iova = fake.mr_iova,
		.len_bytes = fake.mr_len,
		.access = fake.mr_access,
		.key = 0x1111,
		.has_memory = true,
	};
}

int roost_mr_alloc_null(struct roost_pd *pd, struct roost_mr **mr)
{
	if (FAKE_RESULT())
		return FAKE_RESULT();
	*mr = (struct roost_mr *)&a_mr;
	fake.last_pd = pd;
	fake.mrs++;
	return 0;
}

int roost_mr_prefetch(struct roost_pd *pd, const struct roost_sge *sge,
		      bool for_write)
{
	(void)pd;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.prefetched[fake.nb_prefetched++] = *sge;
	fake.nb_for_write += for_write;
	return 0;
}

int roost_mr_dereg(struct roost_mr *mr)
{
	(void)mr;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.mrs--;
	return 0;
}

int roost_mr_rereg(struct roost_mr *mr, uint32_t what, struct roost_pd *pd,
		   void *addr, size_t len_bytes, uint32_t access)
{
	(void)mr;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.rereg_what = what;
	fake.last_pd = pd;
	fake.mr_addr = addr;
	fake.mr_len = len_bytes;
	fake.mr_access = access;
	return 0;
}

uint32_t roost_mr_lkey(const struct roost_mr *mr)
{
	(void)mr;
	return 0x1111;
}

uint32_t roost_mr_rkey(const struct roost_mr *mr)
{
	(void)mr;
	return 0x2222;
}

int roost_mw_alloc(struct roost_pd *pd, unsigned int type, struct roost_mw **mw)
{
	fake.last_pd = pd;
	fake.mw_type = type;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	*mw = (struct roost_mw *)&a_mw;
	fake.mws++;
	return 0;
}

int roost_mw_dealloc(struct roost_mw *mw)
{
	(void)mw;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.mws--;
	return 0;
}

uint32_t roost_mw_rkey(const struct roost_mw *mw)
{
	(void)mw;
	return 0x12345fff;
}

/* ---- addresses ---------------------------------------------------------- */

int roost_ah_create(struct roost_pd *pd, const struct roost_av *av,
		    struct roost_ah **ah)
{
	fake.last_pd = pd;
	fake.av = *av;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	*ah = (struct roost_ah *)&an_ah;
	fake.ahs++;
	return 0;
}

int roost_ah_destroy(struct roost_ah *ah)
{
	(void)ah;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.ahs--;
	return 0;
}

int roost_av_resolve(struct roost_ctx *ctx, const struct roost_av *av,
		     uint8_t mac[6])
{
	(void)ctx;
	fake.av = *av;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	memcpy(mac, "\x02\x03\x04\x05\x06\x07", 6);
	return 0;
}

int roost_mcast_attach(struct roost_qp *qp, const struct roost_gid *group)
{
	(void)qp;
	fake.group = *group;
	fake.attaches++;
	return FAKE_RESULT();
}

int roost_mcast_detach(struct roost_qp *qp, const struct roost_gid *group)
{
	(void)qp;
	fake.group = *group;
	fake.detaches++;
	return FAKE_RESULT();
}

void roost_mcast_detach_all(struct roost_qp *qp)
{
	(void)qp;
	fake.detach_alls++;
}

/* ---- shared receive queues ------------------------------------------------
 */

int roost_xrcd_open(struct roost_ctx *ctx, struct roost_xrcd **xrcd)
{
	(void)ctx;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	*xrcd = (struct roost_xrcd *)&an_xrcd[fake.xrcds++];
	return 0;
}

int roost_xrcd_share(struct roost_ctx *ctx, struct roost_xrcd *with,
		     struct roost_xrcd **xrcd)
{
	(void)ctx;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.xrcd_shared = with;
	*xrcd = (struct roost_xrcd *)&an_xrcd[fake.xrcds++];
	return 0;
}

int roost_xrcd_close(struct roost_xrcd *xrcd)
{
	(void)xrcd;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.xrcds--;
	return 0;
}

int roost_srq_create(struct roost_pd *pd, struct roost_srq_init *init,
		     struct roost_srq **srq)
{
	fake.last_pd = pd;
	fake.srq_init = *init;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	*srq = (struct roost_srq *)&an_srq;
	init->max_wr++;
	fake.srq_max_wr = init->max_wr;
	fake.srq_async.owner = init->owner;
	fake.srqs++;
	return 0;
}

int roost_srq_destroy(struct roost_srq *srq, uint64_t *async_acked)
{
	(void)srq;
	(void)async_acked;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.srqs--;
	return 0;
}

uint32_t roost_srq_num(const struct roost_srq *srq)
{
	(void)srq;
	return fake.srq_init.xrcd ? 0x654321 : 0;
}

struct roost_event_source *roost_srq_async_source(struct roost_srq *srq)
{
	(void)srq;
	return &fake.srq_async;
}

int roost_srq_set_limit(struct roost_srq *srq, uint32_t limit)
{
	(void)srq;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	if (limit > fake.srq_max_wr)
		return -EINVAL;
	fake.srq_limit = limit;
	return 0;
}

int roost_srq_resize(struct roost_srq *srq, uint32_t max_wr,
		     const uint32_t *limit)
{
	(void)srq;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	if ((limit ? *limit : fake.srq_limit) > max_wr)
		return -EINVAL;
	fake.srq_max_wr = max_wr;
	if (limit)
		fake.srq_limit = *limit;
	return 0;
}

void roost_srq_query(struct roost_srq *srq, uint32_t *max_wr, uint32_t *max_sge,
		     uint32_t *limit)
{
	(void)srq;
	*max_wr = fake.srq_max_wr;
	*max_sge = fake.srq_init.max_sge;
	*limit = fake.srq_limit;
}

void roost_srq_recv_begin(struct roost_srq *srq)
{
	(void)srq;
	fake.srq_begins++;
}

int roost_srq_recv_add(struct roost_srq *srq, const struct roost_recv_wr *wr)
{
	(void)srq;
	return fake_add_recv(wr);
}

void roost_srq_recv_end(struct roost_srq *srq)
{
	(void)srq;
	fake.srq_ends++;
}

/* ---- flow rules --------------------------------------------------------- */

int roost_flow_rule_create(struct roost_qp *qp,
			   const struct roost_flow_rule_init *init,
			   struct roost_flow_rule **rule)
{
	static struct roost_flow_rule a_rule;

	(void)qp;
	fake.flow_init = *init;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	*rule = &a_rule;
	if (init->counters)
		init->counters->refs++;
	fake.flows++;
	return 0;
}

void roost_flow_rule_destroy(struct roost_flow_rule *rule)
{
	(void)rule;
	if (fake.flow_init.counters)
		fake.flow_init.counters->refs--;
	fake.flows--;
}
