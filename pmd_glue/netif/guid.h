/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_NETIF_GUID_H
#define ROOST_PMD_GLUE_NETIF_GUID_H

/*
 * Node GUIDs without hardware: the keyed hash of a device's devargs or link
 * name, as a locally administered EUI-64. The key is the machine's id: machines
 * with the same configuration get different GUIDs, and no GUID reveals the id.
 */

#include <stddef.h>
#include <stdint.h>

/* SipHash-2-4 of len_bytes at data. Pure. */
uint64_t roost_siphash(const uint8_t key[16], const void *data,
		       size_t len_bytes);

/* The same as a GUID (host order): local bit set, group bit clear. Pure. */
uint64_t roost_guid(const uint8_t key[16], const void *data, size_t len_bytes);

/*
 * The GUID of a port in this process. The same devargs (at most
 * ROOST_DEVARGS_MAX bytes) and VLAN (0: none) give the same GUID in every
 * process and after a reboot. Both ends of a link have the same name; so the
 * GUID of a link also depends on the process and on a random number: call once
 * and keep the result. Thread: any.
 */
uint64_t roost_guid_of_devargs(const char *devargs, uint16_t vlan_id);
uint64_t roost_guid_of_link(const char *link);

#endif
