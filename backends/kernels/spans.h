/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a query row may see of a sub-source: first its reach, up to four ranges [lo, hi) of
 * ordinals, found once per row from the row's position; then, for 64 ordinals at a time, one
 * visibility mask. Both need integer arithmetic only, no search and no memory beyond the slots they
 * read. Compiles as C17, OpenCL C and CUDA.
 *
 * A sub-source is the closed form that every term lowers to (docs/architecture.md, waist 1). Its
 * ordinals count its keys in the order in which they enter the softmax (docs/numerics.md, step 2):
 * block = ordinal / 64.
 */
#ifndef HEED_BACKENDS_KERNELS_SPANS_H
#define HEED_BACKENDS_KERNELS_SPANS_H

#include "dialect/dialect.h"

#define HK_RANGES 4

enum {
    HK_RANGE_ALL = 0,
    HK_RANGE_AFFINE,            /* from the row's position */
    HK_RANGE_PAIRS              /* loaded: [begin, end) for every `block` rows */
};
enum { HK_OPEN_LO = 1u, HK_OPEN_HI = 2u };

/* AFFINE: with a = floor(q / block) * block and o = the position of key 0, a key index i lies in
 * the range when a + lo <= o + i * pos_step <= a + hi. The reach of the span is folded into lo. */
struct hk_range {
    hk_i64 lo, hi, block;
    hk_u32 kind, open;
};

enum {
    HK_SUB_KEYS = 0, /* ordinal = key index */
    HK_SUB_STRIDED, /* keys congruent to a residue modulo step; ordinal = floor(key index / step) */
    HK_SUB_FIRST_N, /* the first `first_n` keys; ordinal = key index */
    HK_SUB_LIST,    /* keys of an ascending list; ordinal = rank */
    HK_SUB_GATHER   /* a list of runs, in list order; ordinal = place * run + offset */
};
enum {
    HK_CAUSAL = 1u,             /* the last covered position of the key must not exceed the row's */
    HK_END = 2u,                /* key i at pos0 + (i - len) * pos_step */
    HK_PHASE_HEAD = 4u,
    HK_PHASE_QUERY = 8u,
    HK_NOT_GLOBAL = 16u         /* without the keys of the global bitmap */
};

struct hk_sub {
    hk_i64 pos0, pos_step, pos_span;
    hk_i64 step, phase;
    hk_i64 run;
    hk_i64 first_n;              /* FIRST_N: how many; KEYS, STRIDED: keys below are left out */
    hk_u32 kind, flags;
    hk_u32 n_ranges;
    hk_u32 n_earlier;           /* STRIDED: sub-sources right before it whose keys are left out */
    struct hk_range range[HK_RANGES];
};

/* One sub-source of one batch item (GATHER: and of one row block and head). Strides in elements. */
struct hk_sub_view {
    hk_i64 len;                             /* keys */
    hk_i64 n_list;                          /* LIST, GATHER: entries in use */
    hk_i64 list_stride, mask_stride;
    hk_i64 pair_stride[HK_RANGES],
        pair_end[HK_RANGES]; /* to the next row block; from begin to end */
    HK_GLOBAL const hk_i32 *list;
    HK_GLOBAL const hk_i32 *pairs[HK_RANGES];
    HK_GLOBAL const hk_u8 *mask;            /* 0: no mask */
    HK_GLOBAL const hk_u64 *globals;        /* global bitmap, over key indices */
};

/* How the rows of keys lie (layouts.h): at one stride, or one of the list. */
#define HK_LAYOUTS(ROW) ROW(PAGED, paged) ROW(RING, ring)
#define HK_NUMBER(NAME, name) HK_LAYOUT_##NAME,
enum { HK_LAYOUT_EVEN, HK_LAYOUTS(HK_NUMBER) };
#undef HK_NUMBER

struct hk_row {
    hk_i64 q;                   /* position */
    hk_i64 index;               /* row within the item */
    hk_i64 head;                /* query head */
    hk_i64 all;                 /* 1: named by a GLOBAL ROWS term of this source */
};

