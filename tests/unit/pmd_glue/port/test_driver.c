/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pmd_glue/port/driver.h"
#include "tests/cmocka.h"

static const char *complete(const char *devargs)
{
	static char full[384];

	assert_int_equal(roost_driver_devargs(devargs, full, sizeof(full)), 0);
	return full;
}

static void driver__memif_gets_big_buffers(void **state)
{
	assert_string_equal(complete("net_memif0,role=server"),
			    "net_memif0,role=server,bsize=8192,rsize=10");
	assert_string_equal(complete("net_memif0"),
			    "net_memif0,bsize=8192,rsize=10");
}

static void driver__what_the_user_gave_stays(void **state)
{
	assert_string_equal(complete("net_memif0,bsize=2048,id=3"),
			    "net_memif0,bsize=2048,id=3,rsize=10");
	/* A key inside another one or a value does not count. */
	assert_string_equal(complete("net_memif0,socket=rsize,secret=bsize=1"),
			    "net_memif0,socket=rsize,secret=bsize=1,"
			    "bsize=8192,rsize=10");
}

static void driver__packet_ring_is_given_as_a_whole(void **state)
{
	assert_string_equal(complete("net_af_packet0,iface=eth0"),
			    "net_af_packet0,iface=eth0,framesz=4608,"
			    "blocksz=36864,framecnt=512");
	assert_string_equal(complete("net_af_packet0,iface=eth0,framecnt=64"),
			    "net_af_packet0,iface=eth0,framecnt=64");
}

/* The driver takes slot i at i * framesz; the kernel begins a new slot at each
 * block, and wants whole pages and alignment.
 */
static void driver__packet_ring_fits_the_kernel(void **state)
{
	const char *full = complete("net_af_packet0,iface=eth0");
	unsigned int framesz, blocksz, framecnt;

	assert_int_equal(sscanf(strstr(full, "framesz"),
				"framesz=%u,blocksz=%u,framecnt=%u", &framesz,
				&blocksz, &framecnt),
			 3);
	assert_int_equal(framesz % 16, 0);
	assert_int_equal(blocksz % 4096, 0);
	assert_int_equal(blocksz % framesz, 0);
	assert_int_equal(framecnt % (blocksz / framesz), 0);
	/* 4096 bytes of path MTU and the longest headers */
	assert_true(roost_driver_find(full)->ip_mtu_bytes(full) >= 4096 + 88);
}

static void driver__unknown_drivers_are_left_alone(void **state)
{
	assert_string_equal(complete("0000:03:00.0"), "0000:03:00.0");
	assert_string_equal(complete("net_ring0,x=y"), "net_ring0,x=y");
}

static void driver__too_long_is_refused(void **state)
{
	char full[40];

	assert_int_equal(roost_driver_devargs("net_memif0,role=server", full,
					      sizeof(full)),
			 -ENAMETOOLONG);
	assert_int_equal(roost_driver_devargs("net_memif0,role=server", full,
					      10),
			 -ENAMETOOLONG);
}

static void driver__wrong_key_names_the_nearest(void **state)
{
	char unknown[ROOST_DEVARG_KEY_MAX], advice[ROOST_DEVARG_ADVICE_MAX];

	assert_int_equal(roost_driver_check_keys("net_memif0,role=server,"
						 "bsise=1",
						 unknown, advice),
			 -EINVAL);
	assert_string_equal(unknown, "bsise");
	assert_string_equal(advice, "did you mean \"bsize\"?");
	/* Given already, or far from all: no guess. */
	assert_int_equal(roost_driver_check_keys("net_tap0,iface=a,ifac=b",
						 unknown, advice),
			 -EINVAL);
	assert_string_equal(unknown, "ifac");
	assert_string_equal(advice, "it takes iface,remote,mac,persist");
	assert_int_equal(roost_driver_check_keys("net_tap0,colour=b", unknown,
						 advice),
			 -EINVAL);
	assert_string_equal(advice, "it takes iface,remote,mac,persist");
	assert_int_equal(roost_driver_check_keys("net_memif0,role=server,id=1",
						 unknown, advice),
			 0);
	/* Drivers that check themselves, and those not known. */
	assert_int_equal(roost_driver_check_keys("net_null0,bsise=1", unknown,
						 advice),
			 0);
}

