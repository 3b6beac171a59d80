/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Destinations of datagrams: from an address to an AH and a QP number. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/rsocket/dgram.h"
#include "cm/rsocket/stream.h" /* the cursor */

#define RESOLVE_MS 2000
#define SIDR_RETRIES 7

static unsigned int bucket_of(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in *sin = (const void *)addr;
	const struct sockaddr_in6 *sin6 = (const void *)addr;
	uint32_t hash = roost_rs_port(addr);
	uint32_t word;

	if (addr->ss_family == AF_INET) {
		hash ^= sin->sin_addr.s_addr;
	} else {
		memcpy(&word, sin6->sin6_addr.s6_addr + 12, sizeof(word));
		hash ^= word;
	}
	return (hash * 2654435761u) >> 26;
}

static struct roost_rs_dest *find_dest(struct roost_rs_dgram *dg,
				       const struct sockaddr_storage *addr)
{
	struct roost_rs_dest *dest;

	LIST_FOREACH(dest, &dg->dests[bucket_of(addr)], link) {
		if (roost_rs_addr_equal(&dest->addr, addr, true))
			return dest;
	}
	return NULL;
}

/* Free the held datagram of a destination. */
static void release(struct roost_rs_dest *dest)
{
	if (!dest->held)
		return;
	free(dest->held);
	dest->held = NULL;
	dest->dg->nb_held--;
}

static void fail(struct roost_rs_dest *dest, int error)
{
	release(dest);
	dest->state = ROOST_RS_DEST_FAILED;
	dest->error = error;
	roost_rs_notify(&dest->dg->rs);
}

bool roost_rs_dest_holds(const struct roost_rs_dest *dest)
{
	return dest->state == ROOST_RS_DEST_RESOLVING && dest->qpn != 0;
}

ssize_t roost_rs_dest_hold(struct roost_rs_dest *dest, const struct iovec *iov,
			   int nb_iov)
{
	const size_t bytes = roost_rs_iov_bytes(iov, nb_iov);
	struct roost_rs_cursor cursor = { .iov = iov, .nb_iov = nb_iov };

	if (bytes > ROOST_RS_DGRAM_BYTES - ROOST_RS_DGRAM_MAX)
		return -EMSGSIZE;
	/* One datagram is enough: a program that sends more learns the result
	 * soon, or no peer is there.
	 */
	if (dest->held || dest->dg->nb_held >= ROOST_RS_HELD_MAX)
		return (ssize_t)bytes;
	dest->held = malloc(bytes + 1);
	if (!dest->held)
		return -ENOMEM;
	dest->dg->nb_held++;
	dest->held_bytes = bytes;
	roost_rs_cursor_read(&cursor, dest->held, bytes);
	return (ssize_t)bytes;
}

static void send_held(struct roost_rs_dest *dest)
{
	const struct iovec iov = { .iov_base = dest->held,
				   .iov_len = dest->held_bytes };

	if (dest->held && dest->uqp->nb_send_free > 0)
		(void)roost_rs_uqp_send(dest->uqp, dest, &iov, 1);
	release(dest);
}

/* uqp, path and qpn are known. */
static void make_ready(struct roost_rs_dest *dest)
{
	struct ibv_ah *ah = ibv_create_ah(dest->uqp->id->pd, &dest->path);

	if (!ah) {
		fail(dest, errno);
		return;
	}
	if (dest->ah)
		ibv_destroy_ah(dest->ah);
	dest->ah = ah;
	dest->state = ROOST_RS_DEST_READY;
	send_held(dest);
	roost_rs_notify(&dest->dg->rs);
}

static int sgid_index(const struct rdma_cm_id *id, const union ibv_gid *gid)
{
	union ibv_gid entry;

	for (int i = 0; ibv_query_gid(id->verbs, id->port_num, i, &entry) == 0;
	     i++) {
		if (memcmp(&entry, gid, sizeof(entry)) == 0)
			return i;
	}
	return -1;
}

