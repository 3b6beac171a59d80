/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The longest message, 2^31 bytes; of a WRITE and of a READ, also in the
 * smallest packets: 2^23 of them, half of the circle of PSNs. The memory is one
 * that repeats itself every PERIOD_BYTES, but for the first and the last of
 * them.
 */

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/sim/common.h"
#include "tests/sim/raw.h"

#define MESSAGE_BYTES (1u << 31)
#define PERIOD_BYTES (1u << 20)
/* With ASan a packet costs ten times as much, and PSNs are the same code. */
#ifdef __SANITIZE_ADDRESS__
#define MTU_MIN ROOST_MTU_4096
#else
#define MTU_MIN ROOST_MTU_256
#endif

struct memory {
	uint8_t *at;
	struct roost_mr *mr;
};

static struct memory memory_open(struct sim_qp *qp, bool fill)
{
	struct memory m = {
		.at = mmap(NULL, MESSAGE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
	};
	int fd = memfd_create("period", 0);

	assert_ptr_not_equal(m.at, MAP_FAILED);
	assert_int_equal(ftruncate(fd, PERIOD_BYTES), 0);
	for (size_t i = PERIOD_BYTES; i < MESSAGE_BYTES - PERIOD_BYTES;
	     i += PERIOD_BYTES)
		assert_ptr_not_equal(mmap(m.at + i, PERIOD_BYTES,
					  PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_FIXED, fd, 0),
				     MAP_FAILED);
	close(fd);
	for (size_t i = 0; i < 3; i++) {
		size_t offset = i == 2 ? MESSAGE_BYTES - PERIOD_BYTES
				       : i * PERIOD_BYTES;

		if (fill)
			sim_random_fill(&qp->sim->rng, m.at + offset,
					PERIOD_BYTES);
	}
	assert_int_equal(roost_mr_reg(qp->end->pd, m.at, MESSAGE_BYTES,
				      (uintptr_t)m.at, qp->conf.access, &m.mr),
			 0);
	return m;
}

static void memory_close(struct memory *m)
{
	assert_int_equal(roost_mr_dereg(m->mr), 0);
	munmap(m->at, MESSAGE_BYTES);
}

static void assert_same(const struct memory *to, const struct memory *from)
{
	assert_memory_equal(to->at, from->at, 2 * PERIOD_BYTES);
	assert_memory_equal(to->at + MESSAGE_BYTES - PERIOD_BYTES,
			    from->at + MESSAGE_BYTES - PERIOD_BYTES,
			    PERIOD_BYTES);
}

static void post(struct sim_qp *qp, uint64_t wr_id, enum roost_wr_opcode opcode,
		 const struct memory *local, const struct memory *remote,
		 uint32_t len_bytes)
{
	struct roost_sge sge = { (uintptr_t)local->at, len_bytes,
				 roost_mr_lkey(local->mr) };
	struct roost_send_wr wr = {
		.wr_id = wr_id,
		.sges = &sge,
		.nb_sges = 1,
		.opcode = opcode,
		.flags = ROOST_SEND_SIGNALED,
		.remote_addr = (uintptr_t)remote->at,
		.rkey = roost_mr_rkey(remote->mr),
	};

	roost_qp_send_begin(qp->qp);
	assert_int_equal(roost_qp_send_add(qp->qp, &wr), 0);
	roost_qp_send_end(qp->qp);
}

/* Two of them, a short one in between: nothing is left over from the first. */
static void message(enum roost_qp_type type, enum roost_wr_opcode opcode,
		    enum roost_mtu mtu)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct memory local, remote;
	struct sim_qp *a, *b;
	bool read = opcode == ROOST_WR_READ;

	conf.type = type;
	conf.mtu = mtu;
	sim_pair(sim, &conf, &a, &b);
	sim->nobody_polls = true;
	/* A receiver does not wait for the last packets of what it lost. */
	local = memory_open(a, !read);
	remote = memory_open(b, read);
	if (opcode == ROOST_WR_SEND) {
		struct roost_sge sge = { (uintptr_t)remote.at, MESSAGE_BYTES,
					 roost_mr_lkey(remote.mr) };
		struct roost_recv_wr wr = { .wr_id = 7,
					    .sges = &sge,
					    .nb_sges = 1 };

		roost_qp_recv_begin(b->qp);
		assert_int_equal(roost_qp_recv_add(b->qp, &wr), 0);
		roost_qp_recv_end(b->qp);
	}
	post(a, 1, opcode, &local, &remote, MESSAGE_BYTES);
	post(a, 2, ROOST_WR_WRITE, &local, &remote, 0);
	sim_run(sim);
	raw_expect(a->end->cq, 1, ROOST_WC_SUCCESS);
	raw_expect(a->end->cq, 2, ROOST_WC_SUCCESS);
	if (opcode == ROOST_WR_SEND) {
		struct roost_cqe cqe =
			raw_expect(b->end->cq, 7, ROOST_WC_SUCCESS);

		assert_int_equal(cqe.byte_len, MESSAGE_BYTES);
	}
	assert_same(read ? &local : &remote, read ? &remote : &local);
	assert_int_equal(sim_counters(sim, SIM_A)->retransmits, 0);
	memory_close(&local);
	memory_close(&remote);
	sim_free(sim);
}

static void large__read(void **state)
{
	message(ROOST_QPT_RC, ROOST_WR_READ, MTU_MIN);
}

static void large__write(void **state)
{
	message(ROOST_QPT_RC, ROOST_WR_WRITE, MTU_MIN);
}

static void large__send(void **state)
{
	message(ROOST_QPT_RC, ROOST_WR_SEND, ROOST_MTU_4096);
}

static void large__unreliable_write(void **state)
{
	message(ROOST_QPT_UC, ROOST_WR_WRITE, ROOST_MTU_4096);
}

/* The last PSN of the message is half of the circle ahead of its first: more
 * than that ahead of the packets before, one of which is lost.
 */
static void large__what_came_before_is_sent_again(void **state)
{
	struct sim_qp_conf conf = sim_qp_conf_default;
	struct sim *sim = sim_new();
	struct memory local, remote;
	struct sim_qp *a, *b;

	conf.mtu = ROOST_MTU_256;
	sim_pair(sim, &conf, &a, &b);
	sim->nobody_polls = true;
	local = memory_open(a, true);
	remote = memory_open(b, false);
	sim->link.faults[SIM_A] = sim_fate_faults(LOST, 0);
	post(a, 1, ROOST_WR_WRITE, &local, &remote, PERIOD_BYTES / 256);
	post(a, 2, ROOST_WR_WRITE, &local, &remote, MESSAGE_BYTES);
	sim_run_for(sim, SIM_MS);
	raw_expect(a->end->cq, 1, ROOST_WC_SUCCESS);
	assert_int_not_equal(sim_counters(sim, SIM_A)->retransmits, 0);
	assert_memory_equal(remote.at, local.at, PERIOD_BYTES / 256);
	assert_int_equal(roost_qp_state(a->qp), ROOST_QPS_RTS);
	assert_int_equal(roost_qp_state(b->qp), ROOST_QPS_RTS);
	memory_close(&local);
	memory_close(&remote);
	sim_free(sim);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(large__what_came_before_is_sent_again),
	cmocka_unit_test(large__read),
	cmocka_unit_test(large__write),
	cmocka_unit_test(large__send),
	cmocka_unit_test(large__unreliable_write),
};

SIM_MAIN("sim-large", tests)
