/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/rt_signals.h"

#include <signal.h>
#include <stddef.h>

static void taken(int signo __attribute__((unused)))
{
}

void roost_rt_signals_hide(void)
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

void roost_rt_signals_show(void)
{
	const struct sigaction normal = { .sa_handler = SIG_DFL };
	struct sigaction now;

	/* The application may have taken one in between. */
	for (int signo = SIGRTMIN; signo <= SIGRTMAX; signo++)
		if (sigaction(signo, NULL, &now) == 0 &&
		    now.sa_handler == taken)
			sigaction(signo, &normal, NULL);
}
