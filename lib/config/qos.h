/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CONFIG_QOS_H
#define ROOST_CONFIG_QOS_H

/*
 * The values of the keys of struct roost_qos, as parse() and format() of key.h.
 * A table is a list of entries, "26:3" or "24-31:3"; parsing changes those that
 * are named.
 */

#include <stddef.h>

int roost_config_parse_trust(void *member, const char *value, char *cause);
void roost_config_format_trust(const void *member, char *buf, size_t size);

int roost_config_parse_tos(void *member, const char *value, char *cause);

int roost_config_parse_dscp2prio(void *member, const char *value, char *cause);
void roost_config_format_dscp2prio(const void *member, char *buf, size_t size);

int roost_config_parse_prio2pcp(void *member, const char *value, char *cause);
void roost_config_format_prio2pcp(const void *member, char *buf, size_t size);

#endif
