/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>

#include "tests/unit/engine/fixture.h"

#define DEPTH 8u

static uint8_t memory[4096];

static struct roost_send_wr good_send(struct roost_sge *sge)
{
	*sge = (struct roost_sge){ (uintptr_t)memory, 64, 0 };
	return (struct roost_send_wr){
		.wr_id = 1,
		.opcode = ROOST_WR_SEND,
		.sges = sge,
		.nb_sges = 1,
	};
}

static struct roost_recv_wr good_recv(struct roost_sge *sge)
{
	*sge = (struct roost_sge){ (uintptr_t)memory, 64, 0 };
	return (struct roost_recv_wr){
		.wr_id = 1,
		.sges = sge,
		.nb_sges = 1,
	};
}

/* How many requests there are in both queues: ERR completes them all. */
static unsigned int nb_posted(struct fixture *f, struct roost_qp *qp)
{
	struct roost_cqe cqes[64];
	int n;

	assert_int_equal(fixture_to(qp, ROOST_QPS_ERR), 0);
	n = roost_cq_poll(f->cq, 64, cqes);
	assert_true(n >= 0);
	return (unsigned int)n;
}

/* ---- send ----------------------------------------------------------- */

static void send_add__each_wrong_field(void **state)
{
	struct fixture *f = *state;
	static const struct roost_sge huge[4] = {
		{ 0, 0x80000000, 0 },
		{ 0, 1, 0 },
		{ 0, UINT32_MAX, 0 },
		{ 0, UINT32_MAX, 0 },
	};
	static const int opcodes[] = {
		10, 11, 12, 13, ROOST_WR_OPCODE_COUNT, 255, INT32_MAX, -1
	};
	struct roost_send_wr wr;
	struct roost_sge sge[8];
	struct roost_qp *qp = fixture_qp_in_rts(f, DEPTH);

	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		wr = good_send(sge);
		wr.opcode = (enum roost_wr_opcode)opcodes[i];
		assert_int_equal(fixture_send(qp, &wr), -EINVAL);
	}
	for (uint32_t bit = 4; bit < 32; bit++) {
		wr = good_send(sge);
		wr.flags = 1u << bit;
		assert_int_equal(fixture_send(qp, &wr), -EINVAL);
	}
	wr = good_send(sge);
	wr.nb_sges = 5;
	assert_int_equal(fixture_send(qp, &wr), -EINVAL);
	wr.nb_sges = UINT32_MAX;
	assert_int_equal(fixture_send(qp, &wr), -EINVAL);
	wr = good_send(sge);
	wr.sges = huge;
	for (wr.nb_sges = 2; wr.nb_sges <= 4; wr.nb_sges++)
		assert_int_equal(fixture_send(qp, &wr), -EINVAL);
	wr = good_send(sge);
	wr.flags = ROOST_SEND_INLINE;
	sge[0].len_bytes = sizeof(memory);
	assert_int_equal(fixture_send(qp, &wr), -EINVAL);
	/* FLUSH has no data: its length is that of the remote range. */
	wr.opcode = ROOST_WR_FLUSH;
	assert_int_equal(fixture_send(qp, &wr), -EINVAL);
	/* No side effects: not even a doorbell. */
	assert_false(roost_worker_has_work(f->worker));
	assert_int_equal(nb_posted(f, qp), 0);
	roost_qp_destroy(qp, NULL);
}

/* The longest message there is. */
static void send_add__length_limit(void **state)
{
	struct fixture *f = *state;
	struct roost_sge sge[1] = { { (uintptr_t)memory, 0x80000000, 0 } };
	struct roost_send_wr wr = {
		.opcode = ROOST_WR_SEND,
		.sges = sge,
		.nb_sges = 1,
	};
	struct roost_qp *qp;

	assert_int_equal(roost_dev_limits(f->dev)->max_msg_bytes, 0x80000000);
	qp = fixture_qp_in_rts(f, DEPTH);
	assert_int_equal(fixture_send(qp, &wr), 0);
	sge[0].len_bytes++;
	assert_int_equal(fixture_send(qp, &wr), -EINVAL);
	assert_int_equal(nb_posted(f, qp), 1);
	roost_qp_destroy(qp, NULL);
}

static void send_add__states(void **state)
{
	struct fixture *f = *state;
	struct roost_send_wr wr;
	struct roost_sge sge;
	struct roost_qp *qp;

	wr = good_send(&sge);
	qp = fixture_qp(f, DEPTH);
	assert_int_equal(fixture_send(qp, &wr), -EINVAL);
	assert_int_equal(fixture_to_init(qp), 0);
	assert_int_equal(fixture_send(qp, &wr), -EINVAL);
	assert_int_equal(fixture_to_rtr(f, qp), 0);
	assert_int_equal(fixture_send(qp, &wr), -EINVAL);
	assert_int_equal(fixture_to_rts(qp), 0);
	assert_int_equal(fixture_send(qp, &wr), 0);
	assert_int_equal(fixture_to(qp, ROOST_QPS_SQD), 0);
	assert_int_equal(fixture_send(qp, &wr), 0);
	assert_int_equal(nb_posted(f, qp), 2);
	assert_int_equal(fixture_send(qp, &wr), 0);
	fixture_iterate(f, 1);
	assert_int_equal(nb_posted(f, qp), 1);
	assert_int_equal(fixture_to(qp, ROOST_QPS_RESET), 0);
	assert_int_equal(fixture_send(qp, &wr), -EINVAL);
	roost_qp_destroy(qp, NULL);
}

