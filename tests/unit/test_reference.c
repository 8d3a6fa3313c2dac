/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The reference: long drawn cases judged by the conformance kit, the order of its sums against a
 * plain loop, and special values.
 */
#include "lib/backend.h"

#include "conform/conform.h"
#include "support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct heed_backend heed_reference_backend;

static const heed_executor one_lane = { .size = sizeof(heed_executor), .width = 1 };
static const struct heed_services services = { .executor = &one_lane };

/* Binds and runs; the workspace is poisoned and as small as bind says. */
static void run_checked(const struct heed_checked *attn, const heed_buf *at)
{
    const struct heed_impl *impl = heed_reference_backend.impls[0];
    struct heed_plan plan = { .backend = &heed_reference_backend, .impl = impl, .checked = attn };
    struct heed_error_detail detail = { .native = 0 };
    struct heed_launch launch = { .at = at, .detail = &detail };

    plan.n_operands = heed_attn_slot(attn, attn->n_slots + 1);
    ck_assert_int_eq(impl->prepare(&plan, &services, &detail), HEED_OK);
    if (plan.workspace_size) {
        launch.workspace.handle = malloc(plan.workspace_size);
        memset(launch.workspace.handle, 0xff, plan.workspace_size);
    }
    ck_assert_int_eq(impl->run(&plan, &services, &launch), HEED_OK);
    free(launch.workspace.handle);
}

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Longer rows than heed-conform draws, where it compares all devices with the reference. */
TEST(long_rows_are_within_the_bound)
{
    struct verdict v = { 0 };
    struct rng r = rng_of(2000);
    struct target on;

    ck_assert(cf_target_open(&on, "reference", 1, NULL));
    for (int i = 0; i < 60; i++) {
        struct problem *p;
        struct call call;
        struct cs c;
        char line[LINE];

        cf_case_draw(&r, on.device, 20, 9000000, &c);
        c.v[G_FILL] = FILL_NORMAL;
        p = cf_problem_make(&c, NULL, 0, true);
        ck_assert(p != NULL && cf_call_make(&call, &on, p, 0, c.seed));
        if (cf_run_ok(&call, &v, "reference"))
            cf_judge_bound(p, &call, &v);
        cf_case_print(&c, line);
        ck_assert_msg(!v.failed, "%s: %s", line, v.why);
        cf_call_finish(&call);
        cf_problem_free(p);
    }
    cf_target_close(&on);
    printf("# %lld values judged, worst error / bound %.3f\n", (long long)v.judged, v.worst);
    ck_assert_int_gt(v.judged - v.skipped, 20000);
}

/* A dense f32 attention of one row, for tests that know every operation. */
struct dense {
    struct heed_checked attn;
    struct heed_checked_source source;
    struct heed_checked_term term;
    heed_buf at[6];                 /* q, o, lse, sinks, k, v */
    float *q, *k, *v, *o, lse, sink;
};

