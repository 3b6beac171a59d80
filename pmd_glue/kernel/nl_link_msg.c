/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/kernel/nl_link_msg.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>

/* Is there an attribute at attr, completely inside the message? libmnl's own
 * check uses the length of the message rounded up to its alignment.
 */
static bool is_attr(const struct nlmsghdr *msg, const struct nlattr *attr)
{
	const char *tail = (const char *)msg + msg->nlmsg_len;

	return mnl_attr_ok(attr, (int)(tail - (const char *)attr));
}

/* ---- addresses ----------------------------------------------------------- */

/* Length of an address of the family; 0: neither IPv4 nor IPv6. */
static size_t family_bytes(unsigned int family)
{
	switch (family) {
	case AF_INET:
		return 4;
	case AF_INET6:
		return 16;
	default:
		return 0;
	}
}

static bool is_family(const struct roost_gid *gid, unsigned int family)
{
	return roost_gid_is_v4(gid) == (family == AF_INET);
}

/* Get the address in attr. Returns false: its length does not fit the family.
 */
static bool addr_of(const struct nlattr *attr, unsigned int family,
		    struct roost_gid *gid)
{
	const uint8_t *bytes = mnl_attr_get_payload(attr);

	if (mnl_attr_get_payload_len(attr) != family_bytes(family))
		return false;
	if (family == AF_INET)
		*gid = roost_gid_from_v4(bytes);
	else
		memcpy(gid->b, bytes, sizeof(gid->b));
	return true;
}

/* Is it an address that a station can have? */
static bool is_station(const struct roost_gid *gid, unsigned int family)
{
	static const struct roost_gid loopback = { .b = { [15] = 1 } };

	if (family == AF_INET)
		return gid->b[12] != 0 && gid->b[12] != 127 && gid->b[12] < 224;
	return !roost_gid_is_v4(gid) && !roost_gid_is_zero(gid) &&
	       !roost_gid_is_multicast(gid) && !roost_gid_eq(gid, &loopback);
}

static bool parse_addr(const struct nlmsghdr *msg,
		       struct roost_nl_link_addr *addr)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(msg);
	struct roost_gid local = { 0 }, address = { 0 };
	uint32_t flags = ifa->ifa_flags;
	bool has_local = false, has_address = false;
	struct nlattr *attr;

	for (attr = mnl_nlmsg_get_payload_offset(msg, sizeof(*ifa));
	     is_attr(msg, attr); attr = mnl_attr_next(attr)) {
		switch (mnl_attr_get_type(attr)) {
		case IFA_LOCAL:
			has_local = addr_of(attr, ifa->ifa_family, &local);
			break;
		case IFA_ADDRESS:
			has_address = addr_of(attr, ifa->ifa_family, &address);
			break;
		case IFA_FLAGS:
			if (mnl_attr_validate(attr, MNL_TYPE_U32) == 0)
				flags = mnl_attr_get_u32(attr);
			break;
		default:
			break;
		}
	}
	if (!has_local && !has_address)
		return false;
	/* If the two differ, IFA_ADDRESS is the address of the peer. */
	addr->prefix.gid = has_local ? local : address;
	addr->prefix.len_bits = ifa->ifa_prefixlen;
	addr->tentative = flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED);
	return is_station(&addr->prefix.gid, ifa->ifa_family) &&
	       ifa->ifa_prefixlen <= 8 * family_bytes(ifa->ifa_family);
}

/* The index of address and subnet (one address may be in two subnets);
 * state->nb_addrs: there is none.
 */
static unsigned int find_addr(const struct roost_nl_link_state *state,
			      const struct roost_prefix *prefix)
{
	unsigned int i = 0;

	while (i < state->nb_addrs &&
	       (state->addrs[i].prefix.len_bits != prefix->len_bits ||
		!roost_gid_eq(&state->addrs[i].prefix.gid, &prefix->gid)))
		i++;
	return i;
}

static bool add_addr(struct roost_nl_link_state *state,
		     const struct roost_nl_link_addr *addr)
{
	unsigned int i = find_addr(state, &addr->prefix);
	bool changed;

	if (i == ROOST_NL_LINK_ADDRS_MAX) {
		changed = !state->addrs_left_out;
		state->addrs_left_out = true;
		return changed;
	}
	changed = i == state->nb_addrs ||
		  state->addrs[i].tentative != addr->tentative;
	state->addrs[i] = *addr;
	state->nb_addrs += i == state->nb_addrs;
	return changed;
}

