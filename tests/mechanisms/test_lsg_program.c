/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * LSG with sparse keys that are computed.
 */
#include "program_world.h"

enum { HEADS = 4 };

struct lsg {
    uint32_t sparsity, flags;
    int64_t block, factor, sparse_block;
};

/* ---- Condevaux and Harispe 2022, sections 3.1 to 3.3 ---- */

static int64_t per_block(const struct lsg *p)
{
    return p->block / p->factor;
}

/* How often entry t of the sparse sequence is among the keys of row i: "two blocks of sparse keys
 * next to the local context". */
static int64_t sparse_times(const struct lsg *p, int64_t i, int64_t t)
{
    const int64_t c = per_block(p), mine = i / p->block;
    int64_t times = 0;

    for (int64_t x = 0; x < p->sparse_block; x++) {
        times += (mine - 1) * c - p->sparse_block + x == t;
        times += (mine + 2) * c + x == t && !(p->flags & HEED_LSG_CAUSAL);
    }
    return times;
}

static int64_t local_times(const struct lsg *p, int64_t i, int64_t j)
{
    const int64_t apart = j / p->block - i / p->block;

    return apart >= -1 && apart <= 1 && (j <= i || !(p->flags & HEED_LSG_CAUSAL));
}

/* Section 3.2: "inside each block and each head, the b / f tokens with the largest norm of k". The
 * rank of j among the present tokens of its block; equal norms go to the lower token. */
static int64_t rank_of(const struct world_of *w, int64_t b, int64_t kv, int64_t unit, int64_t j)
{
    int64_t rank = 0;
    double norm[2];

    for (int64_t x = j / unit * unit; x < (j / unit + 1) * unit && x < w->set[0].n; x++) {
        const int64_t token[2] = { j, x };

        for (int y = 0; y < 2; y++) {
            const float *k = world_row(&w->set[0].k, b, kv, token[y]);

            norm[y] = 0;
            for (int64_t t = 0; t < w->d; t++)
                norm[y] += (double)k[t] * (double)k[t];
        }
        rank += world_present(w, b, 0, x) && (norm[1] > norm[0] || (norm[1] >= norm[0] && x < j));
    }
    return rank;
}

/* Which entry of the sparse sequence the token is, or -1: those of a block in any order, since a
 * side has whole blocks of them. */
static int64_t entry_of(const struct world_of *w, int64_t b, int64_t h, int64_t j)
{
    const struct lsg *p = w->p;
    const int64_t unit = p->sparse_block < p->block ? p->sparse_block : p->block,
                  count = unit / p->factor, rank = rank_of(w, b, world_kv_head(w, h), unit, j);

    return rank < count ? j / unit * count + rank : -1;
}

static int64_t norm_times(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                          int64_t j)
{
    const struct lsg *p = w->p;
    const int64_t entry = set == 0 ? entry_of(w, b, h, j) : -1;

    if (set == 1)
        return 1;
    return local_times(p, i, j) + (entry >= 0 ? sparse_times(p, i, entry) : 0);
}

static int64_t pooled_times(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                            int64_t j)
{
    (void)b, (void)h;
    if (set == 1)
        return 1;
    return set == 0 ? local_times(w->p, i, j) : sparse_times(w->p, i, j);
}

/* The same, of keys that may be there for one head and not for another. */
static int64_t weighed_times(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                             int64_t j)
{
    const struct key_set *keys = &w->set[set];

    if (set == SPARSE &&
        !keys->by_head[(b * world_kv_heads(w) + world_kv_head(w, h)) * keys->n + j])
        return 0;
    return pooled_times(w, b, h, i, set, j);
}

/* ---- sparse keys of their own ---- */

