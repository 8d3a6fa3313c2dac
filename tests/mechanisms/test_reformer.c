/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reformer (Kitaev et al. 2020): tokens are hashed, sorted by their hash, and attend in chunks of
 * the sorted sequence; rounds with other hashes are joined by their logsumexp. Six calls of heed a
 * round and one at the end: hash, order, gather, attend, two scatters; merge.
 */
#include "chain.h"

#include <heed/pool.h>

WORLD_OPERATION(copy)
WORLD_OPERATION(merge)
WORLD_OPERATION(order)
WORLD_OPERATION(select)

enum { B = 2, H = 2, N = 61, D = 4, V = 5, CHUNK = 8, ROUNDS = 2, HALF = 3 };

struct round {
    heed_array hash;      /* [1][D][HALF]: ids below 2 * HALF */
    heed_array ids, order;
    heed_array o, lse;    /* [B][H][N][V], [B][H][N]: views of the parts */
};

struct reformer {
    heed_array qk, v;     /* queries are keys */
    heed_array parts, lse, o;
    struct round round[ROUNDS];
};

static heed_array ints(void)
{
    return world_array(HEED_I32, B, H, N, -1, -1);
}

static void hash(const struct reformer *r, const struct round *at)
{
    struct select_call select = select_call();
    struct order_call order = order_call();

    select.desc.kind = HEED_SELECT_HASH;
    select.desc.block = N;
    GIVE(&select, x, r->qk);
    GIVE(&select, rounds[0], at->hash);
    GIVE(&select, y, at->ids);
    select_run(&select);
    order.desc.count = 2 * HALF;
    GIVE(&order, ids, at->ids);
    GIVE(&order, order, at->order);
    order_run(&order);
}

/* y[i] = x[order[i]], or y[order[i]] = x[i]. */
static void move(const heed_array *x, const heed_array *order, bool back, const heed_array *y)
{
    struct copy_call call = copy_call();

    GIVE(&call, x, *x);
    GIVE(&call, y, *y);
    if (back)
        GIVE(&call, to, *order);
    else
        GIVE(&call, from, *order);
    copy_run(&call);
}

/* A chunk sees itself and the one before. */
static void attend(const struct reformer *r, const struct round *at)
{
    const heed_term see[] = { { .kind = HEED_TERM_WINDOW, .block = CHUNK, .left = CHUNK } };
    const heed_array qk = world_array(HEED_F32, B, H, N, D, -1);
    const heed_array v = world_array(HEED_F32, B, H, N, V, -1);
    const heed_array o = world_array(HEED_F32, B, H, N, V, -1);
    const heed_array lse = world_array(HEED_F32, B, H, N, 1, -1);
    const heed_source source[] = { { .k = qk.t, .v = v.t, .terms = HEED_ARRAY(see) } };
    const heed_kv_bufs kv = { qk.buf, v.buf };
    heed_attn_desc desc = { .size = sizeof(desc), .flags = HEED_PLAN_OWN_WORKSPACE, .q = qk.t,
                            .o = o.t, .lse = lse.t, .sources = HEED_ARRAY(source) };
    const heed_attn_args args = { .size = sizeof(args), .kv_size = sizeof(kv), .q = qk.buf,
                                  .o = o.buf, .lse = lse.buf, .kv = &kv };
    heed_array rows = at->lse;

    desc.lse.ndim = 3;
    move(&r->qk, &at->order, false, &qk);
    move(&r->v, &at->order, false, &v);
    world_attend(&desc, &args);
    move(&o, &at->order, true, &at->o);
    rows.t = lse.t; /* rows of one channel */
    move(&lse, &at->order, true, &rows);
}

static void reformer_run(const struct reformer *r)
{
    struct merge_call call = merge_call();

    for (int i = 0; i < ROUNDS; i++) {
        hash(r, &r->round[i]);
        attend(r, &r->round[i]);
    }
    GIVE(&call, parts, r->parts);
    GIVE(&call, parts_lse, r->lse);
    GIVE(&call, o, r->o);
    merge_run(&call);
}

