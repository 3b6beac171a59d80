/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/doctor.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <json-c/json.h>
#include <netinet/in.h>

#include "apps/doctor_patient.h"
#include "apps/exit_code.h"
#include "apps/hub.h"
#include "apps/run_options.h"
#include "apps/service.h"
#include "lib/config/addr.h"
#include "lib/config/key.h"
#include "pmd_glue/share/hub.h"

/* A link, five seconds; a neighbour, four; sizes of packets, up to eight; a
 * connection, ten; the rest.
 */
#define PROBE_MS 45000

struct doctor {
	struct roost_run_options options;
	struct roost_config config; /* resolved */
	struct roost_config tame;   /* of the probe: it changes nothing */
	bool json;
	const char *peer_name; /* NULL: none */
	struct roost_gid peer;
	struct json_object *findings;
};

int roost_doctor_help(void)
{
	fputs("Usage: roost doctor [OPTION...] [-j] [ADDR]\n"
	      "\n"
	      "Look at everything that a program behind \"roost run\" with the "
	      "same options\n"
	      "needs, from the processor to the port's addresses; with ADDR, "
	      "an address or\n"
	      "name of a peer, also at the way to it. Each step is ok, a "
	      "warning or a\n"
	      "failure, with cause and fix, or not applicable (-). Changes "
	      "nothing.\n"
	      "\n"
	      "  -j, --json                        the same as JSON\n"
	      "\n",
	      stdout);
	roost_run_options_describe(stdout);
	fputs("\nExit status: 0, 1 if a step fails, 2 for wrong options. "
	      "roost-doctor(1) tells\nmore.\n",
	      stdout);
	return ROOST_EXIT_OK;
}

/* ---- what is asked ------------------------------------------------------- */

/* Take --json out, wherever it stands: no value begins with a dash. */
static void take_json(struct doctor *d, char **argv)
{
	char **to = argv;

	for (; *argv; argv++)
		if (strcmp(*argv, "--json") == 0 || strcmp(*argv, "-j") == 0)
			d->json = true;
		else
			*to++ = *argv;
	*to = NULL;
}

/* Returns enum roost_exit_code, and then a line was printed. */
static int fail(int exit_code, const char *what)
{
	fprintf(stderr, "roost: %s\n", what);
	return exit_code;
}

static int find_peer(struct doctor *d)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_DGRAM };
	char err[ROOST_CONFIG_ERR_MAX], host[INET6_ADDRSTRLEN];
	struct addrinfo *found;
	int ret;

	if (roost_addr_parse(d->peer_name, &d->peer, err) == 0)
		return ROOST_EXIT_OK;
	ret = getaddrinfo(d->peer_name, NULL, &hints, &found);
	if (ret) {
		fprintf(stderr,
			"roost: doctor: %.200s: %s; write an address, or a "
			"name "
			"that \"getent hosts\" finds\n",
			d->peer_name, gai_strerror(ret));
		return ROOST_EXIT_USAGE;
	}
	ret = getnameinfo(found->ai_addr, found->ai_addrlen, host, sizeof(host),
			  NULL, 0, NI_NUMERICHOST);
	freeaddrinfo(found);
	if (ret == 0 && roost_addr_parse(host, &d->peer, err) == 0)
		return ROOST_EXIT_OK;
	fprintf(stderr, "roost: doctor: %.200s: %s\n", d->peer_name,
		ret ? gai_strerror(ret) : err);
	return ROOST_EXIT_USAGE;
}

static int parse(struct doctor *d, char **argv)
{
	char err[ROOST_CONFIG_ERR_MAX];

	take_json(d, argv);
	if (roost_run_options_parse(&d->options, argv, err))
		return fail(ROOST_EXIT_USAGE, err);
	if (d->options.help)
		return ROOST_EXIT_OK;
	if (d->options.print_env)
		return fail(ROOST_EXIT_USAGE,
			    "doctor --print-env: it runs no program; use it "
			    "with roost run");
	d->peer_name = *d->options.command;
	if (d->peer_name && d->options.command[1]) {
		fprintf(stderr,
			"roost: doctor: '%.80s' behind the address; write "
			"options before it, and one address\n",
			d->options.command[1]);
		return ROOST_EXIT_USAGE;
	}
	if (roost_config_resolve(&d->config, d->options.file, environ,
				 &d->options.config, err))
		return fail(ROOST_EXIT_USAGE, err);
	roost_config_tell_unknown(&d->config);
	return d->peer_name ? find_peer(d) : ROOST_EXIT_OK;
}

