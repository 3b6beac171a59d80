/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>

#include "lib/engine/mcast_priv.h"
#include "lib/engine/worker.h"

struct roost_mcast *roost_mcast_next(struct roost_dev *dev,
				     unsigned int port_index,
				     const struct roost_gid *group,
				     struct roost_mcast *m)
{
	m = m == NULL ? LIST_FIRST(&dev->mcasts) : LIST_NEXT(m, link);
	while (m != NULL &&
	       (m->port_index != port_index || !roost_gid_eq(&m->group, group)))
		m = LIST_NEXT(m, link);
	return m;
}

static struct roost_mcast *find(struct roost_qp *qp,
				const struct roost_gid *group)
{
	struct roost_mcast *m;

	LIST_FOREACH(m, &qp->dev->mcasts, link)
		if (m->qp == qp &&
		    (group == NULL || roost_gid_eq(&m->group, group)))
			return m;
	return NULL;
}

/* Modify writes the number under the turn. */
static uint8_t port_index_of(struct roost_qp *qp)
{
	uint8_t port_num;

	roost_worker_turn_take(qp->worker);
	port_num = qp->attr.port_num;
	roost_worker_turn_release(qp->worker);
	return port_num == 0 ? 0 : (uint8_t)(port_num - 1);
}

static struct roost_port_io *io_of(const struct roost_mcast *m)
{
	return &m->qp->dev->ports[m->port_index].io;
}

/* Is the port in the group for somebody in the list? */
static bool port_has_members(const struct roost_mcast *m)
{
	return roost_mcast_next(m->qp->dev, m->port_index, &m->group, NULL) !=
	       NULL;
}

/* The port first: what comes from then on finds the member or is dropped, and
 * a member is one whose group the port is in. Holding mcast_lock.
 */
static int join(struct roost_mcast *m)
{
	struct roost_port_io *io = io_of(m);
	struct roost_qp *qp = m->qp;
	int rc = 0;

	if (!port_has_members(m) && io->mcast_join != NULL)
		rc = io->mcast_join(io->ctx, &m->group);
	if (rc != 0)
		return rc;
	roost_dev_turns_take(qp->dev);
	LIST_INSERT_HEAD(&qp->dev->mcasts, m, link);
	qp->nb_mcasts++;
	roost_dev_turns_release(qp->dev);
	return 0;
}

/* Holding mcast_lock. */
static void leave(struct roost_mcast *m)
{
	struct roost_port_io *io = io_of(m);
	struct roost_qp *qp = m->qp;

	roost_dev_turns_take(qp->dev);
	LIST_REMOVE(m, link);
	qp->nb_mcasts--;
	roost_dev_turns_release(qp->dev);
	if (!port_has_members(m) && io->mcast_leave != NULL)
		io->mcast_leave(io->ctx, &m->group);
	free(m);
}

int roost_mcast_attach(struct roost_qp *qp, const struct roost_gid *group)
{
	struct roost_dev *dev = qp->dev;
	struct roost_mcast *m;
	int rc = 0;

	if (qp->type != ROOST_QPT_UD || !roost_gid_is_multicast(group))
		return -EINVAL;
	pthread_mutex_lock(&dev->mcast_lock);
	m = find(qp, group);
	if (m != NULL) {
		m->count++;
		goto unlock;
	}
	m = malloc(sizeof(*m));
	if (m == NULL) {
		rc = -ENOMEM;
		goto unlock;
	}
	*m = (struct roost_mcast){
		.group = *group,
		.qp = qp,
		.count = 1,
		.port_index = port_index_of(qp),
	};
	rc = join(m);
	if (rc != 0)
		free(m);
unlock:
	pthread_mutex_unlock(&dev->mcast_lock);
	return rc;
}

int roost_mcast_detach(struct roost_qp *qp, const struct roost_gid *group)
{
	struct roost_mcast *m;

	pthread_mutex_lock(&qp->dev->mcast_lock);
	m = find(qp, group);
	if (m != NULL && --m->count == 0)
		leave(m);
	pthread_mutex_unlock(&qp->dev->mcast_lock);
	return m == NULL ? -EINVAL : 0;
}

void roost_mcast_detach_all(struct roost_qp *qp)
{
	struct roost_mcast *m;

	pthread_mutex_lock(&qp->dev->mcast_lock);
	while ((m = find(qp, NULL)) != NULL)
		leave(m);
	pthread_mutex_unlock(&qp->dev->mcast_lock);
}
