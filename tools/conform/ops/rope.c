/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * rope: its table and its oracle (heed/nn.h): two products and a sum, of which the first product is
 * rounded by itself.
 */
#include "operations.h"

#include <math.h>

enum { X, COS, SIN, POS, Y };
enum { C_N = F_OWN, C_D, C_PAIRS, C_POSITIONS, C_FIRST, C_KIND, C_END };

static const double u = 0x1p-24;

static const struct cf_spec specs[] = {
    { "n", "5 0 1 4 33", 1, -1, NULL },
    { "d", "8 0 1 2 7 32 66 130", 1, -1, NULL },
    { "pairs", "most none one few", 0, -1, NULL },
    { "positions", "40 0 1 5", 1, -1, NULL },
    { "first", "0 3 -2 39", 1, -1, NULL },
    { "kind", "halves adjacent", 0, -1, NULL },
};

#define ARRAY(member) #member, offsetof(heed_rope_desc, member), offsetof(heed_rope_args, member)

static const struct fixed_array arrays[] = {
    [X] = { ARRAY(x), MUST | IN | BATCH | HEAD | ROWWISE, "f32 f16 bf16", 0, NULL, 0, NULL,
            fill_floats, NULL },
    [COS] = { ARRAY(cos), MUST | IN, "f32", 0, NULL, 0, NULL, fill_floats, NULL },
    [SIN] = { ARRAY(sin), MUST | IN, "f32", 0, NULL, 0, NULL, fill_floats, NULL },
    [POS] = { ARRAY(pos), IN | BATCH | HEAD | HEAD_ONE | ROWWISE_LAST, "i32 i64", 0,
              "none good hostile", 0, NULL, fill_indices, NULL },
    [Y] = { ARRAY(y), MUST | OUT | BATCH | HEAD | ROWWISE, "f32 f16 bf16", 0, NULL, 0, NULL,
            fill_nothing, NULL },
};

static int64_t pairs_of(const struct fixed_problem *p)
{
    const int64_t d = p->c.v[C_D], most = d / 2;
    const int64_t pairs[] = { most, 0, most > 1 ? 1 : most, most > 3 ? most - 3 : most };

    return pairs[p->c.v[C_PAIRS] & 3];
}

static void shape(struct fixed_problem *p)
{
    const int64_t *v = p->c.v;

    part_shape(&p->part[X], p->heads, v[C_N], v[C_D]);
    part_shape(&p->part[COS], -1, v[C_POSITIONS], pairs_of(p));
    part_shape(&p->part[SIN], -1, v[C_POSITIONS], pairs_of(p));
    part_shape(&p->part[POS], -1, part_heads(p, POS), v[C_N]);
    part_shape(&p->part[Y], p->heads, v[C_N], v[C_D]);
    p->part[POS].bound = v[C_POSITIONS];
}

static int64_t first_of(const struct fixed_problem *p)
{
    return part_is(&p->part[POS]) ? 0 : p->c.v[C_FIRST];
}

static void numbers(const struct fixed_problem *p, void *desc)
{
    heed_rope_desc *const rope = desc;

    rope->kind = (uint32_t)p->c.v[C_KIND];
    rope->pos0 = first_of(p);
}

/* ---- the oracle ------------------------------------------------------------------ */

struct row {
    int64_t b, h, i, position, pairs;
};

static double table_at(const struct fixed_problem *p, struct answer *a, int array,
                       const struct row *r, int64_t pair)
{
    if (r->position < 0 || r->position >= p->part[array].a.shape[2])
        return (double)NAN;
    return answer_real(a, array, part_at(&p->part[array], 0, 0, r->position, pair));
}

/* x * c + other * s, of which the second product is rounded first. */
static void say_turned(struct answer *a, int64_t index, double x, double c, double other, double s)
{
    const float second = (float)(other * s), y = fmaf((float)x, (float)c, second);
    const double size = fabs(x * c) + fabs(other * s);

    if (isfinite(y))
        say_rounded(a, Y, index, (double)y, 3 * u * size + 0x1p-148);
    else
        say_float(a, Y, index, (double)y);
}

