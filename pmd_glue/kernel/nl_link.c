/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/kernel/nl_link.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <libmnl/libmnl.h>

#include "lib/event/high_fd.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/kernel/nl_link_msg.h"

/* The longest message is that of a link with all its virtual functions. A
 * message that does not fit is ignored.
 */
#define BUF_BYTES 32768u
/* Datagrams that one run() reads, before other clients run. */
#define DRAIN_MAX 1024u
/* The kernel writes its answer inside sendto(2), so this is ample. */
#define ANSWER_MAX_S 1
/* After a failed read of the state, the next try. */
#define RETRY_NS 100000000u
/* Reads of a list that changes while it is read (NLM_F_DUMP_INTR). */
#define READ_TRIES 4

static struct {
	unsigned int refs;       /* the control thread */
	struct mnl_socket *news; /* the notifications */
	struct roost_control_client client;
	LIST_HEAD(, roost_nl_link) followers;
	bool stale; /* a notification was lost: read all again */
	/* Around a question and its answer; any thread. */
	pthread_mutex_t lock;
	struct mnl_socket *asking; /* under lock, as are the next two */
	uint32_t seq;
	_Alignas(struct nlmsghdr) uint8_t buf[BUF_BYTES];
} nl_links = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- questions ----------------------------------------------------------- */

/* Gets each message of an answer. Returns 0 to go on, or -errno. */
typedef int take_fn(void *ctx, const struct nlmsghdr *msg);

/* Returns 1: the answer is over; 0: there is more; or -errno. */
static int take_answer(const struct nlmsghdr *msg, uint32_t seq, take_fn *take,
		       void *ctx, bool *interrupted)
{
	const struct nlmsgerr *err = mnl_nlmsg_get_payload(msg);

	if (msg->nlmsg_seq != seq)
		return 0; /* the rest of an answer that timed out */
	*interrupted = *interrupted || (msg->nlmsg_flags & NLM_F_DUMP_INTR);
	switch (msg->nlmsg_type) {
	case NLMSG_DONE:
		return 1;
	case NLMSG_ERROR:
		if (mnl_nlmsg_get_payload_len(msg) < sizeof(*err))
			return -EBADMSG;
		return err->error ? err->error : 1;
	case NLMSG_NOOP:
		return 0;
	default:
		return take(ctx, msg);
	}
}

/* Send the question and take its answer. Under the lock. Returns 0; -EINTR (the
 * list changed while it was read; take() got all of it), or -errno.
 */
