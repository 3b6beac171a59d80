/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TEST_CM_RDMACM_FAKE_WORLD_H
#define ROOST_TEST_CM_RDMACM_FAKE_WORLD_H

/*
 * librdmacm's world in a test: two devices, verbs that write down what they
 * are asked for, and a CM that does nothing by itself. The test plays the
 * peer: it calls the callbacks that the library has left with the CM, on its
 * own thread.
 *
 * roost0 has fe80::1, 198.18.0.1 and fd00::1; roost1 has 198.18.1.1.
 */

#include "tests/rdmacm_calls.h"

#include <roost/cm.h>
#include "lib/engine/core/lease.h"

#define FAKE_MODIFIES_MAX 16
#define FAKE_CONNS_MAX 64

struct roost_cm_conn {
	struct roost_cm *cm;
	roost_cm_callback *callback;
	void *arg;
	bool alive;
	bool fetched;
	struct roost_cm_path path;
	uint32_t resolve_timeout_ms; /* UINT32_MAX: not asked to */
	unsigned int nb_connects, nb_accepts, nb_rejects, nb_disconnects;
	unsigned int nb_establishes, nb_sidr_requests, nb_sidr_replies;
	unsigned int nb_comm_ests;
	struct roost_cm_req_param req; /* data and ip: see below */
	struct roost_cm_ip_hdr ip;
	struct roost_cm_rep_param rep;
	struct roost_cm_sidr_rep_param sidr_rep;
	uint64_t service_id;
	uint16_t reject_reason;
	unsigned int nb_aprs;
	uint8_t apr_status;
	uint8_t data[256]; /* of the last message */
	size_t data_len_bytes;
};

struct roost_cm_listener {
	struct roost_cm *cm;
	roost_cm_callback *callback;
	void *arg;
	bool alive;
	struct roost_cm_listen_param param;
};

extern struct fake {
	unsigned int nb_conns; /* made, ever */
	struct roost_cm_conn conns[FAKE_CONNS_MAX];
	unsigned int nb_listeners;
	struct roost_cm_listener listeners[8];
	uint8_t default_roce_tos;
	int open_error;    /* of ibv_open_device() */
	int accept_rc;     /* of roost_cm_accept() */
	int connect_rc;    /* of roost_cm_connect() */
	bool hop_is_known; /* to roost_cm_resolve_now() */
	int claim_rc;      /* of roost_dev_claim(), by device claim_of */
	unsigned int claim_of;
	unsigned int nb_claims[2]; /* that are held, by device */
	struct roost_service_claim claims[2][64];
	struct roost_service_claim claimed; /* the last one */
	int modify_error; /* of ibv_modify_qp(), if the state is as below */
	enum ibv_qp_state modify_error_state;
	unsigned int nb_modifies;
	struct {
		enum ibv_qp_state state;
		struct ibv_qp_attr attr;
		int mask;
	} modifies[FAKE_MODIFIES_MAX];
	unsigned int nb_attached;
	union ibv_gid attached;
	int attach_error;
	unsigned int nb_qps, nb_cqs, nb_comp_channels, nb_pds, nb_srqs;
	unsigned int nb_attends[2]; /* roost_device_attend(), by device */
} fake;

/* The last connection that was made. */
struct roost_cm_conn *fake_conn(void);
/* How many are not destroyed. */
unsigned int fake_conns_alive(void);
/* The CM tells. */
void fake_tell(struct roost_cm_conn *conn, enum roost_cm_event_type type,
	       int status);
/* A request comes to a listener: from 198.18.0.2, port 5000. */
struct roost_cm_conn *fake_request(struct roost_cm_listener *listener,
				   const char *data);
/* The peer accepts. */
void fake_reply(struct roost_cm_conn *conn, const char *data);

/* A device goes away, for all tests of the program that follow. */
void fake_remove(unsigned int device);
/* Entry index of its addresses becomes addr, or none. */
void fake_readdress(unsigned int device, unsigned int index, const char *addr);
/* Its MAC becomes 00:00:00:00:00:mac_end. */
void fake_move(unsigned int device, uint8_t mac_end);

/* ---- what tests share --------------------------------------------------- */

static inline bool fake_readable(const struct rdma_event_channel *channel)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

/* The next event is there, and of this type; the caller acks it. */
struct rdma_cm_event *fake_event(struct rdma_event_channel *channel,
				 enum rdma_cm_event_type type);
/* The same, acked. */
void fake_expect(struct rdma_event_channel *channel,
		 enum rdma_cm_event_type type, int status);

/* An id of RDMA_PS_TCP (or ps) with an address and a route to 198.18.0.2. */
struct rdma_cm_id *fake_routed(struct rdma_event_channel *channel,
			       enum rdma_port_space ps);
/* The same with a QP, and connecting. */
struct rdma_cm_id *fake_connecting(struct rdma_event_channel *channel);
void fake_give_qp(struct rdma_cm_id *id);
/* One that listens at 198.18.0.1, port 7000. */
struct rdma_cm_id *fake_listening(struct rdma_event_channel *channel,
				  enum rdma_port_space ps);

int fake_setup(void **state);
/* A world with a channel, where nothing may be left at the end. */
extern struct rdma_event_channel *fake_channel;
int fake_channel_setup(void **state);
int fake_channel_teardown(void **state);
#define FAKE_CHANNEL_TEST(name)                                                \
	cmocka_unit_test_setup_teardown(name, fake_channel_setup,              \
					fake_channel_teardown)
/* An id on it. */
struct rdma_cm_id *fake_new_id(enum rdma_port_space ps);

#endif
