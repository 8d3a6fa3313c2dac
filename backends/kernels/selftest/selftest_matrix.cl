/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The self-test's device side for matrix units: every wave of a group, which is as large as that of
 * attend_matrix.cl, adds one set's product to its sums; takes these for scores, of which it finds
 * the largest of each row; and multiplies them as weights. The blob is an empty plan, then the
 * inputs; buffer 1 takes the outputs.
 */
#ifndef HK_MMA
#define HK_MMA 0
#endif
#include "../dialect/mma.h"
#define HK_THREADS (HK_GROUP_ROWS * HK_MMA_SHARE(HK_MMA))
#define HK_WAVES (HK_GROUP_ROWS / HK_MMA_M)
#define HK_HAS_SHARED 1
#define HK_MUCH_LOCAL 1
#define HK_IN_REGISTERS 1
#include "selftest_matrix.h"

#include "../attn/call.h"
#include "../dialect/units.h"

enum { HK_UNIT_LINE = 8 + 4 };          /* words of a row or column, as mma_group.h has lines */

struct hk_shared {
    hk_u32 a[HK_WAVES * HK_UNIT_SIDE * HK_UNIT_LINE];
    hk_u32 b[HK_WAVES * HK_UNIT_SIDE * HK_UNIT_LINE];
    HK_GLOBAL char *buffer[HK_BUFFERS];
    hk_u32 item[4];
    hk_i64 value[1];
};

struct hk_mine {
    struct hk_mma_a a, p;
    struct hk_mma_b b;
    struct hk_mma_c c, s[HK_MMA_TILES], o;
    hk_u32 sent[HK_MMA_TRADED], got[HK_MMA_TRADED];
};

/* The words of the group's sets to local memory. */
HK_FN void hk_unit_stage(HK_GLOBAL const struct hk_unit_input *in, hk_i32 id,
                         HK_LOCAL struct hk_shared *shared)
{
    hk_i32 i;

    HK_NO_UNROLL
    for (i = id; i < HK_WAVES * HK_UNIT_WORDS; i += HK_THREADS) {
        const hk_i32 to = i / 8 * HK_UNIT_LINE + i % 8;

        shared->a[to] = in[i / HK_UNIT_WORDS].a[i % HK_UNIT_WORDS];
        shared->b[to] = in[i / HK_UNIT_WORDS].b[i % HK_UNIT_WORDS];
    }
}

/* A thread's fragments of its wave's set, and the largest of its scores. */
HK_FN void hk_unit_get(HK_GLOBAL const struct hk_unit_input *in, hk_i32 id,
                       HK_LOCAL const struct hk_shared *shared, struct hk_mine *me)
{
    const hk_i32 wave = id / HK_MMA_LANES, lane = id % HK_MMA_LANES,
                 at = wave * HK_UNIT_SIDE * HK_UNIT_LINE;
    hk_i32 n, i;

    hk_mma_get_a(shared->a + at, HK_UNIT_LINE, lane, &me->a);
    hk_mma_get_b(shared->b + at, HK_UNIT_LINE, lane, &me->b);
    HK_UNROLL
    for (i = 0; i < HK_MMA_HELD; i++)
        me->sent[i] = hk_word(-HK_INFINITY);
    HK_UNROLL
    for (i = 0; i < HK_MMA_ITEMS; i++) {
        HK_GLOBAL const float *c = in[wave].c + hk_mma_row(lane, i) * HK_UNIT_SIDE;
        hk_u32 *const top = &me->sent[i / HK_MMA_OF_ROW];

        me->c.x[i] = c[hk_mma_column(lane, i)];
        me->o.x[i] = 0.0f;
        HK_UNROLL
        for (n = 0; n < HK_MMA_TILES; n++) {
            me->s[n].x[i] = c[hk_mma_key(n, hk_mma_column(lane, i))];
            *top = hk_word(hk_max_f(me->s[n].x[i], hk_float(*top)));
        }
    }
}

