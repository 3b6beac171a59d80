/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include <roost/roost.h>
#include "lib/engine/core/lease.h"
#include "pmd_glue/channel/pipe.h"
#include "pmd_glue/port/eal.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/share/port.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/share/fake_daemon.h"

static struct fake_daemon d;
static struct roost_config config;
static struct roost_backend_port *port;
static struct roost_dev *dev;

static int setup(void **state)
{
	fake_prepare(&d);
	return 0;
}

static int teardown(void **state)
{
	fake_stop(&d);
	return 0;
}

static int open_port(void)
{
	fake_start(&d);
	memset(&config, 0, sizeof(config));
	config.nb_ports = 1;
	snprintf(config.ports[0].service, sizeof(config.ports[0].service), "%s",
		 d.path);
	assert_true(roost_shared.takes(&config.ports[0]));
	return roost_shared.open(&config, 0, &port);
}

static void start_port(void)
{
	struct roost_dev_conf conf = {
		.name = "roost0",
		.nb_ports = 1,
		.node_guid = 1,
	};

	assert_int_equal(open_port(), 0);
	conf.pool = port->pool;
	conf.frame_io[0] = port->frame_io;
	conf.addr_io[0] = port->addr_io;
	conf.leases = port->leases;
	conf.shares_addrs = port->shares_addrs;
	memcpy(conf.mac[0], port->first_mac, 6);
	assert_int_equal(roost_dev_create(&conf, &dev), 0);
	assert_int_equal(roost_shared.start(port, dev, 1, NULL), 0);
}

static void stop_port(void)
{
	roost_shared.leave(port);
	roost_shared.quiesce(port);
	roost_shared.close(port);
	assert_int_equal(roost_dev_destroy(dev), 0);
	roost_shared.free(port);
}

static uint64_t run(void)
{
	return roost_shared.run(port, roost_now_ns());
}

/* The daemon writes the page, and says so. */
static void change(const struct roost_share_facts *facts)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_CHANGED };

	roost_share_page_write(d.page, facts);
	assert_int_equal(roost_share_send(atomic_load(&d.fd), &msg, NULL, 0,
					  NULL),
			 0);
	run();
}

static void port__needs_no_eal(void **state)
{
	start_port();
	assert_false(roost_eal_is_ours());
	assert_memory_equal(port->first_mac, d.facts.mac, 6);
	assert_true(port->shares_addrs);
	assert_int_equal(rte_pktmbuf_data_room_size(port->pool),
			 ROOST_SHM_SLOT_BYTES);
	stop_port();
	fake_await(&d, ROOST_SHARE_BYE, 1);
}

static void port__a_wrong_seat_is_refused(void **state)
{
	d.attached.attached.seat = 2;
	assert_int_equal(open_port(), -EPROTO);
}

static void port__leases_blocks_one_after_the_other(void **state)
{
	uint32_t first, nb;

	start_port();
	assert_int_equal(port->leases->qpn_index_bits, 20);
	assert_int_equal(port->leases->qpn_key[1], 2);
	assert_int_equal(port->leases->cm_prefix, 9);
	stop_port();
	teardown(NULL);
	/* Without a device, which leases by itself. */
	setup(NULL);
	assert_int_equal(open_port(), 0);
	assert_int_equal(port->leases->lease_qpns(port->leases->ctx, &first,
						  &nb),
			 0);
	assert_int_equal(first, 5 << 6);
	assert_int_equal(nb, 64);
	assert_int_equal(port->leases->lease_qpns(port->leases->ctx, &first,
						  &nb),
			 0);
	assert_int_equal(first, 0); /* what the fake daemon answers */
	fake_await(&d, ROOST_SHARE_QPNS, 1);
	roost_shared.free(port);
}

static bool serve_hostile(struct fake_daemon *f,
			  struct roost_share_packet *packet)
{
	if (packet->msg.type != ROOST_SHARE_QPNS)
		return false;
	fake_reply(f, packet->msg.tag, 0, UINT64_C(1) << 14);
	return true;
}

