/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "apps/setup.h"
#include "tests/cmocka.h"
#include "tests/unit/apps/temp_dir.h"

#define NIC "0000:03:00.0"
#define DEVICE "sys/bus/pci/devices/" NIC
#define PAGES                                                                  \
	"sys/devices/system/node/node1/hugepages/hugepages-2048kB/"            \
	"nr_hugepages"
#define CONF (&ROOST_CONF_FILE[1])
#define SECTION(port)                                                          \
	"# By roost setup\n[port" port "]\ndevargs = " NIC                     \
	"\n# ip = ADDRESS/LENGTH: without it, it has link-local ones\n"
#define UNIT "lib/systemd/system/roostd.service"
#define DROP_IN "etc/systemd/system/roostd.service.d/50-roost-setup.conf"
#define WANTS "etc/systemd/system/multi-user.target.wants/roostd.service"
#define BOOT "etc/tmpfiles.d/roost-" NIC ".conf"

/* ---- a machine, and a kernel that obeys ---------------------------------- */

static struct roost_setup setup;
static const char *deaf; /* what the kernel refuses to write; NULL: nothing */

static const char *in(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", temp_dir, name);
	return path;
}

static void file(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	temp_dir_touch(name, 0644, path);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void bind_to(const char *driver)
{
	char target[PATH_MAX];

	unlink(in(DEVICE "/driver"));
	if (!driver)
		return;
	snprintf(target, sizeof(target), "%s/sys/bus/pci/drivers/%s", temp_dir,
		 driver);
	assert_int_equal(symlink(target, in(DEVICE "/driver")), 0);
}

static void expect(const char *name, const char *text)
{
	char found[ROOST_SETUP_TEXT_MAX] = "";
	FILE *f = fopen(in(name), "r");

	if (f) {
		found[fread(found, 1, sizeof(found) - 1, f)] = '\0';
		fclose(f);
	}
	assert_string_equal(found, text);
}

static void expect_driver(const char *driver)
{
	char target[PATH_MAX] = "";

	assert_true(readlink(in(DEVICE "/driver"), target, sizeof(target) - 1) >
		    0);
	assert_string_equal(strrchr(target, '/') + 1, driver);
}

static int put(const char *path, const char *text)
{
	static char override[64];
	FILE *f;

	if (deaf && strstr(path, deaf))
		return -EIO;
	if (strstr(path, "driver_override"))
		snprintf(override, sizeof(override), "%s",
			 strcmp(text, "\n") == 0 ? "ice" : text);
	if (strstr(path, "/unbind"))
		bind_to(NULL);
	else if (strstr(path, "/drivers_probe"))
		bind_to(override);
	else {
		f = fopen(path, "w");
		assert_non_null(f);
		fputs(text, f);
		fclose(f);
	}
	return 0;
}

/* A NIC of the kernel's, whose interface is down. */
static int set_up(void **state)
{
	assert_int_equal(temp_dir_make(state), 0);
	file(DEVICE "/class", "0x020000\n");
	file(DEVICE "/numa_node", "1\n");
	file(DEVICE "/driver_override", "(null)\n");
	file(DEVICE "/iommu_group/type", "DMA\n");
	file(DEVICE "/net/ens1/mtu", "");
	file("sys/class/net/ens1/flags", "0x1002\n");
	file("sys/bus/pci/drivers/vfio-pci/new_id", "");
	file("var/lib/x", "");
	file("etc/udev/x", "");
	file(PAGES, "8\n");
	bind_to("ice");
	setup = (struct roost_setup){
		.root = temp_dir, .put = put, .nic = NIC, .nb_pages = 256
	};
	deaf = NULL;
	return 0;
}

static const char *plan(bool undo, unsigned int *nb_refused)
{
	static char text[4096];
	struct roost_setup_record r;
	FILE *out = fmemopen(text, sizeof(text), "w");

	assert_int_equal(roost_setup_record_open(&r, &setup, false), 0);
	*nb_refused = roost_setup_plan(&setup, &r, undo, out);
	roost_setup_record_close(&r);
	fclose(out);
	return text;
}

static int act(int (*what)(const struct roost_setup *,
			   struct roost_setup_record *, char *),
	       char *err)
{
	struct roost_setup_record r;
	int ret;

	err[0] = '\0';
	assert_int_equal(roost_setup_record_open(&r, &setup, true), 0);
	ret = what(&setup, &r, err);
	roost_setup_record_close(&r);
	return ret;
}

static void expect_as_before(void)
{
	expect(PAGES, "8");
	expect(BOOT, "");
	expect(CONF, "");
	expect_driver("ice");
	assert_int_equal(access(in("etc/udev/rules.d/60-roost-" NIC ".rules"),
				F_OK),
			 -1);
	assert_int_equal(access(in("var/lib/roost-setup/" NIC ".json"), F_OK),
			 -1);
}

/* ---- tests --------------------------------------------------------------- */

static void setup__does_and_undoes(void **state)
{
	char err[ROOST_SETUP_TEXT_MAX];
	unsigned int nb;

	assert_non_null(strstr(plan(false, &nb), "ice -> vfio-pci"));
	assert_int_equal(nb, 0);
	expect(PAGES, "8\n");
	assert_int_equal(act(roost_setup_apply, err), 0);
	expect(PAGES, "256");
	expect(BOOT, "# By roost setup\nw /" PAGES " - - - - 256\n");
	expect_driver("vfio-pci");
	expect(CONF, SECTION("0"));
	assert_null(strstr(plan(false, &nb), "->"));
	assert_int_equal(act(roost_setup_apply, err), 0);
	assert_non_null(strstr(plan(true, &nb), "vfio-pci -> ice"));
	assert_int_equal(act(roost_setup_undo, err), 0);
	expect_as_before();
	assert_int_equal(act(roost_setup_undo, err), 0);
}

static void setup__each_stop_on_the_way_is_undone(void **state)
{
	static const char *const stops[] = { "nr_hugepages", "driver_override",
					     "unbind", "drivers_probe" };
	char err[ROOST_SETUP_TEXT_MAX];

	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
		deaf = stops[i];
		assert_int_equal(act(roost_setup_apply, err), -EIO);
		assert_non_null(strchr(err, ';'));
		deaf = NULL;
		assert_int_equal(act(roost_setup_undo, err), 0);
		if (i == 0)
			file(PAGES, "8");
		expect_as_before();
	}
}

