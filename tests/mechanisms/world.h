/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A mechanism against a dense oracle in double. A test states a `struct world`: extents, sets of
 * keys, a function that calls the builder, and one that says from the paper's text, pair by pair,
 * what a row sees. mechanism_prove() then asks, on every host device:
 *
 * - heed_attn_visible: row by row the same;
 * - random data: within the bound that the data give;
 * - equal scores and small integers as V: the very bits that the number of keys gives;
 * - one-hot V: the weights; zero exactly where the paper has no pair;
 * - ones as V: one;
 * - NaN in all that is masked or beyond a length: no bit changes;
 * - the bits of the reference on every device.
 */
#ifndef HEED_TESTS_MECHANISMS_WORLD_H
#define HEED_TESTS_MECHANISMS_WORLD_H

#include "oracle.h"

/* ---- runs ---- */

static inline heed_attn_args world_args(struct world_of *w, heed_kv_bufs *kv)
{
    heed_kv_bufs pairs[MOST_SETS] = { { { 0 }, { 0 } } };

    for (int s = 0; s < w->n_sets; s++) {
        pairs[s] = (heed_kv_bufs){ w->set[s].k.buf, w->set[s].v.buf };
        if (w->set[s].has_len)
            w->slot_buf[HEED_MECHANISM_LEN + s - 1].handle = w->set[s].len;
        if (w->set[s].has_mask)
            w->slot_buf[HEED_MECHANISM_MASK + s - 1].handle = w->set[s].mask;
    }
    heed_mechanism_kv(&w->m, pairs, kv);
    return (heed_attn_args){
        .size = sizeof(heed_attn_args),
        .kv_size = sizeof(heed_kv_bufs),
        .q = w->q.buf,
        .o = w->o.buf,
        .kv = kv,
        .slots = w->slot_buf,
        .n_slots = HEED_MECHANISM_SLOTS,
    };
}

static inline void world_build(struct world_of *w)
{
    memset(&w->m, 0x5a, sizeof(w->m));
    w->m.size = sizeof(w->m);
    w->build(w);
    ck_assert_int_eq(world.why.status, HEED_OK);
}

static inline void world_run(struct world_of *w)
{
    heed_kv_bufs kv[HEED_MECHANISM_SOURCES];
    heed_plan *plan = NULL;
    heed_attn_args args;

    if (w->run) {
        w->run(w);
        return;
    }
    world_build(w);
    w->m.desc.flags |= HEED_PLAN_OWN_WORKSPACE;
    w->m.desc.numerics = HEED_NUMERICS_EXACT;
    args = world_args(w, kv);
    ck_assert_msg(heed_attn_plan(world.device, &w->m.desc, &plan, &world.why) >= 0,
                  "%s: %s: %s: %s", w->name, world_name(), world.why.field, world.why.message);
    ck_assert_msg(heed_attn_run(plan, world.queue, &args, NULL, &world.why) >= 0,
                  "%s: %s: %s: %s", w->name, world_name(), world.why.field, world.why.message);
    heed_plan_drop(plan);
}

/* ---- what is asked ---- */

static inline void check_visible_row(struct world_of *w, const heed_attn_args *args, int64_t b,
                                     int64_t h, int64_t i)
{
    int64_t got[MOST_SETS][MOST_KEYS];

    memset(got, 0, sizeof(got));
    for (uint32_t s = 0; s < w->m.desc.n_sources; s++) {
        const uint32_t set = w->m.keys[s];
        uint8_t seen[MOST_KEYS];

        ck_assert_uint_lt(set, (uint32_t)w->n_sets);
        ck_assert_msg(heed_attn_visible(&w->m.desc, args, b, h, i, s, seen, &world.why) >= 0,
                      "%s: %s: %s", w->name, world.why.field, world.why.message);
        for (int64_t j = 0; j < w->set[set].n; j++)
            got[set][j] += seen[j];
    }
    for (int s = 0; s < w->n_sets; s++) {
        for (int64_t j = 0; j < w->set[s].n; j++) {
            const bool there = world_row_present(w, b, i) && world_present(w, b, s, j);
            const int64_t want = there ? w->times(w, b, h, i, s, j) : 0;

            ck_assert_msg(got[s][j] == want,
                          "%s: item %d head %d row %d set %d key %d: seen %d times, the paper has "
                          "%d",
                          w->name, (int)b, (int)h, (int)i, s, (int)j, (int)got[s][j], (int)want);
            w->seen_pairs += want;
        }
    }
}

