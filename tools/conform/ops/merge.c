/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * merge: its table and its oracle (heed/attn.h).
 */
#include "softmax.h"

#include <math.h>

enum { PARTS, PARTS_LSE, SINKS, O, LSE };
enum { C_P = F_OWN, C_N, C_DV, C_END };

static const struct cf_spec specs[] = {
    { "p", "3 0 1 2 9 40", 1, -1, NULL },
    { "n", "5 0 1 33", 1, -1, NULL },
    { "dv", "8 0 1 7 16 33 64 130", 1, -1, NULL },
};

static void fill_lse(struct fixed_problem *p, struct part *part)
{
    enum { NORMAL, EXACT, SOME, NOTHING, FAR, SPECIAL };
    const double inf = 1e300 * 1e300;

    for (int64_t i = 0; i < cf_array_count(&part->a); i++) {
        const uint64_t h = part_hash(p, part, i);
        double x = (double)((int64_t)(h >> 20 & 1023) - 512) * 0x1p-6;

        if (part->holds == EXACT)
            x = h % 3 ? 0 : -inf;
        if (part->holds == NOTHING || (part->holds == SOME && h % 3 == 0))
            x = -inf;
        if (part->holds == FAR)
            x *= h % 5 ? 25 : 1e30;
        if (part->holds == SPECIAL && h % 4 == 0)
            x = h >> 8 & 1 ? inf : inf - inf;
        /* a NaN with a payload, which no output may show */
        cf_array_set(&part->a, i, cf_encode(HEED_F32, (float)x) | (x == x ? 0 : 0x2a));
    }
}

static void fill_sinks(struct fixed_problem *p, struct part *part)
{
    enum { NORMAL = 1, ZERO, REMOVED, SPECIAL, HUGE_ONE };
    const double inf = 1e300 * 1e300;

    for (int64_t i = 0; i < cf_array_count(&part->a); i++) {
        const uint64_t h = part_hash(p, part, i);
        double x = (double)((int64_t)(h % 64) - 32) * 0.125;

        if (part->holds == ZERO)
            x = 0;
        if (part->holds == REMOVED)
            x = -inf;
        if (part->holds == SPECIAL)
            x = h & 1 ? inf : inf - inf;
        if (part->holds == HUGE_ONE)
            x = h & 1 ? -3e30 : 2000.5;
        cf_array_set(&part->a, i, cf_encode(part->a.dtype, (float)x) | (x == x ? 0 : 0x2a));
    }
}

#define ARRAY(member) \
    #member, offsetof(heed_merge_desc, member), offsetof(heed_merge_args, member)

static const struct fixed_array arrays[] = {
    [PARTS] = { ARRAY(parts), MUST | IN | LEAD | BATCH | HEAD | ROWWISE, "f32 f16 bf16", 0, NULL, 0,
                NULL, fill_floats, NULL },
    [PARTS_LSE] = { ARRAY(parts_lse), MUST | IN | LEAD | BATCH | HEAD | ROWWISE_LAST, "f32", 0,
                    "normal exact some nothing far special", 0, NULL, fill_lse, NULL },
    [SINKS] = { ARRAY(sinks), IN | HEAD, "f32 f16 bf16", 0,
                "none normal zero removed special huge", 0, NULL, fill_sinks, NULL },
    [O] = { ARRAY(o), MUST | OUT | BATCH | HEAD | ROWWISE, "f32 f16 bf16", 0, NULL, 0, NULL,
            fill_nothing, NULL },
    [LSE] = { ARRAY(lse), OUT | BATCH | HEAD | ROWWISE_LAST, "f32", 0, "none plain sink", 0, NULL,
              fill_nothing, NULL },
};

static void shape(struct fixed_problem *p)
{
    const int64_t *v = p->c.v;

    part_shape(&p->part[PARTS], p->heads, v[C_N], v[C_DV]);
    part_shape(&p->part[PARTS_LSE], -1, p->heads, v[C_N]);
    p->part[PARTS].a.shape[0] = p->part[PARTS_LSE].a.shape[0] = v[C_P];
    part_shape(&p->part[SINKS], -1, -1, p->heads);
    part_shape(&p->part[O], p->heads, v[C_N], v[C_DV]);
    part_shape(&p->part[LSE], -1, p->heads, v[C_N]);
}

static bool lse_has_sink(const struct fixed_problem *p)
{
    return part_is(&p->part[LSE]) && p->part[LSE].holds == 2;
}

static void numbers(const struct fixed_problem *p, void *desc)
{
    ((heed_merge_desc *)desc)->flags |= lse_has_sink(p) ? (uint32_t)HEED_ATTN_LSE_WITH_SINK : 0;
}

