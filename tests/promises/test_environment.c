/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The caller's floating-point environment: whatever the rounding mode, flushing of subnormals and
 * unmasked exceptions, runtime, plan and run give the same bits, and leave modes and sticky flags
 * as they found them.
 */
#include "op_work.h"
#include "work.h"
#include "support/suite.h"

#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>

#if defined __SSE2__
#include <xmmintrin.h>
enum { FLUSHES = 4 };
static void flush_set(int which) /* bit 0: FTZ, bit 1: DAZ */
{
    _mm_setcsr((_mm_getcsr() & ~0x8040u) | (which & 1 ? 0x8000u : 0) | (which & 2 ? 0x40u : 0));
}
static unsigned control_word(void)
{
    return _mm_getcsr();
}
#else
enum { FLUSHES = 1 };
static void flush_set(int which)
{
    (void)which;
}
static unsigned control_word(void)
{
    return 0;
}
#endif

enum { TRAPS = 4 };

static void traps_set(int which)
{
#if defined __GLIBC__
    static const int sets[TRAPS] = { 0, FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW, FE_ALL_EXCEPT,
                                     FE_INEXACT | FE_UNDERFLOW };

    feenableexcept(sets[which]);
#else
    (void)which;
#endif
}

static int traps_of(void)
{
#if defined __GLIBC__
    return fegetexcept();
#else
    return 0;
#endif
}

static const struct {
    int mode;
    const char *name;
} roundings[] = {
    { FE_TONEAREST, "to nearest" },
    { FE_UPWARD, "upward" },
    { FE_DOWNWARD, "downward" },
    { FE_TOWARDZERO, "toward zero" },
};
enum { ROUNDINGS = sizeof(roundings) / sizeof(roundings[0]) };

struct found {
    int rounding, traps, flags;
    unsigned control;
};

static struct found look(void)
{
    const struct found f = { fegetround(), traps_of(), fetestexcept(FE_ALL_EXCEPT),
                             control_word() };

    return f;
}

static void same(const struct found *a, const char *after, const char *where)
{
    const struct found b = look();

    ck_assert_msg(a->rounding == b.rounding && a->traps == b.traps && a->flags == b.flags &&
                      a->control == b.control,
                  "%s: rounding %d, now %d; traps %x, now %x; flags %x, now %x; word %x, now %x "
                  "after %s",
                  where, a->rounding, b.rounding, (unsigned)a->traps, (unsigned)b.traps,
                  (unsigned)a->flags, (unsigned)b.flags, a->control, b.control, after);
}

/* The whole life of a plan in a strange environment, which each call leaves alone. */
static void life(struct work *w, const char *device, uint32_t width, const char *how)
{
    const heed_executor e = width_of(width);
    const struct found before = look();
    heed_attn_args args = w->g.args;
    heed_plan *plan = NULL;
    struct place p;
    struct space space;
    heed_status status;

    if (!place_open(&p, device, &e))
        return;
    same(&before, "the runtime", how);
    status = heed_attn_plan(p.device, &w->g.desc, &plan, NULL);
    same(&before, "plan", how);
    ck_assert_int_eq(status, HEED_OK);
    space_start(&space, plan);
    space_into(&space, &args);
    work_poison(w);
    status = heed_attn_run(plan, p.queue, &args, NULL, NULL);
    same(&before, "run", how);
    ck_assert_int_eq(status, HEED_OK);
    work_judge(w, device, how);
    space_finish(&space);
    heed_plan_drop(plan);
    place_close(&p);
}

/* An odd number of sticky flags is up before. */
static void strange(int rounding, int flush, int trap)
{
    fesetenv(FE_DFL_ENV);
    if (trap == 0) {
        feclearexcept(FE_ALL_EXCEPT);
        feraiseexcept(rounding % 2 ? FE_UNDERFLOW : FE_DIVBYZERO);
    }
    fesetround(roundings[rounding].mode);
    flush_set(flush);
    traps_set(trap);
}

