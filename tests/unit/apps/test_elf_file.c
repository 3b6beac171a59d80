/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "apps/elf_file.h"
#include "tests/cmocka.h"

#define ADDR 0x400000u
#define INTERP "/lib64/ld-linux-x86-64.so.2"
#define LIBRARY "/opt/x/libibverbs.so.1"

/* A program: all that is looked at, one behind the other. */
struct image {
	ElfW(Ehdr) eh;
	ElfW(Phdr) ph[3]; /* LOAD, INTERP, DYNAMIC */
	char interp[sizeof(INTERP)];
	ElfW(Dyn) dyn[6];
	char strings[64];
};

enum string {
	RPATH = 1,
	NEEDED = 8,
	SONAME = 40
};

static struct image image;
static struct roost_elf elf;

static void make(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	memset(&image, 0, sizeof(image));
	/* The machine and the rest of the first header are this program's. */
	assert_int_equal(read(fd, &image.eh, sizeof(image.eh)),
			 sizeof(image.eh));
	close(fd);
	image.eh.e_phoff = offsetof(struct image, ph);
	image.eh.e_phnum = 3;
	image.ph[0] = (ElfW(Phdr)){ .p_type = PT_LOAD,
				    .p_vaddr = ADDR,
				    .p_filesz = sizeof(image) };
	image.ph[1] = (ElfW(Phdr)){ .p_type = PT_INTERP,
				    .p_offset = offsetof(struct image, interp),
				    .p_filesz = sizeof(INTERP) };
	image.ph[2] = (ElfW(Phdr)){ .p_type = PT_DYNAMIC,
				    .p_offset = offsetof(struct image, dyn),
				    .p_filesz = sizeof(image.dyn) };
	strcpy(image.interp, INTERP);
	strcpy(image.strings + RPATH, "$ORIG");
	strcpy(image.strings + NEEDED, LIBRARY);
	strcpy(image.strings + SONAME, "prog");
	image.dyn[0].d_tag = DT_NEEDED;
	image.dyn[0].d_un.d_val = NEEDED;
	image.dyn[1].d_tag = DT_RPATH;
	image.dyn[1].d_un.d_val = RPATH;
	image.dyn[2].d_tag = DT_STRTAB;
	image.dyn[2].d_un.d_ptr = ADDR + offsetof(struct image, strings);
	image.dyn[3].d_tag = DT_SONAME;
	image.dyn[3].d_un.d_val = SONAME;
}

static int read_bytes(const void *bytes, size_t len)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	int ret;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	ret = roost_elf_read(fd, &elf);
	close(fd);
	return ret;
}

static int read_image(void)
{
	return read_bytes(&image, sizeof(image));
}

static void read__a_program(void **state)
{
	make();
	assert_int_equal(read_image(), 0);
	assert_true(roost_elf_is_native(&elf));
	assert_string_equal(elf.interp, INTERP);
	assert_string_equal(elf.rpath, "$ORIG");
	assert_string_equal(elf.needed_path, LIBRARY);
	assert_false(elf.is_linker);
}

/* DT_RUNPATH takes the place of DT_RPATH, wherever it stands. */
static void read__runpath_wins(void **state)
{
	make();
	image.dyn[4].d_tag = DT_RUNPATH;
	image.dyn[4].d_un.d_val = RPATH;
	assert_int_equal(read_image(), 0);
	assert_string_equal(elf.rpath, "");
}

static void read__static_and_linker(void **state)
{
	make();
	image.ph[1].p_type = PT_NOTE;
	assert_int_equal(read_image(), 0);
	assert_string_equal(elf.interp, "");
	strcpy(image.strings + SONAME, "ld-linux-x86-64.so.2");
	assert_int_equal(read_image(), 0);
	assert_true(elf.is_linker);
	image.eh.e_phnum = 1;
	assert_int_equal(read_image(), 0);
	assert_false(elf.is_linker);
}

