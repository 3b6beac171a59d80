/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <string.h>

#include "pmd_glue/host/unreached.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"

#define S 1000000000ull

static struct roost_unreached_port port_at(const char *ip)
{
	struct roost_unreached_port port = {
		.label = "port0 (net_tap0,iface=x) VLAN 7",
		.link_local = addr("fe80::1"),
	};

	if (ip) {
		port.routes.on_link.nb = 1;
		port.routes.on_link.v[0].gid = addr(ip);
		port.routes.on_link.v[0].len_bits = 24;
	}
	return port;
}

static const char *text_of(const struct roost_unreached_port *port,
			   const struct roost_unreached *what, const char *hop)
{
	static char text[ROOST_UNREACHED_TEXT_MAX];
	struct roost_gid asked = hop ? addr(hop) : what->dgid;

	roost_unreached_text(port, what, &asked, text);
	return text;
}

static void unreached__no_neighbour(void **state)
{
	struct roost_unreached_port port = port_at("10.40.0.1");
	struct roost_unreached what = {
		.cause = ROOST_UNREACHED_NO_NEIGH,
		.dgid = addr("10.40.0.2"),
		.tried_ns = 27 * S / 10,
	};

	assert_string_equal(text_of(&port, &what, NULL),
			    "no ARP answer from 10.40.0.2 on port0 VLAN 7 "
			    "(10.40.0.1/24) after 2.7 s; is it up, and in this "
			    "VLAN and subnet?");
	what.dgid = addr("192.0.2.1");
	strcpy(port.hint, "look there");
	assert_string_equal(text_of(&port, &what, "10.40.0.9"),
			    "no ARP answer from 10.40.0.9, the gateway to "
			    "192.0.2.1, on port0 VLAN 7 (10.40.0.1/24) after "
			    "2.7 s; look there");
	assert_string_equal(text_of(&port, &what, "fe80::2"),
			    "no ND answer from fe80::2, the gateway to "
			    "192.0.2.1, on port0 VLAN 7 (fe80::1/64) after "
			    "2.7 s; look there");
}

static void unreached__no_route(void **state)
{
	struct roost_unreached_port port = port_at("10.40.0.1");
	struct roost_unreached what = {
		.cause = ROOST_UNREACHED_NO_ROUTE,
		.dgid = addr("10.41.0.2"),
	};

	assert_non_null(strstr(text_of(&port, &what, NULL),
			       "no route to 10.41.0.2 from port0 VLAN 7 "
			       "(10.40.0.1/24): "));
	what.dgid = addr("fd00::2");
	assert_string_equal(text_of(&port, &what, NULL),
			    "no route to fd00::2: port0 VLAN 7 has no IPv6 "
			    "address but a link-local one; give it one with "
			    "--ip ADDRESS/LENGTH");
	port = port_at(NULL);
	port.iface = "eth0";
	what.dgid = addr("10.41.0.2");
	assert_non_null(strstr(text_of(&port, &what, NULL),
			       "has no IPv4 address but a link-local one; give "
			       "its interface \"eth0\" one"));
	/* Its addresses are not ours to give. */
	port = port_at("10.40.0.1");
	port.label = "hub";
	port.is_shared = true;
	assert_string_equal(text_of(&port, &what, NULL),
			    "no route to 10.41.0.2 from hub (10.40.0.1/24): it "
			    "is in none of these subnets, and there is no "
			    "gateway; ask the administrator of its daemon");
}

static void unreached__full(void **state)
{
	struct roost_unreached_port port = port_at("10.40.0.1");
	const struct roost_unreached what = {
		.cause = ROOST_UNREACHED_FULL,
		.dgid = addr("10.40.0.2"),
	};

	assert_non_null(strstr(text_of(&port, &what, NULL),
			       "a connection to 10.40.0.2 was refused: no "
			       "resources; "));
}

/* However long the addresses are, and many. */
static void unreached__fits(void **state)
{
	struct roost_unreached_port port = port_at(NULL);
	struct roost_unreached what = {
		.cause = ROOST_UNREACHED_NO_NEIGH,
		.dgid = addr("fd00:1111:2222:3333:4444:5555:6666:7777"),
	};
	char label[512];

	memset(label, 'x', sizeof(label) - 1);
	label[sizeof(label) - 1] = '\0';
	port.label = label;
	memset(port.hint, 'h', sizeof(port.hint) - 1);
	for (unsigned int i = 0; i < ROOST_PORT_IPS_MAX; i++) {
		port.routes.on_link.v[i].gid = what.dgid;
		port.routes.on_link.v[i].len_bits = 128;
	}
	port.routes.on_link.nb = ROOST_PORT_IPS_MAX;
	for (int cause = 0; cause <= ROOST_UNREACHED_DEAF; cause++) {
		what.cause = (enum roost_unreached_cause)cause;
		assert_true(strlen(text_of(&port, &what, "fd00::9")) <
			    ROOST_UNREACHED_TEXT_MAX - 1);
	}
	what.cause = ROOST_UNREACHED_NO_NEIGH;
	assert_non_null(strstr(text_of(&port, &what, "fd00::9"), ", and "));
}

static bool is_new(enum roost_unreached_cause cause, uint32_t number,
		   uint64_t now_ns)
{
	struct roost_unreached what = {
		.cause = cause,
		.dgid = addr("10.0.0.0"),
	};

	memcpy(&what.dgid.b[13], &number, 3);
	return roost_unreached_is_new("port0", &what, NULL, now_ns);
}

static void unreached__is_told_once(void **state)
{
	uint64_t now_ns = 1000 * S;
	unsigned int nb = 0;

	assert_true(is_new(ROOST_UNREACHED_NO_ROUTE, 1, now_ns));
	assert_false(is_new(ROOST_UNREACHED_NO_ROUTE, 1, now_ns));
	assert_false(is_new(ROOST_UNREACHED_NO_ROUTE, 1, now_ns + 599 * S));
	assert_true(is_new(ROOST_UNREACHED_NO_NEIGH, 1, now_ns));
	assert_true(is_new(ROOST_UNREACHED_NO_ROUTE, 2, now_ns));
	assert_true(is_new(ROOST_UNREACHED_NO_ROUTE, 1, now_ns + 601 * S));
	/* Who tries all addresses, one a millisecond. */
	now_ns += 2000 * S;
	for (uint32_t i = 0; i < 60000; i++)
		nb += is_new(ROOST_UNREACHED_NO_CM, i, now_ns + i * S / 1000);
	assert_in_range(nb, 8, 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unreached__no_neighbour),
		cmocka_unit_test(unreached__no_route),
		cmocka_unit_test(unreached__full),
		cmocka_unit_test(unreached__fits),
		cmocka_unit_test(unreached__is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
