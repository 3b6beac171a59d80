/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Netlink: a buffer as recv(2) gives it, walked as pmd_glue/kernel/nl_link.c
 * does. Input: pieces, each a message; its length in the header is made right
 * in half of them, so that the attributes are reached.
 */

#include <limits.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include <libmnl/libmnl.h>

#include "pmd_glue/kernel/nl_link_msg.h"
#include "tests/fuzz/fuzz.h"

#define IFINDEX 7
#define MESSAGE_MAX 4096u

static struct roost_nl_link_state state;

static void check_state(void)
{
	struct roost_prefixes usable;
	unsigned int nb;

	FUZZ_CHECK(state.ifindex == IFINDEX);
	FUZZ_CHECK(state.nb_addrs <= ROOST_NL_LINK_ADDRS_MAX);
	FUZZ_CHECK(memchr(state.name, '\0', sizeof(state.name)) != NULL);
	FUZZ_CHECK(!state.running || state.up);
	for (unsigned int i = 0; i < state.nb_addrs; i++) {
		const struct roost_prefix *prefix = &state.addrs[i].prefix;

		FUZZ_CHECK(!roost_gid_is_zero(&prefix->gid));
		FUZZ_CHECK(!roost_gid_is_multicast(&prefix->gid));
		FUZZ_CHECK(prefix->len_bits <=
			   (roost_gid_is_v4(&prefix->gid) ? 32 : 128));
		FUZZ_CHECK(roost_nl_link_has(&state, &prefix->gid));
	}
	nb = roost_nl_link_usable(&state, &state.addrs[0].prefix.gid, &usable);
	FUZZ_CHECK(nb <= state.nb_addrs);
	FUZZ_CHECK(usable.nb <= nb && usable.nb <= ROOST_PORT_IPS_MAX);
}

static void take_route(const struct nlmsghdr *msg)
{
	static const struct roost_gid v4 = {
		.b = { [10] = 0xff, [11] = 0xff, [12] = 198, [15] = 1 },
	};
	static const struct roost_gid v6 = { .b = { [0] = 0xfd, [15] = 1 } };
	struct roost_nl_link_route route;

	if (roost_nl_link_take_route(msg, IFINDEX, &v4, &route) == 0)
		FUZZ_CHECK(!route.is_direct || roost_gid_eq(&route.hop, &v4));
	if (roost_nl_link_take_route(msg, IFINDEX, &v6, &route) == 0)
		FUZZ_CHECK(!route.is_direct || roost_gid_eq(&route.hop, &v6));
}

/* The same twice changes nothing the second time. */
static void take(const struct nlmsghdr *msg)
{
	if (roost_nl_link_take(&state, msg))
		FUZZ_CHECK(msg->nlmsg_type == RTM_DELADDR ||
			   !roost_nl_link_take(&state, msg));
	check_state();
	roost_nl_link_index(msg);
	take_route(msg);
}

static void take_buffer(void *buf, size_t len_bytes)
{
	const struct nlmsghdr *msg = buf;
	int left = (int)len_bytes;

	/* mnl_nlmsg_ok() takes a length beyond INT_MAX for a negative one; the
	 * kernel's messages are shorter.
	 */
	for (; mnl_nlmsg_ok(msg, left) && msg->nlmsg_len <= INT_MAX;
	     msg = mnl_nlmsg_next(msg, &left))
		take(msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct fuzz_in in = { data, len_bytes };

	memset(&state, 0, sizeof(state));
	state.ifindex = IFINDEX;
	while (in.left_bytes > 0) {
		bool mends = fuzz_u8(&in) & 1;
		struct fuzz_in piece = fuzz_piece(&in);
		size_t bytes = piece.left_bytes;
		struct nlmsghdr *msg;

		if (bytes > MESSAGE_MAX)
			bytes = MESSAGE_MAX;
		msg = malloc(bytes + 1);
		FUZZ_CHECK(msg != NULL);
		fuzz_take(&piece, msg, bytes);
		if (mends && bytes >= sizeof(*msg))
			msg->nlmsg_len = (uint32_t)bytes;
		take_buffer(msg, bytes);
		free(msg);
	}
	return 0;
}
