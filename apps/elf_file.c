/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#if __SIZEOF_POINTER__ == 8
#define CLASS ELFCLASS64
#else
#define CLASS ELFCLASS32
#endif
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define DATA ELFDATA2LSB
#else
#define DATA ELFDATA2MSB
#endif
#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#elif defined(__i386__)
#define MACHINE EM_386
#elif defined(__arm__)
#define MACHINE EM_ARM
#elif defined(__powerpc64__)
#define MACHINE EM_PPC64
#elif defined(__riscv)
#define MACHINE EM_RISCV
#elif defined(__loongarch__)
#define MACHINE EM_LOONGARCH
#else
#error "which machine is this?"
#endif

/* The limit of Linux. */
#define PHDRS_BYTES_MAX 65536u
#define LOADS_MAX 64u
#define DYNAMICS_MAX 8192u
#define CHUNK 64u
#define SCAN_BYTES_MAX (64u << 20)

const char *const roost_elf_libraries[] = { "libibverbs.so.1", "librdmacm.so.1",
					    NULL };

struct reader {
	int fd;
	uint64_t size_bytes;
	unsigned int nb_loads;
	ElfW(Phdr) loads[LOADS_MAX];
	ElfW(Phdr) dynamic; /* p_filesz 0: none */
};

/* Read exactly bytes bytes at offset at. Returns 0, -EINVAL. */
static int read_at(const struct reader *r, uint64_t at, void *to, size_t bytes)
{
	if (at > r->size_bytes || bytes > r->size_bytes - at)
		return -EINVAL;
	return pread(r->fd, to, bytes, (off_t)at) == (ssize_t)bytes ? 0
								    : -EINVAL;
}

/* Read a string at offset at; with its zero it must fit into size bytes. */
static int read_string(const struct reader *r, uint64_t at, char *to,
		       size_t size)
{
	ssize_t got;

	if (at >= r->size_bytes)
		return -EINVAL;
	got = pread(r->fd, to, MIN(size, r->size_bytes - at), (off_t)at);
	return got > 0 && memchr(to, '\0', (size_t)got) ? 0 : -EINVAL;
}

static int take_interp(const struct reader *r, const ElfW(Phdr) * ph,
		       struct roost_elf *elf)
{
	int ret;

	if (elf->interp[0])
		return 0; /* the first one counts */
	if (ph->p_filesz < 2 || ph->p_filesz > sizeof(elf->interp))
		return -EINVAL;
	ret = read_at(r, ph->p_offset, elf->interp, (size_t)ph->p_filesz);
	if (ret || elf->interp[ph->p_filesz - 1] != '\0' ||
	    elf->interp[0] == '\0')
		return -EINVAL;
	return 0;
}

static int read_headers(struct reader *r, const ElfW(Ehdr) * eh,
			struct roost_elf *elf)
{
	ElfW(Phdr) ph;
	int ret = 0;

	if (eh->e_phentsize != sizeof(ph) || eh->e_phnum == 0 ||
	    eh->e_phnum > PHDRS_BYTES_MAX / sizeof(ph))
		return -EINVAL;
	for (unsigned int i = 0; !ret && i < eh->e_phnum; i++) {
		if (eh->e_phoff > r->size_bytes)
			return -EINVAL;
		ret = read_at(r, eh->e_phoff + i * sizeof(ph), &ph, sizeof(ph));
		if (ret)
			return ret;
		if (ph.p_type == PT_INTERP)
			ret = take_interp(r, &ph, elf);
		else if (ph.p_type == PT_DYNAMIC)
			r->dynamic = ph;
		else if (ph.p_type == PT_LOAD && r->nb_loads < LOADS_MAX)
			r->loads[r->nb_loads++] = ph;
	}
	return ret;
}

