/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CM_MSG_FIELDS_H
#define ROOST_CM_MSG_FIELDS_H

/*
 * Positions of the fields of a message; for cm/msg.c only.
 */

#include "cm/msg.h"

#define ROOST_CM_MAD_HDR_LEN 24u

struct roost_cm_field {
	uint16_t at_bit;     /* behind the MAD header; bit 0 is a byte's top */
	uint16_t width_bits; /* up to 64; 128: a GID */
	uint16_t member;     /* offset in struct roost_cm_msg */
	uint8_t size_bytes;  /* of the member */
};

/* A run of bytes. */
struct roost_cm_area {
	uint16_t at_byte; /* behind the MAD header */
	uint16_t len_bytes;
};

struct roost_cm_layout {
	const char *name;
	const struct roost_cm_field *fields;
	unsigned int nb_fields;
	struct roost_cm_area info; /* len 0: none */
	struct roost_cm_area data;
};

extern const struct roost_cm_layout roost_cm_layouts[ROOST_CM_MSG_COUNT];

#endif
