/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Blocks that are sorted by a learnt matrix, balanced by rows and columns (Tay et al. 2020,
 * Sinkhorn Transformer, section 3), and clusters whose centres follow their tokens (Roy et al.
 * 2021, Routing Transformer, section 4.1), by a few calls and against the formulas in double.
 */
#include "maps.h"

#include <heed/pool.h>

WORLD_OPERATION(pool)

enum { H = 2, BLOCK = 6, BLOCKS = 5, N = BLOCK * BLOCKS, D = 4, V = 3, ROUNDS = 2 };

static const double unit = 0x1p-24, of_exp = 1.2e-7; /* the latter: of e^x, heed/nn.h */

/* ---- the sorting matrix ---- */

/* One column of a row's sums, seen as all of its channels. */
static heed_array widened(const heed_array *column, int64_t d)
{
    heed_array wide = *column;

    wide.t.shape[3] = d;
    wide.t.stride[3] = 0;
    return wide;
}

static heed_array transposed(const heed_array *a)
{
    heed_array t = *a;

    t.t.stride[2] = a->t.stride[3];
    t.t.stride[3] = a->t.stride[2];
    return t;
}

/* Each row of a square matrix over its sum. */
static void rows_balance(const heed_array *r)
{
    const heed_array ones = world_array(HEED_F32, 1, BLOCKS, -1, -1, -1);
    const heed_array sums = world_array(HEED_F32, 1, H, BLOCKS, 1, -1);
    const heed_array wide = widened(&sums, BLOCKS);

    fill(&ones, 1);
    project(r, &ones, NULL, HEED_ACT_NONE, &sums);
    activate(HEED_ACT_INVERSE, &sums, NULL, NULL, &sums);
    activate(HEED_ACT_NONE, r, &wide, NULL, r);
}

/* R = balanced e^(W s), s the sums of the blocks of x. */
static heed_array sorting(const heed_array *x, const heed_array *w)
{
    const heed_array s = world_array(HEED_F32, 1, H, BLOCKS, D, -1);
    const heed_array r = world_array(HEED_F32, 1, H, BLOCKS, BLOCKS, -1);
    const heed_array columns = transposed(&r);
    struct pool_call call = pool_call();

    call.desc.kind = HEED_POOL_SUM;
    call.desc.kernel = call.desc.stride = BLOCK;
    GIVE(&call, x, *x);
    GIVE(&call, y, s);
    pool_run(&call);
    project(&s, w, NULL, HEED_ACT_NONE, &r);
    activate(HEED_ACT_EXP, &r, NULL, NULL, &r);
    for (int i = 0; i < ROUNDS; i++) {
        rows_balance(&r);
        rows_balance(&columns);
    }
    return r;
}

/* The same in double. All elements are positive: a sum is off by the share of its terms and its own
 * roundings, and a quotient by both shares. */
static struct approx sorting_want(const heed_array *x, const heed_array *w)
{
    struct approx r = approx_new(1, H, BLOCKS, BLOCKS);
    double share = 0;

    for (int64_t at = 0; at < H * BLOCKS * BLOCKS; at++) {
        const int64_t h = at / BLOCKS / BLOCKS, i = at / BLOCKS % BLOCKS, j = at % BLOCKS;
        double size = 0;

        for (int64_t t = 0; t < BLOCK * D; t++) {
            const double term = (double)world_f32(w)[j * D + t % D] *
                                (double)world_row(x, 0, h, i * BLOCK + t / D)[t % D];

            r.x[at] += term;
            size += fabs(term);
        }
        r.x[at] = exp(r.x[at]);
        share = fmax(share, expm1((BLOCK + D + 4) * unit * size) + of_exp);
    }
    for (int half = 0; half < 2 * ROUNDS; half++) {
        struct approx before = r;

        r = approx_new(1, H, BLOCKS, BLOCKS);
        for (int64_t at = 0; at < H * BLOCKS * BLOCKS; at++) {
            double sum = 0;

            for (int64_t i = 0; i < BLOCKS; i++)
                sum += before.x[half % 2 ? at / BLOCKS / BLOCKS * BLOCKS * BLOCKS + i * BLOCKS +
                                               at % BLOCKS
                                         : at / BLOCKS * BLOCKS + i];
            r.x[at] = before.x[at] / sum;
        }
        share = 1.01 * (2 * share + (BLOCKS + 4) * unit);
    }
    for (int64_t at = 0; at < H * BLOCKS * BLOCKS; at++)
        r.e[at] = share * r.x[at];
    return r;
}

