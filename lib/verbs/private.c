/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The few private symbols that do something even where no provider is.
 */

#include "lib/verbs/abi.h"
#include "lib/verbs/private.h"

ROOST_VERBS_NEWER(verbs_allow_disassociate_destroy, "IBVERBS_PRIVATE_34")
bool roost_verbs_allow_disassociate_destroy;

ROOST_VERBS_PRIVATE(verbs_allow_disassociate_destroy)

ROOST_VERBS_LATEST(__ioctl_final_num_attrs, "IBVERBS_PRIVATE_34");
unsigned int roost___ioctl_final_num_attrs(unsigned int num_attrs, void *link)
{
	(void)link;
	return num_attrs;
}

ROOST_VERBS_PRIVATE(__ioctl_final_num_attrs)
