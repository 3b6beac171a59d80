/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
/* Handles of interrupts (experimental in 22.11, stable since). */
#define ALLOW_EXPERIMENTAL_API

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pmd_glue/quirks/intr_gate.h"
#include "pmd_glue/process/peer_trust.h"
#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/quirks/fake_driver.h"

/*
 * A driver with one control socket, as net_memif has them. No EAL: what went
 * past the gate would crash here.
 */
struct fake_driver {
	struct rte_intr_handle *handle;
	int fd;     /* the driver's end */
	int far_fd; /* the peer's */
	unsigned int calls;
	unsigned int last_calls;
	int unregister_ret;
	void (*in_callback)(struct fake_driver *d);
};

static struct fake_driver driver;
static struct roost_intr_owner owner;
static struct roost_peer_trust trust = { .label = "a port" };

static void callback(void *arg)
{
	struct fake_driver *d = arg;

	d->calls++;
	if (d->in_callback)
		d->in_callback(d);
}

static void last_callback(struct rte_intr_handle *handle, void *arg)
{
	struct fake_driver *d = arg;

	assert_ptr_equal(handle, d->handle);
	d->last_calls++;
	close(d->fd);
}

static void open_driver(struct fake_driver *d)
{
	int fds[2];

	memset(d, 0, sizeof(*d));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	d->fd = fds[0];
	d->far_fd = fds[1];
	d->handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	assert_non_null(d->handle);
	rte_intr_fd_set(d->handle, d->fd);
	assert_int_equal(fake_register(d->handle, callback, d), 0);
}

static int put_gate(void **state)
{
	return roost_intr_gate_put("libglue_fake_driver.so");
}

static int setup(void **state)
{
	roost_intr_owner_open(&owner, "socket", &trust);
	roost_intr_gate_enter(&owner);
	open_driver(&driver);
	roost_intr_gate_leave();
	return 0;
}

static int teardown(void **state)
{
	roost_intr_owner_close(&owner);
	close(driver.far_fd);
	rte_intr_instance_free(driver.handle);
	return 0;
}

static unsigned int poll_and_dispatch(void)
{
	struct pollfd fds[ROOST_INTR_GATE_FDS_MAX];
	unsigned int nb = roost_intr_gate_pollfds(fds);

	poll(fds, nb, 0);
	roost_intr_gate_dispatch(fds, nb);
	return nb;
}

static void peer_says_something(struct fake_driver *d)
{
	assert_int_equal(write(d->far_fd, "x", 1), 1);
}

static void gate__is_put_before_a_library(void **state)
{
	assert_int_equal(roost_intr_gate_put("libglue_fake_driver.so"), 0);
	assert_int_equal(roost_intr_gate_put("librte_net_nosuch.so"), -ENOENT);
	/* Loaded, but it registers nothing. */
	assert_int_equal(roost_intr_gate_put("libcmocka.so"), -ENOENT);
}

static void gate__calls_back_when_the_peer_speaks(void **state)
{
	assert_int_equal(poll_and_dispatch(), 1);
	assert_int_equal(driver.calls, 0);
	peer_says_something(&driver);
	poll_and_dispatch();
	assert_int_equal(driver.calls, 1);
}

static void gate__calls_back_when_the_peer_dies(void **state)
{
	close(driver.far_fd);
	poll_and_dispatch();
	assert_int_equal(driver.calls, 1);
	driver.far_fd = -1;
}

static void gate__unregister_from_outside(void **state)
{
	assert_true(roost_intr_owner_is_busy(&owner));
	roost_intr_gate_enter(&owner);
	assert_int_equal(fake_unregister(driver.handle, callback, &driver), 1);
	roost_intr_gate_leave();
	assert_false(roost_intr_owner_is_busy(&owner));
	peer_says_something(&driver);
	assert_int_equal(poll_and_dispatch(), 0);
	assert_int_equal(driver.calls, 0);
	close(driver.fd);
}

