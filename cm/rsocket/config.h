/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_RSOCKET_CONFIG_H
#define ROOST_CM_RSOCKET_CONFIG_H

/*
 * Defaults of rsockets, from the files of rsocket(7) in /etc/rdma/rsocket: one
 * integer each; a file that is missing or holds no integer leaves the default.
 */

#include "cm/rsocket/rs.h"

struct roost_rs_config {
	struct roost_rs_sizes sizes;
	uint32_t polling_time_us;     /* how long a call polls before it
				       * sleeps */
	uint32_t wake_up_interval_ms; /* longest sleep before it checks again */
};

/* The smallest send buffer, and the free bytes in it that make an rsocket
 * writable.
 */
#define ROOST_RS_LOW_WATER_BYTES 2048u
#define ROOST_RS_WR_MIN 16u
#define ROOST_RS_WR_MAX 0xfffeu

/* Read the files of a directory into config. */
void roost_rs_config_read(struct roost_rs_config *config, const char *dir);

/* The configuration of the process, read at the first call. Thread: any. */
const struct roost_rs_config *roost_rs_config(void);

#endif