static void port__a_block_out_of_range_is_refused(void **state)
{
	uint32_t first, nb;

	d.serve = serve_hostile;
	assert_int_equal(open_port(), 0);
	port->leases->lease_qpns(port->leases->ctx, &first, &nb);
	assert_int_equal(port->leases->lease_qpns(port->leases->ctx, &first,
						  &nb),
			 -EPROTO);
	roost_shared.free(port);
}

static void check_gid(unsigned int index, const struct roost_gid *expected)
{
	struct roost_gid gid;

	roost_port_query_gid(dev, 1, index, &gid);
	assert_memory_equal(&gid, expected, sizeof(gid));
}

static void port__follows_the_page(void **state)
{
	static const struct roost_gid none;
	struct roost_backend_view view;
	struct roost_share_facts facts;
	struct roost_port_attr attr;
	uint16_t pkey;
	uint8_t mac[6];

	d.facts.gid_len_bits[1] = 24;
	start_port();
	facts = d.facts;
	roost_port_query(dev, 1, &attr);
	assert_int_equal(attr.state, ROOST_PORT_ACTIVE);
	check_gid(0, &facts.gids[0]);
	check_gid(1, &facts.gids[1]);
	check_gid(2, &none);
	roost_shared.view(port, &view);
	assert_int_equal(view.addrs.nb, 1);
	assert_int_equal(view.addrs.v[0].len_bits, 24);
	assert_int_equal(view.mtu_bytes, 4200);
	/* Addresses move, another MAC and P_Keys, the link goes. */
	facts.gids[2] = facts.gids[0];
	facts.gids[0] = facts.gids[1];
	facts.gids[1] = roost_gid_from_v4((const uint8_t[]){ 10, 0, 0, 1 });
	facts.mac[5] = 7;
	facts.pkeys[0] = 0x8001;
	facts.pkeys[3] = 0xffff;
	facts.is_active = 0;
	facts.ip_mtu_bytes = 1500;
	change(&facts);
	roost_port_query(dev, 1, &attr);
	assert_int_equal(attr.state, ROOST_PORT_DOWN);
	for (unsigned int i = 0; i < 3; i++)
		check_gid(i, &facts.gids[i]);
	roost_port_query_pkey(dev, 1, 0, &pkey);
	assert_int_equal(pkey, 0x8001);
	roost_port_query_pkey(dev, 1, 3, &pkey);
	assert_int_equal(pkey, 0xffff);
	roost_port_query_mac(dev, 1, mac);
	assert_int_equal(mac[5], 7);
	stop_port();
}

/* Of the addresses in the page it has one, and follows what happens to it. */
static void port__an_address_of_its_own(void **state)
{
	static const struct roost_gid none;
	struct roost_backend_view view;
	struct roost_share_facts facts;

	d.attached.attached.own_gid = d.facts.gids[1];
	start_port();
	facts = d.facts;
	check_gid(0, &none);
	check_gid(1, &facts.gids[1]);
	roost_shared.view(port, &view);
	assert_int_equal(view.addrs.nb, 1);
	facts.gids[2] = facts.gids[1];
	facts.gids[1] = roost_gid_from_v4((const uint8_t[]){ 10, 0, 0, 1 });
	facts.is_active = 0;
	change(&facts);
	check_gid(0, &none);
	check_gid(1, &none);
	check_gid(2, &facts.gids[2]);
	stop_port();
}

