/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/host/unreached.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "lib/config/addr.h"

#define S 1000000000ull

#define TOLD_MAX 256u
#define TOLD_NS (600 * S)
#define IN_A_ROW 8u
#define MORE_NS (10 * S)

/* Addresses listed in a line. */
#define ADDRS_SHOWN 4u
#define NAME_SIZE 96u
#define ADDRS_SIZE 288u
#define FULL_SIZE (NAME_SIZE + ADDRS_SIZE + 4u)

/* ---- words --------------------------------------------------------------- */

static const char *family_of(const struct roost_gid *gid)
{
	return roost_gid_is_v4(gid) ? "IPv4" : "IPv6";
}

/* "port0" of "port0 (DEVARGS) VLAN 7". */
static void name_of(const struct roost_unreached_port *port,
		    char name[NAME_SIZE])
{
	const char *paren = strstr(port->label, " (");
	const char *vlan = strstr(port->label, " VLAN ");

	if (paren)
		snprintf(name, NAME_SIZE, "%.*s%.12s",
			 (int)(paren - port->label), port->label,
			 vlan ? vlan : "");
	else
		snprintf(name, NAME_SIZE, "%.95s", port->label);
}

/* List the port's addresses of the family of gid: "10.0.0.1/24, 10.1.0.1/24".
 * Returns their number, without the link-local address of the MAC.
 */
static unsigned int list(const struct roost_unreached_port *port,
			 const struct roost_gid *gid, char text[ADDRS_SIZE])
{
	const struct roost_prefixes *own = &port->routes.on_link;
	char one[ROOST_PREFIX_STRLEN];
	unsigned int nb = 0;
	size_t len = 0;

	text[0] = '\0';
	for (unsigned int i = 0; i < own->nb; i++) {
		if (roost_gid_is_v4(&own->v[i].gid) != roost_gid_is_v4(gid))
			continue;
		if (nb < ADDRS_SHOWN)
			len += (size_t)snprintf(text + len, ADDRS_SIZE - len,
						"%s%s", nb ? ", " : "",
						roost_prefix_format(&own->v[i],
								    one));
		nb++;
	}
	if (nb > ADDRS_SHOWN)
		snprintf(text + len, ADDRS_SIZE - len, ", and %u more",
			 nb - ADDRS_SHOWN);
	return nb;
}

/* "port0 (10.0.0.1/24)" */
static void name_with_addrs(const struct roost_unreached_port *port,
			    const struct roost_gid *gid, char *text,
			    size_t size)
{
	const struct roost_prefix own = { port->link_local, 64 };
	char name[NAME_SIZE], addrs[ADDRS_SIZE], one[ROOST_PREFIX_STRLEN];
	bool any = list(port, gid, addrs) != 0;

	name_of(port, name);
	if (any)
		snprintf(text, size, "%s (%s)", name, addrs);
	else if (roost_gid_is_v4(gid))
		snprintf(text, size, "%s", name);
	else
		snprintf(text, size, "%s (%s)", name,
			 roost_prefix_format(&own, one));
}

/* How the port gets an address: "give it one with --ip". */
static void give(const struct roost_unreached_port *port, char *text,
		 size_t size)
{
	if (port->iface)
		snprintf(text, size,
			 "give its interface \"%s\" one (ip addr add), or "
			 "the port (--ip ADDRESS/LENGTH)",
			 port->iface);
	else if (port->is_shared)
		snprintf(text, size, "ask the administrator of its daemon");
	else
		snprintf(text, size, "give it one with --ip ADDRESS/LENGTH");
}

static void tell_no_route(const struct roost_unreached_port *port,
			  const struct roost_gid *dgid, char *text)
{
	char addrs[ADDRS_SIZE], name[NAME_SIZE], to[ROOST_PREFIX_STRLEN];
	char full[FULL_SIZE], how[128];

	roost_addr_format(dgid, to);
	give(port, how, sizeof(how));
	name_of(port, name);
	if (list(port, dgid, addrs) == 0) {
		snprintf(text, ROOST_UNREACHED_TEXT_MAX,
			 "no route to %s: %s has no %s address%s; %s", to, name,
			 family_of(dgid),
			 port->routes.on_link.nb == 0 || !roost_gid_is_v4(dgid)
				 ? " but a link-local one"
				 : "",
			 how);
		return;
	}
	name_with_addrs(port, dgid, full, sizeof(full));
	snprintf(text, ROOST_UNREACHED_TEXT_MAX,
		 "no route to %s from %s: it is in none of these subnets, and "
		 "there is no gateway; %s%s",
		 to, full,
		 port->is_shared ? how
				 : "give the port an address of its subnet "
				   "(--ip), or a gateway (--gw)",
		 port->iface ? ", or the kernel a route (ip route add)" : "");
}

