/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The n-th call fails: preloaded, in front of the C library and DPDK, for the
 * calls that Roost's own objects make. Calls inside DPDK are its own business:
 * it does not survive all of them.
 *
 * Also counted is what our objects have allocated since, and not freed.
 */

#include "tests/real/fault/inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

/* ---- whose call is it ---------------------------------------------------- */

static const char *const libraries[] = { "/libroost.so", "/libibverbs.so",
					 "/librdmacm.so" };
static struct {
	uintptr_t begin, end;
} ours[RTE_DIM(libraries)];

static int find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (size_t i = 0; i < RTE_DIM(libraries); i++)
		for (int k = 0; strstr(info->dlpi_name, libraries[i]) &&
				k < info->dlpi_phnum;
		     k++) {
			const ElfW(Phdr) *ph = &info->dlpi_phdr[k];

			if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
				continue;
			ours[i].begin = info->dlpi_addr + ph->p_vaddr;
			ours[i].end = ours[i].begin + ph->p_memsz;
		}
	return 0;
}

static bool is_ours(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;

	for (size_t i = 0; i < RTE_DIM(libraries); i++)
		if (at >= ours[i].begin && at < ours[i].end)
			return true;
	return false;
}

/* ---- which one fails ------------------------------------------------------
 */

static atomic_bool armed;
static atomic_uint nb_calls, fail_at;
static _Atomic(const char *) failed;

static bool fails(const void *caller, const char *name)
{
	if (!atomic_load_explicit(&armed, memory_order_relaxed) ||
	    !is_ours(caller) ||
	    atomic_fetch_add(&nb_calls, 1) + 1 != atomic_load(&fail_at))
		return false;
	atomic_store(&failed, name);
	return true;
}

/* ---- what is allocated ----------------------------------------------------
 */

#define SLOTS 65536u

static _Atomic(uintptr_t) slots[SLOTS]; /* addresses; 0: free, 1: was used */
static const void *callers[SLOTS];      /* who allocated it */

static void remember(const void *p, const void *caller)
{
	uint32_t i = (uint32_t)((uintptr_t)p >> 4) * 2654435761u;
	uintptr_t seen;

	if (!p || !atomic_load_explicit(&armed, memory_order_relaxed) ||
	    !is_ours(caller))
		return;
	for (unsigned int n = 0; n < SLOTS; n++, i++) {
		seen = atomic_load(&slots[i % SLOTS]);
		if (seen <= 1 &&
		    atomic_compare_exchange_strong(&slots[i % SLOTS], &seen,
						   (uintptr_t)p)) {
			callers[i % SLOTS] = caller;
			return;
		}
	}
}

static void forget(const void *p)
{
	uint32_t i = (uint32_t)((uintptr_t)p >> 4) * 2654435761u;
	uintptr_t seen;

	for (unsigned int n = 0; p && n < SLOTS; n++, i++) {
		seen = atomic_load_explicit(&slots[i % SLOTS],
					    memory_order_relaxed);
		if (seen == 0)
			return;
		if (seen == (uintptr_t)p) {
			atomic_store(&slots[i % SLOTS], 1);
			return;
		}
	}
}

void fault_arm(unsigned int n)
{
	dl_iterate_phdr(find_library, NULL);
	for (unsigned int i = 0; n == 0 && i < SLOTS; i++)
		atomic_store(&slots[i], 0);
	atomic_store(&failed, NULL);
	atomic_store(&nb_calls, 0);
	atomic_store(&fail_at, n);
	atomic_store(&armed, true);
}

unsigned int fault_disarm(void)
{
	atomic_store(&armed, false);
	return atomic_load(&nb_calls);
}

const char *fault_name(void)
{
	const char *name = atomic_load(&failed);

	return name ? name : "nothing";
}

unsigned int fault_live(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < SLOTS; i++)
		n += atomic_load(&slots[i]) > 1;
	return n;
}

