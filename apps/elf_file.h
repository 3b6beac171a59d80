/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ELF_FILE_H
#define ROOST_APPS_ELF_FILE_H

/*
 * The properties of an ELF file that decide from where its libraries are
 * loaded. Reads the program headers and the dynamic section only. The file is
 * not trusted: every offset, size and string is checked, and the amount that is
 * read is bounded. It is read and not mapped, because it may shrink meanwhile.
 *
 * Pure but for reading the descriptor. Thread: any.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define ROOST_ELF_RPATH_MAX 4096 /* bytes, terminating zero included */

struct roost_elf {
	uint8_t class;    /* ELFCLASS32, ELFCLASS64 */
	uint8_t data;     /* byte order: ELFDATA2LSB, ELFDATA2MSB */
	uint16_t machine; /* EM_...; in that byte order */
	/* The fields below are set only if the file has the launcher's class
	 * and byte order.
	 */
	char interp[PATH_MAX]; /* the dynamic linker; empty: it has none */
	bool is_linker;        /* it is a dynamic linker itself */
	/* DT_RPATH, if there is no DT_RUNPATH. Empty: none. */
	char rpath[ROOST_ELF_RPATH_MAX];
	/* The first of roost_elf_libraries that it needs (DT_NEEDED) by a name
	 * with a slash; empty: none.
	 */
	char needed_path[PATH_MAX];
};

/*
 * Read the file at fd. Returns 0; -ENOEXEC: it is no ELF file; -EINVAL: its
 * headers are not valid, or point outside of it. On error elf is undefined.
 */
int roost_elf_read(int fd, struct roost_elf *elf);

/* Has the file the class, byte order and machine of the launcher? */
bool roost_elf_is_native(const struct roost_elf *elf);

/* "AArch64, 64 bit", or "machine 250, 32 bit". Returns buf. */
const char *roost_elf_machine(const struct roost_elf *elf, char buf[48]);

/*
 * Find the first absolute path to one of roost_elf_libraries in the file's
 * first 64 MiB: the program may open the library by that path. path: PATH_MAX
 * bytes; empty: none.
 */
void roost_elf_find_path(int fd, char *path);

/* The libraries' names without their directory. NULL at the end. */
extern const char *const roost_elf_libraries[];

#endif
