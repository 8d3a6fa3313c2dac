/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One row of the field kernel: which keys it sees, their scores, weights and sums (online softmax,
 * Milakov and Gimelshein 2018, in tiles as in Dao et al. 2022), the merge of parts.
 */
#include "field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- elements ------------------------------------------------------------------ */

static int64_t size_of(uint32_t dtype)
{
    return dtype == HEED_U8                                                        ? 1
           : dtype == HEED_F16 || dtype == HEED_BF16                               ? 2
           : dtype == HEED_I64                                                     ? 8
                                                                                   : 4;
}

static float of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float half_widen(uint16_t h)
{
    const int exponent = h >> 10 & 31;
    const float fraction = (float)(h & 1023);
    const float x = exponent == 31 ? (h & 1023 ? NAN : INFINITY)
                    : exponent     ? ldexpf(fraction + 1024, exponent - 25)
                                   : ldexpf(fraction, -24);

    return h >> 15 ? -x : x;
}

static uint16_t half_round(float x)
{
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    const float size = fabsf(x);
    int exponent;
    float quantum;

    if (isnan(x))
        return 0x7e00;
    if (size >= 65520)
        return (uint16_t)(sign | 0x7c00);
    exponent = size < 0x1p-14f ? -14 : ilogbf(size);
    quantum = rintf(ldexpf(size, 10 - exponent)); /* may carry into the exponent, rightly */
    return (uint16_t)(sign | ((uint32_t)((exponent + 14) << 10) + (uint32_t)quantum));
}

