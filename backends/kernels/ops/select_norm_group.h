/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select by norms for the threads of a work-group (docs/numerics.md, section 7). A task has steps
 * with a barrier behind each: of HK_NORM_SLAB tokens at a time first the partial sums, as many
 * threads a token as make up its vectors, then the keys, a thread a token. With all keys in local
 * memory each token counts the keys above its own, which says whether it is chosen, and then the
 * chosen ones before it, which says where it goes. A strip with more keys than fit has them in
 * scratch and leaves a block to one thread.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_SELECT_NORM_GROUP_H
#define HEED_BACKENDS_KERNELS_OPS_SELECT_NORM_GROUP_H

#include "sums.h"

#define HK_HAS_SHARED 1

#define HK_NORM_SLAB 128
#define HK_NORM_KEYS 2048

struct hk_shared {
    float partials[HK_NORM_SLAB * HK_PARTIALS];
    hk_i64 keys[HK_NORM_KEYS];
    hk_u32 chosen[HK_NORM_KEYS / 32]; /* bits */
};

/* Do the keys of a strip fit in local memory? */
HK_FN int hk_norm_fits(HK_GLOBAL const struct hk_select *select)
{
    return select->strip.run * select->room <= HK_NORM_KEYS;
}

/* ---- keys ---- */

/* The partial sums of tokens first .. end - 1, HK_NORM_SLAB at most. */
HK_FN void hk_norm_sum(const struct hk_norms *norm, const struct hk_tokens *tokens, hk_i64 first,
                       hk_i64 end, hk_i32 id, HK_LOCAL struct hk_shared *shared)
{
    const hk_i64 d = tokens->d, vectors = (d + HKV_LANES - 1) / HKV_LANES;
    struct hk_stream stream;
    const int whole = hk_stream_open(&tokens->rows, 0, norm->end, d, &stream);
    hk_i64 i, unit;

    for (i = first + id / HK_SUMS; i < end; i += HK_THREADS / HK_SUMS) {
        HK_GLOBAL const char *const row = hk_token_row(tokens, i);
        hk_vec sum = hkv_set(0.0f);
        float part[HKV_LANES];

        if (!hk_token_present(tokens, i))
            continue;
        if (whole) {
            HK_UNROLL_FEW
            for (unit = id % HK_SUMS; unit < vectors; unit += HK_SUMS) {
                const struct hk_raw raw =
                    stream.size == 4 ? hk_raw_whole(4, row + unit * 16)
                                     : hk_raw_whole(2, row + unit * 8);
                const hk_vec x = hk_raw_vector(&stream, &raw);

                sum = hkv_fma(x, x, sum);
            }
        } else {
            HK_NO_UNROLL
            for (unit = id % HK_SUMS; unit < vectors; unit += HK_SUMS) {
                const struct hk_raw raw = hk_raw_each(
                    tokens->rows.dtype, row, tokens->rows.channel, unit * HKV_LANES, d);
                const hk_vec x = hk_raw_floats(&raw);

                sum = hkv_fma(x, x, sum);
            }
        }
        hkv_store(part, sum);
        hk_local_put4(shared->partials + (i - first) * HK_PARTIALS + id % HK_SUMS * HKV_LANES,
                      part);
    }
}

/* The norm of which these are the partial sums. */
HK_FN float hk_norm_tree(HK_LOCAL const float *partials)
{
    struct hk_sums sums;
    int i;

    HK_UNROLL
    for (i = 0; i < HK_SUMS; i++)
        sums.l[i] = hkv_load(partials + i * HKV_LANES);
    return hk_sums_tree(&sums);
}

HK_FN void hk_norm_keys(const struct hk_norms *norm, const struct hk_tokens *tokens, hk_i64 first,
                        hk_i64 end, hk_i32 id, HK_LOCAL struct hk_shared *shared)
{
    const int fits = hk_norm_fits(norm->select);
    hk_i64 i;

    for (i = first + id; i < end; i += HK_THREADS) {
        hk_i64 key = HK_NO_KEY;

        if (hk_token_present(tokens, i))
            key = hk_key(hk_norm_tree(shared->partials + (i - first) * HK_PARTIALS), i);
        if (fits)
            shared->keys[i - norm->first] = key;
        else
            norm->keys[i - norm->first] = key;
    }
}

/* ---- the choice ---- */

/* Tokens of a strip that fits: those of block `block` of it are first .. end - 1. */
struct hk_norm_block {
    hk_i32 first, end;
};

HK_FN struct hk_norm_block hk_norm_block_get(const struct hk_norms *norm, hk_i32 block)
{
    const hk_i32 room = (hk_i32)norm->select->room;
    struct hk_norm_block out;

    out.first = block * room;
    out.end = (hk_i32)hk_min(out.first + room, norm->end - norm->first);
    return out;
}

