/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Numbers and services that the daemon leases to this device. */

#include <errno.h>
#include <string.h>
#include <time.h>

#include "pmd_glue/process/clock.h"
#include "pmd_glue/share/port_priv.h"

#define NAP_NS 10000000

/* A daemon that was started again leases nothing new for a while. */
static int request_lease(struct roost_share_port *p,
			 struct roost_share_msg *msg)
{
	const uint64_t until_ns = roost_now_ns() + ROOST_SHARE_ANSWER_NS;
	const struct roost_share_msg asked = *msg;
	int ret;

	while ((ret = roost_share_request(p->session, msg)) == -EAGAIN &&
	       !roost_control_is_self() && roost_now_ns() < until_ns) {
		nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
		*msg = asked;
	}
	return ret;
}

static int lease_block(struct roost_share_port *p, uint32_t *block)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_QPNS };
	int ret;

	if (!atomic_flag_test_and_set(&p->first_qpns)) {
		*block = p->granted.qpn_block;
		return 0;
	}
	ret = request_lease(p, &msg);
	if (ret)
		return ret;
	if (msg.reply.value >>
		    (p->granted.qpn_index_bits - p->granted.qpn_block_shift) !=
	    0)
		return -EPROTO;
	*block = (uint32_t)msg.reply.value;
	return 0;
}

static int lease_qpns(void *ctx, uint32_t *first, uint32_t *nb)
{
	struct roost_share_port *p = ctx;
	uint32_t block;
	int ret = lease_block(p, &block);

	if (ret)
		return ret;
	*first = block << p->granted.qpn_block_shift;
	*nb = 1u << p->granted.qpn_block_shift;
	return 0;
}

static int request(struct roost_share_port *p, enum roost_share_type type,
		   const struct roost_service_claim *service)
{
	struct roost_share_msg msg = {
		.type = (uint16_t)type,
		.claim = { .addr = service->addr,
			   .service_id = service->id,
			   .family = service->family,
			   .listens = service->listens,
			   .reuseaddr = service->reuseaddr,
			   .afonly = service->afonly },
	};

	return request_lease(p, &msg);
}

static int claim(void *ctx, const struct roost_service_claim *service)
{
	return request(ctx, ROOST_SHARE_CLAIM, service);
}

/* A daemon that has gone holds no claim. */
static void release(void *ctx, const struct roost_service_claim *service)
{
	request(ctx, ROOST_SHARE_UNCLAIM, service);
}

void roost_share_set_leases(struct roost_share_port *p)
{
	const struct roost_share_attached *a = &p->granted;

	p->leases = (struct roost_leases){
		.ctx = p,
		.qpn_key = { a->qpn_seed[0], a->qpn_seed[1] },
		.qpn_index_bits = a->qpn_index_bits,
		.lease_qpns = lease_qpns,
		.cm_key = { a->comm_seed[0], a->comm_seed[1] },
		.cm_prefix = a->comm_prefix,
		.cm_prefix_bits = a->comm_prefix_bits,
		.claim = claim,
		.release = release,
	};
	p->base.leases = &p->leases;
	p->base.shares_addrs = true;
}
