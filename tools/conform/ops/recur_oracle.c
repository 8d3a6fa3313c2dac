/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The oracle of recur (heed/memory.h): the recurrence in double, in which every number carries how
 * far the computed one may be off. Roundings enter where docs/numerics.md, section 18, has them,
 * and go on through the recurrence as the numbers do: no error is forgotten and none is guessed.
 */
#include "recur.h"

#include <math.h>

enum { KEYS_MAX = 4096 };

/* off: of the computed number, infinite where it may be any. A NaN or an infinity without it is
 * certain. */
struct near {
    double x, off;
};

static const struct near anything = { 0, INFINITY };

static struct near exactly(double x)
{
    return (struct near){ x, 0 };
}

/* What a rounding to binary32 may do to a number of which the terms have magnitude `size` in all,
 * which is also how far the sum in double may be off. */
static struct near rounded(double x, double off, double size)
{
    struct near out = { x, off };

    if (size == 0 && off == 0)
        return exactly(0);
    out.off += 0x1p-50 * size;
    if (fabs(x) - out.off > 0x1p129)
        return exactly(x > 0 ? (double)INFINITY : -(double)INFINITY);
    if (!(fabs(x) + out.off < 0x1.fp127))
        return anything;
    out.off += 0x1p-24 * (fabs(x) + out.off) + 0x1p-149;
    return out;
}

/* a * b where one is infinite: it has that sign if the other certainly has one. */
static struct near infinite(struct near a, struct near b)
{
    if ((a.x == 0 && a.off == 0) || (b.x == 0 && b.off == 0))
        return exactly((double)NAN);
    if (fabs(a.x) <= a.off || fabs(b.x) <= b.off)
        return anything;
    return exactly(signbit(a.x) == signbit(b.x) ? (double)INFINITY : -(double)INFINITY);
}

/* a * b + c, rounded once. */
static struct near fused(struct near a, struct near b, struct near c)
{
    if (isnan(a.x) || isnan(b.x) || isnan(c.x))
        return exactly((double)NAN);
    if (isinf(a.off) || isinf(b.off) || isinf(c.off))
        return anything;
    if (isinf(a.x) || isinf(b.x)) {
        const struct near product = infinite(a, b);

        return isinf(c.x) && !isinf(product.off) && product.x != c.x ? exactly((double)NAN)
                                                                     : product;
    }
    if (isinf(c.x))
        return c;
    return rounded(a.x * b.x + c.x, fabs(a.x) * b.off + fabs(b.x) * a.off + a.off * b.off + c.off,
                   fabs(a.x * b.x) + fabs(c.x));
}

/* A column of the state, and where it is. */
struct column {
    const struct fixed_problem *p;
    struct answer *a;
    int64_t b, h, v; /* item, head and channel of v */
    int64_t t;       /* token at hand */
    int64_t keys, length;
    struct near s[KEYS_MAX];
};

static struct near key_at(const struct column *at, int array, int64_t c)
{
    const int64_t head = at->h / at->p->c.v[C_GROUP];

    return exactly(answer_real(at->a, array, part_at(&at->p->part[array], at->b, head, at->t, c)));
}

static struct near factor_at(const struct column *at, int array, int64_t c)
{
    const struct part *part = &at->p->part[array];
    const int64_t index = array == DECAY && at->p->c.v[C_DEC] == BY_CHANNEL
                              ? part_at(part, at->b, at->h, at->t, c)
                              : part_at(part, at->b, 0, at->h, at->t);

    return exactly(answer_real(at->a, array, index));
}

/* S^T times q or k of the token. */
static struct near asked(const struct column *at, int array)
{
    struct near sum = exactly(0);

    for (int64_t c = 0; c < at->keys; c++)
        sum = fused(key_at(at, array, c), at->s[c], sum);
    return sum;
}

static void token_in(struct column *at)
{
    const struct part *v = &at->p->part[V];
    struct near u = exactly(answer_real(at->a, V, part_at(v, at->b, at->h, at->t, at->v)));

    if (part_is(&at->p->part[DECAY])) {
        for (int64_t c = 0; c < at->keys; c++)
            at->s[c] = fused(factor_at(at, DECAY, c), at->s[c], exactly(0));
    }
    if (at->p->c.v[C_DELTA])
        u = fused(exactly(-1), asked(at, K), u);
    if (part_is(&at->p->part[BETA]))
        u = fused(factor_at(at, BETA, 0), u, exactly(0));
    for (int64_t c = 0; c < at->keys; c++)
        at->s[c] = fused(key_at(at, K, c), u, at->s[c]);
}

static void say_this(struct answer *a, int array, int64_t index, struct near x)
{
    if (isinf(x.off))
        say_kind(a, array, index, SAID_VAGUE);
    else if (isfinite(x.x))
        say_near(a, array, index, x.x, x.off);
    else
        say_float(a, array, index, x.x);
}

static void say_column(struct column *at)
{
    const struct part *state = &at->p->part[STATE_S], *o = &at->p->part[O];
    const double scale = recur_scale(at->p);

    for (int64_t c = 0; c < at->keys; c++)
        at->s[c] = exactly((double)cf_decode(
            HEED_F32, (uint32_t)cf_array_bits(&state->a, part_at(state, at->b, at->h, c, at->v))));
    for (at->t = 0; at->t < at->length; at->t++) {
        token_in(at);
        if (part_is(o))
            say_this(
                at->a, O, part_at(o, at->b, at->h, at->t, at->v),
                fused(exactly(scale == 0 ? 1 : (double)(float)scale), asked(at, Q), exactly(0)));
    }
    for (; part_is(o) && at->t < o->a.shape[2]; at->t++)
        say_bits(at->a, O, part_at(o, at->b, at->h, at->t, at->v), 0);
    for (int64_t c = 0; c < at->keys && at->length > 0; c++)
        say_this(at->a, STATE_S, part_at(state, at->b, at->h, c, at->v), at->s[c]);
}

static int64_t length_of(const struct fixed_problem *p, int64_t b)
{
    const struct part *len = &p->part[LEN];
    const int64_t most = p->part[V].a.shape[2];
    int64_t n;

    if (!part_is(len))
        return most;
    n = part_int(len, part_at(len, b, 0, 0, 0));
    return n < 0 ? 0 : n > most ? most : n;
}

void recur_say(const struct fixed_problem *p, struct answer *a)
{
    const struct part *v = &p->part[V];
    struct column at = { .p = p, .a = a, .keys = p->part[K].a.shape[3] };

    for (at.b = 0; at.b < p->n_items && at.keys <= KEYS_MAX; at.b++) {
        at.length = length_of(p, at.b);
        for (at.h = 0; at.h < p->n[N_HEADS]; at.h++) {
            for (at.v = 0; at.v < v->a.shape[3]; at.v++)
                say_column(&at);
        }
    }
}