/* As many as it was said to hold, and again when they are gone. */
static void send_add__full(void **state)
{
	struct fixture *f = *state;
	struct roost_qp_init init;
	struct roost_qp_attr attr;
	struct roost_send_wr wr;
	struct roost_sge sge;
	struct roost_qp *qp;

	wr = good_send(&sge);
	qp = fixture_qp_in_rts(f, DEPTH);
	roost_qp_query(qp, &attr, &init);
	for (uint32_t i = 0; i < init.cap.max_send_wr; i++)
		assert_int_equal(fixture_send(qp, &wr), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(fixture_send(qp, &wr), -ENOMEM);
	assert_int_equal(nb_posted(f, qp), init.cap.max_send_wr);
	for (uint32_t i = 0; i < init.cap.max_send_wr; i++)
		assert_int_equal(fixture_send(qp, &wr), 0);
	assert_int_equal(fixture_send(qp, &wr), -ENOMEM);
	fixture_iterate(f, 1);
	assert_int_equal(nb_posted(f, qp), init.cap.max_send_wr);
	roost_qp_destroy(qp, NULL);
}

/* A list with a bad request in it: those before are posted. */
static void send_end__posts_what_was_good(void **state)
{
	struct fixture *f = *state;
	struct roost_send_wr wr;
	struct roost_sge sge;
	struct roost_qp *qp;

	wr = good_send(&sge);
	qp = fixture_qp_in_rts(f, DEPTH);
	roost_qp_send_begin(qp);
	assert_int_equal(roost_qp_send_add(qp, &wr), 0);
	assert_int_equal(roost_qp_send_add(qp, &wr), 0);
	wr.nb_sges = 5;
	assert_int_equal(roost_qp_send_add(qp, &wr), -EINVAL);
	/* Not before the end. */
	assert_false(roost_worker_has_work(f->worker));
	roost_qp_send_end(qp);
	assert_true(roost_worker_has_work(f->worker));
	assert_int_equal(nb_posted(f, qp), 2);
	roost_qp_destroy(qp, NULL);
}

/* Whether what is added now may wait, when so many posts do; it is posted. */
static bool can_wait(struct roost_qp *qp, uint32_t len_bytes, unsigned int n,
		     uint32_t waiting)
{
	struct roost_sge sge;
	struct roost_send_wr wr = good_send(&sge);
	bool can;

	sge.len_bytes = len_bytes;
	roost_qp_send_begin(qp);
	while (n-- > 0)
		assert_int_equal(roost_qp_send_add(qp, &wr), 0);
	can = roost_qp_send_can_wait(qp, waiting);
	roost_qp_send_end(qp);
	return can;
}

/* One small request, to a QP with sixteen that were sent. */
static void send_can_wait__behind_many(void **state)
{
	struct fixture *f = *state;
	struct roost_qp *qp = fixture_qp_in_rts(f, 64);

	for (int i = 0; i < 16; i++)
		assert_false(can_wait(qp, 64, 1, 0));
	assert_true(can_wait(qp, 64, 1, 0));
	assert_true(can_wait(qp, 64, 1, 1));
	assert_false(can_wait(qp, 64, 1, 3));
	assert_true(can_wait(qp, 1024, 1, 0));
	assert_false(can_wait(qp, 1025, 1, 0));
	assert_false(can_wait(qp, 64, 2, 0));
	assert_false(can_wait(qp, 64, 0, 0));
	/* Those are over. */
	assert_int_equal(nb_posted(f, qp), 23);
	assert_false(can_wait(qp, 64, 1, 0));
	roost_qp_destroy(qp, NULL);
}

static void send_abort__posts_nothing(void **state)
{
	struct fixture *f = *state;
	struct roost_send_wr wr;
	struct roost_sge sge;
	struct roost_qp *qp;

	wr = good_send(&sge);
	qp = fixture_qp_in_rts(f, DEPTH);
	for (int round = 0; round < 20; round++) {
		roost_qp_send_begin(qp);
		for (int i = 0; i < 5; i++)
			assert_int_equal(roost_qp_send_add(qp, &wr), 0);
		roost_qp_send_abort(qp);
	}
	assert_false(roost_worker_has_work(f->worker));
	assert_int_equal(fixture_send(qp, &wr), 0);
	assert_int_equal(nb_posted(f, qp), 1);
	roost_qp_destroy(qp, NULL);
}

/* An error completes with the request's own number. */
static void send_add__keeps_wr_id(void **state)
{
	struct fixture *f = *state;
	struct roost_cqe cqes[DEPTH];
	struct roost_send_wr wr;
	struct roost_sge sge;
	struct roost_qp *qp;

	wr = good_send(&sge);
	qp = fixture_qp_in_rts(f, DEPTH);
	for (uint64_t i = 0; i < DEPTH; i++) {
		wr.wr_id = UINT64_MAX - i;
		assert_int_equal(fixture_send(qp, &wr), 0);
	}
	assert_int_equal(fixture_to(qp, ROOST_QPS_ERR), 0);
	assert_int_equal(roost_cq_poll(f->cq, DEPTH, cqes), DEPTH);
	for (uint64_t i = 0; i < DEPTH; i++) {
		assert_int_equal(cqes[i].wr_id, UINT64_MAX - i);
		assert_int_equal(cqes[i].qpn, roost_qp_num(qp));
		assert_int_equal(cqes[i].status, ROOST_WC_WR_FLUSH_ERR);
		/* Programs that wait for solicited ones must learn of it. */
		assert_true(cqes[i].solicited);
	}
	roost_qp_destroy(qp, NULL);
}

/* ---- receive -------------------------------------------------------- */

static void recv_add__each_wrong_field(void **state)
{
	struct fixture *f = *state;
	static const struct roost_sge huge[2] = { { 0, 0x80000000, 0 },
						  { 0, 1, 0 } };
	struct roost_recv_wr wr;
	struct roost_sge sge[8];
	struct roost_qp *qp = fixture_qp(f, DEPTH);

	wr = good_recv(sge);
	assert_int_equal(fixture_recv(qp, &wr), -EINVAL); /* RESET */
	assert_int_equal(fixture_to_init(qp), 0);
	wr.nb_sges = 5;
	assert_int_equal(fixture_recv(qp, &wr), -EINVAL);
	wr.nb_sges = 2;
	wr.sges = huge;
	assert_int_equal(fixture_recv(qp, &wr), -EINVAL);
	assert_int_equal(nb_posted(f, qp), 0);
	roost_qp_destroy(qp, NULL);
}

static void recv_add__states(void **state)
{
	struct fixture *f = *state;
	struct roost_recv_wr wr;
	struct roost_sge sge;
	struct roost_qp *qp;

	wr = good_recv(&sge);
	qp = fixture_qp(f, DEPTH);
	assert_int_equal(fixture_to_init(qp), 0);
	assert_int_equal(fixture_recv(qp, &wr), 0);
	assert_int_equal(fixture_to_rtr(f, qp), 0);
	assert_int_equal(fixture_recv(qp, &wr), 0);
	assert_int_equal(fixture_to_rts(qp), 0);
	assert_int_equal(fixture_recv(qp, &wr), 0);
	assert_int_equal(fixture_to(qp, ROOST_QPS_SQD), 0);
	assert_int_equal(fixture_recv(qp, &wr), 0);
	/* Receives ring for nobody: the responder looks by itself. */
	assert_false(roost_worker_has_work(f->worker));
	assert_int_equal(nb_posted(f, qp), 4);
	assert_int_equal(fixture_recv(qp, &wr), 0);
	assert_true(roost_worker_has_work(f->worker));
	fixture_iterate(f, 1);
	assert_int_equal(nb_posted(f, qp), 1);
	roost_qp_destroy(qp, NULL);
}

static void recv_add__full(void **state)
{
	struct fixture *f = *state;
	struct roost_qp_init init;
	struct roost_qp_attr attr;
	struct roost_recv_wr wr;
	struct roost_sge sge;
	struct roost_qp *qp;

	wr = good_recv(&sge);
	qp = fixture_qp_in_rts(f, DEPTH);
	roost_qp_query(qp, &attr, &init);
	for (uint32_t i = 0; i < init.cap.max_recv_wr; i++)
		assert_int_equal(fixture_recv(qp, &wr), 0);
	assert_int_equal(fixture_recv(qp, &wr), -ENOMEM);
	/* RESET empties it, without completions. */
	assert_int_equal(fixture_to(qp, ROOST_QPS_RESET), 0);
	assert_int_equal(fixture_to_init(qp), 0);
	for (uint32_t i = 0; i < init.cap.max_recv_wr; i++)
		assert_int_equal(fixture_recv(qp, &wr), 0);
	assert_int_equal(fixture_recv(qp, &wr), -ENOMEM);
	assert_int_equal(nb_posted(f, qp), init.cap.max_recv_wr);
	roost_qp_destroy(qp, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(send_add__each_wrong_field),
		FIXTURE_TEST(send_add__length_limit),
		FIXTURE_TEST(send_add__states),
		FIXTURE_TEST(send_add__full),
		FIXTURE_TEST(send_end__posts_what_was_good),
		FIXTURE_TEST(send_can_wait__behind_many),
		FIXTURE_TEST(send_abort__posts_nothing),
		FIXTURE_TEST(send_add__keeps_wr_id),
		FIXTURE_TEST(recv_add__each_wrong_field),
		FIXTURE_TEST(recv_add__states),
		FIXTURE_TEST(recv_add__full),
	};

	return cmocka_run_group_tests_name("post", tests, NULL, NULL);
}
