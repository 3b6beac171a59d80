/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/doctor_finding.h"

#include <stdarg.h>
#include <string.h>

#include <json-c/json.h>

/* By enum roost_verdict; also in JSON. */
static const char *const verdicts[] = { "not applicable", "ok", "warning",
					"failure" };

/* Text of devices and programs may have anything in it. */
static void clean(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 127)
			*text = ' ';
}

void roost_finding_see(struct roost_finding *f, enum roost_verdict verdict,
		       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->what, sizeof(f->what), format, args);
	va_end(args);
	clean(f->what);
	if (verdict > f->verdict)
		f->verdict = verdict;
}

void roost_finding_blame(struct roost_finding *f, enum roost_verdict verdict,
			 const char *format, ...)
{
	char text[2 * ROOST_FINDING_MAX];
	const char *fix;
	va_list args;

	if (verdict <= f->verdict && f->cause[0])
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	clean(text);
	fix = strstr(text, "; ");
	snprintf(f->cause, sizeof(f->cause), "%.*s",
		 fix ? (int)(fix - text) : (int)strlen(text), text);
	snprintf(f->fix, sizeof(f->fix), "%.*s", (int)sizeof(f->fix) - 1,
		 fix ? fix + 2 : "");
	if (verdict > f->verdict)
		f->verdict = verdict;
}

bool roost_finding_line(const char *lines, char *line)
{
	static const char begin[] = "roost: ";
	bool found = false;

	for (; *lines; lines += strspn(lines, "\n")) {
		const size_t len = strcspn(lines, "\n");

		if (strncmp(lines, begin, strlen(begin)) == 0) {
			snprintf(line, ROOST_FINDING_MAX, "%.*s",
				 (int)(len - strlen(begin)),
				 lines + strlen(begin));
			found = true;
		}
		lines += len;
	}
	return found;
}

/* ---- all findings -------------------------------------------------------- */

static void add_text(struct json_object *row, const char *key, const char *text)
{
	if (*text)
		json_object_object_add(row, key, json_object_new_string(text));
}

void roost_findings_add(struct json_object *list, const char *place,
			const char *step, const struct roost_finding *f)
{
	struct json_object *row = json_object_new_object();

	add_text(row, "place", place);
	add_text(row, "step", step);
	add_text(row, "result", verdicts[f->verdict]);
	add_text(row, "what", f->what);
	add_text(row, "cause", f->cause);
	add_text(row, "fix", f->fix);
	json_object_array_add(list, row);
}

static const char *text_of(struct json_object *row, const char *key)
{
	struct json_object *value = json_object_object_get(row, key);

	return value ? json_object_get_string(value) : "";
}

enum roost_verdict roost_findings_worst(struct json_object *list)
{
	enum roost_verdict worst = ROOST_VERDICT_NOT_APPLICABLE;

	for (size_t i = 0; i < json_object_array_length(list); i++)
		for (int v = ROOST_VERDICT_OK; v <= ROOST_VERDICT_FAILURE; v++)
			if ((int)worst < v &&
			    strcmp(text_of(json_object_array_get_idx(list, i),
					   "result"),
				   verdicts[v]) == 0)
				worst = (enum roost_verdict)v;
	return worst;
}

static void print_row(FILE *out, struct json_object *row)
{
	const char *result = text_of(row, "result");

	fprintf(out, "  %-8s %-13s %s\n",
		strcmp(result, verdicts[0]) == 0 ? "-" : result,
		text_of(row, "step"), text_of(row, "what"));
	if (*text_of(row, "cause"))
		fprintf(out, "           cause: %s\n", text_of(row, "cause"));
	if (*text_of(row, "fix"))
		fprintf(out, "           do:    %s\n", text_of(row, "fix"));
}

void roost_findings_print(FILE *out, struct json_object *list)
{
	const char *place = "";

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *row = json_object_array_get_idx(list, i);

		if (strcmp(place, text_of(row, "place")) != 0)
			fprintf(out, "%s\n", text_of(row, "place"));
		place = text_of(row, "place");
		print_row(out, row);
	}
}
