/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>

#include "pmd_glue/kernel/nl_link_msg.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"

/* Messages are made here as the kernel makes them. */
#define IFINDEX 7u
#define ALIEN 8u
#define UP (IFF_UP | IFF_RUNNING)

static struct roost_nl_link_state state;
static _Alignas(struct nlmsghdr) uint8_t buf[4096];

static int setup(void **unused)
{
	(void)unused;
	state = (struct roost_nl_link_state){ .ifindex = IFINDEX };
	return 0;
}

static struct nlmsghdr *begin(uint16_t type)
{
	struct nlmsghdr *msg;

	memset(buf, 0, sizeof(buf));
	msg = mnl_nlmsg_put_header(buf);
	msg->nlmsg_type = type;
	return msg;
}

static struct nlmsghdr *link_msg(uint16_t type, unsigned int ifindex,
				 unsigned int flags, uint32_t mtu,
				 const uint8_t mac[6])
{
	struct nlmsghdr *msg = begin(type);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(msg, sizeof(*ifi));

	ifi->ifi_index = (int)ifindex;
	ifi->ifi_flags = flags;
	mnl_attr_put_strz(msg, IFLA_IFNAME, "left");
	mnl_attr_put_u32(msg, IFLA_MTU, mtu);
	mnl_attr_put(msg, IFLA_ADDRESS, 6, mac);
	return msg;
}

static void put_addr(struct nlmsghdr *msg, uint16_t type, const char *text)
{
	struct roost_gid gid = addr(text);

	if (roost_gid_is_v4(&gid))
		mnl_attr_put(msg, type, 4, &gid.b[12]);
	else
		mnl_attr_put(msg, type, 16, gid.b);
}

static struct nlmsghdr *addr_msg(uint16_t type, unsigned int ifindex,
				 const char *text, uint8_t len_bits,
				 uint32_t flags)
{
	struct nlmsghdr *msg = begin(type);
	struct ifaddrmsg *ifa = mnl_nlmsg_put_extra_header(msg, sizeof(*ifa));
	struct roost_gid gid = addr(text);

	ifa->ifa_family = roost_gid_is_v4(&gid) ? AF_INET : AF_INET6;
	ifa->ifa_prefixlen = len_bits;
	ifa->ifa_index = ifindex;
	ifa->ifa_flags = (uint8_t)flags;
	put_addr(msg, IFA_ADDRESS, text);
	if (ifa->ifa_family == AF_INET)
		put_addr(msg, IFA_LOCAL, text);
	mnl_attr_put_u32(msg, IFA_FLAGS, flags);
	return msg;
}

static bool take_new(const char *text, uint8_t len_bits, uint32_t flags)
{
	return roost_nl_link_take(&state, addr_msg(RTM_NEWADDR, IFINDEX, text,
						   len_bits, flags));
}

static bool take_del(const char *text, uint8_t len_bits)
{
	return roost_nl_link_take(&state, addr_msg(RTM_DELADDR, IFINDEX, text,
						   len_bits, 0));
}

static void check_usable(unsigned int nb, const char *const *texts)
{
	const struct roost_gid own = addr("fe80::1");
	struct roost_prefixes usable;

	assert_int_equal(roost_nl_link_usable(&state, &own, &usable), nb);
	assert_int_equal(usable.nb, nb);
	for (unsigned int i = 0; i < nb; i++) {
		struct roost_gid want = addr(texts[i]);

		assert_true(roost_gid_eq(&usable.v[i].gid, &want));
	}
}

#define CHECK_USABLE(...)                                                      \
	do {                                                                   \
		const char *const texts_[] = { __VA_ARGS__ };                  \
		check_usable(sizeof(texts_) / sizeof(texts_[0]), texts_);      \
	} while (0)

/* ---- the link ------------------------------------------------------------ */

