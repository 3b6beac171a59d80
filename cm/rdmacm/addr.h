/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_RDMACM_ADDR_H
#define ROOST_CM_RDMACM_ADDR_H

/*
 * Conversion between socket addresses from programs and GIDs. Pure.
 *
 * IPv4 and IPv6; AF_IB becomes one of them. Scope IDs are ignored: they number
 * the kernel's interfaces.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <rdma/rdma_cma.h>

#include <roost/gid.h>

/* *to becomes the IP address that a program means by from, which may be an
 * AF_IB address, too: a GID, which is an IP address here, and a service ID of
 * the port space ps or 0. An IPv4-mapped IPv6 address is an IPv4 address: where
 * the machine itself has only IPv6, getaddrinfo(3) without hints makes one of
 * "198.18.0.1". Returns 0; -EINVAL: NULL, another family or service.
 */
int roost_rdmacm_addr_ip(const struct sockaddr *from, enum rdma_port_space ps,
			 struct sockaddr_storage *to);
/* The length of an address of this family; 0: NULL, or a family other than
 * these.
 */
socklen_t roost_rdmacm_addr_len(const struct sockaddr *addr);
/* The wildcard, or loopback: no device has it. As in the kernel's rdma_cm, both
 * mean all devices to bind and listen, and this host as a destination.
 */
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
