/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * linear for the threads of a work-group, few rows: what takes time is the weights. A task is some
 * outputs and HK_LINEAR_ROWS rows at most, whose sums are cut into their blocks: each thread makes
 * the chains of one output and block, for all rows; a round has the blocks that all threads
 * together do. Of every block a slab of HK_SLAB bytes of weights comes at a time, by whole lines
 * of memory; the next one is on its way while there are products of the one before. Behind a round
 * the sums of its blocks join those before, in order.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_LINEAR_GROUP_FEW_H
#define HEED_BACKENDS_KERNELS_OPS_LINEAR_GROUP_FEW_H

#define HK_HAS_SHARED 1

#if HK_LINEAR_CHAINS != HK_THREADS
#error "a thread has a chain of each row"
#endif

#define HK_LOG_SLAB (HK_GROUP_ROWS < 64 ? 6 : 7)
#define HK_SLAB (1 << HK_LOG_SLAB)      /* bytes of weights of a block */
#define HK_PIECE_BYTES 16
#define HK_LOG_PIECES (HK_LOG_SLAB - 4)
#define HK_PIECES (1 << HK_LOG_PIECES)  /* of a slab, and as many a thread */
#define HK_SLAB_MOST (HK_SLAB / 2)              /* terms of a slab, at most */
#define HK_X_QUADS 2            /* of x that a thread has on their way at once */
#define HK_STEP_MOST 0xffffffffu

/* Sizes that are the same for all tasks, as powers of two: outputs of a task, blocks of a round,
 * terms of a slab, slabs of a round. */
struct hk_linear_few {
    hk_i32 outs, blocks, terms, slabs;
    hk_i64 steps;                       /* slabs of all rounds */
};

/* Lines have a gap so that the threads of a wave read different banks. Threads, and so lines of w,
 * are counted outputs first: neighbours read the same of x. */
struct hk_shared {
    hk_u32 w[HK_THREADS][HK_SLAB / 4 + 4];                  /* as they are stored */
    float x[HK_LINEAR_SLABS][HK_SLAB_MOST + HK_QUAD];       /* [row][block], widened */
    float part[HK_LINEAR_ROWS][HK_THREADS];                 /* [row][block][output] */
    float total[HK_LINEAR_ROWS][HK_THREADS];                /* [row][output] */
    struct hk_linear_task task;
    struct hk_linear_few few;   /* found there again, it takes no registers meanwhile */
    HK_GLOBAL const char *x_at, *w_at;  /* its first row, and the weights of its first output */
    hk_u32 x_step, w_step;              /* bytes from one to the next */
    hk_u32 x_plain, w_plain;            /* 1: stretches are loaded at once, by these */
};

/* What a thread keeps from step to step. */
struct hk_linear_mine {
    float chain[HK_LINEAR_ROWS];
    struct hk_linear_raw w[HK_PIECES];  /* weights on their way */
};

HK_FN struct hk_linear_few hk_linear_few_get(const struct hk_call *call)
{
    HK_GLOBAL const struct hk_linear *numbers = HK_NUMBERS(call, struct hk_linear);
    const hk_i64 terms = numbers->in, blocks = (terms + HK_LINEAR_BLOCK - 1) / HK_LINEAR_BLOCK;
    struct hk_linear_few few;

    few.outs = hk_first_bit((hk_u64)numbers->groups.width);
    few.blocks = hk_first_bit(HK_THREADS) - few.outs;
    few.terms = HK_LOG_SLAB - (call->arrays[HK_LINEAR_W].dtype == HK_F32 ? 2 : 1);
    few.slabs = 0;
    while (few.slabs + few.terms < 8 && (terms - 1) >> few.slabs >= 1 << few.terms)
        few.slabs++;
    few.steps = ((blocks + ((hk_i64)1 << few.blocks) - 1) >> few.blocks) << few.slabs;
    return few;
}

/* The first term of slab n of the first block of its round. */
HK_FN hk_i64 hk_linear_slab_term(const struct hk_linear_few *few, hk_i64 n)
{
    const hk_i64 round = n >> few->slabs;
    const hk_i32 slab = (hk_i32)n & ((1 << few->slabs) - 1);

    return (round << few->blocks) * HK_LINEAR_BLOCK + (slab << few->terms);
}

#include "linear_group_slab.h"

/* ---- products of a slab ---- */

HK_INLINE void hk_linear_quad(const float *w, HK_LOCAL const float *x, hk_i32 line, float *chain,
                              const int rows)
{
    int r, i;

    HK_UNROLL
    for (r = 0; r < rows; r++) {
        float quad[HK_QUAD];

        hk_local_get4(x + r * line, quad);
        HK_UNROLL
        for (i = 0; i < HK_QUAD; i++)
            chain[r] = hk_fma(w[i], quad[i], chain[r]);
    }
}

