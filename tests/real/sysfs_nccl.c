/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * What NCCL's net plugin (net_ib) asks of each device when it starts, step by
 * step: verbs, the device's path and its subsystem in sysfs, the versions of
 * GIDs. Prints a line for each device.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

static int fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return 1;
}

/* "RoCE v2" of each GID that is not zero; 0: none has another type. */
static int check_gids(struct ibv_context *context, const char *name,
		      const struct ibv_port_attr *port)
{
	static const union ibv_gid zero;
	unsigned int nb = 0;
	char path[PATH_MAX];
	union ibv_gid gid;

	for (int i = 0; i < port->gid_tbl_len; i++) {
		char type[16] = "";
		ssize_t n;
		int fd;

		if (ibv_query_gid(context, 1, i, &gid) != 0)
			return fail("ibv_query_gid");
		snprintf(path, sizeof(path),
			 "/sys/class/infiniband/%s/ports/1/gid_attrs/types/%d",
			 name, i);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			return fail(path);
		n = read(fd, type, sizeof(type) - 1);
		close(fd);
		if (memcmp(&gid, &zero, sizeof(gid)) == 0)
			continue;
		if (n <= 0 || strncmp(type, "RoCE v2", 7) != 0)
			return fail("type of a GID");
		nb++;
	}
	printf(" %u GIDs of RoCE v2", nb);
	return nb == 0;
}

static int check_path(const char *name)
{
	char path[PATH_MAX], device[PATH_MAX];
	char *subsystem;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device", name);
	if (!realpath(path, device))
		return fail(path);
	printf(" at %s", device);
	snprintf(path, sizeof(path), "%.4000s/subsystem", device);
	subsystem = realpath(path, NULL);
	if (!subsystem)
		return fail(path);
	printf(" of %s", strrchr(subsystem, '/') + 1);
	free(subsystem);
	return 0;
}

static int check_device(struct ibv_device *device)
{
	const char *name = ibv_get_device_name(device);
	struct ibv_context *context = ibv_open_device(device);
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	struct ibv_pd *pd;
	int ret;

	printf("%s:", name);
	if (!context || ibv_query_device(context, &attr) != 0 ||
	    ibv_query_port(context, 1, &port) != 0)
		return fail("verbs");
	pd = ibv_alloc_pd(context);
	if (!pd || port.state != IBV_PORT_ACTIVE)
		return fail("verbs");
	/* NCCL asks so whether dma-buf is there. */
	if (ibv_reg_dmabuf_mr(pd, 0, 0, 0, -1, 0) || errno != EOPNOTSUPP)
		return fail("ibv_reg_dmabuf_mr");
	ret = check_path(name) || check_gids(context, name, &port);
	printf("\n");
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	return ret;
}

int main(void)
{
	struct ibv_device **list;
	int nb, ret = 0;

	ibv_fork_init();
	list = ibv_get_device_list(&nb);
	if (!list || nb == 0)
		return fail("no device");
	for (int i = 0; i < nb; i++)
		ret |= check_device(list[i]);
	ibv_free_device_list(list);
	return ret;
}
