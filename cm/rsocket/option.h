/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_RSOCKET_OPTION_H
#define ROOST_CM_RSOCKET_OPTION_H

/*
 * The options of rsocket(7), one table for both kinds. The part of an option
 * that only one kind has is in its ops->set_option.
 */

#include "cm/rsocket/rs.h"

/* Without lock. Return 0, -ENOTSUP (unknown) or -EINVAL. */
int roost_rs_option_set(struct roost_rs *rs, int level, int name,
			const void *value, socklen_t length);
int roost_rs_option_get(struct roost_rs *rs, int level, int name, void *value,
			socklen_t *length);

#endif
