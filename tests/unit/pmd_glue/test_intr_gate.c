/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
/* Handles of interrupts (experimental in 22.11, stable since). */
#define ALLOW_EXPERIMENTAL_API

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pmd_glue/intr_gate.h"
#include "tests/unit/pmd_glue/fake_driver.h"

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
	(void)state;
	return roost_intr_gate_put("libglue_fake_driver.so");
}

static int setup(void **state)
{
	(void)state;
	roost_intr_owner_open(&owner, "socket", true);
	roost_intr_gate_enter(&owner);
	open_driver(&driver);
	roost_intr_gate_leave();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
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
	(void)state;
	assert_int_equal(roost_intr_gate_put("libglue_fake_driver.so"), 0);
	assert_int_equal(roost_intr_gate_put("librte_net_nosuch.so"), -ENOENT);
	/* Loaded, but it registers nothing. */
	assert_int_equal(roost_intr_gate_put("libcmocka.so"), -ENOENT);
}

static void gate__calls_back_when_the_peer_speaks(void **state)
{
	(void)state;
	assert_int_equal(poll_and_dispatch(), 1);
	assert_int_equal(driver.calls, 0);
	peer_says_something(&driver);
	poll_and_dispatch();
	assert_int_equal(driver.calls, 1);
}

static void gate__calls_back_when_the_peer_dies(void **state)
{
	(void)state;
	close(driver.far_fd);
	poll_and_dispatch();
	assert_int_equal(driver.calls, 1);
	driver.far_fd = -1;
}

static void gate__unregister_from_outside(void **state)
{
	(void)state;
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
	(void)state;
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

	(void)state;
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

	(void)state;
	roost_intr_owner_close(&owner);
	assert_int_equal(poll_and_dispatch(), 0);
	assert_int_equal(read(driver.far_fd, &byte, 1), 0); /* end of file */
	roost_intr_owner_open(&owner, "socket", true);      /* for teardown */
}

/* Two ports on one listening socket: it lives as long as one of them. */
static void gate__another_port_inherits(void **state)
{
	struct roost_intr_owner heir, stranger;

	(void)state;
	roost_intr_owner_open(&stranger, "other", true);
	roost_intr_owner_open(&heir, "socket", true);
	roost_intr_owner_close(&owner);
	assert_true(roost_intr_owner_is_busy(&heir));
	assert_false(roost_intr_owner_is_busy(&stranger));
	peer_says_something(&driver);
	poll_and_dispatch();
	assert_int_equal(driver.calls, 1);
	roost_intr_owner_close(&heir);
	assert_int_equal(poll_and_dispatch(), 0);
	roost_intr_owner_close(&stranger);
	roost_intr_owner_open(&owner, "socket", true);
}

/* Connects as another user; says that it has, and waits to be hung up on. */
static void be_a_stranger(int listener_fd, int report_fd)
{
	struct sockaddr_un name;
	socklen_t len = sizeof(name);
	char byte = 0;
	int fd;

	getsockname(listener_fd, (struct sockaddr *)&name, &len);
	if (setuid(65534) != 0)
		_exit(1);
	fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (connect(fd, (struct sockaddr *)&name, len) != 0 ||
	    write(report_fd, &byte, 1) != 1)
		_exit(1);
	_exit(read(fd, &byte, 1) == 0 ? 0 : 1);
}

static void gate__hangs_up_on_other_users(void **state)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct rte_intr_handle *handle;
	int pipe_fds[2], listener, fd, status;
	char byte;
	pid_t pid;

	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: only root can be another user\n");
		skip();
	}
	listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	/* Without a name the kernel gives it an abstract one. */
	assert_int_equal(bind(listener, (struct sockaddr *)&name,
			      sizeof(sa_family_t)),
			 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	if (pid == 0)
		be_a_stranger(listener, pipe_fds[1]);
	close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
	fd = accept(listener, NULL, NULL);
	handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	rte_intr_fd_set(handle, fd);
	roost_intr_gate_enter(&owner);
	assert_int_equal(fake_register(handle, callback, &driver), 0);
	roost_intr_gate_leave();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(fd);
	rte_intr_instance_free(handle);
	close(pipe_fds[0]);
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
	(void)state;
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

	(void)state;
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

	(void)state;
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
		TEST(gate__hangs_up_on_other_users),
		TEST(gate__alarm_waits_until_the_driver_is_left),
		TEST(gate__accept_takes_who_is_there),
		TEST(gate__hang_up),
	};

	return cmocka_run_group_tests(tests, put_gate, NULL);
}
