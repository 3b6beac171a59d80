/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "pmd_glue/quirks/xdp/program.h"
#include "pmd_glue/quirks/xdp_gate.h"
#include "tests/cmocka.h"

static const char *why(enum roost_xdp_step step, int error)
{
	const struct roost_xdp xdp = { .failed = step, .error = error };
	static char text[256];

	roost_xdp_why(&xdp, "eth7", text, sizeof(text));
	assert_non_null(strstr(text, ";")); /* cause; fix */
	assert_null(strchr(text, '%'));
	return text;
}

static void xdp__causes_have_a_fix(void **state)
{
	assert_non_null(strstr(why(ROOST_XDP_ATTACH, EBUSY),
			       "ip link set dev eth7 xdp off"));
	assert_non_null(strstr(why(ROOST_XDP_ATTACH, EPERM), "CAP_BPF"));
	assert_non_null(
		strstr(why(ROOST_XDP_SOCKET, EINVAL), "ethtool -l eth7"));
	assert_non_null(strstr(why(ROOST_XDP_SOCKET, EBUSY), "start_queue"));
	assert_non_null(strstr(why(ROOST_XDP_MEMORY, ENOBUFS), "ulimit -l"));
	assert_non_null(strstr(why(ROOST_XDP_MEMORY, EAFNOSUPPORT),
			       "CONFIG_XDP_SOCKETS"));
}

static void xdp__other_causes_are_named(void **state)
{
	for (int step = ROOST_XDP_LOAD; step < ROOST_XDP_STEPS; step++)
		assert_non_null(strstr(why((enum roost_xdp_step)step, ENOMEM),
				       strerror(ENOMEM)));
}

/* The driver opens it by a path. */
static void xdp__program_is_a_file(void **state)
{
	static unsigned char read_back[sizeof(roost_xdp_program) + 1];
	struct roost_xdp xdp;

	if (sizeof(roost_xdp_program) == 1) {
		assert_int_equal(roost_xdp_open(&xdp), -ENOENT);
		skip();
	}
	assert_int_equal(roost_xdp_open(&xdp), 0);
	assert_int_equal(pread(xdp.program_fd, read_back, sizeof(read_back), 0),
			 sizeof(roost_xdp_program));
	assert_memory_equal(read_back, roost_xdp_program,
			    sizeof(roost_xdp_program));
	assert_memory_equal(read_back, "\177ELF", 4);
	roost_xdp_close(&xdp);
	assert_int_equal(xdp.program_fd, -1);
	/* The second time does nothing. */
	roost_xdp_close(&xdp);
}

/* No driver here: nothing to stand before. */
static void xdp__no_driver(void **state)
{
	assert_int_equal(roost_xdp_gate_put(NULL), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(xdp__causes_have_a_fix),
		cmocka_unit_test(xdp__other_causes_are_named),
		cmocka_unit_test(xdp__program_is_a_file),
		cmocka_unit_test(xdp__no_driver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
