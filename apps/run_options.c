/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/run_options.h"

#include <string.h>

#include "lib/config/fail.h"
#include "lib/config/key.h"
#include "lib/config/nearest.h"
#include "lib/config/resolve.h"

/* Options are numbered: first the configuration keys, then run's own. */
enum own_option {
	OPTION_HUB = ROOST_KEYS,
	OPTION_CONFIG,
	OPTION_SYSFS,
	OPTION_PRINT_ENV,
	OPTION_HELP,
	OPTIONS,
};

struct option {
	const char *name; /* NULL: a key without an option */
	char letter;      /* 0: none */
	const char *arg;  /* NULL: a flag */
	const char *help;
};

static const struct option own_options[OPTIONS - ROOST_KEYS] = {
	[OPTION_HUB - ROOST_KEYS] = {
		"hub", 0, NULL, "the port of this user's processes",
	},
	[OPTION_CONFIG - ROOST_KEYS] = {
		"config", 'c', "FILE", "read this file, not ROOST_CONFIG's",
	},
	[OPTION_SYSFS - ROOST_KEYS] = {
		"sysfs", 0, "preload|mount|none",
		"who sees the devices in /sys",
	},
	[OPTION_PRINT_ENV - ROOST_KEYS] = {
		"print-env", 0, NULL, "print the environment, run nothing",
	},
	[OPTION_HELP - ROOST_KEYS] = {
		"help", 'h', NULL, "this text",
	},
};

struct parser {
	struct roost_run_options *options;
	char **argv;             /* the word after the one being read */
	unsigned int nb_ports;   /* named so far */
	unsigned int first_vlan; /* first port on the last port's DPDK port */
	char *err;
};

static struct option option_info(int id)
{
	const struct roost_config_key_info *key;

	if (id >= ROOST_KEYS)
		return own_options[id - ROOST_KEYS];
	key = &roost_config_keys[id];
	return (struct option){ key->option, key->short_option, key->arg,
				key->help };
}

static int take_key(struct parser *p, int id, const char *where,
		    const char *value)
{
	const struct roost_config_key_info *key = &roost_config_keys[id];
	unsigned int port = 0;

	if (key->scope == ROOST_SCOPE_PORT) {
		if (key->names_port)
			p->nb_ports++;
		if (p->nb_ports == 0)
			return roost_config_fail(
				p->err,
				"%s: no --port or --link before it; "
				"put it behind the port it belongs to",
				where);
		port = p->nb_ports - 1;
	}
	return roost_config_set(&p->options->config, where, id, port,
				value ? value : "1", p->err);
}

/* Add another device on the DPDK port of the last device. */
static int add_sibling(struct parser *p, const char *where)
{
	const struct roost_port_config *last =
		&p->options->config.ports[p->nb_ports - 1];
	int key = 0;

	while (!roost_config_keys[key].names_port ||
	       !(last->set & ROOST_KEY_BIT(key)))
		key++;
	return roost_config_set(&p->options->config, where, key, p->nb_ports++,
				(const char *)last +
					roost_config_keys[key].offset_bytes,
				p->err);
}

static bool has_vlan(const struct parser *p)
{
	return p->nb_ports != 0 &&
	       p->options->config.ports[p->nb_ports - 1].set &
		       ROOST_KEY_BIT(ROOST_KEY_VLAN);
}

static int take_vlan(struct parser *p, const char *where, const char *value)
{
	const struct roost_port_config *ports = p->options->config.ports;
	int ret = 0;

	if (!has_vlan(p)) {
		p->first_vlan = p->nb_ports - 1;
		return take_key(p, ROOST_KEY_VLAN, where, value);
	}
	ret = add_sibling(p, where);
	if (ret == 0)
		ret = take_key(p, ROOST_KEY_VLAN, where, value);
	for (unsigned int i = p->first_vlan; ret == 0 && i < p->nb_ports - 1;
	     i++)
		if (ports[i].vlan_id == ports[p->nb_ports - 1].vlan_id)
			return roost_config_fail(p->err,
						 "%s: %u is given twice for "
						 "one port; leave one out",
						 where, ports[i].vlan_id);
	return ret;
}

