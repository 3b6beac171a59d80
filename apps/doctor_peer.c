/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Steps of roost doctor: the way to a peer, by the facts of the probe. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/doctor_patient.h"
#include "lib/config/addr.h"

/* A clock that differs by more makes times in two logs hard to compare. */
#define AHEAD_MS 1000

static double us(uint64_t ns)
{
	return (double)ns / 1000;
}

static bool was_passed(const struct roost_probe_facts *facts,
		       enum roost_probe_stage stage)
{
	if (facts->opened || (stage > ROOST_PROBE_ROUTING && facts->routed) ||
	    (stage > ROOST_PROBE_RESOLVING && facts->resolved))
		return false;
	return facts->stage > (uint32_t)stage;
}

/* Has the probe not come to the step, or not come back from it? */
static bool is_unknown(const struct roost_patient *p,
		       enum roost_probe_stage stage, struct roost_finding *f)
{
	if (was_passed(&p->facts, stage))
		return false;
	if (p->facts.stage != (uint32_t)stage) {
		roost_finding_see(f, ROOST_VERDICT_NOT_APPLICABLE,
				  "a step before this one fails");
		return true;
	}
	roost_finding_see(f, ROOST_VERDICT_FAILURE,
			  "the probe did not come back");
	roost_finding_blame(f, ROOST_VERDICT_FAILURE,
			    "it ended or was ended in this step (%s); try "
			    "again, and report it",
			    strerror(-p->probe_ret));
	return true;
}

/* "cause; fix" of what Roost itself said, or else the other text. */
static void blame_line(const struct roost_patient *p, struct roost_finding *f,
		       const char *otherwise)
{
	char line[ROOST_FINDING_MAX];

	roost_finding_blame(f, ROOST_VERDICT_FAILURE, "%s",
			    roost_finding_line(p->lines, line) ? line
							       : otherwise);
}

/* ---- route and neighbour ------------------------------------------------- */

static void look_at_route(const struct roost_patient *p,
			  struct roost_finding *f)
{
	char from[ROOST_PREFIX_STRLEN];

	if (is_unknown(p, ROOST_PROBE_ROUTING, f))
		return;
	if (p->facts.routed == 0) {
		roost_finding_see(f, ROOST_VERDICT_OK, "from %s%s",
				  roost_addr_format(&p->facts.sgid, from),
				  p->facts.is_self ? ", the same port" : "");
		return;
	}
	roost_finding_see(f, ROOST_VERDICT_FAILURE, "none");
	roost_finding_blame(
		f, ROOST_VERDICT_FAILURE,
		"the address is in none of the port's subnets, and there is "
		"no gateway; %s",
		p->kind == ROOST_PATIENT_IFACE
			? "give the interface an address of the peer's subnet, "
			  "or a route to it (\"ip route add\"); or --ip, --gw"
			: "--ip with an address of the peer's subnet, or --gw");
}

static void look_at_neighbour(const struct roost_patient *p,
			      struct roost_finding *f)
{
	const uint8_t *m = p->facts.dmac;

	if (is_unknown(p, ROOST_PROBE_RESOLVING, f))
		return;
	if (p->facts.resolved == 0) {
		roost_finding_see(f, ROOST_VERDICT_OK,
				  "the next hop is "
				  "%02x:%02x:%02x:%02x:%02x:%02x (%.0f us)",
				  m[0], m[1], m[2], m[3], m[4], m[5],
				  us(p->facts.resolved_ns));
		return;
	}
	roost_finding_see(f, ROOST_VERDICT_FAILURE, "no answer to %s",
			  roost_gid_is_v4(p->peer) ? "ARP"
						   : "Neighbour Discovery");
	blame_line(p, f,
		   "no station of this wire answers for the address; is the "
		   "peer up, and in this VLAN and subnet?");
}

/* ---- pings --------------------------------------------------------------- */

static bool is_not_pinged(const struct roost_patient *p,
			  struct roost_finding *f)
{
	if (p->facts.is_self)
		roost_finding_see(f, ROOST_VERDICT_NOT_APPLICABLE,
				  "it is the port's own address");
	else if (p->facts.can_ping == -EOPNOTSUPP)
		roost_finding_see(f, ROOST_VERDICT_NOT_APPLICABLE,
				  "roostd has the port, and its clients send "
				  "RoCE only");
	else
		return false;
	return true;
}

