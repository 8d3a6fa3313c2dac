/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select by norms and scores (heed/pool.h; docs/numerics.md, section 7). A token's key is a number
 * that is the larger the sooner the token is chosen; no two tokens have one key. The least key that
 * is chosen is found bit by bit.
 */
#include "array.h"
#include "decode.h"
#include "operations.h"
#include "select.h"

#include <heed/pool.h>

#include <assert.h>
#include <math.h>

#define LANES 16    /* partials of a square norm */

/* NaN above everything, then the larger value, zeros being equal, then the lower index. Never 0. */
static uint64_t key_of(float value, int64_t index)
{
    uint32_t bits = heed_ref_to_bits(value == 0.0f ? 0.0f : value), order;

    if (value != value)
        order = 0xffffffffu;
    else if (bits >> 31)
        order = ~bits;
    else
        order = bits | 0x80000000u;
    return (uint64_t)order << 32 | (0xffffffffu - (uint32_t)index);
}

static int64_t count_from(const uint64_t *keys, int64_t n, uint64_t least)
{
    int64_t found = 0;

    for (int64_t i = 0; i < n; i++)
        found += keys[i] >= least;
    return found;
}

/* The largest number that `count` keys reach, or 1, which those of all present tokens do. */
static uint64_t least_chosen(const uint64_t *keys, int64_t n, int64_t count)
{
    uint64_t least = 0;

    for (int bit = 63; bit >= 0; bit--) {
        uint64_t candidate = least | UINT64_C(1) << bit;

        if (count_from(keys, n, candidate) >= count)
            least = candidate;
    }
    return least > 0 ? least : 1;
}

static uint64_t *keys_of(const struct heed_ref_selection *select)
{
    return select->workspace;
}

/* Where a choice is written: `places` entries of y from `place` on. */
struct choice {
    int64_t x, y;       /* indices along the axes before the last */
    int64_t place, places;
    int64_t first;      /* token of keys[0] */
};

/* By ascending index, then -1. keys[i] 0: not present. */
static void choose(const struct heed_ref_selection *select, const struct choice *choice, int64_t n)
{
    uint64_t least = least_chosen(keys_of(select), n, choice->places);
    int64_t place = 0;

    for (int64_t i = 0; i < n; i++) {
        if (keys_of(select)[i] >= least)
            heed_ref_put_int(&select->arrays, HK_SELECT_Y, choice->x, choice->y,
                             choice->place + place++, choice->first + i);
    }
    assert(place <= choice->places);
    for (; place < choice->places; place++)
        heed_ref_put_int(&select->arrays, HK_SELECT_Y, choice->x, choice->y, choice->place + place,
                         -1);
}

/* ---- NORM ---- */

static float square_norm(const struct heed_ref_selection *select, int64_t group, int64_t at)
{
    float partial[LANES] = { 0 };

    for (int64_t t = 0; t < select->numbers->d; t++) {
        float x = heed_ref_float(&select->arrays, HK_SELECT_X,
                                 heed_ref_offset(&select->arrays, HK_SELECT_X, group, at, t));

        partial[t % LANES] = fmaf(x, x, partial[t % LANES]);
    }
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++)
            partial[i] += partial[i + half];
    }
    return partial[0];
}

static void pad(const struct heed_ref_selection *select, int64_t group, int64_t first, int64_t end)
{
    for (int64_t place = first; place < end; place++)
        heed_ref_put_int(&select->arrays, HK_SELECT_Y, 0, group, place, -1);
}

void heed_ref_select_norm(const struct heed_ref_selection *select, int64_t group)
{
    const struct hk_select *numbers = select->numbers;
    const int64_t blocks = heed_ref_select_blocks(select);
    const int64_t end = numbers->pad_front + blocks * numbers->count;

    pad(select, group, 0, numbers->pad_front);
    for (int64_t block = 0; block < blocks; block++) {
        struct choice choice = { 0, group, numbers->pad_front + block * numbers->count,
                                 numbers->count, block * numbers->block };
        int64_t n = heed_ref_block_tokens(select, block);

        for (int64_t i = 0; i < n; i++) {
            int64_t at = choice.first + i;

            keys_of(select)[i] = heed_ref_select_present(select, group, at)
                                  ? key_of(square_norm(select, group, at), at)
                                  : 0;
        }
        choose(select, &choice, n);
    }
    pad(select, group, end, end + numbers->pad_back);
}

