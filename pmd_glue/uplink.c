/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * Frames are hot: no allocation but of packets, no system call of ours, log or
 * lock per frame.
 */
#include "pmd_glue/uplink.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_mbuf.h>

#include "lib/engine/core/in_place.h"
#include "lib/engine/core/route.h"
#include "lib/engine/core/workers.h"
#include "lib/engine/sched/worker.h"
#include "lib/face/shim.h"
#include "pmd_glue/assembly.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/process/report.h"

#define TX_BURST 32u
/* A port that is full is offered its frames again after this time. */
#define FULL_NS 50000u
/* As the progress engine's, of a port without interrupts. */
#define NAP_SHARE 16u
#define NAP_MIN_NS 50000u
#define NAP_MAX_NS 1000000u
#define CUT_OFF_NAP_NS 100000000u

struct watched {
	const struct roost_neigh *neigh; /* NULL: none */
	uint64_t mac_gen;                /* as it was told last */
};

/* Of each worker; writer: who turns it. */
struct turned {
	_Alignas(64) unsigned int nb_moved; /* in this run */
	bool asleep;                        /* between sleep and awake */
	bool armed;                         /* an interrupt of the port wakes */
	int epoll_fd;
	unsigned int nb_out; /* frames that its queue has not taken yet */
	struct rte_mbuf *out[TX_BURST];
};

struct roost_uplink {
	struct roost_assembly a;
	const struct roost_uplink_ops *ops;
	void *arg;
	struct roost_frame_io io; /* the port's own */
	struct turned workers[ROOST_WORKERS_MAX];
	bool registered; /* the caller's thread has an lcore id of ours */
	int news_fd;     /* eventfd */
	/* Writer of all that follows: the control thread; the caller: watched.
	 */
	pthread_mutex_t lock;
	struct roost_share_facts facts;
	uint32_t nb_refusals;
	struct roost_gid refused; /* the last one */
	uint32_t nb_watched;      /* places in use are below it */
	struct watched watched[ROOST_SHARE_NEIGHS];
};

static struct roost_backend_port *port_of(const struct roost_uplink *u)
{
	return u->a.ports.v[0];
}

/* ---- between the engine and the port: hot, under the turn ---------------- */

static bool is_for_host(struct roost_uplink *u, unsigned int worker,
			struct rte_mbuf *pkt)
{
	const uint32_t head_len = pkt->data_len;
	const uint8_t *rest = NULL;

	if (pkt->nb_segs > 1)
		return true;
	if (roost_is_in_place(pkt))
		rest = roost_in_place_frame(pkt) + head_len;
	return u->ops->receive(u->arg, worker, rte_pktmbuf_mtod(pkt, uint8_t *),
			       head_len, rest, pkt->pkt_len - head_len);
}

/* A queue is its worker's. */
static uint16_t rx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct roost_uplink *u = ctx;
	const uint16_t got = u->io.rx_burst(u->io.ctx, queue, pkts, n);
	uint16_t kept = 0;

	for (uint16_t i = 0; i < got; i++) {
		struct rte_mbuf *pkt = pkts[i];

		if (is_for_host(u, queue, pkt))
			pkts[kept++] = pkt;
		else
			rte_pktmbuf_free(pkt);
	}
	u->workers[queue].nb_moved += got;
	return kept;
}

static uint16_t tx_burst(void *ctx, uint16_t queue, struct rte_mbuf **pkts,
			 uint16_t n)
{
	struct roost_uplink *u = ctx;

	return u->io.tx_burst(u->io.ctx, queue, pkts, n);
}

static void punt(void *ctx, struct rte_mbuf *pkt)
{
	struct roost_uplink *u = ctx;

	u->io.punt(u->io.ctx, pkt);
}

static void kick(void *ctx, unsigned int worker)
{
	struct roost_uplink *u = ctx;

	u->io.kick(u->io.ctx, worker);
}

/* Each worker has a queue: a port has as many as it can, and one at least. */
static void interpose(void *ctx, struct roost_dev_conf *conf)
{
	struct roost_uplink *u = ctx;

	u->io = conf->frame_io[0];
	conf->nb_workers =
		RTE_MAX(RTE_MIN(conf->nb_workers, u->io.nb_queues), 1u);
	conf->frame_io[0] = (struct roost_frame_io){
		.ctx = u,
		.nb_queues = conf->nb_workers,
		.rx_burst = rx_burst,
		.tx_burst = tx_burst,
		.punt = punt,
		.kick = u->io.kick ? kick : NULL,
	};
}

/* ---- frames: hot --------------------------------------------------------- */

