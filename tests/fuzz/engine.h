/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_FUZZ_ENGINE_H
#define ROOST_TESTS_FUZZ_ENGINE_H

/*
 * A device of the engine with QPs of every type, made once and put back before
 * each input, on a port whose frames the input makes.
 *
 * It watches by itself: what the port is given is whole, has a right ICRC and
 * goes to a peer of ours; guards around registered memory are neither read (by
 * ASan) nor written; completions are of what was posted, in order; events and
 * their tokens are as many; all mbufs come back.
 *
 * Thread: one.
 */

#include <roost/ah.h>
#include <roost/cq.h>
#include <roost/mr.h>
#include <roost/qp.h>
#include <roost/srq.h>
#include "lib/engine/core/dev.h"
#include "lib/engine/core/shim.h"
#include "lib/engine/core/workers.h"
#include "lib/wire/frame.h"
#include "tests/fuzz/fuzz.h"

enum engine_qp {
	ENGINE_RC,
	ENGINE_RC_SRQ, /* over IPv6, receives from the SRQ */
	ENGINE_UC,
	ENGINE_UD,
	ENGINE_XRC_INI,
	ENGINE_XRC_TGT,
	ENGINE_LOOP, /* two RC QPs of this device, each other's peer */
	ENGINE_LOOP_PEER,
	ENGINE_QPS,
};

/* What can be named by a key: regions, and what is none. */
enum engine_key {
	ENGINE_ALL,       /* every access */
	ENGINE_READ_ONLY, /* no remote write */
	ENGINE_LOCAL,     /* no remote access */
	ENGINE_OTHER_PD,
	ENGINE_WINDOW, /* over the middle of ENGINE_ALL, once bound */
	ENGINE_DEAD,
	ENGINE_ZERO,
	ENGINE_RANDOM,
	ENGINE_KEYS,
};
#define ENGINE_REGIONS 4
#define ENGINE_REGION_BYTES 4096u
#define ENGINE_GUARD_BYTES 1024u
#define ENGINE_PEER_QPN 0x400000u /* and the number of the QP */
#define ENGINE_MTU ROOST_MTU_256
#define ENGINE_QKEY 0x11111111u
#define ENGINE_FRAMES_MAX 64u
#define ENGINE_FRAME_BYTES 4400u
#define ENGINE_WRS 64u

struct engine_end {
	struct roost_qp *qp;
	uint32_t qpn;
	bool touched;                  /* is not as it was made */
	uint32_t nb_sent, nb_received; /* posted */
	uint32_t send_done, recv_done; /* completed, or passed over */
};

struct engine {
	struct roost_dev *dev;
	struct roost_ctx *ctx;
	struct roost_pd *pd, *other_pd;
	struct roost_channel *channel; /* of completions */
	struct roost_cq *cq;
	struct roost_xrcd *xrcd;
	struct roost_srq *srq, *xrc_srq;
	struct roost_ah *ah;
	struct roost_mr *mrs[ENGINE_REGIONS];
	struct roost_mw *mw;
	bool window_touched;
	uint32_t dead_key;
	uint8_t *regions[ENGINE_REGIONS];
	struct engine_end ends[ENGINE_QPS];
	uint64_t srq_posted; /* bits of what waits in the SRQs, by number */
	uint32_t nb_srq_posted;
	uint32_t reset_qpn; /* nothing may complete of it now; 0: none */
	uint64_t now_ns;
	uint16_t tx_room; /* frames that the port takes at a time */
	/* Takes what is sent to QP1; NULL: nothing may be. */
	void (*take_mad)(const struct roost_frame *frame,
			 const struct roost_pkt *pkt);
	unsigned int nb_out;
	unsigned int nb_punted;
	unsigned int nb_in; /* frames that wait to be received */
	unsigned int nb_read;
	struct {
		size_t len_bytes;
		uint8_t bytes[ENGINE_FRAME_BYTES];
	} in[ENGINE_FRAMES_MAX];
};

extern struct engine engine;

/* Once. */
void engine_open(void);
/* After an input: check, and put everything back. */
void engine_reset(void);
/* An iteration, ns later. */
void engine_turn(uint64_t ns);
/* Take completions and events. */
void engine_poll(void);
/* To RTS from RESET, or as far as state. */
void engine_connect(enum engine_qp i, enum roost_qp_state state);
uint32_t engine_key(enum engine_key key, uint32_t random);
/* A frame that comes in with the next iterations. */
void engine_put(const uint8_t *frame, size_t len_bytes);
/* The next hop to all peers has another MAC; 0: none is known. */
void engine_move_peer(uint8_t number);
/* Between the peer of a QP and us. */
struct roost_flow engine_flow(enum engine_qp i);
/* Is the number one that packets of ours may go to? */
bool engine_is_peer(uint32_t qpn);

#endif
