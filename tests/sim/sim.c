/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <roost/mr.h>
#include "lib/engine/core/in_place.h"
#include "lib/engine/core/service.h"
#include <roost/channel.h>
#include "tests/sim/link.h"
#include "tests/sim/world.h"
#include "tests/unit/engine/busy.h"
#include "tests/unit/engine/eal.h"

#define POOL_MBUFS 1535u
/* For frames in place: a copy of the headers, a gap, the whole frame. */
#define IN_PLACE_PRIV_BYTES 64u
#define IN_PLACE_ROOM_BYTES 5120u
#define CQ_ENTRIES 16384u
#define IP_MTU_BYTES 9000u
/* More turns than that without time going on: something runs in a circle. */
#define TURNS_MAX 1000000u

static struct rte_mempool *pools[2], *rx_pools[2];
static uint64_t seed = 1;
static uint64_t last_seed; /* of the last world */

static unsigned int nb_workers = 1;

struct sim *sim_world;

uint64_t sim_seed(void)
{
	return seed;
}

/* ---- ends ----------------------------------------------------------- */

static uint64_t mac_gen(const uint8_t mac[6])
{
	uint64_t v = 0;

	for (int i = 0; i < 6; i++)
		v = v << 8 | mac[i];
	return v << 16 | 1;
}

static void port_mac(int side, uint8_t num, uint8_t mac[6])
{
	const uint8_t bytes[6] = {
		2, [4] = (uint8_t)(num - 1), [5] = (uint8_t)(side + 1)
	};

	memcpy(mac, bytes, sizeof(bytes));
}

static void port_addresses(struct sim_end *end, uint8_t num)
{
	const int as = end->shares_addrs ? SIM_A : end->side;
	const uint8_t side = (uint8_t)(as + 1);
	const uint8_t net = (uint8_t)(num - 1);
	const uint8_t v4[4] = { 198, 18, net, side };
	struct sim_port *port = &end->ports[num - 1];
	uint8_t peer[6];

	port->end = end;
	port->num = num;
	port->link = num == 1 ? &end->sim->link : &end->sim->link2;
	port_mac(as, num, port->mac);
	port->gid = roost_gid_from_v4(v4);
	port->gid6 = (struct roost_gid){ { 0xfd, net, [15] = side } };
	port_mac(end->shares_addrs ? as : !as, num, peer);
	atomic_store(&port->neigh.mac_gen, mac_gen(peer));
}

static void end_addresses(struct sim_end *end)
{
	port_addresses(end, 1);
	port_addresses(end, 2);
	end->gid = end->ports[0].gid;
	end->gid6 = end->ports[0].gid6;
}

static void port_open(struct sim_end *end, const struct sim_port *port)
{
	assert_int_equal(roost_port_set_gid(end->dev, port->num, 0, &port->gid),
			 0);
	assert_int_equal(roost_port_set_gid(end->dev, port->num, 1,
					    &port->gid6),
			 0);
	roost_port_set_link(end->dev, port->num, ROOST_PORT_ACTIVE,
			    IP_MTU_BYTES, 0);
}

/* QPs that do nothing, so that those of a test are of any worker. */
static void shift_workers(struct sim_end *end)
{
	const struct roost_qp_init init = {
		.type = ROOST_QPT_UD,
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.owner = end,
	};

	if (nb_workers == 1)
		return;
	end->nb_shifts =
		(unsigned int)sim_random_below(&end->sim->rng, nb_workers);
	for (unsigned int i = 0; i < end->nb_shifts; i++) {
		struct roost_qp_init own = init;

		assert_int_equal(roost_qp_create(end->ctx, end->pd, &own,
						 &end->shifts[i]),
				 0);
	}
}

