/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <roost/cm.h>
#include "cm/state.h"
#include "tests/cmocka.h"

/* Which inputs each state takes, written down once more and by hand. */
#define IN(x) (1u << ROOST_CM_##x)
#define REQ_OUT                                                                \
	(IN(DO_REJECT) | IN(DO_DESTROY) | IN(GOT_REJ) | IN(GOT_REJ_STALE) |    \
	 IN(GOT_REP) | IN(TRIES_SPENT))
#define REP_OUT                                                                \
	(IN(DO_REJECT) | IN(DO_DESTROY) | IN(DO_COMM_EST) |                    \
	 IN(DO_DISCONNECT) | IN(GOT_REJ) | IN(GOT_REJ_STALE) | IN(GOT_RTU) |   \
	 IN(GOT_DREQ) | IN(GOT_STALE) | IN(CROWDED_OUT) | IN(TRIES_SPENT))
#define KEPT (IN(DO_DESTROY) | IN(TIME_OVER))

static const unsigned int takes[ROOST_CM_STATES] = {
	[ROOST_CM_IDLE] = IN(DO_CONNECT) | IN(DO_SIDR_REQ) | IN(DO_DESTROY),
	[ROOST_CM_REQ_SENT] = REQ_OUT | IN(GOT_MRA_REQ),
	[ROOST_CM_MRA_REQ_RCVD] = REQ_OUT,
	[ROOST_CM_REP_RCVD] = IN(DO_ESTABLISH) | IN(DO_REJECT) | IN(DO_MRA) |
			      IN(DO_DESTROY) | IN(GOT_REP) | IN(GOT_DREQ) |
			      IN(GOT_REJ) | IN(GOT_REJ_STALE) | IN(GOT_STALE),
	[ROOST_CM_REQ_HELD] = KEPT | IN(GOT_REQ) | IN(GOT_REJ) |
			      IN(GOT_REJ_STALE) | IN(GOT_STALE) |
			      IN(CROWDED_OUT),
	[ROOST_CM_REQ_RCVD] = IN(DO_ACCEPT) | IN(DO_REJECT) | IN(DO_MRA) |
			      IN(DO_DESTROY) | IN(GOT_REQ) | IN(GOT_REJ) |
			      IN(GOT_REJ_STALE) | IN(GOT_STALE) |
			      IN(CROWDED_OUT),
	[ROOST_CM_REJ_SENT] = KEPT | IN(GOT_REQ),
	[ROOST_CM_REP_SENT] = REP_OUT | IN(GOT_REQ) | IN(GOT_MRA_REP),
	[ROOST_CM_MRA_REP_RCVD] = REP_OUT,
	[ROOST_CM_ESTAB] = IN(DO_COMM_EST) | IN(DO_DISCONNECT) |
			   IN(DO_DESTROY) | IN(GOT_REP) | IN(GOT_REJ) |
			   IN(GOT_REJ_STALE) | IN(GOT_DREQ) | IN(GOT_STALE),
	[ROOST_CM_DREQ_SENT] = IN(DO_DESTROY) | IN(GOT_REJ) |
			       IN(GOT_REJ_STALE) | IN(GOT_DREQ) | IN(GOT_DREP) |
			       IN(TRIES_SPENT),
	[ROOST_CM_DREQ_RCVD] =
		IN(DO_DISCONNECT) | IN(DO_DESTROY) | IN(GOT_STALE),
	[ROOST_CM_TIMEWAIT] = KEPT | IN(GOT_REQ) | IN(GOT_DREQ) | IN(GOT_STALE),
	[ROOST_CM_SIDR_REQ_SENT] =
		IN(DO_DESTROY) | IN(GOT_SIDR_REP) | IN(TRIES_SPENT),
	[ROOST_CM_SIDR_REQ_RCVD] = IN(DO_SIDR_REP) | IN(DO_DESTROY) |
				   IN(GOT_SIDR_REQ) | IN(CROWDED_OUT),
	[ROOST_CM_SIDR_REPLIED] = KEPT | IN(GOT_SIDR_REQ),
};

static void state__takes_what_it_should(void **unused)
{
	(void)unused;
	for (unsigned int s = 0; s < ROOST_CM_STATES; s++)
		for (unsigned int i = 0; i < ROOST_CM_INPUTS; i++)
			if (roost_cm_step(s, i)->valid != (takes[s] >> i & 1))
				fail_msg("%s: input %u", roost_cm_state_name(s),
					 i);
}

/* What nobody may destroy leaks. */
static void state__every_state_can_be_destroyed(void **unused)
{
	(void)unused;
	for (unsigned int s = 0; s < ROOST_CM_STATES; s++)
		assert_true(roost_cm_step(s, ROOST_CM_DO_DESTROY)->valid);
}

