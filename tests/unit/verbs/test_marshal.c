/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "verbs_test.h"
#include "lib/verbs/private.h"
#include "real_library.h"

/* Bytes that are all different within any member. */
static void number(void *p, size_t size, uint8_t from)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)p)[i] = (uint8_t)(from + 7 * i);
}

/* The library copies the AH through its own exported function. */
static void ah_attr__same_bytes(void **state)
{
	struct ib_uverbs_ah_attr src;
	struct ibv_ah_attr ours, theirs;

	REAL(ibv_copy_ah_attr_from_kern);
	number(&src, sizeof(src), 1);
	memset(&ours, 0xaa, sizeof(ours));
	memset(&theirs, 0xaa, sizeof(theirs));
	ibv_copy_ah_attr_from_kern(&ours, &src);
	real_ibv_copy_ah_attr_from_kern(&theirs, &src);
	assert_memory_equal(&ours, &theirs, sizeof(ours));
}

static void qp_attr__same_bytes(void **state)
{
	struct ib_uverbs_qp_attr src;
	struct ibv_qp_attr ours, theirs;

	REAL(ibv_copy_qp_attr_from_kern);
	number(&src, sizeof(src), 2);
	memset(&ours, 0xaa, sizeof(ours));
	memset(&theirs, 0xaa, sizeof(theirs));
	ibv_copy_qp_attr_from_kern(&ours, &src);
	real_ibv_copy_qp_attr_from_kern(&theirs, &src);
	assert_memory_equal(&ours, &theirs, sizeof(ours));
}

static void path_rec__same_bytes_both_ways(void **state)
{
	struct ib_user_path_rec kern, ours_kern, theirs_kern;
	struct ibv_sa_path_rec ours, theirs;

	REAL(ibv_copy_path_rec_from_kern);
	REAL(ibv_copy_path_rec_to_kern);
	number(&kern, sizeof(kern), 3);
	memset(&ours, 0xaa, sizeof(ours));
	memset(&theirs, 0xaa, sizeof(theirs));
	ibv_copy_path_rec_from_kern(&ours, &kern);
	real_ibv_copy_path_rec_from_kern(&theirs, &kern);
	assert_memory_equal(&ours, &theirs, sizeof(ours));

	memset(&ours_kern, 0xaa, sizeof(ours_kern));
	memset(&theirs_kern, 0xaa, sizeof(theirs_kern));
	ibv_copy_path_rec_to_kern(&ours_kern, &ours);
	real_ibv_copy_path_rec_to_kern(&theirs_kern, &ours);
	assert_memory_equal(&ours_kern, &theirs_kern, sizeof(ours_kern));
}

/* Where there is no library to compare with. */
static void path_rec__comes_back_as_it_went(void **state)
{
	struct ib_user_path_rec kern, back;
	struct ibv_sa_path_rec path;

	number(&kern, sizeof(kern), 4);
	kern.mtu = 5; /* a byte in struct ibv_sa_path_rec */
	memset(&back, 0, sizeof(back));
	ibv_copy_path_rec_from_kern(&path, &kern);
	ibv_copy_path_rec_to_kern(&back, &path);
	assert_memory_equal(back.dgid, kern.dgid, 16);
	assert_memory_equal(back.sgid, kern.sgid, 16);
	assert_int_equal(back.dlid, kern.dlid);
	assert_int_equal(back.flow_label, kern.flow_label);
	assert_int_equal(back.mtu, kern.mtu);
	assert_int_equal(back.pkey, kern.pkey);
	assert_int_equal(back.preference, kern.preference);
	assert_int_equal(back.packet_life_time, kern.packet_life_time);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ah_attr__same_bytes),
		cmocka_unit_test(qp_attr__same_bytes),
		cmocka_unit_test(path_rec__same_bytes_both_ways),
		cmocka_unit_test(path_rec__comes_back_as_it_went),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