static void nl_link_msg__link_is_as_it_says(void **unused)
{
	(void)unused;
	assert_true(roost_nl_link_take(&state, link_msg(RTM_NEWLINK, IFINDEX,
							UP, 9000, mac_a)));
	assert_true(state.there);
	assert_true(state.running);
	assert_int_equal(state.mtu_bytes, 9000);
	assert_memory_equal(state.mac, mac_a, 6);
	assert_string_equal(state.name, "left");
}

static void nl_link_msg__a_change_is_told_once(void **unused)
{
	const struct {
		unsigned int flags;
		uint32_t mtu;
		const uint8_t *mac;
		bool running;
	} steps[] = {
		{ UP, 9000, mac_a, true },
		{ IFF_UP, 9000, mac_a, false },      /* no carrier */
		{ IFF_RUNNING, 9000, mac_b, false }, /* not up */
		{ UP, 9000, mac_b, true },
		{ UP, 1500, mac_b, true },
		{ 0, 1500, mac_b, false },
		{ IFF_UP, 1500, mac_b, false }, /* the administrator's alone */
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		for (int again = 0; again < 2; again++)
			assert_int_equal(roost_nl_link_take(
						 &state,
						 link_msg(RTM_NEWLINK, IFINDEX,
							  steps[i].flags,
							  steps[i].mtu,
							  steps[i].mac)),
					 !again);
		assert_int_equal(state.running, steps[i].running);
		assert_int_equal(state.up, (steps[i].flags & IFF_UP) != 0);
		assert_int_equal(state.mtu_bytes, steps[i].mtu);
		assert_memory_equal(state.mac, steps[i].mac, 6);
	}
}

/* The flag that says the same comes later. */
static void nl_link_msg__carrier_before_flag(void **unused)
{
	struct nlmsghdr *msg =
		link_msg(RTM_NEWLINK, IFINDEX, IFF_UP, 9000, mac_a);

	(void)unused;
	mnl_attr_put_u8(msg, IFLA_CARRIER, 1);
	roost_nl_link_take(&state, msg);
	assert_true(state.running);
	msg = link_msg(RTM_NEWLINK, IFINDEX, UP, 9000, mac_a);
	mnl_attr_put_u8(msg, IFLA_CARRIER, 0);
	roost_nl_link_take(&state, msg);
	assert_false(state.running);
	msg = link_msg(RTM_NEWLINK, IFINDEX, IFF_RUNNING, 9000, mac_a);
	mnl_attr_put_u8(msg, IFLA_CARRIER, 1);
	roost_nl_link_take(&state, msg);
	assert_false(state.running); /* not up */
}

static void nl_link_msg__deleted_link_is_not_there(void **unused)
{
	(void)unused;
	roost_nl_link_take(&state,
			   link_msg(RTM_NEWLINK, IFINDEX, UP, 9000, mac_a));
	assert_true(roost_nl_link_take(&state, link_msg(RTM_DELLINK, IFINDEX,
							UP, 9000, mac_a)));
	assert_false(state.there);
	assert_false(state.running);
}

static void nl_link_msg__leaving_a_bridge_is_no_end(void **unused)
{
	struct nlmsghdr *msg;
	struct ifinfomsg *ifi;

	(void)unused;
	roost_nl_link_take(&state,
			   link_msg(RTM_NEWLINK, IFINDEX, UP, 9000, mac_a));
	msg = link_msg(RTM_DELLINK, IFINDEX, UP, 9000, mac_a);
	ifi = mnl_nlmsg_get_payload(msg);
	ifi->ifi_family = AF_BRIDGE;
	assert_false(roost_nl_link_take(&state, msg));
	assert_true(state.there);
}

static void nl_link_msg__odd_mac_is_none(void **unused)
{
	struct nlmsghdr *msg = link_msg(RTM_NEWLINK, IFINDEX, UP, 9000, mac_a);
	uint8_t infiniband[20] = { 1 };

	(void)unused;
	roost_nl_link_take(&state, msg);
	mnl_attr_put(msg, IFLA_ADDRESS, sizeof(infiniband), infiniband);
	assert_false(roost_nl_link_take(&state, msg));
	assert_memory_equal(state.mac, mac_a, 6);
}

