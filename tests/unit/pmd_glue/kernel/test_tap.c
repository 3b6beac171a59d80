/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "pmd_glue/kernel/nl_link.h"
#include "pmd_glue/host/route.h"
#include "pmd_glue/kernel/tap.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"
#include "tests/unit/pmd_glue/own_net.h"

static struct roost_tap tap;
static struct roost_nl_link nl_link;

static int open_tap(void **state)
{
	if (roost_tap_open(&tap, "tw0", mac_a))
		return -1;
	return roost_nl_link_open(&nl_link, "tw0");
}

static int close_tap(void **state)
{
	roost_nl_link_close(&nl_link);
	roost_tap_close(&tap);
	return 0;
}

/* What the kernel says now; nobody reads its news here. */
static const struct roost_nl_link_state *look(void)
{
	static struct roost_nl_link seen;

	roost_nl_link_close(&seen);
	assert_int_equal(roost_nl_link_open(&seen, "tw0"), 0);
	return &seen.state;
}

static void tap__is_what_was_asked_for(void **state)
{
	assert_memory_equal(look()->mac, mac_a, 6);
	assert_false(look()->up);
	assert_false(look()->running);
}

static void tap__a_name_is_taken_once(void **state)
{
	struct roost_tap other;

	assert_int_equal(roost_tap_open(&other, "tw0", mac_b), -EBUSY);
	assert_int_equal(roost_tap_open(&other, "lo", mac_b), -EBUSY);
	assert_int_equal(roost_tap_open(&other, "tw1", mac_b), 0);
	roost_tap_close(&other);
}

static void tap__is_gone_when_closed(void **state)
{
	assert_int_not_equal(if_nametoindex("tw0"), 0);
	roost_tap_close(&tap);
	assert_int_equal(if_nametoindex("tw0"), 0);
	/* Once is as good as twice. */
	roost_tap_close(&tap);
}

static void tap__wrong_values_leave_nothing(void **state)
{
	static const uint8_t group_mac[6] = { 1, 0, 0x5e, 0, 0, 1 };
	struct roost_tap other;

	assert_int_equal(roost_tap_open(&other, "a/b", mac_b), -EINVAL);
	assert_int_equal(roost_tap_open(&other, "tw1", group_mac),
			 -EADDRNOTAVAIL);
	assert_int_equal(if_nametoindex("tw1"), 0);
}

/* The child neither holds the interface nor has a descriptor of it. */
static void tap__is_not_kept_by_a_child(void **state)
{
	int status, fds[2];
	unsigned int kept;
	pid_t child;
	char byte;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		/* It runs: what a fork does is done. */
		if (write(fds[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	roost_tap_close(&tap);
	kept = if_nametoindex("tw0");
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(kept, 0);
}

static void tap__carrier_and_administrator(void **state)
{
	assert_int_equal(roost_nl_link_up(&nl_link), 0);
	assert_true(nl_link.state.up);
	assert_false(nl_link.state.running); /* no carrier yet */
	roost_tap_set_carrier(&tap, true);
	assert_true(look()->running);
	roost_tap_set_carrier(&tap, false);
	assert_false(look()->running);
	assert_true(look()->up);
	assert_int_equal(system("ip link set tw0 down"), 0);
	assert_false(look()->up);
}

static bool is_usable(const struct roost_prefix *prefix)
{
	static const struct roost_gid none;
	struct roost_prefixes usable;
	unsigned int i;

	roost_nl_link_usable(&nl_link.state, &none, &usable);
	i = roost_prefixes_find(&usable, &prefix->gid);
	return i < usable.nb && usable.v[i].len_bits == prefix->len_bits;
}

/* They can be used at once: without a carrier nobody could look for
 * duplicates.
 */
static void tap__addresses(void **state)
{
	struct roost_prefix v4 = { addr("198.18.0.1"), 24 };
	struct roost_prefix v6 = { addr("fd00::1"), 64 };

	assert_int_equal(roost_nl_link_up(&nl_link), 0);
	assert_int_equal(roost_nl_link_add_addr(&nl_link, &v4), 0);
	assert_int_equal(roost_nl_link_add_addr(&nl_link, &v4), -EEXIST);
	assert_int_equal(roost_nl_link_add_addr(&nl_link, &v6), 0);
	assert_true(is_usable(&v4));
	assert_true(is_usable(&v6));
	assert_int_equal(system("sysctl -qw net.ipv6.conf.tw0.disable_ipv6=1"),
			 0);
	assert_int_equal(roost_nl_link_add_addr(&nl_link, &v6), -EACCES);
	roost_tap_close(&tap);
	assert_int_equal(roost_nl_link_add_addr(&nl_link, &v4), -ENODEV);
	assert_int_equal(roost_nl_link_up(&nl_link), -ENODEV);
}

#define WITH_TAP(test)                                                         \
	cmocka_unit_test_setup_teardown(test, open_tap, close_tap)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TAP(tap__is_what_was_asked_for),
		WITH_TAP(tap__a_name_is_taken_once),
		WITH_TAP(tap__is_gone_when_closed),
		WITH_TAP(tap__wrong_values_leave_nothing),
		WITH_TAP(tap__is_not_kept_by_a_child),
		WITH_TAP(tap__carrier_and_administrator),
		WITH_TAP(tap__addresses),
	};

	own_net_enter();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