static void end_open(struct sim *sim, int side)
{
	struct sim_end *end = &sim->ends[side];
	struct roost_dev_conf conf = {
		.name = side == SIM_A ? "sim_a" : "sim_b",
		.pool = end->pool,
		.nb_ports = 2,
		.nb_workers = nb_workers,
		.frame_io = { sim_link_frame_io(&end->ports[0]),
			      sim_link_frame_io(&end->ports[1]) },
		.addr_io = { sim_link_addr_io(&end->ports[0]),
			     sim_link_addr_io(&end->ports[1]) },
		.node_guid = (uint64_t)side + 1,
		.vlan_id = { end->vlan_id, end->vlan_id },
		.punts_vlans = { end->punts_vlans, end->punts_vlans },
		.shares_addrs = end->shares_addrs,
		.selective_repeat = sim_selective[side],
		.seed = { sim_random(&sim->rng), sim_random(&sim->rng) },
	};

	memcpy(conf.mac[0], end->ports[0].mac, 6);
	memcpy(conf.mac[1], end->ports[1].mac, 6);
	assert_int_equal(roost_dev_create(&conf, &end->dev), 0);
	port_open(end, &end->ports[0]);
	port_open(end, &end->ports[1]);
	end->worker = roost_dev_worker(end->dev);
	assert_int_equal(roost_ctx_open(end->dev, &end->ctx), 0);
	assert_int_equal(fcntl(roost_channel_fd(
				       roost_ctx_async_channel(end->ctx)),
			       F_SETFL, O_NONBLOCK),
			 0);
	assert_int_equal(roost_pd_alloc(end->ctx, &end->pd), 0);
	assert_int_equal(roost_mr_reg(end->pd, sim->arena, SIM_ARENA_BYTES,
				      (uintptr_t)sim->arena,
				      ROOST_ACCESS_LOCAL_WRITE |
					      ROOST_ACCESS_REMOTE_WRITE |
					      ROOST_ACCESS_REMOTE_READ |
					      ROOST_ACCESS_REMOTE_ATOMIC |
					      ROOST_ACCESS_FLUSH_GLOBAL |
					      ROOST_ACCESS_MW_BIND |
					      ROOST_ACCESS_ON_DEMAND,
				      &end->mr),
			 0);
	assert_int_equal(roost_cq_create(end->ctx, CQ_ENTRIES, NULL, end,
					 &end->cq),
			 0);
	shift_workers(end);
}

static void end_close(struct sim_end *end)
{
	while (end->nb_shifts > 0)
		assert_int_equal(roost_qp_destroy(end->shifts[--end->nb_shifts],
						  NULL),
				 0);
	assert_int_equal(roost_cq_destroy(end->cq, NULL, NULL), 0);
	assert_int_equal(roost_mr_dereg(end->mr), 0);
	assert_int_equal(roost_pd_dealloc(end->pd), 0);
	assert_int_equal(roost_ctx_close(end->ctx), 0);
	assert_int_equal(roost_dev_destroy(end->dev), 0);
	assert_int_equal(end->neigh_refs, 0);
	assert_int_equal(rte_mempool_avail_count(end->pool), end->pool_before);
	assert_int_equal(rte_mempool_avail_count(end->rx_pool),
			 end->rx_pool_before);
}

/* What the ends are. */
struct kind {
	uint16_t vlan_id[2];
	bool punts_vlans;
	bool shares_addrs;
};

static struct sim *make(uint64_t from, struct kind kind)
{
	struct sim *sim = calloc(1, sizeof(*sim));