static void look_at_ping(const struct roost_patient *p, struct roost_finding *f)
{
	const struct roost_probe_pings *few = &p->facts.few;

	if (is_unknown(p, ROOST_PROBE_PINGING, f) || is_not_pinged(p, f))
		return;
	if (p->facts.can_ping) {
		roost_finding_see(f, ROOST_VERDICT_FAILURE, "cannot be sent");
		blame_line(p, f, strerror(-p->facts.can_ping));
		return;
	}
	roost_finding_see(f, ROOST_VERDICT_OK,
			  "%u of %u answered, round trip %.0f us at least, "
			  "%.0f us on average",
			  few->answered, few->sent, us(few->rtt_min_ns),
			  us(few->rtt_avg_ns));
	if (few->answered)
		return;
	roost_finding_see(f, ROOST_VERDICT_WARNING, "none of %u answered",
			  few->sent);
	roost_finding_blame(f, ROOST_VERDICT_WARNING,
			    "the peer, or a firewall on the way, drops ICMP "
			    "echo; RoCE may work all the same, but size, loss "
			    "and marking cannot be measured without it");
}

static bool is_not_answered(const struct roost_patient *p,
			    struct roost_finding *f)
{
	if (is_not_pinged(p, f))
		return true;
	if (p->facts.few.answered)
		return false;
	roost_finding_see(f, ROOST_VERDICT_NOT_APPLICABLE,
			  "the peer does not answer pings");
	return true;
}

static void look_at_size(const struct roost_patient *p, struct roost_finding *f)
{
	const struct roost_probe_facts *facts = &p->facts;

	if (is_unknown(p, ROOST_PROBE_PADDING, f) || is_not_answered(p, f))
		return;
	roost_finding_see(f, ROOST_VERDICT_OK,
			  "packets of %u bytes are answered: path MTU %u",
			  facts->answered_ip_bytes, facts->answered_path_bytes);
	if (facts->answered_ip_bytes >= facts->port.ip_mtu_bytes)
		return;
	if (facts->answered_path_bytes == 0)
		roost_finding_blame(
			f, ROOST_VERDICT_FAILURE,
			"the port's MTU is %u, and no packet is answered that "
			"a path MTU of 256 would need; look for a firewall "
			"that drops long pings, or for an MTU on the way or "
			"at the peer that is too small",
			facts->port.ip_mtu_bytes);
	else
		roost_finding_blame(
			f,
			facts->answered_path_bytes < facts->port.path_mtu_bytes
				? ROOST_VERDICT_FAILURE
				: ROOST_VERDICT_WARNING,
			"the port's MTU is %u, and packets of more than %u "
			"bytes are lost on the way or at the peer; set the "
			"same MTU at both ends and on the switches between "
			"them, or ask for path MTU %u (-m %u)",
			facts->port.ip_mtu_bytes, facts->answered_ip_bytes,
			facts->answered_path_bytes, facts->answered_path_bytes);
}

static void look_at_loss(const struct roost_patient *p, struct roost_finding *f)
{
	const struct roost_probe_pings *many = &p->facts.many;
	const unsigned int lost = many->sent - many->answered;

	if (is_unknown(p, ROOST_PROBE_COUNTING, f) || is_not_answered(p, f))
		return;
	roost_finding_see(f, ROOST_VERDICT_OK,
			  "%u of %u lost, %u out of order, %u doubled; round "
			  "trip %.0f to %.0f us",
			  lost, many->sent, many->late, many->duplicates,
			  us(many->rtt_min_ns), us(many->rtt_max_ns));
	if (lost)
		roost_finding_blame(
			f,
			lost * 10 > many->sent ? ROOST_VERDICT_FAILURE
					       : ROOST_VERDICT_WARNING,
			"%u%% of the packets are lost, and each loss makes "
			"RoCE send a window again; look for errors and drops "
			"at both ends and on the switches (\"ethtool -S\", "
			"\"ip -s link\", \"tc -s qdisc\")",
			(lost * 100 + many->sent - 1) / many->sent);
	if (many->late || many->duplicates)
		roost_finding_blame(
			f, ROOST_VERDICT_WARNING,
			"packets of one flow %s, which RoCE takes for losses; "
			"look for links that are bundled packet by packet, "
			"and for loops",
			many->late ? "overtake each other" : "arrive twice");
}

