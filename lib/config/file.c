/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * rte_cfgfile reads the file. That library ignores lines that it does not
 * understand, cuts values that are too long, logs to stderr, and has no line
 * numbers. So the lines are scanned first, by its rules, and an error is
 * returned here where it would do one of these. The same scan gives each entry
 * its line number.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_cfgfile.h>

#include "lib/config/fail.h"
#include "lib/config/key.h"
#include "lib/config/nearest.h"
#include "lib/config/resolve.h"
#include "lib/config/source.h"

#define COMMENT '#'
/* Its line buffer is CFG_NAME_LEN + CFG_VALUE_LEN + 4 bytes; newline and
 * terminating zero are among them.
 */
#define LINE_MAX_CHARS (CFG_NAME_LEN + CFG_VALUE_LEN + 4 - 2)
_Static_assert(LINE_MAX_CHARS == 322 && CFG_VALUE_LEN == 256,
	       "the limits that the errors below name");
/* The index of section [roost] among the sections seen. */
#define PROCESS_SECTION ROOST_PORTS_MAX
#define SECTION_UNKNOWN (ROOST_PORTS_MAX + 1)

enum line_kind {
	LINE_END, /* of the file */
	LINE_SECTION,
	LINE_ENTRY,
	LINE_WRONG, /* err says why */
};

struct scan {
	FILE *f;
	const char *path;
	const struct roost_config_sections *others; /* NULL: none */
	char *line;                                 /* getline's */
	size_t size_bytes;
	unsigned int line_no; /* from 1; of the line looked at last */
	bool in_section;
};

static enum line_kind wrong(const struct scan *s, const char *what, char *err)
{
	roost_config_fail(err, "%s:%u: %s", s->path, s->line_no, what);
	return LINE_WRONG;
}

static char *strip(char *s)
{
	size_t len;

	while (isspace((unsigned char)*s))
		s++;
	len = strlen(s);
	while (len > 0 && isspace((unsigned char)s[len - 1]))
		s[--len] = '\0';
	return s;
}

static void cut_comment(char *line)
{
	char *comment = strchr(line, COMMENT);

	if (comment && (comment == line || comment[-1] != '\\'))
		*comment = '\0';
}

static enum line_kind scan_section(const struct scan *s, char *text, char *err)
{
	char *end = strchr(text, ']');

	if (!end)
		return wrong(s, "section without ']'; close it", err);
	if (end[1] != '\0')
		return wrong(s,
			     "text behind a section; put it on a line of "
			     "its own",
			     err);
	*end = '\0';
	if (strlen(strip(text + 1)) >= CFG_NAME_LEN)
		return wrong(s,
			     "section name too long; sections are [roost], "
			     "[port0], [port1]",
			     err);
	return LINE_SECTION;
}

static enum line_kind scan_entry(const struct scan *s, char *text, char *err)
{
	char *equals = strchr(text, '=');

	if (!equals)
		return wrong(s,
			     "neither [section] nor key = value; write one "
			     "of the two, or # before a comment",
			     err);
	if (!s->in_section)
		return wrong(s,
			     "key before the first section; put [roost] or "
			     "[port0] above it",
			     err);
	*equals = '\0';
	if (strlen(strip(text)) >= CFG_NAME_LEN)
		return wrong(s, "key too long; see roost.conf(5) for the keys",
			     err);
	if (strlen(strip(equals + 1)) >= CFG_VALUE_LEN)
		return wrong(s,
			     "value longer than 255 characters; shorten it, "
			     "or spread a list over several lines",
			     err);
	return LINE_ENTRY;
}

/* Go on to the next line that is not empty and no comment. */
static enum line_kind scan_next(struct scan *s, char *err)
{
	ssize_t len;

	while ((len = getline(&s->line, &s->size_bytes, s->f)) > 0) {
		char *text;

		s->line_no++;
		if (memchr(s->line, '\0', (size_t)len))
			return wrong(s, "zero byte; a configuration is text",
				     err);
		if (s->line[len - 1] == '\n')
			s->line[--len] = '\0';
		if (len > LINE_MAX_CHARS)
			return wrong(s,
				     "line longer than 322 characters; "
				     "shorten it",
				     err);
		cut_comment(s->line);
		text = strip(s->line);
		if (*text == '\0' || *text == ';')
			continue;
		if (*text != '[')
			return scan_entry(s, text, err);
		s->in_section = true;
		return scan_section(s, text, err);
	}
	return LINE_END;
}

/* Look at the whole file. Returns 0, -EINVAL, -errno of reading it. */
static int scan_all(struct scan *s, char *err)
{
	enum line_kind kind;

	do {
		kind = scan_next(s, err);
	} while (kind == LINE_SECTION || kind == LINE_ENTRY);
	if (kind == LINE_WRONG)
		return -EINVAL;
	if (ferror(s->f)) {
		int error = errno;

		roost_config_fail(err, "%s: cannot be read: %s; check the file",
				  s->path, strerror(error));
		return -error;
	}
	rewind(s->f);
	s->line_no = 0;
	s->in_section = false;
	return 0;
}

