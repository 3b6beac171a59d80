/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/sim.h"

#define PCAP_MAGIC_NS 0xa1b23c4du
#define PCAP_SNAP_LEN 65535u
#define PCAP_ETHERNET 1u

static FILE *pcap;

void sim_pcap_open(void)
{
	const char *path = getenv("ROOST_SIM_PCAP");
	const uint32_t header[6] = { PCAP_MAGIC_NS, 2 | 4 << 16,  0, 0,
				     PCAP_SNAP_LEN, PCAP_ETHERNET };

	if (path == NULL)
		return;
	pcap = fopen(path, "wb");
	if (pcap == NULL) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	fwrite(header, sizeof(header), 1, pcap);
}

void sim_pcap_write(uint64_t at_ns, const void *data, size_t len)
{
	const uint32_t header[4] = { (uint32_t)(at_ns / SIM_S),
				     (uint32_t)(at_ns % SIM_S), (uint32_t)len,
				     (uint32_t)len };

	if (pcap == NULL)
		return;
	fwrite(header, sizeof(header), 1, pcap);
	fwrite(data, len, 1, pcap);
}
