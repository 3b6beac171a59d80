/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/ctl_print.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include <json-c/json.h>

#define INDENT 2
#define NAME_WIDTH 23
#define COLUMNS_MAX 32
#define TEXT_MAX 512
/* Columns of a terminal: the rows of a wider table are printed as records. */
#define LINE_MAX_COLUMNS 80

/* Is it a byte of U+0080 to U+009F, which are control characters, too? */
static bool is_c1(unsigned char before, unsigned char c)
{
	return c >= 0x80 && c < 0xa0 && (before == 0xc2 || before < 0x80);
}

char *roost_ctl_plain(char *text)
{
	unsigned char before = 0, now;

	for (char *c = text; *c; c++, before = now) {
		now = (unsigned char)*c;
		if (!iscntrl(now) && !is_c1(before, now))
			continue;
		*c = '?';
		if (before == 0xc2 && is_c1(before, now))
			c[-1] = '?';
	}
	return text;
}

/* A name as it is printed; buf: TEXT_MAX. */
static const char *plain_name(const char *name, char *buf)
{
	snprintf(buf, TEXT_MAX, "%s", name);
	return roost_ctl_plain(buf);
}

/* A value as text; in buf (TEXT_MAX bytes) if the document has no such text. */
static const char *text_of(struct json_object *value, char *buf)
{
	if (json_object_is_type(value, json_type_boolean))
		return json_object_get_boolean(value) ? "yes" : "no";
	if (!value)
		return "-";
	plain_name(json_object_get_string(value), buf);
	return *buf ? buf : "-";
}

static bool is_flat(struct json_object *object)
{
	if (!json_object_is_type(object, json_type_object))
		return false;
	json_object_object_foreach(object, name, value)
	{
		(void)name;
		if (json_object_is_type(value, json_type_object) ||
		    json_object_is_type(value, json_type_array))
			return false;
	}
	return true;
}

/* ---- tables ---------------------------------------------------------------
 */

struct table {
	const char *names[COLUMNS_MAX];
	int widths[COLUMNS_MAX];
	unsigned int nb;
};

static void find_columns(struct table *t, struct json_object *first)
{
	t->nb = 0;
	json_object_object_foreach(first, name, value)
	{
		(void)value;
		if (t->nb == COLUMNS_MAX)
			return;
		t->widths[t->nb] = (int)strlen(name);
		t->names[t->nb++] = name;
	}
}

static void widen(struct table *t, struct json_object *row)
{
	char buf[TEXT_MAX];
	int len;

	for (unsigned int i = 0; i < t->nb; i++) {
		len = (int)strlen(
			text_of(json_object_object_get(row, t->names[i]), buf));
		if (len > t->widths[i])
			t->widths[i] = len;
	}
}

/* Print a word in its column; without blanks after the last one. */
static void put_word(FILE *out, const struct table *t, unsigned int i,
		     const char *word)
{
	if (i + 1 < t->nb)
		fprintf(out, "%-*s  ", t->widths[i], word);
	else
		fprintf(out, "%s\n", word);
}

/* Find the columns and their widths. Returns the width of the table. */
static int measure(struct table *t, struct json_object *rows)
{
	size_t nb = json_object_array_length(rows);
	int width = -2;

	find_columns(t, json_object_array_get_idx(rows, 0));
	for (size_t i = 0; i < nb; i++)
		widen(t, json_object_array_get_idx(rows, i));
	for (unsigned int i = 0; i < t->nb; i++)
		width += t->widths[i] + 2;
	return width;
}

static void print_table(FILE *out, struct json_object *rows, int indent)
{
	size_t nb = json_object_array_length(rows);
	struct table t;
	char buf[TEXT_MAX];

	measure(&t, rows);
	fprintf(out, "%*s", indent, "");
	for (unsigned int c = 0; c < t.nb; c++)
		put_word(out, &t, c, plain_name(t.names[c], buf));
	for (size_t i = 0; i < nb; i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		fprintf(out, "%*s", indent, "");
		for (unsigned int c = 0; c < t.nb; c++)
			put_word(out, &t, c,
				 text_of(json_object_object_get(row,
								t.names[c]),
					 buf));
	}
}

/* ---- records ---------------------------------------------------------------
 */

