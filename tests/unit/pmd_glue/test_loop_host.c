/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * roost/loop.h: the host of a device, VLANs and neighbours.
 */
#include "tests/unit/pmd_glue/loop_world.h"

#include <errno.h>
#include <string.h>

#include <rte_mbuf.h>

#include "lib/engine/core/shim.h"

static struct loop_world *const w = &loop_world;

/* ---- the host ------------------------------------------------------------ */

static const struct {
	const struct golden_frame *question, *answer;
} questions[] = {
	{ &arp_request, &arp_reply },
	{ &nd_solicit, &nd_advert },
	{ &echo4_request, &echo4_reply },
	{ &echo6_request, &echo6_reply },
};

#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))

static void expect_back(const struct golden_frame *f)
{
	assert_int_equal(w->nb_punts, 1);
	assert_int_equal(w->punts[0]->pkt_len, f->len_bytes);
	if (w->punts[0]->nb_segs == 1)
		assert_memory_equal(rte_pktmbuf_mtod(w->punts[0], void *),
				    f->bytes, f->len_bytes);
	loop_expect_punts(1);
}

/* The program gets them, too, and unchanged. */
static void host__answers(void **state)
{
	struct roost_loop *loop = loop_new_b();

	for (size_t i = 0; i < QUESTIONS; i++) {
		loop_hear(loop, questions[i].question);
		expect_back(questions[i].question);
		loop_run(loop, NULL, 0);
		loop_expect_sent(0, questions[i].answer);
	}
	loop_destroy(loop);
}

static void host__answers_segments(void **state)
{
	struct roost_loop *loop = loop_new_b();

	for (size_t i = 0; i < QUESTIONS; i++) {
		const struct golden_frame *f = questions[i].question;
		struct rte_mbuf *mbuf =
			loop_cut(loop_mbuf(f->bytes, f->len_bytes), 11);

		loop_run(loop, &mbuf, 1);
		expect_back(f);
		loop_run(loop, NULL, 0);
		loop_expect_sent(0, questions[i].answer);
	}
	loop_destroy(loop);
}

static void host__is_silent(void **state)
{
	struct roost_loop_conf conf = loop_conf(0);
	struct roost_loop *loop;

	conf.silent = true;
	loop = loop_new(&conf);
	for (size_t i = 0; i < QUESTIONS; i++) {
		loop_hear(loop, questions[i].question);
		expect_back(questions[i].question);
		loop_run(loop, NULL, 0);
		assert_null(loop_sent(0));
	}
	loop_destroy(loop);
}

/* Longer than what the host reads: it is the program's alone. */
static void host__leaves_long_frames(void **state)
{
	static uint8_t bytes[4000];
	struct roost_loop *loop = loop_new_b();
	struct rte_mbuf *frames[2];

	memcpy(bytes, echo4_request.bytes, echo4_request.len_bytes);
	frames[0] = loop_mbuf(bytes, sizeof(bytes));
	frames[1] = loop_mbuf(bytes, 13);
	loop_run(loop, frames, 2);
	loop_run(loop, NULL, 0);
	assert_null(loop_sent(0));
	loop_expect_punts(2);
	loop_destroy(loop);
}

/* ---- VLANs --------------------------------------------------------------- */

static struct rte_mbuf *tagged(const struct golden_frame *f, uint16_t tci)
{
	return loop_tag(loop_mbuf(f->bytes, f->len_bytes), 0x8100, tci);
}

/* As a NIC delivers it that strips tags. */
static struct rte_mbuf *stripped(const struct golden_frame *f, uint16_t tci)
{
	struct rte_mbuf *mbuf = loop_mbuf(f->bytes, f->len_bytes);

	mbuf->ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	mbuf->vlan_tci = tci;
	return mbuf;
}

static void expect_answer(const struct golden_frame *f, uint16_t vlan_id)
{
	struct rte_mbuf *sent = loop_sent(0);
	struct rte_mbuf *want = vlan_id ? tagged(f, vlan_id)
					: loop_mbuf(f->bytes, f->len_bytes);

	assert_non_null(sent);
	assert_int_equal(sent->pkt_len, want->pkt_len);
	assert_memory_equal(rte_pktmbuf_mtod(sent, void *),
			    rte_pktmbuf_mtod(want, void *), want->pkt_len);
	rte_pktmbuf_free(sent);
	rte_pktmbuf_free(want);
}

/* The program gets the frames as they came, the tag in the frame or not. */
static void expect_both_back(struct rte_mbuf *frames[2],
			     const struct golden_frame *f, uint16_t tci)
{
	assert_int_equal(w->nb_punts, 2);
	assert_memory_equal(w->punts, frames, 2 * sizeof(frames[0]));
	assert_int_equal(frames[0]->pkt_len, f->len_bytes + 4);
	assert_int_equal(frames[1]->pkt_len, f->len_bytes);
	assert_int_equal(frames[1]->vlan_tci, tci);
	assert_true(frames[1]->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED);
	assert_memory_equal(rte_pktmbuf_mtod(frames[1], void *), f->bytes,
			    f->len_bytes);
	loop_expect_punts(2);
}

/* A device in VLAN of hears a frame with this tag, or not. */
static void check_vlan(uint16_t of, uint16_t tci, bool hears)
{
	struct roost_loop_conf conf = loop_conf(0);
	struct rte_mbuf *frames[2];
	struct roost_loop *loop;

	conf.vlan_id = of;
	loop = loop_new(&conf);
	for (size_t i = 0; i < QUESTIONS; i++) {
		frames[0] = tagged(questions[i].question, tci);
		frames[1] = stripped(questions[i].question, tci);
		loop_run(loop, frames, 2);
		expect_both_back(frames, questions[i].question, tci);
		loop_run(loop, NULL, 0);
		for (unsigned int k = 0; hears && k < 2; k++)
			expect_answer(questions[i].answer, of);
		assert_null(loop_sent(0));
	}
	loop_destroy(loop);
}

