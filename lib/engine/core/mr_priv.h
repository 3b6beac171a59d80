/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_MR_PRIV_H
#define ROOST_ENGINE_CORE_MR_PRIV_H

/*
 * Inside of memory regions; for lib/engine only.
 */

#include <stdbool.h>
#include <stdint.h>

#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/place.h"
#include <roost/mr.h>
#include "lib/engine/core/spin.h"
#include <roost/types.h>
#include "lib/wire/frame.h"

struct roost_worker;

struct roost_mr {
	/* Of a guest, in its bucket of dev->guests. */
	struct roost_turn_link guest_link;
	struct roost_pd *pd;
	uint8_t *host; /* address of iova in this process */
	uint64_t iova;
	uint64_t len_bytes;
	/* enum roost_access, ROOST_ACCESS_SUSPECT, which the holder of a turn
	 * sets, and ROOST_ACCESS_HOLES, which any thread sets.
	 */
	_Atomic uint32_t access;
	uint32_t key;
	bool is_null;  /* no memory: reads give zeros, writes are discarded */
	bool is_guest; /* under another device's key: roost_mr_reg_as() */
	/* Windows bound to this region. Writers: workers, as for a window, and
	 * who deallocates one.
	 */
	_Atomic uint32_t nb_windows;
	/* ---- unmap.c's ---- */
	/* By page of the region: a bit is 1 for a dead one. NULL: none is, or
	 * with ROOST_ACCESS_HOLES: all are.
	 */
	_Atomic(_Atomic uint64_t *) dead;
	/* The range that died last, if no page of it was dead before; 0: there
	 * is none. Under the lock of the list.
	 */
	uintptr_t died_begin, died_end;
	bool learns; /* it is in the list */
	LIST_ENTRY(roost_mr) unmap_link;
};

/* Beside enum roost_access, in a region: accesses of some of its pages, or with
 * SUSPECT of all, are as place.h says.
 */
#define ROOST_ACCESS_SUSPECT (1u << 30)
#define ROOST_ACCESS_HOLES (1u << 29)
#define ROOST_ACCESS_BAD (ROOST_ACCESS_SUSPECT | ROOST_ACCESS_HOLES)

/* The longest part of a null region that is accessed at once: the payload of a
 * packet.
 */
#define ROOST_NULL_MAX_BYTES 4096u

/*
 * A memory window: a part of a region under a key of its own. The low byte of
 * the key is the consumer's, the rest names the window. Under the turn; with
 * several workers, one of which may bind a window that another one accesses,
 * under the window's lock, too: from the check of a packet's access until the
 * access is over.
 */
struct roost_mw {
	bool shared; /* there are several workers; set at create */
	struct roost_spin lock;
	struct roost_pd *pd;
	struct roost_mr *mr; /* NULL: not bound */
	uint8_t *host;
	uint64_t iova;
	uint64_t len_bytes;
	uint32_t access;
	_Atomic uint32_t key; /* read by any thread */
	uint32_t id;  /* in the table: the upper 24 bits of all its keys */
	uint32_t qpn; /* type 2: the QP that bound it */
	uint8_t type; /* 1 or 2 */
};

static inline uint32_t roost_mr_rights(const struct roost_mr *mr)
{
	return atomic_load_explicit(&mr->access, memory_order_relaxed);
}

/* Address of a byte of the region. No pointer arithmetic: a null region begins
 * at NULL.
 */
static inline uint8_t *roost_mr_at(const struct roost_mr *mr, uint64_t va)
{
	return (uint8_t *)((uintptr_t)mr->host + (va - mr->iova));
}

/* Fault in a part of an on-demand region: the len_bytes from host on that the
 * access needs now. This may block, on a disk or on another thread. Returns the
 * address, or NULL: the memory is not mapped. NULL also if the region is a
 * suspect one, or part of the memory is dead.
 */
void *roost_mr_touch(const struct roost_mr *mr, uint8_t *host,
		     uint64_t len_bytes, uint32_t access);

/* The region of another device's key; NULL: none. Holder of the turn. */
struct roost_mr *roost_mr_guest(const struct roost_dev *dev, uint32_t key);

/* The region of a key, or NULL. Holder of the turn. */
static inline struct roost_mr *roost_mr_find(const struct roost_dev *dev,
					     uint32_t key)
{
	struct roost_mr *mr = roost_idmap_get(&dev->mrs, key);

	return mr ? mr : roost_mr_guest(dev, key);
}

/* Does [begin, begin + size_bytes) cover [va, va + len_bytes)? Neither
 * difference wraps: the first test makes va - begin valid.
 */
static inline bool roost_range_covers(uint64_t begin, uint64_t size_bytes,
				      uint64_t va, uint64_t len_bytes)
{
	return va >= begin && va - begin <= size_bytes &&
	       len_bytes <= size_bytes - (va - begin);
}

/* Is it a region of pd, with these rights, that covers [va, va + len_bytes) and
 * allows access?
 */
static inline bool roost_mr_allows(const struct roost_mr *mr, uint32_t rights,
				   const struct roost_pd *pd, uint64_t va,
				   uint64_t len_bytes, uint32_t access)
{
	return mr->pd == pd && (rights & access) == access &&
	       roost_range_covers(mr->iova, mr->len_bytes, va, len_bytes);
}

