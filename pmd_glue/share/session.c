/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/share/session.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "lib/event/process.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/process/fork_guard.h"
#include "pmd_glue/process/report.h"

/* Messages that one reading takes at the most; the rest is read later. */
#define READ_MAX 64u
#define SEND_WAIT_MS 10

struct waiter {
	uint32_t tag;
	bool answered;
	struct roost_share_msg *msg; /* the caller's: request, then answer */
	LIST_ENTRY(waiter) link;
};

struct roost_share_session {
	int fd;
	uint32_t process; /* the process that opened it */
	const char *label;
	pthread_mutex_t lock; /* for all that follows */
	pthread_cond_t read;  /* a reader is done, or an answer came */
	bool reading;         /* some thread has packet, and may poll */
	uint32_t last_tag;
	LIST_HEAD(, waiter) waiters;
	struct roost_share_packet packet; /* the reader's, without the lock */
	bool changed;
	bool ended;
	bool end_told;
	char why[ROOST_SHARE_REASON_MAX + 32]; /* once ended */
	size_t ticket_bytes;
	uint8_t ticket[ROOST_SHARE_TAIL_MAX];
};

/* ---- what the daemon sends: under the lock ------------------------------- */

static void end(struct roost_share_session *s, const char *why)
{
	if (s->ended)
		return;
	s->ended = true;
	snprintf(s->why, sizeof(s->why), "%s", why);
}

static void end_for(struct roost_share_session *s, int error)
{
	if (error == -ECONNRESET || error == -EPIPE)
		end(s, "its daemon has gone");
	else if (error == -EPROTO || error == -EPROTONOSUPPORT)
		end(s, "its daemon sent what no roostd of this version sends");
	else
		end(s, strerror(-error));
}

/* The reason is shown as it is, but for what would upset a terminal. */
static void take_eviction(struct roost_share_session *s,
			  const struct roost_share_msg *msg)
{
	char why[ROOST_SHARE_REASON_MAX + 32];
	size_t len;

	len = (size_t)snprintf(why, sizeof(why), "its daemon ended it: %.*s",
			       (int)sizeof(msg->reason), msg->reason);
	for (size_t i = 0; i < len && i < sizeof(why); i++)
		if (!isprint((unsigned char)why[i]))
			why[i] = '?';
	end(s, why);
}

/* An answer that nobody waits for any more came too late. */
static void take_answer(struct roost_share_session *s,
			const struct roost_share_msg *msg)
{
	struct waiter *w;

	LIST_FOREACH(w, &s->waiters, link)
		if (w->tag == msg->tag && !w->answered) {
			*w->msg = *msg;
			w->answered = true;
			return;
		}
}

static void take_ticket(struct roost_share_session *s,
			const struct roost_share_packet *packet)
{
	s->ticket_bytes = packet->msg.tail_bytes;
	memcpy(s->ticket, packet->tail, s->ticket_bytes);
}

static void take(struct roost_share_session *s)
{
	const struct roost_share_msg *msg = &s->packet.msg;

	switch (msg->type) {
	case ROOST_SHARE_REPLY:
		take_answer(s, msg);
		break;
	case ROOST_SHARE_TICKET:
		take_ticket(s, &s->packet);
		break;
	case ROOST_SHARE_CHANGED:
		s->changed = true;
		break;
	case ROOST_SHARE_EVICTED:
		take_eviction(s, msg);
		break;
	default: /* ATTACHED, again */
		roost_share_packet_close(&s->packet);
		end_for(s, -EPROTO);
	}
}

/* Read what is there. The caller is the reader, and has the lock. */
static void read_all(struct roost_share_session *s)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && !s->ended && i < READ_MAX; i++) {
		ret = roost_share_receive(s->fd, true, &s->packet);
		if (!ret)
			take(s);
		else if (ret == -EINTR)
			ret = 0;
	}
	if (ret && ret != -EAGAIN)
		end_for(s, ret);
}

/* Has the control thread something to do? */
static bool has_news(const struct roost_share_session *s)
{
	return s->changed || (s->ended && !s->end_told);
}

/* ---- requests ------------------------------------------------------------ */

