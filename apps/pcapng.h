/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_PCAPNG_H
#define ROOST_APPS_PCAPNG_H

/*
 * Writes pcapng (draft-ietf-opsawg-pcapng): the blocks that captures need, in
 * the byte order of this machine. DPDK's librte_pcapng is no help: it writes
 * mbufs that were received by an ethdev of a process with EAL, and 22.11 has no
 * comments.
 *
 * Errors stay in the stream (ferror(3)). Thread: any, one at a time.
 */

#include <stdint.h>
#include <stdio.h>

enum roost_pcapng_way {
	ROOST_PCAPNG_UNKNOWN = 0,
	ROOST_PCAPNG_INBOUND = 1,
	ROOST_PCAPNG_OUTBOUND = 2,
};

struct roost_pcapng_packet {
	uint32_t interface; /* number of its block, from 0 */
	uint64_t time_ns;   /* since 1970 */
	uint32_t captured_bytes, length_bytes;
	const uint8_t *bytes;
	enum roost_pcapng_way way;
	uint64_t lost;       /* packets before it that were not captured */
	const char *comment; /* printable; "": none */
};

/* The section; first. */
void roost_pcapng_section(FILE *out, const char *program);
/* An interface (Ethernet, ns), before its packets. */
void roost_pcapng_interface(FILE *out, const char *name, uint32_t snaplen);
void roost_pcapng_packet(FILE *out, const struct roost_pcapng_packet *packet);
/* At the end: how many packets of an interface were captured and lost. */
void roost_pcapng_statistics(FILE *out, uint32_t interface, uint64_t time_ns,
			     uint64_t captured, uint64_t lost);

#endif
