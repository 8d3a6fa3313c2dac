/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * merge for the threads of a work-group: a row has a few of them, each with a tile of its channels,
 * and the group has several rows side by side. What does not count channels each thread of a row
 * finds by itself. Weights are found where they are used, from the LSEs, which caches have by then:
 * kept, they would lie in memory.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_MERGE_THREADS_H
#define HEED_BACKENDS_KERNELS_OPS_MERGE_THREADS_H

#define HK_HAS_SHARED 1

/* Of the chunks so far, where there are several: m, any, l, o. */
#define HK_MERGE_KEPT (2 + HK_PARTIALS + HK_WEIGH_TILE * HKV_LANES)

struct hk_merge_task {
    struct hk_merge_strip strip;
    struct hk_stream values, out;
    hk_i64 first, count;
    int whole; /* 1: the streams are open, vectors lie at multiples of their bytes */
};

/* A task lies in local memory: registers hold sums. */
struct hk_shared {
    float kept[HK_MERGE_KEPT][HK_THREADS]; /* each thread its own */
    struct hk_merge_task task;
};

/* A row. */
struct hk_merge_row {
    HK_GLOBAL const float *lse;   /* of part 0 */
    HK_GLOBAL const char *values; /* likewise */
    hk_i64 lse_step, value_step;  /* elements; bytes */
    struct hk_stream stream;      /* of the values; base and row are not used */
    hk_i64 channel, d;
};

/* Logits of four parts from `first` on, those of `count` that there are; -Inf of others. */
HK_FN hk_vec hk_merge_logits(const struct hk_merge_row *row, hk_i64 first, int count)
{
    HK_GLOBAL const float *const at = row->lse + first * row->lse_step;
    const float none = -HK_INFINITY;

    return hkv_mul(hkv_four(count > 0 ? at[0] : none, count > 1 ? at[row->lse_step] : none,
                            count > 2 ? at[2 * row->lse_step] : none,
                            count > 3 ? at[3 * row->lse_step] : none),
                   hkv_set(HK_LOG2_E));
}

/* Step 7 of two parts whose vectors lie at multiples of their bytes: both are asked for first. w1,
 * w2: their weights; bits: which there are. */
HK_INLINE void hk_merge_add(const struct hk_merge_row *row, hk_i64 first, hk_u32 bits, float w1,
                            float w2, struct hk_share own, hk_i64 t0, hk_vec *o)
{
    struct hk_raw raw[2][HK_WEIGH_TILE];
    int j, v;

    HK_UNROLL
    for (j = 0; j < 2; j++) {
        HK_GLOBAL const char *const value = hk_byte(row->values, (first + j) * row->value_step);

        HK_UNROLL
        for (v = 0; v < HK_WEIGH_TILE; v++) {
            const hk_i64 t = hk_share_at(own, v, t0);

            raw[j][v].word[0] = raw[j][v].word[1] = raw[j][v].word[2] = raw[j][v].word[3] = 0;
            if ((bits >> j & 1) && t < row->d)
                raw[j][v] = row->stream.size == 4 ? hk_raw_whole(4, value + t * 4)
                                                  : hk_raw_whole(2, value + t * 2);
        }
    }
    HK_UNROLL
    for (j = 0; j < 2; j++) {
        HK_UNROLL
        for (v = 0; v < HK_WEIGH_TILE; v++) {
            if (bits >> j & 1)
                o[v] = hkv_fma(hkv_set(j == 0 ? w1 : w2), hk_raw_vector(&row->stream, &raw[j][v]),
                               o[v]);
        }
    }
}

/* The same of any rows, one by one. */
HK_INLINE void hk_merge_add_any(const struct hk_merge_row *row, hk_i64 first, hk_u32 bits,
                                hk_vec p, struct hk_share own, hk_i64 t0, hk_vec *o)
{
    int j, v;

    HK_NO_UNROLL
    for (j = 0; j < 4; j++) {
        const float weight = j == 0 ? p.x : j == 1 ? p.y : j == 2 ? p.z : p.w;
        HK_GLOBAL const char *const value = hk_byte(row->values, (first + j) * row->value_step);

        if (!(bits >> j & 1))
            continue;
        HK_UNROLL
        for (v = 0; v < HK_WEIGH_TILE; v++) {
            const struct hk_raw raw = hk_raw_each(row->stream.dtype, value, row->channel,
                                                  hk_share_at(own, v, t0), row->d);

            o[v] = hkv_fma(hkv_set(weight), hk_raw_floats(&raw), o[v]);
        }
    }
}

