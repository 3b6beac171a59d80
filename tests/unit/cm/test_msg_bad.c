/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdlib.h>
#include <string.h>

#include "cm/msg.h"
#include "tests/cmocka.h"

/* A message of each type that decodes. */
static struct roost_cm_msg good(enum roost_cm_msg_type type)
{
	const struct roost_cm_msg_path path = {
		.local_lid = 0xffff,
		.local_gid = { { 0xfd, [15] = 1 } },
		.remote_gid = { { 0xfd, [15] = 2 } },
	};

	return (struct roost_cm_msg){
		.type = type,
		.local_id = 1,
		.remote_id = 2,
		.qpn = 3,
		.mtu = ROOST_MTU_1024,
		.primary = path,
		.alternate = path,
	};
}

static enum roost_cm_drop drop_of(const uint8_t *mad, size_t len)
{
	enum roost_cm_drop drop = ROOST_CM_DROP_COUNT;
	struct roost_cm_msg msg;

	if (roost_cm_msg_decode(mad, len, &msg, &drop))
		return ROOST_CM_DROP_COUNT;
	return drop;
}

static enum roost_cm_drop drop_of_msg(const struct roost_cm_msg *msg)
{
	uint8_t mad[ROOST_CM_MAD_LEN];

	roost_cm_msg_encode(msg, mad);
	return drop_of(mad, sizeof(mad));
}

#define OK ROOST_CM_DROP_COUNT

/* Each length in memory of its own, so that a sanitizer sees what is read. */
static void length__every_other(void **state)
{
	uint8_t mad[ROOST_CM_MAD_LEN];

	for (unsigned int t = 0; t < ROOST_CM_MSG_COUNT; t++) {
		struct roost_cm_msg msg = good(t);

		roost_cm_msg_encode(&msg, mad);
		assert_int_equal(drop_of(mad, sizeof(mad)), OK);
		for (size_t len = 0; len < sizeof(mad); len++) {
			uint8_t *exact = malloc(len + 1);

			memcpy(exact, mad, len);
			assert_int_equal(drop_of(exact, len),
					 ROOST_CM_DROP_LENGTH);
			free(exact);
		}
		assert_int_equal(drop_of(mad, sizeof(mad) + 1),
				 ROOST_CM_DROP_LENGTH);
	}
}

static void header__every_other_byte(void **state)
{
	static const uint8_t fixed[] = { 0, 1, 2, 3, 16 };
	uint8_t mad[ROOST_CM_MAD_LEN];
	struct roost_cm_msg msg = good(ROOST_CM_RTU);

	roost_cm_msg_encode(&msg, mad);
	for (unsigned int i = 0; i < sizeof(fixed); i++) {
		uint8_t right = mad[fixed[i]];

		for (unsigned int v = 0; v < 256; v++) {
			mad[fixed[i]] = (uint8_t)v;
			if (v != right)
				assert_int_equal(drop_of(mad, sizeof(mad)),
						 ROOST_CM_DROP_HEADER);
		}
		mad[fixed[i]] = right;
	}
	for (unsigned int attr = 0; attr < 256; attr++) {
		mad[17] = (uint8_t)attr;
		if (attr < 0x10 || attr > 0x1a)
			assert_int_equal(drop_of(mad, sizeof(mad)),
					 ROOST_CM_DROP_HEADER);
		else
			assert_int_not_equal(drop_of(mad, sizeof(mad)),
					     ROOST_CM_DROP_HEADER);
	}
}

static void req__values(void **state)
{
	struct roost_cm_msg msg = good(ROOST_CM_REQ);

	assert_int_equal(drop_of_msg(&msg), OK);
	msg.transport = ROOST_CM_TRANSPORT_RD;
	assert_int_equal(drop_of_msg(&msg), ROOST_CM_DROP_FIELD);
	msg.transport = ROOST_CM_TRANSPORT_EXT;
	assert_int_equal(drop_of_msg(&msg), ROOST_CM_DROP_FIELD);
	msg.ext_transport = ROOST_CM_TRANSPORT_EXT_XRC;
	assert_int_equal(drop_of_msg(&msg), OK);
	for (uint8_t mtu = 0; mtu < 16; mtu++) {
		msg.mtu = mtu;
		assert_int_equal(drop_of_msg(&msg),
				 mtu >= 1 && mtu <= 5 ? OK
						      : ROOST_CM_DROP_FIELD);
	}
	msg = good(ROOST_CM_REQ);
	msg.qpn = 1;
	assert_int_equal(drop_of_msg(&msg), ROOST_CM_DROP_FIELD);
	msg.qpn = 0xffffff;
	assert_int_equal(drop_of_msg(&msg), ROOST_CM_DROP_FIELD);
}

