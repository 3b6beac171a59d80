/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_WHY_H
#define ROOST_ENGINE_CORE_WHY_H

/*
 * What enum roost_qp_error_code leaves open: which of the checks failed that
 * share a code. Found out when the QP fails, because the objects may be gone
 * when somebody asks.
 */

#include <stdint.h>

struct roost_dev;
struct roost_pd;

/* X(NAME, text) */
#define ROOST_WHYS(X)                                                          \
	X(KEY_UNKNOWN, "no region or window here has or had this key")         \
	X(KEY_DEREGISTERED, "the region of this key was deregistered")         \
	X(KEY_DEALLOCATED, "the memory window of this key was deallocated")    \
	X(KEY_INVALIDATED, "the memory window of this key was invalidated")    \
	X(KEY_REBOUND,                                                         \
	  "the memory window of this key was unbound, or bound under a new "   \
	  "key")                                                               \
	X(KEY_UNBOUND, "the memory window of this key was never bound")        \
	X(KEY_OTHER_PD, "the key belongs to another protection domain")        \
	X(KEY_OTHER_QP, "the memory window of this key is of another QP")      \
	X(KEY_ACCESS, "the key does not grant this kind of access")            \
	X(KEY_RANGE, "the range is outside of the memory of this key")         \
	X(KEY_ABSENT, "the memory behind the key is not mapped")               \
	X(PATH_MTU, "the packet does not fit the path MTU of this QP")         \
	X(PORT_DOWN, "the QP's port is down")

enum roost_why {
	ROOST_WHY_NONE, /* the code says all */
#define X(NAME, text) ROOST_WHY_##NAME,
	ROOST_WHYS(X)
#undef X
	ROOST_WHY_COUNT,
};

/* Keys that were revoked: the last one in each slot. */
#define ROOST_REVOKED_MAX 256u

/* A key ends now. Thread: any. */
void roost_key_revoked(struct roost_dev *dev, uint32_t key, enum roost_why why);

/* Why a key does not grant this access to the peer of QP qpn, or to the QP
 * itself. Holder of the turn.
 */
enum roost_why roost_key_why(struct roost_dev *dev, const struct roost_pd *pd,
			     uint32_t qpn, uint32_t key, uint64_t va,
			     uint64_t len_bytes, uint32_t access)
	__attribute__((cold));

#endif
