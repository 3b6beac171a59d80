/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_QUIRKS_QUIRK_H
#define ROOST_PMD_GLUE_QUIRKS_QUIRK_H

/*
 * The faults of DPDK's drivers, and what Roost puts between a driver and the
 * functions that it calls because of them. This is the only header of the
 * room that other rooms include: a port has one struct roost_quirk_port, and
 * its row in pmd_glue/port/driver.c names the quirk. Each fault has a file,
 * which says what is wrong, in which versions of DPDK, what is known of it
 * upstream, and when the file can go.
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

/* One port of the driver. Stays where it is from open to close. */
struct roost_quirk_port {
	const struct roost_quirk *quirk; /* NULL: none, or not open */
	union {
		struct roost_intr_owner intr;
		struct roost_packet packet;
		struct roost_vhost vhost;
		struct roost_xdp xdp;
	};
};

/* A worker that calls the bursts of such a port; its owner's from add to del.
 */
struct roost_quirk_worker {
	const struct roost_quirk *quirk; /* of the port */
	struct roost_intr_owner owner;
};

struct roost_quirk_conf {
	char *devargs; /* complete; arguments may be added */
	size_t devargs_size;
	const char *socket; /* by which the port meets its peer, or "" */
	/* Who may be the peer. Stays where it is until close. */
	struct roost_peer_trust *trust;
};

/* A driver's. NULL members: it needs none of that. */
struct roost_quirk {
	const char *library; /* what put() needs loaded, for users */
	const char *missing; /* what to say where it is not */
	/* Stand before the driver, which EAL has loaded. Doing so again changes
	 * nothing. Returns 0, -ENOENT, -EACCES.
	 */
	int (*put)(void);
	/* Returns 0, or -errno; why: what the user is to know, in both cases;
	 * or empty.
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
	void (*hear_errors)(const struct roost_quirk_port *port);
	bool (*why)(const struct roost_quirk_port *port, const char *iface,
		    char *text, size_t size);
	/* To read the link may set the rings up again. */
	bool link_moves_rings;
	/* Its ports may be members of a bond: the quirk does without open. */
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
 * Before the driver is told of the port. quirk: of its driver, or NULL. Returns
 * 0; -ENODEV (the driver is not loaded as a library, or is of another kind) or
 * what open says: then nothing is open. why: cause and fix, or empty.
 */
int roost_quirk_open(struct roost_quirk_port *port,
		     const struct roost_quirk *quirk,
		     const struct roost_quirk_conf *conf, char *why,
		     size_t size);
/* The driver has closed the port. Also of a port that is not open. */
void roost_quirk_close(struct roost_quirk_port *port);

/* Around calls into the driver in which it may register, open or take
 * something. Not nested. Thread: the one that calls the driver.
 */
void roost_quirk_enter(struct roost_quirk_port *port);
void roost_quirk_leave(struct roost_quirk_port *port);

/* A worker begins to call the port's bursts, or has ended. */
void roost_quirk_add_worker(const struct roost_quirk_port *port,
			    struct roost_quirk_worker *w,
			    struct roost_worker *worker);
void roost_quirk_del_worker(struct roost_quirk_worker *w);
/* Whose turn takes in what a peer has left behind; NULL: nobody's. */
void roost_quirk_set_first_worker(struct roost_quirk_port *port,
				  struct roost_worker *worker);

/* Before the driver stops: hang up on the peer, which reads what was sent. */
void roost_quirk_hang_up(const struct roost_quirk_port *port);
/* Does the port talk to a peer, or try to, by a socket that the driver has? */
bool roost_quirk_is_busy(const struct roost_quirk_port *port);

/* The sockets of its queues, by queue, which the driver does not offer as RX
 * interrupts. Returns how many; -ENOTSUP: there is nothing of the kind, and the
 * driver's interrupts are as they should be. Thread: the holder of the turn.
 */
int roost_quirk_sockets(const struct roost_quirk_port *port, const int **fds);
/* Their pending errors are read, so that they are not readable for these.
 * Thread: the holder of the turn.
 */
void roost_quirk_hear_errors(const struct roost_quirk_port *port);

/* Cause and fix of what went wrong inside the driver, better than it tells.
 * Returns false: not known.
 */
bool roost_quirk_why(const struct roost_quirk_port *port, const char *iface,
		     char *text, size_t size);

/* A bond whose primary has lost its link, and is not told so, takes member. */
void roost_quirk_move_primary(uint16_t bond, uint16_t member);

/* Before rte_eal_init(), and after it: faults of EAL and of all drivers. after
 * returns 0, -EACCES: a thread that is cancelled inside a driver may stop its
 * device.
 */
void roost_quirks_before_eal(void);
int roost_quirks_after_eal(void);

#endif
