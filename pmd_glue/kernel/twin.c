/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Workers call roost_twin_take(): it does no allocation, lock or log, and a
 * system call only to wake the thread.
 */

#include "pmd_glue/kernel/twin.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "lib/engine/sched/worker.h"
#include "lib/event/high_fd.h"
#include "lib/event/ring.h"
#include "lib/wire/frame.h"
#include "pmd_glue/kernel/tap.h"
#include "pmd_glue/process/thread.h"
#include "pmd_glue/progress/progress.h"

#define BURST 32u
/* Frames that may wait for the thread; more are dropped. */
#define TO_KERNEL_LEN 512u
/* The twin's frames that may wait for the worker: as many as one iteration
 * sends.
 */
#define TO_PORT_MAX 64u
/* The interval of the checks whether the worker has taken them. */
#define TO_PORT_NS 50000u
/* More than the sent packets that any driver keeps until it needs the room. */
#define POOL_MBUFS 2047u
/* The shortest Ethernet frame, without FCS; not every port pads frames. */
#define FRAME_MIN_BYTES 60u

struct roost_twin {
	/* Constant while the thread runs. */
	struct roost_tap tap;
	uint32_t frame_max_bytes;
	struct rte_mempool *pool;     /* of frames from the kernel */
	struct rte_mempool *own_pool; /* the same, if it is ours */
	struct roost_worker *worker;
	uint8_t port_num;
	struct roost_progress *progress;
	bool running;
	int wake_fd;
	pthread_t thread;

	struct rte_ring *to_kernel; /* enqueue: workers; dequeue: the thread */
	atomic_bool asleep;
	atomic_bool stop;

	/* Only the twin's thread reads and writes these. */
	bool deleted;           /* the interface is gone */
	struct rte_mbuf *spare; /* for the next frame; NULL: none */
	bool held_up;           /* TO_PORT_MAX frames wait, or pool is empty */
};

/* ---- from the port ------------------------------------------------------- */

static void wake(struct roost_twin *t)
{
	const uint64_t one = 1;
	ssize_t written;

	/* Pairs with the fence in rest(): either the thread sees the frame, or
	 * the caller sees asleep.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&t->asleep, memory_order_relaxed) ||
	    !atomic_exchange(&t->asleep, false))
		return;
	written = write(t->wake_fd, &one, sizeof(one));
	(void)written; /* fails only on overflow: then fd is readable */
}

void roost_twin_take(struct roost_twin *t, struct rte_mbuf *frame)
{
	if (rte_ring_mp_enqueue(t->to_kernel, frame) != 0)
		rte_pktmbuf_free(frame);
	else
		wake(t);
}

/* ---- the thread ---------------------------------------------------------- */

static unsigned int move_to_kernel(struct roost_twin *t)
{
	struct rte_mbuf *frames[BURST];
	ssize_t written;
	unsigned int n;

	n = rte_ring_sc_dequeue_burst(t->to_kernel, (void **)frames, BURST,
				      NULL);
	for (unsigned int i = 0; i < n; i++) {
		written = write(t->tap.fd,
				rte_pktmbuf_mtod(frames[i], const void *),
				rte_pktmbuf_data_len(frames[i]));
		(void)written; /* fails while the interface is down */
	}
	rte_pktmbuf_free_bulk(frames, n);
	return n;
}

/* Read the kernel's next frame. Returns NULL: there is none now. */
static struct rte_mbuf *read_frame(struct roost_twin *t)
{
	struct rte_mbuf *frame = t->spare;
	ssize_t len;
	char *data;

	if (!frame)
		frame = rte_pktmbuf_alloc(t->pool);
	t->held_up = !frame;
	if (!frame)
		return NULL;
	data = rte_pktmbuf_mtod(frame, char *);
	len = read(t->tap.fd, data, rte_pktmbuf_tailroom(frame));
	t->deleted = len < 0 && errno == EBADFD;
	/* A frame that is too long for the port is dropped: the twin's MTU was
	 * raised, and will be set back.
	 */
	if (len < (ssize_t)ROOST_ETH_LEN || len > (ssize_t)t->frame_max_bytes) {
		t->spare = frame;
		return NULL;
	}
	t->spare = NULL;
	if (len < (ssize_t)FRAME_MIN_BYTES) {
		memset(data + len, 0, FRAME_MIN_BYTES - (size_t)len);
		len = FRAME_MIN_BYTES;
	}
	rte_pktmbuf_append(frame, (uint16_t)len);
	return frame;
}

static unsigned int move_to_port(struct roost_twin *t)
{
	struct rte_mbuf *frame;
	unsigned int n = 0;

	t->held_up = false;
	while (n < BURST) {
		if (roost_worker_frames_waiting(t->worker) >= TO_PORT_MAX) {
			t->held_up = true;
			break;
		}
		frame = read_frame(t);
		if (!frame)
			break;
		roost_worker_send_frame(t->worker, t->port_num, frame);
		n++;
	}
	if (n || t->held_up)
		roost_progress_kick(t->progress);
	return n;
}

