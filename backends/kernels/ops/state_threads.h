/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * state for the threads of a work-group: a row has a few of them, each with a tile of its channels,
 * and the group has several rows side by side. What does not count channels each thread of a row
 * finds by itself: it is less than waiting for another. The sums of a state lie before its
 * channels, so these begin at a multiple of 8 bytes at best.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_STATE_THREADS_H
#define HEED_BACKENDS_KERNELS_OPS_STATE_THREADS_H

/* Four floats, or those below n. */
HK_INLINE hk_vec hk_state_four(HK_GLOBAL const char *from, const int pairs, hk_i64 channel,
                               hk_i64 n)
{
    HK_GLOBAL const float *const at = (HK_GLOBAL const float *)from;
    struct hk_raw raw;

    if (pairs && n >= HKV_LANES) {
        hk_load_words(from, 2, raw.word);
        hk_load_words(from + 8, 2, raw.word + 2);
        return hk_raw_floats(&raw);
    }
    return hkv_four(n > 0 ? at[0] : 0.0f, n > 1 ? at[channel] : 0.0f,
                    n > 2 ? at[2 * channel] : 0.0f, n > 3 ? at[3 * channel] : 0.0f);
}

/* M, the partial sums and whether anything was joined, of state p. */
HK_INLINE void hk_state_head(const struct hk_state_row *row, const int pairs, hk_i64 p,
                             struct hk_sums *out)
{
    HK_GLOBAL const char *const from = hk_byte(row->from, p * row->step);
    const hk_i64 four = 4 * row->channel * 4;
    hk_vec word[5];
    int i;

    HK_UNROLL
    for (i = 0; i < 5; i++)
        word[i] = hk_state_four(from + i * four, pairs && i < 4, row->channel, i < 4 ? 4 : 2);
    out->m = word[0].x;
    HK_UNROLL
    for (i = 0; i < HK_SUMS; i++)
        out->l[i] = hkv_four(word[i].y, word[i].z, word[i].w, word[i + 1].x);
    out->any = word[4].y == 0.0f ? 0 : 1;
}

HK_INLINE void hk_state_tile(const struct hk_state_row *row, struct hk_share own,
                             const int pairs, hk_i64 p, hk_i64 t0, hk_vec *out)
{
    HK_GLOBAL const char *const from =
        hk_byte(row->from, p * row->step + HK_STATE_AT_O * row->channel * 4);
    int v;

    HK_UNROLL
    for (v = 0; v < HK_WEIGH_TILE; v++) {
        const hk_i64 t = hk_share_at(own, v, t0);

        out[v] = hk_state_four(from + t * row->channel * 4, pairs, row->channel, row->d - t);
    }
}

/* All states of a row; channels of the tile at t0. Only what reads them is there twice, without and
 * with pairs: what is done twice as a whole has prepared more than registers hold. */
HK_INLINE void hk_states_join(const struct hk_state_row *row, struct hk_share own, int pairs,
                              hk_i64 t0, struct hk_sums *total, hk_vec *all)
{
    float w1 = 0.0f, w2 = 0.0f;
    hk_i64 p;
    int i, v;

    hk_sums_begin(total);
    HK_UNROLL
    for (v = 0; v < HK_WEIGH_TILE; v++)
        all[v] = hkv_set(0.0f);
    HK_NO_UNROLL
    for (p = 0; p < row->n; p++) {
        hk_vec o[HK_WEIGH_TILE];
        struct hk_sums state;

        if (pairs) {
            hk_state_head(row, 1, p, &state);
            hk_state_tile(row, own, 1, p, t0, o);
        } else {
            hk_state_head(row, 0, p, &state);
            hk_state_tile(row, own, 0, p, t0, o);
        }
        if (!state.any)
            continue;
        if (!total->any) {
            *total = state;
            HK_UNROLL
            for (v = 0; v < HK_WEIGH_TILE; v++)
                all[v] = o[v];
            continue;
        }
        hk_join(&total->m, state.m, &w1, &w2);
        HK_UNROLL
        for (i = 0; i < HK_SUMS; i++)
            hk_sums_add(total, i, state.l[i], w1, w2);
        HK_UNROLL
        for (v = 0; v < HK_WEIGH_TILE; v++)
            all[v] = hkv_fma(o[v], hkv_set(w2), hkv_mul(all[v], hkv_set(w1)));
    }
}

