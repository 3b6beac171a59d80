/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Connections and datagram services: asked for, answered, ended.
 */

#include <stdlib.h>
#include <string.h>

#include "cm/rdmacm/addr.h"
#include "cm/rdmacm/rdmacm.h"
#include "lib/verbs/map.h"

#define RETRIES_MAX 7

/* Private data as it is sent: first the data from rdma_create_ep(). */
struct private_data {
	uint8_t bytes[ROOST_RDMACM_DATA_MAX];
	size_t len;
};

static int collect(const struct roost_rdmacm_id *id,
		   const struct rdma_conn_param *param,
		   struct private_data *data)
{
	data->len = 0;
	if (id->connect_len_bytes > sizeof(data->bytes))
		return -EINVAL;
	if (id->connect_data) {
		memcpy(data->bytes, id->connect_data, id->connect_len_bytes);
		data->len = id->connect_len_bytes;
	}
	if (!param || !param->private_data)
		return 0;
	if (param->private_data_len > sizeof(data->bytes) - data->len)
		return -EINVAL;
	memcpy(data->bytes + data->len, param->private_data,
	       param->private_data_len);
	data->len += param->private_data_len;
	return 0;
}

/* Check the parameters: no more resources than the device has; without a QP
 * there are no defaults.
 */
static int check_param(const struct roost_rdmacm_id *id,
		       const struct rdma_conn_param *param)
{
	if (id->id.ps != RDMA_PS_TCP)
		return 0;
	if (!param)
		return id->id.qp ? 0 : -EINVAL;
	if (param->responder_resources != RDMA_MAX_RESP_RES &&
	    param->responder_resources > id->device->max_responder_resources)
		return -EINVAL;
	if (param->initiator_depth != RDMA_MAX_INIT_DEPTH &&
	    param->initiator_depth > id->device->max_initiator_depth)
		return -EINVAL;
	return 0;
}

static uint32_t qp_num_of(const struct roost_rdmacm_id *id,
			  const struct rdma_conn_param *param)
{
	if (id->id.qp)
		return id->id.qp->qp_num;
	return param ? param->qp_num : 0;
}

static bool has_srq(const struct roost_rdmacm_id *id,
		    const struct rdma_conn_param *param)
{
	if (id->id.qp)
		return id->id.qp->srq;
	return param && param->srq;
}

static uint8_t at_most(uint8_t value, uint8_t max)
{
	return value < max ? value : max;
}

/* ---- the active side ---------------------------------------------------- */

static uint64_t service_of(const struct roost_rdmacm_id *id)
{
	return roost_cm_service_id((enum roost_cm_port_space)id->id.ps,
				   roost_rdmacm_addr_port(
					   (const struct sockaddr *)&id->dst));
}

static struct roost_cm_ip_hdr ip_hdr(const struct roost_rdmacm_id *id)
{
	return (struct roost_cm_ip_hdr){
		.src = id->path.sgid,
		.dst = id->path.dgid,
		.src_port = id->claim.port,
	};
}

static int ask_connection(struct roost_rdmacm_id *id,
			  const struct rdma_conn_param *param,
			  const struct private_data *data)
{
	const struct roost_cm_ip_hdr ip = ip_hdr(id);
	struct roost_cm_req_param req = {
		.path = id->path,
		.service_id = service_of(id),
		.ip = &ip,
		.qpn = qp_num_of(id, param),
		.starting_psn = id->starting_psn,
		.srq = has_srq(id, param),
		.flow_control = param && param->flow_control,
		.responder_resources = id->responder_resources,
		.initiator_depth = id->initiator_depth,
		.retry_count = RETRIES_MAX,
		.rnr_retry_count = RETRIES_MAX,
		.ece_vendor_id = id->local_ece.vendor_id,
		.ece_attr_mod = id->local_ece.options,
		.data = data->bytes,
		.data_len_bytes = data->len,
	};
	int ret = roost_map_qp_type(id->id.qp_type, &req.qp_type);

	if (ret)
		return ret;
	if (param) {
		req.retry_count = at_most(param->retry_count, RETRIES_MAX);
		req.rnr_retry_count =
			at_most(param->rnr_retry_count, RETRIES_MAX);
	}
	return roost_cm_connect(id->conn, &req);
}

