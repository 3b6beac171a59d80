/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Connections set up and torn down, many of them: an ordinary program of
 * rdma_cm, linked with the system's librdmacm.
 *
 * usage: cm_churn -s ADDR [-q]
 *        cm_churn -c ADDR [-q] [-n CONNECTIONS] [-w AT_ONCE] [-r RUNS] [-o]
 *                 [-t CONNECTIONS] [-f] [-l]
 *
 * -s  the server: says that it listens, and takes connections until a client
 *     says that it is the last
 * -c  the client: makes CONNECTIONS (1000), AT_ONCE (1) of them at any time
 * -q  each connection has completion queues of its own
 * -r  all of it so many times (1)
 * -o  all connections are open at once: none ends before all stand
 * -t  while they stand, so many more are made, one after another
 * -f  nobody looks at what the processes hold, nor waits for that
 * -k  and none ends at all: the process prints events until it is killed
 * -l  tell the server to end
 *
 * The client prints a line "run ..." for each run, with the time of its
 * connections from rdma_connect to ESTABLISHED. Both print a line "held
 * ..." before the first and after each run, when timewait is over: what the
 * process has then. -o prints one more while all stand.
 */

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#define PORT 7471
#define RESOLVE_MS 10000
#define TIMEWAIT_S 3
/* What the first byte of a request's private data says. */
#define JUST_CONNECT 'c'
#define WARM_UP 'w'
#define PRINT_HELD 'h'
#define THE_LAST 'l'

struct options {
	bool server, open, keep, own_cqs, last, fast;
	const char *address;
	unsigned int nb, at_once, nb_runs, nb_more;
};

static struct options opt = { .nb = 1000, .at_once = 1, .nb_runs = 1 };
static struct rdma_event_channel *channel;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

#define OK(call)                                                               \
	do {                                                                   \
		if ((call) != 0)                                               \
			die(#call);                                            \
	} while (0)

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* ---- what the process holds --------------------------------------------- */

static unsigned int count_dir(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int nb = 0;

	if (dir == NULL)
		die(path);
	while (readdir(dir) != NULL)
		nb++;
	closedir(dir);
	return nb;
}

static unsigned long rss_kib(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long size = 0, resident = 0;

	if (file == NULL || fscanf(file, "%lu %lu", &size, &resident) != 2)
		die("/proc/self/statm");
	fclose(file);
	return resident * ((unsigned long)sysconf(_SC_PAGESIZE) / 1024);
}

static void print_held(void)
{
	const struct mallinfo2 heap = mallinfo2();

	if (opt.fast)
		return;
	printf("held fds %u heap_bytes %zu rss_kib %lu\n",
	       count_dir("/proc/self/fd"), heap.uordblks + heap.hblkhd,
	       rss_kib());
	fflush(stdout);
}

/* ---- both ends ---------------------------------------------------------- */

/* Returns 0, or -1 with errno. */
static int try_give_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	if (pd == NULL) {
		pd = ibv_alloc_pd(id->verbs);
		cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);
		if (pd == NULL || cq == NULL)
			die("ibv_create_cq");
	}
	if (!opt.own_cqs) {
		attr.send_cq = cq;
		attr.recv_cq = cq;
	}
	return rdma_create_qp(id, pd, &attr);
}

static void give_qp(struct rdma_cm_id *id)
{
	OK(try_give_qp(id));
}

static void take_away(struct rdma_cm_id *id)
{
	if (id->qp != NULL)
		rdma_destroy_qp(id);
	OK(rdma_destroy_id(id));
}

static struct sockaddr *address(void)
{
	static struct sockaddr_storage addr;
	struct sockaddr_in *in = (struct sockaddr_in *)&addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr;

	if (inet_pton(AF_INET, opt.address, &in->sin_addr) == 1) {
		addr.ss_family = AF_INET;
		in->sin_port = htons(PORT);
	} else if (inet_pton(AF_INET6, opt.address, &in6->sin6_addr) == 1) {
		addr.ss_family = AF_INET6;
		in6->sin6_port = htons(PORT);
	}
	return (struct sockaddr *)&addr;
}

