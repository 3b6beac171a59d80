/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_MCAST_H
#define ROOST_MCAST_H

/*
 * Multicast groups of UD QPs (IBTA 10.5).
 */

#include <roost/types.h>

struct roost_qp;

/*
 * The QP receives what is sent to the group on the port that it is on now (the
 * first, before INIT). A second attach of the same pair changes nothing. When
 * it returns 0, the port is in the group. Returns 0; -EINVAL (not UD, not a
 * group), -ENOMEM (also: max_mcast_grp groups are there, or max_mcast_qp_attach
 * QPs in this one), -ENOSPC (the port's own limit): nothing is changed.
 * Thread: any; waits for other calls of this file on the device, and for the
 * port, never for the network.
 */
int roost_mcast_attach(struct roost_qp *qp, const struct roost_gid *group);
/* Returns 0, -EINVAL (not attached). */
int roost_mcast_detach(struct roost_qp *qp, const struct roost_gid *group);
/* From every group. */
void roost_mcast_detach_all(struct roost_qp *qp);

#endif
