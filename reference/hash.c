/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select by hash (heed/pool.h; docs/numerics.md, section 7). Round 0 hashes the tokens of a block,
 * each later round the sums that the buckets of the round before hold.
 */
#include "select.h"

#include <heed/pool.h>

#include <math.h>

/* The sums that round r + 1 hashes. */
struct level {
    float *sums;        /* [candidates of round r][d] */
    int32_t *bucket;    /* [candidates of round r]: of each sum in round r + 1; -1: no token */
};

struct hash {
    const struct heed_ref_selection *select;
    int64_t group;
    int32_t *bucket;    /* of each token of the block, in round 0; -1: not present */
    struct level levels[HEED_SELECT_ROUNDS - 1];
};

/* A row that is hashed: sums, or where there are none token `at` of x. */
struct row {
    const float *sums;
    int64_t at;
};

static float value_of(const struct hash *hash, const struct row *row, int64_t t)
{
    const struct heed_ref_arrays *arrays = &hash->select->arrays;

    if (row->sums != NULL)
        return row->sums[t];
    return heed_ref_float(arrays, HK_SELECT_X,
                          heed_ref_offset(arrays, HK_SELECT_X, hash->group, row->at, t));
}

/* s_j, and behind the last of these -s_0, ... */
static float candidate(const struct hash *hash, const struct row *row, uint32_t round, int64_t j)
{
    const struct heed_ref_arrays *arrays = &hash->select->arrays;
    const uint32_t matrix = HK_SELECT_ROUNDS + round;
    const int64_t m = hash->select->numbers->candidates[round] / 2;
    float s = 0.0f;

    for (int64_t t = 0; t < hash->select->numbers->d; t++) {
        float r = heed_ref_float(arrays, matrix,
                                 heed_ref_offset(arrays, matrix, hash->group, t, j % m));

        s = fmaf(value_of(hash, row, t), r, s);
    }
    return j < m ? s : -s;
}

/* Ties go to the lower candidate, and to candidate 0 where that is NaN. */
static int32_t bucket_of(const struct hash *hash, const struct row *row, uint32_t round)
{
    float best = candidate(hash, row, round, 0);
    int32_t bucket = 0;

    for (int64_t j = 1; j < hash->select->numbers->candidates[round]; j++) {
        float s = candidate(hash, row, round, j);

        if (s > best) {
            best = s;
            bucket = (int32_t)j;
        }
    }
    return bucket;
}

static void level_start(const struct hash *hash, uint32_t r)
{
    const struct hk_select *numbers = hash->select->numbers;
    const struct level *level = &hash->levels[r];

    for (int64_t i = 0; i < numbers->candidates[r] * numbers->d; i++)
        level->sums[i] = 0.0f;
    for (int64_t i = 0; i < numbers->candidates[r]; i++)
        level->bucket[i] = -1;
}

/* One more row in a bucket of round r. */
static void level_add(const struct hash *hash, uint32_t r, int32_t bucket, const struct row *row)
{
    const int64_t d = hash->select->numbers->d;
    const struct level *level = &hash->levels[r];

    for (int64_t t = 0; t < d; t++)
        level->sums[bucket * d + t] += value_of(hash, row, t);
    level->bucket[bucket] = 0;
}

/* Rounds 1 and on, over what is in the buckets of the round before. */
static void levels_hash(const struct hash *hash)
{
    const struct hk_select *numbers = hash->select->numbers;

    for (uint32_t r = 0; r + 1 < numbers->n_rounds; r++) {
        const struct level *level = &hash->levels[r];
        const bool more = r + 2 < numbers->n_rounds;

        if (more)
            level_start(hash, r + 1);
        for (int64_t i = 0; i < numbers->candidates[r]; i++) {
            struct row row = { level->sums + i * numbers->d, 0 };

            if (level->bucket[i] < 0)
                continue;
            level->bucket[i] = bucket_of(hash, &row, r + 1);
            if (more)
                level_add(hash, r + 1, level->bucket[i], &row);
        }
    }
}

static void block_run(const struct hash *hash, int64_t block)
{
    const struct heed_ref_selection *select = hash->select;
    const uint32_t rounds = select->numbers->n_rounds;
    const int64_t first = block * select->numbers->block;
    const int64_t n = heed_ref_block_tokens(select, block);

    if (rounds > 1)
        level_start(hash, 0);
    for (int64_t i = 0; i < n; i++) {
        struct row row = { NULL, first + i };

        hash->bucket[i] = -1;
        if (!heed_ref_select_present(select, hash->group, row.at))
            continue;
        hash->bucket[i] = bucket_of(hash, &row, 0);
        if (rounds > 1)
            level_add(hash, 0, hash->bucket[i], &row);
    }
    levels_hash(hash);
    for (int64_t i = 0; i < n; i++) {
        int32_t id = hash->bucket[i];

        for (uint32_t r = 0; r + 1 < rounds && id >= 0; r++)
            id = hash->levels[r].bucket[id];
        heed_ref_put_int(&select->arrays, HK_SELECT_Y, 0, hash->group, first + i, id);
    }
}

/* ---- workspace: the sums of every level, their buckets, then those of the tokens ---- */

static int64_t tokens_of(const struct hk_select *numbers)
{
    return numbers->block < numbers->n ? numbers->block : numbers->n;
}

int64_t heed_ref_hash_bytes(const struct hk_select *numbers)
{
    int64_t elements = tokens_of(numbers);

    for (uint32_t r = 0; r + 1 < numbers->n_rounds; r++)
        elements += numbers->candidates[r] * (numbers->d + 1); /* check has bounded both */
    return elements * (int64_t)sizeof(float);
}

void heed_ref_select_hash(const struct heed_ref_selection *select, int64_t group)
{
    const struct hk_select *numbers = select->numbers;
    const int64_t blocks = heed_ref_select_blocks(select);
    struct hash hash = { .select = select, .group = group };
    float *sums = select->workspace;
    int32_t *buckets;

    if (blocks == 0)
        return;
    for (uint32_t r = 0; r + 1 < numbers->n_rounds; r++) {
        hash.levels[r].sums = sums;
        sums += numbers->candidates[r] * numbers->d;
    }
    buckets = (int32_t *)(void *)sums;
    for (uint32_t r = 0; r + 1 < numbers->n_rounds; r++) {
        hash.levels[r].bucket = buckets;
        buckets += numbers->candidates[r];
    }
    hash.bucket = buckets;
    for (int64_t block = 0; block < blocks; block++)
        block_run(&hash, block);
}
