/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Steps of roost doctor: a port that was opened. */

#include <errno.h>
#include <string.h>

#include "apps/doctor_patient.h"
#include "lib/config/addr.h"

static bool is_not_open(const struct roost_patient *p, struct roost_finding *f)
{
	if (p->facts.stage > ROOST_PROBE_OPENING && p->facts.opened == 0)
		return false;
	roost_finding_see(f, ROOST_VERDICT_NOT_APPLICABLE,
			  "the device did not open");
	return true;
}

static void look_at_open(const struct roost_patient *p, struct roost_finding *f)
{
	char line[ROOST_FINDING_MAX];
	const char *cause;

	if (p->facts.stage > ROOST_PROBE_OPENING && p->facts.opened == 0) {
		roost_finding_see(f, ROOST_VERDICT_OK, "it opens");
		return;
	}
	if (p->facts.stage == ROOST_PROBE_OPENING) {
		roost_finding_see(f, ROOST_VERDICT_FAILURE,
				  p->probe_ret == -ETIMEDOUT
					  ? "it does not open in time"
					  : "the process that opens it fails");
		roost_finding_blame(f, ROOST_VERDICT_FAILURE,
				    "%s; \"roost run -v ... -- ibv_devinfo\" "
				    "shows DPDK's log",
				    strerror(-p->probe_ret));
		return;
	}
	roost_finding_see(f, ROOST_VERDICT_FAILURE, "it does not open: %s",
			  strerror(-p->facts.opened));
	if (!roost_finding_line(p->lines, line)) {
		roost_finding_blame(f, ROOST_VERDICT_FAILURE,
				    "no cause was told; \"roost run -v ... -- "
				    "ibv_devinfo\" shows DPDK's log");
		return;
	}
	/* "LABEL: CAUSE; FIX": the place is known. */
	cause = line;
	if (strncmp(line, p->label, strlen(p->label)) == 0 &&
	    line[strlen(p->label)] == ':')
		cause += strlen(p->label) + strlen(": ");
	roost_finding_blame(f, ROOST_VERDICT_FAILURE, "%s", cause);
}

static void look_at_link(const struct roost_patient *p, struct roost_finding *f)
{
	if (is_not_open(p, f))
		return;
	roost_finding_see(f, ROOST_VERDICT_OK, "%s, MTU %u, path MTU up to %u",
			  p->facts.port.active ? "active" : "down",
			  p->facts.port.ip_mtu_bytes,
			  p->facts.port.path_mtu_bytes);
	if (!p->facts.port.active)
		roost_finding_blame(f, ROOST_VERDICT_FAILURE,
				    "the port has no link; look at the cable, "
				    "the switch, and the other end");
	else if (!p->facts.port.carrier && p->kind == ROOST_PATIENT_LINK)
		roost_finding_blame(f, ROOST_VERDICT_WARNING,
				    "nobody has the other end of this link; "
				    "start the other program with the same "
				    "--link, as this user and in this network "
				    "namespace");
}

static bool is_link_local(const struct roost_gid *gid)
{
	return gid->b[0] == 0xfe && (gid->b[1] & 0xc0) == 0x80;
}

static void look_at_addresses(const struct roost_patient *p,
			      struct roost_finding *f)
{
	char text[ROOST_FINDING_MAX] = "", one[ROOST_PREFIX_STRLEN];
	unsigned int nb = 0;

	if (is_not_open(p, f))
		return;
	for (unsigned int i = 0; i < p->facts.port.nb_addrs; i++) {
		const struct roost_gid *gid = &p->facts.port.addrs[i];
		const size_t len = strlen(text);

		snprintf(text + len, sizeof(text) - len, "%s%s",
			 len ? ", " : "", roost_addr_format(gid, one));
		nb += !is_link_local(gid);
	}
	roost_finding_see(f, ROOST_VERDICT_OK, "%s", text);
	if (nb != 0)
		return;
	if (p->kind == ROOST_PATIENT_IFACE)
		roost_finding_blame(f, ROOST_VERDICT_FAILURE,
				    "the port has no address but a link-local "
				    "one; \"ip address add ADDRESS/LENGTH dev "
				    "%s\", or --ip ADDRESS/LENGTH",
				    p->iface);
	else
		roost_finding_blame(f, ROOST_VERDICT_FAILURE,
				    "the port has no address but a link-local "
				    "one; --ip ADDRESS/LENGTH behind the port");
}

const struct roost_doctor_step roost_doctor_open[] = {
	{ "device", look_at_open },
	{ "link", look_at_link },
	{ "addresses", look_at_addresses },
};
const size_t roost_doctor_nb_open =
	sizeof(roost_doctor_open) / sizeof(roost_doctor_open[0]);