	assert_non_null(sim);
	last_seed = from;
	sim->rng.state = from;
	sim->now_ns = 1000 * SIM_S + sim_random_below(&sim->rng, SIM_S);
	sim->turn_ns = 1000;
	sim->arena = mmap(NULL, SIM_ARENA_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(sim->arena, MAP_FAILED);
	for (int side = 0; side < 2; side++)
		sim->ends[side].nb_queues =
			nb_workers == 1 ? 1
					: 1 + (unsigned int)sim_random_below(
						      &sim->rng, nb_workers);
	sim_link_init(sim);
	for (int side = 0; side < 2; side++) {
		struct sim_end *end = &sim->ends[side];

		end->sim = sim;
		end->side = side;
		end->vlan_id = kind.vlan_id[side];
		end->punts_vlans = kind.punts_vlans;
		end->shares_addrs = kind.shares_addrs;
		end->pool = pools[side];
		end->rx_pool = rx_pools[side];
		end->pool_before = rte_mempool_avail_count(end->pool);
		end->rx_pool_before = rte_mempool_avail_count(end->rx_pool);
		end_addresses(end);
	}
	for (int side = 0; side < 2; side++)
		end_open(sim, side);
	sim_world = sim;
	return sim;
}

struct sim *sim_new_seeded(uint64_t from)
{
	return make(from, (struct kind){ .punts_vlans = false });
}

struct sim *sim_new(void)
{
	return sim_new_seeded(seed);
}

struct sim *sim_new_on_vlans(uint16_t a, uint16_t b)
{
	return make(seed, (struct kind){ .vlan_id = { a, b } });
}

struct sim *sim_new_with_twins(void)
{
	return make(seed, (struct kind){ .punts_vlans = true });
}

struct sim *sim_new_sharing(void)
{
	return make(seed, (struct kind){ .shares_addrs = true });
}

void sim_free(struct sim *sim)
{
	sim_poll(sim);
	for (unsigned int i = 0; i < sim->nb_qps; i++)
		if (sim->qps[i] != NULL)
			sim_qp_destroy(sim->qps[i]);
	sim_poll(sim);
	sim_world = NULL;
	for (int side = 0; side < 2; side++) {
		sim_check_store(sim->ends[side].dev);
		end_close(&sim->ends[side]);
	}
	sim_link_fini(sim);
	munmap(sim->arena, SIM_ARENA_BYTES);
	free(sim);
}

struct sim_slice sim_arena_take(struct sim *sim, uint32_t len_bytes)
{
	uint8_t *at = sim->arena + sim->arena_used;
	size_t whole = len_bytes + 2 * SIM_GUARD_BYTES;

