/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_PROBE_MEASURE_H
#define ROOST_APPS_PROBE_MEASURE_H

/* Private to apps/probe: in the process of the probe. */

#include "apps/probe/probe.h"

/* Open the device and measure; say() is called after each stage. Takes as long
 * as it takes.
 */
void roost_probe_measure(const struct roost_probe_want *want,
			 struct roost_probe_facts *facts,
			 void (*say)(void *arg,
				     const struct roost_probe_facts *facts),
			 void *arg);

struct roost_dev;

/* Ask the peer for a connection to a service that nobody has, and set cm,
 * cm_status and cm_ns by what it says. (call.c)
 */
void roost_probe_call(struct roost_dev *dev, const struct roost_gid *sgid,
		      const struct roost_gid *dgid,
		      struct roost_probe_facts *facts);

#endif