static int path_get(struct roost_rs_dest *dest)
{
	const struct rdma_cm_id *id = dest->id;
	const struct ibv_sa_path_rec *rec = id->route.path_rec;
	int index;

	if (id->route.num_paths == 0 || !rec)
		return -EHOSTUNREACH;
	index = sgid_index(id, &rec->sgid);
	if (index < 0)
		return -EADDRNOTAVAIL;
	dest->path = (struct ibv_ah_attr){
		.is_global = 1,
		.grh.dgid = rec->dgid,
		.grh.flow_label = be32toh(rec->flow_label) & 0xfffff,
		.grh.sgid_index = (uint8_t)index,
		.grh.hop_limit = rec->hop_limit > 1 ? rec->hop_limit : 64,
		.grh.traffic_class = rec->traffic_class,
		.sl = rec->sl,
		.port_num = id->port_num,
	};
	return 0;
}

/* The path is known: ask for the peer's QP number, unless it is known already.
 */
static int ask_qpn(struct roost_rs_dest *dest)
{
	struct roost_rs_dgram *dg = dest->dg;
	struct rdma_conn_param param = { .retry_count = SIDR_RETRIES };
	int ret = roost_rs_uqp_get(dg, &dest->id->route.addr.src_storage,
				   &dest->uqp);

	if (ret == 0)
		ret = path_get(dest);
	if (ret < 0)
		return ret;
	if (dest->owes_side)
		(void)roost_rs_side_send(dg, dest, ROOST_RS_OP_CTRL, NULL, 0);
	dest->owes_side = false;
	if (dest->qpn != 0) {
		make_ready(dest);
		return 0;
	}
	dest->state = ROOST_RS_DEST_ASKING;
	dest->by_side = roost_rs_side_works(dg, &dest->uqp->local);
	/*
	 * On the side channel the data itself is the request. SIDR is tried in
	 * any case: the kernel may have the local address and still not reach
	 * the peer.
	 */
	if (dest->by_side)
		roost_rs_notify(&dg->rs);
	if (rdma_connect(dest->id, &param) == 0 || dest->by_side)
		return 0;
	return -errno;
}

static int take_event(struct roost_rs_dest *dest,
		      const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return rdma_resolve_route(dest->id, RESOLVE_MS) == 0 ? 0
								     : -errno;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return ask_qpn(dest);
	case RDMA_CM_EVENT_ESTABLISHED:
		dest->qpn = event->param.ud.qp_num;
		dest->path = event->param.ud.ah_attr;
		make_ready(dest);
		return 0;
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		/* The result of an ICMP port unreachable for a UDP socket. */
		return dest->by_side ? 0 : -ECONNREFUSED;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return event->status < 0 ? event->status : -EHOSTUNREACH;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return -ENODEV;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_MULTICAST_JOIN:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	}
	return 0;
}

static struct roost_rs_after dest_event(struct roost_rs_cm *cm,
					const struct rdma_cm_event *event)
{
	struct roost_rs_dest *dest =
		(struct roost_rs_dest *)((uint8_t *)cm -
					 offsetof(struct roost_rs_dest, cm));
	struct roost_rs_after after = { NULL, NULL };
	int ret;

	pthread_mutex_lock(&cm->rs->lock);
	/* READY: it was learned meanwhile. */
	if (dest->state == ROOST_RS_DEST_RESOLVING ||
	    dest->state == ROOST_RS_DEST_ASKING) {
		ret = take_event(dest, event);
		if (ret < 0)
			fail(dest, -ret);
	}
	pthread_mutex_unlock(&cm->rs->lock);
	return after;
}

struct roost_rs_after
roost_rs_dgram_listen_event(struct roost_rs_cm *cm,
			    const struct rdma_cm_event *event)
{
	struct roost_rs_dgram *dg = roost_rs_dgram(cm->rs);
	struct roost_rs_after after = { NULL, NULL };
	struct rdma_conn_param param = { 0 };
	struct roost_rs_uqp *uqp;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return after;
	/* The id is destroyed after the answer; a peer that misses the answer
	 * asks again.
	 */
	after.destroy = event->id;
	pthread_mutex_lock(&dg->rs.lock);
	if (roost_rs_uqp_get(dg, &event->id->route.addr.src_storage, &uqp) ==
	    0) {
		param.qp_num = uqp->id->qp->qp_num;
		(void)rdma_accept(event->id, &param);
	} else {
		(void)rdma_reject(event->id, NULL, 0);
	}
	pthread_mutex_unlock(&dg->rs.lock);
	return after;
}

