/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * recur for processors: a few vectors of channels of v at a time, whose columns of the state stay
 * in the first level of caches, and whose sums in registers, while tokens pass by.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_RECUR_LANES_H
#define HEED_BACKENDS_KERNELS_OPS_RECUR_LANES_H

#include "recur_sweep.h"

#define HK_RECUR_WIDE 4 /* vectors side by side: their chains hide the time of an fma */
#define HK_RECUR_RUN 64 /* tokens that pass by before the next columns are at hand */
#define HK_RECUR_AHEAD 4 /* tokens whose rows are asked for early: a row of o that is not there yet
                          * holds up all stores of the state behind it */

/* Rows of tokens in scratch, as floats: k, q and the decays, of two tokens each. */
enum { HK_RECUR_KEY, HK_RECUR_QUERY = 2, HK_RECUR_FACTOR = 4 };

/* Tokens first .. end - 1, and the first of the channels of v that they meet. */
struct hk_recur_run {
    hk_i64 first, end, channel;
};

HK_FN HK_GLOBAL float *hk_recur_row(const struct hk_recur_strip *strip, hk_i64 row)
{
    return strip->scratch + (HK_RECUR_STRIP + row) * strip->pitch;
}

HK_INLINE void hk_recur_widen(hk_u32 dtype, const struct hk_rows *rows, hk_i64 t, hk_i64 d_k,
                              HK_GLOBAL float *to)
{
    HK_GLOBAL const char *const from = hk_row(rows, t);
    const hk_i64 channel = rows->channel;
    hk_i64 c = 0;

    for (; channel == 1 && c + HKV_LANES <= d_k; c += HKV_LANES)
        hkv_store(to + c, hk_vec_load(dtype, from, c));
    for (; c < d_k; c += HKV_LANES)
        hkv_store(to + c, hk_channels_read(dtype, from, channel, c, d_k));
}

/* Are the rows floats side by side, which are read where they lie? */
HK_FN int hk_recur_plain(const struct hk_rows *rows)
{
    return rows->dtype == HK_F32 && rows->channel == 1;
}

/* Row t as floats. */
HK_NOINLINE void hk_recur_stage(const struct hk_recur_strip *strip, const struct hk_rows *rows,
                                hk_i64 t, hk_i64 row)
{
    HK_GLOBAL float *const to = hk_recur_row(strip, row);

#define HK_ROW(type) hk_recur_widen(type, rows, t, strip->numbers->d_k, to)
    HK_BY(HK_FLOAT_TYPES, rows->dtype, HK_ROW);
#undef HK_ROW
}

/* The factors of token t. */
HK_FN void hk_recur_factors(const struct hk_recur_strip *strip, hk_i64 t,
                            struct hk_recur_sweep *sweep)
{
    const hk_i64 row = HK_RECUR_FACTOR + (t & 1);

    if (!strip->numbers->channels) {
        sweep->factor = hk_element(strip->decay.dtype, hk_row(&strip->decay, t), 0);
        return;
    }
    hk_recur_stage(strip, &strip->decay, t, row);
    sweep->decay = hk_recur_row(strip, row);
}

/* ---- tokens ---- */

/* Where the k of token t lies: in its row, or in scratch, which hk_recur_sweep_to fills. Nobody
 * reads the k of a token before the first or behind the last. */
HK_FN HK_GLOBAL const float *hk_recur_key(const struct hk_recur_strip *strip, hk_i64 t)
{
    return hk_recur_plain(&strip->k) && t >= 0 && t < strip->tokens
               ? (HK_GLOBAL const float *)hk_row(&strip->k, t)
               : hk_recur_row(strip, HK_RECUR_KEY + (t & 1));
}

/* The lines of channels first .. end - 1 of row t; channels that lie apart have too many. */
HK_INLINE void hk_recur_ask(const struct hk_rows *rows, hk_i64 t, hk_i64 first, hk_i64 end)
{
    const hk_i64 size = hk_size(rows->dtype);
    HK_GLOBAL const char *const row = hk_row(rows, t);
    hk_i64 at;

    for (at = first * size; rows->channel == 1 && at < end * size; at += 64)
        HK_PREFETCH_NEAR(row + at);
}

