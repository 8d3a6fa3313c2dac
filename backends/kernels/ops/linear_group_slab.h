/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * linear for the threads of a work-group, few rows: how a slab of weights, and what of x belongs to
 * it, come to shared memory. linear_group_few.h includes this.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_LINEAR_GROUP_SLAB_H
#define HEED_BACKENDS_KERNELS_OPS_LINEAR_GROUP_SLAB_H

/* ---- weights of a slab ---- */

/* A thread brings pieces of lines, an output and a block each, which are counted blocks first. Its
 * lines are HK_THREADS / HK_PIECES apart, a multiple of the blocks, so all are of one block. */
HK_FN hk_i32 hk_linear_piece_line(hk_i32 id, int j)
{
    return id / HK_PIECES + j * (HK_THREADS / HK_PIECES);
}

/* Its output counted in the task's, whose last one stands for those behind it. */
HK_FN hk_i32 hk_linear_piece_output(const struct hk_linear_few *few, hk_i32 id, int j,
                                    hk_i32 outs)
{
    const hk_i32 o = hk_linear_piece_line(id, j) >> few->blocks;

    return o < outs ? o : outs - 1;
}

/* The first term of them. */
HK_FN hk_i64 hk_linear_piece_term(const struct hk_linear_few *few, hk_i64 n, hk_i32 id)
{
    const hk_i32 block = id / HK_PIECES & ((1 << few->blocks) - 1);

    return hk_linear_slab_term(few, n) + block * HK_LINEAR_BLOCK +
           (id % HK_PIECES << (few->terms - HK_LOG_PIECES));
}

HK_FN void hk_linear_w_plain(HK_LOCAL const struct hk_shared *shared,
                             const struct hk_linear_few *few, hk_i64 n, hk_i32 id,
                             struct hk_linear_raw *w)
{
    const hk_i64 u = hk_linear_piece_term(few, n, id);
    HK_GLOBAL const char *const at = shared->w_at + (u << (HK_LOG_SLAB - few->terms));
    const hk_u32 step = shared->w_step;
    const hk_i32 outs = (hk_i32)shared->task.outs;
    int j, k;

    if (u < shared->task.terms) {
        HK_UNROLL
        for (j = 0; j < HK_PIECES; j++)
            hk_load_words(at + (hk_u64)(hk_u32)hk_linear_piece_output(few, id, j, outs) * step, 4,
                          w[j].word);
        return;
    }
    HK_UNROLL
    for (j = 0; j < HK_PIECES; j++) {
        HK_UNROLL
        for (k = 0; k < 4; k++)
            w[j].word[k] = 0;
    }
}

/* What is loaded moves up, as indexes of what lies in registers must be known. */
HK_FN void hk_linear_w_any(const struct hk_linear_task *task, const struct hk_linear_few *few,
                           hk_i64 n, hk_i32 id, struct hk_linear_raw *w)
{
    const hk_i64 u = hk_linear_piece_term(few, n, id);
    int j, k;

    HK_NO_UNROLL
    for (j = 0; j < HK_PIECES; j++) {
        const hk_i32 o = hk_linear_piece_output(few, id, j, (hk_i32)task->outs);
        const struct hk_linear_line from = hk_linear_w_line(task, task->at + o);

        HK_UNROLL
        for (k = 0; k + 1 < HK_PIECES; k++)
            w[k] = w[k + 1];
        hk_linear_some(task, &from, u, 4, 1, w + HK_PIECES - 1);
    }
}

HK_FN void hk_linear_w_load(HK_LOCAL const struct hk_shared *shared,
                            const struct hk_linear_few *few, hk_i64 n, hk_i32 id,
                            struct hk_linear_raw *w)
{
    const struct hk_linear_task task = shared->task;

    if (shared->w_plain)
        hk_linear_w_plain(shared, few, n, id, w);
    else
        hk_linear_w_any(&task, few, n, id, w);
}

/* What was loaded goes to the lines of the threads that have those chains. */
HK_FN void hk_linear_w_put(HK_LOCAL struct hk_shared *shared, const struct hk_linear_few *few,
                           hk_i32 id, const struct hk_linear_mine *mine)
{
    int i, j;

    HK_UNROLL
    for (j = 0; j < HK_PIECES; j++) {
        const hk_i32 line = hk_linear_piece_line(id, j);
        const hk_i32 block = line & ((1 << few->blocks) - 1);
        HK_LOCAL hk_u32 *to = &shared->w[(block << few->outs) + (line >> few->blocks)]
                                        [id % HK_PIECES * (HK_PIECE_BYTES / 4)];

        HK_UNROLL
        for (i = 0; i < 4; i++)
            to[i] = mine->w[j].word[i];
    }
}

