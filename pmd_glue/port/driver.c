/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/port/driver.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/config/nearest.h"
#include "lib/wire/frame.h"
#include "pmd_glue/kernel/pci.h"
#include "pmd_glue/quirks/quirk.h"

#define KEYS_MAX 16u
#define VALUE_MAX 64u

/* The number that key has in devargs, minus less bytes of overhead. */
static uint32_t number_less(const char *devargs, const char *key, uint32_t less)
{
	char value[VALUE_MAX];
	unsigned long v;

	if (roost_devargs_value(devargs, key, value, sizeof(value)))
		return 0;
	v = strtoul(value, NULL, 10);
	return v > less && v <= UINT16_MAX ? (uint32_t)v - less : 0;
}

/* A frame has to fit into one buffer: buffers could be chained, but the number
 * of the peer's buffers is not known.
 */
static uint32_t memif_ip_mtu(const char *devargs)
{
	return number_less(devargs, "bsize", ROOST_ETH_LEN + ROOST_VLAN_LEN);
}

/*
 * A slot of the receive ring holds struct tpacket2_hdr and sockaddr_ll, 80
 * bytes with the alignment of the IP header, and the frame from there on, the
 * Ethernet header standing in the last 14 of these bytes.
 */
static uint32_t packet_ip_mtu(const char *devargs)
{
	return number_less(devargs, "framesz", 80);
}

/* The driver refuses mbufs smaller than a slot without struct tpacket2_hdr. */
static uint32_t packet_rx_room(const char *devargs)
{
	return number_less(devargs, "framesz", 32);
}

/*
 * A buffer of AF_XDP is one page at most. The frame comes after the headers of
 * the mempool (64 bytes), of the mbuf and its headroom (320) and of XDP (256);
 * the pool makes the objects one cache line shorter, to spread them.
 */
#define XDP_FRAME_BYTES (4096u - 64u - 320u - 256u)
#define XDP_ROOM_BYTES (XDP_FRAME_BYTES + 256u)

static uint32_t xdp_ip_mtu(const char *devargs __attribute__((unused)))
{
	return XDP_FRAME_BYTES - ROOST_ETH_LEN - ROOST_VLAN_LEN;
}

/* DPDK 22.11 refuses a larger MTU for net_tap, whatever the MTU of its
 * interface, and drops longer packets on transmit.
 */
static uint32_t tap_ip_mtu(const char *devargs __attribute__((unused)))
{
	return 1500;
}

static const struct roost_driver drivers[] = {
	{
		.prefix = "net_memif",
		.defaults = "bsize=8192,rsize=10",
		.keys = "role,id,bsize,rsize,socket,socket-abstract,mac,"
			"zero-copy,secret",
		.ip_mtu_bytes = memif_ip_mtu,
		.quirk = &roost_quirk_memif,
		.socket_key = "socket",
		.is_memif = true,
	},
	{
		/* The driver assumes slot i at offset i * framesz of the ring:
		 * framesz must divide blocksz, and blocksz must be a multiple
		 * of the page size.
		 */
		.prefix = "net_af_packet",
		.alias = "eth_af_packet",
		.defaults = "framesz=4608,blocksz=36864,framecnt=512",
		.together = "framesz,blocksz,framecnt",
		.keys = "iface,qpairs,blocksz,framesz,framecnt,qdisc_bypass",
		.required = "iface",
		.kernel = ROOST_KERNEL_SHARES,
		.iface_key = "iface",
		.ip_mtu_bytes = packet_ip_mtu,
		.rx_room_bytes = packet_rx_room,
		.queues = ROOST_QUEUES_KEY,
		.queues_key = "qpairs",
		.spreads = true,
		.rights = "CAP_NET_RAW",
		.quirk = &roost_quirk_af_packet,
		.queue_is_rx_interrupt = true,
	},
	{
		.prefix = "net_af_xdp",
		.keys = "iface,start_queue,queue_count,shared_umem,xdp_prog,"
			"busy_budget,force_copy",
		.required = "iface",
		.kernel = ROOST_KERNEL_SHARES,
		.iface_key = "iface",
		.ip_mtu_bytes = xdp_ip_mtu,
		.rx_room_max_bytes = XDP_ROOM_BYTES,
		.queues = ROOST_QUEUES_KEY,
		.queues_key = "queue_count",
		.one_queue_key = "start_queue",
		.spreads = true,
		.quirk = &roost_quirk_af_xdp,
		.is_xdp = true,
		.queue_is_rx_interrupt = true,
		.rights = "CAP_NET_RAW,CAP_NET_ADMIN,CAP_BPF,CAP_PERFMON",
	},
	{
		.prefix = "net_pcap",
		.alias = "eth_pcap",
		.sniffs_keys = "iface,rx_iface,rx_iface_in,tx_iface",
	},
	{
		.prefix = "net_tap",
		.alias = "eth_tap",
		.keys = "iface,remote,mac,persist",
		.kernel = ROOST_KERNEL_PEER,
		.iface_key = "iface",
		.remote_key = "remote",
		.ip_mtu_bytes = tap_ip_mtu,
		.queues = ROOST_QUEUES_OFFER,
		.one_queue_key = "remote",
		.spreads = true,
		.rss_is_hollow = true,
		.quirk = &roost_quirk_tap,
		.queue_is_rx_interrupt = true,
		.rights = "CAP_NET_ADMIN",
	},
	{
		.prefix = "net_vhost",
		.alias = "eth_vhost",
		.keys = "iface,queues,client,iommu-support,postcopy-support,"
			"tso,linear-buffer,ext-buffer,legacy-ol-flags",
		.required = "iface",
		.socket_key = "iface",
		.client_key = "client",
		.quirk = &roost_quirk_vhost,
		.is_vhost = true,
	},
	{
		.prefix = "net_virtio_user",
		.alias = "virtio_user",
		.keys = "path,mac,queues,cq,queue_size,iface,server,mrg_rxbuf,"
			"in_order,packed_vq,speed,vectorized",
		.required = "path",
		.quirk = &roost_quirk_virtio_user,
		.socket_key = "path",
		.server_key = "server",
	},
	{
		.prefix = "net_bonding",
		.alias = "eth_bond",
		.required = "slave",
		.has_members = true,
		.queues = ROOST_QUEUES_MEMBERS,
		.quirk = &roost_quirk_bonding,
	},
	{
		/* The row of net_virtio_user is another one: its peers filter
		 * no VLANs. The device sends the frames of a flow to the queue
		 * from which the flow was last sent.
		 */
		.prefix = "net_virtio",
		.drops_tags = true,
		.spreads = true,
	},
	{
		/* The driver does not program the card's interrupt vectors. */
		.prefix = "net_e1000_em",
		.rx_is_mute = true,
		.link_is_mute = true,
	},
	{
		/* The driver reads a register that not every hypervisor sets.
		 */
		.prefix = "net_vmxnet3",
		.link_is_mute = true,
	},
	{ .prefix = "" },
};

