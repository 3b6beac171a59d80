/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_CORE_VIEW_H
#define ROOST_ENGINE_CORE_VIEW_H

/*
 * Read-only views of the objects of a device, for the control tool and
 * telemetry. A view is a copy.
 *
 * An object is visible from its creation until its destroy has returned, so
 * that an object whose destroy waits for acks can be found. Each object costs
 * one turn, for the copy; creating and destroying objects waits until all
 * objects of a kind were copied.
 *
 * Thread: any that does not hold the turn; each() is called without the turn,
 * and must not create or destroy objects.
 */

#include <roost/dev.h>
#include <roost/qp.h>
#include "lib/engine/core/flight.h"
#include "lib/engine/core/qp_stats.h"
#include "lib/event/source.h"

struct roost_qp_view {
	uint32_t qpn;
	enum roost_qp_type type;
	enum roost_qp_state state;
	uint32_t worker;       /* its number */
	uint8_t port_num;      /* 0: none yet; then all below are 0 too */
	uint32_t dest_qpn;     /* 0: not connected */
	struct roost_gid sgid; /* zero: no path */
	struct roost_gid dgid;
	uint32_t mtu_bytes;
	uint32_t port_mtu_bytes; /* the port's path MTU now; 0: no path, or one
				  * by no port */
	uint16_t pkey;
	uint32_t next_psn;           /* of the next packet sent */
	uint32_t oldest_unacked_psn; /* next_psn: all are acknowledged */
	uint32_t expected_psn;
	uint32_t sends_posted; /* posted and not complete */
	uint32_t recvs_posted;
	uint32_t cwnd_pkts; /* of the QP alone */
	/* The window that it has with others (share.h), and how many have it;
	 * 0: none.
	 */
	uint32_t share_cwnd_pkts;
	uint32_t share_flight_pkts;
	uint32_t share_qps;
	bool share_waits;      /* for its turn */
	uint32_t srtt_ns;      /* smoothed round-trip time; 0: not known yet */
	uint32_t cc_rate_kbps; /* that CNPs leave it; 0: not limited */
	uint8_t retries_left;
	uint8_t rnr_retries_left;
	uint8_t retries;     /* retry_cnt */
	uint8_t rnr_retries; /* 7: without end */
	uint64_t timeout_ns; /* of local ACK; 0: none */
	bool waits_rnr;      /* until the peer's RNR timer ends */
	uint32_t qkey;
	uint32_t send_cq; /* handles; 0: none */
	uint32_t recv_cq;
	uint32_t srq;
	bool send_cq_overrun;
	bool recv_cq_overrun;
	bool answered; /* since RTS the peer acknowledged something */
	bool executed; /* since RTR a request of the peer was executed; again
			* false after 2^24 of them */
	struct roost_event_counts async;
	struct roost_qp_error error;
	struct roost_qp_counters counters;
	struct roost_flight flight;
};
void roost_dev_view_qps(struct roost_dev *dev,
			void (*each)(void *arg, const struct roost_qp_view *qp),
			void *arg);

struct roost_worker_view {
	uint32_t number;
	uint32_t qps;
	struct roost_dev_counters counters;
};
void roost_dev_view_workers(
	struct roost_dev *dev,
	void (*each)(void *arg, const struct roost_worker_view *worker),
	void *arg);

enum roost_armed {
	ROOST_ARMED_NOT,
	ROOST_ARMED_SOLICITED,
	ROOST_ARMED_ANY,
};

/* The last drop of each reason, over all workers; by enum roost_drop. */
void roost_dev_view_drops(struct roost_dev *dev,
			  struct roost_last_drop drops[ROOST_DROPS_MAX]);

struct roost_cq_view {
	uint32_t handle;
	uint32_t entries; /* room */
	uint32_t waiting; /* entries to be polled */
	uint32_t users;   /* QPs and SRQs that complete here */
	enum roost_armed armed;
	bool overrun;
	struct roost_event_counts comp;
	struct roost_event_counts async;
	bool finishing; /* its destroy waits for acks of comp or async */
};
void roost_dev_view_cqs(struct roost_dev *dev,
			void (*each)(void *arg, const struct roost_cq_view *cq),
			void *arg);

struct roost_srq_view {
	uint32_t handle;
	uint32_t number; /* XRC; 0: none */
	uint32_t max_wr;
	uint32_t posted;
	uint32_t limit; /* 0: not armed */
	uint32_t users; /* QPs */
	struct roost_event_counts async;
};
void roost_dev_view_srqs(struct roost_dev *dev,
			 void (*each)(void *arg,
				      const struct roost_srq_view *srq),
			 void *arg);

/* An async channel of a context, or a completion channel that a CQ uses. */
struct roost_channel_view {
	int fd;
	bool is_async;
	uint32_t waiting; /* events to be read */
	uint32_t cqs;     /* completion channel: CQs that use it */
	uint32_t armed;   /* of these CQs */
};
void roost_dev_view_channels(struct roost_dev *dev,
			     void (*each)(void *arg,
					  const struct roost_channel_view *c),
			     void *arg);

struct roost_dev_view {
	uint32_t contexts;
	uint32_t qps;
	uint32_t cqs;
	uint32_t srqs;
	uint32_t mrs;
	uint32_t mws;
	bool removed;
};
void roost_dev_view(struct roost_dev *dev, struct roost_dev_view *view);

#endif
