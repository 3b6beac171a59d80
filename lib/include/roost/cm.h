/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_H
#define ROOST_CM_H

/*
 * The connection manager of one device (IBTA chapter 12, Annex A11).
 *
 * A connection (struct roost_cm_conn) is one end of a connection, or of a
 * service lookup for datagrams (SIDR), from address resolution to timewait. A
 * listener takes requests for one service. The CM exchanges MADs on QP1 with
 * the peer's CM, repeats what is lost, and tells the owner what happened. It
 * never touches the owner's QP: the owner moves it, with the attributes that
 * roost_cm_conn_qp_attr() gives, when an event says so.
 *
 * Threads. Every call may be made from any thread that holds no turn of a
 * worker, from a callback too, and never blocks but where it says so. Callbacks
 * run on the control thread, one at a time per device, and hold no lock of the
 * CM; they must not block. Events of one connection come in the order in which
 * things happened.
 *
 * Time. No call takes the time or reads a clock. What a call sends, leaves at
 * once; its timer begins when the control thread runs next, which it is woken
 * for (struct roost_dev_service). Tests run that with a time of their own.
 *
 * Ownership. A connection made by roost_cm_conn_create(), or handed over by
 * REQ_RECEIVED or SIDR_REQ_RECEIVED, is the owner's until it calls
 * roost_cm_conn_destroy(). Whatever timers and duplicates have to outlive it,
 * the CM keeps by itself. A GID, service ID or number is in host order unless
 * its name ends in _be; GIDs are as in roost/gid.h (IPv4 is
 * mapped).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <roost/dev.h>
#include <roost/qp.h>
#include <roost/types.h>

struct roost_cm;
struct roost_cm_conn;
struct roost_cm_listener;

/* ---- private data, in bytes -------------------------------------------- */

#define ROOST_CM_REQ_DATA_LEN 92u
#define ROOST_CM_MRA_DATA_LEN 222u
#define ROOST_CM_REJ_DATA_LEN 148u
#define ROOST_CM_REJ_ARI_LEN 72u
#define ROOST_CM_REP_DATA_LEN 196u
#define ROOST_CM_RTU_DATA_LEN 224u
#define ROOST_CM_DREQ_DATA_LEN 220u
#define ROOST_CM_DREP_DATA_LEN 224u
#define ROOST_CM_LAP_DATA_LEN 168u
#define ROOST_CM_APR_DATA_LEN 148u
#define ROOST_CM_APR_INFO_LEN 72u
#define ROOST_CM_SIDR_REQ_DATA_LEN 216u
#define ROOST_CM_SIDR_REP_DATA_LEN 136u
#define ROOST_CM_SIDR_REP_INFO_LEN 72u
/* Of REQ and SIDR REQ, the IP addressing header takes so many at the front. */
#define ROOST_CM_IP_HDR_LEN 36u

/* ---- what the kernel's rdma_cm asks for -------------------------------- */

/* Codes: 4.096 us * 2^code. Connecting with the same values as the kernel makes
 * both ends behave as its users expect.
 */
#define ROOST_CM_RESPONSE_TIMEOUT 20u
#define ROOST_CM_RETRIES_MAX 15u
#define ROOST_CM_PACKET_LIFETIME 18u
/* How long this end takes to acknowledge, as Soft-RoCE says it. */
#define ROOST_CM_ACK_DELAY 15u

/* ---- the instance ------------------------------------------------------ */

/*
 * The CM of dev: the first get makes it and opens QP1, the last put sends what
 * is still owed and closes. dev stays open in between.
 * Returns 0, -ENOMEM. Blocks for the worker's turn. Both: not from a callback.
 */
int roost_cm_get(struct roost_dev *dev, struct roost_cm **cm);
void roost_cm_put(struct roost_cm *cm);
struct roost_dev *roost_cm_dev(const struct roost_cm *cm);

/*
 * The process goes away: say goodbye for every connection that stands (DREQ)
 * or begins (REJ), once and without waiting. At exit. Thread: any.
 */
void roost_cm_farewell(struct roost_cm *cm);