static inline void check_visible(struct world_of *w)
{
    heed_kv_bufs kv[HEED_MECHANISM_SOURCES];
    heed_attn_args args;

    world_build(w);
    args = world_args(w, kv);
    w->seen_pairs = 0;
    for (int64_t b = 0; b < w->batch; b++)
        for (int64_t h = 0; h < w->heads; h++)
            for (int64_t i = 0; i < w->n_q; i++)
                check_visible_row(w, &args, b, h, i);
    ck_assert_int_gt(w->seen_pairs, 0);
}

static struct {
    int64_t judged;
    double worst;
} proof;

static inline void judge_row(struct world_of *w, int64_t b, int64_t h, int64_t i,
                             struct seen_row *row)
{
    const float *o = world_row(&w->o, b, h, i);

    row_collect(w, b, h, i, row);
    row_bound(w, row);
    for (int64_t c = 0; c < w->d_v; c++) {
        double bound = 0, want = 0;

        if (row->n)
            want = row_value(row, c, &bound);
        proof.judged++;
        if (bound > 0)
            proof.worst = fmax(proof.worst, fabs((double)o[c] - want) / bound);
        ck_assert_msg(row->n ? fabs((double)o[c] - want) <= bound : bits_of(o[c]) == 0,
                      "%s on %s: item %d head %d row %d channel %d: %.9g, wanted %.9g within %.3g",
                      w->name, world_name(), (int)b, (int)h, (int)i, (int)c, (double)o[c], want,
                      bound);
    }
}

static inline void judge(struct world_of *w)
{
    static struct seen_row row;

    if (w->derive)
        w->derive(w);
    for (int64_t b = 0; b < w->batch; b++)
        for (int64_t h = 0; h < w->heads; h++)
            for (int64_t i = 0; i < w->n_q; i++)
                judge_row(w, b, h, i, &row);
}

/* One-hot rows: channel c of the result is the weight of key c. */
static inline void probe_weights(struct world_of *w)
{
    static struct seen_row row;
    const int64_t all = world_all_keys(w), d_v = w->d_v;
    int64_t column = 0;

    world_widen(w, all);
    for (int s = 0; s < w->n_sets; column += w->set[s++].n)
        for (int64_t x = 0; x < w->batch * world_kv_heads(w) * w->set[s].n; x++)
            for (int64_t c = 0; c < all; c++)
                world_f32(&w->set[s].v)[x * all + c] = c == column + x % w->set[s].n;
    world_run(w);
    judge(w);
    for (int64_t b = 0; b < w->batch; b++) {
        for (int64_t h = 0; h < w->heads; h++) {
            for (int64_t i = 0; i < w->n_q; i++) {
                static int64_t times[MOST_SETS * MOST_KEYS];
                const float *o = world_row(&w->o, b, h, i);

                row_collect(w, b, h, i, &row);
                memset(times, 0, sizeof(times));
                for (int64_t k = 0; k < row.n; k++)
                    times[row.key[k].column]++;
                for (int64_t c = 0; c < all; c++)
                    ck_assert_msg((o[c] > 0) == (times[c] > 0),
                                  "%s on %s: head %d row %d weight %d", w->name, world_name(),
                                  (int)h, (int)i, (int)c);
            }
        }
    }
    world_widen(w, d_v);
}

/* Ones: within the bound, which is that of the sums alone, and with equal scores the very bits of
 * count * (1 / count). Small integers: sums of them are exact, so are the bits. */
