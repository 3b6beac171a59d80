/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <rdma/rsocket.h>
#include <stdio.h>
#include <string.h>

#include "cm/rsocket/config.h"
#include "cm/rsocket/option.h"
#include "cm/rsocket/stream.h"

enum what {
	REMEMBERED, /* a bit of so_flags; the kind may act on it */
	LINGER,
	RECV_BYTES,
	SEND_BYTES,
	PENDING_ERROR,
	TYPE,
	DOMAIN,
	ACCEPTS,
	NO_DELAY,
	MAX_SEGMENT,
	KEEP_IDLE,
	NO_MEANING, /* RC retries by itself */
	V6_ONLY,
	SEND_WR,
	RECV_WR,
	INLINE_BYTES,
	NB_IOMAPS,
	ROUTE,
};

struct option {
	int level;
	int name;
	enum what what;
	bool is_settable;
};

static const struct option options[] = {
	/* clang-format off */
	{ SOL_SOCKET,   SO_REUSEADDR,   REMEMBERED,    true },
	{ SOL_SOCKET,   SO_KEEPALIVE,   REMEMBERED,    true },
	{ SOL_SOCKET,   SO_OOBINLINE,   REMEMBERED,    true },
	{ SOL_SOCKET,   SO_LINGER,      LINGER,        true },
	{ SOL_SOCKET,   SO_RCVBUF,      RECV_BYTES,    true },
	{ SOL_SOCKET,   SO_SNDBUF,      SEND_BYTES,    true },
	{ SOL_SOCKET,   SO_ERROR,       PENDING_ERROR, false },
	{ SOL_SOCKET,   SO_TYPE,        TYPE,          false },
	{ SOL_SOCKET,   SO_DOMAIN,      DOMAIN,        false },
	{ SOL_SOCKET,   SO_ACCEPTCONN,  ACCEPTS,       false },
	{ IPPROTO_TCP,  TCP_NODELAY,    NO_DELAY,      true },
	{ IPPROTO_TCP,  TCP_MAXSEG,     MAX_SEGMENT,   true },
	{ IPPROTO_TCP,  TCP_KEEPIDLE,   KEEP_IDLE,     true },
	{ IPPROTO_TCP,  TCP_KEEPCNT,    NO_MEANING,    true },
	{ IPPROTO_TCP,  TCP_KEEPINTVL,  NO_MEANING,    true },
	{ IPPROTO_IPV6, IPV6_V6ONLY,    V6_ONLY,       true },
	{ SOL_RDMA,     RDMA_SQSIZE,    SEND_WR,       true },
	{ SOL_RDMA,     RDMA_RQSIZE,    RECV_WR,       true },
	{ SOL_RDMA,     RDMA_INLINE,    INLINE_BYTES,  true },
	{ SOL_RDMA,     RDMA_IOMAPSIZE, NB_IOMAPS,     true },
	{ SOL_RDMA,     RDMA_ROUTE,     ROUTE,         true },
	/* clang-format on */
};

static const struct option *find(int level, int name)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (options[i].level == level && options[i].name == name)
			return &options[i];
	}
	return NULL;
}

static int keepalive_default_s(void)
{
	FILE *file = fopen("/proc/sys/net/ipv4/tcp_keepalive_time", "re");
	int seconds = 0;

	if (file) {
		if (fscanf(file, "%d", &seconds) != 1)
			seconds = 0;
		fclose(file);
	}
	return seconds > 0 ? seconds : 7200;
}

static uint32_t clamp(int value, uint32_t min, uint32_t max)
{
	if (value < 0 || (uint32_t)value < min)
		return min;
	return (uint32_t)value > max ? max : (uint32_t)value;
}

/* As the kernel does: twice the requested value. */
static uint32_t doubled(int value, uint32_t min)
{
	return 2 * clamp(value, min / 2, 1u << 29);
}

/* Existing buffers keep their sizes. */
static void set_bytes(struct roost_rs *rs, enum what what, int value)
{
	if (!rs->ops->sizable(rs))
		return;
	if (what == RECV_BYTES)
		rs->sizes.recv_bytes = doubled(value, 2);
	else
		rs->sizes.send_bytes =
			doubled(value, 2 * ROOST_RS_LOW_WATER_BYTES);
}

