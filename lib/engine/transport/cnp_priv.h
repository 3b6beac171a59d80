/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_TRANSPORT_CNP_PRIV_H
#define ROOST_ENGINE_TRANSPORT_CNP_PRIV_H

/*
 * Congestion notification packets (CNPs, IBTA A17.9.3): a QP that receives a
 * packet with the mark of a switch (CE) asks the sender by a CNP to slow down.
 * doc/congestion.md. Holder of the turn.
 */

#include "lib/engine/transport/qp_priv.h"

/* The QP has taken a marked packet, of any opcode but CNP: answer it. Marks of
 * packets that were on no wire, and of groups, are not answered.
 */
void roost_cnp_answer(struct roost_worker *w, struct roost_qp *qp,
		      unsigned int port_index, const struct roost_frame *frame,
		      const struct roost_pkt *pkt) __attribute__((cold));
/* Check and process a received CNP. */
enum roost_drop roost_cnp_receive(struct roost_worker *w, struct roost_qp *qp,
				  const struct roost_frame *frame,
				  const struct roost_pkt *pkt)
	__attribute__((cold));

#endif
