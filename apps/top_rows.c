/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/top_rows.h"

#include <string.h>

#include <json-c/json.h>

/* ---- JSON -----------------------------------------------------------------
 */

static struct json_object *get(struct json_object *object, const char *name)
{
	struct json_object *value = NULL;

	if (json_object_is_type(object, json_type_object))
		json_object_object_get_ex(object, name, &value);
	return value;
}

static struct json_object *at(struct json_object *array, size_t index)
{
	return json_object_array_get_idx(array, index);
}

static size_t length(struct json_object *array)
{
	return json_object_is_type(array, json_type_array)
		       ? json_object_array_length(array)
		       : 0;
}

static uint64_t number(struct json_object *object, const char *name)
{
	return json_object_get_uint64(get(object, name));
}

/* The text of a number that an object has; "": it has none. */
static const char *key(struct json_object *object, const char *name)
{
	const char *text = json_object_get_string(get(object, name));

	return text ? text : "";
}

/* The elements of an array by a number that each has. The caller puts it. */
static struct json_object *index_by(struct json_object *array, const char *name)
{
	struct json_object *index = json_object_new_object();

	for (size_t i = 0; i < length(array); i++)
		json_object_object_add(index, key(at(array, i), name),
				       json_object_get(at(array, i)));
	return index;
}

/* The element of an index that has the same number. NULL: none. */
static struct json_object *same(struct json_object *index,
				struct json_object *as, const char *name)
{
	return get(index, key(as, name));
}

static void copy(struct json_object *row, const char *name,
		 struct json_object *from, const char *of)
{
	json_object_object_add(row, name, json_object_get(get(from, of)));
}

/* ---- rates ----------------------------------------------------------------
 */

static double rate(uint64_t before, uint64_t now, double seconds)
{
	return now > before ? (double)(now - before) / seconds : 0;
}

static void add_rate(struct json_object *row, const char *name, double value)
{
	/* Without the digits that the noise of the clock makes. */
	json_object_object_add(row, name,
			       json_object_new_int64((int64_t)(value + 0.5)));
}

/* The rate of a counter of two objects; before NULL: the object is new. */
static double rate_of(struct json_object *before, struct json_object *now,
		      const char *name, double seconds)
{
	return before ? rate(number(before, name), number(now, name), seconds)
		      : 0;
}

/* The same of the sum of all counters of an object. */
static double rate_of_all(struct json_object *before, struct json_object *now,
			  double seconds)
{
	uint64_t sums[2] = { 0, 0 };

	if (!json_object_is_type(now, json_type_object))
		return 0;
	json_object_object_foreach(now, name, value)
	{
		sums[0] += number(before, name);
		sums[1] += json_object_get_uint64(value);
	}
	return before ? rate(sums[0], sums[1], seconds) : 0;
}

/* Packet sequence numbers, which begin again after 2^24. */
static double psn_rate(struct json_object *before, struct json_object *now,
		       const char *name, double seconds)
{
	const uint64_t psns =
		(number(now, name) - number(before, name)) & 0xffffffu;

	/* A repeated one goes back. */
	return before && psns < 0x800000u ? (double)psns / seconds : 0;
}

static double cnp_rate(struct json_object *before, struct json_object *now,
		       double seconds)
{
	return rate_of(before, now, "np_cnp_sent", seconds) +
	       rate_of(before, now, "rp_cnp_handled", seconds);
}

/* ---- rows -----------------------------------------------------------------
 */

struct sums {
	struct json_object *process; /* that the rows are of */
	struct json_object *rows;    /* the result */
	double seconds;
};

static struct json_object *new_row(const struct sums *s, const char *table)
{
	struct json_object *row = json_object_new_object();

	copy(row, "pid", s->process, "pid");
	copy(row, "program", s->process, "program");
	json_object_array_add(get(s->rows, table), row);
	return row;
}

