/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention of one strip of query rows, compiled once per instruction set from one vector
 * vocabulary.
 *
 * A strip's sub-sources are walked 64 keys at a time: every tile of rows against K panels, softmax
 * of each row, the weights against V, so that K and V of a block are read once per strip. Sums
 * restart at chunk borders. What no row of a tile sees is skipped, down to K panels and runs of V
 * rows; visibility words are formed only for tiles that are neither empty nor full.
 */
#include HEED_SIMD_HEADER

#include "bias.h"
#include "pack.h"
#include "store.h"

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define STR_(a) #a
#define STR(a) STR_(a)

#define RANGES HK_RANGES

/* The reach of a tile's rows: what some row sees (outer) and what all rows see (inner), range by
 * range. */
struct tile_reach {
    int64_t lo[RANGES], hi[RANGES], in_lo[RANGES], in_hi[RANGES];
};

struct strip {
    const struct heed_cpu_strip *in;
    int64_t rows, tiles,
        width; /* rows: rounded up to whole tiles; width: d_v rounded up to whole vectors */
    float *q, *s, *o, *total_o, *lanes, *total_lanes, *k, *v, *temp, *most;
    float *total;               /* reference of each row over finished chunks */
    uint32_t *started;          /* 1: the row has a finished chunk */
    struct row_state *state;
    struct hk_reach *reach;
    struct tile_reach *tile;
    uint64_t *words, *tile_words;
    bool any_started;
    bool *full;                 /* by tile: all rows see all keys of the block */
    struct tile_reach whole;
};

static int64_t round_up(int64_t x, int64_t to)
{
    return (x + to - 1) / to * to;
}

/* ---- scratch ---- */

static void *carve(char *base, size_t *at, int64_t count, size_t size)
{
    const size_t start = *at;

    *at += ((size_t)count * size + HEED_CPU_ALIGN - 1) / HEED_CPU_ALIGN * HEED_CPU_ALIGN;
    return base ? base + start : NULL;
}

/* Lays the strip's arrays out from base; returns the bytes they take. base may be NULL. */
static size_t strip_layout(struct strip *st, const struct heed_checked *attn, int64_t rows,
                           char *base)
{
    size_t at = 0;

    st->rows = round_up(rows, TILE_ROWS);
    st->tiles = st->rows / TILE_ROWS;
    st->width = round_up(attn->d_v, VL);
    st->q = carve(base, &at, st->rows * attn->d, sizeof *st->q);
    st->s = carve(base, &at, st->rows * BLOCK, sizeof *st->s);
    st->o = carve(base, &at, st->tiles * o_span(st->width), sizeof *st->o);
    st->total_o = carve(base, &at, st->tiles * o_span(st->width), sizeof *st->total_o);
    st->lanes = carve(base, &at, st->rows * LANES, sizeof *st->lanes);
    st->total_lanes = carve(base, &at, st->rows * LANES, sizeof *st->total_lanes);
    st->k = carve(base, &at, BLOCK * attn->d, sizeof *st->k);
    st->v = carve(base, &at, BLOCK * st->width, sizeof *st->v);
    st->temp = carve(base, &at, V_PACK * attn->d, sizeof *st->temp);
    st->most = carve(base, &at, st->rows * VL, sizeof *st->most);
    st->total = carve(base, &at, st->rows, sizeof *st->total);
    st->started = carve(base, &at, st->rows, sizeof *st->started);
    st->state = carve(base, &at, st->rows, sizeof *st->state);
    st->reach = carve(base, &at, st->rows, sizeof *st->reach);
    st->tile = carve(base, &at, st->tiles, sizeof *st->tile);
    st->words = carve(base, &at, st->rows, sizeof *st->words);
    st->tile_words = carve(base, &at, st->tiles, sizeof *st->tile_words);
    st->full = carve(base, &at, st->tiles, sizeof *st->full);
    return at;
}

/* ---- what the strip sees of a sub-source ---- */

