/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_TRANSPORT_RAW_PRIV_H
#define ROOST_ENGINE_TRANSPORT_RAW_PRIV_H

/*
 * Raw packet QPs: whole Ethernet frames, as the program makes them, and frames
 * that flow rules (core/flow.h) lead to them.
 *
 * A raw packet QP belongs to the first worker. Another worker that receives a
 * frame for it passes on a copy.
 *
 * Thread: the holder of the turn.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/frame.h"

struct rte_mbuf;
struct roost_qp;
struct roost_send_wqe;
struct roost_worker;

/* Write the frame of a request at buf. Returns its length; 0: an SGE of the WQE
 * is wrong.
 */
size_t roost_raw_build(struct roost_qp *qp, const struct roost_send_wqe *wqe,
		       uint8_t *buf);

/*
 * A frame that was received on a port with flow rules; class: what it is for
 * the engine, with *parsed as roost_frame_parse() left it. Returns true if the
 * frame is nobody else's; the caller frees it in any case.
 */
bool roost_raw_receive(struct roost_worker *w, unsigned int from,
		       enum roost_frame_class class,
		       const struct roost_frame *parsed, struct rte_mbuf *mbuf);
/* A copy that another worker passed on: mbuf->port has ROOST_RAW_SNIFFED or
 * ROOST_RAW_LED. Takes it.
 */
void roost_raw_passed(struct roost_worker *w, struct rte_mbuf *mbuf);
/* n frames that leave by a port with sniffers. They stay the caller's. */
void roost_raw_sniff(struct roost_worker *w, unsigned int port_index,
		     struct rte_mbuf **frames, unsigned int n);

/* ---- checksums (raw_csum.c) ------------------------------------------- */

/* Fill in the checksums of IPv4, TCP and UDP in a frame, those that it has. */
void roost_raw_csum_fill(uint8_t *frame, size_t len_bytes);
/* True if the frame is IP, and those that it has are right. */
bool roost_raw_csum_ok(const uint8_t *frame, size_t len_bytes);

#endif