static bool begins_with(const char *text, const char *prefix)
{
	return prefix && strncmp(text, prefix, strlen(prefix)) == 0;
}

const struct roost_driver *roost_driver_find(const char *devargs)
{
	const struct roost_driver *d = drivers;

	while (!begins_with(devargs, d->prefix) &&
	       !begins_with(devargs, d->alias))
		d++;
	return d;
}

/* ---- devargs: NAME[,KEY[=VALUE]]... ------------------------------------- */

void roost_devargs_name(const char *devargs, char *name, size_t size)
{
	snprintf(name, size, "%.*s", (int)strcspn(devargs, ","), devargs);
}

/* The next KEY[=VALUE] after p; NULL: there is none. */
static const char *next_arg(const char *p)
{
	p = strchr(p, ',');
	return p ? p + 1 : NULL;
}

static bool arg_is(const char *arg, const char *key, size_t key_len)
{
	return strcspn(arg, "=,") == key_len && strncmp(arg, key, key_len) == 0;
}

/* The first KEY[=VALUE] with that key; NULL: there is none. */
static const char *find_arg(const char *devargs, const char *key,
			    size_t key_len)
{
	const char *arg = next_arg(devargs);

	while (arg && !arg_is(arg, key, key_len))
		arg = next_arg(arg);
	return arg;
}

int roost_devargs_value(const char *devargs, const char *key, char *value,
			size_t size)
{
	const char *arg = find_arg(devargs, key, strlen(key));
	size_t len;

	if (!arg)
		return -ENOENT;
	arg += strlen(key);
	if (*arg == '=')
		arg++;
	len = strcspn(arg, ",");
	if (len >= size)
		return -ENAMETOOLONG;
	memcpy(value, arg, len);
	value[len] = '\0';
	return 0;
}

static bool has_key(const char *devargs, const char *key, size_t key_len)
{
	return find_arg(devargs, key, key_len) != NULL;
}

bool roost_devargs_has(const char *devargs, const char *key)
{
	return has_key(devargs, key, strlen(key));
}

/* Does the comma-separated list hold the key? */
static bool list_has(const char *list, const char *key, size_t key_len)
{
	while (list) {
		if (arg_is(list, key, key_len))
			return true;
		list = next_arg(list);
	}
	return false;
}

static bool has_any(const char *devargs, const char *list)
{
	for (; list; list = next_arg(list))
		if (has_key(devargs, list, strcspn(list, ",")))
			return true;
	return false;
}

