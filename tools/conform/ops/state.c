/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * state: its table and its oracle (heed/attn.h). What is joined has the bits of the join's own
 * lines, in binary32; so has o without a sink. With one, and of lse, there are values in double
 * with a bound on the roundings of steps 9 to 12.
 */
#include "operations.h"

#include <math.h>

enum { STATES, SINKS, O, LSE, JOINED };
enum { C_P = F_OWN, C_N, C_DV, C_OUT, C_END };
enum { AT_M, AT_L, AT_ANY = 17, AT_O }; /* channels of a state */
enum { SUMS = 16, PARTS = 64 };

static const double u = 0x1p-24, log2e = 1.4426950408889634, ln2 = 0.69314718055994531;

static const struct cf_spec specs[] = {
    { "p", "3 0 1 2 9", 1, -1, NULL },
    { "n", "5 0 1 33", 1, -1, NULL },
    { "dv", "8 0 1 7 16 33 64 130 300", 1, -1, NULL },
    { "out", "all o o-lse lse state o-state", 0, -1, NULL },
};
#define ENDS "all o o-lse lse o-state"

/* ---- contents ------------------------------------------------------------------ */

enum { NORMAL, SOME, NOTHING, EXACT, FAR, SPECIAL };

static double special(uint64_t h)
{
    const double inf = 1e300 * 1e300;
    const double values[] = { inf, -inf, inf - inf, -0.0, 0x1p-149, 2.5, -3, 1e30 };

    return values[h >> 13 & 7];
}

/* A channel before those of o, of a state that some call might have left, or of no call's. */
static double sum_of(const struct part *part, int64_t channel, uint64_t h)
{
    if (channel == AT_ANY)
        return part->holds == NOTHING || (part->holds == SOME && h % 3 == 0) ? 0
               : part->holds == SPECIAL && h % 3 == 0                        ? special(h)
                                                                             : 1;
    if (part->holds == SPECIAL && h % 9 == 0)
        return special(h);
    if (channel == AT_M)
        return (double)((int64_t)(h >> 20 & 31) - 16) * (part->holds == FAR     ? h % 5 ? 25 : 1e30f
                                                         : part->holds == EXACT ? 0
                                                                                : 1);
    return part->holds == EXACT ? (double)(h >> 20 & 7) : (double)(h >> 20 & 0xfffff) * 0x1p-19;
}

/* The sums of o have the case's class. */
static void fill_states(struct fixed_problem *p, struct part *part)
{
    const int64_t n = part->a.shape[3];

    fill_floats(p, part);
    for (int64_t i = 0; i < cf_array_count(&part->a); i++) {
        const uint64_t h = part_hash(p, part, i);
        const float x = (float)sum_of(part, i % n, h);

        if (i % n < AT_O) /* a NaN with a payload, which no output may show */
            cf_array_set(&part->a, i, cf_encode(HEED_F32, x) | (x == x ? 0 : 0x2a));
    }
}

static void fill_sinks(struct fixed_problem *p, struct part *part)
{
    enum { PLAIN = 1, ZERO, REMOVED, STRANGE, HUGE_ONE };
    const double inf = 1e300 * 1e300;

    for (int64_t i = 0; i < cf_array_count(&part->a); i++) {
        const uint64_t h = part_hash(p, part, i);
        double x = (double)((int64_t)(h % 64) - 32) * 0.125;

        if (part->holds == ZERO)
            x = 0;
        if (part->holds == REMOVED)
            x = -inf;
        if (part->holds == STRANGE)
            x = h & 1 ? inf : inf - inf;
        if (part->holds == HUGE_ONE)
            x = h & 1 ? -3e30 : 2000.5;
        cf_array_set(&part->a, i, cf_encode(part->a.dtype, (float)x) | (x == x ? 0 : 0x2a));
    }
}

#define ARRAY(member) #member, offsetof(heed_state_desc, member), offsetof(heed_state_args, member)

static const struct fixed_array arrays[] = {
    [STATES] = { ARRAY(states), MUST | IN | LEAD | BATCH | HEAD, "f32", 0,
                 "normal some nothing exact far special", 0, NULL, fill_states, NULL },
    [SINKS] = { ARRAY(sinks), IN | HEAD, "f32 f16 bf16", 0, "none normal zero removed special huge",
                C_OUT, ENDS, fill_sinks, NULL },
    [O] = { ARRAY(o), OUT | BATCH | HEAD, "f32 f16 bf16", 0, NULL, C_OUT, "all o o-lse o-state",
            fill_nothing, NULL },
    [LSE] = { ARRAY(lse), OUT | BATCH | HEAD, "f32", 0, "plain sink", C_OUT, "all o-lse lse",
              fill_nothing, NULL },
    [JOINED] = { ARRAY(state), OUT | BATCH | HEAD, "f32", 0, NULL, C_OUT, "all state o-state",
                 fill_nothing, NULL },
};