static void unregister(struct fake_driver *d)
{
	d->unregister_ret = fake_unregister(d->handle, callback, d);
	assert_int_equal(fake_unregister_pending(d->handle, callback, d,
						 last_callback),
			 1);
	assert_int_equal(d->last_calls, 0); /* not before it returned */
}

static void gate__unregister_inside_the_callback(void **state)
{
	driver.in_callback = unregister;
	peer_says_something(&driver);
	poll_and_dispatch();
	assert_int_equal(driver.unregister_ret, -EAGAIN);
	assert_int_equal(driver.last_calls, 1);
	assert_false(roost_intr_owner_is_busy(&owner));
}

/* net_memif's listener does so when a client dies before its first message;
 * EAL panics over it.
 */
static struct fake_driver second;

static void accept_and_fail(struct fake_driver *d)
{
	(void)d;
	open_driver(&second);
	close(second.fd);
}

static void gate__forgets_a_socket_closed_while_registered(void **state)
{
	int reused;

	driver.in_callback = accept_and_fail;
	peer_says_something(&driver);
	poll_and_dispatch();
	driver.in_callback = NULL;
	/* The number comes back as something else. */
	reused = dup(STDIN_FILENO);
	assert_int_equal(reused, second.fd);
	assert_int_equal(poll_and_dispatch(), 1);
	assert_int_equal(second.calls, 0);
	close(reused);
	close(second.far_fd);
	rte_intr_instance_free(second.handle);
}

static void gate__owner_closes_what_the_driver_forgot(void **state)
{
	char byte;

	roost_intr_owner_close(&owner);
	assert_int_equal(poll_and_dispatch(), 0);
	assert_int_equal(read(driver.far_fd, &byte, 1), 0); /* end of file */
	roost_intr_owner_open(&owner, "socket", &trust);    /* for teardown */
}

/* Two ports on one listening socket: it lives as long as one of them. */
static void gate__another_port_inherits(void **state)
{
	struct roost_intr_owner heir, stranger;

	roost_intr_owner_open(&stranger, "other", &trust);
	roost_intr_owner_open(&heir, "socket", &trust);
	roost_intr_owner_close(&owner);
	assert_true(roost_intr_owner_is_busy(&heir));
	assert_false(roost_intr_owner_is_busy(&stranger));
	peer_says_something(&driver);
	poll_and_dispatch();
	assert_int_equal(driver.calls, 1);
	roost_intr_owner_close(&heir);
	assert_int_equal(poll_and_dispatch(), 0);
	roost_intr_owner_close(&stranger);
	roost_intr_owner_open(&owner, "socket", &trust);
}

#define STRANGER 54321

/* Abstract, of the kernel's choice. */
static int listen_somewhere(int type, struct sockaddr_un *addr, socklen_t *len)
{
	int fd = socket(AF_UNIX, type, 0);

	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	assert_int_equal(bind(fd, (void *)addr, sizeof(sa_family_t)), 0);
	assert_int_equal(listen(fd, 3), 0);
	*len = sizeof(*addr);
	getsockname(fd, (void *)addr, len);
	return fd;
}

/* A child of another user; returns 0 in it. The pipe tells when it is ready. */
static pid_t stranger(int ready_fds[2])
{
	pid_t pid;

	if (geteuid() != 0) {
		print_message("skipped: only root can be another user\n");
		skip();
	}
	assert_int_equal(pipe(ready_fds), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setresuid(STRANGER, STRANGER, STRANGER) != 0)
			_exit(1);
	}
	return pid;
}

static void wait_until_ready(int ready_fds[2])
{
	char byte;

	close(ready_fds[1]);
	assert_int_equal(read(ready_fds[0], &byte, 1), 1);
	close(ready_fds[0]);
}

