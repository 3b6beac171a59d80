/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_APPS_SETUP_SERVICE_H
#define ROOST_APPS_SETUP_SERVICE_H

/*
 * The steps of `roost setup` for roostd: a section for the NIC in roost.conf,
 * and the service. As in struct roost_setup_step.
 */

#include "apps/setup_steps.h"

/* State: the lines that we add to the file, ROOST_CONF_FILE. */
void roost_setup_conf_now(const struct roost_setup *s, char *text);
void roost_setup_conf_wanted(const struct roost_setup *s, char *text);
void roost_setup_conf_refuse(const struct roost_setup *s, char *why);
int roost_setup_conf_change(const struct roost_setup *s, const char *to);

/* State: the drop-in, if the unit's own limit is lower. */
void roost_setup_memlock_now(const struct roost_setup *s, char *text);
void roost_setup_memlock_wanted(const struct roost_setup *s, char *text);
int roost_setup_memlock_change(const struct roost_setup *s, const char *to);

/* State: the unit that the link of multi-user.target leads to. */
void roost_setup_enable_now(const struct roost_setup *s, char *text);
void roost_setup_enable_wanted(const struct roost_setup *s, char *text);
int roost_setup_enable_change(const struct roost_setup *s, const char *to);

/* Why the steps of the service have nothing to do; NULL: it is all well. */
const char *roost_setup_no_service(const struct roost_setup *s);

#define ROOST_SETUP_DROP_IN                                                    \
	"/etc/systemd/system/roostd.service.d/50-roost-setup.conf"
#define ROOST_SETUP_WANTS                                                      \
	"/etc/systemd/system/multi-user.target.wants/roostd.service"

#endif