/* ---- what becomes of the device ---------------------------------------- */

enum roost_cm_news {
	/*
	 * It is gone (roost_port_remove). Connections end here and now: nothing
	 * is sent or waited for, and none is told anything from here on but
	 * ADDR_ERROR, -ENODEV, where an address was asked for. What is left to
	 * do with them, and with listeners, is to destroy them; calls that
	 * begin something say -ENODEV.
	 */
	ROOST_CM_NEWS_REMOVED,
	/* It got or lost an address, or a port has another MAC. Connections
	 * stay as they are.
	 */
	ROOST_CM_NEWS_ADDRS,
};

/* told runs on the control thread, inside the CM's lock: it may call nothing of
 * the CM. The rest is the CM's.
 */
struct roost_cm_watch {
	void (*told)(void *arg, enum roost_cm_news news);
	void *arg;
	LIST_ENTRY(roost_cm_watch) link;
};

/* Be told from here on. The watch stays the caller's. Thread: any. */
void roost_cm_watch_add(struct roost_cm *cm, struct roost_cm_watch *watch);
/* It is not told any more from the return on. */
void roost_cm_watch_remove(struct roost_cm *cm, struct roost_cm_watch *watch);

/* ---- where a peer is --------------------------------------------------- */

/* A path to a peer, from the port and the GID that it leaves by. */
struct roost_cm_path {
	struct roost_gid sgid;
	struct roost_gid dgid;
	uint8_t port_num;
	uint8_t sgid_index;
	uint16_t pkey_index;
	uint16_t pkey;
	uint32_t flow_label;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t sl;
	uint8_t packet_lifetime; /* code */
	uint8_t rate;            /* code as in ibv_rate */
	enum roost_mtu mtu;
	uint8_t dmac[6]; /* next hop; zeros until it is resolved */
};

/*
 * Which path of this device leads to dgid, without asking the network. sgid:
 * the source address, which must be one of the device's; NULL: choose it.
 * Returns 0; -EHOSTUNREACH or -ENETUNREACH (no route from this device),
 * -EADDRNOTAVAIL (sgid is not ours), -EINVAL (families differ).
 */
int roost_cm_route(struct roost_cm *cm, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, struct roost_cm_path *path);

/* ---- service IDs and the IP addressing header -------------------------- */

enum roost_cm_port_space { /* upper half of the service ID's low 32 bits */
	ROOST_CM_PS_IPOIB = 0x0002,
	ROOST_CM_PS_TCP = 0x0106,
	ROOST_CM_PS_UDP = 0x0111,
	ROOST_CM_PS_IB = 0x013f,
};

static inline uint64_t roost_cm_service_id(enum roost_cm_port_space ps,
					   uint16_t port)
{
	return (uint64_t)ps << 16 | port;
}

/* What leads the private data of a request made with IP addresses (A11.4). */
struct roost_cm_ip_hdr {
	struct roost_gid src;
	struct roost_gid dst; /* of the same family */
	uint16_t src_port;
};

/* ---- events ------------------------------------------------------------ */

enum roost_cm_event_type {
	ROOST_CM_ADDR_RESOLVED,
	ROOST_CM_ADDR_ERROR,   /* status: -ETIMEDOUT, -EHOSTUNREACH, -ENODEV */
	ROOST_CM_ADDR_CHANGE,  /* the next hop has another MAC now */
	ROOST_CM_REQ_RECEIVED, /* conn is new; listener says whose */
	ROOST_CM_REQ_ERROR,    /* no answer; status -ETIMEDOUT */
	ROOST_CM_REP_RECEIVED, /* then: establish, or reject */
	ROOST_CM_REP_ERROR,    /* no RTU came; status -ETIMEDOUT */
	ROOST_CM_RTU_RECEIVED, /* established */
	ROOST_CM_ESTABLISHED,  /* roost_cm_conn_comm_est() took effect */
	ROOST_CM_MRA_RECEIVED, /* the peer thinks about it; for information */
	/* status: the reason. Of a request that nobody has answered, 3
	 * (NO_RESOURCES) says that it made room for newer ones.
	 */
	ROOST_CM_REJ_RECEIVED,
	ROOST_CM_DREQ_RECEIVED,     /* then: disconnect, or destroy */
	ROOST_CM_DREP_RECEIVED,     /* the peer has disconnected, too */
	ROOST_CM_DREQ_ERROR,        /* nobody answers; status -ETIMEDOUT */
	ROOST_CM_TIMEWAIT_EXIT,     /* after every disconnect */
	ROOST_CM_LAP_RECEIVED,      /* then: apr */
	ROOST_CM_LAP_ERROR,         /* status -ETIMEDOUT */
	ROOST_CM_APR_RECEIVED,      /* status: the peer's AP status */
	ROOST_CM_SIDR_REQ_RECEIVED, /* conn is new */
	ROOST_CM_SIDR_REQ_ERROR,    /* status -ETIMEDOUT */
	ROOST_CM_SIDR_REP_RECEIVED, /* status: enum roost_cm_sidr_status */
	ROOST_CM_EVENT_TYPES,
};

