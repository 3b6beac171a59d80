/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmd_glue/kernel/pci.h"
#include "tests/cmocka.h"

#define NIC "0000:03:00.0"
#define TWIN "0000:03:00.1"

/* A machine of our own: folders and links as the kernel has them. */
static char top[64], devices[128], vfio[128];
static struct roost_pci_places places;

static void in_top(char *path, const char *name)
{
	snprintf(path, PATH_MAX, "%s/%s", top, name);
}

static void folder(const char *name)
{
	char path[PATH_MAX];

	in_top(path, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void file(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	in_top(path, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void symbolic(const char *name, const char *target)
{
	char path[PATH_MAX], whole[PATH_MAX];

	in_top(path, name);
	in_top(whole, target);
	assert_int_equal(symlink(whole, path), 0);
}

static int set_up(void **state)
{
	snprintf(top, sizeof(top), "/tmp/roost-pci-XXXXXX");
	assert_non_null(mkdtemp(top));
	snprintf(devices, sizeof(devices), "%s/devices", top);
	snprintf(vfio, sizeof(vfio), "%s/vfio", top);
	places = (struct roost_pci_places){ devices, vfio };
	folder("devices");
	folder("devices/" NIC);
	folder("drivers");
	folder("groups");
	folder("groups/14");
	folder("groups/14/devices");
	folder("groups/14/devices/" NIC);
	folder("vfio");
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", top);
	return system(command);
}

static void bind_to(const char *device, const char *driver)
{
	char path[128], target[128];

	snprintf(path, sizeof(path), "devices/%s/driver", device);
	snprintf(target, sizeof(target), "drivers/%s", driver);
	symbolic(path, target);
}

/* What the user is told of the NIC; *ret: what the caller is. */
static const char *refused(bool physical, int *ret)
{
	static char why[ROOST_PCI_WHY_MAX];
	struct roost_pci_device device;

	roost_pci_read(&places, NIC, &device);
	*ret = roost_pci_refuses(&device, physical, why);
	return why;
}

static void expect(bool physical, int error, const char *cause, const char *fix)
{
	int ret;
	const char *why = refused(physical, &ret);

	assert_int_equal(ret, error);
	if (!strstr(why, cause) || !strstr(why, fix))
		fail_msg("\"%s\" lacks \"%s\" or \"%s\"", why, cause, fix);
}

static void pci__names_are_addresses_in_full(void **state)
{
	char name[ROOST_PCI_NAME_MAX];

	assert_true(roost_pci_is("03:00.0", name));
	assert_string_equal(name, NIC);
	assert_true(roost_pci_is("pci:0000:03:00.0,vectorized=1", name));
	assert_string_equal(name, NIC);
	assert_true(roost_pci_is("0000:AF:1f.7", name));
	assert_string_equal(name, "0000:af:1f.7");
	assert_false(roost_pci_is("net_memif0,role=server", name));
	assert_string_equal(name, "");
	assert_false(roost_pci_is("net_tap0,mac=02:00:00:00:00:01", name));
	assert_false(roost_pci_is("03:00", name));
}

static void pci__absent(void **state)
{
	struct roost_pci_device device;
	char why[ROOST_PCI_WHY_MAX];

	roost_pci_read(&places, "0000:09:00.0", &device);
	assert_int_equal(roost_pci_refuses(&device, true, why), -ENODEV);
	assert_non_null(strstr(why, "lspci -D"));
	assert_false(roost_pci_is_there(&places, "0000:09:00.0"));
	assert_true(roost_pci_is_there(&places, NIC));
}

static void pci__name_may_be_read_into_itself(void **state)
{
	struct roost_pci_device device = { .name = NIC };

	roost_pci_read(&places, device.name, &device);
	assert_string_equal(device.name, NIC);
	assert_true(device.is_there);
}

static void pci__nobodys(void **state)
{
	expect(false, -EBUSY, "no driver", "dpdk-devbind.py -b vfio-pci " NIC);
}

static void pci__kernels_with_its_interface(void **state)
{
	bind_to(NIC, "e1000e");
	folder("devices/" NIC "/net");
	folder("devices/" NIC "/net/eth2");
	expect(false, -EBUSY, "interface eth2 (driver e1000e)",
	       "ip link set eth2 down; dpdk-devbind.py -b vfio-pci " NIC);
}

static void pci__kernels_virtio_is_a_level_deeper(void **state)
{
	bind_to(NIC, "virtio-pci");
	folder("devices/" NIC "/virtio3");
	folder("devices/" NIC "/virtio3/net");
	folder("devices/" NIC "/virtio3/net/eth0");
	expect(false, -EBUSY, "interface eth0 (driver virtio-pci)", NIC);
}

static void pci__kernels_without_an_interface(void **state)
{
	bind_to(NIC, "nvme");
	expect(false, -EBUSY, "driver nvme has it", NIC);
}

static void use_vfio(void)
{
	bind_to(NIC, "vfio-pci");
	symbolic("devices/" NIC "/iommu_group", "groups/14");
}

static void pci__vfio_with_an_iommu(void **state)
{
	int ret;

	use_vfio();
	file("groups/14/name", "DMA\n");
	file("vfio/14", "");
	assert_string_equal(refused(false, &ret), "");
	assert_int_equal(ret, 0);
}

static void pci__vfio_without_its_file(void **state)
{
	use_vfio();
	expect(false, -EACCES, "/dev/vfio/14: No such file", "ulimit -l");
}

static void pci__group_with_another_of_the_kernels(void **state)
{
	use_vfio();
	file("vfio/14", "");
	folder("devices/" TWIN);
	folder("groups/14/devices/" TWIN);
	bind_to(TWIN, "e1000e");
	expect(false, -EBUSY, TWIN " of the same IOMMU group (14)",
	       "dpdk-devbind.py -b vfio-pci " TWIN);
}

static void pci__group_with_bridges_and_vfio_only(void **state)
{
	int ret;

	use_vfio();
	file("vfio/14", "");
	folder("devices/" TWIN);
	folder("groups/14/devices/" TWIN);
	bind_to(TWIN, "pcieport");
	refused(false, &ret);
	assert_int_equal(ret, 0);
}

/* Its addresses would be those of the process, and reach anything. */
static void pci__uio_needs_physical_addresses(void **state)
{
	int ret;

	bind_to(NIC, "uio_pci_generic");
	expect(false, -EACCES, "needs physical addresses", "nr_hugepages");
	assert_string_equal(refused(true, &ret), "");
	assert_int_equal(ret, 0);
}

static void pci__vfio_without_an_iommu_does_too(void **state)
{
	int ret;

	use_vfio();
	file("groups/14/name", "vfio-noiommu\n");
	file("vfio/noiommu-14", "");
	expect(false, -EACCES, "needs physical addresses", "nr_hugepages");
	refused(true, &ret);
	assert_int_equal(ret, 0);
}

static void write_config(uint16_t device, uint8_t capability)
{
	uint8_t config[256] = { 0xf4, 0x1a };
	char path[PATH_MAX];
	FILE *f;

	config[2] = (uint8_t)device;
	config[3] = (uint8_t)(device >> 8);
	config[0x34] = 0x40;
	config[0x40] = 0x11; /* MSI-X */
	config[0x41] = 0x50;
	config[0x50] = capability;
	in_top(path, "devices/" NIC "/config");
	f = fopen(path, "w");
	assert_non_null(f);
	fwrite(config, sizeof(config), 1, f);
	fclose(f);
}

static void pci__legacy_virtio_needs_ports(void **state)
{
	int ret;

	bind_to(NIC, "uio_pci_generic");
	write_config(0x1000, 0x05);
	expect(true, -EACCES, "virtio device of before 1.0",
	       "disable-legacy=on");
	/* Transitional, and 1.0. */
	write_config(0x1000, 0x09);
	refused(true, &ret);
	assert_int_equal(ret, 0);
	write_config(0x1041, 0x09);
	refused(true, &ret);
	assert_int_equal(ret, 0);
}

/* ---- reset --------------------------------------------------------------- */

/* Both of the kernel's files are one here: what was written, in order. */
static void offer_reset(const char *methods)
{
	file("devices/" NIC "/reset_method", methods);
	symbolic("devices/" NIC "/reset", "devices/" NIC "/reset_method");
}

static int reset(void)
{
	return roost_pci_reset(&places, NIC);
}

static void expect_written(const char *all)
{
	char path[PATH_MAX], text[128] = "";
	FILE *f;

	in_top(path, "devices/" NIC "/reset_method");
	f = fopen(path, "r");
	assert_non_null(f);
	assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
	fclose(f);
	assert_string_equal(text, all);
}

/* Nobody else does, and its DMA reaches all memory. */
static void reset__uio(void **state)
{
	bind_to(NIC, "uio_pci_generic");
	offer_reset("flr bus\n");
	assert_int_equal(reset(), 0);
	expect_written("flr bus\n1");
}

/* What the kernel tries first may do nothing; it is put back. */
static void reset__of_the_bus_rather_than_by_power(void **state)
{
	bind_to(NIC, "uio_pci_generic");
	offer_reset("pm bus\n");
	assert_int_equal(reset(), 0);
	expect_written("pm bus\nbus1pm bus");
}

static void reset__by_power_where_the_bus_has_others(void **state)
{
	bind_to(NIC, "uio_pci_generic");
	offer_reset("pm\n");
	assert_int_equal(reset(), 0);
	expect_written("pm\n1");
}

static void reset__an_old_kernel_has_no_methods(void **state)
{
	char path[PATH_MAX], text[2] = "";
	FILE *f;

	bind_to(NIC, "uio_pci_generic");
	file("devices/" NIC "/reset", "");
	assert_int_equal(reset(), 0);
	in_top(path, "devices/" NIC "/reset");
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fread(text, 1, 1, f), 1);
	fclose(f);
	assert_string_equal(text, "1");
}

static void reset__none(void **state)
{
	bind_to(NIC, "uio_pci_generic");
	assert_int_equal(reset(), -ENOENT);
}

static void reset__vfio_sees_to_it_itself(void **state)
{
	use_vfio();
	file("vfio/14", "");
	offer_reset("flr pm bus\n");
	assert_int_equal(reset(), 0);
	expect_written("flr pm bus\n");
}

static void reset__vfio_by_power(void **state)
{
	use_vfio();
	file("vfio/14", "");
	offer_reset("pm bus\n");
	assert_int_equal(reset(), 0);
	expect_written("pm bus\nbus1pm bus");
}

/* Its group cannot be opened. */
static void reset__not_what_somebody_drives(void **state)
{
	use_vfio();
	offer_reset("pm bus\n");
	assert_int_equal(reset(), 0);
	expect_written("pm bus\n");
}

static void reset__not_what_the_kernel_drives(void **state)
{
	bind_to(NIC, "mlx5_core");
	symbolic("devices/" NIC "/iommu_group", "groups/14");
	offer_reset("pm bus\n");
	assert_int_equal(reset(), 0);
	expect_written("pm bus\n");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pci__names_are_addresses_in_full),
		TEST(pci__absent),
		TEST(pci__name_may_be_read_into_itself),
		TEST(pci__nobodys),
		TEST(pci__kernels_with_its_interface),
		TEST(pci__kernels_virtio_is_a_level_deeper),
		TEST(pci__kernels_without_an_interface),
		TEST(pci__vfio_with_an_iommu),
		TEST(pci__vfio_without_its_file),
		TEST(pci__group_with_another_of_the_kernels),
		TEST(pci__group_with_bridges_and_vfio_only),
		TEST(pci__uio_needs_physical_addresses),
		TEST(pci__vfio_without_an_iommu_does_too),
		TEST(pci__legacy_virtio_needs_ports),
		TEST(reset__uio),
		TEST(reset__of_the_bus_rather_than_by_power),
		TEST(reset__by_power_where_the_bus_has_others),
		TEST(reset__an_old_kernel_has_no_methods),
		TEST(reset__none),
		TEST(reset__vfio_sees_to_it_itself),
		TEST(reset__vfio_by_power),
		TEST(reset__not_what_somebody_drives),
		TEST(reset__not_what_the_kernel_drives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
