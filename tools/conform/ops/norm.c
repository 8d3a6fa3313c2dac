/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * norm: its table and its oracle (heed/nn.h): the sum exactly, the norm in double with a bound on
 * the roundings of docs/numerics.md, section 12.
 */
#include "operations.h"

#include <float.h>
#include <math.h>

enum { X, RESIDUAL, WEIGHT, BIAS, Y, SUM };
enum { C_N = F_OWN, C_D, C_KIND, C_EPS, C_END };
enum { EPS_ZERO, EPS_SMALL, EPS_LARGE };

static const double u = 0x1p-24, root_error = 0x1p-23;

static const struct cf_spec specs[] = {
    { "n", "5 0 1 4 33", 1, -1, NULL },
    { "d", "8 0 1 7 16 33 64 130 1000", 1, -1, NULL },
    { "kind", "layer rms", 0, -1, NULL },
    { "eps", "zero small large", 0, -1, NULL },
};
#define LAYERS "layer"

#define ARRAY(member) #member, offsetof(heed_norm_desc, member), offsetof(heed_norm_args, member)

static const struct fixed_array arrays[] = {
    [X] = { ARRAY(x), MUST | IN | BATCH | HEAD | ROWWISE, "f32 f16 bf16", 0, NULL, 0, NULL,
            fill_floats, NULL },
    [RESIDUAL] = { ARRAY(residual), IN | BATCH | HEAD | ROWWISE, "f32 f16 bf16", 0, "none there", 0,
                   NULL, fill_floats, NULL },
    [WEIGHT] = { ARRAY(weight), IN, "f32 f16 bf16", 0, "none there", 0, NULL, fill_floats, NULL },
    [BIAS] = { ARRAY(bias), IN, "f32 f16 bf16", 0, "none there", C_KIND, LAYERS, fill_floats,
               NULL },
    [Y] = { ARRAY(y), MUST | OUT | BATCH | HEAD | ROWWISE, "f32 f16 bf16", 0, NULL, 0, NULL,
            fill_nothing, NULL },
    [SUM] = { ARRAY(sum), OUT | BATCH | HEAD | ROWWISE, "f32 f16 bf16", 0, "none there", 0, NULL,
              fill_nothing, NULL },
};

static void shape(struct fixed_problem *p)
{
    const int64_t *v = p->c.v;

    part_shape(&p->part[X], p->heads, v[C_N], v[C_D]);
    part_shape(&p->part[RESIDUAL], p->heads, v[C_N], v[C_D]);
    part_shape(&p->part[WEIGHT], -1, -1, v[C_D]);
    part_shape(&p->part[BIAS], -1, -1, v[C_D]);
    part_shape(&p->part[Y], p->heads, v[C_N], v[C_D]);
    part_shape(&p->part[SUM], p->heads, v[C_N], v[C_D]);
}

static double eps_of(const struct fixed_problem *p)
{
    static const double eps[] = { 0, 1e-5, 3 };

    return eps[p->c.v[C_EPS] % 3];
}

static void numbers(const struct fixed_problem *p, void *desc)
{
    heed_norm_desc *const norm = desc;

    norm->kind = (uint32_t)p->c.v[C_KIND];
    norm->eps = eps_of(p);
}

/* ---- the oracle ------------------------------------------------------------------ */

/* A row: sums over its channels, each in double, and how far the canonical ones may be off. */
struct row {
    int64_t b, h, i, d;
    bool rms, nan, infinite;
    double centre, centre_off; /* 0 with RMS */
    double mean, mean_off;     /* of the squares of what is left, eps added */
    bool over, vague;          /* over: that leaves binary32, vague: it may, or the bound is none */
};

static double sum_at(const struct fixed_problem *p, struct answer *a, const struct row *r,
                     int64_t t)
{
    const float x = (float)answer_real(a, X, part_at(&p->part[X], r->b, r->h, r->i, t));

    if (!part_is(&p->part[RESIDUAL]))
        return (double)x;
    return (double)(float)(x + (float)answer_real(a, RESIDUAL,
                                                  part_at(&p->part[RESIDUAL], r->b, r->h, r->i,
                                                          t)));
}