static struct rdma_cm_event *next_event(void)
{
	struct rdma_cm_event *event;

	OK(rdma_get_cm_event(channel, &event));
	return event;
}

/* ---- the server --------------------------------------------------------- */

/* Returns false if its sender has given it up meanwhile, or it had to make room
 * for newer ones; then every call says EINVAL, as the kernel's does.
 */
static bool take_request(const struct rdma_cm_event *event)
{
	const uint8_t *said = event->param.conn.private_data;
	struct rdma_conn_param param = { .responder_resources = 1 };

	if (said[0] == PRINT_HELD)
		print_held();
	event->id->context = (void *)(uintptr_t)said[0];
	if (try_give_qp(event->id) == 0 && rdma_accept(event->id, &param) == 0)
		return true;
	if (errno != EINVAL)
		die("a request");
	return false;
}

/* Returns true if the id has nothing more to do. */
static bool is_over(const struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return !take_request(event);
	if (event->event == RDMA_CM_EVENT_ESTABLISHED)
		return false;
	if (event->event == RDMA_CM_EVENT_DISCONNECTED)
		rdma_disconnect(event->id);
	else
		fprintf(stderr, "%s: status %d\n", rdma_event_str(event->event),
			event->status);
	return event->event != RDMA_CM_EVENT_ADDR_CHANGE;
}

static void serve(void)
{
	struct rdma_cm_id *listener, *gone;
	struct rdma_cm_event *event;
	unsigned int nb_ids = 1;
	bool last = false;

	OK(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP));
	OK(rdma_bind_addr(listener, address()));
	OK(rdma_listen(listener, 0));
	puts("listens");
	fflush(stdout);
	while (!last && nb_ids > 0) {
		event = next_event();
		gone = is_over(event) ? event->id : NULL;
		nb_ids += event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
		OK(rdma_ack_cm_event(event));
		if (gone == NULL)
			continue;
		last = gone->context == (void *)(uintptr_t)THE_LAST;
		take_away(gone);
		nb_ids--;
	}
	if (last)
		OK(rdma_destroy_id(listener));
}

/* ---- the client --------------------------------------------------------- */

struct run {
	unsigned int nb, begun, stand, ended;
	struct rdma_cm_id **open; /* with -o */
	uint32_t *trips_us;       /* from rdma_connect to ESTABLISHED */
	uint8_t said;
};

static void begin(struct run *run)
{
	struct rdma_cm_id *id;

	OK(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	OK(rdma_resolve_addr(id, NULL, address(), RESOLVE_MS));
	run->begun++;
}

/* From here on the id's context is the time. */
static void ask(struct run *run, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .responder_resources = 1,
					 .retry_count = 7,
					 .private_data = &run->said,
					 .private_data_len = 1 };

	give_qp(id);
	id->context = (void *)(uintptr_t)now_us();
	OK(rdma_connect(id, &param));
}

static void stands(struct run *run, struct rdma_cm_id *id)
{
	run->trips_us[run->stand++] =
		(uint32_t)(now_us() - (uintptr_t)id->context);
	if (run->open == NULL) {
		OK(rdma_disconnect(id));
		return;
	}
	run->open[run->stand - 1] = id;
	if (run->begun < run->nb)
		begin(run);
}

static void ends(struct run *run, struct rdma_cm_id *id)
{
	take_away(id);
	run->ended++;
	if (run->open == NULL && run->begun < run->nb)
		begin(run);
}

static void handle(struct run *run, struct rdma_cm_event *event)
{
	struct rdma_cm_id *id = event->id;
	enum rdma_cm_event_type type = event->event;
	int status = event->status;

	OK(rdma_ack_cm_event(event));
	if (type == RDMA_CM_EVENT_ADDR_RESOLVED) {
		OK(rdma_resolve_route(id, RESOLVE_MS));
	} else if (type == RDMA_CM_EVENT_ROUTE_RESOLVED) {
		ask(run, id);
	} else if (type == RDMA_CM_EVENT_ESTABLISHED) {
		stands(run, id);
	} else if (type == RDMA_CM_EVENT_DISCONNECTED) {
		ends(run, id);
	} else {
		fprintf(stderr, "%s: status %d\n", rdma_event_str(type),
			status);
		exit(1);
	}
}

