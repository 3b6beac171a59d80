/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* A port whose daemon goes, and comes back or not. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include <roost/channel.h>
#include <roost/roost.h>
#include "lib/engine/core/lease.h"
#include "lib/engine/core/shim.h"
#include "pmd_glue/channel/pipe.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/share/port.h"
#include "pmd_glue/share/port_priv.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/share/fake_daemon.h"

#define PATIENCE_NS 10000000000u /* as the fake daemon grants */

static struct fake_daemon d;
static struct roost_config config;
static struct roost_backend_port *port;
static struct roost_dev *dev;

static uint64_t run(void)
{
	return roost_shared.run(port, roost_now_ns());
}

static int setup(void **state)
{
	struct roost_dev_conf conf = {
		.name = "roost0",
		.nb_ports = 1,
		.node_guid = 1,
	};

	fake_prepare(&d);
	fake_start(&d);
	memset(&config, 0, sizeof(config));
	config.nb_ports = 1;
	snprintf(config.ports[0].service, sizeof(config.ports[0].service), "%s",
		 d.path);
	assert_int_equal(roost_shared.open(&config, 0, &port), 0);
	conf.pool = port->pool;
	conf.frame_io[0] = port->frame_io;
	conf.addr_io[0] = port->addr_io;
	conf.leases = port->leases;
	conf.shares_addrs = port->shares_addrs;
	memcpy(conf.mac[0], port->first_mac, 6);
	assert_int_equal(roost_dev_create(&conf, &dev), 0);
	assert_int_equal(roost_shared.start(port, dev, 1, NULL), 0);
	run();
	return 0;
}

static int teardown(void **state)
{
	roost_shared.leave(port);
	roost_shared.quiesce(port);
	roost_shared.close(port);
	assert_int_equal(roost_dev_destroy(dev), 0);
	roost_shared.free(port);
	fake_stop(&d);
	return 0;
}

/* ---- the daemon goes, and another one comes ------------------------------ */

static void go_away(void)
{
	fake_hang_up(&d);
	while (!roost_dev_is_still(dev) && usleep(1000) == 0)
		run();
	assert_false(roost_dev_failed(dev));
}

static void come_back(void)
{
	fake_start(&d);
	for (int i = 0;
	     i < 5000 && roost_dev_is_still(dev) && !roost_dev_failed(dev);
	     i++) {
		run();
		usleep(1000);
	}
	run();
}

static void replace(void)
{
	go_away();
	fake_replace(&d);
	come_back();
	assert_false(roost_dev_failed(dev));
	assert_false(roost_dev_is_still(dev));
}

static void send_frame(uint8_t last)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(port->pool);
	uint8_t *frame;

	assert_non_null(mbuf);
	frame = (uint8_t *)rte_pktmbuf_append(mbuf, 64);
	memset(frame, last, 64);
	assert_int_equal(port->frame_io.tx_burst(port->frame_io.ctx, 0, &mbuf,
						 1),
			 1);
}

static void expect_frames(uint8_t first, uint32_t nb)
{
	struct roost_shm_entry entry;
	struct roost_shm_in in;

	roost_shm_in_open(&in, &d.memory, 0, &d.client_memory,
			  d.attach_msg.attach.seat);
	for (uint32_t i = 0; i < nb; i++) {
		assert_int_equal(roost_shm_in_take(&in, &entry, 1), 1);
		assert_int_equal(
			roost_shm_slot(&d.client_memory,
				       entry.slot)[ROOST_SHM_HEADROOM + 63],
			first + i);
		roost_shm_in_give(&in, 1);
	}
	assert_int_equal(roost_shm_in_take(&in, &entry, 1), 0);
}

static void reattach__presents_its_ticket(void **state)
{
	assert_int_equal(d.ticket_bytes, 0);
	replace();
	assert_int_equal(d.ticket_bytes, 6);
	assert_memory_equal(d.ticket, "ticket", 6);
	for (int i = 0; i < 100; i++)
		replace();
}

/* Frames that the daemon has not read go to the next one, in order, with those
 * that were sent in between.
 */
static void reattach__frames_are_not_lost(void **state)
{
	send_frame(10);
	send_frame(11);
	go_away();
	send_frame(12);
	fake_replace(&d);
	come_back();
	send_frame(13);
	expect_frames(10, 4);
}

