/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>

#include "cm/rdmacm/state.h"
#include "tests/cmocka.h"

/* One letter for each state, in their order; a capital: allowed. */
static const char *const wanted[ROOST_RDMACM_CALLS] = {
	[ROOST_RDMACM_CALL_BIND] = "Ibqarcdlx",
	[ROOST_RDMACM_CALL_RESOLVE_ADDR] = "IBqarcdlx",
	[ROOST_RDMACM_CALL_RESOLVE_ROUTE] = "ibqArcdlx",
	[ROOST_RDMACM_CALL_SET_PATH] = "ibqArcdlx",
	[ROOST_RDMACM_CALL_LISTEN] = "IBqarcdlx",
	[ROOST_RDMACM_CALL_CONNECT] = "ibqaRcdlx",
	[ROOST_RDMACM_CALL_ACCEPT] = "ibqarCdlx",
	[ROOST_RDMACM_CALL_JOIN] = "iBqArcdlx",
	[ROOST_RDMACM_CALL_AFONLY] = "IBqarcdlx",
	[ROOST_RDMACM_CALL_NO_REUSE] = "Ibqarcdlx",
	[ROOST_RDMACM_CALL_REUSE] = "IBQARCDlX",
};

static void state__every_call_in_every_state(void **state)
{
	for (int call = 0; call < ROOST_RDMACM_CALLS; call++)
		for (int in = 0; in < ROOST_RDMACM_STATES; in++)
			assert_int_equal(roost_rdmacm_state_allows(
						 (enum roost_rdmacm_call)call,
						 (enum roost_rdmacm_state)in),
					 wanted[call][in] >= 'a' ? -EINVAL : 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(state__every_call_in_every_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