static void reach_rows(struct strip *st, uint32_t source, uint32_t sub)
{
    for (int64_t i = 0; i < st->in->n_rows; i++) {
        const struct heed_cpu_row *row = &st->in->rows[i];
        const struct hk_row at = {
            .q = row->q,
            .index = row->index,
            .head = row->head,
            .all = (int64_t)(row->all >> source & 1),
        };
        struct hk_reach *reach = &st->reach[i];

        hk_reach_find(&st->in->lowered->subs[sub], &st->in->items[sub], &at, reach);
        if (row->absent)
            reach->n = 0;
        for (uint32_t r = reach->n; r < RANGES; r++)
            reach->lo[r] = reach->hi[r] = 0;
    }
    for (int64_t m = 0; m < st->tiles; m++) {
        struct tile_reach *tile = &st->tile[m];

        for (int r = 0; r < RANGES; r++) {
            int64_t lo = INT64_MAX, hi = INT64_MIN, in_lo = INT64_MIN, in_hi = INT64_MAX;

            for (int64_t i = m * TILE_ROWS; i < (m + 1) * TILE_ROWS && i < st->in->n_rows; i++) {
                const int64_t a = st->reach[i].lo[r], b = st->reach[i].hi[r];

                if (a < b) {
                    lo = a < lo ? a : lo;
                    hi = b > hi ? b : hi;
                }
                in_lo = a > in_lo ? a : in_lo;
                in_hi = b < in_hi ? b : in_hi;
            }
            tile->lo[r] = lo;
            tile->hi[r] = hi;
            tile->in_lo[r] = in_lo;
            tile->in_hi[r] = in_hi;
        }
    }
}

/* The hull of the tiles' reach, range by range, and what every row sees. */
static void reach_strip(struct strip *st)
{
    struct tile_reach *all = &st->whole;

    *all = st->tile[0];
    for (int64_t m = 1; m < st->tiles; m++) {
        const struct tile_reach *tile = &st->tile[m];

        for (int r = 0; r < RANGES; r++) {
            all->lo[r] = tile->lo[r] < all->lo[r] ? tile->lo[r] : all->lo[r];
            all->hi[r] = tile->hi[r] > all->hi[r] ? tile->hi[r] : all->hi[r];
            all->in_lo[r] = tile->in_lo[r] > all->in_lo[r] ? tile->in_lo[r] : all->in_lo[r];
            all->in_hi[r] = tile->in_hi[r] < all->in_hi[r] ? tile->in_hi[r] : all->in_hi[r];
        }
    }
}

/* The first block from `block` on that lies in some hull; INT64_MAX: none. */
static int64_t block_next(const struct strip *st, int64_t block)
{
    int64_t best = INT64_MAX;

    for (int r = 0; r < RANGES; r++) {
        if (st->whole.lo[r] >= st->whole.hi[r] || st->whole.hi[r] <= block * BLOCK)
            continue;
        const int64_t first = st->whole.lo[r] / BLOCK > block ? st->whole.lo[r] / BLOCK : block;

        best = first < best ? first : best;
    }
    return best;
}

static bool inside(const struct tile_reach *reach, int64_t base)
{
    bool in = false;

    for (int r = 0; r < RANGES; r++)
        in = in || (reach->in_lo[r] <= base && reach->in_hi[r] >= base + BLOCK);
    return in;
}

/* Are a block's words the same for all rows whose ranges hold the whole block? */
static bool rows_alike(const struct hk_sub *sub)
{
    return sub->n_earlier == 0 &&
           !((sub->kind == HK_SUB_LIST || sub->kind == HK_SUB_RUNS) && (sub->flags & HK_CAUSAL));
}

static void tile_fill(struct strip *st, int64_t m)
{
    st->full[m] = true;
    st->tile_words[m] = ~UINT64_C(0);
    for (int i = 0; i < TILE_ROWS; i++)
        st->words[m * TILE_ROWS + i] = ~UINT64_C(0);
}

/* Forms the words of a tile's rows and their union, 0 if no row sees anything; full: all rows see
 * all 64. */
