/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CHANNEL_SEALED_H
#define ROOST_PMD_GLUE_CHANNEL_SEALED_H

/*
 * Memory that one process writes and others read: a memfd whose pages are all
 * there, mapped writable by its owner and then sealed. Nobody can resize it or
 * punch holes into it, nobody can map it writable again, and no seal can be
 * removed. So a reader that has checked it cannot get SIGBUS.
 *
 * Mappings are not in forked children. Thread: any.
 */

#include <stddef.h>
#include <stdint.h>

/*
 * Make memory of zeros. name: for /proc/PID/maps. *base: mapped writable; the
 * caller unmaps it with munmap(2).
 * Returns its descriptor (CLOEXEC), which the caller closes; -ENOMEM, -ENOSPC
 * (no memory for all pages), -EMFILE, -ENFILE.
 */
int roost_sealed_make(const char *name, size_t size_bytes, uint8_t **base);

/* Seal it. Returns 0, -ENOSYS (Linux before 5.1). */
int roost_sealed_seal(int fd);

/* Is fd sealed as above? Its maker may be hostile. Returns 0; -EPERM (no seals,
 * or no memfd).
 */
int roost_sealed_check(int fd);

/* Map sealed memory read-only. Returns 0; -EMSGSIZE (it has another size, or
 * pages are missing), -ENOMEM.
 */
int roost_sealed_map(int fd, size_t size_bytes, uint8_t **base);

#endif
