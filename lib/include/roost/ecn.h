/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ECN_H
#define ROOST_ECN_H

/*
 * The parameters of congestion notification (ECN, CNPs) of a port. Names, units
 * and defaults are those of NVIDIA's ConnectX: doc/congestion.md has them, and
 * the sources.
 */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * X(NAME, name, default, least, most) for each parameter. Rates are in Mb/s,
 * times in us; 1024 stands for 1.0 in dce_tcp_g and initial_alpha_value.
 *
 * Notification point: whether marked packets are answered with CNPs, the least
 * time between two CNPs of a QP (0: each marked packet is answered), their DSCP
 * and the priority of their VLAN tag.
 */
#define ROOST_ECN_NP_PARAMS(X)                                                 \
	X(ROCE_NP_ENABLE, roce_np_enable, 1, 0, 1)                             \
	X(MIN_TIME_BETWEEN_CNPS, min_time_between_cnps, 4, 0, 131071)          \
	X(CNP_DSCP, cnp_dscp, 48, 0, 63)                                       \
	X(CNP_802P_PRIO, cnp_802p_prio, 6, 0, 7)

/*
 * Reaction point. ect: QPs that are connected from now on send ECT(0), where
 * the program chose no ECN field itself. roce_rp_enable: CNPs slow QPs down.
 * dcqcn: not only by their windows. The others are those of DCQCN.
 */
#define ROOST_ECN_RP_PARAMS(X)                                                 \
	X(ECT, ect, 0, 0, 1)                                                   \
	X(ROCE_RP_ENABLE, roce_rp_enable, 1, 0, 1)                             \
	X(DCQCN, dcqcn, 0, 0, 1)                                               \
	X(CLAMP_TGT_RATE, clamp_tgt_rate, 0, 0, 1)                             \
	X(CLAMP_TGT_RATE_AFTER_TIME_INC, clamp_tgt_rate_after_time_inc, 1, 0,  \
	  1)                                                                   \
	X(RPG_TIME_RESET, rpg_time_reset, 300, 1, 131071)                      \
	X(RPG_BYTE_RESET, rpg_byte_reset, 32767, 0, 32767)                     \
	X(RPG_THRESHOLD, rpg_threshold, 1, 1, 31)                              \
	X(RPG_MAX_RATE, rpg_max_rate, 0, 0, 4000000)                           \
	X(RPG_AI_RATE, rpg_ai_rate, 5, 1, 4000000)                             \
	X(RPG_HAI_RATE, rpg_hai_rate, 50, 1, 4000000)                          \
	X(RPG_GD, rpg_gd, 11, 10, 11)                                          \
	X(RPG_MIN_DEC_FAC, rpg_min_dec_fac, 50, 1, 100)                        \
	X(RPG_MIN_RATE, rpg_min_rate, 1, 1, 4000000)                           \
	X(RATE_TO_SET_ON_FIRST_CNP, rate_to_set_on_first_cnp, 0, 0, 4000000)   \
	X(DCE_TCP_G, dce_tcp_g, 1019, 0, 1023)                                 \
	X(DCE_TCP_RTT, dce_tcp_rtt, 1, 1, 131071)                              \
	X(RATE_REDUCE_MONITOR_PERIOD, rate_reduce_monitor_period, 4, 1,        \
	  131071)                                                              \
	X(INITIAL_ALPHA_VALUE, initial_alpha_value, 1023, 1, 1023)

#define ROOST_ECN_PARAMS(X) ROOST_ECN_NP_PARAMS(X) ROOST_ECN_RP_PARAMS(X)

#define ROOST_ECN_MEMBER(upper, name, normal, least, most) uint32_t name;

struct roost_ecn {
	ROOST_ECN_PARAMS(ROOST_ECN_MEMBER)
};

#ifdef __cplusplus
}
#endif

#endif