static void reformer_new(struct reformer *r)
{
    r->qk = world_floats(B, H, N, D);
    r->v = world_floats(B, H, N, V);
    r->parts = world_array(HEED_F32, ROUNDS, B, H, N, V);
    r->lse = world_array(HEED_F32, ROUNDS, B, H, N, -1);
    r->o = world_array(HEED_F32, B, H, N, V, -1);
    for (int i = 0; i < ROUNDS; i++) {
        struct round *const at = &r->round[i];

        at->hash = world_floats(1, 1, D, HALF);
        at->hash.t = heed_array_dense(HEED_F32, NULL, 3, (const int64_t[]){ 1, D, HALF }).t;
        at->ids = ints();
        at->order = ints();
        at->o = heed_array4(HEED_F32, world_f32(&r->parts) + i * B * H * N * V, B, H, N, V);
        at->lse = heed_array4(HEED_F32, world_f32(&r->lse) + i * B * H * N, B, H, N, 1);
    }
}

/* ---- the paper ---- */

/* Where each token stands in the sorted sequence: before it are those of smaller ids, and of equal
 * ones those before it. */
struct places {
    int64_t at[B][H][N];
};

static struct places places_of(const heed_array *ids)
{
    const int32_t *const id = ids->buf.handle;
    struct places p = { 0 };

    for (int64_t x = 0; x < B * H * N; x++) {
        const int64_t first = x / N * N;

        for (int64_t j = first; j < first + N; j++)
            p.at[x / N / H][x / N % H][x % N] += id[j] < id[x] || (id[j] == id[x] && j < x);
    }
    return p;
}

/* Equation 6: s_i and s_j are places. */
static bool chunk_sees(const void *p, int64_t b, int64_t h, int64_t i, int set, int64_t j)
{
    const struct places *const s = p;
    const int64_t of_i = s->at[b][h][i] / CHUNK, of_j = s->at[b][h][j] / CHUNK;

    (void)set;
    return of_j == of_i || of_j == of_i - 1;
}

/* Section 2, locality sensitive hashing: the largest of [x R; -x R], which rounding may take for
 * another that is as large but for it. */
static void hash_judge(const struct reformer *r, const struct round *at)
{
    for (int64_t x = 0; x < B * H * N; x++) {
        const float *const row = world_f32(&r->qk) + x * D;
        const int32_t id = ((const int32_t *)at->ids.buf.handle)[x];
        double score[2 * HALF], size = 0;

        ck_assert(id >= 0 && id < 2 * HALF);
        for (int m = 0; m < HALF; m++) {
            score[m] = 0;
            for (int c = 0; c < D; c++) {
                const double product = (double)row[c] * (double)world_f32(&at->hash)[c * HALF + m];

                score[m] += product;
                size += fabs(product);
            }
            score[HALF + m] = -score[m];
        }
        for (int m = 0; m < 2 * HALF; m++)
            ck_assert(score[id] >= score[m] - 2 * (D + 1) * 0x1p-24 * size);
    }
}

/* Of the rounds as heed has them: softmax of their LSE. */
static void merge_judge(const struct reformer *r)
{
    static struct seen_row row;
    struct approx want = approx_new(B, H, N, V);

    for (int64_t x = 0; x < B * H * N; x++) {
        row.n = 0;
        for (int i = 0; i < ROUNDS; i++) {
            const double lse = (double)world_f32(&r->round[i].lse)[x];

            row.key[row.n++] = (struct seen_key){ .y = lse, .size = fabs(lse),
                                                  .v = world_f32(&r->round[i].o) + x * V };
        }
        approx_mix(&row, 0, &want, x * V);
    }
    approx_judge(&r->o, &want, 1e-4, "rounds joined");
}

TEST(reformer)
{
    struct reformer r;

    world_open();
    reformer_new(&r);
    reformer_run(&r);
    for (int i = 0; i < ROUNDS; i++) {
        const struct places places = places_of(&r.round[i].ids);
        const struct approx qk = approx_of(&r.qk);
        const struct approx_keys keys = { qk, approx_of(&r.v) };
        const struct approx o = approx_attend(&qk, &keys, 1, chunk_sees, &places);

        hash_judge(&r, &r.round[i]);
        approx_judge(&r.round[i].o, &o, 1e-3, "a round of hashing");
    }
    merge_judge(&r);
}

int main(void)
{
    return suite_run("reformer", 240, NULL, world_close);
}