static void look_at_ecn(const struct roost_patient *p, struct roost_finding *f)
{
	const struct roost_probe_pings *many = &p->facts.many;

	if (is_unknown(p, ROOST_PROBE_COUNTING, f) || is_not_answered(p, f))
		return;
	if (many->answered == 0) {
		roost_finding_see(f, ROOST_VERDICT_NOT_APPLICABLE,
				  "no reply came");
		return;
	}
	roost_finding_see(f, ROOST_VERDICT_OK,
			  "%u of %u replies are marked (CE)%s", many->ce,
			  many->answered,
			  many->not_ect == 0 ? ", the others can be" : "");
	if (many->ce)
		roost_finding_blame(
			f, ROOST_VERDICT_WARNING,
			"a switch or queue on the way marks packets: it is "
			"congested now; see \"roost ctl show counters\" "
			"(ecn_marked, cnps) and doc/congestion.md");
	else if (many->not_ect == many->answered)
		roost_finding_blame(
			f, ROOST_VERDICT_WARNING,
			"replies come back without ECN bits: the peer does not "
			"return them, or something on the way clears them; "
			"then no switch can mark, and DCQCN does nothing");
}

/* ---- RoCE ---------------------------------------------------------------- */

static void look_at_roce(const struct roost_patient *p, struct roost_finding *f)
{
	const struct roost_probe_facts *facts = &p->facts;

	if (is_unknown(p, ROOST_PROBE_CONNECTING, f))
		return;
	switch (facts->cm) {
	case ROOST_PROBE_CM_REFUSED:
		roost_finding_see(f, ROOST_VERDICT_OK,
				  "the peer's connection manager answers "
				  "(%.0f us), and refuses as it should "
				  "(reason %d)",
				  us(facts->cm_ns), facts->cm_status);
		if (facts->cm_status != ROOST_PROBE_NOBODY_LISTENS)
			roost_finding_blame(
				f, ROOST_VERDICT_WARNING,
				"it gives reason %d, not 8 (nobody listens): "
				"it may have no resources left; look at the "
				"peer",
				facts->cm_status);
		break;
	case ROOST_PROBE_CM_ACCEPTED:
		roost_finding_see(f, ROOST_VERDICT_OK,
				  "somebody at the peer accepts connections");
		break;
	case ROOST_PROBE_CM_FAILED:
		roost_finding_see(f, ROOST_VERDICT_FAILURE,
				  "the request cannot be sent: %s",
				  strerror(-facts->cm_status));
		blame_line(p, f, "no cause was told");
		break;
	case ROOST_PROBE_CM_SILENT:
		roost_finding_see(f, ROOST_VERDICT_FAILURE,
				  "no answer to a connection request");
		roost_finding_blame(
			f, ROOST_VERDICT_FAILURE,
			"no program that uses rdma_cm runs at the peer, or UDP "
			"port 4791 is closed on the way; start one there "
			"(\"roost run -- rping -s\"), and look at firewalls "
			"and "
			"security groups");
		break;
	}
}

static void look_at_clock(const struct roost_patient *p,
			  struct roost_finding *f)
{
	const int32_t ahead = p->facts.time_ahead_ms;

	if (is_unknown(p, ROOST_PROBE_ASKING_TIME, f) || is_not_pinged(p, f))
		return;
	if (!p->facts.has_time) {
		roost_finding_see(f, ROOST_VERDICT_NOT_APPLICABLE,
				  "the peer does not tell its time (ICMP "
				  "timestamp, IPv4)");
		return;
	}
	roost_finding_see(f, ROOST_VERDICT_OK,
			  "the peer's clock is %d ms %s (to %u ms)", abs(ahead),
			  ahead < 0 ? "behind" : "ahead",
			  p->facts.time_error_ms);
	if (abs(ahead) > AHEAD_MS)
		roost_finding_blame(f, ROOST_VERDICT_WARNING,
				    "the clocks differ, so times in the logs "
				    "of both ends cannot be compared; let both "
				    "follow NTP (chrony, systemd-timesyncd)");
}

const struct roost_doctor_step roost_doctor_peer[] = {
	{ "route", look_at_route }, { "neighbour", look_at_neighbour },
	{ "ping", look_at_ping },   { "path MTU", look_at_size },
	{ "loss", look_at_loss },   { "ECN", look_at_ecn },
	{ "RoCE", look_at_roce },   { "clock", look_at_clock },
};
const size_t roost_doctor_nb_peer =
	sizeof(roost_doctor_peer) / sizeof(roost_doctor_peer[0]);