static int ask_service(struct roost_rdmacm_id *id,
		       const struct private_data *data)
{
	const struct roost_cm_ip_hdr ip = ip_hdr(id);
	const struct roost_cm_sidr_req_param req = {
		.path = id->path,
		.service_id = service_of(id),
		.ip = &ip,
		.data = data->bytes,
		.data_len_bytes = data->len,
	};

	return roost_cm_sidr_request(id->conn, &req);
}

/* The values of the program, or the given ones where the program leaves them
 * open.
 */
static void set_depths(struct roost_rdmacm_id *id,
		       const struct rdma_conn_param *param,
		       uint8_t initiator_depth, uint8_t responder_resources)
{
	if (param && param->initiator_depth != RDMA_MAX_INIT_DEPTH)
		initiator_depth = param->initiator_depth;
	if (param && param->responder_resources != RDMA_MAX_RESP_RES)
		responder_resources = param->responder_resources;
	id->initiator_depth = initiator_depth;
	id->responder_resources = responder_resources;
}

static int connect_id(struct roost_rdmacm_id *id,
		      const struct rdma_conn_param *param)
{
	struct private_data data;
	int ret = check_param(id, param);

	if (ret == 0)
		ret = collect(id, param, &data);
	if (ret)
		return ret;
	set_depths(id, param, id->device->max_initiator_depth,
		   id->device->max_responder_resources);
	/* An answer may come before the call is over. */
	roost_rdmacm_id_set_state(id, ROOST_RDMACM_CONNECT);
	id->begun = true;
	ret = roost_rdmacm_is_ud(id) ? ask_service(id, &data)
				     : ask_connection(id, param, &data);
	if (ret) {
		id->begun = false;
		roost_rdmacm_id_set_state(id, ROOST_RDMACM_ROUTE_RESOLVED);
		return ret;
	}
	free(id->connect_data);
	id->connect_data = NULL;
	id->connect_len_bytes = 0;
	return 0;
}

int rdma_connect(struct rdma_cm_id *rdma, struct rdma_conn_param *conn_param)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	int ret = roost_rdmacm_enter_as(id, ROOST_RDMACM_CALL_CONNECT);

	if (ret)
		return roost_rdmacm_result(ret);
	ret = connect_id(id, conn_param);
	return roost_rdmacm_leave_complete(id, ret);
}

int rdma_establish(struct rdma_cm_id *rdma)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	int ret;

	/* With a QP, rdma_get_cm_event() has sent RTU already. */
	if (rdma->qp)
		return roost_rdmacm_result(-EINVAL);
	ret = roost_rdmacm_enter_as(id, ROOST_RDMACM_CALL_ACCEPT);
	if (ret)
		return roost_rdmacm_result(ret);
	return roost_rdmacm_leave(id, roost_rdmacm_answer(id));
}

/* ---- the passive side --------------------------------------------------- */

static int answer_connection(struct roost_rdmacm_id *id,
			     const struct rdma_conn_param *param,
			     const struct private_data *data)
{
	const struct roost_cm_rep_param rep = {
		.qpn = qp_num_of(id, param),
		.starting_psn = id->starting_psn,
		.srq = has_srq(id, param),
		.flow_control = param && param->flow_control,
		.responder_resources = id->responder_resources,
		.initiator_depth = id->initiator_depth,
		.rnr_retry_count =
			param ? at_most(param->rnr_retry_count, RETRIES_MAX)
			      : RETRIES_MAX,
		/* Alternate paths are not the business of rdma_cm. */
		.failover_accepted = 1,
		/* An answer stays with the vendor of the request. */
		.ece_vendor_id = id->remote_ece.vendor_id,
		.ece_attr_mod = id->local_ece.options,
		.data = data->bytes,
		.data_len_bytes = data->len,
	};
	int ret = roost_rdmacm_qp_to_rtr(id, id->responder_resources);

	if (ret == 0)
		ret = roost_rdmacm_qp_to_rts(id, id->initiator_depth);
	if (ret)
		return ret;
	ret = roost_cm_accept(id->conn, &rep);
	if (ret)
		roost_rdmacm_give_up(id);
	return ret;
}