static void shape(struct fixed_problem *p)
{
    const int64_t *v = p->c.v;
    const int64_t words = v[C_DV] > INT64_MAX - AT_O ? INT64_MAX : AT_O + v[C_DV];

    part_shape(&p->part[STATES], p->heads, v[C_N], words);
    p->part[STATES].a.shape[0] = v[C_P];
    part_shape(&p->part[SINKS], -1, -1, p->heads);
    part_shape(&p->part[O], p->heads, v[C_N], v[C_DV]);
    part_shape(&p->part[LSE], -1, p->heads, v[C_N]);
    part_shape(&p->part[JOINED], p->heads, v[C_N], words);
}

static bool lse_has_sink(const struct fixed_problem *p)
{
    return part_is(&p->part[LSE]) && p->part[LSE].holds == 1;
}

static void numbers(const struct fixed_problem *p, void *desc)
{
    ((heed_state_desc *)desc)->flags |= lse_has_sink(p) ? (uint32_t)HEED_ATTN_LSE_WITH_SINK : 0;
}

/* ---- the oracle: what is joined -------------------------------------------------- */

/* The states of a row that hold something. */
struct row {
    int64_t b, h, i;
    int64_t at[PARTS]; /* where they begin */
    int64_t n;
    float w1[PARTS], w2[PARTS]; /* factors of what there was, and of that state */
    float m, l;                 /* of what is joined; l: the sum of the partial sums */
    double l_size;              /* of their magnitudes */
    bool any_values;
};

/* 2^x of an integer; 0 below -100 and of NaN. */
static float power(float x)
{
    return x >= -100 ? (float)ldexp(1, (int)x) : 0;
}

static float number_at(struct answer *a, int64_t index)
{
    return (float)answer_real(a, STATES, index);
}

static void row_factors(struct row *r, struct answer *a)
{
    for (int64_t k = 0; k < r->n; k++) {
        const float m = number_at(a, r->at[k] + AT_M), before = r->m;

        r->any_values = r->any_values || (isfinite(m) && m != rintf(m));
        r->m = k == 0 || m > before ? m : before;
        r->w1[k] = power((float)(before - r->m));
        r->w2[k] = power((float)(m - r->m));
    }
}

/* A channel of the sums, joined; *size: of the terms' magnitudes. */
static float channel_join(const struct row *r, struct answer *a, int64_t channel, double *size)
{
    float x = 0;

    *size = 0;
    for (int64_t k = 0; k < r->n; k++) {
        const float next = number_at(a, r->at[k] + channel), kept = x * r->w1[k];

        x = k == 0 ? next : fmaf(next, r->w2[k], kept);
        *size = k == 0 ? fabs((double)next)
                       : fabs((double)next * (double)r->w2[k]) + *size * (double)r->w1[k];
    }
    return x;
}

/* Of all terms' magnitudes, what joining them in any order may cost: a join is a product and a sum,
 * which lose two roundings, a factor below 2^-100 that is 0, and underflow. */
static double join_bound(const struct row *r, double size)
{
    const double lost = 2 * u * (double)r->n;

    return (lost / (1 - lost) + 0x1p-99) * size + 0x1p-148 * (double)r->n;
}

static void row_sums(struct row *r, struct answer *a)
{
    float l[SUMS];
    double size;

    r->l_size = 0;
    for (int i = 0; i < SUMS; i++) {
        l[i] = channel_join(r, a, AT_L + i, &size);
        r->l_size += size;
    }
    for (int half = SUMS / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++)
            l[i] = l[i] + l[i + half];
    }
    r->l = l[0];
}

static void row_gather(const struct fixed_problem *p, struct answer *a, struct row *r)
{
    const struct part *states = &p->part[STATES];

    r->n = 0;
    r->m = -INFINITY;
    r->any_values = false;
    for (int64_t k = 0; k < states->lead && k < PARTS; k++) {
        const int64_t at = part_lead_at(states, k, r->b, r->h, r->i, 0);

        if (number_at(a, at + AT_ANY) != 0)
            r->at[r->n++] = at;
    }
    row_factors(r, a);
    row_sums(r, a);
}

/* ---- the oracle: what is written ------------------------------------------------- */

