/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention, shape A, for processors that run OpenCL: a work-item is a lane with scratch of its own
 * in the workspace, which takes strips of query rows until none is left. No barriers, no local
 * memory, explicit vectors. A strip's sub-sources are walked 64 keys at a time: every tile of rows
 * against K panels, softmax of each row, the weights against V, so that K and V of a block are read
 * once per strip. Sums restart at chunk borders. What no row of a tile sees is skipped.
 */
#define HK_ITEMS 1
#define HK_VECTORS 1
#define HK_SUB_SPACE HK_GLOBAL
#include "strip.h"

struct hk_shared {
    hk_u32 unused;
};

/* ---- one block ---- */

/* Do its blocks hold keys 64 * block on? */
HK_FN int hk_block_aligned(HK_GLOBAL const struct hk_sub *sub)
{
    return sub->kind == HK_SUB_KEYS || sub->kind == HK_SUB_PREFIX;
}

/* K panels of the block, from the packed copy or gathered. seen: ordinals that some row sees. */
HK_FN HK_GLOBAL const float *hk_block_keys(const struct hk_strip *st,
                                           HK_GLOBAL const struct hk_sub *sub,
                                           const struct hk_item *item, hk_i64 block, hk_u64 seen)
{
    const hk_i64 d = st->call->plan->d;
    HK_GLOBAL float *out = (HK_GLOBAL float *)(st->scratch + st->at.k);
    const struct hk_reach reach = st->reach[0];
    int i;

    if (st->packed && hk_block_aligned(sub))
        return st->packed + block * HK_BLOCK * d;
    for (i = 0; i < HK_BLOCK; i++)
        hk_key_pack(&st->k,
                    seen >> i & 1 ? hk_key(sub, item, &reach, block * HK_BLOCK + i) : -1, d,
                    out + i / 16 * 16 * d + i % 16);
    return out;
}

/* V rows of the block: in place where they are f32 rows of whole vectors at one stride, else
 * converted. */
HK_FN HK_GLOBAL const float *hk_block_values(const struct hk_strip *st,
                                             HK_GLOBAL const struct hk_sub *sub,
                                             const struct hk_item *item, hk_i64 block, hk_u64 seen,
                                             hk_i64 *v_row)
{
    const hk_i64 d_v = st->call->plan->d_v, width = st->at.width;
    HK_GLOBAL float *out = (HK_GLOBAL float *)(st->scratch + st->at.v);
    const struct hk_reach reach = st->reach[0];

    if (hk_matrix_plain(&st->v) && width == d_v && sub->kind <= HK_SUB_PREFIX) {
        *v_row = st->v.row * sub->step;
        return (HK_GLOBAL const float *)st->v.base +
               hk_key(sub, item, &reach, block * HK_BLOCK) * st->v.row;
    }
    for (; seen != 0; seen &= seen - 1) {
        const int i = hk_first_bit(seen);

        hk_row_read(&st->v, hk_key(sub, item, &reach, block * HK_BLOCK + i), d_v, width,
                    out + i * width);
    }
    *v_row = width;
    return out;
}

/* Softmax of a tile whose rows see the whole block of a finite V; s holds y, most the rows' largest
 * y lane by lane. With a finite V it does not matter whether a key with y = -Inf counts as removed,
 * for its weight is +0; unless all keys of the row are. */
HK_FN void hk_softmax_finite(struct hk_strip *st, hk_i64 first, hk_i64 end)
{
    hk_i64 i;

    for (i = first; i < end; i++) {
        const struct hk_sums row = hk_strip_sums(st, i);
        const float top = hkv_max_across(hkv_load(st->most + i * 16));
        HK_GLOBAL float *s = st->s + i * HK_BLOCK;

        if (top == -HK_INFINITY) {
            hk_softmax_part(s, 1.0f, ~(hk_u64)0, &row);
        } else {
            hk_row_raise(&row, top);
            hk_softmax_row(s, &row);
        }
    }
}

