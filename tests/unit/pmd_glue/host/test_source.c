/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmd_glue/host/source.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"

#define OWN_MAX 4

/* By these addresses, and gateways or NULL, want speaks to dgid; NULL: none
 * does. "link-local" is the address by the MAC.
 */
struct row {
	const char *own[OWN_MAX];
	const char *gw;
	const char *dgid;
	const char *want;
};

static void add(struct roost_routes *routes, const char *text)
{
	struct roost_prefix *p = &routes->on_link.v[routes->on_link.nb++];
	char gid[64];
	int len = (int)strcspn(text, "/");

	snprintf(gid, sizeof(gid), "%.*s", len, text);
	p->gid = addr(gid);
	p->len_bits = (uint8_t)atoi(text + len + 1);
}

static void check(const struct row *row)
{
	struct roost_gid link_local = addr("fe80::aa"), dgid = addr(row->dgid);
	struct roost_routes routes = { .on_link.nb = 0 };
	struct roost_gid got = { .b = { 0 } }, want;
	bool found;

	for (unsigned int i = 0; i < OWN_MAX && row->own[i]; i++)
		add(&routes, row->own[i]);
	if (row->gw && strchr(row->gw, ':'))
		routes.gw.v6 = addr(row->gw);
	else if (row->gw)
		routes.gw.v4 = addr(row->gw);
	found = roost_source_select(&routes, &link_local, &dgid, &got);
	assert_int_equal(found, row->want != NULL);
	if (!found)
		return;
	want = strcmp(row->want, "link-local") == 0 ? link_local
						    : addr(row->want);
	if (!roost_gid_eq(&got, &want))
		fail_msg("to %s from %02x%02x:...:%02x%02x, not %s", row->dgid,
			 got.b[0], got.b[1], got.b[14], got.b[15], row->want);
}

static void source__ipv6(void **state)
{
	static const struct row rows[] = {
		/* Off link: not the link-local one. */
		{ { "fd00::2/64" }, "fd00::1", "fd00:9::1", "fd00::2" },
		{ { "fd00::2/64" }, "fe80::1", "2001:db8::1", "fd00::2" },
		{ { "198.18.0.2/24" }, NULL, "2001:db8::1", "link-local" },
		/* Rule 1. */
		{ { "fd00::2/64", "fd00::3/64" }, NULL, "fd00::3", "fd00::3" },
		{ { "fd00::2/64" }, NULL, "fe80::aa", "link-local" },
		/* Rule 2. */
		{ { "fd00::2/64" }, NULL, "fe80::9", "link-local" },
		{ { "fe80::5/64", "fd00::2/64" }, NULL, "fe80::9", "fe80::5" },
		{ { "fec0::2/64", "2001:db8::2/64" },
		  NULL,
		  "fec0:9::1",
		  "fec0::2" },
		{ { "fec0::2/64", "2001:db8::2/64" },
		  NULL,
		  "2001:db8:9::1",
		  "2001:db8::2" },
		/* Rule 6, whatever the order. */
		{ { "fd00::2/64", "2001:db8::2/64" },
		  NULL,
		  "2400::1",
		  "2001:db8::2" },
		{ { "2001:db8::2/64", "fd00::2/64" },
		  NULL,
		  "fdff::1",
		  "fd00::2" },
		{ { "2001:db8::2/64", "2002:c612::2/64" },
		  NULL,
		  "2002:1::1",
		  "2002:c612::2" },
		{ { "2002:c612::2/64", "2001:db8::2/64" },
		  NULL,
		  "2003::1",
		  "2001:db8::2" },
		{ { "2001:db8::2/64", "2001:0:1::2/64" },
		  NULL,
		  "2001:0:9::1",
		  "2001:0:1::2" },
		/* Rule 8. */
		{ { "2001:db8:1::2/64", "2001:db8:3::2/64" },
		  NULL,
		  "2001:db8:2::1",
		  "2001:db8:3::2" },
		{ { "fd00:1::2/64", "fd00:2::2/64" },
		  NULL,
		  "fd00:2::9",
		  "fd00:2::2" },
		/* No longer than the subnet's; then the first one. */
		{ { "2001:db8::2/64", "2001:db8::9:2/64" },
		  NULL,
		  "2001:db8::9:1",
		  "2001:db8::2" },
		{ { "2001:db8:1::2/32", "2001:db8:2::2/32" },
		  NULL,
		  "2001:db8:2::1",
		  "2001:db8:1::2" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i]);
}

static void source__ipv4(void **state)
{
	static const struct row rows[] = {
		{ { "fd00::2/64" }, NULL, "198.18.0.1", NULL },
		{ { "198.18.0.2/24", "198.18.1.2/24" },
		  NULL,
		  "198.18.1.9",
		  "198.18.1.2" },
		{ { "198.18.0.2/24", "198.18.1.2/24" },
		  NULL,
		  "198.18.1.2",
		  "198.18.1.2" },
		/* Off link: of the gateway's subnet, not the likest one. */
		{ { "198.18.0.2/24", "198.18.1.2/24" },
		  "198.18.1.1",
		  "198.18.128.1",
		  "198.18.1.2" },
		{ { "198.18.0.2/24", "198.19.1.2/24" },
		  "198.18.0.1",
		  "198.19.9.1",
		  "198.18.0.2" },
		{ { "198.18.0.2/24", "198.18.1.2/24" },
		  NULL,
		  "198.19.0.1",
		  "198.18.0.2" },
		/* An address of the link alone is not for others. */
		{ { "169.254.7.7/16", "198.18.1.2/24" },
		  NULL,
		  "198.19.0.1",
		  "198.18.1.2" },
		{ { "198.18.1.2/24", "169.254.7.7/16" },
		  NULL,
		  "169.254.1.1",
		  "169.254.7.7" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(source__ipv6),
		cmocka_unit_test(source__ipv4),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