struct hk_reach {
    hk_i64 lo[HK_RANGES], hi[HK_RANGES];    /* ordinals; lo >= hi: empty */
    hk_i64 limit;               /* key indices from here on are cut by length or causality */
    hk_i64 residue;             /* STRIDED */
    hk_u32 n, reserved;
};

/* a / b of a >= 0, b > 0. */
HK_RARE hk_i64 hk_quotient(hk_i64 a, hk_i64 b)
{
#if HK_SLOW_DIVISION            /* bit by bit, which is short, where 32 bits do not hold them */
    hk_u64 rest = (hk_u64)a, part = (hk_u64)b, quotient = 0;

    if ((rest | part) >> 32 == 0)
        return (hk_u32)rest / (hk_u32)part;
    while (part <= rest >> 1)
        part <<= 1;
    for (; part >= (hk_u64)b; part >>= 1) {
        const hk_u64 one = rest >= part ? 1 : 0;

        rest -= one ? part : 0;
        quotient = quotient << 1 | one;
    }
    return (hk_i64)quotient;
#else
    if ((b & (b - 1)) == 0) /* blocks and strides mostly are, and divisions are slow */
        return a >> hk_first_bit((hk_u64)b);
    return a / b;
#endif
}

HK_FN hk_i64 hk_floor_div(hk_i64 a, hk_i64 b)       /* b > 0 */
{
    if (b == 1) /* by far the most frequent */
        return a;
    return hk_quotient(a ^ a >> 63, b) ^ a >> 63;
}

HK_FN hk_i64 hk_ceil_div(hk_i64 a, hk_i64 b)
{
    if (b == 1)
        return a;
    return hk_floor_div(a - 1, b) + 1;
}

HK_FN hk_i64 hk_mod(hk_i64 a, hk_i64 b)             /* in [0, b) */
{
    return a - hk_floor_div(a, b) * b;
}

HK_FN hk_i64 hk_gcd(hk_i64 a, hk_i64 b)             /* gcd(0, b) = b */
{
    while (b != 0) {
        const hk_i64 r = a % b;

        a = b;
        b = r;
    }
    return a;
}

/* Bits lo .. hi-1 of a word; any values. */
HK_FN hk_u64 hk_bits(hk_i64 lo, hk_i64 hi)
{
    lo = hk_max(lo, 0);
    hi = hk_min(hi, 64);
    if (lo >= hi)
        return 0;
    return (~(hk_u64)0 >> (64 - (hi - lo))) << lo;
}

/* Position of key 0. */
HK_FN hk_i64 hk_origin(HK_SUB_SPACE const struct hk_sub *sub, hk_i64 len)
{
    return sub->flags & HK_END ? sub->pos0 - len * sub->pos_step : sub->pos0;
}

/* Key indices at or above the result are beyond the length or in the row's future. */
HK_FN hk_i64 hk_limit(HK_SUB_SPACE const struct hk_sub *sub, hk_i64 len, hk_i64 q)
{
    hk_i64 limit = len;

    if (sub->flags & HK_CAUSAL)
        limit = hk_min(
            limit, hk_floor_div(q - (sub->pos_span - 1) - hk_origin(sub, len), sub->pos_step) + 1);
    return hk_max(limit, 0);
}

/* Key indices [*first, *end) of an AFFINE range for a row at position q; open ends stay. */
HK_FN void hk_range_affine(HK_SUB_SPACE const struct hk_sub *sub,
                           HK_SUB_SPACE const struct hk_range *range, hk_i64 len, hk_i64 q,
                           hk_i64 *first, hk_i64 *end)
{
    const hk_i64 a = hk_floor_div(q, range->block) * range->block - hk_origin(sub, len);
    hk_u32 closed = ~range->open & (HK_OPEN_LO | HK_OPEN_HI);

    HK_NO_UNROLL                        /* one division, which is long */
    for (; closed != 0; closed &= closed - 1) {
        const int lo = (closed & HK_OPEN_LO) != 0;
        const hk_i64 key = hk_floor_div(a + (lo ? range->lo - 1 : range->hi), sub->pos_step) + 1;

        if (lo)
            *first = key;
        else
            *end = key;
    }
}

