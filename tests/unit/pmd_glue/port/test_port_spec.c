/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmd_glue/port/port_spec.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/own_net.h"

static char place[] = "/tmp/roost-rdma-XXXXXX";
static char why[ROOST_PORT_SPEC_WHY_MAX];
static struct roost_netif netif;

/* ---- a kernel's interfaces and RDMA devices --------------------------------
 */

static void run(const char *command)
{
	if (system(command) != 0) {
		fprintf(stderr, "%s: not possible here\n", command);
		exit(OWN_NET_SKIPPED);
	}
}

static void make_folder(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", place, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void make_file(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", place, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void make_link(const char *name, const char *target)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", place, name);
	assert_int_equal(symlink(target, path), 0);
}

static int make_world(void **state)
{
	run("ip link add eth10 mtu 1500 type veth peer name wan0");
	run("ip link set wan0 mtu 9000");
	run("ip link add net_tap0 type veth peer name zz9");
	assert_non_null(mkdtemp(place));
	/* A NIC by its GIDs, one by its device, a software one, one without. */
	make_folder("mlx5_0");
	make_link("mlx5_0/device", "../../../0000:03:00.0");
	make_folder("mlx5_0/ports");
	make_folder("mlx5_0/ports/1");
	make_folder("mlx5_0/ports/1/gid_attrs");
	make_folder("mlx5_0/ports/1/gid_attrs/ndevs");
	make_file("mlx5_0/ports/1/gid_attrs/ndevs/0", "ens3f0np0\n");
	make_folder("0000:04:00.1");
	make_folder("0000:04:00.1/net");
	make_folder("0000:04:00.1/net/ens4");
	make_folder("irdma1");
	make_link("irdma1/device", "../0000:04:00.1");
	make_folder("rxe0");
	make_file("rxe0/parent", "eth10\n");
	make_folder("ibp5s0");
	make_link("ibp5s0/device", "../../0000:05:00.0");
	make_folder("bare");
	return 0;
}

static int remove_world(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", place);
	return system(command);
}

/* ---- interfaces ------------------------------------------------------------
 */

static void netif__is_told_by_its_name(void **state)
{
	assert_true(roost_port_spec_is_netif("eth10", &netif));
	assert_string_equal(netif.name, "eth10");
	assert_string_equal(netif.kind, "veth");
	assert_int_equal(netif.mtu_bytes, 1500);
	assert_false(netif.up);
	assert_int_equal(netif.xdp_id, 0);
	assert_true(roost_port_spec_is_netif("eth10,qpairs=2", &netif));
	assert_null(roost_netif_refuses(&netif));
	assert_true(roost_port_spec_is_netif("lo", &netif));
	assert_non_null(strstr(roost_netif_refuses(&netif), "loopback"));
	assert_false(roost_port_spec_is_netif("eth1", &netif));
	assert_false(roost_port_spec_is_netif("eth10:0", &netif));
	assert_false(roost_port_spec_is_netif("", &netif));
	assert_false(roost_port_spec_is_netif(
		"a-name-that-no-interface-of-the-kernel-can-have", &netif));
}