/* The commonest block by far: every row sees every key, nothing but scores enters, V is finite. No
 * words needed. */
HK_FN void hk_block_whole(struct hk_strip *st, HK_GLOBAL const float *k, HK_GLOBAL const float *v,
                          hk_i64 v_row)
{
    HK_GLOBAL const struct hk_plan *plan = st->call->plan;
    const hk_i64 span = HK_R * st->at.width;
    hk_i64 n;

    for (n = 0; n < HK_BLOCK; n += 16)
        hk_score_tiles_most(st->q, k + n * plan->d, plan->d, st->s + n, st->tiles, plan->c,
                            st->most, n == 0);
    hk_softmax_finite(st, 0, st->n_rows);
    for (n = 0; n < st->at.width; n += 16)
        hk_value_column(st->s, v + n, v_row, st->o + n * HK_R, span, st->tiles);
}

HK_FN void hk_block_scores(struct hk_strip *st, HK_GLOBAL const float *k, hk_u64 seen)
{
    const hk_i64 d = st->call->plan->d;
    hk_i64 m, run;
    int n;

    for (n = 0; n < HK_BLOCK; n += 16) {
        const hk_u64 panel = (hk_u64)0xffffu << n;

        if ((seen & panel) == 0)
            continue;
        for (m = 0; m < st->tiles; m += run) {
            const int some = (st->tile_words[m] & panel) != 0;

            run = 1;
            while (m + run < st->tiles && ((st->tile_words[m + run] & panel) != 0) == some)
                run++;
            if (some)
                hk_score_tiles(st->q + m * HK_R * d, k + n * d, d, st->s + m * HK_R * HK_BLOCK + n,
                               run);
        }
    }
}

/* Raw scores to y for the keys in word (steps 3 and 4); returns those that no bias removed. */
#if !HK_PLAIN
HK_NOINLINE hk_u64 hk_score_row(const struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                                const struct hk_item *item, hk_i64 i, hk_i64 block, hk_u64 word)
{
    const struct hk_reach reach = st->reach[i];
    HK_GLOBAL float *s = st->s + i * HK_BLOCK;
    struct hk_place at;
    hk_u64 left;

    at.sub = sub;
    at.b = st->b;
    at.len = st->len;
    at.index = st->query[i].index;
    at.head = st->query[i].head;
    at.q = st->query[i].q;
    for (left = word; left != 0; left &= left - 1) {
        const int n = hk_first_bit(left);
        float y = 0.0f;

        if (!hk_score(st->call, st->source, &at, hk_key(sub, item, &reach, block * HK_BLOCK + n),
                      s[n], &y))
            word &= ~((hk_u64)1 << n);
        s[n] = y;
    }
    return word;
}
#endif

HK_FN void hk_tile_softmax(struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                           const struct hk_item *item, hk_i64 block, hk_i64 m)
{
#if HK_PLAIN
    const int plain = 1;
#else
    const int plain = !(st->call->plan->flags & HK_PLAN_CAPPED) && st->source->n_biases == 0;
#endif
    hk_i64 i;

    for (i = m * HK_R; i < (m + 1) * HK_R && i < st->n_rows; i++) {
        const struct hk_sums row = hk_strip_sums(st, i);
        hk_u64 word = st->words[i];

#if !HK_PLAIN
        if (!plain && word != 0)
            word = hk_score_row(st, sub, item, i, block, word);
#endif
        st->words[i] = hk_softmax_part(st->s + i * HK_BLOCK, plain ? st->call->plan->c : 1.0f, word,
                                       &row);
    }
    (void)sub;
    (void)item;
    (void)block;
}

/* The weights of one tile with V: the V of a removed key (word bit off) must not touch its row
 * (step 6). A finite one may: its weight is +0 and fma(+0, v, o) changes at most the sign of a
 * zero, which step 11 removes. */