static void setup__a_file_of_a_person_stays(void **state)
{
	char err[ROOST_SETUP_TEXT_MAX];

	file(BOOT, "mine\n");
	assert_int_equal(act(roost_setup_apply, err), -EEXIST);
	expect(BOOT, "mine\n");
	assert_int_equal(act(roost_setup_undo, err), 0);
	expect(BOOT, "mine\n");
	expect(PAGES, "8\n");
}

static void setup__what_may_not_be_is_refused(void **state)
{
	unsigned int nb;

	file("sys/class/net/ens1/flags", "0x1003\n");
	assert_non_null(strstr(plan(false, &nb), "ip link set ens1 down"));
	assert_int_equal(nb, 1);
	setup.force = true;
	plan(false, &nb);
	assert_int_equal(nb, 0);
	file(DEVICE "/driver_override", "other\n");
	assert_non_null(strstr(plan(false, &nb), "reserved it"));
	file(DEVICE "/driver_override", "(null)\n");
	unlink(in("sys/bus/pci/drivers/vfio-pci/new_id"));
	rmdir(in("sys/bus/pci/drivers/vfio-pci"));
	assert_non_null(strstr(plan(false, &nb), "modprobe vfio-pci"));
	unlink(in(DEVICE "/iommu_group/type"));
	rmdir(in(DEVICE "/iommu_group"));
	assert_non_null(strstr(plan(false, &nb), "intel_iommu=on"));
	bind_to("mlx5_core");
	assert_null(strstr(plan(false, &nb), "vfio"));
	assert_int_equal(nb, 0);
}

