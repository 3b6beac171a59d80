/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_VERBS_ABI_H
#define ROOST_VERBS_ABI_H

/*
 * The ABI of libibverbs besides verbs.h: symbol versions, and the layout that
 * provider libraries expect behind a struct ibv_device.
 *
 * Facts of rdma-core 44 (IBVERBS_PRIVATE_34). A library such as libmlx5 asks
 * "is this device mine?" by comparing verbs_device.ops with its own table, so
 * that member must be there and must point to an object that no provider has.
 */

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

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

/* The private half of a device as providers know it. */
struct roost_verbs_abi_device {
	struct ibv_device device;
	const void *ops; /* struct verbs_device_ops of its provider */
	int refcount;
	void *list_entry[2];
	void *sysfs;
	uint64_t core_support; /* bit 0: optional MR access flags are taken */
};

/*
 * FLUSH came to verbs.h with rdma-core 45, behind the end of the structs and
 * enums of 44: a program that was built with it finds it in these places.
 */
struct roost_verbs_abi_qp_ex {
	struct ibv_qp_ex ex;
	void (*wr_flush)(struct ibv_qp_ex *qp, uint32_t rkey,
			 uint64_t remote_addr, size_t len, uint8_t type,
			 uint8_t level);
};

#define ROOST_VERBS_QP_EX_WITH_FLUSH (UINT64_C(1) << 11)
#define ROOST_VERBS_ACCESS_FLUSH_GLOBAL (1u << 8)
#define ROOST_VERBS_ACCESS_FLUSH_PERSISTENT (1u << 9)
#define ROOST_VERBS_WC_FLUSH 8

/* Bits of device_cap_flags_ex that verbs.h has no names for. */
#define ROOST_VERBS_DEVICE_FLUSH_GLOBAL (UINT64_C(1) << 38)
#define ROOST_VERBS_DEVICE_ATOMIC_WRITE (UINT64_C(1) << 40)

static_assert(sizeof(struct ibv_device) == 664, "ibv_device");
static_assert(offsetof(struct roost_verbs_abi_device, ops) == 664, "ops");
static_assert(offsetof(struct roost_verbs_abi_device, sysfs) == 696, "sysfs");
static_assert(offsetof(struct roost_verbs_abi_device, core_support) == 704,
	      "core_support");
static_assert(sizeof(struct roost_verbs_abi_device) == 712, "verbs_device");
static_assert(sizeof(struct verbs_context) == 648, "verbs_context");
static_assert(sizeof(struct ibv_context) == 328, "ibv_context");
static_assert(offsetof(struct verbs_context, context) ==
		      sizeof(struct verbs_context) - sizeof(struct ibv_context),
	      "ibv_context is last");
static_assert(sizeof(struct ibv_qp) == 160, "ibv_qp");
static_assert(sizeof(struct ibv_qp_ex) == 352, "ibv_qp_ex");
static_assert(sizeof(struct roost_verbs_abi_qp_ex) == 360, "with wr_flush");
static_assert(sizeof(struct ibv_srq) == 128, "ibv_srq");
static_assert(sizeof(struct ibv_ah) == 24, "ibv_ah");
static_assert(sizeof(struct ibv_mw) == 32, "ibv_mw");
static_assert(sizeof(struct ibv_dm) == 32, "ibv_dm");
static_assert(sizeof(struct ibv_cq) == 128, "ibv_cq");
static_assert(sizeof(struct ibv_cq_ex) == 288, "ibv_cq_ex");

#endif
