/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * norm for the threads of a work-group: a few rows at a time are read once, as floats, to local
 * memory; then each row has as many threads as vectors make up its partial sums. Such a turn has
 * steps with a barrier behind each. Rows too long for local memory are read again in each step;
 * then the sum, which may lie where they do, is written last.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_NORM_THREADS_H
#define HEED_BACKENDS_KERNELS_OPS_NORM_THREADS_H

#define HK_HAS_SHARED 1

#define HK_NORM_TURN (HK_THREADS / HK_SUMS) /* rows at most */
#define HK_NORM_ROOM 4160                   /* floats: 4 rows of 1024, many groups side by side */

enum {
    HK_NORM_STAGE,
    HK_NORM_MEAN,
    HK_NORM_SQUARES,
    HK_NORM_FACTOR,
    HK_NORM_WRITE,
    HK_NORM_STEPS
};

/* Floats from row to row in local memory, where neighbours of a vector's thread lie in other
 * banks. */
HK_FN hk_i64 hk_norm_pitch(hk_i64 d)
{
    return (d + 31) / 32 * 32 + 16;
}

/* Rows that local memory has room for; 0: they are too long. Rows of a turn. */
HK_FN hk_i64 hk_norm_staged(hk_i64 d)
{
    return hk_min(HK_NORM_ROOM / hk_norm_pitch(d), HK_NORM_TURN);
}

HK_FN hk_i64 hk_norm_rows(hk_i64 d)
{
    const hk_i64 staged = hk_norm_staged(d);

    return staged > 0 ? staged : HK_NORM_TURN;
}

/* The rows of a turn. */
struct hk_norm_turn {
    hk_i64 first, count, d, pitch;
    int staged;
};

/* The strip lies in local memory as well: each step has only what it uses in registers. */
struct hk_shared {
    float rows[HK_NORM_ROOM];
    float sums[HK_NORM_TURN * HK_PARTIALS], squares[HK_NORM_TURN * HK_PARTIALS];
    float centre[HK_NORM_TURN], factor[HK_NORM_TURN];
    struct hk_rows_norm norm;
    hk_i64 d, turn; /* turn: rows of one */
    int whole[HK_NORM_SUM + 1]; /* of each array: its vectors lie at multiples of their bytes */
};

HK_FN struct hk_norm_turn hk_norm_turn_get(HK_LOCAL const struct hk_shared *shared, hk_i64 number)
{
    const hk_i64 first = number * shared->turn;
    struct hk_norm_turn out;

    out.first = shared->norm.strip.first + first;
    out.count = hk_min(shared->norm.strip.count - first, shared->turn);
    out.d = shared->d;
    out.pitch = hk_norm_pitch(out.d);
    out.staged = hk_norm_staged(out.d) > 0;
    return out;
}

/* Rows of the turn, whose vectors lie at multiples of their bytes. */
HK_FN struct hk_stream hk_norm_stream(const struct hk_norm_turn *turn, const struct hk_rows *rows)
{
    struct hk_stream out;

    (void)hk_stream_open(rows, turn->first, turn->count, turn->d, &out);
    return out;
}

/* Do all vectors lie at multiples of their bytes? */
HK_FN int hk_norm_whole(HK_LOCAL const struct hk_shared *shared)
{
    int i, all = 1;

    HK_UNROLL
    for (i = 0; i <= HK_NORM_SUM; i++)
        all &= shared->whole[i];
    return all;
}

/* ---- what the norm is taken of ---- */

/* Channel t of row i of the turn; 0 beyond the row. */
HK_FN hk_vec hk_norm_single(const struct hk_rows_norm *norm, const struct hk_norm_turn *turn,
                            hk_i64 i, hk_i64 t)
{
    hk_vec x;

    if (t >= turn->d)
        return hkv_set(0.0f);
    x = hk_single_read(&norm->x, turn->first + i, t);
    return norm->residual.base
               ? hkv_add(x, hk_single_read(&norm->residual, turn->first + i, t))
               : x;
}

/* Vector `unit` of row i of the turn, from memory. */
HK_FN hk_vec hk_norm_again(const struct hk_rows_norm *norm, const struct hk_norm_turn *turn,
                           const int whole, hk_i64 i, hk_i64 unit)
{
    const struct hk_stream of_x = hk_norm_stream(turn, &norm->x);
    const struct hk_stream of_residual = hk_norm_stream(turn, &norm->residual);
    const hk_i64 t = unit * HKV_LANES;
    struct hk_place at;
    struct hk_raw raw;
    hk_vec x;

    if (!whole)
        return hkv_four(hk_norm_single(norm, turn, i, t).x, hk_norm_single(norm, turn, i, t + 1).x,
                        hk_norm_single(norm, turn, i, t + 2).x,
                        hk_norm_single(norm, turn, i, t + 3).x);
    at.row = (hk_i32)i;
    at.unit = (hk_i32)unit;
    raw = hk_stream_ask(&of_x, at);
    x = hk_raw_vector(&of_x, &raw);
    if (!of_residual.base)
        return x;
    raw = hk_stream_ask(&of_residual, at);
    return hkv_add(x, hk_raw_vector(&of_residual, &raw));
}

