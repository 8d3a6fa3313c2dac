/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Monotonic chunkwise attention (Chiu and Raffel 2018, MoChA, algorithm 1) as a loop of calls:
 * where a row looks depends on the choice of the row before it, so a caller makes the choice
 * between a map that scores all keys and an attention to a chunk of them. Plans are made once.
 */
#include "maps.h"

enum { ROWS = 9, N = 40, D = 6, V = 5, CHUNK = 4 };

struct mocha {
    heed_array q, energy_q, k, energy_k, v, o, scores, range;
    heed_plan *energy, *attend;
    struct linear_call score;
    heed_attn_desc desc;
    heed_source source;
    heed_term see;
    heed_slot slot;
};

/* Row i of an array of rows. */
static heed_array row_cut(const heed_array *a, int64_t i)
{
    heed_array cut = *a;

    cut.t.shape[2] = 1;
    cut.buf.handle = world_row(a, 0, 0, i);
    return cut;
}

static void plans_make(struct mocha *m)
{
    m->score = linear_call();
    GIVE(&m->score, x, row_cut(&m->energy_q, 0));
    GIVE(&m->score, w, m->energy_k);
    m->score.desc.w = heed_array_dense(HEED_F32, NULL, 2, (const int64_t[]){ N, D }).t;
    GIVE(&m->score, y, m->scores);
    m->energy = linear_plan(&m->score);
    m->see = (heed_term){ .kind = HEED_TERM_SEGMENT, .block = 1, .slot = 1 };
    m->slot = (heed_slot){ .t = m->range.t };
    m->source = (heed_source){ .k = m->k.t, .v = m->v.t, .terms = &m->see, .n_terms = 1,
                               .term_size = sizeof(m->see) };
    m->desc = (heed_attn_desc){ .size = sizeof(m->desc),
                                .flags = HEED_PLAN_OWN_WORKSPACE | HEED_ATTN_ALIGN_START,
                                .q = row_cut(&m->q, 0).t, .o = row_cut(&m->o, 0).t,
                                .sources = &m->source, .n_sources = 1,
                                .source_size = sizeof(m->source), .slots = &m->slot,
                                .n_slots = 1, .slot_size = sizeof(m->slot) };
    ck_assert_int_eq(heed_attn_plan(world.device, &m->desc, &m->attend, &world.why), HEED_OK);
}

/* The row's chunk ends at the first key from `from` on whose energy is at least 0: a sigmoid of at
 * least a half. N: there is none, and the row sees nothing. */
static int64_t row_run(struct mocha *m, int64_t i, int64_t from)
{
    const heed_kv_bufs kv = { m->k.buf, m->v.buf };
    int32_t *const range = m->range.buf.handle;
    int64_t at = from;
    heed_attn_args args = { .size = sizeof(args), .kv_size = sizeof(kv), .kv = &kv,
                            .slots = &m->range.buf, .n_slots = 1 };

    m->score.args.x = row_cut(&m->energy_q, i).buf;
    linear_again(m->energy, &m->score);
    while (at < N && world_f32(&m->scores)[at] < 0)
        at++;
    range[0] = (int32_t)(at - CHUNK + 1);
    range[1] = (int32_t)(at < N ? at + 1 : 0);
    args.q = row_cut(&m->q, i).buf;
    args.o = row_cut(&m->o, i).buf;
    ck_assert_int_eq(heed_attn_run(m->attend, world.queue, &args, NULL, &world.why), HEED_OK);
    return at;
}

/* The choice in double; energies of the test are far from 0. */
static int64_t choice_want(const struct mocha *m, int64_t i, int64_t from)
{
    for (int64_t j = from; j < N; j++) {
        double energy = 0;

        for (int64_t c = 0; c < D; c++)
            energy += (double)world_row(&m->energy_q, 0, 0, i)[c] *
                      (double)world_row(&m->energy_k, 0, 0, j)[c];
        ck_assert(fabs(energy) > 1e-4);
        if (energy >= 0)
            return j;
    }
    return N;
}

static bool in_chunk(const void *p, int64_t b, int64_t h, int64_t i, int set, int64_t j)
{
    const int64_t at = ((const int64_t *)p)[i];

    (void)b, (void)h, (void)set;
    return at < N && j > at - CHUNK && j <= at;
}

TEST(chunks_that_a_monotonic_choice_ends)
{
    struct mocha m;
    int64_t chosen[ROWS], at = 0, moved = 0;
    struct approx q, want;
    struct approx_keys keys;

    world_open();
    m.q = world_floats(1, 1, ROWS, D);
    m.energy_q = world_floats(1, 1, ROWS, D);
    m.k = world_floats(1, 1, N, D);
    m.energy_k = world_floats(1, 1, N, D);
    m.v = world_floats(1, 1, N, V);
    m.o = world_array(HEED_F32, 1, 1, ROWS, V, -1);
    m.scores = world_array(HEED_F32, 1, 1, 1, N, -1);
    m.range = world_array(HEED_I32, 1, 2, -1, -1, -1);
    plans_make(&m);
    for (int64_t i = 0; i < ROWS; i++) {
        chosen[i] = choice_want(&m, i, at);
        ck_assert_int_eq(row_run(&m, i, at), chosen[i]);
        moved += chosen[i] > at;
        at = chosen[i];
    }
    ck_assert_int_gt(moved, 2);
    heed_plan_drop(m.energy);
    heed_plan_drop(m.attend);
    q = approx_of(&m.q);
    keys = (struct approx_keys){ approx_of(&m.k), approx_of(&m.v) };
    want = approx_attend(&q, &keys, 1, in_chunk, chosen);
    approx_judge(&m.o, &want, 1e-3, "MoChA");
}

int main(void)
{
    return suite_run("mocha", 240, NULL, world_close);
}
