/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "cm/msg_fields.h"

#include <string.h>

#include "lib/wire/bytes.h"

/* The MAD header (IBTA 13.4.3) of every message here. */
#define BASE_VERSION 1u
#define MGMT_CLASS_CM 0x07u
#define CLASS_VERSION 2u
#define METHOD_SEND 0x03u
#define ATTR_ID_REQ 0x0010u

#define QPN_MAX 0xffffffu

size_t roost_cm_msg_data_len(enum roost_cm_msg_type type)
{
	return roost_cm_layouts[type].data.len_bytes;
}

const char *roost_cm_msg_name(enum roost_cm_msg_type type)
{
	return roost_cm_layouts[type].name;
}

/* ---- one field ---------------------------------------------------------- */

/* Into bits that are 0. What each byte takes is shifted once. */
static void put_bits(uint8_t *at, unsigned int bit, unsigned int width,
		     uint64_t value)
{
	while (width > 0) {
		const unsigned int room = 8 - bit % 8;
		const unsigned int n = width < room ? width : room;
		const unsigned int part =
			(unsigned int)(value >> (width - n)) & ((1u << n) - 1);

		at[bit / 8] |= (uint8_t)(part << (room - n));
		bit += n;
		width -= n;
	}
}

static uint64_t get_bits(const uint8_t *at, unsigned int bit,
			 unsigned int width)
{
	uint64_t value = 0;

	while (width > 0) {
		const unsigned int room = 8 - bit % 8;
		const unsigned int n = width < room ? width : room;
		const unsigned int byte = at[bit / 8];

		value = value << n | (byte >> (room - n) & ((1u << n) - 1));
		bit += n;
		width -= n;
	}
	return value;
}

static uint64_t load(const uint8_t *member, uint8_t size_bytes)
{
	uint64_t v64;
	uint32_t v32;
	uint16_t v16;

	switch (size_bytes) {
	case 1:
		return *member;
	case 2:
		memcpy(&v16, member, sizeof(v16));
		return v16;
	case 4:
		memcpy(&v32, member, sizeof(v32));
		return v32;
	default:
		memcpy(&v64, member, sizeof(v64));
		return v64;
	}
}

static void store(uint8_t *member, uint8_t size_bytes, uint64_t value)
{
	const uint32_t v32 = (uint32_t)value;
	const uint16_t v16 = (uint16_t)value;

	switch (size_bytes) {
	case 1:
		*member = (uint8_t)value;
		break;
	case 2:
		memcpy(member, &v16, sizeof(v16));
		break;
	case 4:
		memcpy(member, &v32, sizeof(v32));
		break;
	default:
		memcpy(member, &value, sizeof(value));
		break;
	}
}

/* ---- a whole message ---------------------------------------------------- */

void roost_cm_msg_encode(const struct roost_cm_msg *msg,
			 uint8_t mad[ROOST_CM_MAD_LEN])
{
	const struct roost_cm_layout *layout = &roost_cm_layouts[msg->type];
	const uint8_t *from = (const uint8_t *)msg;
	uint8_t *body = mad + ROOST_CM_MAD_HDR_LEN;

	memset(mad, 0, ROOST_CM_MAD_LEN);
	mad[0] = BASE_VERSION;
	mad[1] = MGMT_CLASS_CM;
	mad[2] = CLASS_VERSION;
	mad[3] = METHOD_SEND;
	roost_be64_put(mad + 8, msg->tid);
	roost_be16_put(mad + 16, (uint16_t)(ATTR_ID_REQ + msg->type));
	roost_be32_put(mad + 20, msg->attr_mod);
	for (unsigned int i = 0; i < layout->nb_fields; i++) {
		const struct roost_cm_field *f = &layout->fields[i];

		if (f->width_bits == 128)
			memcpy(body + f->at_bit / 8, from + f->member, 16);
		else
			put_bits(body, f->at_bit, f->width_bits,
				 load(from + f->member, f->size_bytes));
	}
	if (layout->info.len_bytes > 0)
		memcpy(body + layout->info.at_byte, msg->info,
		       layout->info.len_bytes);
	memcpy(body + layout->data.at_byte, msg->data, layout->data.len_bytes);
}

