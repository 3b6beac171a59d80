/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Ports that are made up: what they offer, and what they say to rules. */

#include <errno.h>
#include <string.h>

#include <roost/config.h>
#include "pmd_glue/port/queues.h"
#include "tests/cmocka.h"

#define UDP4 (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP)
#define UDP6 (RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_UDP)
#define PORT 3u

static void choose__what_is_offered(void **state)
{
	static const struct {
		struct roost_queues_offer offer;
		unsigned int wanted, workers;
		struct roost_queues q;
	} rows[] = {
		/* A NIC with RSS, which knows TCP, too. */
		{ { 16, 16, UDP4 | UDP6 | RTE_ETH_RSS_TCP, false, false },
		  2,
		  2,
		  { 2, UDP4 | UDP6, ROOST_STEERING_RSS } },
		{ { 16, 16, UDP4 | UDP6, false, false },
		  1,
		  1,
		  { 1, 0, ROOST_STEERING_NONE } },
		{ { 3, 16, UDP4, false, false },
		  8,
		  8,
		  { 3, UDP4, ROOST_STEERING_RSS } },
		{ { 16, 2, UDP4, false, false },
		  8,
		  8,
		  { 2, UDP4, ROOST_STEERING_RSS } },
		/* Queues, and nothing that fills them. */
		{ { 16, 16, 0, false, false },
		  4,
		  4,
		  { 1, 0, ROOST_STEERING_SOFTWARE } },
		{ { 16, 16, RTE_ETH_RSS_TCP, false, false },
		  4,
		  4,
		  { 1, 0, ROOST_STEERING_SOFTWARE } },
		/* Filled by the peer; better by RSS. */
		{ { 16, 16, 0, true, false },
		  4,
		  4,
		  { 4, 0, ROOST_STEERING_DRIVER } },
		{ { 16, 16, UDP4, true, false },
		  4,
		  4,
		  { 4, UDP4, ROOST_STEERING_RSS } },
		/* All that there are. */
		{ { 5, 5, 0, true, true },
		  2,
		  2,
		  { 5, 0, ROOST_STEERING_DRIVER } },
		{ { 5, 5, 0, true, true },
		  1,
		  1,
		  { 5, 0, ROOST_STEERING_NONE } },
		{ { 1, 1, 0, true, true },
		  2,
		  2,
		  { 1, 0, ROOST_STEERING_SOFTWARE } },
		/* No more than there can be workers, and never none. */
		{ { 1024, 1024, UDP4, false, true },
		  2,
		  2,
		  { ROOST_WORKERS_MAX, UDP4, ROOST_STEERING_RSS } },
		{ { 0, 0, UDP4, true, true },
		  2,
		  2,
		  { 1, 0, ROOST_STEERING_SOFTWARE } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct roost_queues q =
			roost_queues_choose(&rows[i].offer, rows[i].wanted,
					    rows[i].workers);

		assert_int_equal(q.nb, rows[i].q.nb);
		assert_int_equal(q.rss_hf, rows[i].q.rss_hf);
		assert_int_equal(q.steering, rows[i].q.steering);
	}
}

/* ---- a NIC ----------------------------------------------------------------
 */

static struct {
	bool refuses_v6;          /* when it is asked */
	unsigned int creates_max; /* rules */
	bool has_no_reta;
	unsigned int nb_rules;
	enum rte_flow_item_type ip[4]; /* of each rule */
	uint64_t types[4];
	uint16_t reta[128];
	unsigned int nb_updates;
} nic;

static int reta_update(uint16_t port, struct rte_eth_rss_reta_entry64 *reta,
		       uint16_t size)
{
	assert_int_equal(port, PORT);
	if (nic.has_no_reta)
		return -ENOTSUP;
	assert_int_equal(size, 128);
	for (unsigned int i = 0; i < size; i++) {
		assert_true(reta[i / 64].mask >> i % 64 & 1);
		nic.reta[i] = reta[i / 64].reta[i % 64];
	}
	nic.nb_updates++;
	return 0;
}

static void check_rule(const struct rte_flow_attr *attr,
		       const struct rte_flow_item *p,
		       const struct rte_flow_action *a)
{
	const struct rte_flow_item_udp *udp = p[2].spec, *mask = p[2].mask;
	const struct rte_flow_action_rss *rss = a[0].conf;

	assert_true(attr->ingress);
	assert_int_equal(p[0].type, RTE_FLOW_ITEM_TYPE_ETH);
	assert_int_equal(p[2].type, RTE_FLOW_ITEM_TYPE_UDP);
	assert_int_equal(p[3].type, RTE_FLOW_ITEM_TYPE_END);
	assert_int_equal(udp->hdr.dst_port, rte_cpu_to_be_16(4791));
	assert_int_equal(mask->hdr.dst_port, 0xffff);
	assert_int_equal(mask->hdr.src_port, 0);
	assert_int_equal(a[0].type, RTE_FLOW_ACTION_TYPE_RSS);
	assert_int_equal(a[1].type, RTE_FLOW_ACTION_TYPE_END);
	assert_int_equal(rss->queue_num, 4);
	for (uint16_t i = 0; i < 4; i++)
		assert_int_equal(rss->queue[i], i);
}

static int validate(uint16_t port, const struct rte_flow_attr *attr,
		    const struct rte_flow_item *pattern,
		    const struct rte_flow_action *actions,
		    struct rte_flow_error *error)
{
	(void)error;
	assert_int_equal(port, PORT);
	check_rule(attr, pattern, actions);
	return nic.refuses_v6 && pattern[1].type == RTE_FLOW_ITEM_TYPE_IPV6
		       ? -ENOTSUP
		       : 0;
}

static struct rte_flow *create(uint16_t port, const struct rte_flow_attr *attr,
			       const struct rte_flow_item *pattern,
			       const struct rte_flow_action *actions,
			       struct rte_flow_error *error)
{
	const struct rte_flow_action_rss *rss = actions[0].conf;

	(void)error;
	assert_int_equal(port, PORT);
	check_rule(attr, pattern, actions);
	if (nic.nb_rules == nic.creates_max)
		return NULL;
	nic.ip[nic.nb_rules] = pattern[1].type;
	nic.types[nic.nb_rules] = rss->types;
	return (struct rte_flow *)&nic.ip[nic.nb_rules++];
}

static int destroy(uint16_t port, struct rte_flow *flow,
		   struct rte_flow_error *error)
{
	(void)error;
	assert_int_equal(port, PORT);
	assert_ptr_equal(flow, &nic.ip[nic.nb_rules - 1]);
	nic.nb_rules--;
	return 0;
}

static const struct roost_queues_ops ops = {
	.reta_update = reta_update,
	.validate = validate,
	.create = create,
	.destroy = destroy,
};

static int setup(void **state)
{
	memset(&nic, 0, sizeof(nic));
	nic.creates_max = 4;
	for (uint16_t i = 0; i < 128; i++)
		nic.reta[i] = i % 4;
	return 0;
}

static enum roost_steering steer(uint64_t rss_hf, uint16_t reta_size)
{
	struct roost_queues q = { 4, rss_hf, ROOST_STEERING_RSS };

	roost_queues_steer(&q, PORT, reta_size, &ops);
	return q.steering;
}

static void check_reta(uint16_t nb)
{
	for (uint16_t i = 0; i < 128; i++)
		assert_int_equal(nic.reta[i], i % nb);
}

static void steer__rules_for_both(void **state)
{
	assert_int_equal(steer(UDP4 | UDP6, 128), ROOST_STEERING_FLOW);
	assert_int_equal(nic.nb_rules, 2);
	assert_int_equal(nic.ip[0], RTE_FLOW_ITEM_TYPE_IPV4);
	assert_int_equal(nic.types[0], UDP4);
	assert_int_equal(nic.ip[1], RTE_FLOW_ITEM_TYPE_IPV6);
	assert_int_equal(nic.types[1], UDP6);
	check_reta(1);
}

static void steer__refused_keeps_rss(void **state)
{
	nic.refuses_v6 = true;
	assert_int_equal(steer(UDP4 | UDP6, 128), ROOST_STEERING_RSS);
	nic.refuses_v6 = false;
	assert_int_equal(steer(UDP4, 128), ROOST_STEERING_RSS);
	assert_int_equal(steer(UDP4 | UDP6, 0), ROOST_STEERING_RSS);
	nic.has_no_reta = true;
	assert_int_equal(steer(UDP4 | UDP6, 128), ROOST_STEERING_RSS);
	assert_int_equal(nic.nb_rules, 0);
	assert_int_equal(nic.nb_updates, 0);
	check_reta(4);
}

static void steer__half_made_is_undone(void **state)
{
	for (nic.creates_max = 0; nic.creates_max < 2; nic.creates_max++) {
		assert_int_equal(steer(UDP4 | UDP6, 128), ROOST_STEERING_RSS);
		assert_int_equal(nic.nb_rules, 0);
		check_reta(4);
	}
	assert_int_equal(nic.nb_updates, 4);
}

static void steer__only_where_rss_is(void **state)
{
	struct roost_queues q = { 4, 0, ROOST_STEERING_DRIVER };

	roost_queues_steer(&q, PORT, 128, &ops);
	assert_int_equal(q.steering, ROOST_STEERING_DRIVER);
	assert_int_equal(nic.nb_rules + nic.nb_updates, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(choose__what_is_offered),
		cmocka_unit_test_setup(steer__rules_for_both, setup),
		cmocka_unit_test_setup(steer__refused_keeps_rss, setup),
		cmocka_unit_test_setup(steer__half_made_is_undone, setup),
		cmocka_unit_test_setup(steer__only_where_rss_is, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
