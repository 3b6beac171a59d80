/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "tests/unit/pmd_glue/quirks/fake_driver.h"

#include <rte_alarm.h>

int fake_register(const struct rte_intr_handle *handle,
		  rte_intr_callback_fn callback, void *arg)
{
	return rte_intr_callback_register(handle, callback, arg);
}

int fake_unregister(const struct rte_intr_handle *handle,
		    rte_intr_callback_fn callback, void *arg)
{
	return rte_intr_callback_unregister(handle, callback, arg);
}

int fake_unregister_pending(const struct rte_intr_handle *handle,
			    rte_intr_callback_fn callback, void *arg,
			    rte_intr_unregister_callback_fn last)
{
	return rte_intr_callback_unregister_pending(handle, callback, arg,
						    last);
}

int fake_alarm(uint64_t us, void (*callback)(void *arg), void *arg)
{
	return rte_eal_alarm_set(us, callback, arg);
}

int fake_accept(int fd)
{
	return accept(fd, NULL, NULL);
}

int fake_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	return connect(fd, addr, len);
}