static void say_pair(const struct fixed_problem *p, struct answer *a, const struct row *r,
                     int64_t pair)
{
    const bool halves = p->c.v[C_KIND] == HEED_ROPE_HALVES;
    const int64_t first = halves ? pair : 2 * pair, second = halves ? r->pairs + pair : first + 1;
    const int64_t x = part_at(&p->part[X], r->b, r->h, r->i, 0);
    const int64_t y = part_at(&p->part[Y], r->b, r->h, r->i, 0);
    const double x_a = answer_real(a, X, x + first), x_b = answer_real(a, X, x + second);
    const double c = table_at(p, a, COS, r, pair), s = table_at(p, a, SIN, r, pair);

    say_turned(a, y + first, x_a, c, -x_b, s);
    say_turned(a, y + second, x_b, c, x_a, s);
}

static void say_row(const struct fixed_problem *p, struct answer *a, struct row *r)
{
    const int64_t x = part_at(&p->part[X], r->b, r->h, r->i, 0);
    const int64_t y = part_at(&p->part[Y], r->b, r->h, r->i, 0);

    r->position = first_of(p) + r->i;
    if (part_is(&p->part[POS]))
        r->position = part_int(&p->part[POS], part_at(&p->part[POS], r->b, 0, r->h, r->i));
    for (int64_t pair = 0; pair < r->pairs; pair++)
        say_pair(p, a, r, pair);
    for (int64_t t = 2 * r->pairs; t < p->part[Y].a.shape[3]; t++)
        say_float(a, Y, y + t, answer_real(a, X, x + t));
}

static void say(const struct fixed_problem *p, struct answer *a)
{
    struct row r = { .pairs = p->part[COS].a.shape[3] };

    for (r.b = 0; r.b < p->n_items; r.b++) {
        for (r.h = 0; r.h < p->heads; r.h++) {
            for (r.i = 0; r.i < p->part[Y].a.shape[2] && p->part[Y].a.shape[3] > 0; r.i++)
                say_row(p, a, &r);
        }
    }
}

/* ---- what is wrong ----------------------------------------------------------------- */

/* Of two extents that disagree the report may name either. */
#define SHAPE(member, axis) "shape[", offsetof(heed_rope_desc, member.shape[axis]), FAULT_I64

static const struct fixed_fault faults[] = {
    { "flags", offsetof(heed_rope_desc, flags), FAULT_U32, 1, HEED_E_FLAG },
    { "kind", offsetof(heed_rope_desc, kind), FAULT_U32, 2, HEED_E_VALUE },
    { "pos0", offsetof(heed_rope_desc, pos0), FAULT_I64, 7, HEED_E_VALUE },
    { SHAPE(cos, 1), 5, HEED_E_SHAPE },
    { SHAPE(sin, 0), 3, HEED_E_SHAPE },
    { SHAPE(y, 3), 6, HEED_E_SHAPE },
    { "sin", offsetof(heed_rope_desc, sin.dtype), FAULT_U32, HEED_F16, HEED_E_DTYPE },
    { "pos", offsetof(heed_rope_desc, pos.dtype), FAULT_U32, HEED_F32, HEED_E_DTYPE },
};

static const struct fixed_number desc_numbers[] = {
    { "kind", offsetof(heed_rope_desc, kind), FAULT_U32, "HEED_ROPE_HALVES HEED_ROPE_ADJACENT" },
    { "pos0", offsetof(heed_rope_desc, pos0), FAULT_I64, NULL },
};

static const char *const named[] = {
    "op=rope",
    "op=rope kind=adjacent d=130 pairs=few",
    "op=rope pos=hostile positions=5",
    "op=rope positions=0 pairs=one",
};

FIXED_CALLS(heed_rope)
FIXED_RUN(heed_rope)

const struct fixed fixed_rope = {
    .op = FIXED_OP("rope"),
    .c_name = "rope",
    .check = check,
    .plan = plan,
    .run = run,
    .desc_size = sizeof(heed_rope_desc),
    .args_size = sizeof(heed_rope_args),
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .specs = specs,
    .n_specs = C_END - F_OWN,
    .extents = 1u << (C_N - F_OWN) | 1u << (C_D - F_OWN),
    .vast = 1u << (C_N - F_OWN) | 1u << (C_D - F_OWN) | 1u << (C_POSITIONS - F_OWN),
    .shape = shape,
    .rows_first = C_FIRST,
    .numbers = numbers,
    .say = say,
    .in_place = { { Y, X } },
    .n_in_place = 1,
    .desc_numbers = desc_numbers,
    .n_desc_numbers = sizeof desc_numbers / sizeof *desc_numbers,
    .faults = faults,
    .n_faults = sizeof faults / sizeof *faults,
    .base = "op=rope pos=good",
    .named = named,
    .n_named = sizeof named / sizeof *named,
};
