/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* How a session begins, goes over to another daemon, and ends. */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/config/resolve.h"
#include "lib/event/process.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/control.h"
#include "pmd_glue/process/fork_guard.h"
#include "pmd_glue/process/report.h"
#include "pmd_glue/share/session_priv.h"

/* A daemon that was started again takes nobody new for some seconds. */
#define GRACE_NS 5000000000u
#define NAP_NS 10000000

/* ---- open ---------------------------------------------------------------- */

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

static int send_attach(struct roost_share_session *s, int fd, uint32_t seat,
		       const uint8_t *ticket, size_t ticket_bytes)
{
	struct roost_share_msg msg = {
		.type = ROOST_SHARE_ATTACH,
		.tag = ++s->last_tag,
		.attach.seat = seat,
	};
	size_t path_bytes;

	msg.attach.port = roost_config_service_port(s->service, &path_bytes);
	snprintf(msg.attach.command, sizeof(msg.attach.command), "%s",
		 program_invocation_short_name);
	return roost_share_send(fd, &msg, ticket, ticket_bytes, &s->memory_fd);
}

static void remember(struct roost_share_session *s,
		     const struct roost_share_attached *granted)
{
	s->patience_ns = (uint64_t)granted->patience_ms * 1000000;
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
	else if (error == -EPROTONOSUPPORT)
		roost_report("%s: its daemon has another version of the "
			     "session; update the older one of the two",
			     s->label);
	else if (error == -ECONNRESET || error == -EPIPE)
		roost_report("%s: its daemon hung up; see what it reports",
			     s->label);
	else
		roost_report("%s: its daemon cannot be used: %s; see what it "
			     "reports",
			     s->label, strerror(-error));
}

/* The daemon's words are shown as they are, but for what would upset a
 * terminal; without any, the cause is in what it reports itself.
 */
static void tell_refused(const struct roost_share_session *s, int error)
{
	char why[ROOST_SHARE_REASON_MAX];

	roost_share_words(why, (const char *)s->packet.tail,
			  s->packet.msg.tail_bytes);
	if (*why)
		roost_report("%s: refused by roostd: %s", s->label, why);
	else
		roost_report("%s: its daemon refuses this process: %s; see "
			     "what it reports",
			     s->label, strerror(-error));
}

static void forget_peers(struct roost_share_session *s)
{
	while (roost_share_session_peer(s, &s->packet))
		roost_share_packet_close(&s->packet);
}

static void close_socket(struct roost_share_session *s)
{
	if (s->fd < 0)
		return;
	roost_fork_guard_remove(s->fd);
	close(s->fd);
	s->fd = -1;
}

/* The error is reported, but for -EAGAIN: the daemon takes nobody now. */
static int attach(struct roost_share_session *s, uint32_t seat,
		  struct roost_share_grant *grant)
{
	const char *what = NULL;
	int ret = roost_share_connect(s->service, s->label, &s->fd);
	bool refused;

	if (ret) {
		s->fd = -1;
		return ret;
	}
	ret = send_attach(s, s->fd, seat, NULL, 0);
	/* EPIPE: it said why before it was asked, and hung up. */
	if (!ret || ret == -EPIPE)
		ret = receive_attached(s);
	if (ret) {
		tell_unattached(s, ret, NULL);
		return ret == -EAGAIN ? -ETIMEDOUT : ret;
	}
	refused = s->packet.msg.type == ROOST_SHARE_ATTACHED &&
		  s->packet.msg.status != 0;
	if (!refused)
		roost_share_take_ticket(s, &s->packet);
	ret = roost_share_grant_take(&s->packet, grant, &what);
	if (!ret)
		remember(s, &grant->attached);
	if (refused && ret != -EAGAIN)
		tell_refused(s, ret);
	else if (!refused && ret)
		tell_unattached(s, ret, what);
	return ret;
}

static int nap(void *arg __attribute__((unused)))
{
	nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
	return 0;
}

/* Other ports of this process may be those that the daemon waits for. */
static int attach_in_time(struct roost_share_session *s, uint32_t seat,
			  struct roost_share_grant *grant)
{
	const uint64_t until_ns = roost_now_ns() + GRACE_NS;
	int ret;

	while ((ret = attach(s, seat, grant)) == -EAGAIN &&
	       roost_now_ns() < until_ns) {
		close_socket(s);
		roost_control_aside(nap, NULL);
	}
	if (ret == -EAGAIN && s->packet.msg.tail_bytes != 0)
		tell_refused(s, ret);
	else if (ret == -EAGAIN)
		roost_report("%s: its daemon waits for clients of before; try "
			     "again",
			     s->label);
	return ret;
}

