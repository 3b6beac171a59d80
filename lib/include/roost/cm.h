/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_H
#define ROOST_CM_H

/*
 * The connection manager of one device (IBTA chapter 12, Annex A11).
 *
 * A struct roost_cm_conn is one end of a connection, or of a service lookup for
 * datagrams (SIDR), from address resolution to timewait. A listener takes
 * requests for one service. The CM exchanges MADs on QP1 with the peer's CM,
 * retransmits lost ones, and reports events to the owner by a callback. The CM
 * never touches the owner's QP: when an event says so, the owner modifies its
 * QP, with the attributes from roost_cm_conn_qp_attr().
 *
 * Threads. Every call may be made from any thread that holds no turn of a
 * worker, also from a callback. A call blocks only where its comment says so.
 * Callbacks run on the control thread, one at a time per device, and hold no
 * lock of the CM; they must not block. Events of one connection come in the
 * order in which they happened.
 *
 * Removal. When the last port of the device is removed (roost/dev.h), all
 * connections end at once: the CM sends nothing, waits for nothing, and raises
 * no event any more, except ADDR_ERROR with -ENODEV for a pending address
 * resolution. The owner can only destroy its connections and listeners; calls
 * that start something return -ENODEV.
 *
 * Time. No call takes the time or reads a clock. A message of a call is sent at
 * once; its timer starts when the control thread runs next. The call wakes the
 * control thread for that, unless it runs within 34 ms anyway and the timer is
 * sixteen times as long. The control thread of a device of roost/loop.h is the
 * lcore that calls roost_loop_run().
 *
 * Ownership. A connection from roost_cm_conn_create(), REQ_RECEIVED or
 * SIDR_REQ_RECEIVED belongs to the owner until the owner calls
 * roost_cm_conn_destroy(). The CM itself keeps the state that timers and
 * duplicates need afterwards. A GID, service ID or number is in host order
 * unless its name ends in _be; GIDs are as in roost/gid.h (IPv4 is mapped).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <roost/dev.h>
#include <roost/qp.h>
#include <roost/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct roost_cm;
struct roost_cm_conn;
struct roost_cm_listener;

/* ---- private data, in bytes --------------------------------------------- */

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
/* The IP addressing header takes the first bytes of the private data of REQ and
 * SIDR REQ.
 */
#define ROOST_CM_IP_HDR_LEN 36u

/* ---- values of the kernel's rdma_cm ------------------------------------- */

/* Codes: 4.096 us * 2^code. With the kernel's values, both ends behave as users
 * of the kernel's rdma_cm expect.
 */
#define ROOST_CM_RESPONSE_TIMEOUT 20u
#define ROOST_CM_RETRIES_MAX 15u
#define ROOST_CM_PACKET_LIFETIME 18u
/* The local CA ACK delay of this end, with Soft-RoCE's value. */
#define ROOST_CM_ACK_DELAY 15u

/* ---- the connection manager of a device --------------------------------- */

/*
 * Get the CM of dev. The last put sends the messages that are still due; dev
 * stays open until then. A device of roost/roost.h has its CM from beginning to
 * end, so a peer's request for which nobody listens is rejected; one of
 * roost/loop.h has it, and QP1, from the first get to the last put.
 * Returns 0, -ENOMEM. Blocks for the worker's turn. Neither may be called from
 * a callback.
 */
int roost_cm_get(struct roost_dev *dev, struct roost_cm **cm);
void roost_cm_put(struct roost_cm *cm);

/* ---- paths to a peer ---------------------------------------------------- */

/* A path to a peer. It starts at the port and GID that packets leave by. */
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
 * Find the path of this device to dgid, without asking the network. sgid: the
 * source address, which must be one of the device's; NULL: the CM chooses it.
 * Returns 0; -EADDRNOTAVAIL (sgid is not an address of the device), -EINVAL
 * (two families, or an address that no host can have), -EHOSTUNREACH (no
 * route), -ENETUNREACH (the device is gone).
 */
