/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>

#include "lib/engine/core/ah_priv.h"
#include "lib/engine/core/shim.h"
#include <roost/mr.h>

int roost_ah_create(struct roost_pd *pd, const struct roost_av *av,
		    struct roost_ah **ah)
{
	struct roost_ah *a = calloc(1, sizeof(*a));
	int ret;

	if (!a)
		return -ENOMEM;
	/* One UDP source port for all datagrams of the AH (A17.9.1). */
	ret = roost_path_resolve(pd->ctx->dev, av, roost_pd_handle(pd), 0,
				 &a->path);
	if (ret) {
		free(a);
		return ret;
	}
	a->dev = pd->ctx->dev;
	a->pd = pd;
	atomic_store(&a->refs, 1);
	atomic_fetch_add(&pd->refs, 1);
	*ah = a;
	return 0;
}

void roost_ah_put(struct roost_ah *ah)
{
	if (atomic_fetch_sub(&ah->refs, 1) != 1)
		return;
	roost_path_release(ah->dev, &ah->path);
	free(ah);
}

int roost_ah_destroy(struct roost_ah *ah)
{
	atomic_fetch_sub(&ah->pd->refs, 1);
	roost_ah_put(ah);
	return 0;
}

int roost_av_resolve(struct roost_ctx *ctx, const struct roost_av *av,
		     uint8_t mac[6])
{
	struct roost_path path;
	int ret = roost_path_resolve(ctx->dev, av, 0, 0, &path);

	if (ret)
		return ret;
	/* The destination stands first in an Ethernet frame. */
	memcpy(mac, path.template.bytes, 6);
	roost_path_release(ctx->dev, &path);
	return 0;
}