/* ACTIVE, if one of its ports is; else what its last one is. */
static const char *port_state(struct json_object *device)
{
	struct json_object *ports = get(device, "ports");
	const char *state = "";

	for (size_t i = 0; i < length(ports); i++)
		if (strcmp(state, "ACTIVE") != 0)
			state = key(at(ports, i), "state");
	return state;
}

static void add_device(const struct sums *s, struct json_object *before,
		       struct json_object *now)
{
	struct json_object *was = get(before, "counters");
	struct json_object *is = get(now, "counters");
	struct json_object *row = new_row(s, "devices");

	copy(row, "device", now, "name");
	json_object_object_add(row, "state",
			       json_object_new_string(port_state(now)));
	copy(row, "qp_count", now, "qp_count");
	add_rate(row, "tx_bits_per_s",
		 8 * rate_of(was, is, "tx_bytes", s->seconds));
	add_rate(row, "rx_bits_per_s",
		 8 * rate_of(was, is, "rx_bytes", s->seconds));
	add_rate(row, "tx_packets_per_s",
		 rate_of(was, is, "tx_packets", s->seconds));
	add_rate(row, "rx_packets_per_s",
		 rate_of(was, is, "rx_packets", s->seconds));
	add_rate(row, "retransmits_per_s",
		 rate_of(was, is, "retransmits", s->seconds));
	add_rate(row, "cnps_per_s", cnp_rate(was, is, s->seconds));
	add_rate(row, "drops_per_s",
		 rate_of_all(get(was, "drops"), get(is, "drops"), s->seconds));
}

static void add_drops(const struct sums *s, struct json_object *owner,
		      const char *key, struct json_object *before,
		      struct json_object *now)
{
	struct json_object *row;

	if (!json_object_is_type(now, json_type_object))
		return;
	json_object_object_foreach(now, reason, value)
	{
		if (json_object_get_uint64(value) == 0)
			continue;
		row = new_row(s, "drops");
		copy(row, "of", owner, key);
		json_object_object_add(row, "reason",
				       json_object_new_string(reason));
		json_object_object_add(row, "total", json_object_get(value));
		add_rate(row, "drops_per_s",
			 rate_of(before, now, reason, s->seconds));
	}
}

static void add_qp(const struct sums *s, struct json_object *device,
		   struct json_object *before, struct json_object *now)
{
	struct json_object *was = get(before, "counters");
	struct json_object *is = get(now, "counters");
	struct json_object *row = new_row(s, "qps");

	copy(row, "device", device, "name");
	copy(row, "qpn", now, "qpn");
	copy(row, "type", now, "type");
	copy(row, "state", now, "state");
	copy(row, "peer", now, "dgid");
	copy(row, "dest_qpn", now, "dest_qpn");
	add_rate(row, "tx_packets_per_s",
		 psn_rate(before, now, "next_psn", s->seconds));
	add_rate(row, "rx_packets_per_s",
		 psn_rate(before, now, "expected_psn", s->seconds));
	copy(row, "srtt_ns", now, "srtt_ns");
	add_rate(row, "retransmits_per_s",
		 rate_of(was, is, "retransmits", s->seconds));
	add_rate(row, "cnps_per_s", cnp_rate(was, is, s->seconds));
	copy(row, "cc_rate_kbps", now, "cc_rate_kbps");
}

static void add_qps(const struct sums *s, struct json_object *before,
		    struct json_object *now)
{
	struct json_object *were = index_by(get(before, "qps"), "qpn");
	struct json_object *qps = get(now, "qps");

	for (size_t i = 0; i < length(qps); i++)
		add_qp(s, now, same(were, at(qps, i), "qpn"), at(qps, i));
	json_object_put(were);
}

