/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "apps/doctor_patient.h"
#include "lib/config/addr.h"
#include "tests/cmocka.h"

/* ---- findings ------------------------------------------------------------ */

static void blame__is_cut_at_the_first_semicolon(void **state)
{
	struct roost_finding f = { .verdict = 0 };

	roost_finding_blame(&f, ROOST_VERDICT_FAILURE,
			    "no %s; do this; or "
			    "that",
			    "fish");
	assert_string_equal(f.cause, "no fish");
	assert_string_equal(f.fix, "do this; or that");
	assert_int_equal(f.verdict, ROOST_VERDICT_FAILURE);
}

static void blame__the_worst_one_stays(void **state)
{
	struct roost_finding f = { .verdict = 0 };

	roost_finding_see(&f, ROOST_VERDICT_OK, "a\nb\033c");
	assert_string_equal(f.what, "a b c");
	roost_finding_blame(&f, ROOST_VERDICT_WARNING, "one; a");
	roost_finding_blame(&f, ROOST_VERDICT_WARNING, "two; b");
	assert_string_equal(f.cause, "one");
	roost_finding_blame(&f, ROOST_VERDICT_FAILURE, "three");
	assert_string_equal(f.cause, "three");
	assert_string_equal(f.fix, "");
	roost_finding_blame(&f, ROOST_VERDICT_WARNING, "four; d");
	assert_string_equal(f.cause, "three");
	assert_int_equal(f.verdict, ROOST_VERDICT_FAILURE);
}

static void line__is_the_last_one_of_roost(void **state)
{
	char line[ROOST_FINDING_MAX];

	assert_true(roost_finding_line("EAL: x\nroost: a: b; c\nroost: d: e; "
				       "f\nother\n",
				       line));
	assert_string_equal(line, "d: e; f");
	assert_true(roost_finding_line("roost: unfinished", line));
	assert_string_equal(line, "unfinished");
	assert_false(roost_finding_line("", line));
	assert_false(roost_finding_line("\n\nxroost: a\n", line));
}

static void findings__are_shown_with_their_places(void **state)
{
	struct json_object *list = json_object_new_array();
	struct roost_finding f = { .verdict = 0 };
	char *text = NULL;
	size_t size;
	FILE *out;

	assert_int_equal(roost_findings_worst(list),
			 ROOST_VERDICT_NOT_APPLICABLE);
	roost_finding_see(&f, ROOST_VERDICT_OK, "seen");
	roost_findings_add(list, "here", "one", &f);
	assert_int_equal(roost_findings_worst(list), ROOST_VERDICT_OK);
	roost_finding_blame(&f, ROOST_VERDICT_WARNING, "why; how");
	roost_findings_add(list, "here", "two", &f);
	assert_int_equal(roost_findings_worst(list), ROOST_VERDICT_WARNING);
	out = open_memstream(&text, &size);
	roost_findings_print(out, list);
	fclose(out);
	assert_string_equal(text, "here\n"
				  "  ok       one           seen\n"
				  "  warning  two           seen\n"
				  "           cause: why\n"
				  "           do:    how\n");
	free(text);
	json_object_put(list);
}

/* ---- the steps towards a peer -------------------------------------------- */

static struct roost_gid peer;

/* A way that is as it should be. */
static struct roost_patient healthy(void)
{
	char err[ROOST_CONFIG_ERR_MAX];
	struct roost_patient p = {
		.kind = ROOST_PATIENT_DRIVER,
		.peer = &peer,
		.facts = {
			.stage = ROOST_PROBE_DONE,
			.port = { .active = true, .carrier = true,
				  .ip_mtu_bytes = 4200,
				  .path_mtu_bytes = 4096 },
			.few = { .sent = 5, .answered = 5 },
			.many = { .sent = 100, .answered = 100, .ect = 100 },
			.answered_ip_bytes = 4200,
			.answered_path_bytes = 4096,
			.cm = ROOST_PROBE_CM_REFUSED,
			.cm_status = 8,
			.has_time = true,
		},
	};

	assert_int_equal(roost_addr_parse("198.18.0.2", &peer, err), 0);
	return p;
}

static struct roost_finding look(const struct roost_patient *p,
				 const char *step)
{
	struct roost_finding f = { .verdict = 0 };

	for (size_t i = 0; i < roost_doctor_nb_peer; i++)
		if (strcmp(roost_doctor_peer[i].name, step) == 0) {
			roost_doctor_peer[i].look(p, &f);
			return f;
		}
	fail_msg("no step %s", step);
	return f;
}

