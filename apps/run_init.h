/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_RUN_INIT_H
#define ROOST_APPS_RUN_INIT_H

/*
 * `roost run` as process 1 of a PID namespace (a container's command). The
 * kernel kills all processes of the namespace with it: also those that remove
 * what the devices have in /dev/shm, and the hub. So the program is its child.
 */

/*
 * In the child: returns 0, and all goes on as in any other process. Process 1
 * does not return: it hands signals on to the child, collects orphans, waits a
 * little for the rest of the processes when the child has ended, and exits with
 * its status (128 and the signal, as shells do). Returns -errno: no memory or
 * no process.
 */
int roost_run_init(void);

#endif
