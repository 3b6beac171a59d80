/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "cm/rdmacm/ports.h"
#include "tests/cmocka.h"

static struct roost_rdmacm_claim claim(uint8_t last, bool any)
{
	const uint8_t v4[4] = { 198, 18, 0, last };

	return (struct roost_rdmacm_claim){
		.space = ROOST_RDMACM_PS_TCP,
		.family = AF_INET,
		.any = any,
		.addr = roost_gid_from_v4(v4),
		.afonly = true,
	};
}

static void ports__same_address_is_in_use(void **state)
{
	struct roost_rdmacm_claim a = claim(1, false), b = claim(1, false),
				  c = claim(2, false);

	assert_int_equal(roost_rdmacm_port_take(&a, 7000), 0);
	assert_int_equal(a.port, 7000);
	assert_int_equal(roost_rdmacm_port_take(&b, 7000), -EADDRINUSE);
	assert_int_equal(b.port, 0);
	/* A bucket of the table is shared. */
	assert_int_equal(roost_rdmacm_port_take(&b, 7000 + 1024), 0);
	assert_int_equal(roost_rdmacm_port_take(&c, 7000), 0);
	roost_rdmacm_port_drop(&a);
	roost_rdmacm_port_drop(&b);
	assert_int_equal(roost_rdmacm_port_take(&b, 7000), 0);
	roost_rdmacm_port_drop(&b);
	roost_rdmacm_port_drop(&c);
	roost_rdmacm_port_drop(&c);
}

static void ports__wildcard_and_address_exclude_each_other(void **state)
{
	struct roost_rdmacm_claim a = claim(1, false), any = claim(0, true),
				  other = claim(0, true);

	assert_int_equal(roost_rdmacm_port_take(&a, 7000), 0);
	assert_int_equal(roost_rdmacm_port_take(&any, 7000), -EADDRNOTAVAIL);
	roost_rdmacm_port_drop(&a);
	assert_int_equal(roost_rdmacm_port_take(&any, 7000), 0);
	assert_int_equal(roost_rdmacm_port_take(&a, 7000), -EADDRNOTAVAIL);
	assert_int_equal(roost_rdmacm_port_take(&other, 7000), -EADDRNOTAVAIL);
	/* Another space is another world. */
	other.space = ROOST_RDMACM_PS_UDP;
	assert_int_equal(roost_rdmacm_port_take(&other, 7000), 0);
	roost_rdmacm_port_drop(&any);
	roost_rdmacm_port_drop(&other);
}

static void ports__families_meet_unless_both_keep_to_themselves(void **state)
{
	struct roost_rdmacm_claim v4 = claim(0, true), v6 = claim(0, true);

	v6.family = AF_INET6;
	v6.afonly = false;
	assert_int_equal(roost_rdmacm_port_take(&v4, 7000), 0);
	assert_int_equal(roost_rdmacm_port_take(&v6, 7000), -EADDRNOTAVAIL);
	v6.afonly = true;
	assert_int_equal(roost_rdmacm_port_take(&v6, 7000), 0);
	roost_rdmacm_port_drop(&v4);
	roost_rdmacm_port_drop(&v6);
}

static void ports__reuse_binds_and_does_not_listen(void **state)
{
	struct roost_rdmacm_claim a = claim(1, false), b = claim(1, false),
				  plain = claim(1, false);

	a.reuseaddr = true;
	b.reuseaddr = true;
	assert_int_equal(roost_rdmacm_port_take(&a, 7000), 0);
	assert_int_equal(roost_rdmacm_port_alone(&a), 0);
	assert_int_equal(roost_rdmacm_port_take(&b, 7000), 0);
	assert_int_equal(roost_rdmacm_port_alone(&a), -EADDRINUSE);
	assert_int_equal(roost_rdmacm_port_take(&plain, 7000), -EADDRINUSE);
	roost_rdmacm_port_drop(&b);
	assert_int_equal(roost_rdmacm_port_alone(&a), 0);
	roost_rdmacm_port_drop(&a);
}