static int answer_service(struct roost_rdmacm_id *id,
			  const struct rdma_conn_param *param,
			  const struct private_data *data)
{
	const struct roost_cm_sidr_rep_param rep = {
		.status = ROOST_CM_SIDR_SUCCESS,
		.qpn = qp_num_of(id, param),
		.qkey = RDMA_UDP_QKEY,
		.data = data->bytes,
		.data_len_bytes = data->len,
	};

	return roost_cm_sidr_reply(id->conn, &rep);
}

/* Deliver the events of the id from now on: the program has the id. */
static void set_loud(struct roost_rdmacm_id *id)
{
	pthread_mutex_lock(&id->lock);
	id->quiet = false;
	pthread_mutex_unlock(&id->lock);
}

static int accept_id(struct roost_rdmacm_id *id,
		     const struct rdma_conn_param *param)
{
	struct private_data data;
	int ret = check_param(id, param);

	if (ret == 0)
		ret = collect(id, param, &data);
	if (ret)
		return ret;
	set_depths(id, param,
		   at_most(id->initiator_depth,
			   id->device->max_initiator_depth),
		   at_most(id->responder_resources,
			   id->device->max_responder_resources));
	set_loud(id);
	return roost_rdmacm_is_ud(id) ? answer_service(id, param, &data)
				      : answer_connection(id, param, &data);
}

int rdma_accept(struct rdma_cm_id *rdma, struct rdma_conn_param *conn_param)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	int ret = roost_rdmacm_enter_as(id, ROOST_RDMACM_CALL_ACCEPT);

	if (ret)
		return roost_rdmacm_result(ret);
	ret = accept_id(id, conn_param);
	if (ret || !roost_rdmacm_is_ud(id))
		return roost_rdmacm_leave_complete(id, ret);
	/* A datagram service has no further event. */
	pthread_mutex_unlock(&id->call);
	if (id->sync && rdma->event) {
		rdma_ack_cm_event(rdma->event);
		rdma->event = NULL;
	}
	return 0;
}

static int reject(struct rdma_cm_id *rdma, uint16_t reason, const void *data,
		  uint8_t len)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	struct roost_cm_sidr_rep_param rep = {
		.status = ROOST_CM_SIDR_REJECT,
		.data = data,
		.data_len_bytes = data ? len : 0,
	};
	int ret = roost_rdmacm_enter_bound(id);

	if (ret)
		return roost_rdmacm_result(ret);
	if (!id->begun)
		ret = -EINVAL;
	else if (roost_rdmacm_is_ud(id))
		ret = roost_cm_sidr_reply(id->conn, &rep);
	else
		ret = roost_cm_reject(id->conn, reason, NULL, 0, rep.data,
				      rep.data_len_bytes);
	return roost_rdmacm_leave(id, ret);
}

int rdma_reject(struct rdma_cm_id *id, const void *private_data,
		uint8_t private_data_len)
{
	return reject(id, ROOST_CM_REJ_CONSUMER_DEFINED, private_data,
		      private_data_len);
}

int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data,
		    uint8_t private_data_len)
{
	return reject(id, ROOST_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED,
		      private_data, private_data_len);
}

/* ---- either side -------------------------------------------------------- */

/* Allowed in every state of the connection. If there is no message to send, for
 * example because the peer disconnected first, the call succeeds, too.
 */
int rdma_disconnect(struct rdma_cm_id *rdma)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	int ret = roost_rdmacm_enter_bound(id);

	if (ret)
		return roost_rdmacm_result(ret);
	ret = roost_rdmacm_qp_to_err(id);
	if (ret == 0 && !id->begun)
		ret = -EINVAL;
	if (ret == 0)
		roost_cm_disconnect(id->conn, NULL, 0);
	return roost_rdmacm_leave_complete(id, ret);
}

int rdma_notify(struct rdma_cm_id *rdma, enum ibv_event_type event)
{
	struct roost_rdmacm_id *id = roost_rdmacm_id(rdma);
	int ret = roost_rdmacm_enter_bound(id);

	if (ret)
		return roost_rdmacm_result(ret);
	if (!id->begun || event != IBV_EVENT_COMM_EST)
		ret = -EINVAL;
	else
		ret = roost_cm_conn_comm_est(id->conn);
	return roost_rdmacm_leave(id, ret);
}
