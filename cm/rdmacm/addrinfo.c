/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * rdma_getaddrinfo(): names become addresses as getaddrinfo(3) knows them, and
 * kinds of sockets become kinds of QPs.
 */

#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "cm/rdmacm/rdmacm.h"

static int socktype_of(int qp_type)
{
	switch (qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return SOCK_STREAM;
	case IBV_QPT_UD:
		return SOCK_DGRAM;
	default:
		return 0;
	}
}

static int protocol_of(int port_space, int socktype)
{
	switch (port_space) {
	case RDMA_PS_TCP:
		return IPPROTO_TCP;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		return IPPROTO_UDP;
	case RDMA_PS_IB:
		return socktype == SOCK_STREAM  ? IPPROTO_TCP
		       : socktype == SOCK_DGRAM ? IPPROTO_UDP
						: 0;
	default:
		return 0;
	}
}

static struct addrinfo ask_for(const struct rdma_addrinfo *hints)
{
	struct addrinfo ask = {
		.ai_family = hints->ai_family,
		.ai_socktype = socktype_of(hints->ai_qp_type),
	};

	if (hints->ai_flags & RAI_PASSIVE)
		ask.ai_flags |= AI_PASSIVE;
	if (hints->ai_flags & RAI_NUMERICHOST)
		ask.ai_flags |= AI_NUMERICHOST;
	ask.ai_protocol = protocol_of(hints->ai_port_space, ask.ai_socktype);
	return ask;
}

/* Returns 0 or an EAI_ value, as everything below. */
static int copy_addr(struct sockaddr **to, socklen_t *to_len,
		     const struct sockaddr *from, socklen_t len)
{
	*to = malloc(len);
	if (!*to)
		return EAI_MEMORY;
	memcpy(*to, from, len);
	*to_len = len;
	return 0;
}

static void take_types(struct rdma_addrinfo *rai, const struct addrinfo *ai,
		       const struct rdma_addrinfo *hints)
{
	if (hints && hints->ai_qp_type)
		rai->ai_qp_type = hints->ai_qp_type;
	else
		rai->ai_qp_type =
			ai->ai_socktype == SOCK_DGRAM ? IBV_QPT_UD : IBV_QPT_RC;
	if (hints && hints->ai_port_space)
		rai->ai_port_space = hints->ai_port_space;
	else
		rai->ai_port_space = ai->ai_protocol == IPPROTO_UDP
					     ? RDMA_PS_UDP
					     : RDMA_PS_TCP;
}

static int resolve(const char *node, const char *service,
		   const struct rdma_addrinfo *hints, struct rdma_addrinfo *rai)
{
	struct addrinfo ask, *ai;
	int ret;

	if (hints)
		ask = ask_for(hints);
	ret = getaddrinfo(node, service, hints ? &ask : NULL, &ai);
	if (ret)
		return ret;
	take_types(rai, ai, hints);
	rai->ai_family = ai->ai_family;
	if (ai->ai_flags & AI_PASSIVE) {
		rai->ai_flags = RAI_PASSIVE;
		ret = copy_addr(&rai->ai_src_addr, &rai->ai_src_len,
				ai->ai_addr, ai->ai_addrlen);
	} else {
		ret = copy_addr(&rai->ai_dst_addr, &rai->ai_dst_len,
				ai->ai_addr, ai->ai_addrlen);
	}
	freeaddrinfo(ai);
	return ret;
}

/* Nothing to look up: return the hints. */
static int repeat(const struct rdma_addrinfo *hints, struct rdma_addrinfo *rai)
{
	rai->ai_flags = hints->ai_flags;
	rai->ai_family = hints->ai_family;
	rai->ai_qp_type = hints->ai_qp_type;
	rai->ai_port_space = hints->ai_port_space;
	if (!hints->ai_dst_len)
		return 0;
	return copy_addr(&rai->ai_dst_addr, &rai->ai_dst_len,
			 hints->ai_dst_addr, hints->ai_dst_len);
}

/* Returns 0; an EAI_ value; or -1 and errno. */
int rdma_getaddrinfo(const char *node, const char *service,
		     const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **res)
{
	struct rdma_addrinfo *rai;
	int ret;

	if (!service && !node && !hints)
		return roost_rdmacm_result(-EINVAL);
	ret = roost_rdmacm_init();
	if (ret)
		return roost_rdmacm_result(ret);
	rai = calloc(1, sizeof(*rai));
	if (!rai)
		return roost_rdmacm_result(-ENOMEM);
	ret = node || service ? resolve(node, service, hints, rai)
			      : repeat(hints, rai);
	if (ret == 0 && !rai->ai_src_len && hints && hints->ai_src_len)
		ret = copy_addr(&rai->ai_src_addr, &rai->ai_src_len,
				hints->ai_src_addr, hints->ai_src_len);
	if (ret) {
		rdma_freeaddrinfo(rai);
		return ret;
	}
	*res = rai;
	return 0;
}

void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	struct rdma_addrinfo *next;

	for (; res; res = next) {
		next = res->ai_next;
		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res->ai_route);
		free(res->ai_connect);
		free(res);
	}
}