HK_FN hk_vec hk_norm_local(const struct hk_norm_turn *turn, hk_i64 i, hk_i64 unit,
                           HK_LOCAL const struct hk_shared *shared)
{
    float part[HKV_LANES];

    hk_local_get4(shared->rows + i * turn->pitch + unit * HKV_LANES, part);
    return hkv_load(part);
}

HK_FN void hk_norm_keep(const struct hk_norm_turn *turn, struct hk_place at, hk_vec x,
                        HK_LOCAL struct hk_shared *shared)
{
    float part[HKV_LANES];

    hkv_store(part, x);
    hk_local_put4(shared->rows + at.row * turn->pitch + (hk_i64)at.unit * HKV_LANES, part);
}

/* To local memory, and to the sum. */
HK_FN void hk_norm_stage_singles(hk_i64 number, HK_LOCAL struct hk_shared *shared)
{
    const struct hk_rows_norm of = shared->norm, *const norm = &of;
    const struct hk_norm_turn these = hk_norm_turn_get(shared, number), *const turn = &these;
    HK_THREAD_ID(id);
    hk_i64 i, t;

    HK_SINGLES(id, i, t, 0, turn->count, (turn->d + HKV_LANES - 1) / HKV_LANES * HKV_LANES)
    {
        const hk_vec x = hk_norm_single(norm, turn, i, t);

        shared->rows[i * turn->pitch + t] = x.x;
        if (norm->sum.base && t < turn->d)
            hk_single_put(&norm->sum, turn->first + i, t, x);
    }
}

HK_FN void hk_norm_stage(hk_i64 number, HK_LOCAL struct hk_shared *shared)
{
    const struct hk_rows_norm of = shared->norm, *const norm = &of;
    const struct hk_norm_turn these = hk_norm_turn_get(shared, number), *const turn = &these;
    const struct hk_stream from = hk_norm_stream(turn, &norm->x);
    const struct hk_stream more = hk_norm_stream(turn, &norm->residual);
    const struct hk_stream sum = hk_norm_stream(turn, &norm->sum);
    HK_THREAD_ID(id);
    int k;

    HK_EACH(id)
    {
        struct hk_walk walk = hk_walk_begin(id, turn->count, turn->d / HKV_LANES);
        struct hk_raw of_x[HK_BATCH], of_residual[HK_BATCH];

        while (hk_walk_next(&walk)) {
            hk_batch_ask(&from, &walk, of_x);
            hk_batch_ask(&more, &walk, of_residual);
            HK_UNROLL
            for (k = 0; k < HK_BATCH; k++) {
                hk_vec x = hk_raw_vector(&from, of_x + k);

                if (more.base)
                    x = hkv_add(x, hk_raw_vector(&more, of_residual + k));
                if (walk.there[k])
                    hk_norm_keep(turn, walk.at[k], x, shared);
                if (sum.base)
                    hk_batch_put(&sum, &walk, k, x);
            }
        }
    }
}

/* ---- sums ---- */

/* The tree over the partial sums of row i, over d. */
HK_FN float hk_norm_mean(const struct hk_rows_norm *norm, HK_LOCAL const float *sums, hk_i64 i)
{
    struct hk_sums all;
    int k;

    HK_UNROLL
    for (k = 0; k < HK_SUMS; k++)
        all.l[k] = hkv_load(sums + i * HK_PARTIALS + k * HKV_LANES);
    return hk_mul(hk_sums_tree(&all), norm->part);
}

/* A term more of a vector of partial sums; t: the vector's first channel. */
HK_FN hk_vec hk_norm_term(const struct hk_rows_norm *norm, const int squares, hk_vec x,
                          float centre, hk_i64 t, hk_i64 d, hk_vec sum)
{
    hk_vec c;

    if (!squares)
        return hkv_add(sum, x);
    c = hk_norm_apart(norm, x, centre);
    if (t + HKV_LANES > d)
        c = hkv_keep(hkv_bits(15u >> (t + HKV_LANES - d)), c);
    return hkv_fma(c, c, sum);
}

