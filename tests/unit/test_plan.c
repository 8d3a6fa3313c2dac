/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The life of a plan, on a device that computes nothing.
 */
#include "run_world.h"
#include "support/suite.h"

TEST(plan_says_what_it_is)
{
    heed_plan *plan = make_plan(0);
    heed_plan_props p = { .size = sizeof(p) };

    ck_assert_int_eq(heed_plan_info(plan, &p), HEED_OK);
    ck_assert_str_eq(p.implementation, "fake");
    ck_assert_uint_eq(p.numerics, HEED_NUMERICS_EXACT);
    ck_assert_uint_eq(p.workspace_size, WORKSPACE);
    ck_assert_uint_eq(p.workspace_align, WORKSPACE_ALIGN);
    ck_assert_uint_gt(p.flops, 0);
    ck_assert_uint_gt(p.bytes, 0);
    ck_assert_uint_eq(p.host_bytes, plan->owned->arena.bytes + 100);
    ck_assert_uint_eq(p.device_bytes, 0);
    p.size = HEED_PLAN_PROPS_V1 - 1;
    ck_assert_int_eq(heed_plan_info(plan, &p), HEED_E_SIZE);
    ck_assert_int_eq(heed_plan_info(plan, NULL), HEED_E_NULL);
    ck_assert_int_eq(heed_plan_info(NULL, &p), HEED_E_NULL);
    heed_plan_drop(plan);
    ck_assert_int_eq(fake.drops, 1);
    heed_plan_drop(NULL);
    ck_assert_ptr_null(heed_plan_retain(NULL));
}

TEST(plan_and_what_it_is_in_one_call)
{
    heed_plan *plan = NULL;
    heed_plan_props p = { .size = sizeof(p) }, later = { .size = sizeof(later) };

    ck_assert_int_eq(heed_attn_plan_info(&device, &desc, &plan, &p, &why), HEED_OK);
    ck_assert_int_eq(heed_plan_info(plan, &later), HEED_OK);
    ck_assert_mem_eq(&p, &later, sizeof(p));
    heed_plan_drop(plan);
    plan = NULL;
    p.size = HEED_PLAN_PROPS_V1 - 1;
    ck_assert_int_eq(heed_attn_plan_info(&device, &desc, &plan, &p, &why), HEED_E_SIZE);
    ck_assert_str_eq(why.field, "props");
    ck_assert_int_eq(heed_attn_plan_info(&device, &desc, &plan, NULL, &why), HEED_E_NULL);
    ck_assert_str_eq(why.field, "props");
    p = later;
    ck_assert_int_eq(heed_attn_plan_info(NULL, &desc, &plan, &p, &why), HEED_E_NULL);
    ck_assert_str_eq(why.field, "device");
    ck_assert_mem_eq(&p, &later, sizeof(p));
    ck_assert_ptr_null(plan);
}

TEST(check_needs_no_device)
{
    heed_attn_desc wrong = desc;

    ck_assert_int_eq(heed_attn_check(NULL, &desc, &why), HEED_OK);
    ck_assert_int_eq(why.status, HEED_OK);
    wrong.q.shape[wrong.q.ndim - 1]++;
    ck_assert_int_eq(heed_attn_check(NULL, &wrong, &why), HEED_E_SHAPE);
    ck_assert_str_ne(why.field, "");
}

TEST(plan_with_its_own_workspace_wants_none)
{
    heed_plan *plan = make_plan(HEED_PLAN_OWN_WORKSPACE | HEED_PLAN_ALLOW_COMPOSED);
    heed_plan_props p = { .size = sizeof(p) };

    ck_assert_int_eq(heed_plan_info(plan, &p), HEED_OK);
    ck_assert_uint_eq(p.workspace_size, 0);
    ck_assert_uint_eq(p.host_bytes, plan->owned->arena.bytes + 100 + WORKSPACE);
    args.a.workspace = (heed_buf){ NULL, 0 };
    args.a.workspace_size = 0;
    ck_assert_int_eq(heed_attn_run(plan, queue, &args.a, NULL, &why), HEED_OK);
    ck_assert_ptr_nonnull(fake.workspace.handle);
    ck_assert_uint_eq((uintptr_t)fake.workspace.handle % WORKSPACE_ALIGN, 0);
    heed_plan_drop(plan);
}

