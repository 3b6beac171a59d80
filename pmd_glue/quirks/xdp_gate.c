/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/quirks/xdp_gate.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_mempool.h>

#include "lib/event/high_fd.h"
#include "pmd_glue/quirks/import.h"
#include "pmd_glue/quirks/xdp/program.h"

#define DRIVER "librte_net_af_xdp.so"

/* Types of the functions that the gate replaces; their layouts are not needed.
 */
struct bpf_object;
struct bpf_xdp_attach_opts;
struct xsk_umem;
struct xsk_umem_config;
struct xsk_socket_config;
struct xsk_ring_cons;
struct xsk_ring_prod;

static struct {
	int (*object_load)(struct bpf_object *obj);
	int (*map_update)(int fd, const void *key, const void *value,
			  uint64_t flags);
	int (*umem_create)(struct xsk_umem **umem, void *area,
			   uint64_t size_bytes, struct xsk_ring_prod *fill,
			   struct xsk_ring_cons *comp,
			   const struct xsk_umem_config *config);
	int (*socket_create)(struct xsk_socket **xsk, const char *iface,
			     uint32_t queue, struct xsk_umem *umem,
			     struct xsk_ring_cons *rx, struct xsk_ring_prod *tx,
			     const struct xsk_socket_config *config);
	void (*socket_delete)(struct xsk_socket *xsk);
} theirs;

/* The port whose driver this thread is inside; NULL: none. */
static _Thread_local struct roost_xdp *current;

/* ---- what the driver calls ----------------------------------------------- */

static int note(enum roost_xdp_step step, int ret)
{
	if (ret && current && current->failed == ROOST_XDP_ALL_WELL) {
		current->failed = step;
		current->error = ret == -1 ? errno : -ret;
	}
	return ret;
}

static int object_load(struct bpf_object *obj)
{
	return note(ROOST_XDP_LOAD, theirs.object_load(obj));
}

static int link_create(int ifindex, int program_fd, uint32_t mode)
{
	union bpf_attr attr = { 0 };

	attr.link_create.prog_fd = (uint32_t)program_fd;
	attr.link_create.target_ifindex = (uint32_t)ifindex;
	attr.link_create.attach_type = BPF_XDP;
	attr.link_create.flags = mode;
	return roost_high_fd(
		(int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)));
}

/*
 * Attach in the driver of the interface (native mode), or before the kernel's
 * stack (generic mode) if the driver cannot, also because of the MTU. flags and
 * opts ask not to replace another program; a link never does.
 */
static int attach(int ifindex, int program_fd,
		  uint32_t flags __attribute__((unused)),
		  const struct bpf_xdp_attach_opts *opts
		  __attribute__((unused)))
{
	int fd = link_create(ifindex, program_fd, 0);

	if (fd < 0 && errno != EBUSY && errno != EPERM)
		fd = link_create(ifindex, program_fd, XDP_FLAGS_SKB_MODE);
	if (fd < 0)
		return note(ROOST_XDP_ATTACH, -errno);
	if (!current) {
		close(fd);
		return -EINVAL;
	}
	current->link_fd = fd;
	return 0;
}

static int detach(int ifindex __attribute__((unused)),
		  uint32_t flags __attribute__((unused)),
		  const struct bpf_xdp_attach_opts *opts
		  __attribute__((unused)))
{
	if (current && current->link_fd >= 0) {
		close(current->link_fd);
		current->link_fd = -1;
	}
	return 0;
}

struct area {
	const void *begin;
	uint64_t size_bytes;
};

static void widen(struct rte_mempool *pool, void *arg)
{
	const struct rte_mempool_memhdr *mem = STAILQ_FIRST(&pool->mem_list);
	struct area *area = arg;
	const char *end;

	if (!mem ||
	    RTE_PTR_ALIGN_FLOOR(mem->addr, (size_t)sysconf(_SC_PAGESIZE)) !=
		    area->begin)
		return;
	end = (const char *)mem->addr + mem->len;
	area->size_bytes = RTE_MAX(area->size_bytes,
				   (uint64_t)(end - (const char *)area->begin));
}

/* The driver takes the number of packets times their size. But no packet of a
 * mempool crosses a page, so there is room between them, and the last packets
 * are behind that: the kernel drops what is sent from there.
 */
static uint64_t size_of(const void *begin, uint64_t size_bytes)
{
	struct area area = { begin, size_bytes };

	rte_mempool_walk(widen, &area);
	return area.size_bytes;
}

static int umem_create(struct xsk_umem **umem, void *area, uint64_t size_bytes,
		       struct xsk_ring_prod *fill, struct xsk_ring_cons *comp,
		       const struct xsk_umem_config *config)
{
	return note(ROOST_XDP_MEMORY,
		    theirs.umem_create(umem, area, size_of(area, size_bytes),
				       fill, comp, config));
}

