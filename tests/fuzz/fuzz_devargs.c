/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/*
 * The text that names a port: devargs, as a user writes them, and what is read
 * out of them and put into them before DPDK gets them. And JSON that holds any
 * text. Input: a number, and the text.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmd_glue/port/driver.h"
#include "pmd_glue/ctl/json.h"
#include "pmd_glue/port/members.h"
#include "pmd_glue/kernel/pci.h"
#include "tests/fuzz/fuzz.h"

#define ROOM (2 * ROOST_DEVARGS_MAX)

static void check_values(const char *devargs)
{
	static const char *const keys[] = { "iface", "role",   "socket",
					    "mac",   "queues", "" };
	char value[32];

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		int ret = roost_devargs_value(devargs, keys[i], value,
					      sizeof(value));

		FUZZ_CHECK((ret == -ENOENT) ==
			   !roost_devargs_has(devargs, keys[i]));
		FUZZ_CHECK(ret != 0 || (strlen(value) < sizeof(value) &&
					strchr(value, ',') == NULL));
	}
}

static void check_driver(const char *devargs, unsigned int number)
{
	const struct roost_driver *d = roost_driver_find(devargs);
	char unknown[ROOST_DEVARG_KEY_MAX] = "",
	     advice[ROOST_DEVARG_ADVICE_MAX];
	char iface[16], full[ROOM];

	if (roost_driver_check_keys(devargs, unknown, advice) != 0)
		FUZZ_CHECK(strlen(advice) > 0);
	FUZZ_CHECK(roost_driver_nb_queues(devargs, number % 16 + 1) >= 1);
	roost_driver_serves(devargs);
	if (roost_driver_kernel(devargs, iface, sizeof(iface)) !=
	    ROOST_KERNEL_NONE)
		FUZZ_CHECK(strlen(iface) < sizeof(iface));
	if (roost_driver_devargs(devargs, full, sizeof(full)) != 0)
		return;
	/* What the user wrote stands first, and is all that stands twice. */
	FUZZ_CHECK(strncmp(full, devargs, strlen(devargs)) == 0);
	FUZZ_CHECK(roost_driver_find(full) == d);
	if (d->ip_mtu_bytes != NULL)
		d->ip_mtu_bytes(full);
	if (d->rx_room_bytes != NULL)
		d->rx_room_bytes(full);
}

static void check_set(const char *devargs, unsigned int number)
{
	char text[ROOM], want[16], value[16];

	strcpy(text, devargs);
	snprintf(want, sizeof(want), "%u", number);
	if (roost_devargs_set(text, sizeof(text), "queues", number) != 0)
		return;
	FUZZ_CHECK(strlen(text) < sizeof(text));
	FUZZ_CHECK(roost_devargs_value(text, "queues", value, sizeof(value)) ==
		   0);
	FUZZ_CHECK(strcmp(value, want) == 0);
}

static void check_members(const char *devargs)
{
	char member[ROOST_DEVARGS_MAX];
	size_t at = 0, begin, nb = 0;

	while (roost_members_next(devargs, &at, &begin, member) == 0) {
		FUZZ_CHECK(begin <= at && at <= strlen(devargs));
		FUZZ_CHECK(strlen(member) < sizeof(member));
		FUZZ_CHECK(++nb <= strlen(devargs));
	}
}

/* Whatever the text, what is written is ASCII or UTF-8 between two quotes. */
static void check_json(const char *text)
{
	struct roost_json j = { .text = NULL };
	size_t len_bytes;
	char *json;

	roost_json_begin(&j, NULL, '[');
	roost_json_str(&j, NULL, text);
	roost_json_end(&j, ']');
	json = roost_json_take(&j, &len_bytes);
	FUZZ_CHECK(json != NULL && len_bytes >= 4);
	FUZZ_CHECK(json[0] == '[' && json[len_bytes - 1] == ']');
	for (size_t i = 0; i < len_bytes; i++)
		FUZZ_CHECK((unsigned char)json[i] >= 0x20);
	free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct fuzz_in in = { data, len_bytes };
	const unsigned int number = fuzz_u16(&in);
	char devargs[ROOST_DEVARGS_MAX], name[ROOST_PCI_NAME_MAX];

	devargs[fuzz_take(&in, devargs, sizeof(devargs) - 1)] = '\0';
	check_values(devargs);
	check_driver(devargs, number);
	check_set(devargs, number);
	check_members(devargs);
	check_json(devargs);
	if (roost_pci_is(devargs, name))
		FUZZ_CHECK(strlen(name) > 0 && strlen(name) < sizeof(name));
	return 0;
}
