/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The beginning and the end of captures.
 */
#include "pmd_glue/dump/dump.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <roost/dev.h>

#include "pmd_glue/channel/sealed.h"
#include "pmd_glue/dump/dump_priv.h"
#include "pmd_glue/process/fork_guard.h"

/* A source that was busy is asked again. */
#define AGAIN_NS 100000000u

static LIST_HEAD(, roost_dump_source) sources;

static bool is_used(const struct roost_dump *d)
{
	return d->base != NULL;
}

static bool are_any(void)
{
	for (unsigned int i = 0; i < ROOST_DUMPS_MAX; i++)
		if (atomic_load(&roost_dumps[i]))
			return true;
	return false;
}

/* ---- sources ------------------------------------------------------------- */

/* Names keep their places, so that a source that comes again has its former
 * ones. The last place is for all that find no room.
 */
static char places[ROOST_DUMP_SOURCES_MAX][ROOST_DUMP_NAME_MAX];
static uint32_t nb_places;

static uint16_t place_of(const char *name)
{
	uint32_t i = 0;

	while (i < nb_places && strcmp(places[i], name) != 0)
		i++;
	if (i == ROOST_DUMP_SOURCES_MAX)
		return ROOST_DUMP_SOURCES_MAX - 1;
	if (i == nb_places) {
		nb_places++;
		snprintf(places[i], sizeof(places[i]), "%s",
			 nb_places == ROOST_DUMP_SOURCES_MAX ? "others" : name);
	}
	return (uint16_t)i;
}

/* Readers know a name before a frame has its place. */
static void tell_places(const struct roost_dump *d)
{
	memcpy(d->head->sources, places, sizeof(places));
}

void roost_dump_add(struct roost_dump_source *source)
{
	for (uint32_t i = 0; i < source->nb_names; i++)
		source->places[i] = place_of(source->names[i]);
	for (unsigned int i = 0; i < ROOST_DUMPS_MAX; i++)
		if (is_used(&roost_dump_rings[i]))
			tell_places(&roost_dump_rings[i]);
	LIST_INSERT_HEAD(&sources, source, link);
	source->on = are_any();
	if (source->on && source->set(source, true) != 0)
		source->on = false;
}

/* Have each source do as it should. Returns false: one was busy. */
static bool set_all(void)
{
	const bool on = are_any();
	struct roost_dump_source *source;
	bool done = true;

	LIST_FOREACH(source, &sources, link) {
		if (!on && !source->on)
			continue;
		if (source->set(source, on) == 0)
			source->on = on;
		else
			done = false;
	}
	return done;
}

/* ---- the end ------------------------------------------------------------- */

static void stop(struct roost_dump *d)
{
	if (d->socket < 0)
		return;
	atomic_store(&roost_dumps[d - roost_dump_rings], NULL);
	roost_fork_guard_remove(d->socket);
	close(d->socket);
	d->socket = -1;
	d->client.events = 0;
}

/* No source records into it any more. */
static void release(struct roost_dump *d)
{
	munmap(d->base, d->size_bytes);
	d->base = NULL;
}

void roost_dump_remove(struct roost_dump_source *source)
{
	while (source->on && source->set(source, false) != 0)
		;
	LIST_REMOVE(source, link);
	for (unsigned int i = 0; i < ROOST_DUMPS_MAX; i++) {
		struct roost_dump *d = &roost_dump_rings[i];

		if (!LIST_EMPTY(&sources))
			return;
		if (is_used(d)) {
			stop(d);
			release(d);
		}
		if (d->listed)
			roost_control_remove(&d->client);
		d->listed = false;
	}
}

/* ---- the reader ---------------------------------------------------------- */

/* Positions that it has consumed, 8 bytes each. Returns false: it is gone, or
 * sends what cannot be.
 */
static bool hear(struct roost_dump *d)
{
	uint8_t bytes[512];
	ssize_t n = recv(d->socket, bytes, sizeof(bytes), MSG_DONTWAIT);
	uint64_t tail;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	for (ssize_t i = 0; i < n; i++) {
		d->word[d->word_bytes++] = bytes[i];
		if (d->word_bytes < sizeof(d->word))
			continue;
		d->word_bytes = 0;
		memcpy(&tail, d->word, sizeof(tail));
		if (tail < atomic_load(&d->tail) ||
		    tail > atomic_load(&d->head->head))
			return false;
		atomic_store_explicit(&d->tail, tail, memory_order_release);
	}
	return n > 0;
}

static uint64_t run(void *ctx, uint64_t now_ns)
{
	struct roost_dump *d = ctx;

	if (!is_used(d))
		return UINT64_MAX;
	if (d->socket >= 0 && !hear(d))
		stop(d);
	if (d->socket >= 0)
		return UINT64_MAX;
	if (!set_all())
		return now_ns + AGAIN_NS;
	release(d);
	return UINT64_MAX;
}

/* ---- the beginning ------------------------------------------------------- */

static int refuse(char *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int refuse(char *error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(error, ROOST_DUMP_ERROR_MAX, format, list);
	va_end(list);
	return -EINVAL;
}

static int parse_size(const char *what, const char *text, uint32_t min,
		      uint32_t max, uint32_t *value, char *error)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n < min || n > max)
		return refuse(error, "%s %.20s: out of range; give %u to %u",
			      what, text, min, max);
	*value = (uint32_t)n;
	return 0;
}

