/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_WIRE_GUARD_H
#define ROOST_WIRE_GUARD_H

/*
 * Loads and stores of an application's memory. A program may unmap memory that
 * it has registered, and a file may become shorter than its mapping: then an
 * access raises SIGSEGV or SIGBUS. Each access here is one instruction with a
 * row in a table, as the kernel has for its accesses of user memory: the
 * instruction, and the place where the thread goes on after a fault. There the
 * caller's `fault` becomes 1, and the rest of the copy goes on; what was loaded
 * is undefined, and what was to be stored is not. An access that does not fault
 * costs nothing more than a plain one.
 *
 * A copy whose fault is 1 in the end is made again by roost_guard_get() or
 * roost_guard_put(): page by page, with zeros for what cannot be read.
 *
 * Thread: any. On other processors than x86-64 these are plain accesses, and a
 * fault is the program's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The program counter of a signal handler for a fault. Returns whether it was
 * one of an access here; then *pc is where to go on. Safe in signal handlers.
 */
bool roost_guard_fix(uintptr_t *pc);

/* Copy from or to an application's memory, of which any page may be gone: there
 * the bytes are read as zeros, or discarded. Returns whether any is gone. Slow.
 */
bool roost_guard_get(void *to, const void *from, size_t len_bytes);
bool roost_guard_put(void *to, const void *from, size_t len_bytes);

/* The smallest pages: larger ones are gone as a whole, too. */
#define ROOST_GUARD_PAGE_BYTES 4096u

/* How many of these bytes are in the page where they begin. */
static inline size_t roost_guard_part(const void *at, size_t len_bytes)
{
	size_t left =
		ROOST_GUARD_PAGE_BYTES - (uintptr_t)at % ROOST_GUARD_PAGE_BYTES;

	return len_bytes < left ? len_bytes : left;
}

/* Of any type and alignment. */
typedef uint8_t roost_guard_u8;
typedef uint16_t roost_guard_u16 __attribute__((may_alias, aligned(1)));
typedef uint32_t roost_guard_u32 __attribute__((may_alias, aligned(1)));
typedef uint64_t roost_guard_u64 __attribute__((may_alias, aligned(1)));
typedef uint64_t roost_guard_v16
	__attribute__((vector_size(16), may_alias, aligned(1)));

#ifdef __x86_64__

/* A row for the instruction; %k[fault] must be an operand, "+r". */
#define ROOST_GUARDED(instruction)                                             \
	"1:\t" instruction "\n"                                                \
	"2:\n"                                                                 \
	"\t.pushsection .text.roost_guard, \"ax\", @progbits\n"                \
	"3:\tmovl $1, %k[fault]\n"                                             \
	"\tjmp 2b\n"                                                           \
	"\t.popsection\n"                                                      \
	"\t.pushsection roost_guard, \"a\", @progbits\n"                       \
	"\t.balign 4\n"                                                        \
	"\t.long 1b - .\n"                                                     \
	"\t.long 3b - .\n"                                                     \
	"\t.popsection\n"

#define ROOST_GUARD_LOAD(name, type, instruction, kind)                        \
	static inline type name(const void *from, uint32_t *fault)             \
	{                                                                      \
		type v;                                                        \
                                                                               \
		__asm__ volatile(ROOST_GUARDED(instruction)                    \
				 : [v] kind(v), [fault] "+r"(*fault)           \
				 : [m] "m"(*(const type *)from));              \
		return v;                                                      \
	}

/* No store is moved across another one. */
#define ROOST_GUARD_STORE(name, type, instruction, kind)                       \
	static inline void name(void *to, type v, uint32_t *fault)             \
	{                                                                      \
		__asm__ volatile(ROOST_GUARDED(instruction)                    \
				 : [m] "=m"(*(type *)to), [fault] "+r"(*fault) \
				 : [v] kind(v)                                 \
				 : "memory");                                  \
	}

#else

#define ROOST_GUARD_LOAD(name, type, instruction, kind)                        \
	static inline type name(const void *from, uint32_t *fault)             \
	{                                                                      \
		(void)fault;                                                   \
		return *(const type *)from;                                    \
	}

#define ROOST_GUARD_STORE(name, type, instruction, kind)                       \
	static inline void name(void *to, type v, uint32_t *fault)             \
	{                                                                      \
		(void)fault;                                                   \
		*(type *)to = v;                                               \
		__asm__ volatile("" ::: "memory");                             \
	}

#endif

