/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A row of attention as numerics.md section 4 defines it. Keys are walked in the order of step 2,
 * scored by steps 3 and 4, and given to softmax.c for the rest.
 */
#include "row.h"

#include "blocks.h"
#include "decode.h"
#include "softmax.h"

#include <assert.h>
#include <math.h>

struct walk {
    const struct heed_ref_row *row;
    const struct heed_ref_constants *constants;
    struct heed_ref_keys keys;
    struct heed_ref_softmax softmax;
    struct heed_ref_scales k_scales;
};

static int64_t view_offset(const struct heed_view *view, const int64_t batch[3], int64_t head,
                           int64_t at)
{
    return batch[0] * view->stride[0] + batch[1] * view->stride[1] + batch[2] * view->stride[2] +
           head * view->stride[3] + at * view->stride[4];
}

/* Key position - query position, or the coordinates; one given: the other is the position. */
static int64_t bias_delta(const struct walk *walk, const struct heed_checked_bias *bias,
                          int64_t key)
{
    const struct heed_ref_row *row = walk->row;
    int64_t k = heed_ref_key_first(&walk->keys, key);
    int64_t q = row->position;

    if (bias->k_coord.slot != 0)
        k = heed_ref_clamp_position(heed_ref_aux_int(row, &bias->k_coord, 0, 0, key));
    if (bias->q_coord.slot != 0)
        q = heed_ref_clamp_position(heed_ref_aux_int(row, &bias->q_coord, 0, 0, row->index));
    return k - q;
}

/* clamp(delta + zero, 0, length - 1), then through the map; false: adds nothing. len: entries of
 * the table. */
static bool table_index(const struct walk *walk, const struct heed_checked_bias *bias, int64_t len,
                        int64_t key, int64_t *out)
{
    const int64_t far = INT64_C(1) << 61;
    int64_t length = bias->map.slot != 0 ? bias->map.shape[5] : len;
    int64_t zero = bias->zero < -far ? -far : bias->zero > far ? far : bias->zero;
    int64_t index = bias_delta(walk, bias, key) + zero;

    if (length <= 0)
        return false;
    index = index < 0 ? 0 : index > length - 1 ? length - 1 : index;
    if (bias->map.slot != 0)
        index = heed_ref_aux_int(walk->row, &bias->map, 0, 0, index);
    *out = index;
    return index >= 0 && index < len;
}

/* A bias joins y as fmaf(a, b, y); a kind without a slope has its value in a. */
struct addend {
    float a, b;
};

/* Of an array with a number for each head. */
static float head_entry(const struct heed_ref_row *row, const struct heed_aux *aux, int64_t head)
{
    return heed_ref_load(aux->dtype, heed_ref_aux_data(row, aux),
                         heed_ref_aux_offset(aux, row->batch, 0, 0, head));
}

static bool dense_addend(const struct walk *walk, const struct heed_checked_bias *bias, int64_t key,
                         struct addend *out)
{
    const struct heed_ref_row *row = walk->row;
    int64_t at = heed_ref_aux_offset(&bias->t, row->batch, row->head, row->index, key);

    out->a = heed_ref_load(bias->t.dtype, heed_ref_aux_data(row, &bias->t), at);
    if (bias->u.slot != 0 && out->a != -INFINITY) /* 0 times -Inf removes, too */
        out->a *= head_entry(row, &bias->u, bias->u.shape[5] == 1 ? 0 : row->head);
    out->b = HEED_REF_LOG2E;
    return true;
}

static bool table_addend(const struct walk *walk, const struct heed_checked_bias *bias, int64_t key,
                         struct addend *out)
{
    const struct heed_ref_row *row = walk->row;
    int64_t index;

    if (!table_index(walk, bias, bias->t.shape[5], key, &index))
        return false;
    out->a = heed_ref_load(bias->t.dtype, heed_ref_aux_data(row, &bias->t),
                           heed_ref_aux_offset(&bias->t, row->batch, 0, row->head, index));
    out->b = HEED_REF_LOG2E;
    return true;
}

