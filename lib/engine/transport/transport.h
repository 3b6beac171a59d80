/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#ifndef ROOST_ENGINE_TRANSPORT_TRANSPORT_H
#define ROOST_ENGINE_TRANSPORT_TRANSPORT_H

/* The table of the transport, for the code that creates a device. */

#include "lib/engine/core/transport.h"

extern const struct roost_transport roost_transport;

#endif
