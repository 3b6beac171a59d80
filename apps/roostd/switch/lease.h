/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_ROOSTD_SWITCH_LEASE_H
#define ROOST_APPS_ROOSTD_SWITCH_LEASE_H

/*
 * What each client of a port may call its own: blocks of QPN indices, prefixes
 * of CM communication ids, services and port numbers (claim.h), multicast
 * memberships (group.h), addresses. The other files of the switch ask here
 * whose a number is.
 *
 * QPNs and communication ids are keyed permutations (lib/engine/core/idmap.h)
 * of (generation, index) and of (prefix, number). A client has the keys and
 * draws its numbers itself; the network sees neither client nor index. The
 * daemon inverts a number and finds the owner of its block or prefix.
 *
 * A client holds a ticket, which says what it leases and carries a MAC. After
 * a restart of the daemon, clients present their tickets (ticket.c). Only
 * struct roost_lease_state survives a restart.
 *
 * Time is an argument, in ns of any clock that does not go backwards.
 * Thread: the port's (crew.h), for all functions here.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <roost/gid.h>
#include "apps/roostd/switch/pool.h"
#include "lib/engine/core/idmap.h"

/* The number of a client: its slot. */
#define ROOST_CLIENT_NONE UINT16_MAX
#define ROOST_CLIENTS_MAX 4096u

#define ROOST_LEASE_BLOCK_SHIFT 6 /* 64 indices in a block */
#define ROOST_LEASE_BLOCK_LEN (1u << ROOST_LEASE_BLOCK_SHIFT)
/* QPN: the low bits are the index. 2^14 blocks. */
#define ROOST_LEASE_QPN_INDEX_BITS 20u
#define ROOST_LEASE_BLOCKS                                                     \
	(1u << (ROOST_LEASE_QPN_INDEX_BITS - ROOST_LEASE_BLOCK_SHIFT))
/* Communication id: the high bits are the prefix. */
#define ROOST_LEASE_PREFIX_BITS 13u
#define ROOST_LEASE_PREFIXES (1u << ROOST_LEASE_PREFIX_BITS)
#define ROOST_LEASE_PREFIX_SHIFT (32u - ROOST_LEASE_PREFIX_BITS)

/* ---- what survives a restart -------------------------------------------- */

#define ROOST_LEASE_STATE_MAGIC 0x726c7331u

/*
 * Memory of the caller that outlives the daemon, such as a mapped file that
 * its user alone can read. The first daemon fills it with zeros but for the
 * random numbers; only this room writes it then.
 */
struct roost_lease_state {
	uint32_t magic;
	uint32_t epoch; /* lives of the daemon; counts from 1 */
	uint64_t mac_key[2];
	uint64_t qpn_seed[2];
	uint64_t comm_seed[2];
	uint32_t nb_blocks_used; /* those from this one on never were leased */
	uint32_t nb_prefixes_used;
	struct {
		uint32_t generation; /* of the slot: counts its clients */
		/* Of the last ticket that was committed; 0: no client. */
		uint32_t serial;
		uint32_t issued; /* of the last ticket that was written */
	} slots[ROOST_CLIENTS_MAX];
};

/* ---- a client ------------------------------------------------------------ */

#define ROOST_CLIENT_GIDS_MAX 8u

/* The policy for one client. */
struct roost_client_conf {
	uint32_t uid;
	uint32_t max_qps;
	uint32_t max_prefixes; /* at least 1 */
	uint32_t max_services;
	uint32_t max_groups;
	uint32_t max_conns;        /* connections that the daemon remembers */
	uint32_t max_half_open;    /* of these: not established */
	uint32_t weight;           /* share of a full port; at least 1 */
	uint64_t rate_bytes_per_s; /* 0: no limit */
	/* Addresses of its own; none: it shares those of the port. */
	uint32_t nb_gids;
	struct roost_gid gids[ROOST_CLIENT_GIDS_MAX];
};

struct roost_claim_entry;
LIST_HEAD(roost_claim_list, roost_claim_entry);

struct roost_client {
	bool used;
	bool away;    /* leased before a restart, not presented yet */
	bool expired; /* the same, until the grace was over */
	uint32_t generation;
	struct roost_client_conf conf;
	struct roost_units blocks;
	struct roost_units prefixes;
	struct roost_claim_list claims; /* claim.h */
	uint32_t nb_claims;
	uint32_t nb_services; /* different service ids among the claims */
	uint32_t nb_groups;
};

struct roost_group;

#define ROOST_LEASE_ADDR_BUCKETS 1024u
#define ROOST_LEASE_CLAIM_BUCKETS 1024u
#define ROOST_LEASE_GROUP_BUCKETS 1024u

/* Whose an address is. */
struct roost_lease_addr {
	LIST_ENTRY(roost_lease_addr) link;
	struct roost_gid gid;
	uint16_t owner; /* ROOST_CLIENT_NONE: the port's, shared */
};

