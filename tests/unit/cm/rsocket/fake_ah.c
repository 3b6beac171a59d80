/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Address handles of the fake device: every one leads to the device itself. */

#include <stdlib.h>
#include <string.h>

#include "fake.h"

struct ibv_ah *ibv_create_ah(struct ibv_pd *of, struct ibv_ah_attr *attr)
{
	struct ibv_ah *ah = calloc(1, sizeof(*ah));

	(void)attr;
	ah->pd = of;
	fake_lock();
	fake_counts()->ahs++;
	fake_unlock();
	return ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	free(ah);
	fake_lock();
	fake_counts()->ahs--;
	fake_unlock();
	return 0;
}

int ibv_init_ah_from_wc(struct ibv_context *ctx, uint8_t port,
			struct ibv_wc *wc, struct ibv_grh *grh,
			struct ibv_ah_attr *attr)
{
	const uint8_t *raw = (const uint8_t *)grh;

	(void)ctx;
	(void)wc;
	memset(attr, 0, sizeof(*attr));
	attr->port_num = port;
	attr->is_global = 1;
	if (raw[20] == 0x45) {
		attr->grh.dgid.raw[10] = 0xff;
		attr->grh.dgid.raw[11] = 0xff;
		memcpy(attr->grh.dgid.raw + 12, raw + 32, 4);
	} else {
		memcpy(attr->grh.dgid.raw, raw + 8, 16);
	}
	return 0;
}
