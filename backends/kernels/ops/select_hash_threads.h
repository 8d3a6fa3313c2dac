/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select by hashes for the threads of a work-group: each has a row of its own, and all read the
 * same element of the matrix.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_SELECT_HASH_THREADS_H
#define HEED_BACKENDS_KERNELS_OPS_SELECT_HASH_THREADS_H

#define HK_ABREAST 4            /* products at a time: so many chains hide the latency of fma */

/* The largest candidates so far: of the s_j and of the -s_j. */
struct hk_hash_best {
    float high, low;
    hk_i64 high_at, low_at;
};

HK_INLINE void hk_hash_take(struct hk_hash_best *best, float s, hk_i64 j)
{
    if (hk_less(best->high, s) || j == 0) {
        best->high = s;
        best->high_at = j;
    }
    if (hk_less(s, best->low) || j == 0) {
        best->low = s;
        best->low_at = j;
    }
}

HK_INLINE hk_i32 hk_hash_bucket(hk_u32 dtype, const struct hk_tokens *tokens, hk_i64 i,
                                const struct hk_hash_matrix *matrix)
{
    HK_GLOBAL const char *row = hk_token_row(tokens, i);
    struct hk_hash_best best;
    hk_i64 j, t;
    int a;

    best.high = best.low = 0.0f;
    best.high_at = best.low_at = 0;
    for (j = 0; j < matrix->columns; j += HK_ABREAST) {
        float sums[HK_ABREAST];

        HK_UNROLL
        for (a = 0; a < HK_ABREAST; a++)
            sums[a] = 0.0f;
        for (t = 0; t < tokens->d; t++) {
            const float x = hk_element(dtype, row, t * tokens->rows.channel);

            HK_UNROLL
            for (a = 0; a < HK_ABREAST; a++)
                sums[a] = hk_fma(x,
                                 matrix->base[t * matrix->row +
                                              hk_min(j + a, matrix->columns - 1) * matrix->column],
                                 sums[a]);
        }
        for (a = 0; a < HK_ABREAST && j + a < matrix->columns; a++)
            hk_hash_take(&best, sums[a], j + a);
    }
    return (hk_i32)(hk_less(best.high, hk_sub(0.0f, best.low)) ? matrix->columns + best.low_at
                                                               : best.high_at);
}

HK_INLINE void hk_hash_rows_of(hk_u32 dtype, const struct hk_hash_rows *rows,
                               const struct hk_hash_matrix *matrix)
{
    HK_THREAD_ID(id);
    hk_i64 i;

    HK_EACH(id)
        for (i = rows->first + id; i < rows->end; i += HK_THREADS)
            rows->bucket[i * rows->step] =
                hk_token_present(&rows->tokens, i)
                    ? hk_hash_bucket(dtype, &rows->tokens, i, matrix)
                    : -1;
}

HK_FN void hk_hash_rows(const struct hk_hash *hash, const struct hk_hash_rows *rows, hk_u32 round)
{
    const struct hk_hash_matrix matrix = hk_hash_matrix_get(hash, round);

#define HK_ROWS(type) hk_hash_rows_of(type, rows, &matrix)
    HK_BY_NUMBER(rows->tokens.rows.dtype, HK_ROWS);
#undef HK_ROWS
}

#endif