/* Write advice about a key that the driver does not have. */
static void advise(const struct roost_driver *d, const char *devargs,
		   const char *given, char advice[ROOST_DEVARG_ADVICE_MAX])
{
	char names[KEYS_MAX][ROOST_DEVARG_KEY_MAX];
	const char *v[KEYS_MAX], *nearest;
	size_t nb = 0;

	for (const char *key = d->keys; key && nb < KEYS_MAX;
	     key = next_arg(key)) {
		roost_devargs_name(key, names[nb], sizeof(names[nb]));
		v[nb] = names[nb];
		/* Do not suggest a key that the user has given already. */
		nb += !roost_devargs_has(devargs, names[nb]);
	}
	nearest = roost_name_nearest(given, v, nb);
	if (nearest)
		snprintf(advice, ROOST_DEVARG_ADVICE_MAX,
			 "did you mean \"%s\"?", nearest);
	else
		snprintf(advice, ROOST_DEVARG_ADVICE_MAX, "it takes %s",
			 d->keys);
}

/* Remove arg and the comma before it. */
static void cut_out(char *devargs, const char *arg)
{
	size_t begin = (size_t)(arg - devargs) - 1;
	size_t end = begin + 1 + strcspn(arg, ",");

	memmove(devargs + begin, devargs + end, strlen(devargs + end) + 1);
}

int roost_devargs_set(char *devargs, size_t size, const char *key,
		      unsigned int value)
{
	const char *arg;
	size_t len;
	int more;

	/* The key may be there several times. */
	while ((arg = find_arg(devargs, key, strlen(key))) != NULL)
		cut_out(devargs, arg);
	len = strlen(devargs);
	more = snprintf(devargs + len, size - len, ",%s=%u", key, value);
	return (size_t)more < size - len ? 0 : -ENAMETOOLONG;
}

int roost_driver_check_keys(const char *devargs,
			    char unknown[ROOST_DEVARG_KEY_MAX],
			    char advice[ROOST_DEVARG_ADVICE_MAX])
{
	const struct roost_driver *d = roost_driver_find(devargs);
	const char *arg;
	size_t len;

	if (!d->keys)
		return 0;
	for (arg = next_arg(devargs); arg; arg = next_arg(arg)) {
		len = strcspn(arg, "=,");
		if (list_has(d->keys, arg, len))
			continue;
		snprintf(unknown, ROOST_DEVARG_KEY_MAX, "%.*s", (int)len, arg);
		advise(d, devargs, unknown, advice);
		return -EINVAL;
	}
	return 0;
}

int roost_driver_devargs(const char *devargs, char *full, size_t size)
{
	const struct roost_driver *d = roost_driver_find(devargs);
	size_t end = strlen(devargs);
	const char *arg;
	size_t len;

	if (end >= size)
		return -ENAMETOOLONG;
	memcpy(full, devargs, end + 1);
	if (has_any(devargs, d->together))
		return 0;
	for (arg = d->defaults; arg; arg = next_arg(arg)) {
		if (has_key(devargs, arg, strcspn(arg, "=,")))
			continue;
		len = strcspn(arg, ",");
		if (end + 1 + len >= size)
			return -ENAMETOOLONG;
		full[end] = ',';
		memcpy(full + end + 1, arg, len);
		end += 1 + len;
		full[end] = '\0';
	}
	return 0;
}

unsigned int roost_driver_nb_queues(const char *devargs,
				    unsigned int nb_workers)
{
	const struct roost_driver *d = roost_driver_find(devargs);
	char name[ROOST_PCI_NAME_MAX];
	unsigned int nb = 1;

	if (d->queues_key && roost_devargs_has(devargs, d->queues_key))
		nb = number_less(devargs, d->queues_key, 0);
	else if (d->one_queue_key &&
		 roost_devargs_has(devargs, d->one_queue_key))
		nb = 1;
	else if (d->queues != ROOST_QUEUES_ONE || roost_pci_is(devargs, name))
		nb = nb_workers;
	return nb < 1 ? 1 : nb;
}

bool roost_driver_serves(const char *devargs)
{
	const struct roost_driver *d = roost_driver_find(devargs);

	if (d->server_key)
		return number_less(devargs, d->server_key, 0) != 0;
	return d->client_key && number_less(devargs, d->client_key, 0) == 0;
}

enum roost_driver_kernel roost_driver_kernel(const char *devargs, char *iface,
					     size_t size)
{
	const struct roost_driver *d = roost_driver_find(devargs);

	iface[0] = '\0';
	if (d->remote_key &&
	    roost_devargs_value(devargs, d->remote_key, iface, size) == 0)
		return ROOST_KERNEL_SHARES;
	if (!d->iface_key ||
	    roost_devargs_value(devargs, d->iface_key, iface, size))
		return ROOST_KERNEL_NONE;
	return d->kernel;
}
