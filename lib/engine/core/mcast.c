/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>

#include "lib/engine/core/mcast_priv.h"
#include "lib/engine/core/worker_base.h"

/* Everything here holds mcast_lock. */

static struct roost_mcast *find(const struct roost_qp *qp,
				const struct roost_gid *gid)
{
	struct roost_mcast *m;

	LIST_FOREACH(m, &qp->mcasts, qp_link)
		if (roost_gid_eq(&m->group->gid, gid))
			break;
	return m;
}

/* Modify writes the number under the turn. */
static uint8_t port_index_of(struct roost_qp *qp)
{
	uint8_t port_num;

	roost_worker_turn_take(qp->worker);
	port_num = qp->attr.port_num;
	roost_worker_turn_leave(qp->worker);
	return port_num == 0 ? 0 : (uint8_t)(port_num - 1);
}

/* Create a group without members. The port joins first: a frame that comes
 * before the member is added is dropped, and a QP is a member only if the port
 * is in the group.
 */
static int open_group(struct roost_dev *dev, uint8_t port_index,
		      const struct roost_gid *gid,
		      struct roost_mcast_group **group)
{
	struct roost_addr_io *io = &dev->ports[port_index].addr_io;
	struct roost_mcast_group *g;
	int ret = 0;

	if (dev->nb_mcast_groups == roost_dev_limits(dev)->max_mcast_grp)
		return -ENOMEM;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->gid = *gid;
	g->port_index = port_index;
	if (io->mcast_join)
		ret = io->mcast_join(io->ctx, gid);
	if (ret) {
		free(g);
		return ret;
	}
	dev->nb_mcast_groups++;
	*group = g;
	return 0;
}

/* The last member has left. */
static void close_group(struct roost_dev *dev, struct roost_mcast_group *g)
{
	struct roost_addr_io *io = &dev->ports[g->port_index].addr_io;

	if (io->mcast_leave)
		io->mcast_leave(io->ctx, &g->gid);
	dev->nb_mcast_groups--;
	free(g);
}

static int join(struct roost_qp *qp, const struct roost_gid *gid)
{
	struct roost_dev *dev = qp->dev;
	uint8_t port_index = port_index_of(qp);
	struct roost_mcast_group *g = roost_mcast_find(dev, port_index, gid);
	struct roost_mcast *m;
	int ret = 0;

	if (g && g->nb_members == roost_dev_limits(dev)->max_mcast_qp_attach)
		return -ENOMEM;
	m = malloc(sizeof(*m));
	if (!m)
		return -ENOMEM;
	if (!g)
		ret = open_group(dev, port_index, gid, &g);
	if (ret) {
		free(m);
		return ret;
	}
	*m = (struct roost_mcast){ .qp = qp, .group = g };
	LIST_INSERT_HEAD(&qp->mcasts, m, qp_link);
	roost_turn_list_insert(&g->members, &m->link);
	atomic_fetch_or(&g->workers, 1u << qp->worker->index);
	if (g->nb_members++ == 0)
		roost_turn_list_insert(roost_mcast_bucket(dev, port_index, gid),
				       &g->link);
	return 0;
}

static void leave(struct roost_mcast *m)
{
	struct roost_mcast_group *g = m->group;
	struct roost_dev *dev = m->qp->dev;
	const struct roost_mcast *other;
	uint32_t workers = 0;

	LIST_REMOVE(m, qp_link);
	roost_turn_list_remove(&g->members, &m->link);
	for (other = roost_turn_list_next(&g->members); other;
	     other = roost_turn_list_next(&other->link))
		workers |= 1u << other->qp->worker->index;
	atomic_store(&g->workers, workers);
	if (--g->nb_members == 0)
		roost_turn_list_remove(roost_mcast_bucket(dev, g->port_index,
							  &g->gid),
				       &g->link);
	roost_dev_turns_pass(dev);
	if (g->nb_members == 0)
		close_group(dev, g);
	free(m);
}

int roost_mcast_attach(struct roost_qp *qp, const struct roost_gid *group)
{
	struct roost_dev *dev = qp->dev;
	int ret = 0;

	if (qp->type != ROOST_QPT_UD || !roost_gid_is_multicast(group))
		return -EINVAL;
	pthread_mutex_lock(&dev->mcast_lock);
	if (!find(qp, group))
		ret = join(qp, group);
	pthread_mutex_unlock(&dev->mcast_lock);
	return ret;
}

int roost_mcast_detach(struct roost_qp *qp, const struct roost_gid *group)
{
	struct roost_mcast *m;

	if (qp->type != ROOST_QPT_UD)
		return -EINVAL;
	pthread_mutex_lock(&qp->dev->mcast_lock);
	m = find(qp, group);
	if (m)
		leave(m);
	pthread_mutex_unlock(&qp->dev->mcast_lock);
	return !m ? -EINVAL : 0;
}

void roost_mcast_detach_all(struct roost_qp *qp)
{
	struct roost_mcast *m;

	if (qp->type != ROOST_QPT_UD)
		return;
	pthread_mutex_lock(&qp->dev->mcast_lock);
	while ((m = LIST_FIRST(&qp->mcasts)) != NULL)
		leave(m);
	pthread_mutex_unlock(&qp->dev->mcast_lock);
}