/* While it is away, no frame is dropped: the port takes none at last. */
static void reattach__the_port_stands_still(void **state)
{
	struct rte_mbuf *mbufs[ROOST_SHM_SLOTS];
	unsigned int nb = 0;

	go_away();
	while (nb < ROOST_SHM_SLOTS) {
		mbufs[nb] = rte_pktmbuf_alloc(port->pool);
		assert_non_null(mbufs[nb]);
		memset(rte_pktmbuf_append(mbufs[nb], 64), 0, 64);
		if (port->frame_io.tx_burst(port->frame_io.ctx, 0, &mbufs[nb],
					    1) == 0)
			break;
		nb++;
	}
	assert_in_range(nb, 100, ROOST_SHM_SLOTS - 1);
	usleep(1200000); /* longer than a daemon may not read */
	assert_int_equal(port->frame_io.tx_burst(port->frame_io.ctx, 0,
						 &mbufs[nb], 1),
			 0);
	fake_replace(&d);
	come_back();
	rte_pktmbuf_free(mbufs[nb]);
}

static void reattach__facts_of_the_next_one_count(void **state)
{
	struct roost_gid gid;

	go_away();
	fake_replace(&d);
	d.facts.gids[1] = roost_gid_from_v4((const uint8_t[]){ 10, 0, 0, 7 });
	come_back();
	roost_port_query_gid(dev, 1, 1, &gid);
	assert_memory_equal(&gid, &d.facts.gids[1], sizeof(gid));
}

/* Its peers are late: it stands still, and sends and receives. */
static void reattach__waits_for_its_neighbours(void **state)
{
	struct roost_share_msg changed = { .type = ROOST_SHARE_CHANGED };
	struct roost_share_facts facts;

	go_away();
	fake_replace(&d);
	d.facts.is_recovering = 1;
	fake_start(&d);
	for (int i = 0; i < 100; i++) {
		run();
		usleep(1000);
	}
	assert_true(roost_dev_is_still(dev));
	send_frame(20);
	expect_frames(20, 1);
	facts = d.facts;
	facts.is_recovering = 0;
	roost_share_page_write(d.page, &facts);
	roost_share_send(atomic_load(&d.fd), &changed, NULL, 0, NULL);
	run();
	assert_false(roost_dev_is_still(dev));
}

static void reattach__joins_its_groups_again(void **state)
{
	const struct roost_gid groups[] = {
		roost_gid_from_v4((const uint8_t[]){ 239, 0, 0, 1 }),
		roost_gid_from_v4((const uint8_t[]){ 239, 0, 0, 2 }),
		roost_gid_from_v4((const uint8_t[]){ 239, 0, 0, 3 }),
	};
	const struct roost_addr_io *io = &port->addr_io;

	for (int i = 0; i < 3; i++)
		assert_int_equal(io->mcast_join(io->ctx, &groups[i]), 0);
	io->mcast_leave(io->ctx, &groups[1]);
	replace();
	fake_await(&d, ROOST_SHARE_JOIN, 2);
	replace();
	fake_await(&d, ROOST_SHARE_JOIN, 2);
}

static int join_answers[4]; /* by request; 1: none */
static unsigned int nb_joins;

static bool serve_joins(struct fake_daemon *f,
			struct roost_share_packet *packet)
{
	int answer;

	if (packet->msg.type != ROOST_SHARE_JOIN || nb_joins >= 4)
		return false;
	answer = join_answers[nb_joins++];
	if (answer <= 0)
		fake_reply(f, packet->msg.tag, answer, 0);
	return true;
}

/* A new daemon answers so to two groups, and has to be asked so often. */
static void rejoin(const int answers[4], unsigned int nb_at_once,
		   unsigned int nb)
{
	const uint64_t later_ns = 6000000000u;

	memcpy(join_answers, answers, sizeof(join_answers));
	nb_joins = 0;
	go_away();
	fake_replace(&d);
	d.serve = serve_joins;
	come_back();
	fake_await(&d, ROOST_SHARE_JOIN, nb_at_once);
	run(); /* it has time */
	assert_int_equal(atomic_load(&d.nb[ROOST_SHARE_JOIN]), nb_at_once);
	for (int i = 0; i < 3; i++)
		roost_shared.run(port, roost_now_ns() + later_ns);
	fake_await(&d, ROOST_SHARE_JOIN, nb);
}

