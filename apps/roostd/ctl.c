/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/ctl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/roostd/ctl_row.h"
#include "apps/roostd/dump.h"
#include "apps/roostd/handover.h"
#include "apps/roostd/picture.h"
#include "pmd_glue/ctl/ctl.h"
#include "pmd_glue/ctl/json.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/process/report.h"

#define SECOND_NS 1000000000u
#define BITS 8u

static struct roostd_port *ports; /* NULL: not started */

static int refuse(char *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int refuse(char *error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(error, ROOST_CTL_ERROR_MAX, format, list);
	va_end(list);
	return -EINVAL;
}

static int hand_over(int (*fn)(void *arg), void *arg, char *error)
{
	int ret = roostd_handover(fn, arg);

	if (ret == -EBUSY)
		refuse(error, "the daemon is busy; try again");
	return ret;
}

/* ---- show ---------------------------------------------------------------- */

/* Copies of what there is. */
struct copies {
	struct roostd_shared_row shared[ROOST_PORTS_MAX];
	uint32_t nb_shared;
	struct roostd_client_row *clients; /* with room for max_clients */
	uint32_t nb_clients, max_clients;
};

static void copy_clients(const struct roostd_port *port, struct copies *copies)
{
	for (uint32_t slot = 0; slot < ROOST_CLIENTS_MAX; slot++) {
		const struct roostd_client *c = port->by_slot[slot];

		if (!c || copies->nb_clients == copies->max_clients)
			continue;
		roostd_client_row(port, c,
				  &copies->clients[copies->nb_clients++]);
	}
}

/* The daemon's thread. Returns -ENOSPC, with max_clients set: there is no room
 * for all.
 */
static int copy(void *arg)
{
	struct copies *copies = arg;
	uint32_t nb = 0;

	copies->nb_shared = ports->nb_ports;
	for (uint32_t i = 0; i < ports->nb_ports; i++) {
		roostd_shared_row(&ports[i], &copies->shared[i]);
		nb += ports[i].nb_attached;
	}
	if (nb > copies->max_clients) {
		copies->max_clients = nb;
		return -ENOSPC;
	}
	copies->nb_clients = 0;
	for (uint32_t i = 0; i < ports->nb_ports; i++)
		copy_clients(&ports[i], copies);
	return 0;
}

/* Clients come meanwhile: with more room, again. */
static int copy_all(struct copies *copies, char *error)
{
	int ret;

	while ((ret = hand_over(copy, copies, error)) == -ENOSPC) {
		free(copies->clients);
		copies->max_clients += 16;
		copies->clients =
			calloc(copies->max_clients, sizeof(copies->clients[0]));
		if (!copies->clients) {
			refuse(error, "no memory; try again");
			return -ENOMEM;
		}
	}
	return ret;
}

/* Of all ports, if one has several. */
static void put_lanes(struct roost_json *j, const struct copies *copies)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < copies->nb_shared; i++)
		nb += copies->shared[i].nb_lanes;
	if (nb == copies->nb_shared)
		return;
	roost_json_begin(j, "lanes", '[');
	for (uint32_t i = 0; i < copies->nb_shared; i++)
		for (uint32_t k = 0; k < copies->shared[i].nb_lanes; k++)
			roostd_lane_row_put(j, &copies->shared[i].lanes[k]);
	roost_json_end(j, ']');
}

static bool is_asked_for(const char *topic, const char *name)
{
	return !topic || strcmp(topic, name) == 0;
}

