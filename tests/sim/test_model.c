/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Random requests of every kind through QPs of every type, over a bad link;
 * all memory of both sides is compared with a model of it.
 *
 * Ten seeds from the given one on, which is that of the day unless somebody
 * asks for another. ROOST_SIM_MODEL_OPS says how many requests all of them have
 * together; two millions are a proof, the default is what there is time for.
 */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/sim/model.h"

#define NB_SEEDS 10u
#define OPS_DEFAULT 200000u
#define OPS_PER_WORLD 1000u
#define OPS_PER_SETTLE 250u
#define DAY_S 86400

/* Some requests of one queue, with one doorbell. */
static uint32_t post_some(struct model *m)
{
	struct model_qp *q = &m->qps[model_below(m, m->nb_qps)];
	enum roost_qp_type type = q->qp->conf.type;
	uint32_t n = 1 + model_below(m, 4), before = q->nb_posted;
	bool full = false;

	if (type == ROOST_QPT_XRC_TGT)
		return 0;
	model_window(q);
	roost_qp_send_begin(q->qp->qp);
	for (; n > 0 && !full && model_has_room(q); n--) {
		if (type == ROOST_QPT_UC || type == ROOST_QPT_UD)
			full = !model_post_lossy(q);
		else
			model_post(q);
	}
	roost_qp_send_end(q->qp->qp);
	n = q->nb_posted - before;
	if (full)
		model_settle(m);
	return n;
}

static void run_world(uint64_t seed, uint32_t nb_ops)
{
	struct model *m = model_new(seed);
	uint32_t since_settled = 0, n;

	while (nb_ops > 0) {
		n = post_some(m);
		nb_ops -= n < nb_ops ? n : nb_ops;
		since_settled += n;
		if (model_below(m, 4) == 0)
			model_refill(m, &m->rqs[model_below(m, m->nb_rqs)],
				     false);
		if (n == 0 || model_below(m, 4) == 0)
			sim_run_for(m->sim, model_below(m, 50000));
		model_poll(m);
		if (since_settled >= OPS_PER_SETTLE) {
			model_settle(m);
			model_reregister(&m->qps[model_below(m, m->nb_qps)]);
			since_settled = 0;
		}
	}
	model_settle(m);
	model_free(m);
}

/* Nothing was left out. */
static void check_tally(uint64_t nb_ops)
{
	static const uint32_t kinds[ROOST_QPT_COUNT] = {
		[ROOST_QPT_RC] = 0xc3ff, /* all there are */
		[ROOST_QPT_UC] = 0x000f, /* SEND, WRITE, with immediate */
		[ROOST_QPT_UD] = 0x000c,
		[ROOST_QPT_XRC_INI] = 0x007f,
	};
	const struct model_tally *t = &model_tally;

	print_message("%llu requests, %llu bytes, %llu through windows, "
		      "%llu fenced, %llu inline, %llu invalidated\n",
		      (unsigned long long)nb_ops, (unsigned long long)t->bytes,
		      (unsigned long long)t->through_window,
		      (unsigned long long)t->fenced,
		      (unsigned long long)t->inlined,
		      (unsigned long long)t->invalidated);
	if (nb_ops < OPS_DEFAULT)
		return;
	for (int type = 0; type < ROOST_QPT_COUNT; type++)
		for (int op = 0; op < ROOST_WR_OPCODE_COUNT; op++)
			assert_int_equal(t->posted[type][op] != 0,
					 kinds[type] >> op & 1);
	assert_true(t->through_window > 0 && t->fenced > 0);
	assert_true(t->inlined > 0 && t->invalidated > 0);
}

static void model__all_memory_is_as_the_model_says(void **state)
{
	const char *text = getenv("ROOST_SIM_MODEL_OPS");
	uint64_t ops = text != NULL ? strtoull(text, NULL, 0) : OPS_DEFAULT;
	uint64_t seed = sim_seed() * NB_SEEDS, world = 0;

	for (uint64_t done = 0; done < ops; done += OPS_PER_WORLD, world++)
		run_world(seed + world % NB_SEEDS +
				  world / NB_SEEDS * 0x100000000u,
			  OPS_PER_WORLD);
	check_tally(ops);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(model__all_memory_is_as_the_model_says),
};

int main(int argc, char **argv)
{
	char today[32];

	snprintf(today, sizeof(today), "%lld", (long long)time(NULL) / DAY_S);
	setenv("ROOST_SIM_SEED", today, 0);
	return sim_main(argc, argv, "sim-model", tests,
			sizeof(tests) / sizeof(tests[0]));
}
