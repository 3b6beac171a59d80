/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * What goes on beside the sessions: streams of rsockets, children of forks,
 * readers of async events.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>

#include "tests/real/fork/pair.h"
#include "tests/soak/parts.h"

#define STREAM_PORT 7472
#define SESSION_PORT "7471"
#define STREAM_BYTES 50000
#define STREAM_ROUNDS 10
#define FORK_PAUSE_US 100000
#define POLL_MS 200

/* ---- rsockets ------------------------------------------------------------ */

/* Returns false at the end of the stream, or where its other end is gone. */
static bool move_all(ssize_t (*move)(int, void *, size_t, int), int fd,
		     uint8_t *at, size_t len)
{
	ssize_t n;

	for (size_t done = 0; done < len; done += (size_t)n) {
		n = move(fd, at + done, len - done, 0);
		if (n <= 0)
			return false;
	}
	return true;
}

static ssize_t send_some(int fd, void *at, size_t len, int flags)
{
	return rsend(fd, at, len, flags);
}

static ssize_t recv_some(int fd, void *at, size_t len, int flags)
{
	return rrecv(fd, at, len, flags);
}

static void echo_stream(int fd, struct tally *tally)
{
	static uint8_t buf[STREAM_BYTES];

	while (move_all(recv_some, fd, buf, sizeof(buf)) &&
	       move_all(send_some, fd, buf, sizeof(buf)))
		tally->rounds++;
	tally->sessions++;
	rclose(fd);
}

void *stream_serve_main(void *arg)
{
	struct part *part = arg;
	struct sockaddr_in at = soak_address(part->address, STREAM_PORT);
	const int fd = rsocket(AF_INET, SOCK_STREAM, 0);
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	int peer;

	if (fd < 0 || rbind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    rlisten(fd, 4) != 0)
		soak_fail("rlisten");
	while (!soak_over) {
		if (rpoll(&pollfd, 1, POLL_MS) != 1)
			continue;
		peer = raccept(fd, NULL, NULL);
		if (peer < 0)
			part->tally.refused++;
		else
			echo_stream(peer, &part->tally);
	}
	rclose(fd);
	return NULL;
}

static void have_stream(struct part *part, uint8_t *out, uint8_t *in)
{
	struct sockaddr_in to = soak_address(part->address, STREAM_PORT);
	const int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		soak_fail("rsocket");
	if (rconnect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
		part->tally.refused++;
		rclose(fd);
		usleep(POLL_MS * 1000);
		return;
	}
	for (unsigned int i = 0; i < STREAM_ROUNDS; i++) {
		for (unsigned int j = 0; j < STREAM_BYTES; j++)
			out[j] = (uint8_t)(part->tally.rounds * 31 + j / 7);
		if (!move_all(send_some, fd, out, STREAM_BYTES) ||
		    !move_all(recv_some, fd, in, STREAM_BYTES))
			soak_fail("a stream ended too early");
		if (memcmp(in, out, STREAM_BYTES) != 0)
			soak_fail("a byte of a stream differs");
		part->tally.rounds++;
	}
	part->tally.sessions++;
	rclose(fd);
}

void *stream_main(void *arg)
{
	uint8_t *buf = malloc(2 * STREAM_BYTES);

	while (soak_goes_on()) {
		have_stream(arg, buf, buf + STREAM_BYTES);
		soak_has_done();
	}
	free(buf);
	return NULL;
}

/* ---- forks --------------------------------------------------------------- */

/* What children inherit (tests/real/fork/pair.h). */
struct pair_end end;

/* A connection of a plain session, that says nothing. */
static bool have_end(const struct part *part)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP };
	struct ibv_qp_init_attr attr = { .cap = { 4, 4, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };
	struct card card = { 0 };
	struct rdma_conn_param request = { .private_data = &card,
					   .private_data_len = sizeof(card),
					   .retry_count = 7,
					   .rnr_retry_count = 7 };
	struct rdma_addrinfo *info;
	int rc;

	if (rdma_getaddrinfo(part->address, SESSION_PORT, &hints, &info) != 0)
		return false;
	rc = rdma_create_ep(&end.id, info, NULL, &attr);
	rdma_freeaddrinfo(info);
	if (rc != 0)
		return false;
	end.mr = ibv_reg_mr(end.id->pd, end.buf, 4096,
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	card.addr_be = htobe64((uintptr_t)end.buf);
	card.rkey_be = htobe32(end.mr->rkey);
	if (rdma_connect(end.id, &request) == 0)
		return true;
	rdma_dereg_mr(end.mr);
	rdma_destroy_ep(end.id);
	return false;
}

void *fork_main(void *arg)
{
	struct part *part = arg;

	end.buf = calloc(1, 4096);
	while (!have_end(part))
		usleep(POLL_MS * 1000);
	while (soak_goes_on()) {
		if (!pair_child(end.nb_children++))
			soak_fail("a child did not end as it should");
		part->tally.sessions++;
		soak_has_done();
		usleep(FORK_PAUSE_US);
	}
	rdma_disconnect(end.id);
	rdma_dereg_mr(end.mr);
	rdma_destroy_ep(end.id);
	free(end.buf);
	return NULL;
}

/* ---- async events -------------------------------------------------------- */

atomic_uint soak_migrated;

static pthread_t readers[8];

static void *events_main(void *arg)
{
	struct ibv_context *context = arg;
	struct pollfd pollfd = { .fd = context->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	while (!soak_over) {
		if (poll(&pollfd, 1, POLL_MS) != 1)
			continue;
		/* Its object may be gone by now; and of a device that was
		 * removed, no more comes.
		 */
		if (ibv_get_async_event(context, &event) != 0) {
			if (errno == EAGAIN)
				continue;
			break;
		}
		soak_migrated += event.event_type == IBV_EVENT_PATH_MIG;
		ibv_ack_async_event(&event);
	}
	return NULL;
}

void events_start(struct ibv_context **contexts)
{
	for (int i = 0; contexts[i]; i++)
		if (fcntl(contexts[i]->async_fd, F_SETFL, O_NONBLOCK) ||
		    pthread_create(&readers[i], NULL, events_main, contexts[i]))
			soak_fail("events_start");
}

void events_stop(struct ibv_context **contexts)
{
	for (int i = 0; contexts[i]; i++)
		pthread_join(readers[i], NULL);
}