/* Reasons of REJ (IBTA 12.6.7.2) that somebody here uses; others pass too. */
enum roost_cm_rej_reason {
	ROOST_CM_REJ_NO_QP = 1,
	ROOST_CM_REJ_NO_RESOURCES = 3,
	ROOST_CM_REJ_TIMEOUT = 4,
	ROOST_CM_REJ_UNSUPPORTED = 5,
	ROOST_CM_REJ_INVALID_COMM_ID = 6,
	ROOST_CM_REJ_INVALID_SERVICE_ID = 8,
	ROOST_CM_REJ_INVALID_TRANSPORT_TYPE = 9,
	ROOST_CM_REJ_STALE_CONN = 10,
	ROOST_CM_REJ_INVALID_GID = 13,
	ROOST_CM_REJ_INVALID_ALT_GID = 20,
	ROOST_CM_REJ_CONSUMER_DEFINED = 28,
	ROOST_CM_REJ_DUPLICATE_LOCAL_COMM_ID = 30,
	ROOST_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED = 35, /* rdma_reject_ece */
};

enum roost_cm_sidr_status {
	ROOST_CM_SIDR_SUCCESS = 0,
	ROOST_CM_SIDR_UNSUPPORTED = 1, /* the service ID: nobody listens */
	ROOST_CM_SIDR_REJECT = 2,
	ROOST_CM_SIDR_NO_QP = 3,
	ROOST_CM_SIDR_REDIRECT = 4,
	ROOST_CM_SIDR_UNSUPPORTED_VERSION = 5,
};

/* What the peer asked for in its REQ, or said in its REP; resources are turned
 * around as rdma_cm does: responder_resources is what we should have, because
 * the peer has so much initiator_depth.
 */
struct roost_cm_peer {
	enum roost_qp_type qp_type; /* ours: XRC_INI and XRC_TGT are pairs */
	uint32_t qpn;
	uint32_t starting_psn;
	uint32_t qkey; /* REQ, REP: 0 */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t retry_count; /* REQ */
	uint8_t rnr_retry_count;
	uint8_t target_ack_delay; /* REP */
	bool flow_control;
	bool srq;
	uint8_t failover_accepted; /* REP; 0: yes, 1: not supported, 2: no */
	uint64_t ca_guid;
	uint32_t ece_vendor_id; /* extended connection establishment, or 0 */
	uint32_t ece_attr_mod;
};

/* Valid until the callback returns. */
struct roost_cm_event {
	enum roost_cm_event_type type;
	/* 0; or -errno, REJ reason, SIDR or AP status as the type says. */
	int status;
	/* Always as long as the message has room, behind the IP addressing
	 * header, with zeros where the peer wrote none; NULL, 0: no message.
	 */
	const uint8_t *data;
	size_t data_len_bytes;
	/* REQ_RECEIVED, SIDR_REQ_RECEIVED: the callback is the listener's. */
	struct roost_cm_listener *listener;
	uint64_t service_id;
	bool has_ip; /* ip counts */
	struct roost_cm_ip_hdr ip;
	bool has_alternate;             /* REQ, LAP */
	struct roost_cm_path alternate; /* from our side */
	uint8_t alternate_timeout;      /* local ACK timeout code */
	struct roost_cm_peer peer;      /* REQ, REP */
	/* REJ_RECEIVED, APR_RECEIVED, SIDR_REP_RECEIVED. */
	const uint8_t *info;
	size_t info_len_bytes;
	/* SIDR_REP_RECEIVED. */
	uint32_t qpn;
	uint32_t qkey;
};

