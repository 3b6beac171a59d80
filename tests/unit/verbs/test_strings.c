/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "verbs_test.h"
#include "real_library.h"

#include "lib/verbs/newer.h"

#define NEWER ROOST_VERBS_EVENT_DEVICE_SPEED_CHANGE
#define COMPARE(name, type)                                                    \
	static void name##__same_text_for_every_value(void **state)            \
	{                                                                      \
		REAL(name);                                                    \
		(void)state;                                                   \
		for (int i = -2; i < 300; i++) {                               \
			const char *text = real_##name((enum type)i);          \
                                                                               \
			/* It may be older than the value. */                  \
			if (i < NEWER || strcmp(text, "unknown") != 0)         \
				assert_string_equal(name((enum type)i), text); \
		}                                                              \
	}

COMPARE(ibv_node_type_str, ibv_node_type)
COMPARE(ibv_port_state_str, ibv_port_state)
COMPARE(ibv_event_type_str, ibv_event_type)
COMPARE(ibv_wc_status_str, ibv_wc_status)

/* Where there is no library to compare with. */
static void str__first_last_and_beyond(void **state)
{
	assert_string_equal(ibv_wc_status_str(IBV_WC_SUCCESS), "success");
	assert_string_equal(ibv_wc_status_str(IBV_WC_TM_RNDV_INCOMPLETE),
			    "TM software rendezvous");
	assert_string_equal(ibv_event_type_str(IBV_EVENT_WQ_FATAL), "WQ fatal");
	assert_string_equal(ibv_port_state_str(IBV_PORT_ACTIVE), "active");
	assert_string_equal(ibv_node_type_str(IBV_NODE_CA),
			    "InfiniBand channel adapter");
	assert_string_equal(ibv_node_type_str((enum ibv_node_type)0),
			    "unknown");
	assert_string_equal(ibv_node_type_str(IBV_NODE_UNKNOWN), "unknown");
}

const char *wr_opcode_str(unsigned int opcode) __asm__("ibv_wr_opcode_str");

static void str__of_newer_values(void **state)
{
	assert_string_equal(ibv_event_type_str((enum ibv_event_type)NEWER),
			    "device speed change");
	assert_string_equal(ibv_event_type_str((enum ibv_event_type)21),
			    "unknown");
	assert_string_equal(wr_opcode_str(IBV_WR_RDMA_WRITE), "rdma-write");
	assert_string_equal(wr_opcode_str(IBV_WR_ATOMIC_FETCH_AND_ADD),
			    "atomic-fetch-and-add");
	assert_string_equal(wr_opcode_str(IBV_WR_DRIVER1), "driver1");
	assert_string_equal(wr_opcode_str(12), "unknown");
	assert_string_equal(wr_opcode_str(13), "unknown");
	assert_string_equal(wr_opcode_str(ROOST_VERBS_WR_FLUSH), "flush");
	assert_string_equal(wr_opcode_str(IBV_WR_ATOMIC_WRITE), "atomic-write");
	assert_string_equal(wr_opcode_str(16), "unknown");
	assert_string_equal(wr_opcode_str(UINT32_MAX), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ibv_node_type_str__same_text_for_every_value),
		cmocka_unit_test(ibv_port_state_str__same_text_for_every_value),
		cmocka_unit_test(ibv_event_type_str__same_text_for_every_value),
		cmocka_unit_test(ibv_wc_status_str__same_text_for_every_value),
		cmocka_unit_test(str__first_last_and_beyond),
		cmocka_unit_test(str__of_newer_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
