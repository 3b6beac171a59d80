/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CTL_CTL_SHOW_H
#define ROOST_PMD_GLUE_CTL_CTL_SHOW_H

/*
 * The document that shows a process: one object with its pid, its program and
 * its devices, each with arrays of what it has.
 *
 * Thread: the control thread.
 */

struct roost_ctl_device;
struct roost_json;
struct roost_station;

/*
 * topic, device: NULL for all. station: of its device, nothing that belongs to
 * another port; or NULL. Returns 0, or -EINVAL: there is no such topic.
 */
int roost_ctl_show(struct roost_json *j, const char *topic,
		   struct roost_ctl_device *device,
		   const struct roost_station *station);

/* The topics, with a comma between them. */
const char *roost_ctl_topics(void);

#endif
