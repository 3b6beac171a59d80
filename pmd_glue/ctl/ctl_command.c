/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * Parses and executes the requests to the control socket.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/config/addr.h"
#include "lib/config/key.h"
#include "lib/engine/core/port.h"
#include "pmd_glue/backend/backend.h"
#include "pmd_glue/ctl/ctl.h"
#include "pmd_glue/ctl/ctl_show.h"
#include "pmd_glue/ctl/json.h"
#include "pmd_glue/ctl/story.h"
#include "pmd_glue/process/control.h"

#define WORDS_MAX 8

/* A request under execution. */
struct request {
	char *words[WORDS_MAX + 1]; /* NULL at the end */
	struct roost_ctl_device *device;
	struct roost_backend_port *port;
	char label[64]; /* "port 1 of roost0" */
	struct roost_json answer;
	char error[ROOST_CTL_ERROR_MAX];
};

/* Fills the error. Returns -EINVAL. */
static int refuse(struct request *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int refuse(struct request *r, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(r->error, sizeof(r->error), format, list);
	va_end(list);
	return -EINVAL;
}

/* ---- numbers --------------------------------------------------------------
 */

/* Decimal, or hexadecimal with 0x. Returns 0, -EINVAL. */
static int parse_number(struct request *r, const char *what, const char *text,
			unsigned long max, unsigned long *value)
{
	char *end;
	int base = strncmp(text, "0x", 2) == 0 ? 16 : 10;

	errno = 0;
	*value = strtoul(text, &end, base);
	if (text[0] < '0' || text[0] > '9' || *end || errno || *value > max)
		return refuse(r,
			      "%s %.40s: out of range; give a number from "
			      "0 to %lu (0x%lx)",
			      what, text, max, max);
	return 0;
}

/* ---- what can be set ------------------------------------------------------
 */

/* Whose addresses and link state are not ours. */
static int refuse_shared(struct request *r)
{
	return refuse(r,
		      "%s: it is a daemon's, which configures it; ask that "
		      "daemon's administrator",
		      r->label);
}

static int set_link(struct request *r, char **args)
{
	bool up = strcmp(args[0], "up") == 0;

	if (!r->port->backend->set_admin)
		return refuse_shared(r);
	if (!up && strcmp(args[0], "down") != 0)
		return refuse(r, "link %.40s: no such state; write up or down",
			      args[0]);
	r->port->backend->set_admin(r->port, up);
	return 0;
}

static int add_address(struct request *r, const char *text)
{
	char cause[ROOST_CONFIG_ERR_MAX];
	struct roost_prefix prefix;

	if (roost_prefix_parse(text, &prefix, cause) != 0)
		return refuse(r, "address %.60s: %s", text, cause);
	switch (r->port->backend->add_addr(r->port, &prefix)) {
	case 0:
		return 0;
	case -EEXIST:
		return refuse(r,
			      "address %.60s: %s has it already; give "
			      "another one",
			      text, r->label);
	default:
		return refuse(r,
			      "address %.60s: %s has %u addresses, which "
			      "are all that fit; delete one first",
			      text, r->label, ROOST_PORT_IPS_MAX);
	}
}

static int del_address(struct request *r, char *text)
{
	char cause[ROOST_CONFIG_ERR_MAX];
	struct roost_gid addr;

	/* Accept ADDR/LEN, as in add, and ADDR, as in show. */
	text[strcspn(text, "/")] = '\0';
	if (roost_addr_parse(text, &addr, cause) != 0)
		return refuse(r, "address %.60s: %s", text, cause);
	if (r->port->backend->del_addr(r->port, &addr) != 0)
		return refuse(r,
			      "address %.60s: it is none of %s that could "
			      "be deleted; see roost ctl show port",
			      text, r->label);
	return 0;
}

static int set_address(struct request *r, char **args)
{
	if (!r->port->backend->add_addr)
		return refuse_shared(r);
	if (strcmp(args[0], "add") == 0)
		return add_address(r, args[1]);
	if (strcmp(args[0], "del") == 0)
		return del_address(r, args[1]);
	return refuse(r, "address %.40s: cannot be done; write add or del",
		      args[0]);
}

static int set_pkey(struct request *r, char **args)
{
	struct roost_backend_port *p = r->port;
	unsigned long index, pkey;

	if (!p->backend->add_addr)
		return refuse_shared(r);
	if (parse_number(r, "pkey index", args[0], ROOST_PKEY_TABLE_LEN - 1,
			 &index) ||
	    parse_number(r, "pkey", args[1], UINT16_MAX, &pkey))
		return -EINVAL;
	if (roost_port_set_pkey(p->dev, p->port_num, (unsigned int)index,
				(uint16_t)pkey) != 0)
		return refuse(r,
			      "pkey %.40s: it stands at another index of "
			      "%s; clear that one first (pkey INDEX 0)",
			      args[1], r->label);
	return 0;
}

static int set_lid(struct request *r, char **args)
{
	struct roost_backend_port *p = r->port;
	unsigned long lid;

	if (parse_number(r, "lid", args[0], UINT16_MAX, &lid))
		return -EINVAL;
	return roost_port_set_lid(p->dev, p->port_num, (uint16_t)lid);
}

static int set_sm_lid(struct request *r, char **args)
{
	struct roost_backend_port *p = r->port;
	unsigned long lid;

	if (parse_number(r, "sm-lid", args[0], UINT16_MAX, &lid))
		return -EINVAL;
	return roost_port_set_sm_lid(p->dev, p->port_num, (uint16_t)lid);
}

static const struct {
	const char *name;
	size_t offset;
	uint32_t least, most;
} ecn_params[] = {
#define PARAM(upper, name, normal, least, most)                                \
	{ #name, offsetof(struct roost_ecn, name), least, most },
	ROOST_ECN_PARAMS(PARAM)
#undef PARAM
};

#define ECN_PARAMS (sizeof(ecn_params) / sizeof(ecn_params[0]))

static int set_ecn(struct request *r, char **args)
{
	struct roost_backend_port *p = r->port;
	struct roost_ecn ecn;
	unsigned long value;
	unsigned int i = 0;

	while (i < ECN_PARAMS && strcmp(args[0], ecn_params[i].name) != 0)
		i++;
	if (i == ECN_PARAMS)
		return refuse(r,
			      "ecn %.40s: no such parameter; see roost ctl "
			      "show ecn",
			      args[0]);
	if (parse_number(r, args[0], args[1], ecn_params[i].most, &value))
		return -EINVAL;
	if (value < ecn_params[i].least)
		return refuse(r,
			      "%s %.40s: out of range; give a number from "
			      "%u to %u",
			      args[0], args[1], ecn_params[i].least,
			      ecn_params[i].most);
	roost_port_query_ecn(p->dev, p->port_num, &ecn);
	*(uint32_t *)((char *)&ecn + ecn_params[i].offset) = (uint32_t)value;
	return roost_port_set_ecn(p->dev, p->port_num, &ecn);
}

static int set_qos(struct request *r, char **args)
{
	static const int keys[] = { ROOST_KEY_TRUST, ROOST_KEY_DEFAULT_ROCE_TOS,
				    ROOST_KEY_DSCP2PRIO, ROOST_KEY_PRIO2PCP };
	const struct roost_config_key_info *info = NULL;
	struct roost_backend_port *p = r->port;
	char cause[ROOST_CONFIG_ERR_MAX];
	struct roost_config config;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(args[0], roost_config_keys[keys[i]].name) == 0)
			info = &roost_config_keys[keys[i]];
	if (!info)
		return refuse(r,
			      "qos %.40s: no such parameter; see roost ctl "
			      "show qos",
			      args[0]);
	roost_port_query_qos(p->dev, p->port_num, &config.qos);
	if (info->parse((char *)&config + info->offset_bytes, args[1], cause))
		return refuse(r, "%s: %s", args[0], cause);
	return roost_port_set_qos(p->dev, p->port_num, &config.qos);
}

static int reregister(struct request *r, char **args __attribute__((unused)))
{
	return roost_port_reregister(r->port->dev, r->port->port_num);
}

static int remove_port(struct request *r, char **args __attribute__((unused)))
{
	r->port->backend->remove(r->port, "removed by roost ctl");
	return 0;
}

static const struct {
	const char *name;
	unsigned int nb_args;
	const char *usage;
	int (*run)(struct request *r, char **args);
} settings[] = {
	{ "link", 1, "link up|down", set_link },
	{ "address", 2, "address add|del ADDR/LEN", set_address },
	{ "pkey", 2, "pkey INDEX VALUE", set_pkey },
	{ "lid", 1, "lid VALUE", set_lid },
	{ "sm-lid", 1, "sm-lid VALUE", set_sm_lid },
	{ "ecn", 2, "ecn NAME VALUE", set_ecn },
	{ "qos", 2, "qos NAME VALUE", set_qos },
	{ "re-register", 0, "re-register", reregister },
	{ "remove", 0, "remove", remove_port },
};

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

/* ---- which port -----------------------------------------------------------
 */

static int find_device(struct request *r, const char *name)
{
	char names[256] = "";
	struct roost_ctl_device *d = NULL;

	r->device = roost_ctl_find(name);
	if (r->device)
		return 0;
	while ((d = roost_ctl_next(d)))
		snprintf(names + strlen(names), sizeof(names) - strlen(names),
			 " %s", roost_dev_name(d->dev));
	if (strcmp(name, "-") == 0)
		return refuse(r,
			      "no device named: this process has several;"
			      " choose one with --dev:%s",
			      names);
	return refuse(r,
		      "%.40s: this process has no such device open; it has"
		      "%s",
		      name, names);
}

static int find_port(struct request *r, const char *text)
{
	unsigned int nb = roost_dev_nb_ports(r->device->dev);
	const char *name = roost_dev_name(r->device->dev);
	unsigned long num = 1;

	if (strcmp(text, "-") == 0 && nb > 1)
		return refuse(r,
			      "no port named: %s has several; choose one "
			      "with --port, 1 to %u",
			      name, nb);
	if (strcmp(text, "-") != 0 &&
	    (parse_number(r, "port", text, nb, &num) || num == 0))
		return refuse(r,
			      "port %.40s: %s has no such port; its ports "
			      "are 1 to %u",
			      text, name, nb);
	r->port = r->device->ports[num - 1];
	snprintf(r->label, sizeof(r->label), "port %lu of %s", num, name);
	return 0;
}

/* Find a port that was not removed: a removed port can only be shown. */
static int find_port_that_is_there(struct request *r, const char *text)
{
	struct roost_backend_view view;

	if (find_port(r, text))
		return -EINVAL;
	r->port->backend->view(r->port, &view);
	if (view.removed)
		return refuse(r,
			      "%s: it was removed; start the program again "
			      "when it is back",
			      r->label);
	return 0;
}

/* ---- requests -------------------------------------------------------------
 */

static unsigned int count(char **words)
{
	unsigned int n = 0;

	while (words[n])
		n++;
	return n;
}

/* set DEV PORT NAME ARG... */
static int run_set(struct request *r)
{
	char **words = r->words + 1;

	if (count(words) < 3)
		return refuse(r, "set: words are missing; write set DEV PORT "
				 "WHAT");
	if (find_device(r, words[0]) || find_port_that_is_there(r, words[1]))
		return -EINVAL;
	for (unsigned int i = 0; i < SETTINGS; i++) {
		if (strcmp(words[2], settings[i].name) != 0)
			continue;
		if (count(words + 3) != settings[i].nb_args)
			return refuse(r, "%s: wrong number of words; write %s",
				      settings[i].name, settings[i].usage);
		/* Who follows the port runs again. */
		roost_control_wake();
		return settings[i].run(r, words + 3);
	}
	return refuse(r,
		      "%.40s: there is nothing of that name to set; see "
		      "roost help ctl",
		      words[2]);
}

static bool is_named(const char *word)
{
	return word && strcmp(word, "-") != 0;
}

/* show [TOPIC [DEV [PORT]]] */
static int run_show(struct request *r)
{
	char **words = r->words + 1;
	unsigned int nb = count(words);
	const char *topic = is_named(words[0]) ? words[0] : NULL;
	const char *dev = nb > 1 ? words[1] : NULL;
	const char *port = nb > 2 ? words[2] : NULL;
	const struct roost_ctl_more *more = roost_ctl_more();
	int ret;

	if (nb > 3)
		return refuse(r, "show: too many words; write show TOPIC DEV "
				 "PORT");
	if ((is_named(dev) || is_named(port)) && find_device(r, dev))
		return -EINVAL;
	if (is_named(port) && find_port(r, port))
		return -EINVAL;
	ret = roost_ctl_show(&r->answer, topic, r->device, r->port, r->error);
	if (ret != -ENOENT)
		return ret;
	return refuse(r, "show %.40s: no such thing; there are %s%s%s", topic,
		      roost_ctl_topics(), more ? ", " : "",
		      more ? more->topics : "");
}

/* explain WORD */
static int run_explain(struct request *r)
{
	char **words = r->words + 1;

	if (count(words) != 1)
		return refuse(r,
			      "explain: wrong number of words; write explain "
			      "QP, explain CM-ID, explain LISTEN-PORT or "
			      "explain DEVICE");
	roost_json_begin(&r->answer, NULL, '{');
	roost_json_u64(&r->answer, "pid", (uint64_t)getpid());
	roost_json_str(&r->answer, "program", program_invocation_short_name);
	if (roost_story_answer(&r->answer, words[0]) == 0)
		return refuse(r,
			      "explain %.40s: this process has no such object; "
			      "see roost ctl show",
			      words[0]);
	roost_json_end(&r->answer, '}');
	return 0;
}

static int run(struct request *r)
{
	const char *first = r->words[0] ? r->words[0] : "";
	int ret = -ENOENT;

	if (strcmp(first, "show") == 0)
		return run_show(r);
	if (strcmp(first, "explain") == 0)
		return run_explain(r);
	if (strcmp(first, "set") == 0)
		return run_set(r);
	if (roost_ctl_more())
		ret = roost_ctl_more()->run(r->words, r->error);
	if (ret != -ENOENT)
		return ret;
	return refuse(r, "%.40s: unknown request; write show, explain or set",
		      first);
}

static char *finish(struct request *r, int ret, size_t *len_bytes)
{
	char *body = roost_json_take(&r->answer, len_bytes);
	char *text = NULL;
	int len;

	if (ret)
		len = asprintf(&text, "error %s\n", r->error);
	else
		len = asprintf(&text, "ok\n%.*s", body ? (int)*len_bytes : 0,
			       body ? body : "");
	free(body);
	*len_bytes = len < 0 ? 0 : (size_t)len;
	return len < 0 ? NULL : text;
}

char *roost_ctl_answer(char *text, size_t *len_bytes)
{
	struct request r = { .error = "" };
	unsigned int n = 0;
	char *rest, *word;

	for (word = strtok_r(text, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest)) {
		if (n == WORDS_MAX) {
			refuse(&r, "request: too many words; see roost help "
				   "ctl");
			return finish(&r, -EINVAL, len_bytes);
		}
		r.words[n++] = word;
	}
	return finish(&r, run(&r), len_bytes);
}
