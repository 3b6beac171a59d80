/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "cm/msg.h"
#include "tests/cmocka.h"

/* Bytes as IBTA's tables have them, written by hand: what stands at an offset
 * of the MAD (24 bytes of header first), ended by a row of length 0.
 */
struct bytes {
	unsigned int at;
	unsigned int len;
	uint8_t v[16];
};

static void assert_bytes(const uint8_t *mad, const struct bytes *want)
{
	for (; want->len != 0; want++)
		if (memcmp(mad + want->at, want->v, want->len) != 0)
			fail_msg("bytes at %u", want->at);
}

#define MAD_HDR(attr)                                                          \
	{ 0, 8, { 1, 7, 2, 3 } }, { 8, 8, { 1, 2, 3, 4, 5, 6, 7, 8 } },        \
	{                                                                      \
		16, 4,                                                         \
		{                                                              \
			0, attr                                                \
		}                                                              \
	}

static struct roost_cm_msg msg_of(enum roost_cm_msg_type type)
{
	struct roost_cm_msg msg = {
		.type = type,
		.tid = 0x0102030405060708,
		.local_id = 0xa1a2a3a4,
		.remote_id = 0xb1b2b3b4,
	};

	memset(msg.data, 0xdd, roost_cm_msg_data_len(type));
	return msg;
}

static const struct roost_gid gid_a = { { 0xfd, [15] = 1 } };
static const struct roost_gid gid_b = { { 0xfd, [15] = 2 } };

static void check(const struct roost_cm_msg *msg, const struct bytes *want)
{
	uint8_t mad[ROOST_CM_MAD_LEN];
	struct roost_cm_msg back;
	enum roost_cm_drop drop;

	memset(mad, 0xff, sizeof(mad));
	roost_cm_msg_encode(msg, mad);
	assert_bytes(mad, want);
	assert_true(roost_cm_msg_decode(mad, sizeof(mad), &back, &drop));
	assert_memory_equal(&back, msg, sizeof(back));
}

static void req__golden(void **state)
{
	struct roost_cm_msg msg = msg_of(ROOST_CM_REQ);

	msg.remote_id = 0;
	msg.attr_mod = 0x11121314;
	msg.vendor_id = 0x212223;
	msg.service_id = 0x0000000001061d2f;
	msg.ca_guid = 0x3132333435363738;
	msg.qkey = 0x41424344;
	msg.qpn = 0x515253;
	msg.responder_resources = 0x61;
	msg.initiator_depth = 0x62;
	msg.remote_cm_timeout = 20;
	msg.transport = ROOST_CM_TRANSPORT_EXT;
	msg.ext_transport = ROOST_CM_TRANSPORT_EXT_XRC;
	msg.flow_control = 1;
	msg.starting_psn = 0x717273;
	msg.local_cm_timeout = 21;
	msg.retry_count = 7;
	msg.pkey = 0xffff;
	msg.mtu = ROOST_MTU_4096;
	msg.rnr_retry_count = 6;
	msg.max_cm_retries = 15;
	msg.srq = 1;
	msg.primary = (struct roost_cm_msg_path){
		.local_lid = 0xffff,
		.remote_lid = 0xfffe,
		.local_gid = gid_a,
		.remote_gid = gid_b,
		.flow_label = 0x81828,
		.packet_rate = 0x3f,
		.traffic_class = 0x91,
		.hop_limit = 0x40,
		.sl = 0xa,
		.subnet_local = 1,
		.ack_timeout = 19,
	};
	msg.alternate = msg.primary;
	msg.alternate.local_gid = gid_b;
	msg.alternate.remote_gid = gid_a;
	check(&msg,
	      (const struct bytes[]){
		      MAD_HDR(0x10),
		      { 20, 4, { 0x11, 0x12, 0x13, 0x14 } },
		      { 24,
			8,
			{ 0xa1, 0xa2, 0xa3, 0xa4, 0, 0x21, 0x22, 0x23 } },
		      { 32, 8, { 0, 0, 0, 0, 1, 6, 0x1d, 0x2f } },
		      { 40,
			12,
			{ 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38 } },
		      { 52, 4, { 0x41, 0x42, 0x43, 0x44 } },
		      { 56, 4, { 0x51, 0x52, 0x53, 0x61 } },
		      { 60, 4, { 0, 0, 0, 0x62 } },
		      { 64, 4, { 0, 0, 0, 20 << 3 | 3 << 1 | 1 } },
		      { 68, 4, { 0x71, 0x72, 0x73, 21 << 3 | 7 } },
		      { 72,
			4,
			{ 0xff, 0xff, 5 << 4 | 6, 0xf << 4 | 1 << 3 | 1 } },
		      { 76, 4, { 0xff, 0xff, 0xff, 0xfe } },
		      { 80, 16, { 0xfd, [15] = 1 } },
		      { 96, 16, { 0xfd, [15] = 2 } },
		      { 112, 4, { 0x81, 0x82, 0x80, 0x3f } },
		      { 116, 4, { 0x91, 0x40, 0xa8, 19 << 3 } },
		      { 124, 16, { 0xfd, [15] = 2 } },
		      { 160, 4, { 0x91, 0x40, 0xa8, 19 << 3 } },
		      { 164, 2, { 0xdd, 0xdd } },
		      { 255, 1, { 0xdd } },
		      { 0 },
	      });
}

