/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "cm/rdmacm/addr.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/ib.h>
#include <netinet/in.h>
#include <string.h>

#include <roost/cm.h>

static int from_ib(const struct sockaddr_ib *ib, enum rdma_port_space ps,
		   struct sockaddr_storage *to)
{
	const uint64_t sid = be64toh(ib->sib_sid);
	const uint64_t service = sid & ~(uint64_t)UINT16_MAX;
	struct roost_gid gid;

	if (service &&
	    service != roost_cm_service_id((enum roost_cm_port_space)ps, 0))
		return -EINVAL;
	memcpy(gid.b, &ib->sib_addr, sizeof(gid.b));
	roost_rdmacm_addr_make(to, roost_rdmacm_gid_family(&gid), &gid,
			       (uint16_t)sid);
	return 0;
}

int roost_rdmacm_addr_ip(const struct sockaddr *from, enum rdma_port_space ps,
			 struct sockaddr_storage *to)
{
	const socklen_t len = roost_rdmacm_addr_len(from);
	struct roost_gid gid;

	if (from && from->sa_family == AF_IB)
		return from_ib((const struct sockaddr_ib *)from, ps, to);
	if (!len)
		return -EINVAL;
	gid = roost_rdmacm_addr_gid(from);
	if (roost_gid_is_v4(&gid)) {
		roost_rdmacm_addr_make(to, AF_INET, &gid,
				       roost_rdmacm_addr_port(from));
		return 0;
	}
	memset(to, 0, sizeof(*to));
	memcpy(to, from, len);
	return 0;
}

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
	const struct in6_addr *v6 =
		&((const struct sockaddr_in6 *)addr)->sin6_addr;

	if (addr->sa_family == AF_INET) {
		const in_addr_t v4 = ntohl(
			((const struct sockaddr_in *)addr)->sin_addr.s_addr);

		return v4 == INADDR_ANY || v4 >> 24 == IN_LOOPBACKNET;
	}
	return IN6_IS_ADDR_UNSPECIFIED(v6) || IN6_IS_ADDR_LOOPBACK(v6);
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