HK_FN void hk_unit_join(struct hk_mine *me)
{
    hk_i32 r;

    HK_UNROLL
    for (r = 0; r < HK_MMA_HELD; r++)
        me->sent[r] = hk_word(hk_max_f(hk_float(me->got[r]), hk_float(me->sent[r])));
}

HK_FN void hk_unit_put_top(HK_GLOBAL struct hk_unit_output *out, hk_i32 id,
                           const struct hk_mine *me)
{
    const hk_i32 lane = id % HK_MMA_LANES;
    hk_i32 r;

    HK_UNROLL
    for (r = 0; r < HK_MMA_HELD; r++)
        out[id / HK_MMA_LANES].top[hk_mma_row(lane, r * HK_MMA_OF_ROW) * HK_UNIT_SIDE +
                                   lane / HK_MMA_NEAR % (HK_MMA_FAR / HK_MMA_NEAR)] =
            hk_float(me->sent[r]);
}

HK_FN void hk_unit_put(HK_GLOBAL struct hk_unit_output *out, hk_i32 id, const struct hk_mine *me)
{
    const hk_i32 lane = id % HK_MMA_LANES;
    hk_i32 i;

    HK_UNROLL
    for (i = 0; i < HK_MMA_ITEMS; i++) {
        const hk_i32 at = hk_mma_row(lane, i) * HK_UNIT_SIDE + hk_mma_column(lane, i);

        out[id / HK_MMA_LANES].sum[at] = me->c.x[i];
        out[id / HK_MMA_LANES].weighed[at] = me->o.x[i];
    }
}

/* Rows' largest scores, as all of their threads have them. */
HK_FN void hk_unit_tops(HK_GLOBAL struct hk_unit_output *out, struct hk_mine *mine)
{
    hk_i32 step;
    HK_THREAD_ID(id);

    HK_UNROLL
    for (step = HK_MMA_NEAR; step < HK_MMA_FAR; step *= 2) {
        HK_MMA_TRADE(mine, sent, got, HK_MMA_HELD, step);
        HK_EACH(id) {
            hk_unit_join(&mine[HK_OWN(id)]);
        }
    }
    HK_EACH(id) {
        hk_unit_put_top(out, id, &mine[HK_OWN(id)]);
    }
}

/* Scores as weights. */
HK_FN void hk_unit_weigh(struct hk_mine *mine)
{
    HK_THREAD_ID(id);

    HK_EACH(id) {
        hk_mma_words(mine[HK_OWN(id)].s, mine[HK_OWN(id)].sent);
    }
#if HK_MMA_TWICE == 2
    HK_MMA_TRADE(mine, sent, got, HK_MMA_OWN_WORDS, HK_MMA_NEAR);
#endif
    HK_EACH(id) {
        hk_mma_turn(id % HK_MMA_LANES, mine[HK_OWN(id)].sent, mine[HK_OWN(id)].got,
                    &mine[HK_OWN(id)].p);
    }
    HK_MMA_RUN(mine, p, b, o);
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    HK_GLOBAL const struct hk_unit_input *in =
        (HK_GLOBAL const struct hk_unit_input *)(call->blob + sizeof(struct hk_plan)) +
        group * HK_WAVES;
    HK_GLOBAL struct hk_unit_output *out =
        (HK_GLOBAL struct hk_unit_output *)hk_o(call) + group * HK_WAVES;
    struct hk_mine mine[HK_MINE];
    HK_THREAD_ID(id);

    HK_EACH(id) {
        hk_unit_stage(in, id, shared);
    }
    HK_BARRIER();
    HK_EACH(id) {
        hk_unit_get(in, id, shared, &mine[HK_OWN(id)]);
    }
    HK_MMA_RUN(mine, a, b, c);
    hk_unit_tops(out, mine);
    hk_unit_weigh(mine);
    HK_EACH(id) {
        hk_unit_put(out, id, &mine[HK_OWN(id)]);
    }
}

#include "../entry.h"
