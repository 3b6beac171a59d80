/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The formats of sysfs: as drivers/infiniband/core/sysfs.c writes them.
 */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/sysfs/picture.h"
#include "tests/cmocka.h"

#define PORT "sys/class/infiniband/roost0/ports/1/"

static char picture[] = "/tmp/test_picture.XXXXXX";

static struct roost_picture_port port;
static struct roost_picture_counters counters;

static int setup(void **state)
{
	const struct roost_picture_dev dev = {
		.name = "roost0",
		.guid = 0x0202c9fffe012345,
		.fw_ver = "0.1.0",
		.board_id = "link \"lab\"",
	};

	(void)state;
	strcpy(strchr(picture, '.'), ".XXXXXX");
	assert_non_null(mkdtemp(picture));
	port = (struct roost_picture_port){
		.is_active = true,
		.lid = 0x201,
		.cap_mask = 0x04000000,
		.speed_mbps = 100000,
		.interface = "eth0",
		.gids[0].b = { 0xfe, 0x80, [8] = 2, 0, 0xc9, 0xff, 0xfe, 1, 2,
			       3 },
		.gids[2].b = { [10] = 0xff, 0xff, 198, 18, 0, 1 },
		.pkeys[0] = 0xffff,
	};
	counters = (struct roost_picture_counters){ .port_xmit_data = 7 };
	assert_int_equal(roost_picture_put_dev(picture, &dev), 0);
	assert_int_equal(roost_picture_put_port(picture, "roost0", 1, &port,
						NULL),
			 0);
	assert_int_equal(roost_picture_put_counters(picture, "roost0", 1,
						    &counters, NULL),
			 0);
	return 0;
}

static int drop(const char *path, const struct stat *st, int what,
		struct FTW *at)
{
	(void)st;
	(void)what;
	(void)at;
	return remove(path);
}