/* A thread's vector of the partial sums of its row. */
HK_INLINE void hk_norm_sum(hk_i64 number, hk_i32 id, const int squares,
                           HK_LOCAL struct hk_shared *shared)
{
    const struct hk_rows_norm of = shared->norm, *const norm = &of;
    const struct hk_norm_turn these = hk_norm_turn_get(shared, number), *const turn = &these;
    const int whole = hk_norm_whole(shared);
    const hk_i64 i = id / HK_SUMS, vectors = (turn->d + HKV_LANES - 1) / HKV_LANES;
    HK_LOCAL float *const to = squares ? shared->squares : shared->sums;
    hk_vec sum = hkv_set(0.0f);
    float centre = 0.0f, part[HKV_LANES];
    hk_i64 unit;

    if (i >= turn->count)
        return;
    if (squares && !norm->rms)
        centre = hk_norm_mean(norm, shared->sums, i);
    if (turn->staged) {
        HK_UNROLL_FEW
        for (unit = id % HK_SUMS; unit < vectors; unit += HK_SUMS)
            sum = hk_norm_term(norm, squares, hk_norm_local(turn, i, unit, shared), centre,
                               unit * HKV_LANES, turn->d, sum);
    } else {
        for (unit = id % HK_SUMS; unit < vectors; unit += HK_SUMS)
            sum = hk_norm_term(norm, squares, hk_norm_again(norm, turn, whole, i, unit), centre,
                               unit * HKV_LANES, turn->d, sum);
    }
    hkv_store(part, sum);
    hk_local_put4(to + id * HKV_LANES, part);
}

HK_FN void hk_norm_factor(hk_i64 number, hk_i32 id, HK_LOCAL struct hk_shared *shared)
{
    const struct hk_rows_norm of = shared->norm, *const norm = &of;
    const struct hk_norm_turn these = hk_norm_turn_get(shared, number), *const turn = &these;

    if (id >= turn->count)
        return;
    shared->centre[id] =
        norm->rms ? 0.0f : hk_norm_mean(norm, shared->sums, id);
    shared->factor[id] = hk_inverse_root(
        hk_add(hk_norm_mean(norm, shared->squares, id), norm->numbers->eps));
}

/* ---- what is written ---- */

HK_FN void hk_norm_write_singles(hk_i64 number, HK_LOCAL const struct hk_shared *shared)
{
    const struct hk_rows_norm of = shared->norm, *const norm = &of;
    const struct hk_norm_turn these = hk_norm_turn_get(shared, number), *const turn = &these;
    HK_THREAD_ID(id);
    hk_i64 i, t;

    HK_SINGLES(id, i, t, 0, turn->count, turn->d)
    {
        const hk_vec x = turn->staged ? hkv_set(shared->rows[i * turn->pitch + t])
                                      : hk_norm_single(norm, turn, i, t);

        if (!turn->staged && norm->sum.base)
            hk_single_put(&norm->sum, turn->first + i, t, x);
        hk_single_put(
            &norm->y, turn->first + i, t,
            hk_norm_end(norm, x, shared->centre[i], shared->factor[i],
                        norm->weight.base ? hk_single_read(&norm->weight, 0, t) : hkv_set(1.0f),
                        hk_single_read(&norm->bias, 0, t)));
    }
}

/* staged: rows lie in local memory. */
HK_INLINE void hk_norm_write(const int staged, hk_i64 number,
                             HK_LOCAL const struct hk_shared *shared)
{
    const struct hk_rows_norm of = shared->norm, *const norm = &of;
    const struct hk_norm_turn these = hk_norm_turn_get(shared, number), *const turn = &these;
    const struct hk_stream y = hk_norm_stream(turn, &norm->y);
    const struct hk_stream sum = hk_norm_stream(turn, &norm->sum);
    struct hk_stream of_weight, of_bias;
    HK_THREAD_ID(id);
    int k;

    (void)hk_stream_open(&norm->weight, 0, 1, turn->d, &of_weight);
    (void)hk_stream_open(&norm->bias, 0, 1, turn->d, &of_bias);
    HK_EACH(id)
    {
        struct hk_walk walk = hk_walk_begin(id, turn->count, turn->d / HKV_LANES);
        struct hk_raw weight[HK_BATCH], bias[HK_BATCH];

        while (hk_walk_next(&walk)) {
            hk_batch_ask(&of_weight, &walk, weight); /* of each row the same: they lie 0 apart */
            hk_batch_ask(&of_bias, &walk, bias);
            HK_UNROLL
            for (k = 0; k < HK_BATCH; k++) {
                const struct hk_place at = walk.at[k];
                const hk_vec x = staged ? hk_norm_local(turn, at.row, at.unit, shared)
                                        : hk_norm_again(norm, turn, 1, at.row, at.unit);

                if (!staged && sum.base)
                    hk_batch_put(&sum, &walk, k, x);
                hk_batch_put(&y, &walk, k,
                             hk_norm_end(norm, x, shared->centre[at.row], shared->factor[at.row],
                                         of_weight.base ? hk_raw_vector(&of_weight, weight + k)
                                                        : hkv_set(1.0f),
                                         hk_raw_vector(&of_bias, bias + k)));
            }
        }
    }
}