/* Of others, the first bytes say enough. */
static void read__of_another_machine(void **state)
{
	char text[48];

	make();
	image.eh.e_machine = EM_S390;
	assert_int_equal(read_image(), 0);
	assert_false(roost_elf_is_native(&elf));
	make();
	image.eh.e_ident[EI_CLASS] = ELFCLASS32;
	image.eh.e_machine = EM_386;
	image.eh.e_phoff = ~(ElfW(Off))0;
	assert_int_equal(read_image(), 0);
	assert_false(roost_elf_is_native(&elf));
	assert_string_equal(roost_elf_machine(&elf, text), "x86, 32 bit");
	make();
	image.eh.e_ident[EI_DATA] ^= ELFDATA2LSB ^ ELFDATA2MSB;
	image.eh.e_machine = __builtin_bswap16(EM_PPC64);
	assert_int_equal(read_image(), 0);
	assert_int_equal(elf.machine, EM_PPC64);
	make();
	image.eh.e_machine = 0xfafa;
	assert_int_equal(read_image(), 0);
	assert_string_equal(roost_elf_machine(&elf, text),
			    "machine 64250, 64 bit");
}

static void read__no_elf(void **state)
{
	int fds[2];

	assert_int_equal(read_bytes("", 0), -ENOEXEC);
	assert_int_equal(read_bytes("\177ELF", 4), -ENOEXEC);
	assert_int_equal(read_bytes("#!/bin/sh\n and more of it", 24),
			 -ENOEXEC);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(roost_elf_read(fds[0], &elf), -ENOEXEC);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(roost_elf_read(-1, &elf), -ENOEXEC);
}

/* ---- hostile files ---------------------------------------------------------
 */

#define FAR (~(ElfW(Off))0 - 7)

static void no_headers(void)
{
	image.eh.e_phnum = 0;
}
static void many_headers(void)
{
	image.eh.e_phnum = 65535;
}
static void small_headers(void)
{
	image.eh.e_phentsize = 1;
}
static void far_headers(void)
{
	image.eh.e_phoff = FAR;
}
static void headers_at_end(void)
{
	image.eh.e_phoff = sizeof(image) - 1;
}
static void far_interp(void)
{
	image.ph[1].p_offset = FAR;
}
static void empty_interp(void)
{
	image.ph[1].p_filesz = 0;
}
static void long_interp(void)
{
	image.ph[1].p_filesz = FAR;
}
static void open_interp(void)
{
	image.ph[1].p_filesz--;
}
static void no_interp(void)
{
	image.interp[0] = '\0';
}
static void far_dynamic(void)
{
	image.ph[2].p_offset = FAR;
}
static void long_dynamic(void)
{
	image.ph[2].p_filesz = FAR;
	memset(&image.dyn[4], 0x7f, 2 * sizeof(image.dyn[4]));
}
static void odd_dynamic(void)
{
	image.ph[2].p_filesz = sizeof(ElfW(Dyn)) - 1;
}
static void far_load(void)
{
	image.ph[0].p_offset = FAR;
}
static void wrapping_load(void)
{
	image.ph[0].p_vaddr = FAR;
}
static void far_table(void)
{
	image.dyn[2].d_un.d_ptr = FAR;
}
static void far_strings(void)
{
	image.dyn[0].d_un.d_val = image.dyn[1].d_un.d_val =
		image.dyn[3].d_un.d_val = FAR;
}
static void wrapping_string(void)
{
	image.dyn[1].d_un.d_val =
		(ElfW(Xword))0 - offsetof(struct image, strings);
}
static void endless_string(void)
{
	memset(image.strings, 'x', sizeof(image.strings));
}