static int set_queue(struct roost_rs *rs, enum what what, int value)
{
	if (!rs->ops->sizable(rs))
		return -EINVAL;
	if (what == SEND_WR)
		rs->sizes.send_wr = (uint16_t)clamp(value, ROOST_RS_WR_MIN,
						    ROOST_RS_WR_MAX);
	else if (what == RECV_WR)
		rs->sizes.recv_wr = (uint16_t)clamp(value, ROOST_RS_WR_MIN,
						    ROOST_RS_WR_MAX);
	else if (what == INLINE_BYTES)
		rs->sizes.inline_bytes =
			(uint16_t)clamp(value, 0, ROOST_RS_WR_MAX);
	else
		rs->sizes.nb_iomaps = roost_rs_iomaps_round(
			clamp(value, 0, ROOST_RS_IOMAPS_MAX));
	return 0;
}

static void remember(struct roost_rs *rs, int name, bool on)
{
	const uint64_t bit = 1ull << name;

	rs->so_flags = on ? rs->so_flags | bit : rs->so_flags & ~bit;
}

/* lock held. */
static int set(struct roost_rs *rs, const struct option *option, int value)
{
	switch (option->what) {
	case REMEMBERED:
	case LINGER:
		remember(rs, option->name, value != 0);
		break;
	case RECV_BYTES:
	case SEND_BYTES:
		set_bytes(rs, option->what, value);
		break;
	case NO_DELAY:
		rs->no_delay = value != 0;
		break;
	case KEEP_IDLE:
		if (value <= 0)
			return -EINVAL;
		rs->keepalive_s = value;
		break;
	case V6_ONLY:
		rs->v6_only = value != 0;
		break;
	case SEND_WR:
	case RECV_WR:
	case INLINE_BYTES:
	case NB_IOMAPS:
		return set_queue(rs, option->what, value);
	case PENDING_ERROR:
	case TYPE:
	case DOMAIN:
	case ACCEPTS:
	case MAX_SEGMENT:
	case NO_MEANING:
	case ROUTE:
		break;
	}
	return 0;
}

int roost_rs_option_set(struct roost_rs *rs, int level, int name,
			const void *value, socklen_t length)
{
	const struct option *option = find(level, name);
	int number = 0;
	int ret = 0;

	if (!option || !option->is_settable) {
		/* The UDP socket of a datagram one may know it. */
		if (rs->type != SOCK_DGRAM || level == SOL_RDMA)
			return -ENOTSUP;
		pthread_mutex_lock(&rs->lock);
		ret = rs->ops->set_option(rs, level, name, value, length);
		pthread_mutex_unlock(&rs->lock);
		return ret;
	}
	if (!value || length < sizeof(int))
		return -EINVAL;
	/* A struct linger begins with the switch. */
	memcpy(&number, value, sizeof(number));
	pthread_mutex_lock(&rs->lock);
	if (rs->keepalive_s == 0)
		rs->keepalive_s = keepalive_default_s();
	if (option->what == ROUTE && !rs->ops->sizable(rs))
		ret = -EINVAL;
	if (ret == 0)
		ret = set(rs, option, number);
	if (ret == 0)
		ret = rs->ops->set_option(rs, level, name, value, length);
	pthread_mutex_unlock(&rs->lock);
	return ret;
}

static int max_segment(struct roost_rs *rs)
{
	const struct rdma_route *route;

	if (rs->type != SOCK_STREAM)
		return 2048;
	route = &roost_rs_stream(rs)->id->route;
	return route->num_paths > 0 && route->path_rec
		       ? 1 << (7 + (route->path_rec->mtu & 0x3f))
		       : 2048;
}

