/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The reference on checked descriptors: against the oracle within its bound, against answers known
 * exactly, against a plain loop for the order of its sums, and under every FP environment.
 */
#include "draw.h"
#include "oracle.h"

#include <check.h>
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

extern const struct heed_backend heed_reference_backend;

static const heed_executor one_lane = { .size = sizeof(heed_executor), .width = 1 };
static const struct heed_services services = { .executor = &one_lane };

/* Binds and runs; the workspace is poisoned and as small as bind says. */
static void run_checked(const struct heed_checked *attn, const struct test_arrays *bound)
{
    const struct heed_impl *impl = heed_reference_backend.impls[0];
    struct heed_plan plan = { .backend = &heed_reference_backend, .impl = impl, .attn = attn };
    struct heed_error_detail detail = { .native = 0 };
    heed_buf at[HEED_MAX_OPERANDS];
    struct heed_launch launch = { .at = at, .detail = &detail };

    plan.n_operands = test_arrays_place(attn, bound, at);
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

/* A written element must be NaN-free here and never -0. */
static int is_minus_zero(uint32_t dtype, const void *base, int64_t at)
{
    return dtype == HEED_F32 ? bits_of(((const float *)base)[at]) == 0x80000000u
                             : ((const uint16_t *)base)[at] == 0x8000u;
}

/* The ratio of error and bound, largest over the row's outputs and its LSE. */
static long double row_quality(const struct draw *draw, int64_t item, int64_t head, int64_t row,
                               struct oracle_row *wanted)
{
    const struct heed_checked *attn = &draw->attn;
    long double worst = 0, got;
    int64_t begin, length, at;

    oracle_query(attn, &draw->bound, item, &begin, &length);
    oracle_row_find(attn, &draw->bound, item, head, row, wanted);
    for (int64_t t = 0; t < attn->d_v; t++) {
        at = draw_offset(&attn->o, draw, item, head, begin + row, t);
        got = oracle_load(attn->o.dtype, draw->bound.o, at);
        if (is_minus_zero(attn->o.dtype, draw->bound.o, at))
            ck_abort_msg("-0, seed %llu", (unsigned long long)draw->seed);
        if (wanted->keys == 0 ? got != 0 : !(fabsl(got - wanted->o[t]) <= wanted->tolerance[t]))
            ck_abort_msg("seed %llu item %lld head %lld row %lld channel %lld: %.9Lg, not %.9Lg",
                         (unsigned long long)draw->seed, (long long)item, (long long)head,
                         (long long)row, (long long)t, got, wanted->o[t]);
        if (wanted->keys > 0 && fabsl(got - wanted->o[t]) > worst * wanted->tolerance[t])
            worst = fabsl(got - wanted->o[t]) / wanted->tolerance[t];
    }
    if (attn->lse.dtype) {
        at = draw_offset(&attn->lse, draw, item, head, begin + row, 0);
        got = oracle_load(HEED_F32, draw->bound.lse, at);
        if (wanted->keys == 0 ? got != wanted->lse
                              : !(fabsl(got - wanted->lse) <= wanted->lse_tolerance))
            ck_abort_msg("seed %llu item %lld head %lld row %lld: lse %.9Lg, not %.9Lg",
                         (unsigned long long)draw->seed, (long long)item, (long long)head,
                         (long long)row, got, wanted->lse);
    }
    return worst;
}

static void against_oracle(uint64_t first_seed, int cases, const struct draw_limits *limits)
{
    long double worst = 0, o[64], tolerance[64];
    struct oracle_row wanted = { .o = o, .tolerance = tolerance };
    int64_t rows = 0, with_keys = 0;
    struct draw draw;

    for (int i = 0; i < cases; i++) {
        const struct heed_checked *attn = &draw.attn;

        draw_start(&draw, first_seed + (uint64_t)i, limits);
        run_checked(attn, &draw.bound);
        for (int64_t item = 0; item < attn->n_batch; item++) {
            int64_t begin, length;

            oracle_query(attn, &draw.bound, item, &begin, &length);
            if (attn->q_layout != HEED_LAYOUT_RAGGED)
                length = attn->n_q;
            for (int64_t row = 0; row < length; row++) {
                int64_t head = (row + i) % attn->heads;
                long double q = row_quality(&draw, item, head, row, &wanted);

                worst = q > worst ? q : worst;
                rows++;
                with_keys += wanted.keys > 0;
            }
        }
        draw_finish(&draw);
    }
    printf("# %lld rows, %lld with keys, worst error / bound %.3Lf\n", (long long)rows,
           (long long)with_keys, worst);
    ck_assert_int_gt(with_keys, rows / 3);
    ck_assert(worst <= 1);
}

START_TEST(rows_are_within_the_bound)
{
    static const struct draw_limits small = { .n_q = 24, .n_k = 60, .d = 24, .d_v = 12 };

    against_oracle(1000, 600, &small);
}
END_TEST

START_TEST(long_rows_are_within_the_bound)
{
    static const struct draw_limits longer = { .n_q = 4, .n_k = 2600, .d = 8, .d_v = 3 };

    against_oracle(2000, 40, &longer);
}
END_TEST

/* Rewrites K and V for one row: a power of two of its keys (with multiplicity) at logit 0, the
 * other visible ones far below, the unseen ones NaN or far above. Returns log2 of the wanted. */
static int fill_exact(struct draw *draw, int64_t item, int64_t head, int64_t row, int64_t *sum)
{
    const struct heed_checked *attn = &draw->attn;
    int64_t total = 0, best = 0, seen = 0, k = 0;
    int log2_best = -1;

    for (int pass = 0; pass < 2; pass++) {
        seen = total = 0;
        for (uint32_t s = 0; s < attn->n_sources; s++) {
            const struct heed_checked_source *source = &attn->sources[s];
            int64_t begin, length, h = head * source->heads / attn->heads;

            oracle_keys(attn, &draw->bound, item, s, &begin, &length);
            for (int64_t key = 0; key < length; key++) {
                int64_t times = oracle_sees(attn, &draw->bound, item, head, row, s, key);
                int wanted = times > 0 && ++seen <= best;
                int64_t k_at = draw_offset(&source->k, draw, item, h, begin + key, 0);
                int64_t v_at = draw_offset(&source->v, draw, item, h, begin + key, 0);
                int64_t v = draw_range(&draw->state, -7, 7);

                total += times;
                if (pass == 0) {
                    if (times > 0 && total > 0 && (total & (total - 1)) == 0) {
                        best = seen;
                        for (log2_best = 0; (INT64_C(1) << log2_best) < total; log2_best++)
                            ;
                    }
                    continue;
                }
                k = wanted ? 0 : times > 0 ? -200 : 200;
                draw_put(source->k.dtype, (void *)(uintptr_t)draw->k[s], k_at, k, 0);
                draw_put(source->v.dtype, (void *)(uintptr_t)draw->v[s], v_at, v, 0);
                *sum += wanted ? times * v : 0;
                if (times == 0 && draw_range(&draw->state, 0, 1)) {
                    draw_put_special(source->k.dtype, (void *)(uintptr_t)draw->k[s], k_at, 1, 0);
                    draw_put_special(source->v.dtype, (void *)(uintptr_t)draw->v[s], v_at,
                                     (int)draw_range(&draw->state, 0, 1), 1);
                }
            }
        }
    }
    return total > 0 && log2_best < 0 ? -2 : log2_best;
}

/* K and V of these cases must not repeat, or a key could not be told from its neighbour. */
static int repeats(const struct draw *draw)
{
    for (uint32_t s = 0; s < draw->attn.n_sources; s++) {
        const struct heed_checked_source *source = &draw->sources[s];
        const struct heed_view *views[2] = { &source->k, &source->v };

        for (int i = 0; i < 2; i++) {
            for (int axis = 0; axis < 5; axis++) {
                if (views[i]->stride[axis] == 0 && views[i]->shape[axis] > 1)
                    return 1;
            }
        }
        if (source->layout == HEED_LAYOUT_RAGGED) /* its sequences may overlap */
            return draw->attn.n_batch > 1;
    }
    return 0;
}

START_TEST(exact_answers_are_exact)
{
    static const struct draw_limits limits = { .n_q = 16, .n_k = 90, .d = 1, .d_v = 1, .plain = 1 };
    int done = 0;
    struct draw draw;

    for (uint64_t seed = 5000; seed < 9000; seed++) {
        struct heed_checked *attn = &draw.attn;
        int64_t item, head, row, begin, length, sum = 0, at;
        int log2_wanted;

        draw_start(&draw, seed, &limits);
        attn->scale = 1;
        item = draw_range(&draw.state, 0, attn->n_batch - 1);
        head = draw_range(&draw.state, 0, attn->heads - 1);
        oracle_query(attn, &draw.bound, item, &begin, &length);
        if (attn->d == 1 && attn->d_v == 1 && length > 0 && !repeats(&draw)) {
            row = draw_range(&draw.state, 0, length - 1);
            draw_put(attn->q.dtype, (void *)(uintptr_t)draw.bound.q,
                     draw_offset(&attn->q, &draw, item, head, begin + row, 0), 1, 0);
            log2_wanted = fill_exact(&draw, item, head, row, &sum);
            run_checked(attn, &draw.bound);
            at = draw_offset(&attn->o, &draw, item, head, begin + row, 0);
            ck_assert_msg(log2_wanted == -2 ||
                              oracle_load(attn->o.dtype, draw.bound.o, at) ==
                                  (log2_wanted < 0 ? 0 : ldexpl(sum, -log2_wanted)),
                          "seed %llu: sum %lld / 2^%d", (unsigned long long)seed, (long long)sum,
                          log2_wanted);
            done += log2_wanted >= 0;
        }
        draw_finish(&draw);
    }
    printf("# %d exact rows\n", done);
    ck_assert_int_ge(done, 300);
}
END_TEST

/* A dense f32 attention of one row, for tests that know every operation. */
struct dense {
    struct heed_checked attn;
    struct heed_checked_source source;
    struct heed_checked_term term;
    struct test_arrays bound;
    const void *k_list[1], *v_list[1];
    float *q, *k, *v, *o, lse, sink;
};

static void dense_start(struct dense *x, int64_t n_k, int64_t d, int64_t d_v)
{
    struct heed_view row = { .dtype = HEED_F32, .shape = { 1, 1, 1, 1, 1, 1 } };
    uint64_t state = 99;

    *x = (struct dense){ .k_list = { NULL } };
    x->q = calloc((size_t)(d + n_k * (d + d_v) + d_v) + 1, sizeof(float));
    x->k = x->q + d;
    x->v = x->k + n_k * d;
    x->o = x->v + n_k * d_v;
    for (int64_t i = 0; i < d + n_k * (d + d_v); i++)
        x->q[i] = (float)draw_range(&state, -4000, 4000) * 0x1p-11f;
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
    x->k_list[0] = x->k;
    x->v_list[0] = x->v;
    x->bound = (struct test_arrays){
        .q = x->q,
        .o = x->o,
        .lse = &x->lse,
        .k = x->k_list,
        .v = x->v_list,
    };
}

static void dense_sink(struct dense *x, float sink)
{
    x->sink = sink;
    x->attn.sinks = (struct heed_view){ .dtype = HEED_F32, .shape = { 1, 1, 1, 1, 1, 1 } };
    x->bound.sinks = &x->sink;
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

START_TEST(sums_have_the_order_of_the_definition)
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
        run_checked(&x.attn, &x.bound);
        ck_assert_msg(bits_of(*x.o) == bits_of(plain_row(y, x.v, n)), "n = %d: %a, not %a", n,
                      (double)*x.o, (double)plain_row(y, x.v, n));
        dense_finish(&x);
        free(y);
    }
}
END_TEST

