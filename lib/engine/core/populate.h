/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_POPULATE_H
#define ROOST_ENGINE_CORE_POPULATE_H

/*
 * Faulting memory in, and checking that it is mapped and writable.
 */

#include <stdbool.h>
#include <stddef.h>

/*
 * Fault in the pages of [addr, addr + len_bytes) that are not present, for
 * reading or for writing. Where the kernel cannot do that (before Linux 5.14),
 * the call returns 0 and pages fault in on first use. Returns 0; -EFAULT
 * (memory that is not mapped or not writable), -EINVAL (the range wraps), or
 * -errno of madvise(2).
 */
int roost_populate(void *addr, size_t len_bytes, bool for_write);

#endif
