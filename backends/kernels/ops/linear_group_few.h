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

#define HK_SLAB 128             /* bytes of weights of a block */
#define HK_PIECE_BYTES 16
#define HK_PIECES (HK_SLAB / HK_PIECE_BYTES)    /* of a slab, and as many a thread */
#define HK_SLAB_MOST (HK_SLAB / 2)              /* terms of a slab, at most */
#define HK_X_QUADS 4            /* of x that a thread has on their way at once */

/* Lines have a gap so that the threads of a wave read different banks. */
struct hk_shared {
    hk_u32 w[HK_THREADS][HK_SLAB / 4 + 4];                  /* as they are stored */
    float x[HK_LINEAR_SLABS][HK_SLAB_MOST + HK_QUAD];       /* [row][block], widened */
    float part[HK_LINEAR_ROWS][HK_THREADS];                  /* [row][block][output] */
    float total[HK_LINEAR_ROWS][HK_THREADS];                 /* [row][output] */
    struct hk_linear_task task;
    hk_u32 x_plain, w_plain;    /* 1: stretches are loaded at once */
};

/* What a thread keeps from step to step. */
struct hk_linear_mine {
    float chain[HK_LINEAR_ROWS];
    struct hk_linear_raw w[HK_PIECES];  /* weights on their way */
};

/* Sizes that are the same for all tasks, as powers of two: outputs of a task, blocks of a round,
 * terms of a slab, slabs of a round. */
struct hk_linear_few {
    hk_i32 outs, blocks, terms, slabs;
    hk_i64 steps;                       /* slabs of all rounds */
};

HK_FN struct hk_linear_few hk_linear_few_get(const struct hk_call *call)
{
    HK_GLOBAL const struct hk_linear *numbers = HK_NUMBERS(call, struct hk_linear);
    const hk_i64 terms = numbers->in, blocks = (terms + HK_LINEAR_BLOCK - 1) / HK_LINEAR_BLOCK;
    struct hk_linear_few few;

    few.outs = hk_first_bit((hk_u64)numbers->groups.width);
    few.blocks = hk_first_bit(HK_THREADS) - few.outs;
    few.terms = call->arrays[HK_LINEAR_W].dtype == HK_F32 ? 5 : 6;
    few.slabs = 0;
    while (few.slabs + few.terms < 8 && (terms - 1) >> few.slabs >= 1 << few.terms)
        few.slabs++;
    few.steps = ((blocks + ((hk_i64)1 << few.blocks) - 1) >> few.blocks) << few.slabs;
    return few;
}

/* The first term of slab n of a block of its round. */
HK_FN hk_i64 hk_linear_slab_term(const struct hk_linear_few *few, hk_i64 n, hk_i32 block)
{
    const hk_i64 round = n >> few->slabs;
    const hk_i32 slab = (hk_i32)n & ((1 << few->slabs) - 1);

    return ((round << few->blocks) + block) * HK_LINEAR_BLOCK + (slab << few->terms);
}

/* ---- a slab comes ---- */

/* Piece j of the weights that a thread brings: its block, and its output counted in the task's. */
HK_FN hk_i32 hk_linear_piece_line(hk_i32 id, int j)
{
    return id / HK_PIECES + j * (HK_THREADS / HK_PIECES);
}

HK_FN hk_i64 hk_linear_piece_output(const struct hk_linear_task *task,
                                    const struct hk_linear_few *few, hk_i32 line)
{
    return task->at + hk_min(line & ((1 << few->outs) - 1), task->outs - 1);
}

