/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "echo_end.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

struct offer {
	uint64_t addr;
	uint32_t key;
};

struct echo_end {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_mr *memory; /* offered, or the copy; NULL: none */
	struct offer offer;    /* that was taken */
	char *buffer;
	size_t len_bytes; /* of a message */
};

static struct ibv_qp_init_attr qp_attr(void)
{
	return (struct ibv_qp_init_attr){
		.cap = { .max_send_wr = 2,
			 .max_recv_wr = 2,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
}

/* Takes the id, which may be NULL. */
static struct echo_end *end_of(struct rdma_cm_id *id, void *buffer,
			       size_t len_bytes)
{
	struct echo_end *end = calloc(1, sizeof(*end));

	if (!id || !end) {
		if (id)
			rdma_destroy_ep(id);
		free(end);
		return NULL;
	}
	end->id = id;
	end->buffer = buffer;
	end->len_bytes = len_bytes;
	if (buffer)
		end->mr = rdma_reg_msgs(id, buffer, 2 * len_bytes);
	if (buffer && (!end->mr || echo_post(end) != 0)) {
		echo_close(end);
		return NULL;
	}
	return end;
}

static struct rdma_cm_id *id_at(const char *address, const char *port,
				int flags)
{
	struct rdma_addrinfo hints = { .ai_flags = flags,
				       .ai_port_space = RDMA_PS_TCP };
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_addrinfo *info;
	struct rdma_cm_id *id;

	if (rdma_getaddrinfo(address, port, &hints, &info) != 0)
		return NULL;
	if (rdma_create_ep(&id, info, NULL, &attr) != 0)
		id = NULL;
	rdma_freeaddrinfo(info);
	return id;
}

struct echo_end *echo_listen(const char *address, const char *port)
{
	struct echo_end *end =
		end_of(id_at(address, port, RAI_PASSIVE), NULL, 0);

	if (end && rdma_listen(end->id, 16) != 0) {
		echo_close(end);
		return NULL;
	}
	return end;
}

struct echo_end *echo_accept(struct echo_end *listener, void *buffer,
			     size_t len_bytes)
{
	struct rdma_cm_id *id;
	struct echo_end *end;

	if (rdma_get_request(listener->id, &id) != 0)
		return NULL;
	end = end_of(id, buffer, len_bytes);
	if (end && rdma_accept(id, NULL) != 0) {
		echo_close(end);
		return NULL;
	}
	return end;
}

struct echo_end *echo_connect(const char *address, const char *port,
			      void *buffer, size_t len_bytes)
{
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1,
					 .retry_count = 7,
					 .rnr_retry_count = 7 };
	struct echo_end *end =
		end_of(id_at(address, port, 0), buffer, len_bytes);

	if (end && rdma_connect(end->id, &param) != 0) {
		echo_close(end);
		return NULL;
	}
	return end;
}

static int outcome(int n, const struct ibv_wc *wc)
{
	return n == 1 && wc->status == IBV_WC_SUCCESS ? 0 : -EIO;
}

int echo_send(struct echo_end *end)
{
	struct ibv_wc wc;

	if (rdma_post_send(end->id, NULL, end->buffer, end->len_bytes, end->mr,
			   0) != 0)
		return -errno;
	return outcome(rdma_get_send_comp(end->id, &wc), &wc);
}

int echo_offer(struct echo_end *end, void *memory, size_t len_bytes)
{
	struct offer *offer = (struct offer *)end->buffer;

	end->memory =
		ibv_reg_mr(end->id->pd, memory, len_bytes,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ);
	if (!end->memory)
		return -errno;
	offer->addr = (uintptr_t)memory;
	offer->key = end->memory->rkey;
	return echo_send(end);
}

int echo_take(struct echo_end *end, void *copy, size_t len_bytes)
{
	int ret = echo_receive(end);

	if (ret != 0)
		return ret;
	memcpy(&end->offer, end->buffer + end->len_bytes, sizeof(end->offer));
	end->memory = ibv_reg_mr(end->id->pd, copy, len_bytes,
				 IBV_ACCESS_LOCAL_WRITE);
	return end->memory ? echo_post(end) : -errno;
}

int echo_fill(struct echo_end *end, int byte)
{
	struct ibv_mr *copy = end->memory;
	struct ibv_wc wc;
	int ret;

	memset(copy->addr, byte, copy->length);
	if (rdma_post_write(end->id, NULL, copy->addr, copy->length, copy, 0,
			    end->offer.addr, end->offer.key) != 0)
		return -errno;
	ret = outcome(rdma_get_send_comp(end->id, &wc), &wc);
	if (ret != 0)
		return ret;
	memset(copy->addr, 0xff, copy->length);
	if (rdma_post_read(end->id, NULL, copy->addr, copy->length, copy, 0,
			   end->offer.addr, end->offer.key) != 0)
		return -errno;
	return outcome(rdma_get_send_comp(end->id, &wc), &wc);
}

int echo_hide(void *memory, size_t len_bytes)
{
	return syscall(SYS_mprotect, memory, len_bytes, PROT_NONE) == 0
		       ? 0
		       : -errno;
}

int echo_post(struct echo_end *end)
{
	return rdma_post_recv(end->id, NULL, end->buffer + end->len_bytes,
			      end->len_bytes, end->mr) == 0
		       ? 0
		       : -errno;
}

int echo_receive(struct echo_end *end)
{
	struct ibv_wc wc;

	return outcome(rdma_get_recv_comp(end->id, &wc), &wc);
}

void echo_close(struct echo_end *end)
{
	if (end->buffer)
		rdma_disconnect(end->id);
	if (end->mr)
		rdma_dereg_mr(end->mr);
	if (end->memory)
		rdma_dereg_mr(end->memory);
	rdma_destroy_ep(end->id);
	free(end);
}