static void check_kernel(const char *devargs, enum roost_driver_kernel want,
			 const char *want_iface)
{
	char iface[16];

	assert_int_equal(roost_driver_kernel(devargs, iface, sizeof(iface)),
			 want);
	assert_string_equal(iface, want_iface);
}

static void driver__where_the_kernel_stands(void **state)
{
	check_kernel("net_af_packet0,iface=eth0", ROOST_KERNEL_SHARES, "eth0");
	check_kernel("net_af_xdp1,iface=v0", ROOST_KERNEL_SHARES, "v0");
	check_kernel("net_tap0,iface=dtap0", ROOST_KERNEL_PEER, "dtap0");
	check_kernel("net_tap0,iface=dtap0,remote=eth1", ROOST_KERNEL_SHARES,
		     "eth1");
	check_kernel("net_memif0,role=server", ROOST_KERNEL_NONE, "");
	check_kernel("0000:03:00.0", ROOST_KERNEL_NONE, "");
}

static void driver__mtu_of_small_buffers(void **state)
{
	const char *memif = complete("net_memif0,bsize=2048");
	const struct roost_driver *d = roost_driver_find(memif);

	assert_int_equal(d->ip_mtu_bytes(memif), 2048 - 18);
	assert_int_equal(d->ip_mtu_bytes("net_memif0,bsize=7"), 0);
}

/* An object of its pool is one page at most, and a frame fits into it. */
static void driver__xdp_buffers_are_pages(void **state)
{
	const char *devargs = "net_af_xdp0,iface=eth0,queue_count=3";
	const struct roost_driver *d = roost_driver_find(devargs);
	uint32_t mtu = d->ip_mtu_bytes(devargs);

	assert_true(64 + 128 + 128 + d->rx_room_max_bytes <= 4096 - 64);
	assert_true(mtu + 18 <= d->rx_room_max_bytes - 256);
	assert_true(mtu >= 2048 + 88); /* a path MTU of 2048 */
}

static void driver__queues_for_workers(void **state)
{
	static const struct {
		const char *devargs;
		unsigned int nb; /* for four workers */
		unsigned int nb_alone;
	} rows[] = {
		{ "net_af_xdp0,iface=eth0", 4, 1 },
		{ "net_af_xdp0,iface=eth0,queue_count=3", 3, 3 },
		{ "net_af_xdp0,iface=eth0,queue_count=300", 300, 300 },
		{ "net_af_xdp0,iface=eth0,queue_count=0", 1, 1 },
		{ "net_af_xdp0,iface=eth0,start_queue=1", 1, 1 },
		{ "net_af_packet0,iface=eth0", 4, 1 },
		{ "net_af_packet0,iface=eth0,qpairs=2", 2, 2 },
		{ "net_tap0,iface=a", 4, 1 },
		{ "net_tap0,iface=a,remote=eth0", 1, 1 },
		{ "net_memif0,role=server", 1, 1 },
		{ "net_ring0", 1, 1 },
		{ "net_vhost0,iface=/a", 1, 1 },
		{ "net_virtio_user0,path=/a", 1, 1 },
		{ "net_bonding0,mode=1,slave=(net_tap0)", 4, 1 },
		{ "0000:03:00.0", 4, 1 },
		{ "03:00.0,iommu=1", 4, 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(roost_driver_nb_queues(rows[i].devargs, 4),
				 rows[i].nb);
		assert_int_equal(roost_driver_nb_queues(rows[i].devargs, 1),
				 rows[i].nb_alone);
	}
}

static void driver__key_is_set(void **state)
{
	static const struct {
		const char *before, *after;
	} rows[] = {
		{ "net_x0", "net_x0,q=2" },
		{ "net_x0,a=1", "net_x0,a=1,q=2" },
		{ "net_x0,q=17,a=1", "net_x0,a=1,q=2" },
		{ "net_x0,a=1,q=3", "net_x0,a=1,q=2" },
		{ "net_x0,a=q,qq=3", "net_x0,a=q,qq=3,q=2" },
		{ "net_x0,q", "net_x0,q=2" },
		{ "net_x0,q=1,a=b,q=3", "net_x0,a=b,q=2" },
	};
	char text[32];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		strcpy(text, rows[i].before);
		assert_int_equal(roost_devargs_set(text, sizeof(text), "q", 2),
				 0);
		assert_string_equal(text, rows[i].after);
	}
	strcpy(text, "net_x0");
	assert_int_equal(roost_devargs_set(text, 10, "q", 2), -ENAMETOOLONG);
}