HK_FN void hk_tile_values(struct hk_strip *st, hk_i64 m, HK_GLOBAL const float *v, hk_i64 v_row,
                          int finite)
{
    const hk_i64 first = m * HK_R, rows = hk_min(HK_R, st->n_rows - first), width = st->at.width;
    HK_GLOBAL const float *p = st->s + first * HK_BLOCK;
    HK_GLOBAL float *o = st->o + first * width;
    hk_u64 any = 0, all = ~(hk_u64)0;
    hk_i64 i;

    for (i = 0; i < rows; i++) {
        any |= st->words[first + i];
        all &= st->words[first + i];
    }
    if (!finite && (any & ~all) != 0 && !hk_values_finite(v, v_row, any & ~all, width)) {
        for (i = 0; i < rows; i++)
            hk_value_row(p + i * HK_BLOCK, v, v_row, st->words[first + i], o + i * 16, width);
        return;
    }
    while (any != 0) {
        const int start = hk_first_bit(any);
        const hk_u64 zeros = ~(any >> start);
        const int end = zeros == 0 ? HK_BLOCK : (int)hk_min(start + hk_first_bit(zeros), HK_BLOCK);

        hk_value_tiles(p, v, v_row, start, end, o, width);
        any = end == HK_BLOCK ? 0 : any >> end << end;
    }
}

HK_FN void hk_block_attend(struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                           const struct hk_item *item, hk_i64 block)
{
    const struct hk_reach reach = st->reach[0];
    const hk_u64 available = hk_block_word(sub, item, &reach, block);
    const int finite = st->finite && hk_block_aligned(sub) && st->finite[block];
    const hk_i64 base = block * HK_BLOCK;
    HK_GLOBAL const float *v;
    hk_i64 v_row = 0, m;
    hk_u64 seen = 0;
    int inside = 0;
    hk_u32 r;

    for (r = 0; r < HK_RANGES; r++)
        inside |= st->whole.in_lo[r] <= base && st->whole.in_hi[r] >= base + HK_BLOCK;
    if (available == ~(hk_u64)0 && inside && hk_rows_alike(sub)) {
#if HK_PLAIN
        if (finite) {
            v = hk_block_values(st, sub, item, block, available, &v_row);
            hk_block_whole(st, hk_block_keys(st, sub, item, block, available), v, v_row);
            return;
        }
#endif
        for (m = 0; m < st->tiles; m++)
            hk_tile_fill(st, m);
        seen = available;
    } else if (available != 0) {
        for (m = 0; m < st->tiles; m++) {
            hk_tile_see(st, sub, item, m, block, available);
            seen |= st->tile_words[m];
        }
    }
    if (seen == 0)
        return;
    hk_block_scores(st, hk_block_keys(st, sub, item, block, seen), seen);
    for (m = 0; m < st->tiles; m++) {
        if (st->tile_words[m])
            hk_tile_softmax(st, sub, item, block, m);
    }
    v = hk_block_values(st, sub, item, block, seen, &v_row);
    for (m = 0; m < st->tiles; m++) {
        if (st->tile_words[m])
            hk_tile_values(st, m, v, v_row, finite);
    }
}

/* ---- chunks ---- */

HK_FN void hk_chunk_begin(struct hk_strip *st)
{
    const hk_i64 p = st->tiles * HK_R;
    hk_i64 i;

    for (i = 0; i < p * st->at.width; i += 16)
        hkv_store(st->o + i, hkv_set(0.0f));
    for (i = 0; i < p; i++) {
        hkv_store(st->lanes + i * HK_LANES, hkv_set(0.0f));
        st->reference[i] = -HK_INFINITY;
        st->fresh[i] = 1;
    }
}

/* Step 8. A chunk without a remaining key does not exist. The first chunk of a strip becomes the
 * total as it lies. */
