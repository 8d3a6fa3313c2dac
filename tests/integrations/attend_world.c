/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "attend_world.h"
#include "integrations/ggml/blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const uint32_t world_types[11] = { HEED_ATTEND_F32,  HEED_ATTEND_F16,  HEED_ATTEND_BF16,
                                   HEED_ATTEND_Q8_0, HEED_ATTEND_Q4_0, HEED_ATTEND_Q4_1,
                                   HEED_ATTEND_Q5_0, HEED_ATTEND_Q5_1, HEED_ATTEND_IQ4_NL,
                                   HEED_ATTEND_Q1_0, HEED_ATTEND_Q2_0 };

/* ---- numbers ------------------------------------------------------------------ */

static uint32_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

static double unit(uint64_t *state)
{
    return (double)next(state) * 0x1p-31 - 1;
}

double world_half_value(unsigned half)
{
    const int exponent = (int)(half >> 10 & 31);
    const double fraction = (double)(half & 1023);
    const double size = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                        : exponent == 0 ? ldexp(fraction, -24)
                                        : ldexp(1024 + fraction, exponent - 25);

    return half & 0x8000 ? -size : size;
}

/* By search: halves of one sign are in the order of their bits. */
unsigned world_half_bits(double x)
{
    unsigned low = 0, high = 0x7c00;
    const unsigned sign = signbit(x) ? 0x8000 : 0;
    const double size = fabs(x);

    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;

        if (world_half_value(middle) <= size)
            low = middle;
        else
            high = middle;
    }
    if (low == 0x7bff)
        return sign | (size >= 65520 ? 0x7c00 : low);
    if (size - world_half_value(low) > world_half_value(low + 1) - size ||
        (size - world_half_value(low) == world_half_value(low + 1) - size && low % 2 == 1))
        low++;
    return sign | low;
}

double world_half(double x)
{
    return world_half_value(world_half_bits(x));
}

/* ---- blocks ------------------------------------------------------------------- */

static const struct {
    uint32_t type;
    int64_t elements, bytes;
} blocks[] = {
    { HEED_ATTEND_F32, 1, 4 },     { HEED_ATTEND_F16, 1, 2 },    { HEED_ATTEND_BF16, 1, 2 },
    { HEED_ATTEND_Q8_0, 32, 34 },  { HEED_ATTEND_Q4_0, 32, 18 }, { HEED_ATTEND_Q4_1, 32, 20 },
    { HEED_ATTEND_Q5_0, 32, 22 },  { HEED_ATTEND_Q5_1, 32, 24 }, { HEED_ATTEND_IQ4_NL, 32, 18 },
    { HEED_ATTEND_Q1_0, 128, 18 }, { HEED_ATTEND_Q2_0, 64, 18 },
};

void world_block(uint32_t type, int64_t *elements, int64_t *bytes)
{
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        if (blocks[i].type == type) {
            *elements = blocks[i].elements;
            *bytes = blocks[i].bytes;
        }
    }
}

static double half_at(const unsigned char *at)
{
    return world_half_value((unsigned)(at[0] | at[1] << 8));
}

/* Element j of 32 fields of 4 bits. */
static int four(const unsigned char *q, int64_t j)
{
    return j < 16 ? q[j] & 15 : q[j - 16] >> 4;
}

static int five(const unsigned char *high, const unsigned char *q, int64_t j)
{
    return four(q, j) + (high[j / 8] >> (j % 8) & 1) * 16;
}

static double number_at(uint32_t type, const unsigned char *at)
{
    uint32_t word = 0;
    float x;

    if (type == HEED_ATTEND_F16)
        return half_at(at);
    memcpy((unsigned char *)&word + (type == HEED_ATTEND_BF16 ? 2 : 0), at,
           type == HEED_ATTEND_BF16 ? 2 : 4);
    memcpy(&x, &word, sizeof x);
    return (double)x;
}

