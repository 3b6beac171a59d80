/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TEST_VERBS_FAKE_ENGINE_H
#define ROOST_TEST_VERBS_FAKE_ENGINE_H

/*
 * An engine that does what the test says and remembers what the shim asked.
 * The shim's own objects are linked against it instead of libroost.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/roost.h>
#include "lib/engine/core/flow.h"
#include "lib/engine/core/shim.h"
#include "lib/event/source.h"
#include "lib/face/shim.h"

#define FAKE_WRS 16
#define FAKE_SGES 8
#define FAKE_CQES 64
#define FAKE_INLINE 32

struct fake_send {
	struct roost_send_wr wr;
	struct roost_sge sges[FAKE_SGES];
	/* What inline data was when it was posted. */
	uint8_t data[FAKE_INLINE];
	uint32_t data_len;
};

struct fake_recv {
	struct roost_recv_wr wr;
	struct roost_sge sges[FAKE_SGES];
};

struct fake {
	/* The call of this name fails with this; others succeed. */
	const char *fail_call;
	int fail_rc;
	/* roost_qp_send_add and recv_add fail from this request on; -1: never
	 */
	int fail_wr;

	unsigned int device_opens, device_closes, ctx_opens, ctx_closes;
	unsigned int opened_index;
	/* of roost_watch_new() */
	int door_fd;
	void (*on_question)(void *arg);
	void *on_question_arg;
	unsigned int helps, expects, pushes;
	bool help_finds_work; /* then fake.on_help() ran */
	void (*on_help)(void);

	struct roost_port_attr port;
	struct roost_gid gids[4];

	struct roost_pd *last_pd; /* what an object was made in */
	unsigned int pds, mrs, mws, ahs, cqs, qps, srqs, xrcds; /* alive */
	unsigned int wqs, ind_tables, flows;
	struct roost_flow_rule_init flow_init;

	void *mr_addr;
	size_t mr_len;
	uint64_t mr_iova;
	uint32_t mr_access;
	uint32_t mr_key; /* of roost_mr_reg_as() */
	uint32_t rereg_what;
	struct roost_sge prefetched[FAKE_SGES];
	unsigned int nb_prefetched, nb_for_write;
	unsigned int mw_type;

	struct roost_av av;
	struct roost_gid group;
	unsigned int attaches, detaches, detach_alls;

	struct roost_srq_init srq_init;
	uint32_t srq_max_wr, srq_limit;
	unsigned int srq_begins, srq_ends;
	struct roost_wq_init wq_init;
	enum roost_wq_state wq_state;
	uint8_t wq_store_flags, wq_store_mask; /* the last set */
	unsigned int wq_begins, wq_ends;
	struct roost_wq *table_wqs[4]; /* the first of the last table's */
	uint32_t table_log_size;
	struct roost_xrcd *xrcd_shared; /* with this one, the last time */

	uint32_t cq_cqe;
	struct roost_channel *cq_channel;
	int cq_arms, cq_armed_solicited, cq_reminders;
	bool cq_ignores_overrun;
	struct roost_cqe cqes[FAKE_CQES];
	int nb_cqes, polled, shown;
	bool poll_open;
	int poll_error; /* negative, once the entries are taken */

	struct roost_qp_init qp_init;
	struct roost_qp_attr qp_attr;
	uint32_t qp_mask;
	unsigned int send_begins, send_ends, send_aborts;
	unsigned int recv_begins, recv_ends;
	struct fake_send sends[FAKE_WRS];
	struct fake_recv recvs[FAKE_WRS];
	int nb_sends, nb_recvs;

	struct roost_event_source cq_comp, cq_async, qp_async, srq_async;
	struct roost_event_source port_async, wq_async;
	/* Reads give these first. */
	struct roost_event events[4];
	unsigned int nb_events, nb_read;
	unsigned int abandoned;
	struct roost_event event; /* what the next read of a channel gives */
	struct roost_event_source *acked_source;
	uint64_t acked;
};

extern struct fake fake;

/* What the engine's call of this name is to return; for the fake's own files.
 */
int fake_result(const char *call);
#define FAKE_RESULT() fake_result(__func__)
int fake_add_recv(const struct roost_recv_wr *wr);

/* Forget everything; nothing fails; one port that is up with two GIDs. */
void fake_reset(void);

#endif