/* Steps 5 to 7 of the parts of a block. */
HK_INLINE void hk_merge_block(const struct hk_merge_row *row, const int whole, hk_i64 first,
                              hk_i64 count, struct hk_share own, hk_i64 t0, struct hk_sums *sums,
                              hk_vec *o)
{
    const hk_vec none = hkv_set(-HK_INFINITY);
    hk_vec most = none;
    const int n = (int)count;
    hk_u32 any = 0;
    float m, scale;
    int i, k, v;

    HK_NO_UNROLL
    for (i = 0; i < n; i += HKV_LANES) {
        const hk_vec y = hk_merge_logits(row, first + i, n - i);

        any |= hkv_word(hkv_not_equal(y, none));
        most = hkv_max_f(y, most);
    }
    if (any == 0)
        return;
    sums->any = 1;
    m = hk_row_max(hkv_max_across(most));
    if (m > sums->m) {
        scale = hk_power(hk_sub(sums->m, m));
        HK_UNROLL
        for (k = 0; k < HK_SUMS; k++)
            sums->l[k] = hkv_mul(sums->l[k], hkv_set(scale));
        HK_UNROLL
        for (v = 0; v < HK_WEIGH_TILE; v++)
            o[v] = hkv_mul(o[v], hkv_set(scale));
        sums->m = m;
    }
    HK_NO_UNROLL
    for (i = 0; i < n; i += HKV_LANES) {
        const hk_vec y = hk_merge_logits(row, first + i, n - i);
        const hk_vmask there = hkv_not_equal(y, none);
        const hk_vec p = hkv_weight(y, hkv_set(sums->m)), kept = hkv_keep(there, p);
        const int at = i / HKV_LANES % HK_SUMS;

        HK_UNROLL
        for (k = 0; k < HK_SUMS; k++)
            sums->l[k] = k == at ? hkv_add(sums->l[k], kept) : sums->l[k];
        if (!whole) {
            hk_merge_add_any(row, first + i, hkv_word(there), p, own, t0, o);
            continue;
        }
        hk_merge_add(row, first + i, hkv_word(there) & 3, p.x, p.y, own, t0, o);
        hk_merge_add(row, first + i + 2, hkv_word(there) >> 2, p.z, p.w, own, t0, o);
    }
}

/* Vector i of what a thread keeps behind m and any. */
HK_INLINE hk_vec hk_merge_kept(HK_LOCAL const struct hk_shared *shared, hk_i32 id, int i)
{
    return hkv_four(shared->kept[2 + 4 * i][id], shared->kept[3 + 4 * i][id],
                    shared->kept[4 + 4 * i][id], shared->kept[5 + 4 * i][id]);
}

HK_INLINE void hk_merge_keep_vector(HK_LOCAL struct hk_shared *shared, hk_i32 id, int i, hk_vec x)
{
    shared->kept[2 + 4 * i][id] = x.x;
    shared->kept[3 + 4 * i][id] = x.y;
    shared->kept[4 + 4 * i][id] = x.z;
    shared->kept[5 + 4 * i][id] = x.w;
}

/* The sums of the chunks so far. */
HK_INLINE void hk_merge_keep(HK_LOCAL struct hk_shared *shared, hk_i32 id,
                             const struct hk_sums *sums, const hk_vec *o)
{
    int i;

    shared->kept[0][id] = sums->m;
    shared->kept[1][id] = sums->any ? 1.0f : 0.0f;
    HK_UNROLL
    for (i = 0; i < HK_SUMS; i++)
        hk_merge_keep_vector(shared, id, i, sums->l[i]);
    HK_UNROLL
    for (i = 0; i < HK_WEIGH_TILE; i++)
        hk_merge_keep_vector(shared, id, HK_SUMS + i, o[i]);
}

/* Step 8: the sums of a chunk become those of all so far. */
HK_INLINE void hk_merge_join(HK_LOCAL const struct hk_shared *shared, hk_i32 id,
                             struct hk_sums *sums, hk_vec *o)
{
    float m = shared->kept[0][id], w1 = 1.0f, w2 = 0.0f;
    int i;

    if (shared->kept[1][id] == 0.0f)
        return;
    if (sums->any)
        hk_join(&m, sums->m, &w1, &w2);
    HK_UNROLL
    for (i = 0; i < HK_SUMS; i++) {
        const hk_vec kept = hk_merge_kept(shared, id, i);

        sums->l[i] = sums->any ? hkv_fma(sums->l[i], hkv_set(w2), hkv_mul(kept, hkv_set(w1)))
                               : kept;
    }
    HK_UNROLL
    for (i = 0; i < HK_WEIGH_TILE; i++) {
        const hk_vec kept = hk_merge_kept(shared, id, HK_SUMS + i);

        o[i] = sums->any ? hkv_fma(o[i], hkv_set(w2), hkv_mul(kept, hkv_set(w1))) : kept;
    }
    sums->m = m;
    sums->any = 1;
}

HK_INLINE void hk_merge_begin(struct hk_sums *sums, hk_vec *o)
{
    int v;

    hk_sums_begin(sums);
    HK_UNROLL
    for (v = 0; v < HK_WEIGH_TILE; v++)
        o[v] = hkv_set(0.0f);
}

