/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * <roost/roost.h>: all that an appliance includes. Stands above the other
 * headers when they are installed; inside the tree nobody uses it.
 */
#include "lib/config/config.h"
#include "lib/roost.h"
