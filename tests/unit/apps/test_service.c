/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "apps/service.h"
#include "lib/config/key.h"
#include "lib/config/resolve.h"
#include "pmd_glue/share/message.h"
#include "tests/cmocka.h"

/* A daemon that says how many ports it has. */
static char path[64], other[64];
static int listener;
static pthread_t thread;
static uint64_t nb_ports;
static bool is_silent, turns_away;

static struct roost_config config;

static void *serve(void *arg)
{
	struct roost_share_packet packet;
	int fd;

	(void)arg;
	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		struct roost_share_msg msg = {
			.type = ROOST_SHARE_REPLY,
			.reply.value = nb_ports,
		};

		if (turns_away) {
			msg.type = ROOST_SHARE_ATTACHED;
			msg.status = -EAGAIN;
			roost_share_send(fd, &msg, "why", 3, NULL);
			close(fd);
			continue;
		}
		while (roost_share_receive(fd, false, &packet) == -EAGAIN)
			usleep(1000);
		msg.tag = packet.msg.tag;
		if (is_silent)
			usleep(1500000);
		else
			roost_share_send(fd, &msg, NULL, 0, NULL);
		close(fd);
	}
	return NULL;
}

static void listen_at(const char *where)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", where);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof(addr)),
			 0);
}

static void serve_at(const char *where, uint64_t nb)
{
	listen_at(where);
	assert_int_equal(listen(listener, 4), 0);
	nb_ports = nb;
	assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
}

static void end(void)
{
	shutdown(listener, SHUT_RDWR);
	pthread_join(thread, NULL);
	close(listener);
}

static int setup(void **state)
{
	snprintf(path, sizeof(path), "/tmp/roost-service-%d", (int)getpid());
	snprintf(other, sizeof(other), "%.50s-other", path);
	unlink(path);
	unlink(other);
	is_silent = false;
	turns_away = false;
	roost_config_init(&config);
	config.nb_ports = 1;
	strcpy(config.ports[0].service, "default");
	config.ports[0].set = ROOST_KEY_BIT(ROOST_KEY_SERVICE);
	return 0;
}

static int teardown(void **state)
{
	unlink(path);
	unlink(other);
	return 0;
}

static void service__no_daemon_is_the_hub(void **state)
{
	roost_service_find(&config, NULL, path);
	assert_int_equal(config.nb_ports, 1);
	assert_string_equal(config.ports[0].service, "hub");
}

static void service__a_stale_socket_is_the_hub(void **state)
{
	listen_at(path);
	close(listener);
	roost_service_find(&config, NULL, path);
	assert_string_equal(config.ports[0].service, "hub");
}

static void service__the_systems_has_a_device_for_each_port(void **state)
{
	char expected[80];

	serve_at(path, 3);
	roost_service_find(&config, NULL, path);
	end();
	assert_int_equal(config.nb_ports, 3);
	assert_string_equal(config.ports[0].service, path);
	snprintf(expected, sizeof(expected), "%s,1", path);
	assert_string_equal(config.ports[1].service, expected);
	snprintf(expected, sizeof(expected), "%s,2", path);
	assert_string_equal(config.ports[2].service, expected);
	assert_int_equal(config.ports[2].set, ROOST_KEY_BIT(ROOST_KEY_SERVICE));
}

/* A port of the list stays one. */
static void service__beside_other_ports_it_is_one(void **state)
{
	config.nb_ports = 2;
	strcpy(config.ports[1].link, "a");
	serve_at(path, 3);
	roost_service_find(&config, NULL, path);
	end();
	assert_int_equal(config.nb_ports, 2);
	assert_string_equal(config.ports[0].service, path);
	assert_string_equal(config.ports[1].link, "a");
}

static void service__what_is_named_is_left_alone(void **state)
{
	serve_at(path, 3);
	strcpy(config.ports[0].service, "hub");
	roost_service_find(&config, NULL, path);
	assert_string_equal(config.ports[0].service, "hub");
	config.ports[0].service[0] = '\0';
	strcpy(config.ports[0].link, "a");
	roost_service_find(&config, "hub", path);
	assert_string_equal(config.ports[0].service, "");
	/* By an option, for which there is one port. */
	strcpy(config.ports[0].service, path);
	roost_service_find(&config, NULL, other);
	assert_int_equal(config.nb_ports, 1);
	end();
}

static void service__the_variable_wins_over_the_systems(void **state)
{
	strcpy(config.ports[0].service, other);
	serve_at(other, 2);
	roost_service_find(&config, other, path);
	end();
	assert_int_equal(config.nb_ports, 2);
	assert_string_equal(config.ports[0].service, other);
	/* It stays what is named, also when nobody is there. */
	unlink(other);
	config.nb_ports = 1;
	roost_service_find(&config, other, path);
	assert_int_equal(config.nb_ports, 1);
	assert_string_equal(config.ports[0].service, other);
}

static void service__one_that_is_restarted_is_waited_for(void **state)
{
	static const struct timespec soon = { .tv_nsec = 100000000 };
	listen_at(path);
	/* It listens 100 ms later. */
	if (fork() == 0) {
		nanosleep(&soon, NULL);
		listen(listener, 4);
		nb_ports = 1;
		serve(NULL);
		_exit(0);
	}
	assert_int_equal(roost_service_ask(path), 1);
	shutdown(listener, SHUT_RDWR);
	close(listener);
}

static void service__answers_that_no_daemon_gives(void **state)
{
	serve_at(path, 0);
	assert_int_equal(roost_service_ask(path), -EPROTO);
	nb_ports = ROOST_PORTS_MAX + 1;
	assert_int_equal(roost_service_ask(path), -EPROTO);
	nb_ports = UINT64_C(1) << 32;
	assert_int_equal(roost_service_ask(path), -EPROTO);
	is_silent = true;
	assert_int_equal(roost_service_ask(path), -ETIMEDOUT);
	end();
}

/* Whether it hangs up before it is asked, or after. */
static void service__one_without_descriptors_says_so(void **state)
{
	turns_away = true;
	serve_at(path, 0);
	for (unsigned int i = 0; i < 2000; i++)
		assert_int_equal(roost_service_ask(path), -EMFILE);
	end();
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(service__no_daemon_is_the_hub),
		TEST(service__a_stale_socket_is_the_hub),
		TEST(service__the_systems_has_a_device_for_each_port),
		TEST(service__beside_other_ports_it_is_one),
		TEST(service__what_is_named_is_left_alone),
		TEST(service__the_variable_wins_over_the_systems),
		TEST(service__one_that_is_restarted_is_waited_for),
		TEST(service__answers_that_no_daemon_gives),
		TEST(service__one_without_descriptors_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