/* t[h] times log2(e), for a bias that subtracts t[h] times something. */
static float slope_scaled(const struct walk *walk, const struct heed_checked_bias *bias)
{
    return head_entry(walk->row, &bias->t, walk->row->head) * HEED_REF_LOG2E;
}

static bool alibi_addend(const struct walk *walk, const struct heed_checked_bias *bias, int64_t key,
                         struct addend *out)
{
    int64_t delta = bias_delta(walk, bias, key);

    out->a = -slope_scaled(walk, bias);
    out->b = (float)(delta < 0 ? -delta : delta); /* RNE32(|delta|) */
    return true;
}

/* Scales of k or v with so many channels. */
static struct heed_ref_scales scales_of(const struct walk *walk, const struct heed_aux *scale,
                                        int64_t channels, bool minima)
{
    int64_t entries = scale->inner != 0 ? scale->shape[scale->inner] : 1;
    int64_t groups = minima ? entries / 2 : entries;

    if (scale->slot == 0 || channels == 0)
        return (struct heed_ref_scales){ .channels = 0 };
    return (struct heed_ref_scales){
        .data = heed_ref_aux_data(walk->row, scale),
        .dtype = scale->dtype,
        .minima = minima,
        .channels = channels / groups,
        .step = scale->inner != 0 ? scale->stride[scale->inner] : 0,
    };
}

/* The first entry of the key's row; 0: there are no scales. */
static int64_t scale_at(const struct walk *walk, const struct heed_aux *scale, int64_t key)
{
    return scale->slot == 0 ? 0 : heed_ref_key_scale_at(walk->row, &walk->keys, scale, key);
}

static struct heed_ref_line query_line(const struct walk *walk)
{
    const struct heed_ref_row *row = walk->row;
    const struct heed_view *q = &row->attn->q;

    return (struct heed_ref_line){
        .data = heed_ref_memory(row, HEED_ATTN_Q),
        .at = view_offset(q, row->batch, row->head, row->q_begin + row->index),
        .stride = q->stride[5],
        .dtype = q->dtype,
    };
}

static struct heed_ref_line key_line(const struct walk *walk, int64_t key)
{
    const struct heed_ref_keys *keys = &walk->keys;
    const struct heed_view *k = &keys->source->k;

    return (struct heed_ref_line){
        .data = keys->k,
        .at = heed_ref_key_at(walk->row, keys, k, key),
        .stride = k->stride[5],
        .dtype = k->dtype,
        .scales = walk->k_scales,
        .scale_at = scale_at(walk, &keys->source->k_scale, key),
    };
}

/* s plus x . table[h][index], a chain of its own; without the table s. */
static float product_add(const struct walk *walk, const struct heed_aux *table, int64_t index,
                         const struct heed_ref_line *x, float s)
{
    const struct heed_ref_row *row = walk->row;
    float a = 0.0f;

    if (table->slot == 0)
        return s;
    for (int64_t t = 0; t < row->attn->d; t++) {
        int64_t at = heed_ref_aux_offset(table, row->batch, row->head, index, t);

        a = fmaf(heed_ref_line_get(x, t),
                 heed_ref_load(table->dtype, heed_ref_aux_data(row, table), at), a);
    }
    return s + a;
}

static float dot_join(const struct walk *walk, const struct heed_checked_bias *bias, int64_t key,
                      float s)
{
    const int64_t len = bias->t.slot != 0 ? bias->t.shape[4] : bias->u.shape[4];
    struct heed_ref_line q = query_line(walk), k = key_line(walk, key);
    int64_t index;

    if (!table_index(walk, bias, len, key, &index))
        return s;
    s = product_add(walk, &bias->t, index, &q, s);
    return product_add(walk, &bias->u, index, &k, s);
}

