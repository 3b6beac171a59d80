/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Flow rules of raw packet QPs, and their counters.
 */

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <netinet/in.h>

#include "lib/verbs/shim.h"

/* A larger one has no room in a completion of ConnectX. */
#define TAG_MAX 0xffffffu

/* As for the kernel's raw packet QPs: CAP_NET_RAW. */
bool roost_verbs_may_raw(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return syscall(SYS_capget, &header, caps) == 0 &&
	       caps[CAP_TO_INDEX(CAP_NET_RAW)].effective &
		       CAP_TO_MASK(CAP_NET_RAW);
}

static struct roost_verbs_counters *counters_of(struct ibv_counters *ibv)
{
	return (struct roost_verbs_counters *)ibv;
}

/* ---- specs ---------------------------------------------------------------
 */

/* A field of a spec, and its place in a rule. */
struct field {
	enum ibv_flow_spec_type type;
	uint16_t val, mask; /* offsets in the spec */
	uint8_t key;        /* offset in struct roost_flow_key */
	uint8_t len_bytes;
};

#define KEY(member) offsetof(struct roost_flow_key, member)
#define FIELD(spec, kind, from, to)                                            \
	{                                                                      \
		spec, offsetof(struct ibv_flow_spec_##kind, val.from),         \
			offsetof(struct ibv_flow_spec_##kind, mask.from),      \
			KEY(to),                                               \
			sizeof(((struct ibv_flow_spec_##kind *)NULL)           \
				       ->val.from)                             \
	}

static const struct field fields[] = {
	FIELD(IBV_FLOW_SPEC_ETH, eth, dst_mac, dst_mac),
	FIELD(IBV_FLOW_SPEC_ETH, eth, src_mac, src_mac),
	FIELD(IBV_FLOW_SPEC_ETH, eth, ether_type, ether_type),
	FIELD(IBV_FLOW_SPEC_ETH, eth, vlan_tag, vlan_tci),
	FIELD(IBV_FLOW_SPEC_IPV4, ipv4, src_ip, src_ip),
	FIELD(IBV_FLOW_SPEC_IPV4, ipv4, dst_ip, dst_ip),
	FIELD(IBV_FLOW_SPEC_IPV4_EXT, ipv4_ext, src_ip, src_ip),
	FIELD(IBV_FLOW_SPEC_IPV4_EXT, ipv4_ext, dst_ip, dst_ip),
	FIELD(IBV_FLOW_SPEC_IPV4_EXT, ipv4_ext, proto, ip_proto),
	FIELD(IBV_FLOW_SPEC_IPV4_EXT, ipv4_ext, tos, tclass),
	FIELD(IBV_FLOW_SPEC_IPV4_EXT, ipv4_ext, ttl, ttl),
	FIELD(IBV_FLOW_SPEC_IPV4_EXT, ipv4_ext, flags, ip_flags),
	FIELD(IBV_FLOW_SPEC_IPV6, ipv6, src_ip, src_ip),
	FIELD(IBV_FLOW_SPEC_IPV6, ipv6, dst_ip, dst_ip),
	FIELD(IBV_FLOW_SPEC_IPV6, ipv6, flow_label, flow_label),
	FIELD(IBV_FLOW_SPEC_IPV6, ipv6, next_hdr, ip_proto),
	FIELD(IBV_FLOW_SPEC_IPV6, ipv6, traffic_class, tclass),
	FIELD(IBV_FLOW_SPEC_IPV6, ipv6, hop_limit, ttl),
	FIELD(IBV_FLOW_SPEC_TCP, tcp_udp, dst_port, dst_port),
	FIELD(IBV_FLOW_SPEC_TCP, tcp_udp, src_port, src_port),
	FIELD(IBV_FLOW_SPEC_UDP, tcp_udp, dst_port, dst_port),
	FIELD(IBV_FLOW_SPEC_UDP, tcp_udp, src_port, src_port),
};

/* The specs, what each says by being there, and its size. */
static const struct spec {
	enum ibv_flow_spec_type type;
	uint16_t len_bytes;
	uint8_t key; /* offset in struct roost_flow_key */
	uint8_t val; /* 0: it says nothing */
} specs[] = {
	{ IBV_FLOW_SPEC_ETH, sizeof(struct ibv_flow_spec_eth), 0, 0 },
	{ IBV_FLOW_SPEC_IPV4, sizeof(struct ibv_flow_spec_ipv4),
	  KEY(ip_version), 4 },
	{ IBV_FLOW_SPEC_IPV4_EXT, sizeof(struct ibv_flow_spec_ipv4_ext),
	  KEY(ip_version), 4 },
	{ IBV_FLOW_SPEC_IPV6, sizeof(struct ibv_flow_spec_ipv6),
	  KEY(ip_version), 6 },
	{ IBV_FLOW_SPEC_TCP, sizeof(struct ibv_flow_spec_tcp_udp), KEY(l4),
	  IPPROTO_TCP },
	{ IBV_FLOW_SPEC_UDP, sizeof(struct ibv_flow_spec_tcp_udp), KEY(l4),
	  IPPROTO_UDP },
	{ IBV_FLOW_SPEC_ACTION_TAG, sizeof(struct ibv_flow_spec_action_tag), 0,
	  0 },
	{ IBV_FLOW_SPEC_ACTION_DROP, sizeof(struct ibv_flow_spec_action_drop),
	  0, 0 },
	{ IBV_FLOW_SPEC_ACTION_COUNT,
	  sizeof(struct ibv_flow_spec_counter_action), 0, 0 },
};

#define NB(a) (sizeof(a) / sizeof((a)[0]))

static const struct spec *spec_of(enum ibv_flow_spec_type type)
{
	for (size_t i = 0; i < NB(specs); i++)
		if (specs[i].type == type)
			return &specs[i];
	return NULL;
}

/* Two specs may not say different things of one field. */
static int add_field(struct roost_flow_rule_init *init, size_t key,
		     const uint8_t *val, const uint8_t *mask, size_t len)
{
	uint8_t *v = (uint8_t *)&init->value + key;
	uint8_t *m = (uint8_t *)&init->mask + key;

	for (size_t i = 0; i < len; i++) {
		if ((v[i] ^ val[i]) & m[i] & mask[i])
			return -EINVAL;
		v[i] |= val[i] & mask[i];
		m[i] |= mask[i];
	}
	return 0;
}

static int add_match(struct roost_flow_rule_init *init, const struct spec *spec,
		     const uint8_t *at)
{
	const uint8_t all = 0xff;
	int ret = 0;

	if (spec->val)
		ret = add_field(init, spec->key, &spec->val, &all, 1);
	for (size_t i = 0; i < NB(fields) && ret == 0; i++)
		if (fields[i].type == spec->type)
			ret = add_field(init, fields[i].key, at + fields[i].val,
					at + fields[i].mask,
					fields[i].len_bytes);
	/* Who compares a tag wants one. */
	if (init->mask.vlan_tci[0] | init->mask.vlan_tci[1])
		init->value.is_tagged = init->mask.is_tagged = 0xff;
	return ret;
}

static int add_action(struct roost_flow_rule_init *init,
		      const struct ibv_flow_spec *spec)
{
	struct ibv_counters *counters;

	if (spec->hdr.type == IBV_FLOW_SPEC_ACTION_DROP) {
		init->drops = true;
	} else if (spec->hdr.type == IBV_FLOW_SPEC_ACTION_TAG) {
		if (spec->flow_tag.tag_id > TAG_MAX)
			return -EINVAL;
		init->tag = spec->flow_tag.tag_id;
	} else {
		counters = spec->flow_count.counters;
		if (!counters || init->counters)
			return -EINVAL;
		init->counters = &counters_of(counters)->counted;
	}
	return 0;
}

/* Specs follow attr in memory, each as long as it says. attr's size is not
 * read: rdma-core does not, and programs (pyverbs) count no spec there.
 */
static int add_specs(struct roost_flow_rule_init *init,
		     const struct ibv_flow_attr *attr)
{
	const uint8_t *at = (const uint8_t *)(attr + 1);
	int ret = 0;

	for (unsigned int i = 0; i < attr->num_of_specs && ret == 0; i++) {
		union {
			struct ibv_flow_spec spec;
			uint8_t bytes[sizeof(struct ibv_flow_spec)];
		} copy = { 0 };
		const struct spec *spec;

		memcpy(&copy, at, sizeof(copy.spec.hdr));
		spec = spec_of(copy.spec.hdr.type);
		if (!spec)
			return -EOPNOTSUPP;
		if (copy.spec.hdr.size != spec->len_bytes)
			return -EINVAL;
		memcpy(&copy, at, spec->len_bytes);
		ret = spec->type >= IBV_FLOW_SPEC_ACTION_TAG
			      ? add_action(init, &copy.spec)
			      : add_match(init, spec, copy.bytes);
		at += spec->len_bytes;
	}
	return ret;
}

/* ---- rules ---------------------------------------------------------------
 */

static int map_attr(const struct ibv_flow_attr *attr,
		    struct roost_flow_rule_init *init)
{
	static const enum roost_flow_type types[] = {
		[IBV_FLOW_ATTR_NORMAL] = ROOST_FLOW_NORMAL,
		[IBV_FLOW_ATTR_ALL_DEFAULT] = ROOST_FLOW_ALL_DEFAULT,
		[IBV_FLOW_ATTR_MC_DEFAULT] = ROOST_FLOW_MCAST_DEFAULT,
		[IBV_FLOW_ATTR_SNIFFER] = ROOST_FLOW_SNIFFER,
	};

	if (attr->comp_mask || (size_t)attr->type >= NB(types) ||
	    attr->flags & ~(uint32_t)(IBV_FLOW_ATTR_FLAGS_DONT_TRAP |
				      IBV_FLOW_ATTR_FLAGS_EGRESS))
		return -EINVAL;
	if (attr->flags & IBV_FLOW_ATTR_FLAGS_EGRESS)
		return -EOPNOTSUPP;
	*init = (struct roost_flow_rule_init){
		.type = types[attr->type],
		.port_num = attr->port,
		.priority = attr->priority,
		.dont_trap = attr->flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP,
	};
	/* The others say by their type which frames they are for. */
	if (attr->type != IBV_FLOW_ATTR_NORMAL &&
	    (attr->num_of_specs != 0 || init->dont_trap))
		return -EINVAL;
	return add_specs(init, attr);
}

struct ibv_flow *roost_verbs_create_flow(struct ibv_qp *qp,
					 struct ibv_flow_attr *attr)
{
	struct roost_flow_rule_init init;
	struct roost_verbs_flow *flow;
	int ret;

	if (!roost_verbs_may_raw())
		return roost_verbs_null(-EPERM);
	ret = map_attr(attr, &init);
	if (ret)
		return roost_verbs_null(ret);
	flow = calloc(1, sizeof(*flow));
	if (!flow)
		return roost_verbs_null(-ENOMEM);
	ret = roost_flow_rule_create(roost_verbs_qp(qp)->qp, &init,
				     &flow->rule);
	if (ret) {
		free(flow);
		return roost_verbs_null(ret);
	}
	flow->ibv.context = qp->context;
	roost_verbs_object_add(qp->context, ROOST_VERBS_FLOW, &flow->ibv,
			       &flow->object);
	return &flow->ibv;
}

int roost_verbs_destroy_flow(struct ibv_flow *ibv)
{
	struct roost_verbs_flow *flow = (struct roost_verbs_flow *)ibv;

	roost_flow_rule_destroy(flow->rule);
	roost_verbs_object_del(ibv->context, &flow->object);
	free(flow);
	return 0;
}

/* ---- counters ------------------------------------------------------------
 */

struct ibv_counters *
roost_verbs_create_counters(struct ibv_context *context,
			    struct ibv_counters_init_attr *attr)
{
	struct roost_verbs_counters *counters;

	if (attr->comp_mask)
		return roost_verbs_null(-EINVAL);
	counters = calloc(1, sizeof(*counters));
	if (!counters)
		return roost_verbs_null(-ENOMEM);
	counters->ibv.context = context;
	roost_verbs_object_add(context, ROOST_VERBS_COUNTERS, &counters->ibv,
			       &counters->object);
	return &counters->ibv;
}

/* EBUSY while a rule counts with them. */
int roost_verbs_destroy_counters(struct ibv_counters *ibv)
{
	struct roost_verbs_counters *counters = counters_of(ibv);

	if (atomic_load(&counters->counted.refs) != 0)
		return roost_verbs_result(-EBUSY);
	roost_verbs_object_del(ibv->context, &counters->object);
	free(counters);
	return 0;
}

/* flow: not NULL to count for a rule that exists; counters are chosen when a
 * rule is created (IBV_FLOW_SPEC_ACTION_COUNT), as with mlx5.
 */
int roost_verbs_attach_counters_point_flow(struct ibv_counters *ibv,
					   struct ibv_counter_attach_attr *attr,
					   struct ibv_flow *flow)
{
	if (flow)
		return roost_verbs_result(-EOPNOTSUPP);
	if (attr->comp_mask || attr->index >= ROOST_VERBS_COUNTERS_MAX ||
	    (unsigned int)attr->counter_desc > IBV_COUNTER_BYTES)
		return roost_verbs_result(-EINVAL);
	atomic_store(&counters_of(ibv)->places[attr->index],
		     (uint8_t)(attr->counter_desc + 1));
	return 0;
}

int roost_verbs_read_counters(struct ibv_counters *ibv, uint64_t *values,
			      uint32_t nb, uint32_t flags)
{
	struct roost_verbs_counters *counters = counters_of(ibv);

	if (flags & ~(uint32_t)IBV_READ_COUNTERS_ATTR_PREFER_CACHED)
		return roost_verbs_result(-EINVAL);
	for (uint32_t i = 0; i < nb; i++) {
		uint8_t place = i < ROOST_VERBS_COUNTERS_MAX
					? atomic_load(&counters->places[i])
					: 0;

		if (place == IBV_COUNTER_PACKETS + 1)
			values[i] = atomic_load(&counters->counted.pkts);
		else if (place == IBV_COUNTER_BYTES + 1)
			values[i] = atomic_load(&counters->counted.bytes);
		else
			values[i] = 0;
	}
	return 0;
}