/* 16 bytes of weights from word `at` on; answers the terms. */
HK_INLINE int hk_linear_piece(hk_u32 dtype, HK_LOCAL const hk_u32 *at, HK_LOCAL const float *x,
                              hk_i32 line, float *chain, const int rows)
{
    hk_u32 raw[4];
    float w[HK_QUAD];
    int i;

    HK_UNROLL
    for (i = 0; i < 4; i++)
        raw[i] = at[i];
    hk_quad_widen(dtype, raw, w);
    hk_linear_quad(w, x, line, chain, rows);
    if (dtype == HK_F32)
        return HK_QUAD;
    hk_quad_widen(dtype, raw + 2, w);
    hk_linear_quad(w, x + HK_QUAD, line, chain, rows);
    return 2 * HK_QUAD;
}

HK_INLINE void hk_linear_slab(hk_u32 dtype, HK_LOCAL const struct hk_shared *shared,
                              const struct hk_linear_few *few, hk_i32 id, float *chain,
                              const int rows)
{
    HK_LOCAL const float *x = shared->x[id >> few->outs];
    const hk_i32 line = (HK_SLAB_MOST + HK_QUAD) << few->blocks;
    int q;

    if (rows <= 2) {
        HK_UNROLL
        for (q = 0; q < HK_PIECES; q++)
            x += hk_linear_piece(dtype, &shared->w[id][q * 4], x, line, chain, rows);
        return;
    }
    HK_NO_UNROLL                /* two at a time, for registers */
    for (q = 0; q < HK_PIECES; q += 2) {
        x += hk_linear_piece(dtype, &shared->w[id][q * 4], x, line, chain, rows);
        x += hk_linear_piece(dtype, &shared->w[id][q * 4 + 4], x, line, chain, rows);
    }
}