static void tile_see(struct strip *st, uint32_t source, uint32_t sub, int64_t m, int64_t block,
                     uint64_t available)
{
    const struct hk_sub *s = &st->in->lowered->subs[sub];
    const struct tile_reach *tile = &st->tile[m];
    const int64_t base = block * BLOCK, end = base + BLOCK;
    bool outer = false;
    uint64_t any = 0;

    if (available == ~UINT64_C(0) && inside(tile, base) && rows_alike(s)) {
        tile_fill(st, m);
        return;
    }
    for (int r = 0; r < RANGES; r++)
        outer = outer || (tile->lo[r] < end && tile->hi[r] > base);
    for (int64_t i = m * TILE_ROWS; outer && i < (m + 1) * TILE_ROWS && i < st->in->n_rows; i++) {
        const struct heed_cpu_row *row = &st->in->rows[i];
        const struct hk_row at = {
            .q = row->q,
            .index = row->index,
            .head = row->head,
            .all = (int64_t)(row->all >> source & 1),
        };

        st->words[i] = hk_row_word(s, &st->in->items[sub], &at, &st->reach[i], block, available);
        any |= st->words[i];
    }
    st->full[m] = false;
    st->tile_words[m] = any;
}

/* ---- one block ---- */

/* Do its blocks hold keys 64 * block on? */
static bool block_aligned(const struct hk_sub *sub)
{
    return sub->kind == HK_SUB_KEYS || sub->kind == HK_SUB_PREFIX;
}

/* K panels of the block, from the packed copy or gathered. seen: ordinals that some row sees. */
static const float *block_keys(struct strip *st, const struct heed_cpu_source *source, uint32_t sub,
                               int64_t block, uint64_t seen)
{
    const struct hk_sub *s = &st->in->lowered->subs[sub];
    int64_t keys[BLOCK];

    if (source->packed && block_aligned(s))
        return source->packed + block * BLOCK * st->in->attn->d;
    for (int i = 0; i < BLOCK; i++)
        keys[i] =
            seen >> i & 1 ? hk_key(s, &st->in->items[sub], &st->reach[0], block * BLOCK + i) : -1;
    pack_keys(&source->k, keys, st->in->attn->d, st->k, st->temp);
    return st->k;
}

/* V rows of the block: in place where they are f32 rows of whole vectors at one stride, else
 * converted. */
static const float *block_values(struct strip *st, const struct heed_cpu_source *source,
                                 uint32_t sub, int64_t block, uint64_t seen, int64_t *v_row)
{
    const struct hk_sub *s = &st->in->lowered->subs[sub];
    const struct heed_cpu_matrix *v = &source->v;
    const int64_t d_v = st->in->attn->d_v;

    if (v->dtype == HEED_F32 && v->channel == 1 && st->width == d_v && s->kind <= HK_SUB_PREFIX) {
        const int64_t key = hk_key(s, &st->in->items[sub], &st->reach[0], block * BLOCK);

        *v_row = v->row * s->step;
        return (const float *)(const void *)v->base + key * v->row;
    }
    for (; seen != 0; seen &= seen - 1) {
        const int i = heed_first_bit(seen);
        const int64_t key = hk_key(s, &st->in->items[sub], &st->reach[0], block * BLOCK + i);
        float *to = st->v + i * st->width;
        const float *from = row_f32(v, key, d_v, to);

        if (from != to)
            memcpy(to, from, (size_t)d_v * sizeof *to);
        memset(to + d_v, 0, (size_t)(st->width - d_v) * sizeof *to);
    }
    *v_row = st->width;
    return st->v;
}

static void block_softmax(struct strip *st, uint32_t source, uint32_t sub, int64_t block, int64_t m,
                          bool finite)
{
    const struct heed_lowered *lowered = st->in->lowered;
    const struct heed_cpu_source *from = &st->in->sources[source];
    const bool plain = !lowered->capped && from->n_biases == 0;
    const int64_t first = m * TILE_ROWS, left = st->in->n_rows - first;

    if (plain && (st->full[m] || finite)) {
        (st->full[m] ? softmax_tile_whole : softmax_tile_masked)(
            st->s + first * BLOCK, lowered->c, st->state + first, st->lanes + first * LANES,
            o_row(st->o, first, st->width), st->width, st->words + first,
            left < TILE_ROWS ? (int)left : TILE_ROWS);
        return;
    }
    for (int64_t i = first; i < first + TILE_ROWS && i < st->in->n_rows; i++) {
        float *s = st->s + i * BLOCK, *lanes = st->lanes + i * LANES,
              *o = o_row(st->o, i, st->width);
        uint64_t word = st->words[i];

        if (!plain && word != 0) {
            const struct bias_at at = {
                .row = &st->in->rows[i],
                .sub = &lowered->subs[sub],
                .item = &st->in->items[sub],
                .reach = &st->reach[i],
                .base = block * BLOCK,
            };

            word = score_row(s, lowered, from, &at, word);
        }
        st->words[i] =
            softmax_part(s, plain ? lowered->c : 1.0f, word, &st->state[i], lanes, o, st->width);
    }
}