/*
 * arg: of the connection; of the listener for REQ_RECEIVED and
 * SIDR_REQ_RECEIVED, which should give the new conn an owner of its own with
 * roost_cm_conn_set_owner(). May destroy conn.
 */
typedef void roost_cm_callback(void *arg, struct roost_cm_conn *conn,
			       const struct roost_cm_event *event);

/* ---- connections ------------------------------------------------------- */

/* Returns 0, -ENOMEM. */
int roost_cm_conn_create(struct roost_cm *cm, roost_cm_callback *callback,
			 void *arg, struct roost_cm_conn **conn);

/*
 * From its return on there are no callbacks for conn; it waits for one that
 * runs, unless it is called from it. Does what the state asks for: a request
 * or a reply that waits is rejected (reason 28, a REQ that was sent: 4), a
 * connection that stands is disconnected (one DREQ), a DREQ is answered.
 * Thread: any; blocks for a callback of this device.
 */
void roost_cm_conn_destroy(struct roost_cm_conn *conn);

/* Events that are not delivered yet go to the new owner. Returns when the
 * callback that runs, if it is of conn and not the caller, is over.
 */
void roost_cm_conn_set_owner(struct roost_cm_conn *conn,
			     roost_cm_callback *callback, void *arg);

struct roost_cm *roost_cm_conn_cm(const struct roost_cm_conn *conn);
/* The primary path; false: none is known yet. */
bool roost_cm_conn_path(struct roost_cm_conn *conn, struct roost_cm_path *path);

/*
 * Find path (as roost_cm_route()) and the next hop to dgid. Later:
 * ADDR_RESOLVED or ADDR_ERROR, after timeout_ms at the latest. conn holds the
 * neighbour from then on and tells ADDR_CHANGE; one that was accepted does so
 * while it stands. Returns 0, or as roost_cm_route(), -EALREADY (it is under
 * way), -EINVAL (state), -ENODEV.
 */
int roost_cm_resolve(struct roost_cm_conn *conn, const struct roost_gid *sgid,
		     const struct roost_gid *dgid, uint32_t timeout_ms);

struct roost_cm_req_param {
	struct roost_cm_path path;
	const struct roost_cm_path *alternate; /* NULL: none */
	uint64_t service_id;
	const struct roost_cm_ip_hdr *ip; /* NULL: none; 92 bytes of data */
	enum roost_qp_type qp_type;       /* RC, UC, XRC_INI */
	uint32_t qpn;
	/* Of the first packet that the peer sends us; the caller draws it. */
	uint32_t starting_psn;
	bool srq;
	bool flow_control;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t retry_count;     /* 0..7 */
	uint8_t rnr_retry_count; /* 0..7; of the peer's QP */
	uint8_t ack_timeout;     /* of our QP; 0: as the path gives */
	uint8_t remote_cm_response_timeout; /* 0: as the kernel's rdma_cm */
	uint8_t local_cm_response_timeout;  /* 0: as the kernel's rdma_cm */
	uint8_t max_cm_retries;             /* 0: as the kernel's rdma_cm */
	uint32_t ece_vendor_id;
	uint32_t ece_attr_mod;
	const void *data; /* copied */
	size_t data_len_bytes;
};

/*
 * Send REQ. Later: REP_RECEIVED, REJ_RECEIVED, REQ_ERROR. The path need not
 * have been resolved by conn: the next hop is asked for when need be.
 * Returns 0; -EINVAL (state, values out of range, data too long), -ENOMEM,
 * -EHOSTUNREACH, -ENODEV.
 */
int roost_cm_connect(struct roost_cm_conn *conn,
		     const struct roost_cm_req_param *param);