static int teardown(void **state)
{
	(void)state;
	return nftw(picture, drop, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *text_of(const char *file)
{
	static char text[4096];
	char path[512];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", picture, file);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	assert_true(n >= 0);
	text[n] = '\0';
	return text;
}

static ino_t inode_of(const char *file)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", picture, file);
	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static void picture__has_the_kernels_formats(void **state)
{
	static const struct {
		const char *file, *text;
	} rows[] = {
		{ "sys/class/infiniband/roost0/node_type", "1: CA\n" },
		{ "sys/class/infiniband/roost0/node_guid",
		  "0202:c9ff:fe01:2345\n" },
		{ "sys/class/infiniband/roost0/sys_image_guid",
		  "0202:c9ff:fe01:2345\n" },
		{ "sys/class/infiniband/roost0/fw_ver", "0.1.0\n" },
		{ "sys/class/infiniband/roost0/hca_type", "Roost\n" },
		{ "sys/class/infiniband/roost0/board_id", "link \"lab\"\n" },
		{ "sys/class/infiniband/roost0/device/numa_node", "-1\n" },
		{ PORT "state", "4: ACTIVE\n" },
		{ PORT "phys_state", "5: LinkUp\n" },
		{ PORT "rate", "100 Gb/sec (4X EDR)\n" },
		{ PORT "link_layer", "Ethernet\n" },
		{ PORT "lid", "0x201\n" },
		{ PORT "sm_lid", "0x0\n" },
		{ PORT "cap_mask", "0x04000000\n" },
		{ PORT "gids/0", "fe80:0000:0000:0000:0200:c9ff:fe01:0203\n" },
		{ PORT "gids/1", "0000:0000:0000:0000:0000:0000:0000:0000\n" },
		{ PORT "gids/2", "0000:0000:0000:0000:0000:ffff:c612:0001\n" },
		{ PORT "gids/63", "0000:0000:0000:0000:0000:0000:0000:0000\n" },
		{ PORT "gid_attrs/types/0", "RoCE v2\n" },
		{ PORT "gid_attrs/types/1", "" },
		{ PORT "gid_attrs/types/2", "RoCE v2\n" },
		{ PORT "gid_attrs/ndevs/0", "eth0\n" },
		{ PORT "gid_attrs/ndevs/1", "" },
		{ PORT "pkeys/0", "0xffff\n" },
		{ PORT "pkeys/15", "0x0000\n" },
		{ PORT "counters/port_xmit_data", "7\n" },
		{ PORT "counters/symbol_error", "0\n" },
		{ PORT "hw_counters/lifespan", "1000\n" },
		{ PORT "hw_counters/out_of_sequence", "0\n" },
		{ "sys/class/infiniband_verbs/abi_version", "6\n" },
		{ "sys/class/infiniband_verbs/uverbs_roost0/ibdev",
		  "roost0\n" },
		{ "sys/class/infiniband_verbs/uverbs_roost0/dev", "1:3\n" },
		{ "sys/class/infiniband_verbs/uverbs_roost0/abi_version",
		  "1\n" },
		{ "sys/class/infiniband_verbs/uverbs_roost0/device/vendor",
		  "0xffff\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(text_of(rows[i].file), rows[i].text);
}

static void picture__of_a_real_device_links_to_it(void **state)
{
	const struct roost_picture_dev dev = {
		.name = "roost1",
		.fw_ver = "",
		.board_id = "",
		.parent = "/sys/devices/pci0000:00/0000:00:01.0",
	};
	char path[512], target[512] = "";

	(void)state;
	assert_int_equal(roost_picture_put_dev(picture, &dev), 0);
	snprintf(path, sizeof(path), "%s/sys/class/infiniband/roost1/device",
		 picture);
	assert_true(readlink(path, target, sizeof(target) - 1) > 0);
	assert_string_equal(target, dev.parent);
}

static void picture__writes_what_has_changed(void **state)
{
	struct roost_picture_port now = port;
	const ino_t gid = inode_of(PORT "gids/2"),
		    state_file = inode_of(PORT "state");

	(void)state;
	now.gids[1].b[15] = 1;
	now.pkeys[3] = 0x8001;
	assert_int_equal(roost_picture_put_port(picture, "roost0", 1, &now,
						&port),
			 0);
	assert_string_equal(text_of(PORT "gid_attrs/types/1"), "RoCE v2\n");
	assert_string_equal(text_of(PORT "pkeys/3"), "0x8001\n");
	assert_int_equal(inode_of(PORT "gids/2"), gid);
	assert_int_equal(inode_of(PORT "state"), state_file);
	port = now;
	now.is_active = false;
	memset(&now.gids[2], 0, sizeof(now.gids[2]));
	assert_int_equal(roost_picture_put_port(picture, "roost0", 1, &now,
						&port),
			 0);
	assert_string_equal(text_of(PORT "state"), "1: DOWN\n");
	assert_string_equal(text_of(PORT "phys_state"), "3: Disabled\n");
	assert_string_equal(text_of(PORT "gid_attrs/types/2"), "");
}

/* Beside the device's own files: where programs look for its interface. */
static void picture__has_the_interface(void **state)
{
	struct roost_picture_port now = port;
	char path[512], target[64] = "";

	(void)state;
	snprintf(path, sizeof(path),
		 "%s/sys/class/infiniband/roost0/device/net/eth0", picture);
	assert_true(readlink(path, target, sizeof(target) - 1) > 0);
	assert_string_equal(target, "/sys/class/net/eth0");
	strcpy(now.interface, "eth1");
	assert_int_equal(roost_picture_put_port(picture, "roost0", 1, &now,
						&port),
			 0);
	assert_int_equal(readlink(path, target, sizeof(target)), -1);
	path[strlen(path) - 1] = '1';
	assert_true(readlink(path, target, sizeof(target)) > 0);
	port = now;
	now.interface[0] = '\0';
	assert_int_equal(roost_picture_put_port(picture, "roost0", 1, &now,
						&port),
			 0);
	path[strlen(path) - strlen("/eth1")] = '\0';
	assert_int_equal(access(path, F_OK), -1);
}

static void picture__counts(void **state)
{
	struct roost_picture_counters now = counters;
	const ino_t data = inode_of(PORT "counters/port_xmit_data");

	(void)state;
	now.out_of_sequence = UINT64_MAX;
	assert_int_equal(roost_picture_put_counters(picture, "roost0", 1, &now,
						    &counters),
			 0);
	assert_string_equal(text_of(PORT "hw_counters/out_of_sequence"),
			    "18446744073709551615\n");
	assert_int_equal(inode_of(PORT "counters/port_xmit_data"), data);
}

/* A reader that has the old file open keeps the whole old value. */
static void picture__replaces_files_as_a_whole(void **state)
{
	struct roost_picture_port now = port;
	char path[512], text[64] = "";
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/%sstate", picture, PORT);
	fd = open(path, O_RDONLY);
	now.is_active = false;
	assert_int_equal(roost_picture_put_port(picture, "roost0", 1, &now,
						&port),
			 0);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "4: ACTIVE\n");
	close(fd);
}

static void picture__may_be_put_twice(void **state)
{
	const struct roost_picture_dev dev = {
		.name = "roost0",
		.guid = 1,
		.fw_ver = "2",
		.board_id = "",
	};

	(void)state;
	assert_int_equal(roost_picture_put_dev(picture, &dev), 0);
	assert_string_equal(text_of("sys/class/infiniband/roost0/node_guid"),
			    "0000:0000:0000:0001\n");
}

/* A device is opened while programs start: what is there stays, and files with
 * one text are one.
 */
static void picture__writes_little(void **state)
{
	const ino_t gid = inode_of(PORT "gids/0"),
		    empty = inode_of(PORT "gids/5"),
		    pkey = inode_of(PORT "pkeys/0"),
		    count = inode_of(PORT "counters/port_xmit_data");
	struct roost_picture_port now = port;

	(void)state;
	assert_int_equal(inode_of(PORT "gids/63"), empty);
	assert_int_equal(inode_of(PORT "pkeys/9"), inode_of(PORT "pkeys/1"));
	assert_int_equal(roost_picture_put_port(picture, "roost0", 1, &now,
						NULL),
			 0);
	assert_int_equal(roost_picture_put_counters(picture, "roost0", 1,
						    &counters, NULL),
			 0);
	assert_int_equal(inode_of(PORT "gids/0"), gid);
	assert_int_equal(inode_of(PORT "pkeys/0"), pkey);
	assert_int_equal(inode_of(PORT "counters/port_xmit_data"), count);
	/* One of those that are one changes alone. */
	now.gids[5].b[15] = 1;
	assert_int_equal(roost_picture_put_port(picture, "roost0", 1, &now,
						&port),
			 0);
	assert_string_equal(text_of(PORT "gids/5"),
			    "0000:0000:0000:0000:0000:0000:0000:0001\n");
	assert_string_equal(text_of(PORT "gids/63"),
			    "0000:0000:0000:0000:0000:0000:0000:0000\n");
}

static void picture__reports_what_failed(void **state)
{
	(void)state;
	assert_int_equal(roost_picture_put_port("/nowhere", "roost0", 1, &port,
						NULL),
			 -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			picture__has_the_kernels_formats, setup, teardown),
		cmocka_unit_test_setup_teardown(
			picture__of_a_real_device_links_to_it, setup, teardown),
		cmocka_unit_test_setup_teardown(
			picture__writes_what_has_changed, setup, teardown),
		cmocka_unit_test_setup_teardown(picture__has_the_interface,
						setup, teardown),
		cmocka_unit_test_setup_teardown(picture__counts, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			picture__replaces_files_as_a_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(picture__may_be_put_twice,
						setup, teardown),
		cmocka_unit_test_setup_teardown(picture__writes_little, setup,
						teardown),
		cmocka_unit_test(picture__reports_what_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
