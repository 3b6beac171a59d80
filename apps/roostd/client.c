/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/roostd/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pmd_glue/channel/channel.h"
#include "pmd_glue/channel/sleep.h"

/* Longer than a time slice of a busy machine. */
#define PATIENCE_NS 50000000u
#define PATIENCE_BACK 8u
#define FRAME_NS (1000000u / ROOST_SHM_PROGRESS_PKTS)
/* More than an honest client sends between two sleeps. */
#define TOKENS 64u
/* Older headers lack it; a kernel that does not know it says so. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* ---- life ---------------------------------------------------------------- */

struct roostd_client *roostd_client_create(int socket)
{
	struct roostd_client *c =
		aligned_alloc(_Alignof(struct roostd_client), sizeof(*c));
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (!c || getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &cred, &len)) {
		free(c);
		close(socket);
		return NULL;
	}
	memset(c, 0, sizeof(*c));
	c->socket = socket;
	c->doorbell = -1;
	c->pidfd = -1;
	c->pid = cred.pid;
	c->uid = cred.uid;
	c->slot = ROOST_CLIENT_NONE;
	c->asleep = true;
	c->ours.fd = -1;
	c->theirs.fd = -1;
	c->memory_fd = -1;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

void roostd_client_destroy(struct roostd_client *c)
{
	if (c->doorbell >= 0)
		close(c->doorbell);
	if (c->pidfd >= 0)
		close(c->pidfd);
	roost_shm_memory_close(&c->ours);
	roost_shm_memory_close(&c->theirs);
	if (c->memory_fd >= 0)
		close(c->memory_fd);
	close(c->socket);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* SO_PEERPIDFD (Linux 6.5) names the process itself. By its number we may get a
 * later process, if it ends just now; but then its session has ended, too.
 */
static int open_pidfd(const struct roostd_client *c)
{
	socklen_t len = sizeof(int);
	int fd;

	if (getsockopt(c->socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == 0)
		return fd;
	return c->pid > 0 ? (int)syscall(SYS_pidfd_open, c->pid, 0) : -1;
}

int roostd_client_attach(struct roostd_client *c,
			 const struct roost_shm_shape *shape, int memory,
			 uint32_t seat, int *their_doorbell)
{
	int pair[2];
	int ret = roost_shm_memory_map(memory, &c->theirs);

	if (ret)
		return ret;
	if (seat >= c->theirs.shape.nb_seats)
		return -EPROTO;
	c->memory_fd = fcntl(memory, F_DUPFD_CLOEXEC, 0);
	if (c->memory_fd < 0)
		return -errno;
	ret = roost_shm_memory_make(shape, &c->ours);
	if (ret)
		return ret;
	/* One packet a ring; when the other end is closed, a send fails. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		       pair) < 0)
		return -errno;
	c->doorbell = pair[0];
	c->pidfd = open_pidfd(c);
	*their_doorbell = pair[1];
	roost_shm_in_open(&c->in, &c->ours, ROOSTD_SEAT, &c->theirs, seat);
	roost_shm_out_open(&c->out, &c->ours, ROOSTD_SEAT, &c->theirs, seat);
	return 0;
}

/* ---- frames to it -------------------------------------------------------- */

static bool has_room(struct roostd_client *c)
{
	const uint32_t room = c->ours.shape.ring_len;

	if (roost_shm_out_pending(&c->out) == room)
		roost_shm_out_free(&c->out, roost_shm_out_collect(&c->out));
	return roost_shm_out_pending(&c->out) < room;
}

/* Lanes do not have one time: that of another one may be later. */
static uint64_t past_ns(uint64_t from_ns, uint64_t now_ns)
{
	return now_ns > from_ns ? now_ns - from_ns : 0;
}

static uint64_t spent_ns(const struct roostd_patience *p, uint64_t now_ns)
{
	return past_ns(past_ns(p->spent_at_ns, now_ns) / PATIENCE_BACK,
		       p->spent_ns);
}

/* Its ring was full until full_ns, and has moved on. */
static void spend(struct roostd_patience *p, uint32_t consumed, uint64_t now_ns)
{
	const uint64_t free_ns = (uint64_t)(consumed - p->consumed) * FRAME_NS;
	const uint64_t ns = spent_ns(p, now_ns) +
			    past_ns(free_ns, past_ns(p->since_ns, p->full_ns));

	p->spent_ns = ns < PATIENCE_NS ? ns : PATIENCE_NS;
	p->spent_at_ns = now_ns;
	p->since_ns = 0;
}

static bool is_waited_for(struct roostd_patience *p, uint32_t consumed,
			  uint64_t now_ns)
{
	if (p->since_ns != 0 &&
	    consumed - p->consumed >= ROOST_SHM_PROGRESS_PKTS)
		spend(p, consumed, now_ns);
	if (p->since_ns == 0) {
		p->since_ns = now_ns;
		p->consumed = consumed;
	}
	p->full_ns = now_ns;
	return spent_ns(p, now_ns) + past_ns(p->since_ns, now_ns) < PATIENCE_NS;
}

bool roostd_client_is_ready(struct roostd_client *c, uint64_t now_ns)
{
	struct roostd_patience *p = &c->patience;

	if (c->out.fault != ROOST_SHM_OK)
		return true;
	if (!has_room(c))
		return !is_waited_for(p, c->out.freed, now_ns);
	if (__builtin_expect(p->since_ns != 0, 0))
		spend(p, c->out.freed, now_ns);
	return true;
}

bool roostd_client_deliver(struct roostd_client *c,
			   const struct roost_sw_frame *frame)
{
	const uint32_t n = c->out.published & (c->ours.shape.nb_slots - 1);
	const uint32_t rest = frame->len_bytes - frame->head_len_bytes;
	uint8_t *slot;

	if (c->out.fault != ROOST_SHM_OK || !has_room(c) ||
	    frame->len_bytes > roost_shm_frame_max_bytes(&c->ours.shape))
		return false;
	slot = roost_shm_slot(&c->ours, n) + ROOST_SHM_HEADROOM;
	memcpy(slot, frame->head, frame->head_len_bytes);
	if (rest > 0)
		memcpy(slot + frame->head_len_bytes, frame->payload, rest);
	roost_shm_out_publish(&c->out, n, frame->len_bytes);
	return true;
}

void roostd_client_ring(struct roostd_client *c)
{
	if (roost_shm_must_ring(roost_shm_sleeps(&c->theirs), &c->rung))
		(void)!send(c->doorbell, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* ---- sleep --------------------------------------------------------------- */

/* A fault counts: it has to be found. */
bool roostd_client_has_frames(const struct roostd_client *c)
{
	struct roost_shm_in look = c->in;
	struct roost_shm_entry entry;

	return roost_shm_in_take(&look, &entry, 1) > 0 ||
	       look.fault != ROOST_SHM_OK;
}

bool roostd_client_sleep(struct roostd_client *c)
{
	roost_shm_sleep_begin(roost_shm_sleeps(&c->ours));
	if (!roostd_client_has_frames(c))
		return true;
	roost_shm_sleep_end(roost_shm_sleeps(&c->ours));
	return false;
}

bool roostd_client_awake(struct roostd_client *c)
{
	char tokens[TOKENS];

	roost_shm_sleep_end(roost_shm_sleeps(&c->ours));
	return recv(c->doorbell, tokens, sizeof(tokens), MSG_DONTWAIT) != 0;
}
