/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * One frame as it is, through the parser alone: nothing is read outside of it,
 * and what is found lies within it. Input: the frame; in the ones that begin
 * with an odd byte the ICRC is made right.
 */

#include <stdlib.h>
#include <string.h>

#include "lib/wire/frame.h"
#include "lib/wire/icrc.h"
#include "tests/fuzz/fuzz.h"

static void check_frame(const struct roost_frame *frame, const uint8_t *data,
			size_t len_bytes)
{
	const uint8_t *end = data + len_bytes;

	FUZZ_CHECK(frame->l3 >= data + ROOST_ETH_LEN);
	FUZZ_CHECK(frame->l3 + frame->l3_len_bytes <= end);
	FUZZ_CHECK(frame->bth + frame->ib_len_bytes ==
		   frame->l3 + frame->l3_len_bytes);
	FUZZ_CHECK(frame->ib_len_bytes >= ROOST_BTH_LEN + ROOST_ICRC_LEN);
	FUZZ_CHECK(roost_frame_dest_qpn(frame) <= 0xffffff);
}

static void check_pkt(const struct roost_frame *frame,
		      const struct roost_pkt *pkt)
{
	FUZZ_CHECK(pkt->info != NULL && pkt->info->op != ROOST_OP_NONE);
	FUZZ_CHECK(pkt->pad_bytes <= 3);
	FUZZ_CHECK(pkt->payload == frame->bth + pkt->info->hdr_len_bytes);
	FUZZ_CHECK(pkt->payload + pkt->payload_len_bytes + pkt->pad_bytes +
			   ROOST_ICRC_LEN ==
		   frame->bth + frame->ib_len_bytes);
	FUZZ_CHECK(pkt->psn.v <= ROOST_PSN_MASK);
}

static void put_icrc(const struct roost_frame *frame, uint8_t *data)
{
	uint32_t icrc =
		roost_icrc(frame->l3, frame->ipv6,
			   (size_t)frame->l3_len_bytes - ROOST_ICRC_LEN);
	size_t at = (size_t)(frame->l3 - data) + frame->l3_len_bytes -
		    ROOST_ICRC_LEN;

	memcpy(data + at, &icrc, sizeof(icrc));
	FUZZ_CHECK(roost_frame_icrc_ok(frame));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct fuzz_in in = { data, len_bytes };
	const bool mends = fuzz_u8(&in) & 1;
	const size_t bytes = in.left_bytes;
	uint8_t *copy = malloc(bytes == 0 ? 1 : bytes);
	struct roost_frame frame;
	struct roost_pkt pkt;

	FUZZ_CHECK(copy != NULL);
	fuzz_take(&in, copy, bytes);
	if (roost_frame_parse(copy, bytes, &frame) == ROOST_FRAME_ROCE) {
		check_frame(&frame, copy, bytes);
		if (mends)
			put_icrc(&frame, copy);
		roost_frame_icrc_ok(&frame);
		if (roost_pkt_parse(&frame, &pkt) == ROOST_DROP_NONE)
			check_pkt(&frame, &pkt);
	}
	free(copy);
	return 0;
}
