/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */

#include <dlfcn.h>

#include "lib/verbs/private.h"
#include "verbs_test.h"

/* How each answer of unsupported.def is told from outside. */

static void check_err(long (*call)(void *, void *, void *))
{
	errno = 0;
	assert_int_equal((int)call(NULL, NULL, NULL), EOPNOTSUPP);
	assert_int_equal(errno, EOPNOTSUPP);
}

static void check_minus_one(long (*call)(void *, void *, void *))
{
	errno = 0;
	assert_int_equal((int)call(NULL, NULL, NULL), -1);
	assert_int_equal(errno, EOPNOTSUPP);
}

static void check_null(long (*call)(void *, void *, void *))
{
	errno = 0;
	assert_true(call(NULL, NULL, NULL) == 0);
	assert_int_equal(errno, EOPNOTSUPP);
}

static void check_bad_wr(long (*call)(void *, void *, void *))
{
	void *bad = NULL;
	int wr;

	assert_int_equal((int)call(NULL, &wr, &bad), EOPNOTSUPP);
	assert_ptr_equal(bad, &wr);
}

static void check_nothing(long (*call)(void *, void *, void *))
{
	errno = 0;
	call(NULL, NULL, NULL);
	assert_int_equal(errno, 0);
}

typedef void checker(long (*call)(void *, void *, void *));

static const struct symbol {
	const char *name;
	const char *version;
	checker *check;
} symbols[] = {
#define SYMBOL(name, version, answer) { #name, version, check_##answer },
#define CONTEXT(op, answer)
#define OPS(op, answer)
#include "lib/verbs/unsupported.def"
#undef SYMBOL
#undef CONTEXT
#undef OPS
};

static const struct operation {
	const char *name;
	size_t offset;
	checker *check;
} operations[] = {
#define SYMBOL(name, version, answer)
#define CONTEXT(op, answer)                                                    \
	{ #op, offsetof(struct verbs_context, op), check_##answer },
#define OPS(op, answer)                                                        \
	{ #op, offsetof(struct verbs_context, context.ops.op), check_##answer },
#include "lib/verbs/unsupported.def"
#undef SYMBOL
#undef CONTEXT
#undef OPS
};

static void symbols__each_answers_in_its_dialect(void **state)
{
	Dl_info shim;

	assert_int_not_equal(dladdr((void *)ibv_fork_init, &shim), 0);
	for (size_t i = 0; i < NB(symbols); i++) {
		const char *version = strrchr(symbols[i].version, '@') + 1;
		void *handle = dlopen(shim.dli_fname, RTLD_NOW | RTLD_NOLOAD);
		long (*call)(void *, void *, void *);

		assert_non_null(handle);
		*(void **)&call = dlvsym(handle, symbols[i].name, version);
		if (!call)
			fail_msg("%s@%s is missing", symbols[i].name, version);
		print_message("%s%s\n", symbols[i].name, symbols[i].version);
		symbols[i].check(call);
		dlclose(handle);
	}
}

static void operations__each_answers_in_its_dialect(void **state)
{
	struct ibv_context *c = open_roost0();

	for (size_t i = 0; i < NB(operations); i++) {
		long (*call)(void *, void *, void *);

		memcpy(&call, (char *)verbs_get_ctx(c) + operations[i].offset,
		       sizeof(call));
		print_message("%s\n", operations[i].name);
		operations[i].check(call);
	}
	close_roost0(c);
}

/* As a program meets them. */
static void calls__never_enosys(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_pd *pd = ibv_alloc_pd(c);
	struct ibv_srq srq = { .context = c };
	struct ibv_ops_wr op, *bad_op = NULL;

	assert_null_errno(ibv_create_flow_action_esp(c, NULL), EOPNOTSUPP);
	assert_errno(ibv_post_srq_ops(&srq, &op, &bad_op), EOPNOTSUPP);
	assert_ptr_equal(bad_op, &op);
	ibv_dealloc_pd(pd);
	close_roost0(c);
}

static void private__what_providers_call_is_sane(void **state)
{
	struct ibv_context *c = open_roost0();
	struct ibv_comp_channel *ch = ibv_create_comp_channel(c);
	struct ibv_cq cq;

	assert_int_equal(__ioctl_final_num_attrs(5, NULL), 5);
	assert_false(verbs_allow_disassociate_destroy);
	memset(&cq, 0xff, sizeof(cq));
	verbs_init_cq(&cq, c, ch, &cq);
	assert_ptr_equal(cq.context, c);
	assert_ptr_equal(cq.channel, ch);
	assert_ptr_equal(cq.cq_context, &cq);
	assert_int_equal(cq.comp_events_completed, 0);
	assert_int_equal(pthread_mutex_trylock(&cq.mutex), 0);
	assert_int_equal(ch->refcnt, 1);
	ch->refcnt = 0;
	ibv_destroy_comp_channel(ch);
	close_roost0(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbols__each_answers_in_its_dialect),
		cmocka_unit_test(operations__each_answers_in_its_dialect),
		cmocka_unit_test(calls__never_enosys),
		cmocka_unit_test(private__what_providers_call_is_sane),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