static int ask(const struct nlmsghdr *question, take_fn *take, void *ctx)
{
	const uint32_t seq = question->nlmsg_seq;
	const struct nlmsghdr *msg;
	bool interrupted = false;
	int ret = 0, left;
	ssize_t got;

	if (mnl_socket_sendto(nl_links.asking, question, question->nlmsg_len) <
	    0)
		return -errno;
	while (ret == 0) {
		got = mnl_socket_recvfrom(nl_links.asking, nl_links.buf,
					  BUF_BYTES);
		if (got < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		msg = (const void *)nl_links.buf;
		left = (int)got;
		while (ret == 0 && mnl_nlmsg_ok(msg, left)) {
			ret = take_answer(msg, seq, take, ctx, &interrupted);
			msg = mnl_nlmsg_next(msg, &left);
		}
	}
	if (ret < 0)
		return ret;
	return interrupted ? -EINTR : 0;
}

static int take_nothing(void *ctx __attribute__((unused)),
			const struct nlmsghdr *msg __attribute__((unused)))
{
	return 0;
}

static int take_name(void *ctx, const struct nlmsghdr *msg)
{
	unsigned int *ifindex = ctx;

	*ifindex = roost_nl_link_index(msg);
	return 0;
}

static int take_state(void *ctx, const struct nlmsghdr *msg)
{
	struct roost_nl_link_state *state = ctx;

	roost_nl_link_take(state, msg);
	return 0;
}

/* Under the lock. */
static int read_link(struct roost_nl_link_state *state)
{
	uint8_t buf[ROOST_NL_LINK_ASK_MAX];
	int ret;

	ret = ask(roost_nl_link_ask_link(buf, ++nl_links.seq, state->ifindex),
		  take_state, state);
	/* -ENODEV is an answer: there is no interface of that ifindex. */
	return ret == -ENODEV ? 0 : ret;
}

/* Under the lock. */
static int read_addrs(struct roost_nl_link_state *state)
{
	uint8_t buf[ROOST_NL_LINK_ASK_MAX];
	int ret = -EINTR;

	for (int i = 0; ret == -EINTR && i < READ_TRIES; i++) {
		state->nb_addrs = 0;
		state->addrs_left_out = false;
		ret = ask(roost_nl_link_ask_addrs(buf, ++nl_links.seq),
			  take_state, state);
	}
	/* A notification follows for each change that the reads missed. */
	return ret == -EINTR ? 0 : ret;
}

/* Read the whole state of the interface; on error the old state stays. */
static int read_all(struct roost_nl_link *nl_link)
{
	static struct roost_nl_link_state fresh; /* the control thread's */
	int ret;

	fresh = (struct roost_nl_link_state){ .ifindex =
						      nl_link->state.ifindex };
	pthread_mutex_lock(&nl_links.lock);
	ret = read_link(&fresh);
	if (!ret)
		ret = read_addrs(&fresh);
	pthread_mutex_unlock(&nl_links.lock);
	if (ret)
		return ret;
	nl_link->state = fresh;
	nl_link->gen++;
	return 0;
}

/* ---- notifications ------------------------------------------------------- */

static void take_news(const struct nlmsghdr *msg)
{
	struct roost_nl_link *nl_link;

	LIST_FOREACH(nl_link, &nl_links.followers, link) {
		if (roost_nl_link_take(&nl_link->state, msg))
			nl_link->gen++;
		/* There may be room now for an address that was left out. */
		if (msg->nlmsg_type == RTM_DELADDR &&
		    nl_link->state.addrs_left_out)
			nl_links.stale = true;
	}
}

/* Take one datagram of notifications. Returns false when there is none. */
static bool take_datagram(void)
{
	static _Alignas(struct nlmsghdr) uint8_t buf[BUF_BYTES];
	const struct nlmsghdr *msg = (const void *)buf;
	int left;
	ssize_t got;

	got = mnl_socket_recvfrom(nl_links.news, buf, sizeof(buf));
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	if (got < 0) {
		/* ENOBUFS: the receive buffer overran. */
		nl_links.stale = true;
		return errno == ENOBUFS || errno == ENOSPC;
	}
	for (left = (int)got; mnl_nlmsg_ok(msg, left);
	     msg = mnl_nlmsg_next(msg, &left))
		take_news(msg);
	return true;
}

/*
 * A state that was just read may be older than a notification that waits in the
 * socket, but no notification that arrives later is older than the state. So
 * the socket is drained after a read, too, before other clients look.
 */
static uint64_t run(void *ctx __attribute__((unused)), uint64_t now_ns)
{
	struct roost_nl_link *nl_link;
	unsigned int nb = 0;

	while (nb < DRAIN_MAX) {
		nb++;
		if (take_datagram())
			continue;
		if (!nl_links.stale)
			return UINT64_MAX;
		nl_links.stale = false;
		LIST_FOREACH(nl_link, &nl_links.followers, link)
			if (read_all(nl_link) != 0)
				nl_links.stale = true;
		if (nl_links.stale)
			return now_ns + RETRY_NS;
	}
	return now_ns;
}

/* ---- life ---------------------------------------------------------------- */

static int open_socket(struct mnl_socket **nl, int flags, unsigned int groups)
{
	const struct timeval wait = { .tv_sec = ANSWER_MAX_S };
	int fd = roost_high_fd(socket(AF_NETLINK,
				      SOCK_RAW | SOCK_CLOEXEC | flags,
				      NETLINK_ROUTE));
	int ret;

	if (fd < 0)
		return -errno;
	*nl = mnl_socket_fdopen(fd);
	if (!*nl) {
		ret = -errno;
		close(fd);
		return ret;
	}
	if (mnl_socket_bind(*nl, groups, MNL_SOCKET_AUTOPID) == 0 &&
	    setsockopt(mnl_socket_get_fd(*nl), SOL_SOCKET, SO_RCVTIMEO, &wait,
		       sizeof(wait)) == 0)
		return 0;
	ret = -errno;
	mnl_socket_close(*nl);
	return ret;
}

static int get_sockets(void)
{
	int ret;

	if (nl_links.refs++)
		return 0;
	ret = open_socket(&nl_links.asking, 0, 0);
	if (ret)
		goto no_asking;
	ret = open_socket(&nl_links.news, SOCK_NONBLOCK,
			  RTMGRP_LINK | RTMGRP_IPV4_IFADDR |
				  RTMGRP_IPV6_IFADDR);
	if (ret)
		goto no_news;
	nl_links.stale = false;
	nl_links.client = (struct roost_control_client){
		.run = run,
		.fd = mnl_socket_get_fd(nl_links.news),
		.events = POLLIN,
	};
	roost_control_add(&nl_links.client);
	return 0;
no_news:
	mnl_socket_close(nl_links.asking);
no_asking:
	nl_links.refs--;
	return ret;
}

static void put_sockets(void)
{
	if (--nl_links.refs)
		return;
	roost_control_remove(&nl_links.client);
	mnl_socket_close(nl_links.news);
	mnl_socket_close(nl_links.asking);
}

static int find_index(const char *name, unsigned int *ifindex)
{
	uint8_t buf[ROOST_NL_LINK_ASK_MAX];
	int ret;

	if (strlen(name) >= IFNAMSIZ)
		return -ENODEV;
	*ifindex = 0;
	pthread_mutex_lock(&nl_links.lock);
	ret = ask(roost_nl_link_ask_name(buf, ++nl_links.seq, name), take_name,
		  ifindex);
	pthread_mutex_unlock(&nl_links.lock);
	return ret == 0 && *ifindex == 0 ? -ENODEV : ret;
}

int roost_nl_link_open(struct roost_nl_link *nl_link, const char *name)
{
	int ret;

	*nl_link = (struct roost_nl_link){ .gen = 0 };
	ret = get_sockets();
	if (ret)
		return ret;
	ret = find_index(name, &nl_link->state.ifindex);
	if (!ret)
		ret = read_all(nl_link);
	if (!ret && !nl_link->state.there)
		ret = -ENODEV;
	if (ret) {
		put_sockets();
		nl_link->state.ifindex = 0;
		return ret;
	}
	LIST_INSERT_HEAD(&nl_links.followers, nl_link, link);
	return 0;
}

void roost_nl_link_close(struct roost_nl_link *nl_link)
{
	if (nl_link->state.ifindex == 0)
		return;
	LIST_REMOVE(nl_link, link);
	put_sockets();
	nl_link->state.ifindex = 0;
}

/* ---- changes ------------------------------------------------------------- */

/* Send a request for a change, and read the state after it. question: written
 * by roost_nl_link_ask_...(), without its sequence number. Returns 0, or the
 * error of the request, or of the read.
 */
static int change(struct roost_nl_link *nl_link, struct nlmsghdr *question)
{
	int ret;

	pthread_mutex_lock(&nl_links.lock);
	question->nlmsg_seq = ++nl_links.seq;
	ret = ask(question, take_nothing, NULL);
	pthread_mutex_unlock(&nl_links.lock);
	return ret ? ret : read_all(nl_link);
}

int roost_nl_link_set_mtu(struct roost_nl_link *nl_link, uint32_t mtu_bytes)
{
	uint8_t buf[ROOST_NL_LINK_ASK_MAX];

	return change(nl_link,
		      roost_nl_link_ask_mtu(buf, 0, nl_link->state.ifindex,
					    mtu_bytes));
}

int roost_nl_link_up(struct roost_nl_link *nl_link)
{
	uint8_t buf[ROOST_NL_LINK_ASK_MAX];

	return change(nl_link,
		      roost_nl_link_ask_up(buf, 0, nl_link->state.ifindex));
}

int roost_nl_link_add_addr(struct roost_nl_link *nl_link,
			   const struct roost_prefix *prefix)
{
	uint8_t buf[ROOST_NL_LINK_ASK_MAX];

	return change(nl_link,
		      roost_nl_link_ask_add_addr(buf, 0, nl_link->state.ifindex,
						 prefix));
}

int roost_nl_link_join_all_groups(const struct roost_nl_link *nl_link)
{
	const struct packet_mreq mreq = {
		.mr_ifindex = (int)nl_link->state.ifindex,
		.mr_type = PACKET_MR_ALLMULTI,
	};
	int ret;
	int fd;

	/* Protocol 0: the socket itself receives nothing. */
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &mreq,
		       sizeof(mreq)) < 0) {
		ret = -errno;
		close(fd);
		return ret;
	}
	return fd;
}