void fault_tell(void)
{
	Dl_info info;

	for (unsigned int i = 0; i < SLOTS; i++)
		if (atomic_load(&slots[i]) > 1 && dladdr(callers[i], &info))
			fprintf(stderr, "fault_inject: allocated at %s+%#tx\n",
				info.dli_fname,
				(const char *)callers[i] -
					(const char *)info.dli_fbase);
}

/* For programs that know nothing of it. */
__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("FAULT_AT");

	if (at)
		fault_arm((unsigned int)strtoul(at, NULL, 10));
}

/* ---- memory ----------------------------------------------------------------
 */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t nb, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

#define CALLER __builtin_return_address(0)

static void *no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

static void *kept(void *p, const void *caller)
{
	remember(p, caller);
	return p;
}

void *malloc(size_t size)
{
	return fails(CALLER, "malloc") ? no_memory()
				       : kept(__libc_malloc(size), CALLER);
}

void *calloc(size_t nb, size_t size)
{
	return fails(CALLER, "calloc") ? no_memory()
				       : kept(__libc_calloc(nb, size), CALLER);
}

void *aligned_alloc(size_t align, size_t size)
{
	return fails(CALLER, "aligned_alloc")
		       ? no_memory()
		       : kept(__libc_memalign(align, size), CALLER);
}

static void *resize(void *p, size_t size, const void *caller)
{
	void *moved;

	forget(p);
	moved = __libc_realloc(p, size);
	remember(moved ? moved : p, caller);
	return moved;
}

void *realloc(void *p, size_t size)
{
	return fails(CALLER, "realloc") ? no_memory() : resize(p, size, CALLER);
}

void *reallocarray(void *p, size_t nb, size_t size)
{
	size_t bytes;

	if (fails(CALLER, "reallocarray") ||
	    __builtin_mul_overflow(nb, size, &bytes))
		return no_memory();
	return resize(p, bytes, CALLER);
}

void free(void *p)
{
	forget(p);
	__libc_free(p);
}

/* ---- everything else -------------------------------------------------------
 */

