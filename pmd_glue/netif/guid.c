/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <endian.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "pmd_glue/netif/guid.h"

#define GUID_LOCAL (UINT64_C(0x02) << 56)
#define GUID_GROUP (UINT64_C(0x01) << 56)

static uint64_t rotl(uint64_t x, int n)
{
	return x << n | x >> (64 - n);
}

static void sip_rounds(uint64_t v[4], int n)
{
	while (n--) {
		v[0] += v[1];
		v[1] = rotl(v[1], 13) ^ v[0];
		v[0] = rotl(v[0], 32);
		v[2] += v[3];
		v[3] = rotl(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotl(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotl(v[1], 17) ^ v[2];
		v[2] = rotl(v[2], 32);
	}
}

static uint64_t load_le64(const uint8_t *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
	return le64toh(x);
}

uint64_t roost_siphash(const uint8_t key[16], const void *data,
		       size_t len_bytes)
{
	const uint64_t k0 = load_le64(key), k1 = load_le64(key + 8);
	uint64_t v[4] = {
		k0 ^ UINT64_C(0x736f6d6570736575),
		k1 ^ UINT64_C(0x646f72616e646f6d),
		k0 ^ UINT64_C(0x6c7967656e657261),
		k1 ^ UINT64_C(0x7465646279746573),
	};
	const uint8_t *p = data;
	size_t rest = len_bytes;
	uint64_t last = (uint64_t)len_bytes << 56;

	for (; rest >= 8; rest -= 8, p += 8) {
		const uint64_t m = load_le64(p);

		v[3] ^= m;
		sip_rounds(v, 2);
		v[0] ^= m;
	}
	for (size_t i = 0; i < rest; i++)
		last |= (uint64_t)p[i] << (8 * i);
	v[3] ^= last;
	sip_rounds(v, 2);
	v[0] ^= last;
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t roost_guid(const uint8_t key[16], const void *data, size_t len_bytes)
{
	return (roost_siphash(key, data, len_bytes) | GUID_LOCAL) & ~GUID_GROUP;
}

static bool parse_hex16(const char *hex, uint8_t out[16])
{
	for (int i = 0; i < 16; i++) {
		unsigned int byte;

		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			return false;
		out[i] = (uint8_t)byte;
	}
	return true;
}

/* The machine's id; random without one: a GUID that changes with each start is
 * better than one that two machines share.
 */
static void machine_key(uint8_t key[16])
{
	char hex[33] = "";
	ssize_t len = -1;
	int fd;

	fd = open("/etc/machine-id", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, hex, 32);
		close(fd);
	}
	if (len == 32 && parse_hex16(hex, key))
		return;
	if (getrandom(key, 16, 0) != 16)
		memset(key, 0, 16);
}

uint64_t roost_guid_of_devargs(const char *devargs, uint16_t vlan_id)
{
	char self[512];
	uint8_t key[16];
	size_t len;

	len = (size_t)snprintf(self, sizeof(self), "%s", devargs);
	if (vlan_id != 0)
		len += (size_t)snprintf(self + len, sizeof(self) - len,
					" VLAN %u", vlan_id);
	machine_key(key);
	return roost_guid(key, self, len);
}

uint64_t roost_guid_of_link(const char *link)
{
	struct {
		char name[64];
		int64_t pid;
		uint8_t chance[16];
	} self = { .pid = getpid() };
	uint8_t key[16];

	snprintf(self.name, sizeof(self.name), "%s", link);
	if (getrandom(self.chance, sizeof(self.chance), 0) < 0)
		memset(self.chance, 0, sizeof(self.chance));
	machine_key(key);
	return roost_guid(key, &self, sizeof(self));
}