static void say_state(const struct fixed_problem *p, struct answer *a, const struct row *r)
{
    const struct part *state = &p->part[JOINED];
    const int64_t to = part_at(state, r->b, r->h, r->i, 0);

    for (int64_t c = 0; c < state->a.shape[3]; c++) {
        double size = 0;

        if (r->any_values)
            say_kind(a, JOINED, to + c, SAID_ANY);
        else if (c == AT_M || c == AT_ANY)
            say_float(a, JOINED, to + c, c == AT_M ? (double)r->m : r->n > 0);
        else
            say_rounded(a, JOINED, to + c, (double)channel_join(r, a, c, &size),
                        join_bound(r, size));
    }
}

/* The denominator in units of 2^top, the factor of sums over 2^M in these, and how far the computed
 * denominator may be off: by the tree, by the exponent of the sink's weight and its polynomial, by
 * weights and factors below 2^-100, which are 0, and by the last addition. */
struct whole {
    double top, sum, factor, off;
};

static struct whole whole_of(const struct row *r, double sink)
{
    const double y = sink * log2e, m = (double)r->m;
    struct whole w = { .top = isnan(m) ? m : fmax(m, rint(y) + 1) };
    double weight;

    w.factor = isinf(sink) ? 1 : exp2(m - w.top);
    weight = isinf(sink) ? 0 : exp2(y - w.top);
    w.sum = (double)r->l * w.factor + weight;
    w.off = join_bound(r, r->l_size) + 5 * u * r->l_size;
    if (!isinf(sink))
        w.off = w.off * w.factor + weight * expm1(u * (2 * fabs(y) + 8)) +
                0x1p-99 * (1 + fabs((double)r->l)) + u * w.sum;
    return w;
}

enum ending { A_VALUE, IS_NAN, ANY_VALUE };

/* sink -Inf: none. */
static enum ending ending_of(const struct row *r, double sink)
{
    if (r->any_values)
        return ANY_VALUE;
    if (isnan(r->l))
        return IS_NAN;
    if (r->m == INFINITY || !(r->l >= 0x1p-3f && r->l < 0x1p64f))
        return ANY_VALUE;
    if (isnan(sink) || sink == (double)INFINITY || (isnan(r->m) && !isinf(sink)))
        return IS_NAN;
    return A_VALUE;
}

/* Elements that are no number's: false: it is one. */
static bool say_ending(struct answer *a, int array, int64_t index, enum ending ending)
{
    if (ending == IS_NAN)
        say_float(a, array, index, (double)NAN);
    if (ending == ANY_VALUE)
        say_kind(a, array, index, SAID_ANY);
    return ending != A_VALUE;
}

static void say_quotient(struct answer *a, const struct row *r, double sink, int64_t index,
                         int64_t channel)
{
    const struct whole w = whole_of(r, sink);
    double size, want, bound;
    const float s = channel_join(r, a, channel, &size), inverse = 1 / r->l;

    if (isnan(s) || isinf(s)) {
        if (isnan(s) || isinf(sink)) /* an infinity over a number is one */
            say_float(a, O, index, (double)s);
        else
            say_kind(a, O, index, SAID_INFINITE);
        return;
    }
    want = (double)s * w.factor / w.sum;
    bound = (join_bound(r, size) * w.factor + fabs(want) * w.off + 0x1p-148) / (w.sum - w.off) +
            3 * u * fabs(want) + 0x1p-148;
    if (!isinf(sink)) {
        say_near(a, O, index, want, bound + 0x1p-99 * fabs((double)s) / (w.sum - w.off));
        return;
    }
    say_rounded(a, O, index, (double)(float)(s * inverse), bound);
}

static void say_row(const struct fixed_problem *p, struct answer *a, const struct row *r,
                    double sink)
{
    const struct part *o = &p->part[O];
    const int64_t to = part_at(o, r->b, r->h, r->i, 0);
    const enum ending ending = ending_of(r, sink);

    for (int64_t c = 0; c < o->a.shape[3]; c++) {
        if (r->n == 0)
            say_bits(a, O, to + c, 0);
        else if (!say_ending(a, O, to + c, ending))
            say_quotient(a, r, sink, to + c, AT_O + c);
    }
}

