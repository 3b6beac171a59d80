/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* The host measures a path, and tells others the time. */

#include <errno.h>
#include <string.h>
#include <time.h>

#include "pmd_glue/host/host_priv.h"
#include "pmd_glue/host/ping.h"

#define DAY_S 86400

static uint32_t ms_of_the_day(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint32_t)(now.tv_sec % DAY_S * 1000 + now.tv_nsec / 1000000);
}

int roost_host_ping(struct roost_host *host, const struct roost_ping *ping)
{
	uint8_t frame[ROOST_PING_FRAME_MAX], src_mac[6], dst_mac[6];
	struct roost_neigh *neigh;
	uint64_t mac_gen;
	size_t len;
	int ret = roost_host_ask(host, &ping->sgid, &ping->dgid, NULL, &neigh);

	if (ret)
		return ret;
	mac_gen = atomic_load_explicit(&neigh->mac_gen, memory_order_acquire);
	pthread_mutex_lock(&host->lock);
	memcpy(src_mac, host->conf.mac, sizeof(src_mac));
	pthread_mutex_unlock(&host->lock);
	roost_host_neigh_put(host, neigh);
	if (mac_gen == 0)
		return -EAGAIN;
	roost_neigh_mac(mac_gen, dst_mac);
	len = roost_ping_build(ping, src_mac, dst_mac, frame);
	if (len == 0)
		return -EINVAL;
	host->conf.send(host->conf.ctx, frame, len);
	return 0;
}

void roost_host_hear(struct roost_host *host, struct roost_ping_log *log)
{
	host->pings = log;
}

void roost_host_input_ping(struct roost_host *host, uint8_t *frame,
			   size_t len_bytes, uint64_t now_ns)
{
	struct roost_ping_reply reply;
	struct roost_gid dst;
	size_t len;

	if (memcmp(frame, host->conf.mac, 6) != 0)
		return;
	if (host->pings && roost_ping_parse(frame, len_bytes, &reply) == 0 &&
	    roost_host_is_ours(host, &reply.dgid)) {
		roost_ping_log_add(host->pings, &reply, now_ns);
		return;
	}
	len = roost_ping_answer_time(frame, len_bytes, ms_of_the_day(), &dst);
	if (len && roost_host_answers(host, &dst))
		host->conf.send(host->conf.ctx, frame, len);
}
