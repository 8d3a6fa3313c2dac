/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The golden cases against the oracle: a digest freezes an answer, this says that it is right. Rows
 * whose inputs or bounds are not finite are left out and counted.
 */
#include "golden.h"
#include "oracle.h"

#include "lib/plan.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counts {
    int64_t rows, with_keys, left_out;
    long double worst;
};

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

static void *address(heed_buf buf)
{
    return buf.handle ? (char *)buf.handle + buf.offset : NULL;
}

/* A made case, planned and run. */
struct run {
    struct golden golden;
    heed_plan *plan;
    struct test_arrays bound;
    const void *k[GOLDEN_SOURCES], *v[GOLDEN_SOURCES], *slots[GOLDEN_SLOTS];
};

static void run_start(struct run *r, size_t number)
{
    struct golden *g = &r->golden;
    heed_report report = { .size = sizeof(report) };
    heed_plan_props props = { .size = sizeof(props) };

    memset(r, 0, sizeof(*r));
    g->state = 1000 + number;
    golden_cases[number].make(g);
    g->o = calloc((size_t)g->o_count + 1, sizeof(float));
    g->lse = calloc((size_t)g->lse_count + 1, sizeof(float));
    g->args.size = sizeof(g->args);
    g->args.kv_size = sizeof(heed_kv_bufs);
    g->args.o.handle = g->o;
    g->args.lse.handle = g->lse;
    g->args.kv = g->kv;
    g->args.slots = g->slot_bufs;
    g->args.n_slots = g->desc.n_slots;
    ck_assert_msg(heed_attn_plan(device, &g->desc, &r->plan, &report) == HEED_OK, "%s: %s: %s",
                  golden_cases[number].name, report.field, report.message);
    ck_assert_int_eq(heed_plan_info(r->plan, &props), HEED_OK);
    g->args.workspace.handle = malloc(props.workspace_size + 1);
    g->args.workspace_size = props.workspace_size;
    ck_assert_int_eq(heed_attn_run(r->plan, queue, &g->args, NULL, &report), HEED_OK);
    free(g->args.workspace.handle);
    for (uint32_t s = 0; s < g->desc.n_sources; s++) {
        r->k[s] = address(g->kv[s].k);
        r->v[s] = address(g->kv[s].v);
    }
    for (uint32_t s = 0; s < g->desc.n_slots; s++)
        r->slots[s] = g->slots[s].data ? g->slots[s].data : address(g->slot_bufs[s]);
    r->bound = (struct test_arrays){
        .q = address(g->args.q),
        .o = g->o,
        .lse = g->desc.lse.ndim ? g->lse : NULL,
        .sinks = address(g->args.sinks),
        .k = r->k,
        .v = r->v,
        .slots = r->slots,
    };
}

static void run_finish(struct run *r)
{
    heed_plan_drop(r->plan);
    golden_free(&r->golden);
}

static int64_t offset(const struct heed_view *view, const int64_t *batch, int64_t item,
                      int64_t head, int64_t row, int64_t channel)
{
    return item / (batch[1] * batch[2]) * view->stride[0] +
           item / batch[2] % batch[1] * view->stride[1] + item % batch[2] * view->stride[2] +
           head * view->stride[3] + row * view->stride[4] + channel * view->stride[5];
}

static void value_check(const char *name, struct counts *counts, long double got,
                        long double wanted, long double tolerance, int64_t keys)
{
    if (keys > 0 && (!isfinite(wanted) || !isfinite(tolerance))) {
        counts->left_out++;
        return;
    }
    if (keys == 0 ? got != wanted : !(fabsl(got - wanted) <= tolerance))
        ck_abort_msg("%s: %.9Lg, not %.9Lg +- %.3Lg", name, got, wanted, tolerance);
    if (keys > 0 && tolerance > 0 && fabsl(got - wanted) / tolerance > counts->worst)
        counts->worst = fabsl(got - wanted) / tolerance;
}

static void row_check(const char *name, const struct run *r, int64_t item, int64_t head,
                      int64_t row, struct counts *counts)
{
    const struct heed_checked *attn = r->plan->attn;
    long double o[64], tolerance[64];
    struct oracle_row wanted = { .o = o, .tolerance = tolerance };
    int64_t begin, length;

    oracle_query(attn, &r->bound, item, &begin, &length);
    oracle_row_find(attn, &r->bound, item, head, row, &wanted);
    for (int64_t t = 0; t < attn->d_v; t++) {
        int64_t at = offset(&attn->o, attn->batch, item, head, begin + row, t);

        value_check(name, counts, oracle_load(attn->o.dtype, r->golden.o, at), o[t], tolerance[t],
                    wanted.keys);
    }
    if (attn->lse.dtype && !isnan(wanted.lse)) {
        int64_t at = offset(&attn->lse, attn->batch, item, head, begin + row, 0);

        value_check(name, counts, oracle_load(HEED_F32, r->golden.lse, at), wanted.lse,
                    wanted.lse_tolerance, wanted.keys);
    }
    counts->rows++;
    counts->with_keys += wanted.keys > 0;
}

START_TEST(golden_answers_are_within_the_bound)
{
    const char *name = golden_cases[_i].name;
    struct counts counts = { 0 };
    struct run r;

    run_start(&r, (size_t)_i);
    for (int64_t item = 0; item < r.plan->attn->n_batch; item++) {
        int64_t begin, length;

        oracle_query(r.plan->attn, &r.bound, item, &begin, &length);
        if (r.plan->attn->q_layout == HEED_LAYOUT_DENSE)
            length = r.plan->attn->n_q;
        for (int64_t head = 0; head < r.plan->attn->heads; head++) {
            for (int64_t row = 0; row < length; row++)
                row_check(name, &r, item, head, row, &counts);
        }
    }
    printf("# %s: %lld rows, %lld with keys, %lld values left out, worst error / bound %.3Lf\n",
           name, (long long)counts.rows, (long long)counts.with_keys, (long long)counts.left_out,
           counts.worst);
    ck_assert_int_gt(counts.rows, 0);
    run_finish(&r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden");
    TCase *tests = tcase_create("bound");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tests, 120);
    tcase_add_unchecked_fixture(tests, open_reference, close_reference);
    tcase_add_loop_test(tests, golden_answers_are_within_the_bound, 0, (int)golden_n_cases);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
