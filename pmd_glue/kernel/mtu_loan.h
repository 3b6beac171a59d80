/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KERNEL_MTU_LOAN_H
#define ROOST_PMD_GLUE_KERNEL_MTU_LOAN_H

/*
 * The MTU of an interface of the kernel, raised for as long as Roost has ports
 * there, and put back when the last of these processes ends. What it was is
 * written at the interface itself, as an alternative name that "ip link" shows,
 *
 *     roost-mtu-IFINDEX-was-1500-set-4200
 *
 * so that the next start puts it back where a process was killed; it goes with
 * the interface, and no file is left anywhere. A process that uses the raised
 * MTU holds an abstract UNIX socket, "roost/mtu/IFINDEX/...", which goes with
 * the process; while there is one, nobody puts the MTU back.
 *
 * An MTU that somebody else has changed since is left as it is.
 *
 * Thread: the control thread, unless a call says otherwise.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Zero-filled it is none. */
struct roost_mtu_loan {
	unsigned int ifindex; /* 0: nothing is borrowed */
	int fd;               /* the socket */
	/* Given back: the port is closed, or the process ends. Any thread. */
	atomic_bool is_over;
};

/*
 * What the MTU was before Roost raised it, if nobody uses the raised one any
 * more and the interface still has it (mtu_bytes); else 0. Forgets the record
 * then: the caller puts the MTU back, or borrows again.
 */
uint32_t roost_mtu_loan_left(unsigned int ifindex, uint32_t mtu_bytes);

/*
 * The MTU is about to be raised to set_bytes from was_bytes, or another process
 * of Roost's has raised it (was_bytes is 0) and it is to stay. Returns 0;
 * -EPERM, -EOPNOTSUPP (no alternative names, before Linux 5.5): then it will
 * not be put back after a kill; or what socket(2) and bind(2) give.
 */
int roost_mtu_loan_take(struct roost_mtu_loan *loan, unsigned int ifindex,
			uint32_t was_bytes, uint32_t set_bytes);
/* Put it back, if nobody else uses it. Does nothing the second time.
 * Thread: any, when the process ends.
 */
void roost_mtu_loan_return(struct roost_mtu_loan *loan);

#endif