	sim->arena_used += whole;
	assert_true(sim->arena_used <= SIM_ARENA_BYTES);
	memset(at, SIM_GUARD_BYTE, SIM_GUARD_BYTES);
	memset(at + SIM_GUARD_BYTES + len_bytes, SIM_GUARD_BYTE,
	       SIM_GUARD_BYTES);
	return (struct sim_slice){ at + SIM_GUARD_BYTES, len_bytes };
}

/* ---- time ----------------------------------------------------------- */

static void poll_cq(struct sim *sim, struct roost_cq *cq)
{
	struct roost_cqe cqes[64];
	int n;

	while ((n = roost_cq_poll(cq, 64, cqes)) > 0)
		for (int i = 0; i < n; i++)
			sim_wr_complete(sim, &cqes[i]);
}

static void poll_async(struct sim_end *end)
{
	struct roost_channel *channel = roost_ctx_async_channel(end->ctx);
	struct roost_event event;

	while (roost_channel_read(channel, &event) == 0) {
		if (event.type == ROOST_EVENT_CQ_ERR ||
		    event.type == ROOST_EVENT_SRQ_ERR ||
		    event.type == ROOST_EVENT_SRQ_LIMIT_REACHED) {
			end->other_async[event.type]++;
		} else {
			struct sim_qp *qp = event.owner;

			qp->async[event.type]++;
		}
		roost_event_ack(event.source, 1);
	}
}

static void poll_cqs(struct sim *sim)
{
	if (sim->nobody_polls)
		return;
	poll_cq(sim, sim->ends[SIM_A].cq);
	poll_cq(sim, sim->ends[SIM_B].cq);
	for (unsigned int i = 0; i < sim->nb_qps; i++)
		if (sim->qps[i] != NULL && sim->qps[i]->conf.cq != NULL)
			poll_cq(sim, sim->qps[i]->conf.cq);
}

void sim_poll(struct sim *sim)
{
	poll_cqs(sim);
	poll_async(&sim->ends[SIM_A]);
	poll_async(&sim->ends[SIM_B]);
}

/* The control thread of an end. */
static unsigned int run_services(struct sim_end *end)
{
	if (end->services_due_ns > end->sim->now_ns)
		return 0;
	end->services_due_ns = UINT64_MAX;
	/* A wake from now on counts. */
	uint64_t next_ns =
		roost_dev_service_run_all(end->dev, end->sim->now_ns);

	if (next_ns < end->services_due_ns)
		end->services_due_ns = next_ns;
	return 1;
}

static unsigned int iterate(struct sim_end *end, unsigned int worker)
{
	struct roost_worker *w = roost_dev_worker_at(end->dev, worker);
	unsigned int work;

	assert_true(roost_worker_turn_try(w));
	work = roost_worker_iterate(w, end->sim->now_ns);
	roost_worker_turn_release(w);
	return work;
}

/* Some of several workers, in an order by chance; those that had no turn have
 * one in the next round, or the one after.
 */
static unsigned int iterate_all(struct sim_end *end)
{
	unsigned int work = 0;

	if (nb_workers == 1)
		return iterate(end, 0);
	for (unsigned int i = 0; i < nb_workers; i++)
		work += iterate(end,
				(unsigned int)sim_random_below(&end->sim->rng,
							       nb_workers));
	for (unsigned int i = 0; work == 0 && i < nb_workers; i++)
		work += iterate(end, i);
	return work;
}

/* Events cost a system call: those who want them poll for them. */
static void turn(struct sim *sim)
{
	unsigned int work, turns = 0;

	do {
		work = 0;
		for (int side = 0; side < 2; side++) {
			work += iterate_all(&sim->ends[side]);
			work += run_services(&sim->ends[side]);
		}
		poll_cqs(sim);
		assert_true(++turns < TURNS_MAX);
	} while (work > 0);
}

void sim_turn(struct sim *sim)
{
	turn(sim);
	sim_poll(sim);
}

bool sim_is_busy(const struct sim_end *end)
{
	for (unsigned int i = 0; i < nb_workers; i++)
		if (worker_is_busy(roost_dev_worker_at(end->dev, i)))
			return true;
	return false;
}

static bool is_idle(const struct sim *sim)
{
	return sim_link_next_ns(sim) == UINT64_MAX &&
	       !sim_is_busy(&sim->ends[SIM_A]) &&
	       !sim_is_busy(&sim->ends[SIM_B]);
}

static uint64_t deadline_ns(const struct sim_end *end)
{
	uint64_t first_ns = UINT64_MAX;

	for (unsigned int i = 0; i < nb_workers; i++) {
		uint64_t ns = roost_worker_next_deadline_ns(
			roost_dev_worker_at(end->dev, i));

		if (ns < first_ns)
			first_ns = ns;
	}
	return first_ns;
}

/* When the world goes on: the next frame, timer, or turn that is due because a
 * port took only a part.
 */
static uint64_t next_ns(const struct sim *sim)
{
	uint64_t next = sim_link_next_ns(sim);

	for (int side = 0; side < 2; side++) {
		uint64_t deadline = deadline_ns(&sim->ends[side]);

		if (deadline < next)
			next = deadline;
		if (sim->ends[side].services_due_ns < next)
			next = sim->ends[side].services_due_ns;
		if ((sim->link.faults[side].take_max != 0 ||
		     sim->link2.faults[side].take_max != 0) &&
		    sim->now_ns + sim->turn_ns < next)
			next = sim->now_ns + sim->turn_ns;
	}
	if (next == UINT64_MAX)
		return next;
	if (next <= sim->now_ns)
		next = sim->now_ns + 1;
	return (next + sim->turn_ns - 1) / sim->turn_ns * sim->turn_ns;
}

static void run_until(struct sim *sim, uint64_t until_ns, bool stop_when_idle)
{
	turn(sim);
	while (!stop_when_idle || !is_idle(sim)) {
		uint64_t next = next_ns(sim);

		if (next == UINT64_MAX || next > until_ns)
			break;
		sim->now_ns = next;
		turn(sim);
	}
	if (!stop_when_idle && sim->now_ns < until_ns) {
		sim->now_ns = until_ns;
		turn(sim);
	}
	sim_poll(sim);
}

void sim_run(struct sim *sim)
{
	run_until(sim, UINT64_MAX, true);
}

void sim_run_for(struct sim *sim, uint64_t ns)
{
	run_until(sim, sim->now_ns + ns, false);
}

void sim_set_faults(struct sim *sim, const struct sim_faults *faults)
{
	sim->link.faults[SIM_A] = *faults;
	sim->link.faults[SIM_B] = *faults;
}

const struct roost_dev_counters *sim_counters(struct sim *sim, int side)
{
	roost_dev_counters(sim->ends[side].dev, &sim->ends[side].counters);
	return &sim->ends[side].counters;
}

char sim_one_worker;

/* Leave out those that need one worker. Returns how many are left. */
static size_t choose(struct CMUnitTest *chosen, const struct CMUnitTest *tests,
		     size_t nb_tests)
{
	size_t n = 0;

	for (size_t i = 0; i < nb_tests; i++) {
		if (nb_workers == 1 ||
		    tests[i].initial_state != &sim_one_worker)
			chosen[n++] = tests[i];
		else
			printf("%s: skipped, it is about one worker\n",
			       tests[i].name);
	}
	return n;
}

/* ---- the program ---------------------------------------------------- */

static void take_workers(void)
{
	const char *text = getenv("ROOST_SIM_WORKERS");
	unsigned long n = text == NULL ? 1 : strtoul(text, NULL, 10);

	if (n < 1 || n > ROOST_DEV_WORKERS_MAX) {
		fprintf(stderr, "ROOST_SIM_WORKERS: 1 to %d\n",
			ROOST_DEV_WORKERS_MAX);
		exit(EXIT_FAILURE);
	}
	nb_workers = (unsigned int)n;
}

static void take_seed(int argc, char **argv)
{
	const char *text = argc > 1 ? argv[1] : getenv("ROOST_SIM_SEED");
	char *end;

	if (text == NULL)
		return;
	errno = 0;
	seed = strtoull(text, &end, 0);
	if (errno != 0 || end == text || *end != '\0') {
		fprintf(stderr, "usage: %s [SEED [PATTERN]]\n", argv[0]);
		exit(EXIT_FAILURE);
	}
}

/* With ROOST_SIM_IN_PLACE, frames are received in place. */
static struct rte_mempool *rx_pool(const char *name, unsigned int nb_mbufs)
{
	struct rte_mempool *pool;