static int parse_filter(struct roost_dump_filter *filter, char **words,
			char *error)
{
	int ret;

	for (; words[0]; words += 2) {
		if (!words[1])
			return refuse(error, "%.20s: no value behind it",
				      words[0]);
		ret = roost_dump_filter_add(filter, words[0], words[1]);
		if (ret == -ENOSPC)
			return refuse(error, "%.20s: more than %u of them",
				      words[0], ROOST_DUMP_FILTERS_MAX);
		if (ret == -ENOENT)
			return refuse(error,
				      "%.20s: no such filter; there are "
				      "qp, cm-id, address",
				      words[0]);
		if (ret)
			return refuse(error,
				      "%.20s %.50s: no such value; give "
				      "%s",
				      words[0], words[1],
				      words[0][0] == 'a' ? "an IP address"
				      : words[0][0] == 'q'
					      ? "a number up to 0xffffff"
					      : "a number up to 0xffffffff");
	}
	return 0;
}

static int choose_device(struct roost_dump *d, const char *name, char *error)
{
	const struct roost_dump_source *source;

	d->all = strcmp(name, "-") == 0;
	snprintf(d->device, sizeof(d->device), "%s", name);
	LIST_FOREACH(source, &sources, link)
		if (d->all || strcmp(source->device, name) == 0)
			return 0;
	return refuse(error,
		      "dump: %.40s: the process has no such device; see "
		      "roost ctl list",
		      d->all ? "any" : name);
}

static int parse(struct roost_dump *d, char **words, uint32_t *kib, char *error)
{
	unsigned int nb = 0;
	int ret;

	while (nb < 3 && words[nb])
		nb++;
	if (nb < 3)
		return refuse(error, "dump: wrong number of words; write dump "
				     "DEVICE SNAPLEN KIB [FILTER VALUE]...");
	ret = choose_device(d, words[0], error);
	if (!ret)
		ret = parse_size("snaplen", words[1], ROOST_DUMP_SNAPLEN_MIN,
				 ROOST_DUMP_SNAPLEN_MAX, &d->snaplen, error);
	if (!ret)
		ret = parse_size("buffer", words[2], ROOST_DUMP_BUFFER_MIN_KIB,
				 ROOST_DUMP_BUFFER_MAX_KIB, kib, error);
	return ret ? ret : parse_filter(&d->filter, words + 3, error);
}

/* Returns the descriptor of its memory. */
static int make(struct roost_dump *d, uint32_t kib)
{
	int fd, ret;

	d->slot_bytes = (uint32_t)roost_dump_slot_bytes(d->snaplen);
	d->nb_slots = 1;
	while ((uint64_t)d->nb_slots * 2 * d->slot_bytes <= kib * 1024ull)
		d->nb_slots *= 2;
	d->size_bytes =
		ROOST_DUMP_HEAD_BYTES + (size_t)d->nb_slots * d->slot_bytes;
	fd = roost_sealed_make("roost-dump", d->size_bytes, &d->base);
	if (fd < 0)
		return fd;
	d->head = (void *)d->base;
	d->head->magic = ROOST_DUMP_MAGIC;
	d->head->version = ROOST_DUMP_VERSION;
	d->head->slot_bytes = d->slot_bytes;
	d->head->nb_slots = d->nb_slots;
	d->head->snaplen = d->snaplen;
	tell_places(d);
	ret = roost_sealed_seal(fd);
	if (!ret)
		return fd;
	munmap(d->base, d->size_bytes);
	d->base = NULL;
	close(fd);
	return ret;
}

static int send_ok(int socket, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	char ok[] = "ok\n";
	struct iovec iov = { .iov_base = ok, .iov_len = sizeof(ok) - 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(socket, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) ==
			       (ssize_t)iov.iov_len
		       ? 0
		       : -EPIPE;
}

static void clear(struct roost_dump *d)
{
	d->socket = -1;
	d->filter = (struct roost_dump_filter){ .nb_qpns = 0 };
	d->word_bytes = 0;
	atomic_store(&d->tail, 0);
}

static struct roost_dump *find_free(void)
{
	for (unsigned int i = 0; i < ROOST_DUMPS_MAX; i++)
		if (!is_used(&roost_dump_rings[i]))
			return &roost_dump_rings[i];
	return NULL;
}

static void begin(struct roost_dump *d, int socket)
{
	d->socket = socket;
	d->client.run = run;
	d->client.ctx = d;
	d->client.fd = socket;
	d->client.events = POLLIN;
	if (!d->listed)
		roost_control_add(&d->client);
	d->listed = true;
	atomic_store(&roost_dumps[d - roost_dump_rings], d);
	/* One that is busy shows nothing; the next capture asks it again. */
	set_all();
}

int roost_dump_start(int socket, char **words, char error[ROOST_DUMP_ERROR_MAX])
{
	struct roost_dump *d = find_free();
	uint32_t kib = 0; /* gcc -O3 does not see that it is set */
	int fd, ret;

	if (!d)
		return refuse(error,
			      "dump: %u readers have captures of this "
			      "process already; end one",
			      ROOST_DUMPS_MAX);
	clear(d);
	ret = parse(d, words, &kib, error);
	if (ret)
		return ret;
	fd = make(d, kib);
	if (fd < 0)
		return refuse(error,
			      "dump: no memory for the frames: %s; "
			      "choose less with --buffer",
			      strerror(-fd));
	/* The reader gets the memory before a frame is in it, and no error
	 * after it.
	 */
	begin(d, socket);
	ret = send_ok(socket, fd);
	close(fd);
	/* Its end is seen soon. */
	if (ret)
		shutdown(socket, SHUT_RDWR);
	return 0;
}
