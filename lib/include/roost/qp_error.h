/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_QP_ERROR_H
#define ROOST_QP_ERROR_H

/*
 * Why a request failed, and why a QP went to ERR.
 *
 * One table with a row per error: the number that a failed completion carries
 * (vendor_err), its name, which side found it, the completion status of the
 * failed request, and a line for people. Programs see the numbers, so they
 * never change; a new error gets a new number. doc/compat.md and roost-ctl(1)
 * have the same table, and a test compares them.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(code, NAME, name, found by, status of the request that it hits, text) */
#define ROOST_QP_ERRORS(X)                                                     \
	X(0x01, LOCAL_LENGTH, "local_length", REQUESTER, LOC_LEN_ERR,          \
	  "a datagram is longer than the path MTU")                            \
	X(0x02, LOCAL_MEMORY, "local_memory", REQUESTER, LOC_PROT_ERR,         \
	  "an SGE of the send is outside its lkey's memory region")            \
	X(0x03, NO_RD_ATOMIC, "no_rd_atomic", REQUESTER, LOC_QP_OP_ERR,        \
	  "a READ or atomic was posted, and max_rd_atomic is 0")               \
	X(0x04, BIND_REFUSED, "bind_refused", REQUESTER, MW_BIND_ERR,          \
	  "bind or invalidate: invalid key, range, access, PD or QP")          \
	X(0x05, NO_ANSWER, "no_answer", REQUESTER, RETRY_EXC_ERR,              \
	  "no response within the timeout, retry_cnt + 1 times in a row")      \
	X(0x06, NO_ALTERNATE, "no_alternate", REQUESTER, RETRY_EXC_ERR,        \
	  "retry_cnt exhausted, and the alternate path is not usable")         \
	X(0x07, LOST_AGAIN, "lost_again", REQUESTER, RETRY_EXC_ERR,            \
	  "retry_cnt + 1 NAKs (PSN sequence error) for the same packet")       \
	X(0x08, RESPONSE_LOST, "response_lost", REQUESTER, RETRY_EXC_ERR,      \
	  "retry_cnt + 1 times a response was missing before later ones")      \
	X(0x09, RESPONSE_OPCODE, "response_opcode", REQUESTER, BAD_RESP_ERR,   \
	  "the opcode of the response does not fit the request")               \
	X(0x0a, RESPONSE_ORDER, "response_order", REQUESTER, BAD_RESP_ERR,     \
	  "FIRST, MIDDLE and LAST responses are out of order")                 \
	X(0x0b, RESPONSE_LENGTH, "response_length", REQUESTER, LOC_LEN_ERR,    \
	  "a response is longer or shorter than requested")                    \
	X(0x0c, RESPONSE_MEMORY, "response_memory", REQUESTER, LOC_PROT_ERR,   \
	  "an SGE for the response is outside its lkey's memory region")       \
	X(0x10, PEER_NOT_READY, "peer_not_ready", PEER, RNR_RETRY_EXC_ERR,     \
	  "rnr_retry + 1 RNR NAKs: the peer had no receive posted")            \
	X(0x11, PEER_INVALID, "peer_invalid_request", PEER, REM_INV_REQ_ERR,   \
	  "the peer sent a NAK, invalid request")                              \
	X(0x12, PEER_ACCESS, "peer_remote_access", PEER, REM_ACCESS_ERR,       \
	  "the peer sent a NAK, remote access error")                          \
	X(0x13, PEER_OPERATION, "peer_remote_operation", PEER, REM_OP_ERR,     \
	  "the peer sent a NAK, remote operational error")                     \
	X(0x20, REQUEST_ORDER, "request_order", RESPONDER, SUCCESS,            \
	  "FIRST, MIDDLE and LAST requests are out of order")                  \
	X(0x21, NOT_ALLOWED, "request_not_allowed", RESPONDER, SUCCESS,        \
	  "the QP's access flags do not permit the peer's request")            \
	X(0x22, REQUEST_LENGTH, "request_length", RESPONDER, SUCCESS,          \
	  "a length does not match the RETH or exceeds path MTU or 2^31")      \
	X(0x23, OPERAND, "request_operand", RESPONDER, SUCCESS,                \
	  "an atomic is not aligned, or a FLUSH has an unknown type")          \
	X(0x24, TOO_MANY_FETCHES, "too_many_rd_atomic", RESPONDER, SUCCESS,    \
	  "more READs and atomics in flight than max_dest_rd_atomic")          \
	X(0x25, XRC_SRQ, "xrc_srq", RESPONDER, SUCCESS,                        \
	  "the XRC domain has no SRQ with the packet's SRQ number")            \
	X(0x26, REMOTE_KEY, "remote_key", RESPONDER, SUCCESS,                  \
	  "the peer's rkey is invalid, or its range or access")                \
	X(0x27, REMOTE_KEY_GONE, "remote_key_gone", RESPONDER, SUCCESS,        \
	  "the region of a READ was removed before the response")              \
	X(0x28, INVALIDATE_KEY, "invalidate_key", RESPONDER, SUCCESS,          \
	  "SEND with invalidate of a key that is no window of this QP")        \
	X(0x29, WRONG_KEYS, "wrong_keys", RESPONDER, SUCCESS,                  \
	  "the UC peer sent 16 requests with invalid rkeys")                   \
	X(0x30, RECEIVE_LENGTH, "receive_length", RESPONDER, LOC_LEN_ERR,      \
	  "the message is longer than the posted receive")                     \
	X(0x31, RECEIVE_MEMORY, "receive_memory", RESPONDER, LOC_PROT_ERR,     \
	  "an SGE of the receive is outside its lkey's memory region")         \
	X(0x40, CQ_OVERRUN, "cq_overrun", DEVICE, SUCCESS,                     \
	  "a CQ of the QP was full when a completion was added")               \
	X(0x41, REMOVED, "device_removed", DEVICE, SUCCESS,                    \
	  "the last port of the device was removed")                           \
	X(0x42, MODIFIED, "modified", PROGRAM, SUCCESS,                        \
	  "the program, or librdmacm for it, modified the QP to ERR")

enum roost_qp_error_code {
	ROOST_QPE_NONE = 0,
#define X(code, NAME, ...) ROOST_QPE_##NAME = (code),
	ROOST_QP_ERRORS(X)
#undef X
	ROOST_QPE_END, /* behind all codes */
};

enum roost_qp_finder {
	ROOST_FOUND_BY_REQUESTER, /* this QP, as it sends */
	ROOST_FOUND_BY_PEER,      /* the peer sent a NAK */
	ROOST_FOUND_BY_RESPONDER, /* this QP, as it receives */
	ROOST_FOUND_BY_DEVICE,
	ROOST_FOUND_BY_PROGRAM,
};

struct roost_qp_error_info {
	const char *name; /* NULL: no such code */
	const char *text;
	uint8_t found_by; /* enum roost_qp_finder */
	/* enum roost_wc_status of the request that failed; SUCCESS: no request
	 * failed, and all posted requests are flushed.
	 */
	uint8_t wc_status;
};

/* Indexed by code; a number below ROOST_QPE_END that is no code has name NULL.
 */
extern const struct roost_qp_error_info roost_qp_error_infos[ROOST_QPE_END];

/* NAKs by the low bits of their syndromes: sequence error, invalid request,
 * remote access error, remote operational error (IBTA table 46).
 */
#define ROOST_NAK_KINDS 4

#ifdef __cplusplus
}
#endif

#endif