/* ---- routes -------------------------------------------------------------- */

struct route_question {
	unsigned int ifindex;
	const struct roost_gid *sgid, *dgid;
	struct roost_nl_link_route route;
	bool answered;
};

static int take_route(void *ctx, const struct nlmsghdr *msg)
{
	struct route_question *q = ctx;
	int ret = roost_nl_link_take_route(msg, q->ifindex, q->dgid, &q->route);

	q->answered = ret == 0;
	return 0;
}

/* Under the lock. Returns 0, or the kernel's error for this route. */
static int ask_route(struct route_question *q, bool match)
{
	uint8_t buf[ROOST_NL_LINK_ASK_MAX];

	q->answered = false;
	return ask(roost_nl_link_ask_route(buf, ++nl_links.seq, q->ifindex,
					   q->sgid, q->dgid, match),
		   take_route, q);
}

/* Under the lock. */
static int find_route(struct route_question *q)
{
	struct roost_nl_link_route found;
	int ret = ask_route(q, false);

	/* The kernel does not know sgid as an address of this host. */
	if (ret == -EINVAL && q->sgid) {
		q->sgid = NULL;
		ret = ask_route(q, false);
	}
	if (ret || !q->answered)
		return ret ? ret : -EHOSTUNREACH;
	if (!q->route.is_direct || !roost_gid_is_v4(q->dgid))
		return 0;
	/* If the kernel has no route by the interface that was asked for, it
	 * assumes that the address is on the link (ip_route_output_key()).
	 */
	found = q->route;
	ret = ask_route(q, true);
	q->route = found;
	return ret;
}

int roost_nl_link_route(unsigned int ifindex, const struct roost_gid *sgid,
			const struct roost_gid *dgid,
			struct roost_nl_link_route *route)
{
	struct route_question q = {
		.ifindex = ifindex,
		.sgid = sgid,
		.dgid = dgid,
	};
	int ret;

	pthread_mutex_lock(&nl_links.lock);
	ret = find_route(&q);
	pthread_mutex_unlock(&nl_links.lock);
	switch (ret) {
	case 0:
		*route = q.route;
		return 0;
	case -ENETUNREACH: /* no route */
	case -ENETDOWN:    /* the interface is down */
	case -ENODEV:      /* it is gone */
	case -EACCES:      /* "prohibit" */
	case -EINVAL:      /* "blackhole" */
		return -EHOSTUNREACH;
	default:
		return ret;
	}
}
