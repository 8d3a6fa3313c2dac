/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select by hashes for the threads of a work-group: tiles of 64 rows and 64 columns of a round's
 * matrix (score_tiles.h), slice by slice. Behind the last slice each thread leaves the best
 * candidate of its columns for each of its rows, and each row has a thread that takes the best of
 * these.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_SELECT_HASH_THREADS_H
#define HEED_BACKENDS_KERNELS_OPS_SELECT_HASH_THREADS_H

#include "score_tiles.h"

#define HK_HAS_SHARED 1

#define HK_HASH_PARTS (HK_TILE / HK_TILE_OWN) /* threads that share a row of a tile */
#define HK_HASH_BATCH 8 /* rows whose sums a thread loads before it adds to any of them */

#if HK_TILE != HK_THREADS
#error "each row has a thread"
#endif

struct hk_shared {
    struct hk_tile_slice slice[2];
    hk_u64 best[HK_TILE][HK_HASH_PARTS];
};

/* What a thread keeps: its sums, and of its row the best candidate so far. */
struct hk_hash_mine {
    struct hk_tile_sums sums;
    hk_u64 best;
};

/* What a block goes through in each round: empty buckets and the first slice; slices of tiles of
 * rows and, within these, of columns; what rows take of a tile; sums. Last of all the ids. */
enum { HK_HASH_BRING, HK_HASH_SLICE, HK_HASH_TAKE, HK_HASH_SUM, HK_HASH_END };

/* All threads keep the same; number: of the slice, counted over all of a round. */
struct hk_hash_walk {
    hk_i64 task, block, row, column, slice, number;
    hk_u32 round;
    hk_i32 state;
};

HK_FN hk_i64 hk_hash_slices(const struct hk_hash *hash)
{
    return hk_max((hash->select->d + HK_TILE_SLICE - 1) / HK_TILE_SLICE, 1);
}

/* The next slice: of the tile, of the next one beside it, of those of the next rows. */
HK_FN struct hk_hash_walk hk_hash_after(const struct hk_hash *hash, struct hk_hash_walk at)
{
    at.number++;
    at.slice++;
    if (at.slice == hk_hash_slices(hash)) {
        at.slice = 0;
        at.column += HK_TILE;
    }
    if (at.column >= hash->select->candidates[at.round] / 2) {
        at.column = 0;
        at.row += HK_TILE;
    }
    return at;
}

/* ---- slices ---- */

struct hk_hash_brought {
    struct hk_quad x[HK_TILE_QUADS], r[HK_TILE_QUADS];
};

/* Quads of the matrix are of neighbouring columns: the term, and the first of the columns. */
HK_FN hk_i32 hk_hash_term(hk_i32 id)
{
    return id % HK_TILE_SLICE;
}

HK_FN hk_i32 hk_hash_column(hk_i32 id, const int i)
{
    return (id / HK_TILE_SLICE + i * (HK_THREADS / HK_TILE_SLICE)) * HK_QUAD;
}

/* May quads of the matrix be loaded at once? */
HK_FN int hk_hash_whole(const struct hk_hash_matrix *matrix)
{
    return matrix->column == 1 && matrix->columns % HK_QUAD == 0 && matrix->row % HK_QUAD == 0 &&
           hk_address(matrix->base) % 16 == 0;
}

HK_INLINE void hk_hash_load_x(const int words, const struct hk_quads *x,
                              const struct hk_tokens *tokens, hk_i64 first, hk_i64 end, hk_i64 t,
                              hk_i32 id, struct hk_quad *to)
{
    const hk_i32 left = t < x->d ? (hk_i32)hk_min(end - first, HK_TILE) : 0;
    HK_GLOBAL const char *const row = hk_byte(x->base, (first + hk_tile_line(id, 0)) * x->row);
    const int some = tokens->mask.base != 0 || tokens->bucket != 0;
    hk_i32 i;

    HK_UNROLL
    for (i = 0; i < HK_TILE_QUADS; i++) {
        const hk_i32 line = hk_tile_line(id, i);

        hk_quad_fill(&to[i], 0);
        if (line < left && first + line < tokens->end &&
            (!some || hk_token_present(tokens, first + line)))
            hk_quad_load(words, x, row + i * HK_TILE_LINES * x->row, t, &to[i]);
    }
}

HK_INLINE void hk_hash_load_r(const int words, const struct hk_hash_matrix *matrix, hk_i64 term,
                              hk_i64 first, hk_i32 id, struct hk_quad *to)
{
    struct hk_quads r;
    hk_i32 i;

    r.d = matrix->columns;
    r.channel = matrix->column;
    r.dtype = HK_F32;
    HK_UNROLL
    for (i = 0; i < HK_TILE_QUADS; i++) {
        const hk_i64 column = first + hk_hash_column(id, i);

        hk_quad_fill(&to[i], 0);
        if (term < matrix->terms && column < matrix->columns)
            hk_quad_load(words, &r,
                         (HK_GLOBAL const char *)(matrix->base + term * matrix->row), column,
                         &to[i]);
    }
}