/* Be the reader until the time: the lock is free while we sleep. */
static void read_for_all(struct roost_share_session *s, uint64_t until_ns)
{
	struct pollfd fd = { .fd = s->fd, .events = POLLIN };
	const uint64_t now_ns = roost_now_ns();

	if (now_ns >= until_ns)
		return;
	s->reading = true;
	pthread_mutex_unlock(&s->lock);
	poll(&fd, 1, (int)((until_ns - now_ns) / 1000000 + 1));
	pthread_mutex_lock(&s->lock);
	read_all(s);
	s->reading = false;
	pthread_cond_broadcast(&s->read);
	if (has_news(s))
		roost_control_wake();
}

static void wait_for_reader(struct roost_share_session *s, uint64_t until_ns)
{
	const struct timespec until = {
		.tv_sec = (time_t)(until_ns / 1000000000u),
		.tv_nsec = (long)(until_ns % 1000000000u),
	};

	pthread_cond_timedwait(&s->read, &s->lock, &until);
}

/* Send under the lock. A socket that is full may have room soon: without the
 * lock, so that answers are read meanwhile.
 */
static int send_until(struct roost_share_session *s,
		      struct roost_share_msg *msg, uint64_t until_ns)
{
	struct pollfd fd = { .fd = s->fd, .events = POLLOUT };
	int ret;

	for (;;) {
		ret = s->ended ? -ENODEV
			       : roost_share_send(s->fd, msg, NULL, 0, NULL);
		if (ret == -EINTR)
			continue;
		if (ret != -EAGAIN || roost_now_ns() >= until_ns)
			break;
		pthread_mutex_unlock(&s->lock);
		poll(&fd, 1, SEND_WAIT_MS);
		pthread_mutex_lock(&s->lock);
	}
	if (ret == -EPIPE || ret == -ECONNRESET) {
		end_for(s, ret);
		roost_control_wake();
		return -ENODEV;
	}
	return ret == -EAGAIN ? -ETIMEDOUT : ret;
}

static uint64_t patience_ns(const struct roost_share_msg *msg)
{
	return msg->type == ROOST_SHARE_RESOLVE && msg->addr.asks
		       ? ROOST_SHARE_ASK_NS
		       : ROOST_SHARE_ANSWER_NS;
}

static int wait_for_answer(struct roost_share_session *s,
			   const struct waiter *w, uint64_t until_ns)
{
	while (!w->answered && !s->ended && roost_now_ns() < until_ns) {
		if (s->reading)
			wait_for_reader(s, until_ns);
		else
			read_for_all(s, until_ns);
	}
	if (!w->answered)
		return s->ended ? -ENODEV : -ETIMEDOUT;
	return w->msg->status;
}

int roost_share_request(struct roost_share_session *session,
			struct roost_share_msg *msg)
{
	struct roost_share_session *s = session;
	const uint64_t until_ns = roost_now_ns() + patience_ns(msg);
	struct waiter w = { .msg = msg };
	int ret;

	if (s->process != roost_process())
		return -ENODEV;
	pthread_mutex_lock(&s->lock);
	do
		w.tag = ++s->last_tag;
	while (w.tag == 0);
	msg->tag = w.tag;
	msg->status = 0;
	LIST_INSERT_HEAD(&s->waiters, &w, link);
	ret = send_until(s, msg, until_ns);
	if (!ret)
		ret = wait_for_answer(s, &w, until_ns);
	LIST_REMOVE(&w, link);
	pthread_mutex_unlock(&s->lock);
	return ret;
}

int roost_share_put(struct roost_share_session *session, uint64_t index)
{
	struct roost_share_msg msg = {
		.type = ROOST_SHARE_PUT,
		.index = index,
	};
	int ret;

	if (session->process != roost_process())
		return -ENODEV;
	pthread_mutex_lock(&session->lock);
	/* Without waiting. */
	ret = send_until(session, &msg, 0);
	pthread_mutex_unlock(&session->lock);
	return ret == -ETIMEDOUT ? -EAGAIN : ret;
}

/* ---- the control thread -------------------------------------------------- */

struct roost_share_news
roost_share_session_news(struct roost_share_session *session)
{
	struct roost_share_session *s = session;
	struct roost_share_news news;

	pthread_mutex_lock(&s->lock);
	if (!s->reading)
		read_all(s);
	pthread_cond_broadcast(&s->read);
	news = (struct roost_share_news){
		.changed = s->changed,
		.ended = s->ended && !s->end_told,
		.why = s->why,
	};
	s->changed = false;
	s->end_told = s->ended;
	pthread_mutex_unlock(&s->lock);
	return news;
}