/* ---- the oracle ------------------------------------------------------------------ */

static void say_lse(const struct fixed_problem *p, struct answer *a, struct soft *s, int64_t index)
{
    const double sink = lse_has_sink(p) ? s->sink : -(double)INFINITY;

    if (s->n == 0 || s->nan || isnan(sink) || sink == (double)INFINITY) {
        say_float(a, LSE, index, s->n == 0 ? sink : (double)NAN);
        return;
    }
    soft_weigh(s, lse_has_sink(p));
    soft_say_log(s, a, LSE, index);
}

/* The parts of a row that are read; `at` is where their o begins. */
static void row_gather(const struct fixed_problem *p, struct answer *a, struct soft *s, int64_t b,
                       int64_t h, int64_t i)
{
    const struct part *parts = &p->part[PARTS], *lse = &p->part[PARTS_LSE];

    soft_begin(s);
    if (part_is(&p->part[SINKS]))
        s->sink = answer_real(a, SINKS, part_at(&p->part[SINKS], 0, 0, 0, h));
    for (int64_t part = 0; part < lse->lead; part++)
        soft_add(s, answer_real(a, PARTS_LSE, part_lead_at(lse, part, b, 0, h, i)),
                 part_lead_at(parts, part, b, h, i, 0));
}

static void say(const struct fixed_problem *p, struct answer *a)
{
    const struct part *o = &p->part[O];
    struct soft s = { 0 };

    for (int64_t row = 0; row < p->n_items * p->heads * o->a.shape[2]; row++) {
        const int64_t i = row % o->a.shape[2], h = row / o->a.shape[2] % p->heads,
                      b = row / o->a.shape[2] / p->heads;

        row_gather(p, a, &s, b, h, i);
        soft_weigh(&s, true);
        for (int64_t c = 0; c < o->a.shape[3]; c++) {
            for (int64_t k = 0; k < s.n; k++)
                s.key[k].v = answer_real(a, PARTS, s.key[k].at + c);
            soft_say(&s, a, O, part_at(o, b, h, i, c));
        }
        if (part_is(&p->part[LSE]))
            say_lse(p, a, &s, part_at(&p->part[LSE], b, 0, h, i));
    }
    soft_finish(&s);
}

/* Of two extents that disagree the report may name either. */
#define SHAPE(member, axis) "shape[", offsetof(heed_merge_desc, member.shape[axis]), FAULT_I64

static const struct fixed_fault faults[] = {
    { "reserved", offsetof(heed_merge_desc, reserved), FAULT_U32, 1, HEED_E_VALUE },
    { "flags", offsetof(heed_merge_desc, flags), FAULT_U32, 1, HEED_E_FLAG },
    { SHAPE(parts, 4), 9, HEED_E_SHAPE },
    { SHAPE(parts_lse, 0), 2, HEED_E_SHAPE },
    { SHAPE(parts_lse, 2), 3, HEED_E_SHAPE },
    { SHAPE(sinks, 0), 3, HEED_E_SHAPE },
    { SHAPE(lse, 2), 4, HEED_E_SHAPE },
    { "lse", offsetof(heed_merge_desc, lse.dtype), FAULT_U32, HEED_F16, HEED_E_DTYPE },
    { "parts_lse", offsetof(heed_merge_desc, parts_lse.dtype), FAULT_U32, HEED_BF16,
      HEED_E_DTYPE },
};

static const char *const named[] = {
    "op=merge",
    "op=merge p=0 lse=sink sinks=special",
    "op=merge parts_lse=nothing lse=sink sinks=normal",
    "op=merge fill=exact parts_lse=exact sinks=zero",
};

FIXED_CALLS(heed_merge)
FIXED_RUN(heed_merge)

const struct fixed fixed_merge = {
    .op = FIXED_OP("merge"),
    .c_name = "merge",
    .check = check,
    .plan = plan,
    .run = run,
    .desc_size = sizeof(heed_merge_desc),
    .args_size = sizeof(heed_merge_args),
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .specs = specs,
    .n_specs = C_END - F_OWN,
    .extents = 1u << (C_N - F_OWN),
    .vast = 1u << (C_P - F_OWN) | 1u << (C_N - F_OWN) | 1u << (C_DV - F_OWN),
    .shape = shape,
    .numbers = numbers,
    .say = say,
    .faults = faults,
    .n_faults = sizeof faults / sizeof *faults,
    .base = "op=merge sinks=normal lse=plain",
    .named = named,
    .n_named = sizeof named / sizeof *named,
};