static void vlan__hears_its_own(void **state)
{
	check_vlan(0, 0, true);
	check_vlan(0, 0xe000, true);
	check_vlan(100, 100, true);
	check_vlan(100, 0xe000 | 100, true);
}

static void vlan__others_are_the_programs(void **state)
{
	check_vlan(0, 100, false);
	check_vlan(100, 101, false);
	check_vlan(100, 0, false);
}

static void vlan__two_tags_are_the_programs(void **state)
{
	struct roost_loop *loop = loop_new_b();
	struct rte_mbuf *frames[3] = {
		loop_tag(tagged(&arp_request, 0), 0x8100, 0),
		loop_tag(tagged(&arp_request, 5), 0x88a8, 7),
		loop_tag(tagged(&arp_request, 5), 0x8100, 7),
	};

	loop_run(loop, frames, 3);
	loop_run(loop, NULL, 0);
	assert_null(loop_sent(0));
	loop_expect_punts(3);
	loop_destroy(loop);
}

/* Shared with a clone, so that its bytes may not change. */
static void vlan__stripped_and_shared(void **state)
{
	struct roost_loop *loop = loop_new_b();
	struct rte_mbuf *frame = stripped(&arp_request, 0);
	struct rte_mbuf *clone = rte_pktmbuf_clone(frame, w->pool);

	loop_run(loop, &frame, 1);
	loop_run(loop, NULL, 0);
	loop_expect_sent(0, &arp_reply);
	assert_memory_equal(rte_pktmbuf_mtod(clone, void *), arp_request.bytes,
			    arp_request.len_bytes);
	expect_back(&arp_request);
	rte_pktmbuf_free(clone);
	loop_destroy(loop);
}

/* ---- neighbours ---------------------------------------------------------- */

static int resolve_a(struct roost_ctx *ctx, bool v6, uint8_t mac[6])
{
	const struct roost_av av = {
		.is_global = true,
		.port_num = 1,
		.sgid_index = v6 ? 2 : 1,
		.dgid = addr(v6 ? "fd00::1" : "198.18.0.1"),
	};

	return roost_av_resolve(ctx, &av, mac);
}

static void check_resolve(bool v6, const struct golden_frame *answer)
{
	struct roost_loop *loop = loop_new_b();
	struct golden_frame of_a = *answer;
	struct roost_ctx *ctx;
	uint8_t mac[6];

	roost_ctx_open(roost_loop_dev(loop), &ctx);
	assert_int_equal(resolve_a(ctx, v6, mac), -EAGAIN);
	loop_run(loop, NULL, 0);
	assert_int_equal(loop_forget_sent(0), 1);
	/* While it waits it asks no more than a host does. */
	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(resolve_a(ctx, v6, mac), -EAGAIN);
	loop_run(loop, NULL, 0);
	assert_int_equal(loop_forget_sent(0), 0);
	loop_hear(loop, &of_a);
	assert_int_equal(resolve_a(ctx, v6, mac), 0);
	assert_memory_equal(mac, mac_a, 6);
	loop_expect_punts(1);
	roost_ctx_close(ctx);
	loop_destroy(loop);
	loop_forget_sent(0);
}

/* A question from a station tells where it is. */
static void neigh__again_until_the_answer(void **state)
{
	check_resolve(false, &arp_request);
	check_resolve(true, &nd_solicit);
}

static void neigh__nobody_answers(void **state)
{
	struct roost_loop *loop = loop_new_b();
	struct roost_ctx *ctx;
	uint8_t mac[6];
	unsigned int asked;

	roost_ctx_open(roost_loop_dev(loop), &ctx);
	assert_int_equal(resolve_a(ctx, false, mac), -EAGAIN);
	for (unsigned int i = 0; i < 40; i++) {
		loop_pass(LOOP_S / 10);
		loop_run(loop, NULL, 0);
	}
	asked = loop_forget_sent(0);
	assert_in_range(asked, 3, 8);
	assert_int_equal(resolve_a(ctx, false, mac), -ETIMEDOUT);
	loop_hear(loop, &arp_request);
	assert_int_equal(resolve_a(ctx, false, mac), 0);
	loop_expect_punts(1);
	roost_ctx_close(ctx);
	loop_destroy(loop);
}

static void neigh__no_route(void **state)
{
	struct roost_loop *loop = loop_new_b();
	const struct roost_av av = {
		.is_global = true,
		.port_num = 1,
		.sgid_index = 1,
		.dgid = addr("198.19.0.1"),
	};
	struct roost_ctx *ctx;
	uint8_t mac[6];

	roost_ctx_open(roost_loop_dev(loop), &ctx);
	assert_int_equal(roost_av_resolve(ctx, &av, mac), -EHOSTUNREACH);
	roost_ctx_close(ctx);
	loop_destroy(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOOP_TEST(host__answers),
		LOOP_TEST(host__answers_segments),
		LOOP_TEST(host__is_silent),
		LOOP_TEST(host__leaves_long_frames),
		LOOP_TEST(vlan__hears_its_own),
		LOOP_TEST(vlan__others_are_the_programs),
		LOOP_TEST(vlan__two_tags_are_the_programs),
		LOOP_TEST(vlan__stripped_and_shared),
		LOOP_TEST(neigh__again_until_the_answer),
		LOOP_TEST(neigh__nobody_answers),
		LOOP_TEST(neigh__no_route),
	};

	return cmocka_run_group_tests(tests, loop_world_start, NULL);
}