static void driver__key_without_value(void **state)
{
	assert_true(roost_devargs_has("net_x0,a,b=1", "a"));
	assert_true(roost_devargs_has("net_x0,a,b=1", "b"));
	assert_false(roost_devargs_has("net_x0,a,b=c", "c"));
	assert_false(roost_devargs_has("net_x0,xdp_prog2=c", "xdp_prog"));
}

static void driver__who_serves_the_socket(void **state)
{
	assert_true(roost_driver_serves("net_vhost0,iface=/x"));
	assert_true(roost_driver_serves("net_vhost0,iface=/x,client=0"));
	assert_false(roost_driver_serves("net_vhost0,iface=/x,client=1"));
	assert_false(roost_driver_serves("net_virtio_user0,path=/x"));
	assert_true(roost_driver_serves("net_virtio_user0,path=/x,server=1"));
	assert_true(roost_driver_serves("virtio_user0,path=/x,server=1"));
	assert_false(roost_driver_serves("net_memif0,role=server"));
}

/* A PCI device is found by what its driver calls itself. */
static void driver__interrupts_that_do_not_come(void **state)
{
	const struct roost_driver *em = roost_driver_find("net_e1000_em");
	const struct roost_driver *vmxnet3 = roost_driver_find("net_vmxnet3");
	const struct roost_driver *other = roost_driver_find("net_virtio");

	assert_true(em->rx_is_mute && em->link_is_mute);
	assert_true(!vmxnet3->rx_is_mute && vmxnet3->link_is_mute);
	assert_false(other->rx_is_mute || other->link_is_mute);
}

/* The card of a virtual machine does, and not the peer of a socket. */
static void driver__filters_vlans_unasked(void **state)
{
	assert_true(roost_driver_find("net_virtio")->drops_tags);
	assert_false(roost_driver_find("net_virtio_user0")->drops_tags);
	assert_false(roost_driver_find("net_e1000_em")->drops_tags);
}

/* net_tap in DPDK 22.11 drops longer frames, and says nothing. */
static void driver__mtu_of_a_tap(void **state)
{
	const char *tap = "net_tap0,iface=tap0";

	assert_int_equal(roost_driver_find(tap)->ip_mtu_bytes(tap), 1500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(driver__memif_gets_big_buffers),
		cmocka_unit_test(driver__what_the_user_gave_stays),
		cmocka_unit_test(driver__packet_ring_is_given_as_a_whole),
		cmocka_unit_test(driver__packet_ring_fits_the_kernel),
		cmocka_unit_test(driver__unknown_drivers_are_left_alone),
		cmocka_unit_test(driver__too_long_is_refused),
		cmocka_unit_test(driver__wrong_key_names_the_nearest),
		cmocka_unit_test(driver__where_the_kernel_stands),
		cmocka_unit_test(driver__mtu_of_small_buffers),
		cmocka_unit_test(driver__xdp_buffers_are_pages),
		cmocka_unit_test(driver__queues_for_workers),
		cmocka_unit_test(driver__key_is_set),
		cmocka_unit_test(driver__key_without_value),
		cmocka_unit_test(driver__who_serves_the_socket),
		cmocka_unit_test(driver__interrupts_that_do_not_come),
		cmocka_unit_test(driver__filters_vlans_unasked),
		cmocka_unit_test(driver__mtu_of_a_tap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