/* A destroyed connection is IDLE, or waits for its time to be over. */
static void state__destroy_ends_where_time_ends_it(void **unused)
{
	(void)unused;
	for (unsigned int s = 0; s < ROOST_CM_STATES; s++) {
		enum roost_cm_state next =
			roost_cm_step(s, ROOST_CM_DO_DESTROY)->next;

		assert_int_equal(roost_cm_step(s, ROOST_CM_DO_DESTROY)->event,
				 ROOST_CM_NO_EVENT);
		if (next != ROOST_CM_IDLE)
			assert_int_equal(
				roost_cm_step(next, ROOST_CM_TIME_OVER)->next,
				ROOST_CM_IDLE);
	}
}

/* Whoever starts to retry can find that it was in vain. */
static void state__retries_end(void **unused)
{
	(void)unused;
	for (unsigned int s = 0; s < ROOST_CM_STATES; s++)
		for (unsigned int i = 0; i < ROOST_CM_INPUTS; i++) {
			const struct roost_cm_step *step = roost_cm_step(s, i);

			if (step->actions & ROOST_CM_ACT_RETRY)
				assert_true(roost_cm_step(step->next,
							  ROOST_CM_TRIES_SPENT)
						    ->valid);
			/* And whoever leaves such a state stops it. */
			if (step->valid && step->next != s &&
			    roost_cm_step(s, ROOST_CM_TRIES_SPENT)->valid &&
			    !roost_cm_step(step->next, ROOST_CM_TRIES_SPENT)
				     ->valid)
				assert_true(step->actions & ROOST_CM_ACT_STOP);
		}
}

/* TIMEWAIT is entered with its timer, and told of at its end. */
static void state__timewait_is_timed(void **unused)
{
	(void)unused;
	for (unsigned int s = 0; s < ROOST_CM_STATES; s++)
		for (unsigned int i = 0; i < ROOST_CM_INPUTS; i++) {
			const struct roost_cm_step *step = roost_cm_step(s, i);

			if (step->valid && step->next == ROOST_CM_TIMEWAIT &&
			    s != ROOST_CM_TIMEWAIT)
				assert_true(step->actions &
					    ROOST_CM_ACT_TIMEWAIT);
		}
	assert_int_equal(
		roost_cm_step(ROOST_CM_TIMEWAIT, ROOST_CM_TIME_OVER)->event,
		ROOST_CM_TIMEWAIT_EXIT);
}

/* What goes back to IDLE from a connection frees the peer's numbers. */
static void state__idle_forgets(void **unused)
{
	(void)unused;
	for (unsigned int s = ROOST_CM_REQ_SENT; s < ROOST_CM_SIDR_REQ_SENT;
	     s++)
		for (unsigned int i = 0; i < ROOST_CM_INPUTS; i++) {
			const struct roost_cm_step *step = roost_cm_step(s, i);

			if (step->valid && step->next == ROOST_CM_IDLE)
				assert_true(step->actions &
					    ROOST_CM_ACT_FORGET);
		}
}

static void lap__takes_what_it_should(void **unused)
{
	static const unsigned int lap_takes[ROOST_CM_LAP_STATES] = {
		[ROOST_CM_LAP_NONE] = IN(DO_LAP) | IN(GOT_LAP),
		[ROOST_CM_LAP_IDLE] = IN(DO_LAP) | IN(GOT_LAP),
		[ROOST_CM_LAP_SENT] =
			IN(GOT_APR) | IN(GOT_MRA_LAP) | IN(LAP_TRIES_SPENT),
		[ROOST_CM_LAP_MRA_RCVD] = IN(GOT_APR) | IN(LAP_TRIES_SPENT),
		[ROOST_CM_LAP_RCVD] = IN(DO_APR) | IN(GOT_LAP),
	};

	(void)unused;
	for (unsigned int s = 0; s < ROOST_CM_LAP_STATES; s++)
		for (unsigned int i = 0; i < ROOST_CM_LAP_INPUTS; i++)
			assert_int_equal(roost_cm_lap_step(s, i)->valid,
					 lap_takes[s] >> i & 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(state__takes_what_it_should),
		cmocka_unit_test(state__every_state_can_be_destroyed),
		cmocka_unit_test(state__destroy_ends_where_time_ends_it),
		cmocka_unit_test(state__retries_end),
		cmocka_unit_test(state__timewait_is_timed),
		cmocka_unit_test(state__idle_forgets),
		cmocka_unit_test(lap__takes_what_it_should),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
