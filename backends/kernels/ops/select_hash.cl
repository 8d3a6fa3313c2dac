/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/pool.h, select by hashes. A task is a strip of blocks of one item and head. For a block,
 * round r hashes its rows, the tokens or the sums of the round before, and empties its buckets;
 * then sums its rows, channel by channel, so that each sum has one thread; the last step leads
 * every token from bucket to bucket to its id. Until then y has the tokens' buckets of round 0.
 */
#define HK_SCALES 0 /* numbers alone */
#include "tokens.h"

struct hk_hash {
    const struct hk_call *call;
    HK_GLOBAL const struct hk_select *select;
    HK_GLOBAL char *scratch;
    struct hk_tokens tokens;            /* of x */
    HK_GLOBAL hk_i32 *y;                /* of token 0 */
    hk_i64 y_step;
    hk_i64 head;
    hk_i64 first, end;                  /* tokens of the block */
    int opens;                          /* it is the strip's first */
};

HK_FN HK_GLOBAL float *hk_hash_sums(const struct hk_hash *hash, hk_u32 round)
{
    return (HK_GLOBAL float *)(hash->scratch + hash->select->scratch_at[HK_SCRATCH_SUMS + round]);
}

/* Of each bucket of a round: its own in the next; -1: empty. */
HK_FN HK_GLOBAL hk_i32 *hk_hash_buckets(const struct hk_hash *hash, hk_u32 round)
{
    return (HK_GLOBAL hk_i32 *)(hash->scratch +
                                hash->select->scratch_at[HK_SCRATCH_BUCKETS + round]);
}

/* The rows of a round, from *first on, and where their buckets go, `step` apart. */
struct hk_hash_rows {
    struct hk_tokens tokens;
    hk_i64 first, end;
    HK_GLOBAL hk_i32 *bucket;           /* of row 0 */
    hk_i64 step;
};

HK_FN struct hk_hash_rows hk_hash_rows_get(const struct hk_hash *hash, hk_u32 round)
{
    struct hk_hash_rows out;

    out.tokens = hash->tokens;
    out.first = hash->first;
    out.end = hash->end;
    out.bucket = hash->y;
    out.step = hash->y_step;
    if (round > 0) {
        out.first = 0;
        out.end = hash->select->candidates[round - 1];
        out.bucket = hk_hash_buckets(hash, round - 1);
        out.step = 1;
        out.tokens.rows.base = (HK_GLOBAL char *)hk_hash_sums(hash, round - 1);
        out.tokens.rows.row = hash->select->width * (hk_i64)sizeof(float);
        out.tokens.rows.channel = 1;
        out.tokens.rows.dtype = HK_F32;
        out.tokens.end = out.end;
        out.tokens.mask.base = 0;
        out.tokens.bucket = out.bucket;
    }
    return out;
}

/* Element (t, j) of a round's matrix: base[t * row + j * column]. */
struct hk_hash_matrix {
    HK_GLOBAL const float *base;
    hk_i64 row, column, terms, columns;
};

HK_FN struct hk_hash_matrix hk_hash_matrix_get(const struct hk_hash *hash, hk_u32 round)
{
    const hk_u32 array = HK_SELECT_ROUNDS + round;
    HK_GLOBAL const struct hk_array *a = hash->call->arrays + array;
    struct hk_hash_matrix out;

    out.base = (HK_GLOBAL const float *)hk_along(
        hash->call, array, 3, hk_item(hash->call, array, 0), hash->head);
    out.row = a->stride[4];
    out.column = a->stride[5];
    out.terms = hash->select->d;
    out.columns = hash->select->candidates[round] / 2;
    return out;
}

/* ---- steps ---- */

/* Buckets of a round become empty. */
HK_FN void hk_hash_clear(const struct hk_hash *hash, hk_u32 round)
{
    const hk_i64 n = hash->select->candidates[round];
    HK_GLOBAL float *sums = hk_hash_sums(hash, round);
    HK_GLOBAL hk_i32 *bucket = hk_hash_buckets(hash, round);
    HK_THREAD_ID(id);
    hk_i64 i;

    HK_EACH(id)
    {
        for (i = id; i < n * hash->select->width; i += HK_THREADS)
            sums[i] = 0.0f;
        for (i = id; i < n; i += HK_THREADS)
            bucket[i] = -1;
    }
}

/* The tokens' ids. */
HK_FN void hk_hash_end(const struct hk_hash *hash)
{
    HK_THREAD_ID(id);
    hk_i64 i;

    HK_EACH(id)
        for (i = hash->first + id; i < hash->end; i += HK_THREADS) {
            hk_i32 bucket = hash->y[i * hash->y_step];
            hk_u32 r;

            for (r = 0; r + 1 < hash->select->n_rounds && bucket >= 0; r++)
                bucket = hk_hash_buckets(hash, r)[bucket];
            hash->y[i * hash->y_step] = bucket;
        }
}

HK_FN void hk_hash_open(const struct hk_call *call, hk_i64 group, hk_i64 task, hk_i64 block,
                        struct hk_hash *hash)
{
    HK_GLOBAL const struct hk_select *select = HK_NUMBERS(call, struct hk_select);
    const struct hk_strip_task strip = hk_strip_get(&select->strip, task);
    const struct hk_entries y = hk_entries_get(call, HK_SELECT_Y, strip.b, strip.head);

    hash->call = call;
    hash->select = select;
    hash->scratch = hk_scratch(call, group);
    hash->tokens = hk_tokens_get(call, strip.b, strip.head);
    hash->y = (HK_GLOBAL hk_i32 *)y.base;
    hash->y_step = y.step;
    hash->head = strip.head;
    hash->first = hk_min((strip.first + block) * select->room, select->n);
    hash->end = hk_min(hash->first + select->room, select->n);
    hash->opens = block == 0;
}

#if HK_THREADS == 1
#include "select_hash_lanes.h"
#else
#include "select_hash_threads.h"
#endif

#include "../entry.h"
