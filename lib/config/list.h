/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_CONFIG_LIST_H
#define ROOST_CONFIG_LIST_H

/*
 * The keys of the configuration whose value is a list, for the rows of key.c:
 * parse and format of struct roost_config_key_info. A value is added to what
 * the member has; all of its elements are taken, or none.
 */

#include <stddef.h>

/* Between the elements of a list. */
#define ROOST_LIST_SEPARATORS ", \t"

/* struct roost_prefixes */
int roost_config_parse_ips(void *member, const char *value, char *cause);
void roost_config_format_ips(const void *member, char *buf, size_t size);

/* struct roost_gateways */
int roost_config_parse_gateways(void *member, const char *value, char *cause);
void roost_config_format_gateways(const void *member, char *buf, size_t size);

/* struct roost_users: names or numbers */
int roost_config_parse_users(void *member, const char *value, char *cause);
void roost_config_format_users(const void *member, char *buf, size_t size);

/* The same for groups. */
int roost_config_parse_groups(void *member, const char *value, char *cause);

#endif
