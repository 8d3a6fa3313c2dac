/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the kit has no case for: tables of rotary positions against the formulas of heed/nn.h by the
 * C library's functions, and more rows without channels than anybody could walk over.
 */
#include "support/suite.h"

#include <heed/nn.h>

#include <math.h>
#include <string.h>

enum { PAIRS = 64, POSITIONS = 257 };

static float cosines[POSITIONS * PAIRS], sines[POSITIONS * PAIRS];
static const double two_pi = 6.283185307179586;

static double clamp(double x, double low, double high)
{
    return fmin(fmax(x, low), high);
}

static double frequency(const heed_rope_scaling *s, double i)
{
    const double base = s->base > 0 ? s->base : 10000;
    const double factor = s->factor > 0 ? s->factor : 1;
    const double fast = s->fast > 0 ? s->fast : 32, slow = s->slow > 0 ? s->slow : 1;
    const double plain = pow(base, -i / PAIRS);
    double low, high, w;

    if (s->kind == HEED_ROPE_SCALING_LINEAR)
        return plain / factor;
    if (s->kind == HEED_ROPE_SCALING_NTK)
        return pow(base * pow(factor, PAIRS / (PAIRS - 1.0)), -i / PAIRS);
    if (s->kind == HEED_ROPE_SCALING_PLAIN)
        return plain;
    low = floor(clamp(PAIRS * log(s->trained / (two_pi * fast)) / log(base), 0, 2 * PAIRS - 1));
    high = ceil(clamp(PAIRS * log(s->trained / (two_pi * slow)) / log(base), 0, 2 * PAIRS - 1));
    w = clamp((i - low) / (high > low ? high - low : 0.001), 0, 1);
    return plain * (1 - w + w / factor);
}

#define KIND(name) .size = sizeof(heed_rope_scaling), .kind = HEED_ROPE_SCALING_##name
static const heed_rope_scaling scalings[] = {
    { KIND(PLAIN) },
    { KIND(PLAIN), .base = 500000, .amplitude = 3 },
    { KIND(LINEAR), .factor = 4 },
    { KIND(NTK), .factor = 8 },
    { KIND(YARN), .factor = 16, .trained = 4096 },
    { KIND(YARN), .factor = 40, .trained = 4096, .fast = 20, .slow = 2, .base = 1e6,
      .amplitude = 1 },
};

/* Far positions lose bits of the frequency: 1e-9 at a million. */
LOOP_TEST(tables_are_those_of_the_formulas, sizeof(scalings) / sizeof(*scalings))
{
    const heed_rope_scaling *s = &scalings[_i];
    const int64_t firsts[] = { 0, 4000, 1000000 };

    for (int k = 0; k < 3; k++) {
        ck_assert_int_eq(heed_rope_tables(s, firsts[k], POSITIONS, PAIRS, cosines, sines),
                         HEED_OK);
        for (int64_t at = 0; at < POSITIONS * PAIRS; at++) {
            const double f = frequency(s, (double)(at % PAIRS));
            const double amplitude = s->amplitude != 0                   ? s->amplitude
                                     : s->kind == HEED_ROPE_SCALING_YARN ? 1 + log(s->factor) / 10
                                                                         : 1;
            const double angle = (double)(firsts[k] + at / PAIRS) * f;

            ck_assert_double_le(fabs((double)cosines[at] - amplitude * cos(angle)),
                                amplitude * (0x1p-24 * fabs(cos(angle)) + 1e-9));
            ck_assert_double_le(fabs((double)sines[at] - amplitude * sin(angle)),
                                amplitude * (0x1p-24 * fabs(sin(angle)) + 1e-9));
        }
    }
}

/* Tables cut anywhere are the same tables, and far positions are on the circle. */
TEST(tables_of_parts_are_parts_of_tables)
{
    static float c[4 * PAIRS], s[4 * PAIRS];

    ck_assert_int_eq(heed_rope_tables(NULL, 0, POSITIONS, PAIRS, cosines, sines), HEED_OK);
    ck_assert_int_eq(heed_rope_tables(NULL, 100, 4, PAIRS, c, s), HEED_OK);
    ck_assert_mem_eq(c, cosines + (ptrdiff_t)100 * PAIRS, sizeof(c));
    ck_assert_mem_eq(s, sines + (ptrdiff_t)100 * PAIRS, sizeof(s));
    ck_assert_int_eq(heed_rope_tables(NULL, (INT64_C(1) << 31) - 4, 4, PAIRS, c, s), HEED_OK);
    for (int i = 0; i < 4 * PAIRS; i++)
        ck_assert_double_le(fabs((double)c[i] * (double)c[i] + (double)s[i] * (double)s[i] - 1),
                            1e-6);
}

