/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint8_t fuzz_u8(struct fuzz_in *in)
{
	uint8_t byte = 0;

	fuzz_take(in, &byte, 1);
	return byte;
}

uint16_t fuzz_u16(struct fuzz_in *in)
{
	uint8_t low = fuzz_u8(in);

	return (uint16_t)(low | fuzz_u8(in) << 8);
}

uint32_t fuzz_u32(struct fuzz_in *in)
{
	uint32_t low = fuzz_u16(in);

	return low | (uint32_t)fuzz_u16(in) << 16;
}

uint64_t fuzz_u64(struct fuzz_in *in)
{
	uint64_t low = fuzz_u32(in);

	return low | (uint64_t)fuzz_u32(in) << 32;
}

uint32_t fuzz_below(struct fuzz_in *in, uint32_t limit)
{
	return (limit <= 256 ? fuzz_u8(in) : fuzz_u32(in)) % limit;
}

bool fuzz_is_quiet(int fd)
{
	struct pollfd poll_fd = { fd, POLLIN, 0 };
	int nb;

	do
		nb = poll(&poll_fd, 1, 0);
	while (nb < 0 && errno == EINTR);
	return nb == 0;
}

size_t fuzz_take(struct fuzz_in *in, void *to, size_t len_bytes)
{
	if (len_bytes > in->left_bytes)
		len_bytes = in->left_bytes;
	if (len_bytes == 0)
		return 0;
	memcpy(to, in->at, len_bytes);
	in->at += len_bytes;
	in->left_bytes -= len_bytes;
	return len_bytes;
}

struct fuzz_in fuzz_piece(struct fuzz_in *in)
{
	struct fuzz_in piece = { .left_bytes = fuzz_u16(in) };

	if (piece.left_bytes > in->left_bytes)
		piece.left_bytes = in->left_bytes;
	piece.at = in->at;
	in->at += piece.left_bytes;
	in->left_bytes -= piece.left_bytes;
	return piece;
}

void fuzz_fail(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
	abort();
}
