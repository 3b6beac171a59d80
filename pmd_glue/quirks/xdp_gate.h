/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_QUIRKS_XDP_GATE_H
#define ROOST_PMD_GLUE_QUIRKS_XDP_GATE_H

/*
 * The XDP gate: between net_af_xdp and libbpf and libxdp
 * (pmd_glue/quirks/import.h). Without the gate the driver
 *  - leaves its XDP program on the interface when the process is killed, and
 *    the next process cannot start. The gate attaches the program by a BPF
 *    link, which ends with the process;
 *  - removes any XDP program from the interface, also that of another process;
 *  - does not tell why it could not get a queue, while libbpf prints on stderr;
 *  - does not offer its sockets, on which a thread could sleep;
 *  - finds a single queue on an interface that counts its queues by direction,
 *    such as veth;
 *  - closes only the first of its sockets when the port is closed;
 *  - sleeps up to a second inside a receive burst if a NIC needs a wakeup.
 *
 * The XDP program is Roost's (pmd_glue/quirks/xdp/rocev2.bpf.c); it is part of
 * libroost, and the driver gets it as a file in memory.
 *
 * Versions: 22.11; later ones were not tried.
 * Upstream: none found.
 * Goes when: the driver attaches its program by a BPF link, reports which step
 * failed, and offers its sockets as RX interrupts.
 *
 * Thread: the control thread; the last fault, the holder of the turn.
 */

#include <stddef.h>
#include <stdint.h>

struct xsk_socket;

#define ROOST_XDP_QUEUES_MAX 16u

/* The step of the driver that failed. */
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
	int link_fd;    /* BPF link to the interface; -1: not attached */
	unsigned int nb_sockets;
	struct xsk_socket *sockets[ROOST_XDP_QUEUES_MAX];
	int socket_fds[ROOST_XDP_QUEUES_MAX]; /* readable: there are packets */
	/* The first step that failed. */
	enum roost_xdp_step failed;
	int error; /* errno value */
};

/*
 * Put the gate before the driver, after EAL has loaded it. Returns 0; -ENOENT
 * (not loaded, or it does not import these functions), -EACCES.
 */
int roost_xdp_gate_put(const char *library);

/* Returns 0; -ENOENT (it was built without a program), -ENOMEM, -EMFILE. */
int roost_xdp_open(struct roost_xdp *xdp);
/* After the driver closed the port: detach the program, close the sockets that
 * are left.
 */
void roost_xdp_close(struct roost_xdp *xdp);

/* Around calls into the driver of this port. Not nested. */
void roost_xdp_gate_enter(struct roost_xdp *xdp);
void roost_xdp_gate_leave(void);

/* Write cause and fix of the failed step, for the line to the user. */
void roost_xdp_why(const struct roost_xdp *xdp, const char *iface, char *text,
		   size_t size);

#endif
