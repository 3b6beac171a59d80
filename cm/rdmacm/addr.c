/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "cm/rdmacm/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

socklen_t roost_rdmacm_addr_len(const struct sockaddr *addr)
{
	if (!addr)
		return 0;
	if (addr->sa_family == AF_INET)
		return sizeof(struct sockaddr_in);
	if (addr->sa_family == AF_INET6)
		return sizeof(struct sockaddr_in6);
	return 0;
}

bool roost_rdmacm_addr_is_any(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET)
		return ((const struct sockaddr_in *)addr)->sin_addr.s_addr ==
		       INADDR_ANY;
	return IN6_IS_ADDR_UNSPECIFIED(
		&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

/* Both families have it in the same place, and IB addresses have none. */
uint16_t roost_rdmacm_addr_port(const struct sockaddr *addr)
{
	if (!roost_rdmacm_addr_len(addr))
		return 0;
	return ntohs(((const struct sockaddr_in *)addr)->sin_port);
}

void roost_rdmacm_addr_set_port(struct sockaddr *addr, uint16_t port)
{
	((struct sockaddr_in *)addr)->sin_port = htons(port);
}

struct roost_gid roost_rdmacm_addr_gid(const struct sockaddr *addr)
{
	struct roost_gid gid;

	if (addr->sa_family == AF_INET) {
		uint8_t v4[4];

		memcpy(v4, &((const struct sockaddr_in *)addr)->sin_addr, 4);
		return roost_gid_from_v4(v4);
	}
	memcpy(gid.b, &((const struct sockaddr_in6 *)addr)->sin6_addr, 16);
	return gid;
}

void roost_rdmacm_addr_make(struct sockaddr_storage *addr, int family,
			    const struct roost_gid *gid, uint16_t port)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;

	memset(addr, 0, sizeof(*addr));
	addr->ss_family = (sa_family_t)family;
	if (family == AF_INET)
		memcpy(&in->sin_addr, gid->b + 12, 4);
	else
		memcpy(&in6->sin6_addr, gid->b, 16);
	roost_rdmacm_addr_set_port((struct sockaddr *)addr, port);
}

int roost_rdmacm_gid_family(const struct roost_gid *gid)
{
	return roost_gid_is_v4(gid) ? AF_INET : AF_INET6;
}