static void free_session(struct roost_share_session *s)
{
	forget_peers(s);
	close_socket(s);
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
	s->fd = -1;
	s->process = roost_process();
	snprintf(s->service, sizeof(s->service), "%s", conf->service);
	s->label = conf->label;
	s->memory_fd = conf->memory_fd;
	LIST_INIT(&s->waiters);
	STAILQ_INIT(&s->peers);
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->read, &attr);
	pthread_condattr_destroy(&attr);
	ret = attach_in_time(s, conf->seat, grant);
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
	if (session->fd >= 0)
		roost_share_send(session->fd, &msg, NULL, 0, NULL);
	free_session(session);
}

/* ---- another daemon: the session is lost, and nobody else reads ---------- */

/* Whatever fails may do better next time. */
static int ask_to_return(struct roost_share_session *s, uint32_t seat)
{
	int ret = roost_share_connect_again(s->service, &s->fd);

	if (ret) {
		s->fd = -1;
		return -EAGAIN;
	}
	ret = send_attach(s, s->fd, seat, s->ticket, s->ticket_bytes);
	if (ret)
		close_socket(s);
	return -EAGAIN;
}

static const char *why_refused(int status)
{
	switch (status) {
	case -EBADMSG:
		return "it does not know the ticket";
	case -ESTALE:
	case -EALREADY:
		return "it has ended with this client";
	case -ETIMEDOUT:
		return "the client came too late";
	default:
		return strerror(-status);
	}
}

/* Returns 0, -EAGAIN: it takes nobody now; or the status of a refusal. */
static int take_answer(struct roost_share_session *s,
		       struct roost_share_grant *grant,
		       char why[ROOST_SHARE_REASON_MAX])
{
	const struct roost_share_msg *msg = &s->packet.msg;
	const char *what = NULL;
	int status = msg->status, ret;

	if (msg->type == ROOST_SHARE_ATTACHED && status == 0)
		roost_share_take_ticket(s, &s->packet);
	else
		roost_share_words(why, (const char *)s->packet.tail,
				  msg->tail_bytes);
	ret = roost_share_grant_take(&s->packet, grant, &what);
	if (!ret)
		remember(s, &grant->attached);
	if (ret && status == 0)
		snprintf(why, ROOST_SHARE_REASON_MAX, "%s: %s", what,
			 strerror(-ret));
	else if (ret && !*why)
		snprintf(why, ROOST_SHARE_REASON_MAX, "%s",
			 why_refused(status));
	return ret;
}

int roost_share_session_again(struct roost_share_session *session,
			      uint32_t seat, struct roost_share_grant *grant,
			      char why[ROOST_SHARE_REASON_MAX])
{
	struct roost_share_session *s = session;
	int ret = -EAGAIN;

	*why = '\0';
	pthread_mutex_lock(&s->lock);
	if (s->reading) /* it sees that the daemon has gone, and ends */
		goto out;
	if (!s->asking) {
		close_socket(s);
		ret = ask_to_return(s, seat);
		s->asking = s->fd >= 0;
		goto out;
	}
	ret = roost_share_receive(s->fd, true, &s->packet);
	if (!ret) {
		ret = take_answer(s, grant, why);
		s->asking = false;
	} else if (ret == -EPROTONOSUPPORT) {
		snprintf(why, ROOST_SHARE_REASON_MAX,
			 "it is of another version");
	} else {
		/* We have no descriptors for what it grants: later, with the
		 * ticket that counts from now on.
		 */
		if (ret == -EMFILE)
			roost_share_take_ticket(s, &s->packet);
		s->asking = ret == -EAGAIN || ret == -EINTR;
		/* It has gone, too: a socket at its end is readable for ever.
		 */
		if (!s->asking)
			close_socket(s);
		ret = -EAGAIN;
	}
out:
	pthread_mutex_unlock(&s->lock);
	return ret;
}

void roost_share_session_resume(struct roost_share_session *session)
{
	struct roost_share_msg msg = { .type = ROOST_SHARE_BACK };
	struct roost_share_session *s = session;

	forget_peers(s); /* the other daemon's words */
	pthread_mutex_lock(&s->lock);
	/* Nothing was sent on it: there is room. */
	roost_share_send(s->fd, &msg, NULL, 0, NULL);
	s->lost = false;
	s->loss_told = false;
	s->epoch++;
	pthread_cond_broadcast(&s->read);
	pthread_mutex_unlock(&s->lock);
}

void roost_share_session_give_up(struct roost_share_session *session)
{
	pthread_mutex_lock(&session->lock);
	roost_share_session_end(session, "its daemon has gone");
	session->end_told = true;
	pthread_mutex_unlock(&session->lock);
}