static void add_devices(const struct sums *s, struct json_object *before)
{
	struct json_object *were = index_by(get(before, "devices"), "name");
	struct json_object *devices = get(s->process, "devices");

	for (size_t i = 0; i < length(devices); i++) {
		struct json_object *now = at(devices, i);
		struct json_object *was = same(were, now, "name");

		add_device(s, was, now);
		add_drops(s, now, "name", get(get(was, "counters"), "drops"),
			  get(get(now, "counters"), "drops"));
		add_qps(s, was, now);
	}
	json_object_put(were);
}

/* Of one daemon; clients that came back have their number again. */
static void add_clients(const struct sums *s, struct json_object *before)
{
	static const char *const copied[] = {
		"port", "client", "uid", "command", "qps", "connections"
	};
	struct json_object *were = index_by(get(before, "clients"), "client");
	struct json_object *clients = get(s->process, "clients");

	for (size_t i = 0; i < length(clients); i++) {
		struct json_object *now = at(clients, i);
		struct json_object *was = same(were, now, "client");
		struct json_object *counters = get(now, "counters");
		struct json_object *row = new_row(s, "clients");

		for (size_t c = 0; c < sizeof(copied) / sizeof(copied[0]); c++)
			copy(row, copied[c], now, copied[c]);
		copy(row, "client_pid", now, "pid");
		add_rate(row, "tx_bits_per_s",
			 8 * rate_of(get(was, "counters"), counters, "tx_bytes",
				     s->seconds));
		add_rate(row, "rx_bits_per_s",
			 8 * rate_of(get(was, "counters"), counters, "rx_bytes",
				     s->seconds));
		add_rate(row, "drops_per_s",
			 rate_of_all(get(was, "drops"), get(now, "drops"),
				     s->seconds));
		add_drops(s, now, "command", get(was, "drops"),
			  get(now, "drops"));
	}
	json_object_put(were);
}

static void add_workers(const struct sums *s, struct json_object *before)
{
	struct json_object *were = index_by(get(before, "threads"), "tid");
	struct json_object *threads = get(s->process, "threads");

	for (size_t i = 0; i < length(threads); i++) {
		struct json_object *now = at(threads, i);
		struct json_object *row = new_row(s, "workers");

		copy(row, "tid", now, "tid");
		copy(row, "thread", now, "name");
		json_object_object_add(
			row, "cpu_percent",
			json_object_new_int64(
				(int64_t)(rate_of(same(were, now, "tid"), now,
						  "cpu_ns", s->seconds) /
						  1e7 +
					  0.5)));
	}
	json_object_put(were);
}

/* ---- order -----------------------------------------------------------------
 */

static uint64_t busy(struct json_object *row)
{
	return number(row, "tx_packets_per_s") +
	       number(row, "rx_packets_per_s") + number(row, "tx_bits_per_s") +
	       number(row, "rx_bits_per_s");
}

static int busier_first(const void *a, const void *b)
{
	struct json_object *const *rows[2] = { a, b };
	const uint64_t is[2] = { busy(*rows[0]), busy(*rows[1]) };

	return (is[0] < is[1]) - (is[0] > is[1]);
}

struct json_object *roost_top_rows(struct json_object *before,
				   struct json_object *now, double seconds)
{
	static const char *const tables[] = { "devices", "workers", "drops",
					      "qps", "clients" };
	struct json_object *were = index_by(before, "pid");
	struct sums s = {
		.rows = json_object_new_object(),
		.seconds = seconds,
	};

	json_object_object_add(s.rows, "interval_s",
			       json_object_new_double(seconds));
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		json_object_object_add(s.rows, tables[i],
				       json_object_new_array());
	for (size_t i = 0; i < length(now); i++) {
		struct json_object *was;

		s.process = at(now, i);
		was = same(were, s.process, "pid");
		add_devices(&s, was);
		add_clients(&s, was);
		add_workers(&s, was);
	}
	json_object_put(were);
	json_object_array_sort(get(s.rows, "qps"), busier_first);
	json_object_array_sort(get(s.rows, "clients"), busier_first);
	return s.rows;
}