HK_FN void hk_linear_w_load(const struct hk_linear_task *task, const struct hk_linear_few *few,
                            hk_i64 n, hk_i32 id, int plain, struct hk_linear_raw *w)
{
    const hk_i32 each = 1 << (few->terms - 3);  /* HK_PIECES is 2^3 */
    const hk_i64 first = hk_linear_slab_term(few, n, 0) + id % HK_PIECES * each;
    int j, k;

    if (plain) {
        HK_UNROLL
        for (j = 0; j < HK_PIECES; j++) {
            const hk_i32 line = hk_linear_piece_line(id, j);
            const hk_i64 u = first + (hk_i64)(line >> few->outs) * HK_LINEAR_BLOCK;

            if (u < task->terms) {
                const hk_i64 o = hk_linear_piece_output(task, few, line);

                hk_load_words(task->w + (o * task->w_out + u) * (HK_PIECE_BYTES / each), 4,
                              w[j].word);
            } else {
                HK_UNROLL
                for (k = 0; k < 4; k++)
                    w[j].word[k] = 0;
            }
        }
        return;
    }
    HK_NO_UNROLL                /* what is loaded moves up, as indexes must be known */
    for (j = 0; j < HK_PIECES; j++) {
        const hk_i32 line = hk_linear_piece_line(id, j);
        const struct hk_linear_line from =
            hk_linear_w_line(task, hk_linear_piece_output(task, few, line));

        HK_UNROLL
        for (k = 0; k + 1 < HK_PIECES; k++)
            w[k] = w[k + 1];
        hk_linear_some(task, &from, first + (hk_i64)(line >> few->outs) * HK_LINEAR_BLOCK, 4, 1,
                       w + HK_PIECES - 1);
    }
}

/* Quad e of x: rows and their blocks are counted through, each a line of quads. */
struct hk_linear_x_quad {
    hk_i64 row, term;
};

HK_FN struct hk_linear_x_quad hk_linear_x_quad_get(const struct hk_linear_task *task,
                                                   const struct hk_linear_few *few, hk_i64 n,
                                                   hk_i32 e)
{
    const hk_i32 quads = few->terms - 2, line = e >> quads, row = line >> few->blocks;
    struct hk_linear_x_quad quad;

    quad.row = task->strip.first + row;
    quad.term = hk_linear_slab_term(few, n, line - (row << few->blocks)) +
                (e - (line << quads)) * HK_QUAD;
    return quad;
}

HK_FN hk_i32 hk_linear_x_quads(hk_i64 rows, const struct hk_linear_few *few)
{
    return (hk_i32)rows << few->blocks << (few->terms - 2); /* HK_QUAD is 2^2 */
}

HK_FN void hk_linear_x_load(const struct hk_linear_task *task, const struct hk_linear_few *few,
                            hk_i64 n, hk_i32 e, hk_u32 *x)
{
    HK_GLOBAL const struct hk_linear *numbers = task->numbers;
    const struct hk_linear_x_quad quad = hk_linear_x_quad_get(task, few, n, e);
    HK_GLOBAL const char *from = hk_row(&task->x, quad.row * numbers->stride - numbers->before) +
                                 quad.term * hk_size(task->x.dtype);

    x[0] = x[1] = x[2] = x[3] = 0;
    if (e >= hk_linear_x_quads(task->strip.count, few) || quad.term >= task->terms)
        return;
    if (task->x.dtype == HK_F32)
        hk_load_words(from, 4, x);
    else
        hk_load_words(from, 2, x);
}

HK_FN void hk_linear_x_put(hk_u32 dtype, const struct hk_linear_few *few, hk_i32 e,
                           const hk_u32 *x, HK_LOCAL struct hk_shared *shared)
{
    const hk_i32 line = e >> (few->terms - 2);
    float quad[HK_QUAD];

    if (line >= HK_LINEAR_SLABS)
        return;
#define HK_WIDEN(type) hk_quad_widen(type, x, quad)
    HK_BY(HK_FLOAT_TYPES, dtype, HK_WIDEN);
#undef HK_WIDEN
    hk_local_put4(&shared->x[line][(e - (line << (few->terms - 2))) * HK_QUAD], quad);
}