/* What meant a DPDK device before an interface had the name still does. */
static void netif__dpdks_names_stay_dpdks(void **state)
{
	static const char *const words[] = { "net_tap0", "net_tap0,iface=x",
					     "net_af_packet0,iface=eth10",
					     "0000:03:00.0", "03:00.0" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_false(roost_port_spec_is_netif(words[i], &netif));
}

static const char *no_xdp(const char *spec, struct roost_port_wish wish)
{
	static char text[ROOST_PORT_SPEC_WHY_MAX];

	assert_true(roost_port_spec_is_netif(spec, &netif));
	return roost_port_spec_no_xdp(spec, &netif, &wish, text);
}

static void xdp__where_it_cannot_be(void **state)
{
	const struct roost_port_wish nothing = { .vlan = false };

	assert_null(no_xdp("eth10", nothing));
	assert_null(no_xdp("eth10,force_copy=1", nothing));
	assert_string_equal(no_xdp("eth10",
				   (struct roost_port_wish){ .vlan = true }),
			    "it takes no VLAN");
	assert_non_null(
		strstr(no_xdp("eth10",
			      (struct roost_port_wish){ .mtu_bytes = 4200 }),
		       "and 4200 is wanted"));
	assert_non_null(strstr(no_xdp("wan0", nothing), "and 9000 is wanted"));
	/* Less is wanted than the interface has. */
	assert_null(
		no_xdp("wan0", (struct roost_port_wish){ .mtu_bytes = 1500 }));
	assert_string_equal(no_xdp("eth10,qpairs=2", nothing),
			    "it has no argument \"qpairs\"");
	netif.kind[0] = '\0';
	strcpy(netif.kind, "vlan");
	assert_string_equal(roost_port_spec_no_xdp("eth10", &netif, &nothing,
						   why),
			    "it takes no VLAN, and the interface is one");
}

static void devargs__are_the_drivers(void **state)
{
	char devargs[ROOST_DEVARGS_MAX], spec[ROOST_DEVARGS_MAX];

	assert_int_equal(roost_port_spec_devargs("eth10,qpairs=2",
						 "net_af_packet", 3, devargs),
			 0);
	assert_string_equal(devargs, "net_af_packet3,iface=eth10,qpairs=2");
	memset(spec, 'x', sizeof(spec) - 1);
	spec[sizeof(spec) - 1] = '\0';
	assert_int_equal(roost_port_spec_devargs(spec, "net_af_packet", 3,
						 devargs),
			 -ENAMETOOLONG);
}

/* ---- names that nobody has --------------------------------------------------
 */

static void advise__typos(void **state)
{
	static const struct {
		const char *spec, *meant; /* NULL: no guess */
	} rows[] = {
		{ "net_afpacket0", "net_af_packet0" },
		{ "net_afpacket12,iface=eth10", "net_af_packet12" },
		{ "net_af_paket0", "net_af_packet0" },
		{ "af_packet0,iface=eth10", "net_af_packet0" },
		{ "af_xdp", "net_af_xdp0" },
		{ "net-af-xdp1", "net_af_xdp1" },
		{ "memif0", "net_memif0" },
		{ "tap3", "net_tap3" },
		{ "net_virtiouser0", "net_virtio_user0" },
		{ "eth11", "eth10" },
		{ "eht10", "eth10" },
		{ "wan", "wan0" },
		{ "connectx", NULL },
		{ "my-card", NULL },
		{ "", NULL },
	};
	char wanted[96];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		roost_port_spec_advise(rows[i].spec, place, why);
		snprintf(wanted, sizeof(wanted), "did you mean \"%s\"?",
			 rows[i].meant ? rows[i].meant : "");
		if (rows[i].meant)
			assert_non_null(strstr(why, wanted));
		else
			assert_null(strstr(why, "did you mean"));
		assert_non_null(strstr(why, "\"roost ports\""));
	}
}

static void advise__rdma_devices(void **state)
{
	static const struct {
		const char *spec, *says;
	} rows[] = {
		{ "mlx5_0", "it is an RDMA device: of interface ens3f0np0, PCI "
			    "device 0000:03:00.0; give --port ens3f0np0" },
		{ "irdma1", "of interface ens4, PCI device 0000:04:00.1;" },
		{ "rxe0", "of interface eth10; give --port eth10" },
		{ "rxe0,x=1", "of interface eth10; give --port eth10" },
		{ "ibp5s0", "of PCI device 0000:05:00.0, without a network "
			    "interface here; give --port 0000:05:00.0" },
		{ "bare", "without a network interface or PCI device" },
		{ "mlx5_1", "there is no such RDMA device in this machine" },
		{ "..", "there is no such interface, PCI device or driver" },
		{ "mlx5_0/ports", "there is no such RDMA device" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		roost_port_spec_advise(rows[i].spec, place, why);
		assert_non_null(strstr(why, rows[i].says));
	}
}

static void rdma__of_an_interface(void **state)
{
	struct roost_rdma_device rdma;

	assert_true(roost_rdma_of_netif(place, "eth10", &rdma));
	assert_string_equal(rdma.name, "rxe0");
	assert_false(roost_rdma_of_netif(place, "wan0", &rdma));
	assert_false(roost_rdma_of_netif("/nowhere", "eth10", &rdma));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(netif__is_told_by_its_name),
		cmocka_unit_test(netif__dpdks_names_stay_dpdks),
		cmocka_unit_test(xdp__where_it_cannot_be),
		cmocka_unit_test(devargs__are_the_drivers),
		cmocka_unit_test(advise__typos),
		cmocka_unit_test(advise__rdma_devices),
		cmocka_unit_test(rdma__of_an_interface),
	};

	own_net_enter();
	return cmocka_run_group_tests(tests, make_world, remove_world);
}