static inline void probe_exact(struct world_of *w, int64_t most)
{
    static struct seen_row row;

    for (int s = 0; s < w->n_sets; s++)
        for (int64_t x = 0; x < world_count(&w->set[s].v); x++)
            world_f32(&w->set[s].v)[x] = (float)world_range(1, most);
    world_run(w);
    judge(w);
    if (w->bias || w->extra)            /* scores are not equal */
        return;
    memset(world_f32(&w->q), 0, (size_t)world_count(&w->q) * sizeof(float));
    world_run(w);
    for (int64_t b = 0; b < w->batch; b++) {
        for (int64_t h = 0; h < w->heads; h++) {
            for (int64_t i = 0; i < w->n_q; i++) {
                row_collect(w, b, h, i, &row);
                for (int64_t c = 0; c < w->d_v; c++) {
                    const float got = world_row(&w->o, b, h, i)[c];
                    float sum = 0;

                    for (int64_t k = 0; k < row.n; k++)
                        sum += row.key[k].v[c];
                    if (row.n)
                        sum *= 1.0f / (float)row.n;
                    ck_assert_msg(bits_of(got) == bits_of(sum),
                                  "%s on %s: item %d head %d row %d: %.9g, wanted %.9g", w->name,
                                  world_name(), (int)b, (int)h, (int)i, (double)got, (double)sum);
                }
            }
        }
    }
    for (int64_t i = 0; i < world_count(&w->q); i++)
        world_f32(&w->q)[i] = world_float() * 0.125f;
}

/* The bits of o, which are a block of the test's. */
static inline heed_array world_kept(const struct world_of *w)
{
    const heed_array copy = world_array(HEED_F32, w->batch, w->heads, w->n_q, w->d_v, -1);

    memcpy(copy.buf.handle, w->o.buf.handle, (size_t)world_count(&w->o) * sizeof(float));
    return copy;
}

static inline void probe_absent(struct world_of *w)
{
    heed_array before;

    world_run(w);
    before = world_kept(w);
    for (int64_t b = 0; b < w->batch; b++)
        for (int64_t h = 0; h < world_kv_heads(w); h++)
            for (int s = 0; s < w->n_sets; s++)
                for (int64_t j = 0; j < w->set[s].n; j++) {
                    if (world_present(w, b, s, j))
                        continue;
                    memset(world_row(&w->set[s].k, b, h, j), 0xff, (size_t)w->d * sizeof(float));
                    memset(world_row(&w->set[s].v, b, h, j), 0xff, (size_t)w->d_v * sizeof(float));
                }
    world_run(w);
    world_same(&w->o, &before, w->name);
}

/* Runs calls on the reference. */
static inline void on_reference(void (*calls)(void *), void *p)
{
    heed_device *const device = world.device;
    heed_queue *const queue = world.queue;

    ck_assert_int_eq(heed_device_find(world.runtime, "reference", &world.device, &world.why), 0);
    ck_assert_int_eq(heed_queue_create(world.device, 0, &world.queue, &world.why), HEED_OK);
    calls(p);
    heed_queue_destroy(world.queue);
    world.device = device;
    world.queue = queue;
}

static inline void world_run_of(void *w)
{
    world_run(w);
}

/* All of it, on the device of that number (world_devices()). */
static inline void mechanism_prove(struct world_of *w, int device)
{
    heed_array own;

    world_open(device);
    proof.judged = 0;
    proof.worst = 0;
    world_make(w);
    check_visible(w);
    world_run(w);
    judge(w);
    own = world_kept(w);
    on_reference(world_run_of, w);
    world_same(&own, &w->o, "the bits of the reference");
    probe_absent(w);
    world_widen(w, w->d_v);
    for (int s = 0; s < w->n_sets; s++)
        w->set[s].k = world_floats(HEED_F32, w->batch, world_kv_heads(w), w->set[s].n, w->d);
    probe_weights(w);
    probe_exact(w, 1);
    probe_exact(w, 9);
    ck_assert_msg(proof.worst <= 1, "%s: error / bound %g", w->name, proof.worst);
    printf("# %s on %s: %lld pairs, %lld values, worst error / bound %.3f\n", w->name,
           world_name(), (long long)w->seen_pairs, (long long)proof.judged, proof.worst);
}

#endif