#define HK_SLAB_ROWS(number)                                                                       \
    HK_INLINE void hk_linear_slab_##number(HK_LOCAL const struct hk_shared *shared,                \
                                           const struct hk_linear_few *few, hk_i32 id,             \
                                           float *chain)                                           \
    {                                                                                              \
        HK_BY(HK_FLOAT_TYPES, shared->task.w_dtype, HK_SLAB_OF_##number);                          \
    }
#define HK_SLAB_OF_1(type) hk_linear_slab(type, shared, few, id, chain, 1)
#define HK_SLAB_OF_2(type) hk_linear_slab(type, shared, few, id, chain, 2)
#define HK_SLAB_OF_4(type) hk_linear_slab(type, shared, few, id, chain, 4)
#define HK_SLAB_OF_8(type) hk_linear_slab(type, shared, few, id, chain, HK_LINEAR_ROWS)
HK_SLAB_ROWS(1)
HK_SLAB_ROWS(2)
HK_SLAB_ROWS(4)
HK_SLAB_ROWS(8)

/* Of slab n. Behind the last of a round its blocks' sums are there. */
HK_PIECE void hk_linear_multiply(HK_LOCAL struct hk_shared *shared, hk_i64 n, hk_i32 id,
                                 struct hk_linear_mine *mine)
{
    const struct hk_linear_few sizes = shared->few, *const few = &sizes;
    const hk_i32 rows = (hk_i32)shared->task.strip.count;
    int r;

    HK_FORGET(id);
    if (rows == 1)
        hk_linear_slab_1(shared, few, id, mine->chain);
    else if (rows == 2)
        hk_linear_slab_2(shared, few, id, mine->chain);
    else if (rows <= 4)
        hk_linear_slab_4(shared, few, id, mine->chain);
    else
        hk_linear_slab_8(shared, few, id, mine->chain);
    if ((hk_i32)(n + 1) & ((1 << few->slabs) - 1))
        return;
    HK_UNROLL
    for (r = 0; r < HK_LINEAR_ROWS; r++) {
        if (r < rows)
            shared->part[r][id] = mine->chain[r];
        mine->chain[r] = 0.0f;
    }
}

/* ---- sums ---- */

/* Of row i and output o, both of all. */
HK_FN void hk_linear_write(const struct hk_linear_task *task, hk_i64 i, hk_i64 o, float s)
{
    if (task->bias)
        s = hk_add(s, hk_element(task->bias_dtype, task->bias, o * task->bias_step));
    if (task->add.base)
        s = hk_add(s, hk_element(task->add.dtype, hk_row(&task->add, i), o * task->add.channel));
    hk_put(task->y.dtype, hk_row(&task->y, i), o * task->y.channel, hk_linear_act(task, s));
}

/* A round's blocks join the sums before. Sums of nothing are +0: the sign of a zero is lost in the
 * end. Who adds a sum writes it, so nobody waits. */
HK_FN void hk_linear_join(HK_LOCAL struct hk_shared *shared, const struct hk_linear_few *few,
                             hk_i32 id, int last)
{
    const struct hk_linear_task task = shared->task;
    const hk_i32 all = (hk_i32)task.strip.count << few->outs;
    hk_i32 e, k;

    for (e = id; e < all; e += HK_THREADS) {
        const hk_i32 row = e >> few->outs, output = e - (row << few->outs);
        float total = shared->total[row][output];

        for (k = 0; k < 1 << few->blocks; k++)
            total = hk_add(total, shared->part[row][(k << few->outs) + output]);
        shared->total[row][output] = total;
        if (last && output < task.outs)
            hk_linear_write(&task, task.strip.first + row, task.at + output, total);
    }
}

/* ---- tasks ---- */

HK_FN void hk_linear_task_find(const struct hk_call *call, hk_i64 at,
                               HK_LOCAL struct hk_shared *shared)
{
    HK_GLOBAL const struct hk_linear *numbers = HK_NUMBERS(call, struct hk_linear);
    struct hk_linear_task task;
    hk_i64 x_step, w_step;

    hk_linear_open(call, at, &task);
    x_step = numbers->stride * task.x.row;
    w_step = task.w_out * hk_size(task.w_dtype);
    shared->task = task;
    shared->few = hk_linear_few_get(call);
    shared->x_at = hk_row(&task.x, task.strip.first * numbers->stride - numbers->before);
    shared->w_at = hk_byte(task.w, task.at * w_step);
    shared->x_step = (hk_u32)x_step;
    shared->w_step = (hk_u32)w_step;
    shared->x_plain = task.x.channel == 1 && task.terms % HK_QUAD == 0 &&
                      (hk_u64)x_step <= HK_STEP_MOST &&
                      hk_linear_aligned(task.x.base, task.x.row,
                                        HK_QUAD * hk_size(task.x.dtype));
    shared->w_plain = task.w_channel == 1 && task.terms % 8 == 0 &&
                      (hk_u64)w_step <= HK_STEP_MOST &&
                      hk_linear_aligned(task.w, w_step, HK_PIECE_BYTES);
}

HK_PIECE void hk_linear_begin(const struct hk_call *call, hk_i64 task,
                              HK_LOCAL struct hk_shared *shared, hk_i32 id,
                              struct hk_linear_mine *mine)
{
    int r;

    HK_UNROLL
    for (r = 0; r < HK_LINEAR_ROWS; r++)
        mine->chain[r] = shared->total[r][id] = shared->part[r][id] = 0.0f;
    if (id == 0)
        hk_linear_task_find(call, task, shared);
}

/* Slab n - 1 goes to shared memory, and the weights of slab n are asked for. Sums of the round
 * before are complete; behind the last slab they are written. */
HK_PIECE void hk_linear_bring(HK_LOCAL struct hk_shared *shared, hk_i64 n, hk_i32 id,
                              struct hk_linear_mine *mine)
{
    const struct hk_linear_few sizes = shared->few, *const few = &sizes;
    const int there = n > 0 && n <= few->steps, plain = (int)shared->x_plain;
    const hk_i32 all = hk_linear_x_quads(shared->task.strip.count, few);
    struct hk_linear_raw x[HK_X_QUADS];
    hk_i32 first;

    HK_FORGET(id);
    if (n > few->steps || (n > 1 && ((hk_i32)(n - 1) & ((1 << few->slabs) - 1)) == 0))
        hk_linear_join(shared, few, id, n > few->steps);
    if (there && plain)
        hk_linear_x_plain(shared, few, n - 1, 0, id, all, x);
    if (there)
        hk_linear_w_put(shared, few, id, mine);
    if (n < few->steps)
        hk_linear_w_load(shared, few, n, id, mine->w);
    if (!there)
        return;
    if (!plain) {
        hk_linear_x_any(shared, few, n - 1, id, all);
        return;
    }
    hk_linear_x_put_some(shared, few, 0, id, all, x);
    HK_NO_UNROLL
    for (first = HK_X_QUADS * HK_THREADS; first < all; first += HK_X_QUADS * HK_THREADS) {
        hk_linear_x_plain(shared, few, n - 1, first, id, all, x);
        hk_linear_x_put_some(shared, few, first, id, all, x);
    }
}

/* Step 0 of a task finds it; step 2 n + 1 brings slab n - 1, and step 2 n + 2 makes its
 * products. */
HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    const hk_i64 steps = 2 * hk_linear_few_get(call).steps + 4;
    struct hk_linear_mine mine[HK_MINE];
    struct hk_steps at;
    HK_THREAD_ID(id);

    at.task = group;
    at.step = 0;
    while (at.task < call->op->tasks[HK_PASS]) {
        HK_EACH(id)
        {
            if (at.step == 0)
                hk_linear_begin(call, at.task, shared, id, &mine[HK_OWN(id)]);
            else if (at.step % 2 == 1)
                hk_linear_bring(shared, at.step / 2, id, &mine[HK_OWN(id)]);
            else if (at.step > 2)
                hk_linear_multiply(shared, at.step / 2 - 2, id, &mine[HK_OWN(id)]);
        }
        HK_BARRIER();
        at = hk_steps_next(call, at, steps);
    }
}

#endif
