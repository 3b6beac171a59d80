/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/roostd/switch/departed.h"
#include "lib/wire/bytes.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/roostd/switch/fixture.h"
#include "tests/unit/apps/roostd/switch/world.h"

#define CA_GUID 0x1122334455667788u

static struct roost_sw_mad room;
static struct roost_sw_pkt pkt;
static struct roost_departed departed;
static uint8_t bytes[ROOST_SW_GSI_FRAME_MAX];

static void out(const struct world *w, const struct maker *m)
{
	struct roost_sw_frame frame = make(m);

	assert_int_equal(roost_sw_parse(&frame, &room, &pkt), ROOST_SW_OK);
	roost_seen_out(w->seen, w->client[0], &pkt, frame.head);
}

static void in(const struct world *w, const struct maker *m)
{
	struct roost_sw_frame frame = make(m);

	assert_int_equal(roost_sw_parse(&frame, &room, &pkt), ROOST_SW_OK);
	assert_int_equal(roost_seen_in(w->seen, w->client[0], &pkt),
			 ROOST_SW_OK);
}

static void send_type(const struct world *w, enum roost_cm_msg_type type)
{
	const struct maker m = mad_of(w, 0, type);

	out(w, &m);
}

static void get_type(const struct world *w, enum roost_cm_msg_type type)
{
	const struct maker m = mad_to(w, 0, type);

	in(w, &m);
}

/* The next message, as its receiver reads it; NULL: none. */
static const struct roost_cm_msg *next(const struct world *w, uint64_t now_ns)
{
	struct roost_sw_frame frame = { .head = bytes };

	frame.len_bytes = frame.head_len_bytes =
		roost_departed_next(&departed, &w->port, now_ns, bytes);
	if (frame.len_bytes == 0)
		return NULL;
	assert_int_equal(roost_sw_parse(&frame, &room, &pkt), ROOST_SW_OK);
	assert_non_null(pkt.mad);
	assert_memory_equal(pkt.frame.src_mac, w->port.mac, 6);
	assert_true(roost_gid_eq(&pkt.frame.sgid, &gid_v4));
	assert_true(roost_gid_eq(&pkt.frame.dgid, &gid_peer_v4));
	assert_int_equal(bytes[5], 2); /* the peer's MAC */
	assert_int_equal(frame.len_bytes, 14 + 20 + 8 + 12 + 8 + 256 + 4);
	return &room.msg;
}

static void begin(struct world *w)
{
	world_init(w);
	w->port.ca_guid = CA_GUID;
	roost_departed_init(&departed, 3);
}

static void end(struct world *w)
{
	roost_departed_fini(&departed);
	world_fini(w);
}

static void die(const struct world *w)
{
	roost_departed_add(&departed, w->seen, w->client[0], SECOND);
	assert_int_equal(w->seen->clients[w->client[0]].nb, 0);
}

static void established__dreq_until_answered(void **state)
{
	static const unsigned int at_ms[] = { 0,   50,   150,  350,
					      750, 1550, 3150, 6350 };
	const struct roost_cm_msg *msg;
	struct world w;

	begin(&w);
	send_type(&w, ROOST_CM_REQ);
	get_type(&w, ROOST_CM_REP);
	send_type(&w, ROOST_CM_RTU);
	die(&w);
	for (size_t i = 0; i < sizeof(at_ms) / sizeof(at_ms[0]); i++) {
		const uint64_t due_ns = SECOND + at_ms[i] * UINT64_C(1000000);

		assert_int_equal(roost_departed_next_ns(&departed), due_ns);
		assert_null(next(&w, due_ns - 1));
		msg = next(&w, due_ns);
		assert_non_null(msg);
		assert_int_equal(msg->type, ROOST_CM_DREQ);
		assert_int_equal(msg->local_id, w.comm[0]);
		assert_int_equal(msg->remote_id, 0x9999);
		assert_int_equal(msg->qpn, 0x4242);
		assert_null(next(&w, due_ns));
	}
	assert_int_equal(roost_departed_next_ns(&departed), UINT64_MAX);
	assert_int_equal(departed.nb, 0);
	end(&w);
}