/* Sums over n parts. */
HK_INLINE void hk_merge_sum(HK_LOCAL struct hk_shared *shared, const struct hk_merge_row *row,
                            const int whole, hk_i64 n, hk_i32 id, struct hk_share own, hk_i64 t0,
                            struct hk_sums *sums, hk_vec *o)
{
    const hk_i64 chunk = HK_BLOCK * HK_CHUNK;
    hk_i64 first;

    hk_merge_begin(sums, o);
    HK_NO_UNROLL
    for (first = 0; first < n; first += HK_BLOCK) {
        if (first > 0 && first % chunk == 0) {
            if (first > chunk)
                hk_merge_join(shared, id, sums, o);
            hk_merge_keep(shared, id, sums, o);
            hk_merge_begin(sums, o);
        }
        hk_merge_block(row, whole, first, hk_min(n - first, HK_BLOCK), own, t0, sums, o);
    }
    if (n > chunk)
        hk_merge_join(shared, id, sums, o);
}

/* ---- rows ---- */

/* Row i: its LSE, and a tile of its channels. */
HK_INLINE void hk_merge_put(const struct hk_merge_task *task, const int whole, hk_i64 i,
                            struct hk_share own, hk_i64 t0, const struct hk_sums *sums,
                            const hk_vec *all)
{
    HK_GLOBAL char *const y = hk_row(&task->strip.out, i);
    float sink, lse;
    const float factor = hk_end(task->strip.sink, (int)task->strip.with_sink, 1, (int)sums->any,
                                sums->m, hk_sums_tree(sums), &sink, &lse);
    int v;

    if (t0 == 0 && own.lane == 0 && task->strip.out_lses.base)
        *hk_entry_f32(&task->strip.out_lses, i) = lse;
    HK_UNROLL
    for (v = 0; v < HK_WEIGH_TILE; v++) {
        const hk_i64 t = hk_share_at(own, v, t0);
        const hk_vec o = hkv_mul(hkv_mul(all[v], hkv_set(sink)), hkv_set(factor));

        if (t >= task->strip.d)
            continue;
        if (whole)
            hk_vector_put(&task->out, y + t * task->out.size, o);
        else
            hk_channels_write(task->strip.out.dtype, y, task->strip.out.channel, t, task->strip.d,
                              o);
    }
}

HK_INLINE void hk_merge_run(HK_LOCAL struct hk_shared *shared, const struct hk_merge_row *row,
                            const int whole, hk_i64 n, hk_i64 i, hk_i32 id, struct hk_share own)
{
    hk_i64 t0;

    HK_NO_UNROLL
    for (t0 = 0; t0 == 0 || t0 < row->d; t0 += (hk_i64)own.lanes * (HK_WEIGH_TILE * HKV_LANES)) {
        hk_vec all[HK_WEIGH_TILE];
        struct hk_sums total;

        hk_merge_sum(shared, row, whole, n, id, own, t0, &total, all);
        {
            const struct hk_merge_task task = shared->task;

            hk_merge_put(&task, whole, i, own, t0, &total, all);
        }
    }
}

/* The rows of a thread. */
HK_FN void hk_merge_rows(hk_i32 id, HK_LOCAL struct hk_shared *shared)
{
    const hk_i32 lanes = hk_share_lanes(shared->task.strip.d, HK_WEIGH_TILE);
    struct hk_share own;
    hk_i64 i;

    own.lane = id % lanes;
    own.lanes = lanes;
    for (i = id / lanes; i < shared->task.count; i += HK_THREADS / lanes) {
        const struct hk_merge_task task = shared->task;
        const hk_i64 at = task.first + i, n = task.strip.n;
        struct hk_merge_row row;

        row.stream = task.values;
        row.lse = hk_entry_f32(&task.strip.lses, at);
        row.lse_step = task.strip.lse_step;
        row.values = hk_byte(task.strip.parts.base, at * task.strip.parts.row);
        row.value_step = task.strip.part_step;
        row.channel = task.strip.parts.channel;
        row.d = task.strip.d;
        if (task.whole)
            hk_merge_run(shared, &row, 1, n, at, id, own);
        else
            hk_merge_run(shared, &row, 0, n, at, id, own);
    }
}

HK_FN void hk_merge_start(const struct hk_call *call, hk_i64 number,
                          HK_LOCAL struct hk_shared *shared)
{
    const struct hk_strip_task at =
        hk_strip_get(&HK_NUMBERS(call, struct hk_merge)->strip, number);
    struct hk_merge_task task;

    hk_merge_open(call, &at, &task.strip);
    task.first = at.first;
    task.count = at.count;
    task.whole =
        hk_stream_open(&task.strip.parts, at.first, at.count, task.strip.d, &task.values);
    task.whole &= hk_stream_open(&task.strip.out, at.first, at.count, task.strip.d, &task.out);
    task.whole &=
        (hk_u64)task.strip.part_step % (hk_u64)(task.values.size * HKV_LANES) == 0;
    shared->task = task;
}

HK_MAIN_OPENED(hk_merge_start(call, at.task, shared), hk_merge_rows(id, shared))

#endif
