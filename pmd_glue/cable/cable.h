/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CABLE_CABLE_H
#define ROOST_PMD_GLUE_CABLE_CABLE_H

/*
 * One end of a link, as a port: it claims the end (link.h), finds the process
 * that has the other end, and moves frames over a channel (pmd_glue/channel).
 * It needs no EAL, huge page or privilege, and it is private to this process: a
 * forked child may open an end of its own.
 *
 * Peers come and go. End 0 accepts connections at its claim, and end 1 connects
 * there: at start, when something connects to its own claim (end 0 does so at
 * start, and closes), and now and then while it has no peer. When the peer has
 * ended or died, its socket says so at once; the frames that it sent before are
 * received, and the cable waits for the next peer. A peer that breaks the rules
 * is reported and cut off likewise.
 *
 * The ends may have different MTUs. Each sends frames up to its own MTU, and
 * receives what the other one sends.
 *
 * Thread: the control thread, unless a call says otherwise.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct rte_mbuf;
struct rte_mempool;
struct roost_cable;

/* The IP MTU where none is configured; a path MTU of 4096 fits. */
#define ROOST_CABLE_IP_MTU_BYTES 4200u

struct roost_cable_conf {
	const char *name;  /* of the link */
	const char *label; /* the user's name of the port; borrowed */
	uint32_t ip_mtu_bytes;
	unsigned int nb_users; /* devices on the port, at most */
	bool has_twin;         /* its frames may wait for a twin */
	/* Take and release the turns of all workers that call the bursts. */
	void (*hold)(void *ctx);
	void (*release)(void *ctx);
	/* Have a worker receive once; its turn is held. */
	void (*receive)(void *ctx);
	void *ctx;
};

/* Claim an end and make the channel. Returns 0; -EBUSY with the pids of the
 * processes that have the ends, as roost_link_claim(); or an error of
 * roost_shm_channel_open().
 */
int roost_cable_open(const struct roost_cable_conf *conf,
		     struct roost_cable **cable, pid_t pids[2]);
/* From now on there may be a peer. */
void roost_cable_start(struct roost_cable *cable);
/* End with the peer and release the claim. The turns of the workers are held,
 * or no worker calls the bursts. A second call does nothing.
 */
void roost_cable_stop(struct roost_cable *cable);
/* Stopped, and all mbufs were freed. */
void roost_cable_free(struct roost_cable *cable);

/* Constant from open to free. Thread: any. */
const char *roost_cable_name(const struct roost_cable *cable);
unsigned int roost_cable_end(const struct roost_cable *cable);
void roost_cable_mac(const struct roost_cable *cable, uint8_t mac[6]);
/* For frames to be sent; others are copied. */
struct rte_mempool *roost_cable_pool(struct roost_cable *cable);

bool roost_cable_has_peer(const struct roost_cable *cable);

/* As in struct roost_frame_io; with one user, one thread at a time. */
uint16_t roost_cable_rx(struct roost_cable *cable, struct rte_mbuf **pkts,
			uint16_t n);
uint16_t roost_cable_tx(struct roost_cable *cable, struct rte_mbuf **pkts,
			uint16_t n);
/* A received frame that waits for another thread: as roost_shm_keep(). */
struct rte_mbuf *roost_cable_keep(struct roost_cable *cable,
				  struct rte_mbuf *mbuf);
/* As in struct roost_backend. Thread: as the bursts. */
int roost_cable_arm(struct roost_cable *cable);
void roost_cable_disarm(struct roost_cable *cable);

#endif
