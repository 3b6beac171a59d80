/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/probe/measure.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <roost/dev.h>
#include <roost/roost.h>

#include "lib/wire/frame.h"
#include "pmd_glue/backend/backend.h"
#include "pmd_glue/host/ping.h"
#include "pmd_glue/peer.h"
#include "pmd_glue/process/clock.h"

#define FEW 5u
#define FEW_GAP_NS 50000000u
#define MANY 100u
#define MANY_GAP_NS 10000000u
#define SIZE_TRIES 3u
/* An answer that takes longer is lost. */
#define ANSWER_NS 1000000000u
#define POLL_NS 1000000u
#define ECT0 2u
#define CARRIER_TRIES 100u
#define CARRIER_NS 10000000u
#define DAY_MS 86400000

struct probe {
	struct roost_device *device;
	uint8_t port_num;
	struct roost_gid sgid, dgid;
	struct roost_ping_log log;
	uint64_t sent_ns[ROOST_PINGS_MAX];
	uint16_t next_seq;
};

static void sleep_ns(uint64_t ns)
{
	const struct timespec t = { .tv_sec = (time_t)(ns / 1000000000u),
				    .tv_nsec = (long)(ns % 1000000000u) };

	nanosleep(&t, NULL);
}

/* ---- the port ------------------------------------------------------------ */

static void look_at_port(struct roost_device *device, uint8_t port_num,
			 struct roost_probe_port *port)
{
	struct roost_dev *dev = roost_device_dev(device);
	static struct roost_backend_view view;
	struct roost_port_attr attr;
	struct roost_gid gid;

	/* Two processes that have a link meet a moment after the second one has
	 * opened it.
	 */
	for (unsigned int i = 0; i < CARRIER_TRIES && !view.carrier; i++) {
		if (i > 0)
			sleep_ns(CARRIER_NS);
		roost_peer_view_port(device, port_num, &view);
	}
	port->carrier = view.carrier;
	port->ip_mtu_bytes = view.mtu_bytes;
	roost_port_query_mac(dev, port_num, port->mac);
	if (roost_port_query(dev, port_num, &attr) != 0)
		return;
	port->active = attr.state == ROOST_PORT_ACTIVE;
	port->path_mtu_bytes =
		attr.active_mtu ? roost_mtu_bytes(attr.active_mtu) : 0;
	for (unsigned int i = 0; i < attr.gid_len; i++)
		if (roost_port_query_gid(dev, port_num, i, &gid) == 0 &&
		    !roost_gid_is_zero(&gid) &&
		    port->nb_addrs < ROOST_PROBE_ADDRS_MAX)
			port->addrs[port->nb_addrs++] = gid;
}

static bool has_addr(const struct roost_probe_port *port,
		     const struct roost_gid *addr)
{
	for (unsigned int i = 0; i < port->nb_addrs; i++)
		if (roost_gid_eq(&port->addrs[i], addr))
			return true;
	return false;
}

/* ---- pings --------------------------------------------------------------- */

/* A log of nothing, under an id of its own. */
static int begin(struct probe *p)
{
	int ret = roost_peer_hear(p->device, p->port_num, NULL);

	memset(&p->log, 0, sizeof(p->log));
	p->log.id = (uint16_t)(roost_now_ns() ^ (uint64_t)getpid() << 4);
	p->log.peer = p->dgid;
	p->next_seq = 1;
	return ret ? ret : roost_peer_hear(p->device, p->port_num, &p->log);
}

static int send_one(struct probe *p, uint8_t tos, uint16_t ip_bytes,
		    bool asks_time)
{
	const struct roost_ping ping = {
		.sgid = p->sgid,
		.dgid = p->dgid,
		.id = p->log.id,
		.seq = p->next_seq,
		.tos = tos,
		.ip_bytes = ip_bytes,
		.asks_time = asks_time,
	};

	p->sent_ns[p->next_seq - 1] = roost_now_ns();
	p->next_seq++;
	return roost_peer_ping(p->device, p->port_num, &ping);
}

static unsigned int heard(const struct probe *p)
{
	return atomic_load_explicit(&p->log.nb, memory_order_acquire);
}

/* Until nb replies are there, or time is over. */
static bool wait_for(const struct probe *p, unsigned int nb)
{
	const uint64_t until_ns = roost_now_ns() + ANSWER_NS;

	while (heard(p) < nb && roost_now_ns() < until_ns)
		sleep_ns(POLL_NS);
	return heard(p) >= nb;
}

static int ping_some(struct probe *p, unsigned int nb, uint64_t gap_ns,
		     uint8_t tos, struct roost_probe_pings *pings)
{
	struct roost_ping_sum sum;
	int ret = begin(p);

	for (unsigned int i = 0; ret == 0 && i < nb; i++) {
		if (i > 0)
			sleep_ns(gap_ns);
		ret = send_one(p, tos, 0, false);
		/* It is asked for again, and one request is lost. */
		if (ret == -EAGAIN)
			ret = 0;
	}
	if (ret)
		return ret;
	wait_for(p, nb);
	roost_ping_sum(&p->log, 1, p->sent_ns, nb, &sum);
	*pings = (struct roost_probe_pings){
		.sent = sum.sent,
		.answered = sum.answered,
		.duplicates = sum.duplicates,
		.late = sum.late,
		.rtt_min_ns = sum.rtt_min_ns,
		.rtt_avg_ns = sum.rtt_avg_ns,
		.rtt_max_ns = sum.rtt_max_ns,
		.ect = sum.ect,
		.ce = sum.ce,
		.not_ect = sum.not_ect,
	};
	return 0;
}

