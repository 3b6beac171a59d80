/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_FUZZ_FUZZ_H
#define ROOST_TESTS_FUZZ_FUZZ_H

/*
 * What every fuzz target has: an input that is taken apart byte by byte, and
 * FUZZ_CHECK() for what must hold.
 *
 * A target is a function, LLVMFuzzerTestOneInput(), over one input. The same
 * input always does the same: state is put back before each, there is no clock,
 * no thread and no random number but those of the input. With meson's option
 * `fuzz` libFuzzer drives it; without, replay.c runs it once over each input of
 * tests/fuzz/corpus, which is a unit test.
 *
 * Thread: one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);
/* Once, before the first input. A target may do without it. */
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* What is left of an input. */
struct fuzz_in {
	const uint8_t *at;
	size_t left_bytes;
};

/* The next bytes as a number, lowest first; zeros behind the end. */
uint8_t fuzz_u8(struct fuzz_in *in);
uint16_t fuzz_u16(struct fuzz_in *in);
uint32_t fuzz_u32(struct fuzz_in *in);
uint64_t fuzz_u64(struct fuzz_in *in);
/* 0 .. limit - 1. */
uint32_t fuzz_below(struct fuzz_in *in, uint32_t limit);

/* Is there nothing to read from fd? libFuzzer's timer interrupts poll(2), with
 * a timeout of 0, too.
 */
bool fuzz_is_quiet(int fd);
/* Up to len_bytes of them; returns how many there were. */
size_t fuzz_take(struct fuzz_in *in, void *to, size_t len_bytes);
/* A piece with its length in two bytes in front, cut at the end. */
struct fuzz_in fuzz_piece(struct fuzz_in *in);

/* What must hold whatever comes; says what did not, and aborts. */
#define FUZZ_CHECK(what)                                                       \
	do {                                                                   \
		if (!(what))                                                   \
			fuzz_fail(__FILE__, __LINE__, #what);                  \
	} while (0)
_Noreturn void fuzz_fail(const char *file, int line, const char *what);

#endif