/* Take a list of VLANs. The first one is that of the port; each other one adds
 * a device.
 */
static int take_vlans(struct parser *p, const char *where, const char *value)
{
	char id[64];
	int ret;

	for (;; value++) {
		size_t len = strcspn(value, ",");

		snprintf(id, sizeof(id), "%.*s", (int)len, value);
		ret = take_vlan(p, where, id);
		value += len;
		if (ret || *value == '\0')
			return ret;
	}
}

int roost_run_sysfs_parse(enum roost_run_sysfs *sysfs, const char *where,
			  const char *value, char *err)
{
	if (strcmp(value, "preload") == 0)
		*sysfs = ROOST_RUN_SYSFS_PRELOAD;
	else if (strcmp(value, "mount") == 0)
		*sysfs = ROOST_RUN_SYSFS_MOUNT;
	else if (strcmp(value, "none") == 0)
		*sysfs = ROOST_RUN_SYSFS_NONE;
	else
		return roost_config_fail(err,
					 "%s: '%.80s': unknown; use preload, "
					 "mount or none",
					 where, value);
	return 0;
}

static int take(struct parser *p, int id, const char *where, const char *value)
{
	if (id == ROOST_KEY_VLAN)
		return take_vlans(p, where, value);
	if (id < ROOST_KEYS)
		return take_key(p, id, where, value);
	if (id == OPTION_HUB)
		return take_key(p, ROOST_KEY_SERVICE, where, "hub");
	if (id == OPTION_SYSFS)
		return roost_run_sysfs_parse(&p->options->sysfs, where, value,
					     p->err);
	if (id == OPTION_CONFIG)
		p->options->file = value;
	else if (id == OPTION_PRINT_ENV)
		p->options->print_env = true;
	else
		p->options->help = true;
	return 0;
}

/* Take an option. attached: the value in the same word; NULL: none. */
static int take_with_value(struct parser *p, int id, const char *where,
			   const char *attached)
{
	struct option option = option_info(id);

	if (!option.arg) {
		if (attached)
			return roost_config_fail(p->err,
						 "%s: takes no value; "
						 "leave out '=%.80s'",
						 where, attached);
		return take(p, id, where, NULL);
	}
	if (!attached) {
		attached = *p->argv;
		/* No valid value begins with a dash: this is the next option,
		 * and the value is missing.
		 */
		if (!attached || (attached[0] == '-' && attached[1]))
			return roost_config_fail(p->err,
						 "%s: no value behind "
						 "it; write %s %s",
						 where, where, option.arg);
		p->argv++;
	}
	if (*attached == '\0')
		return roost_config_fail(p->err, "%s: empty value; write %s %s",
					 where, where, option.arg);
	return take(p, id, where, attached);
}

static int parse_long(struct parser *p, const char *word)
{
	const char *known[OPTIONS];
	char name[64], where[sizeof(name) + 2];
	char advice[ROOST_NAME_ADVICE_MAX];
	const char *equals = strchr(word, '=');
	size_t nb = 0;

	snprintf(name, sizeof(name), "%.*s",
		 equals ? (int)(equals - word) : (int)strlen(word), word);
	snprintf(where, sizeof(where), "--%s", name);
	for (int id = 0; id < OPTIONS; id++) {
		known[nb] = option_info(id).name;
		if (!known[nb])
			continue;
		if (strcmp(name, known[nb++]) == 0)
			return take_with_value(p, id, where,
					       equals ? equals + 1 : NULL);
	}
	return roost_config_fail(p->err, "%s: unknown option; %s", where,
				 roost_name_advise(advice, name, known, nb,
						   "--*",
						   "see roost run --help"));
}

/* Parse letters in one word, -vcFILE: the rest after a letter that takes a
 * value is this value.
 */
static int parse_letters(struct parser *p, const char *word)
{
	for (; *word; word++) {
		const char where[] = { '-', *word, '\0' };
		const char *rest = NULL;
		int id = 0, ret;

		while (id < OPTIONS && option_info(id).letter != *word)
			id++;
		if (id == OPTIONS)
			return roost_config_fail(p->err,
						 "%s: unknown option; "
						 "see roost run --help",
						 where);
		if (option_info(id).arg && word[1])
			rest = word + 1;
		ret = take_with_value(p, id, where, rest);
		if (ret || rest)
			return ret;
	}
	return 0;
}

