/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KERNEL_TAP_H
#define ROOST_PMD_GLUE_KERNEL_TAP_H

/*
 * A tap: an interface of the kernel whose frames this process reads and writes
 * (/dev/net/tun). The interface exists while its descriptor is open. When the
 * process closes it or dies, the kernel deletes the interface and its
 * addresses. A forked child does not keep the descriptor.
 *
 * Addresses, MTU and state of the interface: pmd_glue/kernel/nl_link.h. Not
 * locked; one thread may set the carrier while another one reads and writes fd.
 */

#include <stdbool.h>
#include <stdint.h>

struct roost_tap {
	int fd; /* non-blocking; a read(2) or write(2) is one frame; -1: none */
};

/*
 * Make the interface, down and without carrier. Returns 0; -EBUSY (an interface
 * of this name exists), -EPERM, -EACCES (no permission), -ENOENT, -ENODEV,
 * -ENXIO (the kernel has no taps), -EINVAL (not a valid name), -EADDRNOTAVAIL
 * (not a valid MAC), -EMFILE...
 */
int roost_tap_open(struct roost_tap *tap, const char *name,
		   const uint8_t mac[6]);
/* Does nothing without a descriptor. */
void roost_tap_close(struct roost_tap *tap);

void roost_tap_set_carrier(const struct roost_tap *tap, bool carrier);

#endif