/* The list of processes asks for ports; see apps/ctl.c. */
static int show(const char *topic, struct roost_json *j,
		char error[ROOST_CTL_ERROR_MAX])
{
	const bool clients = is_asked_for(topic, "clients");
	const bool shared =
		is_asked_for(topic, "shared") || is_asked_for(topic, "port");
	struct copies *copies;
	int ret;

	if (!clients && !shared)
		return -ENOENT;
	copies = calloc(1, sizeof(*copies));
	if (!copies) {
		refuse(error, "no memory; try again");
		return -ENOMEM;
	}
	ret = copy_all(copies, error);
	if (!ret && shared) {
		roost_json_begin(j, "shared", '[');
		for (uint32_t i = 0; i < copies->nb_shared; i++)
			roostd_shared_row_put(j, &copies->shared[i]);
		roost_json_end(j, ']');
		put_lanes(j, copies);
	}
	if (!ret && clients) {
		roost_json_begin(j, "clients", '[');
		for (uint32_t i = 0; i < copies->nb_clients; i++)
			roostd_client_row_put(j, &copies->clients[i]);
		roost_json_end(j, ']');
	}
	free(copies->clients);
	free(copies);
	return ret;
}

/* ---- evict, limit -------------------------------------------------------- */

struct request {
	char **words; /* PORT, CLIENT and what follows */
	char *error;
};

static unsigned int count(char **words)
{
	unsigned int nb = 0;

	while (words[nb])
		nb++;
	return nb;
}

/* Returns UINT32_MAX: it is no number. */
static uint32_t number_of(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	return *text < '0' || *text > '9' || *end || n >= UINT32_MAX
		       ? UINT32_MAX
		       : (uint32_t)n;
}

/* On the daemon's thread. NULL: there is none, and the error says so. */
static struct roostd_client *find(const struct request *r)
{
	const bool any = strcmp(r->words[0], "-") == 0;
	const uint32_t port = any ? 0 : number_of(r->words[0]);
	const uint32_t slot = number_of(r->words[1]);
	struct roostd_client *c;

	if (any && ports->nb_ports > 1) {
		refuse(r->error,
		       "no port named: the daemon shares several; choose one "
		       "with --port, 0 to %u",
		       ports->nb_ports - 1);
		return NULL;
	}
	if (port >= ports->nb_ports) {
		refuse(r->error,
		       "port %.20s: the daemon shares no such port; choose "
		       "from 0 to %u",
		       r->words[0], ports->nb_ports - 1);
		return NULL;
	}
	c = slot < ROOST_CLIENTS_MAX ? ports[port].by_slot[slot] : NULL;
	if (!c || c->leaves_ns != 0)
		refuse(r->error,
		       "client %.20s: the port has no such client; see roost "
		       "ctl show clients",
		       r->words[1]);
	return c && c->leaves_ns == 0 ? c : NULL;
}

static int evict(void *arg)
{
	const struct request *r = arg;
	struct roost_share_msg msg = { .type = ROOST_SHARE_EVICTED };
	struct roostd_client *c = find(r);
	size_t len;

	if (!c)
		return -ENOENT;
	snprintf(msg.reason, sizeof(msg.reason), "evicted by %s",
		 "the administrator");
	for (char **word = r->words + 2; *word; word++) {
		len = strlen(msg.reason);
		snprintf(msg.reason + len, sizeof(msg.reason) - len, "%s %s",
			 word == r->words + 2 ? ":" : "", *word);
	}
	roost_share_send(c->socket, &msg, NULL, 0, NULL);
	roostd_port_drop(c->port, c, msg.reason);
	return 0;
}

/* NAME is a key of a policy. */
static const struct {
	const char *name;
	size_t offset, size;
} limits[] = {
#define LIMIT(name, member)                                                    \
	{                                                                      \
		name, offsetof(struct roost_client_conf, member),              \
			sizeof(((struct roost_client_conf *)0)->member)        \
	}
	LIMIT("qps", max_qps),
	LIMIT("connections", max_conns),
	LIMIT("half_open", max_half_open),
	LIMIT("services", max_services),
	LIMIT("memberships", max_groups),
	LIMIT("rate", rate_bytes_per_s),
	LIMIT("weight", weight),
};

