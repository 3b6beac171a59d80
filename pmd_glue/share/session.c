/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/share/session_priv.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/event/process.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/process/report.h"

/* Messages that one reading takes at the most; the rest is read later. */
#define READ_MAX 64u
#define SEND_WAIT_MS 10
#define READER_NS 1000000u
/* Messages about peers that wait for the control thread. */
#define PEERS_MAX 256u

struct roost_share_waiter {
	uint32_t tag;
	bool answered;
	struct roost_share_msg *msg; /* the caller's: request, then answer */
	LIST_ENTRY(roost_share_waiter) link;
};

/* ---- what the daemon sends: under the lock ------------------------------- */

void roost_share_session_end(struct roost_share_session *s, const char *why)
{
	if (s->ended)
		return;
	s->ended = true;
	pthread_cond_broadcast(&s->read);
	snprintf(s->why, sizeof(s->why), "%s", why);
}

/* With a ticket it can come back. */
static void lose(struct roost_share_session *s)
{
	if (s->ticket_bytes == 0)
		roost_share_session_end(s, "its daemon has gone");
	else
		s->lost = true;
	pthread_cond_broadcast(&s->read);
}

static void end_for(struct roost_share_session *s, int error)
{
	if (error == -ECONNRESET || error == -EPIPE)
		lose(s);
	else if (error == -EPROTO || error == -EPROTONOSUPPORT)
		roost_share_session_end(
			s,
			"its daemon sent what no roostd of this version sends");
	else if (error == -EBADF || error == -ENOTSOCK)
		roost_share_session_end(
			s, "the program has closed its descriptors");
	else
		roost_share_session_end(s, strerror(-error));
}

void roost_share_words(char out[ROOST_SHARE_REASON_MAX], const char *in,
		       size_t len_bytes)
{
	snprintf(out, ROOST_SHARE_REASON_MAX, "%.*s", (int)len_bytes, in);
	for (; *out; out++)
		if (!isprint((unsigned char)*out))
			*out = '?';
}

static void take_eviction(struct roost_share_session *s,
			  const struct roost_share_msg *msg)
{
	char reason[ROOST_SHARE_REASON_MAX], why[sizeof(s->why)];

	roost_share_words(reason, msg->reason, sizeof(msg->reason));
	snprintf(why, sizeof(why), "its daemon ended it: %s", reason);
	roost_share_session_end(s, why);
}

/* An answer that nobody waits for any more came too late. */
static void take_answer(struct roost_share_session *s,
			const struct roost_share_msg *msg)
{
	struct roost_share_waiter *w;

	LIST_FOREACH(w, &s->waiters, link)
		if (w->tag == msg->tag && !w->answered) {
			*w->msg = *msg;
			w->answered = true;
			return;
		}
}

void roost_share_take_ticket(struct roost_share_session *s,
			     const struct roost_share_packet *packet)
{
	s->ticket_bytes = packet->msg.tail_bytes;
	memcpy(s->ticket, packet->tail, s->ticket_bytes);
}

/* They are few: the daemon waits for an answer before it goes on. One that
 * finds no memory gets none, and the daemon parts the two.
 */
static void take_peer(struct roost_share_session *s)
{
	struct roost_share_packet *packet = &s->packet;
	struct roost_share_peer_news *news = calloc(1, sizeof(*news));

	if (!news || s->nb_peers == PEERS_MAX) {
		if (news)
			end_for(s, -EPROTO);
		free(news);
		roost_share_packet_close(packet);
		return;
	}
	news->msg = packet->msg;
	news->nb_fds = packet->nb_fds;
	memcpy(news->fds, packet->fds, sizeof(news->fds));
	packet->nb_fds = 0;
	STAILQ_INSERT_TAIL(&s->peers, news, link);
	s->nb_peers++;
}

