/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

/* Selective repeat: which ends do so, and what its memory is in the end. */

#include <stdlib.h>
#include <string.h>

#include "lib/engine/core/dev_priv.h"
#include "lib/engine/core/worker_base.h"
#include "tests/sim/sim.h"
#include "tests/sim/world.h"

bool sim_selective[2];

void sim_set_selective(bool a, bool b)
{
	sim_selective[SIM_A] = a;
	sim_selective[SIM_B] = b;
}

/* ROOST_SIM_SELECTIVE: "ab", "a", "b". */
void sim_take_selective(void)
{
	const char *text = getenv("ROOST_SIM_SELECTIVE");

	if (text == NULL)
		return;
	sim_set_selective(strchr(text, 'a') != NULL, strchr(text, 'b') != NULL);
}

/* What is not in use any more stands in the list of free ones. */
static void check_pile(const struct roost_pile *pile)
{
	uint32_t n = 0;

	for (void *at = pile->free; at != NULL; memcpy(&at, at, sizeof(at)))
		n++;
	assert_int_equal(n, pile->nb_used);
}

void sim_check_store(const struct roost_dev *dev)
{
	for (unsigned int i = 0; i < dev->nb_workers; i++) {
		const struct roost_store *store = &dev->workers[i]->store;

		check_pile(&store->held);
		check_pile(&store->shelves);
		check_pile(&store->scores);
		check_pile(&store->answers);
		check_pile(&store->shares);
		check_pile(&store->troubles);
	}
}