/* Port number, PROCESS_SECTION or SECTION_UNKNOWN. */
static unsigned int section_index(const char *name)
{
	char port[CFG_NAME_LEN];

	if (strcmp(name, "roost") == 0)
		return PROCESS_SECTION;
	for (unsigned int i = 0; i < ROOST_PORTS_MAX; i++) {
		snprintf(port, sizeof(port), "port%u", i);
		if (strcmp(name, port) == 0)
			return i;
	}
	return SECTION_UNKNOWN;
}

static int unknown_section(const struct scan *s, const char *name, char *err)
{
	/* What roostd reads: apps/roostd/policy_file.c. */
	static const char *const daemons[] = { "service", "policy" };
	const char *digits = name + strcspn(name, "0123456789");
	char port[CFG_NAME_LEN] = "port0", advice[ROOST_NAME_ADVICE_MAX];
	const char *const known[] = { port, "roost" };
	unsigned int number = 0;

	for (size_t i = 0; i < 2; i++)
		if (!s->others &&
		    strncmp(name, daemons[i], strlen(daemons[i])) == 0)
			return roost_config_fail(
				err,
				"%s:%u: [%s] is for roostd, whose ports are "
				"its own; name a file without it, or none to "
				"use its ports",
				s->path, s->line_no, name);
	if (sscanf(digits, "%2u", &number) == 1 && number < ROOST_PORTS_MAX)
		snprintf(port, sizeof(port), "port%u", number);
	else if (strncmp(name, "port", 4) == 0 && *digits)
		snprintf(port, sizeof(port), "port%d", ROOST_PORTS_MAX - 1);
	return roost_config_fail(
		err, "%s:%u: unknown section [%s]; %s", s->path, s->line_no,
		name,
		roost_name_advise(advice, name, known, 2, "[*]",
				  "sections are [roost], [port0], [port1]"));
}

static int unknown_key(const struct scan *s, const char *section,
		       enum roost_config_scope scope, const char *name,
		       char *err)
{
	char advice[ROOST_NAME_ADVICE_MAX];
	const char *known[ROOST_KEYS];
	size_t nb = 0;

	for (int key = 0; key < ROOST_KEYS; key++) {
		const struct roost_config_key_info *info =
			&roost_config_keys[key];

		if (info->scope == scope)
			known[nb++] = info->name;
		else if (strcmp(info->name, name) == 0)
			return roost_config_fail(
				err,
				"%s:%u: key '%s' does not belong in [%s]; "
				"put it in %s",
				s->path, s->line_no, name, section,
				scope == ROOST_SCOPE_PORT ? "[roost]"
							  : "[port0]");
	}
	return roost_config_fail(
		err, "%s:%u: unknown key '%s' in [%s]; %s", s->path, s->line_no,
		name, section,
		roost_name_advise(advice, name, known, nb, "'*'",
				  "see roost.conf(5) for the keys"));
}

static int read_entry(struct roost_config *source, const struct scan *s,
		      const char *section, unsigned int index,
		      const struct rte_cfgfile_entry *entry, char *err)
{
	enum roost_config_scope scope = index == PROCESS_SECTION
						? ROOST_SCOPE_PROCESS
						: ROOST_SCOPE_PORT;
	uint64_t set = scope == ROOST_SCOPE_PROCESS ? source->set
						    : source->ports[index].set;
	char where[ROOST_CONFIG_ERR_MAX];
	int key = 0;

	while (key < ROOST_KEYS &&
	       (roost_config_keys[key].scope != scope ||
		strcmp(roost_config_keys[key].name, entry->name) != 0))
		key++;
	if (key == ROOST_KEYS)
		return unknown_key(s, section, scope, entry->name, err);
	snprintf(where, sizeof(where), "%s:%u: %s", s->path, s->line_no,
		 entry->name);
	if (entry->value[0] == '\0')
		return roost_config_fail(err,
					 "%s: no value; give one or leave "
					 "the key out",
					 where);
	if ((set & ROOST_KEY_BIT(key)) && !roost_config_keys[key].list)
		return roost_config_fail(err,
					 "%s: given twice in [%s]; keep "
					 "one",
					 where, section);
	return roost_config_set(source, where, key, index, entry->value, err);
}