/* What a token some way on needs and writes for these channels of v. */
HK_INLINE void hk_recur_ask_ahead(const int wide, const struct hk_recur_strip *strip, hk_i64 t,
                                  hk_i64 channel)
{
    const hk_i64 end = hk_min(channel + wide * HKV_LANES, strip->end);

    if (t >= strip->tokens || channel >= end)
        return;
    hk_recur_ask(&strip->v, t, channel, end);
    if (strip->o.base) {
        hk_recur_ask(&strip->o, t, channel, end);
        hk_recur_ask(&strip->q, t, 0, strip->numbers->d_k);
    }
    hk_recur_ask(&strip->k, t, 0, strip->numbers->d_k);
}

/* Before the sweep that writes token t: its rows, and with DELTA those of the token behind it. */
HK_FN void hk_recur_sweep_to(const struct hk_recur_strip *strip, hk_i64 first, hk_i64 t,
                             struct hk_recur_sweep *sweep)
{
    const hk_i64 ahead = strip->numbers->delta ? t + 1 : t;

    if (ahead < sweep->end) {
        if (!hk_recur_plain(&strip->k))
            hk_recur_stage(strip, &strip->k, ahead, HK_RECUR_KEY + ahead % 2);
        if (strip->decays)
            hk_recur_factors(strip, ahead, sweep);
    }
    if (t >= first && strip->o.base && hk_recur_plain(&strip->q))
        sweep->query = (HK_GLOBAL const float *)hk_row(&strip->q, t);
    else if (t >= first && strip->o.base) {
        hk_recur_stage(strip, &strip->q, t, HK_RECUR_QUERY + (t & 1));
        sweep->query = hk_recur_row(strip, HK_RECUR_QUERY + (t & 1));
    }
    sweep->key = hk_recur_key(strip, t);
    sweep->next = hk_recur_key(strip, t + 1);
}

HK_FN HK_GLOBAL float *hk_recur_columns(const struct hk_recur_strip *strip, hk_i64 channel)
{
    return strip->scratch + (channel - strip->first) * strip->numbers->d_k;
}

HK_FN void hk_recur_begin(const struct hk_recur_strip *strip, const struct hk_recur_run *run,
                          struct hk_recur_sweep *sweep)
{
    HK_GLOBAL float *const query = hk_recur_row(strip, HK_RECUR_QUERY);
    hk_i64 c;

    sweep->state = hk_recur_columns(strip, run->channel);
    sweep->end = run->end;
    sweep->decay = hk_recur_row(strip, HK_RECUR_FACTOR);
    sweep->factor = 1.0f;
    sweep->query = query;
    sweep->d_k = strip->numbers->d_k;
    for (c = 0; c < sweep->d_k && !strip->o.base; c += HKV_LANES) /* no o: nobody looks */
        hkv_store(query + c, hkv_set(0.0f));
}

/* What token t writes, from the state's answer to its k. */
HK_INLINE void hk_recur_news(const int wide, const struct hk_recur_strip *strip, hk_i64 t,
                             hk_i64 channel, const hk_vec *r, hk_vec *w)
{
    const hk_vec beta = hkv_set(hk_recur_beta(strip, t));
    int i;

    HK_UNROLL
    for (i = 0; i < wide; i++) {
        const hk_i64 at = channel + i * HKV_LANES;
        const hk_vec v = hk_recur_plain(&strip->v) && at + HKV_LANES <= strip->end
                             ? hk_vec_load(HK_F32, hk_row(&strip->v, t), at)
                             : hk_recur_value(strip, t, at);

        w[i] = hkv_mul(beta, hkv_sub(v, r[i]));
    }
}

HK_INLINE void hk_recur_zero(const int wide, hk_vec *x)
{
    int i;

    HK_UNROLL
    for (i = 0; i < wide; i++)
        x[i] = hkv_set(0.0f);
}

HK_INLINE void hk_recur_answer(const int wide, const struct hk_recur_strip *strip, hk_i64 t,
                               hk_i64 channel, const hk_vec *o)
{
    const hk_vec scale = hkv_set(strip->numbers->scale);
    int i;

    HK_UNROLL
    for (i = 0; i < wide; i++) {
        const hk_i64 at = channel + i * HKV_LANES;

        if (strip->o.base && hk_recur_plain(&strip->o) && at + HKV_LANES <= strip->end)
            hk_vec_put(HK_F32, hk_row(&strip->o, t), at, hkv_mul(o[i], scale));
        else
            hk_recur_put(strip, t, at, hkv_mul(o[i], scale));
    }
}

