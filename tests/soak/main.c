/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * A process of the soak: it serves sessions (session.h) at some addresses, and
 * has clients that make one session after the other with somebody else's. It
 * knows nothing of Roost; tests/soak/run disturbs it from outside.
 *
 * usage: soak [-s ADDR]... [-c ADDR]... [-v ADDR]... [-r ADDR] [-R ADDR]
 *             [-f ADDR] [-l KIND]
 *   -s  serve sessions here
 *   -c  a client of ADDR, where nobody ever dies: no session may fail
 *   -v  a client of ADDR, where somebody dies now and then
 *   -r  serve streams of rsockets here; -R: a client of these
 *   -f  children are forked, with a connection to ADDR at hand
 *   -l  leak one thing a second: pd, cq, channel, mr, or 64 KiB
 *
 * SIGUSR1 has the clients rest, and SIGUSR2 go on. SIGTERM ends them, and
 * "idle" is said; a second one ends all. What was done so far is said each
 * second, a line for each part and one of what the process holds:
 *   NAME key=number ...
 * Exit status 0: no byte differed, and nothing else was wrong.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_malloc.h>
#include <rte_mempool.h>

#include "tests/soak/parts.h"
#include "tests/soak/session.h"

#define PARTS_MAX 12
#define REST_US 50000
#define LEAK_BYTES 65536

atomic_bool soak_clients_over, soak_over, soak_rest;
atomic_uint soak_serving, soak_at_work;

static struct part parts[PARTS_MAX];
static unsigned int nb_parts;
static const char *leak;

/* A whole line by one write(2), so that no child of a fork says it again. */
static void say(const char *format, ...)
{
	char line[256];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (write(STDOUT_FILENO, line, strlen(line)) < 0)
		exit(1);
}

void soak_fail(const char *what)
{
	fprintf(stderr, "soak: %s (errno: %s)\n", what, strerror(errno));
	exit(1);
}

struct sockaddr_in soak_address(const char *text, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(port) };

	if (inet_pton(AF_INET, text, &in.sin_addr) != 1)
		soak_fail(text);
	return in;
}

bool soak_goes_on(void)
{
	while (soak_rest && !soak_clients_over)
		usleep(REST_US);
	soak_at_work++;
	if (!soak_clients_over)
		return true;
	soak_at_work--;
	return false;
}

void soak_has_done(void)
{
	soak_at_work--;
}

/* ---- parts --------------------------------------------------------------- */

static const struct role {
	char option;
	bool is_client; /* ends at the first signal */
	const char *name;
	void *(*main)(void *part);
} roles[] = {
	{ 's', false, "serve", serve_main },
	{ 'c', true, "safe", client_main },
	{ 'v', true, "victim", client_main },
	{ 'r', false, "stream-serve", stream_serve_main },
	{ 'R', true, "stream", stream_main },
	{ 'f', true, "fork", fork_main },
};

#define NB_ROLES (sizeof(roles) / sizeof(roles[0]))

static void add_part(char option, const char *address)
{
	struct part *part = &parts[nb_parts];

	for (size_t i = 0; i < NB_ROLES; i++)
		if (roles[i].option == option)
			part->role = &roles[i];
	if (!part->role || ++nb_parts > PARTS_MAX)
		exit(2);
	part->address = address;
	part->may_break = option == 'v';
	snprintf(part->name, sizeof(part->name), "%s-%s", part->role->name,
		 address);
}

static void join(bool clients)
{
	for (unsigned int i = 0; i < nb_parts; i++)
		if (parts[i].role->is_client == clients)
			pthread_join(parts[i].thread, NULL);
}

/* Of DPDK, which is there where the device is one of Roost's. */
static uint64_t dpdk_heap_bytes(void)
{
	__typeof__(&rte_malloc_get_socket_stats) stats =
		dlsym(RTLD_DEFAULT, "rte_malloc_get_socket_stats");
	struct rte_malloc_socket_stats of_socket;

	if (!stats || stats(0, &of_socket) != 0)
		return 0;
	return of_socket.heap_allocsz_bytes;
}

