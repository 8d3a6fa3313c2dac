/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * linear for the threads of a work-group: which rows and outputs of a tile are whose, and how a
 * slice of a tile comes to shared memory. linear_group.h includes this.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_LINEAR_GROUP_SLICE_H
#define HEED_BACKENDS_KERNELS_OPS_LINEAR_GROUP_SLICE_H

/* ---- who does what ---- */

/* Threads whose numbers are near each other have few rows and few outputs. */
HK_FN hk_i32 hk_own_x(hk_i32 id, const int i)
{
    return ((id & 1) | (id >> 3 & 2) | (id >> 4 & 12)) * 4 + i / 4 * (HK_SIDE_X * 4) + i % 4;
}

HK_FN hk_i32 hk_own_w(hk_i32 id, const int k)
{
    return ((id >> 1 & 7) | (id >> 2 & 8)) * 4 + k / 4 * (HK_SIDE_W * 4) + k % 4;
}

/* The line of a tile of `lines` that a thread brings, beside a neighbour where there are threads
 * enough, and where in the slice stretch j begins. */
#define HK_LINE_THREADS(lines) (HK_THREADS >= 2 * (lines) ? 2 : 1)

HK_FN hk_i32 hk_line(hk_i32 id, const int lines)
{
    return id / HK_LINE_THREADS(lines) % lines;
}

HK_FN hk_i32 hk_line_term(hk_i32 id, int j, const int lines)
{
    const int n = HK_LINE_THREADS(lines);

    return (id % n + (id + j * HK_THREADS) / (n * lines) * n) * HK_QUAD;
}

/* Rows and outputs behind the last are those once more: nothing is made of their sums. */
HK_FN hk_i64 hk_line_row(const struct hk_linear_task *task, const struct hk_linear_walk *at,
                         hk_i32 id)
{
    return task->strip.first +
           hk_min(at->row + hk_line(id, HK_TILE_X), task->strip.count - 1);
}

HK_FN hk_i64 hk_line_output(const struct hk_linear_task *task, const struct hk_linear_walk *at,
                            hk_i32 id)
{
    return task->at + hk_min(at->output + hk_line(id, HK_TILE_W), task->outs - 1);
}

/* ---- a slice comes ---- */

/* Slices, from the first on, whose stretches may be loaded at once: rows are plain, and a slice is
 * of one tap. */
HK_FN hk_i64 hk_linear_plain(const struct hk_linear_task *task)
{
    const hk_i64 w_size = hk_size(task->w_dtype), x_bytes = hk_size(task->x.dtype) * HK_QUAD;

    if (task->x.channel != 1 || task->w_channel != 1 || HK_IN_BLOCKS(task->w_dtype) ||
        !hk_linear_aligned(task->x.base, task->x.row, x_bytes) ||
        !hk_linear_aligned(task->w, task->w_out * w_size, w_size * HK_QUAD))
        return 0;
    if (task->numbers->taps > 1 &&
        (task->numbers->in % HK_SLICE != 0 || task->w_tap % HK_QUAD != 0))
        return 0;
    return task->terms < (hk_i64)1 << 32 ? task->terms / HK_SLICE : 0;
}

/* A tile begins. Sums of nothing are +0: the sign of a zero is lost in the end. */
HK_FN void hk_linear_start(HK_LOCAL const struct hk_shared *shared,
                              const struct hk_linear_walk *at, hk_i32 id,
                              struct hk_linear_mine *mine)
{
    const struct hk_linear_task task = shared->task;
    int i;

    HK_UNROLL
    for (i = 0; i < HK_SUMS; i++)
        mine->chain[i] = mine->total[i] = 0.0f;
    mine->plain = hk_linear_plain(&task);
    mine->x_at = mine->w_at = 0;
    if (mine->plain > 0) {
        HK_GLOBAL const struct hk_linear *numbers = task.numbers;
        const hk_i64 line = hk_line_row(&task, at, id);
        const hk_i64 row = line * numbers->stride - numbers->before;
        const struct hk_linear_span span = hk_linear_span_get(numbers, line);

        mine->x_first = span.first / HK_SLICE;
        mine->x_end = span.end / HK_SLICE;
        mine->x_at = hk_row(&task.x, row) +
                     hk_line_term(id, 0, HK_TILE_X) * hk_size(task.x.dtype);
        mine->w_at = task.w + (hk_line_output(&task, at, id) * task.w_out +
                               hk_line_term(id, 0, HK_TILE_W)) *
                                  hk_size(task.w_dtype);
    }
}

/* Stretches of one line at once; *at goes on to the next slice. */
HK_INLINE void hk_linear_load_plain(hk_u32 dtype, HK_GLOBAL const char **at,
                                    struct hk_linear_raw *raw, const int quads, const int lines)
{
    const int size = dtype == HK_F32 ? 4 : 2;
    int j;

