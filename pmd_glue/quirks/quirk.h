/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_QUIRKS_QUIRK_H
#define ROOST_PMD_GLUE_QUIRKS_QUIRK_H

/*
 * Quirks: the faults of DPDK's drivers, and the gates that Roost puts between a
 * driver and the functions that it calls. Other rooms include this header of
 * the room only. A port has one struct roost_quirk_port, and the row of its
 * driver in pmd_glue/port/driver.c names the quirk. Each fault has a file,
 * which tells the fault, the versions of DPDK that have it, its state upstream,
 * and when the file can be removed.
 *
 * Thread: the control thread, unless a call says otherwise.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmd_glue/quirks/intr_gate.h"
#include "pmd_glue/quirks/packet_gate.h"
#include "pmd_glue/quirks/vhost_gate.h"
#include "pmd_glue/quirks/xdp_gate.h"

struct roost_peer_trust;
struct roost_quirk;
struct roost_worker;

/* The quirk of one port. Must not move from open to close. */
struct roost_quirk_port {
	const struct roost_quirk *quirk; /* NULL: none, or not open */
	union {
		struct roost_intr_owner intr;
		struct roost_packet packet;
		struct roost_vhost vhost;
		struct roost_xdp xdp;
	};
};

/* The quirk of a worker that calls the bursts of such a port. Must not move
 * from add to del.
 */
struct roost_quirk_worker {
	const struct roost_quirk *quirk; /* of the port */
	struct roost_intr_owner owner;
};

struct roost_quirk_conf {
	char *devargs; /* complete; arguments may be added */
	size_t devargs_size;
	const char *socket; /* the socket to the peer; "": none */
	/* The trusted peers. Must not move until close. */
	struct roost_peer_trust *trust;
};

/* The quirk of one driver. NULL members: not needed. */
struct roost_quirk {
	const char *library; /* the library that put() needs, for errors */
	const char *missing; /* the error if it is not loaded */
	/* Put the gate before the driver, after EAL has loaded it. A second
	 * call changes nothing. library: as above. Returns 0, -ENOENT, -EACCES.
	 */
	int (*put)(const char *library);
	/* Returns 0, or -errno. why: a text for the user, in both cases;
	 * empty: none.
	 */
	int (*open)(struct roost_quirk_port *port,
		    const struct roost_quirk_conf *conf, char *why,
		    size_t size);
	void (*close)(struct roost_quirk_port *port);
	void (*enter)(struct roost_quirk_port *port);
	void (*leave)(void);
	void (*add_worker)(struct roost_quirk_worker *w,
			   struct roost_worker *worker);
	void (*del_worker)(struct roost_quirk_worker *w);
	void (*set_first_worker)(struct roost_quirk_port *port,
				 struct roost_worker *worker);
	void (*hang_up)(const struct roost_quirk_port *port);
	bool (*is_busy)(const struct roost_quirk_port *port);
	int (*sockets)(const struct roost_quirk_port *port, const int **fds);
	void (*read_errors)(const struct roost_quirk_port *port);
	bool (*why)(const struct roost_quirk_port *port, const char *iface,
		    char *text, size_t size);
	/* A read of the link state may set up the rings again. */
	bool link_moves_rings;
	/* A port may be a member of a bond: the quirk needs no open. */
	bool may_be_member;
};

extern const struct roost_quirk roost_quirk_af_packet;
extern const struct roost_quirk roost_quirk_af_xdp;
extern const struct roost_quirk roost_quirk_bonding;
extern const struct roost_quirk roost_quirk_memif;
extern const struct roost_quirk roost_quirk_tap;
extern const struct roost_quirk roost_quirk_vhost;
extern const struct roost_quirk roost_quirk_virtio_user;

/*
 * Open the quirk, before the driver opens the port. quirk: of its driver; NULL:
 * none. Returns 0; -ENODEV (the driver is not loaded as a library, or does not
 * import the functions), or the error of quirk->open: then nothing is open.
 * why: cause and fix, or empty.
 */
int roost_quirk_open(struct roost_quirk_port *port,
		     const struct roost_quirk *quirk,
		     const struct roost_quirk_conf *conf, char *why,
		     size_t size);
/* After the driver has closed the port. Does nothing if the quirk is not open.
 */
void roost_quirk_close(struct roost_quirk_port *port);

/* Around calls into the driver in which it may register callbacks, open files
 * or take signals. Not nested. Thread: the one that calls the driver.
 */
void roost_quirk_enter(struct roost_quirk_port *port);
void roost_quirk_leave(struct roost_quirk_port *port);

/* Add a worker before it calls the port's bursts, remove it after that. */
void roost_quirk_add_worker(const struct roost_quirk_port *port,
			    struct roost_quirk_worker *w,
			    struct roost_worker *worker);
void roost_quirk_del_worker(struct roost_quirk_worker *w);
/* Set the worker that receives the frames in the rings when a peer leaves;
 * NULL: none.
 */
void roost_quirk_set_first_worker(struct roost_quirk_port *port,
				  struct roost_worker *worker);

/* Before the driver stops the port: shut the connection to the peer down. The
 * peer then reads the frames in the rings.
 */
void roost_quirk_hang_up(const struct roost_quirk_port *port);
/* Has the driver a socket that is connected, or connecting, to a peer? */
bool roost_quirk_is_busy(const struct roost_quirk_port *port);

/* Get the sockets of the queues, by queue, if the driver does not offer them as
 * RX interrupts. Returns their number; -ENOTSUP: use the driver's RX
 * interrupts. Thread: the holder of the turn.
 */
int roost_quirk_sockets(const struct roost_quirk_port *port, const int **fds);
/* Read the sockets' pending errors, which would keep the sockets readable.
 * Thread: the holder of the turn.
 */
void roost_quirk_read_errors(const struct roost_quirk_port *port);

/* Get cause and fix of an error inside the driver, if the gate knows them.
 * Returns false: not known.
 */
bool roost_quirk_why(const struct roost_quirk_port *port, const char *iface,
		     char *text, size_t size);

/* If the primary of the bond has no link, make member the primary. */
void roost_quirk_move_primary(uint16_t bond, uint16_t member);

/* The gates for faults of EAL and of all drivers: to be called before and after
 * rte_eal_init(). roost_quirks_after_eal() returns 0; -EACCES: a thread that is
 * cancelled inside a driver may stop its device.
 */
void roost_quirks_before_eal(void);
int roost_quirks_after_eal(void);

#endif
