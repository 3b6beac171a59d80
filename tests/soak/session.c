/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/soak/session.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/soak/objects.h"

/* Datagrams and UC get lost while a link is down. */
#define UNRELIABLE_MS 3000
/* More than all retries of a connection together. */
#define TIMEOUT_MS 120000
/* A peer that says nothing for so long is asked whether it lives. */
#define SILENCE_MS 3000
#define UNRELIABLE (1u << KIND_UC | 1u << KIND_UD)

/* wr_id: of a receive, its slot; of a request, one of these and its slot. */
#define ID_REQUEST 0x10000u
#define ID_ANSWER 0x20000u
#define ID_PROBE 0x40000u

/* The front of each message; a pattern of seq follows. */
struct head {
	uint32_t seq, kind, len;
};

/* ---- what is in a message ------------------------------------------------ */

static uint8_t byte_at(uint32_t seq, uint32_t i)
{
	return (uint8_t)((seq * 2654435761u + i * 40503u) >> 13);
}

static void fill(uint8_t *at, uint32_t seq, uint32_t kind, uint32_t len)
{
	const struct head head = { seq, kind, len };

	memcpy(at, &head, sizeof(head));
	for (uint32_t i = sizeof(head); i < len; i++)
		at[i] = byte_at(seq, i);
}

static bool is_filled(const uint8_t *at, uint32_t len, struct head *head)
{
	if (len < sizeof(*head))
		return false;
	memcpy(head, at, sizeof(*head));
	if (head->len != len || head->kind >= KIND_COUNT)
		return false;
	for (uint32_t i = sizeof(*head); i < len; i++)
		if (at[i] != byte_at(head->seq, i))
			return false;
	return true;
}

/* ---- ends ---------------------------------------------------------------- */

static bool ends(struct session *s, enum fate fate, const char *why)
{
	s->fate = fate;
	if (fate == FATE_BAD)
		fprintf(stderr, "soak: %s: %s (errno: %s)\n", s->name, why,
			strerror(errno));
	return false;
}

static const char *service_of(const struct session *s, uint32_t qpn)
{
	static const char *const names[KIND_COUNT] = { "RC", "migrating RC",
						       "UC", "UD", "XRC" };

	for (enum kind kind = 0; kind < KIND_COUNT; kind++)
		if (s->qps[kind] && s->qps[kind]->qp_num == qpn)
			return names[kind];
	return "an unknown QP";
}

/* A QP whose peer has not been heard yet cannot migrate: its first path fails
 * before it is armed, and has fewer retries than a link is down.
 */
static bool was_never_armed(const struct session *s, const struct ibv_wc *wc)
{
	struct ibv_qp *qp = s->qps[KIND_MIGRATE];
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return qp && qp->qp_num == wc->qp_num && s->seq == 0 &&
	       wc->status == IBV_WC_RETRY_EXC_ERR &&
	       ibv_query_qp(qp, &attr, IBV_QP_PATH_MIG_STATE, &init) == 0 &&
	       attr.path_mig_state == IBV_MIG_REARM;
}

static bool ends_by(struct session *s, const struct ibv_wc *wc)
{
	if (was_never_armed(s, wc))
		return ends(s, FATE_REFUSED, "never armed");
	snprintf(s->why, sizeof(s->why), "%s, round %u, wr_id %#lx: %s",
		 service_of(s, wc->qp_num), s->seq, wc->wr_id,
		 ibv_wc_status_str(wc->status));
	return ends(s,
		    wc->status == IBV_WC_RETRY_EXC_ERR ||
				    wc->status == IBV_WC_WR_FLUSH_ERR
			    ? FATE_BROKEN
			    : FATE_BAD,
		    s->why);
}

/* ---- requests ------------------------------------------------------------ */

static bool post(struct session *s, enum kind kind, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->send_flags |= IBV_SEND_SIGNALED;
	if (kind == KIND_UD) {
		wr->wr.ud.ah = s->ah;
		wr->wr.ud.remote_qpn = ntohl(s->peer.qpns_be[KIND_UD]);
		wr->wr.ud.remote_qkey = SOAK_QKEY;
	}
	if (kind == KIND_XRC)
		wr->qp_type.xrc.remote_srqn = ntohl(s->peer.srqn_be);
	if (ibv_post_send(s->qps[kind], wr, &bad) == 0)
		return true;
	return ends(s, FATE_BAD, "ibv_post_send");
}

