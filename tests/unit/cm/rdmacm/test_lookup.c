/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "fake_world.h"

#include <dlfcn.h>
#include <netdb.h>
#include <semaphore.h>
#include <stdlib.h>

#include "cm/rdmacm/newer.h"

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;

/* The library's threads wait here for as long as the test wants. */
static bool is_slow;
static sem_t entered, released, left;

int getaddrinfo(const char *node, const char *service,
		const struct addrinfo *hints, struct addrinfo **res)
{
	static int (*real)(const char *, const char *, const struct addrinfo *,
			   struct addrinfo **);
	int ret;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
	if (!is_slow)
		return real(node, service, hints, res);
	sem_post(&entered);
	sem_wait(&released);
	ret = real(node, service, hints, res);
	sem_post(&left);
	return ret;
}

static int setup(void **state)
{
	fake_setup(state);
	is_slow = false;
	sem_init(&entered, 0, 0);
	sem_init(&released, 0, 0);
	sem_init(&left, 0, 0);
	channel = rdma_create_event_channel();
	return channel ? rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) : -1;
}

static int teardown(void **state)
{
	if (id)
		assert_ok(rdma_destroy_id(id));
	id = NULL;
	rdma_destroy_event_channel(channel);
	return 0;
}

static void expect(int type, int status)
{
	struct rdma_cm_event *event;

	assert_ok(rdma_get_cm_event(channel, &event));
	assert_int_equal(event->event, type);
	assert_int_equal(event->status, status);
	assert_ptr_equal(event->id, id);
	assert_ok(rdma_ack_cm_event(event));
}

static void lookup__result_comes_with_the_event(void **state)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_NUMERICHOST | ROOST_RDMACM_RAI_DNS,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *one, *two;
	const struct sockaddr_in *in;

	assert_fails(rdma_query_addrinfo(id, &one), ENODATA);
	assert_ok(rdma_resolve_addrinfo(id, "198.18.0.9", "7000", &hints));
	expect(ROOST_RDMACM_ADDRINFO_RESOLVED, 0);
	assert_ok(rdma_query_addrinfo(id, &one));
	in = (const struct sockaddr_in *)one->ai_dst_addr;
	assert_int_equal(one->ai_dst_len, sizeof(*in));
	assert_int_equal(in->sin_port, htons(7000));
	assert_int_equal(in->sin_addr.s_addr, htonl(0xc6120009));
	assert_int_equal(one->ai_port_space, RDMA_PS_TCP);
	assert_null(one->ai_next);
	/* A copy for each who asks. */
	assert_ok(rdma_query_addrinfo(id, &two));
	assert_ptr_not_equal(one->ai_dst_addr, two->ai_dst_addr);
	rdma_freeaddrinfo(one);
	rdma_freeaddrinfo(two);
}

static void lookup__failure_is_an_event(void **state)
{
	const struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST };
	struct rdma_addrinfo *info;

	assert_ok(rdma_resolve_addrinfo(id, "no number", "7", &hints));
	expect(ROOST_RDMACM_ADDRINFO_ERROR, EAI_NONAME);
	assert_fails(rdma_query_addrinfo(id, &info), ENODATA);
}

static void lookup__last_one_counts(void **state)
{
	const struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST };
	struct rdma_addrinfo *info;

	assert_ok(rdma_resolve_addrinfo(id, "198.18.0.9", "1", &hints));
	expect(ROOST_RDMACM_ADDRINFO_RESOLVED, 0);
	assert_ok(rdma_resolve_addrinfo(id, "fd00::9", "1", &hints));
	expect(ROOST_RDMACM_ADDRINFO_RESOLVED, 0);
	assert_ok(rdma_query_addrinfo(id, &info));
	assert_int_equal(info->ai_family, AF_INET6);
	rdma_freeaddrinfo(info);
	assert_ok(rdma_resolve_addrinfo(id, "no number", "1", &hints));
	expect(ROOST_RDMACM_ADDRINFO_ERROR, EAI_NONAME);
	assert_fails(rdma_query_addrinfo(id, &info), ENODATA);
}

static void lookup__arguments(void **state)
{
	struct rdma_addrinfo hints = {
		.ai_flags = ROOST_RDMACM_RAI_SA | ROOST_RDMACM_RAI_DNS,
	};

	assert_fails(rdma_resolve_addrinfo(id, NULL, NULL, NULL), EINVAL);
	assert_fails(rdma_resolve_addrinfo(id, "x", NULL, &hints), EINVAL);
	hints.ai_flags = ROOST_RDMACM_RAI_SA;
	assert_fails(rdma_resolve_addrinfo(id, NULL, "x", &hints), EOPNOTSUPP);
	assert_fails(rdma_query_addrinfo(id, NULL), EINVAL);
}

/* The arguments are the program's again at once. */
static void lookup__keeps_nothing_of_the_caller(void **state)
{
	struct sockaddr_in source = { .sin_family = AF_INET, .sin_port = 77 };
	struct rdma_addrinfo hints = {
		.ai_src_addr = (struct sockaddr *)&source,
		.ai_src_len = sizeof(source),
		.ai_flags = RAI_NUMERICHOST,
	};
	struct rdma_addrinfo *info;
	char node[] = "198.18.0.9";

	is_slow = true;
	assert_ok(rdma_resolve_addrinfo(id, node, "7", &hints));
	sem_wait(&entered);
	memset(node, 'x', sizeof(node) - 1);
	memset(&source, 0, sizeof(source));
	memset(&hints, 0xff, sizeof(hints));
	assert_fails(rdma_resolve_addrinfo(id, "198.18.0.9", "7", NULL), EBUSY);
	sem_post(&released);
	expect(ROOST_RDMACM_ADDRINFO_RESOLVED, 0);
	assert_ok(rdma_query_addrinfo(id, &info));
	assert_int_equal(((struct sockaddr_in *)info->ai_src_addr)->sin_port,
			 77);
	rdma_freeaddrinfo(info);
}

static void lookup__id_does_not_wait_for_it(void **state)
{
	is_slow = true;
	assert_ok(rdma_resolve_addrinfo(id, "198.18.0.9", "7", NULL));
	sem_wait(&entered);
	assert_ok(rdma_destroy_id(id));
	id = NULL;
	sem_post(&released);
	sem_wait(&left);
}

static void lookup__synchronous_id_waits(void **state)
{
	const struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST };
	struct rdma_addrinfo *info;
	struct rdma_cm_id *sync;

	assert_ok(rdma_create_id(NULL, &sync, NULL, RDMA_PS_TCP));
	assert_ok(rdma_resolve_addrinfo(sync, "198.18.0.9", "7", &hints));
	assert_ok(rdma_query_addrinfo(sync, &info));
	rdma_freeaddrinfo(info);
	assert_fails(rdma_resolve_addrinfo(sync, "no number", "7", &hints),
		     EADDRNOTAVAIL);
	assert_ok(rdma_destroy_id(sync));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(lookup__result_comes_with_the_event),
		TEST(lookup__failure_is_an_event),
		TEST(lookup__last_one_counts),
		TEST(lookup__arguments),
		TEST(lookup__keeps_nothing_of_the_caller),
		TEST(lookup__id_does_not_wait_for_it),
		TEST(lookup__synchronous_id_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