/* The mean of tokens [from, to) that are present; false: there is none. */
static bool mean(const struct world_of *w, int64_t b, int64_t h, int64_t from, int64_t to,
                 const heed_array *x, float *y, float *size)
{
    const int64_t d = x->t.shape[3];
    bool any = false;

    for (int64_t c = 0; c < d; c++) {
        double sum = 0, all = 0, count = 0;

        for (int64_t j = from; j < to && j < w->set[0].n; j++) {
            if (!world_present(w, b, 0, j))
                continue;
            sum += (double)world_row(x, b, h, j)[c];
            all += fabs((double)world_row(x, b, h, j)[c]);
            count++;
        }
        any = count > 0;
        y[c] = any ? (float)(sum / count) : 0;
        size[c] = any ? (float)(all / count) : 0;
    }
    return any;
}

/* Section 3.2: "average pooling" of f tokens each. */
static void pooled_derive(struct world_of *w)
{
    const int64_t f = ((const struct lsg *)w->p)->factor, heads = world_kv_heads(w);
    struct key_set *set = &w->set[SPARSE];
    float *k_size = world_new((size_t)(w->batch * heads * set->n * w->d) * sizeof(float)),
          *v_size = world_new((size_t)(w->batch * heads * set->n * w->d_v) * sizeof(float));

    for (int64_t b = 0; b < w->batch; b++)
        for (int64_t h = 0; h < heads; h++)
            for (int64_t j = 0; j < set->n; j++) {
                const int64_t row = (b * heads + h) * set->n + j;

                set->mask[b * set->n + j] =
                    mean(w, b, h, j * f, j * f + f, &w->set[0].k, world_row(&set->k, b, h, j),
                         k_size + row * w->d);
                mean(w, b, h, j * f, j * f + f, &w->set[0].v, world_row(&set->v, b, h, j),
                     v_size + row * w->d_v);
            }
    set->k_size = k_size;
    set->v_size = v_size;
    set->made = (double)f + 6;
}

/* Section 3.2, "LSH": of a block the means of tokens with one hash. A hash is the largest of [x R,
 * -x R]; further rounds hash the sums of keys of one hash. */
enum { MOST_UNIT = 16, MOST_COLUMNS = 8 };

static heed_array rounds[2];
static int n_rounds;

static int64_t hash_of(const heed_array *round, int64_t h, const double *x, int64_t d)
{
    const int64_t m = round->t.shape[2];
    double best = -(double)INFINITY;
    int64_t id = 0;

    for (int64_t side = 0; side < 2; side++)
        for (int64_t j = 0; j < m; j++) {
            double s = 0;

            for (int64_t t = 0; t < d; t++)
                s += x[t] * (double)world_f32(round)[(h * d + t) * m + j];
            if ((side ? -s : s) > best) {
                best = side ? -s : s;
                id = side * m + j;
            }
        }
    return id;
}

/* Hashes of the present tokens of the block that begins with `from`. */
static void hashes_of(const struct world_of *w, int64_t b, int64_t h, int64_t from, int64_t unit,
                      int64_t ids[MOST_UNIT])
{
    double sums[MOST_UNIT][8] = { { 0 } };
    int64_t n = unit;

    for (int64_t x = 0; x < unit; x++) {
        ids[x] = from + x < w->set[0].n && world_present(w, b, 0, from + x) ? x : -1;
        for (int64_t t = 0; t < w->d && ids[x] >= 0; t++)
            sums[x][t] = (double)world_row(&w->set[0].k, b, h, from + x)[t];
    }
    for (int r = 0; r < n_rounds; r++) {
        double next[MOST_UNIT][8] = { { 0 } };
        int64_t to[MOST_UNIT];

        for (int64_t x = 0; x < n; x++) {
            bool used = false;

            for (int64_t y = 0; y < unit; y++)
                used |= ids[y] == x;
            to[x] = used ? hash_of(&rounds[r], h, sums[x], w->d) : 0;
            for (int64_t t = 0; t < w->d && used; t++)
                next[to[x]][t] += sums[x][t];
        }
        for (int64_t y = 0; y < unit; y++)
            ids[y] = ids[y] < 0 ? -1 : to[ids[y]];
        n = 2 * rounds[r].t.shape[2];
        memcpy(sums, next, sizeof(sums));
    }
}