START_TEST(special_values_follow_the_rules)
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
        run_checked(&x.attn, &x.bound);
        ck_assert_msg(bits_of(*x.o) == rows[i].o, "row %zu: o %08x, not %08x", i, bits_of(*x.o),
                      rows[i].o);
        ck_assert_msg(bits_of(x.lse) == rows[i].lse, "row %zu: lse %08x, not %08x", i,
                      bits_of(x.lse), rows[i].lse);
        dense_finish(&x);
    }
}
END_TEST

/* Large equal logits are told apart; a key far below contributes nothing but is multiplied. */
START_TEST(far_keys_and_large_logits)
{
    struct dense x;

    dense_start(&x, 3, 1, 1);
    x.attn.scale = 1;
    *x.q = 1;
    x.k[0] = 1e30f, x.k[1] = 1.5e30f, x.k[2] = -1e30f;
    x.v[0] = 1, x.v[1] = 2, x.v[2] = 4;
    run_checked(&x.attn, &x.bound);
    ck_assert(*x.o == 2);
    x.v[2] = INFINITY;
    run_checked(&x.attn, &x.bound);
    ck_assert_uint_eq(bits_of(*x.o), 0x7fc00000u);
    dense_finish(&x);
}
END_TEST

static unsigned flush_bits(unsigned set)
{
#ifdef __SSE2__
    unsigned before = _mm_getcsr();

    _mm_setcsr((before & ~0x8040u) | set);
    return before & 0x8040u;
#else
    (void)set;
    return 0;
#endif
}

