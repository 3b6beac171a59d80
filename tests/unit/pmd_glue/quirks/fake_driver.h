/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_TESTS_UNIT_PMD_GLUE_FAKE_DRIVER_H
#define ROOST_TESTS_UNIT_PMD_GLUE_FAKE_DRIVER_H

/*
 * A library that imports what gated drivers import, so that the gate can be put
 * before it.
 */

#include <sys/socket.h>

#include <rte_interrupts.h>

int fake_register(const struct rte_intr_handle *handle,
		  rte_intr_callback_fn callback, void *arg);
int fake_unregister(const struct rte_intr_handle *handle,
		    rte_intr_callback_fn callback, void *arg);
int fake_unregister_pending(const struct rte_intr_handle *handle,
			    rte_intr_callback_fn callback, void *arg,
			    rte_intr_unregister_callback_fn last);

int fake_alarm(uint64_t us, void (*callback)(void *arg), void *arg);
int fake_accept(int fd);
int fake_connect(int fd, const struct sockaddr *addr, socklen_t len);

#endif