static bool has_long_reply(const struct probe *p, uint32_t ip_bytes)
{
	const unsigned int nb = heard(p);

	for (unsigned int i = 0; i < nb; i++)
		if (p->log.v[i].ip_bytes == ip_bytes)
			return true;
	return false;
}

/* Is a packet of that length answered? Some tries, as others may be lost. */
static bool fits(struct probe *p, uint32_t ip_bytes)
{
	if (begin(p))
		return false;
	for (unsigned int i = 0; i < SIZE_TRIES; i++) {
		const uint64_t until_ns = roost_now_ns() + ANSWER_NS / 2;

		if (send_one(p, 0, (uint16_t)ip_bytes, false) == -EINVAL)
			return false;
		while (!has_long_reply(p, ip_bytes) &&
		       roost_now_ns() < until_ns)
			sleep_ns(POLL_NS);
		if (has_long_reply(p, ip_bytes))
			return true;
	}
	return false;
}

/* Between a length that fits and one that does not, to 8 bytes. */
static uint32_t search(struct probe *p, uint32_t low, uint32_t high)
{
	while (high - low > 8) {
		const uint32_t middle = (low + high) / 2;

		if (fits(p, middle))
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void pad(struct probe *p, struct roost_probe_facts *f)
{
	const uint32_t most = f->port.ip_mtu_bytes < ROOST_PING_IP_MAX_BYTES
				      ? f->port.ip_mtu_bytes
				      : ROOST_PING_IP_MAX_BYTES;

	f->answered_ip_bytes = fits(p, most) ? most : search(p, 64, most);
	for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2)
		if (mtu + ROOST_IP_OVERHEAD_MAX <= f->answered_ip_bytes)
			f->answered_path_bytes = mtu;
}

static void ask_time(struct probe *p, struct roost_probe_facts *f)
{
	struct timespec wall;
	uint64_t wall_ns, rtt_ns;
	int32_t ahead;

	if (!roost_gid_is_v4(&p->dgid) || begin(p) || send_one(p, 0, 0, true) ||
	    !wait_for(p, 1) || p->log.v[0].time_ms == ROOST_PING_NO_MS)
		return;
	clock_gettime(CLOCK_REALTIME, &wall);
	wall_ns = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec;
	rtt_ns = p->log.v[0].at_ns - p->sent_ns[0];
	/* What our clock was in the middle of the exchange. */
	wall_ns -= roost_now_ns() - p->log.v[0].at_ns + rtt_ns / 2;
	ahead = (int32_t)p->log.v[0].time_ms -
		(int32_t)(wall_ns / 1000000u % DAY_MS);
	if (ahead > DAY_MS / 2)
		ahead -= DAY_MS;
	if (ahead < -DAY_MS / 2)
		ahead += DAY_MS;
	f->has_time = true;
	f->time_ahead_ms = ahead;
	f->time_error_ms = 1 + (uint32_t)(rtt_ns / 2000000u);
}

/* ---- all of it ----------------------------------------------------------- */

struct telling {
	struct roost_probe_facts *facts;
	void (*say)(void *arg, const struct roost_probe_facts *facts);
	void *arg;
};

static void enter(const struct telling *t, enum roost_probe_stage stage)
{
	t->facts->stage = stage;
	t->say(t->arg, t->facts);
}

static void measure_path(struct probe *p, const struct telling *t)
{
	struct roost_probe_facts *f = t->facts;

	enter(t, ROOST_PROBE_PINGING);
	f->can_ping = f->is_self ? -EOPNOTSUPP
				 : ping_some(p, FEW, FEW_GAP_NS, 0, &f->few);
	if (f->few.answered) {
		enter(t, ROOST_PROBE_PADDING);
		pad(p, f);
		enter(t, ROOST_PROBE_COUNTING);
		ping_some(p, MANY, MANY_GAP_NS, ECT0, &f->many);
	}
	enter(t, ROOST_PROBE_CONNECTING);
	roost_probe_call(roost_device_dev(p->device), &p->sgid, &p->dgid, f);
	enter(t, ROOST_PROBE_ASKING_TIME);
	if (f->can_ping == 0)
		ask_time(p, f);
	roost_peer_hear(p->device, p->port_num, NULL);
}

static void measure_peer(const struct roost_probe_want *want,
			 struct roost_device *device, const struct telling *t)
{
	static struct probe p;
	struct roost_probe_facts *f = t->facts;
	uint64_t begun_ns;

	p.device = device;
	p.port_num = want->port_num;
	p.dgid = *want->peer;
	enter(t, ROOST_PROBE_ROUTING);
	f->is_self = has_addr(&f->port, &p.dgid);
	f->routed = roost_peer_source(device, p.port_num, &p.dgid, &p.sgid);
	f->sgid = p.sgid;
	if (f->routed)
		return;
	enter(t, ROOST_PROBE_RESOLVING);
	begun_ns = roost_now_ns();
	f->resolved = roost_peer_resolve(device, p.port_num, &p.sgid, &p.dgid,
					 f->dmac);
	f->resolved_ns = roost_now_ns() - begun_ns;
	if (f->resolved == 0)
		measure_path(&p, t);
}

void roost_probe_measure(const struct roost_probe_want *want,
			 struct roost_probe_facts *facts,
			 void (*say)(void *arg,
				     const struct roost_probe_facts *facts),
			 void *arg)
{
	const struct telling t = { facts, say, arg };
	struct roost_device *device;

	enter(&t, ROOST_PROBE_OPENING);
	facts->opened = roost_device_open(want->config, want->device, &device);
	if (facts->opened == 0) {
		look_at_port(device, want->port_num, &facts->port);
		if (want->peer)
			measure_peer(want, device, &t);
		roost_device_close(device);
	}
	enter(&t, ROOST_PROBE_DONE);
}
