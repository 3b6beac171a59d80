/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_QUIRKS_XDP_GATE_H
#define ROOST_PMD_GLUE_QUIRKS_XDP_GATE_H

/*
 * The XDP gate: what net_af_xdp asks of libbpf and libxdp passes here
 * (pmd_glue/quirks/import.h), because as it asks
 *  - its XDP program would stay on the interface of a process that was killed,
 *    and the next one could not start. Here a BPF link holds it, which ends
 *    with the process, whatever ended it;
 *  - it would take any program off the interface, also somebody else's;
 *  - it tells nobody why it could not have a queue, and libbpf tells stderr;
 *  - its sockets, on which a thread can sleep, are known to nobody;
 *  - it takes an interface whose queues are counted by direction, as veth's
 *    are, for one that has a single queue;
 *  - it forgets all sockets but the first when it is closed;
 *  - it sleeps for a second inside a receive burst where a NIC wants a wakeup.
 *
 * The program is our own, in this library (pmd_glue/quirks/xdp/rocev2.bpf.c),
 * and reaches the driver as a file in memory.
 *
 * Versions: 22.11; later ones were not tried.
 * Upstream: none found.
 * Goes when: the driver attaches by a link, says what it could not have, and
 * offers its sockets as RX interrupts.
 *
 * Thread: the control thread; the last one, the holder of the turn.
 */

#include <stddef.h>
#include <stdint.h>

struct xsk_socket;

#define ROOST_XDP_QUEUES_MAX 16u

/* What the driver wanted and did not get. */
enum roost_xdp_step {
	ROOST_XDP_ALL_WELL,
	ROOST_XDP_LOAD,   /* the kernel does not take the program */
	ROOST_XDP_ATTACH, /* the interface does not take it */
	ROOST_XDP_MEMORY, /* packet memory for the kernel */
	ROOST_XDP_SOCKET, /* a queue of the interface */
	ROOST_XDP_STEPS,
};

/* One port. */
struct roost_xdp {
	int program_fd; /* the program as a file in memory; -1: none */
	int link_fd;    /* holds it on the interface; -1: it is not there */
	unsigned int nb_sockets;
	struct xsk_socket *sockets[ROOST_XDP_QUEUES_MAX];
	int socket_fds[ROOST_XDP_QUEUES_MAX]; /* readable: packets are there */
	/* The first that went wrong. */
	enum roost_xdp_step failed;
	int error; /* errno value */
};

/*
 * Put the gate before the driver, which EAL has loaded. Returns 0; -ENOENT (it
 * is not loaded, or works in another way), -EACCES.
 */
int roost_xdp_gate_put(void);

/* Returns 0; -ENOENT (it was built without a program), -ENOMEM, -EMFILE. */
int roost_xdp_open(struct roost_xdp *xdp);
/* The port is closed: takes the program off, and closes what is left. */
void roost_xdp_close(struct roost_xdp *xdp);

/* Around calls into the driver of this port. Not nested. */
void roost_xdp_gate_enter(struct roost_xdp *xdp);
void roost_xdp_gate_leave(void);

/* Cause and fix of what failed, for the one line to the user. */
void roost_xdp_why(const struct roost_xdp *xdp, const char *iface, char *text,
		   size_t size);

#endif