static void reattach__groups_are_joined_later(void **state)
{
	const struct roost_gid groups[] = {
		roost_gid_from_v4((const uint8_t[]){ 239, 0, 0, 1 }),
		roost_gid_from_v4((const uint8_t[]){ 239, 0, 0, 2 }),
	};
	const struct roost_addr_io *io = &port->addr_io;

	for (int i = 0; i < 2; i++)
		assert_int_equal(io->mcast_join(io->ctx, &groups[i]), 0);
	rejoin((const int[]){ 0, 0, 0, 0 }, 2, 2);
	/* No room now, for one of them. */
	rejoin((const int[]){ -ENOSPC, 0, 0, 0 }, 2, 4);
	/* No answer: the other one is not even asked for. */
	rejoin((const int[]){ 1, 0, 0, 0 }, 1, 3);
	/* Refused for good. */
	rejoin((const int[]){ -EDQUOT, 0, 0, 0 }, 2, 2);
	assert_false(roost_dev_failed(dev));
}

/* The program has no group meanwhile: one line says so. */
static void reattach__groups_joined_later_are_told(void **state)
{
	const struct roost_gid group =
		roost_gid_from_v4((const uint8_t[]){ 239, 0, 0, 1 });
	const struct roost_addr_io *io = &port->addr_io;
	const int saved = dup(STDERR_FILENO);
	char text[4096] = "";
	FILE *file = tmpfile();
	const char *line;

	assert_non_null(file);
	assert_int_equal(io->mcast_join(io->ctx, &group), 0);
	dup2(fileno(file), STDERR_FILENO);
	rejoin((const int[]){ -ENOSPC, -ENOSPC, 0, 0 }, 1, 3);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	(void)!fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	line = strstr(text, "multicast group 239.0.0.1: its daemon does not "
			    "join it now: No space left on device");
	assert_non_null(line);
	assert_null(strstr(line + 1, "multicast group"));
}

/* ---- it does not --------------------------------------------------------- */

static unsigned int read_events(struct roost_ctx *ctx,
				enum roost_async_event *types, unsigned int max)
{
	struct roost_channel *channel = roost_ctx_async_channel(ctx);
	struct roost_event event;
	unsigned int nb = 0;

	fcntl(roost_channel_fd(channel), F_SETFL, O_NONBLOCK);
	while (nb < max && roost_channel_read(channel, &event) == 0) {
		types[nb++] = (enum roost_async_event)event.type;
		roost_event_ack(event.source, 1);
	}
	return nb;
}

static void reattach__patience_ends(void **state)
{
	enum roost_async_event types[8];
	struct roost_ctx *ctx;
	unsigned int nb;

	assert_int_equal(roost_ctx_open(dev, &ctx), 0);
	go_away();
	roost_shared.run(port, roost_now_ns() + PATIENCE_NS / 2);
	assert_false(roost_dev_failed(dev));
	assert_int_equal(read_events(ctx, types, 8), 0);
	roost_shared.run(port, roost_now_ns() + PATIENCE_NS);
	assert_true(roost_dev_failed(dev));
	nb = read_events(ctx, types, 8);
	assert_int_equal(nb, 2);
	assert_int_equal(types[0], ROOST_EVENT_PORT_ERR);
	assert_int_equal(types[1], ROOST_EVENT_DEVICE_FATAL);
	assert_true(run() == UINT64_MAX);
	assert_int_equal(roost_ctx_close(ctx), 0);
}

static void refuse(int status)
{
	go_away();
	fake_replace(&d);
	d.attach = FAKE_REFUSES;
	d.attached.status = status;
	come_back();
	assert_true(roost_dev_failed(dev));
}

static void reattach__a_refusal_is_the_end(void **state)
{
	static const int errors[] = { -EBADMSG, -ESTALE, -EPERM, -ETIMEDOUT };

	for (int i = 0; i < 4; i++) {
		if (i > 0)
			setup(NULL);
		refuse(errors[i]);
		if (i < 3)
			teardown(NULL);
	}
}

/* Its QPNs would be another client's. */
static void reattach__other_numbers_are_the_end(void **state)
{
	go_away();
	fake_replace(&d);
	d.attached.attached.qpn_seed[0]++;
	come_back();
	assert_true(roost_dev_failed(dev));
}

/* Killed again, at each step. */
static void reattach__a_daemon_that_dies_again(void **state)
{
	static const enum fake_attach ends[] = { FAKE_HANGS_UP, FAKE_IS_SILENT,
						 FAKE_SENDS_RAW };

	for (int i = 0; i < 3; i++) {
		go_away();
		fake_replace(&d);
		d.attach = ends[i];
		fake_start(&d);
		for (int k = 0; k < 30; k++) {
			run();
			usleep(1000);
		}
		assert_true(roost_dev_is_still(dev));
		fake_replace(&d);
		come_back();
		assert_false(roost_dev_failed(dev));
		assert_false(roost_dev_is_still(dev));
	}
}