int roost_cm_route(struct roost_cm *cm, const struct roost_gid *sgid,
		   const struct roost_gid *dgid, struct roost_cm_path *path);

/* ---- service IDs and the IP addressing header --------------------------- */

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

/* The header at the front of the private data of a request that uses IP
 * addresses (A11.4).
 */
struct roost_cm_ip_hdr {
	struct roost_gid src;
	struct roost_gid dst; /* of the same family */
	uint16_t src_port;
};

/* ---- events ------------------------------------------------------------- */

enum roost_cm_event_type {
	ROOST_CM_ADDR_RESOLVED,
	ROOST_CM_ADDR_ERROR,   /* status: -ETIMEDOUT, -EHOSTUNREACH, -ENODEV */
	ROOST_CM_ADDR_CHANGE,  /* the next hop has another MAC now */
	ROOST_CM_REQ_RECEIVED, /* conn is new; see event.listener */
	ROOST_CM_REQ_ERROR,    /* no answer; status -ETIMEDOUT */
	ROOST_CM_REP_RECEIVED, /* then: establish, or reject */
	ROOST_CM_REP_ERROR,    /* no RTU came; status -ETIMEDOUT */
	ROOST_CM_RTU_RECEIVED, /* established */
	ROOST_CM_ESTABLISHED,  /* roost_cm_conn_comm_est() took effect */
	ROOST_CM_MRA_RECEIVED, /* the peer needs more time; for information */
	/* status: the reason. For a request that the owner has not answered,
	 * reason 3 (NO_RESOURCES) also means that the CM dropped it to make
	 * room for newer ones.
	 */
	ROOST_CM_REJ_RECEIVED,
	ROOST_CM_DREQ_RECEIVED,     /* then: disconnect, or destroy */
	ROOST_CM_DREP_RECEIVED,     /* the peer has disconnected too */
	ROOST_CM_DREQ_ERROR,        /* no answer; status -ETIMEDOUT */
	ROOST_CM_TIMEWAIT_EXIT,     /* after every disconnect */
	ROOST_CM_LAP_RECEIVED,      /* then: apr */
	ROOST_CM_LAP_ERROR,         /* status -ETIMEDOUT */
	ROOST_CM_APR_RECEIVED,      /* status: the peer's AP status */
	ROOST_CM_SIDR_REQ_RECEIVED, /* conn is new */
	ROOST_CM_SIDR_REQ_ERROR,    /* status -ETIMEDOUT */
	ROOST_CM_SIDR_REP_RECEIVED, /* status: enum roost_cm_sidr_status */
	ROOST_CM_EVENT_TYPES,
};

/* Reasons of REJ (IBTA 12.6.7.2) that Roost uses; other values pass through. */
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
	ROOST_CM_SIDR_UNSUPPORTED = 1, /* no listener for the service ID */
	ROOST_CM_SIDR_REJECT = 2,
	ROOST_CM_SIDR_NO_QP = 3,
	ROOST_CM_SIDR_REDIRECT = 4,
	ROOST_CM_SIDR_UNSUPPORTED_VERSION = 5,
};

/* Contents of the peer's REQ or REP. Resources are swapped as in rdma_cm:
 * responder_resources is the number that this end should have, because it is
 * the peer's initiator_depth.
 */
