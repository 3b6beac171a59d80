/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "ends.h"

int main(void)
{
	return rules_run() + values_run() + sync_run() != 0;
}
