/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/netif/gid_table.h"

#include <string.h>

struct roost_gid roost_gid_link_local(const uint8_t mac[6])
{
	struct roost_gid gid = { .b = { [0] = 0xfe, [1] = 0x80 } };

	memcpy(&gid.b[8], mac, 3);
	gid.b[8] ^= 2; /* the universal/local bit stands the other way round */
	gid.b[11] = 0xff;
	gid.b[12] = 0xfe;
	memcpy(&gid.b[13], mac + 3, 3);
	return gid;
}

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
	gids[nb++] = roost_gid_link_local(mac);
	for (unsigned int i = 0; i < addrs->nb; i++)
		if (roost_gid_is_v4(&addrs->v[i].gid))
			nb = append(gids, nb, &addrs->v[i].gid);
	for (unsigned int i = 0; i < addrs->nb; i++)
		if (!roost_gid_is_v4(&addrs->v[i].gid))
			nb = append(gids, nb, &addrs->v[i].gid);
	return nb;
}