static void neighbour(const char *name, const char *driver)
{
	char path[256], target[256];

	snprintf(path, sizeof(path), DEVICE "/iommu_group/devices/%s", name);
	file(path, "");
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/class", name);
	file(path, "");
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s/driver", name);
	snprintf(target, sizeof(target), "/nowhere/%s", driver);
	assert_int_equal(symlink(target, in(path)), 0);
}

static void setup__a_group_is_given_whole(void **state)
{
	const char *text;
	unsigned int nb;

	setup.force = true;
	neighbour("0000:00:01.0", "pcieport");
	neighbour("0000:03:00.2", "vfio-pci");
	plan(false, &nb);
	assert_int_equal(nb, 0);
	neighbour("0000:03:00.1", "ice");
	neighbour("0000:04:00.0", "nvme");
	text = plan(false, &nb);
	assert_int_equal(nb, 1);
	assert_non_null(strstr(text, "0000:03:00.1 (driver ice)"));
	assert_non_null(strstr(text, "0000:04:00.0 (driver nvme)"));
	assert_null(strstr(text, "00:01.0"));
	assert_null(strstr(text, "03:00.2"));
}

static void setup__a_persons_configuration_stays(void **state)
{
	static const char mine[] = "[policy x]\nusers = root\n[port0]\n"
				   "devargs = eth1 # mine";
	char err[ROOST_SETUP_TEXT_MAX];

	file(CONF, mine);
	assert_int_equal(chmod(in(CONF), 0640), 0);
	assert_int_equal(act(roost_setup_apply, err), 0);
	expect(CONF, "[policy x]\nusers = root\n[port0]\n"
		     "devargs = eth1 # mine\n" SECTION("1"));
	assert_int_equal(act(roost_setup_undo, err), 0);
	expect(CONF, "[policy x]\nusers = root\n[port0]\n"
		     "devargs = eth1 # mine\n");
	/* A section that a person goes on writing is the person's. */
	assert_int_equal(act(roost_setup_apply, err), 0);
	file(CONF, "[port0]\ndevargs = " NIC "\nip = 192.0.2.1/24\n");
	assert_int_equal(act(roost_setup_apply, err), 0);
	assert_int_equal(act(roost_setup_undo, err), 0);
	expect(CONF, "[port0]\ndevargs = " NIC "\nip = 192.0.2.1/24\n");
	expect_driver("ice");
}

static void setup__a_gap_of_ports_is_not_made(void **state)
{
	char err[ROOST_SETUP_TEXT_MAX];

	assert_int_equal(act(roost_setup_apply, err), 0);
	file(CONF, SECTION("0") "[port1]\ndevargs = eth1\n");
	assert_int_equal(act(roost_setup_undo, err), -EUCLEAN);
	assert_non_null(strstr(err, "roost.conf(5)"));
	expect(CONF, SECTION("0") "[port1]\ndevargs = eth1\n");
	file(CONF, "[port0]\ndevargs = eth1\n");
	assert_int_equal(act(roost_setup_undo, err), 0);
	expect(CONF, "[port0]\ndevargs = eth1\n");
}

static void setup__a_file_that_roost_does_not_read(void **state)
{
	unsigned int nb;

	file(CONF, "[port0]\nno = 1\n");
	plan(false, &nb);
	assert_int_equal(nb, 1);
	file(CONF, "[port0]\ndevargs = net_af_packet0,iface=ens1\n");
	assert_non_null(strstr(plan(false, &nb), "a port on its interface"));
	assert_int_equal(nb, 1);
	unlink(in(CONF));
	assert_int_equal(symlink("/dev/null", in(CONF)), 0);
	plan(false, &nb);
	assert_int_equal(nb, 1);
}

