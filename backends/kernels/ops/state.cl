/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed/attn.h, state: states of the same rows joined in order and ended (docs/numerics.md, section
 * 8). A task is a strip of rows of one item and head.
 */
#define HK_SCALES 0 /* numbers alone */
#include "sums.h"

/* The states of a row, and what becomes of them. */
struct hk_state_row {
    HK_GLOBAL const char *from; /* state 0 */
    hk_i64 step, channel;       /* bytes from state to state; elements */
    hk_i64 n, d;
    HK_GLOBAL char *state; /* NULL: the joined state is not wanted */
    hk_i64 state_channel;
    struct hk_tile_out o; /* row NULL: not wanted */
    HK_GLOBAL float *lse; /* NULL: not wanted */
    float sink;           /* -Inf: none */
    hk_u32 sink_counts;   /* 1: in the LSE */
};

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

/* ---- tasks ---- */

HK_FN float hk_state_sink(const struct hk_call *call, hk_i64 head)
{
    HK_GLOBAL const struct hk_array *array = &call->arrays[HK_STATE_SINKS];

    return hk_has(call, HK_STATE_SINKS)
               ? hk_element(array->dtype, call->buffer[HK_STATE_SINKS], head * array->stride[5])
               : -HK_INFINITY;
}

HK_FN void hk_state_task(const struct hk_call *call, hk_i64 task)
{
    HK_GLOBAL const struct hk_state *numbers = HK_NUMBERS(call, struct hk_state);
    const struct hk_strip_task strip = hk_strip_get(&numbers->strip, task);
    const struct hk_rows states = hk_rows_get(call, HK_STATE_STATES, strip.b, strip.head);
    const struct hk_rows joined = hk_rows_get(call, HK_STATE_STATE, strip.b, strip.head);
    const struct hk_rows o = hk_rows_get(call, HK_STATE_O, strip.b, strip.head);
    const struct hk_entries lses = hk_entries_get(call, HK_STATE_LSE, strip.b, strip.head);
    struct hk_state_row row;
    hk_i64 i;

    row.step = call->arrays[HK_STATE_STATES].stride[0] * hk_size(HK_F32);
    row.channel = states.channel;
    row.n = numbers->parts;
    row.d = numbers->d;
    row.state_channel = joined.channel;
    row.o.channel = o.channel;
    row.o.d = numbers->d;
    row.o.dtype = o.dtype;
    row.o.reserved = 0;
    row.sink = hk_state_sink(call, strip.head);
    row.sink_counts = numbers->lse_with_sink;
    for (i = strip.first; i < strip.first + strip.count; i++) {
        row.from = hk_byte(states.base, i * states.row);
        row.state = hk_row(&joined, i);
        row.o.row = hk_row(&o, i);
        row.lse = hk_entry_f32(&lses, i);
        hk_state_run(&row);
    }
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group)
{
    hk_i64 task;

    HK_TASKS(call, group, task)
        hk_state_task(call, task);
}

#include "../entry.h"