/* Weights of the tokens of computed key j for a head; absent ones have 0. */
typedef void weights_fn(const struct world_of *w, int64_t b, int64_t h, int64_t j, int64_t *from,
                        int64_t *n, double weights[MOST_UNIT]);

static void hash_weights(const struct world_of *w, int64_t b, int64_t h, int64_t j, int64_t *from,
                         int64_t *n, double weights[MOST_UNIT])
{
    const struct lsg *p = w->p;
    const int64_t unit = p->sparse_block < p->block ? p->sparse_block : p->block,
                  count = unit / p->factor;
    int64_t ids[MOST_UNIT];

    *from = j / count * unit;
    *n = unit;
    hashes_of(w, b, h, *from, unit, ids);
    for (int64_t x = 0; x < unit; x++)
        weights[x] = ids[x] == j % count;
}

/* Public code of the paper, bos_pooling: softmax(Q_bos . K / sqrt(d)) over the group. */
static void bos_weights(const struct world_of *w, int64_t b, int64_t h, int64_t j, int64_t *from,
                        int64_t *n, double weights[MOST_UNIT])
{
    const int64_t f = ((const struct lsg *)w->p)->factor;
    const float *q = world_row(&w->q, b, h, 0);

    *from = j * f;
    *n = f;
    for (int64_t x = 0; x < f; x++) {
        double y = 0;

        weights[x] = 0;
        if (j * f + x >= w->set[0].n || !world_present(w, b, 0, j * f + x))
            continue;
        for (int64_t t = 0; t < w->d; t++)
            y += (double)q[t] * (double)world_row(&w->set[0].k, b, h, j * f + x)[t];
        weights[x] = exp(y / sqrt((double)w->d));
    }
}

static bool weighed(const struct world_of *w, weights_fn *of, int64_t b, int64_t h, int64_t j,
                    const heed_array *x, float *y, float *size)
{
    int64_t from, n;
    double weights[MOST_UNIT], sum = 0;

    of(w, b, h, j, &from, &n, weights);
    ck_assert_int_le(n, MOST_UNIT);
    for (int64_t i = 0; i < n; i++)
        sum += weights[i];
    for (int64_t c = 0; c < x->t.shape[3]; c++) {
        double value = 0, all = 0;

        for (int64_t i = 0; i < n; i++) {
            if (weights[i] <= 0)
                continue;
            value += weights[i] / sum * (double)world_row(x, b, h, from + i)[c];
            all += weights[i] / sum * fabs((double)world_row(x, b, h, from + i)[c]);
        }
        y[c] = (float)value;
        size[c] = (float)all;
    }
    return sum > 0;
}

static void weighed_derive(struct world_of *w, weights_fn *of, double made)
{
    const int64_t heads = world_kv_heads(w);
    struct key_set *set = &w->set[SPARSE];
    float *k_size = world_new((size_t)(w->batch * heads * set->n * w->d) * sizeof(float)),
          *v_size = world_new((size_t)(w->batch * heads * set->n * w->d_v) * sizeof(float));

    for (int64_t b = 0; b < w->batch; b++)
        for (int64_t h = 0; h < heads; h++)
            for (int64_t j = 0; j < set->n; j++) {
                const int64_t row = (b * heads + h) * set->n + j;

                set->by_head[row] = weighed(w, of, b, h, j, &w->set[0].k,
                                            world_row(&set->k, b, h, j), k_size + row * w->d);
                weighed(w, of, b, h, j, &w->set[0].v, world_row(&set->v, b, h, j),
                        v_size + row * w->d_v);
            }
    set->k_size = k_size;
    set->v_size = v_size;
    set->made = made;
}

static void hash_derive(struct world_of *w)
{
    weighed_derive(w, hash_weights, MOST_UNIT + 6);
}