static bool del_addr(struct roost_nl_link_state *state,
		     const struct roost_nl_link_addr *addr)
{
	unsigned int i = find_addr(state, &addr->prefix);

	if (i == state->nb_addrs)
		return false;
	for (state->nb_addrs--; i < state->nb_addrs; i++)
		state->addrs[i] = state->addrs[i + 1];
	return true;
}

static bool take_addr(struct roost_nl_link_state *state,
		      const struct nlmsghdr *msg)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(msg);
	struct roost_nl_link_addr addr;

	if (mnl_nlmsg_get_payload_len(msg) < sizeof(*ifa) ||
	    ifa->ifa_index != state->ifindex ||
	    family_bytes(ifa->ifa_family) == 0 || !parse_addr(msg, &addr))
		return false;
	if (msg->nlmsg_type == RTM_NEWADDR)
		return add_addr(state, &addr);
	return del_addr(state, &addr);
}

bool roost_nl_link_has(const struct roost_nl_link_state *state,
		       const struct roost_gid *addr)
{
	for (unsigned int i = 0; i < state->nb_addrs; i++)
		if (roost_gid_eq(&state->addrs[i].prefix.gid, addr))
			return true;
	return false;
}

static bool is_repeated(const struct roost_nl_link_state *state,
			unsigned int at)
{
	const struct roost_nl_link_addr *addrs = state->addrs;

	for (unsigned int i = 0; i < at; i++)
		if (!addrs[i].tentative &&
		    roost_gid_eq(&addrs[i].prefix.gid, &addrs[at].prefix.gid))
			return true;
	return false;
}

unsigned int roost_nl_link_usable(const struct roost_nl_link_state *state,
				  const struct roost_gid *own,
				  struct roost_prefixes *addrs)
{
	unsigned int nb = 0;

	addrs->nb = 0;
	for (unsigned int i = 0; i < state->nb_addrs; i++) {
		if (state->addrs[i].tentative || is_repeated(state, i) ||
		    roost_gid_eq(&state->addrs[i].prefix.gid, own))
			continue;
		if (addrs->nb < ROOST_PORT_IPS_MAX)
			addrs->v[addrs->nb++] = state->addrs[i].prefix;
		nb++;
	}
	return nb;
}

/* ---- the link ------------------------------------------------------------ */

static void parse_link(const struct nlmsghdr *msg,
		       struct roost_nl_link_state *state)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(msg);
	bool carrier = ifi->ifi_flags & IFF_RUNNING;
	struct nlattr *attr;

	for (attr = mnl_nlmsg_get_payload_offset(msg, sizeof(*ifi));
	     is_attr(msg, attr); attr = mnl_attr_next(attr)) {
		switch (mnl_attr_get_type(attr)) {
		case IFLA_ADDRESS:
			if (mnl_attr_get_payload_len(attr) ==
			    sizeof(state->mac))
				memcpy(state->mac, mnl_attr_get_payload(attr),
				       sizeof(state->mac));
			break;
		case IFLA_MTU:
			if (mnl_attr_validate(attr, MNL_TYPE_U32) == 0)
				state->mtu_bytes = mnl_attr_get_u32(attr);
			break;
		case IFLA_CARRIER:
			/* IFF_RUNNING may be up to a second late. */
			if (mnl_attr_validate(attr, MNL_TYPE_U8) == 0)
				carrier = mnl_attr_get_u8(attr);
			break;
		case IFLA_IFNAME:
			if (mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) == 0)
				snprintf(state->name, sizeof(state->name), "%s",
					 mnl_attr_get_str(attr));
			break;
		default:
			break;
		}
	}
	state->there = true;
	state->up = ifi->ifi_flags & IFF_UP;
	state->running = state->up && carrier;
}

static bool is_same_link(const struct roost_nl_link_state *a,
			 const struct roost_nl_link_state *b)
{
	return a->there == b->there && a->up == b->up &&
	       a->running == b->running && a->mtu_bytes == b->mtu_bytes &&
	       memcmp(a->mac, b->mac, sizeof(a->mac)) == 0 &&
	       strcmp(a->name, b->name) == 0;
}

