/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>

#include "pmd_glue/port/driver.h"
#include "pmd_glue/quirks/quirk.h"
#include "tests/cmocka.h"

static int put_ret, open_ret;
static unsigned int nb_open, nb_inside, nb_workers;

static int put(const char *library)
{
	(void)library;
	return put_ret;
}

static int open_port(struct roost_quirk_port *port,
		     const struct roost_quirk_conf *conf, char *why,
		     size_t size)
{
	(void)port;
	(void)conf;
	if (open_ret)
		strncpy(why, "no room; make some", size);
	else
		nb_open++;
	return open_ret;
}

static void close_port(struct roost_quirk_port *port)
{
	(void)port;
	nb_open--;
}

static void enter(struct roost_quirk_port *port)
{
	(void)port;
	nb_inside++;
}

static void leave(void)
{
	nb_inside--;
}

static void add_worker(struct roost_quirk_worker *w,
		       struct roost_worker *worker)
{
	(void)w;
	(void)worker;
	nb_workers++;
}

static void del_worker(struct roost_quirk_worker *w)
{
	(void)w;
	nb_workers--;
}

static const struct roost_quirk fake = {
	.library = "librte_net_fake.so",
	.missing = "not loaded",
	.put = put,
	.open = open_port,
	.close = close_port,
	.enter = enter,
	.leave = leave,
	.add_worker = add_worker,
	.del_worker = del_worker,
};

static int open_fake(struct roost_quirk_port *port, char why[128])
{
	const struct roost_quirk_conf conf = { .socket = "" };

	memset(port, 0, sizeof(*port));
	return roost_quirk_open(port, &fake, &conf, why, 128);
}

static int setup(void **state)
{
	put_ret = open_ret = 0;
	nb_open = nb_inside = nb_workers = 0;
	return 0;
}

static void quirk__stands_before_the_driver_or_says_why(void **state)
{
	struct roost_quirk_port port;
	char why[128];

	put_ret = -ENOENT;
	assert_int_equal(open_fake(&port, why), -ENODEV);
	assert_string_equal(why, "librte_net_fake.so: not loaded; install "
				 "DPDK's drivers, as shared libraries");
	put_ret = 0;
	open_ret = -ENOMEM;
	assert_int_equal(open_fake(&port, why), -ENOMEM);
	assert_string_equal(why, "no room; make some");
	/* It is not open: nothing reaches the quirk. */
	roost_quirk_enter(&port);
	assert_int_equal(nb_inside, 0);
	roost_quirk_close(&port);
	assert_int_equal(nb_open, 0);
}

static void quirk__is_closed_once(void **state)
{
	struct roost_quirk_port port;
	char why[128];

	assert_int_equal(open_fake(&port, why), 0);
	assert_string_equal(why, "");
	roost_quirk_enter(&port);
	assert_int_equal(nb_inside, 1);
	roost_quirk_leave(&port);
	assert_int_equal(nb_inside, 0);
	roost_quirk_close(&port);
	roost_quirk_close(&port);
	assert_int_equal(nb_open, 0);
}

/* A port is unplugged while its workers still turn. */
static void quirk__forgets_workers_after_the_port(void **state)
{
	struct roost_quirk_port port;
	struct roost_quirk_worker w;
	char why[128];

	assert_int_equal(open_fake(&port, why), 0);
	roost_quirk_add_worker(&port, &w, NULL);
	assert_int_equal(nb_workers, 1);
	roost_quirk_close(&port);
	roost_quirk_del_worker(&w);
	roost_quirk_del_worker(&w);
	assert_int_equal(nb_workers, 0);
}

/* What a quirk does not have, a port does without. */
static void quirk__needs_nothing(void **state)
{
	struct roost_quirk_port port = { .quirk = NULL };
	const int *fds;
	char why[128];

	assert_int_equal(roost_quirk_sockets(&port, &fds), -ENOTSUP);
	assert_int_equal(open_fake(&port, why), 0);
	assert_int_equal(roost_quirk_sockets(&port, &fds), -ENOTSUP);
	assert_false(roost_quirk_is_busy(&port));
	assert_false(roost_quirk_why(&port, "eth0", why, sizeof(why)));
	roost_quirk_hang_up(&port);
	roost_quirk_read_errors(&port);
	roost_quirk_set_first_worker(&port, NULL);
	roost_quirk_close(&port);
}

static void quirk__of_each_driver(void **state)
{
	static const struct {
		const char *devargs;
		const struct roost_quirk *quirk;
		bool may_be_member;
	} rows[] = {
		{ "net_af_packet0,iface=a", &roost_quirk_af_packet, true },
		{ "net_af_xdp0,iface=a", &roost_quirk_af_xdp, false },
		{ "net_bonding0", &roost_quirk_bonding, true },
		{ "net_memif0", &roost_quirk_memif, false },
		{ "net_tap0", &roost_quirk_tap, true },
		{ "net_vhost0,iface=/a", &roost_quirk_vhost, false },
		{ "net_virtio_user0,path=/a", &roost_quirk_virtio_user, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct roost_driver *d =
			roost_driver_find(rows[i].devargs);

		assert_ptr_equal(d->quirk, rows[i].quirk);
		assert_int_equal(d->quirk->may_be_member,
				 rows[i].may_be_member);
		/* What is entered is left. */
		assert_int_equal(d->quirk->enter != NULL,
				 d->quirk->leave != NULL);
	}
	assert_null(roost_driver_find("net_ring0")->quirk);
	assert_null(roost_driver_find("0000:01:00.0")->quirk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			quirk__stands_before_the_driver_or_says_why, setup),
		cmocka_unit_test_setup(quirk__is_closed_once, setup),
		cmocka_unit_test_setup(quirk__forgets_workers_after_the_port,
				       setup),
		cmocka_unit_test_setup(quirk__needs_nothing, setup),
		cmocka_unit_test(quirk__of_each_driver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