/* ---- turns ---- */

/* A step of a turn. */
HK_FN void hk_norm_step(hk_i64 number, hk_i64 step, HK_LOCAL struct hk_shared *shared)
{
    const int staged = hk_norm_staged(shared->d) > 0, whole = hk_norm_whole(shared);
    HK_THREAD_ID(id);

    if (step == HK_NORM_STAGE && staged) {
        if (whole)
            hk_norm_stage(number, shared);
        else
            hk_norm_stage_singles(number, shared);
    } else if (step == HK_NORM_MEAN && !shared->norm.rms) {
        HK_EACH(id)
            hk_norm_sum(number, id, 0, shared);
    } else if (step == HK_NORM_SQUARES) {
        HK_EACH(id)
            hk_norm_sum(number, id, 1, shared);
    } else if (step == HK_NORM_FACTOR) {
        HK_EACH(id)
            hk_norm_factor(number, id, shared);
    } else if (step == HK_NORM_WRITE) {
        if (!whole)
            hk_norm_write_singles(number, shared);
        else if (staged)
            hk_norm_write(1, number, shared);
        else
            hk_norm_write(0, number, shared);
    }
}

/* An array of the strip. */
HK_INLINE void hk_norm_start_rows(HK_LOCAL struct hk_shared *shared, hk_u32 array, hk_i64 d,
                                  const struct hk_rows given, HK_LOCAL struct hk_rows *to)
{
    struct hk_stream stream;

    shared->whole[array] = hk_stream_open(&given, 0, HK_NORM_TURN, d, &stream);
    *to = given;
}

/* Opens a strip: the arrays by a thread each, as all together would take many registers. */
HK_FN void hk_norm_start(const struct hk_call *call, hk_i64 task, hk_i32 id,
                         HK_LOCAL struct hk_shared *shared)
{
    HK_GLOBAL const struct hk_norm *numbers = HK_NUMBERS(call, struct hk_norm);
    const hk_i64 d = numbers->d;
    const struct hk_strip_task strip = hk_strip_get(&numbers->strip, task);

    if (id == 0) {
        shared->norm.numbers = numbers;
        shared->norm.strip = strip;
        shared->norm.part = hk_inverse(hk_from_i64(hk_max(d, 1)));
        shared->norm.rms = numbers->kind == HK_NORM_RMS;
        shared->d = d;
        shared->turn = hk_norm_rows(d);
    } else if (id == 1) {
        hk_norm_start_rows(shared, HK_NORM_X, d, hk_rows_given(call, HK_NORM_X, &strip),
                           &shared->norm.x);
    } else if (id == 2) {
        hk_norm_start_rows(shared, HK_NORM_RESIDUAL, d,
                           hk_rows_given(call, HK_NORM_RESIDUAL, &strip), &shared->norm.residual);
    } else if (id == 3) {
        hk_norm_start_rows(shared, HK_NORM_Y, d, hk_rows_given(call, HK_NORM_Y, &strip),
                           &shared->norm.y);
    } else if (id == 4) {
        hk_norm_start_rows(shared, HK_NORM_SUM, d, hk_rows_given(call, HK_NORM_SUM, &strip),
                           &shared->norm.sum);
    } else if (id == 5) {
        hk_norm_start_rows(shared, HK_NORM_WEIGHT, d, hk_norm_common(call, HK_NORM_WEIGHT),
                           &shared->norm.weight);
    } else if (id == 6) {
        hk_norm_start_rows(shared, HK_NORM_BIAS, d, hk_norm_common(call, HK_NORM_BIAS),
                           &shared->norm.bias);
    }
}

/* A task has a step more than its turns have: the strip is opened. */
HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    HK_GLOBAL const struct hk_strip_form *strip = &HK_NUMBERS(call, struct hk_norm)->strip;
    const hk_i64 run = hk_min(strip->run, strip->rows);
    const hk_i64 d = HK_NUMBERS(call, struct hk_norm)->d;
    const hk_i64 steps = ((run - 1) / hk_norm_rows(d) + 1) * HK_NORM_STEPS + 1;
    struct hk_steps at;
    HK_THREAD_ID(id);

    if (d == 0) /* any number of rows */
        return;
    at.task = group;
    at.step = 0;
    while (at.task < call->op->tasks[HK_PASS]) {
        if (at.step == 0) {
            HK_EACH(id)
                hk_norm_start(call, at.task, id, shared);
        } else {
            hk_norm_step((at.step - 1) / HK_NORM_STEPS, (at.step - 1) % HK_NORM_STEPS, shared);
        }
        HK_BARRIER();
        at = hk_steps_next(call, at, steps);
    }
}

#endif