/* ---- rows ---- */

/* The channels of the joined state before those of o. A row without a state has -Inf and zeros. */
HK_FN void hk_state_write(const struct hk_state_row *row, const struct hk_sums *total)
{
    HK_GLOBAL char *const l = row->state + HK_STATE_AT_L * row->state_channel * 4;
    int i;

    hk_put(HK_F32, row->state, 0, total->m);
    hk_put(HK_F32, row->state, HK_STATE_AT_JOINED * row->state_channel,
           total->any ? 1.0f : 0.0f);
    HK_UNROLL
    for (i = 0; i < HK_SUMS; i++)
        hk_channels_write(HK_F32, l, row->state_channel, (hk_i64)i * HKV_LANES, HK_PARTIALS,
                          total->l[i]);
}

/* The tile of o, and of the joined state. */
HK_FN void hk_state_put(const struct hk_state_row *row, struct hk_share own, int whole,
                        const hk_vec *all, float sink, float factor, hk_i64 t0)
{
    HK_GLOBAL char *const joined =
        row->state ? row->state + HK_STATE_AT_O * row->state_channel * 4 : 0;
    struct hk_stream o;
    int v;

    o.dtype = row->o.dtype;
    o.size = (int)hk_size(row->o.dtype);
    HK_UNROLL
    for (v = 0; v < HK_WEIGH_TILE; v++) {
        const hk_i64 t = hk_share_at(own, v, t0);
        const hk_vec out = hkv_mul(hkv_mul(all[v], hkv_set(sink)), hkv_set(factor));

        if (t >= row->d)
            continue;
        if (row->state)
            hk_channels_write(HK_F32, joined, row->state_channel, t, row->d, all[v]);
        if (row->o.row && whole)
            hk_vector_put(&o, row->o.row + t * o.size, out);
        else if (row->o.row)
            hk_channels_write(row->o.dtype, row->o.row, row->o.channel, t, row->d, out);
    }
}

/* whole: vectors of o lie at multiples of their bytes. */
HK_FN void hk_state_run(const struct hk_state_row *row, struct hk_share own, int pairs, int whole)
{
    hk_i64 t0;

    HK_NO_UNROLL
    for (t0 = 0; t0 == 0 || t0 < row->d;
         t0 += (hk_i64)own.lanes * (HK_WEIGH_TILE * HKV_LANES)) {
        hk_vec all[HK_WEIGH_TILE];
        struct hk_sums total;
        float sink, lse, factor;

        hk_states_join(row, own, pairs, t0, &total, all);
        factor = hk_end(row->sink, (int)row->sink_counts, row->lse != 0, (int)total.any, total.m,
                        hk_sums_tree(&total), &sink, &lse);
        if (t0 == 0 && own.lane == 0) {
            if (row->state)
                hk_state_write(row, &total);
            if (row->lse)
                *row->lse = lse;
        }
        hk_state_put(row, own, whole, all, sink, factor, t0);
    }
}

/* Do states lie at multiples of two floats? */
HK_FN int hk_state_pairs(const struct hk_state_strip *strip)
{
    return strip->row.channel == 1 &&
           (hk_address(strip->states.base) | (hk_u64)(strip->states.row | strip->row.step)) % 8 ==
               0;
}

HK_FN void hk_state_strip_run(const struct hk_state_strip *strip, hk_i64 first, hk_i64 count)
{
    const hk_i32 lanes = hk_share_lanes(strip->row.d, HK_WEIGH_TILE);
    struct hk_stream o;
    const int whole = hk_stream_open(&strip->o, first, count, strip->row.d, &o);
    const int pairs = hk_state_pairs(strip);
    HK_THREAD_ID(id);
    hk_i64 i;

    HK_EACH(id)
    {
        for (i = first + id / lanes; i < first + count; i += HK_THREADS / lanes) {
            const struct hk_state_row row = hk_state_row_get(strip, i);
            struct hk_share own;

            own.lane = id % lanes;
            own.lanes = lanes;
            hk_state_run(&row, own, pairs, whole);
        }
    }
}

#endif
