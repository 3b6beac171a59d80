/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Steps of roost doctor: the kernel's interface behind a port. */

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apps/doctor_patient.h"
#include "lib/wire/frame.h"
#include "pmd_glue/kernel/claim.h"
#include "pmd_glue/process/rights.h"

/* Fewer received frames than a burst of a fast sender has. */
#define RING_LEAST 512u

static bool is_not_netif(const struct roost_patient *p, struct roost_finding *f)
{
	if (p->kind == ROOST_PATIENT_IFACE && p->has_netif)
		return false;
	roost_finding_see(f, ROOST_VERDICT_NOT_APPLICABLE,
			  p->kind == ROOST_PATIENT_IFACE
				  ? "there is no interface"
				  : "the kernel has no interface of this port");
	return true;
}

/* ---- the interface ------------------------------------------------------- */

struct holders {
	uint16_t vlan_id; /* the port's */
	pid_t pid;
	bool taken;
};

static void take(void *arg, uint16_t vlan_id, pid_t pid)
{
	struct holders *h = arg;

	if (vlan_id != h->vlan_id)
		return;
	h->taken = true;
	h->pid = pid;
}

static void blame_holder(const struct roost_patient *p, struct roost_finding *f)
{
	struct holders h = { .vlan_id = p->conf->vlan_id };

	roost_claim_each(ROOST_CLAIM_PORT, p->netif.ifindex, take, &h);
	if (!h.taken)
		return;
	if (h.pid)
		roost_finding_blame(
			f, ROOST_VERDICT_FAILURE,
			"process %d has it as its port; end that "
			"process, take another interface or --vlan, "
			"or share the port by roostd",
			(int)h.pid);
	else
		roost_finding_blame(f, ROOST_VERDICT_FAILURE,
				    "a process of another container has it as "
				    "its port; end that process, or take "
				    "another interface");
}

void roost_doctor_interface(const struct roost_patient *p,
			    struct roost_finding *f)
{
	const char *refusal;

	if (p->kind != ROOST_PATIENT_IFACE) {
		is_not_netif(p, f);
		return;
	}
	if (!p->has_netif) {
		roost_finding_see(f, ROOST_VERDICT_FAILURE, "%s: not there",
				  p->iface);
		roost_finding_blame(f, ROOST_VERDICT_FAILURE,
				    "no interface of that name in this network "
				    "namespace; \"roost ports\" lists those "
				    "that are there");
		return;
	}
	roost_finding_see(f, ROOST_VERDICT_OK, "%s: %s%s%s, %s", p->iface,
			  p->netif.driver[0] ? p->netif.driver : p->netif.kind,
			  p->netif.pci[0] ? " " : "", p->netif.pci,
			  !p->netif.up       ? "down"
			  : p->netif.running ? "up"
					     : "up, no carrier");
	refusal = roost_netif_refuses(&p->netif);
	if (refusal)
		roost_finding_blame(f, ROOST_VERDICT_FAILURE, "%s", refusal);
	if (!p->netif.up)
		roost_finding_blame(f, ROOST_VERDICT_FAILURE,
				    "the interface is down; \"ip link set %s "
				    "up\"",
				    p->iface);
	else if (!p->netif.running)
		roost_finding_blame(f, ROOST_VERDICT_FAILURE,
				    "the interface has no carrier; look at the "
				    "cable, and at the other end (\"ip link\": "
				    "is it up?)");
	blame_holder(p, f);
}

void roost_doctor_mtu(const struct roost_patient *p, struct roost_finding *f)
{
	const uint32_t wanted = p->conf->mtu_bytes;
	char lacks[ROOST_RIGHTS_MAX];
	uint32_t path_mtu = 0;

	if (is_not_netif(p, f))
		return;
	for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2)
		if (mtu + ROOST_IP_OVERHEAD_MAX <= p->netif.mtu_bytes)
			path_mtu = mtu;
	roost_finding_see(f, ROOST_VERDICT_OK,
			  "%u bytes, which allow path MTU %u%s",
			  p->netif.mtu_bytes, path_mtu,
			  path_mtu < 4096 ? " (4096 needs 4184)" : "");
	if (path_mtu == 0)
		roost_finding_blame(
			f, ROOST_VERDICT_FAILURE,
			"not even the smallest packets of RoCE fit; "
			"\"ip link set %s mtu 1500\"",
			p->iface);
	if (wanted <= p->netif.mtu_bytes)
		return;
	roost_finding_see(f, ROOST_VERDICT_OK,
			  "%u bytes; --mtu raises it to %u while the port is "
			  "open",
			  p->netif.mtu_bytes, wanted);
	if (roost_rights_lack("CAP_NET_ADMIN", lacks))
		roost_finding_blame(f, ROOST_VERDICT_FAILURE,
				    "--mtu %u is above the interface's, and "
				    "this process lacks %s; \"ip link set %s "
				    "mtu %u\" as root",
				    wanted, lacks, p->iface, wanted);
}

/* ---- ethtool ------------------------------------------------------------- */

