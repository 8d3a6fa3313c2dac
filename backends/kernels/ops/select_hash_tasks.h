/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select by hashes for the threads of a work-group: the sums of buckets, and how a block goes from
 * step to step.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_SELECT_HASH_TASKS_H
#define HEED_BACKENDS_KERNELS_OPS_SELECT_HASH_TASKS_H

/* Channel t of some rows from i on into the sums of their buckets, by ascending row. All are
 * loaded before the first is added to: a bucket that two rows share has the first one's sum. */
HK_INLINE void hk_hash_batch(hk_u32 dtype, const struct hk_hash_rows *rows, hk_i64 i, hk_i64 t,
                             hk_i64 width, HK_GLOBAL float *sums)
{
    const hk_i64 left = rows->end - i, row = rows->tokens.rows.row;
    HK_GLOBAL const hk_i32 *const buckets = rows->bucket + i * rows->step;
    HK_GLOBAL const char *const from =
        rows->tokens.rows.base + i * row + t * rows->tokens.rows.channel * hk_size(dtype);
    hk_i32 bucket[HK_HASH_BATCH], j, k;
    hk_u32 x[HK_HASH_BATCH];
    float sum[HK_HASH_BATCH];

    HK_UNROLL
    for (j = 0; j < HK_HASH_BATCH; j++)
        bucket[j] = j < left ? buckets[j * rows->step] : -1;
    HK_UNROLL
    for (j = 0; j < HK_HASH_BATCH; j++) {
        x[j] = 0;
        sum[j] = 0.0f;
        if (bucket[j] < 0)
            continue;
        x[j] = hk_bits_load(dtype, from + j * row, 0);
        sum[j] = sums[bucket[j] * width + t];
    }
    HK_UNROLL
    for (j = 0; j < HK_HASH_BATCH; j++) {
        HK_UNROLL
        for (k = 0; k < j; k++)
            sum[j] = bucket[k] == bucket[j] ? sum[k] : sum[j];
        sum[j] = hk_add(sum[j], hk_bits_get(dtype, x[j]));
        if (bucket[j] >= 0)
            sums[bucket[j] * width + t] = sum[j];
    }
}

HK_INLINE void hk_hash_sum_of(hk_u32 dtype, const struct hk_hash *hash,
                              const struct hk_hash_rows *rows, hk_u32 round, hk_i32 id)
{
    HK_GLOBAL hk_i32 *const used = hk_hash_buckets(hash, round);
    HK_GLOBAL float *const sums = hk_hash_sums(hash, round);
    hk_i64 i, t;

    for (i = rows->first + id; i < rows->end; i += HK_THREADS) {
        const hk_i32 bucket = rows->bucket[i * rows->step];

        if (bucket >= 0)
            used[bucket] = 0;
    }
    for (t = id; t < rows->tokens.d; t += HK_THREADS) {
        for (i = rows->first; i < rows->end; i += HK_HASH_BATCH)
            hk_hash_batch(dtype, rows, i, t, hash->select->width, sums);
    }
}

HK_FN void hk_hash_sum(const struct hk_hash *hash, const struct hk_hash_rows *rows, hk_u32 round,
                       hk_i32 id)
{
#define HK_SUM(type) hk_hash_sum_of(type, hash, rows, round, id)
    HK_BY_NUMBER(rows->tokens.rows.dtype, HK_SUM);
#undef HK_SUM
}

/* ---- steps ---- */

HK_PIECE void hk_hash_slice(const struct hk_hash *hash, const struct hk_hash_walk *at, hk_i32 id,
                            HK_LOCAL struct hk_shared *shared, struct hk_hash_mine *mine)
{
    const struct hk_hash_rows rows = hk_hash_rows_get(hash, at->round);
    const struct hk_hash_matrix matrix = hk_hash_matrix_get(hash, at->round);
    const struct hk_hash_walk next = hk_hash_after(hash, *at);
    const int more = rows.first + next.row < rows.end;
    struct hk_hash_brought brought;

    if (more)
        hk_hash_load(&rows, &matrix, &next, id, &brought);
    if (at->slice == 0)
        hk_tile_clear(&mine->sums);
    hk_tile_add(&shared->slice[at->number % 2], id, matrix.columns - at->column, &mine->sums);
    if (more)
        hk_hash_store(&rows, id, &brought, &shared->slice[next.number % 2]);
    if (next.slice == 0)
        hk_hash_leave(&matrix, at, id, &mine->sums, shared);
}