static void add_in_use(struct rte_mempool *pool, void *sum)
{
	__typeof__(&rte_mempool_in_use_count) in_use =
		dlsym(RTLD_DEFAULT, "rte_mempool_in_use_count");

	*(unsigned int *)sum += in_use(pool);
}

static unsigned int mbufs_in_use(void)
{
	__typeof__(&rte_mempool_walk) walk =
		dlsym(RTLD_DEFAULT, "rte_mempool_walk");
	unsigned int sum = 0;

	if (walk)
		walk(add_in_use, &sum);
	return sum;
}

/* The sanitizers have an allocator of their own. */
static size_t malloc_bytes(void)
{
	size_t (*in_use)(void) =
		dlsym(RTLD_DEFAULT, "__sanitizer_get_current_allocated_bytes");
	const struct mallinfo2 heap = mallinfo2();

	return in_use ? in_use() : heap.uordblks + heap.hblkhd;
}

static void say_held(void)
{
	say("held at_work=%u serving=%u malloc_bytes=%zu dpdk_bytes=%lu "
	    "mbufs=%u\n",
	    atomic_load(&soak_at_work), atomic_load(&soak_serving),
	    malloc_bytes(), dpdk_heap_bytes(), mbufs_in_use());
}

static void say_parts(void)
{
	for (unsigned int i = 0; i < nb_parts; i++) {
		const struct tally *t = &parts[i].tally;

		say("%s sessions=%u rounds=%u lost=%u broken=%u refused=%u\n",
		    parts[i].name, t->sessions, t->rounds, t->lost, t->broken,
		    t->refused);
	}
	say("events migrated=%u\n", atomic_load(&soak_migrated));
	say_held();
}

/* ---- what a test of the soak itself leaks -------------------------------- */

static void leak_one(struct ibv_context *context)
{
	static struct ibv_pd *pd;
	bool good = true;

	if (!pd)
		pd = ibv_alloc_pd(context);
	if (strcmp(leak, "pd") == 0)
		good = ibv_alloc_pd(context);
	else if (strcmp(leak, "cq") == 0)
		good = ibv_create_cq(context, 16, NULL, NULL, 0);
	else if (strcmp(leak, "channel") == 0)
		good = ibv_create_comp_channel(context);
	else if (strcmp(leak, "mr") == 0)
		good = ibv_reg_mr(pd, parts, sizeof(parts), 0);
	else
		memset(malloc(LEAK_BYTES), 1, LEAK_BYTES);
	if (!good)
		soak_fail("what is to leak is not there");
}

/* ---- signals ------------------------------------------------------------- */

/* SIGTERM came within the second. */
static bool told_to_end(const sigset_t *signals)
{
	const struct timespec second = { .tv_sec = 1 };
	const int number = sigtimedwait(signals, NULL, &second);

	if (number == SIGUSR1 || number == SIGUSR2)
		soak_rest = number == SIGUSR1;
	return number == SIGTERM;
}

static void wait_for_end(struct ibv_context *context, const sigset_t *signals)
{
	while (!told_to_end(signals)) {
		say_parts();
		if (leak)
			leak_one(context);
	}
}

int main(int argc, char **argv)
{
	struct ibv_context **contexts;
	sigset_t signals;
	int c;

	while ((c = getopt(argc, argv, "s:c:v:r:R:f:l:")) != -1)
		if (c == 'l')
			leak = optarg;
		else
			add_part((char)c, optarg);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	contexts = rdma_get_devices(NULL);
	if (!contexts)
		soak_fail("no device");
	events_start(contexts);
	for (unsigned int i = 0; i < nb_parts; i++)
		if (pthread_create(&parts[i].thread, NULL, parts[i].role->main,
				   &parts[i]))
			soak_fail("pthread_create");
	say("ready\n");
	wait_for_end(contexts[0], &signals);
	soak_clients_over = true;
	join(true);
	say_parts();
	say("idle\n");
	while (!told_to_end(&signals))
		say_parts();
	soak_over = true;
	join(false);
	events_stop(contexts);
	rdma_free_devices(contexts);
	say_parts();
	say("done\n");
	return 0;
}
