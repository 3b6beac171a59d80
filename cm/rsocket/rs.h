/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_RSOCKET_RS_H
#define ROOST_CM_RSOCKET_RS_H

/*
 * The part that all rsockets have: a number, a lock, a kind, and a list of
 * waiting threads.
 *
 * The number is a descriptor of the process (an unused eventfd), so that it
 * never equals the number of another file. struct roost_rs_stream (stream.h)
 * and struct roost_rs_dgram (dgram.h) start with a struct roost_rs.
 *
 * Locks, in the order in which they are taken:
 *
 *     send_lock, recv_lock   one sender, one receiver at a time; held while a
 *                            call waits, and while it copies
 *     lock                   everything else; never held while waiting
 *     the table's lock       numbers and references
 *
 * Waiting (wait.c). A waiting thread puts itself on the lists of all the
 * rsockets that it waits for, and polls its own eventfd and their descriptors
 * (ops->wait_fd). A thread that changes an rsocket (the service thread, or
 * another waiter that took a completion first) calls roost_rs_notify(), which
 * writes to the eventfds of all the others. So any of them may read an event.
 *
 * References (table.c). A number is looked up by roost_rs_get(), which takes a
 * reference; roost_rs_put() gives it back, and the last one frees. rclose()
 * takes the number out of the table and drops the table's reference: threads
 * inside calls leave with EBADF and nothing is freed under them.
 *
 * Cancellation. As with a socket, a call is a cancellation point while it
 * sleeps in roost_rs_sleep(), and at no other place; rclose() and rshutdown()
 * are none at all.
 *
 * Functions inside return 0 or -errno; api.c has the dialect of sockets.
 */

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/uio.h>

struct roost_rs;

/* One thread that waits for one rsocket; on its stack. */
struct roost_rs_waiter {
	LIST_ENTRY(roost_rs_waiter) link;
	int eventfd; /* the thread's */
};

/*
 * Operations of a kind of rsocket. Unless said otherwise: called without lock,
 * with a reference held; returns 0 or -errno.
 */
struct roost_rs_ops {
	int (*bind)(struct roost_rs *rs, const struct sockaddr *addr,
		    socklen_t length);
	int (*connect)(struct roost_rs *rs, const struct sockaddr *addr,
		       socklen_t length);
	/* to: NULL for the peer. Returns bytes taken or -errno. */
	ssize_t (*send)(struct roost_rs *rs, const struct iovec *iov,
			int nb_iov, int flags, const struct sockaddr *to,
			socklen_t to_length);
	/* from: filled where not NULL. Returns bytes or -errno. */
	ssize_t (*recv)(struct roost_rs *rs, const struct iovec *iov,
			int nb_iov, int flags, struct sockaddr_storage *from);
	int (*shutdown)(struct roost_rs *rs, int how);
	/* Send the last messages to the peer, before the number is released. */
	void (*close)(struct roost_rs *rs);
	/* With the last reference; frees rs. */
	void (*free)(struct roost_rs *rs);
	/* In the child of a fork, whatever locks are held: close the child's
	 * copies of descriptors of the kernel. NULL: the kind has none.
	 */
	void (*forget)(struct roost_rs *rs);
	int (*local)(struct roost_rs *rs, struct sockaddr_storage *addr);
	int (*peer)(struct roost_rs *rs, struct sockaddr_storage *addr);
	/* True if the sizes of buffers and queues can still be set. lock held.
	 */
	bool (*sizable)(struct roost_rs *rs);
	/* Options of the kind; -ENOTSUP for those that it does not know. */
	int (*set_option)(struct roost_rs *rs, int level, int name,
			  const void *value, socklen_t length);

	/* Thread: the service's. NULL: the kind watches no descriptor
	 * (service.h).
	 */
	void (*readable)(struct roost_rs *rs);

	/* The five below: lock held. */
	/* Takes completions and acts on them. */
	void (*progress)(struct roost_rs *rs);
	/* poll(2)'s events that hold now; HUP and ERR whether asked or not. */
	short (*events)(struct roost_rs *rs, short asked);
	/* Asks for an event on wait_fd for the next completion. */
	void (*arm)(struct roost_rs *rs);
	/* Takes events off wait_fd. */
	void (*drain)(struct roost_rs *rs);
	/* The descriptor to poll while armed; -1: none yet. */
	int (*wait_fd)(struct roost_rs *rs);
};

/* Sizes; defaults from the configuration (config.h). */
struct roost_rs_sizes {
	uint32_t send_bytes;
	uint32_t recv_bytes;
	uint16_t send_wr;
	uint16_t recv_wr;
	uint16_t inline_bytes;
	uint32_t nb_iomaps; /* streams: entries that the peer may write */
};

