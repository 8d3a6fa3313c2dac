/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The oracle of pool: rows, their present tokens, and what becomes of these, all from heed/pool.h.
 */
#include "pool.h"
#include "softmax.h"

#include <math.h>
#include <string.h>

static const double u = 0x1p-24;

static int64_t blocks_of(int64_t n, int64_t block)
{
    return n / block + (n % block != 0);
}

int64_t pool_rows(const struct fixed_problem *p, int64_t n)
{
    const int64_t kernel = p->n[N_KERNEL], stride = p->n[N_STRIDE];
    const int64_t c = kernel / 2 - p->n[N_LEFT]; /* ceil((1 + kernel)/2) - 1 - left */

    if (p->c.v[C_KIND] == KIND_BUCKET)
        return p->n[N_BLOCK] > 0 ? cf_times(blocks_of(n, p->n[N_BLOCK]), p->n[N_BUCKETS]) : 0;
    if (kernel < 1 || stride < 1)
        return 0;
    switch (p->n[N_TAIL]) {
    case HEED_TAIL_FLOOR:
        return n < kernel ? 0 : (n - kernel) / stride + 1;
    case HEED_TAIL_CEIL:
        return n == 0 ? 0 : n <= kernel ? 1 : blocks_of(n - kernel, stride) + 1;
    case HEED_TAIL_CENTRE:
        return n <= c || c < 0 ? 0 : (n - 1 - c) / stride + 1;
    case HEED_TAIL_JOIN:
        return n < kernel ? 0 : n / stride;
    default:
        return blocks_of(n, stride);
    }
}

int64_t pool_length(const struct fixed_problem *p, int64_t b)
{
    const struct part *len = &p->part[LEN];
    const int64_t most = p->n[N_N];
    int64_t n;

    if (!part_is(len))
        return most;
    n = part_int(len, part_at(len, b, 0, 0, 0));
    return n < 0 ? 0 : n > most ? most : n;
}

/* A row: of an item of n tokens, of which it has [begin, end), tap `first` at begin. */
struct row {
    const struct fixed_problem *p;
    struct answer *a;
    int64_t b, h, j, n, begin, end, rows;
    bool exists; /* below the item's rows */
};

static void windows(struct row *r)
{
    const int64_t *n = r->p->n;

    r->begin = r->j * n[N_STRIDE] - n[N_LEFT];
    r->end = r->begin + n[N_KERNEL];
    if (n[N_TAIL] == HEED_TAIL_JOIN && r->j == r->rows - 1)
        r->end = r->n;
    if (n[N_TAIL] == HEED_TAIL_END) {
        r->begin = r->n - (r->rows - r->j) * n[N_STRIDE];
        r->end = r->begin + n[N_KERNEL];
    }
}

static void row_find(struct row *r)
{
    const struct fixed_problem *p = r->p;
    const struct part *ranges = &p->part[RANGES];

    r->exists = r->j < r->rows;
    if (part_is(ranges)) {
        r->begin = part_int(ranges, part_at(ranges, r->b, 0, r->j, 0));
        r->end = part_int(ranges, part_at(ranges, r->b, 0, r->j, 1));
    } else if (p->c.v[C_KIND] == KIND_BUCKET) {
        r->begin = r->j / p->n[N_BUCKETS] * p->n[N_BLOCK];
        r->end = r->begin + p->n[N_BLOCK];
    } else {
        windows(r);
    }
}

static bool is_present(const struct row *r, int64_t token)
{
    const struct part *mask = &r->p->part[MASK], *ids = &r->p->part[IDS];

    if (token < 0 || token >= r->n)
        return false;
    if (part_is(mask) && part_bits(mask, part_at(mask, r->b, 0, r->h, token)) == 0)
        return false;
    return !part_is(ids) || part_int(ids, part_at(ids, r->b, 0, r->h, token)) ==
                                r->j % r->p->n[N_BUCKETS];
}

/* The next present token from `token` on that the row has; -1: there is none. */
static int64_t next_token(const struct row *r, int64_t token)
{
    for (token = token < 0 ? 0 : token; r->exists && token < r->end && token < r->n; token++) {
        if (is_present(r, token))
            return token;
    }
    return -1;
}

static bool has_mask(const struct row *r)
{
    const int64_t *n = r->p->n;
    const bool centred = !part_is(&r->p->part[RANGES]) && r->p->c.v[C_KIND] != KIND_BUCKET &&
                         n[N_TAIL] == HEED_TAIL_CENTRE;

    if (centred) {
        const int64_t c = n[N_KERNEL] / 2 - n[N_LEFT];

        return r->exists && is_present(r, r->j * n[N_STRIDE] + c);
    }
    return next_token(r, r->begin) >= 0;
}

static int64_t weight_at(const struct row *r, int64_t token)
{
    const struct part *w = &r->p->part[WEIGHTS];

    return r->p->c.v[C_KIND] == KIND_DYNAMIC ? part_at(w, r->b, r->h, r->j, token - r->begin)
                                             : part_at(w, r->b, 0, r->h, token);
}