/* Slab n of x, which other groups have brought near: it isn't loaded ahead. */
HK_FN void hk_linear_x_bring(HK_LOCAL struct hk_shared *shared, const struct hk_linear_few *few,
                             hk_i64 n, hk_i32 id)
{
    const struct hk_linear_task task = shared->task;
    const hk_i32 all = hk_linear_x_quads(task.strip.count, few);
    hk_i32 e;
    int j;

    if (shared->x_plain) {
        HK_NO_UNROLL
        for (e = id; e < all; e += HK_THREADS * HK_X_QUADS) {
            hk_u32 x[HK_X_QUADS][4];

            HK_UNROLL
            for (j = 0; j < HK_X_QUADS; j++)
                hk_linear_x_load(&task, few, n, e + j * HK_THREADS, x[j]);
            HK_UNROLL
            for (j = 0; j < HK_X_QUADS; j++)
                hk_linear_x_put(task.x.dtype, few, e + j * HK_THREADS, x[j], shared);
        }
        return;
    }
    HK_NO_UNROLL
    for (e = id; e < all; e += HK_THREADS) {
        const struct hk_linear_x_quad quad = hk_linear_x_quad_get(&task, few, n, e);
        const struct hk_linear_line from = hk_linear_x_line(&task, quad.row);
        struct hk_linear_raw raw;

        hk_linear_some(&task, &from, quad.term, hk_quad_words(from.dtype), 1, &raw);
        hk_linear_x_put(from.dtype, few, e, raw.word, shared);
    }
}

/* What was loaded goes to shared memory. */
HK_FN void hk_linear_w_put(HK_LOCAL struct hk_shared *shared, hk_i32 id,
                           const struct hk_linear_mine *mine)
{
    int i, j;

    HK_UNROLL
    for (j = 0; j < HK_PIECES; j++) {
        HK_LOCAL hk_u32 *to =
            &shared->w[hk_linear_piece_line(id, j)][id % HK_PIECES * (HK_PIECE_BYTES / 4)];

        HK_UNROLL
        for (i = 0; i < 4; i++)
            to[i] = mine->w[j].word[i];
    }
}

/* ---- its products ---- */

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
HK_PIECE void hk_linear_multiply(HK_LOCAL struct hk_shared *shared, const struct hk_linear_few *few,
                              hk_i64 n, hk_i32 id, struct hk_linear_mine *mine)
{
    const hk_i32 rows = (hk_i32)shared->task.strip.count;
    int r;

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
    struct hk_linear_task task;

    hk_linear_open(call, at, &task);
    shared->task = task;
    shared->x_plain = task.x.channel == 1 && task.terms % HK_QUAD == 0 &&
                      hk_linear_aligned(task.x.base, task.x.row,
                                        HK_QUAD * hk_size(task.x.dtype));
    shared->w_plain = task.w_channel == 1 && task.terms % 8 == 0 &&
                      hk_linear_aligned(task.w, task.w_out * hk_size(task.w_dtype),
                                        HK_PIECE_BYTES);
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
HK_PIECE void hk_linear_bring(HK_LOCAL struct hk_shared *shared, const struct hk_linear_few *few,
                              hk_i64 n, hk_i32 id, struct hk_linear_mine *mine)
{
    if (n > few->steps || (n > 1 && ((hk_i32)(n - 1) & ((1 << few->slabs) - 1)) == 0))
        hk_linear_join(shared, few, id, n > few->steps);
    if (n > 0 && n <= few->steps)
        hk_linear_w_put(shared, id, mine);
    if (n < few->steps) {
        const struct hk_linear_task task = shared->task;

        hk_linear_w_load(&task, few, n, id, (int)shared->w_plain, mine->w);
    }
    if (n > 0 && n <= few->steps)
        hk_linear_x_bring(shared, few, n - 1, id);
}

/* Step 0 of a task finds it; step 2 n + 1 brings slab n - 1, and step 2 n + 2 makes its
 * products. */
HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    const struct hk_linear_few few = hk_linear_few_get(call);
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
                hk_linear_bring(shared, &few, at.step / 2, id, &mine[HK_OWN(id)]);
            else if (at.step > 2)
                hk_linear_multiply(shared, &few, at.step / 2 - 2, id, &mine[HK_OWN(id)]);
        }
        HK_BARRIER();
        at = hk_steps_next(call, at, 2 * few.steps + 4);
    }
}

#endif