static void tell_no_neigh(const struct roost_unreached_port *port,
			  const struct roost_unreached *what,
			  const struct roost_gid *hop, char *text)
{
	char asked[ROOST_PREFIX_STRLEN], to[ROOST_PREFIX_STRLEN];
	char full[FULL_SIZE], whom[160];
	const char *hint = port->hint;

	name_with_addrs(port, hop, full, sizeof(full));
	roost_addr_format(hop, asked);
	if (roost_gid_eq(hop, &what->dgid) || roost_gid_is_zero(&what->dgid))
		snprintf(whom, sizeof(whom), "%s", asked);
	else
		snprintf(whom, sizeof(whom), "%s, the gateway to %s,", asked,
			 roost_addr_format(&what->dgid, to));
	if (!hint[0])
		hint = "is it up, and in this VLAN and subnet?";
	snprintf(text, ROOST_UNREACHED_TEXT_MAX,
		 "no %s answer from %s on %s after %.1f s; %s",
		 roost_gid_is_v4(hop) ? "ARP" : "ND", whom, full,
		 (double)what->tried_ns / 1e9, hint);
}

static void tell_family(const struct roost_unreached_port *port,
			const struct roost_unreached *what, char *text)
{
	char from[ROOST_PREFIX_STRLEN], to[ROOST_PREFIX_STRLEN];
	char name[NAME_SIZE];

	name_of(port, name);
	roost_addr_format(&what->sgid, from);
	if (roost_gid_is_zero(&what->dgid))
		snprintf(text, ROOST_UNREACHED_TEXT_MAX,
			 "%s: the peer's GID is zero; let both programs "
			 "exchange their GIDs: give both a GID index (-g or "
			 "-x), or -R",
			 name);
	else
		snprintf(text, ROOST_UNREACHED_TEXT_MAX,
			 "%s: from GID %u (%s) there is no way to %s: one is "
			 "IPv4 and the other IPv6; give both programs the GID "
			 "index of addresses of one family",
			 name, what->sgid_index, from,
			 roost_addr_format(&what->dgid, to));
}

static void tell_av(const struct roost_unreached_port *port,
		    const struct roost_unreached *what, char *text)
{
	char name[NAME_SIZE];

	name_of(port, name);
	if (what->cause == ROOST_UNREACHED_FAMILY)
		tell_family(port, what, text);
	else if (what->cause == ROOST_UNREACHED_NO_GID)
		snprintf(text, ROOST_UNREACHED_TEXT_MAX,
			 "%s: its GID table has no entry %u; choose another "
			 "GID index (ibv_devinfo -v lists them), or give the "
			 "port an address (--ip ADDRESS/LENGTH)",
			 name, what->sgid_index);
	else
		snprintf(text, ROOST_UNREACHED_TEXT_MAX,
			 "%s: an address without a GRH (is_global is 0) needs "
			 "an IPv4 address and a LID at both ends; let both "
			 "programs use a GID index (-g or -x), or give the "
			 "ports IPv4 addresses (--ip)",
			 name);
}

/* From this size on, the path MTU may be the cause: large packets may be lost
 * where small ones pass.
 */
#define MTU_HINT_BYTES 2048u
#define ROCE_MAX_OVERHEAD 84u /* IP, UDP, headers, pad and ICRC */