static bool check_header(const uint8_t *mad)
{
	uint16_t attr = roost_be16_get(mad + 16);

	return mad[0] == BASE_VERSION && mad[1] == MGMT_CLASS_CM &&
	       mad[2] == CLASS_VERSION && mad[3] == METHOD_SEND &&
	       attr >= ATTR_ID_REQ && attr < ATTR_ID_REQ + ROOST_CM_MSG_COUNT;
}

static bool is_station(const struct roost_gid *gid)
{
	return !roost_gid_is_zero(gid) && !roost_gid_is_multicast(gid);
}

static bool check_path(const struct roost_cm_msg_path *path)
{
	return is_station(&path->local_gid) && is_station(&path->remote_gid) &&
	       roost_gid_is_v4(&path->local_gid) ==
		       roost_gid_is_v4(&path->remote_gid);
}

static bool check_qpn(uint32_t qpn)
{
	return qpn > 1 && qpn < QPN_MAX;
}

static bool check_req(const struct roost_cm_msg *msg)
{
	return check_qpn(msg->qpn) && msg->transport != ROOST_CM_TRANSPORT_RD &&
	       (msg->transport != ROOST_CM_TRANSPORT_EXT ||
		msg->ext_transport == ROOST_CM_TRANSPORT_EXT_XRC) &&
	       msg->mtu >= ROOST_MTU_256 && msg->mtu <= ROOST_MTU_4096 &&
	       check_path(&msg->primary) &&
	       (msg->alternate.local_lid == 0 || check_path(&msg->alternate));
}

/* Values that no message may have. */
static bool check_fields(const struct roost_cm_msg *msg)
{
	switch (msg->type) {
	case ROOST_CM_REQ:
		return check_req(msg);
	case ROOST_CM_REP:
		return check_qpn(msg->qpn) || check_qpn(msg->eecn);
	case ROOST_CM_MRA:
	case ROOST_CM_REJ:
		return msg->about <= ROOST_CM_ABOUT_OTHER;
	case ROOST_CM_LAP:
		return check_path(&msg->alternate);
	case ROOST_CM_RTU:
	case ROOST_CM_DREQ:
	case ROOST_CM_DREP:
	case ROOST_CM_SIDR_REQ:
	case ROOST_CM_SIDR_REP:
	case ROOST_CM_APR:
	case ROOST_CM_MSG_COUNT:
	default:
		return true;
	}
}

static void decode_body(const uint8_t *body, struct roost_cm_msg *msg)
{
	const struct roost_cm_layout *layout = &roost_cm_layouts[msg->type];
	uint8_t *to = (uint8_t *)msg;

	for (unsigned int i = 0; i < layout->nb_fields; i++) {
		const struct roost_cm_field *f = &layout->fields[i];

		if (f->width_bits == 128)
			memcpy(to + f->member, body + f->at_bit / 8, 16);
		else
			store(to + f->member, f->size_bytes,
			      get_bits(body, f->at_bit, f->width_bits));
	}
	memcpy(msg->info, body + layout->info.at_byte, layout->info.len_bytes);
	memcpy(msg->data, body + layout->data.at_byte, layout->data.len_bytes);
}

bool roost_cm_msg_decode(const uint8_t *mad, size_t len_bytes,
			 struct roost_cm_msg *msg, enum roost_cm_drop *drop)
{
	if (len_bytes != ROOST_CM_MAD_LEN) {
		*drop = ROOST_CM_DROP_LENGTH;
		return false;
	}
	if (!check_header(mad)) {
		*drop = ROOST_CM_DROP_HEADER;
		return false;
	}
	memset(msg, 0, sizeof(*msg));
	msg->tid = roost_be64_get(mad + 8);
	msg->type = (enum roost_cm_msg_type)(roost_be16_get(mad + 16) -
					     ATTR_ID_REQ);
	msg->attr_mod = roost_be32_get(mad + 20);
	decode_body(mad + ROOST_CM_MAD_HDR_LEN, msg);
	if (msg->info_len_bytes > ROOST_CM_INFO_MAX || !check_fields(msg)) {
		*drop = ROOST_CM_DROP_FIELD;
		return false;
	}
	return true;
}
