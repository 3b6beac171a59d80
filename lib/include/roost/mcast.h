/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_MCAST_H
#define ROOST_MCAST_H

/*
 * Multicast groups of UD QPs (IBTA 10.5).
 */

#include <roost/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct roost_qp;

/*
 * Attach a QP to a group: it receives the datagrams to the group on its present
 * port (the first port, before INIT). A second attach of the same pair changes
 * nothing. When this returns 0, the port is in the group. Returns 0; -EINVAL
 * (not UD, not a group), -ENOMEM (also: the device has max_mcast_grp groups, or
 * the group has max_mcast_qp_attach QPs), -ENOSPC (the port's own limit). An
 * error changes nothing.
 * Thread: any; waits for other calls of this file on the device, and for the
 * port, never for the network.
 */
int roost_mcast_attach(struct roost_qp *qp, const struct roost_gid *group);
/* Detach a QP from a group. Returns 0, -EINVAL (not attached). */
int roost_mcast_detach(struct roost_qp *qp, const struct roost_gid *group);
/* Detach the QP from every group. */
void roost_mcast_detach_all(struct roost_qp *qp);

#ifdef __cplusplus
}
#endif

#endif