static void say_lse(const struct fixed_problem *p, struct answer *a, const struct row *r,
                    double sink)
{
    const int64_t to = part_at(&p->part[LSE], r->b, 0, r->h, r->i);
    struct whole w;
    double want;

    if (r->n == 0) {
        say_float(a, LSE, to, sink);
        return;
    }
    if (say_ending(a, LSE, to, ending_of(r, sink)))
        return;
    w = whole_of(r, sink);
    if (!isfinite(w.top)) {
        say_float(a, LSE, to, w.top);
        return;
    }
    want = w.top * ln2 + log(w.sum);
    say_near(a, LSE, to, want,
             w.off / (w.sum - w.off) +
                 4 * u * (fabs(w.top * ln2) + fabs(log(w.sum)) + fabs(want) + 1));
}

static void say_all(const struct fixed_problem *p, struct answer *a, struct row *r)
{
    double sink = -(double)INFINITY;

    row_gather(p, a, r);
    if (part_is(&p->part[SINKS]))
        sink = answer_real(a, SINKS, part_at(&p->part[SINKS], 0, 0, 0, r->h));
    if (part_is(&p->part[JOINED]))
        say_state(p, a, r);
    if (part_is(&p->part[O]))
        say_row(p, a, r, sink);
    if (part_is(&p->part[LSE]))
        say_lse(p, a, r, lse_has_sink(p) ? sink : -(double)INFINITY);
}

static void say(const struct fixed_problem *p, struct answer *a)
{
    struct row r;

    for (r.b = 0; r.b < p->n_items; r.b++) {
        for (r.h = 0; r.h < p->heads; r.h++) {
            for (r.i = 0; r.i < p->part[STATES].a.shape[2]; r.i++)
                say_all(p, a, &r);
        }
    }
}

/* ---- what is wrong ----------------------------------------------------------------- */

/* Of two extents that disagree the report may name either. */
#define SHAPE(member, axis) "shape[", offsetof(heed_state_desc, member.shape[axis]), FAULT_I64

static const struct fixed_fault faults[] = {
    { "reserved", offsetof(heed_state_desc, reserved), FAULT_U32, 1, HEED_E_VALUE },
    { "flags", offsetof(heed_state_desc, flags), FAULT_U32, 1, HEED_E_FLAG },
    { SHAPE(states, 4), 27, HEED_E_SHAPE },
    { SHAPE(states, 2), 3, HEED_E_SHAPE },
    { SHAPE(sinks, 0), 3, HEED_E_SHAPE },
    { SHAPE(o, 3), 7, HEED_E_SHAPE },
    { SHAPE(o, 2), 4, HEED_E_SHAPE },
    { SHAPE(lse, 2), 4, HEED_E_SHAPE },
    { SHAPE(state, 3), 8, HEED_E_SHAPE },
    { "states", offsetof(heed_state_desc, states.dtype), FAULT_U32, HEED_F16, HEED_E_DTYPE },
    { "lse", offsetof(heed_state_desc, lse.dtype), FAULT_U32, HEED_F16, HEED_E_DTYPE },
    { "state", offsetof(heed_state_desc, state.dtype), FAULT_U32, HEED_BF16, HEED_E_DTYPE },
};

static const struct fixed_refusal refusals[] = {
    { "op=state out=o", C_OUT, 99, HEED_E_NULL },     /* no output */
    { "op=state out=state", C_DV, -1, HEED_E_VALUE }, /* 17 channels */
};

static const char *const named[] = {
    "op=state",
    "op=state p=0 lse=sink sinks=special",
    "op=state states=nothing out=o-lse lse=sink sinks=normal",
    "op=state states=special dv=33 p=9",
    "op=state states=far sinks=huge dv=300 lse=sink",
    "op=state batch=1 h=1 p=1 n=3 dv=1 states=special seed=596170653054", /* M is NaN */
};

FIXED_CALLS(heed_state)
FIXED_RUN(heed_state)

const struct fixed fixed_state = {
    .op = FIXED_OP("state"),
    .c_name = "state",
    .check = check,
    .plan = plan,
    .run = run,
    .desc_size = sizeof(heed_state_desc),
    .args_size = sizeof(heed_state_args),
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .specs = specs,
    .n_specs = C_END - F_OWN,
    .extents = 1u << (C_N - F_OWN),
    .vast = 1u << (C_P - F_OWN) | 1u << (C_N - F_OWN) | 1u << (C_DV - F_OWN),
    .shape = shape,
    .numbers = numbers,
    .say = say,
    .open = true,
    .faults = faults,
    .n_faults = sizeof faults / sizeof *faults,
    .refusals = refusals,
    .n_refusals = sizeof refusals / sizeof *refusals,
    .base = "op=state sinks=normal",
    .named = named,
    .n_named = sizeof named / sizeof *named,
};
