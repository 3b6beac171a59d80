/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/ctl_print.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include <json-c/json.h>

#define INDENT 2
#define NAME_WIDTH 22
#define COLUMNS_MAX 32
#define TEXT_MAX 512

/* A byte of U+0080 to U+009F, which are control characters as well. */
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

/* A value as people read it; buf: TEXT_MAX, where it is not in the document. */
static const char *text_of(struct json_object *value, char *buf)
{
	if (json_object_is_type(value, json_type_boolean))
		return json_object_get_boolean(value) ? "yes" : "no";
	if (value == NULL)
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

/* Words of a line in their columns; the last one has no blanks behind it. */
static void put_word(FILE *out, const struct table *t, unsigned int i,
		     const char *word)
{
	if (i + 1 < t->nb)
		fprintf(out, "%-*s  ", t->widths[i], word);
	else
		fprintf(out, "%s\n", word);
}

static void print_table(FILE *out, struct json_object *rows, int indent)
{
	size_t nb = json_object_array_length(rows);
	struct table t;
	char buf[TEXT_MAX];

	find_columns(&t, json_object_array_get_idx(rows, 0));
	for (size_t i = 0; i < nb; i++)
		widen(&t, json_object_array_get_idx(rows, i));
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

/* ---- everything else ------------------------------------------------------
 */

static void print_members(FILE *out, struct json_object *object, int indent);

static void print_array(FILE *out, const char *name, struct json_object *array,
			int indent)
{
	size_t nb = json_object_array_length(array);
	char buf[TEXT_MAX];

	plain_name(name, buf);
	if (nb == 0) {
		fprintf(out, "%*s%-*s none\n", indent, "", NAME_WIDTH, buf);
		return;
	}
	fprintf(out, "%*s%s\n", indent, "", buf);
	if (is_flat(json_object_array_get_idx(array, 0))) {
		print_table(out, array, indent + INDENT);
		return;
	}
	for (size_t i = 0; i < nb; i++)
		print_members(out, json_object_array_get_idx(array, i),
			      indent + INDENT);
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

/* What is no object has none. */
static void print_members(FILE *out, struct json_object *object, int indent)
{
	if (!json_object_is_type(object, json_type_object))
		return;
	json_object_object_foreach(object, name, value)
		print_member(out, name, value, indent);
}

void roost_ctl_print(FILE *out, struct json_object *process)
{
	print_members(out, process, 0);
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

void roost_ctl_print_list(FILE *out, struct json_object *processes)
{
	struct json_object *rows = json_object_new_array();

	for (size_t i = 0; i < length_of(processes); i++)
		add_process(rows, json_object_array_get_idx(processes, i));
	if (json_object_array_length(rows) > 0)
		print_table(out, rows, 0);
	json_object_put(rows);
}