static void flush(struct roost_uplink *u, unsigned int worker)
{
	struct turned *t = &u->workers[worker];
	uint16_t sent;

	if (t->nb_out == 0)
		return;
	sent = u->io.tx_burst(u->io.ctx, (uint16_t)worker, t->out,
			      (uint16_t)t->nb_out);
	t->nb_out -= sent;
	t->nb_moved += sent;
	memmove(t->out, t->out + sent, t->nb_out * sizeof(t->out[0]));
}

struct rte_mbuf *roost_uplink_copy(struct roost_uplink *uplink,
				   const void *head, uint32_t head_len_bytes,
				   const void *rest, uint32_t rest_len_bytes)
{
	const uint32_t len = head_len_bytes + rest_len_bytes;
	struct rte_mbuf *pkt = rte_pktmbuf_alloc(port_of(uplink)->pool);
	char *room;

	if (!pkt)
		return NULL;
	room = len <= UINT16_MAX ? rte_pktmbuf_append(pkt, (uint16_t)len)
				 : NULL;
	if (!room) {
		rte_pktmbuf_free(pkt);
		return NULL;
	}
	memcpy(room, head, head_len_bytes);
	if (rest_len_bytes > 0)
		memcpy(room + head_len_bytes, rest, rest_len_bytes);
	return pkt;
}

void roost_uplink_discard(struct rte_mbuf *pkt)
{
	rte_pktmbuf_free(pkt);
}

bool roost_uplink_send(struct roost_uplink *uplink, unsigned int worker,
		       struct rte_mbuf *pkt)
{
	struct turned *t = &uplink->workers[worker];

	if (t->nb_out == TX_BURST)
		flush(uplink, worker);
	if (t->nb_out == TX_BURST)
		return false;
	t->out[t->nb_out++] = pkt;
	return true;
}

/* The control thread may wait for the turn, to change the port. */
static struct roost_worker *take_turn(struct roost_uplink *u,
				      unsigned int worker)
{
	struct roost_worker *w = roost_dev_worker_at(u->a.dev, worker);

	roost_progress_stand_back(u->a.progress[worker]);
	roost_worker_turn_take(w);
	return w;
}

unsigned int roost_uplink_run(struct roost_uplink *uplink, unsigned int worker,
			      uint64_t now_ns)
{
	struct roost_worker *w = take_turn(uplink, worker);
	struct turned *t = &uplink->workers[worker];

	t->nb_moved = 0;
	roost_worker_iterate(w, now_ns);
	uplink->ops->transmit(uplink->arg, worker);
	flush(uplink, worker);
	roost_worker_turn_release(w);
	return t->nb_moved;
}

/* ---- sleep --------------------------------------------------------------- */

int roost_uplink_fd(const struct roost_uplink *uplink, unsigned int worker)
{
	return uplink->workers[worker].epoll_fd;
}

static int watch_fd(struct roost_uplink *u, unsigned int worker, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(u->workers[worker].epoll_fd, EPOLL_CTL_ADD, fd,
			 &event) == 0
		       ? 0
		       : -errno;
}

/* Under the turn. A descriptor that was closed meanwhile has left the set. */
static bool arm(struct roost_uplink *u, unsigned int worker)
{
	const struct roost_progress_rx rx =
		roost_rx_sleep_io(&u->a.sleeps[worker]);
	int fd = rx.arm ? rx.arm(rx.ctx) : -ENOTSUP;
	int ret = fd < 0 ? fd : watch_fd(u, worker, fd);

	if (fd < 0 || ret == 0 || ret == -EEXIST)
		return fd >= 0;
	rx.disarm(rx.ctx);
	return false;
}

static uint64_t nap_ns(const struct roost_uplink *u, uint64_t idle_ns)
{
	const struct roost_backend_port *port = port_of(u);
	const struct roost_backend *b = port->backend;
	uint64_t most_ns = NAP_MAX_NS;

	if (b->is_cut_off && b->is_cut_off(port))
		most_ns = CUT_OFF_NAP_NS;
	return RTE_MIN(RTE_MAX(idle_ns / NAP_SHARE, (uint64_t)NAP_MIN_NS),
		       most_ns);
}

/* A frame from before the interrupt was armed raises none: one more iteration
 * takes it.
 */
bool roost_uplink_sleep(struct roost_uplink *uplink, unsigned int worker,
			uint64_t now_ns, uint64_t idle_since_ns,
			uint64_t *until_ns)
{
	struct roost_worker *w = take_turn(uplink, worker);
	struct turned *t = &uplink->workers[worker];
	unsigned int work;

	t->asleep = true;
	t->armed = arm(uplink, worker);
	t->nb_moved = 0;
	work = roost_worker_iterate(w, now_ns);
	*until_ns = roost_worker_next_deadline_ns(w);
	roost_worker_turn_release(w);
	if (!t->armed)
		*until_ns = RTE_MIN(*until_ns,
				    now_ns + nap_ns(uplink,
						    now_ns - idle_since_ns));
	if (t->nb_out > 0)
		*until_ns = RTE_MIN(*until_ns, now_ns + FULL_NS);
	return roost_progress_sleep_begin(uplink->a.progress[worker]) &&
	       work == 0 && t->nb_moved == 0 && *until_ns > now_ns;
}

