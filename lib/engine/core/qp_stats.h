/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_QP_STATS_H
#define ROOST_ENGINE_CORE_QP_STATS_H

/*
 * What a QP records of its errors, for the control tool
 * (lib/engine/core/view.h). Writer: the QP's worker.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/qp_error.h>

/*
 * The last error of a QP; of a QP in ERR, the error that brought it there. The
 * record survives RESET until the QP has another error.
 */
struct roost_qp_error {
	uint64_t at_ns; /* now_ns of the worker's iteration, or of its last
			 * one */
	uint64_t addr;  /* has_memory: start of the memory that was not
			 * accessible */
	uint32_t len_bytes;
	uint32_t key;           /* lkey or rkey */
	uint32_t psn;           /* has_packet: PSN of the request or response */
	uint32_t payload_bytes; /* has_packet: of a packet of the peer */
	uint8_t code;           /* enum roost_qp_error_code; NONE: none yet */
	uint8_t opcode;         /* has_packet: enum roost_opcode */
	uint8_t syndrome; /* of the AETH that was sent or received; 0: none */
	uint8_t why;      /* enum roost_why */
	bool has_packet : 1;
	bool has_memory : 1;
};

/* Error and recovery counters of a QP, since its creation. */
struct roost_qp_counters {
	uint64_t retransmits; /* go-back-N events */
	/* Part of retransmits: early ones, after a PTO derived from SRTT and
	 * before the local ACK timeout.
	 */
	uint64_t adaptive_retransmits;
	uint64_t timeouts;
	uint64_t missing_responses; /* implied NAKs */
	uint64_t naks_sent_of[ROOST_NAK_KINDS];
	uint64_t naks_received_of[ROOST_NAK_KINDS];
	uint64_t rnr_naks_sent, rnr_naks_received;
	uint64_t duplicates;    /* requests received again */
	uint64_t out_of_order;  /* requests received behind a gap */
	uint64_t held_pkts;     /* of these, kept until the gap was closed */
	uint64_t resent_pkts;   /* requests that were sent again alone */
	uint64_t spurious_pkts; /* of these, not lost but late */
	uint64_t reports_sent, reports_received;
	uint64_t cnps_sent;
	uint64_t cnps_handled; /* received ones that slowed the QP down */
};

#endif
