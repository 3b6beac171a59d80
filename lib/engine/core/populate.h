/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_POPULATE_H
#define ROOST_ENGINE_CORE_POPULATE_H

/*
 * Is memory there, and may it be written?
 */

#include <stdbool.h>
#include <stddef.h>

/*
 * Fault in what of [addr, addr + len_bytes) is not there, for reading or for
 * writing. Where the kernel cannot tell (before Linux 5.14), all is well, and
 * pages fault in on first use. Returns 0; -EFAULT (memory that is not there or
 * not writable), -EINVAL (the range wraps), or -errno of madvise(2).
 * Thread: any; may take long.
 */
int roost_populate(void *addr, size_t len_bytes, bool for_write);

#endif