struct roost_rs {
	const struct roost_rs_ops *ops;
	int type;           /* SOCK_STREAM, SOCK_DGRAM; constant */
	sa_family_t family; /* of rsocket(); constant */
	int fd;             /* -1: an accepted rsocket without a number yet */
	unsigned int refs;  /* the table's lock */
	pthread_mutex_t send_lock;
	pthread_mutex_t recv_lock;
	pthread_mutex_t lock;
	LIST_HEAD(, roost_rs_waiter) waiters; /* lock */
	bool closed;                          /* lock; rclose() was called */

	/* The rest: lock. */
	int flags;         /* of rfcntl(F_SETFL); only O_NONBLOCK has an
			    * effect */
	int error;         /* errno value for SO_ERROR; 0: none */
	uint64_t so_flags; /* 1 << SO_...: options without effect, for
			    * getsockopt */
	bool no_delay;
	bool v6_only;
	int keepalive_s; /* TCP_KEEPIDLE; 0: not asked for yet */
	struct roost_rs_sizes sizes;
};

/* ---- rs.c ---- */

/* Initialise locks and sizes; the caller has the one reference. */
void roost_rs_init(struct roost_rs *rs, const struct roost_rs_ops *ops,
		   int type, sa_family_t family);
/* Undo roost_rs_init(); ops->free calls it. */
void roost_rs_fini(struct roost_rs *rs);

static inline bool roost_rs_nonblock(const struct roost_rs *rs, int msg_flags)
{
	return (rs->flags & O_NONBLOCK) || (msg_flags & MSG_DONTWAIT);
}

static inline socklen_t roost_rs_addr_length(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
					  : sizeof(struct sockaddr_in6);
}

/* Checks family and length of an address that a program gave: -EINVAL. */
int roost_rs_addr_check(const struct sockaddr *addr, socklen_t length);
/* In network byte order. */
in_port_t roost_rs_port(const struct sockaddr_storage *addr);
void roost_rs_port_set(struct sockaddr_storage *addr, in_port_t port);
/* True if the addresses are equal; with_port: the ports too. */
bool roost_rs_addr_equal(const struct sockaddr_storage *a,
			 const struct sockaddr_storage *b, bool with_port);

/* ---- table.c ---- */

/*
 * Give rs a number; the table takes a reference.
 */
int roost_rs_insert(struct roost_rs *rs);
/* NULL: no rsocket has this number. */
struct roost_rs *roost_rs_get(int fd);
/* Take another reference. Returns false when the last one is gone and rs is
 * being freed.
 */
bool roost_rs_ref_live(struct roost_rs *rs);
void roost_rs_put(struct roost_rs *rs);
/* Release the number. Returns false when another thread has removed it. */
bool roost_rs_remove(struct roost_rs *rs);
/* In the child of a fork: forget the parent's rsockets. */
void roost_rs_table_forget(void);
/* child.c: in the child of a fork, make the lock of families new, which a
 * thread of the parent may have held.
 */
void roost_rs_family_forget(void);

/* ---- wait.c ---- */

/* The calling thread's eventfd, made when first asked for; -errno. */
int roost_rs_thread_fd(void);
void roost_rs_thread_fd_drain(int fd);
/* Lock held. Wakes all threads that wait for rs, except the calling thread. */
void roost_rs_notify(struct roost_rs *rs);
/*
 * Lock held, and released while asleep. Returns when ready(rs) is true, or
 * -EAGAIN (nonblock), -EINTR, -EBADF (closed meanwhile), -ENOMEM, -EMFILE. A
 * cancellation point while asleep: a thread that is cancelled releases its
 * direction's lock (roost_rs_lock) and one reference, and must hold nothing
 * else.
 */
int roost_rs_block(struct roost_rs *rs, bool (*ready)(struct roost_rs *rs),
		   bool nonblock);
/* As poll(2), but -errno; a cancellation point, where poll() is none. */
int roost_rs_sleep(struct pollfd *fds, nfds_t nb, int timeout_ms);
/* rs's send_lock or recv_lock, and its lock. One pair at a time. */
void roost_rs_lock(struct roost_rs *rs, pthread_mutex_t *lock);
void roost_rs_unlock(struct roost_rs *rs);
int64_t roost_rs_now_ns(void);

/* ---- stream.c, dgram.c ---- */

int roost_rs_stream_create(sa_family_t family, struct roost_rs **out);
int roost_rs_dgram_create(sa_family_t family, struct roost_rs **out);

#endif
