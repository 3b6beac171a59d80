/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>

#include "fake_engine.h"

struct fake fake;

static char a_device, a_dev, a_ctx, a_cq, a_qp;
static char an_async_channel, a_comp_channel;

static const struct roost_dev_limits limits = {
	.max_qp = 100,
	.max_qp_wr = 200,
	.max_sge = 4,
	.max_inline_bytes = 64,
	.max_cq = 300,
	.max_cqe = 400,
	.max_mr = 500,
	.max_mr_size = UINT64_C(1) << 40,
	.max_mw = 501,
	.max_srq = 502,
	.max_ah = 503,
	.max_mcast_grp = 50,
	.max_mcast_qp_attach = 51,
	.max_pd = 600,
	.max_qp_rd_atom = 16,
	.max_gids = 4,
	.max_pkeys = 2,
	.max_msg_bytes = 1u << 31,
};

void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.fail_wr = -1;
	fake.port = (struct roost_port_attr){
		.state = ROOST_PORT_ACTIVE,
		.max_mtu = ROOST_MTU_4096,
		.active_mtu = ROOST_MTU_1024,
		.lid = 0x1201,
		.sm_lid = 7,
		.speed_mbps = 25000,
		.gid_len = 4,
		.pkey_len = 2,
		.bad_pkey_count = 8,
		.qkey_viol_count = 9,
	};
	fake.gids[0].b[0] = 0xfe;
	fake.gids[0].b[1] = 0x80;
	fake.gids[0].b[15] = 1;
	fake.gids[2] = roost_gid_from_v4((const uint8_t[]){ 198, 18, 0, 1 });
}

int fake_result(const char *call)
{
	if (fake.fail_call && strcmp(fake.fail_call, call) == 0)
		return fake.fail_rc;
	return 0;
}

/* ---- device ------------------------------------------------------------- */

uint64_t roost_device_guid(const struct roost_config *config,
			   unsigned int index)
{
	(void)config;
	return 0x0200000000000001u + index;
}

int roost_device_open(const struct roost_config *config, unsigned int index,
		      struct roost_device **device)
{
	(void)config;
	*device = (struct roost_device *)&a_device;
	fake.opened_index = index;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.device_opens++;
	return 0;
}

void roost_device_close(struct roost_device *device)
{
	(void)device;
	fake.device_closes++;
}

struct roost_dev *roost_device_dev(struct roost_device *device)
{
	return device == (struct roost_device *)&a_device
		       ? (struct roost_dev *)&a_dev
		       : NULL;
}

int roost_watch_new(int fd, void (*ready)(void *arg), void *arg,
		    struct roost_watch **watch)
{
	fake.door_fd = fd;
	fake.on_question = ready;
	fake.on_question_arg = arg;
	*watch = (struct roost_watch *)&fake;
	return FAKE_RESULT();
}

void roost_watch_free(struct roost_watch *watch)
{
	(void)watch;
}

static bool help(void)
{
	fake.helps++;
	if (fake.on_help)
		fake.on_help();
	return fake.help_finds_work;
}

void roost_device_send_end(struct roost_device *device, struct roost_qp *qp)
{
	(void)device;
	(void)qp;
	fake.send_ends++;
	help();
}

void roost_device_push(struct roost_device *device, const struct roost_qp *qp)
{
	(void)device;
	(void)qp;
	fake.pushes++;
}

bool roost_device_help_cq(struct roost_device *device,
			  const struct roost_cq *cq)
{
	(void)device;
	(void)cq;
	return help();
}

void roost_device_send_batched(struct roost_device *device)
{
	(void)device;
}

void roost_device_expect(struct roost_device *device)
{
	(void)device;
	fake.expects++;
}

const struct roost_dev_limits *roost_dev_limits(const struct roost_dev *dev)
{
	(void)dev;
	return &limits;
}

const char *roost_dev_name(const struct roost_dev *dev)
{
	(void)dev;
	return "roost0";
}

unsigned int roost_dev_nb_ports(const struct roost_dev *dev)
{
	(void)dev;
	return 1;
}

int roost_port_query(struct roost_dev *dev, uint8_t port_num,
		     struct roost_port_attr *attr)
{
	(void)dev;
	if (port_num != 1)
		return -EINVAL;
	*attr = fake.port;
	return 0;
}

int roost_port_query_gid(struct roost_dev *dev, uint8_t port_num,
			 unsigned int index, struct roost_gid *gid)
{
	(void)dev;
	if (port_num != 1 || index >= 4)
		return -EINVAL;
	*gid = fake.gids[index];
	return 0;
}