static void assert_ends_well(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Three that come first, and say at once all that a peer would say. */
static void be_three_strangers(const struct sockaddr_un *addr, socklen_t len,
			       int ready_fd, bool are_trusted)
{
	int fds[3];
	char byte = 0;

	for (int i = 0; i < 3; i++) {
		fds[i] = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		if (connect(fds[i], (const void *)addr, len) != 0 ||
		    write(fds[i], &byte, 1) != 1)
			_exit(1);
	}
	if (write(ready_fd, &byte, 1) != 1)
		_exit(1);
	/* Hung up on: nothing was read of it. */
	for (int i = are_trusted; i < 3; i++)
		if (read(fds[i], &byte, 1) > 0)
			_exit(1);
	_exit(0);
}

static int gated_accept(int listener)
{
	int fd;

	roost_intr_gate_enter(&owner);
	fd = fake_accept(listener);
	roost_intr_gate_leave();
	return fd;
}

static void gate__strangers_take_no_peers_place(void **state)
{
	int listener, client, fd, ready[2];
	struct ucred cred = { .uid = 77 };
	socklen_t len, cred_len = sizeof(cred);
	struct sockaddr_un addr;
	pid_t pid;

	listener = listen_somewhere(SOCK_SEQPACKET, &addr, &len);
	pid = stranger(ready);
	if (pid == 0)
		be_three_strangers(&addr, len, ready[1], false);
	wait_until_ready(ready);
	client = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(connect(client, (const void *)&addr, len), 0);
	fd = gated_accept(listener);
	assert_true(fd >= 0);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred,
				    &cred_len),
			 0);
	assert_int_equal(cred.uid, 0);
	assert_ends_well(pid);
	close(fd);
	close(client);
	close(listener);
}

/* Its owner trusts that user; another port on the socket has to do so, too. */
static void gate__a_user_that_is_trusted(void **state)
{
	struct roost_peer_trust nobody = { .label = "another port" };
	struct roost_intr_owner other;
	int listener, fd, ready[2];
	struct sockaddr_un addr;
	socklen_t len;
	pid_t pid;

	trust.users = (struct roost_users){ .nb = 1, .v = { STRANGER } };
	listener = listen_somewhere(SOCK_SEQPACKET, &addr, &len);
	pid = stranger(ready);
	if (pid == 0)
		be_three_strangers(&addr, len, ready[1], true);
	wait_until_ready(ready);
	fd = gated_accept(listener);
	assert_true(fd >= 0);
	close(fd);
	roost_intr_owner_open(&other, "socket", &nobody);
	fcntl(listener, F_SETFL, O_NONBLOCK);
	assert_int_equal(gated_accept(listener), -1);
	roost_intr_owner_close(&other);
	trust.users.nb = 0;
	close(listener);
	assert_ends_well(pid);
}

/* A callback does not wait for a peer behind a refused one. */
static int listener_of_callback;

static void accept_in_callback(struct fake_driver *d)
{
	d->unregister_ret = fake_accept(listener_of_callback);
}

static void gate__a_stranger_keeps_no_callback(void **state)
{
	struct sockaddr_un addr;
	struct timespec begin, end;
	socklen_t len;
	int ready[2];
	pid_t pid;

	listener_of_callback = listen_somewhere(SOCK_SEQPACKET, &addr, &len);
	pid = stranger(ready);
	if (pid == 0)
		be_three_strangers(&addr, len, ready[1], false);
	wait_until_ready(ready);
	driver.in_callback = accept_in_callback;
	peer_says_something(&driver);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	poll_and_dispatch();
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_int_equal(driver.unregister_ret, -1);
	assert_true(end.tv_sec - begin.tv_sec < 5);
	assert_ends_well(pid);
	close(listener_of_callback);
}

/* Serves under a name that was to be another's. */
static void be_a_server(int listener, int ready_fd)
{
	char byte = 0;

	if (listen(listener, 3) != 0 || write(ready_fd, &byte, 1) != 1)
		_exit(1);
	_exit(read(accept(listener, NULL, NULL), &byte, 1) != 0);
}