/* A kind of bias is a row here. It has one of the two functions. */
static const struct bias_kind {
    /* What it makes of s (step 3). */
    float (*join)(const struct walk *, const struct heed_checked_bias *, int64_t key, float s);
    /* What it adds to y (step 4); false: nothing. */
    bool (*addend)(const struct walk *, const struct heed_checked_bias *, int64_t key,
                   struct addend *);
    bool removes; /* a value of exactly -Inf removes the key, whose K and V stay unread (step 2) */
} bias_kinds[] = {
    [HEED_BIAS_DENSE] = { NULL, dense_addend, true },
    [HEED_BIAS_ALIBI] = { NULL, alibi_addend, false },
    [HEED_BIAS_TABLE] = { NULL, table_addend, true },
    [HEED_BIAS_DOT] = { dot_join, NULL, false },
};

static const struct bias_kind *bias_kind(const struct heed_checked_bias *bias)
{
    assert(bias->kind < sizeof bias_kinds / sizeof *bias_kinds &&
           (bias_kinds[bias->kind].addend || bias_kinds[bias->kind].join));
    return &bias_kinds[bias->kind];
}

/* Step 2. */
static bool bias_removes(const struct walk *walk, int64_t key)
{
    const struct heed_checked_source *source = walk->keys.source;
    struct addend add;

    for (uint32_t i = 0; i < source->n_biases; i++) {
        const struct bias_kind *kind = bias_kind(&source->biases[i]);

        if (kind->removes && kind->addend(walk, &source->biases[i], key, &add) &&
            add.a == -INFINITY)
            return true;
    }
    return false;
}

/* Step 4. */
static float bias_add(const struct walk *walk, const struct heed_checked_bias *bias, int64_t key,
                      float y)
{
    const struct bias_kind *kind = bias_kind(bias);
    struct addend add;

    return kind->addend && kind->addend(walk, bias, key, &add) ? fmaf(add.a, add.b, y) : y;
}

/* A block of k from channel `first` on, of `n` channels: s plus its chain times the scale, plus the
 * sum of q times the minimum. */
static float block_add(const struct heed_ref_line *q, const struct heed_ref_line *k, int64_t first,
                       int64_t n, float s)
{
    float a = 0.0f, c = 0.0f;

    for (int64_t t = first; t < first + n; t++) {
        float x = heed_ref_line_get(q, t);

        a = fmaf(x, heed_ref_line_stored(k, t), a);
        c += x;
    }
    s = fmaf(a, heed_ref_line_scale(k, first), s);
    return heed_ref_line_minima(k) ? fmaf(c, heed_ref_line_minimum(k, first), s) : s;
}

/* q . k of step 3. */
static float product(const struct heed_ref_line *q, const struct heed_ref_line *k, int64_t d)
{
    int64_t block = heed_ref_line_block(k);
    float s = 0.0f;

    if (block == 0) {
        for (int64_t t = 0; t < d; t++)
            s = fmaf(heed_ref_line_get(q, t), heed_ref_line_get(k, t), s);
        return s;
    }
    for (int64_t t = 0; t < d; t += block)
        s = block_add(q, k, t, block, s);
    return s;
}

/* Steps 3 and 4. */
static float score(const struct walk *walk, int64_t key)
{
    const struct heed_ref_row *row = walk->row;
    const struct heed_checked_source *source = walk->keys.source;
    struct heed_ref_line q = query_line(walk), k = key_line(walk, key);
    float s = product(&q, &k, row->attn->d), y;

    for (uint32_t i = 0; i < source->n_biases; i++) {
        const struct bias_kind *kind = bias_kind(&source->biases[i]);

        if (kind->join)
            s = kind->join(walk, &source->biases[i], key, s);
    }
    if (walk->constants->capped) {
        float x = s * walk->constants->c1;

        y = heed_ref_tanh(x) * walk->constants->c2;
    } else {
        y = s * walk->constants->c;
    }
    for (uint32_t i = 0; i < source->n_biases; i++)
        y = bias_add(walk, &source->biases[i], key, y);
    return y;
}

