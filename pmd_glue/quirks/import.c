/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/quirks/import.h"

#include <elf.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/event/process.h"

struct replacing {
	const char *library;
	const struct roost_import *imports;
	size_t nb;
	int ret;
};

/* The tables of a library that describe its imports. */
struct tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	struct {
		const ElfW(Rela) * first;
		size_t bytes;
	} rela[2]; /* relocations of calls, and of data */
};

/* On most platforms the loader has made addresses in the dynamic section
 * absolute; on some they are relative to the library.
 */
static const void *absolute(const struct dl_phdr_info *info, ElfW(Addr) addr)
{
	return (const void *)(addr < info->dlpi_addr ? addr + info->dlpi_addr
						     : addr);
}

static void read_dynamic(const struct dl_phdr_info *info, const ElfW(Dyn) * dyn,
			 struct tables *t)
{
	memset(t, 0, sizeof(*t));
	for (; dyn->d_tag != DT_NULL; dyn++) {
		switch (dyn->d_tag) {
		case DT_SYMTAB:
			t->symbols = absolute(info, dyn->d_un.d_ptr);
			break;
		case DT_STRTAB:
			t->strings = absolute(info, dyn->d_un.d_ptr);
			break;
		case DT_JMPREL:
			t->rela[0].first = absolute(info, dyn->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			t->rela[0].bytes = dyn->d_un.d_val;
			break;
		case DT_RELA:
			t->rela[1].first = absolute(info, dyn->d_un.d_ptr);
			break;
		case DT_RELASZ:
			t->rela[1].bytes = dyn->d_un.d_val;
			break;
		default:
			break;
		}
	}
}

/* Is addr in the part of the library that the loader made read-only? */
static bool is_protected(const struct dl_phdr_info *info, uintptr_t addr)
{
	for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_GNU_RELRO && addr >= begin &&
		    addr < begin + ph->p_memsz)
			return true;
	}
	return false;
}

static int write_slot(const struct dl_phdr_info *info, void **slot,
		      void *function)
{
	uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	void *page = (void *)((uintptr_t)slot & ~(page_bytes - 1));
	bool protected = is_protected(info, (uintptr_t)slot);

	if (protected && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) < 0)
		return -EACCES;
	__atomic_store_n(slot, function, __ATOMIC_RELEASE);
	if (protected)
		mprotect(page, page_bytes, PROT_READ);
	return 0;
}

static void replace_one(const struct dl_phdr_info *info, const struct tables *t,
			const ElfW(Rela) * rela, struct replacing *r)
{
	/* r_info: the symbol's index above the type, which has 32 bits in ELF64
	 * and 8 in ELF32.
	 */
	size_t index = sizeof(rela->r_info) == 8 ? rela->r_info >> 32
						 : rela->r_info >> 8;
	const char *name = t->strings + t->symbols[index].st_name;
	void **slot = (void **)(info->dlpi_addr + rela->r_offset);

	for (size_t i = 0; i < r->nb && r->ret >= 0; i++) {
		if (index == 0 || strcmp(name, r->imports[i].symbol) != 0)
			continue;
		if (*slot != r->imports[i].function &&
		    write_slot(info, slot, r->imports[i].function) != 0)
			r->ret = -EACCES;
		else
			r->ret++;
	}
}

static int visit(struct dl_phdr_info *info, size_t size __attribute__((unused)),
		 void *arg)
{
	struct replacing *r = arg;
	struct tables t;

	if (!strstr(info->dlpi_name, r->library))
		return 0;
	for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			read_dynamic(info,
				     (const void *)(info->dlpi_addr +
						    info->dlpi_phdr[i].p_vaddr),
				     &t);
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0;
		     i < t.rela[k].bytes / sizeof(ElfW(Rela)) && r->ret >= 0;
		     i++)
			replace_one(info, &t, &t.rela[k].first[i], r);
	return r->ret < 0;
}

/* Walk the loaded libraries. fork(3) does not reinitialize the lock of the
 * loader's list in the child, so a fork waits for the end of the walk.
 */
static void walk(int (*look)(struct dl_phdr_info *, size_t, void *), void *arg)
{
	roost_process_fork_hold();
	dl_iterate_phdr(look, arg);
	roost_process_fork_release();
}

int roost_imports_replace(const char *library,
			  const struct roost_import *imports, size_t nb)
{
	struct replacing r = {
		.library = library,
		.imports = imports,
		.nb = nb,
	};

	walk(visit, &r);
	return r.ret;
}

struct finding {
	const char *library;
	size_t nb_before;    /* matching libraries to skip */
	char path[PATH_MAX]; /* "": there is none */
};

static int look(struct dl_phdr_info *info, size_t size __attribute__((unused)),
		void *arg)
{
	struct finding *f = arg;

	if (!strstr(info->dlpi_name, f->library) || f->nb_before-- > 0)
		return 0;
	snprintf(f->path, sizeof(f->path), "%s", info->dlpi_name);
	return 1;
}

/* Not to be called inside a walk, which holds the lock of the loader's list: a
 * thread that loads a library holds the loader's lock and waits for that one.
 */
static void *find_in(const char *path, const char *symbol)
{
	void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	void *found;

	if (!handle)
		return NULL;
	found = dlsym(handle, symbol);
	dlclose(handle); /* RTLD_NOLOAD: the library stays loaded */
	return found;
}

void *roost_import_find(const char *library, const char *symbol)
{
	struct finding f = { .library = library };
	void *found = NULL;

	for (size_t i = 0; !found; i++) {
		f.nb_before = i;
		f.path[0] = '\0';
		walk(look, &f);
		if (!f.path[0])
			break;
		found = find_in(f.path, symbol);
	}
	return found;
}
