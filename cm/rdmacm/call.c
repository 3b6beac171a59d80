/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The state of an id, and the beginning and end of a call on it.
 */

#include "cm/rdmacm/rdmacm.h"

enum roost_rdmacm_state roost_rdmacm_id_state(struct roost_rdmacm_id *id)
{
	enum roost_rdmacm_state state;

	pthread_mutex_lock(&id->lock);
	state = id->state;
	pthread_mutex_unlock(&id->lock);
	return state;
}

void roost_rdmacm_id_set_state(struct roost_rdmacm_id *id,
			       enum roost_rdmacm_state state)
{
	pthread_mutex_lock(&id->lock);
	if (id->state != ROOST_RDMACM_REMOVED)
		id->state = state;
	pthread_mutex_unlock(&id->lock);
}

bool roost_rdmacm_id_move(struct roost_rdmacm_id *id,
			  enum roost_rdmacm_state from,
			  enum roost_rdmacm_state to)
{
	bool moved;

	pthread_mutex_lock(&id->lock);
	moved = id->state == from;
	if (moved)
		id->state = to;
	pthread_mutex_unlock(&id->lock);
	return moved;
}

int roost_rdmacm_enter_last(struct roost_rdmacm_id *id)
{
	if (roost_rdmacm_is_dead(id->process))
		return -EIO;
	pthread_mutex_lock(&id->call);
	if (id->channel)
		return 0;
	pthread_mutex_unlock(&id->call);
	return -EBADF;
}

int roost_rdmacm_enter(struct roost_rdmacm_id *id)
{
	int ret = roost_rdmacm_enter_last(id);

	if (ret || roost_rdmacm_id_state(id) != ROOST_RDMACM_REMOVED)
		return ret;
	pthread_mutex_unlock(&id->call);
	return -EIO;
}

int roost_rdmacm_enter_as(struct roost_rdmacm_id *id,
			  enum roost_rdmacm_call call)
{
	int ret = roost_rdmacm_enter(id);

	if (ret)
		return ret;
	ret = roost_rdmacm_state_allows(call, roost_rdmacm_id_state(id));
	if (ret)
		pthread_mutex_unlock(&id->call);
	return ret;
}

int roost_rdmacm_enter_bound(struct roost_rdmacm_id *id)
{
	int ret = roost_rdmacm_enter(id);

	if (ret || id->device)
		return ret;
	pthread_mutex_unlock(&id->call);
	return -EINVAL;
}

int roost_rdmacm_leave(struct roost_rdmacm_id *id, int ret)
{
	pthread_mutex_unlock(&id->call);
	return roost_rdmacm_result(ret);
}