/* A key that the terms name, at its ordinal. */
static void visit(struct walk *walk, int64_t key, int64_t ordinal)
{
    const struct heed_checked_source *source = walk->keys.source;

    if (heed_ref_key_cut(walk->row, &walk->keys, key) || bias_removes(walk, key))
        return;
    heed_ref_softmax_add(&walk->softmax, score(walk, key), ordinal,
                         heed_ref_key_at(walk->row, &walk->keys, &source->v, key),
                         scale_at(walk, &source->v_scale, key));
}

/* Step 2, layout LISTED: one sub-source in list order, repeats included. Absent entries keep their
 * place. */
static void walk_listed(struct walk *walk)
{
    const struct heed_checked_source *source = walk->keys.source;
    const struct heed_ref_row *row = walk->row;
    int64_t head = heed_ref_aux_head(source->index.shape[3], row, walk->keys.head);
    int64_t rows = row->index / source->rows;

    for (int64_t place = 0; place < source->index.shape[5]; place++) {
        int64_t entry = heed_ref_aux_int(row, &source->index, head, rows, place);
        int64_t first = entry * source->run;

        if (entry < 0)
            continue;
        for (int64_t i = 0; i < source->run && first + i < walk->keys.item.length; i++)
            visit(walk, first + i, place * source->run + i);
    }
    heed_ref_softmax_join(&walk->softmax);
}

/* Step 2, the other layouts: GLOBAL keys, unit-step terms, then the sub-sources with a step. */
static void walk_terms(struct walk *walk)
{
    struct heed_ref_keys *keys = &walk->keys;
    struct heed_ref_place place = { 0 };
    bool more = true, unit = true;

    for (int64_t rank = 0; rank < keys->n_global; rank++)
        visit(walk, heed_ref_global_key(walk->row, keys, rank), rank);
    heed_ref_softmax_join(&walk->softmax);
    while (more) {
        int64_t rank = 0; /* GLOBAL keys below `key`; both ascend */

        for (int64_t key = 0; key < keys->item.length; key++) {
            if (rank < keys->n_global && heed_ref_global_key(walk->row, keys, rank) == key) {
                rank++;
                continue;
            }
            if (unit ? heed_ref_unit_sees(walk->row, keys, key)
                     : heed_ref_place_holds(walk->row, keys, &place, key))
                visit(walk, key, unit ? key : key / place.step);
        }
        heed_ref_softmax_join(&walk->softmax);
        unit = false;
        more = heed_ref_place_next(keys, &place);
    }
}

static void row_write(const struct heed_ref_row *row, int64_t t, float value)
{
    const struct heed_view *o = &row->attn->o;

    heed_ref_store(
        o->dtype, heed_ref_memory(row, HEED_ATTN_O),
        view_offset(o, row->batch, row->head, row->o_begin + row->index) + t * o->stride[5], value);
}

static void lse_write(const struct heed_ref_row *row, float value)
{
    const struct heed_view *lse = &row->attn->lse;

    if (lse->dtype != 0 && row->launch->at[HEED_ATTN_LSE].handle != NULL)
        heed_ref_store(lse->dtype, heed_ref_memory(row, HEED_ATTN_LSE),
                       view_offset(lse, row->batch, row->head, row->o_begin + row->index), value);
}

/* -Inf: no sink. */
static float sink_of(const struct heed_ref_row *row)
{
    const struct heed_view *sinks = &row->attn->sinks;

    if (sinks->dtype == 0 || row->launch->at[HEED_ATTN_SINKS].handle == NULL)
        return -INFINITY;
    return heed_ref_load(sinks->dtype, heed_ref_memory(row, HEED_ATTN_SINKS),
                         row->head * sinks->stride[5]);
}

static void row_empty(const struct heed_ref_row *row)
{
    for (int64_t t = 0; t < row->attn->d_v; t++)
        row_write(row, t, 0.0f);
    lse_write(row, row->attn->flags & HEED_ATTN_LSE_WITH_SINK ? sink_of(row) : -INFINITY);
}