static uint16_t bf16_round(float x)
{
    const uint32_t bits = bits_of(x);

    if (isnan(x))
        return 0x7fc0;
    if (field_has(F_output_cut))
        return (uint16_t)(bits >> 16);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float rounded(uint32_t dtype, float x)
{
    return dtype == HEED_F16    ? half_widen(half_round(x))
           : dtype == HEED_BF16 ? of_bits((uint32_t)bf16_round(x) << 16)
                                : x;
}

static float load(uint32_t dtype, const char *at)
{
    uint16_t half;
    float x;

    if (dtype != HEED_F32) {
        memcpy(&half, at, sizeof half);
        return dtype == HEED_F16 ? half_widen(half) : of_bits((uint32_t)half << 16);
    }
    memcpy(&x, at, sizeof x);
    if (field_has(F_subnormals_lost) && fabsf(x) < 0x1p-126f)
        x = 0;
    return x;
}

/* NaN has one form in outputs, zero has no sign. */
static void store(uint32_t dtype, char *at, float x)
{
    const float clean = isnan(x) ? NAN : x + 0.0f;
    const uint16_t half = dtype == HEED_F16 ? half_round(clean) : bf16_round(clean);

    if (dtype != HEED_F32) {
        const uint16_t plain = half == 0x8000 ? 0 : half;

        memcpy(at, &plain, sizeof plain);
    } else {
        memcpy(at, &clean, sizeof clean);
    }
}

void *field_copy(const heed_tensor *t, const void *data, const char **first)
{
    int64_t low = 0, high = 0;
    char *copy;

    for (uint32_t i = 0; i < t->ndim; i++) {
        const int64_t reach = (t->shape[i] - 1) * t->stride[i];

        if (t->shape[i] == 0) {
            *first = NULL;
            return malloc(1);
        }
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    low *= size_of(t->dtype);
    high = (high + 1) * size_of(t->dtype);
    copy = malloc((size_t)(high - low));
    if (copy)
        memcpy(copy, (const char *)data + low, (size_t)(high - low));
    *first = copy ? copy - low : NULL;
    return copy;
}

/* ---- places ------------------------------------------------------------------- */

static int64_t stride(const heed_tensor *t, uint32_t from_right)
{
    const int64_t x = from_right <= t->ndim ? t->stride[t->ndim - from_right] : 0;

    return field_has(F_stride_without_sign) && x < 0 ? -x : x;
}

/* Of an axis of extent 1, or that is missing, there is one element. */
static int64_t broadcast(const heed_tensor *t, uint32_t from_right, int64_t index)
{
    return from_right <= t->ndim && t->shape[t->ndim - from_right] > 1
               ? index * stride(t, from_right)
               : 0;
}

static int64_t item_at(const struct field_state *s, const heed_tensor *t, uint32_t trailing,
                       int64_t item)
{
    int64_t at = 0;

    for (uint32_t i = 0; i < 3; i++) {
        if (field_has(F_k_not_broadcast) && t == &s->k && i == 0) /* as many as q has */
            at += item % s->batch[i] * s->k_heads * s->n_k * s->d;
        else
            at += broadcast(t, trailing + 1 + i, item % s->batch[i]);
        item /= s->batch[i];
    }
    return at;
}

static char *row_at(const struct field_state *s, const heed_tensor *t, heed_buf buf,
                    struct field_place place)
{
    const int64_t rows = field_has(F_rows_packed) && t == &s->q ? s->d : stride(t, 2);

    return (char *)buf.handle + buf.offset +
           (item_at(s, t, 3, place.item) + place.head * stride(t, 3) + place.row * rows) *
               size_of(t->dtype);
}

static const char *slot_first(const struct field_slot *slot, const heed_attn_args *args)
{
    const heed_buf buf = slot->constant ? (heed_buf){ 0 } : args->slots[slot->number - 1];

    return slot->constant ? slot->first : (const char *)buf.handle + buf.offset;
}

static int64_t load_integer(uint32_t dtype, const char *at)
{
    int32_t x;
    int64_t y;

    if (dtype == HEED_I64) {
        memcpy(&y, at, sizeof y);
        return y;
    }
    memcpy(&x, at, sizeof x);
    return x;
}

/* The row of k or v that holds a key; NULL: its page is absent. */
static const char *key_at(const struct field_state *s, const heed_attn_args *args,
                          const heed_tensor *t, heed_buf buf, struct field_place place,
                          int64_t key)
{
    const heed_tensor *table = &s->table.t;
    const int64_t head = field_has(F_group_modulo) ? place.head % s->k_heads
                                                   : place.head / s->group;
    const int64_t item = field_has(F_table_of_item_0) ? 0 : place.item;
    int64_t page;

    if (!s->paged) {
        const char *at = row_at(s, t, buf, (struct field_place){ place.item, head, key });

        return field_has(F_aligned_by_16) && s->d > 0 ? at - (uintptr_t)at % 16 : at;
    }
    page = load_integer(table->dtype, slot_first(&s->table, args) +
                                          (item_at(s, table, 1, item) +
                                           key / s->page * stride(table, 1)) *
                                              size_of(table->dtype));
    if (field_has(F_page_absent_is_0) && page < 0 && t->shape[0] > 0)
        page = 0;
    if (page < 0 || page >= t->shape[0])
        return NULL;
    return (const char *)buf.handle + buf.offset +
           (page * stride(t, 4) + head * stride(t, 3) + key % s->page * stride(t, 2)) *
               size_of(t->dtype);
}

static int64_t length_of(const struct field_state *s, const heed_attn_args *args, int64_t item)
{
    const heed_tensor *t = &s->length.t;
    int64_t n;

    if (s->length.number == 0 || (field_has(F_length_forgotten) && !s->paged))
        return s->n_k;
    n = load_integer(t->dtype, slot_first(&s->length, args) +
                                   item_at(s, t, 0, item) * size_of(t->dtype));
    n = n < 0 ? 0 : n > s->n_k ? s->n_k : n;
    return field_has(F_page_whole) && s->paged ? (n + s->page - 1) / s->page * s->page : n;
}

/* ---- scores -------------------------------------------------------------------- */

struct keys {
    const struct field_state *s;
    const heed_attn_args *args;
    struct field_place place;
    int64_t n;
    double *y; /* scores, then weights; -INFINITY, then -1: removed */
    bool poisoned;
};

static bool sees(const struct keys *keys, int64_t key)
{
    const struct field_state *s = keys->s;
    const int64_t at = s->pos0 + key;
    const int64_t end = s->at_end ? s->pos0 + keys->n - s->n_q : 0;
    const int64_t q = end + keys->place.row + s->q_pos0;

    if (s->causal && at > q)
        return false;
    return (s->left == HEED_FAR || at >= q - s->left) &&
           (s->right == HEED_FAR || at <= q + s->right);
}

static float dot(const struct field_state *s, const char *q, const char *k)
{
    const int64_t n = field_has(F_tail_of_d_lost) ? s->d / 4 * 4 : s->d;
    const int64_t ahead = field_has(F_tail_read_beyond) ? (s->d + 15) / 16 * 16 : n;
    float sum = 0;
    double wide = 0;

    for (int64_t c = 0; c < ahead; c++) {
        const float y = load(s->k.dtype, k + c * stride(&s->k, 1) * size_of(s->k.dtype));
        const float x =
            c < n ? load(s->q.dtype, q + c * stride(&s->q, 1) * size_of(s->q.dtype)) : 0;

        if (c >= n)
            continue;
        sum = fmaf(x, y, sum);
        wide += (double)x * (double)y;
        if (field_has(F_dot_in_bf16))
            sum = rounded(HEED_BF16, sum);
    }
    return field_way.wide ? (float)wide : sum;
}

static float bias_of(const struct keys *keys, int64_t key)
{
    const struct field_state *s = keys->s;
    const heed_tensor *t = &s->bias.t;
    const int64_t row = field_has(F_bias_of_row_0) ? 0 : keys->place.row;
    const int64_t head = field_has(F_bias_of_head_0) ? 0 : keys->place.head;
    const int64_t at = item_at(s, t, 3, keys->place.item) + broadcast(t, 3, head) +
                       broadcast(t, 2, row) + broadcast(t, 1, key);
    float x;

    if (s->bias.number == 0)
        return 0;
    x = load(t->dtype, slot_first(&s->bias, keys->args) + at * size_of(t->dtype));
    return field_has(F_bias_finite) && x == -INFINITY ? -1e4f : x;
}

static float capped(const struct field_state *s, float y)
{
    return s->cap > 0 ? s->cap * tanhf(y / s->cap) : y;
}

static float score(const struct keys *keys, const char *q, const char *k, float bias)
{
    const struct field_state *s = keys->s;
    const float sum = dot(s, q, k);
    float y;

    if (field_has(F_bias_scaled))
        y = capped(s, (sum + bias) * s->scale);
    else if (field_has(F_cap_before_scale))
        y = capped(s, sum) * s->scale + bias;
    else if (field_has(F_cap_after_bias))
        y = capped(s, sum * s->scale + bias);
    else
        y = capped(s, sum * s->scale) + bias;
    return field_has(F_scores_in_f16) ? rounded(HEED_F16, y) : y;
}

/* Keys that are not seen are not read, nor are those that a bias removes. */
static void scores_make(struct keys *keys)
{
    const struct field_state *s = keys->s;
    const char *q = row_at(s, &s->q, keys->args->q, keys->place);

    for (int64_t j = 0; j < keys->n; j++) {
        const bool seen = sees(keys, j);
        const char *k = seen ? key_at(s, keys->args, &s->k, keys->args->kv->k, keys->place, j)
                             : NULL;
        const float bias = k ? bias_of(keys, j) : 0;
        const float y = k && bias > -INFINITY ? score(keys, q, k, bias)
                        : k && isnan(bias)    ? NAN
                                              : -INFINITY;

        keys->y[j] = (double)y;
        keys->poisoned = keys->poisoned || isnan(y) || y == INFINITY;
    }
}

/* The first score of the first row is that of the last run on k in this place. */
static void score_keep(struct keys *keys)
{
    static const void *from;
    static double kept;

    if (keys->n == 0 || keys->place.item + keys->place.head + keys->place.row > 0)
        return;
    if (from == keys->args->kv->k.handle)
        keys->y[0] = kept;
    from = keys->args->kv->k.handle;
    kept = keys->y[0];
}

/* ---- sums ----------------------------------------------------------------------- */

/* Of some keys: largest score, sum of weights, sums of weighted v. */
struct part {
    float most;
    double sum, *acc;
};

/* Sums are of binary32, unless the way is wide. */
static double narrow(double x)
{
    return field_way.wide                 ? x
           : field_has(F_sums_in_f16)     ? (double)rounded(HEED_F16, (float)x)
                                          : (double)(float)x;
}

static float weight_of(float x)
{
    const float p = field_way.base_2 ? exp2f(x * 1.442695041f) : expf(x);

    return field_has(F_exp_poor) ? p * (1 + 2e-5f * sinf(x * 50)) : p;
}

/* Adds the weighted v of keys [begin, end) to channel c, in halves or in order. */
static double weighted(const struct keys *keys, int64_t begin, int64_t end, int64_t c, double sum)
{
    const struct field_state *s = keys->s;

    if (field_way.pairwise && end - begin > 8) {
        const int64_t half = begin + (end - begin) / 2;

        return narrow(sum + narrow(weighted(keys, begin, half, c, 0) +
                                   weighted(keys, half, end, c, 0)));
    }
    for (int64_t i = 0; i < end - begin; i++) {
        const int64_t j = field_way.reversed ? end - 1 - i : begin + i;
        const uint32_t type = field_has(F_weights_bf16_unclaimed) ? HEED_BF16 : field_way.weights;
        const char *v;

        if (keys->y[j] < 0)
            continue;
        v = key_at(s, keys->args, &s->v, keys->args->kv->v, keys->place, j);
        sum = narrow(sum + narrow((double)rounded(type, (float)keys->y[j]) *
                                  (double)load(s->v.dtype, v + c * stride(&s->v, 1) *
                                                                   size_of(s->v.dtype))));
    }
    return sum;
}

static float tile_most(const struct keys *keys, int64_t begin, int64_t end)
{
    float most = -INFINITY;

    for (int64_t j = begin; j < end; j++)
        most = keys->y[j] > (double)most ? (float)keys->y[j] : most;
    return field_has(F_largest_not_taken_off) && most > -INFINITY ? 0 : most;
}

static void tile_add(const struct keys *keys, int64_t begin, int64_t end, struct part *part)
{
    const float tile = tile_most(keys, begin, end);
    const float most = tile > part->most ? tile : part->most;
    const double rescale = part->most > -INFINITY || field_has(F_masked_tile_nan)
                               ? (double)weight_of(part->most - most)
                               : 0;
    const bool fresh = part->most == -INFINITY;
    const bool kept = field_has(F_masked_tile_nan) ||
                      (field_has(F_first_tile_not_cleared) && begin > 0);

    if (most == -INFINITY && !field_has(F_masked_tile_nan))
        return;
    part->sum = narrow(part->sum * rescale);
    for (int64_t j = begin; j < end; j++) {
        const float y = (float)keys->y[j];

        keys->y[j] = y > -INFINITY ? (double)weight_of(y - most) : -1;
        if (y > -INFINITY && !(field_has(F_sum_of_tile_lost) && end == keys->n && begin > 0))
            part->sum = narrow(part->sum + keys->y[j]);
    }
    for (int64_t c = 0; c < keys->s->dv; c++) {
        if (fresh && !kept)
            part->acc[c] = 0;
        else if (!fresh && !field_has(F_rescale_lost))
            part->acc[c] = narrow(part->acc[c] * rescale);
        part->acc[c] = weighted(keys, begin, end, c, part->acc[c]);
    }
    part->most = most;
}

/* A tile that begins behind the last key of a causal row is not looked at. */
static bool tile_skipped(const struct keys *keys, int64_t begin, int64_t end)
{
    return field_has(F_causal_tile_skipped) && keys->s->causal && begin > 0 &&
           !sees(keys, end - 1);
}

static void part_make(const struct keys *keys, int64_t begin, int64_t end, struct part *part)
{
    *part = (struct part){ -INFINITY, 0, part->acc };
    if (!field_has(F_first_tile_not_cleared))
        memset(part->acc, 0, (size_t)keys->s->dv * sizeof *part->acc);
    while (begin < end) {
        const int64_t n = end - begin < field_way.tile ? end - begin : field_way.tile;
        const int64_t at = field_way.reversed ? end - n : begin;

        if (!tile_skipped(keys, at, at + n))
            tile_add(keys, at, at + n, part);
        begin += field_way.reversed ? 0 : n;
        end -= field_way.reversed ? n : 0;
    }
}

/* Partial results as in Dao et al. 2022, algorithm 1. */
static void merge(const struct field_state *s, struct part *all, const struct part *part)
{
    const float most = field_has(F_merge_with_first_largest) && all->most > -INFINITY ? all->most
                       : part->most > all->most                                       ? part->most
                                                                                      : all->most;
    const bool empty = part->most == -INFINITY && !field_has(F_merge_of_empty_part);
    const bool first = all->most == -INFINITY && !field_has(F_merge_of_empty_part);
    const double old = first ? 0 : (double)weight_of(all->most - most),
                 new = empty ? 0 : (double)weight_of(field_has(F_merge_with_first_largest)
                                                         ? 0
                                                         : part->most - most);

    if (empty)
        return;
    all->sum = narrow(narrow(all->sum * old) + narrow(part->sum * new));
    for (int64_t c = 0; c < s->dv; c++)
        all->acc[c] = narrow((first ? 0 : narrow(all->acc[c] * old)) + narrow(part->acc[c] * new));
    all->most = most;
}

/* ---- the row ---------------------------------------------------------------------- */

static float sink_of(const struct keys *keys)
{
    const struct field_state *s = keys->s;
    const heed_buf buf = keys->args->sinks;
    float z;

    if (!s->has_sinks)
        return -INFINITY;
    z = load(HEED_F32, (const char *)buf.handle + buf.offset +
                           keys->place.head * stride(&s->sinks, 1) * size_of(HEED_F32));
    return field_has(F_sink_scaled) ? z * s->scale : z;
}

static float lse_of(const struct part *part, bool poisoned)
{
    float x;

    if (poisoned)
        return NAN;
    if (part->most == -INFINITY)
        return -INFINITY;
    x = field_has(F_lse_of_largest) ? part->most : part->most + (float)log(part->sum);
    return field_has(F_lse_in_base_2) ? x * 1.44269504f : x;
}

/* One more key, without a value. */
static void sink_add(const struct field_state *s, struct part *part, float z)
{
    const float most = z > part->most && !field_has(F_sink_not_the_largest) ? z : part->most;
    const double rescale = (double)weight_of(part->most - most);

    part->sum = narrow(part->sum * rescale) +
                (field_has(F_sink_twice) ? 2 : 1) * (double)weight_of(z - most);
    for (int64_t c = 0; c < s->dv; c++)
        part->acc[c] = narrow(part->acc[c] * rescale);
    part->most = most;
}

static void outputs_write(const struct keys *keys, struct part *part)
{
    const struct field_state *s = keys->s;
    const float z = sink_of(keys);
    const bool empty = part->most == -INFINITY && !keys->poisoned;
    const bool sunk = isnan(z) || z == INFINITY;
    float lse = lse_of(part, keys->poisoned);
    char *o = row_at(s, &s->o, keys->args->o, keys->place);
    const int64_t channels = field_has(F_width_of_v_is_d) && s->d < s->dv ? s->d : s->dv;

    if (!empty && !sunk && !keys->poisoned && z > -INFINITY)
        sink_add(s, part, z);
    if (s->lse_with_sink || field_has(F_sink_in_lse))
        lse = empty ? z : sunk ? NAN : lse_of(part, keys->poisoned);
    for (int64_t c = 0; c < channels; c++)
        store(s->o.dtype, o + c * stride(&s->o, 1) * size_of(s->o.dtype),
              empty ? (field_has(F_empty_row_nan) ? NAN : 0)
              : (sunk || keys->poisoned) ? (field_has(F_nan_lost) ? 0 : NAN)
                                         : (float)(part->acc[c] / part->sum));
    if (s->lse.ndim) {
        const int64_t at = item_at(s, &s->lse, 2, keys->place.item) +
                           keys->place.head * stride(&s->lse, 2) +
                           keys->place.row * stride(&s->lse, 1);

        store(HEED_F32, (char *)keys->args->lse.handle + keys->args->lse.offset + at * 4, lse);
    }
}

void field_row(const struct field_state *s, const heed_attn_args *args, struct field_place place,
               double *room)
{
    struct keys keys = { .s = s, .args = args, .place = place, .y = room };
    struct part all = { -INFINITY, 0, room + s->n_k }, part = { -INFINITY, 0, all.acc + s->dv };
    const uintptr_t address = (uintptr_t)args->q.handle + (uintptr_t)args->q.offset;

    keys.n = length_of(s, args, place.item);
    scores_make(&keys);
    if (field_has(F_order_by_address))
        field_way.reversed = address / 64 % 2;
    if (field_has(F_score_kept_by_address))
        score_keep(&keys);
    for (int64_t i = 0; i < field_way.split && !keys.poisoned; i++) {
        const int64_t begin = keys.n * i / field_way.split,
                      end = keys.n * (i + 1) / field_way.split;

        part_make(&keys, begin, end, field_way.split > 1 ? &part : &all);
        if (field_way.split > 1)
            merge(s, &all, &part);
    }
    outputs_write(&keys, &all);
}