/* What is computed in binary32 is rounded so: products and sums by (float). */
double world_element(uint32_t type, const unsigned char *row, int64_t j)
{
    static const int levels[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                                    1,    13,   25,  38,  53,  69,  89,  113 };
    int64_t elements = 1, bytes = 0;
    const unsigned char *at;

    world_block(type, &elements, &bytes);
    at = row + j / elements * bytes;
    j %= elements;
    switch (type) {
    case HEED_ATTEND_Q8_0:
        return half_at(at) * (signed char)at[2 + j];
    case HEED_ATTEND_Q4_0:
        return half_at(at) * (four(at + 2, j) - 8);
    case HEED_ATTEND_Q4_1:
        return (double)(float)((double)(float)(half_at(at) * four(at + 4, j)) + half_at(at + 2));
    case HEED_ATTEND_Q5_0:
        return half_at(at) * (five(at + 2, at + 6, j) - 16);
    case HEED_ATTEND_Q5_1:
        return (double)(float)((double)(float)(half_at(at) * five(at + 4, at + 8, j)) +
                               half_at(at + 2));
    case HEED_ATTEND_IQ4_NL:
        return half_at(at) * levels[four(at + 2, j)];
    case HEED_ATTEND_Q1_0:
        return (at[2 + j / 8] >> (j % 8) & 1) != 0 ? half_at(at) : -half_at(at);
    case HEED_ATTEND_Q2_0:
        return half_at(at) * ((at[2 + j / 4] >> (j % 4 * 2) & 3) - 1);
    default:
        return number_at(type, at);
    }
}

/* ---- a call ---------------------------------------------------------------------- */

/* A tensor [channels][rows][heads][items] in memory of its own. permuted: the heads of a row lie
 * side by side, as in a cache; padded: there are bytes between rows that nobody may touch. */
static void *place(struct heed_attend_tensor *t, uint32_t type, const int64_t ne[4], bool permuted,
                   bool padded)
{
    int64_t elements = 1, bytes = 4, row;
    const int inner = permuted ? 2 : 1, outer = permuted ? 1 : 2;

    world_block(type, &elements, &bytes);
    row = ne[0] / elements * bytes + (padded ? 2 * bytes : 0);
    t->type = type;
    memcpy(t->ne, ne, sizeof t->ne);
    t->nb[0] = bytes;
    t->nb[inner] = row;
    t->nb[outer] = row * ne[inner];
    t->nb[3] = row * ne[1] * ne[2];
    return t->data = calloc(1, (size_t)(t->nb[3] * ne[3] + 1));
}

static void fill_row(uint32_t type, unsigned char *row, int64_t n, uint64_t *state)
{
    int64_t elements = 1, bytes = 4;

    world_block(type, &elements, &bytes);
    for (int64_t b = 0; b < n / elements; b++, row += bytes) {
        const float x = (float)unit(state);
        const unsigned scale = world_half_bits(unit(state) * 0.02), low = world_half_bits(x);

        for (int64_t i = 0; i < bytes; i++)
            row[i] = (unsigned char)(next(state) >> 8);
        if (type == HEED_ATTEND_F32)
            memcpy(row, &x, sizeof x);
        if (type == HEED_ATTEND_BF16)
            memcpy(row, (const unsigned char *)&x + 2, 2);
        if (type == HEED_ATTEND_F16)
            memcpy(row, (const uint16_t[]){ (uint16_t)low }, 2);
        if (elements > 1)
            memcpy(row, (const uint16_t[]){ (uint16_t)scale }, 2);
        if (type == HEED_ATTEND_Q4_1 || type == HEED_ATTEND_Q5_1)
            memcpy(row + 2, (const uint16_t[]){ (uint16_t)world_half_bits((double)x / 4) }, 2);
    }
}

static unsigned char *row_at(const struct heed_attend_tensor *t, int64_t row, int64_t head,
                             int64_t item)
{
    if (t->ne[3] == 1)
        item = 0;
    return (unsigned char *)t->data + row * t->nb[1] + head * t->nb[2] + item * t->nb[3];
}

