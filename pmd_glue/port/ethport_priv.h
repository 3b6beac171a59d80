/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_ETHPORT_PRIV_H
#define ROOST_PMD_GLUE_PORT_ETHPORT_PRIV_H

/*
 * Inside of ports: what opening (ethport_open.c) and the life after it
 * (ethport.c) share. Thread: the control thread.
 */

#include <rte_ethdev.h>

#include "pmd_glue/port/ethport.h"
#include "pmd_glue/process/report.h"

/* A client asks for its server after so long, and ever less often. */
#define ROOST_ETHPORT_RETRY_MIN_NS 2000000u

/* Cause and fix to the user; not yet, while fewer queues may help. */
void roost_ethport_report(struct roost_ethport *port, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Around calls in which the driver may register or take something. */
static inline void roost_ethport_enter(struct roost_ethport *port)
{
	roost_quirk_enter(&port->quirk);
}

static inline void roost_ethport_leave(struct roost_ethport *port)
{
	roost_quirk_leave(&port->quirk);
}

/* Around what adds devices to DPDK's lists, and takes them off: a port may be
 * opened on a thread of its own meanwhile.
 */
void roost_ethport_lock_bus(void);
void roost_ethport_unlock_bus(void);

/* The sockets that keep the kernel doing something. */
void roost_ethport_close_fds(struct roost_ethport *port);

/* Close the port and remove the device, where the application had not plugged
 * it in itself.
 */
void roost_ethport_plug_out(struct roost_ethport *port);

/* Claim those of the port's interfaces that are there by now, for who opens it
 * (ethport_claim.c). Returns 0, or as roost_ethport_claim().
 */
int roost_ethport_claim_first(struct roost_ethport *port);
/* They are gone, or will be. */
void roost_ethport_unclaim_taps(struct roost_ethport *port);

/* ---- ethport_configure.c --- */

/* How many queues, of those that are wanted. Returns 0, or what ethdev says. */
int roost_ethport_choose_queues(struct roost_ethport *port);
/* Packets for all of them. Returns 0; -ENOMEM, reported. */
int roost_ethport_make_pool(struct roost_ethport *port);
/* Queues, and whatever the port forgets by a reset. Returns 0, or what the
 * driver says, reported.
 */
int roost_ethport_configure(struct roost_ethport *port);
/* The same with a single queue, which all workers send by, although more were
 * promised.
 */
int roost_ethport_take_one_queue(struct roost_ethport *port);
/* It has started: rules for its queues, and with -v a line that says so. */
void roost_ethport_tell_queues(struct roost_ethport *port);

/* ---- ethport_intr.c --- */

/* It has started for the first time. */
void roost_ethport_open_interrupts(struct roost_ethport *port);
/* Before it is stopped for another start, and after that. */
void roost_ethport_watch_queues(struct roost_ethport *port, bool on);
void roost_ethport_close_interrupts(struct roost_ethport *port);

/* Find the port's MTU, and have the device take it (ethport_mtu.c). Returns 0;
 * -EINVAL and the like, reported.
 */
int roost_ethport_set_mtu(struct roost_ethport *port);

/* What to ask for so that the frames of its devices' VLANs come in, of what the
 * driver offers (ethport_vlan.c).
 */
uint64_t roost_ethport_vlan_offload(const struct roost_ethport *port,
				    const struct rte_eth_dev_info *info);
/* If that was asked for: say which VLANs. Where they are not known, a port that
 * would drop them receives all. A start forgets it.
 */
void roost_ethport_tell_vlans(const struct roost_ethport *port);

/* Hear what the driver has to say from now on, and no longer. */
void roost_ethport_listen(struct roost_ethport *port);
void roost_ethport_listen_no_more(struct roost_ethport *port);

#endif