	if (getenv("ROOST_SIM_IN_PLACE") == NULL)
		return eal_pool(name, nb_mbufs);
	pool = rte_pktmbuf_pool_create(name, nb_mbufs, 0, IN_PLACE_PRIV_BYTES,
				       IN_PLACE_ROOM_BYTES, 0);
	assert_non_null(pool);
	pool->pool_config = (void *)(uintptr_t)&roost_in_place_pools;
	return pool;
}

int sim_main(int argc, char **argv, const char *name,
	     const struct CMUnitTest *tests, size_t nb_tests)
{
	struct CMUnitTest *chosen = calloc(nb_tests, sizeof(*chosen));
	unsigned int nb_mbufs;
	int nb_failed;

	assert_non_null(chosen);

	take_seed(argc, argv);
	take_workers();
	sim_take_selective();
	printf("%s: seed %llu, workers %u\n", name, (unsigned long long)seed,
	       nb_workers);
	fflush(stdout);
	eal_start();
	nb_mbufs = (POOL_MBUFS + 1) * nb_workers - 1;
	pools[SIM_A] = eal_pool("sim_a", nb_mbufs);
	pools[SIM_B] = eal_pool("sim_b", nb_mbufs);
	rx_pools[SIM_A] = rx_pool("sim_rx_a", nb_mbufs);
	rx_pools[SIM_B] = rx_pool("sim_rx_b", nb_mbufs);
	sim_pcap_open();
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	nb_tests = choose(chosen, tests, nb_tests);
	nb_failed = _cmocka_run_group_tests(name, chosen, nb_tests, NULL, NULL);
	free(chosen);
	if (nb_failed != 0)
		printf("%s: last seed %llu\n", name,
		       (unsigned long long)last_seed);
	return nb_failed;
}
