/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The XDP program, run by the kernel on frames of ours. A socket stands in the
 * map for queue 0, so that what the program takes is redirected.
 */

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/wire/frame.h"
#include "pmd_glue/quirks/xdp/program.h"
#include "tests/cmocka.h"

static struct bpf_object *object;
static int program_fd = -1;
static int socket_fd = -1;

struct frame {
	size_t len;
	uint8_t b[128];
};

static void put16(struct frame *f, uint16_t value)
{
	f->b[f->len++] = (uint8_t)(value >> 8);
	f->b[f->len++] = (uint8_t)value;
}

static struct frame ether(uint16_t type)
{
	struct frame f = { .len = 12 };

	put16(&f, type);
	return f;
}

static struct frame vlan(uint16_t tag, uint16_t type)
{
	struct frame f = ether(tag);

	put16(&f, 7);
	put16(&f, type);
	return f;
}

/* ihl in words; frag as in the header. */
static void put_ip4(struct frame *f, uint8_t protocol, uint8_t ihl,
		    uint16_t frag)
{
	uint8_t *ip = f->b + f->len;

	ip[0] = (uint8_t)(0x40 | ihl);
	ip[6] = (uint8_t)(frag >> 8);
	ip[7] = (uint8_t)frag;
	ip[9] = protocol;
	f->len += 4u * ihl;
}

static void put_ip6(struct frame *f, uint8_t next)
{
	f->b[f->len] = 0x60;
	f->b[f->len + 6] = next;
	f->len += 40;
}

static void put_udp(struct frame *f, uint16_t to)
{
	put16(f, 0xc000);
	put16(f, to);
	f->len += 4;
}

static struct frame udp4(uint16_t type_or_tag, uint16_t to)
{
	struct frame f = type_or_tag == 0x0800 ? ether(0x0800)
					       : vlan(type_or_tag, 0x0800);

	put_ip4(&f, 17, 5, 0x4000);
	put_udp(&f, to);
	return f;
}

/* Returns the program's verdict. */
static uint32_t verdict(const struct frame *f)
{
	struct xdp_md ctx = { .data_end = (uint32_t)f->len };
	struct bpf_test_run_opts opts = {
		.sz = sizeof(opts),
		.data_in = f->b,
		.data_size_in = (uint32_t)f->len,
		.ctx_in = &ctx,
		.ctx_size_in = sizeof(ctx),
		.repeat = 1,
	};

	assert_int_equal(bpf_prog_test_run_opts(program_fd, &opts), 0);
	return opts.retval;
}

static void taken(struct frame f)
{
	assert_int_equal(verdict(&f), XDP_REDIRECT);
}

static void passed(struct frame f)
{
	assert_int_equal(verdict(&f), XDP_PASS);
}

static void program__takes_rocev2(void **state)
{
	struct frame f;

	taken(udp4(0x0800, 4791));
	taken(udp4(0x8100, 4791));
	taken(udp4(0x88a8, 4791));
	f = ether(0x86dd);
	put_ip6(&f, 17);
	put_udp(&f, 4791);
	taken(f);
	f = vlan(0x8100, 0x86dd);
	put_ip6(&f, 17);
	put_udp(&f, 4791);
	taken(f);
}

static void program__passes_other_protocols(void **state)
{
	struct frame f;

	passed(udp4(0x0800, 4790));
	passed(udp4(0x0800, 53));
	f = ether(0x0806);
	f.len += 28;
	passed(f);
	f = ether(0x0800);
	put_ip4(&f, 6, 5, 0x4000);
	put_udp(&f, 4791); /* TCP, to that port */
	passed(f);
	f = ether(0x86dd);
	put_ip6(&f, 58);
	put_udp(&f, 4791);
	passed(f);
	/* RoCEv1, and two tags */
	f = ether(0x8915);
	f.len += 60;
	passed(f);
	f = vlan(0x88a8, 0x8100);
	put16(&f, 8);
	put16(&f, 0x0800);
	put_ip4(&f, 17, 5, 0x4000);
	put_udp(&f, 4791);
	passed(f);
}

static void program__passes_fragments(void **state)
{
	static const uint16_t frags[] = { 0x2000, 0x2001, 0x0001, 0x1fff };
	struct frame f;

	for (size_t i = 0; i < sizeof(frags) / sizeof(frags[0]); i++) {
		f = ether(0x0800);
		put_ip4(&f, 17, 5, frags[i]);
		put_udp(&f, 4791);
		passed(f);
	}
	f = ether(0x86dd);
	put_ip6(&f, 44);
	put_udp(&f, 4791);
	passed(f);
}

/* The port is looked for behind the options, and not among them. */
static void program__ip_options(void **state)
{
	struct frame f = ether(0x0800);

	put_ip4(&f, 17, 7, 0x4000);
	put_udp(&f, 4791);
	taken(f);
	f = ether(0x0800);
	put_ip4(&f, 17, 4, 0x4000);
	put_udp(&f, 4791);
	passed(f);
}

/* Where the engine drops short frames, the kernel may as well have them. */
static void program__passes_cut_frames(void **state)
{
	struct frame f = udp4(0x0800, 4791);

	for (f.len--; f.len >= ROOST_ETH_LEN; f.len--)
		passed(f);
}

static int setup(void **state)
{
	const uint32_t queue = 0;
	struct bpf_program *program;
	int map_fd;

	object = bpf_object__open_mem(roost_xdp_program,
				      sizeof(roost_xdp_program), NULL);
	if (!object || bpf_object__load(object) != 0)
		return 0;
	program = bpf_object__next_program(object, NULL);
	map_fd = bpf_object__find_map_fd_by_name(object, "xsks_map");
	socket_fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (!program || map_fd < 0 || socket_fd < 0 ||
	    bpf_map_update_elem(map_fd, &queue, &socket_fd, 0) != 0)
		return 0;
	program_fd = bpf_program__fd(program);
	return 0;
}

static int teardown(void **state)
{
	if (socket_fd >= 0)
		close(socket_fd);
	bpf_object__close(object);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(program__takes_rocev2),
		cmocka_unit_test(program__passes_other_protocols),
		cmocka_unit_test(program__passes_fragments),
		cmocka_unit_test(program__ip_options),
		cmocka_unit_test(program__passes_cut_frames),
	};
	int ret;

	setup(NULL);
	if (program_fd < 0) {
		fputs("skipped: no BPF, no AF_XDP or no right to them here\n",
		      stderr);
		teardown(NULL);
		return 77;
	}
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	teardown(NULL);
	return ret;
}