static void mra__golden(void **state)
{
	struct roost_cm_msg msg = msg_of(ROOST_CM_MRA);

	msg.about = ROOST_CM_ABOUT_OTHER;
	msg.service_timeout = 24;
	check(&msg,
	      (const struct bytes[]){
		      MAD_HDR(0x11),
		      { 24,
			8,
			{ 0xa1, 0xa2, 0xa3, 0xa4, 0xb1, 0xb2, 0xb3, 0xb4 } },
		      { 32, 3, { 0x80, 24 << 3, 0xdd } },
		      { 255, 1, { 0xdd } },
		      { 0 },
	      });
}

static void rej__golden(void **state)
{
	struct roost_cm_msg msg = msg_of(ROOST_CM_REJ);

	msg.about = ROOST_CM_ABOUT_REP;
	msg.reason = 28;
	msg.info_len_bytes = 72;
	memset(msg.info, 0xee, 72);
	check(&msg, (const struct bytes[]){
			    MAD_HDR(0x12),
			    { 32, 4, { 0x40, 72 << 1, 0, 28 } },
			    { 36, 2, { 0xee, 0xee } },
			    { 107, 2, { 0xee, 0xdd } },
			    { 255, 1, { 0xdd } },
			    { 0 },
		    });
}

static void rep__golden(void **state)
{
	struct roost_cm_msg msg = msg_of(ROOST_CM_REP);

	msg.qkey = 0x41424344;
	msg.qpn = 0x515253;
	msg.eecn = 0x616263;
	msg.vendor_high = 0x71;
	msg.vendor_mid = 0x72;
	msg.vendor_low = 0x73;
	msg.starting_psn = 0x818283;
	msg.responder_resources = 0x91;
	msg.initiator_depth = 0x92;
	msg.target_ack_delay = 15;
	msg.failover_accepted = 2;
	msg.flow_control = 1;
	msg.rnr_retry_count = 7;
	msg.srq = 1;
	msg.ca_guid = 0x3132333435363738;
	check(&msg,
	      (const struct bytes[]){
		      MAD_HDR(0x13),
		      { 32, 4, { 0x41, 0x42, 0x43, 0x44 } },
		      { 36, 4, { 0x51, 0x52, 0x53, 0x71 } },
		      { 40, 4, { 0x61, 0x62, 0x63, 0x72 } },
		      { 44, 4, { 0x81, 0x82, 0x83, 0x73 } },
		      { 48,
			4,
			{ 0x91, 0x92, 15 << 3 | 2 << 1 | 1, 7 << 5 | 1 << 4 } },
		      { 52,
			8,
			{ 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38 } },
		      { 60, 2, { 0xdd, 0xdd } },
		      { 255, 1, { 0xdd } },
		      { 0 },
	      });
}

static void rtu_dreq_drep__golden(void **state)
{
	struct roost_cm_msg msg = msg_of(ROOST_CM_RTU);

	check(&msg, (const struct bytes[]){ MAD_HDR(0x14),
					    { 31, 2, { 0xb4, 0xdd } },
					    { 255, 1, { 0xdd } },
					    { 0 } });
	msg = msg_of(ROOST_CM_DREQ);
	msg.qpn = 0x515253;
	check(&msg,
	      (const struct bytes[]){ MAD_HDR(0x15),
				      { 32, 5, { 0x51, 0x52, 0x53, 0, 0xdd } },
				      { 255, 1, { 0xdd } },
				      { 0 } });
	msg = msg_of(ROOST_CM_DREP);
	check(&msg, (const struct bytes[]){ MAD_HDR(0x16),
					    { 31, 2, { 0xb4, 0xdd } },
					    { 255, 1, { 0xdd } },
					    { 0 } });
}

