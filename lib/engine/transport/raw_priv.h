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
struct roost_send_wr;
struct roost_worker;

/* What is posted: the length of a frame, the header of TSO (TCP behind IPv4 or
 * IPv6, with VLAN tags, without extension headers). Any thread. Returns 0,
 * -EINVAL.
 */
int roost_raw_check(const struct roost_qp *qp, const struct roost_send_wr *wr,
		    uint32_t len_bytes);
/* How many frames a request is, and the length of its longest. */
uint32_t roost_raw_frames(const struct roost_send_wqe *wqe);
uint32_t roost_raw_frame_bytes(const struct roost_send_wqe *wqe);
/* Write the frame of a request at buf; index: of its segments, is_last of them.
 * Returns its length; 0: an SGE of the WQE is wrong.
 */
size_t roost_raw_build(struct roost_qp *qp, const struct roost_send_wqe *wqe,
		       uint32_t index, bool is_last, uint8_t *buf);

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
/* A frame that a raw packet QP sends by a port with flow rules: rules of other
 * contexts have it, too. It stays the caller's.
 */
void roost_raw_turn_back(struct roost_worker *w, const struct roost_qp *qp,
			 struct rte_mbuf *frame);

/* ---- segmentation (raw_tso.c) ----------------------------------------- */

/* True if the header is one of TSO. Any thread. */
bool roost_raw_tso_is_header(const uint8_t *header, size_t header_bytes);
/* Make the header of a request, which is at frame, that of a segment of
 * frame_bytes in all, whose data begins offset_bytes behind that of the first
 * one; fill in its checksums.
 */
void roost_raw_tso_segment(uint8_t *frame, size_t frame_bytes, uint32_t index,
			   uint32_t offset_bytes, bool is_last);

/* ---- checksums (raw_csum.c) ------------------------------------------- */

/* Where the header behind Ethernet's and its VLAN tags begins, and its type.
 * Returns 0: the frame is too short.
 */
size_t roost_raw_l3(const uint8_t *frame, size_t len_bytes, uint16_t *type);
/* Fill in the checksums of IPv4, TCP and UDP in a frame, those that it has. */
void roost_raw_csum_fill(uint8_t *frame, size_t len_bytes);
/* True if the frame is IP, and those that it has are right. */
bool roost_raw_csum_ok(const uint8_t *frame, size_t len_bytes);

#endif
