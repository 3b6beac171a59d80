/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_APPS_ROOSTD_PORT_WORLD_H
#define ROOST_TESTS_UNIT_APPS_ROOSTD_PORT_WORLD_H

/*
 * A hub, whose loop the test turns, and clients that are made of the parts of
 * real ones.
 */

#include <stdbool.h>
#include <stdint.h>

#include "apps/roostd/port.h"

#define MS 1000000ull
#define SEAT 2u /* of the daemon, in a client's memory */

extern struct roostd_port port;
extern uint64_t now_ns;
extern const char *state_path; /* of the hub; NULL: it keeps nothing */
extern const struct roost_shm_shape client_shape;
/* Clients attach to this one. */
extern struct roostd_port *of_clients;
/* The daemon's loop runs on threads of its own: pump() does nothing. */
extern bool runs_itself;

struct client {
	int socket, doorbell;
	struct roost_shm_memory ours, theirs;
	struct roost_shm_in in;
	struct roost_shm_out out;
	uint64_t rung;
	const struct roost_share_page *page;
	struct roost_share_attached granted;
	struct roost_share_packet packet; /* the last */
	size_t ticket_bytes;
	uint8_t ticket[ROOST_SHARE_TAIL_MAX]; /* the last */
};

/* For each test. */
int setup(void **state);
int teardown(void **state);
/* In place of setup(): a port with a network behind it (fake_uplink.h). */
int setup_nic(void **state);
/* The listener alone. Returns 0, or not. */
int listen_for_clients(int *listener);
/* Open that port once more. */
int reopen_nic(void);
/* The same for a loop that runs itself. Returns 0, or not. */
int open_nic_at(int epoll_fd, int listener);
/* The daemon ends, and another one begins. */
void restart(void);
/* One round of the daemon. Returns how many frames it moved. */
unsigned int pump(void);

void c_connect(struct client *c);
/* Ask to attach, and do not wait; see c_try_ticket(). */
void c_send_attach(struct client *c, const struct client *ticket_of);
/* Attach, and take what the daemon grants. */
void c_attach(struct client *c);
/* The same with the last ticket of a client; may be c itself, closed. Returns
 * the status of the answer.
 */
int c_present(struct client *c, const struct client *ticket_of);
/* The same, but it does not say that it is back. */
int c_try_ticket(struct client *c, const struct client *ticket_of);
void c_close(struct client *c);
/* The next message, in packet. */
int c_receive(struct client *c);
/* Ask, and return the status of the answer. */
int c_ask(struct client *c, struct roost_share_msg msg);
bool c_is_cut_off(struct client *c);

/* Send a frame, and ring if the daemon sleeps. */
void c_publish(struct client *c, const struct roost_sw_frame *frame);
/* The next frame; NULL: none. It is given back with the next call. */
const uint8_t *c_take(struct client *c, uint32_t *len_bytes);
/* An RC frame of so many bytes for a QP of that client. */
struct roost_sw_frame rc(const struct client *to, uint32_t payload);

#endif