/* lock held. */
static int get(struct roost_rs *rs, const struct option *option)
{
	int error;

	switch (option->what) {
	case REMEMBERED:
	case LINGER:
		return (rs->so_flags >> option->name & 1) != 0;
	case RECV_BYTES:
		return (int)rs->sizes.recv_bytes;
	case SEND_BYTES:
		return (int)rs->sizes.send_bytes;
	case PENDING_ERROR:
		error = rs->error;
		rs->error = 0;
		return error;
	case TYPE:
		return rs->type;
	case DOMAIN:
		return rs->family;
	case ACCEPTS:
		return rs->type == SOCK_STREAM &&
		       roost_rs_stream(rs)->state == ROOST_RS_LISTENING;
	case NO_DELAY:
		return rs->no_delay;
	case MAX_SEGMENT:
		return max_segment(rs);
	case KEEP_IDLE:
		return rs->keepalive_s != 0 ? rs->keepalive_s
					    : keepalive_default_s();
	case NO_MEANING:
		return 1;
	case V6_ONLY:
		return rs->v6_only;
	case SEND_WR:
		return rs->sizes.send_wr;
	case RECV_WR:
		return rs->sizes.recv_wr;
	case INLINE_BYTES:
		return rs->sizes.inline_bytes;
	case NB_IOMAPS:
		return (int)rs->sizes.nb_iomaps;
	case ROUTE:
		break;
	}
	return 0;
}

/* A path record in the form that RDMA_OPTION_IB_PATH takes. */
static void path_put(struct ibv_path_data *data,
		     const struct ibv_sa_path_rec *rec)
{
	/* The upper two bits of MTU, rate and lifetime: exactly this value. */
	const uint8_t exactly = 2 << 6;

	memset(data, 0, sizeof(*data));
	data->flags = rec->preference;
	data->path.dgid = rec->dgid;
	data->path.sgid = rec->sgid;
	data->path.dlid = rec->dlid;
	data->path.slid = rec->slid;
	data->path.flowlabel_hoplimit =
		htobe32(be32toh(rec->flow_label) << 8 | rec->hop_limit);
	data->path.tclass = rec->traffic_class;
	data->path.reversible_numpath =
		(uint8_t)((rec->reversible ? 1 << 7 : 0) | 1);
	data->path.pkey = rec->pkey;
	data->path.qosclass_sl = htobe16(rec->sl);
	data->path.mtu = rec->mtu | exactly;
	data->path.rate = rec->rate | exactly;
	data->path.packetlifetime = rec->packet_life_time | exactly;
}

/* lock held. */
static int get_route(struct roost_rs *rs, void *value, socklen_t *length)
{
	struct roost_rs_stream *st = roost_rs_stream(rs);
	const struct rdma_route *route;
	struct ibv_path_data data;
	socklen_t used = 0;

	if (rs->type != SOCK_STREAM)
		return -ENOTSUP;
	if (st->route) {
		if (*length < st->route_length)
			return -EINVAL;
		memcpy(value, st->route, st->route_length);
		*length = st->route_length;
		return 0;
	}
	if (*length < sizeof(data))
		return -EINVAL;
	route = &st->id->route;
	for (int i = 0; i < route->num_paths && used + sizeof(data) <= *length;
	     i++) {
		path_put(&data, &route->path_rec[i]);
		memcpy((uint8_t *)value + used, &data, sizeof(data));
		used += (socklen_t)sizeof(data);
	}
	*length = used;
	return 0;
}

int roost_rs_option_get(struct roost_rs *rs, int level, int name, void *value,
			socklen_t *length)
{
	const struct option *option = find(level, name);
	struct linger linger = { 0 };
	socklen_t size = sizeof(int);
	int number = 0;
	int ret = 0;

	if (!option)
		return -ENOTSUP;
	pthread_mutex_lock(&rs->lock);
	if (option->what == ROUTE)
		ret = get_route(rs, value, length);
	else
		number = get(rs, option);
	pthread_mutex_unlock(&rs->lock);
	if (option->what == ROUTE)
		return ret;

	linger.l_onoff = number;
	if (option->what == LINGER)
		size = sizeof(linger);
	if (*length > size)
		*length = size;
	memcpy(value, &linger, *length);
	return 0;
}