/* Part `at` of `parts` of the K panels and V rows of the next block: fetched while this one
 * computes. */
static void block_ahead(const float *k, const float *v, int64_t v_row, int64_t d, int64_t d_v,
                        int64_t at, int64_t parts)
{
    const int64_t line = 64 / (int64_t)sizeof(float), lines = BLOCK * d / line;
    const int64_t first = BLOCK * at / parts, end = BLOCK * (at + 1) / parts;

    for (int64_t i = lines * at / parts; i < lines * (at + 1) / parts; i++)
        HEED_PREFETCH(k + i * line);
    for (int64_t i = first; i < end; i++) {
        for (int64_t t = 0; t < d_v; t += line)
            HEED_PREFETCH(v + i * v_row + t);
    }
}

/* The commonest block by far: every row sees every key, nothing but scores enters, V is finite. No
 * words needed. */
static void block_whole(struct strip *st, const float *k, const float *v, int64_t v_row, bool ahead)
{
    const int64_t d = st->in->attn->d, width = st->width;
    const int64_t panels = width / PANEL, span = o_span(width);

    for (int n = 0; n < BLOCK; n += PANEL)
        score_tiles_most(st->q, k + n * d, d, st->s + n, st->tiles, st->in->lowered->c, st->most,
                         n == 0);
    for (int64_t m = 0, i = 0; m < st->tiles; m++, i += TILE_ROWS) {
        const int64_t left = st->in->n_rows - i;

        if (ahead)
            block_ahead(k + BLOCK * d, v + BLOCK * v_row, v_row, d, st->in->attn->d_v, m,
                        st->tiles);
        softmax_tile_finite(st->s + i * BLOCK, st->most + i * VL, &st->state[i],
                            st->lanes + i * LANES, st->o + m * span, width,
                            left < TILE_ROWS ? (int)left : TILE_ROWS);
    }
    for (int64_t n = 0; n < panels; n++)
        value_column(st->s, v + n * PANEL, v_row, st->o + o_at(n * PANEL), span, st->tiles);
    for (int64_t m = 0; width % PANEL != 0 && m < st->tiles; m++)
        value_tiles_rest(st->s + m * TILE_ROWS * BLOCK, v, v_row, 0, BLOCK, st->o + m * span,
                         width);
}

static void block_scores(struct strip *st, const float *k, uint64_t seen)
{
    const int64_t d = st->in->attn->d;

    for (int n = 0; n < BLOCK; n += PANEL) {
        const uint64_t panel = (~UINT64_C(0) >> (64 - PANEL)) << n;

        if ((seen & panel) == 0)
            continue;
        for (int64_t m = 0, run; m < st->tiles; m += run) {
            const uint64_t word = st->tile_words[m] & panel;

            for (run = 1; m + run < st->tiles && (st->tile_words[m + run] & panel) == word; run++)
                continue;
            if (word != 0)
                score_panel(st->q + m * TILE_ROWS * d, k, d, st->s + m * TILE_ROWS * BLOCK, n, run,
                            word);
        }
    }
}