/* ---- the steps ----------------------------------------------------------- */

static void look(struct doctor *d, const struct roost_patient *p,
		 const struct roost_doctor_step *steps, size_t nb,
		 const char *place)
{
	for (size_t i = 0; i < nb; i++) {
		struct roost_finding f = { .verdict = 0 };

		steps[i].look(p, &f);
		roost_findings_add(d->findings, place, steps[i].name, &f);
	}
}

/* Twins are interfaces that it would create, and --mtu may raise that of an
 * interface.
 */
static void tame(struct doctor *d)
{
	d->tame = d->config;
	for (unsigned int i = 0; i < d->tame.nb_ports; i++) {
		struct roost_port_config *port = &d->tame.ports[i];
		static struct roost_patient p;

		port->twin[0] = '\0';
		port->set &= ~ROOST_KEY_BIT(ROOST_KEY_TWIN);
		roost_patient_init(&p, &roost_places, &d->config, i);
		if (!p.has_netif || port->mtu_bytes <= p.netif.mtu_bytes)
			continue;
		port->mtu_bytes = 0;
		port->set &= ~ROOST_KEY_BIT(ROOST_KEY_MTU);
	}
}

/* The hub runs as long as this process does, as with roost run. */
static int hold_hub(const struct doctor *d)
{
	char err[ROOST_HUB_ERR_MAX], exe[PATH_MAX];
	ssize_t len;

	for (unsigned int i = 0; i < d->config.nb_ports; i++) {
		if (strcmp(d->config.ports[i].service, "hub") != 0)
			continue;
		len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
		exe[len < 0 ? 0 : len] = '\0';
		return len > 0 && roost_hub_hold(exe, err) == 0
			       ? ROOST_EXIT_OK
			       : fail(ROOST_EXIT_FAILED,
				      len > 0 ? err : "/proc: not mounted");
	}
	return ROOST_EXIT_OK;
}

static void examine(struct doctor *d, unsigned int device, uint8_t port_num,
		    unsigned int port)
{
	static struct roost_patient p;
	const struct roost_probe_want want = {
		.config = &d->tame,
		.device = device,
		.port_num = port_num,
		.peer = d->peer_name ? &d->peer : NULL,
	};
	char place[ROOST_LABEL_MAX + 128];

	roost_patient_init(&p, &roost_places, &d->config, port);
	p.peer = want.peer;
	if (port == 0)
		look(d, &p, roost_doctor_machine, roost_doctor_nb_machine,
		     "machine");
	snprintf(place, sizeof(place), "roost%u %s", device, p.label);
	look(d, &p, roost_doctor_port, roost_doctor_nb_port, place);
	p.probe_ret = roost_probe(&want, PROBE_MS, &p.facts, p.lines);
	look(d, &p, roost_doctor_open, roost_doctor_nb_open, place);
	if (!d->peer_name)
		return;
	snprintf(place, sizeof(place), "roost%u %s to %.80s", device, p.label,
		 d->peer_name);
	look(d, &p, roost_doctor_peer, roost_doctor_nb_peer, place);
}

static void examine_all(struct doctor *d)
{
	unsigned int first, nb;

	for (unsigned int i = 0; i < roost_config_nb_devices(&d->config); i++) {
		nb = roost_config_device_ports(&d->config, i, &first);
		for (unsigned int n = 0; n < nb; n++)
			examine(d, i, (uint8_t)(n + 1), first + n);
	}
}

static int print(const struct doctor *d)
{
	const enum roost_verdict worst = roost_findings_worst(d->findings);

	if (d->json)
		puts(json_object_to_json_string_ext(
			d->findings, JSON_C_TO_STRING_PRETTY |
					     JSON_C_TO_STRING_NOSLASHESCAPE));
	else
		roost_findings_print(stdout, d->findings);
	return worst == ROOST_VERDICT_FAILURE ? ROOST_EXIT_REFUSED
					      : ROOST_EXIT_OK;
}

int roost_doctor(char **argv)
{
	static struct doctor d;
	int ret = parse(&d, argv);

	if (ret != ROOST_EXIT_OK)
		return ret;
	if (d.options.help)
		return roost_doctor_help();
	roost_service_find(&d.config, getenv("ROOST_SERVICE"),
			   ROOST_SHARE_SYSTEM_SOCKET);
	ret = hold_hub(&d);
	if (ret != ROOST_EXIT_OK)
		return ret;
	tame(&d);
	d.findings = json_object_new_array();
	examine_all(&d);
	ret = print(&d);
	json_object_put(d.findings);
	return ret;
}
