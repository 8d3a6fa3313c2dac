/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * gate: its table and its oracle (heed/memory.h): tanh and sigmoid in double, with the errors that
 * heed/nn.h allows them, and the roundings of docs/numerics.md, section 19.
 */
#include "activation.h"
#include "operations.h"

#include <float.h>
#include <math.h>

enum { MEMORY, UPDATE, GATE, Y };
enum { C_N = F_OWN, C_D, C_KEEPS, C_END };

static const double u = 0x1p-24, least = 0x1p-149;

static const struct cf_spec specs[] = {
    { "n", "5 0 1 4 33", 1, -1, NULL },
    { "d", "8 0 1 7 16 33 64 130 1000", 1, -1, NULL },
    { "keeps", "no yes", 0, -1, NULL },
};

#define ARRAY(member) #member, offsetof(heed_gate_desc, member), offsetof(heed_gate_args, member)

static const struct fixed_array arrays[] = {
    [MEMORY] = { ARRAY(memory), MUST | IN | BATCH | HEAD | ROWWISE, "f32 f16 bf16", 0, NULL, 0,
                 NULL, fill_floats, NULL },
    [UPDATE] = { ARRAY(update), MUST | IN | BATCH | HEAD | ROWWISE, "f32 f16 bf16", 0, NULL, 0,
                 NULL, fill_floats, NULL },
    [GATE] = { ARRAY(gate), MUST | IN | BATCH | HEAD | ROWWISE, "f32 f16 bf16", 0, NULL, 0, NULL,
               fill_floats, NULL },
    [Y] = { ARRAY(y), MUST | OUT | BATCH | HEAD | ROWWISE, "f32 f16 bf16", 0, NULL, 0, NULL,
            fill_nothing, NULL },
};

static void shape(struct fixed_problem *p)
{
    for (int i = MEMORY; i <= Y; i++)
        part_shape(&p->part[i], p->heads, p->c.v[C_N], p->c.v[C_D]);
}

static void numbers(const struct fixed_problem *p, void *desc)
{
    if (p->c.v[C_KEEPS])
        ((heed_gate_desc *)desc)->flags |= HEED_GATE_KEEPS;
}

/* ---- the oracle ------------------------------------------------------------------ */

/* g a + (1 - g) b, with errors of the shares, and of a and b. */
static void say_between(struct answer *a, int64_t index, const double g[2], const double x[2],
                        const double rest[2])
{
    const double left = 1 - g[0], left_off = g[1] + u * (fabs(left) + g[1]);
    const double y = g[0] * x[0] + left * rest[0];
    const double part = left * rest[0], part_off = fabs(left) * rest[1] + fabs(rest[0]) * left_off +
                                                   left_off * rest[1];
    const double all = g[0] * x[1] + fabs(x[0]) * g[1] + g[1] * x[1] + part_off +
                       u * (fabs(part) + part_off) + least;

    if (fabs(y) + all > 0x1p127)
        say_kind(a, Y, index, SAID_VAGUE);
    else
        say_near(a, Y, index, y, all + u * (fabs(y) + all) + least);
}

static void say_element(const struct fixed_problem *p, struct answer *a, int64_t index,
                        const double in[3])
{
    const double m[2] = { in[MEMORY], 0 };
    double of_u[2] = { activation(HEED_ACT_TANH, in[UPDATE]), 0 };
    double g[2] = { activation(HEED_ACT_SIGMOID, in[GATE]), 0 };

    if (isnan(in[MEMORY]) || isnan(in[UPDATE]) || isnan(in[GATE])) {
        say_float(a, Y, index, (double)NAN);
        return;
    }
    if (isinf(in[MEMORY])) { /* times a share that may be rounded to 0 */
        say_kind(a, Y, index, SAID_INFINITE);
        return;
    }
    if (isfinite(in[UPDATE]))
        of_u[1] = activation_error(HEED_ACT_TANH, in[UPDATE], of_u[0]);
    if (isfinite(in[GATE]))
        g[1] = activation_error(HEED_ACT_SIGMOID, in[GATE], g[0]);
    if (p->c.v[C_KEEPS])
        say_between(a, index, g, m, of_u);
    else
        say_between(a, index, g, of_u, m);
}

static void say(const struct fixed_problem *p, struct answer *a)
{
    const struct part *y = &p->part[Y];

    for (int64_t b = 0; b < p->n_items; b++) {
        for (int64_t h = 0; h < p->heads; h++) {
            for (int64_t i = 0; i < y->a.shape[2]; i++) {
                for (int64_t t = 0; t < y->a.shape[3]; t++) {
                    double in[3];

                    for (int k = MEMORY; k <= GATE; k++)
                        in[k] = answer_real(a, k, part_at(&p->part[k], b, h, i, t));
                    say_element(p, a, part_at(y, b, h, i, t), in);
                }
            }
        }
    }
}

/* ---- what is wrong ----------------------------------------------------------------- */

/* Of two extents that disagree the report may name either. */
#define SHAPE(member, axis) "shape[", offsetof(heed_gate_desc, member.shape[axis]), FAULT_I64

static const struct fixed_fault faults[] = {
    { "flags", offsetof(heed_gate_desc, flags), FAULT_U32, 2, HEED_E_FLAG },
    { "reserved", offsetof(heed_gate_desc, reserved), FAULT_U32, 1, HEED_E_VALUE },
    { SHAPE(update, 3), 7, HEED_E_SHAPE },
    { SHAPE(gate, 2), 4, HEED_E_SHAPE },
    { "gate", offsetof(heed_gate_desc, gate.dtype), FAULT_U32, HEED_I8, HEED_E_DTYPE },
};

static const char *const named[] = {
    "op=gate",
    "op=gate keeps=yes d=1000",
    "op=gate fill=huge",
};

FIXED_CALLS(heed_gate)
FIXED_RUN(heed_gate)

const struct fixed fixed_gate = {
    .op = FIXED_OP("gate"),
    .c_name = "gate",
    .check = check,
    .plan = plan,
    .run = run,
    .desc_size = sizeof(heed_gate_desc),
    .args_size = sizeof(heed_gate_args),
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .specs = specs,
    .n_specs = C_END - F_OWN,
    .extents = 1u << (C_N - F_OWN) | 1u << (C_D - F_OWN),
    .vast = 1u << (C_N - F_OWN) | 1u << (C_D - F_OWN),
    .shape = shape,
    .numbers = numbers,
    .say = say,
    .in_place = { { Y, MEMORY } },
    .n_in_place = 1,
    .faults = faults,
    .n_faults = sizeof faults / sizeof *faults,
    .base = "op=gate",
    .named = named,
    .n_named = sizeof named / sizeof *named,
};
