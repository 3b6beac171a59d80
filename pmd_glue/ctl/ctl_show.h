/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_PMD_GLUE_CTL_CTL_SHOW_H
#define ROOST_PMD_GLUE_CTL_CTL_SHOW_H

/*
 * The JSON document of a process: one object with its pid, its program and its
 * devices; each device has arrays of ports, QPs, CQs and so on.
 *
 * Thread: the control thread.
 */

#include "pmd_glue/ctl/ctl.h"

struct roost_backend_port;
struct roost_field;

/*
 * Write the document. topic, device: NULL for all. port: show only this port
 * of the device and the objects that belong to it; NULL: all ports. Returns 0;
 * -ENOENT: there is no such topic; as show() of struct roost_ctl_more.
 */
int roost_ctl_show(struct roost_json *j, const char *topic,
		   struct roost_ctl_device *device,
		   const struct roost_backend_port *port,
		   char error[ROOST_CTL_ERROR_MAX]);

/* Write the values of a row (ctl_row.h) into an object that has begun. Thread:
 * any.
 */
void roost_ctl_put_fields(struct roost_json *j,
			  const struct roost_field *fields, const void *row);

/* The topics, with a comma between them. */
const char *roost_ctl_topics(void);

#endif