static int socket_create(struct xsk_socket **xsk, const char *iface,
			 uint32_t queue, struct xsk_umem *umem,
			 struct xsk_ring_cons *rx, struct xsk_ring_prod *tx,
			 const struct xsk_socket_config *config)
{
	int ret = theirs.socket_create(xsk, iface, queue, umem, rx, tx, config);

	if (ret == 0 && current && current->nb_sockets < ROOST_XDP_QUEUES_MAX)
		current->sockets[current->nb_sockets] = *xsk;
	return note(ROOST_XDP_SOCKET, ret);
}

static void socket_delete(struct xsk_socket *xsk)
{
	for (unsigned int i = 0; current && i < current->nb_sockets; i++)
		if (current->sockets[i] == xsk)
			current->sockets[i] = NULL;
	theirs.socket_delete(xsk);
}

/* Record the descriptor: the driver puts each new socket into the XSK map of
 * the program.
 */
static int map_update(int fd, const void *key, const void *value,
		      uint64_t flags)
{
	int ret = theirs.map_update(fd, key, value, flags);

	if (ret == 0 && current && current->nb_sockets < ROOST_XDP_QUEUES_MAX)
		memcpy(&current->socket_fds[current->nb_sockets++], value,
		       sizeof(int));
	return note(ROOST_XDP_SOCKET, ret);
}

/* If an interface has no combined channels, report the number of pairs of RX
 * and TX channels: a socket uses the RX and the TX queue of its number.
 */
static void combine(struct ethtool_channels *channels)
{
	if (channels->max_combined != 0)
		return;
	channels->max_combined = RTE_MIN(channels->max_rx, channels->max_tx);
	channels->combined_count =
		RTE_MIN(channels->rx_count, channels->tx_count);
}

/* All ioctl(2) requests of the driver have a struct ifreq as the argument. */
static int ioctl_channels(int fd, unsigned long request, void *arg)
{
	const struct ifreq *ifr = arg;
	int ret;

	/* The driver sets promiscuous mode, which Roost never uses: with each
	 * start the driver would clear an administrator's setting.
	 */
	if (request == SIOCSIFFLAGS)
		return 0;
	ret = ioctl(fd, request, arg);
	if (ret == 0 && request == SIOCETHTOOL) {
		struct ethtool_channels *channels =
			(struct ethtool_channels *)(void *)ifr->ifr_data;

		if (channels->cmd == ETHTOOL_GCHANNELS)
			combine(channels);
	}
	return ret;
}

/* Wake the NIC without waiting: a poll(2) with a timeout of 0 is enough. */
static int poll_now(struct pollfd *fds, nfds_t nb,
		    int timeout_ms __attribute__((unused)))
{
	return poll(fds, nb, 0);
}

/* ---- before the driver --------------------------------------------------- */

static const struct roost_import imports[] = {
	{ "bpf_object__load", object_load },
	{ "bpf_xdp_attach", attach },
	{ "bpf_xdp_detach", detach },
	{ "bpf_map_update_elem", map_update },
	{ "xsk_umem__create", umem_create },
	{ "xsk_socket__create", socket_create },
	{ "xsk_socket__delete", socket_delete },
	{ "poll", poll_now },
	{ "ioctl", ioctl_channels },
};

#define IMPORTS (sizeof(imports) / sizeof(imports[0]))

static int be_silent(int level __attribute__((unused)),
		     const char *format __attribute__((unused)),
		     va_list args __attribute__((unused)))
{
	return 0;
}

static void silence(const char *setter)
{
	void *(*set)(int (*print)(int, const char *, va_list));

	*(void **)&set = roost_import_find(DRIVER, setter);
	if (set)
		set(be_silent);
}

/* Find the functions of libbpf and libxdp that the driver has loaded. */
static int find_theirs(void)
{
	*(void **)&theirs.object_load =
		roost_import_find(DRIVER, "bpf_object__load");
	*(void **)&theirs.map_update =
		roost_import_find(DRIVER, "bpf_map_update_elem");
	*(void **)&theirs.umem_create =
		roost_import_find(DRIVER, "xsk_umem__create");
	*(void **)&theirs.socket_create =
		roost_import_find(DRIVER, "xsk_socket__create");
	*(void **)&theirs.socket_delete =
		roost_import_find(DRIVER, "xsk_socket__delete");
	if (!theirs.object_load || !theirs.map_update || !theirs.umem_create ||
	    !theirs.socket_create || !theirs.socket_delete)
		return -ENOENT;
	silence("libbpf_set_print");
	silence("libxdp_set_print");
	return 0;
}