static bool post_bytes(struct session *s, enum kind kind, uint64_t id,
		       const uint8_t *at, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)at, len, s->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND };

	return post(s, kind, &wr);
}

/* WRITE what READ brings back, in order, and an atomic. */
static bool post_memory(struct session *s)
{
	const uint64_t remote = be64toh(s->peer.addr_be);
	struct ibv_sge sge = { (uintptr_t)s->buf + SOAK_OUT, SOAK_MEM_BYTES,
			       s->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = ID_REQUEST,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .wr.rdma = { remote + SOAK_REMOTE,
					       ntohl(s->peer.rkey_be) } };
	struct ibv_send_wr add = {
		.wr_id = ID_REQUEST,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.wr.atomic = { .remote_addr = remote + SOAK_COUNTER,
			       .rkey = ntohl(s->peer.rkey_be),
			       .compare_add = 1 },
	};

	fill(s->buf + SOAK_OUT, s->seq, KIND_RC, SOAK_MEM_BYTES);
	if (!post(s, KIND_RC, &wr))
		return false;
	sge.addr = (uintptr_t)s->buf + SOAK_BACK;
	wr.opcode = IBV_WR_RDMA_READ;
	if (!post(s, KIND_RC, &wr))
		return false;
	sge = (struct ibv_sge){ (uintptr_t)s->buf + SOAK_FETCHED, 8,
				s->mr->lkey };
	s->todo += 3;
	return post(s, KIND_RC, &add);
}

static bool check_memory(struct session *s)
{
	uint64_t fetched;

	if (memcmp(s->buf + SOAK_OUT, s->buf + SOAK_BACK, SOAK_MEM_BYTES) != 0)
		return ends(s, FATE_BAD, "READ brings not what WRITE wrote");
	memcpy(&fetched, s->buf + SOAK_FETCHED, sizeof(fetched));
	if (fetched != s->seq)
		return ends(s, FATE_BAD, "the atomic counter is wrong");
	return true;
}

static bool post_group(struct session *s, uint8_t *at)
{
	struct ibv_sge sge = { (uintptr_t)at, SOAK_UD_BYTES, s->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = ID_REQUEST,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { s->group_ah, 0xffffff, SOAK_QKEY },
	};
	struct ibv_send_wr *bad;

	return ibv_post_send(s->qps[KIND_UD], &wr, &bad) == 0 ||
	       ends(s, FATE_BAD, "ibv_post_send to the group");
}

/* A message by each service; every second datagram goes to the group. */
static bool post_messages(struct session *s)
{
	for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
		uint8_t *at = s->buf + SOAK_MESSAGES + kind * SOAK_SLOT_BYTES;
		uint32_t len = 16 + s->seq * 7919 % (SOAK_MEM_BYTES - 16);

		if (s->qps[kind] == NULL)
			continue;
		if (kind == KIND_UD)
			len = SOAK_UD_BYTES;
		fill(at, s->seq, kind, len);
		s->todo++;
		if (kind == KIND_UD && s->seq % 2
			    ? !post_group(s, at)
			    : !post_bytes(s, kind, ID_REQUEST, at, len))
			return false;
	}
	return true;
}

/* ---- completions --------------------------------------------------------- */

/* Where a receive's message begins. */
static uint8_t *message_of(struct session *s, const struct ibv_wc *wc,
			   uint32_t *len)
{
	const bool has_grh = slot_kind((unsigned int)wc->wr_id) == KIND_UD;

	*len = wc->byte_len - (has_grh ? SOAK_GRH_BYTES : 0);
	return slot_at(s, (unsigned int)wc->wr_id) +
	       (has_grh ? SOAK_GRH_BYTES : 0);
}

static bool take_answer(struct session *s, const struct ibv_wc *wc)
{
	const unsigned int slot = (unsigned int)wc->wr_id;
	struct head head;
	uint32_t len;
	uint8_t *at = message_of(s, wc, &len);

	if (!is_filled(at, len, &head))
		return ends(s, FATE_BAD, "a byte of an answer differs");
	if (head.seq == s->seq)
		s->answers |= 1u << head.kind;
	else if (!(UNRELIABLE & 1u << head.kind))
		return ends(s, FATE_BAD, "an answer is out of order");
	return slot_post(s, slot) || ends(s, FATE_BAD, "ibv_post_recv");
}

