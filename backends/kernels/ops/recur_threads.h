/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * recur for the threads of a work-group, where registers do not hold the state (recur_held.h): it
 * lies in scratch. A thread has a channel of v and its column, so that neighbours read neighbouring
 * numbers. Channels of k and q come through local memory, a part of them at a time, in two places
 * by turns: while one is read the other is filled, and a step has one barrier.
 */
#ifndef HEED_BACKENDS_KERNELS_OPS_RECUR_THREADS_H
#define HEED_BACKENDS_KERNELS_OPS_RECUR_THREADS_H

#define HK_HAS_SHARED 1

#define HK_RECUR_PART 128 /* channels of k at a time */
#define HK_RECUR_HELD 8   /* rows of the state in registers */

#if HK_THREADS != HK_RECUR_STRIP
#error "a thread has a channel of a strip"
#endif

struct hk_recur_rows {
    float key[HK_RECUR_PART], query[HK_RECUR_PART];  /* of the token that is written and answered */
    float next[HK_RECUR_PART], decay[HK_RECUR_PART]; /* of the one whose k is answered */
};

struct hk_shared {
    struct hk_recur_rows rows[2];
};

/* What a thread carries from part to part. */
struct hk_recur_own {
    float w, o, r;
};

/* What a pass over the state is: all of a token without DELTA; with it what lies before the first
 * token, between two, and behind the last. */
enum { HK_RECUR_TOKEN, HK_RECUR_BEFORE, HK_RECUR_BETWEEN, HK_RECUR_BEHIND };

/* A part of a pass. */
struct hk_recur_unit {
    hk_i64 writes, asks; /* tokens: that is written; whose decay, with DELTA whose k, it is */
    hk_i64 first, count; /* channels of k */
    int way;
};

HK_FN hk_i64 hk_recur_parts(const struct hk_recur_strip *strip)
{
    return hk_max((strip->numbers->d_k + HK_RECUR_PART - 1) / HK_RECUR_PART, 1);
}

HK_FN struct hk_recur_unit hk_recur_unit_get(const struct hk_recur_strip *strip, hk_i64 number)
{
    const hk_i64 parts = hk_recur_parts(strip), pass = number / parts;
    struct hk_recur_unit unit;

    unit.asks = pass;
    unit.writes = strip->numbers->delta ? pass - 1 : pass;
    unit.first = number % parts * HK_RECUR_PART;
    unit.count = hk_min(strip->numbers->d_k - unit.first, HK_RECUR_PART);
    unit.way = !strip->numbers->delta ? HK_RECUR_TOKEN
               : pass == 0            ? HK_RECUR_BEFORE
               : pass < strip->tokens ? HK_RECUR_BETWEEN
                                      : HK_RECUR_BEHIND;
    return unit;
}

/* Channel c of what row t of q, k or the decays has. */
HK_FN float hk_recur_read(const struct hk_rows *rows, hk_i64 t, hk_i64 c)
{
    return hk_element(rows->dtype, hk_row(rows, t), c * rows->channel);
}

/* The unit's channels of rows into local memory, those that the thread brings. */
HK_FN void hk_recur_bring(const struct hk_recur_strip *strip, const struct hk_recur_unit *unit,
                          hk_i64 id, HK_LOCAL struct hk_recur_rows *to)
{
    hk_i64 i;

    for (i = id; i < unit->count; i += HK_THREADS) {
        const hk_i64 c = unit->first + i;

        if (unit->way != HK_RECUR_BEFORE) {
            to->key[i] = hk_recur_read(&strip->k, unit->writes, c);
            to->query[i] = strip->o.base ? hk_recur_read(&strip->q, unit->writes, c) : 0.0f;
        }
        if (unit->way == HK_RECUR_BEFORE || unit->way == HK_RECUR_BETWEEN)
            to->next[i] = hk_recur_read(&strip->k, unit->asks, c);
        if (strip->decays && unit->way != HK_RECUR_BEHIND)
            to->decay[i] =
                hk_recur_read(&strip->decay, unit->asks, strip->numbers->channels ? c : 0);
        else
            to->decay[i] = 1.0f; /* changes nothing */
    }
}

/* Rows i .. i + count - 1 of the unit, in registers. */
HK_INLINE void hk_recur_rows_run(const int way, const int count,
                                 HK_LOCAL const struct hk_recur_rows *rows, hk_i64 i,
                                 HK_GLOBAL float *s, struct hk_recur_own *own)
{
    float x[HK_RECUR_HELD];
    int j;

    HK_UNROLL
    for (j = 0; j < count; j++)
        x[j] = s[(i + j) * HK_THREADS];
    HK_UNROLL
    for (j = 0; j < count; j++) {
        if (way == HK_RECUR_TOKEN)
            x[j] = hk_mul(rows->decay[i + j], x[j]);
        if (way != HK_RECUR_BEFORE) {
            x[j] = hk_fma(rows->key[i + j], own->w, x[j]);
            own->o = hk_fma(rows->query[i + j], x[j], own->o);
        }
        if (way == HK_RECUR_BEFORE || way == HK_RECUR_BETWEEN) {
            x[j] = hk_mul(rows->decay[i + j], x[j]);
            own->r = hk_fma(rows->next[i + j], x[j], own->r);
        }
    }
    HK_UNROLL
    for (j = 0; j < count; j++)
        s[(i + j) * HK_THREADS] = x[j];
}

