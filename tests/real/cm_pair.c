/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Two ends of a link, as an appliance has them: the connection manager of
 * libroost without librdmacm. The server waits for a number of connections;
 * the client makes them one after another, and exits without a farewell of its
 * own while the last one stands.
 *
 * usage: cm_pair server|client N
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <roost/cm.h>
#include <roost/config.h>
#include <roost/roost.h>

#define PORT 7471
#define WAIT_S 20

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int seen[ROOST_CM_EVENT_TYPES];
} state = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

static void die(const char *what, int rc)
{
	fprintf(stderr, "cm_pair: %s: %s\n", what, strerror(-rc));
	exit(EXIT_FAILURE);
}

static void note(enum roost_cm_event_type type)
{
	pthread_mutex_lock(&state.lock);
	state.seen[type]++;
	pthread_cond_broadcast(&state.changed);
	pthread_mutex_unlock(&state.lock);
}

/* Until an event has come n times. */
static void wait_for(enum roost_cm_event_type type, unsigned int n)
{
	struct timespec until;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WAIT_S;
	pthread_mutex_lock(&state.lock);
	while (state.seen[type] < n && rc == 0)
		rc = pthread_cond_timedwait(&state.changed, &state.lock,
					    &until);
	pthread_mutex_unlock(&state.lock);
	if (rc != 0) {
		fprintf(stderr, "cm_pair: event %d did not come\n", type);
		exit(EXIT_FAILURE);
	}
}

/* ---- server ----------------------------------------------------------- */

static void on_passive(void *arg, struct roost_cm_conn *conn,
		       const struct roost_cm_event *event)
{
	(void)arg;
	if (event->type == ROOST_CM_DREQ_RECEIVED)
		roost_cm_disconnect(conn, NULL, 0);
	note(event->type);
	if (event->type == ROOST_CM_TIMEWAIT_EXIT)
		roost_cm_conn_destroy(conn);
}

static void on_request(void *arg, struct roost_cm_conn *conn,
		       const struct roost_cm_event *event)
{
	const struct roost_cm_rep_param rep = {
		.qpn = event->peer.qpn,
		.data = event->data,
		.data_len_bytes = event->data_len_bytes,
	};
	int rc;

	(void)arg;
	roost_cm_conn_set_owner(conn, on_passive, NULL);
	roost_cm_conn_fetched(conn);
	rc = roost_cm_accept(conn, &rep);
	if (rc != 0)
		die("accept", rc);
	note(event->type);
}

static void serve(struct roost_cm *cm, unsigned int n)
{
	const struct roost_cm_listen_param param = {
		.service_id = roost_cm_service_id(ROOST_CM_PS_TCP, PORT),
	};
	struct roost_cm_listener *listener;
	int rc = roost_cm_listen(cm, &param, on_request, NULL, &listener);

	if (rc != 0)
		die("listen", rc);
	puts("listening");
	fflush(stdout);
	wait_for(ROOST_CM_RTU_RECEIVED, n);
	wait_for(ROOST_CM_DREQ_RECEIVED, n);
	wait_for(ROOST_CM_TIMEWAIT_EXIT, n);
	roost_cm_listener_destroy(listener);
}

/* ---- client ----------------------------------------------------------- */

static void on_active(void *arg, struct roost_cm_conn *conn,
		      const struct roost_cm_event *event)
{
	(void)arg;
	if (event->type == ROOST_CM_REP_RECEIVED) {
		if (memcmp(event->data, "hello", 6) != 0)
			die("private data", -1);
		roost_cm_establish(conn, NULL, 0);
	}
	note(event->type);
}

static void connect_once(struct roost_cm *cm, const struct roost_cm_path *path,
			 unsigned int i, bool ends)
{
	const struct roost_cm_req_param param = {
		.path = *path,
		.service_id = roost_cm_service_id(ROOST_CM_PS_TCP, PORT),
		.ip = &(struct roost_cm_ip_hdr){ .src = path->sgid,
						 .dst = path->dgid,
						 .src_port = 1024 },
		.qpn = 100 + i,
		.data = "hello",
		.data_len_bytes = 6,
	};
	struct roost_cm_conn *conn;
	int rc = roost_cm_conn_create(cm, on_active, NULL, &conn);

	if (rc == 0)
		rc = roost_cm_resolve(conn, NULL, &path->dgid, 5000);
	if (rc != 0)
		die("resolve", rc);
	wait_for(ROOST_CM_ADDR_RESOLVED, i + 1);
	rc = roost_cm_connect(conn, &param);
	if (rc != 0)
		die("connect", rc);
	wait_for(ROOST_CM_REP_RECEIVED, i + 1);
	if (!ends)
		return;
	roost_cm_disconnect(conn, NULL, 0);
	wait_for(ROOST_CM_DREP_RECEIVED, i + 1);
	roost_cm_conn_destroy(conn);
}

/* The other end of a link has the other one of its two addresses. */
static void find_peer(struct roost_dev *dev, struct roost_cm *cm,
		      struct roost_cm_path *path)
{
	const unsigned int nb = roost_dev_limits(dev)->max_gids;
	struct roost_gid gid;
	int rc = -1;

	for (unsigned int i = 0; i < nb && rc != 0; i++) {
		if (roost_port_query_gid(dev, 1, i, &gid) != 0 ||
		    !roost_gid_is_v4(&gid))
			continue;
		gid.b[15] ^= 3;
		rc = roost_cm_route(cm, NULL, &gid, path);
	}
	if (rc != 0)
		die("route", rc);
}

static void make_connections(struct roost_dev *dev, struct roost_cm *cm,
			     unsigned int n)
{
	struct roost_cm_path path;

	find_peer(dev, cm, &path);
	for (unsigned int i = 0; i < n; i++)
		connect_once(cm, &path, i, i + 1 < n);
	/* The rest is the library's to say, when the process ends. */
	exit(EXIT_SUCCESS);
}

int main(int argc, char **argv)
{
	static struct roost_config config;
	char err[ROOST_CONFIG_ERR_MAX];
	struct roost_device *device;
	struct roost_cm *cm;
	unsigned int n;
	int rc;

	if (argc != 3) {
		fprintf(stderr, "usage: cm_pair server|client N\n");
		return 2;
	}
	n = (unsigned int)strtoul(argv[2], NULL, 10);
	rc = roost_config_load(&config, err);
	if (rc != 0)
		die(err, rc);
	rc = roost_device_open(&config, 0, &device);
	if (rc != 0)
		die("device", rc);
	rc = roost_cm_get(roost_device_dev(device), &cm);
	if (rc != 0)
		die("cm", rc);
	if (strcmp(argv[1], "server") == 0)
		serve(cm, n);
	else
		make_connections(roost_device_dev(device), cm, n);
	roost_cm_put(cm);
	roost_device_close(device);
	return EXIT_SUCCESS;
}