/* A weight is off by the roundings of its score, d + 8 of at most 64 / sqrt(8). */
static void bos_derive(struct world_of *w)
{
    weighed_derive(w, bos_weights, 16 + 2 * (8 + 8) * 23);
}

/* ---- programs ---- */

static heed_lsg_program_desc lsg_desc(const struct world_of *w)
{
    const struct lsg *p = w->p;
    heed_lsg_program_desc desc = {
        .size = sizeof(desc),
        .flags = p->flags,
        .numerics = HEED_NUMERICS_EXACT,
        .sparsity = p->sparsity,
        .q = w->q.t,
        .o = w->o.t,
        .text = world_keys(w, 0),
        .block = p->block,
        .factor = p->factor,
        .sparse_block = p->sparse_block,
    };

    if (w->set[1].n > 0)
        desc.globals = world_keys(w, 1);
    for (int r = 0; r < n_rounds; r++)
        desc.rounds[r] = rounds[r].t;
    return desc;
}

static void rounds_give(const struct world_of *w, struct brought *s, heed_program_args *args)
{
    (void)w;
    for (int r = 0; r < n_rounds; r++)
        args->rounds[r] = bring_array(s, &rounds[r]);
}

static heed_status lsg_plan(const struct world_of *w, heed_plan **out)
{
    const heed_lsg_program_desc desc = lsg_desc(w);
    const heed_status checked = heed_lsg_program_check(world.device, &desc, &world.why);

    ck_assert_int_eq(checked, heed_lsg_program_plan(world.device, &desc, out, &world.why));
    return checked;
}

static const struct program lsg = { .plan = lsg_plan, .more = rounds_give };

/* How the kinds are proven. */
static const struct kind {
    times_fn *times;
    void (*derive)(struct world_of *);
} kinds[] = {
    [HEED_LSG_NORM] = { norm_times, NULL },
    [HEED_LSG_POOLING] = { pooled_times, pooled_derive },
    [HEED_LSG_LSH] = { weighed_times, hash_derive },
    [HEED_LSG_BOS_POOLING] = { weighed_times, bos_derive },
};

static int64_t sparse_keys(const struct lsg *p, int64_t n)
{
    const int64_t unit = p->sparse_block < p->block ? p->sparse_block : p->block;

    if (p->sparsity == HEED_LSG_LSH)
        return (n + unit - 1) / unit * (unit / p->factor);
    return (n + p->factor - 1) / p->factor;
}

static void lsg_prove(const char *name, const struct lsg *p, int64_t n, int64_t n_globals,
                      int64_t kv_heads, int device)
{
    static uint8_t by_head[2 * HEADS * 64];
    struct world_of w = {
        .name = name,
        .batch = 2,
        .heads = HEADS,
        .kv_heads = kv_heads,
        .n_q = n,
        .d = 8,
        .d_v = 5,
        .n_sets = kinds[p->sparsity].derive ? 3 : 2,
        .set = { { .n = n, .has_len = true, .has_mask = true },
                 { .n = n_globals },
                 { .n = sparse_keys(p, n),
                   .has_mask = p->sparsity == HEED_LSG_POOLING,
                   .by_head = by_head } },
        .times = kinds[p->sparsity].times,
        .derive = kinds[p->sparsity].derive,
        .p = p,
    };

    ck_assert_uint_le((size_t)(2 * HEADS * w.set[SPARSE].n), sizeof(by_head));
    program_prove(&w, &lsg, device);
}

