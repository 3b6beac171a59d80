/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_FLOW_H
#define ROOST_ENGINE_CORE_FLOW_H

/*
 * Flow rules: which frames of a port go to which raw packet QP.
 *
 * A rule compares header fields of a frame with values under masks. Rules are
 * kept for each port in the order in which they are tried (struct
 * roost_flow_table). Who may create one, and what a program may ask for, is the
 * caller's to check; transport/raw.c carries the frames.
 *
 * Thread: create and destroy: any. A holder of a turn may read the rules.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/engine/core/turn_list.h"

struct roost_dev;
struct roost_port;
struct roost_qp;

/*
 * The fields of a frame that a rule may compare, in wire order; a field that a
 * frame does not have is 0. The inner numbers say what a frame is: a rule for
 * UDP ports compares l4, too.
 */
struct roost_flow_key {
	uint8_t dst_mac[6];
	uint8_t src_mac[6];
	uint8_t ether_type[2]; /* behind a VLAN tag */
	uint8_t vlan_tci[2];   /* of the outer tag */
	uint8_t src_ip[16];    /* IPv4: the first four bytes */
	uint8_t dst_ip[16];
	uint8_t flow_label[4]; /* IPv6, 20 bits */
	uint8_t ip_proto;      /* IPv6: next header */
	uint8_t tclass;        /* IPv4: TOS */
	uint8_t ttl;           /* IPv6: hop limit */
	uint8_t ip_flags;      /* IPv4: DF is 2, MF is 1 */
	uint8_t src_port[2];   /* TCP and UDP, but for later fragments */
	uint8_t dst_port[2];
	uint8_t is_tagged;  /* 0xff: there is a VLAN tag */
	uint8_t ip_version; /* 4, 6; 0: neither */
	uint8_t l4;         /* IPPROTO_TCP or IPPROTO_UDP, if there are ports */
	uint8_t zero;
};
_Static_assert(sizeof(struct roost_flow_key) == 64,
	       "eight words of 64 bits, without holes");

/* Read the fields of a frame, of which len bytes are at data. Reads inside
 * [data, data + len) alone.
 */
void roost_flow_key_read(struct roost_flow_key *key, const uint8_t *data,
			 size_t len);

/* In the order in which they are tried. */
enum roost_flow_type {
	ROOST_FLOW_NORMAL,
	ROOST_FLOW_MCAST_DEFAULT, /* each frame to a group */
	ROOST_FLOW_ALL_DEFAULT,   /* each frame */
	ROOST_FLOW_SNIFFER,       /* a copy of each frame, RoCE and what the
				   * port sends, too */
};

/* What rules count together. */
struct roost_flow_counters {
	_Atomic uint64_t pkts;
	_Atomic uint64_t bytes; /* Ethernet header to payload */
	_Atomic uint32_t refs;  /* rules; writer: create and destroy */
};

struct roost_flow_rule_init {
	enum roost_flow_type type;
	uint8_t port_num;
	uint16_t priority; /* NORMAL: a lower number is tried first */
	bool dont_trap;    /* NORMAL: later rules and the host see it too */
	bool drops;        /* frames go nowhere */
	uint32_t tag;      /* of the completions; 0: none */
	struct roost_flow_counters *counters; /* NULL: none */
	struct roost_flow_key value, mask;    /* a field of mask 0: any */
};

struct roost_flow_rule {
	struct roost_turn_link link;
	struct roost_qp *qp;
	struct roost_flow_rule_init init;
	uint32_t rank; /* type and priority: rules of one rank are one step */
	bool is_promiscuous; /* counted in nb_promiscuous */
	void *placed; /* by the port's place_rule; NULL: it is in software
		       * alone. Under dev->flow_lock */
};

/* The rules of a port. Writer: under dev->flow_lock. */
struct roost_flow_table {
	struct roost_turn_link rules; /* by rank, then by age */
	struct roost_turn_link sniffers;
	unsigned int nb_promiscuous; /* rules for frames to other MACs; under
				      * dev->flow_lock */
};

static inline bool roost_flow_matches(const struct roost_flow_rule *flow,
				      const struct roost_flow_key *key)
{
	const uint64_t *k = (const uint64_t *)(const void *)key;
	const uint64_t *v = (const uint64_t *)(const void *)&flow->init.value;
	const uint64_t *m = (const uint64_t *)(const void *)&flow->init.mask;

	for (size_t i = 0; i < sizeof(*key) / sizeof(*k); i++)
		if (((k[i] ^ v[i]) & m[i]) != 0)
			return false;
	return true;
}

/*
 * Add a rule for a raw packet QP, which cannot be destroyed while it has one.
 * Returns 0; -EINVAL (not a raw packet QP, no such port), -ENOMEM; or the error
 * of the port, which cannot receive frames to other MACs.
 */
int roost_flow_rule_create(struct roost_qp *qp,
			   const struct roost_flow_rule_init *init,
			   struct roost_flow_rule **flow);
void roost_flow_rule_destroy(struct roost_flow_rule *flow);

/*
 * The rules that the port's NIC has, too (flow_place.c). Under dev->flow_lock,
 * without a turn.
 *
 * place: after a change of the rule, which is in the table or was: place it,
 * and take back or place the rules whose frames it may have. NULL: any may have
 * changed.
 */
void roost_flow_place(const struct roost_port *port,
		      const struct roost_flow_rule *changed);
void roost_flow_displace(const struct roost_port *port,
			 struct roost_flow_rule *flow);

/* All frames of the device are shown to a tap (tap.h), or no longer: the NIC
 * drops none meanwhile. Thread: any that holds no turn.
 */
void roost_flow_set_shown(struct roost_dev *dev, bool shown);

#endif
