/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * What sets the action of a signal. Roost handles SIGSEGV and SIGBUS in front
 * of the program, from its first registration of memory on
 * (lib/engine/core/catch.h). A program that sets a handler later gets it behind
 * Roost's, and sees what it has set.
 */
#include <signal.h>

#include "lib/preload/real.h"

typedef int sigaction_fn(int sig, const struct sigaction *act,
			 struct sigaction *old);
typedef void handler_fn(int sig);

static _Atomic(sigaction_fn *) roosts;

ROOST_PRELOAD_REAL(sigaction);
ROOST_PRELOAD_REAL(signal);
ROOST_PRELOAD_REAL(bsd_signal);
ROOST_PRELOAD_REAL(ssignal);
ROOST_PRELOAD_REAL(sysv_signal);
ROOST_PRELOAD_REAL(__sysv_signal);

static void *real_of(struct roost_preload_real *real)
{
	void *function =
		atomic_load_explicit(&real->function, memory_order_relaxed);

	return __builtin_expect(function != NULL, 1)
		       ? function
		       : roost_preload_look_up(real);
}

#define ACTION(fn) ((__typeof__(&fn))real_of(&real_##fn))

/* NULL: the signal is not Roost's. */
static sigaction_fn *of(int sig)
{
	if (__builtin_expect(sig != SIGSEGV && sig != SIGBUS, 1))
		return NULL;
	return atomic_load_explicit(&roosts, memory_order_acquire);
}

/* For lib/engine/core/catch.c, which finds it by name: from here on ours is
 * sigaction(2) for both signals. Returns the function that it calls itself.
 */
sigaction_fn *roost_preload_set_action(sigaction_fn *ours);
ROOST_PRELOAD_EXPORT sigaction_fn *roost_preload_set_action(sigaction_fn *ours)
{
	atomic_store_explicit(&roosts, ours, memory_order_release);
	return ACTION(sigaction);
}

ROOST_PRELOAD_EXPORT int sigaction(int sig, const struct sigaction *act,
				   struct sigaction *old)
{
	sigaction_fn *ours = of(sig);

	return ours ? ours(sig, act, old) : ACTION(sigaction)(sig, act, old);
}

static handler_fn *set_handler(sigaction_fn *ours, int sig, handler_fn *handler,
			       int flags)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = flags };
	struct sigaction old;

	if (!(flags & SA_NODEFER))
		sigaddset(&act.sa_mask, sig);
	return ours(sig, &act, &old) == 0 ? old.sa_handler : SIG_ERR;
}

#define SIGNAL(fn, flags)                                                      \
	ROOST_PRELOAD_EXPORT handler_fn *fn(int sig, handler_fn *handler)      \
	{                                                                      \
		sigaction_fn *ours = of(sig);                                  \
                                                                               \
		if (ours)                                                      \
			return set_handler(ours, sig, handler, flags);         \
		return ACTION(fn)(sig, handler);                               \
	}

handler_fn *bsd_signal(int sig, handler_fn *handler);
handler_fn *sysv_signal(int sig, handler_fn *handler);
handler_fn *__sysv_signal(int sig, handler_fn *handler);

SIGNAL(signal, SA_RESTART)
SIGNAL(bsd_signal, SA_RESTART)
SIGNAL(ssignal, SA_RESTART)
SIGNAL(sysv_signal, (int)SA_RESETHAND | SA_NODEFER)
SIGNAL(__sysv_signal, (int)SA_RESETHAND | SA_NODEFER)