LOOP_TEST(norm, program_devices())
{
    static const struct lsg cases[] = {
        { HEED_LSG_NORM, 0, 8, 2, 8 },                  /* s = b: 5 b + g keys */
        { HEED_LSG_NORM, 0, 8, 4, 4 },                  /* chosen from half blocks */
        { HEED_LSG_NORM, 0, 8, 8, 16 },                 /* c = 1, 16 blocks on each side */
        { HEED_LSG_NORM, 0, 6, 1, 6 },                  /* all tokens */
        { HEED_LSG_NORM, HEED_LSG_CAUSAL, 8, 4, 8 },
    };

    for (size_t x = 0; x < (program_offload() ? 1 : sizeof(cases) / sizeof(cases[0])); x++)
        lsg_prove("lsg, norm", &cases[x], 53, 2, x % 2 ? 2 : HEADS, _i);
    if (!program_offload())
        lsg_prove("lsg, norm, no globals", &cases[0], 16, 0, 1, _i);
}

LOOP_TEST(pooling, program_devices())
{
    static const struct lsg cases[] = {
        { HEED_LSG_POOLING, 0, 8, 2, 8 },
        { HEED_LSG_POOLING, 0, 8, 4, 3 },               /* s no multiple of c */
        { HEED_LSG_POOLING, 0, 8, 8, 16 },
        { HEED_LSG_POOLING, 0, 6, 1, 6 },
        { HEED_LSG_POOLING, HEED_LSG_CAUSAL, 6, 3, 6 },
    };

    for (size_t x = 0; x < (program_offload() ? 1 : sizeof(cases) / sizeof(cases[0])); x++)
        lsg_prove("lsg, pooling", &cases[x], 53, 2, x % 2 ? 2 : HEADS, _i);
    if (!program_offload())
        lsg_prove("lsg, pooling, no globals", &cases[0], 16, 0, 1, _i);
}

static void rounds_make(int n, const int64_t *columns, int64_t heads)
{
    static float values[2][HEADS * 8 * MOST_COLUMNS];

    n_rounds = n;
    for (int r = 0; r < n; r++) {
        rounds[r] = heed_array_dense(HEED_F32, values[r], 3, (int64_t[]){ heads, 8, columns[r] });
        for (int64_t x = 0; x < world_count(&rounds[r]); x++)
            values[r][x] = world_float();
    }
}

LOOP_TEST(hashes, program_devices())
{
    static const struct lsg cases[] = {
        { HEED_LSG_LSH, 0, 16, 4, 16 },                 /* 4 hashes of 16 tokens */
        { HEED_LSG_LSH, 0, 8, 2, 8 },
        { HEED_LSG_LSH, HEED_LSG_CAUSAL, 8, 1, 4 },     /* of half blocks, as many as tokens */
    };

    for (size_t x = 0; x < (program_offload() ? 1 : sizeof(cases) / sizeof(cases[0])); x++) {
        const struct lsg *p = &cases[x];
        const int64_t unit = p->sparse_block, last = unit / p->factor / 2;

        rounds_make(1, &last, HEADS);                           /* the paper's */
        lsg_prove("lsg, LSH", p, 53, 2, HEADS, _i);
        rounds_make(2, (int64_t[]){ unit / 2, last }, 2);       /* public code's */
        lsg_prove("lsg, LSH, two rounds", p, 53, 2, 2, _i);
    }
}

LOOP_TEST(bos_pooling, program_devices())
{
    static const struct lsg cases[] = {
        { HEED_LSG_BOS_POOLING, 0, 8, 4, 8 },
        { HEED_LSG_BOS_POOLING, 0, 8, 2, 3 },
        { HEED_LSG_BOS_POOLING, HEED_LSG_CAUSAL, 6, 3, 6 },
        { HEED_LSG_BOS_POOLING, 0, 6, 1, 6 },
    };

    n_rounds = 0;
    for (size_t x = 0; x < (program_offload() ? 1 : sizeof(cases) / sizeof(cases[0])); x++)
        lsg_prove("lsg, bos pooling", &cases[x], 53, 2, HEADS, _i);
}

int main(void)
{
    if (program_offload() && program_devices() == 0)
        return 77;              /* no vendor has a device here */
    return suite_run("lsg-program", 240, NULL, world_close);
}
