/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "pmd_glue/process/rights.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

/* Since Linux 5.8; before, CAP_SYS_ADMIN. */
#ifndef CAP_BPF
#define CAP_BPF 39
#define CAP_PERFMON 38
#endif

static const struct {
	const char *name;
	unsigned int number;
} rights[] = {
	{ "CAP_NET_RAW", CAP_NET_RAW },
	{ "CAP_NET_ADMIN", CAP_NET_ADMIN },
	{ "CAP_BPF", CAP_BPF },
	{ "CAP_PERFMON", CAP_PERFMON },
	{ "CAP_SYS_ADMIN", CAP_SYS_ADMIN },
	{ "CAP_IPC_LOCK", CAP_IPC_LOCK },
	{ "CAP_SYS_RAWIO", CAP_SYS_RAWIO },
};

#define RIGHTS (sizeof(rights) / sizeof(rights[0]))

static bool has(const struct __user_cap_data_struct *data, unsigned int number)
{
	return data[number / 32].effective & 1u << number % 32;
}

static bool is_listed(const char *list, const char *name)
{
	const char *at = strstr(list, name);
	size_t len = strlen(name);

	return at && (at[len] == ',' || at[len] == '\0');
}

bool roost_rights_lack(const char *wanted, char lacks[ROOST_RIGHTS_MAX])
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	size_t len = 0;

	lacks[0] = '\0';
	if (syscall(SYS_capget, &header, data) < 0)
		return false;
	for (size_t i = 0; i < RIGHTS; i++)
		if (is_listed(wanted, rights[i].name) &&
		    !has(data, rights[i].number))
			len += (size_t)snprintf(lacks + len,
						ROOST_RIGHTS_MAX - len, "%s%s",
						len ? " and " : "",
						rights[i].name);
	return len != 0;
}

static bool is_kept(const char *keep, unsigned int number)
{
	for (size_t i = 0; i < RIGHTS; i++)
		if (rights[i].number == number)
			return is_listed(keep, rights[i].name);
	return false;
}

/* Of a thread without CAP_SETPCAP the bounding set stays; no_new_privs has the
 * same effect.
 */
int roost_rights_keep(const char *keep)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_capget, &header, data) < 0)
		return -errno;
	for (unsigned int number = 0; number < 64; number++) {
		const uint32_t bit = 1u << number % 32;

		if (is_kept(keep, number))
			continue;
		prctl(PR_CAPBSET_DROP, number, 0, 0, 0);
		data[number / 32].effective &= ~bit;
		data[number / 32].permitted &= ~bit;
		data[number / 32].inheritable &= ~bit;
	}
	if (syscall(SYS_capset, &header, data) < 0)
		return -errno;
	return 0;
}
