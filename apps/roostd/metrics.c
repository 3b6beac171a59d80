/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/metrics.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <microhttpd.h>

#include "apps/roostd/handover.h"
#include "apps/roostd/listen.h"
#include "apps/metrics_addr.h"
#include "apps/roostd/metrics_page.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/process/report.h"

#define BACKLOG 16
/* Of a connection: its request. */
#define MEMORY_BYTES (16u << 10)
/* Connections taken in one round: those that there are get on, too. */
#define ACCEPTS_MAX 4u
/* Without descriptors, none is taken for so long. */
#define SHORT_NS 200000000ull
#define MS_NS 1000000u

#define OPEN_METRICS "application/openmetrics-text"

/* In either format. */
enum format {
	PLAIN,
	OPEN,
	FORMATS
};

static const char *const content_types[FORMATS] = {
	[PLAIN] = "text/plain; version=0.0.4; charset=utf-8",
	[OPEN] = OPEN_METRICS "; version=1.0.0; charset=utf-8",
};

struct conn {
	int fd; /* -1: none */
	uint64_t until_ns;
	bool is_cut;
};

static struct {
	bool is_running;
	pthread_t thread;
	int stop_fd;
	struct roostd_listener listener; /* path NULL: TCP */
	/* The thread's. */
	struct MHD_Daemon *http;
	struct conn conns[ROOSTD_METRICS_CONNS_MAX];
	uint64_t deaf_until_ns; /* no connection is taken; 0: they are */
	uint64_t made_ns;       /* of pages; 0: there are none */
	struct MHD_Response *pages[FORMATS];
	struct MHD_Response *busy, *missing, *refused, *index;
	struct roostd_metrics_copy copy;
} metrics;

/* ---- answers --------------------------------------------------------------
 */

static struct MHD_Response *make_response(char *text, size_t len,
					  enum MHD_ResponseMemoryMode mode,
					  const char *type)
{
	struct MHD_Response *r =
		MHD_create_response_from_buffer(len, text, mode);

	if (!r) {
		if (mode == MHD_RESPMEM_MUST_FREE)
			free(text);
		return NULL;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	/* The next request has its own time. */
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
	return r;
}

static struct MHD_Response *make_line(const char *line)
{
	return make_response((char *)(uintptr_t)line, strlen(line),
			     MHD_RESPMEM_PERSISTENT,
			     "text/plain; charset=utf-8");
}

static void drop_response(struct MHD_Response **r)
{
	if (*r)
		MHD_destroy_response(*r);
	*r = NULL;
}

static struct MHD_Response *make_page(enum format format)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	bool failed;

	if (!out)
		return NULL;
	roostd_metrics_page(out, format == OPEN, &metrics.copy);
	failed = ferror(out) != 0;
	if (fclose(out) != 0 || failed) {
		free(text);
		return NULL;
	}
	return make_response(text, len, MHD_RESPMEM_MUST_FREE,
			     content_types[format]);
}

/* NULL: there is no page, because the daemon is busy or memory is short. */
static struct MHD_Response *page(enum format format)
{
	const uint64_t now_ns = roost_now_ns();

	if (metrics.made_ns == 0 ||
	    now_ns - metrics.made_ns >= ROOSTD_METRICS_FRESH_NS) {
		drop_response(&metrics.pages[PLAIN]);
		drop_response(&metrics.pages[OPEN]);
		metrics.made_ns = 0;
		if (roostd_metrics_copy(&metrics.copy))
			return NULL;
		metrics.made_ns = now_ns;
	}
	if (!metrics.pages[format])
		metrics.pages[format] = make_page(format);
	return metrics.pages[format];
}

static enum format wanted_by(struct MHD_Connection *c)
{
	const char *accept =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND,
					    MHD_HTTP_HEADER_ACCEPT);

	return accept && strstr(accept, OPEN_METRICS) ? OPEN : PLAIN;
}

/* A body is not read: microhttpd closes the connection behind the answer. */
static enum MHD_Result answer(void *cls, struct MHD_Connection *c,
			      const char *url, const char *method,
			      const char *version, const char *upload_data,
			      size_t *upload_data_size, void **con_cls)
{
	struct MHD_Response *r;

	(void)cls;
	(void)version;
	(void)upload_data;
	(void)upload_data_size;
	(void)con_cls;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
	    strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return MHD_queue_response(c, MHD_HTTP_METHOD_NOT_ALLOWED,
					  metrics.refused);
	if (strcmp(url, "/") == 0)
		return MHD_queue_response(c, MHD_HTTP_OK, metrics.index);
	if (strcmp(url, "/metrics") != 0)
		return MHD_queue_response(c, MHD_HTTP_NOT_FOUND,
					  metrics.missing);
	r = page(wanted_by(c));
	return r ? MHD_queue_response(c, MHD_HTTP_OK, r)
		 : MHD_queue_response(c, MHD_HTTP_SERVICE_UNAVAILABLE,
				      metrics.busy);
}