/* Find the file offset of an address. Returns false: it is not in the file. */
static bool find_offset(const struct reader *r, uint64_t addr, uint64_t *at)
{
	for (unsigned int i = 0; i < r->nb_loads; i++) {
		const ElfW(Phdr) *ph = &r->loads[i];

		if (addr < ph->p_vaddr || addr - ph->p_vaddr >= ph->p_filesz)
			continue;
		*at = (uint64_t)ph->p_offset + (addr - ph->p_vaddr);
		return *at >= ph->p_offset && *at < r->size_bytes;
	}
	return false;
}

/* A function that is called for each entry of the dynamic section. */
typedef void take_entry(const struct reader *r, const ElfW(Dyn) * dyn,
			void *arg);

static int each_entry(const struct reader *r, take_entry *take, void *arg)
{
	const uint64_t nb = r->dynamic.p_filesz / sizeof(ElfW(Dyn));
	ElfW(Dyn) dyns[CHUNK];

	for (uint64_t i = 0; i < MIN(nb, DYNAMICS_MAX); i += CHUNK) {
		const size_t n = (size_t)MIN(nb - i, CHUNK);

		if (r->dynamic.p_offset > r->size_bytes ||
		    read_at(r, r->dynamic.p_offset + i * sizeof(dyns[0]), dyns,
			    n * sizeof(dyns[0])))
			return -EINVAL;
		for (size_t k = 0; k < n; k++) {
			if (dyns[k].d_tag == DT_NULL)
				return 0;
			take(r, &dyns[k], arg);
		}
	}
	return 0;
}

struct dynamic {
	struct roost_elf *elf;
	uint64_t strings; /* offset in the file; 0: none */
	bool has_runpath;
};

static void take_table(const struct reader *r, const ElfW(Dyn) * dyn, void *arg)
{
	struct dynamic *d = arg;

	if (dyn->d_tag == DT_STRTAB &&
	    !find_offset(r, dyn->d_un.d_ptr, &d->strings))
		d->strings = 0;
	d->has_runpath |= dyn->d_tag == DT_RUNPATH;
}

static bool is_library(const char *name)
{
	const char *slash = strrchr(name, '/');

	for (size_t i = 0; roost_elf_libraries[i]; i++)
		if (strcmp(slash ? slash + 1 : name, roost_elf_libraries[i]) ==
		    0)
			return true;
	return false;
}

static void take_string(const struct reader *r, const ElfW(Dyn) * dyn,
			void *arg)
{
	struct dynamic *d = arg;
	char text[ROOST_ELF_RPATH_MAX];

	if (dyn->d_tag != DT_NEEDED && dyn->d_tag != DT_SONAME &&
	    (dyn->d_tag != DT_RPATH || d->has_runpath))
		return;
	/* The offset is outside of the file. */
	if (dyn->d_un.d_val >= r->size_bytes ||
	    read_string(r, d->strings + dyn->d_un.d_val, text, sizeof(text)))
		return;
	if (dyn->d_tag == DT_RPATH)
		strcpy(d->elf->rpath, text);
	else if (dyn->d_tag == DT_SONAME)
		d->elf->is_linker = strncmp(text, "ld-", 3) == 0 ||
				    strncmp(text, "ld.so", 5) == 0;
	else if (!d->elf->needed_path[0] && strchr(text, '/') &&
		 is_library(text))
		strcpy(d->elf->needed_path, text);
}

static int read_dynamic(const struct reader *r, struct roost_elf *elf)
{
	struct dynamic d = { .elf = elf };
	int ret = each_entry(r, take_table, &d);

	if (ret || d.strings == 0)
		return ret;
	return each_entry(r, take_string, &d);
}