static void take(struct roost_share_session *s)
{
	const struct roost_share_msg *msg = &s->packet.msg;

	switch (msg->type) {
	case ROOST_SHARE_REPLY:
		if (msg->tail_bytes > 0)
			roost_share_take_ticket(s, &s->packet);
		take_answer(s, msg);
		break;
	case ROOST_SHARE_CHANGED:
		s->changed = true;
		break;
	case ROOST_SHARE_EVICTED:
		take_eviction(s, msg);
		break;
	case ROOST_SHARE_MEET:
	case ROOST_SHARE_PEER:
	case ROOST_SHARE_PART:
		take_peer(s);
		break;
	default: /* ATTACHED, again */
		roost_share_packet_close(&s->packet);
		end_for(s, -EPROTO);
	}
}

/* Read what is there; also what a daemon that has gone has sent. The caller is
 * the reader, and has the lock.
 */
static void read_all(struct roost_share_session *s)
{
	int ret = 0;

	for (unsigned int i = 0; !ret && !s->ended && i < READ_MAX; i++) {
		ret = roost_share_receive(s->fd, true, &s->packet);
		/* A PEER without its descriptors is refused later. */
		if (ret == -EMFILE && s->packet.msg.type == ROOST_SHARE_PEER)
			ret = 0;
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
	return s->changed || s->nb_peers > 0 || (s->lost && !s->loss_told) ||
	       (s->ended && !s->end_told);
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
		if (s->ended || s->lost)
			return s->ended ? -ENODEV : -ENOTCONN;
		ret = roost_share_send(s->fd, msg, NULL, 0, NULL);
		if (ret == -EINTR)
			continue;
		if (ret != -EAGAIN || roost_now_ns() >= until_ns)
			break;
		pthread_mutex_unlock(&s->lock);
		poll(&fd, 1, SEND_WAIT_MS);
		pthread_mutex_lock(&s->lock);
	}
	if (ret == -EPIPE || ret == -ECONNRESET) {
		/* Its last words may say why. */
		if (!s->reading)
			read_all(s);
		if (!s->ended)
			lose(s);
		roost_control_wake();
		return s->ended ? -ENODEV : -ENOTCONN;
	}
	return ret == -EAGAIN ? -ETIMEDOUT : ret;
}

/* Of those who may not wait for long. */
static bool is_ask(const struct roost_share_msg *msg)
{
	return msg->type == ROOST_SHARE_RESOLVE && msg->addr.asks;
}

static uint64_t patience_ns(const struct roost_share_msg *msg)
{
	return is_ask(msg) ? ROOST_SHARE_ASK_NS : ROOST_SHARE_ANSWER_NS;
}

static int wait_for_answer(struct roost_share_session *s,
			   const struct roost_share_waiter *w,
			   uint64_t until_ns)
{
	while (!w->answered && !s->ended && (!s->lost || s->reading) &&
	       roost_now_ns() < until_ns) {
		if (s->reading)
			wait_for_reader(s, until_ns);
		else
			read_for_all(s, until_ns);
	}
	if (!w->answered)
		return s->ended ? -ENODEV : s->lost ? -ENOTCONN : -ETIMEDOUT;
	return w->msg->status;
}

/* A limit of the policy is the program's to know, and not of each try. */
static void tell_limit(struct roost_share_session *s,
		       const struct roost_share_msg *msg)
{
	char why[ROOST_SHARE_REASON_MAX];

	roost_share_words(why, msg->reply.reason, sizeof(msg->reply.reason));
	if (*why && strcmp(why, s->refusal) != 0)
		roost_report("%s: refused by roostd: %s", s->label, why);
	snprintf(s->refusal, sizeof(s->refusal), "%s", why);
}

/* Until another daemon has us, or nobody will. The control thread has to see to
 * that, and does not wait. Returns false: no request can be made.
 */
