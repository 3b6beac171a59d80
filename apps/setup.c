/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apps/exit_code.h"
#include "lib/config/nearest.h"
#include "pmd_glue/process/sysfs.h"

#define PAGES_DEFAULT 256
#define PAGES_MAX 1000000

struct options {
	const char *nic;
	unsigned int nb_pages; /* 0: not given */
	bool yes, undo, force, help;
};

/* ---- the plan ------------------------------------------------------------ */

static const char *first_line(const char *text)
{
	return !*text               ? "nothing"
	       : strchr(text, '\n') ? "lines of a file"
				    : text;
}

static void print_step(const struct roost_setup *s,
		       const struct roost_setup_step *step, const char *now,
		       const char *to, FILE *out)
{
	char place[ROOST_SETUP_TEXT_MAX];

	/* Of the table. */
	snprintf(place, sizeof(place), "%.*s%s%s",
		 (int)strcspn(step->place, "%"), step->place,
		 strchr(step->place, '%') ? s->nic : "",
		 strchr(step->place, '%') ? strchr(step->place, '%') + 2 : "");
	fprintf(out, "  %-19s %s -> %s (%s)\n", step->name, first_line(now),
		first_line(to), place);
}

static const char *why_nothing(const struct roost_setup *s,
			       const struct roost_setup_step *step, bool undo)
{
	const char *absent = !undo && step->absent ? step->absent(s) : NULL;

	return absent ? absent : "nothing to do";
}

unsigned int roost_setup_plan(const struct roost_setup *s,
			      const struct roost_setup_record *r, bool undo,
			      FILE *out)
{
	char now[ROOST_SETUP_TEXT_MAX], to[ROOST_SETUP_TEXT_MAX], why[512];
	unsigned int nb_refused = 0;

	fprintf(out, "%s\n", s->nic);
	for (size_t i = 0; i < roost_setup_nb_steps; i++) {
		const struct roost_setup_step *step =
			&roost_setup_steps[undo ? roost_setup_nb_steps - 1 - i
						: i];
		const char *before = roost_setup_record_get(r, step->name);

		step->now(s, now);
		step->wanted(s, to);
		if (undo)
			snprintf(to, sizeof(to), "%s", before ? before : now);
		if (undo ? !before || strcmp(now, before) == 0 : !to[0]) {
			fprintf(out, "  %-19s %s\n", step->name,
				why_nothing(s, step, undo));
			continue;
		}
		print_step(s, step, now, to, out);
		if (undo || !step->refuse)
			continue;
		step->refuse(s, why);
		if (why[0])
			fprintf(out, "  %-19s refused: %s\n", "", why);
		nb_refused += why[0] != '\0';
	}
	return nb_refused;
}

/* ---- doing --------------------------------------------------------------- */

#define NOT_ALLOWED "this user may not; run as root, outside a container"

static const struct {
	int error;
	const char *fix;
} fixes[] = {
	{ EEXIST, "a file that somebody else wrote is there; move it away" },
	{ EUCLEAN, "Roost would not read the file any more; change it "
		   "yourself, roost.conf(5) tells how" },
	{ ENOMEM, "the kernel has not enough free memory in one piece; ask for "
		  "fewer pages, or do it after a reboot" },
	{ EBUSY, "the kernel has not done it; \"dmesg\" tells why" },
	{ EACCES, NOT_ALLOWED },
	{ EPERM, NOT_ALLOWED },
	{ EROFS, NOT_ALLOWED },
};

static const char *fix_of(int ret)
{
	for (size_t i = 0; i < sizeof(fixes) / sizeof(fixes[0]); i++)
		if (fixes[i].error == -ret)
			return fixes[i].fix;
	return "the kernel refused; \"dmesg\" may tell why";
}

static int tell(int ret, const char *step, char *err)
{
	snprintf(err, ROOST_SETUP_TEXT_MAX, "%s: %s: %s", step, strerror(-ret),
		 fix_of(ret));
	return ret;
}

int roost_setup_apply(const struct roost_setup *s, struct roost_setup_record *r,
		      char *err)
{
	char now[ROOST_SETUP_TEXT_MAX], to[ROOST_SETUP_TEXT_MAX];
	int ret = 0;

	for (size_t i = 0; i < roost_setup_nb_steps; i++) {
		const struct roost_setup_step *step = &roost_setup_steps[i];

		step->now(s, now);
		step->wanted(s, to);
		if (!to[0])
			continue;
		ret = roost_setup_record_add(r, s, step->name, now);
		if (ret == 0)
			ret = step->change(s, to);
		if (ret)
			return tell(ret, step->name, err);
	}
	return 0;
}

int roost_setup_undo(const struct roost_setup *s, struct roost_setup_record *r,
		     char *err)
{
	char now[ROOST_SETUP_TEXT_MAX], before[ROOST_SETUP_TEXT_MAX];
	int ret = 0;

	for (size_t i = roost_setup_nb_steps; i-- > 0;) {
		const struct roost_setup_step *step = &roost_setup_steps[i];
		const char *text = roost_setup_record_get(r, step->name);

		if (!text)
			continue;
		snprintf(before, sizeof(before), "%s", text);
		step->now(s, now);
		if (strcmp(now, before) != 0)
			ret = step->change(s, before);
		if (ret == 0)
			ret = roost_setup_record_drop(r, step->name);
		if (ret)
			return tell(ret, step->name, err);
	}
	return 0;
}

/* ---- options ------------------------------------------------------------- */