/* Tokens from t on, two at a time, without DELTA; returns the first that is left. */
HK_INLINE hk_i64 hk_recur_tokens_paired(const int wide, const int decays,
                                        const struct hk_recur_strip *strip,
                                        const struct hk_recur_run *run,
                                        const struct hk_recur_sweep *sweep)
{
    hk_i64 t = run->first;
#if HK_RECUR_PAIRS
    struct hk_recur_sweep first = *sweep, second = *sweep;
    hk_vec w[HK_RECUR_WIDE], o[HK_RECUR_WIDE], second_w[HK_RECUR_WIDE], second_o[HK_RECUR_WIDE];
    hk_vec r[HK_RECUR_WIDE];

    hk_recur_zero(wide, r);
    for (; t + 1 < run->end; t += 2) {
        hk_recur_ask_ahead(wide, strip, t + HK_RECUR_AHEAD, run->channel);
        hk_recur_ask_ahead(wide, strip, t + 1 + HK_RECUR_AHEAD, run->channel);
        hk_recur_sweep_to(strip, run->first, t, &first);
        hk_recur_sweep_to(strip, run->first, t + 1, &second);
        hk_recur_news(wide, strip, t, run->channel, r, w);
        hk_recur_news(wide, strip, t + 1, run->channel, r, second_w);
        hk_recur_zero(wide, o);
        hk_recur_zero(wide, second_o);
        hk_recur_pair(wide, decays, &first, &second, w, second_w, o, second_o);
        hk_recur_answer(wide, strip, t, run->channel, o);
        hk_recur_answer(wide, strip, t + 1, run->channel, second_o);
    }
#else
    (void)wide;
    (void)decays;
    (void)strip;
    (void)sweep;
#endif
    return t;
}

HK_INLINE void hk_recur_tokens(const int wide, const int delta, const int decays,
                               const struct hk_recur_strip *strip, const struct hk_recur_run *run)
{
    struct hk_recur_sweep sweep;
    hk_vec w[HK_RECUR_WIDE], o[HK_RECUR_WIDE], r[HK_RECUR_WIDE];
    hk_i64 t = run->first;

    hk_recur_begin(strip, run, &sweep);
    hk_recur_zero(wide, w);
    hk_recur_zero(wide, r);
    if (delta) {
        hk_recur_sweep_to(strip, t, t - 1, &sweep);
        hk_recur_between(wide, decays, 0, 1, &sweep, w, o, r);
    } else {
        t = hk_recur_tokens_paired(wide, decays, strip, run, &sweep);
    }
    for (; t < run->end; t++) {
        hk_recur_ask_ahead(wide, strip, t + HK_RECUR_AHEAD, run->channel);
        hk_recur_sweep_to(strip, run->first, t, &sweep);
        hk_recur_news(wide, strip, t, run->channel, r, w);
        hk_recur_zero(wide, o);
        if (delta)
            hk_recur_zero(wide, r);
        if (!delta)
            hk_recur_token(wide, decays, &sweep, w, o);
        else if (t + 1 < run->end)
            hk_recur_between(wide, decays, 1, 1, &sweep, w, o, r);
        else
            hk_recur_between(wide, decays, 1, 0, &sweep, w, o, r);
        hk_recur_answer(wide, strip, t, run->channel, o);
    }
}

/* ---- columns ---- */

/* Vectors from a channel on that are side by side. */
HK_FN int hk_recur_wide_of(const struct hk_recur_strip *strip, hk_i64 channel)
{
    const hk_i64 left = strip->end - channel;

    return left > 2 * HKV_LANES ? HK_RECUR_WIDE : left > HKV_LANES ? 2 : 1;
}

/* hk_recur_move of whole vectors without gaps. */
HK_FN void hk_recur_move_plain(const struct hk_recur_strip *strip, hk_i64 channel, int wide,
                               int out)
{
    const hk_i64 step = strip->state.row, d_k = strip->numbers->d_k;
    HK_GLOBAL float *s = hk_recur_columns(strip, channel);
    HK_GLOBAL char *row = strip->state.base;
    hk_i64 c;
    int i;

    for (c = 0; c < d_k; c++, row += step) {
        for (i = 0; i < wide; i++, s += HKV_LANES) {
            if (out)
                hk_vec_put(HK_F32, row, channel + i * HKV_LANES, hkv_load(s));
            else
                hkv_store(s, hk_vec_load(HK_F32, row, channel + i * HKV_LANES));
        }
    }
}

