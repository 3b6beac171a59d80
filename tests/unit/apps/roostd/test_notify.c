/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* What a service manager hears, and what the daemon may. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "apps/roostd/notify.h"
#include "apps/roostd/rights.h"
#include "tests/cmocka.h"

static int manager;
static char name[64], heard[600];

static void listen_at(const char *at)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const size_t len = strlen(at);

	memcpy(addr.sun_path, at, len);
	if (at[0] == '@')
		addr.sun_path[0] = '\0';
	manager = socket(AF_UNIX, SOCK_DGRAM, 0);
	assert_int_equal(
		bind(manager, (struct sockaddr *)&addr,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
		0);
	setenv("NOTIFY_SOCKET", at, 1);
}

static const char *hear(void)
{
	ssize_t n = recv(manager, heard, sizeof(heard) - 1, MSG_DONTWAIT);

	heard[n < 0 ? 0 : n] = '\0';
	return heard;
}

static void notify__a_path_and_an_abstract_name(void **state)
{
	snprintf(name, sizeof(name), "/tmp/roost-notify-%d", getpid());
	unlink(name);
	listen_at(name);
	roostd_notify("READY=1\nSTATUS=%d ports", 2);
	assert_string_equal(hear(), "READY=1\nSTATUS=2 ports");
	close(manager);
	unlink(name);
	snprintf(name, sizeof(name), "@roost-notify-%d", getpid());
	listen_at(name);
	roostd_notify_reloading();
	assert_memory_equal(hear(), "RELOADING=1\nMONOTONIC_USEC=", 27);
	assert_true(atoll(heard + 27) > 0);
	close(manager);
}

/* Nobody listens, nobody is named, or it is no name: nothing happens. */
static void notify__nobody(void **state)
{
	roostd_notify("READY=1");
	setenv("NOTIFY_SOCKET", "roost", 1);
	roostd_notify("READY=1");
	setenv("NOTIFY_SOCKET", "", 1);
	roostd_notify("READY=1");
	unsetenv("NOTIFY_SOCKET");
	roostd_notify("READY=1");
}

static void assert_needs(const char *devargs, const char *twin,
			 const char *expected)
{
	static struct roost_config config;
	char list[ROOSTD_RIGHTS_MAX];

	memset(&config, 0, sizeof(config));
	config.nb_ports = 1;
	strcpy(config.ports[0].devargs, devargs);
	strcpy(config.ports[0].twin, twin);
	roostd_rights_needed(&config, list);
	assert_string_equal(list, expected);
}

static void rights__of_each_kind_of_port(void **state)
{
	static const char xdp[] = "CAP_NET_RAW,CAP_NET_ADMIN,CAP_BPF,"
				  "CAP_PERFMON,CAP_SYS_ADMIN,CAP_IPC_LOCK";
	static const char all[] = "CAP_NET_RAW,CAP_NET_ADMIN,CAP_BPF,"
				  "CAP_PERFMON,CAP_SYS_ADMIN,CAP_IPC_LOCK,"
				  "CAP_SYS_RAWIO";

	assert_needs("", "", ""); /* a link */
	assert_needs("net_af_packet0,iface=a", "", "CAP_NET_RAW,CAP_NET_ADMIN");
	assert_needs("net_tap0", "", "CAP_NET_RAW,CAP_NET_ADMIN");
	assert_needs("net_memif0,role=server", "", "");
	assert_needs("net_memif0,role=server", "tw",
		     "CAP_NET_RAW,CAP_NET_ADMIN");
	assert_needs("net_virtio_user0,path=/tmp/s", "", "");
	assert_needs("net_virtio_user0,queues=1,path=/dev/vhost-net", "",
		     "CAP_NET_RAW,CAP_NET_ADMIN");
	assert_needs("eth1", "", xdp);
	assert_needs("net_af_xdp0,iface=eth1", "", xdp);
	assert_needs("0000:01:00.0", "", all);
	assert_needs("net_bonding0,slave=0000:01:00.0", "", all);
	assert_needs("net_something_new0", "", all);
}

static void rights__of_all_ports(void **state)
{
	static struct roost_config config;
	char list[ROOSTD_RIGHTS_MAX];

	config.nb_ports = 2;
	strcpy(config.ports[0].link, "a");
	strcpy(config.ports[1].devargs, "net_tap0");
	roostd_rights_needed(&config, list);
	assert_string_equal(list, "CAP_NET_RAW,CAP_NET_ADMIN");
	config.nb_ports = 1;
	roostd_rights_needed(&config, list);
	assert_string_equal(list, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notify__a_path_and_an_abstract_name),
		cmocka_unit_test(notify__nobody),
		cmocka_unit_test(rights__of_each_kind_of_port),
		cmocka_unit_test(rights__of_all_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