static void read__hostile_files(void **state)
{
	static const struct {
		void (*spoil)(void);
		int ret;
	} rows[] = {
		{ no_headers, -EINVAL },     { many_headers, -EINVAL },
		{ small_headers, -EINVAL },  { far_headers, -EINVAL },
		{ headers_at_end, -EINVAL }, { far_interp, -EINVAL },
		{ empty_interp, -EINVAL },   { long_interp, -EINVAL },
		{ open_interp, -EINVAL },    { no_interp, -EINVAL },
		{ far_dynamic, -EINVAL },    { long_dynamic, -EINVAL },
		{ odd_dynamic, 0 },          { far_load, 0 },
		{ wrapping_load, 0 },        { far_table, 0 },
		{ far_strings, 0 },          { wrapping_string, 0 },
		{ endless_string, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make();
		rows[i].spoil();
		assert_int_equal(read_image(), rows[i].ret);
	}
	/* And none of these strings is taken for one. */
	make();
	far_strings();
	assert_int_equal(read_image(), 0);
	assert_string_equal(elf.rpath, "");
	assert_string_equal(elf.needed_path, "");
}

static void read__cut_anywhere(void **state)
{
	make();
	for (size_t len = 0; len < sizeof(image); len++)
		read_bytes(&image, len);
}

static void read__spoilt_anywhere(void **state)
{
	unsigned char copy[sizeof(image)];
	unsigned int seed = 14;

	make();
	for (unsigned int i = 0; i < 5000; i++) {
		memcpy(copy, &image, sizeof(copy));
		for (int k = rand_r(&seed) % 6; k >= 0; k--)
			copy[(size_t)rand_r(&seed) % sizeof(copy)] =
				(unsigned char)rand_r(&seed);
		if (read_bytes(copy, sizeof(copy)) != 0)
			continue;
		assert_in_range(strlen(elf.interp), 0, sizeof(elf.interp) - 1);
		assert_in_range(strlen(elf.rpath), 0, sizeof(elf.rpath) - 1);
		assert_in_range(strlen(elf.needed_path), 0,
				sizeof(elf.needed_path) - 1);
	}
}

/* ---- paths -----------------------------------------------------------------
 */

/* A file whose text stands behind so many other bytes. */
static const char *find_behind(size_t before, const char *text)
{
	static char path[PATH_MAX];
	int fd = memfd_create("text", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)before), 0);
	assert_int_equal(pwrite(fd, text, strlen(text), (off_t)before),
			 strlen(text));
	roost_elf_find_path(fd, path);
	close(fd);
	return path;
}

static void find_path__one_that_is_there(void **state)
{
	char dir[] = "/tmp/roost-elf-XXXXXX", library[64], text[128];

	assert_non_null(mkdtemp(dir));
	snprintf(library, sizeof(library), "%s/libibverbs.so.1", dir);
	close(open(library, O_CREAT | O_RDWR | O_CLOEXEC, 0600));
	/* In the middle, across the first MiB, and with quotes around it. */
	for (size_t before = (1u << 20) - 60; before < 1u << 20; before++)
		assert_string_equal(find_behind(before, library), library);
	snprintf(text, sizeof(text), "x = CDLL(\"%s\")\n", library);
	assert_string_equal(find_behind(0, text), library);
	assert_string_equal(find_behind(0, "libibverbs.so.1"), "");
	assert_string_equal(find_behind(0, "x/libibverbs.so.1"), "");
	assert_string_equal(find_behind(0, "/libibverbs.so.1"), "");
	assert_string_equal(find_behind(0, ""), "");
	unlink(library);
	assert_string_equal(find_behind(0, library), "");
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read__a_program),
		cmocka_unit_test(read__runpath_wins),
		cmocka_unit_test(read__static_and_linker),
		cmocka_unit_test(read__of_another_machine),
		cmocka_unit_test(read__no_elf),
		cmocka_unit_test(read__hostile_files),
		cmocka_unit_test(read__cut_anywhere),
		cmocka_unit_test(read__spoilt_anywhere),
		cmocka_unit_test(find_path__one_that_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
