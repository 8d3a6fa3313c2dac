/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * act: its table and its oracle (heed/nn.h): the function in double with the error that the header
 * allows it.
 */
#include "activation.h"
#include "operations.h"

#include <float.h>
#include <math.h>

enum { X, FACTOR, ADD, Y };
enum { C_N = F_OWN, C_D, C_KIND, C_END };

static const double u = 0x1p-24, least = 0x1p-149;

static const struct cf_spec specs[] = {
    { "n", "5 0 1 4 33", 1, -1, NULL },
    { "d", "8 0 1 7 16 33 64 130 1000", 1, -1, NULL },
    { "kind", ACTIVATION_WORDS, 0, -1, NULL },
};

#define ARRAY(member) #member, offsetof(heed_act_desc, member), offsetof(heed_act_args, member)

static const struct fixed_array arrays[] = {
    [X] = { ARRAY(x), MUST | IN | BATCH | HEAD | ROWWISE, "f32 f16 bf16", 0, NULL, 0, NULL,
            fill_floats, NULL },
    [FACTOR] = { ARRAY(factor), IN | BATCH | HEAD | ROWWISE, "f32 f16 bf16", 0, "none there", 0,
                 NULL, fill_floats, NULL },
    [ADD] = { ARRAY(add), IN | BATCH | HEAD | ROWWISE, "f32 f16 bf16", 0, "none there", 0, NULL,
              fill_floats, NULL },
    [Y] = { ARRAY(y), MUST | OUT | BATCH | HEAD | ROWWISE, "f32 f16 bf16", 0, NULL, 0, NULL,
            fill_nothing, NULL },
};

static void shape(struct fixed_problem *p)
{
    for (int i = X; i <= Y; i++)
        part_shape(&p->part[i], p->heads, p->c.v[C_N], p->c.v[C_D]);
}

static void numbers(const struct fixed_problem *p, void *desc)
{
    ((heed_act_desc *)desc)->kind = (uint32_t)p->c.v[C_KIND];
}

/* ---- the oracle ------------------------------------------------------------------ */

static double other_at(const struct fixed_problem *p, struct answer *a, int array, int64_t b,
                       int64_t h, int64_t i, int64_t t, double absent)
{
    if (!part_is(&p->part[array]))
        return absent;
    return answer_real(a, array, part_at(&p->part[array], b, h, i, t));
}

static void say_element(const struct fixed_problem *p, struct answer *a, int64_t b, int64_t h,
                        int64_t i, int64_t t)
{
    const int64_t index = part_at(&p->part[Y], b, h, i, t);
    const uint32_t kind = (uint32_t)p->c.v[C_KIND];
    const double x = answer_real(a, X, part_at(&p->part[X], b, h, i, t));
    const double factor = other_at(p, a, FACTOR, b, h, i, t, 1);
    const double add = other_at(p, a, ADD, b, h, i, t, 0);
    const double f = activation(kind, x), off = isfinite(x) ? activation_error(kind, x, f) : 0;
    const double y = f * factor + add;
    const bool alone = !part_is(&p->part[FACTOR]) && !part_is(&p->part[ADD]);

    if (isnan(x) || isnan(factor) || isnan(add))
        say_float(a, Y, index, (double)NAN);
    else if (!isfinite(factor) || !isfinite(add))
        say_kind(a, Y, index, SAID_INFINITE); /* of 0 by an infinity NaN, and f may be 0 */
    else if (!isfinite(x) && isfinite(f))
        say_float(a, Y, index, y); /* a limit: exact */
    else if (!isfinite(x))
        say_float(a, Y, index, factor == 0 ? (double)NAN : y);
    else if (fabs(f) + off > 0x1p127 || fabs(y) + off * fabs(factor) > 0x1p127)
        say_kind(a, Y, index, SAID_VAGUE);
    else if (alone && off == 0)
        say_float(a, Y, index, f);
    else
        say_near(a, Y, index, y,
                 off * fabs(factor) + (alone ? 0 : u * (fabs(y) + off * fabs(factor)) + least));
}

static void say(const struct fixed_problem *p, struct answer *a)
{
    const struct part *y = &p->part[Y];

    for (int64_t b = 0; b < p->n_items; b++) {
        for (int64_t h = 0; h < p->heads; h++) {
            for (int64_t i = 0; i < y->a.shape[2]; i++) {
                for (int64_t t = 0; t < y->a.shape[3]; t++)
                    say_element(p, a, b, h, i, t);
            }
        }
    }
}

/* ---- what is wrong ----------------------------------------------------------------- */

/* Of two extents that disagree the report may name either. */
#define SHAPE(member, axis) "shape[", offsetof(heed_act_desc, member.shape[axis]), FAULT_I64

static const struct fixed_fault faults[] = {
    { "flags", offsetof(heed_act_desc, flags), FAULT_U32, 1, HEED_E_FLAG },
    { "kind", offsetof(heed_act_desc, kind), FAULT_U32, 10, HEED_E_VALUE },
    { SHAPE(factor, 3), 7, HEED_E_SHAPE },
    { SHAPE(add, 2), 4, HEED_E_SHAPE },
    { "factor", offsetof(heed_act_desc, factor.dtype), FAULT_U32, HEED_I8, HEED_E_DTYPE },
};

static const struct fixed_number desc_numbers[] = {
    { "kind", offsetof(heed_act_desc, kind), FAULT_U32, ACTIVATION_NAMES },
};

static const char *const named[] = {
    "op=act",
    "op=act kind=silu factor=there d=1000",
    "op=act kind=gelu add=there",
    "op=act kind=exp d=1000 fill=huge",
};

FIXED_CALLS(heed_act)
FIXED_RUN(heed_act)

const struct fixed fixed_act = {
    .op = FIXED_OP("act"),
    .c_name = "act",
    .check = check,
    .plan = plan,
    .run = run,
    .desc_size = sizeof(heed_act_desc),
    .args_size = sizeof(heed_act_args),
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .specs = specs,
    .n_specs = C_END - F_OWN,
    .extents = 1u << (C_N - F_OWN) | 1u << (C_D - F_OWN),
    .vast = 1u << (C_N - F_OWN) | 1u << (C_D - F_OWN),
    .shape = shape,
    .numbers = numbers,
    .say = say,
    .in_place = { { Y, X } },
    .n_in_place = 1,
    .desc_numbers = desc_numbers,
    .n_desc_numbers = sizeof desc_numbers / sizeof *desc_numbers,
    .faults = faults,
    .n_faults = sizeof faults / sizeof *faults,
    .base = "op=act factor=there add=there",
    .named = named,
    .n_named = sizeof named / sizeof *named,
};