/* ---- addresses ----------------------------------------------------------- */

static void nl_link_msg__addresses_come_and_go(void **unused)
{
	(void)unused;
	assert_true(take_new("198.18.0.1", 24, IFA_F_PERMANENT));
	assert_false(take_new("198.18.0.1", 24, IFA_F_PERMANENT));
	assert_true(take_new("fd00::1", 64, IFA_F_PERMANENT));
	assert_true(take_new("198.18.1.1", 24, IFA_F_PERMANENT));
	assert_true(take_new("fe80::1", 64, IFA_F_PERMANENT)); /* the port's */
	CHECK_USABLE("198.18.0.1", "fd00::1", "198.18.1.1");
	assert_true(take_del("198.18.0.1", 24));
	assert_false(take_del("198.18.0.1", 24));
	assert_false(take_del("fd00::2", 64));
	CHECK_USABLE("fd00::1", "198.18.1.1");
}

static void nl_link_msg__tentative_is_not_usable(void **unused)
{
	struct roost_gid gid = addr("fd00::1");

	(void)unused;
	assert_true(take_new("fd00::1", 64, IFA_F_TENTATIVE));
	check_usable(0, NULL);
	assert_true(roost_nl_link_has(&state, &gid));
	assert_true(take_new("fd00::1", 64, IFA_F_PERMANENT));
	CHECK_USABLE("fd00::1");
	assert_true(take_new("fd00::1", 64, IFA_F_TENTATIVE | IFA_F_DADFAILED));
	check_usable(0, NULL);
	take_new("fd00::1", 64, IFA_F_TENTATIVE | IFA_F_OPTIMISTIC);
	check_usable(0, NULL);
}

static void nl_link_msg__temporary_and_deprecated_are_usable(void **unused)
{
	(void)unused;
	take_new("fd00::1", 64, IFA_F_TEMPORARY);
	take_new("fd00::2", 64, IFA_F_DEPRECATED);
	/* More than the eight bits of the header hold. */
	take_new("fd00::3", 64, IFA_F_MANAGETEMPADDR | IFA_F_NOPREFIXROUTE);
	CHECK_USABLE("fd00::1", "fd00::2", "fd00::3");
}

static void nl_link_msg__two_subnets_are_one_address(void **unused)
{
	(void)unused;
	assert_true(take_new("198.18.0.1", 24, 0));
	assert_true(take_new("198.18.0.1", 16, 0));
	CHECK_USABLE("198.18.0.1");
	assert_true(take_del("198.18.0.1", 24));
	CHECK_USABLE("198.18.0.1");
	assert_true(take_del("198.18.0.1", 16));
	check_usable(0, NULL);
}

static void nl_link_msg__point_to_point_is_our_end(void **unused)
{
	struct nlmsghdr *msg = begin(RTM_NEWADDR);
	struct ifaddrmsg *ifa = mnl_nlmsg_put_extra_header(msg, sizeof(*ifa));

	(void)unused;
	ifa->ifa_family = AF_INET;
	ifa->ifa_prefixlen = 32;
	ifa->ifa_index = IFINDEX;
	put_addr(msg, IFA_ADDRESS, "198.18.0.9");
	put_addr(msg, IFA_LOCAL, "198.18.0.1");
	assert_true(roost_nl_link_take(&state, msg));
	CHECK_USABLE("198.18.0.1");
}