/* Ask about the interface; data begins with the command. */
static bool ask(const struct roost_patient *p, void *data)
{
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_data = data };
	bool ok;

	if (fd < 0)
		return false;
	memcpy(request.ifr_name, p->iface, sizeof(request.ifr_name));
	ok = ioctl(fd, SIOCETHTOOL, &request) == 0;
	close(fd);
	return ok;
}

void roost_doctor_rings(const struct roost_patient *p, struct roost_finding *f)
{
	struct ethtool_ringparam rings = { .cmd = ETHTOOL_GRINGPARAM };
	uint32_t least;

	if (is_not_netif(p, f))
		return;
	if (!ask(p, &rings) || rings.rx_max_pending == 0) {
		roost_finding_see(f, ROOST_VERDICT_NOT_APPLICABLE,
				  "the interface's driver has none to set");
		return;
	}
	roost_finding_see(f, ROOST_VERDICT_OK,
			  "receive %u of at most %u, send %u of at most %u",
			  rings.rx_pending, rings.rx_max_pending,
			  rings.tx_pending, rings.tx_max_pending);
	least = rings.rx_max_pending < RING_LEAST ? rings.rx_max_pending
						  : RING_LEAST;
	if (rings.rx_pending < least)
		roost_finding_blame(f, ROOST_VERDICT_WARNING,
				    "the receive ring is short, and bursts are "
				    "lost; \"ethtool -G %s rx %u\"",
				    p->iface, rings.rx_max_pending);
}

struct feature {
	const char *name;   /* the kernel's */
	const char *option; /* of ethtool -K */
};

/* Those that put several packets into one before Roost sees them. */
static const struct feature merging[] = {
	{ "rx-lro", "lro" },
	{ "rx-gro-list", "rx-gro-list" },
	{ "rx-udp-gro-forwarding", "rx-udp-gro-forwarding" },
};

/* The names of all features, each ETH_GSTRING_LEN long. The caller frees it.
 */
static struct ethtool_gstrings *read_names(const struct roost_patient *p)
{
	/* The answer is one word behind the struct. */
	union {
		struct ethtool_sset_info hdr;
		uint32_t words[sizeof(struct ethtool_sset_info) / 4 + 1];
	} info = { .hdr = { .cmd = ETHTOOL_GSSET_INFO,
			    .sset_mask = 1ull << ETH_SS_FEATURES } };
	uint32_t nb;
	struct ethtool_gstrings *names;

	if (!ask(p, &info) || info.hdr.sset_mask == 0)
		return NULL;
	nb = info.words[sizeof(info.hdr) / 4];
	if (nb > 1024)
		return NULL;
	names = calloc(1, sizeof(*names) + nb * ETH_GSTRING_LEN);
	if (!names)
		return NULL;
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_FEATURES;
	names->len = nb;
	if (ask(p, names) && names->len <= nb)
		return names;
	free(names);
	return NULL;
}

/* The caller frees it. */
static struct ethtool_gfeatures *read_features(const struct roost_patient *p,
					       uint32_t nb)
{
	const uint32_t blocks = (nb + 31) / 32;
	struct ethtool_gfeatures *features =
		calloc(1, sizeof(*features) +
				  blocks * sizeof(features->features[0]));

	if (!features)
		return NULL;
	features->cmd = ETHTOOL_GFEATURES;
	features->size = blocks;
	if (ask(p, features) && features->size <= blocks)
		return features;
	free(features);
	return NULL;
}

static const struct feature *find_merging(const struct ethtool_gstrings *names,
					  const struct ethtool_gfeatures *on,
					  uint32_t at)
{
	const char *name = (const char *)names->data + at * ETH_GSTRING_LEN;

	if (at / 32 >= on->size ||
	    !(on->features[at / 32].active & 1u << at % 32))
		return NULL;
	for (size_t i = 0; i < sizeof(merging) / sizeof(merging[0]); i++)
		if (strncmp(name, merging[i].name, ETH_GSTRING_LEN) == 0)
			return &merging[i];
	return NULL;
}

void roost_doctor_offloads(const struct roost_patient *p,
			   struct roost_finding *f)
{
	struct ethtool_gstrings *names;
	struct ethtool_gfeatures *on;
	const struct feature *found;

	if (is_not_netif(p, f))
		return;
	names = read_names(p);
	on = names ? read_features(p, names->len) : NULL;
	if (on)
		roost_finding_see(f, ROOST_VERDICT_OK,
				  "none that merges received packets");
	else
		roost_finding_see(f, ROOST_VERDICT_NOT_APPLICABLE,
				  "the kernel does not tell");
	for (uint32_t at = 0; on && at < names->len; at++) {
		found = find_merging(names, on, at);
		if (!found)
			continue;
		roost_finding_see(f, ROOST_VERDICT_WARNING, "%s is on",
				  found->name);
		roost_finding_blame(f, ROOST_VERDICT_WARNING,
				    "received packets may be merged before "
				    "Roost gets them, and then they are "
				    "dropped; \"ethtool -K %s %s off\"",
				    p->iface, found->option);
	}
	free(on);
	free(names);
}