/* A section that is not of the table. Returns -ENOENT: of nobody's. */
static int read_other(struct scan *s, const char *section,
		      const struct rte_cfgfile_entry *entries, int nb,
		      char *err)
{
	char where[ROOST_CONFIG_ERR_MAX];
	int ret;

	if (!s->others)
		return -ENOENT;
	snprintf(where, sizeof(where), "%s:%u", s->path, s->line_no);
	ret = s->others->begin(s->others->ctx, where, section, err);
	for (int i = 0; ret == 0 && i < nb; i++) {
		if (entries[i].name[0] == ';')
			continue;
		if (scan_next(s, err) == LINE_WRONG)
			return -EINVAL;
		snprintf(where, sizeof(where), "%s:%u", s->path, s->line_no);
		if (entries[i].value[0] == '\0')
			return roost_config_fail(err,
						 "%s: %s: no value; give one "
						 "or leave the key out",
						 where, entries[i].name);
		ret = s->others->entry(s->others->ctx, where, entries[i].name,
				       entries[i].value, err);
	}
	return ret;
}

/* seen: bits of the sections that were read before. */
static int read_section(struct roost_config *source, struct scan *s,
			const char *section, uint32_t *seen,
			const struct rte_cfgfile_entry *entries, int nb,
			char *err)
{
	unsigned int index = section_index(section);
	unsigned int line_no;
	int ret;

	if (scan_next(s, err) == LINE_WRONG)
		return -EINVAL;
	line_no = s->line_no;
	if (index == SECTION_UNKNOWN) {
		ret = read_other(s, section, entries, nb, err);
		return ret == -ENOENT ? unknown_section(s, section, err) : ret;
	}
	if (*seen & (1u << index))
		return roost_config_fail(
			err, "%s:%u: second section [%s]; join the two",
			s->path, line_no, section);
	*seen |= 1u << index;
	for (int i = 0; i < nb; i++) {
		/* A comment to us, an entry to rte_cfgfile. */
		if (entries[i].name[0] == ';')
			continue;
		if (scan_next(s, err) == LINE_WRONG)
			return -EINVAL;
		ret = read_entry(source, s, section, index, &entries[i], err);
		if (ret)
			return ret;
	}
	if (index < ROOST_PORTS_MAX &&
	    !roost_port_config_is_named(&source->ports[index]))
		return roost_config_fail(
			err,
			"%s:%u: [%s] has no devargs, no link and no service; "
			"add one of them",
			s->path, line_no, section);
	return 0;
}

static int read_sections(struct roost_config *source, struct scan *s,
			 struct rte_cfgfile *cfg, char *err)
{
	int nb_sections = rte_cfgfile_num_sections(cfg, NULL, 0);
	uint32_t seen = 0;
	int ret = 0;

	/* Section 0 is GLOBAL, which holds comments at most. */
	for (int i = 1; ret == 0 && i < nb_sections; i++) {
		char section[CFG_NAME_LEN];
		struct rte_cfgfile_entry *entries;
		int nb;

		nb = rte_cfgfile_section_num_entries_by_index(cfg, section, i);
		entries = calloc((size_t)nb + 1, sizeof(*entries));
		if (!entries) {
			roost_config_fail(err, "%s: out of memory; free some",
					  s->path);
			return -ENOMEM;
		}
		rte_cfgfile_section_entries_by_index(cfg, i, section, entries,
						     nb);
		ret = read_section(source, s, section, &seen, entries, nb, err);
		free(entries);
	}
	return ret;
}

static int open_file(struct scan *s, char *err)
{
	struct stat st;
	int fd, error;

	/* Without O_NONBLOCK a named pipe would hold us here. */
	fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		error = errno;
		roost_config_fail(err,
				  "%s: cannot be opened: %s; check -c or "
				  "ROOST_CONFIG",
				  s->path, strerror(error));
		return -error;
	}
	/* It is read more than once, which a pipe does not bear. */
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return roost_config_fail(err,
					 "%s: not a regular file; write "
					 "the configuration into one",
					 s->path);
	}
	s->f = fdopen(fd, "r");
	if (!s->f) {
		close(fd);
		roost_config_fail(err, "%s: out of memory; free some", s->path);
		return -ENOMEM;
	}
	return 0;
}

int roost_config_read_file(struct roost_config *source, const char *path,
			   const struct roost_config_sections *others,
			   char *err)
{
	/* GLOBAL catches a `; comment = like this` above the first section,
	 * which is an error without; empty values get our error, not a log.
	 */
	const int flags = CFG_FLAG_GLOBAL_SECTION | CFG_FLAG_EMPTY_VALUES;
	const struct rte_cfgfile_parameters params = {
		.comment_character = COMMENT,
	};
	struct scan s = { .path = path, .others = others };
	struct rte_cfgfile *cfg;
	int ret;

	roost_config_init(source);
	ret = open_file(&s, err);
	if (ret)
		return ret;
	ret = scan_all(&s, err);
	if (ret)
		goto out;
	cfg = rte_cfgfile_load_with_params(path, flags, &params);
	if (!cfg) {
		ret = roost_config_fail(err,
					"%s: changed while it was read; "
					"try again",
					path);
		goto out;
	}
	ret = read_sections(source, &s, cfg, err);
	rte_cfgfile_close(cfg);
out:
	free(s.line);
	fclose(s.f);
	return ret;
}
