/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/pcapng.h"

#include <string.h>

enum block {
	SECTION = 0x0a0d0d0a,
	INTERFACE = 1,
	STATISTICS = 5,
	PACKET = 6,
};

enum option {
	END = 0,
	COMMENT = 1,
	IF_NAME = 2,
	EPB_FLAGS = 2,
	SHB_USERAPPL = 4,
	EPB_DROPCOUNT = 4,
	ISB_IFRECV = 4,
	ISB_IFDROP = 5,
	IF_TSRESOL = 9,
};

#define LINKTYPE_ETHERNET 1
#define NS_DIGITS 9

/* The options of a block, as they are written. */
struct options {
	uint32_t len;
	uint8_t bytes[512];
};

/* Room is there for all that the functions below add. */
static void add(struct options *o, enum option code, const void *value,
		size_t len)
{
	const uint16_t head[2] = { (uint16_t)code, (uint16_t)len };

	memcpy(o->bytes + o->len, head, sizeof(head));
	o->len += (uint32_t)sizeof(head);
	if (len > 0)
		memcpy(o->bytes + o->len, value, len);
	o->len += (uint32_t)len;
	while (o->len % 4 != 0)
		o->bytes[o->len++] = 0;
}

static void add_text(struct options *o, enum option code, const char *text)
{
	add(o, code, text, strnlen(text, 128));
}

/* A block of a body, data that is padded to 32 bits, and options. */
static void put(FILE *out, enum block type, const void *body, size_t body_len,
		const void *data, size_t data_len, struct options *o)
{
	static const uint8_t zeros[4];
	const size_t pad = -data_len & 3;
	const uint32_t head[2] = {
		(uint32_t)type,
		(uint32_t)(sizeof(head) + body_len + data_len + pad + o->len +
			   sizeof(uint32_t)),
	};

	fwrite(head, sizeof(head), 1, out);
	fwrite(body, body_len, 1, out);
	if (data_len > 0)
		fwrite(data, data_len, 1, out);
	if (pad > 0)
		fwrite(zeros, pad, 1, out);
	fwrite(o->bytes, o->len, 1, out);
	fwrite(&head[1], sizeof(head[1]), 1, out);
}

void roost_pcapng_section(FILE *out, const char *program)
{
	const struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t length[2]; /* not known */
	} body = { 0x1a2b3c4d, 1, 0, { UINT32_MAX, UINT32_MAX } };
	struct options o = { .len = 0 };

	add_text(&o, SHB_USERAPPL, program);
	add(&o, END, NULL, 0);
	put(out, SECTION, &body, sizeof(body), NULL, 0, &o);
}

void roost_pcapng_interface(FILE *out, const char *name, uint32_t snaplen)
{
	const struct {
		uint16_t linktype, reserved;
		uint32_t snaplen;
	} body = { LINKTYPE_ETHERNET, 0, snaplen };
	const uint8_t resolution = NS_DIGITS;
	struct options o = { .len = 0 };

	add_text(&o, IF_NAME, name);
	add(&o, IF_TSRESOL, &resolution, sizeof(resolution));
	add(&o, END, NULL, 0);
	put(out, INTERFACE, &body, sizeof(body), NULL, 0, &o);
}

void roost_pcapng_packet(FILE *out, const struct roost_pcapng_packet *p)
{
	const uint32_t body[5] = {
		p->interface,         (uint32_t)(p->time_ns >> 32),
		(uint32_t)p->time_ns, p->captured_bytes,
		p->length_bytes,
	};
	const uint32_t flags = (uint32_t)p->way;
	struct options o = { .len = 0 };

	if (*p->comment)
		add_text(&o, COMMENT, p->comment);
	if (p->way != ROOST_PCAPNG_UNKNOWN)
		add(&o, EPB_FLAGS, &flags, sizeof(flags));
	if (p->lost > 0)
		add(&o, EPB_DROPCOUNT, &p->lost, sizeof(p->lost));
	if (o.len > 0)
		add(&o, END, NULL, 0);
	put(out, PACKET, body, sizeof(body), p->bytes, p->captured_bytes, &o);
}

void roost_pcapng_statistics(FILE *out, uint32_t interface, uint64_t time_ns,
			     uint64_t captured, uint64_t lost)
{
	const uint32_t body[3] = {
		interface,
		(uint32_t)(time_ns >> 32),
		(uint32_t)time_ns,
	};
	struct options o = { .len = 0 };

	add(&o, ISB_IFRECV, &captured, sizeof(captured));
	add(&o, ISB_IFDROP, &lost, sizeof(lost));
	add(&o, END, NULL, 0);
	put(out, STATISTICS, body, sizeof(body), NULL, 0, &o);
}