void roost_uplink_awake(struct roost_uplink *uplink, unsigned int worker)
{
	const struct roost_progress_rx rx =
		roost_rx_sleep_io(&uplink->a.sleeps[worker]);
	struct turned *t = &uplink->workers[worker];
	struct roost_worker *w;

	if (!t->asleep)
		return;
	t->asleep = false;
	roost_progress_sleep_end(uplink->a.progress[worker]);
	if (!t->armed)
		return;
	w = take_turn(uplink, worker);
	rx.disarm(rx.ctx);
	roost_worker_turn_release(w);
	t->armed = false;
}

/* ---- what is new: the control thread ------------------------------------- */

static void read_gids(struct roost_uplink *u,
		      const struct roost_backend_view *view,
		      struct roost_share_facts *facts)
{
	for (unsigned int i = 0; i < ROOST_GID_TABLE_LEN; i++) {
		struct roost_gid *gid = &facts->gids[i];

		roost_port_query_gid(u->a.dev, 1, i, gid);
		if (roost_gid_is_zero(gid))
			continue;
		facts->gid_len_bits[i] = 64; /* link-local */
		for (unsigned int k = 0; k < view->addrs.nb; k++)
			if (roost_gid_eq(&view->addrs.v[k].gid, gid))
				facts->gid_len_bits[i] =
					(uint8_t)view->addrs.v[k].len_bits;
	}
}

static void read_facts(struct roost_uplink *u, struct roost_share_facts *facts)
{
	const struct roost_backend_port *port = port_of(u);
	struct roost_port_attr attr = { .state = ROOST_PORT_DOWN };
	struct roost_backend_view view;

	memset(facts, 0, sizeof(*facts));
	while (roost_dev_next_refused(u->a.dev, &u->refused))
		u->nb_refusals++;
	facts->refused = u->refused;
	facts->nb_refusals = u->nb_refusals;
	port->backend->view(port, &view);
	roost_port_query(u->a.dev, 1, &attr);
	roost_port_query_mac(u->a.dev, 1, facts->mac);
	facts->is_active = attr.state == ROOST_PORT_ACTIVE;
	facts->speed_mbps = attr.speed_mbps;
	facts->ip_mtu_bytes = view.mtu_bytes;
	facts->is_gone = view.removed;
	read_gids(u, &view, facts);
	for (unsigned int i = 0; i < ROOST_PKEY_TABLE_LEN; i++)
		roost_port_query_pkey(u->a.dev, 1, i, &facts->pkeys[i]);
}

/* Under the lock. Only the control thread changes a neighbour, or a caller who
 * asks for one and reads it then.
 */
static bool has_new_macs(struct roost_uplink *u)
{
	bool found = false;

	for (uint32_t i = 0; i < u->nb_watched; i++) {
		struct watched *w = &u->watched[i];
		uint64_t now;

		if (!w->neigh)
			continue;
		now = atomic_load_explicit(&w->neigh->mac_gen,
					   memory_order_acquire);
		found |= now != w->mac_gen;
		w->mac_gen = now;
	}
	return found;
}

static void ran(void *ctx)
{
	struct roost_uplink *u = ctx;
	struct roost_share_facts facts;
	const uint64_t one = 1;
	bool is_new;

	read_facts(u, &facts);
	pthread_mutex_lock(&u->lock);
	is_new = memcmp(&facts, &u->facts, sizeof(facts)) != 0;
	u->facts = facts;
	is_new |= has_new_macs(u);
	pthread_mutex_unlock(&u->lock);
	if (is_new)
		(void)!write(u->news_fd, &one, sizeof(one));
}

/* ---- what is new: the caller --------------------------------------------- */

bool roost_uplink_news(struct roost_uplink *uplink)
{
	uint64_t tokens;

	return read(uplink->news_fd, &tokens, sizeof(tokens)) > 0;
}

void roost_uplink_facts(struct roost_uplink *uplink,
			struct roost_share_facts *facts)
{
	pthread_mutex_lock(&uplink->lock);
	*facts = uplink->facts;
	pthread_mutex_unlock(&uplink->lock);
}

const struct roost_addr_io *
roost_uplink_addrs(const struct roost_uplink *uplink)
{
	return &port_of(uplink)->addr_io;
}

