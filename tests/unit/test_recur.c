/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the kit has no case for: a recurrence that is cut into several calls, what is refused of
 * arrays that go together, and more tokens than anybody could walk over.
 */
#include "support/opened.h"

#include <heed/memory.h>

#include <math.h>
#include <string.h>

enum { TOKENS = 150, GROUPS = 2, HEADS = 4, KEYS = 20, VALUES = 70 };

static const char *const devices[] = { "reference", "cpu", "cpu:scalar" };
enum { DEVICES = sizeof(devices) / sizeof(*devices), KINDS = 6, CALLS = DEVICES * KINDS * 2 };

static uint64_t state;

static uint32_t draw(void)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

/* Within `limit`; with `strange` now and then a zero with a sign, a number whose products are zeros
 * with one, a NaN or an infinity. */
static void fill(float *to, size_t n, float limit, bool strange)
{
    const float values[] = { -0.0f, 0, -0x1p-149f, 0x1p-149f, -1e-30f, 1e-30f, INFINITY, NAN };

    for (size_t i = 0; i < n; i++) {
        to[i] = ((float)(draw() % 2001) / 1000 - 1) * limit;
        if (strange && draw() % 40 == 0)
            to[i] = values[draw() % (draw() % 300 ? 6 : 8)];
    }
}

/* ---- cut into calls ---- */

static struct memory {
    float q[GROUPS * TOKENS * KEYS], k[GROUPS * TOKENS * KEYS];
    float v[HEADS * TOKENS * VALUES], o[HEADS * TOKENS * VALUES];
    float decay[HEADS * TOKENS * KEYS], beta[HEADS * TOKENS];
    float state[HEADS * KEYS * VALUES];
} start, whole, cut;

static heed_tensor rows(int64_t heads, int64_t n, int64_t width)
{
    heed_tensor t = heed_array4(HEED_F32, NULL, 1, heads, n, width).t;

    t.stride[1] = TOKENS * width; /* some of all tokens */
    return t;
}

static heed_tensor entries(int64_t n)
{
    return (heed_tensor){ HEED_F32, 3, { 1, HEADS, n }, { HEADS * TOKENS, TOKENS, 1 } };
}

static heed_recur_desc desc_of(uint32_t flags, bool factors, int64_t n)
{
    heed_recur_desc desc = {
        .size = sizeof desc,
        .flags = flags | HEED_PLAN_OWN_WORKSPACE,
        .scale = 0.5,
        .q = rows(GROUPS, n, KEYS),
        .k = rows(GROUPS, n, KEYS),
        .v = rows(HEADS, n, VALUES),
        .state = heed_array4(HEED_F32, NULL, 1, HEADS, KEYS, VALUES).t,
        .o = rows(HEADS, n, VALUES),
    };

    if (factors) {
        desc.decay = flags & HEED_RECUR_CHANNELS ? rows(HEADS, n, KEYS) : entries(n);
        desc.beta = entries(n);
    }
    return desc;
}

/* Tokens first .. first + n - 1. */
static void go_on(struct memory *m, uint32_t flags, bool factors, int64_t first, int64_t n)
{
    const heed_recur_desc desc = desc_of(flags, factors, n);
    const int64_t wide = flags & HEED_RECUR_CHANNELS ? KEYS : 1;
    const heed_recur_args args = {
        .size = sizeof args,
        .q.handle = m->q + first * KEYS,
        .k.handle = m->k + first * KEYS,
        .v.handle = m->v + first * VALUES,
        .decay.handle = factors ? m->decay + first * wide : NULL,
        .beta.handle = factors ? m->beta + first : NULL,
        .state.handle = m->state,
        .o.handle = m->o + first * VALUES,
    };
    heed_report report = { .size = sizeof report };
    heed_plan *plan = NULL;

    ck_assert_msg(heed_recur_plan(on.device, &desc, &plan, &report) == HEED_OK &&
                      heed_recur_run(plan, on.queue, &args, NULL, &report) == HEED_OK,
                  "%s: %s", report.field, report.message);
    heed_plan_drop(plan);
}