static void dreq__ends_with_the_answer(void **state)
{
	static const enum roost_cm_msg_type types[] = { ROOST_CM_DREP,
							ROOST_CM_DREQ,
							ROOST_CM_REJ };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct roost_sw_frame frame;
		struct world w;
		struct maker m;

		begin(&w);
		get_type(&w, ROOST_CM_REQ);
		send_type(&w, ROOST_CM_REP);
		get_type(&w, ROOST_CM_RTU);
		die(&w);
		assert_non_null(next(&w, SECOND));
		/* Not from another, nor for another. */
		m = mad_to(&w, 0, types[i]);
		m.flow.sgid.b[15] ^= 1;
		frame = make(&m);
		assert_int_equal(roost_sw_parse(&frame, &room, &pkt), 0);
		roost_departed_in(&departed, &pkt);
		assert_int_equal(departed.nb, 1);
		m.flow.sgid.b[15] ^= 1;
		m.msg.local_id ^= 1;
		frame = make(&m);
		assert_int_equal(roost_sw_parse(&frame, &room, &pkt), 0);
		roost_departed_in(&departed, &pkt);
		assert_int_equal(departed.nb, 1);
		m.msg.local_id ^= 1;
		frame = make(&m);
		assert_int_equal(roost_sw_parse(&frame, &room, &pkt), 0);
		roost_departed_in(&departed, &pkt);
		assert_int_equal(departed.nb, 0);
		assert_null(next(&w, 100 * SECOND));
		end(&w);
	}
}

static void half_open__rejected(void **state)
{
	const struct roost_cm_msg *msg;
	struct world w;

	begin(&w);
	send_type(&w, ROOST_CM_REQ);
	die(&w);
	msg = next(&w, SECOND);
	assert_int_equal(msg->type, ROOST_CM_REJ);
	assert_int_equal(msg->reason, ROOST_CM_REJ_TIMEOUT);
	assert_int_equal(msg->about, ROOST_CM_ABOUT_OTHER);
	assert_int_equal(msg->local_id, w.comm[0]);
	assert_int_equal(msg->remote_id, 0);
	assert_int_equal(msg->info_len_bytes, 8);
	assert_true(roost_be64_get(msg->info) == CA_GUID);
	assert_int_equal(roost_departed_next_ns(&departed), UINT64_MAX);
	end(&w);

	begin(&w);
	send_type(&w, ROOST_CM_REQ);
	get_type(&w, ROOST_CM_REP);
	die(&w);
	msg = next(&w, SECOND);
	assert_int_equal(msg->type, ROOST_CM_REJ);
	assert_int_equal(msg->about, ROOST_CM_ABOUT_REP);
	assert_int_equal(msg->local_id, w.comm[0]);
	assert_int_equal(msg->remote_id, 0x9999);
	end(&w);

	begin(&w);
	get_type(&w, ROOST_CM_REQ);
	die(&w);
	msg = next(&w, SECOND);
	assert_int_equal(msg->type, ROOST_CM_REJ);
	assert_int_equal(msg->reason, ROOST_CM_REJ_CONSUMER_DEFINED);
	assert_int_equal(msg->about, ROOST_CM_ABOUT_REQ);
	assert_int_equal(msg->local_id, 0);
	assert_int_equal(msg->remote_id, 0x9999);
	end(&w);

	/* The peer may be established already. */
	begin(&w);
	get_type(&w, ROOST_CM_REQ);
	send_type(&w, ROOST_CM_REP);
	die(&w);
	assert_int_equal(next(&w, SECOND)->type, ROOST_CM_DREQ);
	end(&w);

	begin(&w);
	get_type(&w, ROOST_CM_SIDR_REQ);
	die(&w);
	msg = next(&w, SECOND);
	assert_int_equal(msg->type, ROOST_CM_SIDR_REP);
	assert_int_equal(msg->local_id, 0x9999);
	assert_int_equal(msg->status, ROOST_CM_SIDR_REJECT);
	end(&w);
}

static void all__at_once(void **state)
{
	struct world w;
	struct maker m;
	unsigned int nb = 0;

	begin(&w);
	m = mad_of(&w, 0, ROOST_CM_REQ);
	for (uint32_t i = 0; i < 10; i++) {
		m.msg.local_id = w.comm[0] + i;
		out(&w, &m);
	}
	die(&w);
	while (next(&w, SECOND))
		nb++;
	assert_int_equal(nb, 10);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(established__dreq_until_answered),
		cmocka_unit_test(dreq__ends_with_the_answer),
		cmocka_unit_test(half_open__rejected),
		cmocka_unit_test(all__at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