/* The state's columns into scratch, or out of it. */
HK_FN void hk_recur_move(const struct hk_recur_strip *strip, hk_i64 channel, int out)
{
    const int wide = hk_recur_wide_of(strip, channel);
    HK_GLOBAL float *s = hk_recur_columns(strip, channel);
    hk_i64 c;
    int i;

    if (strip->state.channel == 1 && channel + wide * HKV_LANES <= strip->end) {
        hk_recur_move_plain(strip, channel, wide, out);
        return;
    }

    for (c = 0; c < strip->numbers->d_k; c++) {
        for (i = 0; i < wide; i++, s += HKV_LANES) {
            const hk_i64 at = channel + i * HKV_LANES;

            if (!out)
                hkv_store(s, hk_recur_state_get(strip, c, at));
            else if (at < strip->end)
                hk_recur_state_put(strip, c, at, hkv_load(s));
        }
    }
}

#define HK_RECUR_CASE(name, wide, delta)                                                           \
    HK_NOINLINE void hk_recur_##name(const struct hk_recur_strip *strip,                           \
                                     const struct hk_recur_run *run)                               \
    {                                                                                              \
        if (strip->decays && strip->numbers->channels)                                             \
            hk_recur_tokens(wide, delta, HK_RECUR_CHANNELS, strip, run);                           \
        else if (strip->decays)                                                                    \
            hk_recur_tokens(wide, delta, HK_RECUR_HEADS, strip, run);                              \
        else                                                                                       \
            hk_recur_tokens(wide, delta, HK_RECUR_KEPT, strip, run);                               \
    }
HK_RECUR_CASE(one, 1, 0)
HK_RECUR_CASE(two, 2, 0)
HK_RECUR_CASE(all, HK_RECUR_WIDE, 0)
HK_RECUR_CASE(one_delta, 1, 1)
HK_RECUR_CASE(two_delta, 2, 1)
HK_RECUR_CASE(all_delta, HK_RECUR_WIDE, 1)
#undef HK_RECUR_CASE

HK_FN void hk_recur_meet(const struct hk_recur_strip *strip, const struct hk_recur_run *run)
{
    const int wide = hk_recur_wide_of(strip, run->channel);

    if (strip->numbers->delta && wide == 1)
        hk_recur_one_delta(strip, run);
    else if (strip->numbers->delta && wide == 2)
        hk_recur_two_delta(strip, run);
    else if (strip->numbers->delta)
        hk_recur_all_delta(strip, run);
    else if (wide == 1)
        hk_recur_one(strip, run);
    else if (wide == 2)
        hk_recur_two(strip, run);
    else
        hk_recur_all(strip, run);
}

/* The first channel of the next vectors. */
HK_FN hk_i64 hk_recur_next(const struct hk_recur_strip *strip, hk_i64 channel)
{
    return channel + (hk_i64)hk_recur_wide_of(strip, channel) * HKV_LANES;
}

/* All tokens: some of them for all columns, then the next ones, so that rows of tokens are in
 * caches when other columns want them. */
HK_FN void hk_recur_run_all(const struct hk_recur_strip *strip)
{
    const hk_i64 few =
        strip->end - strip->first > HK_RECUR_WIDE * HKV_LANES ? HK_RECUR_RUN : strip->tokens;
    struct hk_recur_run run;
    hk_i64 channel;

    for (channel = strip->first; channel < strip->end; channel = hk_recur_next(strip, channel))
        hk_recur_move(strip, channel, 0);
    for (run.first = 0; run.first < strip->tokens; run.first = run.end) {
        run.end = hk_min(run.first + few, strip->tokens);
        run.channel = strip->first;
        for (; run.channel < strip->end; run.channel = hk_recur_next(strip, run.channel))
            hk_recur_meet(strip, &run);
    }
    for (channel = strip->first; channel < strip->end; channel = hk_recur_next(strip, channel))
        hk_recur_move(strip, channel, 1);
}

/* Rows of o behind the last token. */
HK_FN void hk_recur_rest(const struct hk_recur_strip *strip)
{
    hk_i64 t, channel;

    for (t = strip->tokens; t < strip->numbers->n && strip->o.base; t++) {
        for (channel = strip->first; channel < strip->end; channel += HKV_LANES)
            hk_recur_put(strip, t, channel, hkv_set(0.0f));
    }
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 task;

    HK_TASKS(call, group, task) {
        struct hk_recur_strip strip;

        hk_recur_open(call, task, group, &strip);
        if (strip.tokens > 0)
            hk_recur_run_all(&strip);
        hk_recur_rest(&strip);
    }
}

#endif
