/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_DRIVER_H
#define ROOST_PMD_GLUE_PORT_DRIVER_H

/*
 * Properties of DPDK's drivers that ethdev does not tell: default devargs, and
 * which kernel's interface shares the port. One const table; a driver without a
 * row works with ethdev's properties alone.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/config.h>

/* How the kernel relates to the port. */
enum roost_driver_kernel {
	ROOST_KERNEL_NONE,   /* the kernel does not use the port */
	ROOST_KERNEL_SHARES, /* the kernel's stack receives the same frames,
			      * with the same MAC */
	ROOST_KERNEL_PEER,   /* the kernel is the peer of the port */
};

/* How many queues a port has, each way. Roost has to receive from all queues of
 * the port: frames arrive in each of them.
 */
enum roost_driver_queues {
	ROOST_QUEUES_ONE,     /* the peer supports one, or more do harm */
	ROOST_QUEUES_OFFER,   /* as many as wanted, up to ethdev's limit */
	ROOST_QUEUES_KEY,     /* the value of queues_key, which is added if the
			       * user has not given it */
	ROOST_QUEUES_MEMBERS, /* as many as all ports below it offer */
};

struct roost_quirk;

struct roost_driver {
	/* Start of the device's name: "net_memif"; for PCI devices of the
	 * driver's name.
	 */
	const char *prefix;
	const char *alias;    /* another prefix; NULL: none */
	const char *defaults; /* devargs to add if not given; NULL: none */
	/* If the user gives one of these keys, no default is added for any of
	 * them. Separated by commas; NULL: none.
	 */
	const char *together;
	/* All keys, if the driver ignores unknown ones silently; else NULL. */
	const char *keys;
	const char *required; /* a key that the user must give; NULL: none */
	enum roost_driver_kernel kernel;
	const char *iface_key;  /* names the kernel's interface; NULL: none */
	const char *remote_key; /* names one with SHARES; NULL: none */
	/* Keys that name an interface whose frames the port receives, too,
	 * although the kernel has another MAC there. Separated by commas; NULL:
	 * none.
	 */
	const char *sniffs_keys;
	/* The largest IP MTU with these (full) devargs; NULL: the port's MTU.
	 */
	uint32_t (*ip_mtu_bytes)(const char *devargs);
	/* The data room that an mbuf of the receive ring needs; NULL: Roost's
	 * minimum is enough.
	 */
	uint32_t (*rx_room_bytes)(const char *devargs);
	/* The largest data room of an mbuf; 0: no limit. */
	uint32_t rx_room_max_bytes;
	enum roost_driver_queues queues; /* PCI devices: always OFFER */
	const char *queues_key;          /* with ROOST_QUEUES_KEY */
	const char *one_queue_key;       /* a key with which no queues are
					  * added; NULL: none */
	/* Frames arrive in any of several queues, by flow, without RSS. */
	bool spreads;
	bool rss_is_hollow; /* offers RSS, but does not spread frames */
	/* Receives only RoCEv2 from the kernel's interface (XDP program). */
	bool is_xdp;
	/* Capabilities that the driver needs, unless an administrator has
	 * prepared the files that it opens. Separated by commas; NULL: none.
	 */
	const char *rights;
	bool is_vhost; /* the link is up while there is a peer */
	bool is_memif;
	bool has_members; /* ports below it, see pmd_glue/port/members.h */
	/* The driver's faults and their gates; NULL: none. */
	const struct roost_quirk *quirk;
	/* Names the socket to its peer; NULL: no socket. */
	const char *socket_key;
	/* With a value other than 0, the port is a client, or a server, of that
	 * socket; NULL: no such key.
	 */
	const char *client_key;
	const char *server_key;
	/* Its RX interrupt is the queue's descriptor and needs no enabling. */
	bool queue_is_rx_interrupt;
	/* It offers RX or link interrupts, but does not raise them. */
	bool rx_is_mute;
	bool link_is_mute;
	/* Drops tagged frames but those of VLANs that it was told, even if VLAN
	 * filtering is off.
	 */
	bool drops_tags;
};

/* The row for devargs; never NULL. */
const struct roost_driver *roost_driver_find(const char *devargs);

/*
 * Copy devargs and add what the user left out. Returns 0, -ENAMETOOLONG.
 */
int roost_driver_devargs(const char *devargs, char *full, size_t size);

#define ROOST_DEVARG_KEY_MAX 64 /* bytes, terminating zero included */
#define ROOST_DEVARG_ADVICE_MAX 192

/*
 * Look for a key that the driver does not know. Returns 0; or -EINVAL with the
 * key in unknown, and in advice the key that was probably meant, of those not
 * given yet; or else a list of all keys.
 */
int roost_driver_check_keys(const char *devargs,
			    char unknown[ROOST_DEVARG_KEY_MAX],
			    char advice[ROOST_DEVARG_ADVICE_MAX]);

/* The number of queues that a port with these devargs should have for
 * nb_workers workers; at least 1. The driver may have fewer.
 */
unsigned int roost_driver_nb_queues(const char *devargs,
				    unsigned int nb_workers);

/* Set key to value in devargs, in place of any older value. Returns 0,
 * -ENAMETOOLONG.
 */
int roost_devargs_set(char *devargs, size_t size, const char *key,
		      unsigned int value);

/* Is a port with these devargs the server of its socket? */
bool roost_driver_serves(const char *devargs);

/* The name of the device: devargs up to the first comma. */
void roost_devargs_name(const char *devargs, char *name, size_t size);

/*
 * The value of key among devargs. Returns 0; -ENOENT, -ENAMETOOLONG.
 */
int roost_devargs_value(const char *devargs, const char *key, char *value,
			size_t size);

/* Is key among devargs, with a value or without? */
bool roost_devargs_has(const char *devargs, const char *key);

/*
 * Find the kernel's interface behind the port; iface is empty for
 * ROOST_KERNEL_NONE. Returns how the kernel relates to the port.
 */
enum roost_driver_kernel roost_driver_kernel(const char *devargs, char *iface,
					     size_t size);

#endif
