/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_KERNEL_TAP_H
#define ROOST_PMD_GLUE_KERNEL_TAP_H

/*
 * An interface of the kernel whose frames this process reads and writes: what
 * /dev/net/tun calls a tap. It belongs to its descriptor: when that is closed,
 * by us or by the kernel after a kill, the interface and its addresses are
 * gone. A child that was forked does not keep it.
 *
 * Whatever else an interface has is pmd_glue/kernel/nl_link.h's. Not locked;
 * carrier may be set while another thread reads and writes fd.
 */

#include <stdbool.h>
#include <stdint.h>

struct roost_tap {
	int fd; /* one frame a read(2) or write(2); never blocks. -1: none */
};

/*
 * Make the interface, down and without carrier. Returns 0; -EBUSY (there is
 * one of this name), -EPERM, -EACCES (no right to), -ENOENT, -ENODEV, -ENXIO
 * (the kernel has no taps), -EINVAL (no such name), -EADDRNOTAVAIL (no such
 * MAC), -EMFILE...
 */
int roost_tap_open(struct roost_tap *tap, const char *name,
		   const uint8_t mac[6]);
/* Does nothing without a descriptor. */
void roost_tap_close(struct roost_tap *tap);

void roost_tap_set_carrier(const struct roost_tap *tap, bool carrier);

#endif