void roost_uplink_watch(struct roost_uplink *uplink, uint32_t place,
			const struct roost_neigh *neigh)
{
	struct watched *w = &uplink->watched[place];

	pthread_mutex_lock(&uplink->lock);
	w->neigh = neigh;
	if (neigh) {
		w->mac_gen = atomic_load_explicit(&neigh->mac_gen,
						  memory_order_acquire);
		uplink->nb_watched = RTE_MAX(uplink->nb_watched, place + 1);
	}
	while (uplink->nb_watched > 0 &&
	       !uplink->watched[uplink->nb_watched - 1].neigh)
		uplink->nb_watched--;
	pthread_mutex_unlock(&uplink->lock);
}

unsigned int roost_uplink_nb_workers(const struct roost_uplink *uplink)
{
	return uplink->a.nb_progress;
}

const char *roost_uplink_label(const struct roost_uplink *uplink)
{
	return port_of(uplink)->label;
}

uint16_t roost_uplink_vlan_id(const struct roost_uplink *uplink)
{
	return port_of(uplink)->vlan_id;
}

/* ---- open, close --------------------------------------------------------- */

static void close_fds(struct roost_uplink *u)
{
	for (unsigned int i = 0; i < ROOST_WORKERS_MAX; i++)
		if (u->workers[i].epoll_fd >= 0)
			close(u->workers[i].epoll_fd);
	if (u->news_fd >= 0)
		close(u->news_fd);
	pthread_mutex_destroy(&u->lock);
}

static int make_fds(struct roost_uplink *u)
{
	u->news_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	u->workers[0].epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (u->workers[0].epoll_fd < 0 || u->news_fd < 0)
		return -errno;
	return watch_fd(u, 0, u->news_fd);
}

static int watch_workers(struct roost_uplink *u)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && i < u->a.nb_progress; i++) {
		if (i > 0)
			u->workers[i].epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		ret = watch_fd(u, i, roost_progress_wake_fd(u->a.progress[i]));
	}
	return ret;
}

struct opening {
	struct roost_uplink *uplink;
	const struct roost_assembly_conf *conf;
};

static int open_on_control(void *arg)
{
	const struct opening *o = arg;
	struct roost_uplink *u = o->uplink;
	int ret = roost_assembly_open(&u->a, o->conf);

	if (ret)
		return ret;
	ret = watch_workers(u);
	if (ret)
		roost_assembly_close(&u->a);
	else
		ran(u);
	return ret;
}

static int close_on_control(void *arg)
{
	struct roost_uplink *u = arg;

	roost_assembly_close(&u->a);
	return 0;
}

static int open_one(struct roost_uplink *u, const struct roost_config *config,
		    unsigned int index)
{
	const struct roost_assembly_conf conf = {
		.config = config,
		.index = index,
		.node_guid = roost_device_guid(config, index),
		.interpose = interpose,
		.ran = ran,
		.ctx = u,
	};
	struct opening opening = { .uplink = u, .conf = &conf };
	int ret = make_fds(u);

	if (!ret)
		ret = roost_control_get();
	if (ret) {
		roost_report("device roost%u: cannot be made: %s; see the "
			     "limits of the process",
			     index, strerror(-ret));
		return ret;
	}
	ret = roost_control_call(open_on_control, &opening);
	if (ret)
		roost_control_put();
	return ret;
}

int roost_uplink_open(const struct roost_config *config, unsigned int index,
		      const struct roost_uplink_ops *ops, void *arg,
		      struct roost_uplink **uplink)
{
	struct roost_uplink *u =
		aligned_alloc(_Alignof(struct roost_uplink), sizeof(*u));
	int ret;

	if (!u) {
		roost_report("device roost%u: no memory", index);
		return -ENOMEM;
	}
	memset(u, 0, sizeof(*u));
	u->ops = ops;
	u->arg = arg;
	u->news_fd = -1;
	for (unsigned int i = 0; i < ROOST_WORKERS_MAX; i++)
		u->workers[i].epoll_fd = -1;
	pthread_mutex_init(&u->lock, NULL);
	ret = open_one(u, config, index);
	if (ret) {
		close_fds(u);
		free(u);
		return ret;
	}
	u->registered = roost_uplink_thread_begin();
	roost_ports_wait(&u->a.ports);
	*uplink = u;
	return 0;
}

void roost_uplink_close(struct roost_uplink *uplink)
{
	for (unsigned int i = 0; i < ROOST_WORKERS_MAX; i++)
		rte_pktmbuf_free_bulk(uplink->workers[i].out,
				      uplink->workers[i].nb_out);
	if (uplink->registered)
		roost_uplink_thread_end();
	roost_control_call(close_on_control, uplink);
	roost_control_put();
	close_fds(uplink);
	free(uplink);
}
