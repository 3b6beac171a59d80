/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/ports.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "apps/exit_code.h"
#include "lib/config/nearest.h"
#include "pmd_glue/kernel/claim.h"
#include "pmd_glue/port/driver.h"
#include "pmd_glue/port/hugepages.h"
#include "pmd_glue/kernel/netif.h"
#include "pmd_glue/process/open_file.h"
#include "pmd_glue/kernel/pci.h"
#include "pmd_glue/process/rights.h"
#include "pmd_glue/process/sysfs.h"

static const char usage[] =
	"Usage: roost ports [-j]\n"
	"\n"
	"What can be a port here: the kernel's interfaces of this network\n"
	"namespace and the PCI network devices of the machine. For each: what "
	"it\n"
	"is, the option that names it, what is missing for that, and which "
	"process\n"
	"has it now.\n"
	"\n"
	"  -j, --json                  the same as JSON\n"
	"  -h, --help                  this text\n";

int roost_ports_help(void)
{
	fputs(usage, stdout);
	return ROOST_EXIT_OK;
}

/* ---- one row ---------------------------------------------------------------
 */

/* {"name", "what", "port", "needs": [], "taken": [{"pid", "vlan"}]} */
static struct json_object *row_new(const char *name, const char *kind)
{
	struct json_object *row = json_object_new_object();

	json_object_object_add(row, "name", json_object_new_string(name));
	json_object_object_add(row, "kind", json_object_new_string(kind));
	json_object_object_add(row, "port", json_object_new_string(name));
	json_object_object_add(row, "needs", json_object_new_array());
	json_object_object_add(row, "taken", json_object_new_array());
	return row;
}

static void set_text(struct json_object *row, const char *key, const char *text)
{
	if (text[0])
		json_object_object_add(row, key, json_object_new_string(text));
}