struct roost_lease_conf {
	/* Of the numbers of a client that went: longer than its peers are told
	 * so (departed.h), and than their timewait.
	 */
	uint64_t quarantine_ns;
	uint64_t grace_ns; /* for old clients after a restart */
	uint64_t random;   /* any number that others cannot guess */
};

struct roost_lease {
	struct roost_lease_conf conf;
	struct roost_lease_state *state; /* the caller's */
	struct roost_idmap qpns;         /* for its permutation */
	struct roost_idmap comms;        /* the same */
	struct roost_pool blocks;
	struct roost_pool prefixes;
	uint32_t nb_away;     /* clients that may come back */
	uint64_t grace_at_ns; /* the end of the grace; valid if nb_away > 0 */
	uint32_t nb_clients;
	struct roost_client clients[ROOST_CLIENTS_MAX];
	LIST_HEAD(, roost_lease_addr) addrs[ROOST_LEASE_ADDR_BUCKETS];
	struct roost_claim_list claims[ROOST_LEASE_CLAIM_BUCKETS];
	LIST_HEAD(, roost_group) groups[ROOST_LEASE_GROUP_BUCKETS];
	uint32_t nb_groups;
	uint64_t hash_key;
	uint64_t random;
	_Atomic uint32_t *shown; /* see roost_lease_show(); NULL: nowhere */
};

/*
 * state: see above; stays the caller's and outlives the lease. Its clients, if
 * any, may come back until now_ns + grace_ns.
 * Returns 0, -ENOMEM, -EINVAL (state is not of this version).
 */
int roost_lease_create(const struct roost_lease_conf *conf,
		       struct roost_lease_state *state, uint64_t now_ns,
		       struct roost_lease **lease);
/* The state stays as it is: clients may come back to the next daemon. */
void roost_lease_destroy(struct roost_lease *lease);

/* Old clients can come from now on: the grace begins. */
void roost_lease_begin_grace(struct roost_lease *lease, uint64_t now_ns);

/*
 * End the grace when its time is over: clients that did not come back are gone,
 * and free numbers are in quarantine, because they may have been theirs.
 * Returns true while old clients may come back: nothing new is leased then.
 */
bool roost_lease_recovering(struct roost_lease *lease, uint64_t now_ns);

/* An address of the port, shared by its clients. Returns 0, -ENOMEM, -EEXIST
 * (the port's, or a client's).
 */
int roost_lease_addr_add(struct roost_lease *lease,
			 const struct roost_gid *gid);
void roost_lease_addr_del(struct roost_lease *lease,
			  const struct roost_gid *gid);
/* The port has the address no more: it is nobody's, though it may be one that a
 * client has of its own.
 */
void roost_lease_addr_lose(struct roost_lease *lease,
			   const struct roost_gid *gid);
/* The port has it again: it is that client's, if there is one. Returns 0;
 * -ENOENT: no client has it of its own; -EEXIST, -ENOMEM.
 */
int roost_lease_addr_regain(struct roost_lease *lease,
			    const struct roost_gid *gid);

/*
 * A new client, without any number yet. Returns 0 and its slot; -EAGAIN: old
 * clients may come back; -ENOSPC: no slot; -EADDRINUSE: one of its addresses is
 * taken; -EINVAL (conf); -ENOMEM.
 */
int roost_lease_client_add(struct roost_lease *lease,
			   const struct roost_client_conf *conf,
			   uint64_t now_ns, uint16_t *client);

/* A client has gone for good: its numbers are in quarantine, its claims and
 * addresses free, its memberships ended (the caller leaves groups before, see
 * group.h), its tickets void.
 */
void roost_lease_client_remove(struct roost_lease *lease, uint16_t client,
			       uint64_t now_ns);

/*
 * Lease one more block of QPN indices, or prefix. The caller issues a ticket
 * afterwards.
 * Returns 0; -EAGAIN: old clients may come back, or all free ones that the user
 * may have are in quarantine; -EDQUOT: the client's limit; -ENOSPC: all are
 * leased, or the user's clients have its share of all (pool.h); -ENOMEM.
 */
int roost_lease_block(struct roost_lease *lease, uint16_t client,
		      uint64_t now_ns, uint32_t *block);
int roost_lease_prefix(struct roost_lease *lease, uint16_t client,
		       uint64_t now_ns, uint32_t *prefix);

/* ---- tickets ------------------------------------------------------------- */

/* A bound on the size of any ticket, in bytes. */
size_t roost_lease_ticket_max(const struct roost_lease *lease, uint16_t client);

/*
 * Write the ticket of what the client leases now. Give it to the client before
 * anybody else is served, then commit it: from then on all tickets before it
 * are void. If the daemon ends in between, the next one takes either.
 * Returns its length in bytes, at most room_bytes; -ENOSPC, and all tickets of
 * the client are void, so that it cannot come back.
 */