/* Block i of the result is the sum over blocks j of R[i][j] times block j: a map whose channels are
 * the blocks, and whose rows are what a block has. */
static heed_array blocks_sort(const heed_array *r, const heed_array *x)
{
    const int64_t d = x->t.shape[3];
    const heed_array sorted = world_array(HEED_F32, 1, H, N, d, -1);
    const heed_tensor view = { HEED_F32, 4, { 1, H, BLOCK * d, BLOCKS },
                               { 0, N * d, 1, BLOCK * d } };
    heed_array from = *x, to = sorted, w = *r;

    from.t = to.t = view;
    w.t = heed_array_dense(HEED_F32, NULL, 3, (const int64_t[]){ H, BLOCKS, BLOCKS }).t;
    project(&from, &w, NULL, HEED_ACT_NONE, &to);
    return sorted;
}

static struct approx blocks_want(const struct approx *r, const heed_array *x)
{
    const struct approx exact = approx_of(x);
    struct approx sorted = approx_new(1, H, N, exact.d);

    for (int64_t at = 0; at < H * N; at++) {
        const int64_t h = at / N, i = at % N / BLOCK;
        const double *const p = r->x + (h * BLOCKS + i) * BLOCKS;
        const double share = r->e[(h * BLOCKS + i) * BLOCKS] / p[0];
        int64_t rows[BLOCKS];

        for (int64_t j = 0; j < BLOCKS; j++)
            rows[j] = approx_at(&exact, 0, h, j * BLOCK + at % N % BLOCK);
        approx_sum(&exact, rows, p, BLOCKS, &sorted, at * exact.d);
        for (int64_t c = 0; c < exact.d; c++)
            for (int64_t j = 0; j < BLOCKS; j++)
                sorted.e[at * exact.d + c] += 1.01 * share * p[j] * fabs(exact.x[rows[j] + c]);
    }
    return sorted;
}

static bool in_block(const void *p, int64_t b, int64_t h, int64_t i, int set, int64_t j)
{
    (void)p, (void)b, (void)h, (void)set;
    return i / BLOCK == j / BLOCK;
}

/* Rows see the keys of their block, and those that were sorted into its place. */
static void attend(const heed_array *q, const heed_array *const k[2], const heed_array *const v[2],
                   const heed_array *o)
{
    const heed_term see[] = { { .kind = HEED_TERM_WINDOW, .block = BLOCK } };
    const heed_kv_bufs kv[2] = { { k[0]->buf, v[0]->buf }, { k[1]->buf, v[1]->buf } };
    heed_source sources[2] = { { .k = k[0]->t, .v = v[0]->t, .terms = HEED_ARRAY(see) },
                               { .k = k[1]->t, .v = v[1]->t, .terms = HEED_ARRAY(see) } };
    const heed_attn_desc desc = { .size = sizeof(desc), .flags = HEED_PLAN_OWN_WORKSPACE,
                                  .q = q->t, .o = o->t, .sources = HEED_ARRAY(sources) };
    const heed_attn_args args = { .size = sizeof(args), .kv_size = sizeof(kv[0]), .q = q->buf,
                                  .o = o->buf, .kv = kv };

    world_attend(&desc, &args);
}