static void setup__the_service(void **state)
{
	char err[ROOST_SETUP_TEXT_MAX], link[64] = "";
	unsigned int nb;

	file(UNIT, "[Service]\nUser=roost\n");
	assert_non_null(strstr(plan(false, &nb), "systemd does not run here"));
	assert_int_equal(act(roost_setup_apply, err), 0);
	expect(DROP_IN, "");
	file("run/systemd/system/x", "");
	assert_int_equal(act(roost_setup_apply, err), 0);
	expect(DROP_IN, "# By roost setup\n[Service]\nLimitMEMLOCK=infinity\n");
	assert_int_equal(readlink(in(WANTS), link, sizeof(link) - 1),
			 sizeof(UNIT));
	assert_string_equal(link, "/" UNIT);
	assert_null(strstr(plan(false, &nb), "->"));
	assert_int_equal(act(roost_setup_undo, err), 0);
	expect(DROP_IN, "");
	assert_int_equal(readlink(in(WANTS), link, sizeof(link) - 1), -1);
	expect_as_before();
	/* Its own limit is enough; and a masked one stays as it is. */
	file(UNIT, "[Service]\nLimitMEMLOCK=infinity\n");
	assert_null(strstr(plan(false, &nb), "50-roost-setup"));
	assert_non_null(strstr(plan(false, &nb), "-> /" UNIT));
	file("etc/systemd/system/x", "");
	assert_int_equal(symlink("/dev/null",
				 in("etc/systemd/system/roostd.service")),
			 0);
	assert_non_null(strstr(plan(false, &nb), "masked"));
}

static void setup__a_nic_has_two_names(void **state)
{
	char why[ROOST_SETUP_TEXT_MAX];

	char target[PATH_MAX];

	snprintf(target, sizeof(target), "%s", in(DEVICE));
	assert_int_equal(symlink(target, in("sys/class/net/ens1/device")), 0);
	setup.nic[0] = '\0';
	assert_int_equal(roost_setup_find(&setup, "ens1", why), 0);
	assert_string_equal(setup.nic, NIC);
	assert_int_equal(roost_setup_find(&setup, "03:00.0", why), 0);
	assert_string_equal(setup.nic, NIC);
	assert_int_equal(roost_setup_find(&setup, "../x", why), -ENODEV);
	assert_int_equal(roost_setup_find(&setup, "ens9", why), -ENODEV);
	assert_non_null(strstr(why, "ens9: no PCI device"));
	file("sys/class/net/veth9/mtu", "1500\n");
	assert_int_equal(roost_setup_find(&setup, "veth9", why), -ENODEV);
	assert_non_null(strstr(why, "veth9 is no interface of a PCI device"));
	file(DEVICE "/class", "0x010802\n");
	assert_int_equal(roost_setup_find(&setup, NIC, why), -ENODEV);
	assert_non_null(strstr(why, "no network device"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(setup__does_and_undoes, set_up,
						temp_dir_remove),
		cmocka_unit_test_setup_teardown(
			setup__each_stop_on_the_way_is_undone, set_up,
			temp_dir_remove),
		cmocka_unit_test_setup_teardown(setup__a_file_of_a_person_stays,
						set_up, temp_dir_remove),
		cmocka_unit_test_setup_teardown(
			setup__what_may_not_be_is_refused, set_up,
			temp_dir_remove),
		cmocka_unit_test_setup_teardown(setup__a_group_is_given_whole,
						set_up, temp_dir_remove),
		cmocka_unit_test_setup_teardown(
			setup__a_persons_configuration_stays, set_up,
			temp_dir_remove),
		cmocka_unit_test_setup_teardown(
			setup__a_gap_of_ports_is_not_made, set_up,
			temp_dir_remove),
		cmocka_unit_test_setup_teardown(
			setup__a_file_that_roost_does_not_read, set_up,
			temp_dir_remove),
		cmocka_unit_test_setup_teardown(setup__the_service, set_up,
						temp_dir_remove),
		cmocka_unit_test_setup_teardown(setup__a_nic_has_two_names,
						set_up, temp_dir_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