/* Values that no port has: nothing of them reaches the engine. */
static void port__hostile_facts_are_cut(void **state)
{
	struct roost_share_facts facts;
	struct roost_backend_view view;
	static const struct roost_gid none;
	uint16_t pkey;
	uint8_t mac[6];

	start_port();
	facts = d.facts;
	memset(&facts.gids[2], 0xff, sizeof(facts.gids[2])); /* a group */
	facts.gids[3] = facts.gids[1];                       /* twice */
	facts.gid_len_bits[1] = 200;
	facts.pkeys[5] = 0x7fff; /* as entry 0 */
	facts.mac[0] = 0xff;
	facts.ip_mtu_bytes = UINT32_MAX;
	facts.is_active = 2;
	change(&facts);
	check_gid(1, &facts.gids[1]);
	check_gid(2, &none);
	check_gid(3, &none);
	roost_port_query_pkey(dev, 1, 5, &pkey);
	assert_int_equal(pkey, 0);
	roost_port_query_mac(dev, 1, mac);
	assert_memory_equal(mac, d.facts.mac, 6);
	roost_shared.view(port, &view);
	assert_int_equal(view.mtu_bytes, ROOST_PORT_MTU_MAX_BYTES);
	assert_int_equal(view.addrs.v[0].len_bits, 32);
	assert_false(view.carrier);
	facts.ip_mtu_bytes = 0;
	memset(facts.mac, 0, sizeof(facts.mac));
	change(&facts);
	roost_port_query_mac(dev, 1, mac);
	assert_memory_equal(mac, d.facts.mac, 6);
	roost_shared.view(port, &view);
	assert_int_equal(view.mtu_bytes, ROOST_PORT_MTU_MIN_BYTES);
	stop_port();
}

/* A page that changes while it is read is read again later. */
static void port__a_page_that_never_rests(void **state)
{
	struct roost_share_facts facts;
	struct roost_backend_view view;

	start_port();
	run();
	facts = d.facts;
	facts.ip_mtu_bytes = 1500;
	roost_share_page_write(d.page, &facts);
	atomic_fetch_add(&d.page->generation, 1); /* as in a change */
	{
		struct roost_share_msg msg = { .type = ROOST_SHARE_CHANGED };

		roost_share_send(atomic_load(&d.fd), &msg, NULL, 0, NULL);
	}
	assert_true(run() != UINT64_MAX);
	roost_shared.view(port, &view);
	assert_int_equal(view.mtu_bytes, 4200);
	atomic_fetch_add(&d.page->generation, 1);
	run();
	roost_shared.view(port, &view);
	assert_int_equal(view.mtu_bytes, 1500);
	stop_port();
}

static void port__its_end_is_fatal_to_the_device(void **state)
{
	struct roost_share_msg evicted = { .type = ROOST_SHARE_EVICTED,
					   .reason = "it sends too much" };
	struct roost_share_facts facts;

	for (int i = 0; i < 4; i++) {
		if (i > 0)
			setup(NULL);
		d.no_ticket = true;
		start_port();
		run();
		assert_false(roost_dev_failed(dev));
		facts = d.facts;
		facts.is_gone = 1;
		if (i == 0)
			fake_hang_up(&d);
		else if (i == 1)
			roost_share_send(atomic_load(&d.fd), &evicted, NULL, 0,
					 NULL);
		else if (i == 2)
			change(&facts);
		else
			roost_shared.remove(port, "removed by a test");
		run();
		assert_true(roost_dev_failed(dev));
		run();
		stop_port();
		if (i < 3)
			teardown(NULL);
	}
}

static void write_frame(uint8_t *frame, uint8_t last)
{
	memset(frame, last, 64);
	memcpy(frame, d.facts.mac, 6);
	frame[12] = 0x08;
	frame[13] = 0x06;
}

static void port__frames_go_both_ways(void **state)
{
	struct roost_shm_entry entry;
	struct rte_mbuf *mbuf;
	struct roost_shm_out out;
	struct roost_shm_in in;
	uint32_t seat;

	start_port();
	seat = d.attach_msg.attach.seat;
	roost_shm_out_open(&out, &d.memory, 0, &d.client_memory, seat);
	roost_shm_in_open(&in, &d.memory, 0, &d.client_memory, seat);
	write_frame(roost_shm_slot(&d.memory, 3) + ROOST_SHM_HEADROOM, 0x33);
	roost_shm_out_publish(&out, 3, 64);
	assert_int_equal(port->frame_io.rx_burst(port->frame_io.ctx, 0, &mbuf,
						 1),
			 1);
	assert_int_equal(mbuf->pkt_len, 64);
	assert_int_equal(rte_pktmbuf_mtod(mbuf, uint8_t *)[63], 0x33);
	rte_pktmbuf_free(mbuf);
	mbuf = rte_pktmbuf_alloc(port->pool);
	assert_non_null(mbuf);
	write_frame((uint8_t *)rte_pktmbuf_append(mbuf, 64), 0x44);
	assert_int_equal(port->frame_io.tx_burst(port->frame_io.ctx, 0, &mbuf,
						 1),
			 1);
	assert_int_equal(roost_shm_in_take(&in, &entry, 1), 1);
	assert_int_equal(entry.len_bytes, 64);
	assert_int_equal(roost_shm_slot(&d.client_memory,
					entry.slot)[ROOST_SHM_HEADROOM + 63],
			 0x44);
	roost_shm_in_give(&in, 1);
	stop_port();
}