TEST(blocks_sorted_by_a_balanced_matrix)
{
    const heed_array x = (world_open(), world_floats(1, H, N, D));
    const heed_array w = world_array(HEED_F32, BLOCKS, D, -1, -1, -1);
    const heed_array q = world_floats(1, H, N, D), k = world_floats(1, H, N, D);
    const heed_array v = world_floats(1, H, N, V), o = world_array(HEED_F32, 1, H, N, V, -1);
    heed_array r, sorted[2];
    struct approx of_q, of_r, want;
    struct approx_keys sets[2];

    for (int64_t i = 0; i < BLOCKS * D; i++)
        world_f32(&w)[i] = world_float() / 32;
    r = sorting(&x, &w);
    of_r = sorting_want(&x, &w);
    approx_judge(&r, &of_r, 1e-3, "Sinkhorn");
    sorted[0] = blocks_sort(&r, &k);
    sorted[1] = blocks_sort(&r, &v);
    attend(&q, (const heed_array *const[]){ &sorted[0], &k },
           (const heed_array *const[]){ &sorted[1], &v }, &o);
    of_q = approx_of(&q);
    sets[0] = (struct approx_keys){ blocks_want(&of_r, &k), blocks_want(&of_r, &v) };
    sets[1] = (struct approx_keys){ approx_of(&k), approx_of(&v) };
    want = approx_attend(&of_q, sets, 2, in_block, NULL);
    approx_judge(&o, &want, 1e-2, "sorted blocks");
}

/* ---- centres of clusters ---- */

enum { CLUSTERS = 4 };

static heed_array constant(float value)
{
    const heed_array one = world_array(HEED_F32, 1, 1, 1, 1, -1);
    heed_array all = one;

    world_f32(&one)[0] = value;
    all.t.shape[1] = H;
    all.t.shape[2] = CLUSTERS;
    all.t.shape[3] = D;
    memset(all.t.stride, 0, sizeof(all.t.stride));
    return all;
}

/* mu = keep mu + (1 - keep) times the mean of the cluster's tokens, in place. */
TEST(centres_follow_the_means_of_their_tokens)
{
    const float keep = 0.875f;
    const heed_array x = (world_open(), world_floats(1, H, N, D));
    const heed_array mu = world_floats(1, H, CLUSTERS, D), old = constant(keep);
    const heed_array means = world_array(HEED_F32, 1, H, CLUSTERS, D, -1);
    const heed_array fresh = constant(1 - keep);
    const heed_array ids = world_array(HEED_I32, 1, H, N, -1, -1);
    struct pool_call call = pool_call();
    struct approx want = approx_new(1, H, CLUSTERS, D);

    for (int64_t i = 0; i < H * N; i++)
        ((int32_t *)ids.buf.handle)[i] = (int32_t)(i % N < CLUSTERS ? i % N : i * i % 7 % CLUSTERS);
    for (int64_t at = 0; at < H * CLUSTERS * D; at++) {
        const int64_t h = at / D / CLUSTERS;
        double sum = 0, size = 0, n = 0;

        for (int64_t i = 0; i < N; i++) {
            const double value = (double)world_row(&x, 0, h, i)[at % D];
            const bool mine = ((int32_t *)ids.buf.handle)[h * N + i] == at / D % CLUSTERS;

            sum += mine ? value : 0;
            size += mine ? fabs(value) : 0;
            n += mine;
        }
        ck_assert(n > 0);
        want.x[at] = (double)keep * (double)world_f32(&mu)[at] + (1 - (double)keep) * sum / n;
        want.e[at] = (n + 4) * unit * size / n + 2 * unit * fabs((double)world_f32(&mu)[at]);
    }
    call.desc.kind = HEED_POOL_BUCKET;
    call.desc.block = N;
    call.desc.buckets = CLUSTERS;
    GIVE(&call, x, x);
    GIVE(&call, ids, ids);
    GIVE(&call, y, means);
    pool_run(&call);
    activate(HEED_ACT_NONE, &means, &fresh, NULL, &means);
    activate(HEED_ACT_NONE, &mu, &old, &means, &mu);
    approx_judge(&mu, &want, 1e-4, "centres");
}

int main(void)
{
    return suite_run("sinkhorn", 240, NULL, world_close);
}
