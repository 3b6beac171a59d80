/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_RIGHTS_H
#define ROOST_APPS_ROOSTD_RIGHTS_H

/*
 * The capabilities that the ports of a daemon need, to be opened, to be changed
 * and to come back after the network has taken them away. It has no others: a
 * daemon that clients of all users talk to has nothing to lose.
 *
 *   interfaces    CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF, CAP_PERFMON,
 *                 CAP_SYS_ADMIN (maps of XDP, before Linux 5.8), CAP_IPC_LOCK
 *   af_packet     CAP_NET_RAW, CAP_NET_ADMIN (MTU, promiscuous mode)
 *   tap, twins    CAP_NET_ADMIN, CAP_NET_RAW
 *   links, memif, vhost, virtio_user, ring: none
 *   PCI devices, bonds, others: all of these and CAP_SYS_RAWIO
 */

#include <roost/config.h>

#define ROOSTD_RIGHTS_MAX 192 /* bytes of a list, terminating zero included */

/* Names of capabilities for these ports, with a comma between them; empty:
 * none. Thread: any.
 */
void roostd_rights_needed(const struct roost_config *config,
			  char list[ROOSTD_RIGHTS_MAX]);

#endif
