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
    return desc;
}

static heed_status lsg_plan(const struct world_of *w, heed_plan **out)
{
    const heed_lsg_program_desc desc = lsg_desc(w);
    const heed_status checked = heed_lsg_program_check(world.device, &desc, &world.why);

    ck_assert_int_eq(checked, heed_lsg_program_plan(world.device, &desc, out, &world.why));
    return checked;
}

static const struct program lsg = { .plan = lsg_plan };

static void lsg_prove(const char *name, const struct lsg *p, int64_t n, int64_t n_globals,
                      int device)
{
    const bool chosen = p->sparsity == HEED_LSG_NORM;
    struct world_of w = {
        .name = name,
        .batch = 2,
        .heads = HEADS,
        .kv_heads = n_globals == 3 ? 2 : HEADS,
        .n_q = n,
        .d = 8,
        .d_v = 5,
        .n_sets = chosen ? 2 : 3,
        .set = { { .n = n, .has_len = true, .has_mask = true },
                 { .n = n_globals },
                 { .n = (n + p->factor - 1) / p->factor, .has_mask = true } },
        .times = chosen ? norm_times : pooled_times,
        .derive = chosen ? NULL : pooled_derive,
        .p = p,
    };

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
        lsg_prove("lsg, norm", &cases[x], 53, x % 2 ? 3 : 2, _i);
    if (!program_offload())
        lsg_prove("lsg, norm, no globals", &cases[0], 16, 0, _i);
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
        lsg_prove("lsg, pooling", &cases[x], 53, x % 2 ? 3 : 2, _i);
    if (!program_offload())
        lsg_prove("lsg, pooling, no globals", &cases[0], 16, 0, _i);
}

int main(void)
{
    return suite_run("lsg-program", 240, NULL, world_close);
}
