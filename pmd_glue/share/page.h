/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_SHARE_PAGE_H
#define ROOST_PMD_GLUE_SHARE_PAGE_H

/*
 * The page of a shared port: what the daemon knows of the port, in memory that
 * clients map read-only. It is a memfd with the seals of a channel's memory
 * (pmd_glue/channel/memory.h), and has one writer, the daemon.
 *
 * The facts are under a sequence lock: generation is odd while they change.
 * After a change the daemon sends CHANGED. A reader copies them, and checks
 * each value as it would check that of a NIC.
 *
 * The leases say which client leases a block of QPN indices: a client finds the
 * block of a QPN with the key that it was granted, and sends frames for it to
 * the client that leases it, if it has a channel with that one (direct.h). They
 * are not secret among the clients.
 *
 * The neighbours are words in the form of struct roost_neigh. Clients ask for
 * them with RESOLVE, hold a reference, and have copies for the paths of their
 * engines; when the MAC of one changes, the daemon sends CHANGED.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/engine/core/dev.h"

#define ROOST_SHARE_PAGE_VERSION 1u
#define ROOST_SHARE_NEIGHS 4096u
/* Blocks of QPN indices, at the most. */
#define ROOST_SHARE_BLOCKS 16384u

struct roost_share_facts {
	uint32_t is_active; /* 1: the link is up */
	uint32_t ip_mtu_bytes;
	uint32_t speed_mbps; /* 0: not known */
	uint8_t mac[6];
	uint8_t is_gone; /* the port was removed */
	/* The daemon was started again, and clients of the one before may still
	 * come back: frames for them are lost until then.
	 */
	uint8_t is_recovering;
	/* Changes when a peer says that no RoCE is there (roost_dev_refused()):
	 * the last one.
	 */
	uint32_t nb_refusals;
	struct roost_gid refused;
	struct roost_gid gids[ROOST_GID_TABLE_LEN]; /* zeros: empty */
	/* Prefix lengths of their subnets, for people. */
	uint8_t gid_len_bits[ROOST_GID_TABLE_LEN];
	uint16_t pkeys[ROOST_PKEY_TABLE_LEN];
};

struct roost_share_page {
	uint32_t version;
	uint32_t size_bytes; /* sizeof(struct roost_share_page) */
	_Atomic uint32_t generation;
	uint32_t zero;
	struct roost_share_facts facts;
	/* struct roost_neigh: mac_gen; 0: never resolved. */
	_Alignas(64) _Atomic uint64_t neighs[ROOST_SHARE_NEIGHS];
	/* By block: the mark of the client that leases it; 0: nobody. A mark is
	 * a client's for as long as it is attached, and not that of another one
	 * soon.
	 */
	_Alignas(64) _Atomic uint32_t lessees[ROOST_SHARE_BLOCKS];
};

/* ---- the daemon ---------------------------------------------------------- */

/* A page with no facts, and the descriptor for clients. Returns 0, -ENOMEM,
 * -EMFILE, -ENFILE.
 */
int roost_share_page_make(struct roost_share_page **page, int *fd);
/* Replace the facts. Returns true if they differ from those before. */
bool roost_share_page_write(struct roost_share_page *page,
			    const struct roost_share_facts *facts);

/* ---- a client ------------------------------------------------------------ */

/* Check and map the page of a daemon. fd stays the caller's. Returns 0, -EPERM
 * (not sealed), -EPROTO, -EPROTONOSUPPORT (another version), -ENOMEM.
 */
int roost_share_page_map(int fd, const struct roost_share_page **page);
/* Copy the facts. Returns 0, or -EAGAIN: they change without end. */
int roost_share_page_read(const struct roost_share_page *page,
			  struct roost_share_facts *facts,
			  uint32_t *generation);

/* Unmap it; either end. */
void roost_share_page_close(const struct roost_share_page *page);

#endif