static void fill(struct heed_attend_tensor *t, uint64_t *state)
{
    for (int64_t item = 0; item < t->ne[3]; item++) {
        for (int64_t head = 0; head < t->ne[2]; head++) {
            for (int64_t row = 0; row < t->ne[1]; row++)
                fill_row(t->type, row_at(t, row, head, item), t->ne[0], state);
        }
    }
}

static bool is_seen(const struct draw *d, int64_t item, int64_t row, int64_t key)
{
    const int64_t at = d->keys - d->rows + row;

    switch (d->mask) {
    case MASK_CAUSAL:
    case MASK_VALUES:
        return key <= at;
    case MASK_WINDOW:
        return key <= at && key > at - 9;
    case MASK_SEQUENCES:
        return (key < d->keys / 2) == ((row + item) % 2 == 0);
    case MASK_HOLES:
        return key % 2 == (row + item) % 2;
    case MASK_TREE:
        return key <= at && (row % 3 == 0 || key < d->keys / 2 || key % 3 == row % 3);
    case MASK_EMPTY_ROWS:
        return row % 3 != 0 && key <= at;
    default:
        return true;
    }
}

static void fill_mask(const struct draw *d, const struct heed_attend_tensor *m)
{
    for (int64_t item = 0; item < m->ne[3]; item++) {
        for (int64_t row = 0; row < m->ne[1]; row++) {
            uint16_t *const to = (uint16_t *)(void *)row_at(m, row, 0, item);

            for (int64_t key = 0; key < m->ne[0]; key++) {
                to[key] = key % 2 == 0 ? 0x8000 : 0;
                if (d->mask == MASK_VALUES)
                    to[key] = (uint16_t)world_half_bits(-0.3 * (double)((row + key) % 9));
                if (!is_seen(d, item, row, key))
                    to[key] = 0xfc00;
            }
        }
    }
}

static void make_kv(struct drawn *w, uint64_t *state)
{
    const struct draw *const d = &w->draw;
    const int64_t items = d->one_kv ? 1 : d->batch;
    const int64_t k[4] = { d->d, d->keys, d->kv_heads, items };
    const int64_t v[4] = { d->d_v, d->keys, d->kv_heads, items };

    w->memory[1] = place(&w->call.k, d->k_type, k, d->permuted, d->padded);
    fill(&w->call.k, state);
    if (d->v_in_k) {
        w->call.v = w->call.k;
        w->call.v.ne[0] = d->d_v;
        return;
    }
    w->memory[2] = place(&w->call.v, d->v_type, v, d->permuted, d->padded);
    fill(&w->call.v, state);
}

void world_make(struct drawn *w, const struct draw *d, uint64_t seed)
{
    const int64_t q[4] = { d->d, d->rows, d->heads, d->batch };
    const int64_t o[4] = { d->d_v, d->rows, d->heads, d->batch };
    const int64_t mask[4] = { d->keys + 3, d->rows + 1, 1, d->one_mask ? 1 : d->batch };
    const int64_t sinks[4] = { d->heads, 1, 1, 1 };
    uint64_t state = seed;

    memset(w, 0, sizeof *w);
    w->draw = *d;
    w->memory[0] = place(&w->call.q, HEED_ATTEND_F32, q, d->permuted, d->padded);
    fill(&w->call.q, &state);
    make_kv(w, &state);
    if (d->mask != MASK_ABSENT) {
        w->memory[3] = place(&w->call.mask, HEED_ATTEND_F16, mask, false, d->padded);
        fill_mask(d, &w->call.mask);
    }
    if (d->sinks) {
        w->memory[4] = place(&w->call.sinks, HEED_ATTEND_F32, sinks, false, false);
        fill(&w->call.sinks, &state);
    }
    w->memory[5] = place(&w->call.o, HEED_ATTEND_F32, o, true, d->padded);
    w->o_bytes = (size_t)(w->call.o.nb[3] * d->batch);
    w->call.scale = 1.3f / sqrtf((float)d->d);
    w->call.max_bias = d->max_bias;
    w->call.softcap = d->softcap;
    world_forget(w);
}

