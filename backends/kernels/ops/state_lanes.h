/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * state for processors: row by row, a tile of channels at a time.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_STATE_LANES_H
#define HEED_BACKENDS_KERNELS_OPS_STATE_LANES_H

HK_FN HK_GLOBAL const char *hk_state_from(const struct hk_state_row *row, hk_i64 p, hk_i64 at)
{
    return hk_byte(row->from, p * row->step) + at * row->channel * hk_size(HK_F32);
}

HK_FN float hk_state_number(const struct hk_state_row *row, hk_i64 p, hk_i64 at)
{
    return *(HK_GLOBAL const float *)hk_state_from(row, p, at);
}

/* ---- step 8 ---- */

/* State p into the partial sums; the first becomes them. */
HK_FN void hk_state_join(const struct hk_state_row *row, hk_i64 p, struct hk_sums *total, float w1,
                         float w2)
{
    HK_GLOBAL const char *l = hk_state_from(row, p, HK_STATE_AT_L);
    int i;

    for (i = 0; i < HK_SUMS; i++) {
        const hk_vec x =
            hk_channels_read(HK_F32, l, row->channel, (hk_i64)i * HKV_LANES, HK_PARTIALS);

        if (total->any)
            hk_sums_add(total, i, x, w1, w2);
        else
            total->l[i] = x;
    }
}

/* The sums of o of state p, of the tile at t0. */
HK_FN void hk_state_tile(const struct hk_state_row *row, hk_i64 p, hk_i64 t0,
                         struct hk_weigh_tile *mine)
{
    HK_GLOBAL const char *o = hk_state_from(row, p, HK_STATE_AT_O);
    HK_THREAD_ID(id);
    int v;

    HK_EACH(id) {
        HK_UNROLL
        for (v = 0; v < HK_WEIGH_TILE; v++) {
            const hk_i64 t = HK_WEIGH_AT(id, v, t0);

            mine[HK_OWN(id)].o[v] =
                t < row->d ? hk_channels_read(HK_F32, o, row->channel, t, row->d) : hkv_set(0.0f);
        }
    }
}

/* All states of a row: M and, of the first tile, the partial sums; and the channels of a tile. */
HK_FN void hk_states_join(const struct hk_state_row *row, hk_i64 t0, struct hk_sums *total,
                          struct hk_weigh_tile *mine)
{
    struct hk_weigh_tile tile[HK_MINE];
    float w1 = 0.0f, w2 = 0.0f;
    hk_i64 p;

    hk_sums_begin(total);
    hk_tile_begin(mine);
    for (p = 0; p < row->n; p++) {
        if (hk_state_number(row, p, HK_STATE_AT_JOINED) == 0.0f)
            continue;
        if (total->any)
            hk_join(&total->m, hk_state_number(row, p, 0), &w1, &w2);
        else
            total->m = hk_state_number(row, p, 0);
        if (t0 == 0)
            hk_state_join(row, p, total, w1, w2);
        hk_state_tile(row, p, t0, total->any ? tile : mine);
        if (total->any)
            hk_tile_join(mine, tile, w1, w2);
        total->any = 1;
    }
}

/* ---- rows ---- */

/* The channels of the joined state before those of o. A row without a state has -Inf and zeros. */
HK_FN void hk_state_write(const struct hk_state_row *row, const struct hk_sums *total)
{
    HK_GLOBAL char *l = row->state + HK_STATE_AT_L * row->state_channel * hk_size(HK_F32);
    HK_THREAD_ID(id);
    int i;

    HK_EACH(id) {
        if (id == 0) {
            hk_put(HK_F32, row->state, 0, total->m);
            hk_put(HK_F32, row->state, HK_STATE_AT_JOINED * row->state_channel,
                   total->any ? 1.0f : 0.0f);
            HK_UNROLL
            for (i = 0; i < HK_SUMS; i++)
                hk_channels_write(HK_F32, l, row->state_channel, (hk_i64)i * HKV_LANES, HK_PARTIALS,
                                  total->l[i]);
        }
    }
}

/* What does not count channels: the joined state's first ones, and the LSE. Answers the factor of
 * o after *sink. */
HK_FN float hk_state_end(const struct hk_state_row *row, const struct hk_sums *total, float *sink)
{
    HK_THREAD_ID(id);
    float lse;
    const float factor = hk_end(row->sink, (int)row->sink_counts, row->lse != 0, (int)total->any,
                                total->m, hk_sums_tree(total), sink, &lse);

    if (row->state)
        hk_state_write(row, total);
    if (row->lse) {
        HK_EACH(id) {
            if (id == 0)
                *row->lse = lse;
        }
    }
    return factor;
}

HK_FN void hk_state_run(const struct hk_state_row *row)
{
    struct hk_weigh_tile mine[HK_MINE];
    struct hk_tile_out joined;
    struct hk_sums total;
    float sink = 1.0f, factor = 0.0f;
    hk_i64 t0;

    joined.row = row->state ? row->state + HK_STATE_AT_O * row->state_channel * hk_size(HK_F32) : 0;
    joined.channel = row->state_channel;
    joined.d = row->d;
    joined.dtype = HK_F32;
    joined.reserved = 0;
    for (t0 = 0; t0 == 0 || t0 < row->d; t0 += HK_WEIGH_STEP) {
        hk_states_join(row, t0, &total, mine);
        if (t0 == 0)
            factor = hk_state_end(row, &total, &sink);
        if (joined.row)
            hk_tile_write(&joined, mine, 1.0f, 1.0f, t0);
        if (row->o.row)
            hk_tile_write(&row->o, mine, sink, factor, t0);
    }
}

HK_FN void hk_state_strip_run(const struct hk_state_strip *strip, hk_i64 first, hk_i64 count)
{
    hk_i64 i;

    for (i = first; i < first + count; i++) {
        const struct hk_state_row row = hk_state_row_get(strip, i);

        hk_state_run(&row);
    }
}

#endif
