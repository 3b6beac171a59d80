/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The few private symbols that do something even where no provider is.
 */

#include "lib/verbs/private.h"

bool verbs_allow_disassociate_destroy;

unsigned int __ioctl_final_num_attrs(unsigned int num_attrs, void *link)
{
	(void)link;
	return num_attrs;
}