    HK_UNROLL
    for (j = 0; j < quads; j++)
        hk_load_words(*at + j * (HK_THREADS / lines * HK_QUAD) * size, size,
                      raw[j].word);
    *at += HK_SLICE * size;
}

/* A row that is not there. */
HK_FN void hk_linear_load_nothing(hk_u32 dtype, HK_GLOBAL const char **at,
                                  struct hk_linear_raw *raw)
{
    int i, j;

    HK_UNROLL
    for (j = 0; j < HK_QUADS_X; j++) {
        HK_UNROLL
        for (i = 0; i < 4; i++)
            raw[j].word[i] = 0;
    }
    *at += HK_SLICE * hk_size(dtype);
}

/* Behind the last slice of a tap the next one begins. */
HK_FN void hk_linear_tap_end(HK_LOCAL const struct hk_shared *shared, hk_i64 slice,
                             struct hk_linear_mine *mine)
{
    const struct hk_linear_task task = shared->task;
    const hk_i64 in = task.numbers->in;

    if ((hk_u32)(slice + 1) % (hk_u32)(in / HK_SLICE) != 0)
        return;
    mine->x_at += task.x.row - in * hk_size(task.x.dtype);
    mine->w_at += (task.w_tap - in) * hk_size(task.w_dtype);
}

/* A slice is asked for. */
HK_FN void hk_linear_load(HK_LOCAL const struct hk_shared *shared,
                          const struct hk_linear_sizes *sizes, const struct hk_linear_walk *at,
                          hk_i64 slice, hk_i32 id, struct hk_linear_mine *mine)
{
    const hk_i64 u = slice * HK_SLICE;
    int j;

    if (slice < mine->plain) {
        if (slice < mine->x_first || slice >= mine->x_end)
            hk_linear_load_nothing(sizes->x_dtype, &mine->x_at, mine->x);
        else if (sizes->x_dtype == HK_F32)
            hk_linear_load_plain(HK_F32, &mine->x_at, mine->x, HK_QUADS_X, HK_TILE_X);
        else
            hk_linear_load_plain(HK_F16, &mine->x_at, mine->x, HK_QUADS_X, HK_TILE_X);
        if (sizes->w_dtype == HK_F32)
            hk_linear_load_plain(HK_F32, &mine->w_at, mine->w, HK_QUADS_W, HK_TILE_W);
        else
            hk_linear_load_plain(HK_F16, &mine->w_at, mine->w, HK_QUADS_W, HK_TILE_W);
        if (sizes->taps > 1)
            hk_linear_tap_end(shared, slice, mine);
    } else {
        const struct hk_linear_task task = shared->task;
        const struct hk_linear_line x = hk_linear_x_line(&task, hk_line_row(&task, at, id));
        const struct hk_linear_line w = hk_linear_w_line(&task, hk_line_output(&task, at, id));

        HK_UNROLL
        for (j = 0; j < HK_QUADS_X; j++)
            hk_linear_some(&task, &x, u + hk_line_term(id, j, HK_TILE_X), hk_quad_words(x.dtype),
                           0, mine->x + j);
        HK_UNROLL
        for (j = 0; j < HK_QUADS_W; j++)
            hk_linear_some(&task, &w, u + hk_line_term(id, j, HK_TILE_W), hk_quad_words(w.dtype),
                           0, mine->w + j);
    }
}

/* What was loaded goes to its slice's part of shared memory. */
HK_FN void hk_linear_put(HK_LOCAL struct hk_shared *shared, const struct hk_linear_sizes *sizes,
                         hk_i64 slice, hk_i32 id, const struct hk_linear_mine *mine)
{
    const hk_i32 to = (hk_i32)slice & 1, row = hk_line(id, HK_TILE_X);
    const hk_i32 output = hk_line(id, HK_TILE_W);
    int i, j;

#define HK_PUT_X(type)                                                                             \
    hk_quad_widen(type, mine->x[j].word, quad);                                                    \
    HK_UNROLL                                                                                      \
    for (i = 0; i < HK_QUAD; i++)                                                                  \
        shared->x[to][hk_line_term(id, j, HK_TILE_X) + i][row] = quad[i]
#define HK_PUT_W(type)                                                                             \
    hk_quad_widen(type, mine->w[j].word, quad);                                                    \
    HK_UNROLL                                                                                      \
    for (i = 0; i < HK_QUAD; i++)                                                                  \
        shared->w[to][hk_line_term(id, j, HK_TILE_W) + i][output] = quad[i]
    HK_UNROLL
    for (j = 0; j < HK_QUADS_X; j++) {
        float quad[HK_QUAD];

        HK_BY(HK_FLOAT_TYPES, sizes->x_dtype, HK_PUT_X);
    }
    HK_UNROLL
    for (j = 0; j < HK_QUADS_W; j++) {
        float quad[HK_QUAD];

        HK_BY(HK_FLOAT_TYPES, sizes->w_dtype, HK_PUT_W);
    }
#undef HK_PUT_X
#undef HK_PUT_W
}

#endif