int roost_elf_read(int fd, struct roost_elf *elf)
{
	struct reader r = { .fd = fd };
	ElfW(Ehdr) eh;
	struct stat st;
	int ret;

	memset(elf, 0, sizeof(*elf));
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < 0)
		return -ENOEXEC;
	r.size_bytes = (uint64_t)st.st_size;
	/* Up to e_machine, 32-bit and 64-bit headers are the same. */
	if (read_at(&r, 0, &eh, offsetof(ElfW(Ehdr), e_version)) != 0 ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	elf->class = eh.e_ident[EI_CLASS];
	elf->data = eh.e_ident[EI_DATA];
	elf->machine = elf->data == DATA ? eh.e_machine
					 : __builtin_bswap16(eh.e_machine);
	if (elf->class != CLASS || elf->data != DATA)
		return 0;
	ret = read_at(&r, 0, &eh, sizeof(eh));
	if (!ret)
		ret = read_headers(&r, &eh, elf);
	if (!ret && r.dynamic.p_filesz != 0)
		ret = read_dynamic(&r, elf);
	return ret;
}

bool roost_elf_is_native(const struct roost_elf *elf)
{
	return elf->class == CLASS && elf->data == DATA &&
	       elf->machine == MACHINE;
}

const char *roost_elf_machine(const struct roost_elf *elf, char buf[48])
{
	static const struct {
		uint16_t machine;
		const char *name;
	} names[] = {
		{ EM_386, "x86" },
		{ EM_X86_64, "x86-64" },
		{ EM_ARM, "ARM" },
		{ EM_AARCH64, "AArch64" },
		{ EM_PPC, "PowerPC" },
		{ EM_PPC64, "PowerPC" },
		{ EM_RISCV, "RISC-V" },
		{ EM_S390, "s390" },
		{ EM_MIPS, "MIPS" },
		{ EM_SPARCV9, "SPARC" },
		{ EM_LOONGARCH, "LoongArch" },
	};
	const int bits = elf->class == ELFCLASS32 ? 32 : 64;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].machine == elf->machine) {
			snprintf(buf, 48, "%s, %d bit", names[i].name, bits);
			return buf;
		}
	snprintf(buf, 48, "machine %u, %d bit", elf->machine, bits);
	return buf;
}

/* ---- paths among its bytes ------------------------------------------------
 */

/* Take the path that has the library's name at p and starts after begin. */
static bool take_path(const char *begin, const char *p, const char *end,
		      char *path)
{
	const char *from = p, *to = p;
	size_t len;

	while (from > begin && from[-1] > ' ' && from[-1] < 0x7f &&
	       !strchr("\"'`=(,;:<>", from[-1]))
		from--;
	while (to < end &&
	       (*to == '.' || *to == '_' || *to == '/' ||
		(*to >= '0' && *to <= '9') || (*to >= 'a' && *to <= 'z')))
		to++;
	len = (size_t)(to - from);
	if (*from != '/' || len >= PATH_MAX)
		return false;
	memcpy(path, from, len);
	path[len] = '\0';
	return access(path, F_OK) == 0;
}

/* Find a path with one of these names whose file exists. */
static bool find_path(const char *bytes, size_t len, char *path)
{
	static const char *const names[] = { "/libibverbs.so",
					     "/librdmacm.so" };

	for (size_t i = 0; i < 2; i++) {
		const char *at = bytes, *end = bytes + len;

		while ((at = memmem(at, (size_t)(end - at), names[i],
				    strlen(names[i])))) {
			if (take_path(bytes, at, end, path))
				return true;
			at++;
		}
	}
	return false;
}

void roost_elf_find_path(int fd, char *path)
{
	static char bytes[1 << 20];
	/* Bytes of the last piece that may begin a path across two pieces. */
	size_t kept = 0;
	ssize_t got;

	path[0] = '\0';
	for (off_t at = 0; at < SCAN_BYTES_MAX; at += got) {
		got = pread(fd, bytes + kept, sizeof(bytes) - kept, at);
		if (got <= 0)
			return;
		kept += (size_t)got;
		if (find_path(bytes, kept, path))
			return;
		path[0] = '\0';
		if (kept > PATH_MAX) {
			memmove(bytes, bytes + kept - PATH_MAX, PATH_MAX);
			kept = PATH_MAX;
		}
	}
}