int roost_run_options_parse(struct roost_run_options *options, char **argv,
			    char *err)
{
	struct parser p = { .options = options, .argv = argv, .err = err };

	memset(options, 0, sizeof(*options));
	roost_config_init(&options->config);
	while (*p.argv && p.argv[0][0] == '-' && p.argv[0][1] &&
	       !options->help) {
		const char *word = *p.argv++;
		int ret;

		if (strcmp(word, "--") == 0)
			break;
		ret = word[1] == '-' ? parse_long(&p, word + 2)
				     : parse_letters(&p, word + 1);
		if (ret)
			return ret;
	}
	options->command = p.argv;
	return 0;
}

/* ---- help ---------------------------------------------------------------- */

/* A text with line breaks between words. */
struct flow {
	FILE *out;
	int column; /* of the last line so far */
	int indent; /* of the lines that follow */
};

#define COLUMNS_MAX 79

static void put_word(struct flow *flow, const char *word)
{
	int len = (int)strlen(word);

	if (flow->column + 1 + len > COLUMNS_MAX) {
		fprintf(flow->out, "\n%*s", flow->indent - 1, "");
		flow->column = flow->indent - 1;
	}
	fprintf(flow->out, " %s", word);
	flow->column += 1 + len;
}

/* tail: the text right after the option. */
static void put_option(struct flow *flow, int id, const char *tail)
{
	struct option option = option_info(id);
	bool list = id < ROOST_KEYS && roost_config_keys[id].list;
	const char letter[] = { '-', option.letter, '\0' };
	char word[96];

	if (!option.name)
		return;
	snprintf(word, sizeof(word), "[%s%s%s%s]%s%s",
		 option.letter ? "" : "--",
		 option.letter ? letter : option.name, option.arg ? " " : "",
		 option.arg ? option.arg : "", list ? "..." : "", tail);
	put_word(flow, word);
}

static bool belongs_to_port(int id)
{
	return id == OPTION_HUB ||
	       (id < ROOST_KEYS &&
		roost_config_keys[id].scope == ROOST_SCOPE_PORT);
}

void roost_run_options_synopsis(FILE *out)
{
	static const char begin[] = "Usage: roost run";
	static const char *const names[] = {
		"[{--port DEVARGS |",
		"--link NAME |",
		"--hub |",
		"--service hub|PATH[,N]}",
	};
	struct flow flow = { out, (int)strlen(begin), (int)strlen(begin) + 3 };
	int last = 0;

	fputs(begin, out);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		put_word(&flow, names[i]);
	for (int id = 0; id < ROOST_KEYS; id++)
		if (belongs_to_port(id) && !roost_config_keys[id].names_port)
			last = id;
	for (int id = 0; id <= last; id++)
		if (belongs_to_port(id) && !roost_config_keys[id].names_port)
			put_option(&flow, id, id == last ? "]..." : "");
	flow.indent = (int)strlen(begin) + 1;
	for (int id = 0; id < OPTIONS; id++)
		if (!belongs_to_port(id))
			put_option(&flow, id, "");
	put_word(&flow, "--");
	put_word(&flow, "CMD");
	put_word(&flow, "[ARG...]");
	fputc('\n', out);
}

static void describe(FILE *out, int id)
{
	struct option option = option_info(id);
	char letter[] = { '-', option.letter, ',', ' ', '\0' };
	char words[64];

	if (!option.name)
		return;
	snprintf(words, sizeof(words), "%s--%s%s%s",
		 option.letter ? letter : "    ", option.name,
		 option.arg ? " " : "", option.arg ? option.arg : "");
	fprintf(out, "  %-33s %s\n", words, option.help);
}

void roost_run_options_describe(FILE *out)
{
	fputs("Ports; in their order they become roost0, roost1, ...\n", out);
	for (int id = 0; id <= OPTION_HUB; id++)
		if (belongs_to_port(id))
			describe(out, id);
	fputs("\nOthers:\n", out);
	for (int id = 0; id < OPTIONS; id++)
		if (!belongs_to_port(id))
			describe(out, id);
}