/* Is a token chosen: are there fewer keys above its own? */
HK_FN void hk_norm_rank(const struct hk_norms *norm, hk_i32 id, HK_LOCAL struct hk_shared *shared)
{
    const hk_i32 all = (hk_i32)(norm->end - norm->first), room = (hk_i32)norm->select->room;
    hk_i32 i, k;

    for (i = id; i < all; i += HK_THREADS) {
        const struct hk_norm_block block = hk_norm_block_get(norm, i / room);
        const hk_i64 key = shared->keys[i];
        hk_i32 above = 0;

        HK_UNROLL_FEW
        for (k = block.first; k < block.end; k++)
            above += shared->keys[k] > key ? 1 : 0;
        if (key != HK_NO_KEY && above < norm->select->count)
            hk_local_or(&shared->chosen[i / 32], 1u << i % 32);
    }
}

HK_FN hk_i32 hk_norm_count(hk_u32 word)
{
    word -= word >> 1 & 0x55555555u;
    word = (word & 0x33333333u) + (word >> 2 & 0x33333333u);
    word = (word + (word >> 4)) & 0x0f0f0f0fu;
    return (hk_i32)(word * 0x01010101u >> 24);
}

/* The chosen ones of tokens first .. end - 1. */
HK_FN hk_i32 hk_norm_chosen(HK_LOCAL const struct hk_shared *shared, hk_i32 first, hk_i32 end)
{
    hk_i32 word, found = 0;

    for (word = first / 32; word * 32 < end; word++) {
        hk_u32 bits = shared->chosen[word];

        if (word * 32 < first)
            bits &= 0xffffffffu << first % 32;
        if (end - word * 32 < 32)
            bits &= (1u << (end - word * 32)) - 1;
        found += hk_norm_count(bits);
    }
    return found;
}

/* Where the chosen ones go, and -1 where no token is left. */
HK_FN void hk_norm_place(const struct hk_norms *norm, hk_i32 id,
                         HK_LOCAL const struct hk_shared *shared)
{
    HK_GLOBAL const struct hk_select *select = norm->select;
    const hk_i32 all = (hk_i32)(norm->end - norm->first), room = (hk_i32)select->room;
    const hk_i64 base = select->pad_front + norm->strip.first * select->count;
    hk_i32 i, b;
    hk_i64 place;

    for (i = id; i < all; i += HK_THREADS) {
        if (!(shared->chosen[i / 32] >> i % 32 & 1))
            continue;
        place = base + i / room * select->count + hk_norm_chosen(shared, i / room * room, i);
        norm->y.base[place * norm->y.step] = (hk_i32)(norm->first + i);
    }
    for (b = 0; b < norm->strip.count && b * room < all; b++) {
        const struct hk_norm_block block = hk_norm_block_get(norm, b);

        place = hk_norm_chosen(shared, block.first, block.end);
        for (place += id; place < select->count; place += HK_THREADS)
            norm->y.base[(base + b * select->count + place) * norm->y.step] = -1;
    }
}

/* Keys in scratch: a thread has a block. */
HK_FN void hk_norm_choose(const struct hk_norms *norm, hk_i32 id)
{
    hk_i64 i;

    for (i = id; i < norm->strip.count; i += HK_THREADS)
        hk_norm_block(norm, i);
}

/* ---- steps ---- */

/* left: steps behind this one. */
HK_FN void hk_norm_step(const struct hk_call *call, const struct hk_norms *norm, hk_i64 step,
                        hk_i64 left, HK_LOCAL struct hk_shared *shared)
{
    const struct hk_tokens tokens = hk_tokens_get(call, norm->strip.b, norm->strip.head);
    const hk_i64 first = norm->first + step / 2 * HK_NORM_SLAB;
    const hk_i64 end = hk_min(first + HK_NORM_SLAB, norm->end);
    const int fits = hk_norm_fits(norm->select);
    HK_THREAD_ID(id);

    HK_EACH(id)
    {
        if (left >= 2) {
            if (step == 0)
                shared->chosen[id] = 0;
            if (step % 2 == 0)
                hk_norm_sum(norm, &tokens, first, end, id, shared);
            else
                hk_norm_keys(norm, &tokens, first, end, id, shared);
        } else if (left == 1 && fits) {
            hk_norm_rank(norm, id, shared);
        } else if (left == 0 && fits) {
            hk_norm_place(norm, id, shared);
        } else if (left == 0) {
            hk_norm_choose(norm, id);
        }
    }
    if (left == 0)
        hk_norm_pads(norm);
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    HK_GLOBAL const struct hk_select *select = HK_NUMBERS(call, struct hk_select);
    const hk_i64 slabs = (select->strip.run * select->room + HK_NORM_SLAB - 1) / HK_NORM_SLAB;
    const hk_i64 steps = 2 * slabs + 2;
    struct hk_steps at;

    at.task = group;
    at.step = 0;
    while (at.task < call->op->tasks[HK_PASS]) {
        struct hk_norms norm;

        hk_norm_open(call, group, at.task, &norm);
        hk_norm_step(call, &norm, at.step, steps - 1 - at.step, shared);
        HK_BARRIER_ALL();
        at = hk_steps_next(call, at, steps);
    }
}

#endif
