/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CONFIG_H
#define ROOST_CONFIG_H

/*
 * The user's configuration, in one struct.
 *
 * The configuration has three sources, and a later one wins: the file, the
 * ROOST_* environment, the launcher's options. One table (lib/config/key.h)
 * lists all settings; its rows serve all three sources. Each source is read
 * into a struct of its own and laid over the sources below it, key by key, with
 * one exception:
 *
 *   A source that identifies ports (devargs, link or service) brings the whole
 *   list of ports; the ports of the sources below it are dropped. A source that
 * gives only other port keys (ip, gw, mtu) changes these keys of the ports
 * below.
 *
 * Below all sources there is one port, `service = default`. An empty
 * environment variable counts as not set.
 *
 * The launcher resolves all three sources and exports the result as
 * environment, so that the library inside the application, which calls
 * roost_config_load(), gets the same configuration. doc/man/roost.conf.5 is the
 * documentation for users.
 *
 * An unknown ROOST_* variable is no error, because it may belong to another
 * program. struct roost_config keeps a line for the user about it; the caller
 * of roost_config_load() prints these lines (roost_config_tell_unknown()). The
 * name of the variable is exported with the rest, so that a program behind the
 * launcher does not print the line again.
 *
 * Owns no state: everything lives in the caller's struct, which is too big (14
 * KiB) for the stack of a small thread. Reads the file, the environment and,
 * where a user is named, the system's user database; reads nothing else, starts
 * no EAL, and prints in roost_config_tell_unknown() only. Whether a port
 * exists, and what to do without an address, is left to pmd_glue.
 *
 * Errors. A function that takes err and fails leaves one line for the user
 * there: the place, the error and the fix, without the leading "roost: " and
 * without a newline. err has room for ROOST_CONFIG_ERR_MAX bytes.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/ecn.h>
#include <roost/qos.h>
#include <roost/gid.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ROOST_PORTS_MAX 16
#define ROOST_DEVICE_PORTS_MAX 2
#define ROOST_WORKERS_MAX 16 /* of a device */
#define ROOST_PORT_IPS_MAX 16
#define ROOST_DEVARGS_MAX 256     /* bytes, terminating zero included */
#define ROOST_LINK_NAME_MAX 48    /* characters */
#define ROOST_SERVICE_MAX 108     /* bytes, terminating zero included */
#define ROOST_FAILURE_DIR_MAX 256 /* bytes, terminating zero included */
#define ROOST_PEER_USERS_MAX 16
#define ROOST_TWIN_NAME_MAX 15 /* characters; the kernel's limit */
#define ROOST_PORT_MTU_MIN_BYTES 576
#define ROOST_PORT_MTU_MAX_BYTES 9978
#define ROOST_CONFIG_ERR_MAX 512
/* Unknown variables: how many get a line of their own, and the bytes for their
 * names.
 */
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
 * One port. Each port makes a device of its own, roost0, roost1, ... in the
 * order of the ports, except a port with `second` set: that one is port 2 of
 * the device before. Ports with the same devargs or link, and each a VLAN of
 * its own, share a DPDK port: see roost_config_shared_port().
 */
struct roost_port_config {
	uint64_t set; /* keys that were given: bit 1 << enum roost_config_key */
	/* One of these; the others are empty strings. */
	char devargs[ROOST_DEVARGS_MAX];    /* a DPDK device */
	char link[ROOST_LINK_NAME_MAX + 1]; /* a link of two processes */
	/* A port that a daemon shares: "hub", or the path of its socket, with
	 * ",N" for its port number N; "default": the system's daemon if there
	 * is one, else the hub. No other key of a port applies to it.
	 */
	char service[ROOST_SERVICE_MAX];
	/* On a link, none: see roost_config_link_ip(). On a DPDK port, none
	 * means that the user names no address, and pmd_glue finds the
	 * addresses that the port has.
	 */
	struct roost_prefixes ips;
	struct roost_gateways gw;
	uint32_t mtu_bytes; /* IP MTU; 0: the port's own */
	/* The kernel's interface that stands for the port; empty: none. */
	char twin[ROOST_TWIN_NAME_MAX + 1];
	/* Users whose processes may be the peer of a link, besides the user of
	 * this process.
	 */
	struct roost_users peer_users;
	uint16_t vlan_id; /* 0: none */
	bool second;      /* port 2 of the device of the port before it */
};

struct roost_config {
	uint64_t set; /* keys of the process that were given, as above */
	enum roost_progress_mode progress;
	uint32_t nb_workers; /* of each device; 0: not given, one */
	bool verbose;
	bool debug_no_icrc;
	bool log_warn; /* print a line when a QP fails by itself */
	bool selective_repeat;
	/* Of all ports; only the members whose keys are in set
	 * (roost_config_ecn() and _qos() in lib/config/resolve.h).
	 */
	struct roost_ecn ecn;
	struct roost_qos qos;
	/* Lines about unknown variables, in the form of err. */
	unsigned int nb_unknown;      /* lines in use */
	unsigned int nb_unknown_more; /* variables without a line */
	char unknown[ROOST_CONFIG_UNKNOWN_MAX][ROOST_CONFIG_ERR_MAX];
	/* Names, separated by commas: these variables, and those for which a
	 * process before this one printed the line.
	 */
	char told[ROOST_CONFIG_TOLD_MAX];
	unsigned int nb_ports; /* 1.. in a resolved configuration */
	struct roost_port_config ports[ROOST_PORTS_MAX];
	/* Each QP that fails by itself gets a file there; empty: none. */
	char failure_dir[ROOST_FAILURE_DIR_MAX];
};

/*
 * The configuration of this process: the file that ROOST_CONFIG names, if it is
 * set, and the environment. A process with raised privileges (AT_SECURE) does
 * not read the environment, because another user controls it.
 * Thread: any; no thread may change the environment meanwhile.
 * Returns 0; -EINVAL (wrong content), -ENOMEM, or the error of opening and
 * reading the file. *c is undefined after an error.
 */
int roost_config_load(struct roost_config *c, char *err);

/* Print the lines about unknown variables on stderr. Thread: any. */
void roost_config_tell_unknown(const struct roost_config *c);

/* The number of devices that the ports of a resolved configuration make.
 * Thread: any.
 */
unsigned int roost_config_nb_devices(const struct roost_config *c);

#ifdef __cplusplus
}
#endif

#endif
