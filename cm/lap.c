/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Alternate paths of an established connection: LAP and APR (IBTA 12.8).
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/priv.h"

/* ---- calls -------------------------------------------------------------- */

static int send_lap(struct roost_cm_conn *conn,
		    const struct roost_cm_path *alternate,
		    struct roost_cm_msg *msg)
{
	const struct roost_cm_step *step =
		roost_cm_lap_step(conn->lap, ROOST_CM_DO_LAP);

	if (conn->state != ROOST_CM_ESTAB || conn->passive || !step->valid)
		return -EINVAL;
	if (!conn->lap_mad)
		conn->lap_mad = malloc(ROOST_CM_MAD_LEN);
	if (!conn->lap_mad)
		return -ENOMEM;
	conn->tid += 1ull << 32;
	msg->tid = conn->tid;
	msg->local_id = conn->local_id;
	msg->remote_id = conn->remote_id;
	msg->qpn = conn->remote_qpn;
	conn->alternate = *alternate;
	conn->alt_timeout = msg->alternate.ack_timeout;
	roost_cm_take_lap_step(conn, step, msg, 0);
	return 0;
}

int roost_cm_load_path(struct roost_cm_conn *conn,
		       const struct roost_cm_path *alternate, const void *data,
		       size_t data_len_bytes)
{
	struct roost_cm_msg msg = {
		.type = ROOST_CM_LAP,
		.remote_cm_timeout = ROOST_CM_RESPONSE_TIMEOUT,
	};
	int ret;

	if (data_len_bytes > ROOST_CM_LAP_DATA_LEN)
		return -EINVAL;
	if (data_len_bytes > 0)
		memcpy(msg.data, data, data_len_bytes);
	roost_cm_path_to_msg(alternate, &msg.alternate);
	roost_cm_lock(conn->cm);
	ret = send_lap(conn, alternate, &msg);
	roost_cm_unlock(conn->cm);
	return ret;
}

int roost_cm_apr(struct roost_cm_conn *conn, uint8_t status, const void *info,
		 size_t info_len_bytes, const void *data, size_t data_len_bytes)
{
	const struct roost_cm_step *step;
	struct roost_cm_msg msg;
	int ret = -EINVAL;

	if (info_len_bytes > ROOST_CM_APR_INFO_LEN ||
	    data_len_bytes > ROOST_CM_APR_DATA_LEN)
		return -EINVAL;
	roost_cm_lock(conn->cm);
	msg = roost_cm_msg_between(conn, ROOST_CM_APR);
	msg.status = status;
	msg.info_len_bytes = (uint8_t)info_len_bytes;
	if (info_len_bytes > 0)
		memcpy(msg.info, info, info_len_bytes);
	if (data_len_bytes > 0)
		memcpy(msg.data, data, data_len_bytes);
	step = roost_cm_lap_step(conn->lap, ROOST_CM_DO_APR);
	if (conn->state == ROOST_CM_ESTAB && step->valid) {
		conn->has_alternate = status == 0;
		roost_cm_take_lap_step(conn, step, &msg, 0);
		ret = 0;
	}
	roost_cm_unlock(conn->cm);
	return ret;
}

/* ---- messages ----------------------------------------------------------- */

static const struct roost_cm_step *step_of(struct roost_cm_conn *conn,
					   enum roost_cm_lap_input input)
{
	const struct roost_cm_step *step = roost_cm_lap_step(conn->lap, input);

	if (conn->state == ROOST_CM_ESTAB && step->valid)
		return step;
	roost_cm_drop(conn->cm, ROOST_CM_DROP_STATE);
	return NULL;
}

void roost_cm_got_lap(struct roost_cm_conn *conn,
		      const struct roost_cm_msg *msg)
{
	const struct roost_cm_step *step = step_of(conn, ROOST_CM_GOT_LAP);
	struct roost_cm_event event = {
		.type = ROOST_CM_LAP_RECEIVED,
		.data = msg->data,
		.data_len_bytes = ROOST_CM_LAP_DATA_LEN,
		.has_alternate = true,
		.alternate_timeout = msg->alternate.ack_timeout,
	};

	if (!step)
		return;
	if (conn->local_qpn != msg->qpn ||
	    roost_cm_path_from_msg(conn->cm, 0, &msg->alternate,
				   &event.alternate) != 0) {
		roost_cm_drop(conn->cm, ROOST_CM_DROP_FIELD);
		return;
	}
	event.alternate.mtu = conn->path.mtu;
	event.alternate.pkey = conn->path.pkey;
	conn->tid = msg->tid;
	if (roost_cm_take_lap_step(conn, step, NULL, 0) == ROOST_CM_NO_EVENT)
		return;
	conn->alternate = event.alternate;
	conn->alt_timeout = event.alternate_timeout;
	if (conn->owned)
		roost_cm_tell(conn, &event);
}

void roost_cm_got_apr(struct roost_cm_conn *conn,
		      const struct roost_cm_msg *msg)
{
	const struct roost_cm_step *step = step_of(conn, ROOST_CM_GOT_APR);
	struct roost_cm_event event = {
		.type = ROOST_CM_APR_RECEIVED,
		.status = msg->status,
		.data = msg->data,
		.data_len_bytes = ROOST_CM_APR_DATA_LEN,
		.info = msg->info,
		.info_len_bytes = msg->info_len_bytes,
	};

	if (!step)
		return;
	conn->has_alternate = msg->status == 0;
	roost_cm_take_lap_step(conn, step, NULL, 0);
	if (conn->owned)
		roost_cm_tell(conn, &event);
}

void roost_cm_got_mra_lap(struct roost_cm_conn *conn,
			  const struct roost_cm_msg *msg)
{
	const struct roost_cm_step *step = step_of(conn, ROOST_CM_GOT_MRA_LAP);
	struct roost_cm_event event = { .type = ROOST_CM_MRA_RECEIVED };

	if (!step)
		return;
	roost_cm_take_lap_step(conn, step, NULL, roost_cm_mra_ns(conn, msg));
	if (conn->owned)
		roost_cm_tell(conn, &event);
}
