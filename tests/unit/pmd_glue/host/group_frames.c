/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/unit/pmd_glue/host/group_frames.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/wire/bytes.h"
#include "pmd_glue/host/ip.h"
#include "tests/cmocka.h"

#define EDGE_ROOM 8192u

struct roost_group_sender group_host_v4(void)
{
	struct roost_group_sender s = { .ip = addr("198.18.0.2") };

	memcpy(s.mac, mac_b, 6);
	return s;
}

struct roost_group_sender group_host_v6(void)
{
	struct roost_group_sender s = {
		.ip = addr("fe80::11:22ff:fe33:4402"),
	};

	memcpy(s.mac, mac_b, 6);
	return s;
}

uint8_t *group_frame_at_edge(const uint8_t *bytes, size_t len_bytes)
{
	static uint8_t *room;
	uint8_t *p;

	if (len_bytes > EDGE_ROOM)
		abort();
	if (!room) {
		room = mmap(NULL, 2 * EDGE_ROOM, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (room == MAP_FAILED ||
		    mprotect(room + EDGE_ROOM, EDGE_ROOM, PROT_NONE) < 0)
			abort();
	}
	p = room + EDGE_ROOM - len_bytes;
	memcpy(p, bytes, len_bytes);
	return p;
}

void group_frame_fix_igmp(uint8_t *frame)
{
	size_t hdr = (size_t)(frame[14] & 0xf) * 4;
	size_t len = roost_be16_get(frame + 16) - hdr;
	uint8_t *igmp = frame + 14 + hdr;

	roost_inet_seal(frame + 24, frame + 14, hdr);
	roost_inet_seal(igmp + 2, igmp, len);
}

void group_frame_fix_mld(uint8_t *frame)
{
	size_t ext = (frame[55] + 1u) * 8;
	size_t len = roost_be16_get(frame + 18) - ext;

	roost_icmp6_seal(frame + 22, frame + 38, frame + 54 + ext, len);
}

void assert_gid(const struct roost_gid *gid, const char *text)
{
	struct roost_gid want = addr(text);

	assert_memory_equal(gid, &want, sizeof(want));
}

static struct roost_group_sender host_of(const struct roost_group_protocol *p)
{
	return p == &roost_igmp ? group_host_v4() : group_host_v6();
}

static struct roost_gid group_of(const struct roost_group_protocol *p)
{
	return addr(p == &roost_igmp ? "239.1.1.1" : "ff0e::1:1");
}

void group_check_build(const struct roost_group_protocol *p,
		       enum roost_group_version version, bool leave,
		       const struct golden_frame *golden)
{
	struct roost_group_sender self = host_of(p);
	struct roost_gid group = group_of(p);
	uint8_t frame[ROOST_GROUP_FRAME_LEN];

	memset(frame, 0xee, sizeof(frame));
	assert_int_equal(p->build(&self, version, leave, &group, frame),
			 golden->len_bytes);
	assert_memory_equal(frame, golden->bytes, golden->len_bytes);
}

void group_check_report(const struct roost_group_protocol *p,
			enum roost_group_record type,
			const struct golden_frame *golden, const char *other,
			const struct roost_gid sources[2])
{
	struct roost_group_sender self = host_of(p);
	struct roost_gid group = group_of(p);
	struct roost_group_report r;

	memset(&r, 0xee, sizeof(r));
	p->report_begin(&r, 1500);
	assert_true(roost_group_report_add(&r, type, &group, NULL, 0));
	if (other) {
		group = addr(other);
		assert_true(roost_group_report_add(&r, ROOST_GROUP_IS_INCLUDE,
						   &group, sources, 2));
	}
	assert_int_equal(p->report_end(&r, &self), golden->len_bytes);
	assert_memory_equal(r.frame, golden->bytes, golden->len_bytes);
}