static void req__addresses(void **state)
{
	const struct roost_gid none = { { 0 } }, group = { { 0xff, 0x02 } };
	const struct roost_gid v4 = { { [10] = 0xff, [11] = 0xff, 1 } };
	struct roost_cm_msg msg = good(ROOST_CM_REQ);

	msg.primary.local_gid = none;
	assert_int_equal(drop_of_msg(&msg), ROOST_CM_DROP_FIELD);
	msg.primary.local_gid = group;
	assert_int_equal(drop_of_msg(&msg), ROOST_CM_DROP_FIELD);
	msg.primary.local_gid = v4;
	assert_int_equal(drop_of_msg(&msg), ROOST_CM_DROP_FIELD);
	msg.primary.remote_gid = v4;
	assert_int_equal(drop_of_msg(&msg), OK);
	msg.alternate.remote_gid = none;
	assert_int_equal(drop_of_msg(&msg), ROOST_CM_DROP_FIELD);
	msg.alternate.local_lid = 0; /* there is none */
	assert_int_equal(drop_of_msg(&msg), OK);
	msg = good(ROOST_CM_LAP);
	msg.alternate.remote_gid = none;
	assert_int_equal(drop_of_msg(&msg), ROOST_CM_DROP_FIELD);
}

static void others__values(void **state)
{
	struct roost_cm_msg msg = good(ROOST_CM_REP);

	msg.qpn = 0;
	assert_int_equal(drop_of_msg(&msg), ROOST_CM_DROP_FIELD);
	msg.eecn = 7;
	assert_int_equal(drop_of_msg(&msg), OK);
	msg = good(ROOST_CM_REJ);
	msg.about = 3;
	assert_int_equal(drop_of_msg(&msg), ROOST_CM_DROP_FIELD);
	msg.about = 0;
	msg.info_len_bytes = 73;
	assert_int_equal(drop_of_msg(&msg), ROOST_CM_DROP_FIELD);
	msg = good(ROOST_CM_MRA);
	msg.about = 3;
	assert_int_equal(drop_of_msg(&msg), ROOST_CM_DROP_FIELD);
	msg = good(ROOST_CM_APR);
	msg.info_len_bytes = 255;
	assert_int_equal(drop_of_msg(&msg), ROOST_CM_DROP_FIELD);
	msg = good(ROOST_CM_SIDR_REP);
	msg.info_len_bytes = 73;
	assert_int_equal(drop_of_msg(&msg), ROOST_CM_DROP_FIELD);
}

/* Whatever decodes encodes to the same again, but for reserved bits. */
static void random__is_stable(void **state)
{
	uint8_t mad[ROOST_CM_MAD_LEN], again[ROOST_CM_MAD_LEN];
	struct roost_cm_msg msg, back;
	enum roost_cm_drop drop;
	uint32_t x = 1;
	unsigned int decoded = 0;

	for (unsigned int n = 0; n < 20000; n++) {
		for (unsigned int i = 0; i < sizeof(mad); i++) {
			x = x * 1664525u + 1013904223u;
			mad[i] = (uint8_t)(x >> 24);
		}
		memcpy(mad, (const uint8_t[]){ 1, 7, 2, 3 }, 4);
		mad[16] = 0;
		mad[17] = (uint8_t)(0x10 + n % ROOST_CM_MSG_COUNT);
		if (!roost_cm_msg_decode(mad, sizeof(mad), &msg, &drop))
			continue;
		decoded++;
		roost_cm_msg_encode(&msg, again);
		assert_true(roost_cm_msg_decode(again, sizeof(again), &back,
						&drop));
		assert_memory_equal(&back, &msg, sizeof(msg));
	}
	assert_true(decoded > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(length__every_other),
		cmocka_unit_test(header__every_other_byte),
		cmocka_unit_test(req__values),
		cmocka_unit_test(req__addresses),
		cmocka_unit_test(others__values),
		cmocka_unit_test(random__is_stable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