int roost_setup_help(void)
{
	fputs("Usage: roost setup [OPTION...] NIC\n"
	      "\n"
	      "Prepare this machine for a port on a PCI device: huge pages, "
	      "the driver\n"
	      "vfio-pci, roostd's configuration and service, now and at each "
	      "boot. Shows what\n"
	      "it would do; does it with --yes. Asks nothing.\n"
	      "\n"
	      "  NIC      PCI address, or name of its interface; see roost "
	      "ports\n"
	      "\n"
	      "Options:\n"
	      "  --hugepages N  of 2 MB (256)\n"
	      "  --yes          do it\n"
	      "  --undo         back to what was before; with --yes, do it\n"
	      "  --force        also if the kernel uses the NIC\n"
	      "  -h, --help     this text\n"
	      "\n"
	      "roost-setup(8) tells more.\n",
	      stdout);
	return ROOST_EXIT_OK;
}

static int fail(int code, const char *what)
{
	fprintf(stderr, "roost: setup: %s\n", what);
	return code;
}

static int unknown(const char *word)
{
	static const char *const known[] = { "--hugepages", "--yes", "--undo",
					     "--force", "--help" };
	char advice[ROOST_NAME_ADVICE_MAX];

	fprintf(stderr, "roost: setup: %s: unknown option; %s\n", word,
		roost_name_advise(advice, word, known,
				  sizeof(known) / sizeof(known[0]), "*",
				  "see roost help setup"));
	return ROOST_EXIT_USAGE;
}

static int take_pages(struct options *o, const char *text)
{
	char *end = NULL;
	const long nb = text ? strtol(text, &end, 10) : 0;

	if (!text || *end || nb <= 0 || nb > PAGES_MAX)
		return fail(ROOST_EXIT_USAGE, "--hugepages: write a number of "
					      "pages of 2 MB behind it");
	o->nb_pages = (unsigned int)nb;
	return ROOST_EXIT_OK;
}

static bool take_flag(struct options *o, const char *word)
{
	bool *flag = strcmp(word, "--yes") == 0     ? &o->yes
		     : strcmp(word, "--undo") == 0  ? &o->undo
		     : strcmp(word, "--force") == 0 ? &o->force
		     : strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0
			     ? &o->help
			     : NULL;

	if (flag)
		*flag = true;
	return flag != NULL;
}

static int parse(struct options *o, char **argv)
{
	int ret = ROOST_EXIT_OK;

	for (; *argv && ret == ROOST_EXIT_OK && !o->help; argv++) {
		if (take_flag(o, *argv))
			continue;
		if (strcmp(*argv, "--hugepages") == 0) {
			ret = take_pages(o, argv[1]);
			argv += ret == ROOST_EXIT_OK;
		} else if (**argv == '-') {
			ret = unknown(*argv);
		} else if (o->nic) {
			ret = fail(ROOST_EXIT_USAGE, "one NIC at a time; leave "
						     "one out");
		} else {
			o->nic = *argv;
		}
	}
	if (ret == ROOST_EXIT_OK && !o->help && !o->nic)
		ret = fail(ROOST_EXIT_USAGE, "no NIC; name a PCI address or an "
					     "interface; see roost ports");
	return ret;
}

/* ---- the command --------------------------------------------------------- */

/* Pages of the record, of the option, or by default. */
static int choose_pages(const struct options *o, struct roost_setup *s,
			const struct roost_setup_record *r)
{
	const unsigned int recorded = roost_setup_record_pages(r);

	s->nb_pages = recorded      ? recorded
		      : o->nb_pages ? o->nb_pages
				    : PAGES_DEFAULT;
	if (!o->nb_pages || o->nb_pages == s->nb_pages)
		return ROOST_EXIT_OK;
	return fail(ROOST_EXIT_REFUSED,
		    "--hugepages: this NIC was set up with another number; "
		    "--undo that first");
}

static int go(const struct options *o, struct roost_setup *s,
	      struct roost_setup_record *r)
{
	char err[ROOST_SETUP_TEXT_MAX];
	int ret = choose_pages(o, s, r);

	if (ret != ROOST_EXIT_OK)
		return ret;
	if (roost_setup_plan(s, r, o->undo, stdout) != 0)
		return ROOST_EXIT_REFUSED;
	if (!o->yes)
		return ROOST_EXIT_OK;
	ret = o->undo ? roost_setup_undo(s, r, err)
		      : roost_setup_apply(s, r, err);
	return ret ? fail(ROOST_EXIT_FAILED, err) : ROOST_EXIT_OK;
}

int roost_setup(char **argv)
{
	struct options o = { .nic = NULL };
	struct roost_setup s = { .root = "", .put = roost_sysfs_put };
	struct roost_setup_record r;
	char why[ROOST_SETUP_TEXT_MAX];
	int ret = parse(&o, argv);

	if (ret != ROOST_EXIT_OK)
		return ret;
	if (o.help)
		return roost_setup_help();
	s.force = o.force;
	if (roost_setup_find(&s, o.nic, why))
		return fail(ROOST_EXIT_REFUSED, why);
	ret = roost_setup_record_open(&r, &s, o.yes);
	if (ret) {
		snprintf(why, sizeof(why), "%.256s: %s; %s", r.path,
			 strerror(-ret),
			 ret == -EWOULDBLOCK
				 ? "another roost setup runs; wait for it"
			 : ret == -EPROTO ? "roost setup has not written it; "
					    "move it away"
					  : "run as root");
		return fail(ROOST_EXIT_FAILED, why);
	}
	ret = go(&o, &s, &r);
	roost_setup_record_close(&r);
	return ret;
}