/* ---- x of a slab ---- */

/* Quads are counted through: a line is a row and a block, blocks first. */
HK_FN hk_i32 hk_linear_x_line_of(const struct hk_linear_few *few, hk_i32 e)
{
    return e >> (few->terms - 2); /* HK_QUAD is 2^2 */
}

HK_FN hk_i32 hk_linear_x_quads(hk_i64 rows, const struct hk_linear_few *few)
{
    return (hk_i32)rows << few->blocks << (few->terms - 2);
}

/* The quad's first term in slab n. */
HK_FN hk_i64 hk_linear_x_term(const struct hk_linear_few *few, hk_i64 n, hk_i32 e)
{
    const hk_i32 block = hk_linear_x_line_of(few, e) & ((1 << few->blocks) - 1);

    return hk_linear_slab_term(few, n) + block * HK_LINEAR_BLOCK +
           (e & ((1 << (few->terms - 2)) - 1)) * HK_QUAD;
}

/* Of `all` quads, HK_X_QUADS of the thread; `first` is that of thread 0. */
HK_FN void hk_linear_x_plain(HK_LOCAL const struct hk_shared *shared,
                             const struct hk_linear_few *few, hk_i64 n, hk_i32 first, hk_i32 id,
                             hk_i32 all, struct hk_linear_raw *x)
{
    const hk_u32 dtype = shared->task.x.dtype;
    int j;

    HK_UNROLL
    for (j = 0; j < HK_X_QUADS; j++, first += HK_THREADS) {
        const hk_i32 e = first + id;
        const hk_i64 u = hk_linear_x_term(few, n, e);
        const hk_u32 row = (hk_u32)(hk_linear_x_line_of(few, e) >> few->blocks);
        HK_GLOBAL const char *from =
            shared->x_at + (hk_u64)row * shared->x_step + u * (dtype == HK_F32 ? 4 : 2);

        if (first >= all) /* no thread has one */
            return;
        x[j].word[0] = x[j].word[1] = x[j].word[2] = x[j].word[3] = 0;
        if (e >= all || u >= shared->task.terms)
            continue;
        if (dtype == HK_F32)
            hk_load_words(from, 4, x[j].word);
        else
            hk_load_words(from, 2, x[j].word);
    }
}

HK_FN void hk_linear_x_put(hk_u32 dtype, const struct hk_linear_few *few, hk_i32 e,
                           const hk_u32 *x, HK_LOCAL struct hk_shared *shared)
{
    const hk_i32 line = hk_linear_x_line_of(few, e);
    float quad[HK_QUAD];

#define HK_WIDEN(type) hk_quad_widen(type, x, quad)
    HK_BY(HK_FLOAT_TYPES, dtype, HK_WIDEN);
#undef HK_WIDEN
    hk_local_put4(&shared->x[line][(e & ((1 << (few->terms - 2)) - 1)) * HK_QUAD], quad);
}

HK_FN void hk_linear_x_put_some(HK_LOCAL struct hk_shared *shared, const struct hk_linear_few *few,
                                hk_i32 first, hk_i32 id, hk_i32 all,
                                const struct hk_linear_raw *x)
{
    int j;

    HK_UNROLL
    for (j = 0; j < HK_X_QUADS; j++, first += HK_THREADS) {
        if (first >= all)
            return;
        if (first + id < all)
            hk_linear_x_put(shared->task.x.dtype, few, first + id, x[j].word, shared);
    }
}

HK_FN void hk_linear_x_any(HK_LOCAL struct hk_shared *shared, const struct hk_linear_few *few,
                           hk_i64 n, hk_i32 id, hk_i32 all)
{
    const struct hk_linear_task task = shared->task;
    hk_i32 e;

    HK_NO_UNROLL
    for (e = id; e < all; e += HK_THREADS) {
        const struct hk_linear_line from = hk_linear_x_line(
            &task, task.strip.first + (hk_linear_x_line_of(few, e) >> few->blocks));
        struct hk_linear_raw raw;

        hk_linear_some(&task, &from, hk_linear_x_term(few, n, e), hk_quad_words(from.dtype), 1,
                       &raw);
        hk_linear_x_put(from.dtype, few, e, raw.word, shared);
    }
}

#endif