static void check(const struct roost_patient *p, const char *step,
		  enum roost_verdict verdict, const char *cause)
{
	const struct roost_finding f = look(p, step);

	if (f.verdict != verdict || !strstr(f.cause, cause))
		fail_msg("%s: %d, %s", step, f.verdict, f.cause);
	/* Who is told that something is wrong is told what to do. */
	if (verdict >= ROOST_VERDICT_WARNING)
		assert_true(f.cause[0] && f.fix[0]);
}

static void peer__nothing_is_wrong(void **state)
{
	struct roost_patient p = healthy();

	for (size_t i = 0; i < roost_doctor_nb_peer; i++)
		check(&p, roost_doctor_peer[i].name, ROOST_VERDICT_OK, "");
}

static void peer__each_fault_has_its_cause(void **state)
{
	struct roost_patient p = healthy();

	p.facts.answered_ip_bytes = 1500;
	p.facts.answered_path_bytes = 1024;
	check(&p, "path MTU", ROOST_VERDICT_FAILURE, "more than 1500 bytes");
	p.facts.answered_path_bytes = 0;
	check(&p, "path MTU", ROOST_VERDICT_FAILURE, "no packet is answered");
	p.facts.answered_ip_bytes = 4190;
	p.facts.answered_path_bytes = 4096;
	check(&p, "path MTU", ROOST_VERDICT_WARNING, "more than 4190 bytes");
	p.facts.many.answered = 99;
	check(&p, "loss", ROOST_VERDICT_WARNING, "1% of the packets are lost");
	p.facts.many.answered = 60;
	check(&p, "loss", ROOST_VERDICT_FAILURE, "40%");
	p.facts.many.answered = 100;
	p.facts.many.late = 3;
	check(&p, "loss", ROOST_VERDICT_WARNING, "overtake");
	p.facts.many.ce = 1;
	check(&p, "ECN", ROOST_VERDICT_WARNING, "congested");
	p.facts.many.ce = 0;
	p.facts.many.not_ect = 100;
	check(&p, "ECN", ROOST_VERDICT_WARNING, "without ECN bits");
	p.facts.cm = ROOST_PROBE_CM_SILENT;
	check(&p, "RoCE", ROOST_VERDICT_FAILURE, "UDP port 4791");
	p.facts.time_ahead_ms = -5000;
	check(&p, "clock", ROOST_VERDICT_WARNING, "clocks differ");
	p.facts.few.answered = 0;
	check(&p, "ping", ROOST_VERDICT_WARNING, "ICMP echo");
	check(&p, "loss", ROOST_VERDICT_NOT_APPLICABLE, "");
}

static void peer__steps_behind_a_failure_are_left_out(void **state)
{
	struct roost_patient p = healthy();

	p.facts.resolved = -ETIMEDOUT;
	strcpy(p.lines, "roost: no ARP answer; is it up?\n");
	check(&p, "route", ROOST_VERDICT_OK, "");
	check(&p, "neighbour", ROOST_VERDICT_FAILURE, "no ARP answer");
	check(&p, "RoCE", ROOST_VERDICT_NOT_APPLICABLE, "");
	p.facts.routed = -EHOSTUNREACH;
	check(&p, "route", ROOST_VERDICT_FAILURE, "subnets");
	check(&p, "neighbour", ROOST_VERDICT_NOT_APPLICABLE, "");
	p.facts.opened = -ENODEV;
	check(&p, "route", ROOST_VERDICT_NOT_APPLICABLE, "");
}

static void peer__a_probe_that_hangs_is_named(void **state)
{
	struct roost_patient p = healthy();

	p.facts.stage = ROOST_PROBE_CONNECTING;
	p.probe_ret = -ETIMEDOUT;
	check(&p, "loss", ROOST_VERDICT_OK, "");
	check(&p, "RoCE", ROOST_VERDICT_FAILURE, "imed out");
	check(&p, "clock", ROOST_VERDICT_NOT_APPLICABLE, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blame__is_cut_at_the_first_semicolon),
		cmocka_unit_test(blame__the_worst_one_stays),
		cmocka_unit_test(line__is_the_last_one_of_roost),
		cmocka_unit_test(findings__are_shown_with_their_places),
		cmocka_unit_test(peer__nothing_is_wrong),
		cmocka_unit_test(peer__each_fault_has_its_cause),
		cmocka_unit_test(peer__steps_behind_a_failure_are_left_out),
		cmocka_unit_test(peer__a_probe_that_hangs_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