HK_FN void hk_hash_load(const struct hk_hash_rows *rows, const struct hk_hash_matrix *matrix,
                        const struct hk_hash_walk *at, hk_i32 id, struct hk_hash_brought *to)
{
    const hk_i64 first = at->slice * HK_TILE_SLICE, t = first + hk_tile_term(id);
    const struct hk_quads x = hk_quads_get(&rows->tokens.rows, rows->tokens.d);

#define HK_LOAD(words)                                                                             \
    hk_hash_load_x(words, &x, &rows->tokens, rows->first + at->row, rows->end, t, id, to->x)
    HK_BY_WORDS(x.words, HK_LOAD);
#undef HK_LOAD
#define HK_LOAD(words)                                                                             \
    hk_hash_load_r(words, matrix, first + hk_hash_term(id), at->column, id, to->r)
    if (hk_hash_whole(matrix))
        HK_LOAD(4);
    else
        HK_LOAD(0);
#undef HK_LOAD
}

HK_FN void hk_hash_store(const struct hk_hash_rows *rows, hk_i32 id,
                         const struct hk_hash_brought *brought, HK_LOCAL struct hk_tile_slice *to)
{
    int i, j;

#define HK_STORE(type) hk_tile_put(type, id, brought->x, to->x)
    HK_BY_NUMBER(rows->tokens.rows.dtype, HK_STORE);
#undef HK_STORE
    HK_UNROLL
    for (i = 0; i < HK_TILE_QUADS; i++) {
        HK_UNROLL
        for (j = 0; j < HK_QUAD; j++)
            to->q[(hk_hash_column(id, i) + j) * HK_TILE_LINE + hk_hash_term(id)] =
                hk_float(brought->r[i].word[j]);
    }
}

/* ---- candidates ---- */

/* The best candidate of the thread's columns for row i of its rows, as a number that is larger for
 * a better one: the largest |s|, then the lowest place. 0: none. NaN in place 0 is above all. */
HK_FN hk_u64 hk_hash_candidate(const struct hk_tile_sums *sums, const int i, hk_i32 id,
                               hk_i64 column, hk_i64 columns)
{
    hk_u32 most = 0, place = 0xffffffffu;
    int j;

    HK_UNROLL
    for (j = 0; j < HK_TILE_OWN; j++) {
        const float s = sums->of[i][j];
        const hk_u32 size = hk_word(hk_abs_f(s)) + 1;

        if (column + hk_tile_column(id, j) < columns && hk_ordered(s))
            most = size > most ? size : most;
    }
    HK_UNROLL
    for (j = 0; j < HK_TILE_OWN; j++) {
        const float s = sums->of[i][j];
        const hk_i64 at = column + hk_tile_column(id, j);
        const hk_u32 candidate = (hk_u32)(hk_less(s, 0.0f) ? columns + at : at);

        if (at < columns && hk_ordered(s) && hk_word(hk_abs_f(s)) + 1 == most)
            place = candidate < place ? candidate : place;
    }
    if (column + hk_tile_column(id, 0) == 0 && !hk_ordered(sums->of[i][0]))
        return ~(hk_u64)0;
    return most == 0 ? 0 : (hk_u64)most << 32 | (0xffffffffu - place);
}

HK_FN void hk_hash_leave(const struct hk_hash_matrix *matrix, const struct hk_hash_walk *at,
                         hk_i32 id, const struct hk_tile_sums *sums,
                         HK_LOCAL struct hk_shared *shared)
{
    int i;

    HK_UNROLL
    for (i = 0; i < HK_TILE_OWN; i++)
        shared->best[hk_tile_row(id, i)][id / HK_HASH_PARTS] =
            hk_hash_candidate(sums, i, id, at->column, matrix->columns);
}

/* The best of a tile for the thread's row; behind the last columns it is the row's bucket. */
HK_FN void hk_hash_take(const struct hk_hash_rows *rows, const struct hk_hash_matrix *matrix,
                        const struct hk_hash_walk *at, hk_i32 id,
                        HK_LOCAL const struct hk_shared *shared, struct hk_hash_mine *mine)
{
    const hk_i64 row = rows->first + at->row + id;
    int i;

    mine->best = at->column == 0 ? 0 : mine->best;
    for (i = 0; i < HK_HASH_PARTS; i++) {
        const hk_u64 other = shared->best[id][i];

        mine->best = other > mine->best ? other : mine->best;
    }
    if (at->column + HK_TILE >= matrix->columns && row < rows->end)
        rows->bucket[row * rows->step] = hk_token_present(&rows->tokens, row)
                                             ? (hk_i32)(0xffffffffu - (hk_u32)mine->best)
                                             : -1;
}

#include "select_hash_tasks.h"

#endif