unsigned int roost_nl_link_index(const struct nlmsghdr *msg)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(msg);

	if (msg->nlmsg_type != RTM_NEWLINK ||
	    mnl_nlmsg_get_payload_len(msg) < sizeof(*ifi) || ifi->ifi_index < 1)
		return 0;
	return (unsigned int)ifi->ifi_index;
}

static bool take_link(struct roost_nl_link_state *state,
		      const struct nlmsghdr *msg)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(msg);
	const struct roost_nl_link_state before = *state;

	/* Bridges use these messages for their ports, too (AF_BRIDGE). */
	if (mnl_nlmsg_get_payload_len(msg) < sizeof(*ifi) ||
	    ifi->ifi_family != AF_UNSPEC ||
	    (unsigned int)ifi->ifi_index != state->ifindex)
		return false;
	if (msg->nlmsg_type == RTM_NEWLINK)
		parse_link(msg, state);
	else
		state->there = state->running = false;
	return !is_same_link(&before, state);
}

bool roost_nl_link_take(struct roost_nl_link_state *state,
			const struct nlmsghdr *msg)
{
	switch (msg->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		return take_link(state, msg);
	case RTM_NEWADDR:
	case RTM_DELADDR:
		return take_addr(state, msg);
	default:
		return false;
	}
}

/* ---- routes -------------------------------------------------------------- */

struct route_attrs {
	struct roost_gid hop, source;
	bool has_hop;
	unsigned int oif; /* 0: none */
};

/* Get a gateway of another address family (RTA_VIA, RFC 5549). */
static bool via_of(const struct nlattr *attr, struct roost_gid *gid)
{
	const struct rtvia *via = mnl_attr_get_payload(attr);
	size_t len = mnl_attr_get_payload_len(attr);
	size_t addr_len;

	if (len < sizeof(*via))
		return false;
	addr_len = family_bytes(via->rtvia_family);
	if (addr_len == 0 || len - sizeof(*via) != addr_len)
		return false;
	if (via->rtvia_family == AF_INET)
		*gid = roost_gid_from_v4(via->rtvia_addr);
	else
		memcpy(gid->b, via->rtvia_addr, sizeof(gid->b));
	return true;
}

static void parse_route(const struct nlmsghdr *msg, struct route_attrs *found)
{
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(msg);
	struct nlattr *attr;

	for (attr = mnl_nlmsg_get_payload_offset(msg, sizeof(*rtm));
	     is_attr(msg, attr); attr = mnl_attr_next(attr)) {
		switch (mnl_attr_get_type(attr)) {
		case RTA_GATEWAY:
			found->has_hop =
				addr_of(attr, rtm->rtm_family, &found->hop);
			break;
		case RTA_VIA:
			found->has_hop = via_of(attr, &found->hop);
			break;
		case RTA_PREFSRC:
			if (!addr_of(attr, rtm->rtm_family, &found->source))
				found->source = (struct roost_gid){ { 0 } };
			break;
		case RTA_OIF:
			if (mnl_attr_validate(attr, MNL_TYPE_U32) == 0)
				found->oif = mnl_attr_get_u32(attr);
			break;
		default:
			break;
		}
	}
}

int roost_nl_link_take_route(const struct nlmsghdr *msg, unsigned int ifindex,
			     const struct roost_gid *dgid,
			     struct roost_nl_link_route *route)
{
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(msg);
	struct route_attrs found = { .oif = 0 };

	if (msg->nlmsg_type != RTM_NEWROUTE ||
	    mnl_nlmsg_get_payload_len(msg) < sizeof(*rtm) ||
	    family_bytes(rtm->rtm_family) == 0 ||
	    !is_family(dgid, rtm->rtm_family))
		return -EINVAL;
	parse_route(msg, &found);
	if (rtm->rtm_type != RTN_UNICAST || found.oif != ifindex)
		return -EHOSTUNREACH;
	*route = (struct roost_nl_link_route){
		.hop = found.has_hop ? found.hop : *dgid,
		.source = found.source,
		.is_direct = !found.has_hop,
	};
	return 0;
}

/* ---- questions ----------------------------------------------------------- */

static struct nlmsghdr *begin(void *buf, uint32_t seq, uint16_t type,
			      uint16_t flags)
{
	struct nlmsghdr *msg = mnl_nlmsg_put_header(buf);

	msg->nlmsg_type = type;
	msg->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	msg->nlmsg_seq = seq;
	return msg;
}