HK_FN void hk_chunk_end(struct hk_strip *st)
{
    const hk_i64 width = st->at.width;
    hk_i64 i, t;

    if (!st->any_started) {
        HK_GLOBAL float *o = st->o, *lanes = st->lanes;

        st->o = st->total_o;
        st->total_o = o;
        st->lanes = st->total_lanes;
        st->total_lanes = lanes;
    }
    for (i = 0; i < st->n_rows; i++) {
        const struct hk_sums chunk = hk_strip_sums(st, i);
        HK_GLOBAL float *lanes = st->total_lanes + i * HK_LANES;
        HK_GLOBAL float *o = st->total_o + (chunk.o - st->o);

        if (*chunk.fresh)
            continue;
        if (st->started[i]) {
            hk_row_fold(st->total + i, lanes, o, &chunk);
            continue;
        }
        if (st->any_started) {
            hkv_store(lanes, hkv_load(chunk.lanes));
            for (t = 0; t < width; t += 16)
                hkv_store(o + t * HK_R, hkv_load(chunk.o + t * HK_R));
        }
        st->total[i] = *chunk.reference;
        st->started[i] = 1;
    }
    st->any_started = 1;
}

HK_FN void hk_sub_attend(struct hk_strip *st, HK_GLOBAL const struct hk_sub *sub,
                         const struct hk_item *item)
{
    hk_i64 chunk = -1, block;

    hk_reach_rows(st, sub, item);
    hk_reach_strip(st);
    for (block = hk_strip_next(st, sub, item, 0); block != HK_NO_BLOCK;
         block = hk_strip_next(st, sub, item, block + 1)) {
        if (block / HK_CHUNK != chunk) {
            if (chunk >= 0)
                hk_chunk_end(st);
            hk_chunk_begin(st);
            chunk = block / HK_CHUNK;
        }
        hk_block_attend(st, sub, item, block);
    }
    if (chunk >= 0)
        hk_chunk_end(st);
}

/* ---- sources, rows ---- */

HK_FN void hk_source_attend(struct hk_strip *st, hk_u32 s)
{
    const struct hk_call *call = st->call;
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    HK_GLOBAL const struct hk_source *source = call->sources + s;
    const struct hk_cut keys = hk_keys_cut(call, source, st->b);
    const hk_i64 head = st->query[0].head;
    hk_i64 key_head;
    hk_u32 i;

    if (source->heads == 0 || keys.len == 0)
        return;
    st->source = source;
    st->number = s;
    st->len = keys.len;
    key_head = hk_key_head(call, source, head);
    st->k =
        hk_matrix_get(call, &source->k, call->buffer[HK_BUF_K(s)], st->b, key_head, keys.begin);
    st->v =
        hk_matrix_get(call, &source->v, call->buffer[HK_BUF_V(s)], st->b, key_head, keys.begin);
    st->packed = 0;
    st->finite = 0;
    if (source->packs) {
        const hk_i64 block =
            ((source->shared ? 0 : st->b) * source->heads + key_head) * source->blocks;

        st->packed = (HK_GLOBAL const float *)(call->work + source->packed_at) +
                     block * HK_BLOCK * plan->d;
        st->finite = (HK_GLOBAL const hk_u32 *)(call->work + source->finite_at) + block;
    }
    for (i = 0; i < source->n_subs; i++)
        hk_item_get(call, s, i, st->b, head, st->query[0].index, keys.len, &st->items[i]);
    for (i = 0; i < source->n_subs; i++)
        hk_sub_attend(st, hk_subs(call, source) + i, &st->items[i]);
}