/* Range r in key indices, cut to [0, limit). */
HK_FN void hk_range_keys(HK_SUB_SPACE const struct hk_sub *sub,
                         HK_VIEW_SPACE const struct hk_sub_view *view, const struct hk_row *row,
                         hk_u32 r, hk_i64 limit, hk_i64 *lo, hk_i64 *hi)
{
    HK_SUB_SPACE const struct hk_range *range = &sub->range[r];
    hk_i64 first = 0, end = limit;

    if (range->kind == HK_RANGE_AFFINE) {
        hk_range_affine(sub, range, view->len, row->q, &first, &end);
    } else if (range->kind == HK_RANGE_PAIRS) {
        HK_GLOBAL const hk_i32 *pair =
            view->pairs[r] + hk_quotient(row->index, range->block) * view->pair_stride[r];

        first = pair[0];
        end = pair[view->pair_end[r]];
    }
    *lo = hk_max(first, 0);
    *hi = hk_min(end, limit);
}

/* The residue of a STRIDED's keys modulo step. */
HK_FN hk_i64 hk_residue(HK_SUB_SPACE const struct hk_sub *sub,
                        HK_VIEW_SPACE const struct hk_sub_view *view, const struct hk_row *row)
{
    hk_i64 phase = sub->phase;          /* of 32 bits, and positions leave bits free */

    if (sub->flags & HK_PHASE_HEAD)
        phase += row->head;
    if (sub->flags & HK_PHASE_QUERY)
        phase += row->q - hk_origin(sub, view->len);
    return hk_mod(phase, sub->step);
}

/* What the row may see of sub, but for ranges that hk_reach_range has to find, as many as it
 * returns; 0: lo[0] and hi[0] say all. */
HK_FN hk_u32 hk_reach_begin(HK_SUB_SPACE const struct hk_sub *sub,
                            HK_VIEW_SPACE const struct hk_sub_view *view,
                            const struct hk_row *row, struct hk_reach *out)
{
    out->limit = hk_limit(sub, view->len, row->q);
    out->residue = 0;
    out->n = 1;
    out->lo[0] = 0;
    switch (sub->kind) {
    case HK_SUB_FIRST_N:
        out->hi[0] = hk_min(sub->first_n, out->limit);
        return 0;
    case HK_SUB_LIST:
        out->hi[0] = view->n_list;
        return 0;
    case HK_SUB_GATHER:
        out->hi[0] = view->n_list * sub->run;
        return 0;
    case HK_SUB_STRIDED:
        out->residue = hk_residue(sub, view, row);
        if (row->all) {
            out->n = 0;
            return 0;
        }
        break;
    case HK_SUB_KEYS:
        if (row->all) {
            out->hi[0] = out->limit;
            return 0;
        }
        break;
    }
    out->n = sub->n_ranges;
    return out->n;
}

/* Key indices lo and hi in ordinals of a STRIDED. */
HK_FN void hk_stride_ordinals(HK_SUB_SPACE const struct hk_sub *sub, hk_i64 residue, hk_i64 *lo,
                              hk_i64 *hi)
{
    int i;

    HK_NO_UNROLL
    for (i = 0; i < 2; i++) {
        const hk_i64 ordinal = hk_ceil_div((i ? *hi : *lo) - residue, sub->step);

        if (i)
            *hi = ordinal;
        else
            *lo = ordinal;
    }
}

/* Range r in ordinals. */
HK_FN void hk_reach_range(HK_SUB_SPACE const struct hk_sub *sub,
                          HK_VIEW_SPACE const struct hk_sub_view *view, const struct hk_row *row,
                          hk_u32 r, const struct hk_reach *reach, hk_i64 *lo, hk_i64 *hi)
{
    hk_range_keys(sub, view, row, r, reach->limit, lo, hi);
    if (sub->kind == HK_SUB_STRIDED)
        hk_stride_ordinals(sub, reach->residue, lo, hi);
}

/* What the row may see of sub. */
HK_FN void hk_reach_find(HK_SUB_SPACE const struct hk_sub *sub,
                         HK_VIEW_SPACE const struct hk_sub_view *view, const struct hk_row *row,
                         struct hk_reach *out)
{
    const hk_u32 n = hk_reach_begin(sub, view, row, out);
    hk_u32 r;

