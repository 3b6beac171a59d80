/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CONFIG_H
#define ROOST_CONFIG_H

/*
 * What the user asked for, in one struct.
 *
 * It comes from three sources, and a later one wins: the file, the ROOST_*
 * environment, the launcher's options. One table (lib/config/key.h) says what
 * can be set; its rows serve all three. Each source is read into a struct of
 * its own and laid over what is below it, key by key, with one exception:
 *
 *   A source that says what a port is (devargs or link) brings the whole list
 *   of ports; the ports of the sources below it are gone. A source that gives
 *   only other port keys (ip, gw, mtu) changes these keys of the ports below.
 *
 * Below all sources lies one port, `link = default`. An environment variable
 * that is empty counts as not set.
 *
 * The launcher resolves all three and exports the result as environment, so
 * that the library inside the application, which calls roost_config_load(),
 * sees the same. doc/man/roost.conf.5 tells the user's side of this.
 *
 * A variable of ours that is unknown is no error: it may be somebody else's.
 * A line for the user is kept of it, which whoever loads the configuration
 * prints (roost_config_tell_unknown()), and its name is exported with the rest,
 * so that a program behind the launcher does not say it again.
 *
 * Owns no state: everything lives in the caller's struct, which is too big
 * (14 KiB) for the stack of a small thread. Reads the file and the environment,
 * the system's users where one is named, and nothing else, starts no EAL,
 * prints nothing unless it is told to. Whether a port exists, and what to do
 * without an address, is left to pmd_glue.
 *
 * Errors. A function that takes err leaves one line there when it fails, made
 * for the user: where, what, how to mend it; without the leading "roost: " and
 * without a newline. err has room for ROOST_CONFIG_ERR_MAX bytes.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/gid.h>

#define ROOST_PORTS_MAX 16
#define ROOST_DEVICE_PORTS_MAX 2
#define ROOST_WORKERS_MAX 16 /* of a device */
#define ROOST_PORT_IPS_MAX 16
#define ROOST_DEVARGS_MAX 256  /* bytes, terminating zero included */
#define ROOST_LINK_NAME_MAX 48 /* characters */
#define ROOST_PEER_USERS_MAX 16
#define ROOST_TWIN_NAME_MAX 15 /* characters; the kernel's limit */
#define ROOST_LABEL_MAX (ROOST_DEVARGS_MAX + 48)
#define ROOST_PORT_MTU_MIN_BYTES 576
#define ROOST_PORT_MTU_MAX_BYTES 9978
#define ROOST_CONFIG_ERR_MAX 512
/* Unknown variables: of which one line tells, and which names are kept. */
#define ROOST_CONFIG_UNKNOWN_MAX 4
#define ROOST_CONFIG_TOLD_MAX 256

enum roost_progress_mode {
	ROOST_PROGRESS_ADAPTIVE, /* default */
	ROOST_PROGRESS_DEDICATED,
};

/* An address and the subnet around it. */
struct roost_prefix {
	struct roost_gid gid;
	uint8_t len_bits; /* of its own family: 1..32 for IPv4, 1..128 */
};

struct roost_prefixes {
	unsigned int nb;
	struct roost_prefix v[ROOST_PORT_IPS_MAX];
};

struct roost_gateways {
	struct roost_gid v4; /* all zero: none */
	struct roost_gid v6; /* all zero: none */
};

/* Users of the system, by number. */
struct roost_users {
	unsigned int nb;
	uint32_t v[ROOST_PEER_USERS_MAX];
};

/*
 * One port. Each makes a device of its own, roost0, roost1, ... in their order,
 * but for those that are second: they are port 2 of the device before. Ports
 * with the same devargs or link, and each a VLAN of its own, share a DPDK port:
 * see roost_config_shared_port().
 */
struct roost_port_config {
	uint32_t set; /* keys that were given: bit 1 << enum roost_config_key */
	/* Either a DPDK device, or the name of a link between two processes;
	 * the other is the empty string.
	 */
	char devargs[ROOST_DEVARGS_MAX];
	char link[ROOST_LINK_NAME_MAX + 1];
	/* None on a link: see roost_config_link_ip(). None on a DPDK port: the
	 * user names none, and what the port has is pmd_glue's to find.
	 */
	struct roost_prefixes ips;
	struct roost_gateways gw;
	uint32_t mtu_bytes; /* IP MTU; 0: the port's own */
	/* The kernel's interface that stands for the port; empty: none. */
	char twin[ROOST_TWIN_NAME_MAX + 1];
	/* Of processes that may be its peer, besides the own user. */
	struct roost_users peer_users;
	uint16_t vlan_id; /* 0: none */
	bool second;      /* port 2 of the device of the port before it */
};

struct roost_config {
	uint32_t set; /* which keys of the process were given, as above */
	enum roost_progress_mode progress;
	uint32_t nb_workers; /* of each device; 0: not given, one */
	bool verbose;
	bool debug_no_icrc;
	/* Lines about unknown variables, as err has them. */
	unsigned int nb_unknown;      /* which of these there are */
	unsigned int nb_unknown_more; /* variables without a line */
	char unknown[ROOST_CONFIG_UNKNOWN_MAX][ROOST_CONFIG_ERR_MAX];
	/* Their names, and those that were told of before, by commas. */
	char told[ROOST_CONFIG_TOLD_MAX];
	unsigned int nb_ports; /* 1.. in a resolved configuration */
	struct roost_port_config ports[ROOST_PORTS_MAX];
};

/*
 * The configuration of this process: ROOST_CONFIG's file, if that is set, and
 * the environment. In a process with raised privileges (AT_SECURE) the
 * environment is somebody else's and is not read.
 * Thread: any; nobody may change the environment meanwhile.
 * Returns 0; -EINVAL (wrong content), -ENOMEM, or what opening and reading the
 * file gave. *c is undefined then.
 */
int roost_config_load(struct roost_config *c, char *err);

/* Print the lines about unknown variables on stderr. Thread: any. */
void roost_config_tell_unknown(const struct roost_config *c);

/* How many devices the ports of a resolved configuration make. Thread: any. */
unsigned int roost_config_nb_devices(const struct roost_config *c);
/*
 * The ports of a device: ports[*first] and those behind it.
 * Returns how many, 1 or 2; 0: there is no such device. Thread: any.
 */
unsigned int roost_config_device_ports(const struct roost_config *c,
				       unsigned int device,
				       unsigned int *first);

/*
 * What users call a port: `port0 (net_tap0)`, `link "lab"`, and its VLAN
 * behind that if it is to be named and there is one. Thread: any.
 */
void roost_config_label(const struct roost_config *c, unsigned int port,
			bool with_vlan, char label[ROOST_LABEL_MAX]);

#endif
