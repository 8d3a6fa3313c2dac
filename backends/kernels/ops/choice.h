/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The largest of many values: a value and its token's index are one number, a key, in the order of
 * heed/pool.h, so that no two are equal and the choice is that of the largest keys. Keys stay in
 * the order of their tokens. The least key that is chosen is found by halving what lies between the
 * smallest and the largest: each step counts keys, which vectors do well, and 64 steps suffice for
 * any keys.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_CHOICE_H
#define HEED_BACKENDS_KERNELS_OPS_CHOICE_H

#include "operation.h"

#define HK_NO_KEY ((hk_i64)((hk_u64)1 << 63))   /* less than any key: a token that is not there */
#define HK_INFINITY_WORD 0x7f800000

/* NaN above everything, then the larger; zeros are equal. */
HK_FN hk_i32 hk_order_of(float value)
{
    const hk_i32 word = (hk_i32)hk_word(hk_add(value, 0.0f));

    if (!hk_ordered(value))
        return 0x7fffffff;
    return word < 0 ? word ^ 0x7fffffff : word;
}

/* The lower index is the larger key where values are equal. */
HK_FN hk_i64 hk_key_of(hk_i32 order, hk_i64 index)
{
    return (hk_i64)((hk_u64)(hk_u32)order << 32 | (0xffffffffu - (hk_u32)index));
}

HK_FN hk_i64 hk_key(float value, hk_i64 index)
{
    return hk_key_of(hk_order_of(value), index);
}

HK_FN hk_i64 hk_key_index(hk_i64 key)
{
    return (hk_i64)(0xffffffffu - (hk_u32)(hk_u64)key);
}

/* A value of a later token has to reach this, or be NaN, to be above all of an order. (So may one
 * that is not, where nothing but NaN is.) */
HK_FN float hk_order_bar(hk_i32 order)
{
    if (order >= HK_INFINITY_WORD)
        return HK_INFINITY;
    return hk_float((hk_u32)(order + 1 < 0 ? (order + 1) ^ 0x7fffffff : order + 1));
}

/* The same of a key. */
HK_FN float hk_key_bar(hk_i64 key)
{
    return hk_order_bar((hk_i32)((hk_u64)key >> 32));
}

/* How many of n keys are `least` or more. */
HK_FN hk_i64 hk_keys_from(HK_GLOBAL const hk_i64 *keys, hk_i64 n, hk_i64 least)
{
    hk_i64 found = 0, i;

    for (i = 0; i < n; i++)
        found += keys[i] >= least ? 1 : 0;
    return found;
}

/* A border of n keys: the `count` largest are not below it, the others are. */
HK_FN hk_i64 hk_keys_least(HK_GLOBAL const hk_i64 *keys, hk_i64 n, hk_i64 count)
{
    hk_i64 low = ~HK_NO_KEY, high = HK_NO_KEY, there = 0, i;

    for (i = 0; i < n; i++) {
        /* HK_NO_KEY less 1 is the largest number: no condition, so that vectors serve. */
        const hk_i64 key = keys[i], down = (hk_i64)((hk_u64)key - 1);

        there += key != HK_NO_KEY ? 1 : 0;
        low = down < low ? down : low;
        high = key > high ? key : high;
    }
    low = low == ~HK_NO_KEY ? low : low + 1;
    /* The least that is chosen lies in (low, high], or all are. */
    while (there > count) {
        const hk_i64 middle = high - (hk_i64)(((hk_u64)high - (hk_u64)low) / 2);
        const hk_i64 found = hk_keys_from(keys, n, middle);

        if (found == count)
            return middle;
        if (found > count)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Keeps the `count` largest of n > count keys, and says which is the least of them. */
HK_FN hk_i64 hk_keys_cut(HK_GLOBAL hk_i64 *keys, hk_i64 n, hk_i64 count)
{
    const hk_i64 border = hk_keys_least(keys, n, count);
    hk_i64 least = ~HK_NO_KEY, kept = 0, i;

    /* A place is written till a key that stays comes: no branch to be guessed. */
    for (i = 0; i < n; i++) {
        const hk_i64 key = keys[i];

        keys[kept] = key;
        kept += key >= border ? 1 : 0;
    }
    for (i = 0; i < kept; i++)
        least = keys[i] < least ? keys[i] : least;
    return least;
}

/* Indices of y, `step` elements apart. */
struct hk_indices {
    HK_GLOBAL hk_i32 *base;
    hk_i64 step;
};

/* The tokens of the n keys from `least` on, then -1 up to `places`. */
HK_FN void hk_keys_write(HK_GLOBAL const hk_i64 *keys, hk_i64 n, hk_i64 least,
                         const struct hk_indices *to, hk_i64 places)
{
    hk_i64 i, place = 0;

    /* A place is written till its token comes: no branch to be guessed. */
    for (i = 0; i < n && place < places; i++) {
        to->base[place * to->step] = (hk_i32)hk_key_index(keys[i]);
        place += keys[i] >= least ? 1 : 0;
    }
    for (; place < places; place++)
        to->base[place * to->step] = -1;
}

#endif