/* Steps 9 to 12. */
static void row_finish(const struct heed_ref_row *row, struct heed_ref_softmax *softmax)
{
    float lse = heed_ref_softmax_end(softmax, sink_of(row),
                                     row->attn->flags & HEED_ATTN_LSE_WITH_SINK);

    for (int64_t t = 0; t < softmax->d; t++)
        row_write(row, t, softmax->total.o[t]);
    lse_write(row, lse);
}

/* The channels of a state, as heed/attn.h lists them: M, the partial sums, whether there is
 * anything, the sums of o. */
enum { STATE_M, STATE_L, STATE_ANY = STATE_L + HEED_REF_LANES, STATE_O };

static float state_read(const struct heed_ref_row *row, int64_t channel)
{
    const struct heed_view *state = &row->attn->state_in;

    return heed_ref_load(state->dtype, heed_ref_memory(row, HEED_ATTN_STATE),
                         view_offset(state, row->batch, row->head, row->o_begin + row->index) +
                             channel * state->stride[5]);
}

static void row_begin(const struct heed_ref_row *row, struct heed_ref_softmax *softmax)
{
    struct heed_ref_part *total = &softmax->total;

    if (row->attn->state_in.dtype == 0 || state_read(row, STATE_ANY) == 0.0f)
        return;
    total->keys = 1; /* or more: how many does not matter */
    total->m = state_read(row, STATE_M);
    for (int i = 0; i < HEED_REF_LANES; i++)
        total->l[i] = state_read(row, STATE_L + i);
    for (int64_t t = 0; t < softmax->d; t++)
        total->o[t] = state_read(row, STATE_O + t);
}

/* The row ends after step 8. A part without a key has -Inf and zeros in the same places. */
static void row_stop(const struct heed_ref_row *row, const struct heed_ref_softmax *softmax)
{
    const struct heed_ref_part *total = &softmax->total;

    row_write(row, STATE_M, total->m);
    for (int i = 0; i < HEED_REF_LANES; i++)
        row_write(row, STATE_L + i, total->l[i]);
    row_write(row, STATE_ANY, total->keys > 0 ? 1.0f : 0.0f);
    for (int64_t t = 0; t < softmax->d; t++)
        row_write(row, STATE_O + t, total->o[t]);
}

static void source_start(struct walk *walk)
{
    const struct heed_checked_source *source = walk->keys.source;

    walk->k_scales = scales_of(walk, &source->k_scale, walk->row->attn->d,
                               (source->flags & HEED_SOURCE_K_MINIMA) != 0);
    walk->softmax.values = walk->keys.v;
    walk->softmax.dtype = source->v.dtype;
    walk->softmax.stride = source->v.stride[5];
    walk->softmax.scales = scales_of(walk, &source->v_scale, walk->row->attn->d_v,
                                     (source->flags & HEED_SOURCE_V_MINIMA) != 0);
}

/* The keys of every source. */
static void walk_sources(struct walk *walk)
{
    for (uint32_t s = 0; s < walk->row->attn->n_sources; s++) {
        heed_ref_keys_start(&walk->keys, walk->row, s);
        source_start(walk);
        if (walk->keys.source->layout == HEED_LAYOUT_LISTED)
            walk_listed(walk);
        else
            walk_terms(walk);
    }
}

void heed_ref_row_run(const struct heed_ref_row *row, const struct heed_ref_constants *constants,
                      float *scratch)
{
    struct walk walk = { .row = row, .constants = constants };

    heed_ref_softmax_start(&walk.softmax, row->attn->d_v, scratch);
    row_begin(row, &walk.softmax);
    if (row->index < row->q_length)
        walk_sources(&walk);
    if (row->attn->stops)
        row_stop(row, &walk.softmax);
    else if (walk.softmax.total.keys == 0)
        row_empty(row);
    else
        row_finish(row, &walk.softmax);
}
