/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Calls that libibverbs got after rdma-core 44.
 */

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/verbs/newer.h"
#include "lib/verbs/shim.h"

/* ---- regions by attributes ---------------------------------------------- */

struct roost_verbs_buf {
	struct ibv_pd *pd; /* that the program gave: a parent domain, or a PD */
	uint8_t *memory;
	size_t len_bytes;
};

#define KNOWN                                                                  \
	(ROOST_VERBS_MR_IOVA | ROOST_VERBS_MR_ADDR | ROOST_VERBS_MR_FD |       \
	 ROOST_VERBS_MR_FD_OFFSET | ROOST_VERBS_MR_BUF)
#define ALL_FD                                                                 \
	(ROOST_VERBS_MR_FD | ROOST_VERBS_MR_FD_OFFSET | ROOST_VERBS_MR_IOVA)

/* Whether the memory to register is inside the buffer. */
static bool is_of_buf(const struct ibv_pd *pd,
		      const struct roost_verbs_mr_attr *attr)
{
	const struct roost_verbs_buf *buf = attr->buf;
	const uintptr_t base = (uintptr_t)buf->memory;
	const uintptr_t addr = (uintptr_t)attr->addr;

	return buf->pd == pd && addr >= base && addr - base <= buf->len_bytes &&
	       attr->length <= buf->len_bytes - (addr - base);
}

ROOST_VERBS_NEWER(ibv_reg_mr_ex, "IBVERBS_1.15")
struct ibv_mr *roost_ibv_reg_mr_ex(struct ibv_pd *pd,
				   const struct roost_verbs_mr_attr *attr)
{
	const uint64_t mask = attr->comp_mask & ~ROOST_VERBS_MR_BUF;

	/* A DMA handle steers writes over PCIe into a CPU's cache. */
	if (attr->comp_mask & ~KNOWN)
		return roost_verbs_null(-EOPNOTSUPP);
	if (attr->comp_mask & ROOST_VERBS_MR_BUF &&
	    (!(mask & ROOST_VERBS_MR_ADDR) || !is_of_buf(pd, attr)))
		return roost_verbs_null(-EINVAL);
	if (mask == ALL_FD)
		return ibv_reg_dmabuf_mr(pd, attr->fd_offset, attr->length,
					 attr->iova, attr->fd, attr->access);
	if ((mask & ~ROOST_VERBS_MR_IOVA) != ROOST_VERBS_MR_ADDR)
		return roost_verbs_null(-EINVAL);
	return roost_verbs_mr_new(pd, attr->addr, attr->length,
				  mask & ROOST_VERBS_MR_IOVA
					  ? attr->iova
					  : (uintptr_t)attr->addr,
				  (unsigned int)attr->access, NULL, NULL);
}

/* ---- buffers ------------------------------------------------------------ */

ROOST_VERBS_NEWER(ibv_alloc_buf, "IBVERBS_1.17")
void *roost_ibv_alloc_buf(struct ibv_pd *pd, size_t size,
			  struct roost_verbs_buf **out)
{
	struct roost_verbs_buf *buf;

	if (!size || !out || size > SIZE_MAX - (size_t)sysconf(_SC_PAGESIZE))
		return roost_verbs_null(-EINVAL);
	if (roost_verbs_is_dead(pd->context))
		return roost_verbs_null(-EIO);
	buf = malloc(sizeof(*buf));
	if (!buf)
		return roost_verbs_null(-ENOMEM);
	buf->pd = pd;
	buf->len_bytes = size;
	/* Whole pages: what is registered shares none with other memory. */
	buf->memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buf->memory == MAP_FAILED) {
		free(buf);
		return roost_verbs_null(-ENOMEM);
	}
	*out = buf;
	return buf->memory;
}

ROOST_VERBS_NEWER(ibv_free_buf, "IBVERBS_1.17")
void roost_ibv_free_buf(struct roost_verbs_buf *buf)
{
	munmap(buf->memory, buf->len_bytes);
	free(buf);
}

ROOST_VERBS_NEWER(ibv_reg_buf_mr, "IBVERBS_1.17")
struct ibv_mr *roost_ibv_reg_buf_mr(struct ibv_pd *pd,
				    struct roost_verbs_buf *buf, void *addr,
				    size_t length, int access)
{
	const struct roost_verbs_mr_attr attr = {
		.length = length,
		.access = access,
		.comp_mask = ROOST_VERBS_MR_ADDR | ROOST_VERBS_MR_BUF,
		.addr = addr,
		.buf = buf,
	};

	return roost_ibv_reg_mr_ex(pd, &attr);
}

/* ---- ports -------------------------------------------------------------- */

/* What width and speed of ibv_query_port() say of a port without a speed. */
#define SLOWEST_MBPS 2500

ROOST_VERBS_NEWER(ibv_query_port_speed, "IBVERBS_1.16")
int roost_ibv_query_port_speed(struct ibv_context *context, uint32_t port_num,
			       uint64_t *speed)
{
	struct roost_port_attr port;
	int ret;

	if (roost_verbs_is_dead(context))
		return roost_verbs_result(-EIO);
	if (port_num > UINT8_MAX)
		return roost_verbs_result(-EINVAL);
	ret = roost_port_query(roost_verbs_dev(context), (uint8_t)port_num,
			       &port);
	if (ret)
		return roost_verbs_result(ret);
	*speed = (port.speed_mbps ? port.speed_mbps : SLOWEST_MBPS) / 100;
	return 0;
}
