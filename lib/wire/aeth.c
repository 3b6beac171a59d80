/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include "lib/wire/frame.h"

#define US(n) ((n)*1000u)

static const uint32_t rnr_timers_ns[32] = {
	US(655360), US(10),     US(20),    US(30),     US(40),     US(60),
	US(80),     US(120),    US(160),   US(240),    US(320),    US(480),
	US(640),    US(960),    US(1280),  US(1920),   US(2560),   US(3840),
	US(5120),   US(7680),   US(10240), US(15360),  US(20480),  US(30720),
	US(40960),  US(61440),  US(81920), US(122880), US(163840), US(245760),
	US(327680), US(491520),
};

uint64_t roost_rnr_timer_ns(uint8_t code)
{
	return rnr_timers_ns[code & ROOST_AETH_VALUE_MASK];
}