static void block_attend(struct strip *st, uint32_t source, uint32_t sub, int64_t block)
{
    const struct heed_cpu_source *from = &st->in->sources[source];
    const struct hk_sub *s = &st->in->lowered->subs[sub];
    const uint64_t available = hk_block_word(s, &st->in->items[sub], &st->reach[0], block);
    const bool finite = from->finite && block_aligned(s) && from->finite[block];
    uint64_t seen = 0;
    const float *v;
    int64_t v_row = 0;

    if (available == ~UINT64_C(0) && inside(&st->whole, block * BLOCK) && rows_alike(s)) {
        if (finite && !st->in->lowered->capped && from->n_biases == 0) {
            v = block_values(st, from, sub, block, available, &v_row);
            block_whole(st, block_keys(st, from, sub, block, available), v, v_row,
                        v != st->v && (block + 2) * BLOCK <= st->in->items[sub].len);
            return;
        }
        for (int64_t m = 0; m < st->tiles; m++)
            tile_fill(st, m);
        seen = available;
    } else if (available != 0) {
        for (int64_t m = 0; m < st->tiles; m++) {
            tile_see(st, source, sub, m, block, available);
            seen |= st->tile_words[m];
        }
    }
    if (seen == 0)
        return;
    block_scores(st, block_keys(st, from, sub, block, seen), seen);
    for (int64_t m = 0; m < st->tiles; m++) {
        if (st->tile_words[m])
            block_softmax(st, source, sub, block, m, finite);
    }
    v = block_values(st, from, sub, block, seen, &v_row);
    for (int64_t m = 0; m < st->tiles; m++) {
        const int64_t first = m * TILE_ROWS, left = st->in->n_rows - first;

        if (st->tile_words[m])
            tile_values(st->s + first * BLOCK, v, v_row, st->words + first,
                        left < TILE_ROWS ? left : TILE_ROWS, o_row(st->o, first, st->width),
                        st->width, finite);
    }
}

/* ---- chunks, rows ---- */

static void chunk_begin(struct strip *st)
{
    memset(st->o, 0, (size_t)(st->tiles * o_span(st->width)) * sizeof *st->o);
    memset(st->lanes, 0, (size_t)(st->rows * LANES) * sizeof *st->lanes);
    for (int64_t i = 0; i < st->rows; i++) {
        st->state[i].reference = -INFINITY;
        st->state[i].fresh = 1;
    }
}

/* Step 8. A chunk without a remaining key does not exist. The first chunk of a strip becomes the
 * total as it lies. */
static void chunk_end(struct strip *st)
{
    if (!st->any_started) {
        swap(&st->o, &st->total_o);
        swap(&st->lanes, &st->total_lanes);
    }
    for (int64_t i = 0; i < st->in->n_rows; i++) {
        float *lanes = st->lanes + i * LANES, *o = o_row(st->o, i, st->width);
        float *total_lanes = st->total_lanes + i * LANES,
              *total_o = o_row(st->total_o, i, st->width);

        if (st->state[i].fresh)
            continue;
        if (st->started[i]) {
            row_fold(&st->total[i], total_lanes, total_o, &st->state[i], lanes, o, st->width);
            continue;
        }
        if (st->any_started) {
            memcpy(total_lanes, lanes, LANES * sizeof *lanes);
            for (int64_t t = 0; t < st->width; t += VL)
                v_store(total_o + o_at(t), v_load(o + o_at(t)));
        }
        st->total[i] = st->state[i].reference;
        st->started[i] = 1;
    }
    st->any_started = true;
}

/* The first block from `block` on that some row may see; INT64_MAX: none. */
static int64_t sub_next(const struct strip *st, uint32_t sub, int64_t block)
{
    const struct hk_sub *s = &st->in->lowered->subs[sub];

    if (s->kind == HK_SUB_RUNS)
        block = hk_runs_next(s, &st->in->items[sub], block);
    return block_next(st, block);
}

static void sub_attend(struct strip *st, uint32_t source, uint32_t sub)
{
    int64_t chunk = -1;

    reach_rows(st, source, sub);
    reach_strip(st);
    for (int64_t block = sub_next(st, sub, 0); block != INT64_MAX;
         block = sub_next(st, sub, block + 1)) {
        if (block / HEED_CPU_CHUNK != chunk) {
            if (chunk >= 0)
                chunk_end(st);
            chunk_begin(st);
            chunk = block / HEED_CPU_CHUNK;
        }
        block_attend(st, source, sub, block);
    }
    if (chunk >= 0)
        chunk_end(st);
}