/* Names and values, one after the other, in lines that fit a terminal. */
struct record {
	FILE *out;
	int indent; /* of the lines after the first, which has less */
	int column; /* end of the present line */
};

static void put_pair(struct record *r, const char *name, const char *value)
{
	int len = (int)(strlen(name) + strlen(value)) + 1;

	if (r->column + 2 + len > LINE_MAX_COLUMNS) {
		fprintf(r->out, "\n%*s", r->indent, "");
		r->column = r->indent;
	} else {
		fputs("  ", r->out);
		r->column += 2;
	}
	fprintf(r->out, "%s %s", name, value);
	r->column += len;
}

static bool is_nothing(struct json_object *value)
{
	return (json_object_is_type(value, json_type_int) &&
		json_object_get_int64(value) == 0) ||
	       (json_object_is_type(value, json_type_string) &&
		json_object_get_string_len(value) == 0);
}

static void put_pairs(struct record *r, struct json_object *object,
		      bool nothing_too)
{
	char plain[TEXT_MAX], buf[TEXT_MAX];

	json_object_object_foreach(object, name, value)
	{
		if (json_object_is_type(value, json_type_object) ||
		    (!nothing_too && is_nothing(value)))
			continue;
		put_pair(r, plain_name(name, plain), text_of(value, buf));
	}
}

/* Print an object in a record; of counters and drops, only those that are not
 * zero. */
static void put_part(struct record *r, const char *name,
		     struct json_object *object)
{
	bool all = strcmp(name, "counters") != 0 && strcmp(name, "drops") != 0;
	bool any = all;
	char plain[TEXT_MAX];

	json_object_object_foreach(object, member, value)
	{
		(void)member;
		any |= !is_nothing(value);
	}
	if (!any)
		return;
	r->column = fprintf(r->out, "\n%*s%s:", r->indent, "",
			    plain_name(name, plain)) -
		    1;
	r->indent += INDENT;
	put_pairs(r, object, all);
	r->indent -= INDENT;
}

/* Does the object have only values, and objects of values? */
static bool is_record(struct json_object *object)
{
	if (!json_object_is_type(object, json_type_object))
		return false;
	json_object_object_foreach(object, name, value)
	{
		(void)name;
		if (json_object_is_type(value, json_type_array) ||
		    (json_object_is_type(value, json_type_object) &&
		     !is_flat(value)))
			return false;
	}
	return true;
}

static void print_record(FILE *out, struct json_object *object, int indent)
{
	/* The blanks before the first pair are the rest of its indent. */
	struct record r = { out, indent + INDENT, indent - 2 };

	fprintf(out, "%*s", indent - 2, "");
	put_pairs(&r, object, true);
	json_object_object_foreach(object, name, value)
	{
		if (json_object_is_type(value, json_type_object))
			put_part(&r, name, value);
	}
	fputs("\n", out);
}

/* ---- everything else ------------------------------------------------------
 */

static void print_members(FILE *out, struct json_object *object, int indent);

static void print_array(FILE *out, const char *name, struct json_object *array,
			int indent)
{
	size_t nb = json_object_array_length(array);
	struct json_object *first, *one;
	char buf[TEXT_MAX];
	struct table t;

	plain_name(name, buf);
	if (nb == 0) {
		fprintf(out, "%*s%-*s none\n", indent, "", NAME_WIDTH, buf);
		return;
	}
	fprintf(out, "%*s%s\n", indent, "", buf);
	first = json_object_array_get_idx(array, 0);
	indent += INDENT;
	if (is_flat(first) && measure(&t, array) + indent <= LINE_MAX_COLUMNS) {
		print_table(out, array, indent);
		return;
	}
	for (size_t i = 0; i < nb; i++) {
		one = json_object_array_get_idx(array, i);
		if (is_record(one))
			print_record(out, one, indent);
		else
			print_members(out, one, indent);
	}
}

static void print_member(FILE *out, const char *name, struct json_object *value,
			 int indent)
{
	char plain[TEXT_MAX], buf[TEXT_MAX];

	plain_name(name, plain);
	if (json_object_is_type(value, json_type_array)) {
		print_array(out, name, value, indent);
	} else if (json_object_is_type(value, json_type_object)) {
		fprintf(out, "%*s%s\n", indent, "", plain);
		print_members(out, value, indent + INDENT);
	} else {
		fprintf(out, "%*s%-*s %s\n", indent, "", NAME_WIDTH, plain,
			text_of(value, buf));
	}
}

