/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_STYLE_DPDK_24_11_H
#define ROOST_TESTS_STYLE_DPDK_24_11_H

/*
 * What DPDK 22.11 has and 24.11 has not, or has otherwise, put before a file
 * that is compiled with the headers of 22.11 (dpdk.py).
 */

#include <rte_version.h>
#undef RTE_VERSION
#define RTE_VERSION RTE_VERSION_NUM(24, 11, 0, 16)

/* 24.11: addresses are structs, no arrays. */
#define rte_ipv6_hdr dpdk_22_11_ipv6_hdr
#include <rte_ip.h>
#undef rte_ipv6_hdr

struct rte_ipv6_addr {
	uint8_t a[16];
};

struct rte_ipv6_hdr {
	rte_be32_t vtc_flow;
	rte_be16_t payload_len;
	uint8_t proto;
	uint8_t hop_limits;
	struct rte_ipv6_addr src_addr;
	struct rte_ipv6_addr dst_addr;
} __rte_packed;

static inline uint16_t dpdk_24_11_cksum(const struct rte_ipv6_hdr *hdr,
					const void *l4)
{
	return rte_ipv6_udptcp_cksum((const void *)hdr, l4);
}

#define rte_ipv6_udptcp_cksum dpdk_24_11_cksum

/* 23.03: renamed; the former names warn. */
#include <rte_telemetry.h>
#define RTE_TEL_UINT_VAL ((enum rte_tel_value_type)2)
int rte_tel_data_add_array_uint(struct rte_tel_data *d, uint64_t x);
int rte_tel_data_add_dict_uint(struct rte_tel_data *d, const char *name,
			       uint64_t val);
#pragma GCC poison rte_tel_data_add_array_u64 rte_tel_data_add_dict_u64
#pragma GCC poison RTE_TEL_U64_VAL

/* 23.11 and 24.03: removed. */
#include <rte_cpuflags.h>
#include <rte_eal.h>
#include <rte_eth_bond.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#pragma GCC poison rte_thread_setname rte_ctrl_thread_create
#pragma GCC poison RTE_FUNC_PTR_OR_ERR_RET RTE_FUNC_PTR_OR_RET
#pragma GCC poison RTE_CPUFLAG_NUMFLAGS RTE_ETH_DEV_BONDED_SLAVE
#pragma GCC poison rte_eth_bond_slave_add rte_eth_bond_slave_remove
#pragma GCC poison rte_eth_bond_slaves_get rte_eth_bond_active_slaves_get
#pragma GCC poison cacheline0 cacheline1 rearm_data

#endif