static void dense_start(struct dense *x, int64_t n_k, int64_t d, int64_t d_v)
{
    struct heed_view row = { .dtype = HEED_F32, .shape = { 1, 1, 1, 1, 1, 1 } };
    struct rng r = rng_of(99);

    *x = (struct dense){ .lse = 0 };
    x->q = calloc((size_t)(d + n_k * (d + d_v) + d_v) + 1, sizeof(float));
    x->k = x->q + d;
    x->v = x->k + n_k * d;
    x->o = x->v + n_k * d_v;
    for (int64_t i = 0; i < d + n_k * (d + d_v); i++)
        x->q[i] = (float)rng_range(&r, -4000, 4000) * 0x1p-11f;
    row.stride[4] = row.stride[5] = 1;
    x->term = (struct heed_checked_term){ .kind = HEED_TERM_ALL, .step = 1, .block = 1 };
    x->source = (struct heed_checked_source){
        .k = row,
        .v = row,
        .heads = 1,
        .n_k = n_k,
        .pos_step = 1,
        .pos_span = 1,
        .run = 1,
        .rows = 1,
        .n_terms = 1,
        .terms = &x->term,
    };
    x->source.k.shape[4] = x->source.v.shape[4] = n_k;
    x->source.k.stride[4] = x->source.k.shape[5] = d;
    x->source.v.stride[4] = x->source.v.shape[5] = d_v;
    x->attn = (struct heed_checked){
        .batch = { 1, 1, 1 },
        .n_batch = 1,
        .heads = 1,
        .d = d,
        .d_v = d_v,
        .n_q = 1,
        .q = row,
        .o = row,
        .lse = row,
        .flags = HEED_ATTN_ALIGN_START,
        .q_pos_step = 1,
        .n_sources = 1,
        .sources = &x->source,
    };
    x->attn.q.shape[5] = d;
    x->attn.o.shape[5] = d_v;
    x->at[HEED_ATTN_Q].handle = x->q;
    x->at[HEED_ATTN_O].handle = x->o;
    x->at[HEED_ATTN_LSE].handle = &x->lse;
    x->at[heed_attn_k(0)].handle = x->k;
    x->at[heed_attn_v(0)].handle = x->v;
}

static void dense_sink(struct dense *x, float sink)
{
    x->sink = sink;
    x->attn.sinks = (struct heed_view){ .dtype = HEED_F32, .shape = { 1, 1, 1, 1, 1, 1 } };
    x->at[HEED_ATTN_SINKS].handle = &x->sink;
}

static void dense_finish(struct dense *x)
{
    free(x->q);
}

/* Horner, as numerics.md writes the weight: 2^(y - e). */
static float plain_weight(float y, float e)
{
    static const float c[] = { 0.000154013524f,
                               0.00133962662f,
                               0.00961834379f,
                               0.0555032864f,
                               0.240226463f,
                               0.693147182f,
                               1.0f };
    float p = 0, f = y - rintf(y);

    for (int i = 0; i < 7; i++)
        p = fmaf(p, f, c[i]);
    return rintf(y) - e < -100 ? 0 : ldexpf(p, (int)(rintf(y) - e));
}

/* One row of a dense f32 attention without biases, all weights first and then the sums, in the
 * order of steps 5 to 9. d = 1; o and l hold one value per 1024 keys. */
static float plain_row(const float *y, const float *v, int n)
{
    float o = 0, l[16] = { 0 }, top = -INFINITY;

    for (int chunk = 0; chunk * 1024 < n; chunk++) {
        int end = chunk * 1024 + 1024 < n ? chunk * 1024 + 1024 : n;
        float o2 = 0, l2[16] = { 0 }, e = -INFINITY, m;

        for (int j = chunk * 1024; j < end; j++) {
            if (j % 64 == 0) {
                float block = y[j];

                for (int i = j; i < j + 64 && i < end; i++)
                    block = fmaxf(block, y[i]);
                block = rintf(block) + 1;
                if (block > e) {
                    float w = e - block < -100 ? 0 : ldexpf(1, (int)(e - block));

                    for (int i = 0; i < 16; i++)
                        l2[i] *= w;
                    o2 *= w;
                    e = block;
                }
            }
            l2[j % 16] += plain_weight(y[j], e);
            o2 = fmaf(plain_weight(y[j], e), v[j], o2);
        }
        if (chunk == 0) {
            top = e;
            o = o2;
            memcpy(l, l2, sizeof(l));
            continue;
        }
        m = fmaxf(top, e);
        for (int i = 0; i < 16; i++) {
            float kept = l[i] * ldexpf(1, (int)(top - m));

            l[i] = fmaf(l2[i], ldexpf(1, (int)(e - m)), kept);
        }
        o *= ldexpf(1, (int)(top - m));
        o = fmaf(o2, ldexpf(1, (int)(e - m)), o);
        top = m;
    }
    for (int w = 8; w > 0; w /= 2) {
        for (int i = 0; i < w; i++)
            l[i] += l[i + w];
    }
    return o * (1 / l[0]);
}

