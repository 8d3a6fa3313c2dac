/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Row masks: which keys of a source one query row may see, as bytes of keys or as bits of words
 * that hold 32 keys each. A block of keys becomes one word of 64 bits.
 */
#ifndef HEED_BACKENDS_KERNELS_ATTN_ROW_MASK_H
#define HEED_BACKENDS_KERNELS_ATTN_ROW_MASK_H

#include "call.h"

/* The mask of one row. */
struct hk_row_keep {
    HK_GLOBAL const char *base;
    hk_i64 step, entries; /* elements from entry to entry; how many there are */
    hk_u32 dtype, reserved;
};

/* item: where the mask of the row's batch item begins. */
HK_FN struct hk_row_keep hk_row_keep_get(HK_GLOBAL const struct hk_aux *mask,
                                         HK_GLOBAL const char *item, hk_i64 head, hk_i64 row)
{
    const hk_i64 at = head * mask->stride[3] + row * mask->stride[4];
    struct hk_row_keep out;

    out.base = hk_byte(item, at * hk_size(mask->dtype));
    out.step = mask->stride[5];
    out.entries = mask->shape[2];
    out.dtype = mask->dtype;
    out.reserved = 0;
    return out;
}

/* Does the row keep the key, which is within the item? */
HK_FN int hk_row_keeps(const struct hk_row_keep *keep, hk_i64 key)
{
    if (keep->dtype == HK_U8)
        return ((HK_GLOBAL const hk_u8 *)keep->base)[key * keep->step] != 0;
    return ((HK_GLOBAL const hk_u32 *)keep->base)[(key >> 5) * keep->step] >> (key & 31) & 1;
}

/* Words of bits for keys 64 * block on, of which the first is within the item. */
HK_FN hk_u64 hk_row_words(const struct hk_row_keep *keep, hk_i64 block)
{
    HK_GLOBAL const hk_u32 *word = (HK_GLOBAL const hk_u32 *)keep->base + 2 * block * keep->step;
    const hk_u64 high = 2 * block + 1 < keep->entries ? word[keep->step] : 0;

    return high << 32 | word[0];
}

#endif