ROOST_GUARD_LOAD(roost_guard_load1, roost_guard_u8, "movb %[m], %b[v]", "=q")
ROOST_GUARD_LOAD(roost_guard_load4, roost_guard_u32, "movl %[m], %k[v]", "=r")
ROOST_GUARD_LOAD(roost_guard_load8, roost_guard_u64, "movq %[m], %q[v]", "=r")
ROOST_GUARD_LOAD(roost_guard_load16, roost_guard_v16, "movdqu %[m], %[v]", "=x")
ROOST_GUARD_STORE(roost_guard_store1, roost_guard_u8, "movb %b[v], %[m]", "q")
ROOST_GUARD_STORE(roost_guard_store2, roost_guard_u16, "movw %w[v], %[m]", "r")
ROOST_GUARD_STORE(roost_guard_store4, roost_guard_u32, "movl %k[v], %[m]", "r")
ROOST_GUARD_STORE(roost_guard_store8, roost_guard_u64, "movq %q[v], %[m]", "r")
ROOST_GUARD_STORE(roost_guard_store16, roost_guard_v16, "movdqu %[v], %[m]",
		  "x")

/* ---- aligned words, atomically ------------------------------------------- */

/* Each returns the value before; undefined after a fault. */
static inline uint64_t roost_guard_add8(uint64_t *at, uint64_t add,
					uint32_t *fault)
{
#ifdef __x86_64__
	__asm__ volatile(ROOST_GUARDED("lock xaddq %[v], %[m]")
			 : [v] "+r"(add), [m] "+m"(*at), [fault] "+r"(*fault)
			 :
			 : "cc", "memory");
	return add;
#else
	(void)fault;
	return __atomic_fetch_add(at, add, __ATOMIC_SEQ_CST);
#endif
}

static inline uint64_t roost_guard_swap8_if(uint64_t *at, uint64_t compare,
					    uint64_t swap, uint32_t *fault)
{
#ifdef __x86_64__
	__asm__ volatile(ROOST_GUARDED("lock cmpxchgq %[v], %[m]")
			 : "+a"(compare), [m] "+m"(*at), [fault] "+r"(*fault)
			 : [v] "r"(swap)
			 : "cc", "memory");
#else
	(void)fault;
	__atomic_compare_exchange_n(at, &compare, swap, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
#endif
	return compare;
}

static inline uint64_t roost_guard_swap8(uint64_t *at, uint64_t swap,
					 uint32_t *fault)
{
#ifdef __x86_64__
	__asm__ volatile(ROOST_GUARDED("xchgq %[v], %[m]")
			 : [v] "+r"(swap), [m] "+m"(*at), [fault] "+r"(*fault)
			 :
			 : "memory");
	return swap;
#else
	(void)fault;
	return __atomic_exchange_n(at, swap, __ATOMIC_SEQ_CST);
#endif
}

/* ---- short copies out of an application's memory ------------------------- */

/* Less than 16 bytes. Where two loads overlap, the one that is stored last
 * counts.
 */
static inline void roost_guard_load_few(uint8_t *to, const uint8_t *from,
					size_t len_bytes, uint32_t *fault)
{
	uint64_t low8, high8;
	uint32_t low4, high4;

	if (len_bytes >= sizeof(low8)) {
		low8 = roost_guard_load8(from, fault);
		high8 = roost_guard_load8(from + len_bytes - sizeof(low8),
					  fault);
		memcpy(to, &low8, sizeof(low8));
		memcpy(to + len_bytes - sizeof(low8), &high8, sizeof(low8));
	} else if (len_bytes >= sizeof(low4)) {
		low4 = roost_guard_load4(from, fault);
		high4 = roost_guard_load4(from + len_bytes - sizeof(low4),
					  fault);
		memcpy(to, &low4, sizeof(low4));
		memcpy(to + len_bytes - sizeof(low4), &high4, sizeof(low4));
	} else if (len_bytes > 0) {
		to[0] = roost_guard_load1(from, fault);
		to[len_bytes / 2] =
			roost_guard_load1(from + len_bytes / 2, fault);
		to[len_bytes - 1] =
			roost_guard_load1(from + len_bytes - 1, fault);
	}
}

static inline void roost_guard_load_chunk(uint8_t *to, const uint8_t *from,
					  uint32_t *fault)
{
	roost_guard_v16 v = roost_guard_load16(from, fault);

	memcpy(to, &v, sizeof(v));
}

/* Copy from an application's memory. Returns whether any of it is gone. */
static inline bool roost_guard_copy(void *dst, const void *src,
				    size_t len_bytes)
{
	const uint8_t *from = src;
	uint8_t *to = dst;
	uint32_t fault = 0;
	size_t at = 0;

	if (len_bytes < 16) {
		roost_guard_load_few(to, from, len_bytes, &fault);
	} else {
		for (; at + 64 <= len_bytes; at += 64)
			for (size_t i = 0; i < 64; i += 16)
				roost_guard_load_chunk(to + at + i,
						       from + at + i, &fault);
		for (; at + 16 <= len_bytes; at += 16)
			roost_guard_load_chunk(to + at, from + at, &fault);
		at = len_bytes - 16;
		roost_guard_load_chunk(to + at, from + at, &fault);
	}
	if (__builtin_expect(fault != 0, 0))
		roost_guard_get(dst, src, len_bytes);
	return fault != 0;
}

#endif
