/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/process/debug.h"

#include <stdbool.h>

#include <roost/config.h>
#include "lib/wire/icrc.h"
#include "pmd_glue/process/report.h"

void roost_debug_apply(const struct roost_config *config)
{
	static bool told;

	if (!config->debug_no_icrc || told)
		return;
	told = true;
	roost_icrc_disable();
	roost_report("not for use: frames have no ICRC: debug_no_icrc is set; "
		     "unset it for all but measuring, as who checks ICRCs "
		     "drops these frames and damage goes unseen");
}
