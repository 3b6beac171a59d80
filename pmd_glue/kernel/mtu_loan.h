/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KERNEL_MTU_LOAN_H
#define ROOST_PMD_GLUE_KERNEL_MTU_LOAN_H

/*
 * A loan of MTU: Roost raises the MTU of a kernel's interface while it has
 * ports there, and restores it when the last process with such a port ends. The
 * former MTU is recorded at the interface, as an alternative name that "ip
 * link" shows:
 *
 *     roost-mtu-IFINDEX-was-1500-set-4200
 *
 * If a process was killed, the next start restores the MTU from this record.
 * The record disappears with the interface, and there is no file. Each process
 * that uses the raised MTU holds an abstract UNIX socket,
 * "roost/mtu/IFINDEX/...", which the kernel closes when the process ends. While
 * there is such a socket, no process restores the MTU.
 *
 * If the MTU is no longer the one that Roost set, it is not restored.
 *
 * Thread: the control thread, unless a call says otherwise.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The loan of one port. Zero-filled: none. */
struct roost_mtu_loan {
	unsigned int ifindex; /* 0: no loan */
	int fd;               /* the socket that holds the raised MTU */
	/* The loan was returned: the port is closed, or the process ends.
	 * Reader: any thread.
	 */
	atomic_bool is_over;
};

/*
 * The record of a process that was killed. Returns the MTU from before Roost
 * raised it, if no process uses the raised MTU any more and the interface still
 * has that MTU (mtu_bytes); else 0. Deletes a record that no process uses: the
 * caller restores the MTU, or takes a new loan.
 */
uint32_t roost_mtu_loan_left(unsigned int ifindex, uint32_t mtu_bytes);

/*
 * Take a loan. Either the caller is about to raise the MTU from was_bytes to
 * set_bytes, or another Roost process has raised it, and the MTU is to stay
 * (was_bytes is 0). Returns 0; -EPERM, -EOPNOTSUPP (no alternative names,
 * before Linux 5.5): then the MTU is not restored after a kill; or the error of
 * socket(2) or bind(2).
 */
int roost_mtu_loan_take(struct roost_mtu_loan *loan, unsigned int ifindex,
			uint32_t was_bytes, uint32_t set_bytes);
/* Return the loan: restore the MTU, unless another process uses the raised one.
 * A second call does nothing. Thread: any, when the process ends.
 */
void roost_mtu_loan_return(struct roost_mtu_loan *loan);

#endif
