/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/unit/pmd_glue/host/frames.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

const uint8_t mac_a[6] = { 0x02, 0x11, 0x22, 0x33, 0x44, 0x01 };
const uint8_t mac_b[6] = { 0x02, 0x11, 0x22, 0x33, 0x44, 0x02 };

struct roost_gid addr(const char *text)
{
	struct roost_gid gid;
	uint8_t v4[4];

	if (inet_pton(AF_INET, text, v4) == 1)
		return roost_gid_from_v4(v4);
	if (inet_pton(AF_INET6, text, gid.b) != 1)
		abort();
	return gid;
}

#define DEFINE(name) struct golden_frame name;
ROOST_GOLDEN_FRAMES(DEFINE)

#define POINT(name) &name,
static struct golden_frame *const frames[] = { ROOST_GOLDEN_FRAMES(POINT) };

#define NB_FRAMES (sizeof(frames) / sizeof(frames[0]))
#define PCAP_HDR_BYTES 24

struct pcap_record {
	uint32_t s, us, captured_bytes, sent_bytes;
};

static void take(bool fine, const char *what)
{
	if (!fine) {
		fprintf(stderr, ROOST_FRAMES_PCAP ": %s\n", what);
		abort();
	}
}

/* The file has the byte order of x86. */
__attribute__((constructor)) static void read_frames(void)
{
	FILE *f = fopen(ROOST_FRAMES_PCAP, "rbe");
	struct pcap_record record;

	take(f != NULL, "cannot be read");
	take(fseek(f, PCAP_HDR_BYTES, SEEK_SET) == 0, "cannot be read");
	for (size_t i = 0; i < NB_FRAMES; i++) {
		take(fread(&record, sizeof(record), 1, f) == 1, "too short");
		take(record.captured_bytes <= sizeof(frames[i]->bytes),
		     "a frame is too long");
		frames[i]->len_bytes = record.captured_bytes;
		take(fread(frames[i]->bytes, record.captured_bytes, 1, f) == 1,
		     "too short");
	}
	take(fgetc(f) == EOF, "more frames than in frames.h");
	fclose(f);
}