static void need(struct json_object *row, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void need(struct json_object *row, const char *format, ...)
{
	char text[ROOST_PCI_WHY_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	json_object_array_add(json_object_object_get(row, "needs"),
			      json_object_new_string(text));
}

/* Add a process that has the interface. pid 0: of another container, or not
 * visible.
 */
static void take(void *arg, uint16_t vlan_id, pid_t pid)
{
	struct json_object *row = arg, *one = json_object_new_object();

	json_object_object_add(one, "pid", json_object_new_int(pid));
	json_object_object_add(one, "vlan", json_object_new_int(vlan_id));
	json_object_array_add(json_object_object_get(row, "taken"), one);
}

/* ---- interfaces ------------------------------------------------------------
 */

static void need_caps(struct json_object *row)
{
	char lacks[ROOST_RIGHTS_MAX];

	if (roost_rights_lack(roost_driver_find("net_af_packet")->rights,
			      lacks))
		need(row, "%s; run as root", lacks);
	if (roost_rights_lack(roost_driver_find("net_af_xdp")->rights, lacks))
		need(row, "%s for net_af_xdp; without, it is net_af_packet",
		     lacks);
}

static struct json_object *netif_row(const struct roost_netif *n)
{
	struct json_object *row = row_new(n->name, "interface");
	struct roost_rdma_device rdma;

	set_text(row, "driver", n->driver[0] ? n->driver : n->kind);
	set_text(row, "pci", n->pci);
	if (roost_rdma_of_netif(ROOST_RDMA_PLACE, n->name, &rdma))
		set_text(row, "rdma", rdma.name);
	json_object_object_add(row, "mtu_bytes",
			       json_object_new_int((int)n->mtu_bytes));
	json_object_object_add(row, "up", json_object_new_boolean(n->up));
	if (!n->up)
		need(row, "to be up: \"ip link set %s up\"", n->name);
	need_caps(row);
	roost_claim_each(ROOST_CLAIM_PORT, n->ifindex, take, row);
	if (n->xdp_id != 0 &&
	    json_object_array_length(json_object_object_get(row, "taken")) == 0)
		need(row,
		     "another program's XDP program (%u) off it for "
		     "net_af_xdp; with it, it is net_af_packet",
		     n->xdp_id);
	return row;
}

static int add_netifs(struct json_object *rows)
{
	struct roost_netif *all;
	unsigned int nb;
	int ret = roost_netif_list(&all, &nb);

	if (ret)
		return ret;
	for (unsigned int i = 0; i < nb; i++)
		if (!roost_netif_refuses(&all[i]))
			json_object_array_add(rows, netif_row(&all[i]));
	free(all);
	return 0;
}

/* ---- PCI devices -----------------------------------------------------------
 */

/* Is its PCI class that of a network controller? */
static bool is_nic(const char *name)
{
	char text[16];

	roost_sysfs_word(roost_pci_places.devices, name, "class", text,
			 sizeof(text));
	return strncmp(text, "0x02", 4) == 0;
}

/* Find the process that has the device's group open; 0: none is visible. */
static pid_t find_holder(int group)
{
	struct dirent *entry;
	char file[PATH_MAX];
	pid_t pid = 0;
	DIR *dir;

	snprintf(file, sizeof(file), "%s/%d", roost_pci_places.vfio, group);
	dir = opendir("/proc");
	while (dir && pid == 0 && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    roost_open_file_is_of(entry->d_name, file))
			pid = (pid_t)atoi(entry->d_name);
	if (dir)
		closedir(dir);
	return pid;
}

static struct json_object *pci_row(const char *name, unsigned long huge_mb)
{
	struct json_object *row = row_new(name, "pci");
	char why[ROOST_PCI_WHY_MAX];
	struct roost_pci_device d;

	roost_pci_read(&roost_pci_places, name, &d);
	set_text(row, "driver", d.driver);
	set_text(row, "interface", d.iface);
	if (d.group >= 0)
		json_object_object_add(row, "iommu_group",
				       json_object_new_int(d.group));
	json_object_object_add(row, "free_huge_pages_mb",
			       json_object_new_int((int)huge_mb));
	if (d.group >= 0 && d.open_errno == EBUSY)
		take(row, 0, find_holder(d.group));
	else if (roost_pci_refuses(&d, geteuid() == 0 && huge_mb != 0, why))
		need(row, "%s", why);
	return row;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_pci(struct json_object *rows)
{
	const unsigned long huge_mb = roost_hugepages_free_mb(ROOST_HUGEPAGES);
	struct dirent **entries = NULL;
	int nb = scandir(roost_pci_places.devices, &entries, NULL, by_name);

	for (int i = 0; i < nb; i++) {
		if (is_nic(entries[i]->d_name))
			json_object_array_add(rows, pci_row(entries[i]->d_name,
							    huge_mb));
		free(entries[i]);
	}
	free(entries);
}

/* ---- output ----------------------------------------------------------------
 */

static const char *text_of(struct json_object *row, const char *key)
{
	struct json_object *value = json_object_object_get(row, key);

	return value ? json_object_get_string(value) : "";
}

static void print_what(struct json_object *row)
{
	static const char *const more[] = { "driver", "pci", "rdma",
					    "interface" };
	struct json_object *value;

	printf("%s: %s", text_of(row, "name"),
	       strcmp(text_of(row, "kind"), "pci") == 0 ? "PCI device"
							: "interface");
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (*text_of(row, more[i]))
			printf(", %s %s", more[i], text_of(row, more[i]));
	value = json_object_object_get(row, "mtu_bytes");
	if (value)
		printf(", MTU %d", json_object_get_int(value));
	value = json_object_object_get(row, "free_huge_pages_mb");
	if (value)
		printf(", %d MB of huge pages free",
		       json_object_get_int(value));
	putchar('\n');
}

static void print_taken(struct json_object *one)
{
	const int vlan =
		json_object_get_int(json_object_object_get(one, "vlan"));
	const int pid = json_object_get_int(json_object_object_get(one, "pid"));

	fputs("    taken by ", stdout);
	if (pid != 0)
		printf("process %d", pid);
	else
		fputs("a process of another user or container", stdout);
	if (vlan != 0)
		printf(" on VLAN %d", vlan);
	putchar('\n');
}

static void print_row(struct json_object *row)
{
	struct json_object *list;

	print_what(row);
	printf("    --port %s\n", text_of(row, "port"));
	list = json_object_object_get(row, "needs");
	for (size_t i = 0; i < json_object_array_length(list); i++)
		printf("    needs: %s\n",
		       json_object_get_string(
			       json_object_array_get_idx(list, i)));
	list = json_object_object_get(row, "taken");
	for (size_t i = 0; i < json_object_array_length(list); i++)
		print_taken(json_object_array_get_idx(list, i));
}

static void print_rows(struct json_object *rows)
{
	const size_t nb = json_object_array_length(rows);

	for (size_t i = 0; i < nb; i++)
		print_row(json_object_array_get_idx(rows, i));
	if (nb == 0)
		puts("No interface and no PCI device here can be a port.");
	puts("Two processes of one user need none: --link NAME in each.");
}

int roost_ports(char **argv)
{
	static const char *const known[] = { "--json", "--help" };
	char advice[ROOST_NAME_ADVICE_MAX];
	struct json_object *rows;
	bool json = false;
	int ret;

	for (; *argv; argv++) {
		if (strcmp(*argv, "--help") == 0 || strcmp(*argv, "-h") == 0)
			return roost_ports_help();
		json = strcmp(*argv, "--json") == 0 || strcmp(*argv, "-j") == 0;
		if (json)
			continue;
		fprintf(stderr, "roost: ports %.80s: unknown %s; %s\n", *argv,
			**argv == '-' ? "option" : "argument",
			roost_name_advise(advice, *argv, known, 2, "*",
					  "see roost help ports"));
		return ROOST_EXIT_USAGE;
	}
	rows = json_object_new_array();
	ret = add_netifs(rows);
	add_pci(rows);
	if (ret)
		fprintf(stderr,
			"roost: ports: the kernel's interfaces: %s; see \"ip "
			"link\"\n",
			strerror(-ret));
	if (json)
		puts(json_object_to_json_string_ext(rows,
						    JSON_C_TO_STRING_PRETTY));
	else
		print_rows(rows);
	json_object_put(rows);
	return ret ? ROOST_EXIT_FAILED : ROOST_EXIT_OK;
}