HK_INLINE void hk_recur_unit_run(const int way, const struct hk_recur_unit *unit,
                                 HK_LOCAL const struct hk_recur_rows *rows, HK_GLOBAL float *s,
                                 struct hk_recur_own *mine)
{
    struct hk_recur_own own = *mine;
    hk_i64 i;

    for (i = 0; i + HK_RECUR_HELD <= unit->count; i += HK_RECUR_HELD)
        hk_recur_rows_run(way, HK_RECUR_HELD, rows, i, s, &own);
    for (; i < unit->count; i++)
        hk_recur_rows_run(way, 1, rows, i, s, &own);
    *mine = own;
}

/* A unit for the thread's column; the first part of a pass begins with what the token writes, the
 * last ends with its answer. */
HK_FN void hk_recur_column(const struct hk_recur_strip *strip, const struct hk_recur_unit *unit,
                           hk_i64 id, HK_LOCAL const struct hk_recur_rows *rows,
                           struct hk_recur_own *own)
{
    HK_GLOBAL float *const s = /* NULL: no channels */
        strip->scratch ? strip->scratch + unit->first * HK_THREADS + id : 0;
    const hk_i64 channel = strip->first + id;

    if (unit->first == 0) {
        if (unit->way != HK_RECUR_BEFORE)
            own->w = hk_mul(hk_recur_beta(strip, unit->writes),
                            hk_sub(hk_recur_value(strip, unit->writes, channel), own->r));
        own->o = own->r = 0.0f;
    }
    if (unit->way == HK_RECUR_TOKEN)
        hk_recur_unit_run(HK_RECUR_TOKEN, unit, rows, s, own);
    else if (unit->way == HK_RECUR_BEFORE)
        hk_recur_unit_run(HK_RECUR_BEFORE, unit, rows, s, own);
    else if (unit->way == HK_RECUR_BETWEEN)
        hk_recur_unit_run(HK_RECUR_BETWEEN, unit, rows, s, own);
    else
        hk_recur_unit_run(HK_RECUR_BEHIND, unit, rows, s, own);
    if (unit->way != HK_RECUR_BEFORE && unit->first + unit->count >= strip->numbers->d_k)
        hk_recur_put(strip, unit->writes, channel, hk_mul(own->o, strip->numbers->scale));
}

/* The thread's column into scratch, and rows of o behind the last token. */
HK_FN void hk_recur_in(const struct hk_recur_strip *strip, hk_i64 id, struct hk_recur_own *own)
{
    const hk_i64 channel = strip->first + id;
    hk_i64 i;

    own->w = own->o = own->r = 0.0f;
    for (i = 0; i < strip->numbers->d_k; i++)
        strip->scratch[i * HK_THREADS + id] = hk_recur_state_get(strip, i, channel);
    for (i = strip->tokens; i < strip->numbers->n && strip->o.base; i++)
        hk_recur_put(strip, i, channel, 0.0f);
}

HK_FN void hk_recur_out(const struct hk_recur_strip *strip, hk_i64 id)
{
    hk_i64 c;

    for (c = 0; c < strip->numbers->d_k && strip->tokens > 0; c++)
        hk_recur_state_put(strip, c, strip->first + id, strip->scratch[c * HK_THREADS + id]);
}

HK_FN void hk_main(const struct hk_call *call, hk_i64 group, HK_LOCAL struct hk_shared *shared)
{
    struct hk_recur_own mine[HK_MINE];
    struct hk_steps at;
    HK_THREAD_ID(id);

    at.task = group;
    at.step = 0;
    while (at.task < call->op->tasks[HK_PASS]) {
        struct hk_recur_strip strip;
        hk_i64 units;

        hk_recur_open(call, at.task, group, &strip);
        units =
            strip.tokens > 0 ? (strip.tokens + strip.numbers->delta) * hk_recur_parts(&strip) : 0;
        HK_EACH(id) {
            const int there = strip.first + id < strip.end;

            if (there && at.step == 0)
                hk_recur_in(&strip, id, &mine[HK_OWN(id)]);
            if (there && at.step > 0) {
                const struct hk_recur_unit unit = hk_recur_unit_get(&strip, at.step - 1);

                hk_recur_column(&strip, &unit, id, &shared->rows[(at.step - 1) % 2],
                                &mine[HK_OWN(id)]);
            }
            if (at.step < units) {
                const struct hk_recur_unit unit = hk_recur_unit_get(&strip, at.step);

                hk_recur_bring(&strip, &unit, id, &shared->rows[at.step % 2]);
            }
            if (there && at.step == units)
                hk_recur_out(&strip, id);
        }
        HK_BARRIER();
        at = hk_steps_next(call, at, units + 1);
    }
}

#endif
