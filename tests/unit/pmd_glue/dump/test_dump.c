/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pmd_glue/dump/dump.h"
#include "pmd_glue/process/control.h"
#include "tests/cmocka.h"

#define FRAMES 20000u
#define WRITERS 3u

static char snaplen[] = "64", kib[] = "64", any[] = "-";
static char *words[] = { any, snaplen, kib, NULL };
static bool shown, busy;

static int set(struct roost_dump_source *source, bool on)
{
	(void)source;
	if (busy)
		return -EBUSY;
	shown = on;
	return 0;
}

static struct roost_dump_source source = {
	.device = "roost0",
	.names = { "roost0 port 1" },
	.nb_names = 1,
	.set = set,
};

struct reader {
	int ours, theirs;
	struct roost_dump_view view;
	char error[ROOST_DUMP_ERROR_MAX];
	int ret;
};

/* ---- on the control thread ---- */

static int add(void *arg)
{
	(void)arg;
	roost_dump_add(&source);
	return 0;
}

static int remove_it(void *arg)
{
	(void)arg;
	roost_dump_remove(&source);
	return 0;
}

static int begin(void *arg)
{
	struct reader *r = arg;

	r->ret = roost_dump_start(r->theirs, words, r->error);
	return 0;
}

/* ---- a reader ---- */

static int open_memory(struct reader *r)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	char text[8];
	struct iovec iov = { .iov_base = text, .iov_len = sizeof(text) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	int fd;

	assert_int_equal(recvmsg(r->ours, &msg, 0), 3);
	assert_memory_equal(text, "ok\n", 3);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

static void start(struct reader *r)
{
	int fds[2], fd;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	*r = (struct reader){ .ours = fds[0], .theirs = fds[1] };
	roost_control_call(begin, r);
	if (r->ret != 0)
		return;
	fd = open_memory(r);
	/* Nobody can write it, or make it smaller under us. */
	assert_true(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0) ==
		    MAP_FAILED);
	assert_int_not_equal(ftruncate(fd, 0), 0);
	assert_int_equal(roost_dump_view_open(&r->view, fd), 0);
	close(fd);
}

static void tell(struct reader *r, uint64_t tail)
{
	assert_int_equal(send(r->ours, &tail, sizeof(tail), MSG_NOSIGNAL),
			 sizeof(tail));
}

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

/* The control thread has seen what was sent before. */
static void settle(void)
{
	for (int i = 0; i < 3; i++)
		roost_control_call(nothing, NULL);
}

static void leave(struct reader *r)
{
	close(r->ours);
	if (r->ret == 0)
		roost_dump_view_close(&r->view);
	else
		close(r->theirs);
}

/* The last one. */
static void end(struct reader *r)
{
	leave(r);
	for (int i = 0; i < 2000 && shown; i++) {
		settle();
		usleep(1000);
	}
}

/* ---- frames ---- */

static void record(uint32_t number, const char *comment, bool cancel)
{
	uint8_t bytes[100] = { 0 };
	const struct roost_dump_frame frame = {
		.source = &source,
		.way = ROOST_DUMP_SENT,
		.head = bytes,
		.head_bytes = 60,
		.rest = bytes + 60,
		.rest_bytes = 40,
		.frame_bytes = sizeof(bytes),
	};
	struct roost_tap_mark mark;

	memcpy(bytes, &number, sizeof(number));
	bytes[63] = 3;
	roost_dump_begin(&frame, &mark);
	if (cancel)
		roost_dump_cancel(&mark);
	else
		roost_dump_end(&mark, comment);
}

static uint32_t number_of(const struct reader *r)
{
	uint32_t number;

	memcpy(&number, r->view.slot->bytes, sizeof(number));
	return number;
}

static int setup(void **state)
{
	(void)state;
	return roost_control_get() == 0 && roost_control_call(add, NULL) == 0
		       ? 0
		       : -1;
}

static int teardown(void **state)
{
	(void)state;
	roost_control_call(remove_it, NULL);
	roost_control_put();
	return 0;
}

static void dump__frames(void **state)
{
	char name[ROOST_DUMP_NAME_MAX];
	struct reader r;

	(void)state;
	assert_false(shown);
	start(&r);
	assert_int_equal(r.ret, 0);
	assert_true(shown);
	assert_false(roost_dump_view_next(&r.view, false));
	record(7, "dropped: icrc", false);
	record(8, "void", true);
	record(9, NULL, false);
	assert_true(roost_dump_view_next(&r.view, false));
	assert_int_equal(number_of(&r), 7);
	assert_string_equal(r.view.slot->comment, "dropped: icrc");
	assert_int_equal(r.view.slot->frame_bytes, 100);
	assert_int_equal(r.view.slot->copied_bytes, 64);
	assert_int_equal(r.view.slot->bytes[63], 3);
	assert_int_equal(r.view.slot->way, ROOST_DUMP_SENT);
	roost_dump_view_name(&r.view, r.view.slot->source, name);
	assert_string_equal(name, "roost0 port 1");
	assert_true(roost_dump_view_next(&r.view, false));
	assert_int_equal(number_of(&r), 9);
	assert_string_equal(r.view.slot->comment, "");
	assert_false(roost_dump_view_next(&r.view, false));
	end(&r);
	assert_false(shown);
}

/* A reader that reads nothing costs frames, which are counted. */
static void dump__full(void **state)
{
	struct reader r;
	uint32_t n = 0;

	(void)state;
	start(&r);
	for (uint32_t i = 0; i < 1000; i++)
		record(i, NULL, false);
	while (roost_dump_view_next(&r.view, false))
		assert_int_equal(number_of(&r), n++);
	assert_int_equal(n, r.view.nb_slots);
	assert_int_equal(roost_dump_view_lost(&r.view), 1000 - n);
	tell(&r, r.view.next);
	settle();
	record(5000, NULL, false);
	assert_true(roost_dump_view_next(&r.view, false));
	assert_int_equal(number_of(&r), 5000);
	assert_int_equal(r.view.slot->lost, 1000 - n);
	end(&r);
}