/* Steps 9 to 12 of one row. */
static void row_end(struct strip *st, int64_t i)
{
    const struct heed_checked *attn = st->in->attn;
    const struct heed_cpu_row *row = &st->in->rows[i];
    const bool with_sink = (attn->flags & HEED_ATTN_LSE_WITH_SINK) != 0;
    float *o = o_row(st->total_o, i, st->width), reference = st->total[i], l, lse, z = -INFINITY;

    if (st->in->sinks)
        z = heed_cpu_element(attn->sinks.dtype, st->in->sinks, row->head * attn->sinks.stride[5]);
    if (!st->started[i]) {
        for (int64_t t = 0; t < st->width; t += VL)
            v_store(o + o_at(t), v_zero());
        row_store(attn, row, o, 0.0f);
        if (row->lse)
            *row->lse = with_sink ? canonical(z) : -INFINITY;
        return;
    }
    l = row_sum(st->total_lanes + i * LANES);
    lse = row->lse && !with_sink ? row_lse(reference, l) : 0;
    if (z != -INFINITY) {
        const float y = z * log2_e, e = rintf(y) + 1.0f, m = e > reference ? e : reference;
        const float w = power(reference - m);

        l = fmaf(l, w, weight_one(y, m));
        for (int64_t t = 0; t < st->width; t += VL)
            v_store(o + o_at(t), v_mul(v_load(o + o_at(t)), v_set(w)));
        reference = m;
    }
    row_store(attn, row, o, 1.0f / l);
    if (row->lse)
        *row->lse = canonical(with_sink ? row_lse(reference, l) : lse);
}

static void attend(const struct heed_cpu_strip *in)
{
    const struct heed_checked *attn = in->attn;
    struct strip st = { .in = in };

    strip_layout(&st, attn, in->n_rows, in->scratch);
    for (int64_t i = 0; i < st.rows; i++) {
        float *q = st.q + i * attn->d;

        if (i < in->n_rows) {
            const struct heed_cpu_matrix m = {
                .base = in->rows[i].from,
                .channel = attn->q.stride[5],
                .dtype = attn->q.dtype,
            };
            const float *from = row_f32(&m, 0, attn->d, q);

            if (from != q)
                memcpy(q, from, (size_t)attn->d * sizeof *q);
        } else {
            memset(q, 0, (size_t)attn->d * sizeof *q);
        }
        st.started[i] = 0;
    }
    for (uint32_t s = 0; s < attn->n_sources; s++) {
        for (uint32_t i = 0; i < in->lowered->sources[s].n; i++)
            sub_attend(&st, s, in->lowered->sources[s].first + i);
    }
    for (int64_t i = 0; i < in->n_rows; i++)
        row_end(&st, i);
}

static size_t scratch(const struct heed_checked *attn, int64_t rows)
{
    struct strip st = { 0 };
    const double bytes = ((double)attn->d + 2 * ((double)attn->d_v + VL)) *
                         ((double)rows + 2 * BLOCK) * sizeof(float);

    return bytes < 0x1p60 ? strip_layout(&st, attn, rows, NULL) : 0;
}

/* fma rounds once, subnormals survive, rint rounds half to even. */
static bool self_test(void)
{
    volatile float a = 0x1.000002p+0f, b = -0x1.000004p+0f, tiny = 0x1p-140f, half = 2.5f;
    float out[VL];

    v_storeu(out, v_fma(v_set(a), v_set(a), v_set(b)));
    if (out[0] != 0x1p-46f)
        return false;
    v_storeu(out, v_mul(v_set(tiny), v_set(0.5f)));
    if (out[0] != 0x1p-141f)
        return false;
    v_storeu(out, v_rint(v_set(half)));
    return out[0] == 2.0f && fmaf(a, a, b) == 0x1p-46f && rintf(half) == 2.0f;
}

const struct heed_cpu_isa CAT(heed_cpu_isa_, HEED_ISA) = {
    .name = STR(HEED_ISA),
    .description = HEED_ISA_TEXT,
    .tile_rows = TILE_ROWS,
    .panel = PANEL,
    .scratch = scratch,
    .pack = pack_run,
    .finite = values_run,
    .attend = attend,
    .self_test = self_test,
};
