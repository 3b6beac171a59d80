/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * roostd: shares ports between the processes of a machine. It is the hub, a
 * port without a NIC (port.h), which "roost run" starts; or it owns the
 * ports of a file (nic.h), for everybody.
 */

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "apps/exit_code.h"
#include "apps/roostd/crew.h"
#include "apps/roostd/ctl.h"
#include "apps/roostd/listen.h"
#include "apps/roostd/metrics.h"
#include "apps/metrics_addr.h"
#include "apps/roostd/nic.h"
#include "apps/roostd/loop.h"
#include "apps/roostd/notify.h"
#include "apps/roostd/picture.h"
#include "apps/roostd/port.h"
#include "apps/roostd/rights.h"
#include "lib/config/fail.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/process/rights.h"
#include "pmd_glue/share/hub.h"

#define NGROUPS 256

static struct {
	struct roostd_port ports[ROOST_PORTS_MAX];
	uint32_t nb_ports;
	const char *file; /* NULL: a hub */
	struct roostd_service service;
	struct roost_config config;
	const char *metrics; /* the address; NULL: none */
} roostd;

#define FOR_PORTS(port)                                                        \
	for (struct roostd_port *port = roostd.ports;                          \
	     port < roostd.ports + roostd.nb_ports; port++)

static const char help[] =
	"Usage: roostd -c FILE [--socket PATH] [--metrics ADDRESS]\n"
	"       roostd --hub [--metrics ADDRESS]\n"
	"       roostd --help\n"
	"\n"
	"Shares ports between the processes of this machine, as RDMA devices.\n"
	"\n"
	"  -c, --config FILE  own the ports of FILE, for those whom its "
	"policies "
	"admit\n"
	"  --socket PATH      where clients attach (default: that of FILE, or\n"
	"                     " ROOST_SHARE_SYSTEM_SOCKET ")\n"
	"  --hub              a port without a NIC, for the processes of this "
	"user;\n"
	"                     \"roost run\" starts it, and it ends when nobody "
	"has been\n"
	"                     connected for a second\n"
	"  --metrics ADDRESS  metrics for Prometheus at ADDRESS, which is a "
	"path "
	"or\n"
	"                     127.0.0.1:PORT (default: that of FILE, or none)\n"
	"  --help             this text\n"
	"\n"
	"SIGHUP reads FILE again, SIGTERM ends it. roost ctl show clients "
	"shows "
	"who is\n"
	"there. roostd(8) tells more, roost.conf(5) the file.\n";

/* ---- serving ----------------------------------------------------------------
 */

/* Returns 0, -errno: it cannot serve. */
static int run(void)
{
	int ret;

	/* Without it, the daemon works: that was reported. */
	roostd_loop_watch_handover(roostd_ctl_start(roostd.ports));
	roostd_picture_start();
	if (roostd.metrics)
		roostd_metrics_start(roostd.metrics,
				     (mode_t)roostd.service.metrics_mode,
				     (gid_t)roostd.service.metrics_gid,
				     roostd.ports);
	roostd_loop_tell_ready(roostd.nb_ports);
	ret = roostd_loop_run(roostd.ports, roostd.file, &roostd.service);
	if (ret)
		roost_report("threads cannot be made: %s; see the limits of "
			     "the process",
			     strerror(-ret));
	roostd_notify("STOPPING=1");
	roostd_metrics_stop();
	roostd_picture_stop();
	roostd_ctl_stop();
	return ret;
}

/* ---- a hub --------------------------------------------------------------- */

/* A client takes five descriptors. */
#define DESCRIPTORS 16384u

static void raise_limit(void)
{
	struct rlimit limit;
	rlim_t last;
	int fd;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	/* The kernel makes its table of them larger now, for good: of a process
	 * with threads, whoever needs one more would wait for all processors,
	 * and all clients with it.
	 */
	last = (limit.rlim_cur < DESCRIPTORS ? limit.rlim_cur : DESCRIPTORS) -
	       1;
	fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, (int)last);
	if (fd >= 0)
		close(fd);
}