static void take_out(struct roost_rs_dest *dest)
{
	struct roost_rs_dgram *dg = dest->dg;

	LIST_REMOVE(dest, link);
	TAILQ_REMOVE(&dg->dests_by_age[dest->used], dest, age_link);
	dg->nb_dests--;
}

/* The oldest destination that no call uses now. */
static struct roost_rs_dest *oldest(struct roost_rs_dgram *dg, bool used)
{
	struct roost_rs_dest *dest;

	TAILQ_FOREACH(dest, &dg->dests_by_age[used], age_link) {
		if (dest != dg->peer && dest != dg->to && dest != dg->sending)
			break;
	}
	return dest;
}

static void make_room(struct roost_rs_dgram *dg)
{
	struct roost_rs_dest *dest = oldest(dg, false);

	if (!dest)
		dest = oldest(dg, true);
	take_out(dest);
	if (!dest->id) {
		roost_rs_dest_free(dest);
		return;
	}
	/* Later events of its id are ignored. */
	release(dest);
	dest->state = ROOST_RS_DEST_FAILED;
	LIST_INSERT_HEAD(&dg->dead_dests, dest, link);
}

void roost_rs_dest_reap(struct roost_rs_dgram *dg)
{
	struct roost_rs_dest *dest;

	for (;;) {
		pthread_mutex_lock(&dg->rs.lock);
		dest = LIST_FIRST(&dg->dead_dests);
		if (dest)
			LIST_REMOVE(dest, link);
		pthread_mutex_unlock(&dg->rs.lock);
		if (!dest)
			return;
		roost_rs_dest_free(dest);
	}
}

static struct roost_rs_dest *dest_new(struct roost_rs_dgram *dg,
				      const struct sockaddr_storage *addr)
{
	struct roost_rs_dest *dest;

	dest = calloc(1, sizeof(*dest));
	if (!dest)
		return NULL;
	if (dg->nb_dests >= ROOST_RS_DESTS_MAX)
		make_room(dg);
	dest->dg = dg;
	dest->cm.rs = &dg->rs;
	dest->cm.event = dest_event;
	dest->addr = *addr;
	LIST_INSERT_HEAD(&dg->dests[bucket_of(addr)], dest, link);
	TAILQ_INSERT_TAIL(&dg->dests_by_age[false], dest, age_link);
	dg->nb_dests++;
	return dest;
}

/* Move dest to the young end of its age list; used: the program has sent to it.
 */
static void renew_age(struct roost_rs_dest *dest, bool used)
{
	struct roost_rs_dgram *dg = dest->dg;

	TAILQ_REMOVE(&dg->dests_by_age[dest->used], dest, age_link);
	dest->used = dest->used || used;
	TAILQ_INSERT_TAIL(&dg->dests_by_age[dest->used], dest, age_link);
}

void roost_rs_dest_use(struct roost_rs_dest *dest)
{
	renew_age(dest, true);
}

/* Start the resolution again when that is needed. */
static int resolve(struct roost_rs_dest *dest)
{
	struct roost_rs_dgram *dg = dest->dg;
	const struct sockaddr_storage *local = &dg->local;
	static const struct sockaddr_storage none;
	struct sockaddr_storage any = none;
	struct sockaddr_storage src = *local;
	bool is_any;

	any.ss_family = local->ss_family;
	is_any = roost_rs_addr_equal(local, &any, false);
	/* The peer has sent to this local address, and expects answers from it.
	 */
	if (dest->uqp) {
		src = dest->uqp->local;
		is_any = false;
	}
	roost_rs_port_set(&src, 0);
	dest->state = ROOST_RS_DEST_RESOLVING;
	if (!dest->id && rdma_create_id(roost_rs_service_channel(), &dest->id,
					&dest->cm, RDMA_PS_UDP) != 0) {
		dest->id = NULL;
		return -errno;
	}
	return rdma_resolve_addr(dest->id,
				 is_any ? NULL : (struct sockaddr *)&src,
				 (struct sockaddr *)&dest->addr,
				 RESOLVE_MS) == 0
		       ? 0
		       : -errno;
}