/* ---- TOPK ---- */

static float score(const struct heed_ref_selection *select, int64_t head, int64_t row,
                   int64_t group, int64_t at)
{
    float s = 0.0f;

    for (int64_t t = 0; t < select->numbers->d; t++) {
        float q = heed_ref_float(&select->arrays, HK_SELECT_Q,
                                 heed_ref_offset(&select->arrays, HK_SELECT_Q, head, row, t));
        float x = heed_ref_float(&select->arrays, HK_SELECT_X,
                                 heed_ref_offset(&select->arrays, HK_SELECT_X, group, at, t));

        s = fmaf(q, x, s);
    }
    return s;
}

void heed_ref_select_topk(const struct heed_ref_selection *select, int64_t head)
{
    const struct hk_select *numbers = select->numbers;
    const int64_t group = head / (numbers->strip.heads / numbers->groups);

    for (int64_t row = 0; row < numbers->strip.rows; row++) {
        struct choice choice = { head, row, 0, numbers->count, 0 };

        for (int64_t at = 0; at < select->length; at++)
            keys_of(select)[at] = heed_ref_select_present(select, group, at)
                                   ? key_of(score(select, head, row, group, at), at)
                                   : 0;
        choose(select, &choice, select->length);
    }
}

/* ---- runs ---- */

int64_t heed_ref_select_blocks(const struct heed_ref_selection *select)
{
    const struct hk_select *numbers = select->numbers;

    return numbers->n / numbers->block + (numbers->n % numbers->block != 0);
}

int64_t heed_ref_block_tokens(const struct heed_ref_selection *select, int64_t block)
{
    int64_t left = select->numbers->n - block * select->numbers->block;

    return left < select->numbers->block ? left : select->numbers->block;
}

bool heed_ref_select_present(const struct heed_ref_selection *select, int64_t group, int64_t at)
{
    return heed_ref_present(&select->arrays, HK_SELECT_MASK, group, select->length, at);
}

/* A kind of selection is a row here. */
static void (*const kinds[])(const struct heed_ref_selection *, int64_t head) = {
    [HEED_SELECT_NORM] = heed_ref_select_norm,
    [HEED_SELECT_TOPK] = heed_ref_select_topk,
    [HEED_SELECT_HASH] = heed_ref_select_hash,
};

static void compute(const struct heed_plan *plan, const struct heed_launch *launch)
{
    const struct heed_form *form = heed_form_of(plan);
    struct heed_ref_selection select = {
        .arrays = heed_ref_arrays_of(plan, launch),
        .numbers = form->numbers,
        .workspace = heed_address(launch->workspace),
    };

    assert(select.numbers->kind < sizeof kinds / sizeof *kinds);
    for (int64_t item = 0; item < form->n_batch; item++) {
        heed_ref_arrays_item(&select.arrays, form, item);
        select.length = heed_ref_length(&select.arrays, HK_SELECT_LEN, select.numbers->n);
        for (int64_t head = 0; head < select.numbers->strip.heads; head++)
            kinds[select.numbers->kind](&select, head);
    }
}

/* A key for each token that is chosen from at one time. */
static int64_t keys_bytes(const struct hk_select *numbers)
{
    int64_t keys = numbers->n;

    if (numbers->kind == HEED_SELECT_NORM && numbers->block < keys)
        keys = numbers->block;
    return keys * (int64_t)sizeof(uint64_t);
}

static int64_t workspace_of(const struct heed_plan *plan)
{
    const struct hk_select *numbers = heed_form_of(plan)->numbers;

    return numbers->kind == HEED_SELECT_HASH ? heed_ref_hash_bytes(numbers) : keys_bytes(numbers);
}

static heed_status prepare(struct heed_plan *plan, const struct heed_services *services,
                           struct heed_error_detail *detail)
{
    (void)services;
    (void)detail;
    plan->workspace_size = (uint64_t)workspace_of(plan);
    plan->workspace_align = _Alignof(uint64_t);
    return HEED_OK;
}

static heed_status run(const struct heed_plan *plan, const struct heed_services *services,
                       const struct heed_launch *launch)
{
    (void)services;
    return heed_ref_compute(compute, plan, launch);
}

const struct heed_impl heed_ref_select = {
    .op = HEED_OP_SELECT,
    .name = "scalar",
    .prepare = prepare,
    .run = run,
};