struct roost_cm_rep_param {
	uint32_t qpn;
	uint32_t starting_psn;
	bool srq;
	bool flow_control;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t rnr_retry_count;
	uint8_t failover_accepted; /* as in struct roost_cm_peer */
	uint32_t ece_vendor_id;
	uint32_t ece_attr_mod;
	const void *data;
	size_t data_len_bytes;
};

/*
 * Send REP to the request that made conn. Later: RTU_RECEIVED, REP_ERROR,
 * REJ_RECEIVED. Returns 0; -EINVAL (state: its sender is gone; values, data).
 */
int roost_cm_accept(struct roost_cm_conn *conn,
		    const struct roost_cm_rep_param *param);

/* Send RTU after REP_RECEIVED: established. Returns 0, -EINVAL. */
int roost_cm_establish(struct roost_cm_conn *conn, const void *data,
		       size_t data_len_bytes);

/* The QP got a packet before RTU came (COMM_EST, rdma_notify). In any state
 * where it means nothing it does nothing. Later: ESTABLISHED. Returns 0,
 * -EINVAL (state).
 */
int roost_cm_conn_comm_est(struct roost_cm_conn *conn);

/* Send REJ after REQ_RECEIVED or REP_RECEIVED. Returns 0, -EINVAL. */
int roost_cm_reject(struct roost_cm_conn *conn, uint16_t reason,
		    const void *info, size_t info_len_bytes, const void *data,
		    size_t data_len_bytes);

/*
 * Send DREQ (later DREP_RECEIVED or DREQ_ERROR), or DREP where DREQ_RECEIVED
 * was told. Both then come to TIMEWAIT_EXIT. Returns 0, -EINVAL (state; both
 * have been sent).
 */
int roost_cm_disconnect(struct roost_cm_conn *conn, const void *data,
			size_t data_len_bytes);

/* Tell the peer that an answer takes time, up to 4.096 us * 2^service_timeout.
 * For a request that the owner has not answered the CM does so by itself when
 * it is asked again. Returns 0, -EINVAL.
 */
int roost_cm_mra(struct roost_cm_conn *conn, uint8_t service_timeout,
		 const void *data, size_t data_len_bytes);

/* Propose an alternate path (active side, established). Later: APR_RECEIVED,
 * LAP_ERROR. Returns 0, -EINVAL.
 */
int roost_cm_load_path(struct roost_cm_conn *conn,
		       const struct roost_cm_path *alternate, const void *data,
		       size_t data_len_bytes);
/* Answer LAP_RECEIVED; status 0 takes the path: qp_attr has it. */
int roost_cm_apr(struct roost_cm_conn *conn, uint8_t status, const void *info,
		 size_t info_len_bytes, const void *data,
		 size_t data_len_bytes);

/*
 * The attributes with which to move the connection's QP to INIT, RTR or RTS,
 * in attr and mask, as the kernel's rdma_cm gives them; the rest of attr is
 * zero. INIT works from REQ on, RTR and RTS when the peer's QPN is known. Who
 * takes its QP to RTR before roost_cm_accept() sets rq_psn, max_dest_rd_atomic
 * and max_rd_atomic to what it will say there. Taking a QP to RTR by these does
 * not wait for the network, but for an alternate path, which nobody has looked
 * for. Returns 0, -EINVAL (state).
 */
int roost_cm_conn_qp_attr(struct roost_cm_conn *conn, enum roost_qp_state to,
			  struct roost_qp_attr *attr, uint32_t *mask);

/* ---- datagram services (SIDR) ------------------------------------------ */

struct roost_cm_sidr_req_param {
	struct roost_cm_path path;
	uint64_t service_id;
	const struct roost_cm_ip_hdr *ip; /* NULL: none; 216 bytes of data */
	uint32_t timeout_ms;    /* of one try; 0: as the kernel's rdma_cm */
	uint8_t max_cm_retries; /* 0: as the kernel's rdma_cm */
	const void *data;
	size_t data_len_bytes;
};