static void gate__a_stranger_who_serves(void **state)
{
	struct sockaddr_un addr;
	int listener, fd, ready[2];
	socklen_t len;
	pid_t pid;

	listener = listen_somewhere(SOCK_STREAM, &addr, &len);
	pid = stranger(ready);
	if (pid == 0)
		be_a_server(listener, ready[1]); /* its credentials from now */
	wait_until_ready(ready);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	roost_intr_gate_enter(&owner);
	assert_int_equal(fake_connect(fd, (const void *)&addr, len), -1);
	assert_int_equal(errno, EPERM);
	roost_intr_gate_leave();
	close(fd);
	close(listener);
	assert_ends_well(pid);
}

/* One that takes nobody in keeps nobody for long. */
static void gate__a_server_that_is_full(void **state)
{
	struct timespec begin, end;
	struct sockaddr_un addr;
	int listener, fds[8];
	socklen_t len;
	int last = 0;

	listener = listen_somewhere(SOCK_STREAM, &addr, &len);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	roost_intr_gate_enter(&owner);
	for (int i = 0; i < 8; i++) {
		fds[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		last = fake_connect(fds[i], (const void *)&addr, len);
	}
	roost_intr_gate_leave();
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_int_equal(last, -1);
	assert_true(end.tv_sec - begin.tv_sec < 5);
	for (int i = 0; i < 8; i++)
		close(fds[i]);
	close(listener);
}

/* As virtio_user does when its peer hangs up. */
static void forget_later(void *arg)
{
	struct fake_driver *d = arg;

	d->unregister_ret = fake_unregister(d->handle, callback, d);
}

static void put_off(struct fake_driver *d)
{
	assert_int_equal(fake_alarm(1, forget_later, d), 0);
	assert_int_equal(d->unregister_ret, 0);
}

static void gate__alarm_waits_until_the_driver_is_left(void **state)
{
	driver.in_callback = put_off;
	close(driver.far_fd);
	driver.far_fd = -1;
	poll_and_dispatch();
	assert_int_equal(driver.calls, 1);
	assert_int_equal(driver.unregister_ret, 1);
	assert_int_equal(poll_and_dispatch(), 0);
	close(driver.fd);
}

static void gate__accept_takes_who_is_there(void **state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(addr.sun_family);
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	int client = socket(AF_UNIX, SOCK_STREAM, 0);
	int fd;

	/* Linux chooses an abstract name. */
	assert_int_equal(bind(listener, (const void *)&addr, len), 0);
	assert_int_equal(listen(listener, 1), 0);
	len = sizeof(addr);
	getsockname(listener, (void *)&addr, &len);
	assert_int_equal(connect(client, (const void *)&addr, len), 0);
	roost_intr_gate_enter(&owner);
	fd = fake_accept(listener);
	roost_intr_gate_leave();
	assert_true(fd >= 0);
	close(fd);
	close(client);
	close(listener);
}

/* The peer sees the end, and its own end is waited for. */
static void gate__hang_up(void **state)
{
	char c;

	roost_intr_owner_hang_up(&owner);
	assert_int_equal(read(driver.far_fd, &c, 1), 0);
	assert_int_equal(send(driver.fd, "x", 1, MSG_NOSIGNAL), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(gate__is_put_before_a_library),
		TEST(gate__calls_back_when_the_peer_speaks),
		TEST(gate__calls_back_when_the_peer_dies),
		TEST(gate__unregister_from_outside),
		TEST(gate__unregister_inside_the_callback),
		TEST(gate__forgets_a_socket_closed_while_registered),
		TEST(gate__owner_closes_what_the_driver_forgot),
		TEST(gate__another_port_inherits),
		TEST(gate__strangers_take_no_peers_place),
		TEST(gate__a_user_that_is_trusted),
		TEST(gate__a_stranger_keeps_no_callback),
		TEST(gate__a_stranger_who_serves),
		TEST(gate__a_server_that_is_full),
		TEST(gate__alarm_waits_until_the_driver_is_left),
		TEST(gate__accept_takes_who_is_there),
		TEST(gate__hang_up),
	};

	return cmocka_run_group_tests(tests, put_gate, NULL);
}