/* A word of the daemon in shared memory that no daemon writes. */
static void port__a_broken_pipe_is_fatal(void **state)
{
	struct rte_mbuf *mbuf;

	start_port();
	run();
	atomic_store(&roost_shm_ring(&d.memory, 0)[0],
		     UINT64_C(1) << 32 | 0xffff0000 | 64);
	assert_int_equal(port->frame_io.rx_burst(port->frame_io.ctx, 0, &mbuf,
						 1),
			 0);
	run();
	assert_true(roost_dev_failed(dev));
	stop_port();
}

/* ---- as a device of the process ------------------------------------------ */

static const char *ask_ctl(const char *request)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	static char answer[512];
	int len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
			   "roost/ctl/%d", getpid());
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	ssize_t n;

	assert_int_equal(connect(fd, (struct sockaddr *)&addr,
				 (socklen_t)(offsetof(struct sockaddr_un,
						      sun_path) +
					     1 + (size_t)len)),
			 0);
	assert_true(send(fd, request, strlen(request), 0) > 0);
	n = recv(fd, answer, sizeof(answer) - 1, MSG_WAITALL);
	assert_true(n > 0);
	answer[n] = '\0';
	close(fd);
	return answer;
}

/* What the daemon does is seen at once: its socket wakes the control thread. */
static void device__follows_its_daemon(void **state)
{
	struct roost_share_msg changed = { .type = ROOST_SHARE_CHANGED };
	struct roost_share_facts facts;
	struct roost_port_attr attr;
	struct roost_device *device;
	int waits = 0;

	d.no_ticket = true;
	fake_start(&d);
	memset(&config, 0, sizeof(config));
	config.nb_ports = 1;
	snprintf(config.ports[0].service, sizeof(config.ports[0].service), "%s",
		 d.path);
	assert_int_equal(roost_device_open(&config, 0, &device), 0);
	dev = roost_device_dev(device);
	assert_non_null(
		strstr(ask_ctl("set - - link down\n"), "it is a daemon's"));
	assert_non_null(strstr(ask_ctl("set - - address add 10.0.0.1/8\n"),
			       "it is a daemon's"));
	assert_non_null(
		strstr(ask_ctl("set - - pkey 1 0x8002\n"), "it is a daemon's"));
	facts = d.facts;
	facts.is_active = 0;
	roost_share_page_write(d.page, &facts);
	roost_share_send(atomic_load(&d.fd), &changed, NULL, 0, NULL);
	do {
		usleep(1000);
		roost_port_query(dev, 1, &attr);
	} while (attr.state == ROOST_PORT_ACTIVE && ++waits < 5000);
	assert_int_equal(attr.state, ROOST_PORT_DOWN);
	fake_hang_up(&d);
	while (!roost_dev_failed(dev) && ++waits < 5000)
		usleep(1000);
	assert_true(roost_dev_failed(dev));
	roost_device_close(device);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(port__needs_no_eal),
		TEST(port__a_wrong_seat_is_refused),
		TEST(port__leases_blocks_one_after_the_other),
		TEST(port__a_block_out_of_range_is_refused),
		TEST(port__follows_the_page),
		TEST(port__an_address_of_its_own),
		TEST(port__hostile_facts_are_cut),
		TEST(port__a_page_that_never_rests),
		TEST(port__its_end_is_fatal_to_the_device),
		TEST(port__frames_go_both_ways),
		TEST(port__a_broken_pipe_is_fatal),
		TEST(device__follows_its_daemon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