START_TEST(any_fp_environment_gives_the_same_bits)
{
    static const int modes[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
    static const unsigned flushes[] = { 0, 0x8000u, 0x0040u, 0x8040u };
    struct dense x;
    uint32_t wanted[8] = { 0 }, lse = 0;

    dense_start(&x, 300, 5, 8);
    x.attn.softcap = 20;
    for (int j = 0; j < 300; j++)
        x.v[8 * j] *= 0x1p-130f; /* subnormal output */
    for (int mode = 0; mode < 4; mode++) {
        for (int flush = 0; flush < 4; flush++) {
            int round_after, flags_after;
            unsigned flush_after;

            fesetround(modes[mode]);
            flush_bits(flushes[flush]);
            feclearexcept(FE_ALL_EXCEPT);
            feraiseexcept(FE_DIVBYZERO);
            run_checked(&x.attn, &x.bound);
            flags_after = fetestexcept(FE_ALL_EXCEPT);
            round_after = fegetround();
            flush_after = flush_bits(0);
            fesetenv(FE_DFL_ENV);
            ck_assert_int_eq(flags_after, FE_DIVBYZERO);
            ck_assert_int_eq(round_after, modes[mode]);
#ifdef __SSE2__
            ck_assert_uint_eq(flush_after, flushes[flush]);
#endif
            (void)flush_after;
            for (int t = 0; t < 8; t++) {
                if (mode == 0 && flush == 0)
                    wanted[t] = bits_of(x.o[t]);
                ck_assert_uint_eq(bits_of(x.o[t]), wanted[t]);
            }
            lse = mode == 0 && flush == 0 ? bits_of(x.lse) : lse;
            ck_assert_uint_eq(bits_of(x.lse), lse);
        }
    }
    ck_assert_uint_ne(wanted[0], 0);
    ck_assert_uint_lt(wanted[0] & 0x7fffffffu, 0x00800000u);
    dense_finish(&x);
}
END_TEST

START_TEST(the_device_describes_itself)
{
    heed_device_props props = { .size = sizeof(props) };

    ck_assert_uint_eq(heed_reference_backend.kind, HEED_DEVICE_REFERENCE);
    ck_assert_uint_eq(heed_reference_backend.count(), 1);
    heed_reference_backend.describe(0, &props);
    ck_assert_str_eq(props.name, "reference");
    ck_assert_uint_eq(props.exact, 1);
    ck_assert_int_eq(props.usable, HEED_OK);
    ck_assert(heed_reference_backend.impls[0]->op == HEED_OP_ATTN);
    ck_assert_ptr_null(heed_reference_backend.impls[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reference");
    TCase *tests = tcase_create("run");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tests, 240);
    tcase_add_test(tests, rows_are_within_the_bound);
    tcase_add_test(tests, long_rows_are_within_the_bound);
    tcase_add_test(tests, exact_answers_are_exact);
    tcase_add_test(tests, sums_have_the_order_of_the_definition);
    tcase_add_test(tests, special_values_follow_the_rules);
    tcase_add_test(tests, far_keys_and_large_logits);
    tcase_add_test(tests, any_fp_environment_gives_the_same_bits);
    tcase_add_test(tests, the_device_describes_itself);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