/* ---- connections ----------------------------------------------------------
 */

static struct conn *find(int fd)
{
	for (unsigned int i = 0; i < ROOSTD_METRICS_CONNS_MAX; i++)
		if (metrics.conns[i].fd == fd)
			return &metrics.conns[i];
	return NULL;
}

/* microhttpd sees the end of the connection, and closes it. */
static void cut(struct conn *conn)
{
	if (conn->is_cut)
		return;
	conn->is_cut = true;
	metrics.copy.nb_cut++;
	shutdown(conn->fd, SHUT_RDWR);
}

static void cut_oldest(void)
{
	struct conn *oldest = NULL;

	for (unsigned int i = 0; i < ROOSTD_METRICS_CONNS_MAX; i++) {
		struct conn *conn = &metrics.conns[i];

		if (conn->fd >= 0 && !conn->is_cut &&
		    (!oldest || conn->until_ns < oldest->until_ns))
			oldest = conn;
	}
	if (oldest)
		cut(oldest);
}

static void cut_late(uint64_t now_ns)
{
	for (unsigned int i = 0; i < ROOSTD_METRICS_CONNS_MAX; i++)
		if (metrics.conns[i].fd >= 0 &&
		    metrics.conns[i].until_ns <= now_ns)
			cut(&metrics.conns[i]);
}

/* Before microhttpd closes the socket. */
static void tell_closed(void *cls, struct MHD_Connection *c,
			void **socket_context,
			enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct conn *conn = info ? find(info->connect_fd) : NULL;

	(void)cls;
	(void)socket_context;
	if (conn && code == MHD_CONNECTION_NOTIFY_CLOSED)
		conn->fd = -1;
}

/* Returns false: none waits, or none can be taken now. */
static bool accept_one(uint64_t now_ns)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	struct conn *conn;
	int fd;

	fd = accept4(metrics.listener.fd, (struct sockaddr *)&addr, &len,
		     SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
		       errno == ENOBUFS))
		metrics.deaf_until_ns = now_ns + SHORT_NS;
	if (fd < 0)
		return false;
	conn = find(-1);
	*conn = (struct conn){
		.fd = fd,
		.until_ns = now_ns + ROOSTD_METRICS_PATIENCE_NS,
	};
	/* It closes the socket after an error, too. */
	if (MHD_add_connection(metrics.http, fd, (struct sockaddr *)&addr,
			       len) != MHD_YES)
		conn->fd = -1;
	return true;
}

/* The oldest one goes for a new one, in the next round. */
static void accept_some(uint64_t now_ns)
{
	for (unsigned int i = 0; i < ACCEPTS_MAX; i++) {
		if (!find(-1)) {
			cut_oldest();
			return;
		}
		if (!accept_one(now_ns))
			return;
	}
}

/* ---- the thread -----------------------------------------------------------
 */

static uint64_t next_ns(uint64_t now_ns)
{
	uint64_t until_ns = UINT64_MAX;
	MHD_UNSIGNED_LONG_LONG ms;

	if (MHD_get_timeout(metrics.http, &ms) == MHD_YES)
		until_ns = now_ns + ms * MS_NS;
	for (unsigned int i = 0; i < ROOSTD_METRICS_CONNS_MAX; i++)
		if (metrics.conns[i].fd >= 0 && !metrics.conns[i].is_cut &&
		    metrics.conns[i].until_ns < until_ns)
			until_ns = metrics.conns[i].until_ns;
	if (metrics.deaf_until_ns != 0 && metrics.deaf_until_ns < until_ns)
		until_ns = metrics.deaf_until_ns;
	return until_ns;
}

static void wait_until(uint64_t now_ns, struct pollfd fds[3])
{
	const uint64_t until_ns = next_ns(now_ns);
	const uint64_t wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	const struct timespec timeout = {
		.tv_sec = (time_t)(wait_ns / 1000000000u),
		.tv_nsec = (long)(wait_ns % 1000000000u),
	};

	fds[1].fd = metrics.deaf_until_ns ? -1 : metrics.listener.fd;
	ppoll(fds, 3, until_ns == UINT64_MAX ? NULL : &timeout, NULL);
}