/* A function NAME(PARAMS) that returns TYPE, called with ARGS; how it fails. */
#define FAULT(type, name, params, args, error, result)                         \
	type name params                                                       \
	{                                                                      \
		static type(*real) params;                                     \
                                                                               \
		if (fails(CALLER, #name)) {                                    \
			error;                                                 \
			return result;                                         \
		}                                                              \
		if (!real)                                                     \
			*(void **)&real = dlsym(RTLD_NEXT, #name);             \
		return real args;                                              \
	}

#define FD(name, params, args)                                                 \
	FAULT(int, name, params, args, errno = EMFILE, -1)
#define DPDK(name, params, args, result)                                       \
	FAULT(int, name, params, args, (void)0, result)

FD(socket, (int domain, int type, int protocol), (domain, type, protocol))
FD(eventfd, (unsigned int value, int flags), (value, flags))
FD(epoll_create1, (int flags), (flags))
FD(memfd_create, (const char *name, unsigned int flags), (name, flags))
FD(accept4, (int fd, struct sockaddr *addr, socklen_t *len, int flags),
   (fd, addr, len, flags))
FAULT(FILE *, fopen64, (const char *path, const char *mode), (path, mode),
      errno = EMFILE, NULL)
FAULT(FILE *, fopencookie,
      (void *cookie, const char *mode, cookie_io_functions_t io),
      (cookie, mode, io), errno = ENOMEM, NULL)
FAULT(void *, mmap64,
      (void *addr, size_t n, int prot, int flags, int fd, off_t at),
      (addr, n, prot, flags, fd, at), errno = ENOMEM, MAP_FAILED)
FAULT(int, pthread_create,
      (pthread_t * thread, const pthread_attr_t *attr, void *(*run)(void *),
       void *arg),
      (thread, attr, run, arg), (void)0, EAGAIN)

int open64(const char *path, int flags, ...)
{
	static int (*real)(const char *, int, ...);
	va_list args;
	int mode;

	va_start(args, flags);
	mode = va_arg(args, int);
	va_end(args);
	if (fails(CALLER, "open64")) {
		errno = EMFILE;
		return -1;
	}
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "open64");
	return real(path, flags, mode);
}

DPDK(rte_eal_init, (int argc, char **argv), (argc, argv),
     (rte_errno = ENOMEM, -1))
DPDK(rte_dev_probe, (const char *devargs), (devargs), -ENOMEM)
DPDK(rte_eth_dev_configure,
     (uint16_t port, uint16_t rx, uint16_t tx, const struct rte_eth_conf *conf),
     (port, rx, tx, conf), -ENOMEM)
DPDK(rte_eth_rx_queue_setup,
     (uint16_t port, uint16_t queue, uint16_t nb, unsigned int socket,
      const struct rte_eth_rxconf *conf, struct rte_mempool *pool),
     (port, queue, nb, socket, conf, pool), -ENOMEM)
DPDK(rte_eth_tx_queue_setup,
     (uint16_t port, uint16_t queue, uint16_t nb, unsigned int socket,
      const struct rte_eth_txconf *conf),
     (port, queue, nb, socket, conf), -ENOMEM)
DPDK(rte_eth_dev_adjust_nb_rx_tx_desc,
     (uint16_t port, uint16_t *rx, uint16_t *tx), (port, rx, tx), -ENODEV)
DPDK(rte_eth_dev_start, (uint16_t port), (port), -EIO)
DPDK(rte_eth_dev_info_get, (uint16_t port, struct rte_eth_dev_info *info),
     (port, info), -ENODEV)
DPDK(rte_eth_dev_get_port_by_name, (const char *name, uint16_t *port),
     (name, port), -ENODEV)
DPDK(rte_eth_dev_owner_new, (uint64_t * id), (id), -EINVAL)
DPDK(rte_eth_dev_owner_set,
     (const uint16_t port, const struct rte_eth_dev_owner *owner),
     (port, owner), -EINVAL)
DPDK(rte_eth_dev_callback_register,
     (uint16_t port, enum rte_eth_event_type event, rte_eth_dev_cb_fn fn,
      void *arg),
     (port, event, fn, arg), -ENOMEM)
DPDK(rte_eth_dev_get_mtu, (uint16_t port, uint16_t *mtu), (port, mtu), -ENODEV)
DPDK(rte_eth_dev_set_mtu, (uint16_t port, uint16_t mtu), (port, mtu), -EIO)
DPDK(rte_eth_macaddr_get, (uint16_t port, struct rte_ether_addr *mac),
     (port, mac), -ENODEV)
DPDK(rte_eth_promiscuous_enable, (uint16_t port), (port), -EIO)
DPDK(rte_eth_allmulticast_enable, (uint16_t port), (port), -EIO)
DPDK(rte_eth_dev_set_mc_addr_list,
     (uint16_t port, struct rte_ether_addr *list, uint32_t nb),
     (port, list, nb), -ENOMEM)
DPDK(rte_eth_dev_rx_intr_enable, (uint16_t port, uint16_t queue), (port, queue),
     -EIO)
DPDK(rte_intr_callback_register,
     (const struct rte_intr_handle *handle, rte_intr_callback_fn fn, void *arg),
     (handle, fn, arg), -ENOMEM)
DPDK(rte_eal_alarm_set, (uint64_t us, rte_eal_alarm_callback fn, void *arg),
     (us, fn, arg), -ENOMEM)
DPDK(rte_thread_register, (void), (), (rte_errno = ENOMEM, -1))
FAULT(struct rte_mempool *, rte_pktmbuf_pool_create,
      (const char *name, unsigned int nb, unsigned int cache, uint16_t priv,
       uint16_t room, int socket),
      (name, nb, cache, priv, room, socket), rte_errno = ENOMEM, NULL)
