/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/top_text.h"

#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "apps/ctl_print.h"

#define COLUMNS_MAX 12u
#define CELL_MAX 48u

enum kind {
	TEXT,   /* to the left */
	NUMBER, /* as it is */
	RATE,   /* 1234567: 1.23M */
	TIME,   /* ns: 12.3us */
	HEX,    /* a QPN */
	PERCENT,
};

struct column {
	const char *name;
	const char *key;
	enum kind kind;
	int width;
};

struct table {
	const char *key;
	struct column columns[COLUMNS_MAX]; /* ends with one without a name */
};

static const struct table tables[] = {
	{ "devices",
	  { { "PID", "pid", NUMBER, 7 },
	    { "PROGRAM", "program", TEXT, 15 },
	    { "DEVICE", "device", TEXT, 8 },
	    { "STATE", "state", TEXT, 6 },
	    { "QPS", "qp_count", NUMBER, 6 },
	    { "TX b/s", "tx_bits_per_s", RATE, 7 },
	    { "RX b/s", "rx_bits_per_s", RATE, 7 },
	    { "TX p/s", "tx_packets_per_s", RATE, 7 },
	    { "RX p/s", "rx_packets_per_s", RATE, 7 },
	    { "RETX/s", "retransmits_per_s", RATE, 7 },
	    { "CNP/s", "cnps_per_s", RATE, 6 },
	    { "DROP/s", "drops_per_s", RATE, 6 } } },
	{ "workers",
	  { { "PID", "pid", NUMBER, 7 },
	    { "PROGRAM", "program", TEXT, 15 },
	    { "THREAD", "thread", TEXT, 15 },
	    { "CPU", "cpu_percent", PERCENT, 5 } } },
	{ "clients",
	  { { "CLIENT", "client", NUMBER, 7 },
	    { "COMMAND", "command", TEXT, 15 },
	    { "PID", "client_pid", NUMBER, 8 },
	    { "UID", "uid", NUMBER, 6 },
	    { "QPNS", "qps", NUMBER, 6 },
	    { "TX b/s", "tx_bits_per_s", RATE, 7 },
	    { "RX b/s", "rx_bits_per_s", RATE, 7 },
	    { "CONNS", "connections", NUMBER, 7 },
	    { "DROP/s", "drops_per_s", RATE, 6 } } },
	{ "qps",
	  { { "PID", "pid", NUMBER, 7 },
	    { "DEVICE", "device", TEXT, 8 },
	    { "QPN", "qpn", HEX, 8 },
	    { "TYPE", "type", TEXT, 4 },
	    { "STATE", "state", TEXT, 5 },
	    { "PEER", "peer", TEXT, 15 },
	    { "DESTQPN", "dest_qpn", HEX, 8 },
	    { "TX p/s", "tx_packets_per_s", RATE, 7 },
	    { "RX p/s", "rx_packets_per_s", RATE, 7 },
	    { "RTT", "srtt_ns", TIME, 7 },
	    { "RETX/s", "retransmits_per_s", RATE, 7 },
	    { "CNP/s", "cnps_per_s", RATE, 6 } } },
	{ "drops",
	  { { "PID", "pid", NUMBER, 7 },
	    { "PROGRAM", "program", TEXT, 15 },
	    { "OF", "of", TEXT, 15 },
	    { "REASON", "reason", TEXT, 20 },
	    { "TOTAL", "total", RATE, 7 },
	    { "DROP/s", "drops_per_s", RATE, 6 } } },
};

/* Three digits and the letter of the thousand: 999, 1.23k, 12.3M. */
static void scaled(char *cell, double value, const char *const units[])
{
	unsigned int unit = 0;

	while (value >= 999.5 && units[unit + 1]) {
		value /= 1000;
		unit++;
	}
	if (unit == 0 || value >= 99.95)
		snprintf(cell, CELL_MAX, "%.0f%s", value, units[unit]);
	else
		snprintf(cell, CELL_MAX, "%.*f%s", value < 9.995 ? 2 : 1, value,
			 units[unit]);
}

static void fill(char *cell, struct json_object *value, enum kind kind)
{
	static const char *const counts[] = {
		"", "k", "M", "G", "T", "P", NULL
	};
	static const char *const times[] = { "ns", "us", "ms", "s", NULL };
	const uint64_t number = json_object_get_uint64(value);
	const char *text;

	switch (kind) {
	case TEXT:
		text = value ? json_object_get_string(value) : "";
		snprintf(cell, CELL_MAX, "%s", text);
		roost_ctl_plain(cell);
		break;
	case NUMBER:
		snprintf(cell, CELL_MAX, "%llu", (unsigned long long)number);
		break;
	case RATE:
		scaled(cell, (double)number, counts);
		break;
	case TIME:
		if (number == 0)
			strcpy(cell, "-");
		else
			scaled(cell, (double)number, times);
		break;
	case HEX:
		snprintf(cell, CELL_MAX, "0x%06llx",
			 (unsigned long long)number);
		break;
	case PERCENT:
		snprintf(cell, CELL_MAX, "%llu%%", (unsigned long long)number);
		break;
	}
}

static void put(FILE *out, const struct table *table,
		const struct column *column, const char *cell)
{
	if (column != table->columns)
		putc(' ', out);
	if (column->kind == TEXT)
		fprintf(out, "%-*.*s", column->width, column->width, cell);
	else
		fprintf(out, "%*.*s", column->width, column->width, cell);
}

static void print_table(FILE *out, const struct table *table,
			struct json_object *rows, size_t max_rows)
{
	const size_t nb = json_object_array_length(rows);
	const struct column *c;
	char cell[CELL_MAX];

	if (nb == 0)
		return;
	putc(ROOST_TOP_NAMES, out);
	for (c = table->columns; c < table->columns + COLUMNS_MAX && c->name;
	     c++)
		put(out, table, c, c->name);
	putc('\n', out);
	for (size_t i = 0; i < nb && i < max_rows; i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		for (c = table->columns;
		     c < table->columns + COLUMNS_MAX && c->name; c++) {
			fill(cell, json_object_object_get(row, c->key),
			     c->kind);
			put(out, table, c, cell);
		}
		putc('\n', out);
	}
	if (nb > max_rows)
		fprintf(out, "and %zu more\n", nb - max_rows);
	putc('\n', out);
}

void roost_top_print(FILE *out, struct json_object *rows, size_t max_rows)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const struct table *table = &tables[i];

		print_table(out, table,
			    json_object_object_get(rows, table->key), max_rows);
	}
}
