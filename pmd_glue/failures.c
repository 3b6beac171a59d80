/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/failures.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <roost/config.h>
#include "lib/engine/core/dev.h"
#include "lib/engine/core/flight.h"
#include "pmd_glue/ctl/ctl_row.h"
#include "pmd_glue/ctl/story.h"
#include "pmd_glue/process/clock.h"
#include "pmd_glue/process/report.h"

/* Files of a process; a program that makes QPs again and again fills no disk.
 */
#define FILES_MAX 100u

/* Of all devices of the process. The control thread writes it; at the exit,
 * another one may.
 */
static struct {
	bool warn;
	char dir[ROOST_FAILURE_DIR_MAX];
	_Atomic unsigned int nb_files; /* tried */
} asked;

/* Takes the descriptor. */
static bool write_all(int fd, const struct roost_qp_view *qp,
		      const struct roost_story *s)
{
	FILE *file = fdopen(fd, "w");
	char time[32];
	bool ok;

	if (!file) {
		close(fd);
		return false;
	}
	roost_time_text(qp->error.at_ns, time, sizeof(time));
	ok = fprintf(file, "%s process %d (%s)\n%s\n", time, getpid(),
		     program_invocation_short_name, s->cause) > 0;
	for (unsigned int i = 0; i < s->nb && ok; i++)
		ok = fprintf(file, "%s\n", s->lines[i]) > 0;
	return fclose(file) == 0 && ok;
}

/* Owned by this user, and never a file that was there before. */
static void write_file(const struct roost_qp_view *qp,
		       const struct roost_story *s)
{
	unsigned int number = atomic_fetch_add(&asked.nb_files, 1);
	char path[ROOST_FAILURE_DIR_MAX + 64];
	bool ok;
	int fd;

	if (number >= FILES_MAX)
		return;
	snprintf(path, sizeof(path), "%s/roost-%d-%u-qp-0x%x.txt", asked.dir,
		 getpid(), number, qp->qpn);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		  0600);
	ok = fd >= 0 && write_all(fd, qp, s);
	if (ok)
		return;
	roost_report("cannot write %s: %s; no more files about failures are "
		     "written",
		     path, strerror(errno));
	atomic_store(&asked.nb_files, FILES_MAX);
}

static void print_line(const char *device, const struct roost_qp_view *qp,
		       unsigned int lost, const struct roost_story *s)
{
	char more[48] = "";

	if (lost)
		snprintf(more, sizeof(more), " (and %u more QPs before)", lost);
	roost_report("warning: QP 0x%x of %s went to %s: %s%s", qp->qpn, device,
		     roost_qp_state_text(qp->state), s->cause, more);
}

/* The cause of an error does not depend on the port's present state. */
static void tell(void *arg, const struct roost_qp_view *qp, unsigned int lost)
{
	struct roost_dev *dev = arg;
	struct roost_story *s = malloc(sizeof(*s));

	if (!s)
		return;
	roost_story_qp(s, roost_dev_name(dev), qp, true, roost_now_ns());
	if (asked.warn)
		print_line(roost_dev_name(dev), qp, lost, s);
	if (asked.dir[0])
		write_file(qp, s);
	free(s);
}

void roost_failures_watch(const struct roost_config *config,
			  struct roost_dev *dev)
{
	if (!config->log_warn && !config->failure_dir[0])
		return;
	asked.warn = config->log_warn;
	memcpy(asked.dir, config->failure_dir, sizeof(asked.dir));
	if (roost_dev_watch_failures(dev, tell, dev) != 0)
		roost_report("%s: no memory to report QPs that fail",
			     roost_dev_name(dev));
}