    for (r = 0; r < n; r++)
        hk_reach_range(sub, view, row, r, out, &out->lo[r], &out->hi[r]);
}

/* Key index behind an ordinal; negative: absent. */
HK_FN hk_i64 hk_key(HK_SUB_SPACE const struct hk_sub *sub,
                    HK_VIEW_SPACE const struct hk_sub_view *view, const struct hk_reach *reach,
                    hk_i64 ordinal)
{
    hk_i64 at, entry;

    switch (sub->kind) {
    case HK_SUB_STRIDED:
        return ordinal * sub->step + reach->residue;
    case HK_SUB_LIST:
        return view->list[ordinal * view->list_stride];
    case HK_SUB_GATHER:
        at = hk_quotient(ordinal, sub->run);
        entry = view->list[at * view->list_stride];
        return entry < 0 ? -1 : (entry - at) * sub->run + ordinal;
    case HK_SUB_KEYS:
    case HK_SUB_FIRST_N:
        return ordinal;
    }
    return -1;                  /* there is no other kind */
}

/* Is key shown by an earlier sub-source whatever the row: a GLOBAL key? */
HK_FN int hk_is_global(HK_SUB_SPACE const struct hk_sub *sub,
                       HK_VIEW_SPACE const struct hk_sub_view *view, hk_i64 key)
{
    if (key < sub->first_n)
        return 1;
    return (sub->flags & HK_NOT_GLOBAL) && (view->globals[key >> 6] >> (key & 63) & 1);
}

/* Of the ordinals `base` on of a STRIDED with this residue, those whose keys the row sees through
 * one of the n_earlier sub-sources before it. mask: ordinals that matter. */
HK_FN hk_u64 hk_earlier_mask(HK_SUB_SPACE const struct hk_sub *sub,
                             HK_VIEW_SPACE const struct hk_sub_view *view,
                             const struct hk_row *row, hk_i64 residue, hk_i64 base, hk_u64 mask)
{
    hk_u64 out = 0;
    hk_u32 e, r;

    HK_NO_UNROLL
    for (e = 1; e <= sub->n_earlier; e++) {
        HK_SUB_SPACE const struct hk_sub *s = sub - e;
        HK_VIEW_SPACE const struct hk_sub_view *it = view - e;
        const hk_i64 limit = hk_limit(s, it->len, row->q);
        const hk_i64 its = s->kind == HK_SUB_STRIDED ? hk_residue(s, it, row) : 0;
        hk_u64 in = 0, left;

        HK_NO_UNROLL
        for (r = 0; r < s->n_ranges; r++) {
            hk_i64 lo, hi;

            hk_range_keys(s, it, row, r, limit, &lo, &hi);
            if (lo >= hi)
                continue;
            hk_stride_ordinals(sub, residue, &lo, &hi);
            in |= hk_bits(lo - base, hi - base);
        }
        HK_NO_UNROLL
        for (left = s->kind == HK_SUB_STRIDED ? in & mask : 0; left != 0; left &= left - 1) {
            const int i = hk_first_bit(left);
            const hk_i64 key = (base + i) * sub->step + residue;

            if (hk_mod(key - its, s->step) != 0)
                in &= ~((hk_u64)1 << i);
        }
        out |= in;
    }
    return out;
}

/* The byte mask of key indices 64*block .. as a word; keys from n on are not read. */
HK_FN hk_u64 hk_byte_mask(HK_VIEW_SPACE const struct hk_sub_view *view, hk_i64 block, hk_i64 n)
{
    HK_GLOBAL const hk_u8 *byte = view->mask + block * 64 * view->mask_stride;
    const hk_i64 count = hk_min(n - block * 64, 64);
    hk_u64 mask = 0;
    hk_i64 i;

    for (i = 0; i < count; i++)
        mask |= (hk_u64)(byte[i * view->mask_stride] != 0) << i;
    return mask;
}

/* What no row can see of ordinals 64*block .. 64*block+63 is off: absent list entries, keys beyond
 * the length or masked, GLOBAL keys where an earlier sub-source has them. The reach may be that of
 * any row of a strip. */