ptrdiff_t roost_lease_issue(struct roost_lease *lease, uint16_t client,
			    uint8_t *ticket, size_t room_bytes);
void roost_lease_commit(struct roost_lease *lease, uint16_t client);

/*
 * A client of the daemon before presents its ticket. uid: the presenter's, by
 * the kernel. conf: the policy that holds now for it; numbers that it leases
 * already stay its own beyond a limit. The caller issues a new ticket.
 * Returns 0 and its slot, which is as before; -EBADMSG: malformed or forged;
 * -EPERM: another user's; -ESTALE: of a client that went, or not its last
 * ticket; -EALREADY: presented already, or of this daemon; -ETIMEDOUT: the
 * grace is over; -EADDRINUSE, -EINVAL, -ENOMEM as roost_lease_client_add().
 */
int roost_lease_present(struct roost_lease *lease, const uint8_t *ticket,
			size_t len_bytes, const struct roost_client_conf *conf,
			uint64_t now_ns, uint16_t *client);

/* The address of its own that the client of the ticket had; zeros: none.
 * Returns 0; -EBADMSG: malformed or forged.
 */
int roost_lease_ticket_addr(const struct roost_lease *lease,
			    const uint8_t *ticket, size_t len_bytes,
			    struct roost_gid *own);

/* A client that has presented its ticket, and was removed, got nothing but the
 * ticket that was issued then: it may present that until the grace is over, and
 * the one of before if that was not committed. serial: that of its slot before
 * it was removed. Returns false: it is over, the client stays gone.
 */
bool roost_lease_client_await(struct roost_lease *lease, uint16_t client,
			      uint32_t serial, uint64_t now_ns);

/* For ticket.c. Returns as roost_lease_client_add(). */
int roost_lease_client_enter(struct roost_lease *lease, uint16_t slot,
			     const struct roost_client_conf *conf);

/* ---- what clients see ---------------------------------------------------- */

/* The mark of a client: not 0, and another one than that of the client that had
 * the slot before.
 */
static inline uint32_t roost_lease_mark(const struct roost_lease *lease,
					uint16_t client)
{
	return lease->clients[client].generation << 16 | (client + 1u);
}

/* Keep there, by block of QPN indices, the mark of who leases it, or 0; room
 * for ROOST_LEASE_BLOCKS, which outlives the lease. Others may read them.
 */
void roost_lease_show(struct roost_lease *lease, _Atomic uint32_t *marks);

/* ---- whose is it --------------------------------------------------------- */

/* Returns the owner, or ROOST_CLIENT_NONE. Hot. */
static inline uint16_t roost_lease_qpn_owner(const struct roost_lease *lease,
					     uint32_t qpn)
{
	const uint32_t index = roost_idmap_invert(&lease->qpns, qpn) &
			       ((1u << ROOST_LEASE_QPN_INDEX_BITS) - 1);

	/* Numbers that no QP of a client can have. */
	if (qpn < 2 || qpn >= 0xffffff)
		return ROOST_CLIENT_NONE;
	return lease->blocks.owner[index >> ROOST_LEASE_BLOCK_SHIFT];
}

static inline uint16_t roost_lease_comm_owner(const struct roost_lease *lease,
					      uint32_t comm_id)
{
	const uint32_t value = roost_idmap_invert(&lease->comms, comm_id);

	if (comm_id == 0)
		return ROOST_CLIENT_NONE;
	return lease->prefixes.owner[value >> ROOST_LEASE_PREFIX_SHIFT];
}

/* NULL: it is nobody's here. Hot. */
const struct roost_lease_addr *
roost_lease_addr_find(const struct roost_lease *lease,
		      const struct roost_gid *gid);

/* May the client send from this address, and get what is sent to it? */
static inline bool roost_lease_addr_is_of(const struct roost_lease *lease,
					  const struct roost_lease_addr *addr,
					  uint16_t client)
{
	return addr->owner == client ||
	       (addr->owner == ROOST_CLIENT_NONE &&
		lease->clients[client].conf.nb_gids == 0);
}

/* ---- for the files of this room ------------------------------------------ */

/* The blocks of this client are shown: with its mark, or as nobody's. */
void roost_lease_show_blocks(struct roost_lease *lease, uint16_t client,
			     bool leased);

/* What is left of a client, and of all, without claims and memberships. */
void roost_lease_client_free(struct roost_lease *lease, uint16_t client,
			     uint64_t now_ns);
void roost_lease_free(struct roost_lease *lease);

/* Keyed, so that nobody outside chooses who shares a bucket. */
uint32_t roost_lease_hash(uint64_t key, const struct roost_gid *gid,
			  uint64_t number);
uint64_t roost_lease_random(struct roost_lease *lease);

#endif