struct roost_cm_peer {
	enum roost_qp_type qp_type; /* of this end's QP: XRC_INI and XRC_TGT are
				     * pairs */
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
	/* 0; or -errno, REJ reason, SIDR status or AP status; the type says
	 * which.
	 */
	int status;
	/* The private data behind the IP addressing header, always with the
	 * full length of its field in the message; bytes that the peer did not
	 * write are 0. NULL, 0: the event has no message.
	 */
	const uint8_t *data;
	size_t data_len_bytes;
	/* REQ_RECEIVED, SIDR_REQ_RECEIVED: the listener whose callback this is.
	 */
	struct roost_cm_listener *listener;
	uint64_t service_id;
	bool has_ip; /* ip is valid */
	struct roost_cm_ip_hdr ip;
	bool has_alternate;             /* REQ, LAP */
	struct roost_cm_path alternate; /* as seen from this end */
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
 * arg: the argument of the connection; for REQ_RECEIVED and SIDR_REQ_RECEIVED,
 * the argument of the listener. The callback of those two should give the new
 * conn an owner of its own with roost_cm_conn_set_owner(). A callback may
 * destroy conn.
 */
typedef void roost_cm_callback(void *arg, struct roost_cm_conn *conn,
			       const struct roost_cm_event *event);

/* ---- connections of the CM ---------------------------------------------- */

/* Create a connection. Returns 0, -ENOMEM. */
int roost_cm_conn_create(struct roost_cm *cm, roost_cm_callback *callback,
			 void *arg, struct roost_cm_conn **conn);

/*
 * Destroy conn. No callback for conn runs after the return; the call waits for
 * one that is running, unless it is called from that callback. It closes the
 * connection as its state demands: an unanswered request or reply is rejected
 * (reason 28; a REQ that this end sent: reason 4), an established connection is
 * disconnected (one DREQ), a received DREQ is answered.
 */
void roost_cm_conn_destroy(struct roost_cm_conn *conn);

/* Change the owner. Events that are not delivered yet go to the new owner. If a
 * callback of conn is running, the call waits for its end, unless it is called
 * from that callback.
 */
void roost_cm_conn_set_owner(struct roost_cm_conn *conn,
			     roost_cm_callback *callback, void *arg);

/* The primary path. Returns false when none is known yet. */
bool roost_cm_conn_path(struct roost_cm_conn *conn, struct roost_cm_path *path);

/*
 * Find the path (as roost_cm_route()) and the next hop to dgid. Later:
 * ADDR_RESOLVED or ADDR_ERROR, after timeout_ms at the latest. From then on
 * conn holds the neighbour and raises ADDR_CHANGE; an accepted connection does
 * so while it is established. Returns 0, an error of roost_cm_route(),
 * -EALREADY (resolution is under way), -EINVAL (state), -ENODEV.
 */
int roost_cm_resolve(struct roost_cm_conn *conn, const struct roost_gid *sgid,
		     const struct roost_gid *dgid, uint32_t timeout_ms);
/* The same for an owner that does not need the control thread for an answer
 * that is known: returns 1 if the next hop is known, and no event follows.
 */
int roost_cm_resolve_now(struct roost_cm_conn *conn,
			 const struct roost_gid *sgid,
			 const struct roost_gid *dgid, uint32_t timeout_ms);

struct roost_cm_req_param {
	struct roost_cm_path path;
	const struct roost_cm_path *alternate; /* NULL: none */
	uint64_t service_id;
	const struct roost_cm_ip_hdr *ip; /* NULL: none; 92 bytes of data */
	enum roost_qp_type qp_type;       /* RC, UC, XRC_INI */
	uint32_t qpn;
	/* PSN of the first packet that the peer sends to this end; the caller
	 * draws it at random.
	 */
	uint32_t starting_psn;
	bool srq;
	bool flow_control;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t retry_count;     /* 0..7 */
	uint8_t rnr_retry_count; /* 0..7; of the peer's QP */
	uint8_t ack_timeout;     /* of this end's QP; 0: derived from the
				  * path */
	uint8_t remote_cm_response_timeout; /* 0: as the kernel's rdma_cm */
	uint8_t local_cm_response_timeout;  /* 0: as the kernel's rdma_cm */
	uint8_t max_cm_retries;             /* 0: as the kernel's rdma_cm */
	uint32_t ece_vendor_id;
	uint32_t ece_attr_mod;
	const void *data; /* copied */
	size_t data_len_bytes;
};

/*
 * Send REQ. Later: REP_RECEIVED, REJ_RECEIVED, REQ_ERROR. conn need not have
 * resolved the path: the CM asks for the next hop if it is unknown. Returns 0;
 * -EINVAL (state, values out of range, data too long), -ENOMEM, -EHOSTUNREACH,
 * -ENODEV.
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
 * Send REP to the request that created conn. Later: RTU_RECEIVED, REP_ERROR,
 * REJ_RECEIVED. Returns 0; -EINVAL (state: the requester has gone; values,
 * data).
 */
int roost_cm_accept(struct roost_cm_conn *conn,
		    const struct roost_cm_rep_param *param);

/* Send RTU after REP_RECEIVED: the connection is established. Returns 0,
 * -EINVAL.
 */
int roost_cm_establish(struct roost_cm_conn *conn, const void *data,
		       size_t data_len_bytes);

/* The QP got a packet before RTU came (COMM_EST, rdma_notify). In a state where
 * COMM_EST has no meaning, the call does nothing. Later: ESTABLISHED. Returns
 * 0, -EINVAL (state).
 */
int roost_cm_conn_comm_est(struct roost_cm_conn *conn);

/* Send REJ after REQ_RECEIVED or REP_RECEIVED. Returns 0, -EINVAL. */
int roost_cm_reject(struct roost_cm_conn *conn, uint16_t reason,
		    const void *info, size_t info_len_bytes, const void *data,
		    size_t data_len_bytes);

/*
 * Send DREQ (later DREP_RECEIVED or DREQ_ERROR), or DREP after DREQ_RECEIVED.
 * TIMEWAIT_EXIT follows in both cases. Returns 0, -EINVAL (state; DREQ and DREP
 * have been sent).
 */
int roost_cm_disconnect(struct roost_cm_conn *conn, const void *data,
			size_t data_len_bytes);

/* Send MRA: this end needs up to 4.096 us * 2^service_timeout to answer. For a
 * request that the owner has not answered, the CM sends MRA by itself when the
 * peer repeats the request. Returns 0, -EINVAL.
 */
int roost_cm_mra(struct roost_cm_conn *conn, uint8_t service_timeout,
		 const void *data, size_t data_len_bytes);

/* Propose an alternate path (active side, established). Later: APR_RECEIVED,
 * LAP_ERROR. Returns 0, -EINVAL.
 */
int roost_cm_load_path(struct roost_cm_conn *conn,
		       const struct roost_cm_path *alternate, const void *data,
		       size_t data_len_bytes);
/* Answer LAP_RECEIVED. status 0 accepts the path: roost_cm_conn_qp_attr() has
 * it then. Returns 0, -EINVAL (state, data).
 */
int roost_cm_apr(struct roost_cm_conn *conn, uint8_t status, const void *info,
		 size_t info_len_bytes, const void *data,
		 size_t data_len_bytes);

/*
 * The attributes to move the connection's QP to INIT, RTR or RTS, in attr and
 * mask, as the kernel's rdma_cm gives them; the rest of attr is zero. INIT
 * works from REQ on, RTR and RTS when the peer's QPN is known. An owner that
 * moves its QP to RTR before roost_cm_accept() itself sets rq_psn,
 * max_dest_rd_atomic and max_rd_atomic, to the values that it will pass to
 * roost_cm_accept(). Moving a QP to RTR with these attributes does not wait for
 * the network, except for an alternate path, whose next hop the CM has not
 * resolved. Returns 0, -EINVAL (state).
 */
int roost_cm_conn_qp_attr(struct roost_cm_conn *conn, enum roost_qp_state to,
			  struct roost_qp_attr *attr, uint32_t *mask);

/* ---- datagram services of the CM (SIDR) --------------------------------- */

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

/* ---- listeners of the CM ------------------------------------------------ */

enum roost_cm_family {
	ROOST_CM_FAMILY_ANY, /* also requests without IP addresses */
	ROOST_CM_FAMILY_IPV4,
	ROOST_CM_FAMILY_IPV6,
};

#define ROOST_CM_BACKLOG_MAX 10240

struct roost_cm_listen_param {
	uint64_t service_id;
	/* Takes requests to this address only; zeros: to any address of the
	 * family.
	 */
	struct roost_gid addr;
	enum roost_cm_family family;
	/* Maximum of requests that are not fetched; <= 0 or more than
	 * BACKLOG_MAX means BACKLOG_MAX. A request beyond it is dropped without
	 * an answer; the peer retransmits it.
	 */
	int backlog;
};

/*
 * The most specific listener gets a request. A service can have one listener
 * per address and one for all addresses of a family. A request without the IP
 * header goes to a listener of family ANY only. Without a matching listener,
 * the answer is REJ 8 or SIDR status 1. Returns 0; -EADDRINUSE, -ENOMEM,
 * -ENODEV.
 */
int roost_cm_listen(struct roost_cm *cm,
		    const struct roost_cm_listen_param *param,
		    roost_cm_callback *callback, void *arg,
		    struct roost_cm_listener **listener);
/* Destroy a listener. No callback of it runs after the return, as for
 * roost_cm_conn_destroy(). Connections that it created stay and belong to their
 * owners.
 */
void roost_cm_listener_destroy(struct roost_cm_listener *listener);

/* The owner of conn has fetched the request, or given it up: the request no
 * longer counts against its listener's backlog. Destroying conn has the same
 * effect.
 */
void roost_cm_conn_fetched(struct roost_cm_conn *conn);

/* ---- counters of the CM ------------------------------------------------- */

/* Why a message was dropped. */
enum roost_cm_drop {
	ROOST_CM_DROP_HEADER,  /* class, version, method or attribute */
	ROOST_CM_DROP_LENGTH,  /* not 256 bytes */
	ROOST_CM_DROP_FIELD,   /* a value that the message cannot have */
	ROOST_CM_DROP_UNKNOWN, /* no such connection */
	ROOST_CM_DROP_PEER,    /* addresses or source QP do not match */
	ROOST_CM_DROP_STATE,   /* not valid in this state, or a duplicate */
	ROOST_CM_DROP_BACKLOG,
	ROOST_CM_DROP_HALF_OPEN,   /* half-open requests dropped to make room */
	ROOST_CM_DROP_RATE,        /* more than a peer may ask in a second */
	ROOST_CM_DROP_UNREACHABLE, /* a request without a route back */
	ROOST_CM_DROP_COUNT,
};

/* A short name, e.g. "backlog"; "unknown" for a number that is no reason. A
 * constant string. Thread: any.
 */
const char *roost_cm_drop_name(enum roost_cm_drop reason);

/* In the order of their attribute IDs, from 0x0010 on. */
enum roost_cm_msg_type {
	ROOST_CM_REQ,
	ROOST_CM_MRA,
	ROOST_CM_REJ,
	ROOST_CM_REP,
	ROOST_CM_RTU,
	ROOST_CM_DREQ,
	ROOST_CM_DREP,
	ROOST_CM_SIDR_REQ,
	ROOST_CM_SIDR_REP,
	ROOST_CM_LAP,
	ROOST_CM_APR,
	ROOST_CM_MSG_COUNT,
};

struct roost_cm_counters {
	uint64_t rx[ROOST_CM_MSG_COUNT];
	uint64_t tx[ROOST_CM_MSG_COUNT];
	uint64_t retries[ROOST_CM_MSG_COUNT];
	uint64_t drops[ROOST_CM_DROP_COUNT];
	uint64_t no_room;      /* sends that found the worker's queue full */
	uint32_t nb_conns;     /* owned and lingering */
	uint32_t nb_half_open; /* requests not answered yet */
	uint32_t nb_timewait;
};
/* Copy the counters. Thread: any. */
void roost_cm_counters(struct roost_cm *cm, struct roost_cm_counters *counters);

#ifdef __cplusplus
}
#endif

#endif
