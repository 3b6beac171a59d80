/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 *
 * The answers, and their names. An answer reads none of its arguments (except
 * bad_wr), so one function per dialect serves calls of every signature: in the
 * calling conventions of Linux, the caller cleans up the arguments.
 */

#include <errno.h>
#include <stddef.h>

#include "lib/verbs/abi.h"
#include "lib/verbs/unsupported.h"

#define ANSWER static __attribute__((used))

ANSWER int err(void)
{
	errno = EOPNOTSUPP;
	return EOPNOTSUPP;
}

ANSWER int minus_one(void)
{
	errno = EOPNOTSUPP;
	return -1;
}

ANSWER void *null(void)
{
	errno = EOPNOTSUPP;
	return NULL;
}

ANSWER int bad_wr(void *queue, void *wr, void **bad)
{
	(void)queue;
	*bad = wr;
	errno = EOPNOTSUPP;
	return EOPNOTSUPP;
}

ANSWER void nothing(void)
{
}

/* Exported names: an alias of the answer for each, versioned. */
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define SYMBOL_AS(alias_name, name, version, answer)                           \
	ROOST_VERBS_SYMVER(LABEL(alias_name), #name version)                   \
	extern __typeof__(answer) alias_name __attribute__((alias(#answer)));
#define LABEL_(x) #x
#define LABEL(x) LABEL_(x)
#define SYMBOL(name, version, answer)                                          \
	SYMBOL_AS(JOIN(unsupported_, __COUNTER__), name, version, answer)
#define CONTEXT(op, answer)
#define OPS(op, answer)
#include "lib/verbs/unsupported.def"
#undef SYMBOL
#undef CONTEXT
#undef OPS

/* Operations of a context, by their place in it. */
static const struct slot {
	size_t offset;
	void (*answer)(void);
} slots[] = {
#define SYMBOL(name, version, answer)
#define CONTEXT(op, fn)                                                        \
	{ offsetof(struct verbs_context, op), (void (*)(void))fn },
#define OPS(op, fn)                                                            \
	{ offsetof(struct verbs_context, context.ops.op), (void (*)(void))fn },
#include "lib/verbs/unsupported.def"
};

void roost_unsupported_fill(struct verbs_context *vctx)
{
	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		void (**op)(void) =
			(void (**)(void))((char *)vctx + slots[i].offset);

		*op = slots[i].answer;
	}
}