int roost_port_query_pkey(struct roost_dev *dev, uint8_t port_num,
			  unsigned int index, uint16_t *pkey)
{
	(void)dev;
	if (port_num != 1 || index >= 2)
		return -EINVAL;
	*pkey = index == 0 ? 0xffff : 0x8001;
	return 0;
}

int roost_ctx_open(struct roost_dev *dev, struct roost_ctx **ctx)
{
	(void)dev;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.ctx_opens++;
	*ctx = (struct roost_ctx *)&a_ctx;
	return 0;
}

int roost_ctx_close(struct roost_ctx *ctx)
{
	(void)ctx;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.ctx_closes++;
	return 0;
}

struct roost_channel *roost_ctx_async_channel(struct roost_ctx *ctx)
{
	(void)ctx;
	return (struct roost_channel *)&an_async_channel;
}

/* ---- completion queues -------------------------------------------------- */

int roost_cq_create(struct roost_ctx *ctx, uint32_t cqe,
		    struct roost_channel *channel, void *owner,
		    struct roost_cq **cq)
{
	(void)ctx;
	*cq = (struct roost_cq *)&a_cq;
	fake.cq_cqe = cqe;
	fake.cq_channel = channel;
	fake.cq_comp.owner = owner;
	fake.cq_async.owner = owner;
	fake.cqs += FAKE_RESULT() == 0;
	return FAKE_RESULT();
}

void roost_cq_ignore_overrun(struct roost_cq *cq)
{
	(void)cq;
	fake.cq_ignores_overrun = true;
}

int roost_cq_destroy(struct roost_cq *cq, uint64_t *comp_acked,
		     uint64_t *async_acked)
{
	(void)cq;
	(void)comp_acked;
	(void)async_acked;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.cqs--;
	return 0;
}

uint32_t roost_cq_entries(const struct roost_cq *cq)
{
	(void)cq;
	return fake.cq_cqe + 1;
}

struct roost_event_source *roost_cq_comp_source(struct roost_cq *cq)
{
	(void)cq;
	return &fake.cq_comp;
}

struct roost_event_source *roost_cq_async_source(struct roost_cq *cq)
{
	(void)cq;
	return &fake.cq_async;
}

int roost_cq_resize(struct roost_cq *cq, uint32_t cqe)
{
	(void)cq;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.cq_cqe = cqe;
	return 0;
}

int roost_cq_poll(struct roost_cq *cq, unsigned int n, struct roost_cqe *cqes)
{
	int got = 0;

	(void)cq;
	while (got < (int)n && fake.polled < fake.nb_cqes)
		cqes[got++] = fake.cqes[fake.polled++];
	return got == 0 ? fake.poll_error : got;
}

int roost_cq_poll_begin(struct roost_cq *cq, const struct roost_cqe **cqe)
{
	(void)cq;
	if (fake.polled == fake.nb_cqes)
		return fake.poll_error ? fake.poll_error : -ENOENT;
	fake.poll_open = true;
	fake.shown = 1;
	*cqe = &fake.cqes[fake.polled];
	return 0;
}

int roost_cq_poll_next(struct roost_cq *cq, const struct roost_cqe **cqe)
{
	(void)cq;
	if (fake.polled + fake.shown == fake.nb_cqes)
		return -ENOENT;
	*cqe = &fake.cqes[fake.polled + fake.shown++];
	return 0;
}

void roost_cq_poll_end(struct roost_cq *cq)
{
	(void)cq;
	fake.poll_open = false;
	fake.polled += fake.shown;
}

void roost_cq_arm(struct roost_cq *cq, bool solicited_only)
{
	(void)cq;
	fake.cq_arms++;
	fake.cq_armed_solicited += solicited_only;
}

void roost_cq_remind(struct roost_cq *cq, bool solicited_only)
{
	(void)cq;
	(void)solicited_only;
	fake.cq_reminders++;
}

/* ---- queue pairs -------------------------------------------------------- */

int roost_qp_create(struct roost_ctx *ctx, struct roost_pd *pd,
		    struct roost_qp_init *init, struct roost_qp **qp)
{
	(void)ctx;
	*qp = (struct roost_qp *)&a_qp;
	fake.last_pd = pd;
	fake.qp_init = *init;
	fake.qp_async.owner = init->owner;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.qps++;
	init->cap.max_send_wr++;
	init->cap.max_inline_bytes = limits.max_inline_bytes;
	fake.qp_init.cap = init->cap;
	return 0;
}