/* Roundings of a sum of d terms in 16 partial ones and a tree, of 1 / d and of the product. */
static double roundings(int64_t d)
{
    const double n = u * (double)(d / 16 + 8);

    return n / (1 - n);
}

static void row_look(const struct fixed_problem *p, struct answer *a, struct row *r)
{
    double sum = 0, size = 0;

    r->nan = r->infinite = r->vague = r->over = false;
    r->centre = r->centre_off = 0;
    for (int64_t t = 0; t < r->d; t++) {
        const double s = sum_at(p, a, r, t);

        r->nan = r->nan || isnan(s);
        r->infinite = r->infinite || isinf(s);
        sum += s;
        size += fabs(s);
    }
    if (r->rms || r->d == 0)
        return;
    r->centre = sum / (double)r->d;
    r->centre_off = roundings(r->d) * size / (double)r->d + 0x1p-149;
    r->vague = !(size < 0x1p127);
}

/* How far a channel's distance from the centre may be off. */
static double distance_off(const struct row *r, double c)
{
    return r->rms ? 0 : r->centre_off + u * (fabs(c) + r->centre_off) + 0x1p-149;
}

static void row_squares(const struct fixed_problem *p, struct answer *a, struct row *r)
{
    double sum = 0, off = 0;

    for (int64_t t = 0; t < r->d; t++) {
        const double c = sum_at(p, a, r, t) - r->centre, e = distance_off(r, c);

        sum += c * c;
        off += 2 * fabs(c) * e + e * e;
    }
    off += roundings(r->d) * (sum + off) + 0x1p-148 * (double)r->d;
    r->over = sum - off > 0x1p129;
    r->vague = r->vague || (!r->over && !(sum + off < 0x1.fp127));
    r->mean = sum / (double)r->d + (double)(float)eps_of(p);
    r->mean_off = off / (double)r->d + u * r->mean + 0x1p-149;
    if (r->mean < 0x1p-126)
        r->mean = 0x1p-126;
    r->vague = r->vague || (!r->over && !(r->mean_off < 0.5 * r->mean));
}

static double vector_at(const struct fixed_problem *p, struct answer *a, int array, int64_t t,
                        double absent)
{
    if (!part_is(&p->part[array]))
        return absent;
    return answer_real(a, array, part_at(&p->part[array], 0, 0, 0, t));
}

/* A row without NaN and infinities. */
static void say_number(struct answer *a, const struct row *r, int64_t index, double s,
                       double weight, double bias)
{
    const double c = s - r->centre, e = distance_off(r, c), off = r->mean_off / r->mean;
    const double factor = r->over ? 0 : 1 / sqrt(r->mean);
    const double factor_off = r->over ? 0 : factor * (1 / sqrt(1 - off) * (1 + root_error) - 1);
    const double scaled = c * factor;
    const double scaled_off = (fabs(c) + e) * factor_off + e * factor +
                              u * (fabs(c) + e) * (factor + factor_off) + 0x1p-149;
    const double y = scaled * weight + bias;
    const double off_y = fabs(weight) * scaled_off;

    if (!isfinite(weight) || !isfinite(bias)) {
        say_kind(a, Y, index, isnan(weight) || isnan(bias) ? SAID_INFINITE : SAID_VAGUE);
        return;
    }
    if (r->d == 1 && !r->rms) { /* it is its own mean, since 1 / 1 is exact */
        say_float(a, Y, index, bias);
        return;
    }
    if (r->vague || fabs(y) + off_y > 0x1p127)
        say_kind(a, Y, index, SAID_VAGUE);
    else
        say_near(a, Y, index, y, off_y + u * (fabs(y) + off_y) + 0x1p-149);
}