static void sidr__golden(void **state)
{
	struct roost_cm_msg msg = msg_of(ROOST_CM_SIDR_REQ);

	msg.remote_id = 0;
	msg.pkey = 0xfffe;
	msg.service_id = 0x0111000a;
	check(&msg, (const struct bytes[]){
			    MAD_HDR(0x17),
			    { 24, 8, { 0xa1, 0xa2, 0xa3, 0xa4, 0xff, 0xfe } },
			    { 32, 9, { 0, 0, 0, 0, 1, 0x11, 0, 0x0a, 0xdd } },
			    { 255, 1, { 0xdd } },
			    { 0 } });
	msg = msg_of(ROOST_CM_SIDR_REP);
	msg.remote_id = 0;
	msg.status = 2;
	msg.info_len_bytes = 3;
	memset(msg.info, 0xee, 72);
	msg.qpn = 0x515253;
	msg.vendor_high = 0x71;
	msg.vendor_low = 0x72;
	msg.service_id = 0x0111000a;
	msg.qkey = 0x41424344;
	check(&msg, (const struct bytes[]){
			    MAD_HDR(0x18),
			    { 28, 4, { 2, 3, 0, 0x71 } },
			    { 32, 4, { 0x51, 0x52, 0x53, 0x72 } },
			    { 36, 8, { 0, 0, 0, 0, 1, 0x11, 0, 0x0a } },
			    { 44, 5, { 0x41, 0x42, 0x43, 0x44, 0xee } },
			    { 119, 2, { 0xee, 0xdd } },
			    { 255, 1, { 0xdd } },
			    { 0 } });
}

static void lap_apr__golden(void **state)
{
	struct roost_cm_msg msg = msg_of(ROOST_CM_LAP);

	msg.qpn = 0x515253;
	msg.remote_cm_timeout = 20;
	msg.alternate = (struct roost_cm_msg_path){
		.local_lid = 0xffff,
		.remote_lid = 0xffff,
		.local_gid = gid_a,
		.remote_gid = gid_b,
		.flow_label = 0x81828,
		.packet_rate = 3,
		.traffic_class = 0x91,
		.hop_limit = 0x40,
		.sl = 0xa,
		.subnet_local = 1,
		.ack_timeout = 19,
	};
	check(&msg,
	      (const struct bytes[]){
		      MAD_HDR(0x19),
		      { 32, 8, { 0, 0, 0, 0, 0x51, 0x52, 0x53, 20 << 3 } },
		      { 40, 8, { 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff } },
		      { 48, 16, { 0xfd, [15] = 1 } },
		      { 64, 16, { 0xfd, [15] = 2 } },
		      { 80, 4, { 0x81, 0x82, 0x80, 0x91 } },
		      { 84, 5, { 0x40, 3, 0xa8, 19 << 3, 0xdd } },
		      { 255, 1, { 0xdd } },
		      { 0 } });
	msg = msg_of(ROOST_CM_APR);
	msg.info_len_bytes = 72;
	msg.status = 5;
	memset(msg.info, 0xee, 72);
	check(&msg, (const struct bytes[]){ MAD_HDR(0x1a),
					    { 32, 5, { 72, 5, 0, 0, 0xee } },
					    { 107, 2, { 0xee, 0xdd } },
					    { 255, 1, { 0xdd } },
					    { 0 } });
}

static void data_len__as_the_header_says(void **state)
{
	static const size_t want[ROOST_CM_MSG_COUNT] = {
		[ROOST_CM_REQ] = ROOST_CM_REQ_DATA_LEN,
		[ROOST_CM_MRA] = ROOST_CM_MRA_DATA_LEN,
		[ROOST_CM_REJ] = ROOST_CM_REJ_DATA_LEN,
		[ROOST_CM_REP] = ROOST_CM_REP_DATA_LEN,
		[ROOST_CM_RTU] = ROOST_CM_RTU_DATA_LEN,
		[ROOST_CM_DREQ] = ROOST_CM_DREQ_DATA_LEN,
		[ROOST_CM_DREP] = ROOST_CM_DREP_DATA_LEN,
		[ROOST_CM_SIDR_REQ] = ROOST_CM_SIDR_REQ_DATA_LEN,
		[ROOST_CM_SIDR_REP] = ROOST_CM_SIDR_REP_DATA_LEN,
		[ROOST_CM_LAP] = ROOST_CM_LAP_DATA_LEN,
		[ROOST_CM_APR] = ROOST_CM_APR_DATA_LEN,
	};

	for (unsigned int i = 0; i < ROOST_CM_MSG_COUNT; i++)
		assert_int_equal(roost_cm_msg_data_len(i), want[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(req__golden),
		cmocka_unit_test(mra__golden),
		cmocka_unit_test(rej__golden),
		cmocka_unit_test(rep__golden),
		cmocka_unit_test(rtu_dreq_drep__golden),
		cmocka_unit_test(sidr__golden),
		cmocka_unit_test(lap_apr__golden),
		cmocka_unit_test(data_len__as_the_header_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
