/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_PROBE_PROBE_H
#define ROOST_APPS_PROBE_PROBE_H

/*
 * What a device says when it is opened, and what a peer answers: the facts
 * behind `roost doctor`. A process of its own opens the device and measures, so
 * that nothing which happens there ends the caller, and so that the lines which
 * Roost prints meanwhile can be shown beside the facts.
 *
 * Facts are numbers; the caller judges them.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/config.h>
#include <roost/gid.h>

#define ROOST_PROBE_ADDRS_MAX 16u
#define ROOST_PROBE_LINES_MAX 4096u

/* The step that a probe has reached; it does not come back from one that hangs
 * or crashes.
 */
enum roost_probe_stage {
	ROOST_PROBE_OPENING,
	ROOST_PROBE_ROUTING,
	ROOST_PROBE_RESOLVING,
	ROOST_PROBE_PINGING,
	ROOST_PROBE_PADDING,
	ROOST_PROBE_COUNTING,
	ROOST_PROBE_CONNECTING,
	ROOST_PROBE_ASKING_TIME,
	ROOST_PROBE_DONE,
};

struct roost_probe_port {
	bool active;
	bool carrier;
	uint8_t mac[6];
	uint32_t path_mtu_bytes; /* the largest one that fits */
	uint32_t ip_mtu_bytes;
	unsigned int nb_addrs;
	struct roost_gid addrs[ROOST_PROBE_ADDRS_MAX];
};

struct roost_probe_pings {
	unsigned int sent, answered, duplicates, late;
	uint64_t rtt_min_ns, rtt_avg_ns, rtt_max_ns;
	unsigned int ect, ce, not_ect; /* of the replies */
};

/* The reason of a refusal: no such service (IBTA 12.6.7.2). */
#define ROOST_PROBE_NOBODY_LISTENS 8

/* What the peer did with a request for a connection. */
enum roost_probe_cm {
	ROOST_PROBE_CM_SILENT,   /* nothing */
	ROOST_PROBE_CM_REFUSED,  /* what is wanted: its CM lives */
	ROOST_PROBE_CM_ACCEPTED, /* somebody listens there */
	ROOST_PROBE_CM_FAILED,   /* it could not be sent: status */
};

/* Members of stages that were not reached are 0. Statuses are 0 or -errno. */
struct roost_probe_facts {
	uint32_t stage;
	int opened;
	struct roost_probe_port port;
	/* With a peer. */
	bool is_self; /* the peer's address is the port's own */
	int routed;
	struct roost_gid sgid;
	int resolved;
	uint64_t resolved_ns;
	uint8_t dmac[6];
	/* 0: pings can be sent; -EOPNOTSUPP: not from this port. */
	int can_ping;
	struct roost_probe_pings few;  /* short ones, to see if it answers */
	struct roost_probe_pings many; /* over a second, marked ECT(0) */
	uint32_t answered_ip_bytes;    /* the longest one with an answer */
	uint32_t answered_path_bytes;  /* in path MTUs of RoCE; 0: none */
	enum roost_probe_cm cm;
	int cm_status; /* REFUSED: the reason; FAILED */
	uint64_t cm_ns;
	bool has_time;
	int32_t time_ahead_ms; /* the peer's clock against ours */
	uint32_t time_error_ms;
};

struct roost_probe_want {
	const struct roost_config *config; /* resolved */
	unsigned int device;
	uint8_t port_num;             /* of the device, from 1 */
	const struct roost_gid *peer; /* NULL: none */
};

/*
 * Probe, in a process of its own, for at most limit_ms. lines: what Roost has
 * printed there, ROOST_PROBE_LINES_MAX bytes with the terminating zero.
 * Returns 0; -ETIMEDOUT (it was killed), -ECHILD (it crashed): *facts is what
 * was known then; or the error of fork(2) or pipe(2).
 */
int roost_probe(const struct roost_probe_want *want, unsigned int limit_ms,
		struct roost_probe_facts *facts, char *lines);

#endif
