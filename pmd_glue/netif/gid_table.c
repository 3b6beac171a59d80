/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/netif/gid_table.h"

#include <string.h>

#include "pmd_glue/host/nd.h"

static unsigned int append(struct roost_gid *gids, unsigned int nb,
			   const struct roost_gid *gid)
{
	if (nb == ROOST_GID_TABLE_LEN)
		return nb;
	for (unsigned int i = 0; i < nb; i++)
		if (roost_gid_eq(&gids[i], gid))
			return nb;
	gids[nb] = *gid;
	return nb + 1;
}

unsigned int roost_gid_table_fill(struct roost_gid gids[ROOST_GID_TABLE_LEN],
				  const uint8_t mac[6],
				  const struct roost_prefixes *addrs)
{
	unsigned int nb = 0;

	memset(gids, 0, ROOST_GID_TABLE_LEN * sizeof(*gids));
	gids[nb++] = roost_nd_link_local(mac);
	for (unsigned int i = 0; i < addrs->nb; i++)
		if (roost_gid_is_v4(&addrs->v[i].gid))
			nb = append(gids, nb, &addrs->v[i].gid);
	for (unsigned int i = 0; i < addrs->nb; i++)
		if (!roost_gid_is_v4(&addrs->v[i].gid))
			nb = append(gids, nb, &addrs->v[i].gid);
	return nb;
}
