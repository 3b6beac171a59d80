/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "lib/engine/core/catch.h"
#include "lib/wire/guard.h"

/* How many handlers of the program's ours can be put in front of. One that the
 * program put in front of ours may call ours for the faults that it does not
 * know; so for each of its handlers there is another one of ours, which knows
 * its own successor.
 */
#define LAYERS 8u

/* Of a mask, what the kernel has; sigaction(2) leaves the rest as it was. */
#define MASK_BYTES (_NSIG / 8)

typedef int sigaction_fn(int sig, const struct sigaction *act,
			 struct sigaction *old);
typedef sigaction_fn *preload_fn(sigaction_fn *ours);

static sigaction_fn *real_sigaction = sigaction;

enum caught {
	CAUGHT_SEGV,
	CAUGHT_BUS,
	NB_CAUGHT,
};

static const int signals[NB_CAUGHT] = { SIGSEGV, SIGBUS };

typedef void handler_fn(int sig, siginfo_t *info, void *context);

/* The program's action behind a layer; written before the layer is in use. */
static struct layer {
	struct sigaction next;
	_Atomic bool is_ready; /* next is valid, and does not change */
	_Atomic bool is_reset; /* SA_RESETHAND: it was called */
} layers[LAYERS][NB_CAUGHT];

static _Atomic bool is_started;
static bool is_blind;

/* Layers that are taken; LAYERS or more: all. */
static _Atomic unsigned int nb_layers[NB_CAUGHT];

#ifdef __x86_64__

static bool fix(void *context)
{
	ucontext_t *uc = context;
	uintptr_t pc = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];

	if (!roost_guard_fix(&pc))
		return false;
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
	return true;
}

#else

static bool fix(void *context)
{
	(void)context;
	return false;
}

#endif

/* The kernel's default action. An instruction that faulted does so again; a
 * signal that was sent is sent again, and comes when the handler returns.
 */
static void die(int sig, siginfo_t *info)
{
	const struct sigaction dfl = { .sa_handler = SIG_DFL };

	real_sigaction(sig, &dfl, NULL);
	if (info->si_code <= 0)
		syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), sig, info);
}

static void pass(struct layer *layer, int sig, siginfo_t *info, void *context)
{
	const struct sigaction *next = &layer->next;

	if ((next->sa_flags & (int)SA_RESETHAND) != 0 &&
	    atomic_exchange(&layer->is_reset, true)) {
		die(sig, info);
	} else if (next->sa_flags & SA_SIGINFO) {
		next->sa_sigaction(sig, info, context);
	} else if (next->sa_handler == SIG_IGN && info->si_code <= 0) {
		/* Sent, and ignored. The kernel ignores no fault. */
	} else if (next->sa_handler == SIG_DFL || next->sa_handler == SIG_IGN) {
		die(sig, info);
	} else {
		next->sa_handler(sig);
	}
}

static void handle(unsigned int n, int sig, siginfo_t *info, void *context)
{
	if (info->si_code > 0 && fix(context))
		return;
	pass(&layers[n][sig == SIGSEGV ? CAUGHT_SEGV : CAUGHT_BUS], sig, info,
	     context);
}

#define LAYER(n)                                                               \
	static void handle##n(int sig, siginfo_t *info, void *context)         \
	{                                                                      \
		handle(n, sig, info, context);                                 \
	}

LAYER(0)
LAYER(1)
LAYER(2)
LAYER(3)
LAYER(4)
LAYER(5)
LAYER(6)
LAYER(7)

static handler_fn *const handlers[LAYERS] = { handle0, handle1, handle2,
					      handle3, handle4, handle5,
					      handle6, handle7 };

/* The layer whose handler this is; LAYERS: it is the program's. */
static unsigned int ours_of(const struct sigaction *act)
{
	unsigned int n = 0;

	if (!(act->sa_flags & SA_SIGINFO))
		return LAYERS;
	while (n < LAYERS && act->sa_sigaction != handlers[n])
		n++;
	return n;
}

static bool is_default(const struct sigaction *act)
{
	return !(act->sa_flags & SA_SIGINFO) &&
	       (act->sa_handler == SIG_DFL || act->sa_handler == SIG_IGN);
}

