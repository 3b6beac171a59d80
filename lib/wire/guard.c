/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/wire/guard.h"

#ifdef __x86_64__

/* Both relative to the row's own addresses. */
struct row {
	int32_t instruction;
	int32_t fixup;
};

/* The linker's names for the ends of the section. */
extern const struct row __start_roost_guard[]
	__attribute__((visibility("hidden")));
extern const struct row __stop_roost_guard[]
	__attribute__((visibility("hidden")));

static uintptr_t place(const int32_t *field)
{
	return (uintptr_t)field + (uintptr_t)(intptr_t)*field;
}

bool roost_guard_fix(uintptr_t *pc)
{
	for (const struct row *row = __start_roost_guard;
	     row < __stop_roost_guard; row++) {
		if (place(&row->instruction) == *pc) {
			*pc = place(&row->fixup);
			return true;
		}
	}
	return false;
}

/* In one instruction, which stops where it faults. */
static bool copy_part(void *to, const void *from, size_t len_bytes)
{
	uint32_t fault = 0;

	__asm__ volatile(ROOST_GUARDED("rep movsb")
			 : "+D"(to), "+S"(from),
			   "+c"(len_bytes), [fault] "+r"(fault)
			 :
			 : "memory");
	return fault == 0;
}

#else

bool roost_guard_fix(uintptr_t *pc)
{
	(void)pc;
	return false;
}

static bool copy_part(void *to, const void *from, size_t len_bytes)
{
	memcpy(to, from, len_bytes);
	return true;
}

#endif

/* The kernel's copies within this process say EFAULT and raise no signal. Where
 * a filter of system calls forbids them, the signal it is.
 */
static bool read_part(void *to, const void *from, size_t len_bytes)
{
	const struct iovec ours = { to, len_bytes };
	const struct iovec theirs = { (void *)(uintptr_t)from, len_bytes };
	ssize_t n = process_vm_readv(getpid(), &ours, 1, &theirs, 1, 0);

	if (n < 0 && errno != EFAULT)
		return copy_part(to, from, len_bytes);
	return n == (ssize_t)len_bytes;
}

static bool write_part(void *to, const void *from, size_t len_bytes)
{
	const struct iovec ours = { (void *)(uintptr_t)from, len_bytes };
	const struct iovec theirs = { to, len_bytes };
	ssize_t n = process_vm_writev(getpid(), &ours, 1, &theirs, 1, 0);

	if (n < 0 && errno != EFAULT)
		return copy_part(to, from, len_bytes);
	return n == (ssize_t)len_bytes;
}

bool roost_guard_get(void *to, const void *from, size_t len_bytes)
{
	int error = errno;
	bool gone = false;

	while (len_bytes > 0) {
		size_t n = roost_guard_part(from, len_bytes);

		if (!read_part(to, from, n)) {
			memset(to, 0, n);
			gone = true;
		}
		to = (uint8_t *)to + n;
		from = (const uint8_t *)from + n;
		len_bytes -= n;
	}
	errno = error;
	return gone;
}

bool roost_guard_put(void *to, const void *from, size_t len_bytes)
{
	int error = errno;
	bool gone = false;

	while (len_bytes > 0) {
		size_t n = roost_guard_part(to, len_bytes);

		if (!write_part(to, from, n))
			gone = true;
		to = (uint8_t *)to + n;
		from = (const uint8_t *)from + n;
		len_bytes -= n;
	}
	errno = error;
	return gone;
}