static void say_channel(const struct fixed_problem *p, struct answer *a, const struct row *r,
                        int64_t t)
{
    const int64_t index = part_at(&p->part[Y], r->b, r->h, r->i, t);
    const double s = sum_at(p, a, r, t);
    const double weight = vector_at(p, a, WEIGHT, t, 1), bias = vector_at(p, a, BIAS, t, 0);

    if (part_is(&p->part[SUM]))
        say_float(a, SUM, part_at(&p->part[SUM], r->b, r->h, r->i, t), s);
    if (r->nan || (r->infinite && (!r->rms || isinf(s))))
        say_float(a, Y, index, (double)NAN);
    else if (r->infinite)
        say_float(a, Y, index, isfinite(weight) ? 0 : (double)NAN);
    else
        say_number(a, r, index, s, weight, bias);
}

static void say(const struct fixed_problem *p, struct answer *a)
{
    const struct part *y = &p->part[Y];
    struct row r = { .d = y->a.shape[3], .rms = p->c.v[C_KIND] == HEED_NORM_RMS };

    for (r.b = 0; r.b < p->n_items; r.b++) {
        for (r.h = 0; r.h < p->heads; r.h++) {
            for (r.i = 0; r.i < y->a.shape[2] && r.d > 0; r.i++) {
                row_look(p, a, &r);
                row_squares(p, a, &r);
                for (int64_t t = 0; t < r.d; t++)
                    say_channel(p, a, &r, t);
            }
        }
    }
}

/* ---- what is wrong ----------------------------------------------------------------- */

/* Of two extents that disagree the report may name either. */
#define SHAPE(member, axis) "shape[", offsetof(heed_norm_desc, member.shape[axis]), FAULT_I64

static const struct fixed_fault faults[] = {
    { "flags", offsetof(heed_norm_desc, flags), FAULT_U32, 1, HEED_E_FLAG },
    { "kind", offsetof(heed_norm_desc, kind), FAULT_U32, 2, HEED_E_VALUE },
    { "eps", offsetof(heed_norm_desc, eps), FAULT_I64, INT64_MIN | 1, HEED_E_VALUE },
    { "eps", offsetof(heed_norm_desc, eps), FAULT_I64, 0x7ff0000000000000, HEED_E_VALUE },
    { "eps", offsetof(heed_norm_desc, eps), FAULT_I64, 0x7ff8000000000000, HEED_E_VALUE },
    { SHAPE(residual, 3), 7, HEED_E_SHAPE },
    { SHAPE(weight, 0), 3, HEED_E_SHAPE },
    { SHAPE(bias, 0), 3, HEED_E_SHAPE },
    { SHAPE(sum, 2), 4, HEED_E_SHAPE },
    { "weight", offsetof(heed_norm_desc, weight.dtype), FAULT_U32, HEED_I8, HEED_E_DTYPE },
};

static const struct fixed_number desc_numbers[] = {
    { "kind", offsetof(heed_norm_desc, kind), FAULT_U32, "HEED_NORM_LAYER HEED_NORM_RMS" },
    { "eps", offsetof(heed_norm_desc, eps), FAULT_F64, NULL },
};

static const char *const named[] = {
    "op=norm",
    "op=norm kind=rms d=1000 residual=there sum=there",
    "op=norm d=1 eps=zero",
    "op=norm fill=exact eps=zero kind=rms",
};

FIXED_CALLS(heed_norm)
FIXED_RUN(heed_norm)

const struct fixed fixed_norm = {
    .op = FIXED_OP("norm"),
    .c_name = "norm",
    .check = check,
    .plan = plan,
    .run = run,
    .desc_size = sizeof(heed_norm_desc),
    .args_size = sizeof(heed_norm_args),
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .specs = specs,
    .n_specs = C_END - F_OWN,
    .extents = 1u << (C_N - F_OWN) | 1u << (C_D - F_OWN),
    .vast = 1u << (C_N - F_OWN) | 1u << (C_D - F_OWN),
    .shape = shape,
    .numbers = numbers,
    .say = say,
    .in_place = { { Y, X }, { SUM, RESIDUAL } },
    .n_in_place = 2,
    .desc_numbers = desc_numbers,
    .n_desc_numbers = sizeof desc_numbers / sizeof *desc_numbers,
    .faults = faults,
    .n_faults = sizeof faults / sizeof *faults,
    .base = "op=norm residual=there weight=there bias=there sum=there",
    .named = named,
    .n_named = sizeof named / sizeof *named,
};