static struct rlimit before;

/* While the client asks, the process runs out of descriptors. */
static bool serve_the_last(struct fake_daemon *f,
			   struct roost_share_packet *packet)
{
	struct rlimit none = before;

	if (packet->msg.type != ROOST_SHARE_ATTACH)
		return false;
	none.rlim_cur = (rlim_t)dup(0);
	close((int)none.rlim_cur);
	setrlimit(RLIMIT_NOFILE, &none);
	return false;
}

/* The ticket that it presented is void then, and it comes with the new one. */
static void reattach__without_descriptors(void **state)
{
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	go_away();
	fake_replace(&d);
	d.grants_ticket = "second";
	d.serve = serve_the_last;
	fake_start(&d);
	for (int i = 0; i < 5000 && !atomic_load(&d.gone); i++) {
		run();
		usleep(1000);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_true(roost_dev_is_still(dev));
	fake_replace(&d);
	d.grants_ticket = NULL;
	d.serve = NULL;
	come_back();
	assert_false(roost_dev_failed(dev));
	assert_false(roost_dev_is_still(dev));
	assert_memory_equal(d.ticket, "second", 6);
	fake_await(&d, ROOST_SHARE_BACK, 1);
}

/* It is not asked again at once: its socket does not wake anybody. */
static void reattach__a_daemon_that_dies_again_has_time(void **state)
{
	struct roost_share_port *p = (struct roost_share_port *)port;
	uint64_t now_ns;

	go_away();
	fake_replace(&d);
	d.attach = FAKE_HANGS_UP;
	fake_start(&d);
	for (int i = 0; i < 5000 && p->watch.events == 0; i++) {
		usleep(1000);
		run();
	}
	for (int i = 0; i < 5000 && !atomic_load(&d.gone); i++)
		usleep(1000);
	now_ns = roost_now_ns();
	for (int i = 0; i < 3; i++) {
		assert_true(roost_shared.run(port, now_ns) > now_ns);
		assert_int_equal(p->watch.events, 0);
		assert_int_equal(roost_share_session_fd(p->session), -1);
	}
}

/* ---- who asks meanwhile -------------------------------------------------- */

static void *lease(void *arg)
{
	uint32_t first;

	*(int *)arg = port->leases->lease_qpns(port->leases->ctx, &first,
					       &(uint32_t){ 0 });
	return NULL;
}

static unsigned int nb_refused;

static bool serve_grace(struct fake_daemon *f,
			struct roost_share_packet *packet)
{
	if (packet->msg.type != ROOST_SHARE_QPNS || ++nb_refused > 3)
		return false;
	fake_reply(f, packet->msg.tag, -EAGAIN, 0);
	return true;
}

static bool serve_nothing(struct fake_daemon *f,
			  struct roost_share_packet *packet)
{
	return packet->msg.type == ROOST_SHARE_QPNS;
}

/* A request without an answer is asked again, and as long as a daemon that was
 * just started leases nothing new.
 */
static void reattach__requests_wait(void **state)
{
	pthread_t thread;
	uint32_t first;
	int ret = 1;

	port->leases->lease_qpns(port->leases->ctx, &first, &(uint32_t){ 0 });
	d.serve = serve_nothing;
	pthread_create(&thread, NULL, lease, &ret);
	fake_await(&d, ROOST_SHARE_QPNS, 1);
	go_away();
	usleep(20000);
	fake_replace(&d);
	d.serve = serve_grace;
	come_back();
	pthread_join(thread, NULL);
	assert_int_equal(ret, 0);
	assert_int_equal(nb_refused, 4);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(reattach__presents_its_ticket),
		TEST(reattach__frames_are_not_lost),
		TEST(reattach__the_port_stands_still),
		TEST(reattach__facts_of_the_next_one_count),
		TEST(reattach__waits_for_its_neighbours),
		TEST(reattach__joins_its_groups_again),
		TEST(reattach__groups_are_joined_later),
		TEST(reattach__groups_joined_later_are_told),
		TEST(reattach__patience_ends),
		TEST(reattach__a_refusal_is_the_end),
		TEST(reattach__other_numbers_are_the_end),
		TEST(reattach__a_daemon_that_dies_again),
		TEST(reattach__a_daemon_that_dies_again_has_time),
		TEST(reattach__without_descriptors),
		TEST(reattach__requests_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