TEST(what_is_wrong_writes_nothing)
{
    static const heed_rope_scaling wrong[] = {
        { .size = sizeof(wrong[0]), .kind = 4 },
        { .size = sizeof(wrong[0]), .base = 1 },
        { .size = sizeof(wrong[0]), .base = -3 },
        { .size = sizeof(wrong[0]), .factor = 0.5 },
        { .size = sizeof(wrong[0]), .amplitude = -1 },
        { .size = sizeof(wrong[0]), .kind = HEED_ROPE_SCALING_YARN, .factor = 2 },
        { .size = sizeof(wrong[0]), .kind = HEED_ROPE_SCALING_YARN, .trained = 100, .slow = -1 },
        { .size = sizeof(wrong[0]), .base = (double)NAN },
        { .size = sizeof(wrong[0]), .factor = (double)INFINITY },
    };
    const heed_rope_scaling ntk = { .size = sizeof(ntk), .kind = HEED_ROPE_SCALING_NTK },
                            small = { .size = 8 };
    float c[2] = { 7, 7 }, s[2] = { 7, 7 };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        ck_assert_int_eq(heed_rope_tables(&wrong[i], 0, 1, 2, c, s), HEED_E_VALUE);
    ck_assert_int_eq(heed_rope_tables(&ntk, 0, 2, 1, c, s), HEED_E_VALUE);
    ck_assert_int_eq(heed_rope_tables(&small, 0, 1, 1, c, s), HEED_E_SIZE);
    ck_assert_int_eq(heed_rope_tables(NULL, -1, 1, 1, c, s), HEED_E_VALUE);
    ck_assert_int_eq(heed_rope_tables(NULL, 0, -1, 1, c, s), HEED_E_VALUE);
    ck_assert_int_eq(heed_rope_tables(NULL, INT64_C(1) << 31, 1, 1, c, s), HEED_E_OVERFLOW);
    ck_assert_int_eq(heed_rope_tables(NULL, 0, 1 << 30, INT64_MAX / 8, c, s), HEED_E_OVERFLOW);
    ck_assert_int_eq(heed_rope_tables(NULL, 0, 1, 1, NULL, s), HEED_E_NULL);
    ck_assert_int_eq(heed_rope_tables(NULL, 0, 0, 1, NULL, NULL), HEED_OK);
    ck_assert(c[0] == 7 && c[1] == 7 && s[0] == 7 && s[1] == 7);
}

/* ---- rows without channels ---- */

static void run_at_once(heed_queue *queue, const heed_tensor *rows, const heed_tensor *table)
{
    const heed_norm_desc norm = {
        .size = sizeof(norm), .flags = HEED_PLAN_OWN_WORKSPACE, .x = *rows, .y = *rows
    };
    const heed_rope_desc rope = { .size = sizeof(rope),
                                  .flags = HEED_PLAN_OWN_WORKSPACE,
                                  .x = *rows,
                                  .cos = *table,
                                  .sin = *table,
                                  .y = *rows };
    const heed_norm_args norm_args = { .size = sizeof(norm_args) };
    const heed_rope_args rope_args = { .size = sizeof(rope_args) };
    heed_report report = { .size = sizeof(report) };
    heed_plan *plan = NULL;

    ck_assert_msg(heed_norm_plan(heed_queue_device(queue), &norm, &plan, &report) == HEED_OK &&
                      heed_norm_run(plan, queue, &norm_args, NULL, &report) == HEED_OK,
                  "%s: %s", report.field, report.message);
    heed_plan_drop(plan);
    ck_assert_msg(heed_rope_plan(heed_queue_device(queue), &rope, &plan, &report) == HEED_OK &&
                      heed_rope_run(plan, queue, &rope_args, NULL, &report) == HEED_OK,
                  "%s: %s", report.field, report.message);
    heed_plan_drop(plan);
}

TEST(rows_without_channels_take_no_time)
{
    const heed_tensor rows = { HEED_F32, 2, { (int64_t)1 << 62, 0 }, { 0, 1 } };
    const heed_tensor table = { HEED_F32, 2, { 40, 0 }, { 0, 1 } };
    const char *const devices[] = { "reference", "cpu", "cpu:scalar" };
    heed_report report = { .size = sizeof(report) };
    heed_runtime *runtime = NULL;

    ck_assert_int_eq(heed_runtime_create(NULL, &runtime, &report), HEED_OK);
    for (int i = 0; i < 3; i++) {
        heed_device *device = NULL;
        heed_queue *queue = NULL;

        ck_assert_int_eq(heed_device_find(runtime, devices[i], &device, &report), HEED_OK);
        ck_assert_int_eq(heed_queue_create(device, 0, &queue, &report), HEED_OK);
        run_at_once(queue, &rows, &table);
        heed_queue_destroy(queue);
    }
    heed_runtime_destroy(runtime);
}

int main(void)
{
    return suite_run("nn", 60, NULL, NULL);
}
