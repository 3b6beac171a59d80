/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/conform/agent_cm.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>

#define BACKLOG 8

bool agent_cm_listen(struct agent_cm *cm, uint32_t addr_be, uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(port),
				    .sin_addr = { addr_be } };
	int flags;

	if (cm->channel != NULL) {
		errno = EBUSY;
		return false;
	}
	cm->channel = rdma_create_event_channel();
	if (cm->channel == NULL)
		return false;
	flags = fcntl(cm->channel->fd, F_GETFL);
	return fcntl(cm->channel->fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
	       rdma_create_id(cm->channel, &cm->listener, NULL, RDMA_PS_TCP) ==
		       0 &&
	       rdma_bind_addr(cm->listener, (struct sockaddr *)&addr) == 0 &&
	       rdma_listen(cm->listener, BACKLOG) == 0;
}

static void end(struct rdma_cm_id *id)
{
	if (id->qp != NULL)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

int agent_cm_event(struct agent_cm *cm, int ms)
{
	struct pollfd fd = { .fd = cm->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	int type;

	if (poll(&fd, 1, ms) != 1 ||
	    rdma_get_cm_event(cm->channel, &event) != 0)
		return -1;
	type = (int)event->event;
	id = event->id;
	rdma_ack_cm_event(event);
	if (type != RDMA_CM_EVENT_CONNECT_REQUEST)
		return type;
	if (cm->conn == NULL)
		cm->conn = id;
	else
		end(id);
	return type;
}

bool agent_cm_accept(struct agent_cm *cm)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_conn_param param = { .retry_count = 7,
					 .rnr_retry_count = 7 };

	return rdma_create_qp(cm->conn, NULL, &init) == 0 &&
	       rdma_accept(cm->conn, &param) == 0;
}

bool agent_cm_reject(struct agent_cm *cm)
{
	return rdma_reject(cm->conn, NULL, 0) == 0;
}

bool agent_cm_disconnect(struct agent_cm *cm)
{
	return rdma_disconnect(cm->conn) == 0;
}

void agent_cm_reset(struct agent_cm *cm)
{
	if (cm->conn != NULL)
		end(cm->conn);
	if (cm->listener != NULL)
		rdma_destroy_id(cm->listener);
	if (cm->channel != NULL)
		rdma_destroy_event_channel(cm->channel);
	*cm = (struct agent_cm){ .channel = NULL };
}