/* All of the range, each once; then there is none. */
static void ports__ephemeral_ports_are_all_different(void **state)
{
	enum {
		FIRST = 32768,
		NB = 28232
	};
	static struct roost_rdmacm_claim claims[NB], one_more;
	static bool seen[NB];

	for (int i = 0; i < NB; i++) {
		claims[i] = claim(1, false);
		assert_int_equal(roost_rdmacm_port_take(&claims[i], 0), 0);
		assert_in_range(claims[i].port, FIRST, FIRST + NB - 1);
		assert_false(seen[claims[i].port - FIRST]);
		seen[claims[i].port - FIRST] = true;
	}
	one_more = claim(2, false);
	assert_int_equal(roost_rdmacm_port_take(&one_more, 0), -EADDRNOTAVAIL);
	for (int i = 0; i < NB; i++)
		roost_rdmacm_port_drop(&claims[i]);
}

/* ---- claims beyond this process ------------------------------------------ */

static struct {
	unsigned int nb_asked, nb_held;
	unsigned int nb_refused; /* so many are refused first */
	int error;
	uint16_t last_port;
} others;

static int ask_others(const struct roost_rdmacm_claim *c)
{
	assert_int_not_equal(c->port, 0);
	assert_int_not_equal(c->port, others.last_port);
	others.last_port = c->port;
	if (others.nb_asked++ < others.nb_refused)
		return others.error;
	others.nb_held++;
	return 0;
}

static void tell_others(const struct roost_rdmacm_claim *c)
{
	assert_int_not_equal(c->port, 0);
	others.nb_held--;
}

static const struct roost_rdmacm_beyond beyond = { ask_others, tell_others };

static struct roost_rdmacm_claim shared_claim(unsigned int nb_refused,
					      int error)
{
	struct roost_rdmacm_claim c = claim(1, false);

	memset(&others, 0, sizeof(others));
	others.nb_refused = nb_refused;
	others.error = error;
	c.beyond = &beyond;
	return c;
}

static void ports__beyond_is_asked_and_told(void **state)
{
	struct roost_rdmacm_claim a = shared_claim(0, 0), b = a;

	assert_int_equal(roost_rdmacm_port_take(&a, 7000), 0);
	assert_int_equal(others.nb_held, 1);
	/* Of what is taken here nobody else is asked. */
	assert_int_equal(roost_rdmacm_port_take(&b, 7000), -EADDRINUSE);
	assert_int_equal(others.nb_asked, 1);
	roost_rdmacm_port_drop(&a);
	roost_rdmacm_port_drop(&a);
	assert_int_equal(others.nb_held, 0);
}

static void ports__refused_beyond_is_not_taken_here(void **state)
{
	struct roost_rdmacm_claim a = shared_claim(1, -EADDRINUSE),
				  here = claim(1, false);

	assert_int_equal(roost_rdmacm_port_take(&a, 7000), -EADDRINUSE);
	assert_int_equal(a.port, 0);
	assert_int_equal(roost_rdmacm_port_take(&here, 7000), 0);
	roost_rdmacm_port_drop(&here);
	roost_rdmacm_port_drop(&a);
	assert_int_equal(others.nb_held, 0);
}

static void ports__ephemeral_port_is_free_beyond_too(void **state)
{
	struct roost_rdmacm_claim a = shared_claim(5, -EADDRINUSE);

	assert_int_equal(roost_rdmacm_port_take(&a, 0), 0);
	assert_int_equal(others.nb_asked, 6);
	assert_int_equal(a.port, others.last_port);
	roost_rdmacm_port_drop(&a);
	/* Not for ever, and not after an error of another kind. */
	a = shared_claim(100000, -EADDRNOTAVAIL);
	assert_int_equal(roost_rdmacm_port_take(&a, 0), -EADDRNOTAVAIL);
	assert_in_range(others.nb_asked, 100, 10000);
	a = shared_claim(1, -EDQUOT);
	assert_int_equal(roost_rdmacm_port_take(&a, 0), -EDQUOT);
	assert_int_equal(others.nb_asked, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports__same_address_is_in_use),
		cmocka_unit_test(
			ports__wildcard_and_address_exclude_each_other),
		cmocka_unit_test(
			ports__families_meet_unless_both_keep_to_themselves),
		cmocka_unit_test(ports__reuse_binds_and_does_not_listen),
		cmocka_unit_test(ports__ephemeral_ports_are_all_different),
		cmocka_unit_test(ports__beyond_is_asked_and_told),
		cmocka_unit_test(ports__refused_beyond_is_not_taken_here),
		cmocka_unit_test(ports__ephemeral_port_is_free_beyond_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
