/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_PORT_DRIVER_H
#define ROOST_PMD_GLUE_PORT_DRIVER_H

/*
 * What DPDK's drivers do not tell through ethdev: arguments that fit us where
 * the user gave none, and which kernel interface shares the port. One const
 * table; a driver without a row works with what ethdev says.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/config.h>

/* Where the kernel stands, seen from the port. */
enum roost_driver_kernel {
	ROOST_KERNEL_NONE,   /* it knows nothing of the port */
	ROOST_KERNEL_SHARES, /* its stack sees the same frames, same MAC */
	ROOST_KERNEL_PEER,   /* it sits at the other end of the port */
};

/* How many queues a port has, each way. Of those that it has, all are to be
 * received from: who spreads the frames does not ask.
 */
enum roost_driver_queues {
	ROOST_QUEUES_ONE,   /* its peer knows of no more, or they do harm */
	ROOST_QUEUES_OFFER, /* as many as are wanted, of what ethdev says */
	ROOST_QUEUES_KEY,   /* as many as queues_key says, added where the user
			     * has not */
	ROOST_QUEUES_MEMBERS, /* what all ports below it offer */
};

struct roost_quirk;

struct roost_driver {
	/* Of the device's name: "net_memif"; of the driver's for PCI devices */
	const char *prefix;
	const char *alias;    /* another one, or NULL */
	const char *defaults; /* devargs as a user could write them, or NULL */
	/* Given one of these the user has thought of all: then no default of
	 * theirs is added. Keys, separated by commas, or NULL.
	 */
	const char *together;
	/* All keys of a driver that takes unknown ones in silence, or NULL. */
	const char *keys;
	const char *required; /* a key that has to be given, or NULL */
	enum roost_driver_kernel kernel;
	const char *iface_key;  /* names the kernel's interface; NULL: none */
	const char *remote_key; /* names one that SHARES; NULL: none */
	/* Each may name one whose frames the port takes too, though the kernel
	 * has another MAC there. Keys, separated by commas, or NULL.
	 */
	const char *sniffs_keys;
	/* What IP may put into one frame by these (full) devargs; NULL: the
	 * port's MTU says it.
	 */
	uint32_t (*ip_mtu_bytes)(const char *devargs);
	/* The bytes of an mbuf that a received frame may take; NULL: what we
	 * need ourselves is enough.
	 */
	uint32_t (*rx_room_bytes)(const char *devargs);
	/* More than this its buffers must not have; 0: any. */
	uint32_t rx_room_max_bytes;
	enum roost_driver_queues queues; /* PCI devices: OFFER, always */
	const char *queues_key;          /* of KEY */
	const char *one_queue_key;       /* given it, none are added; or NULL */
	/* Frames come in by any of several queues, by flow, without RSS. */
	bool spreads;
	bool rss_is_hollow; /* it offers RSS and does none */
	/* Takes only RoCEv2 from the kernel's interface, by an XDP program. */
	bool is_xdp;
	/* Capabilities that it cannot do without, where nobody has prepared
	 * what it opens: names, separated by commas; NULL: none.
	 */
	const char *rights;
	bool is_vhost; /* its link comes with its peer */
	bool is_memif;
	bool has_members; /* ports below it, see pmd_glue/port/members.h */
	/* What is put between the driver and its callees; NULL: nothing. */
	const struct roost_quirk *quirk;
	/* Names the socket to its peer; NULL: it has none. */
	const char *socket_key;
	/* With a value that is not 0 it is a client, or a server, of that
	 * socket; NULL: never mind.
	 */
	const char *client_key;
	const char *server_key;
	/* Its RX interrupt is the queue's descriptor and needs no enabling. */
	bool queue_is_rx_interrupt;
	/* It offers interrupts of received packets, or of its link, that do not
	 * come.
	 */
	bool rx_is_mute;
	bool link_is_mute;
	/* Lets no tagged frame in but of VLANs that it was told, whether it was
	 * asked to filter them or not.
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
 * Look for a key that the driver does not know. Returns 0, or -EINVAL with the
 * key in unknown and in advice what to do about it: the one probably meant, of
 * those that were not given, or else all that there are.
 */
int roost_driver_check_keys(const char *devargs,
			    char unknown[ROOST_DEVARG_KEY_MAX],
			    char advice[ROOST_DEVARG_ADVICE_MAX]);

/* Of the queues that the port is to have, by these devargs, for so many
 * workers; at least 1. The driver may have fewer.
 */
unsigned int roost_driver_nb_queues(const char *devargs,
				    unsigned int nb_workers);

/* Give key that value in devargs, whatever it had. Returns 0, -ENAMETOOLONG. */
int roost_devargs_set(char *devargs, size_t size, const char *key,
		      unsigned int value);

/* Does the port serve its socket, by these devargs? */
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
 * The kernel's interface behind the port and where the kernel stands.
 * Returns it; iface is empty for ROOST_KERNEL_NONE.
 */
enum roost_driver_kernel roost_driver_kernel(const char *devargs, char *iface,
					     size_t size);

#endif