/* One that claims to have read what was never written is cut off. */
static void dump__liar(void **state)
{
	struct reader r;

	(void)state;
	start(&r);
	record(1, NULL, false);
	tell(&r, 2);
	for (int i = 0; i < 2000 && shown; i++) {
		settle();
		usleep(1000);
	}
	assert_false(shown);
	end(&r);
}

/* A source that is busy when a reader ends: the memory stays meanwhile. */
static void dump__busy(void **state)
{
	struct roost_tap_mark mark;
	const struct roost_dump_frame frame = {
		.source = &source,
		.head = "frame",
		.head_bytes = 5,
		.frame_bytes = 5,
	};
	struct reader r;

	(void)state;
	start(&r);
	busy = true;
	roost_dump_begin(&frame, &mark);
	close(r.ours);
	usleep(20000);
	settle();
	roost_dump_end(&mark, NULL);
	busy = false;
	r.ours = dup(0);
	end(&r);
	assert_false(shown);
}

static void dump__many_readers(void **state)
{
	struct reader r[ROOST_DUMPS_MAX + 1];

	(void)state;
	for (unsigned int i = 0; i <= ROOST_DUMPS_MAX; i++) {
		start(&r[i]);
		assert_int_equal(r[i].ret, i < ROOST_DUMPS_MAX ? 0 : -EINVAL);
	}
	record(3, NULL, false);
	for (unsigned int i = 0; i < ROOST_DUMPS_MAX; i++)
		assert_true(roost_dump_view_next(&r[i].view, false));
	for (unsigned int i = ROOST_DUMPS_MAX; i > 0; i--)
		leave(&r[i]);
	end(&r[0]);
	assert_false(shown);
}

static void *write_many(void *arg)
{
	const uint32_t *writer = arg;

	for (uint32_t i = 0; i < FRAMES; i++)
		record(*writer << 24 | i, NULL, i % 7 == 0);
	return NULL;
}

/* Frames of one writer keep their order, and none is there twice. */
static void dump__many_writers(void **state)
{
	uint32_t numbers[WRITERS] = { 0, 1, 2 }, next[WRITERS] = { 0 };
	pthread_t threads[WRITERS];
	uint64_t seen = 0;
	struct reader r;

	(void)state;
	start(&r);
	for (uint32_t i = 0; i < WRITERS; i++)
		pthread_create(&threads[i], NULL, write_many, &numbers[i]);
	for (int idle = 0; idle < 200;) {
		if (!roost_dump_view_next(&r.view, false)) {
			usleep(1000);
			idle++;
			continue;
		}
		assert_true((number_of(&r) & 0xffffff) >=
			    next[number_of(&r) >> 24]);
		next[number_of(&r) >> 24] = (number_of(&r) & 0xffffff) + 1;
		seen++;
		idle = 0;
		tell(&r, r.view.next);
	}
	for (uint32_t i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	assert_true(seen > 0);
	assert_true(seen + roost_dump_view_lost(&r.view) <=
		    (uint64_t)WRITERS * FRAMES);
	end(&r);
}

/* The process has ended in the middle of a frame: the others are there. */
static void dump__unfinished(void **state)
{
	const struct roost_dump_frame frame = {
		.source = &source,
		.head = "frame",
		.head_bytes = 5,
		.frame_bytes = 5,
	};
	struct roost_tap_mark mark;
	struct reader r;

	(void)state;
	start(&r);
	roost_dump_begin(&frame, &mark);
	record(4, NULL, false);
	assert_false(roost_dump_view_next(&r.view, false));
	assert_true(roost_dump_view_next(&r.view, true));
	assert_int_equal(number_of(&r), 4);
	assert_false(roost_dump_view_next(&r.view, true));
	roost_dump_end(&mark, NULL);
	end(&r);
}

static void dump__no_ring(void **state)
{
	static uint8_t memory[8192] __attribute__((aligned(64)));
	struct roost_dump_head *head = (void *)memory;
	struct roost_dump_view view;

	(void)state;
	head->magic = ROOST_DUMP_MAGIC;
	head->version = ROOST_DUMP_VERSION;
	head->snaplen = 64;
	head->slot_bytes = (uint32_t)roost_dump_slot_bytes(64);
	head->nb_slots = 16;
	assert_int_equal(roost_dump_view_init(&view, memory, sizeof(memory)),
			 0);
	free(view.slot);
	head->nb_slots = 32; /* more than there are */
	assert_int_equal(roost_dump_view_init(&view, memory, sizeof(memory)),
			 -EPROTO);
	head->nb_slots = 3;
	assert_int_equal(roost_dump_view_init(&view, memory, sizeof(memory)),
			 -EPROTO);
	head->nb_slots = 16;
	head->snaplen = 65536;
	assert_int_equal(roost_dump_view_init(&view, memory, sizeof(memory)),
			 -EPROTO);
	assert_int_equal(roost_dump_view_init(&view, memory, 100), -EPROTO);
	/* No sealed memory. */
	assert_int_equal(roost_dump_view_open(&view, 0), -EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dump__frames),
		cmocka_unit_test(dump__full),
		cmocka_unit_test(dump__liar),
		cmocka_unit_test(dump__busy),
		cmocka_unit_test(dump__many_readers),
		cmocka_unit_test(dump__many_writers),
		cmocka_unit_test(dump__unfinished),
		cmocka_unit_test(dump__no_ring),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