/* Sleep until there is a frame from the kernel, or until wake(). */
static void rest(struct roost_twin *t)
{
	bool reads = !t->held_up && !t->deleted;
	struct pollfd fds[2] = {
		{ .fd = t->wake_fd, .events = POLLIN },
		/* poll passes over -1 */
		{ .fd = reads ? t->tap.fd : -1, .events = POLLIN },
	};
	const struct timespec soon = { .tv_nsec = TO_PORT_NS };
	uint64_t tokens;
	ssize_t got;

	atomic_store_explicit(&t->asleep, true, memory_order_relaxed);
	/* Pairs with wake(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (roost_ring_is_empty(t->to_kernel) && !atomic_load(&t->stop))
		ppoll(fds, 2, t->held_up ? &soon : NULL, NULL);
	if (!atomic_exchange(&t->asleep, false)) {
		got = read(t->wake_fd, &tokens, sizeof(tokens));
		(void)got; /* wake() may not have written yet: then the next
			    * sleep is short */
	}
}

static void *twin_main(void *arg)
{
	struct roost_twin *t = arg;
	unsigned int n;

	prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul);
	while (!atomic_load_explicit(&t->stop, memory_order_relaxed)) {
		n = move_to_kernel(t);
		if (!t->deleted)
			n += move_to_port(t);
		if (n == 0)
			rest(t);
	}
	rte_pktmbuf_free(t->spare);
	return NULL;
}

/* ---- life ---------------------------------------------------------------- */

static int make_pool(struct roost_twin *t, const struct roost_twin_conf *conf)
{
	uint32_t room = RTE_ALIGN_CEIL(t->frame_max_bytes + 1, 64u);
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof(name), "roost_%s", conf->name);
	t->pool = conf->pool;
	if (t->pool)
		return 0;
	t->own_pool =
		rte_pktmbuf_pool_create(name, POOL_MBUFS, 0, 0,
					(uint16_t)(room + RTE_PKTMBUF_HEADROOM),
					conf->socket_id);
	t->pool = t->own_pool;
	return t->pool ? 0 : -ENOMEM;
}

int roost_twin_open(const struct roost_twin_conf *conf,
		    struct roost_twin **twin)
{
	struct roost_twin *t = calloc(1, sizeof(*t));
	int ret;

	if (!t)
		return -ENOMEM;
	t->tap = (struct roost_tap){ .fd = -1 };
	t->wake_fd = -1;
	/* The kernel may have VLAN interfaces on the twin. */
	t->frame_max_bytes =
		conf->ip_mtu_bytes + ROOST_ETH_LEN + ROOST_VLAN_LEN;
	ret = roost_ring_create("roost_twin", sizeof(void *), TO_KERNEL_LEN,
				RING_F_SC_DEQ, &t->to_kernel);
	if (ret == 0)
		ret = make_pool(t, conf);
	if (ret == 0)
		ret = roost_tap_open(&t->tap, conf->name, conf->mac);
	if (ret) {
		roost_twin_stop(t);
		roost_twin_free(t);
		return ret;
	}
	*twin = t;
	return 0;
}

void roost_twin_set_carrier(struct roost_twin *t, bool carrier)
{
	roost_tap_set_carrier(&t->tap, carrier);
}

int roost_twin_start(struct roost_twin *t, struct roost_worker *worker,
		     uint8_t port_num, struct roost_progress *progress)
{
	int ret;

	t->worker = worker;
	t->port_num = port_num;
	t->progress = progress;
	t->wake_fd = roost_high_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (t->wake_fd < 0)
		return -errno;
	ret = roost_thread_create(&t->thread, "roost-twin", twin_main, t);
	t->running = ret == 0;
	return ret;
}

void roost_twin_stop(struct roost_twin *t)
{
	if (t->running) {
		atomic_store(&t->stop, true);
		wake(t);
		pthread_join(t->thread, NULL);
		t->running = false;
	}
	/* A worker may still call roost_twin_take(): asleep is false, so it
	 * writes no wake.
	 */
	roost_tap_close(&t->tap);
}

void roost_twin_free(struct roost_twin *t)
{
	struct rte_mbuf *frame = NULL;

	while (t->to_kernel &&
	       rte_ring_sc_dequeue(t->to_kernel, (void **)&frame) == 0)
		rte_pktmbuf_free(frame);
	free(t->to_kernel);
	if (t->wake_fd >= 0)
		close(t->wake_fd);
	rte_mempool_free(t->own_pool);
	free(t);
}