int roost_xdp_gate_put(const char *library __attribute__((unused)))
{
	int ret = find_theirs();

	if (ret)
		return ret;
	ret = roost_imports_replace(DRIVER, imports, IMPORTS);
	if (ret < 0)
		return ret;
	return ret < (int)IMPORTS ? -ENOENT : 0;
}

/* ---- one port ------------------------------------------------------------ */

int roost_xdp_open(struct roost_xdp *xdp)
{
	*xdp = (struct roost_xdp){ .program_fd = -1, .link_fd = -1 };
	if (sizeof(roost_xdp_program) <= 1)
		return -ENOENT;
	xdp->program_fd = roost_high_fd(memfd_create("roost_xdp", MFD_CLOEXEC));
	if (xdp->program_fd < 0)
		return -errno;
	if (write(xdp->program_fd, roost_xdp_program,
		  sizeof(roost_xdp_program)) ==
	    (ssize_t)sizeof(roost_xdp_program))
		return 0;
	roost_xdp_close(xdp);
	return -ENOMEM;
}

void roost_xdp_close(struct roost_xdp *xdp)
{
	for (unsigned int i = 0; i < xdp->nb_sockets; i++)
		if (xdp->sockets[i])
			theirs.socket_delete(xdp->sockets[i]);
	xdp->nb_sockets = 0;
	if (xdp->link_fd >= 0)
		close(xdp->link_fd);
	if (xdp->program_fd >= 0)
		close(xdp->program_fd);
	xdp->link_fd = -1;
	xdp->program_fd = -1;
}

void roost_xdp_gate_enter(struct roost_xdp *xdp)
{
	current = xdp;
}

void roost_xdp_gate_leave(void)
{
	current = NULL;
}

/* ---- why ----------------------------------------------------------------- */

#define RIGHTS                                                                 \
	"run as root or with CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF, "            \
	"CAP_PERFMON and CAP_IPC_LOCK"

static const struct {
	enum roost_xdp_step step;
	int error; /* 0: any other */
	const char *format;
} reasons[] = {
	{ ROOST_XDP_LOAD, EPERM,
	  "no permission to give the kernel its XDP program; " RIGHTS },
	{ ROOST_XDP_LOAD, EACCES,
	  "the kernel does not trust this process with its XDP "
	  "program; " RIGHTS },
	{ ROOST_XDP_LOAD, 0,
	  "the kernel does not take the XDP program: %s; "
	  "see xdp_prog, or dmesg" },
	{ ROOST_XDP_ATTACH, EBUSY,
	  "the interface has an XDP program already; stop the process that "
	  "uses it, or \"ip link set dev %s xdp off\"" },
	{ ROOST_XDP_ATTACH, EPERM,
	  "no permission to put an XDP program there; " RIGHTS },
	{ ROOST_XDP_ATTACH, EINVAL,
	  "the kernel has no BPF links for XDP; use Linux 5.9 or later" },
	{ ROOST_XDP_ATTACH, 0,
	  "the interface does not take an XDP program: %s; use net_af_packet "
	  "there" },
	{ ROOST_XDP_MEMORY, EAFNOSUPPORT,
	  "the kernel has no AF_XDP (CONFIG_XDP_SOCKETS); use net_af_packet" },
	{ ROOST_XDP_MEMORY, EPERM,
	  "no permission for AF_XDP sockets; " RIGHTS },
	{ ROOST_XDP_MEMORY, ENOBUFS,
	  "the kernel may not lock so much memory; raise \"ulimit -l\", "
	  "or " RIGHTS },
	{ ROOST_XDP_MEMORY, 0,
	  "the kernel does not take its packet memory: "
	  "%s; see dmesg" },
	{ ROOST_XDP_SOCKET, EBUSY,
	  "another AF_XDP socket has its queue; stop that process, or name "
	  "another queue with start_queue=N" },
	{ ROOST_XDP_SOCKET, EINVAL,
	  "it has no such queue; see \"ethtool -l %s\" for how many, and "
	  "start_queue and queue_count" },
	{ ROOST_XDP_SOCKET, E2BIG,
	  "queues beyond 1023 are not in the map of the XDP program; give "
	  "smaller start_queue and queue_count" },
	{ ROOST_XDP_SOCKET, 0, "no AF_XDP socket on its queue: %s; see dmesg" },
};

void roost_xdp_why(const struct roost_xdp *xdp, const char *iface, char *text,
		   size_t size)
{
	const char *format = reasons[0].format, *at;
	const char *with = iface;

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (reasons[i].step != xdp->failed ||
		    (reasons[i].error && reasons[i].error != xdp->error))
			continue;
		format = reasons[i].format;
		with = reasons[i].error ? iface : strerror(xdp->error);
		break;
	}
	at = strstr(format, "%s");
	if (at)
		snprintf(text, size, "%.*s%s%s", (int)(at - format), format,
			 with, at + 2);
	else
		snprintf(text, size, "%s", format);
}