int roost_share_session_fd(const struct roost_share_session *session)
{
	return session->fd;
}

size_t roost_share_session_ticket(const struct roost_share_session *session,
				  uint8_t ticket[ROOST_SHARE_TAIL_MAX])
{
	struct roost_share_session *s =
		(struct roost_share_session *)(uintptr_t)session;
	size_t len;

	pthread_mutex_lock(&s->lock);
	len = s->ticket_bytes;
	memcpy(ticket, s->ticket, len);
	pthread_mutex_unlock(&s->lock);
	return len;
}

/* ---- open, close --------------------------------------------------------- */

static int receive_attached(struct roost_share_session *s)
{
	const uint64_t until_ns = roost_now_ns() + ROOST_SHARE_ATTACH_NS;
	struct pollfd fd = { .fd = s->fd, .events = POLLIN };
	uint64_t now_ns;
	int ret = -EAGAIN;

	while (ret == -EAGAIN || ret == -EINTR) {
		now_ns = roost_now_ns();
		if (now_ns >= until_ns)
			return -ETIMEDOUT;
		poll(&fd, 1, (int)((until_ns - now_ns) / 1000000 + 1));
		ret = roost_share_receive(s->fd, true, &s->packet);
	}
	return ret;
}

static int send_attach(struct roost_share_session *s,
		       const struct roost_share_session_conf *conf)
{
	struct roost_share_msg msg = {
		.type = ROOST_SHARE_ATTACH,
		.tag = ++s->last_tag,
		.attach.seat = conf->seat,
	};

	snprintf(msg.attach.command, sizeof(msg.attach.command), "%s",
		 program_invocation_short_name);
	return roost_share_send(s->fd, &msg, NULL, 0, &conf->memory_fd);
}

static void tell_unattached(const struct roost_share_session *s, int error,
			    const char *what)
{
	if (what)
		roost_report("%s: its daemon granted what no roostd of this "
			     "version grants (%s: %s); update the older one of "
			     "the two",
			     s->label, what, strerror(-error));
	else if (error == -ETIMEDOUT)
		roost_report("%s: its daemon does not answer; end it, or wait",
			     s->label);
	else if (error == -ECONNRESET || error == -EPIPE)
		roost_report("%s: its daemon hung up; see what it reports",
			     s->label);
	else
		roost_report("%s: its daemon cannot be used: %s; see what it "
			     "reports",
			     s->label, strerror(-error));
}

static int attach(struct roost_share_session *s,
		  const struct roost_share_session_conf *conf,
		  struct roost_share_grant *grant)
{
	const char *what = NULL;
	int ret = send_attach(s, conf);
	bool refused;

	if (!ret)
		ret = receive_attached(s);
	if (ret) {
		tell_unattached(s, ret, NULL);
		return ret;
	}
	take_ticket(s, &s->packet);
	refused = s->packet.msg.type == ROOST_SHARE_ATTACHED &&
		  s->packet.msg.status != 0;
	ret = roost_share_grant_take(&s->packet, grant, &what);
	if (refused)
		roost_report("%s: its daemon refuses this process: %s; see "
			     "what it reports",
			     s->label, strerror(-ret));
	else if (ret)
		tell_unattached(s, ret, what);
	return ret;
}

static void free_session(struct roost_share_session *s)
{
	roost_fork_guard_remove(s->fd);
	close(s->fd);
	pthread_cond_destroy(&s->read);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int roost_share_session_open(const struct roost_share_session_conf *conf,
			     struct roost_share_grant *grant,
			     struct roost_share_session **session)
{
	struct roost_share_session *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;
	int ret;

	if (!s) {
		roost_report("%s: no memory for its session", conf->label);
		return -ENOMEM;
	}
	ret = roost_share_connect(conf->service, conf->label, &s->fd);
	if (ret) {
		free(s);
		return ret;
	}
	s->process = roost_process();
	s->label = conf->label;
	LIST_INIT(&s->waiters);
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->read, &attr);
	pthread_condattr_destroy(&attr);
	ret = attach(s, conf, grant);
	if (ret) {
		free_session(s);
		return ret;
	}
	*session = s;
	return 0;
}

void roost_share_session_close(struct roost_share_session *session)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_BYE };

	if (!session)
		return;
	/* Without it, the daemon takes the client for dead: that is all. */
	roost_share_send(session->fd, &msg, NULL, 0, NULL);
	free_session(session);
}
