/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Options, flags, and the configuration that they begin with. */

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cm/rsocket/config.h"
#include "fake.h"
#include "pair.h"

static int get(int fd, int level, int name)
{
	socklen_t length = sizeof(int);
	int value = -1;

	assert_int_equal(rgetsockopt(fd, level, name, &value, &length), 0);
	assert_int_equal(length, sizeof(int));
	return value;
}

static int set(int fd, int level, int name, int value)
{
	return rsetsockopt(fd, level, name, &value, sizeof(value));
}

static void option__set_and_get(void **state)
{
	int fd = rsocket(AF_INET6, SOCK_STREAM, 0);

	assert_int_equal(get(fd, SOL_SOCKET, SO_RCVBUF), 1 << 17);
	assert_int_equal(set(fd, SOL_SOCKET, SO_RCVBUF, 5000), 0);
	assert_int_equal(get(fd, SOL_SOCKET, SO_RCVBUF), 10000);
	assert_int_equal(set(fd, SOL_SOCKET, SO_SNDBUF, 1), 0);
	assert_int_equal(get(fd, SOL_SOCKET, SO_SNDBUF), 4096);
	assert_int_equal(set(fd, SOL_SOCKET, SO_REUSEADDR, 1), 0);
	assert_int_equal(get(fd, SOL_SOCKET, SO_REUSEADDR), 1);
	assert_int_equal(set(fd, SOL_SOCKET, SO_REUSEADDR, 0), 0);
	assert_int_equal(get(fd, SOL_SOCKET, SO_REUSEADDR), 0);
	assert_int_equal(set(fd, SOL_SOCKET, SO_OOBINLINE, 1), 0);
	assert_int_equal(get(fd, SOL_SOCKET, SO_OOBINLINE), 1);
	assert_int_equal(get(fd, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
	assert_int_equal(get(fd, SOL_SOCKET, SO_DOMAIN), AF_INET6);
	assert_int_equal(set(fd, IPPROTO_TCP, TCP_NODELAY, 1), 0);
	assert_int_equal(get(fd, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(get(fd, IPPROTO_TCP, TCP_MAXSEG), 2048);
	assert_int_equal(set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 77), 0);
	assert_int_equal(get(fd, IPPROTO_TCP, TCP_KEEPIDLE), 77);
	assert_int_equal(set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1), 0);
	assert_int_equal(get(fd, IPPROTO_IPV6, IPV6_V6ONLY), 1);
	assert_int_equal(set(fd, SOL_RDMA, RDMA_SQSIZE, 100), 0);
	assert_int_equal(get(fd, SOL_RDMA, RDMA_SQSIZE), 100);
	assert_int_equal(set(fd, SOL_RDMA, RDMA_RQSIZE, 1 << 20), 0);
	assert_int_equal(get(fd, SOL_RDMA, RDMA_RQSIZE), 0xfffe);
	assert_int_equal(set(fd, SOL_RDMA, RDMA_INLINE, 0), 0);
	assert_int_equal(get(fd, SOL_RDMA, RDMA_INLINE), 0);
	assert_int_equal(set(fd, SOL_RDMA, RDMA_IOMAPSIZE, 10), 0);
	assert_int_equal(get(fd, SOL_RDMA, RDMA_IOMAPSIZE), 10);
	assert_int_equal(set(fd, SOL_SOCKET, SO_BROADCAST, 1), -1);
	assert_int_equal(errno, ENOTSUP);
	rclose(fd);
	pair_assert_clean();
}

static void option__linger_is_on(void **state)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);
	socklen_t length = sizeof(struct linger);
	struct linger linger = { 0 };

	assert_int_equal(rgetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger,
				     &length),
			 0);
	assert_int_equal(linger.l_onoff, 1);
	assert_int_equal(length, sizeof(linger));
	linger.l_onoff = 0;
	assert_int_equal(rsetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger,
				     sizeof(linger)),
			 0);
	assert_int_equal(rgetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger,
				     &length),
			 0);
	assert_int_equal(linger.l_onoff, 0);
	rclose(fd);
}