LOOP_TEST(calls_go_on_where_others_ended, CALLS)
{
    static const uint32_t flags[KINDS] = { 0,
                                           0,
                                           HEED_RECUR_CHANNELS,
                                           HEED_RECUR_DELTA,
                                           HEED_RECUR_DELTA,
                                           HEED_RECUR_DELTA | HEED_RECUR_CHANNELS };
    const uint32_t flag = flags[_i % KINDS];
    const bool factors = _i % KINDS % 3 != 0, strange = _i / KINDS % 2 != 0;

    state = (uint64_t)_i + 1;
    fill(start.q, sizeof start.q / sizeof(float), 1, strange);
    fill(start.k, sizeof start.k / sizeof(float), 0.3f, strange);
    fill(start.v, sizeof start.v / sizeof(float), 1, strange);
    fill(start.decay, sizeof start.decay / sizeof(float), 1, false);
    fill(start.beta, sizeof start.beta / sizeof(float), 1, strange);
    fill(start.state, sizeof start.state / sizeof(float), 1, strange);
    whole = cut = start;
    device_open(devices[_i / KINDS / 2]);
    go_on(&whole, flag, factors, 0, TOKENS);
    for (int64_t first = 0, n; first < TOKENS; first += n) {
        n = draw() % 70;
        n = n < TOKENS - first ? n : TOKENS - first;
        go_on(&cut, flag, factors, first, n);
    }
    device_close();
    ck_assert_mem_eq(whole.o, cut.o, sizeof whole.o);
    ck_assert_mem_eq(whole.state, cut.state, sizeof whole.state);
    ck_assert(memcmp(whole.state, start.state, sizeof whole.state) != 0);
}

/* ---- what is refused ---- */

static void expect(const heed_recur_desc *desc, heed_status status, const char *field,
                   int64_t wanted, int64_t got)
{
    heed_report report = { .size = sizeof report };

    ck_assert_int_eq(heed_recur_check(on.device, desc, &report), status);
    ck_assert_str_eq(report.field, field);
    ck_assert_int_eq(report.wanted, wanted);
    ck_assert_int_eq(report.got, got);
}

TEST(arrays_go_together)
{
    const heed_tensor none = { .ndim = 0 };
    heed_recur_desc desc;

    device_open("cpu");
    desc = desc_of(0, false, TOKENS);
    desc.o = none;
    expect(&desc, HEED_E_VALUE, "q.ndim", 0, 4);
    desc = desc_of(0, false, TOKENS);
    desc.q = none;
    expect(&desc, HEED_E_NULL, "q.ndim", 1, 0);
    desc = desc_of(HEED_RECUR_CHANNELS, false, TOKENS);
    expect(&desc, HEED_E_NULL, "decay.ndim", 1, 0);
    desc = desc_of(0, false, TOKENS);
    desc.q.shape[1] = desc.k.shape[1] = 3;
    expect(&desc, HEED_E_SHAPE, "v.shape[1]", 3, HEADS);
    desc.q.shape[1] = desc.k.shape[1] = 0;
    expect(&desc, HEED_E_SHAPE, "v.shape[1]", 0, HEADS);
    device_close();
}

/* ---- nothing to do ---- */

LOOP_TEST(what_is_nothing_takes_no_time, DEVICES)
{
    const int64_t many = (int64_t)1 << 61;
    heed_recur_desc no_keys = {
        .size = sizeof no_keys,
        .k = { HEED_F32, 3, { 1, many, 0 }, { 0, 0, 1 } },
        .v = { HEED_F32, 3, { 1, many, 2 }, { 0, 0, 1 } },
        .state = { HEED_F32, 3, { 1, 0, 2 }, { 0, 2, 1 } },
    };
    const heed_recur_desc no_values = {
        .size = sizeof no_values,
        .k = { HEED_F32, 3, { many, 2, 1 }, { 0, 0, 1 } },
        .v = { HEED_F32, 3, { many, 2, 0 }, { 0, 0, 1 } },
        .state = { HEED_F32, 3, { many, 1, 0 }, { 0, 0, 1 } },
    };
    const heed_recur_desc *const descs[] = { &no_keys, &no_values };
    float v[2] = { 1, 2 }, k[2] = { 3, 4 };

    device_open(devices[_i]);
    for (int i = 0; i < 2; i++) {
        const heed_recur_args args = {
            .size = sizeof args, .v.handle = v, .k.handle = k, .state.handle = NULL
        };
        heed_report report = { .size = sizeof report };
        heed_plan *plan = NULL;

        ck_assert_msg(heed_recur_plan(on.device, descs[i], &plan, &report) == HEED_OK &&
                          heed_recur_run(plan, on.queue, &args, NULL, &report) == HEED_OK,
                      "%s: %s", report.field, report.message);
        heed_plan_drop(plan);
    }
    device_close();
}

int main(void)
{
    return suite_run("recur", 60, NULL, NULL);
}
