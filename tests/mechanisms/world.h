/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A mechanism against a dense oracle in double. A test states a `struct world`: extents, sets of
 * keys, a function that calls the builder, and one that says from the paper's text, pair by pair,
 * what a row sees. mechanism_prove() then asks heed_attn_visible, which must say the same row by
 * row, and runs random data, whose results must be within the bound that the data give. That the
 * bits are those of every device, and that nothing absent is read, is the conformance kit's to say
 * (tools/conform/mechanisms.c).
 */
#ifndef HEED_TESTS_MECHANISMS_WORLD_H
#define HEED_TESTS_MECHANISMS_WORLD_H

#include "oracle.h"

/* ---- runs ---- */

static inline heed_attn_args world_args(struct world_of *w, heed_kv_bufs *kv)
{
    heed_kv_bufs pairs[MOST_SETS] = { { { 0 }, { 0 } } };

    for (int s = 0; s < w->n_sets; s++) {
        pairs[s] = (heed_kv_bufs){ w->set[s].k.buf, w->set[s].v.buf };
        if (w->set[s].has_len)
            w->slot_buf[HEED_MECHANISM_LEN + s - 1].handle = w->set[s].len;
        if (w->set[s].has_mask)
            w->slot_buf[HEED_MECHANISM_MASK + s - 1].handle = w->set[s].mask;
    }
    heed_mechanism_kv(&w->m, pairs, kv);
    return (heed_attn_args){
        .size = sizeof(heed_attn_args),
        .kv_size = sizeof(heed_kv_bufs),
        .q = w->q.buf,
        .o = w->o.buf,
        .kv = kv,
        .slots = w->slot_buf,
        .n_slots = HEED_MECHANISM_SLOTS,
    };
}

static inline void world_build(struct world_of *w)
{
    memset(&w->m, 0x5a, sizeof(w->m));
    w->m.size = sizeof(w->m);
    w->build(w);
    ck_assert_int_eq(world.why.status, HEED_OK);
}

static inline void world_run(struct world_of *w)
{
    heed_kv_bufs kv[HEED_MECHANISM_SOURCES];
    heed_attn_args args;

    world_build(w);
    w->m.desc.flags |= HEED_PLAN_OWN_WORKSPACE;
    args = world_args(w, kv);
    world_attend(&w->m.desc, &args);
}

/* ---- what is asked ---- */

static inline void check_visible_row(struct world_of *w, const heed_attn_args *args, int64_t b,
                                     int64_t h, int64_t i)
{
    int64_t got[MOST_SETS][MOST_KEYS];

    memset(got, 0, sizeof(got));
    for (uint32_t s = 0; s < w->m.desc.n_sources; s++) {
        const uint32_t set = w->m.keys[s];
        uint8_t seen[MOST_KEYS];

        ck_assert_uint_lt(set, (uint32_t)w->n_sets);
        ck_assert_msg(heed_attn_visible(&w->m.desc, args, b, h, i, s, seen, &world.why) >= 0,
                      "%s: %s: %s", w->name, world.why.field, world.why.message);
        for (int64_t j = 0; j < w->set[set].n; j++)
            got[set][j] += seen[j];
    }
    for (int s = 0; s < w->n_sets; s++) {
        for (int64_t j = 0; j < w->set[s].n; j++) {
            const bool there = world_row_present(w, b, i) && world_present(w, b, s, j);
            const int64_t want = there ? w->times(w, b, h, i, s, j) : 0;

            ck_assert_msg(got[s][j] == want,
                          "%s: item %d head %d row %d set %d key %d: seen %d times, the paper has "
                          "%d",
                          w->name, (int)b, (int)h, (int)i, s, (int)j, (int)got[s][j], (int)want);
            w->seen_pairs += want;
        }
    }
}

static inline void check_visible(struct world_of *w)
{
    heed_kv_bufs kv[HEED_MECHANISM_SOURCES];
    heed_attn_args args;

    world_build(w);
    args = world_args(w, kv);
    w->seen_pairs = 0;
    for (int64_t b = 0; b < w->batch; b++)
        for (int64_t h = 0; h < w->heads; h++)
            for (int64_t i = 0; i < w->n_q; i++)
                check_visible_row(w, &args, b, h, i);
    ck_assert_int_gt(w->seen_pairs, 0);
}

/* The share of its bound that the largest error takes. */
static inline double judge_row(struct world_of *w, int64_t b, int64_t h, int64_t i)
{
    static struct seen_row row;
    const float *o = world_row(&w->o, b, h, i);
    double worst = 0;

    row_collect(w, b, h, i, &row);
    row_bound(w, &row);
    for (int64_t c = 0; c < w->d_v; c++) {
        double bound = 0, want = row.n ? row_value(&row, c, &bound) : 0;
        const double off = fabs((double)o[c] - want);

        worst = bound > 0 ? fmax(worst, off / bound) : worst;
        ck_assert_msg(row.n ? off <= bound : bits_of(o[c]) == 0,
                      "%s: item %d head %d row %d channel %d: %.9g, wanted %.9g within %.3g",
                      w->name, (int)b, (int)h, (int)i, (int)c, (double)o[c], want, bound);
    }
    return worst;
}

static inline void judge(struct world_of *w)
{
    double worst = 0;

    for (int64_t b = 0; b < w->batch; b++)
        for (int64_t h = 0; h < w->heads; h++)
            for (int64_t i = 0; i < w->n_q; i++)
                worst = fmax(worst, judge_row(w, b, h, i));
    printf("# %s: %lld pairs, worst error / bound %.3f\n", w->name, (long long)w->seen_pairs,
           worst);
}

/* All of it; ends the world. */
static inline void mechanism_prove(struct world_of *w)
{
    world_open();
    world_make(w);
    check_visible(w);
    world_run(w);
    judge(w);
    world_close();
}

#endif
