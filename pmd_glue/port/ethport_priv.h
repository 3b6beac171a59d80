/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_ETHPORT_PRIV_H
#define ROOST_PMD_GLUE_PORT_ETHPORT_PRIV_H

/*
 * Private functions of the files ethport*.c. Thread: the control thread.
 */

#include <rte_ethdev.h>

#include "pmd_glue/port/ethport.h"
#include "pmd_glue/process/report.h"

/* First interval of a memif client's tries to reach its server; it grows. */
#define ROOST_ETHPORT_RETRY_MIN_NS 2000000u

/* Report cause and fix to the user. While open may be tried again with fewer
 * queues (may_want_fewer), the text goes to why_fewer instead.
 */
void roost_ethport_report(struct roost_ethport *port, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Around calls in which the driver may register callbacks or open files. */
static inline void roost_ethport_enter(struct roost_ethport *port)
{
	roost_quirk_enter(&port->quirk);
}

static inline void roost_ethport_leave(struct roost_ethport *port)
{
	roost_quirk_leave(&port->quirk);
}

/* A lock around calls that add devices to DPDK's lists or remove them: another
 * thread may open a port at the same time (roost_control_aside()).
 */
void roost_ethport_lock_bus(void);
void roost_ethport_unlock_bus(void);

/* Close groups_fd and sink_fd. */
void roost_ethport_close_fds(struct roost_ethport *port);

/* Close the port and remove its device, unless the application had plugged it
 * in.
 */
void roost_ethport_plug_out(struct roost_ethport *port);

/* Claim the port's interfaces that exist by now, to conf.claim
 * (ethport_claim.c). Returns 0, or as roost_ethport_claim().
 */
int roost_ethport_claim_first(struct roost_ethport *port);
/* Release the claims of taps, which are gone or will be. */
void roost_ethport_unclaim_taps(struct roost_ethport *port);

/* ---- ethport_cable.c: ends of links --- */

/* Claim an end of the link conf.link. Returns 0; -EBUSY, or as
 * roost_cable_open(); reported.
 */
int roost_ethport_open_cable(struct roost_ethport *port);
/* What ethdev would say of its link. */
void roost_ethport_get_cable_link(struct roost_ethport *port,
				  struct rte_eth_link *link);

/* ---- ethport_configure.c --- */

/* Choose the number of queues, want_queues at most. Returns 0, or ethdev's
 * error.
 */
int roost_ethport_choose_queues(struct roost_ethport *port);
/* Make the packet pool for all queues. Returns 0; -ENOMEM, reported. */
int roost_ethport_make_pool(struct roost_ethport *port);
/* Configure the queues, and all settings that a reset clears. Returns 0, or the
 * driver's error, reported.
 */
int roost_ethport_configure(struct roost_ethport *port);
/* Configure again with a single queue, by which all workers send, after the
 * driver failed with several.
 */
int roost_ethport_take_one_queue(struct roost_ethport *port);
/* After start: set up the rules for steering, with -v print a line about them;
 * and those of programs.
 */
void roost_ethport_set_rules(struct roost_ethport *port);

/* ---- ethport_intr.c --- */

/* Set up RX interrupts, after the first start. */
void roost_ethport_open_interrupts(struct roost_ethport *port);
/* Stop to watch the queues before a stop (on false), and watch them again after
 * the next start (on true).
 */
void roost_ethport_watch_queues(struct roost_ethport *port, bool on);
void roost_ethport_close_interrupts(struct roost_ethport *port);

/* Choose the port's MTU and set it on the device (ethport_mtu.c). Returns 0, or
 * an error such as -EINVAL, reported.
 */
int roost_ethport_set_mtu(struct roost_ethport *port);

/* The receive offloads, of those that the driver offers, without which the port
 * drops frames of its devices' VLANs (ethport_vlan.c).
 */
uint64_t roost_ethport_vlan_offload(const struct roost_ethport *port,
				    const struct rte_eth_dev_info *info);
/* If these offloads are on, tell the driver the VLANs. If the VLANs are not
 * known, a port that would drop tagged frames is made promiscuous. To be called
 * after each start.
 */
void roost_ethport_tell_vlans(const struct roost_ethport *port);

/* Register for the driver's events, and unregister. */
void roost_ethport_listen(struct roost_ethport *port);
void roost_ethport_listen_no_more(struct roost_ethport *port);

#endif