static int limit(void *arg)
{
	const struct request *r = arg;
	struct roostd_client *c = find(r);
	struct roost_client_conf conf, wanted;
	struct roostd_policy policy;
	char cause[ROOST_CONFIG_ERR_MAX];

	if (!c)
		return -ENOENT;
	roostd_policy_init(&policy);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (strcmp(r->words[2], limits[i].name) != 0)
			continue;
		if (roostd_policy_set(&policy, r->words[2], r->words[3], cause))
			return refuse(r->error, "%s: %.400s", r->words[2],
				      cause);
		conf = c->port->lease->clients[c->slot].conf;
		wanted = roostd_policy_conf(&policy, c->uid);
		memcpy((char *)&conf + limits[i].offset,
		       (char *)&wanted + limits[i].offset, limits[i].size);
		roost_switch_client_limit(c->port->sw, c->slot, &conf,
					  c->port->now_ns);
		return 0;
	}
	return refuse(r->error,
		      "%.40s: no limit of a client; there are qps, "
		      "connections, half_open, services, memberships, rate, "
		      "weight",
		      r->words[2]);
}

static int run(char **words, char error[ROOST_CTL_ERROR_MAX])
{
	static const struct {
		const char *name, *usage;
		unsigned int nb_min, nb_max; /* words after the name */
		int (*run)(void *arg);
	} requests[] = {
		{ "evict", "evict PORT CLIENT [REASON]", 2, 7, evict },
		{ "limit", "limit PORT CLIENT NAME VALUE", 4, 4, limit },
	};
	struct request r = { words + 1, error };

	for (size_t i = 0; words[0] && i < 2; i++) {
		if (strcmp(words[0], requests[i].name) != 0)
			continue;
		if (count(r.words) < requests[i].nb_min ||
		    count(r.words) > requests[i].nb_max)
			return refuse(error,
				      "%s: wrong number of words; write %s",
				      words[0], requests[i].usage);
		return hand_over(requests[i].run, &r, error) ? -EINVAL : 0;
	}
	return -ENOENT;
}

/* ---- rates --------------------------------------------------------------- */

static uint64_t rate(uint64_t bytes, uint64_t before, uint64_t ns)
{
	return (uint64_t)((double)(bytes - before) * BITS * SECOND_NS /
			  (double)ns);
}

void roostd_ctl_sample(struct roostd_port *port)
{
	const uint64_t ns = port->now_ns - port->sampled_ns;
	struct roostd_client *c;

	if (ns < SECOND_NS)
		return;
	port->sampled_ns = port->now_ns;
	roostd_port_hold(port);
	LIST_FOREACH(c, &port->clients, all) {
		struct roost_switch_counters now;

		if (c->slot == ROOST_CLIENT_NONE)
			continue;
		now = roost_switch_counters(port->sw, c->slot);
		c->tx_bps = rate(now.tx_bytes, c->tx_bytes, ns);
		c->rx_bps = rate(now.rx_bytes, c->rx_bytes, ns);
		c->tx_bytes = now.tx_bytes;
		c->rx_bytes = now.rx_bytes;
	}
	roostd_picture_count(port);
	roostd_port_balance(port);
}

/* ---- start, stop --------------------------------------------------------- */

static const struct roost_ctl_more more = {
	.topics = "shared, clients",
	.show = show,
	.run = run,
};

static int serve(void *arg)
{
	(void)arg;
	roost_ctl_serve(&more);
	roostd_dump_start(ports);
	return 0;
}

static int unserve(void *arg)
{
	(void)arg;
	roostd_dump_stop();
	roost_ctl_unserve();
	return 0;
}

int roostd_ctl_start(struct roostd_port *first)
{
	int fd = roostd_handover_open();
	int ret = fd < 0 ? fd : roost_control_get();

	if (ret == 0) {
		ports = first;
		roost_control_call(serve, NULL);
		return fd;
	}
	roostd_handover_close();
	roost_report("no control socket: %s; roost ctl will not find this "
		     "daemon",
		     strerror(-ret));
	return ret;
}

void roostd_ctl_stop(void)
{
	if (!ports)
		return;
	roost_control_call(unserve, NULL);
	roost_control_put();
	roostd_handover_close();
	ports = NULL;
}
