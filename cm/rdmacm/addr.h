/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_RDMACM_ADDR_H
#define ROOST_CM_RDMACM_ADDR_H

/*
 * Conversion between socket addresses from programs and GIDs. Pure.
 *
 * IPv4 and IPv6. Scope IDs are ignored: they number the kernel's interfaces.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <roost/gid.h>

/* The length of an address of this family; 0: NULL, or a family other than
 * these.
 */
socklen_t roost_rdmacm_addr_len(const struct sockaddr *addr);
bool roost_rdmacm_addr_is_any(const struct sockaddr *addr);
/* A port number, in host order. */
uint16_t roost_rdmacm_addr_port(const struct sockaddr *addr);
void roost_rdmacm_addr_set_port(struct sockaddr *addr, uint16_t port);
struct roost_gid roost_rdmacm_addr_gid(const struct sockaddr *addr);
/* family: AF_INET for a mapped IPv4 address, or AF_INET6. */
void roost_rdmacm_addr_make(struct sockaddr_storage *addr, int family,
			    const struct roost_gid *gid, uint16_t port);
int roost_rdmacm_gid_family(const struct roost_gid *gid);

#endif