static void nl_link_msg__no_station_has_them(void **unused)
{
	static const char *const texts[] = {
		"0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255",
		"::",      "::1",       "ff02::1",
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(take_new(texts[i], 8, 0));
	assert_int_equal(state.nb_addrs, 0);
}

static bool take_number(uint16_t type, unsigned int number)
{
	char text[32];

	snprintf(text, sizeof(text), "10.%u.%u.%u", number >> 16,
		 number >> 8 & 0xff, number & 0xff);
	return roost_nl_link_take(&state, addr_msg(type, IFINDEX, text, 8, 0));
}

static void nl_link_msg__more_addresses_than_room(void **unused)
{
	const struct roost_gid own = addr("fe80::1");
	struct roost_prefixes usable;
	unsigned int told = 0;

	(void)unused;
	for (unsigned int i = 1; i <= 100000; i++)
		told += take_number(RTM_NEWADDR, i);
	/* That there are more is news, but once. */
	assert_int_equal(told, ROOST_NL_LINK_ADDRS_MAX + 1);
	assert_int_equal(state.nb_addrs, ROOST_NL_LINK_ADDRS_MAX);
	assert_true(state.addrs_left_out);
	assert_int_equal(roost_nl_link_usable(&state, &own, &usable),
			 ROOST_NL_LINK_ADDRS_MAX);
	assert_int_equal(usable.nb, ROOST_PORT_IPS_MAX);
	assert_false(take_number(RTM_DELADDR, 100000));
	assert_true(take_number(RTM_DELADDR, 1));
	assert_true(take_number(RTM_NEWADDR, 100000));
	assert_int_equal(state.nb_addrs, ROOST_NL_LINK_ADDRS_MAX);
}

/* ---- what is not for us, or not whole -------------------------------------
 */

static void nl_link_msg__aliens_change_nothing(void **unused)
{
	struct roost_nl_link_state before;
	struct nlmsghdr *msg;

	(void)unused;
	roost_nl_link_take(&state,
			   link_msg(RTM_NEWLINK, IFINDEX, UP, 9000, mac_a));
	take_new("198.18.0.1", 24, 0);
	before = state;
	assert_false(roost_nl_link_take(&state, link_msg(RTM_NEWLINK, ALIEN, 0,
							 1500, mac_b)));
	assert_false(roost_nl_link_take(&state, link_msg(RTM_DELLINK, ALIEN, 0,
							 1500, mac_b)));
	assert_false(roost_nl_link_take(&state, addr_msg(RTM_NEWADDR, ALIEN,
							 "198.18.0.2", 24, 0)));
	assert_false(roost_nl_link_take(&state, addr_msg(RTM_DELADDR, ALIEN,
							 "198.18.0.1", 24, 0)));
	msg = addr_msg(RTM_NEWADDR, IFINDEX, "198.18.0.2", 24, 0);
	msg->nlmsg_type = RTM_NEWNEIGH;
	assert_false(roost_nl_link_take(&state, msg));
	msg = addr_msg(RTM_NEWADDR, IFINDEX, "198.18.0.2", 33, 0);
	assert_false(roost_nl_link_take(&state, msg));
	msg = addr_msg(RTM_NEWADDR, IFINDEX, "fd00::1", 129, 0);
	assert_false(roost_nl_link_take(&state, msg));
	msg = addr_msg(RTM_NEWADDR, IFINDEX, "198.18.0.2", 24, 0);
	((struct ifaddrmsg *)mnl_nlmsg_get_payload(msg))->ifa_family = AF_MPLS;
	assert_false(roost_nl_link_take(&state, msg));
	assert_memory_equal(&before, &state, sizeof(state));
}

/* On the heap, for the sanitizer to see, with the bytes behind it up to what
 * messages are aligned by: they are none of the message's.
 */
static void take_cut(const struct nlmsghdr *whole, uint32_t len)
{
	const size_t room = (len + 3u) & ~(size_t)3;
	struct nlmsghdr *msg = malloc(room);

	assert_non_null(msg);
	memcpy(msg, whole, room);
	msg->nlmsg_len = len;
	if (mnl_nlmsg_ok(msg, (int)len))
		roost_nl_link_take(&state, msg);
	free(msg);
}

static void nl_link_msg__cut_short_anywhere(void **unused)
{
	static _Alignas(struct nlmsghdr) uint8_t copy[sizeof(buf)];
	const struct nlmsghdr *msg = (const void *)copy;
	struct roost_gid gid = addr("fd00::1");

	(void)unused;
	addr_msg(RTM_NEWADDR, IFINDEX, "fd00::1", 64, 0);
	memcpy(copy, buf, sizeof(buf));
	/* Half an address is none. */
	for (uint32_t len = NLMSG_HDRLEN;
	     len < NLMSG_HDRLEN + sizeof(struct ifaddrmsg) + 20; len++) {
		take_cut(msg, len);
		assert_false(roost_nl_link_has(&state, &gid));
	}
	link_msg(RTM_NEWLINK, IFINDEX, UP, 9000, mac_a);
	memcpy(copy, buf, sizeof(buf));
	/* The last two bytes fill it up. */
	for (uint32_t len = NLMSG_HDRLEN; len < msg->nlmsg_len - 2; len++) {
		take_cut(msg, len);
		assert_int_equal(state.there,
				 len >= NLMSG_HDRLEN +
						 sizeof(struct ifinfomsg));
		assert_memory_not_equal(state.mac, mac_a, 6);
	}
}

/* Any byte may be wrong; with a seed of its own each time it would not be the
 * same test.
 */
static void nl_link_msg__any_byte_may_be_wrong(void **unused)
{
	static _Alignas(struct nlmsghdr) uint8_t copy[sizeof(buf)];
	struct nlmsghdr *msg = (void *)copy;
	uint32_t len;

	(void)unused;
	srandom(1);
	for (int i = 0; i < 200000; i++) {
		const struct nlmsghdr *whole =
			i & 1 ? addr_msg(RTM_NEWADDR, IFINDEX, "fd00::1", 64, 0)
			      : link_msg(RTM_NEWLINK, IFINDEX, UP, 9000, mac_a);

		len = whole->nlmsg_len;
		memcpy(copy, whole, len);
		for (int k = 0; k < 3; k++)
			copy[NLMSG_HDRLEN +
			     (size_t)random() % (len - NLMSG_HDRLEN)] =
				(uint8_t)random();
		msg->nlmsg_len = len;
		take_cut(msg, len);
		assert_true(state.nb_addrs <= ROOST_NL_LINK_ADDRS_MAX);
		assert_non_null(memchr(state.name, '\0', sizeof(state.name)));
	}
}

/* ---- routes -------------------------------------------------------------- */

static struct nlmsghdr *route_msg(uint8_t family, uint8_t type,
				  unsigned int oif)
{
	struct nlmsghdr *msg = begin(RTM_NEWROUTE);
	struct rtmsg *rtm = mnl_nlmsg_put_extra_header(msg, sizeof(*rtm));

	rtm->rtm_family = family;
	rtm->rtm_type = type;
	mnl_attr_put_u32(msg, RTA_OIF, oif);
	return msg;
}

static void check_route(const struct nlmsghdr *msg, const char *dgid,
			const char *hop, const char *source)
{
	struct roost_gid d = addr(dgid), h = addr(hop);
	struct roost_nl_link_route route;

	assert_int_equal(roost_nl_link_take_route(msg, IFINDEX, &d, &route), 0);
	assert_true(roost_gid_eq(&route.hop, &h));
	assert_int_equal(route.is_direct, roost_gid_eq(&h, &d));
	if (source) {
		struct roost_gid s = addr(source);

		assert_true(roost_gid_eq(&route.source, &s));
	} else {
		assert_true(roost_gid_is_zero(&route.source));
	}
}

static void nl_link_msg__routes(void **unused)
{
	struct {
		uint16_t family;
		uint8_t addr[16];
	} via = { .family = AF_INET6 };
	struct roost_gid gid = addr("fe80::9");
	struct nlmsghdr *msg;

	(void)unused;
	msg = route_msg(AF_INET, RTN_UNICAST, IFINDEX);
	check_route(msg, "198.18.9.1", "198.18.9.1", NULL);
	put_addr(msg, RTA_PREFSRC, "198.18.0.1");
	put_addr(msg, RTA_GATEWAY, "198.18.0.254");
	check_route(msg, "198.18.9.1", "198.18.0.254", "198.18.0.1");
	msg = route_msg(AF_INET6, RTN_UNICAST, IFINDEX);
	put_addr(msg, RTA_GATEWAY, "fe80::9");
	check_route(msg, "fd00:9::1", "fe80::9", NULL);
	/* RFC 5549. */
	msg = route_msg(AF_INET, RTN_UNICAST, IFINDEX);
	memcpy(via.addr, gid.b, 16);
	mnl_attr_put(msg, RTA_VIA, sizeof(via), &via);
	check_route(msg, "198.18.9.1", "fe80::9", NULL);
}

static void nl_link_msg__no_routes(void **unused)
{
	struct roost_gid d = addr("198.18.9.1");
	struct roost_nl_link_route route;
	struct nlmsghdr *msg;

	(void)unused;
	msg = route_msg(AF_INET, RTN_UNICAST, ALIEN);
	assert_int_equal(roost_nl_link_take_route(msg, IFINDEX, &d, &route),
			 -EHOSTUNREACH);
	msg = route_msg(AF_INET, RTN_LOCAL, IFINDEX);
	assert_int_equal(roost_nl_link_take_route(msg, IFINDEX, &d, &route),
			 -EHOSTUNREACH);
	msg = route_msg(AF_INET, RTN_BROADCAST, IFINDEX);
	assert_int_equal(roost_nl_link_take_route(msg, IFINDEX, &d, &route),
			 -EHOSTUNREACH);
	msg = route_msg(AF_INET6, RTN_UNICAST, IFINDEX);
	assert_int_equal(roost_nl_link_take_route(msg, IFINDEX, &d, &route),
			 -EINVAL);
	msg = route_msg(AF_INET, RTN_UNICAST, IFINDEX);
	msg->nlmsg_type = RTM_NEWADDR;
	assert_int_equal(roost_nl_link_take_route(msg, IFINDEX, &d, &route),
			 -EINVAL);
	msg = route_msg(AF_INET, RTN_UNICAST, IFINDEX);
	msg->nlmsg_len = NLMSG_HDRLEN + 3;
	assert_int_equal(roost_nl_link_take_route(msg, IFINDEX, &d, &route),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nl_link_msg__link_is_as_it_says, setup),
		cmocka_unit_test_setup(nl_link_msg__a_change_is_told_once,
				       setup),
		cmocka_unit_test_setup(nl_link_msg__carrier_before_flag, setup),
		cmocka_unit_test_setup(nl_link_msg__deleted_link_is_not_there,
				       setup),
		cmocka_unit_test_setup(nl_link_msg__leaving_a_bridge_is_no_end,
				       setup),
		cmocka_unit_test_setup(nl_link_msg__odd_mac_is_none, setup),
		cmocka_unit_test_setup(nl_link_msg__addresses_come_and_go,
				       setup),
		cmocka_unit_test_setup(nl_link_msg__tentative_is_not_usable,
				       setup),
		cmocka_unit_test_setup(
			nl_link_msg__temporary_and_deprecated_are_usable,
			setup),
		cmocka_unit_test_setup(nl_link_msg__two_subnets_are_one_address,
				       setup),
		cmocka_unit_test_setup(nl_link_msg__point_to_point_is_our_end,
				       setup),
		cmocka_unit_test_setup(nl_link_msg__no_station_has_them, setup),
		cmocka_unit_test_setup(nl_link_msg__more_addresses_than_room,
				       setup),
		cmocka_unit_test_setup(nl_link_msg__aliens_change_nothing,
				       setup),
		cmocka_unit_test_setup(nl_link_msg__cut_short_anywhere, setup),
		cmocka_unit_test_setup(nl_link_msg__any_byte_may_be_wrong,
				       setup),
		cmocka_unit_test_setup(nl_link_msg__routes, setup),
		cmocka_unit_test_setup(nl_link_msg__no_routes, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
