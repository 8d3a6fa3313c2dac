/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One row of the field kernel: which keys it sees, their scores, weights and sums (online softmax,
 * Milakov and Gimelshein 2018, in tiles as in Dao et al. 2022), the merge of parts.
 */
#include "field.h"

#include <math.h>
#include <string.h>

/* ---- scores -------------------------------------------------------------------- */

struct keys {
    const struct field_state *s;
    const heed_attn_args *args;
    struct field_place place;
    int64_t n;
    double *y; /* scores, then weights; -INFINITY, then -1: removed */
    bool poisoned;
    struct field_sum sum;
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
    const int64_t q_step = field_stride(&s->q, 1) * field_size(s->q.dtype),
                  k_step = field_stride(&s->k, 1) * field_size(s->k.dtype);
    float sum = 0;
    double wide = 0;

    for (int64_t c = 0; c < ahead; c++) {
        const float y = field_load(s->k.dtype, k + c * k_step);
        const float x = c < n ? field_load(s->q.dtype, q + c * q_step) : 0;

        if (c >= n)
            continue;
        sum = fmaf(x, y, sum);
        wide += (double)x * (double)y;
        if (field_has(F_dot_in_bf16))
            sum = field_rounded(HEED_BF16, sum);
    }
    return field_way.wide ? (float)wide : sum;
}

static float bias_of(const struct keys *keys, int64_t key)
{
    const struct field_state *s = keys->s;
    const heed_tensor *t = &s->bias.t;
    const int64_t row = field_has(F_bias_of_row_0) ? 0 : keys->place.row;
    const int64_t head = field_has(F_bias_of_head_0) ? 0 : keys->place.head;
    const int64_t at = field_item(s, t, 3, keys->place.item) + field_broadcast(t, 3, head) +
                       field_broadcast(t, 2, row) + field_broadcast(t, 1, key);
    float x;

    if (s->bias.number == 0)
        return 0;
    x = field_load(t->dtype, field_slot_of(&s->bias, keys->args) + at * field_size(t->dtype));
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
    return field_has(F_scores_in_f16) ? field_rounded(HEED_F16, y) : y;
}

/* Keys that are not seen are not read, nor are those that a bias removes. */
static void scores_make(struct keys *keys)
{
    const struct field_state *s = keys->s;
    const char *q = field_row_of(s, &s->q, keys->args->q, keys->place);

    for (int64_t j = 0; j < keys->n; j++) {
        const bool seen = sees(keys, j);
        const char *k = seen ? field_key(s, keys->args, &s->k, keys->args->kv->k, keys->place, j)
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
           : field_has(F_sums_in_f16)     ? (double)field_rounded(HEED_F16, (float)x)
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
        const int64_t j = keys->sum.reversed ? end - 1 - i : begin + i;
        const uint32_t type = field_has(F_weights_bf16_unclaimed) ? HEED_BF16 : field_way.weights;
        const char *v;

        if (keys->y[j] < 0)
            continue;
        v = field_key(s, keys->args, &s->v, keys->args->kv->v, keys->place, j);
        sum = narrow(sum + narrow((double)field_rounded(type, (float)keys->y[j]) *
                                  (double)field_load(s->v.dtype, v + c * field_stride(&s->v, 1) *
                                                                   field_size(s->v.dtype))));
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
        const int64_t n = end - begin < keys->sum.tile ? end - begin : keys->sum.tile;
        const int64_t at = keys->sum.reversed ? end - n : begin;

        if (!tile_skipped(keys, at, at + n))
            tile_add(keys, at, at + n, part);
        begin += keys->sum.reversed ? 0 : n;
        end -= keys->sum.reversed ? n : 0;
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
    z = field_load(s->sinks.dtype,
                   (const char *)buf.handle + buf.offset +
                       keys->place.head * field_stride(&s->sinks, 1) * field_size(s->sinks.dtype));
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
    char *o = field_row_of(s, &s->o, keys->args->o, keys->place);
    const int64_t channels = field_has(F_width_of_v_is_d) && s->d < s->dv ? s->d : s->dv;

    if (!empty && !sunk && !keys->poisoned && z > -INFINITY)
        sink_add(s, part, z);
    if (s->lse_with_sink || field_has(F_sink_in_lse))
        lse = empty ? z : sunk ? NAN : lse_of(part, keys->poisoned);
    for (int64_t c = 0; c < channels; c++)
        field_store(s->o.dtype, o + c * field_stride(&s->o, 1) * field_size(s->o.dtype),
              empty ? (field_has(F_empty_row_nan) ? NAN : 0)
              : (sunk || keys->poisoned) ? (field_has(F_nan_lost) ? 0 : NAN)
                                         : (float)(part->acc[c] / part->sum));
    if (s->lse.ndim) {
        const int64_t at = field_item(s, &s->lse, 2, keys->place.item) +
                           keys->place.head * field_stride(&s->lse, 2) +
                           keys->place.row * field_stride(&s->lse, 1);

        field_store(HEED_F32, (char *)keys->args->lse.handle + keys->args->lse.offset + 4 * at,
                    lse);
    }
}

void field_row(const struct field_state *s, const heed_attn_args *args, struct field_place place,
               struct field_sum sum, double *room)
{
    struct keys keys = { .s = s, .args = args, .place = place, .y = room, .sum = sum };
    struct part all = { -INFINITY, 0, room + s->n_k }, part = { -INFINITY, 0, all.acc + s->dv };

    keys.n = field_length(s, args, place.item);
    scores_make(&keys);
    if (field_has(F_score_kept_by_address))
        score_keep(&keys);
    for (int64_t i = 0; i < sum.split && !keys.poisoned; i++) {
        const int64_t begin = keys.n * i / sum.split,
                      end = keys.n * (i + 1) / sum.split;

        part_make(&keys, begin, end, sum.split > 1 ? &part : &all);
        if (sum.split > 1)
            merge(s, &all, &part);
    }
    outputs_write(&keys, &all);
}
