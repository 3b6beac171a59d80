/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_CONN_VIEW_H
#define ROOST_ENGINE_CORE_CONN_VIEW_H

/*
 * Read-only views of the connections and listeners of a device, for the control
 * tool. A connection manager above the engine fills them: it registers a
 * function with its service (service.h), because what shows them may not call
 * it. A view is a copy; its texts are constant strings.
 */

#include <stdbool.h>
#include <stdint.h>

#include <roost/gid.h>

struct roost_dev;

/* Steps that are kept of each connection: the last ones. */
#define ROOST_CONN_STEPS 8u

enum roost_conn_step_kind {
	ROOST_CONN_STEP,
	ROOST_CONN_REFUSED_HERE, /* the program refused; code says why */
	ROOST_CONN_REFUSED,      /* the peer refused; code says why */
	ROOST_CONN_UNANSWERED,   /* the peer did not answer the last try */
	ROOST_CONN_DROPPED,      /* it made room for another one */
	ROOST_CONN_STALE,        /* the peer has forgotten it */
};

struct roost_conn_step {
	uint64_t at_ns; /* of the last of count */
	uint32_t count; /* in a row */
	enum roost_conn_step_kind kind;
	const char *what;      /* "REJ received" */
	const char *state;     /* that it led to */
	uint16_t code;         /* REFUSED: reason of the REJ, or status of the
				* SIDR_REP */
	const char *code_text; /* NULL: not known */
};

enum roost_conn_phase {
	ROOST_CONN_IDLE,      /* nothing is under way */
	ROOST_CONN_RESOLVING, /* asks for the next hop */
	ROOST_CONN_WAITS_PEER,
	ROOST_CONN_WAITS_PROGRAM,
	ROOST_CONN_ESTABLISHED,
	ROOST_CONN_LINGERS, /* until its time is over */
};

/* A port of the IP CM Service: port_space NULL, the service is another one. */
struct roost_conn_service {
	uint64_t id;
	const char *port_space; /* "TCP" */
	uint16_t port;
};

struct roost_conn_view {
	uint32_t id;        /* communication ID */
	uint32_t remote_id; /* 0: not known */
	const char *state;
	enum roost_conn_phase phase;
	uint64_t since_ns; /* in this state; 0: since it was created */
	bool passive;
	bool owned; /* false: its program has destroyed it */
	struct roost_conn_service service;
	uint8_t port_num; /* 0: no path yet; sgid and dgid are zero then */
	struct roost_gid sgid;
	struct roost_gid dgid;
	uint32_t qpn; /* 0: none yet */
	uint32_t remote_qpn;
	const char *message;   /* the last one that may be repeated; NULL */
	const char *waits_for; /* NULL: for nothing */
	bool repeats;          /* message is repeated until it is answered */
	bool unsent;           /* message waits for the next hop, or for room */
	uint8_t resent;        /* times that message was sent again */
	uint8_t resent_max;
	uint64_t retry_ns;    /* from try to try */
	uint64_t deadline_ns; /* of the next try or of this state; 0: none */
	uint64_t retries_of_device; /* of such messages, of all connections */
	unsigned int nb_steps;
	struct roost_conn_step steps[ROOST_CONN_STEPS]; /* oldest first */
};

struct roost_listener_view {
	struct roost_conn_service service;
	struct roost_gid addr; /* zero: any of the family */
	const char *family;    /* "IPv4"; NULL: any */
	uint32_t backlog;
	uint32_t waiting;       /* requests that the program has not fetched */
	uint64_t requests;      /* that came, waiting ones included */
	uint64_t dropped;       /* because the backlog was full */
	uint64_t dropped_at_ns; /* the last one; 0: none */
};

/* Functions without a caller's interest are NULL. */
struct roost_conn_viewer {
	void (*conn)(void *arg, const struct roost_conn_view *conn);
	void (*listener)(void *arg, const struct roost_listener_view *listener);
	/* "retries_req": unit and owner are the connection manager's. */
	void (*counter)(void *arg, const char *name, uint64_t value);
	void *arg;
};

/*
 * Show the viewer all connections, listeners and counters of dev. The viewer
 * is called under the locks of the services and of the connection manager, and
 * must not call either. Thread: the control thread.
 */
void roost_dev_view_conns(struct roost_dev *dev, uint64_t now_ns,
			  const struct roost_conn_viewer *viewer);

#endif
