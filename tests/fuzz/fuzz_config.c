/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The configuration: a file, and variables. Input: the first byte says which
 * of them; then the file's text, or variables with zeros between them. What is
 * accepted is written out as environment and must read back as the same.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <roost/config.h>
#include "lib/config/resolve.h"
#include "lib/config/source.h"
#include "tests/fuzz/fuzz.h"

#define VARIABLES_MAX 128u
#define FILE_MAX 8192u

static char path[64];
static int fd;
static char *exported[512];
static unsigned int nb_exported;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fd = memfd_create("roost.conf", 0);
	FUZZ_CHECK(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return 0;
}

static int put(void *arg, const char *name, const char *value)
{
	(void)arg;
	if (value == NULL)
		return 0;
	FUZZ_CHECK(nb_exported + 1 < sizeof(exported) / sizeof(exported[0]));
	FUZZ_CHECK(asprintf(&exported[nb_exported++], "%s=%s", name, value) >
		   0);
	return 0;
}

static void check_err(int ret, const char *err)
{
	FUZZ_CHECK(ret < 0);
	FUZZ_CHECK(strlen(err) > 0 && strlen(err) < ROOST_CONFIG_ERR_MAX);
	FUZZ_CHECK(strchr(err, '\n') == NULL);
}

static void check_resolved(const struct roost_config *c)
{
	char label[ROOST_LABEL_MAX];
	unsigned int first, nb_ports = 0;

	FUZZ_CHECK(c->nb_ports >= 1 && c->nb_ports <= ROOST_PORTS_MAX);
	FUZZ_CHECK(c->nb_workers <= ROOST_WORKERS_MAX);
	for (unsigned int i = 0; i < roost_config_nb_devices(c); i++)
		nb_ports += roost_config_device_ports(c, i, &first);
	FUZZ_CHECK(nb_ports == c->nb_ports);
	for (unsigned int i = 0; i < c->nb_ports; i++) {
		const struct roost_port_config *p = &c->ports[i];

		FUZZ_CHECK((p->devargs[0] != '\0') + (p->link[0] != '\0') +
				   (p->service[0] != '\0') ==
			   1);
		FUZZ_CHECK(p->ips.nb <= ROOST_PORT_IPS_MAX);
		FUZZ_CHECK(roost_config_shared_port(c, i) <= i);
		roost_config_label(c, i, true, label);
		if (p->link[0] != '\0')
			roost_config_link_ip(c, i, 0);
	}
}

static void check_same(const struct roost_config *a,
		       const struct roost_config *b)
{
	FUZZ_CHECK(a->nb_ports == b->nb_ports);
	FUZZ_CHECK(a->progress == b->progress && a->verbose == b->verbose);
	for (unsigned int i = 0; i < a->nb_ports; i++) {
		const struct roost_port_config *p = &a->ports[i];
		const struct roost_port_config *q = &b->ports[i];

		FUZZ_CHECK(strcmp(p->devargs, q->devargs) == 0);
		FUZZ_CHECK(strcmp(p->link, q->link) == 0);
		FUZZ_CHECK(strcmp(p->service, q->service) == 0);
		FUZZ_CHECK(strcmp(p->twin, q->twin) == 0);
		FUZZ_CHECK(p->mtu_bytes == q->mtu_bytes);
		FUZZ_CHECK(p->vlan_id == q->vlan_id && p->second == q->second);
		FUZZ_CHECK(p->ips.nb == q->ips.nb);
		for (unsigned int k = 0; k < p->ips.nb; k++)
			FUZZ_CHECK(roost_gid_eq(&p->ips.v[k].gid,
						&q->ips.v[k].gid) &&
				   p->ips.v[k].len_bits ==
					   q->ips.v[k].len_bits);
		FUZZ_CHECK(roost_gid_eq(&p->gw.v4, &q->gw.v4));
		FUZZ_CHECK(roost_gid_eq(&p->gw.v6, &q->gw.v6));
	}
}

static void resolve(const char *file, char *const *envp)
{
	static struct roost_config config, again;
	char err[ROOST_CONFIG_ERR_MAX] = "";
	int ret = roost_config_resolve(&config, file, envp, NULL, err);

	if (ret != 0) {
		check_err(ret, err);
		return;
	}
	check_resolved(&config);
	nb_exported = 0;
	FUZZ_CHECK(roost_config_export(&config, put, NULL) == 0);
	exported[nb_exported] = NULL;
	ret = roost_config_resolve(&again, NULL, exported, NULL, err);
	if (ret != 0)
		fprintf(stderr, "%s\n", err);
	FUZZ_CHECK(ret == 0);
	check_same(&config, &again);
	while (nb_exported > 0)
		free(exported[--nb_exported]);
}

static void from_file(const struct fuzz_in *in)
{
	static char *const none[] = { NULL };
	size_t bytes = in->left_bytes < FILE_MAX ? in->left_bytes : FILE_MAX;

	FUZZ_CHECK(ftruncate(fd, 0) == 0);
	FUZZ_CHECK(pwrite(fd, in->at, bytes, 0) == (ssize_t)bytes);
	resolve(path, none);
}

/* A file is not read: its name is taken out. */
static bool is_path(const char *variable)
{
	return strncmp(variable, "ROOST_CONFIG=", 13) == 0;
}

static void from_environ(struct fuzz_in *in)
{
	const size_t bytes = in->left_bytes;
	char *text = malloc(bytes + 1), *at = text;
	char *envp[VARIABLES_MAX + 1];
	unsigned int nb = 0;

	FUZZ_CHECK(text != NULL);
	fuzz_take(in, text, bytes);
	text[bytes] = '\0';
	for (; nb < VARIABLES_MAX && at < text + bytes; at += strlen(at) + 1)
		if (!is_path(at))
			envp[nb++] = at;
	envp[nb] = NULL;
	resolve(NULL, envp);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct fuzz_in in = { data, len_bytes };

	if (fuzz_u8(&in) & 1)
		from_environ(&in);
	else
		from_file(&in);
	return 0;
}
