/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_VERBS_ABI_H
#define ROOST_VERBS_ABI_H

/*
 * The ABI of libibverbs besides verbs.h: symbol versions, and the layout that
 * provider libraries expect behind a struct ibv_device.
 *
 * Facts of rdma-core 44 (IBVERBS_PRIVATE_34), the same in 64. A library such as
 * libmlx5 asks "is this device mine?" by comparing verbs_device.ops with its
 * own table, so that member must be there and must point to an object that no
 * provider has.
 */

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "lib/verbs/newer.h"

/*
 * Bind a version to the symbol that is declared next. gcc's link-time
 * optimisation needs the attribute; clang has the directive only.
 */
#if __has_attribute(symver)
#define ROOST_VERBS_SYMVER(symbol, versioned) __attribute__((symver(versioned)))
#else
#define ROOST_VERBS_SYMVER(symbol, versioned)                                  \
	__asm__(".symver " symbol "," versioned);
#endif

/*
 * Export roost_<name> as <name>@@<version>, with the prototype that verbs.h
 * gives <name>. For names that the map has in two version nodes; a name that
 * is in one node only is simply defined.
 */
#define ROOST_VERBS_LATEST(name, version)                                      \
	ROOST_VERBS_SYMVER("roost_" #name, #name "@@" version)                 \
	__typeof__(name) roost_##name

/* The same for a name that verbs.h of rdma-core 44 does not declare: newer.h
 * declares roost_<name>, and the definition follows.
 */
#define ROOST_VERBS_NEWER(name, version)                                       \
	ROOST_VERBS_SYMVER("roost_" #name, #name "@@" version)

/*
 * rdma-core 57, 59 and 64 renamed the private node; Amazon's 64 has one of its
 * own. Behind the definition of roost_<name> as <name>@@IBVERBS_PRIVATE_34: the
 * later nodes have it, too.
 */
#define ROOST_VERBS_PRIVATE(name)                                              \
	ROOST_VERBS_ALSO(name, 57)                                             \
	ROOST_VERBS_ALSO(name, 59)                                             \
	ROOST_VERBS_ALSO(name, 64)                                             \
	ROOST_VERBS_ALSO(name, 64amzn0)
#define ROOST_VERBS_ALSO(name, node)                                           \
	ROOST_VERBS_SYMVER("roost_also_" #name "_" #node,                      \
			   #name "@IBVERBS_PRIVATE_" #node)                    \
	extern __typeof__(roost_##name) roost_also_##name##_##node             \
		__attribute__((alias("roost_" #name)));

/*
 * The size of a struct verbs_context of rdma-core 44. Later ones begin
 * earlier; their new members are for libibverbs itself.
 */
#define ROOST_VERBS_CONTEXT_BYTES 648

/* The private half of a device as providers know it. */
struct roost_verbs_abi_device {
	struct ibv_device device;
	const void *ops; /* struct verbs_device_ops of its provider */
	int refcount;
	void *list_entry[2];
	void *sysfs;
	uint64_t core_support; /* bit 0: optional MR access flags are taken */
};

static_assert(sizeof(struct ibv_device) == 664, "ibv_device");
static_assert(offsetof(struct roost_verbs_abi_device, ops) == 664, "ops");
static_assert(offsetof(struct roost_verbs_abi_device, sysfs) == 696, "sysfs");
static_assert(offsetof(struct roost_verbs_abi_device, core_support) == 704,
	      "core_support");
static_assert(sizeof(struct roost_verbs_abi_device) == 712, "verbs_device");
static_assert(sizeof(struct verbs_context) -
			      offsetof(struct verbs_context, query_port) ==
		      ROOST_VERBS_CONTEXT_BYTES,
	      "verbs_context");
static_assert(sizeof(struct ibv_context) == 328, "ibv_context");
static_assert(offsetof(struct verbs_context, context) ==
		      sizeof(struct verbs_context) - sizeof(struct ibv_context),
	      "ibv_context is last");
static_assert(sizeof(struct ibv_qp) == 160, "ibv_qp");
static_assert(offsetof(struct ibv_qp_ex, wr_atomic_write) +
			      sizeof(void (*)(void)) ==
		      ROOST_VERBS_QP_EX_BYTES,
	      "ibv_qp_ex");
static_assert(sizeof(struct roost_verbs_abi_qp_ex) == 360, "with wr_flush");
static_assert(sizeof(struct ibv_srq) == 128, "ibv_srq");
static_assert(sizeof(struct ibv_ah) == 24, "ibv_ah");
static_assert(sizeof(struct ibv_mw) == 32, "ibv_mw");
static_assert(sizeof(struct ibv_dm) == 32, "ibv_dm");
static_assert(sizeof(struct ibv_cq) == 128, "ibv_cq");
static_assert(sizeof(struct ibv_cq_ex) == 288, "ibv_cq_ex");

#endif
