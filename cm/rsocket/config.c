/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>

#include "cm/rsocket/config.h"
#include "cm/rsocket/wire.h"

#define CONFIG_DIR "/etc/rdma/rsocket"
#define WR_MAX ROOST_RS_WR_MAX
#define SEND_BYTES_MIN (2 * ROOST_RS_LOW_WATER_BYTES)

static const struct roost_rs_config defaults = {
	.sizes = {
		.send_bytes = 1u << 17,
		.recv_bytes = 1u << 17,
		.send_wr = 384,
		.recv_wr = 384,
		.inline_bytes = 64,
		.nb_iomaps = 0,
	},
	.polling_time_us = 10,
	.wake_up_interval_ms = 5000,
};

enum place {
	SEND_BYTES,
	RECV_BYTES,
	SEND_WR,
	RECV_WR,
	INLINE_BYTES,
	NB_IOMAPS,
	POLLING_TIME,
	WAKE_UP_INTERVAL,
};

static const struct {
	const char *file;
	enum place place;
	uint32_t min;
	uint32_t max;
} files[] = {
	/* clang-format off */
	{ "mem_default",      RECV_BYTES,       2, 1u << 30 },
	{ "wmem_default",     SEND_BYTES,       SEND_BYTES_MIN, 1u << 30 },
	{ "sqsize_default",   SEND_WR,          ROOST_RS_WR_MIN, WR_MAX },
	{ "rqsize_default",   RECV_WR,          ROOST_RS_WR_MIN, WR_MAX },
	{ "inline_default",   INLINE_BYTES,     0, WR_MAX },
	{ "iomap_size",       NB_IOMAPS,        0, ROOST_RS_IOMAPS_MAX },
	{ "polling_time",     POLLING_TIME,     0, UINT32_MAX },
	{ "wake_up_interval", WAKE_UP_INTERVAL, 1, INT_MAX },
	/* clang-format on */
};

static void put(struct roost_rs_config *config, enum place place,
		uint32_t value)
{
	switch (place) {
	case SEND_BYTES:
		config->sizes.send_bytes = value;
		break;
	case RECV_BYTES:
		config->sizes.recv_bytes = value;
		break;
	case SEND_WR:
		config->sizes.send_wr = (uint16_t)value;
		break;
	case RECV_WR:
		config->sizes.recv_wr = (uint16_t)value;
		break;
	case INLINE_BYTES:
		config->sizes.inline_bytes = (uint16_t)value;
		break;
	case NB_IOMAPS:
		config->sizes.nb_iomaps = roost_rs_iomaps_round(value);
		break;
	case POLLING_TIME:
		config->polling_time_us = value;
		break;
	case WAKE_UP_INTERVAL:
		config->wake_up_interval_ms = value;
		break;
	}
}

static bool read_number(const char *dir, const char *name, uint32_t *value)
{
	char path[PATH_MAX];
	FILE *file;
	bool found;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >=
	    (int)sizeof(path))
		return false;
	file = fopen(path, "re");
	if (!file)
		return false;
	found = fscanf(file, "%u", value) == 1;
	fclose(file);
	return found;
}

void roost_rs_config_read(struct roost_rs_config *config, const char *dir)
{
	uint32_t value;

	*config = defaults;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (!read_number(dir, files[i].file, &value))
			continue;
		if (value < files[i].min)
			value = files[i].min;
		if (value > files[i].max)
			value = files[i].max;
		put(config, files[i].place, value);
	}
}

static struct roost_rs_config process_config;

static void read_once(void)
{
	roost_rs_config_read(&process_config, CONFIG_DIR);
}

const struct roost_rs_config *roost_rs_config(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_once);
	return &process_config;
}
