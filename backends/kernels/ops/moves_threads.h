/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows whose bits the threads of a work-group move in units of 16 bytes (places.h). Each function
 * answers 0 where addresses, rows or what lies between them are no multiples of that: nothing was
 * done then.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_MOVES_THREADS_H
#define HEED_BACKENDS_KERNELS_OPS_MOVES_THREADS_H

#define HK_UNIT_BYTES 16

struct hk_piece {
    hk_u32 word[4];
};

/* all: of addresses and distances the bits of any. */
HK_FN int hk_units_fit(hk_u64 all, hk_i64 rows, hk_i64 bytes)
{
    return (all | (hk_u64)bytes) % HK_UNIT_BYTES == 0 && bytes > 0 && rows < HK_PLACES &&
           bytes / HK_UNIT_BYTES < HK_PLACES;
}

/* Where a unit lies of rows that are `row` bytes apart. */
HK_FN hk_i64 hk_unit_at(struct hk_place at, hk_i64 row)
{
    return at.row * row + (hk_i64)at.unit * HK_UNIT_BYTES;
}

/* `rows` rows of so many bytes, from x on to y on. */
HK_FN int hk_units_move(HK_GLOBAL const char *x, hk_i64 x_row, HK_GLOBAL char *y, hk_i64 y_row,
                        hk_i64 rows, hk_i64 bytes)
{
    HK_THREAD_ID(id);
    int k;

    if (!hk_units_fit(hk_address(x) | hk_address(y) | (hk_u64)x_row | (hk_u64)y_row, rows, bytes))
        return 0;
    HK_EACH(id)
    {
        struct hk_walk walk = hk_walk_begin(id, rows, bytes / HK_UNIT_BYTES);
        struct hk_piece unit[HK_BATCH];

        while (hk_walk_next(&walk)) {
            HK_UNROLL
            for (k = 0; k < HK_BATCH; k++)
                hk_load_words(x + hk_unit_at(walk.at[k], x_row), 4, unit[k].word);
            HK_UNROLL
            for (k = 0; k < HK_BATCH; k++)
                if (walk.there[k])
                    hk_store_words(y + hk_unit_at(walk.at[k], y_row), 4, unit[k].word);
        }
    }
    return 1;
}

/* What y holds goes to z, and x to y. */
HK_FN int hk_units_shift(HK_GLOBAL const char *x, hk_i64 x_row, HK_GLOBAL char *y, hk_i64 y_row,
                         HK_GLOBAL char *z, hk_i64 z_row, hk_i64 rows, hk_i64 bytes)
{
    const hk_u64 addresses = hk_address(x) | hk_address(y) | hk_address(z);
    HK_THREAD_ID(id);
    int k;

    if (!hk_units_fit(addresses | (hk_u64)(x_row | y_row | z_row), rows, bytes))
        return 0;
    HK_EACH(id)
    {
        struct hk_walk walk = hk_walk_begin(id, rows, bytes / HK_UNIT_BYTES);
        struct hk_piece unit[HK_BATCH], last[HK_BATCH];

        while (hk_walk_next(&walk)) {
            HK_UNROLL
            for (k = 0; k < HK_BATCH; k++) {
                hk_load_words(x + hk_unit_at(walk.at[k], x_row), 4, unit[k].word);
                hk_load_words(y + hk_unit_at(walk.at[k], y_row), 4, last[k].word);
            }
            HK_UNROLL
            for (k = 0; k < HK_BATCH; k++) {
                if (walk.there[k]) {
                    hk_store_words(z + hk_unit_at(walk.at[k], z_row), 4, last[k].word);
                    hk_store_words(y + hk_unit_at(walk.at[k], y_row), 4, unit[k].word);
                }
            }
        }
    }
    return 1;
}

HK_FN int hk_units_zero(HK_GLOBAL char *y, hk_i64 row, hk_i64 rows, hk_i64 bytes)
{
    HK_THREAD_ID(id);
    int k;

    if (!hk_units_fit(hk_address(y) | (hk_u64)row, rows, bytes))
        return 0;
    HK_EACH(id)
    {
        struct hk_walk walk = hk_walk_begin(id, rows, bytes / HK_UNIT_BYTES);
        struct hk_piece zero;

        zero.word[0] = zero.word[1] = zero.word[2] = zero.word[3] = 0;
        while (hk_walk_next(&walk)) {
            HK_UNROLL
            for (k = 0; k < HK_BATCH; k++)
                if (walk.there[k])
                    hk_store_words(y + hk_unit_at(walk.at[k], row), 4, zero.word);
        }
    }
    return 1;
}

#endif
