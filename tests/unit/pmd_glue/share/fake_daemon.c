/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/unit/pmd_glue/share/fake_daemon.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/cmocka.h"

static const struct roost_share_attached grant = {
	.client = 7,
	.seat = 0,
	.node_guid = 0x0200000000000001,
	.qpn_seed = { 1, 2 },
	.comm_seed = { 3, 4 },
	.qpn_index_bits = 20,
	.qpn_block_shift = 6,
	.qpn_block = 5,
	.comm_prefix_bits = 13,
	.comm_prefix = 9,
	.max_qps = 1024,
	.max_half_open = 64,
	.patience_ms = 10000,
	.mac = { 2, 0, 0, 0, 0, 1 },
	.label = "fake",
};

void fake_prepare(struct fake_daemon *d)
{
	const struct roost_shm_shape shape = { 64, ROOST_SHM_SLOT_BYTES, 2,
					       32 };
	const uint8_t v4[4] = { 198, 18, 0, 1 };
	int fds[2];

	*d = (struct fake_daemon){
		.attach = FAKE_GRANTS,
		.attached = { .type = ROOST_SHARE_ATTACHED, .attached = grant },
		.facts = { .is_active = 1,
			   .ip_mtu_bytes = 4200,
			   .mac = { 2, 0, 0, 0, 0, 1 },
			   .pkeys = { 0xffff } },
		.listener = -1,
	};
	atomic_init(&d->fd, -1);
	d->facts.gids[0] = (struct roost_gid){ { 0xfe, 0x80, [8] = 0, 0, 0,
						 0xff, 0xfe, 0, 0, 1 } };
	d->facts.gids[1] = roost_gid_from_v4(v4);
	assert_int_equal(roost_shm_memory_make(&shape, &d->memory), 0);
	assert_int_equal(roost_share_page_make(&d->page, &d->fds[2]), 0);
	atomic_store(&d->page->neighs[0], roost_neigh_mac_gen(d->facts.mac, 1));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				    fds),
			 0);
	d->fds[0] = dup(d->memory.fd);
	d->fds[1] = fds[0];
	d->doorbell = fds[1];
}

/* ---- its thread: no assertion there -------------------------------------- */

void fake_reply(struct fake_daemon *d, uint32_t tag, int status, uint64_t value)
{
	struct roost_share_msg msg = {
		.type = ROOST_SHARE_REPLY,
		.tag = tag,
		.status = status,
		.reply.value = value,
	};

	msg.reply.gid = d->facts.gids[1];
	roost_share_send(atomic_load(&d->fd), &msg, NULL, 0, NULL);
}

static void answer_attach(struct fake_daemon *d)
{
	const int fd = atomic_load(&d->fd);
	const char *ticket;

	d->attach_msg = d->heard.msg;
	d->ticket_bytes = d->heard.msg.tail_bytes;
	memcpy(d->ticket, d->heard.tail,
	       d->ticket_bytes < sizeof(d->ticket) ? d->ticket_bytes
						   : sizeof(d->ticket));
	roost_shm_memory_map(d->heard.fds[0], &d->client_memory);
	roost_share_packet_close(&d->heard);
	d->attached.tag = d->heard.msg.tag;
	switch (d->attach) {
	case FAKE_GRANTS:
	case FAKE_REFUSES:
		ticket = d->grants_ticket ? d->grants_ticket : "ticket";
		roost_share_send(fd, &d->attached, ticket,
				 d->no_ticket ? 0 : strlen(ticket), d->fds);
		break;
	case FAKE_IS_SILENT:
		break;
	case FAKE_HANGS_UP:
		shutdown(fd, SHUT_RDWR);
		break;
	case FAKE_SENDS_RAW:
		(void)!send(fd, "raw", 3, MSG_NOSIGNAL);
		break;
	case FAKE_REPLIES:
		fake_reply(d, d->heard.msg.tag, 0, 0);
		break;
	case FAKE_IS_NEWER:
		(void)!send(fd, (uint32_t[6]){ 2 }, 24, MSG_NOSIGNAL);
		break;
	}
}

static void answer(struct fake_daemon *d)
{
	const struct roost_share_msg *msg = &d->heard.msg;

	if (d->serve && d->serve(d, &d->heard))
		return;
	switch (msg->type) {
	case ROOST_SHARE_ATTACH:
		answer_attach(d);
		break;
	case ROOST_SHARE_PUT:
	case ROOST_SHARE_BACK:
	case ROOST_SHARE_BYE:
		break;
	default:
		fake_reply(d, msg->tag, 0, 0);
	}
}

static void *fake_main(void *arg)
{
	struct fake_daemon *d = arg;
	struct pollfd fd;
	int ret = 0;

	fd = (struct pollfd){ .fd = accept4(d->listener, NULL, NULL,
					    SOCK_CLOEXEC | SOCK_NONBLOCK),
			      .events = POLLIN };
	atomic_store(&d->fd, fd.fd);
	while (fd.fd >= 0 && (ret == 0 || ret == -EAGAIN)) {
		poll(&fd, 1, -1);
		ret = roost_share_receive(fd.fd, false, &d->heard);
		if (ret)
			continue;
		answer(d);
		atomic_fetch_add(&d->nb[d->heard.msg.type], 1);
	}
	atomic_store(&d->gone, true);
	return NULL;
}

/* ---- the test's thread --------------------------------------------------- */

void fake_start(struct fake_daemon *d)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	roost_share_page_write(d->page, &d->facts);
	snprintf(d->path, sizeof(d->path), "/tmp/roost-fake-%d.sock", getpid());
	unlink(d->path);
	strcpy(addr.sun_path, d->path);
	d->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(d->listener, (struct sockaddr *)&addr,
			      sizeof(addr)),
			 0);
	assert_int_equal(listen(d->listener, 1), 0);
	assert_int_equal(pthread_create(&d->thread, NULL, fake_main, d), 0);
}

void fake_await(struct fake_daemon *d, enum roost_share_type type,
		unsigned int nb)
{
	for (int i = 0; i < 5000 && atomic_load(&d->nb[type]) < nb; i++)
		usleep(1000);
	assert_int_equal(atomic_load(&d->nb[type]), nb);
}

void fake_hang_up(struct fake_daemon *d)
{
	shutdown(d->listener, SHUT_RDWR); /* ends an accept */
	if (atomic_load(&d->fd) >= 0)
		shutdown(atomic_load(&d->fd), SHUT_RDWR);
}

void fake_stop(struct fake_daemon *d)
{
	fake_hang_up(d);
	pthread_join(d->thread, NULL);
	close(d->listener);
	if (atomic_load(&d->fd) >= 0)
		close(atomic_load(&d->fd));
	unlink(d->path);
	for (unsigned int i = 0; i < 3; i++)
		close(d->fds[i]);
	close(d->doorbell);
	roost_shm_memory_close(&d->client_memory);
	roost_shm_memory_close(&d->memory);
	roost_share_page_close(d->page);
}

void fake_replace(struct fake_daemon *d)
{
	fake_stop(d);
	fake_prepare(d);
}
