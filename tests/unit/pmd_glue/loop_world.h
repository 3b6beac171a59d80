/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_PMD_GLUE_LOOP_WORLD_H
#define ROOST_TESTS_UNIT_PMD_GLUE_LOOP_WORLD_H

/*
 * A program with two started ports of net_ring, for tests of roost/loop.h. Port
 * 0 is station b of the golden frames, port 1 is station a. What a port sends
 * and receives are rings of the test's. State, speed and MTU of the links, and
 * the MACs, are what the test says, as net_ring has none.
 */

#include <stdbool.h>

#include <roost/loop.h>

#include "tests/cmocka.h"
#include "tests/unit/pmd_glue/host/frames.h"

struct rte_mbuf;
struct rte_ring;

#define LOOP_PORTS 2u
#define LOOP_RING_LEN 64u /* 63 frames fit */
#define LOOP_PUNTS_MAX 512u
#define LOOP_S 1000000000ull

struct loop_port {
	struct rte_ring *rx, *tx;
	bool is_up;
	uint32_t speed_mbps;
	uint16_t mtu_bytes;
};

extern struct loop_world {
	struct rte_mempool *pool;
	struct loop_port ports[LOOP_PORTS];
	uint64_t now_ns; /* begins with the clock's */
	/* Frames that punt() took. */
	struct rte_mbuf *punts[LOOP_PUNTS_MAX];
	unsigned int nb_punts;
} loop_world;

/* Once per process. */
int loop_world_start(void **state);
/* Of each test: both links are up with 10 Gb/s and an MTU of 1500; in the end
 * there is no frame that somebody kept.
 */
int loop_world_setup(void **state);
int loop_world_teardown(void **state);

#define LOOP_TEST(test)                                                        \
	cmocka_unit_test_setup_teardown(test, loop_world_setup,                \
					loop_world_teardown)

/* A device on the port, with the addresses of its station; the program hands
 * over all frames, and punted frames are kept.
 */
struct roost_loop_conf loop_conf(uint16_t port_id);
struct roost_loop *loop_new(const struct roost_loop_conf *conf);
/* The same with the conf of port 0. */
struct roost_loop *loop_new_b(void);
void loop_destroy(struct roost_loop *loop);
/* An iteration with these frames, 1 us after the last one. */
unsigned int loop_run(struct roost_loop *loop, struct rte_mbuf **frames,
		      uint16_t n);
void loop_pass(uint64_t ns);

/* A frame in one segment. */
struct rte_mbuf *loop_mbuf(const void *bytes, size_t len_bytes);
/* The frame in segments of so many bytes; takes mbuf. */
struct rte_mbuf *loop_cut(struct rte_mbuf *mbuf, unsigned int bytes);
/* Put an 802.1Q tag into the frame. */
struct rte_mbuf *loop_tag(struct rte_mbuf *mbuf, uint16_t ethertype,
			  uint16_t tci);
/* Hand a golden frame over. */
void loop_hear(struct roost_loop *loop, const struct golden_frame *f);

/* What the port sent first, or NULL. */
struct rte_mbuf *loop_sent(uint16_t port_id);
/* Free what the port has sent. Returns how many frames. */
unsigned int loop_forget_sent(uint16_t port_id);
/* The port sent this frame and no other one. */
void loop_expect_sent(uint16_t port_id, const struct golden_frame *f);
/* The program got so many frames back; they are freed. */
void loop_expect_punts(unsigned int nb);

#endif