static bool wait_for_daemon(struct roost_share_session *s)
{
	const uint64_t until_ns = roost_now_ns() + 2 * s->patience_ns;

	if (roost_control_is_self())
		return false;
	while (s->lost && !s->ended && roost_now_ns() < until_ns)
		wait_for_reader(s, until_ns);
	return !s->ended && !s->lost;
}

/* Under the lock. */
static int request(struct roost_share_session *s, struct roost_share_waiter *w)
{
	uint64_t until_ns;
	int ret;

	/* An answer that a daemon has sent counts, also after its end. One that
	 * it has not sent is the next daemon's.
	 */
	do {
		until_ns = roost_now_ns() + patience_ns(w->msg);
		ret = send_until(s, w->msg, until_ns);
		if (!ret)
			ret = wait_for_answer(s, w, until_ns);
	} while (ret == -ENOTCONN && !is_ask(w->msg) && wait_for_daemon(s) &&
		 !w->answered);
	return w->answered ? w->msg->status : ret;
}

int roost_share_request(struct roost_share_session *session,
			struct roost_share_msg *msg)
{
	struct roost_share_session *s = session;
	struct roost_share_waiter w = { .msg = msg };
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
	ret = request(s, &w);
	if (ret == -EDQUOT && w.answered)
		tell_limit(s, msg);
	LIST_REMOVE(&w, link);
	pthread_mutex_unlock(&s->lock);
	return ret;
}

int roost_share_tell(struct roost_share_session *session,
		     struct roost_share_msg *msg)
{
	int ret;

	if (session->process != roost_process())
		return -ENODEV;
	pthread_mutex_lock(&session->lock);
	/* Without waiting. */
	ret = send_until(session, msg, 0);
	pthread_mutex_unlock(&session->lock);
	return ret == -ETIMEDOUT || ret == -ENOTCONN ? -EAGAIN : ret;
}

/* ---- the control thread -------------------------------------------------- */

/* The reader has something to read and has no processor, which it may need from
 * us: the socket would end each of our sleeps until then. Under the lock.
 */
static void let_reader_run(struct roost_share_session *s)
{
	struct pollfd fd = { .fd = s->fd, .events = POLLIN };

	if (poll(&fd, 1, 0) > 0)
		wait_for_reader(s, roost_now_ns() + READER_NS);
}

struct roost_share_news
roost_share_session_news(struct roost_share_session *session)
{
	struct roost_share_session *s = session;
	struct roost_share_news news;

	pthread_mutex_lock(&s->lock);
	if (s->reading)
		let_reader_run(s);
	if (!s->reading && !s->lost)
		read_all(s);
	pthread_cond_broadcast(&s->read);
	news = (struct roost_share_news){
		.changed = s->changed,
		.lost = s->lost && !s->loss_told,
		.ended = s->ended && !s->end_told,
		.why = s->why,
	};
	s->changed = false;
	s->loss_told = s->lost;
	s->end_told = s->ended;
	pthread_mutex_unlock(&s->lock);
	return news;
}

bool roost_share_session_peer(struct roost_share_session *session,
			      struct roost_share_packet *packet)
{
	struct roost_share_session *s = session;
	struct roost_share_peer_news *news;

	pthread_mutex_lock(&s->lock);
	news = STAILQ_FIRST(&s->peers);
	if (news) {
		STAILQ_REMOVE_HEAD(&s->peers, link);
		s->nb_peers--;
	}
	pthread_mutex_unlock(&s->lock);
	if (!news)
		return false;
	packet->msg = news->msg;
	packet->nb_fds = news->nb_fds;
	memcpy(packet->fds, news->fds, sizeof(packet->fds));
	free(news);
	return true;
}

uint32_t roost_share_session_epoch(struct roost_share_session *session)
{
	uint32_t epoch;

	pthread_mutex_lock(&session->lock);
	epoch = session->epoch;
	pthread_mutex_unlock(&session->lock);
	return epoch;
}

int roost_share_session_fd(const struct roost_share_session *session)
{
	return session->fd;
}