HK_PIECE void hk_hash_bring(const struct hk_hash *hash, const struct hk_hash_walk *at, hk_i32 id,
                            HK_LOCAL struct hk_shared *shared)
{
    const struct hk_hash_rows rows = hk_hash_rows_get(hash, at->round);
    const struct hk_hash_matrix matrix = hk_hash_matrix_get(hash, at->round);
    struct hk_hash_brought brought;

    hk_hash_load(&rows, &matrix, at, id, &brought);
    hk_hash_store(&rows, id, &brought, &shared->slice[0]);
}

HK_PIECE void hk_hash_step(const struct hk_hash *hash, const struct hk_hash_walk *at, hk_i32 id,
                           HK_LOCAL struct hk_shared *shared, struct hk_hash_mine *mine)
{
    const struct hk_hash_rows rows = hk_hash_rows_get(hash, at->round);
    const struct hk_hash_matrix matrix = hk_hash_matrix_get(hash, at->round);

    if (at->state == HK_HASH_BRING)
        hk_hash_bring(hash, at, id, shared);
    else if (at->state == HK_HASH_SLICE)
        hk_hash_slice(hash, at, id, shared, mine);
    else if (at->state == HK_HASH_TAKE)
        hk_hash_take(&rows, &matrix, at, id, shared, mine);
    else if (at->state == HK_HASH_SUM)
        hk_hash_sum(hash, &rows, at->round, id);
}

HK_FN struct hk_hash_walk hk_hash_round(struct hk_hash_walk at, hk_u32 round)
{
    at.row = at.column = at.slice = at.number = 0;
    at.round = round;
    at.state = HK_HASH_BRING;
    return at;
}

/* Behind a step. */
HK_FN struct hk_hash_walk hk_hash_next(const struct hk_call *call, const struct hk_hash *hash,
                                       struct hk_hash_walk at)
{
    const struct hk_hash_rows rows = hk_hash_rows_get(hash, at.round);
    const hk_i32 behind =
        at.round + 1 < hash->select->n_rounds ? HK_HASH_SUM : HK_HASH_END;

    if (at.state == HK_HASH_BRING) {
        at.state = rows.first < rows.end ? HK_HASH_SLICE : behind;
    } else if (at.state == HK_HASH_SLICE && at.slice + 1 < hk_hash_slices(hash)) {
        at = hk_hash_after(hash, at);
    } else if (at.state == HK_HASH_SLICE) {
        at.state = HK_HASH_TAKE;
    } else if (at.state == HK_HASH_TAKE) {
        at = hk_hash_after(hash, at);
        at.state = rows.first + at.row < rows.end ? HK_HASH_SLICE : behind;
    } else if (at.state == HK_HASH_SUM) {
        at = hk_hash_round(at, at.round + 1);
    } else {
        at = hk_hash_round(at, 0);
        at.block++;
        if (at.block == hash->select->strip.run) {
            at.block = 0;
            at.task += call->op->groups[HK_PASS];
        }
    }
    return at;
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    struct hk_hash_mine mine[HK_MINE];
    struct hk_hash_walk at;
    struct hk_hash hash;
    HK_THREAD_ID(id);

    at.task = group;
    at.block = 0;
    at = hk_hash_round(at, 0);
    while (at.task < call->op->tasks[HK_PASS]) {
        if (at.state == HK_HASH_BRING && at.round == 0)
            hk_hash_open(call, group, at.task, at.block, &hash);
        if (at.state == HK_HASH_BRING && at.round + 1 < hash.select->n_rounds)
            hk_hash_clear(&hash, at.round);
        if (at.state == HK_HASH_END)
            hk_hash_end(&hash);
        HK_EACH(id) {
            hk_hash_step(&hash, &at, id, shared, &mine[HK_OWN(id)]);
        }
        HK_BARRIER_ALL();
        at = hk_hash_next(call, &hash, at);
    }
}

#endif
