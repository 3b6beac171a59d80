/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_PICTURE_STATIC_H
#define ROOST_APPS_PICTURE_STATIC_H

/*
 * What a picture (lib/sysfs/picture.h) shows while no process has the devices
 * open.
 */

#include <stdbool.h>

#include <roost/config.h>

struct roost_picture_port;

/*
 * Put the devices of a resolved configuration into a picture, with what is
 * known of them: names, tables without entries, zeros in counters. A link and a
 * port of a daemon are shown active, a port of the kernel's interface as that
 * is, others down. Returns 0, -errno.
 */
int roost_picture_put_config(const char *picture,
			     const struct roost_config *config);

/* Put a device without its ports there. hardware: the port that it is on, in
 * the configuration of who opens it; its interface, if there is one, is written
 * to port. Returns 0, -errno.
 */
int roost_picture_put_device(const char *picture,
			     const struct roost_config *config,
			     unsigned int index,
			     const struct roost_port_config *hardware,
			     struct roost_picture_port *port);

/*
 * The picture that a daemon keeps of all devices of the configuration, and no
 * other ones: path gets ROOST_PICTURE_PATH_MAX bytes. Returns false: there is
 * none.
 */
bool roost_picture_of_daemon(const struct roost_config *config, char *path);

#endif
