/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The control socket, as the process serves it: a device of the engine, and
 * ports that only note what they are told. Input: connections, each some
 * pieces that come one after the other, with time between them; the last byte
 * of a piece may be made a newline, and the controller may go early.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <roost/cq.h>
#include <roost/mr.h>
#include <roost/qp.h>
#include "pmd_glue/dump/dump.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/ctl/ctl.h"
#include "pmd_glue/process/fork_guard.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/backend/backend.h"
#include "tests/fuzz/fuzz.h"
#include "tests/no_burst.h"

#define ANSWER_MAX (1u << 20)
#define RUNS_MAX 64u
#define CLIENTS_MAX 2u

/* Of the control thread: who waits at the door, and who is served. */
static struct roost_control_client *clients[CLIENTS_MAX];
static unsigned int nb_clients;
static struct roost_ctl_device device;
static struct roost_backend_port port;
static bool admin_up = true;
static unsigned int nb_done; /* what ports were told */
static uint64_t now_ns = 1000000000ull;
static char answer[ANSWER_MAX];

/* ---- what stands around it -------------------------------------------- */

void roost_control_add(struct roost_control_client *added)
{
	FUZZ_CHECK(nb_clients < CLIENTS_MAX);
	clients[nb_clients++] = added;
}

void roost_control_remove(struct roost_control_client *removed)
{
	FUZZ_CHECK(nb_clients > 0 && clients[0] == removed);
	clients[0] = clients[--nb_clients];
}

void roost_control_wake(void)
{
}

int roost_fork_guard_add(int fd)
{
	return fd >= 0 ? 0 : -EBADF;
}

void roost_fork_guard_remove(int fd)
{
	(void)fd;
}

/* Captures have a target of their own. */
int roost_dump_start(int socket, char **words, char error[ROOST_DUMP_ERROR_MAX])
{
	(void)socket;
	snprintf(error, ROOST_DUMP_ERROR_MAX, "dump %.40s: not here",
		 words[0] ? words[0] : "");
	return -EINVAL;
}

void roost_report(const char *format, ...)
{
	(void)format;
}

static void view(const struct roost_backend_port *p,
		 struct roost_backend_view *v)
{
	FUZZ_CHECK(p == &port);
	*v = (struct roost_backend_view){
		.admin_up = admin_up,
		.mtu_bytes = 1500,
		.steering = "none",
	};
}

static void set_admin(struct roost_backend_port *p, bool up)
{
	FUZZ_CHECK(p == &port);
	nb_done++;
	admin_up = up;
}

static int add_addr(struct roost_backend_port *p,
		    const struct roost_prefix *prefix)
{
	FUZZ_CHECK(p == &port);
	nb_done++;
	FUZZ_CHECK(prefix->len_bits >= 1 && prefix->len_bits <= 128);
	return prefix->gid.b[15] & 1
		       ? 0
		       : (prefix->gid.b[15] & 2 ? -EEXIST : -ENOSPC);
}

static int del_addr(struct roost_backend_port *p, const struct roost_gid *addr)
{
	FUZZ_CHECK(p == &port);
	nb_done++;
	return addr->b[15] & 1 ? 0 : -ENOENT;
}

static void remove_port(struct roost_backend_port *p, const char *why)
{
	FUZZ_CHECK(p == &port);
	(void)why;
	nb_done++;
}

static const struct roost_backend backend = {
	.name = "fuzz",
	.view = view,
	.set_admin = set_admin,
	.add_addr = add_addr,
	.del_addr = del_addr,
	.remove = remove_port,
};

