/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "lib/wire/bytes.h"
#include "pmd_glue/netif/twin_sort.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"

#define FRAME_LEN 60u

static bool is_shared(uint16_t ether_type, size_t protocol_off,
		      uint8_t protocol)
{
	uint8_t frame[FRAME_LEN];

	/* No byte says a protocol by chance. */
	memset(frame, 0xfe, sizeof(frame));
	roost_be16_put(frame + 12, ether_type);
	frame[protocol_off] = protocol;
	return roost_twin_frame_is_shared(frame, sizeof(frame));
}

static void sort__what_the_host_listens_to(void **state)
{
	static const struct golden_frame *const frames[] = {
		&arp_request,   &arp_reply,   &nd_solicit,    &nd_advert,
		&echo4_request, &echo4_reply, &echo6_request, &echo6_reply,
	};

	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
		assert_true(roost_twin_frame_is_shared(frames[i]->bytes,
						       frames[i]->len_bytes));
	assert_true(is_shared(0x0800, 23, 2)); /* IGMP */
	assert_true(is_shared(0x86dd, 20, 0)); /* MLD */
	assert_true(is_shared(0x8915, 14, 0)); /* RoCEv1 */
}

static void sort__the_rest_is_the_kernels_alone(void **state)
{
	assert_false(is_shared(0x0800, 23, 6));
	assert_false(is_shared(0x0800, 23, 17));
	assert_false(is_shared(0x86dd, 20, 6));
	assert_false(is_shared(0x86dd, 20, 17));
	assert_false(is_shared(0x86dd, 20, 44));
	/* The numbers of the other family. */
	assert_false(is_shared(0x0800, 23, 58));
	assert_false(is_shared(0x0800, 23, 0));
	assert_false(is_shared(0x86dd, 20, 1));
	assert_false(is_shared(0x86dd, 20, 2));
	/* LLDP, and ICMP with a VLAN tag. */
	assert_false(is_shared(0x88cc, 23, 1));
	assert_false(is_shared(0x8100, 23, 1));
}

static void sort__runts(void **state)
{
	const struct golden_frame *f = &echo4_request;

	assert_false(roost_twin_frame_is_shared(f->bytes, 0));
	assert_false(roost_twin_frame_is_shared(arp_request.bytes, 13));
	assert_false(roost_twin_frame_is_shared(f->bytes, 14));
	assert_false(roost_twin_frame_is_shared(f->bytes, 23));
	assert_true(roost_twin_frame_is_shared(f->bytes, 24));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sort__what_the_host_listens_to),
		cmocka_unit_test(sort__the_rest_is_the_kernels_alone),
		cmocka_unit_test(sort__runts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