/* Print the members of an object; does nothing for another value. */
static void print_members(FILE *out, struct json_object *object, int indent)
{
	if (!json_object_is_type(object, json_type_object))
		return;
	json_object_object_foreach(object, name, value)
		print_member(out, name, value, indent);
}

/* A daemon has ports that it shares, and may have no device for itself. */
static bool is_needless(struct json_object *process, const char *name,
			struct json_object *value)
{
	return strcmp(name, "devices") == 0 &&
	       json_object_is_type(value, json_type_array) &&
	       json_object_array_length(value) == 0 &&
	       (json_object_object_get(process, "shared") ||
		json_object_object_get(process, "clients"));
}

void roost_ctl_print(FILE *out, struct json_object *process)
{
	if (!json_object_is_type(process, json_type_object))
		return;
	json_object_object_foreach(process, name,
				   value) if (!is_needless(process, name,
							   value))
		print_member(out, name, value, 0);
}

/* ---- the list -------------------------------------------------------------
 */

static struct json_object *copy_of(struct json_object *object, const char *name)
{
	return json_object_get(json_object_object_get(object, name));
}

static void add_port(struct json_object *rows, struct json_object *process,
		     struct json_object *device, struct json_object *port)
{
	static const char *const of_port[] = { "port", "state", "carrier",
					       "label" };
	struct json_object *row = json_object_new_object();

	json_object_object_add(row, "pid", copy_of(process, "pid"));
	json_object_object_add(row, "program", copy_of(process, "program"));
	json_object_object_add(row, "device", copy_of(device, "name"));
	for (size_t i = 0; i < sizeof(of_port) / sizeof(of_port[0]); i++)
		json_object_object_add(row, of_port[i],
				       copy_of(port, of_port[i]));
	json_object_array_add(rows, row);
}

static size_t length_of(struct json_object *array)
{
	return json_object_is_type(array, json_type_array)
		       ? json_object_array_length(array)
		       : 0;
}

static void add_process(struct json_object *rows, struct json_object *process)
{
	struct json_object *devices =
		json_object_object_get(process, "devices");

	for (size_t d = 0; d < length_of(devices); d++) {
		struct json_object *device =
			json_object_array_get_idx(devices, d);
		struct json_object *ports =
			json_object_object_get(device, "ports");

		for (size_t p = 0; p < length_of(ports); p++)
			add_port(rows, process, device,
				 json_object_array_get_idx(ports, p));
	}
}

/* What a daemon shares, as a port that has no device here. */
static void add_shared(struct json_object *rows, struct json_object *process)
{
	struct json_object *shared = json_object_object_get(process, "shared");

	for (size_t i = 0; i < length_of(shared); i++) {
		struct json_object *port = json_object_array_get_idx(shared, i);
		struct json_object *row = json_object_new_object();
		const bool active = json_object_get_boolean(
			json_object_object_get(port, "active"));

		json_object_object_add(row, "pid", copy_of(process, "pid"));
		json_object_object_add(row, "program",
				       copy_of(process, "program"));
		json_object_object_add(row, "device",
				       json_object_new_string("shared"));
		json_object_object_add(row, "port", copy_of(port, "port"));
		json_object_object_add(row, "state",
				       json_object_new_string(active ? "ACTIVE"
								     : "DOWN"));
		json_object_object_add(row, "carrier",
				       json_object_new_boolean(active));
		json_object_object_add(row, "label", copy_of(port, "label"));
		json_object_array_add(rows, row);
	}
}

void roost_ctl_print_list(FILE *out, struct json_object *processes)
{
	struct json_object *rows = json_object_new_array();

	for (size_t i = 0; i < length_of(processes); i++) {
		add_process(rows, json_object_array_get_idx(processes, i));
		add_shared(rows, json_object_array_get_idx(processes, i));
	}
	if (json_object_array_length(rows) > 0)
		print_table(out, rows, 0);
	json_object_put(rows);
}
