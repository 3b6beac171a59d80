/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/quirks/rt_signals.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int nb_hiders; /* lock */

static void taken(int signo __attribute__((unused)))
{
}

static void hide(void)
{
	const struct sigaction hidden = {
		.sa_handler = taken,
		.sa_flags = SA_RESTART,
	};
	struct sigaction now;

	for (int signo = SIGRTMIN; signo <= SIGRTMAX; signo++)
		if (sigaction(signo, NULL, &now) == 0 &&
		    now.sa_handler == SIG_DFL)
			sigaction(signo, &hidden, NULL);
}

static void show(void)
{
	const struct sigaction normal = { .sa_handler = SIG_DFL };
	struct sigaction now;

	/* Only our handlers: the application may have set one in between. */
	for (int signo = SIGRTMIN; signo <= SIGRTMAX; signo++)
		if (sigaction(signo, NULL, &now) == 0 &&
		    now.sa_handler == taken)
			sigaction(signo, &normal, NULL);
}

void roost_rt_signals_hide(void)
{
	pthread_mutex_lock(&lock);
	if (nb_hiders++ == 0)
		hide();
	pthread_mutex_unlock(&lock);
}

void roost_rt_signals_show(void)
{
	pthread_mutex_lock(&lock);
	if (--nb_hiders == 0)
		show();
	pthread_mutex_unlock(&lock);
}