/* Steps 9 to 12 of one row. */
HK_FN void hk_row_finish(struct hk_strip *st, const struct hk_task *task, hk_i64 i)
{
    const struct hk_call *call = st->call;
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    const hk_i64 at = task->begin + st->query[i].index, head = st->query[i].head;
    const hk_i64 to = hk_batch_offset(call, plan->o.stride, st->b) + head * plan->o.stride[3] +
                      at * plan->o.stride[4];
    HK_GLOBAL const float *o = st->total_o + i / HK_R * (HK_R * st->at.width) + i % HK_R * 16;
    const int started = st->started[i] != 0;
    float sink, lse, factor;
    hk_i64 t;

    factor = hk_row_end(call, head, started, st->total[i],
                        started ? hkv_sum(hkv_load(st->total_lanes + i * HK_LANES)) : 0.0f, &sink,
                        &lse);
    for (t = 0; t < plan->d_v; t++) {
        const float x = started ? o[t / 16 * (16 * HK_R) + t % 16] : 0.0f;

        hk_put(plan->o.dtype, call->buffer[HK_BUF_O], to + t * plan->o.stride[5],
               hk_mul(hk_mul(x, sink), factor));
    }
    if (plan->lse.dtype) {
        HK_GLOBAL float *out = (HK_GLOBAL float *)call->buffer[HK_BUF_LSE];

        out[hk_batch_offset(call, plan->lse.stride, st->b) + head * plan->lse.stride[3] +
            at * plan->lse.stride[4]] = lse;
    }
}

/* The rows of the task into the strip; how many. */
HK_FN hk_i64 hk_strip_fill(struct hk_strip *st, const struct hk_task *task)
{
    const struct hk_call *call = st->call;
    hk_i64 i, g, n = 0;

    for (i = 0; i < task->count; i++) {
        struct hk_query query;

        if (!hk_query_get(call, task, i, &query))
            continue;
        for (g = 0; g < call->plan->strips.stack; g++, n++) {
            st->query[n].index = query.index;
            st->query[n].head = query.head + g;
            st->query[n].q = query.q;
            st->query[n].all = query.all;
            st->query[n].absent = query.absent;
        }
    }
    return n;
}

HK_FN void hk_strip_read(struct hk_strip *st, const struct hk_task *task)
{
    const struct hk_call *call = st->call;
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    hk_i64 i, t;

    for (i = 0; i < st->tiles * HK_R; i++) {
        HK_GLOBAL float *to = st->q + i * plan->d;

        if (i < st->n_rows) {
            const struct hk_matrix q =
                hk_matrix_get(call, &plan->q, call->buffer[HK_BUF_Q], st->b, st->query[i].head,
                              task->begin + st->query[i].index);

            hk_row_read(&q, 0, plan->d, plan->d, to);
        } else {
            for (t = 0; t < plan->d; t++)
                to[t] = 0.0f;
        }
        st->started[i] = 0;
    }
    st->any_started = 0;
}

/* Do all rows share the residue of every comb that follows the query? */
HK_FN int hk_residues_agree(const struct hk_strip *st, hk_i64 n)
{
    hk_i64 i;

    for (i = 1; i < n && st->call->plan->strips.row_step > 1; i++) {
        if ((st->query[i].q - st->query[0].q) % st->call->plan->strips.row_step != 0)
            return 0;
    }
    return 1;
}

HK_FN void hk_task_attend(struct hk_strip *st, const struct hk_task *task)
{
    HK_GLOBAL struct hk_lane_query *query = st->query;
    hk_i64 n, size, at, i;
    hk_u32 s;

    st->b = task->b;
    n = hk_strip_fill(st, task);
    size = hk_residues_agree(st, n) ? n : 1;
    for (at = 0; at < n; at += size, st->query += size) {
        st->n_rows = size;
        st->tiles = (size + HK_R - 1) / HK_R;
        hk_strip_read(st, task);
        for (s = 0; s < st->call->plan->n_sources; s++)
            hk_source_attend(st, s);
        for (i = 0; i < st->n_rows; i++)
            hk_row_finish(st, task, i);
    }
    st->query = query;
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    HK_GLOBAL const struct hk_plan *plan = call->plan;
    HK_GLOBAL hk_i32 *counter = (HK_GLOBAL hk_i32 *)(call->work + plan->counter_at);
    struct hk_strip st;
    hk_i64 number;

    (void)shared;
    hk_strip_open(&st, call, call->work + plan->lanes_at + group * plan->lane_bytes);
    while ((number = hk_take(counter)) < plan->tasks) {
        struct hk_task task;

        hk_task_get(call, number, &task);
        if (task.count > 0)
            hk_task_attend(&st, &task);
    }
}

#include "entry.h"