/* The layer in front of this action: one that is there already, or a new one.
 * LAYERS: there is none.
 */
static unsigned int layer_of(enum caught caught, const struct sigaction *next)
{
	unsigned int nb = atomic_load(&nb_layers[caught]);

	for (unsigned int i = 0; i < nb && i < LAYERS; i++) {
		struct layer *layer = &layers[i][caught];

		if (atomic_load(&layer->is_ready) &&
		    layer->next.sa_sigaction == next->sa_sigaction &&
		    layer->next.sa_flags == next->sa_flags &&
		    memcmp(&layer->next.sa_mask, &next->sa_mask, MASK_BYTES) ==
			    0)
			return i;
	}
	if (nb >= LAYERS)
		return LAYERS;
	nb = atomic_fetch_add(&nb_layers[caught], 1);
	if (nb >= LAYERS)
		return LAYERS;
	layers[nb][caught].next = *next;
	atomic_store(&layers[nb][caught].is_ready, true);
	return nb;
}

/* Put ours in front of this action, on the stack and with the mask that the
 * program's handler wants. Returns as sigaction(2).
 */
static int put_in_front(enum caught caught, const struct sigaction *next)
{
	struct sigaction ours = *next;
	unsigned int n = layer_of(caught, next);

	if (n >= LAYERS)
		return real_sigaction(signals[caught], next, NULL);
	atomic_store(&layers[n][caught].is_reset, false);
	ours.sa_sigaction = handlers[n];
	ours.sa_flags |= SA_SIGINFO;
	ours.sa_flags &= ~(int)SA_RESETHAND;
	if (is_default(next)) {
		ours.sa_flags |= SA_ONSTACK | SA_RESTART;
		sigemptyset(&ours.sa_mask);
	}
	return real_sigaction(signals[caught], &ours, NULL);
}

/* The program's action, as it set it. Returns as sigaction(2). */
static int program_action(enum caught caught, struct sigaction *act)
{
	const struct layer *layer;
	unsigned int n;

	if (real_sigaction(signals[caught], NULL, act) != 0)
		return -1;
	n = ours_of(act);
	if (n >= LAYERS)
		return 0;
	layer = &layers[n][caught];
	*act = layer->next;
	if (atomic_load(&layer->is_reset))
		act->sa_handler = SIG_DFL;
	return 0;
}

/* sigaction(2) of a program behind `roost run`, for these two signals. */
static int program_sigaction(int sig, const struct sigaction *act,
			     struct sigaction *old)
{
	const enum caught caught = sig == SIGSEGV ? CAUGHT_SEGV : CAUGHT_BUS;
	/* act and old may be one. */
	struct sigaction before;

	if (program_action(caught, &before) != 0 ||
	    (act && put_in_front(caught, act) != 0))
		return -1;
	if (old)
		*old = before;
	return 0;
}

/* The library that is preloaded to programs (lib/preload/action.c) leaves these
 * two signals to us. A program inside valgrind has one of valgrind's.
 */
static void meet_preload(void)
{
	const char *preloaded = getenv("LD_PRELOAD");
	preload_fn *set = NULL;

	is_blind = preloaded && strstr(preloaded, "/vgpreload_");
	*(void **)&set = dlsym(RTLD_DEFAULT, "roost_preload_set_action");
	if (set)
		real_sigaction = set(program_sigaction);
}

static void start(enum caught caught)
{
	struct sigaction now;

	if (real_sigaction(signals[caught], NULL, &now) == 0 &&
	    ours_of(&now) >= LAYERS)
		put_in_front(caught, &now);
}

void roost_catch_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, meet_preload);
	for (unsigned int i = 0; i < NB_CAUGHT; i++)
		start((enum caught)i);
	atomic_store_explicit(&is_started, true, memory_order_relaxed);
}

bool roost_catch_is_blind(void)
{
	return is_blind;
}

bool roost_catch_unblock(void)
{
	sigset_t ours;

	if (!atomic_load_explicit(&is_started, memory_order_relaxed))
		return false;
	sigemptyset(&ours);
	for (unsigned int i = 0; i < NB_CAUGHT; i++)
		sigaddset(&ours, signals[i]);
	pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
	return true;
}
