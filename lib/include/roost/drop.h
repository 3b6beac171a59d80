/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_DROP_H
#define ROOST_DROP_H

/*
 * Why a packet was dropped without an answer. One list for the whole receive
 * path, in the order of the checks, so that the counters show how far packets
 * came. The checks of lib/wire end at ROOST_DROP_HDR_LEN, except some of
 * addresses; the later ones need objects and belong to lib/engine.
 */

#ifdef __cplusplus
extern "C" {
#endif

enum roost_drop {
	ROOST_DROP_NONE = 0,  /* not dropped */
	ROOST_DROP_QINQ,      /* a provider's tag, or more than one */
	ROOST_DROP_VLAN,      /* of a VLAN that is not the port's */
	ROOST_DROP_LENGTH,    /* short of UDP + BTH + ICRC, or IP != UDP */
	ROOST_DROP_IP_HEADER, /* version, header length, checksum, options */
	ROOST_DROP_ROCE_V1,   /* RoCEv1, which has no IP and no UDP */
	ROOST_DROP_GROUP_MAC, /* unicast IP address in a multicast frame */
	ROOST_DROP_FRAGMENT,  /* an IP fragment: RoCEv2 never fragments */
	ROOST_DROP_NOT_OURS,  /* destination address is not in the GID table */
	ROOST_DROP_ICRC,
	ROOST_DROP_TVER,    /* BTH transport version is not 0 */
	ROOST_DROP_OPCODE,  /* not in roost_opcodes[] */
	ROOST_DROP_HDR_LEN, /* shorter than headers + pad + ICRC */
	ROOST_DROP_QPN_ZERO,
	ROOST_DROP_QPN,      /* no such QP */
	ROOST_DROP_QP_TYPE,  /* opcode is not for this type of QP */
	ROOST_DROP_QP_STATE, /* QP does not receive in its state */
	/* For a connected QP: the source is not its peer. For any QP: the
	 * source is an address that no host can have, or an address of this
	 * device in a frame from outside.
	 */
	ROOST_DROP_SRC_ADDR,
	ROOST_DROP_PKEY,
	ROOST_DROP_QKEY,
	ROOST_DROP_OUT_OF_ORDER, /* behind a gap that was NAKed already */
	ROOST_DROP_DUPLICATE,    /* a duplicate that asks for no answer */
	ROOST_DROP_RNR_WAIT,     /* behind a request that got an RNR NAK */
	ROOST_DROP_UNEXPECTED_RESPONSE, /* ACK for a PSN that is not unacked */
	ROOST_DROP_INV_REQUEST,         /* UC: sequence, lengths, not allowed */
	ROOST_DROP_ACCESS,      /* UC: key, range or access of the memory */
	ROOST_DROP_NO_BUFFER,   /* no mbuf to send with, or no room in QP1's
				 * ring */
	ROOST_DROP_WORKER_BUSY, /* the ring to the worker of its QP is full */
	ROOST_DROP_COUNT,
};

/* Length of arrays of counters: reasons may be added. */
#define ROOST_DROPS_MAX 32

/*
 * Short lower-case name for counters, e.g. "icrc"; "unknown" for a number that
 * is no reason.
 * Thread: any. Returns a constant string, never NULL.
 */
const char *roost_drop_name(enum roost_drop reason);

#ifdef __cplusplus
}
#endif

#endif
