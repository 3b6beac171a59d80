/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_REAL_USER_H
#define ROOST_TESTS_REAL_USER_H

/*
 * What small programs share that use verbs: they are linked with the system's
 * libibverbs and with nothing of Roost's.
 */

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

/* Where good is false: name the program, what failed and errno, and exit(1). */
void user_check(bool good, const char *what);

/*
 * An RC QP from RESET on, at port 1: timeout 14, all retries, one READ or
 * atomic at a time. access: what the peer may. psn: of the first packet that
 * the peer sends (RTR), that this QP sends (RTS). They return what
 * ibv_modify_qp() does.
 */
int user_to_init(struct ibv_qp *qp, unsigned int access);
int user_to_rtr(struct ibv_qp *qp, uint32_t dest_qpn,
		const struct ibv_ah_attr *ah, uint32_t psn);
int user_to_rts(struct ibv_qp *qp, uint32_t psn);
/* From INIT to RTS, towards a QP of another device, by the second GIDs; the
 * first PSN is 1. Exits as user_check() does.
 */
void user_connect_to(struct ibv_qp *qp, const union ibv_gid *gid, uint32_t qpn);

/* From INIT to RTS, towards a QP of the same device by its first GID; the first
 * PSN is 7. Exits as user_check() does.
 */
void user_join(struct ibv_qp *qp, const struct ibv_qp *peer);

/* An end of a connection: the first device, and a QP. */
struct user_end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel; /* NULL: completions are polled */
	struct ibv_cq *cq;
	struct ibv_qp *qp; /* RC; each send is signaled */
};

/* The QP has room for four requests of each kind, and is in RESET. Exits as
 * user_check() does, as does user_close().
 */
void user_open(struct user_end *end, bool with_channel);
/* mr: the only region. */
void user_close(struct user_end *end, struct ibv_mr *mr);

#endif