static void option__connected(void **state)
{
	struct pair pair;
	uint8_t route[1024];
	socklen_t length = sizeof(route);

	pair_open(&pair, 7);
	/* The child's are the listener's. */
	assert_int_equal(get(pair.server, SOL_RDMA, RDMA_IOMAPSIZE), 7);
	assert_int_equal(set(pair.client, SOL_RDMA, RDMA_SQSIZE, 64), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(set(pair.client, SOL_SOCKET, SO_RCVBUF, 64), 0);
	assert_int_equal(get(pair.client, SOL_SOCKET, SO_RCVBUF), 1 << 17);
	assert_int_equal(get(pair.client, IPPROTO_TCP, TCP_MAXSEG), 1024);
	assert_int_equal(get(pair.listener, SOL_SOCKET, SO_ACCEPTCONN), 1);
	assert_int_equal(rgetsockopt(pair.client, SOL_RDMA, RDMA_ROUTE, route,
				     &length),
			 0);
	assert_int_equal(length, sizeof(struct ibv_path_data));
	pair_close(&pair);
}

static void option__route_of_the_program(void **state)
{
	struct sockaddr_in addr = pair_addr(PORT);
	struct ibv_path_data path = { .flags = 3 };
	struct ibv_path_data got;
	socklen_t length = sizeof(got);
	int listener = pair_listen(1);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(rsetsockopt(fd, SOL_RDMA, RDMA_ROUTE, &path,
				     sizeof(path)),
			 0);
	assert_int_equal(rgetsockopt(fd, SOL_RDMA, RDMA_ROUTE, &got, &length),
			 0);
	assert_memory_equal(&got, &path, sizeof(path));
	/* It is the answer: nobody is asked, and a timeout cannot come. */
	fake_wish((struct fake_wish){ .route_timeouts = 1 });
	assert_int_equal(rconnect(fd, (struct sockaddr *)&addr, sizeof(addr)),
			 0);
	rclose(fd);
	rclose(listener);
	pair_assert_clean();
	fake_wish((struct fake_wish){ 0 });
}

static void option__flags(void **state)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(rfcntl(fd, F_GETFL), O_RDWR);
	assert_int_equal(rfcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(rfcntl(fd, F_GETFL), O_RDWR | O_NONBLOCK);
	assert_int_equal(rfcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(rfcntl(fd, F_SETFD, 0), 0);
	assert_int_equal(rfcntl(fd, F_GETFD), 0);
	assert_int_equal(rfcntl(fd, F_DUPFD), -1);
	assert_int_equal(errno, ENOTSUP);
	rclose(fd);
	assert_int_equal(rfcntl(fd, F_GETFL), -1);
	assert_int_equal(errno, EBADF);
}

static void put_file(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void remove_file(const char *dir, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(unlink(path), 0);
}

static void option__configuration(void **state)
{
	static const char *const names[] = {
		"mem_default", "wmem_default", "sqsize_default",
		"iomap_size",  "polling_time", "inline_default"
	};
	char dir[] = "/tmp/roost-rsocket-XXXXXX";
	struct roost_rs_config config;

	assert_non_null(mkdtemp(dir));
	roost_rs_config_read(&config, dir);
	assert_int_equal(config.sizes.recv_bytes, 1 << 17);
	assert_int_equal(config.sizes.send_wr, 384);
	assert_int_equal(config.polling_time_us, 10);
	put_file(dir, names[0], "1000000\n");
	put_file(dir, names[1], "7");
	put_file(dir, names[2], "70000");
	put_file(dir, names[3], "200");
	put_file(dir, names[4], "0");
	put_file(dir, names[5], "many");
	roost_rs_config_read(&config, dir);
	assert_int_equal(config.sizes.recv_bytes, 1000000);
	assert_int_equal(config.sizes.send_bytes, 4096);
	assert_int_equal(config.sizes.send_wr, 0xfffe);
	assert_int_equal(config.sizes.recv_wr, 384);
	assert_int_equal(config.sizes.nb_iomaps, 256);
	assert_int_equal(config.polling_time_us, 0);
	assert_int_equal(config.sizes.inline_bytes, 64);
	for (size_t i = 0; i < 6; i++)
		remove_file(dir, names[i]);
	assert_int_equal(rmdir(dir), 0);
}

/* Who is accepted keeps its peer alive as the listener was told to. */
static void option__keepalive_of_the_listener(void **state)
{
	struct sockaddr_in addr = pair_addr(PORT);
	int listener = pair_listen(1);
	int client = rsocket(AF_INET, SOCK_STREAM, 0);
	int server;

	assert_int_equal(set(listener, IPPROTO_TCP, TCP_KEEPIDLE, 1), 0);
	assert_int_equal(set(listener, SOL_SOCKET, SO_KEEPALIVE, 1), 0);
	assert_int_equal(rconnect(client, (struct sockaddr *)&addr,
				  sizeof(addr)),
			 0);
	server = raccept(listener, NULL, NULL);
	assert_int_equal(get(server, SOL_SOCKET, SO_KEEPALIVE), 1);
	fake_posted(IBV_WR_RDMA_WRITE);
	usleep(1300000);
	assert_int_equal(fake_posted(IBV_WR_RDMA_WRITE), 1);
	assert_int_equal(set(server, SOL_SOCKET, SO_KEEPALIVE, 0), 0);
	rclose(server);
	rclose(client);
	rclose(listener);
	pair_assert_clean();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(option__set_and_get),
		cmocka_unit_test(option__linger_is_on),
		cmocka_unit_test(option__connected),
		cmocka_unit_test(option__route_of_the_program),
		cmocka_unit_test(option__flags),
		cmocka_unit_test(option__configuration),
		cmocka_unit_test(option__keepalive_of_the_listener),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