/* Ask for a service. Later: SIDR_REP_RECEIVED, SIDR_REQ_ERROR.
 * Returns as roost_cm_connect().
 */
int roost_cm_sidr_request(struct roost_cm_conn *conn,
			  const struct roost_cm_sidr_req_param *param);

struct roost_cm_sidr_rep_param {
	uint8_t status; /* enum roost_cm_sidr_status */
	uint32_t qpn;
	uint32_t qkey;
	const void *info;
	size_t info_len_bytes;
	const void *data;
	size_t data_len_bytes;
};

/* Answer SIDR_REQ_RECEIVED, once. Returns 0, -EINVAL. */
int roost_cm_sidr_reply(struct roost_cm_conn *conn,
			const struct roost_cm_sidr_rep_param *param);

/* ---- listeners --------------------------------------------------------- */

enum roost_cm_family {
	ROOST_CM_FAMILY_ANY, /* also requests without IP addresses */
	ROOST_CM_FAMILY_IPV4,
	ROOST_CM_FAMILY_IPV6,
};

#define ROOST_CM_BACKLOG_MAX 10240

struct roost_cm_listen_param {
	uint64_t service_id;
	/* Only requests to this address; zeros: to any of the family. */
	struct roost_gid addr;
	enum roost_cm_family family;
	/* Requests not fetched yet; <= 0 or more than BACKLOG_MAX means that
	 * many. One more is dropped in silence: its sender asks again.
	 */
	int backlog;
};

/*
 * The most specific listener gets a request. One service may be listened to at
 * one address once, and at all of a family once. A request without the IP
 * header goes to ANY listeners only. Nobody listens: REJ 8, SIDR status 1.
 * Returns 0; -EADDRINUSE, -ENOMEM, -ENODEV.
 */
int roost_cm_listen(struct roost_cm *cm,
		    const struct roost_cm_listen_param *param,
		    roost_cm_callback *callback, void *arg,
		    struct roost_cm_listener **listener);
/* No callbacks of it after its return; as roost_cm_conn_destroy(). Connections
 * that it made are their owner's, and stay.
 */
void roost_cm_listener_destroy(struct roost_cm_listener *listener);

/* The owner of conn has fetched the request, or given it up: it no longer
 * counts against its listener's backlog. Destroying conn does so, too.
 */
void roost_cm_conn_fetched(struct roost_cm_conn *conn);

/* ---- counters ---------------------------------------------------------- */

/* Messages by attribute, and why one was dropped. */
enum roost_cm_drop {
	ROOST_CM_DROP_HEADER,  /* class, version, method or attribute */
	ROOST_CM_DROP_LENGTH,  /* not 256 bytes */
	ROOST_CM_DROP_FIELD,   /* a value that the message cannot have */
	ROOST_CM_DROP_UNKNOWN, /* no such connection */
	ROOST_CM_DROP_PEER,    /* from, or to, another address than it says */
	ROOST_CM_DROP_STATE,   /* means nothing in this state, or a duplicate */
	ROOST_CM_DROP_BACKLOG,
	ROOST_CM_DROP_HALF_OPEN,   /* requests in doubt that made room */
	ROOST_CM_DROP_RATE,        /* more than a peer may ask in a second */
	ROOST_CM_DROP_UNREACHABLE, /* a request, and no way back */
	ROOST_CM_DROP_COUNT,
};

const char *roost_cm_drop_name(enum roost_cm_drop reason);

#define ROOST_CM_MSG_TYPES 11 /* enum roost_cm_msg_type of cm/msg.h */

struct roost_cm_counters {
	uint64_t rx[ROOST_CM_MSG_TYPES];
	uint64_t tx[ROOST_CM_MSG_TYPES];
	uint64_t retries[ROOST_CM_MSG_TYPES];
	uint64_t drops[ROOST_CM_DROP_COUNT];
	uint64_t no_room;      /* sends that found the worker's queue full */
	uint32_t nb_conns;     /* owned and lingering */
	uint32_t nb_half_open; /* requests not answered yet */
	uint32_t nb_timewait;
};
void roost_cm_counters(struct roost_cm *cm, struct roost_cm_counters *counters);

#endif
