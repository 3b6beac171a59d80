/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_HOST_ECHO_H
#define ROOST_PMD_GLUE_HOST_ECHO_H

/*
 * Answers to ping: ICMP (RFC 792) and ICMPv6 (RFC 4443) echo. Pure.
 */

#include <stddef.h>
#include <stdint.h>

#include <roost/gid.h>

struct roost_echo {
	struct roost_gid src;  /* the sender of the request */
	struct roost_gid dst;  /* the address that is pinged */
	size_t len_bytes;      /* of the frame, without Ethernet's padding */
	size_t icmp_off_bytes; /* offset of the ICMP message in the frame */
};

/*
 * Is the frame an echo request, whole, unfragmented and with good checksums?
 * Reads only inside the frame. Returns 0, or -EINVAL.
 */
int roost_echo_parse(const uint8_t *frame, size_t len_bytes,
		     struct roost_echo *echo);

/* Turn the frame that was decoded to *echo into the reply, in place. */
void roost_echo_reply(const struct roost_echo *echo, uint8_t *frame);

#endif
