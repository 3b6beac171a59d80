/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ELF_FILE_H
#define ROOST_APPS_ELF_FILE_H

/*
 * What an ELF file says about where its libraries come from: program headers
 * and dynamic section, nothing else. The file is not trusted: every offset,
 * size and string is checked against it, and no more than a fixed amount is
 * read. It is read, not mapped, so that it may shrink meanwhile.
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
	/* The rest is known of files of the launcher's own class and byte order
	 * alone.
	 */
	char interp[PATH_MAX]; /* the dynamic linker; empty: it has none */
	bool is_linker;        /* it is a dynamic linker itself */
	/* DT_RPATH where it counts: without DT_RUNPATH. Empty: none. */
	char rpath[ROOST_ELF_RPATH_MAX];
	/* The first library of Roost's that it needs by a name with a slash;
	 * empty: none.
	 */
	char needed_path[PATH_MAX];
};

/*
 * Read the file at fd. Returns 0; -ENOEXEC: it is no ELF file; -EINVAL: one
 * whose headers point outside of it or make no sense; elf is undefined then.
 */
int roost_elf_read(int fd, struct roost_elf *elf);

/* Of what the launcher itself is. */
bool roost_elf_is_native(const struct roost_elf *elf);

/* "AArch64, 64 bit", or "machine 250, 32 bit". Returns buf. */
const char *roost_elf_machine(const struct roost_elf *elf, char buf[48]);

/*
 * The first absolute path to a library of Roost's in the file's first 64 MiB:
 * what it may open by that path. path: PATH_MAX bytes, empty where none is.
 */
void roost_elf_find_path(int fd, char *path);

/* The libraries' names without their directory. NULL at the end. */
extern const char *const roost_elf_libraries[];

#endif
