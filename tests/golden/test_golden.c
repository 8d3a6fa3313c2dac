/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The golden cases against the oracle of the conformance kit: a digest freezes an answer, this says
 * that it is right. Values out of the bound's range are counted.
 */
#include "golden.h"

#include "conform/ops/attn/attn.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static heed_runtime *runtime;
static heed_device *device;
static heed_queue *queue;

static void open_reference(void)
{
    heed_report report = { .size = sizeof(report) };

    ck_assert_int_eq(heed_runtime_create(NULL, &runtime, &report), HEED_OK);
    ck_assert_int_eq(heed_device_find(runtime, "reference", &device, &report), HEED_OK);
    ck_assert_int_eq(heed_queue_create(device, 0, &queue, &report), HEED_OK);
}

static void close_reference(void)
{
    heed_queue_destroy(queue);
    heed_runtime_destroy(runtime);
}

/* A made case, planned and run. */
struct run {
    struct golden golden;
    heed_plan *plan;
};

static void run_start(struct run *r, size_t number)
{
    struct golden *g = &r->golden;
    heed_report report = { .size = sizeof(report) };
    heed_plan_props props = { .size = sizeof(props) };

    memset(r, 0, sizeof(*r));
    golden_make(g, &golden_cases[number], 1000 + number);
    ck_assert_msg(heed_attn_plan(device, &g->desc, &r->plan, &report) == HEED_OK, "%s: %s: %s",
                  golden_cases[number].name, report.field, report.message);
    ck_assert_int_eq(heed_plan_info(r->plan, &props), HEED_OK);
    g->args.workspace.handle = malloc(props.workspace_size + 1);
    g->args.workspace_size = props.workspace_size;
    ck_assert_int_eq(heed_attn_run(r->plan, queue, &g->args, NULL, &report), HEED_OK);
    free(g->args.workspace.handle);
}

static void run_finish(struct run *r)
{
    heed_plan_drop(r->plan);
    golden_free(&r->golden);
}

LOOP_TEST(golden_answers_are_within_the_bound, (int)golden_n_cases)
{
    const char *name = golden_cases[_i].name;
    struct verdict v = { 0 };
    struct problem *p;
    struct call ran;
    struct run r;

    run_start(&r, (size_t)_i);
    p = cf_problem_of(&r.golden.desc, &r.golden.args, &ran);
    ck_assert_msg(p != NULL, "%s: the kit has no room for it", name);
    cf_judge_bound(p, &ran, &v);
    ck_assert_msg(!v.failed, "%s: %s", name, v.why);
    printf("# %s: %lld values, %lld of them not judged, worst error / bound %.3f\n", name,
           (long long)v.judged, (long long)v.skipped, v.worst);
    ck_assert_int_gt(v.judged + (p->dv == 0), 0);
    job_finish(&ran.job);
    cf_problem_free(p);
    run_finish(&r);
}

int main(void)
{
    TCase *tests = tcase_create("bound");

    cf_op_use(cf_ops[0]);
    tcase_set_timeout(tests, 120);
    tcase_add_unchecked_fixture(tests, open_reference, close_reference);
    return suite_run_case("golden", tests);
}
