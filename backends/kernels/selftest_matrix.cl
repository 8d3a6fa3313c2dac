/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The self-test's device side for matrix units: every wave of a group, which is as large as that of
 * attend_matrix.cl, adds one set's product to its sums. The blob is an empty plan, then the inputs;
 * buffer 1 takes the outputs, HK_UNIT_SUMS a set.
 */
#ifndef HK_MMA
#define HK_MMA 0
#endif
#include "mma.h"
#define HK_THREADS (HK_GROUP_ROWS * HK_MMA_SHARE(HK_MMA))
#define HK_WAVES (HK_GROUP_ROWS / HK_MMA_M)
#define HK_HAS_SHARED 1
#define HK_IN_REGISTERS 1
#include "selftest_matrix.h"

#include "call.h"
#include "units.h"

enum { HK_UNIT_LINE = 8 + 4 };          /* words of a row or column, as mma_group.h has lines */

struct hk_shared {
    hk_u32 a[HK_WAVES * HK_UNIT_SIDE * HK_UNIT_LINE];
    hk_u32 b[HK_WAVES * HK_UNIT_SIDE * HK_UNIT_LINE];
    HK_GLOBAL char *buffer[HK_BUFFERS];
    hk_u32 item[4];
    hk_i64 value[1];
};

struct hk_mine {
    struct hk_mma_a a;
    struct hk_mma_b b;
    struct hk_mma_c c;
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

/* A thread's fragments of its wave's set. */
HK_FN void hk_unit_get(HK_GLOBAL const struct hk_unit_input *in, hk_i32 id,
                       HK_LOCAL const struct hk_shared *shared, struct hk_mine *me)
{
    const hk_i32 wave = id / HK_MMA_LANES, lane = id % HK_MMA_LANES,
                 at = wave * HK_UNIT_SIDE * HK_UNIT_LINE;
    hk_i32 i;

    hk_mma_get_a(shared->a + at, HK_UNIT_LINE, lane, &me->a);
    hk_mma_get_b(shared->b + at, HK_UNIT_LINE, lane, &me->b);
    HK_UNROLL
    for (i = 0; i < HK_MMA_ITEMS; i++)
        me->c.x[i] = in[wave].c[hk_mma_row(lane, i) * HK_UNIT_SIDE + hk_mma_column(lane, i)];
}

HK_FN void hk_unit_put(HK_GLOBAL float *out, hk_i32 id, const struct hk_mine *me)
{
    const hk_i32 wave = id / HK_MMA_LANES, lane = id % HK_MMA_LANES;
    hk_i32 i;

    HK_UNROLL
    for (i = 0; i < HK_MMA_ITEMS; i++)
        out[wave * HK_UNIT_SUMS + hk_mma_row(lane, i) * HK_UNIT_SIDE + hk_mma_column(lane, i)] =
            me->c.x[i];
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    HK_GLOBAL const struct hk_unit_input *in =
        (HK_GLOBAL const struct hk_unit_input *)(call->blob + sizeof(struct hk_plan)) +
        group * HK_WAVES;
    HK_GLOBAL float *out = (HK_GLOBAL float *)hk_o(call) + group * HK_WAVES * HK_UNIT_SUMS;
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
    HK_EACH(id) {
        hk_unit_put(out, id, &mine[HK_OWN(id)]);
    }
}

#include "entry.h"
