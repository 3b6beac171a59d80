/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>

#include "lib/engine/mcast_priv.h"
#include "lib/engine/worker.h"

struct roost_mcast *roost_mcast_next(struct roost_dev *dev,
				     const struct roost_gid *group,
				     struct roost_mcast *m)
{
	m = m == NULL ? LIST_FIRST(&dev->mcasts) : LIST_NEXT(m, link);
	while (m != NULL && !roost_gid_eq(&m->group, group))
		m = LIST_NEXT(m, link);
	return m;
}

bool roost_mcast_has_members(const struct roost_dev *dev,
			     const struct roost_gid *group)
{
	const struct roost_mcast *m;

	LIST_FOREACH(m, &dev->mcasts, link)
		if (roost_gid_eq(&m->group, group))
			return true;
	return false;
}

static struct roost_mcast *find(struct roost_qp *qp,
				const struct roost_gid *group)
{
	struct roost_mcast *m = NULL;

	while ((m = roost_mcast_next(qp->dev, group, m)) != NULL)
		if (m->qp == qp)
			return m;
	return NULL;
}

static struct roost_port_io *io_of(struct roost_qp *qp)
{
	uint8_t port_num = qp->attr.port_num;

	return &qp->dev->ports[port_num == 0 ? 0 : port_num - 1].io;
}

int roost_mcast_attach(struct roost_qp *qp, const struct roost_gid *group)
{
	struct roost_worker *w = qp->dev->worker;
	struct roost_port_io *io = io_of(qp);
	struct roost_mcast *m, *known;
	bool first;
	int rc = 0;

	if (qp->type != ROOST_QPT_UD || !roost_gid_is_multicast(group))
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		return -ENOMEM;
	*m = (struct roost_mcast){ .group = *group, .qp = qp, .count = 1 };
	roost_worker_turn_take(w);
	first = !roost_mcast_has_members(qp->dev, group);
	known = find(qp, group);
	if (known != NULL) {
		known->count++;
	} else {
		LIST_INSERT_HEAD(&qp->dev->mcasts, m, link);
		qp->nb_mcasts++;
	}
	roost_worker_turn_release(w);
	if (known != NULL)
		free(m);
	else if (first && io->mcast_join != NULL)
		rc = io->mcast_join(io->ctx, group);
	if (rc != 0)
		roost_mcast_detach(qp, group);
	return rc;
}

int roost_mcast_detach(struct roost_qp *qp, const struct roost_gid *group)
{
	struct roost_worker *w = qp->dev->worker;
	struct roost_port_io *io = io_of(qp);
	struct roost_mcast *m;
	bool gone = false, last = false;

	roost_worker_turn_take(w);
	m = find(qp, group);
	if (m != NULL && --m->count == 0) {
		LIST_REMOVE(m, link);
		qp->nb_mcasts--;
		gone = true;
		last = !roost_mcast_has_members(qp->dev, group);
	}
	roost_worker_turn_release(w);
	if (m == NULL)
		return -EINVAL;
	if (gone)
		free(m);
	if (last && io->mcast_leave != NULL)
		io->mcast_leave(io->ctx, group);
	return 0;
}

void roost_mcast_detach_all(struct roost_qp *qp)
{
	struct roost_worker *w = qp->dev->worker;
	struct roost_mcast *m;
	struct roost_gid group;

	do {
		roost_worker_turn_take(w);
		LIST_FOREACH(m, &qp->dev->mcasts, link)
			if (m->qp == qp)
				break;
		if (m != NULL)
			group = m->group;
		roost_worker_turn_release(w);
	} while (m != NULL && roost_mcast_detach(qp, &group) == 0);
}
