/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_CONFORM_AGENT_H
#define ROOST_APPS_CONFORM_AGENT_H

/*
 * The agent of roost-conform: the verbs objects of one case, on the device
 * under test. It uses libibverbs and librdmacm, and nothing of Roost's. One
 * thread.
 *
 * Functions that return bool: false with errno set where a verbs call fails.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "apps/conform/agent_cm.h"
#include "apps/conform/agent_xrc.h"

#define AGENT_MRS 4
#define AGENT_MR_MAX (1u << 20)
#define AGENT_WR_MAX 16

/* Memory of one case. */
struct agent_mr {
	uint8_t *memory; /* NULL: none */
	size_t bytes;
	struct ibv_mr *mr;
};

struct agent {
	struct ibv_context *context;
	struct ibv_pd *pd;
	uint8_t port;
	int gid_index; /* of IPv4 */
	union ibv_gid gid;
	int gid6_index; /* of IPv6, link-local; -1: none */
	union ibv_gid gid6;
	/* Of the case at hand; NULL or 0: none. */
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint8_t timeout;   /* code, of the QP */
	struct ibv_ah *ah; /* to the peer, of a UD QP */
	bool is_member;    /* the QP is in the group */
	union ibv_gid group;
	struct ibv_mw *mw; /* of type 2 */
	struct agent_cm cm;
	struct agent_xrc xrc;
	unsigned int nb_mrs;
	struct agent_mr mrs[AGENT_MRS];
};

/* How the QP of a case is made and connected. */
struct agent_peer {
	enum ibv_qp_type type; /* agent_knows() */
	union ibv_gid gid;     /* decides which of the device's is used */
	uint32_t qpn;
	uint32_t rq_psn;     /* of the first packet that the peer sends */
	uint32_t qkey;       /* UD: of the QP */
	unsigned int access; /* IBV_ACCESS_*, of the QP; UD: none */
	uint8_t rnr_timer;   /* code of min_rnr_timer, 0 to 31 */
	enum ibv_mtu mtu;
};

/* How the QP of a case sends. UC, UD: only the PSN counts. */
struct agent_sender {
	uint32_t sq_psn; /* of the first packet */
	uint8_t timeout; /* code, 0 to 31; 0: none */
	uint8_t retry_cnt;
	uint8_t rnr_retry; /* 7: for ever */
};

/*
 * Opens a device by its name, or the first one if that is NULL. gid_index: -1
 * for the first GID of RoCE v2 that is an IPv4 address.
 */
bool agent_open(struct agent *a, const char *device, uint8_t port,
		int gid_index);

/* RC, UC, UD, both ends of XRC. */
bool agent_knows(enum ibv_qp_type type);

/*
 * Makes a QP with a CQ of its own, and takes it to RTR. The QP of a case before
 * must be gone (agent_reset()).
 */
bool agent_connect(struct agent *a, const struct agent_peer *peer);

/* Takes the QP from RTR to RTS. */
bool agent_ready(struct agent *a, const struct agent_sender *sender);

/*
 * To SQD, in SQD, and back to RTS. mask: what of attr beside the state counts,
 * IBV_QP_*.
 */
bool agent_modify(struct agent *a, struct ibv_qp_attr *attr, int mask);

/* In RTS: a second path, to the peer by this GID, is loaded and armed; the QP
 * migrates to it. EOPNOTSUPP: the device says that it cannot.
 */
bool agent_rearm(struct agent *a, const union ibv_gid *gid);
bool agent_migrate(struct agent *a);

/* The QP joins a multicast group, one at most, and leaves it. */
bool agent_attach(struct agent *a, const union ibv_gid *group);
bool agent_detach(struct agent *a);

/* Registers so many zeroed bytes. NULL, with errno: it fails. */
struct agent_mr *agent_register(struct agent *a, size_t bytes,
				unsigned int access);

/*
 * Posts a receive for part of a region, with an lkey that may be another one's
 * or nobody's.
 */
bool agent_receive(struct agent *a, const struct agent_mr *m, size_t offset,
		   uint32_t bytes, uint32_t lkey, uint64_t id);

/* Makes the window of a case, which is bound to nothing. */
bool agent_window(struct agent *a);

/* Posts that it is bound to part of a region, by a new key: mw->rkey. */
bool agent_bind(struct agent *a, const struct agent_mr *m, size_t offset,
		size_t bytes, unsigned int access);

/* Posts a request with at most one SGE, signaled. */
bool agent_post(struct agent *a, struct ibv_send_wr *wr);

/*
 * Waits for a completion, for so many ms. Returns 1 with *wc filled in, 0 when
 * the time is over, -1 when the CQ fails.
 */
int agent_poll(struct agent *a, struct ibv_wc *wc, int ms);

/*
 * Waits for an asynchronous event of the device, for so many ms, and
 * acknowledges it. Returns its type, -1 when the time is over.
 */
int agent_event(struct agent *a, int ms);

/* Returns the QP's state, -1 with errno if it cannot be asked. */
int agent_state(struct agent *a);

/* Ends a case: its objects are destroyed, its events are read. */
void agent_reset(struct agent *a);

#endif