static void prepare(void)
{
	sigset_t set;

	raise_limit();
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* The launcher gives the address in a variable. */
static int serve_hub(void)
{
	const char *metrics = getenv(ROOST_METRICS_VARIABLE);
	char state_path[ROOSTD_STATE_PATH_MAX];
	int listener = roostd_listen_as_hub();
	int ret;

	/* Another one was faster, and serves. */
	if (listener == -EADDRINUSE)
		return ROOST_EXIT_OK;
	prepare();
	ret = listener < 0 ? listener : roostd_loop_make(1);
	if (ret) {
		roost_report("hub: cannot start: %s; see the limits of the "
			     "process",
			     strerror(-ret));
		return ROOST_EXIT_FAILED;
	}
	if (roostd_hub_open(&roostd.ports[0], listener, roostd_loop_epoll_fd(0),
			    roostd_state_hub_path(state_path), roost_now_ns()))
		return ROOST_EXIT_FAILED;
	roostd.nb_ports = 1;
	if (!roostd.metrics && metrics && *metrics)
		roostd.metrics = metrics;
	roostd.service.metrics_mode = 0600;
	roostd.service.metrics_gid = UINT32_MAX;
	roostd_picture_make(roostd.ports, NULL, NULL);
	/* Clients find all of it. */
	roostd_listen_begin(listener);
	roostd_loop_watch_listener(listener);
	ret = run();
	/* No new client finds us while we end. */
	close(listener);
	roostd_port_close(&roostd.ports[0]);
	roostd_picture_end(false);
	roostd_loop_free();
	return ret ? ROOST_EXIT_FAILED : ROOST_EXIT_OK;
}

/* ---- the ports of a file ------------------------------------------------- */

static int load(const char *file)
{
	char err[ROOST_CONFIG_ERR_MAX];
	int ret =
		roostd_service_load(file, &roostd.config, &roostd.service, err);

	for (unsigned int i = 0; !ret && i < roostd.config.nb_ports; i++) {
		if (!roostd.config.ports[i].second)
			continue;
		snprintf(err, sizeof(err),
			 "%.200s: port%u: second: each port of a daemon is a "
			 "device; leave it out",
			 file, i);
		ret = -EINVAL;
	}
	if (ret)
		roost_report("%s", err);
	return ret;
}

/* A group of a socket that is not ours becomes ours: then nobody has to be able
 * to change a file's group.
 */
static void join_group(gid_t gid)
{
	gid_t groups[NGROUPS];
	int nb = getgroups(NGROUPS - 1, groups);

	if (gid == (gid_t)-1 || nb < 0)
		return;
	groups[nb] = gid;
	(void)!setgroups((size_t)nb + 1, groups);
}

/* All that comes from now on has no more than the ports need. */
static int give_up_rights(void)
{
	char needed[ROOSTD_RIGHTS_MAX];
	int ret;

	join_group((gid_t)roostd.service.gid);
	join_group((gid_t)roostd.service.metrics_gid);
	roostd_rights_needed(&roostd.config, needed);
	ret = roost_rights_keep(needed);
	if (ret)
		roost_report("rights cannot be given up: %s; look at the "
			     "service manager's settings",
			     strerror(-ret));
	return ret;
}

/* Each port has a thread, or a part of one. What processors are left are for
 * the lanes beside the first, of which the key "workers" says how many a port
 * wants.
 */
static uint32_t choose_workers(void)
{
	const uint32_t nb = roostd.config.nb_ports;
	const uint32_t wanted =
		roostd.config.nb_workers > 0 ? roostd.config.nb_workers : 1;
	const uint32_t left =
		roostd_crew_size(nb * wanted, roostd.service.threads) -
		roostd_crew_size(nb, roostd.service.threads);

	return left / nb + 1 < wanted ? left / nb + 1 : wanted;
}

static void report_workers(const struct roostd_port *port, uint32_t wanted)
{
	if (port->nb_lanes < wanted)
		roost_report("%s: it has %u thread%s of %u that \"workers\" "
			     "asks for: %s",
			     port->label, port->nb_lanes,
			     port->nb_lanes == 1 ? "" : "s", wanted,
			     port->nb_lanes < roostd.config.nb_workers
				     ? "the port has no more queues"
				     : "there are no more processors, or "
				       "\"threads\" allows no more");
}

/* The state of each port is beside the socket. */
static int open_ports(const char *path)
{
	char state_path[ROOSTD_STATE_PATH_MAX];
	const uint32_t nb = roostd.config.nb_ports;
	const uint32_t wanted = roostd.config.nb_workers;
	int ret = 0;

	roostd.config.nb_workers = choose_workers();

	while (roostd.nb_ports < nb) {
		struct roostd_port *port = &roostd.ports[roostd.nb_ports];

		*port = (struct roostd_port){
			.first = roostd.ports,
			.nb_ports = nb,
			.listener = -1,
			.epoll_fd = roostd_loop_epoll_fd(roostd.nb_ports),
			.now_ns = roost_now_ns(),
			.service = &roostd.service,
		};
		roostd_port_init(port);
		snprintf(state_path, sizeof(state_path), "%s.%u.state", path,
			 roostd.nb_ports);
		ret = roostd_nic_open(port, &roostd.config, roostd.nb_ports,
				      state_path);
		if (ret)
			break;
		report_workers(port, wanted);
		roostd.nb_ports++;
	}
	return ret;
}

static bool are_gone(void)
{
	bool gone = true;

	FOR_PORTS(port)
	gone = gone && port->facts.is_gone;
	return gone;
}

/* A service manager starts the daemon again then. */
static int exit_code(void)
{
	if (!are_gone())
		return ROOST_EXIT_OK;
	roost_report("all ports are gone; start roostd again when they are "
		     "back");
	return ROOST_EXIT_FAILED;
}

/* They come back to the next daemon. */
static bool have_clients(void)
{
	bool have = false;

	FOR_PORTS(port)
	have = have || port->lease->nb_clients > 0 || port->lease->nb_away > 0;
	return have;
}

static void close_ports(void)
{
	while (roostd.nb_ports > 0)
		roostd_port_close(&roostd.ports[--roostd.nb_ports]);
}

static int fail_socket(const char *path, int error)
{
	roost_report("%s: %s; %s", path,
		     error == -EADDRINUSE ? "a daemon serves there"
					  : strerror(-error),
		     error == -EADDRINUSE
			     ? "end it, or name another path with --socket"
			     : "name another path with --socket");
	return ROOST_EXIT_FAILED;
}

static int make_loop(void)
{
	int ret = roostd_loop_make(roostd_crew_size(roostd.config.nb_ports,
						    roostd.service.threads));

	if (ret)
		roost_report("cannot start: %s; see the limits of the process",
			     strerror(-ret));
	return ret;
}

static int serve_file(const char *file, const char *path)
{
	struct roostd_listener listener;
	int ret;

	prepare();
	ret = load(file);
	if (!ret)
		ret = give_up_rights();
	if (!ret)
		ret = make_loop();
	if (ret)
		return ROOST_EXIT_FAILED;
	roostd.file = file;
	if (!roostd.metrics && roostd.service.metrics[0])
		roostd.metrics = roostd.service.metrics;
	if (!path)
		path = roostd.service.socket;
	/* Before the ports are opened: they may be that daemon's. */
	ret = roostd_listen_look(path);
	if (ret)
		return fail_socket(path, ret);
	if (open_ports(path)) {
		close_ports();
		return ROOST_EXIT_FAILED;
	}
	roostd_picture_make(roostd.ports, &roostd.config, path);
	ret = roostd_listen_at(path, SOCK_SEQPACKET,
			       (mode_t)roostd.service.mode,
			       (gid_t)roostd.service.gid, &listener);
	if (!ret) {
		roostd.ports[0].listener = listener.fd;
		ret = roostd_loop_watch_listener(listener.fd);
	}
	for (uint32_t i = 0; i < roostd.nb_ports; i++)
		roost_lease_begin_grace(roostd.ports[i].lease, roost_now_ns());
	if (ret) {
		roostd_picture_end(true);
		close_ports();
		return fail_socket(path, ret);
	}
	ret = run() ? ROOST_EXIT_FAILED : exit_code();
	/* No new client finds us while we end. */
	roostd_listen_end(&listener);
	roostd_picture_end(have_clients());
	close_ports();
	roostd_loop_free();
	return ret;
}

/* ---- options ------------------------------------------------------------- */

static int refuse(const char *why)
{
	fprintf(stderr, "roost: roostd: %s; see roostd --help\n", why);
	return ROOST_EXIT_USAGE;
}

static bool is_metrics_address(const char *text)
{
	struct sockaddr_storage addr;
	socklen_t len;

	return roost_metrics_addr_parse(text, &addr, &len) == 0;
}

int main(int argc, char **argv)
{
	const char *file = NULL, *path = NULL;
	bool hub = false;

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (strcmp(argv[i], "--help") == 0) {
			fputs(help, stdout);
			return ROOST_EXIT_OK;
		}
		if (strcmp(argv[i], "--hub") == 0) {
			hub = true;
			continue;
		}
		if (strcmp(argv[i], "-c") == 0 ||
		    strcmp(argv[i], "--config") == 0)
			file = value;
		else if (strcmp(argv[i], "--socket") == 0)
			path = value;
		else if (strcmp(argv[i], "--metrics") == 0)
			roostd.metrics = value;
		else
			return refuse("an option that there is not");
		if (!value)
			return refuse("an option has no value");
		i++;
	}
	if (hub == (file != NULL) || (hub && path))
		return refuse("say --hub, or -c FILE");
	if (roostd.metrics && !is_metrics_address(roostd.metrics))
		return refuse("--metrics is no path and no 127.0.0.1:PORT");
	return hub ? serve_hub() : serve_file(file, path);
}