TEST(last_reference_frees_the_plan)
{
    heed_plan *plan = make_plan(0);

    ck_assert_ptr_eq(heed_plan_retain(plan), plan);
    heed_plan_drop(plan);
    ck_assert_int_eq(fake.drops, 0);
    heed_plan_drop(plan);
    ck_assert_int_eq(fake.drops, 1);
}

TEST(best_implementation_that_accepts_is_taken)
{
    heed_plan *plan = NULL;

    fake.refuse = "too wide for it";
    fake.field = "sources[0].k";
    impls[0] = &never;
    impls[1] = &fake_impl;
    plan = make_plan(0);
    ck_assert_ptr_eq(plan->impl, &fake_impl);
    heed_plan_drop(plan);
    plan = NULL;
    impls[1] = NULL;
    ck_assert_int_eq(heed_attn_check(&device, &desc, &why), HEED_E_UNSUPPORTED);
    ck_assert_str_eq(why.message, "too wide for it");
    ck_assert_str_eq(why.field, "sources[0].k");
    ck_assert_int_eq(heed_attn_plan(&device, &desc, &plan, &why), HEED_E_UNSUPPORTED);
    ck_assert_str_eq(why.message, "too wide for it");
    impls[0] = NULL;
    ck_assert_int_eq(heed_attn_plan(&device, &desc, &plan, &why), HEED_E_UNSUPPORTED);
    ck_assert_str_ne(why.message, "");
    ck_assert_ptr_null(plan);
}

TEST(plan_needs_device_descriptor_and_place)
{
    heed_plan *plan = NULL;

    ck_assert_int_eq(heed_attn_plan(NULL, &desc, &plan, &why), HEED_E_NULL);
    ck_assert_str_eq(why.field, "device");
    ck_assert_int_eq(heed_attn_plan(&device, NULL, &plan, &why), HEED_E_NULL);
    ck_assert_str_eq(why.field, "desc");
    ck_assert_int_eq(heed_attn_plan(&device, &desc, NULL, &why), HEED_E_NULL);
    ck_assert_str_eq(why.field, "plan");
    ck_assert_int_eq(heed_attn_check(NULL, NULL, &why), HEED_E_NULL);
    ck_assert_str_eq(why.field, "desc");
    ck_assert_int_eq(heed_attn_check(&device, NULL, &why), HEED_E_NULL);
    ck_assert_ptr_null(plan);
}

TEST(failed_bind_leaves_nothing)
{
    heed_plan *plan = NULL;
    const long long held = atomic_load(&ledger.blocks);

    fake.prepare = HEED_E_KERNEL_BUILD;
    ck_assert_int_eq(heed_attn_plan(&device, &desc, &plan, &why), HEED_E_KERNEL_BUILD);
    ck_assert_int_eq(why.status, HEED_E_KERNEL_BUILD);
    ck_assert_ptr_null(plan);
    ck_assert_int_eq(fake.drops, 0);
    ck_assert_int_eq(atomic_load(&ledger.blocks), held);
}

/* ---- runs ---- */

static void *retain_and_drop(void *arg)
{
    for (int i = 0; i < 20000; i++)
        heed_plan_drop(heed_plan_retain(arg));
    heed_plan_drop(arg);
    return NULL;
}

TEST(references_may_be_counted_by_many_threads)
{
    pthread_t thread[4];
    heed_plan *plan = make_plan(0);

    for (int i = 0; i < 4; i++) {
        heed_plan_retain(plan);
        ck_assert_int_eq(pthread_create(&thread[i], NULL, retain_and_drop, plan), 0);
    }
    heed_plan_drop(plan);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    ck_assert_int_eq(fake.drops, 1);
}

int main(void)
{
    return suite_run("plan", 0, set_up, tear_down);
}
