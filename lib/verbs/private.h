/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_VERBS_PRIVATE_H
#define ROOST_VERBS_PRIVATE_H

/*
 * Symbols of libibverbs.so.1 that no installed header declares: rdma-core's own
 * libraries (librdmacm, provider libraries) and a few of its programs use them.
 * The prototypes are those that these callers expect.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

/* Results of ibv_query_gid_type(); the numbers differ from ibv_gid_type. */
enum roost_sysfs_gid_type {
	ROOST_SYSFS_GID_IB_ROCE_V1,
	ROOST_SYSFS_GID_ROCE_V2,
};

void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *dst,
				const struct ib_uverbs_ah_attr *src);
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *dst,
				const struct ib_uverbs_qp_attr *src);
void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *dst,
				 const struct ib_user_path_rec *src);
void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *dst,
			       const struct ibv_sa_path_rec *src);

const char *ibv_get_sysfs_path(void);
/* Read a small file, without its last newline. Returns its length or -1. */
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf,
			size_t size);

/* Always RoCEv2. Returns 0, or -1 and errno. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num,
		       unsigned int index, unsigned int *type);

int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

/* How many attributes a provider's ioctl buffer needs. */
unsigned int __ioctl_final_num_attrs(unsigned int num_attrs, void *link);
void verbs_init_cq(struct ibv_cq *cq, struct ibv_context *context,
		   struct ibv_comp_channel *channel, void *cq_context);
/* Providers may set it; nothing here reads it. */
extern bool verbs_allow_disassociate_destroy;

#endif