static const char *const cases[] = { "dense_default_scale", "softcap_small", "subnormal",
                                     "subnormal_chunks",    "sink_in_lse",   "far_weights",
                                     "bf16",                "f16_extremes",  "bias_alibi",
                                     "many_rows",           "many_globals",  "everything" };
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

/* Values that are no numbers need no traps: those are for finite input. */
LOOP_TEST(environment_changes_no_bit_and_is_left_alone, place_count() * (int)CASES)
{
    const char *device = place_name(_i / CASES);
    struct work w;

    work_start(&w, work_find(cases[_i % CASES]));
    for (int i = 0; i < (int)ROUNDINGS * FLUSHES * TRAPS; i++) {
        const int rounding = i % (int)ROUNDINGS, flush = i / (int)ROUNDINGS % FLUSHES;
        const int trap = i / (int)ROUNDINGS / FLUSHES;

        if (!suite_turn((size_t)(i + _i), 9)) /* each of them meets many cases */
            continue;
        for (uint32_t width = 1; width <= (_i < CASES ? 1 : 2); width++) {
            char how[96];

            snprintf(how, sizeof(how), "rounding %s, flush %d, traps %d, %u workers",
                     roundings[rounding].name, flush, trap, (unsigned)width);
            strange(rounding, flush, trap);
            life(&w, device, width, how);
            fesetenv(FE_DFL_ENV);
        }
    }
    work_finish(&w);
}

/* NaN and infinities everywhere raise flags inside, none of which gets out. */
LOOP_TEST(flags_of_special_values_stay_inside, place_count())
{
    static const char *const specials[] = { "specials", "nan_scores", "huge", "sink_special",
                                            "bias_removes" };

    for (size_t c = 0; c < sizeof(specials) / sizeof(specials[0]); c++) {
        struct work w;

        work_start(&w, work_find(specials[c]));
        for (int trap = 0; trap < 2; trap++) {
            for (uint32_t width = 1; width <= 2; width++) {
                strange(1, FLUSHES - 1, trap);
                life(&w, place_name(_i), width, specials[c]);
                fesetenv(FE_DFL_ENV);
            }
        }
        work_finish(&w);
    }
}

/* The whole life of a plan of an operation. */
static void operation_life(const struct op_work *w, const char *device, uint32_t width,
                           const char *how)
{
    const heed_executor e = width_of(width);
    const struct found before = look();
    heed_plan *plan = NULL;
    struct op_run *run;
    struct place p;

    if (!place_open(&p, device, &e))
        return;
    ck_assert_int_ge(op_work_plan(w, p.device, 0, &plan), 0);
    same(&before, "plan", how);
    run = op_run_start(w, p.device, p.queue, plan);
    same(&before, "memory", how);
    ck_assert_int_ge(op_run_go(run, plan, NULL), 0);
    same(&before, "run", how);
    ck_assert_msg(op_run_right(run), "%s on %s: %s", op_work_line(w), device, how);
    op_run_finish(run);
    heed_plan_drop(plan);
    place_close(&p);
}

LOOP_TEST(environment_changes_no_operation_and_is_left_alone, place_count())
{
    for (int c = 0; c < op_work_count(); c++) {
        struct op_work *w;

        if (!suite_turn((size_t)(c + _i), 2))
            continue;
        w = op_work_start(c);
        for (int i = 0; i < (int)ROUNDINGS * FLUSHES * TRAPS; i++) {
            const int rounding = i % (int)ROUNDINGS, flush = i / (int)ROUNDINGS % FLUSHES;
            const int trap = i / (int)ROUNDINGS / FLUSHES;
            char how[128];

            if ((i + c) % (suite_all() ? 6 : 13)) /* each of them meets many cases */
                continue;
            snprintf(how, sizeof(how), "rounding %s, flush %d, traps %d: %.60s",
                     roundings[rounding].name, flush, trap, op_work_line(w));
            strange(rounding, flush, trap);
            operation_life(w, place_name(_i), 1 + (uint32_t)(i & 1), how);
            fesetenv(FE_DFL_ENV);
        }
        op_work_finish(w);
    }
}

int main(void)
{
    return suite_run("environment", 240, NULL, NULL);
}