static int compare(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void print_run(const struct run *run, const char *what, uint64_t us)
{
	qsort(run->trips_us, run->nb, sizeof(uint32_t), compare);
	printf("run %s %u ms %.1f per_s %.0f p50_us %u p99_us %u\n", what,
	       run->nb, (double)us / 1e3, run->nb * 1e6 / (double)us,
	       run->trips_us[run->nb / 2],
	       run->trips_us[(uint64_t)run->nb * 99 / 100]);
	fflush(stdout);
}

static void print_event(void)
{
	struct rdma_cm_event *event = next_event();

	fprintf(stderr, "%s: status %d\n", rdma_event_str(event->event),
		event->status);
	OK(rdma_ack_cm_event(event));
}

static void close_all(struct run *run)
{
	uint64_t from_us = now_us();

	for (unsigned int i = 0; i < run->nb; i++)
		OK(rdma_disconnect(run->open[i]));
	while (run->ended < run->nb)
		handle(run, next_event());
	print_run(run, "close", now_us() - from_us);
	free(run->open);
}

static void make(unsigned int nb, unsigned int at_once, bool open, uint8_t said)
{
	struct run run = { .nb = nb, .said = said };
	uint64_t from_us = now_us();

	run.trips_us = calloc(nb, sizeof(uint32_t));
	if (open)
		run.open = calloc(nb, sizeof(struct rdma_cm_id *));
	for (unsigned int i = 0; i < at_once && i < nb; i++)
		begin(&run);
	while (open ? run.stand < nb : run.ended < nb)
		handle(&run, next_event());
	if (said == JUST_CONNECT)
		print_run(&run, open ? "open" : "churn", now_us() - from_us);
	if (open) {
		print_held();
		while (opt.keep)
			print_event();
		make(1, 1, false, PRINT_HELD);
		if (opt.nb_more > 0)
			make(opt.nb_more, 1, false, JUST_CONNECT);
		close_all(&run);
	}
	free(run.trips_us);
}

/* The one more that tells the server is the same each time. */
static void settle(void)
{
	if (opt.fast)
		return;
	sleep(TIMEWAIT_S);
	make(1, 1, false, PRINT_HELD);
	print_held();
}

static void connect_all(void)
{
	/* What is made once, and kept. */
	make(1, 1, false, WARM_UP);
	settle();
	for (unsigned int i = 0; i < opt.nb_runs; i++) {
		make(opt.nb, opt.at_once, opt.open, JUST_CONNECT);
		settle();
	}
	if (opt.last)
		make(1, 1, false, THE_LAST);
}

static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "s:c:qn:w:r:t:fokl")) != -1) {
		if (c == 's' || c == 'c')
			opt.address = optarg;
		if (c == 's')
			opt.server = true;
		else if (c == 'q')
			opt.own_cqs = true;
		else if (c == 'n')
			opt.nb = (unsigned int)atoi(optarg);
		else if (c == 'w')
			opt.at_once = (unsigned int)atoi(optarg);
		else if (c == 'r')
			opt.nb_runs = (unsigned int)atoi(optarg);
		else if (c == 'o')
			opt.open = true;
		else if (c == 't')
			opt.nb_more = (unsigned int)atoi(optarg);
		else if (c == 'f')
			opt.fast = true;
		else if (c == 'k')
			opt.keep = true;
		else if (c == 'l')
			opt.last = true;
		else if (c == '?')
			exit(2);
	}
	if (opt.address == NULL)
		exit(2);
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	channel = rdma_create_event_channel();
	if (channel == NULL)
		die("rdma_create_event_channel");
	if (opt.server)
		serve();
	else
		connect_all();
	if (pd != NULL) {
		OK(ibv_destroy_cq(cq));
		OK(ibv_dealloc_pd(pd));
	}
	rdma_destroy_event_channel(channel);
	return 0;
}