static double weight_of(const struct row *r, int64_t token)
{
    return answer_real(r->a, WEIGHTS, weight_at(r, token));
}

static double token_value(const struct row *r, int64_t token, int64_t c)
{
    return answer_real(r->a, X, part_at(&r->p->part[X], r->b, r->h, token, c));
}

static void say_max(const struct row *r, int64_t c, int64_t index)
{
    double most = -(double)INFINITY;

    for (int64_t t = next_token(r, r->begin); t >= 0; t = next_token(r, t + 1)) {
        const double x = token_value(r, t, c);

        if (isnan(x) || isnan(most))
            most = (double)NAN;
        else
            most = x > most ? x : most;
    }
    say_float(r->a, Y, index, most);
}

/* Terms w * x: one fma each, chunks joined by additions. */
static void say_sum(const struct row *r, int64_t c, int64_t index)
{
    struct exact_sum exact = { 0 };
    double sum = 0, size = 0, n = 0, gamma;
    bool infinite = false;

    for (int64_t t = next_token(r, r->begin); t >= 0; t = next_token(r, t + 1)) {
        const double w = r->p->c.v[C_KIND] == KIND_LINEAR ? weight_of(r, t) : 1;
        const double term = w * token_value(r, t, c);

        sum += term;
        size += isinf(term) ? 0 : fabs(term);
        infinite = infinite || isinf(term);
        exact_add(&exact, term);
        n++;
    }
    gamma = (n + n / 1024 + 2) * u;
    if (exact_is(&exact) || isnan(sum) || (infinite && size < 0x1p126))
        say_float(r->a, Y, index, sum);
    else if (!(size < 0x1p126))
        say_kind(r->a, Y, index, SAID_VAGUE);
    else
        say_near(r->a, Y, index, sum, gamma * size + (n + 2) * 0x1p-149);
}

static void say_mean(const struct row *r, struct soft *s, int64_t c, int64_t index)
{
    for (int64_t i = 0; i < s->n; i++)
        s->key[i].v = token_value(r, s->key[i].at, c);
    soft_say(s, r->a, Y, index);
}

static void say_row(const struct row *r, struct soft *s, bool there)
{
    const struct part *y = &r->p->part[Y];
    const int64_t kind = r->p->c.v[C_KIND];
    const bool weighted = kind == KIND_WEIGHTED || kind == KIND_DYNAMIC;

    soft_begin(s);
    for (int64_t t = next_token(r, r->begin); there && t >= 0; t = next_token(r, t + 1))
        soft_add(s, weighted ? weight_of(r, t) : 0, t);
    soft_weigh(s, false);
    for (int64_t c = 0; c < y->a.shape[3]; c++) {
        const int64_t index = part_at(y, r->b, r->h, r->j, c);

        if (!there)
            say_bits(r->a, Y, index, 0);
        else if (kind == KIND_MAX)
            say_max(r, c, index);
        else if (kind == KIND_SUM || kind == KIND_LINEAR)
            say_sum(r, c, index);
        else
            say_mean(r, s, c, index);
    }
}

bool pool_row(const struct fixed_problem *p, int64_t b, int64_t h, int64_t j, unsigned char *mask,
              float *weight)
{
    const struct part *w = &p->part[WEIGHTS];
    struct row r = { .p = p, .b = b, .h = h, .j = j, .n = pool_length(p, b) };

    r.rows = part_is(&p->part[RANGES]) ? p->n[N_M] : pool_rows(p, r.n);
    row_find(&r);
    memset(mask, 0, (size_t)p->n[N_N]);
    for (int64_t t = next_token(&r, r.begin); t >= 0; t = next_token(&r, t + 1)) {
        mask[t] = 1;
        if (weight)
            weight[t] = cf_decode(w->a.dtype, cf_array_bits(&w->a, weight_at(&r, t)));
    }
    return has_mask(&r);
}

static void say_item(const struct fixed_problem *p, struct answer *a, struct soft *s, int64_t b)
{
    const struct part *y_mask = &p->part[Y_MASK], *y_len = &p->part[Y_LEN];
    const int64_t heads = part_is(y_mask) ? y_mask->a.shape[2] : 0;
    struct row r = { .p = p, .a = a, .b = b, .n = pool_length(p, b) };

    r.rows = part_is(&p->part[RANGES]) ? p->n[N_M] : pool_rows(p, r.n);
    if (part_is(y_len))
        say_bits(a, Y_LEN, part_at(y_len, b, 0, 0, 0), r.rows);
    for (r.h = 0; r.h < p->heads || r.h < heads; r.h++) {
        for (r.j = 0; r.j < p->n[N_M]; r.j++) {
            bool there;

            row_find(&r);
            there = has_mask(&r);
            if (r.h < p->heads)
                say_row(&r, s, there);
            if (part_is(y_mask))
                say_bits(a, Y_MASK, part_at(y_mask, b, 0, r.h, r.j), there);
        }
    }
}

void pool_say(const struct fixed_problem *p, struct answer *a)
{
    struct soft s = { 0 };

    for (int64_t b = 0; b < p->n_items; b++)
        say_item(p, a, &s, b);
    soft_finish(&s);
}