TEST(sums_have_the_order_of_the_definition)
{
    static const int lengths[] = { 1, 15, 16, 63, 64, 65, 1023, 1024, 1025, 2048, 3001 };

    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        int n = lengths[i];
        float *y = malloc(sizeof(*y) * (size_t)n);
        struct dense x;

        dense_start(&x, n, 1, 1);
        x.attn.scale = 9;
        for (int j = 0; j < n; j++) {
            float s = fmaf(x.q[0], x.k[j], 0);

            y[j] = s * (float)(9 * 1.4426950408889634);
        }
        run_checked(&x.attn, x.at);
        ck_assert_msg(bits_of(*x.o) == bits_of(plain_row(y, x.v, n)), "n = %d: %a, not %a", n,
                      (double)*x.o, (double)plain_row(y, x.v, n));
        dense_finish(&x);
        free(y);
    }
}

TEST(special_values_follow_the_rules)
{
    static const struct {
        float k, v, sink;
        uint32_t o, lse;
    } rows[] = {
        /* one key of value v; sink -Inf: none */
        { 0, 3, -INFINITY, 0x40400000u, 0 },
        { NAN, 3, -INFINITY, 0x7fc00000u, 0x7fc00000u },
        { INFINITY, 3, -INFINITY, 0x7fc00000u, 0x7fc00000u },
        { -INFINITY, NAN, -INFINITY, 0, 0xff800000u }, /* y = -Inf: removed */
        { -INFINITY, NAN, NAN, 0, 0x7fc00000u },       /* no key, whatever the sink */
        { -INFINITY, NAN, 2.5f, 0, 0x40200000u },
        { -INFINITY, NAN, -0.0f, 0, 0 },
        { 0, NAN, -INFINITY, 0x7fc00000u, 0 },
        { 0, INFINITY, -INFINITY, 0x7f800000u, 0 },
        { 0, 3, NAN, 0x7fc00000u, 0x7fc00000u },
        { 0, 3, INFINITY, 0x7fc00000u, 0x7fc00000u },
        { 0, 3, -3e38f, 0x40400000u, 0 },
        { 0, -1e-45f, -INFINITY, 0, 0 }, /* halved it underflows to -0, which becomes +0 */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct dense x;

        dense_start(&x, 1, 1, 1);
        x.attn.scale = 1;
        x.attn.flags |= HEED_ATTN_LSE_WITH_SINK;
        *x.q = 1;
        *x.k = rows[i].k;
        *x.v = rows[i].v;
        dense_sink(&x, rows[i].sink);
        run_checked(&x.attn, x.at);
        ck_assert_msg(bits_of(*x.o) == rows[i].o, "row %zu: o %08x, not %08x", i, bits_of(*x.o),
                      rows[i].o);
        ck_assert_msg(bits_of(x.lse) == rows[i].lse, "row %zu: lse %08x, not %08x", i,
                      bits_of(x.lse), rows[i].lse);
        dense_finish(&x);
    }
}

/* Large equal logits are told apart; a key far below contributes nothing but is multiplied. */
TEST(far_keys_and_large_logits)
{
    struct dense x;

    dense_start(&x, 3, 1, 1);
    x.attn.scale = 1;
    *x.q = 1;
    x.k[0] = 1e30f, x.k[1] = 1.5e30f, x.k[2] = -1e30f;
    x.v[0] = 1, x.v[1] = 2, x.v[2] = 4;
    run_checked(&x.attn, x.at);
    ck_assert(*x.o == 2);
    x.v[2] = INFINITY;
    run_checked(&x.attn, x.at);
    ck_assert_uint_eq(bits_of(*x.o), 0x7fc00000u);
    dense_finish(&x);
}

int main(void)
{
    cf_axes_init();
    return suite_run("reference", 240, NULL, NULL);
}
