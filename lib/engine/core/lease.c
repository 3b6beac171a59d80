/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "lib/engine/core/lease.h"

#include <stddef.h>

#include "lib/engine/core/dev_priv.h"

const struct roost_leases *roost_dev_leases(const struct roost_dev *dev)
{
	return dev->leases;
}

int roost_dev_claim(const struct roost_dev *dev,
		    const struct roost_service_claim *service)
{
	const struct roost_leases *leases = dev->leases;

	return leases && leases->claim ? leases->claim(leases->ctx, service)
				       : 0;
}

void roost_dev_release(const struct roost_dev *dev,
		       const struct roost_service_claim *service)
{
	const struct roost_leases *leases = dev->leases;

	if (leases && leases->claim)
		leases->release(leases->ctx, service);
}