static void tell_silence(const struct roost_unreached_port *port,
			 const struct roost_unreached *what, char *text)
{
	char to[ROOST_PREFIX_STRLEN], name[NAME_SIZE], whom[48] = "";
	char mtu[96] = "";

	name_of(port, name);
	roost_addr_format(&what->dgid, to);
	if (what->cause == ROOST_UNREACHED_NO_ACK)
		snprintf(whom, sizeof(whom), " (QP 0x%06x)", what->dest_qpn);
	if (what->path_mtu_bytes >= MTU_HINT_BYTES)
		snprintf(mtu, sizeof(mtu),
			 ", an MTU of %u everywhere on the way",
			 what->path_mtu_bytes + ROCE_MAX_OVERHEAD);
	snprintf(text, ROOST_UNREACHED_TEXT_MAX,
		 "no answer from %s%s on %s%s: %u tries in %.1f s; is Roost "
		 "or Soft-RoCE running there%s, UDP port 4791 open%s?",
		 to, whom, name,
		 what->cause == ROOST_UNREACHED_NO_CM
			 ? " to a connection request"
			 : "",
		 what->tries, (double)what->tried_ns / 1e9,
		 whom[0] ? ", that QP in state RTR" : "", mtu);
}

static void tell_full(const struct roost_unreached_port *port,
		      const struct roost_unreached *what, char *text)
{
	char to[ROOST_PREFIX_STRLEN], name[NAME_SIZE];

	name_of(port, name);
	roost_addr_format(&what->dgid, to);
	snprintf(
		text, ROOST_UNREACHED_TEXT_MAX,
		"%s: a connection to %s was refused: no resources; end others "
		"there, or here, if the policy of roostd allows no more (roost "
		"ctl show clients: max_connections)",
		name, to);
}

static void tell_deaf(const struct roost_unreached_port *port, char *text)
{
	char name[NAME_SIZE], how[128];

	name_of(port, name);
	give(port, how, sizeof(how));
	snprintf(text, ROOST_UNREACHED_TEXT_MAX,
		 "a program listens, and %s has no address but a link-local "
		 "one; %s",
		 name, how);
}

void roost_unreached_text(const struct roost_unreached_port *port,
			  const struct roost_unreached *what,
			  const struct roost_gid *hop,
			  char text[ROOST_UNREACHED_TEXT_MAX])
{
	switch (what->cause) {
	case ROOST_UNREACHED_NO_GRH:
	case ROOST_UNREACHED_NO_GID:
	case ROOST_UNREACHED_FAMILY:
		tell_av(port, what, text);
		break;
	case ROOST_UNREACHED_NO_ROUTE:
		tell_no_route(port, &what->dgid, text);
		break;
	case ROOST_UNREACHED_NO_NEIGH:
		tell_no_neigh(port, what, hop, text);
		break;
	case ROOST_UNREACHED_NO_ACK:
	case ROOST_UNREACHED_NO_CM:
		tell_silence(port, what, text);
		break;
	case ROOST_UNREACHED_FULL:
		tell_full(port, what, text);
		break;
	case ROOST_UNREACHED_DEAF:
		tell_deaf(port, text);
		break;
	}
}

/* ---- once ---------------------------------------------------------------- */

static struct {
	pthread_mutex_t lock;
	struct {
		uint64_t key, at_ns;
	} v[TOLD_MAX]; /* the oldest one is overwritten */
	unsigned int nb;
	uint64_t next_ns; /* each line adds MORE_NS: limits the rate */
} told = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t hash(uint64_t sum, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	while (len-- > 0)
		sum = (sum ^ *p++) * 0x100000001b3ull; /* FNV-1a */
	return sum;
}

static bool was_told(uint64_t key, uint64_t now_ns)
{
	for (unsigned int i = 0; i < TOLD_MAX; i++)
		if (told.v[i].key == key && told.v[i].at_ns + TOLD_NS > now_ns)
			return true;
	return false;
}

bool roost_unreached_is_new(const char *label,
			    const struct roost_unreached *what,
			    const struct roost_gid *hop, uint64_t now_ns)
{
	const struct roost_gid *whom = hop ? hop : &what->dgid;
	uint64_t key = hash(0xcbf29ce484222325ull, label, strlen(label));
	bool is_new;

	key = hash(key, &what->cause, sizeof(what->cause));
	key = hash(key, whom, sizeof(*whom));
	pthread_mutex_lock(&told.lock);
	is_new = !was_told(key, now_ns) &&
		 told.next_ns < now_ns + IN_A_ROW * MORE_NS;
	if (is_new) {
		told.v[told.nb].key = key;
		told.v[told.nb].at_ns = now_ns;
		told.nb = (told.nb + 1) % TOLD_MAX;
		if (told.next_ns < now_ns)
			told.next_ns = now_ns;
		told.next_ns += MORE_NS;
	}
	pthread_mutex_unlock(&told.lock);
	return is_new;
}