static void *serve(void *arg)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(metrics.http, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[3] = {
		{ .fd = metrics.stop_fd, .events = POLLIN },
		{ .fd = -1, .events = POLLIN },
		{ .fd = info->epoll_fd, .events = POLLIN },
	};

	pthread_setname_np(pthread_self(), "roost-metrics");
	while (!(fds[0].revents & POLLIN)) {
		uint64_t now_ns = roost_now_ns();

		wait_until(now_ns, fds);
		now_ns = roost_now_ns();
		if (metrics.deaf_until_ns <= now_ns)
			metrics.deaf_until_ns = 0;
		cut_late(now_ns);
		if (fds[1].revents & POLLIN)
			accept_some(now_ns);
		MHD_run(metrics.http);
	}
	return arg;
}

/* ---- start, stop ----------------------------------------------------------
 */

static int listen_at_tcp(const struct sockaddr_storage *addr, socklen_t len)
{
	const int one = 1;
	int fd = socket(addr->ss_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int ret;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)addr, len) == 0 &&
	    listen(fd, BACKLOG) == 0) {
		metrics.listener = (struct roostd_listener){ .fd = fd };
		return 0;
	}
	ret = -errno;
	close(fd);
	return ret;
}

static int listen_at(const char *address, mode_t mode, gid_t gid)
{
	struct sockaddr_storage addr;
	socklen_t len;
	int ret = roost_metrics_addr_parse(address, &addr, &len);

	if (ret)
		return ret;
	return addr.ss_family == AF_UNIX
		       ? roostd_listen_at(address, SOCK_STREAM, mode, gid,
					  &metrics.listener)
		       : listen_at_tcp(&addr, len);
}

static void stop_listening(void)
{
	if (metrics.listener.path)
		roostd_listen_end(&metrics.listener);
	else
		close(metrics.listener.fd);
}

static int make_answers(void)
{
	metrics.index = make_line("roostd: metrics are at /metrics\n");
	metrics.missing = make_line("not found; metrics are at /metrics\n");
	metrics.busy = make_line("the daemon is busy; try again\n");
	metrics.refused = make_line("only GET and HEAD\n");
	if (!metrics.index || !metrics.missing || !metrics.busy ||
	    !metrics.refused)
		return -ENOMEM;
	MHD_add_response_header(metrics.refused, MHD_HTTP_HEADER_ALLOW,
				"GET, HEAD");
	return 0;
}

static void drop_answers(void)
{
	drop_response(&metrics.index);
	drop_response(&metrics.missing);
	drop_response(&metrics.busy);
	drop_response(&metrics.refused);
	drop_response(&metrics.pages[PLAIN]);
	drop_response(&metrics.pages[OPEN]);
	metrics.made_ns = 0;
}

/* What microhttpd would log of a client's mistakes is left out. */
static int start_http(void)
{
	metrics.http = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, answer,
		NULL, MHD_OPTION_CONNECTION_LIMIT, ROOSTD_METRICS_CONNS_MAX,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES,
		MHD_OPTION_NOTIFY_CONNECTION, tell_closed, NULL,
		MHD_OPTION_END);
	return metrics.http ? 0 : -ENOMEM;
}

static void clean_up(void)
{
	if (metrics.http)
		MHD_stop_daemon(metrics.http);
	metrics.http = NULL;
	drop_answers();
	if (metrics.stop_fd >= 0)
		close(metrics.stop_fd);
	stop_listening();
}

static int start_thread(const struct roostd_port *ports)
{
	int ret = roost_control_get();

	if (ret)
		return ret;
	metrics.copy.first = ports;
	ret = -pthread_create(&metrics.thread, NULL, serve, NULL);
	if (ret)
		roost_control_put();
	return ret;
}

void roostd_metrics_start(const char *address, mode_t mode, gid_t gid,
			  const struct roostd_port *ports)
{
	int ret = listen_at(address, mode, gid);

	if (ret) {
		roost_report("metrics at %s: %s; name another address, and see "
			     "roostd(8)",
			     address,
			     ret == -EINVAL ? "no path and no loopback address"
					    : strerror(-ret));
		return;
	}
	for (unsigned int i = 0; i < ROOSTD_METRICS_CONNS_MAX; i++)
		metrics.conns[i].fd = -1;
	metrics.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ret = metrics.stop_fd < 0 ? -errno : make_answers();
	if (!ret)
		ret = start_http();
	if (!ret)
		ret = start_thread(ports);
	metrics.is_running = ret == 0;
	if (ret) {
		roost_report("metrics at %s: %s; see the limits of the process",
			     address, strerror(-ret));
		clean_up();
	}
}

/* The thread may wait for ours meanwhile. */
void roostd_metrics_stop(void)
{
	const struct timespec tick = { .tv_nsec = MS_NS };

	if (!metrics.is_running)
		return;
	metrics.is_running = false;
	eventfd_write(metrics.stop_fd, 1);
	while (pthread_tryjoin_np(metrics.thread, NULL) == EBUSY) {
		roostd_handover_serve();
		nanosleep(&tick, NULL);
	}
	roost_control_put();
	clean_up();
}
