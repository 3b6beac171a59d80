/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The file that `roost run` is to start: what is read of an ELF file, and the
 * paths that any file has among its bytes. Input: the file.
 */

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "apps/elf_file.h"
#include "tests/fuzz/fuzz.h"

static int fd;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fd = memfd_create("elf", MFD_CLOEXEC);
	FUZZ_CHECK(fd >= 0);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static struct roost_elf elf;
	char path[PATH_MAX], machine[48];

	FUZZ_CHECK(ftruncate(fd, 0) == 0);
	FUZZ_CHECK(pwrite(fd, data, len_bytes, 0) == (ssize_t)len_bytes);
	if (roost_elf_read(fd, &elf) == 0) {
		FUZZ_CHECK(strlen(elf.interp) < sizeof(elf.interp));
		FUZZ_CHECK(strlen(elf.rpath) < sizeof(elf.rpath));
		FUZZ_CHECK(strlen(elf.needed_path) < sizeof(elf.needed_path));
		FUZZ_CHECK(strlen(roost_elf_machine(&elf, machine)) > 0);
	}
	roost_elf_find_path(fd, path);
	FUZZ_CHECK(path[0] == '\0' || path[0] == '/');
	return 0;
}