void roost_rs_dest_seek(struct roost_rs_dest *dest)
{
	int ret;

	if (dest->state != ROOST_RS_DEST_HEARD)
		return;
	ret = resolve(dest);
	if (ret < 0)
		fail(dest, -ret);
}

int roost_rs_dest_get(struct roost_rs_dgram *dg,
		      const struct sockaddr_storage *addr,
		      struct roost_rs_dest **out)
{
	struct roost_rs_dest *dest = find_dest(dg, addr);

	if (!dest)
		dest = dest_new(dg, addr);
	if (!dest)
		return -ENOBUFS;
	renew_age(dest, false);
	roost_rs_dest_seek(dest);
	*out = dest;
	return 0;
}

/* The GID of an address: itself, or IPv4-mapped. */
static void gid_of(const struct sockaddr_storage *addr, union ibv_gid *gid)
{
	const struct sockaddr_in *sin = (const void *)addr;
	const struct sockaddr_in6 *sin6 = (const void *)addr;

	memset(gid, 0, sizeof(*gid));
	if (addr->ss_family == AF_INET6) {
		memcpy(gid->raw, &sin6->sin6_addr, sizeof(gid->raw));
		return;
	}
	gid->raw[10] = 0xff;
	gid->raw[11] = 0xff;
	memcpy(gid->raw + 12, &sin->sin_addr, 4);
}

void roost_rs_dest_learn(struct roost_rs_uqp *uqp, struct roost_rs_dgram *dg,
			 const struct sockaddr_storage *addr, struct ibv_wc *wc,
			 struct ibv_grh *grh)
{
	struct roost_rs_dest *dest = find_dest(dg, addr);
	struct ibv_ah_attr path;
	union ibv_gid gid;

	if (dest)
		renew_age(dest, false);
	if (dest && dest->state == ROOST_RS_DEST_READY &&
	    dest->qpn == wc->src_qp)
		return;
	/* The address in the header counts only if the datagram came from it.
	 */
	gid_of(addr, &gid);
	if (ibv_init_ah_from_wc(uqp->id->verbs, uqp->id->port_num, wc, grh,
				&path) != 0 ||
	    memcmp(&path.grh.dgid, &gid, sizeof(gid)) != 0)
		return;
	if (!dest)
		dest = dest_new(dg, addr);
	if (!dest)
		return;
	/* The path is resolved when the program sends to the destination: a
	 * datagram from an unknown sender starts no resolution.
	 */
	dest->qpn = wc->src_qp;
	if (dest->state == ROOST_RS_DEST_HEARD)
		dest->uqp = uqp;
	else if (dest->state == ROOST_RS_DEST_FAILED)
		dest->state = ROOST_RS_DEST_HEARD;
	else if (dest->state == ROOST_RS_DEST_ASKING)
		make_ready(dest);
}

void roost_rs_dest_tell(struct roost_rs_dest *dest, uint32_t qpn)
{
	dest->qpn = qpn;
	if (dest->state == ROOST_RS_DEST_ASKING)
		make_ready(dest);
}

int roost_rs_dest_renew(struct roost_rs_dest *dest)
{
	struct roost_rs_dgram *dg = dest->dg;
	struct roost_rs_dest *next = NULL;

	take_out(dest);
	(void)roost_rs_dest_get(dg, &dest->addr, &next);
	if (dg->peer == dest)
		dg->peer = next;
	if (dg->to == dest)
		dg->to = next;
	return -dest->error;
}

void roost_rs_dest_free(struct roost_rs_dest *dest)
{
	free(dest->held);
	if (dest->id)
		rdma_destroy_id(dest->id);
	if (dest->ah)
		ibv_destroy_ah(dest->ah);
	free(dest);
}

void roost_rs_dest_free_all(struct roost_rs_dgram *dg)
{
	struct roost_rs_dest *dest;

	roost_rs_dest_reap(dg);
	for (unsigned int i = 0; i < ROOST_RS_DEST_BUCKETS; i++) {
		while ((dest = LIST_FIRST(&dg->dests[i])) != NULL) {
			LIST_REMOVE(dest, link);
			roost_rs_dest_free(dest);
		}
	}
}