struct nlmsghdr *roost_nl_link_ask_name(void *buf, uint32_t seq,
					const char *name)
{
	struct nlmsghdr *msg = begin(buf, seq, RTM_GETLINK, NLM_F_ACK);

	mnl_nlmsg_put_extra_header(msg, sizeof(struct ifinfomsg));
	mnl_attr_put_u32(msg, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	mnl_attr_put_strz(msg, IFLA_IFNAME, name);
	return msg;
}

struct nlmsghdr *roost_nl_link_ask_link(void *buf, uint32_t seq,
					unsigned int ifindex)
{
	struct nlmsghdr *msg = begin(buf, seq, RTM_GETLINK, NLM_F_ACK);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(msg, sizeof(*ifi));

	ifi->ifi_index = (int)ifindex;
	mnl_attr_put_u32(msg, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	return msg;
}

struct nlmsghdr *roost_nl_link_ask_addrs(void *buf, uint32_t seq)
{
	struct nlmsghdr *msg = begin(buf, seq, RTM_GETADDR, NLM_F_DUMP);

	mnl_nlmsg_put_extra_header(msg, sizeof(struct ifaddrmsg));
	return msg;
}

struct nlmsghdr *roost_nl_link_ask_mtu(void *buf, uint32_t seq,
				       unsigned int ifindex, uint32_t mtu_bytes)
{
	struct nlmsghdr *msg = begin(buf, seq, RTM_NEWLINK, NLM_F_ACK);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(msg, sizeof(*ifi));

	ifi->ifi_index = (int)ifindex;
	mnl_attr_put_u32(msg, IFLA_MTU, mtu_bytes);
	return msg;
}

static void put_addr(struct nlmsghdr *msg, uint16_t type,
		     const struct roost_gid *gid)
{
	if (roost_gid_is_v4(gid))
		mnl_attr_put(msg, type, 4, &gid->b[12]);
	else
		mnl_attr_put(msg, type, 16, gid->b);
}

struct nlmsghdr *roost_nl_link_ask_up(void *buf, uint32_t seq,
				      unsigned int ifindex)
{
	struct nlmsghdr *msg = begin(buf, seq, RTM_NEWLINK, NLM_F_ACK);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(msg, sizeof(*ifi));

	ifi->ifi_index = (int)ifindex;
	ifi->ifi_flags = IFF_UP;
	ifi->ifi_change = IFF_UP;
	return msg;
}

struct nlmsghdr *roost_nl_link_ask_add_addr(void *buf, uint32_t seq,
					    unsigned int ifindex,
					    const struct roost_prefix *prefix)
{
	struct nlmsghdr *msg = begin(buf, seq, RTM_NEWADDR,
				     NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
	struct ifaddrmsg *ifa = mnl_nlmsg_put_extra_header(msg, sizeof(*ifa));

	ifa->ifa_family = roost_gid_is_v4(&prefix->gid) ? AF_INET : AF_INET6;
	ifa->ifa_prefixlen = prefix->len_bits;
	ifa->ifa_flags = IFA_F_NODAD;
	ifa->ifa_scope = RT_SCOPE_UNIVERSE;
	ifa->ifa_index = ifindex;
	put_addr(msg, IFA_LOCAL, &prefix->gid);
	put_addr(msg, IFA_ADDRESS, &prefix->gid);
	return msg;
}

struct nlmsghdr *roost_nl_link_ask_route(void *buf, uint32_t seq,
					 unsigned int ifindex,
					 const struct roost_gid *sgid,
					 const struct roost_gid *dgid,
					 bool match)
{
	struct nlmsghdr *msg = begin(buf, seq, RTM_GETROUTE, NLM_F_ACK);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(msg, sizeof(*rtm));
	const bool v4 = roost_gid_is_v4(dgid);
	const uint8_t bits = v4 ? 32 : 128;

	rtm->rtm_family = v4 ? AF_INET : AF_INET6;
	rtm->rtm_dst_len = bits;
	rtm->rtm_flags = match ? RTM_F_FIB_MATCH : 0;
	put_addr(msg, RTA_DST, dgid);
	if (sgid) {
		rtm->rtm_src_len = bits;
		put_addr(msg, RTA_SRC, sgid);
	}
	mnl_attr_put_u32(msg, RTA_OIF, ifindex);
	return msg;
}