/* The slot is posted again when the answer has left it. */
static bool give_answer(struct session *s, const struct ibv_wc *wc)
{
	const unsigned int slot = (unsigned int)wc->wr_id;
	struct head head;
	uint32_t len;
	uint8_t *at = message_of(s, wc, &len);

	if (!is_filled(at, len, &head))
		return ends(s, FATE_BAD, "a byte of a message differs");
	return post_bytes(s, head.kind == KIND_XRC ? KIND_RC : head.kind,
			  ID_ANSWER | slot, at, len);
}

static bool take(struct session *s, const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS)
		return ends_by(s, wc);
	s->silent_since_ms = soak_now_ms();
	if (wc->wr_id & ID_REQUEST)
		s->todo--;
	else if (wc->wr_id & ID_ANSWER)
		return slot_post(s, wc->wr_id & 0xffff) ||
		       ends(s, FATE_BAD, "ibv_post_recv");
	else if (wc->wr_id & ID_PROBE)
		s->is_probing = false;
	else
		return s->is_server ? give_answer(s, wc) : take_answer(s, wc);
	return true;
}

/* All that is there, else sleep for at most ms. */
static bool take_all(struct session *s, int ms)
{
	struct ibv_wc wcs[8];
	int n = 0;

	for (int round = 0; round < 2 && n == 0; round++) {
		if (round == 1 && !objects_sleep(s, ms))
			return true;
		n = ibv_poll_cq(s->cq, 8, wcs);
		if (n < 0)
			return ends(s, FATE_BAD, "ibv_poll_cq");
	}
	for (int i = 0; i < n; i++)
		if (!take(s, &wcs[i]))
			return false;
	return true;
}

/* ---- the two ends -------------------------------------------------------- */

static unsigned int all_kinds(const struct session *s)
{
	unsigned int kinds = 0;

	for (enum kind kind = 0; kind < KIND_COUNT; kind++)
		kinds |= s->qps[kind] ? 1u << kind : 0;
	return kinds;
}

/* An RC QP that waits for an answer learns nothing of its peer's end. */
static bool probe(struct session *s)
{
	struct ibv_send_wr wr = { .wr_id = ID_PROBE,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .wr.rdma = { be64toh(s->peer.addr_be),
					       ntohl(s->peer.rkey_be) } };

	if (s->is_probing || soak_now_ms() - s->silent_since_ms < SILENCE_MS)
		return true;
	s->is_probing = true;
	return post(s, KIND_RC, &wr);
}

bool session_round(struct session *s, struct tally *tally)
{
	const uint64_t from_ms = soak_now_ms();
	const unsigned int wanted = all_kinds(s);
	uint64_t took_ms;

	s->answers = 0;
	s->silent_since_ms = from_ms;
	if (!post_memory(s) || !post_messages(s))
		return false;
	for (;;) {
		if (!take_all(s, 50) || !probe(s))
			return false;
		took_ms = soak_now_ms() - from_ms;
		if (s->todo == 0 && s->answers == wanted)
			break;
		if (s->todo == 0 && took_ms > UNRELIABLE_MS &&
		    (s->answers | UNRELIABLE) == wanted)
			break;
		if (took_ms > TIMEOUT_MS)
			return ends(s, FATE_BAD, "nothing more comes");
	}
	tally->lost += (unsigned int)__builtin_popcount(wanted & ~s->answers);
	tally->rounds++;
	if (!check_memory(s))
		return false;
	s->seq++;
	return true;
}

void session_serve(struct session *s, struct tally *tally,
		   const atomic_bool *over)
{
	s->silent_since_ms = soak_now_ms();
	while (!s->disconnected && !*over)
		if (!take_all(s, 50) || !probe(s))
			break;
	/* It left while something was on its way. */
	if (s->disconnected && s->fate == FATE_BROKEN)
		s->fate = FATE_GOOD;
	tally->broken += s->fate == FATE_BROKEN;
	tally->sessions += s->fate == FATE_GOOD;
}