HK_FN hk_u64 hk_block_mask(HK_SUB_SPACE const struct hk_sub *sub,
                           HK_VIEW_SPACE const struct hk_sub_view *view,
                           const struct hk_reach *reach, hk_i64 block)
{
    const hk_i64 base = block * 64;
    const int all = !view->mask && sub->first_n <= 0 && !(sub->flags & HK_NOT_GLOBAL);
    hk_u64 mask = 0;
    hk_i64 i, n = 64;

    if (sub->kind == HK_SUB_KEYS || sub->kind == HK_SUB_FIRST_N) {
        mask = view->mask ? hk_byte_mask(view, block, view->len) : ~(hk_u64)0;
        if (sub->kind == HK_SUB_KEYS) {
            mask &= ~hk_bits(0, sub->first_n - base);
            if (sub->flags & HK_NOT_GLOBAL)
                mask &= ~view->globals[block];
        }
        return mask;
    }
    if (sub->kind == HK_SUB_STRIDED && all)
        return ~(hk_u64)0;
    if (sub->kind == HK_SUB_STRIDED)        /* what is farther may be no number */
        n = hk_min(64, hk_ceil_div(view->len - reach->residue, sub->step) - base);
    if (sub->kind == HK_SUB_LIST)
        n = hk_min(64, view->n_list - base);
    if (sub->kind == HK_SUB_GATHER)
        n = hk_min(64, view->n_list * sub->run - base);
    for (i = 0; i < n; i++) {
        const hk_i64 key = hk_key(sub, view, reach, base + i);

        if (key < 0 || key >= view->len || (view->mask && view->mask[key * view->mask_stride] == 0))
            continue;
        if (sub->kind == HK_SUB_STRIDED && hk_is_global(sub, view, key))
            continue;
        mask |= (hk_u64)1 << i;
    }
    return mask;
}

/* The first block from `block` on with an ordinal of GATHER that names a key within the length, or
 * one after all: long runs, of which little exists, cost by their entries, not by their places. */
HK_FN hk_i64 hk_gather_next(HK_SUB_SPACE const struct hk_sub *sub,
                          HK_VIEW_SPACE const struct hk_sub_view *view, hk_i64 block)
{
    hk_i64 at = block * 64, entry = hk_quotient(at, sub->run);

    for (; entry < view->n_list; entry++) {
        const hk_i64 first = (hk_i64)view->list[entry * view->list_stride] * sub->run;
        const hk_i64 count = first < 0 ? 0 : hk_min(view->len - first, sub->run);

        at = hk_max(at, entry * sub->run);
        if (at < entry * sub->run + count)
            return (hk_i64)((hk_u64)at / 64);
    }
    return (hk_i64)((hk_u64)(view->n_list * sub->run) / 64) + 1;
}

/* Must keys of the row's ranges be looked at one by one: do lists name them, and may they lie in
 * its future? */
HK_FN int hk_keys_decide(HK_SUB_SPACE const struct hk_sub *sub)
{
    return (sub->kind == HK_SUB_LIST || sub->kind == HK_SUB_GATHER) && (sub->flags & HK_CAUSAL);
}

/* Visibility of ordinals 64*block .. 64*block+63 of sub[0] for one row: bit i set, the row sees it.
 * available is hk_block_mask. item[-1] .. item[-n_earlier] must be there. */
HK_FN hk_u64 hk_row_mask(HK_SUB_SPACE const struct hk_sub *sub,
                         HK_VIEW_SPACE const struct hk_sub_view *view, const struct hk_row *row,
                         const struct hk_reach *reach, hk_i64 block, hk_u64 available)
{
    const hk_i64 base = block * 64;
    hk_u64 mask = 0;
    hk_u32 r;
    hk_i64 i;

    for (r = 0; r < reach->n; r++)
        mask |= hk_bits(reach->lo[r] - base, reach->hi[r] - base);
    mask &= available;
    if (mask != 0 && sub->n_earlier != 0)
        mask &= ~hk_earlier_mask(sub, view, row, reach->residue, base, mask);
    for (i = 0; hk_keys_decide(sub) && i < 64 && mask >> i != 0; i++) {
        if ((mask >> i & 1) && hk_key(sub, view, reach, base + i) >= reach->limit)
            mask &= ~((hk_u64)1 << i);
    }
    return mask;
}

#endif