int roost_qp_destroy(struct roost_qp *qp, uint64_t *async_acked)
{
	(void)qp;
	(void)async_acked;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.qps--;
	return 0;
}

uint32_t roost_qp_num(const struct roost_qp *qp)
{
	(void)qp;
	return 0x123456;
}

struct roost_event_source *roost_qp_async_source(struct roost_qp *qp)
{
	(void)qp;
	return &fake.qp_async;
}

int roost_qp_modify(struct roost_qp *qp, const struct roost_qp_attr *attr,
		    uint32_t mask)
{
	(void)qp;
	if (FAKE_RESULT())
		return FAKE_RESULT();
	fake.qp_attr = *attr;
	fake.qp_mask = mask;
	return 0;
}

void roost_qp_query(struct roost_qp *qp, struct roost_qp_attr *attr,
		    struct roost_qp_init *init)
{
	(void)qp;
	*attr = fake.qp_attr;
	*init = fake.qp_init;
}

void roost_qp_send_begin(struct roost_qp *qp)
{
	(void)qp;
	fake.send_begins++;
}

static void take_inline(struct fake_send *s)
{
	s->data_len = 0;
	for (uint32_t i = 0; i < s->wr.nb_sges; i++) {
		if (s->sges[i].len_bytes > FAKE_INLINE - s->data_len)
			return;
		memcpy(s->data + s->data_len,
		       (const void *)(uintptr_t)s->sges[i].addr,
		       s->sges[i].len_bytes);
		s->data_len += s->sges[i].len_bytes;
	}
}

int roost_qp_send_add(struct roost_qp *qp, const struct roost_send_wr *wr)
{
	struct fake_send *s = &fake.sends[fake.nb_sends];

	(void)qp;
	if (fake.nb_sends == fake.fail_wr)
		return -ENOMEM;
	if (wr->nb_sges > FAKE_SGES)
		return -EINVAL;
	s->wr = *wr;
	if (wr->nb_sges)
		memcpy(s->sges, wr->sges, wr->nb_sges * sizeof(s->sges[0]));
	if (wr->flags & ROOST_SEND_INLINE)
		take_inline(s);
	fake.nb_sends++;
	return 0;
}

void roost_qp_send_abort(struct roost_qp *qp)
{
	(void)qp;
	fake.send_aborts++;
	fake.nb_sends = 0;
}

void roost_qp_recv_begin(struct roost_qp *qp)
{
	(void)qp;
	fake.recv_begins++;
}

int fake_add_recv(const struct roost_recv_wr *wr)
{
	struct fake_recv *r = &fake.recvs[fake.nb_recvs];

	if (fake.nb_recvs == fake.fail_wr)
		return -ENOMEM;
	if (wr->nb_sges > FAKE_SGES)
		return -EINVAL;
	r->wr = *wr;
	if (wr->nb_sges)
		memcpy(r->sges, wr->sges, wr->nb_sges * sizeof(r->sges[0]));
	fake.nb_recvs++;
	return 0;
}

int roost_qp_recv_add(struct roost_qp *qp, const struct roost_recv_wr *wr)
{
	(void)qp;
	return fake_add_recv(wr);
}

void roost_qp_recv_end(struct roost_qp *qp)
{
	(void)qp;
	fake.recv_ends++;
}

/* ---- channels ----------------------------------------------------------- */

int roost_channel_create(unsigned int capacity, struct roost_channel **channel)
{
	(void)capacity;
	*channel = (struct roost_channel *)&a_comp_channel;
	return FAKE_RESULT();
}

void roost_channel_destroy(struct roost_channel *channel)
{
	(void)channel;
}

int roost_channel_fd(const struct roost_channel *channel)
{
	return channel == (struct roost_channel *)&an_async_channel ? 1001
								    : 1002;
}

int roost_channel_read(struct roost_channel *channel, struct roost_event *event)
{
	(void)channel;
	*event = fake.nb_read < fake.nb_events ? fake.events[fake.nb_read++]
					       : fake.event;
	if (event->source)
		event->owner = event->source->owner;
	return FAKE_RESULT();
}

void roost_event_ack(struct roost_event_source *source, uint64_t n)
{
	fake.acked_source = source;
	fake.acked += n;
}

void roost_event_source_abandon(struct roost_event_source *source)
{
	(void)source;
	fake.abandoned++;
}