/*
 * Check that key names a region of pd that covers [va, va + len_bytes) and
 * allows access (0: local read), and fault in the first touch_bytes of that
 * range: the bytes of the current packet, when a message is longer. Returns the
 * address of va, or NULL; NULL also for a suspect region, or memory that is
 * dead in part (place.h).
 * Holder of the turn; the pointer is valid until the turn is released.
 */
static inline void *roost_mr_access(struct roost_dev *dev,
				    const struct roost_pd *pd, uint32_t key,
				    uint64_t va, uint64_t len_bytes,
				    uint64_t touch_bytes, uint32_t access)
{
	const struct roost_mr *mr = roost_mr_find(dev, key);
	uint32_t rights;

	if (!mr)
		return NULL;
	rights = roost_mr_rights(mr);
	if (!roost_mr_allows(mr, rights, pd, va, len_bytes, access))
		return NULL;
	if (rights & (ROOST_ACCESS_ON_DEMAND | ROOST_ACCESS_BAD))
		return roost_mr_touch(mr, roost_mr_at(mr, va), touch_bytes,
				      access);
	return roost_mr_at(mr, va);
}

/*
 * As roost_mr_access(), for a key from the peer of QP qpn: a region or a
 * window. A window does not change until roost_mr_remote_done(), which the
 * caller calls next.
 */
void *roost_mr_remote(struct roost_worker *w, const struct roost_pd *pd,
		      uint32_t qpn, uint32_t key, uint64_t va,
		      uint64_t len_bytes, uint64_t touch_bytes,
		      uint32_t access);
void roost_mr_remote_done(struct roost_worker *w);
/* Is there such a region or window, a suspect one, too? Calls
 * roost_mr_remote_done().
 */
bool roost_mr_remote_may(struct roost_worker *w, const struct roost_pd *pd,
			 uint32_t qpn, uint32_t key, uint64_t va,
			 uint64_t len_bytes, uint64_t touch_bytes,
			 uint32_t access);

/* True if the key names a region or window that this peer may access so, at any
 * address. Holder of the turn.
 */
bool roost_mr_remote_key(struct roost_dev *dev, const struct roost_pd *pd,
			 uint32_t qpn, uint32_t key, uint32_t access);

/* What a window is, for why.c. */
struct roost_mw_facts {
	const struct roost_pd *pd;
	uint64_t iova;
	uint64_t len_bytes;
	uint32_t access;
	uint32_t qpn; /* type 2: whose; 0: any QP's of its PD */
	bool bound;   /* else only pd is valid */
};
/* Returns false: no window has this key now. Holder of the turn. */
bool roost_mw_look(struct roost_dev *dev, uint32_t key,
		   struct roost_mw_facts *facts);

/* The region that the window of this key is bound to, or NULL. The caller has
 * the window locked, if several workers may access it.
 */
struct roost_mr *roost_mw_region(struct roost_dev *dev, uint32_t key);

/* A bind request in a send queue. mw_id and mr_key are 0 only for "none". */
struct roost_mw_bind_wqe {
	uint64_t addr;
	uint64_t len_bytes;
	uint32_t access; /* enum roost_access */
	uint32_t rkey;   /* the new key */
	uint32_t mw_id;
	uint32_t mr_key;
};

/* Execute a bind request of the QP. Returns false if the bind is not possible.
 */
bool roost_mw_bind(struct roost_dev *dev, const struct roost_pd *pd,
		   uint32_t qpn, const struct roost_mw_bind_wqe *bind);
/* Unbind the type 2 window of this key, if the QP may do so. */
bool roost_mw_may_invalidate(struct roost_dev *dev, const struct roost_pd *pd,
			     uint32_t qpn, uint32_t key);
void roost_mw_invalidate(struct roost_dev *dev, uint32_t key);

/* What was last copied into a frame is memory of this key; some may be gone. */
static inline void roost_mr_note_fill(struct roost_dev *dev, uint32_t key,
				      struct roost_fill *fill)
{
	if (__builtin_expect(!fill->gone, 1))
		return;
	fill->gone = false;
	roost_place_faulted(dev, key, false);
}

/* A walk over the bytes of a scatter/gather list. */
enum roost_sge_fault {
	ROOST_SGE_OK,
	ROOST_SGE_BAD_KEY, /* lkey, PD, access or range */
	ROOST_SGE_SHORT,   /* the list ends before len_bytes */
};

/*
 * Copy len_bytes from offset_bytes of the list into a frame, or from src into
 * the list (which needs LOCAL_WRITE). Holder of the turn.
 */
enum roost_sge_fault roost_sge_gather(struct roost_dev *dev,
				      const struct roost_pd *pd,
				      const struct roost_sge *sges,
				      uint32_t nb_sges, uint64_t offset_bytes,
				      struct roost_fill *fill,
				      uint32_t len_bytes);
enum roost_sge_fault roost_sge_scatter(struct roost_dev *dev,
				       const struct roost_pd *pd,
				       const struct roost_sge *sges,
				       uint32_t nb_sges, uint64_t offset_bytes,
				       const uint8_t *src, uint32_t len_bytes);

#endif
