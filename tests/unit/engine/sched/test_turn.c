/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_mempool.h>

#include "tests/unit/engine/busy.h"
#include "tests/unit/engine/eal.h"
#include "tests/unit/engine/fixture.h"

static struct rte_mempool *pool;

static int start(void **state)
{
	eal_start();
	pool = eal_pool("turn", 2047);
	return 0;
}

struct taker {
	struct roost_worker *worker;
	atomic_bool has_it;
	atomic_bool give_back;
};

static void *take(void *arg)
{
	struct taker *t = arg;

	roost_worker_turn_take(t->worker);
	atomic_store(&t->has_it, true);
	while (!atomic_load(&t->give_back))
		usleep(100);
	roost_worker_turn_release(t->worker);
	return NULL;
}

static void *try_once(void *arg)
{
	struct taker *t = arg;

	atomic_store(&t->has_it, roost_worker_turn_try(t->worker));
	if (atomic_load(&t->has_it))
		roost_worker_turn_release(t->worker);
	return NULL;
}

static bool other_thread_can_try(struct fixture *f)
{
	struct taker t = { .worker = f->worker };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, try_once, &t), 0);
	pthread_join(thread, NULL);
	return atomic_load(&t.has_it);
}

static void turn__belongs_to_one(void **state)
{
	struct taker t = { 0 };
	pthread_t thread;
	struct fixture f;

	fixture_open(&f, pool);
	assert_true(roost_worker_turn_try(f.worker));
	assert_false(other_thread_can_try(&f));
	assert_false(roost_worker_turn_wanted(f.worker));
	t.worker = f.worker;
	assert_int_equal(pthread_create(&thread, NULL, take, &t), 0);
	while (!roost_worker_turn_wanted(f.worker))
		usleep(100);
	assert_false(atomic_load(&t.has_it));
	roost_worker_turn_release(f.worker);
	while (!atomic_load(&t.has_it))
		usleep(100);
	assert_false(roost_worker_turn_wanted(f.worker));
	assert_false(other_thread_can_try(&f));
	atomic_store(&t.give_back, true);
	pthread_join(thread, NULL);
	assert_true(other_thread_can_try(&f));
	fixture_close(&f);
}

/* By whatever call the child was made. */
static void turn__is_never_a_childs(void **state)
{
	struct fixture f;
	int status;
	pid_t pid;

	fixture_open(&f, pool);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(roost_worker_turn_try(f.worker));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(roost_worker_turn_try(f.worker));
	roost_worker_turn_release(f.worker);
	fixture_close(&f);
}

/* What is rung while somebody holds the turn is told on release. */
static void turn_release__tells_of_work(void **state)
{
	const struct roost_send_wr wr = { .opcode = ROOST_WR_SEND };
	struct roost_qp *qp;
	struct fixture f;

	fixture_open(&f, pool);
	qp = fixture_qp_in_rts(&f, 4);
	assert_true(roost_worker_turn_try(f.worker));
	assert_false(roost_worker_turn_release(f.worker));
	assert_true(roost_worker_turn_try(f.worker));
	roost_worker_iterate(f.worker, 1);
	assert_int_equal(fixture_send(qp, &wr), 0);
	assert_true(roost_worker_has_work(f.worker));
	assert_true(roost_worker_turn_release(f.worker));
	assert_true(fixture_iterate(&f, 2) > 0);
	assert_false(roost_worker_has_work(f.worker));
	assert_int_equal(f.nb_sent, 1);
	assert_true(worker_is_busy(f.worker));
	assert_int_equal(roost_qp_destroy(qp, NULL), 0);
	assert_false(worker_is_busy(f.worker));
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turn__belongs_to_one),
		cmocka_unit_test(turn__is_never_a_childs),
		cmocka_unit_test(turn_release__tells_of_work),
	};

	return cmocka_run_group_tests_name("turn", tests, start, NULL);
}