void world_free(struct drawn *w)
{
    for (size_t i = 0; i < sizeof w->memory / sizeof *w->memory; i++)
        free(w->memory[i]);
}

void world_forget(struct drawn *w)
{
    memset(w->memory[5], 0xa5, w->o_bytes);
}

/* ---- what it must give -------------------------------------------------------------- */

static double slope(const struct draw *d, int64_t head)
{
    const double m = exp2(floor(log2((double)d->heads)));
    const double h = (double)head;

    if (!(d->max_bias > 0))
        return 1;
    return h < m ? exp2(-(double)d->max_bias * (h + 1) / m)
                 : exp2(-(double)d->max_bias / 2 * (2 * (h - m) + 1) / m);
}

/* Blocks that heed does not read are halves when they come to it. */
static double element(const struct heed_attend_tensor *t, const unsigned char *row, int64_t j)
{
    const double x = world_element(t->type, row, j);

    return heed_attend_rows()->type(t->type)->heed != 0 ? x : world_half(x);
}

/* The logit of a key; -Inf where it is not seen. */
static double logit(const struct drawn *w, int64_t item, int64_t head, int64_t row, int64_t key)
{
    const struct draw *const d = &w->draw;
    const unsigned char *const q = row_at(&w->call.q, row, head, item);
    const unsigned char *const k = row_at(&w->call.k, key, head / (d->heads / d->kv_heads), item);
    double y = 0;

    for (int64_t j = 0; j < d->d; j++)
        y += world_element(HEED_ATTEND_F32, q, j) * element(&w->call.k, k, j);
    y *= (double)w->call.scale;
    if (d->softcap > 0)
        y = (double)d->softcap * tanh(y / (double)d->softcap);
    if (d->mask != MASK_ABSENT)
        y += slope(d, head) * half_at(row_at(&w->call.mask, row, 0, item) + 2 * key);
    return y;
}

/* A row of o in binary64. */
static void right_row(const struct drawn *w, int64_t item, int64_t head, int64_t row, double *out)
{
    const struct draw *const d = &w->draw;
    double sum = 0, most = -INFINITY, *const y = malloc((size_t)d->keys * sizeof *y);

    for (int64_t key = 0; key < d->keys; key++) {
        y[key] = logit(w, item, head, row, key);
        most = fmax(most, y[key]);
    }
    memset(out, 0, (size_t)d->d_v * sizeof *out);
    for (int64_t key = 0; key < d->keys && most > -INFINITY; key++) {
        const unsigned char *const v =
            row_at(&w->call.v, key, head / (d->heads / d->kv_heads), item);
        const double weight = exp(y[key] - most);

        sum += weight;
        for (int64_t j = 0; j < d->d_v && weight > 0; j++)
            out[j] += weight * element(&w->call.v, v, j);
    }
    if (d->sinks)
        sum += exp(world_element(HEED_ATTEND_F32, w->call.sinks.data, head) - most);
    for (int64_t j = 0; j < d->d_v && most > -INFINITY; j++)
        out[j] /= sum;
    free(y);
}

double world_error(const struct drawn *w)
{
    const struct draw *const d = &w->draw;
    double error = 0, size = 0, *const right = malloc((size_t)d->d_v * sizeof *right);

    for (int64_t line = 0; line < d->batch * d->heads * d->rows; line++) {
        const int64_t row = line % d->rows, head = line / d->rows % d->heads;
        const int64_t item = line / d->rows / d->heads;
        const unsigned char *const o = row_at(&w->call.o, row, head, item);

        right_row(w, item, head, row, right);
        for (int64_t j = 0; j < d->d_v; j++) {
            const double off = world_element(HEED_ATTEND_F32, o, j) - right[j];

            error += off * off;
            size += right[j] * right[j];
        }
    }
    free(right);
    return error / (size > 0 ? size : 1);
}