static void open_device(void)
{
	const struct roost_dev_conf conf = {
		.name = "roost0",
		.nb_ports = 1,
		.frame_io = { { .rx_burst = no_burst, .tx_burst = no_burst } },
		.node_guid = 1,
		.seed = { 1, 2 },
	};
	struct roost_qp_init init = { .type = ROOST_QPT_UD };
	struct roost_ctx *ctx;
	struct roost_cq *cq;
	struct roost_pd *pd;
	struct roost_qp *qp;

	FUZZ_CHECK(roost_dev_create(&conf, &device.dev) == 0);
	FUZZ_CHECK(roost_ctx_open(device.dev, &ctx) == 0);
	FUZZ_CHECK(roost_pd_alloc(ctx, &pd) == 0);
	FUZZ_CHECK(roost_cq_create(ctx, 4, NULL, NULL, &cq) == 0);
	init.send_cq = init.recv_cq = cq;
	FUZZ_CHECK(roost_qp_create(ctx, pd, &init, &qp) == 0);
	strcpy(port.label, "port0 (net_null0)");
	port.backend = &backend;
	port.dev = device.dev;
	port.port_num = 1;
	device.ports[0] = &port;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	open_device();
	roost_ctl_add(&device);
	FUZZ_CHECK(nb_clients != 0);
	return 0;
}

/* ---- a controller ----------------------------------------------------- */

static int connected(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
			   "roost/ctl/%d", getpid());
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	FUZZ_CHECK(connect(fd, (struct sockaddr *)&addr,
			   (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				       1 + (size_t)len)) == 0);
	return fd;
}

static void run(uint64_t ns)
{
	bool is_waiting = false;
	uint64_t next_ns;

	now_ns += ns;
	for (unsigned int i = 0; i < nb_clients; i++) {
		clients[i]->seen = clients[i]->events;
		next_ns = clients[i]->run(clients[i]->ctx, now_ns);
		FUZZ_CHECK(next_ns == UINT64_MAX ||
			   next_ns <= now_ns + ROOST_CTL_TIMEOUT_NS);
		is_waiting = is_waiting ||
			     (clients[i]->fd >= 0 && clients[i]->events != 0);
	}
	FUZZ_CHECK(is_waiting);
}

/* "ok" and JSON, or one line, or nothing where we were hung up on. */
static void check_answer(size_t len_bytes)
{
	if (len_bytes == 0)
		return;
	FUZZ_CHECK(memchr(answer, '\0', len_bytes) == NULL);
	if (strncmp(answer, "ok\n", 3) == 0) {
		FUZZ_CHECK(len_bytes == 3 ||
			   (answer[3] == '{' && answer[len_bytes - 1] == '}'));
		return;
	}
	FUZZ_CHECK(strncmp(answer, "error ", 6) == 0);
	FUZZ_CHECK(strchr(answer, '\n') == answer + len_bytes - 1);
}

static bool receive(int fd, size_t *len_bytes)
{
	ssize_t n;

	while ((n = recv(fd, answer + *len_bytes, ANSWER_MAX - 1 - *len_bytes,
			 0)) > 0)
		*len_bytes += (size_t)n;
	answer[*len_bytes] = '\0';
	return n == 0 || errno != EAGAIN;
}

static void say(int fd, struct fuzz_in *piece, bool ends_line)
{
	char bytes[512];
	size_t len = fuzz_take(piece, bytes, sizeof(bytes) - 1);

	if (ends_line)
		bytes[len++] = '\n';
	if (len > 0)
		(void)!send(fd, bytes, len, MSG_NOSIGNAL);
}

static void connection(struct fuzz_in *in)
{
	unsigned int before = nb_done;
	size_t len_bytes = 0;
	bool is_over = false;
	int fd = connected();
	uint8_t how;

	run(0);
	do {
		struct fuzz_in piece;

		how = fuzz_u8(in);
		piece = fuzz_piece(in);
		say(fd, &piece, how & 1);
		if (how & 2)
			shutdown(fd, SHUT_WR);
		run(how & 4 ? ROOST_CTL_TIMEOUT_NS / 2 : 1000);
	} while (how & 8 && in->left_bytes > 0);
	if (!(how & 16))
		for (unsigned int i = 0; i < RUNS_MAX && !is_over; i++) {
			run(1000);
			is_over = receive(fd, &len_bytes);
		}
	close(fd);
	/* It is let go at the latest when its patience is over. */
	run(ROOST_CTL_TIMEOUT_NS);
	run(0);
	check_answer(len_bytes);
	FUZZ_CHECK(nb_done - before <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct fuzz_in in = { data, len_bytes };

	while (in.left_bytes > 0)
		connection(&in);
	admin_up = true;
	return 0;
}
