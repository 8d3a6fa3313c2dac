/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * dialect_mma.h in C17: a model of a matrix unit that is as careless as docs/numerics.md section 11
 * allows. It takes HK_MMA_TERMS products at a time, from the last to the first; aligns them and the
 * sum so far to the largest exponent among them, cuts off what lies below 24 bits, adds, and cuts
 * again (Fasi, Higham, Mikaitis and Pranesh 2021, "Numerical behavior of NVIDIA tensor cores",
 * section 3, found no more than this in any unit).
 */
#ifndef HEED_BACKENDS_KERNELS_DIALECT_DIALECT_MODEL_H
#define HEED_BACKENDS_KERNELS_DIALECT_DIALECT_MODEL_H

#ifndef HK_MMA_TERMS
#define HK_MMA_TERMS 4
#endif

/* A wave's matrices. */
struct hk_mma_model {
    float a[HK_MMA_M][16], b[HK_MMA_N][16];     /* b: by column */
    float c[HK_MMA_M][HK_MMA_N];
};

/* Of a number that is not 0. */
HK_FN int hk_model_exponent(double x)
{
    int e;

    (void)frexp(x, &e);
    return e - 1;
}

/* To binary32, towards 0. */
HK_FN float hk_model_cut(double x)
{
    float y = (float)x;

    if (fabs((double)y) > fabs(x))
        y = nextafterf(y, 0.0f);
    return y;
}

/* x times y of n terms, and c. */
HK_FN float hk_model_sum(const float *x, const float *y, int n, float c)
{
    double term[HK_MMA_TERMS + 1], unit, sum = 0;
    int most = -10000, i;

    for (i = 0; i < n; i++)
        term[i] = (double)x[i] * (double)y[i];          /* exact */
    term[n] = (double)c;
    for (i = 0; i <= n; i++) {
        if (!isfinite(term[i])) {
            for (i = 0; i <= n; i++)
                sum += term[i];
            return (float)sum;
        }
        if (term[i] != 0.0 && hk_model_exponent(term[i]) > most)
            most = hk_model_exponent(term[i]);
    }
    if (most == -10000)
        return 0.0f;
    unit = ldexp(1.0, most < -126 ? -149 : most - 23);
    for (i = 0; i <= n; i++)
        sum += trunc(term[i] / unit);                   /* integers: exact */
    return hk_model_cut(sum * unit);
}

HK_FN void hk_model_mma(struct hk_mma_model *m)
{
    int i, j, t;

    for (i = 0; i < HK_MMA_M; i++) {
        for (j = 0; j < HK_MMA_N; j++) {
            for (t = 16 - HK_MMA_TERMS; t >= 0; t -= HK_MMA_TERMS)
                m->c[i][j] =
                    hk_model_sum(m->a[i] + t, m->b[j] + t, HK_MMA_TERMS, m->c[i][j]);
        }
    }
}

/* A lane's words of A and B go to the matrices; where two lanes hold the same, they must agree. */
HK_FN void hk_model_half(float *to, hk_u32 bits, int again)
{
    const float x = hk_mma_wide(bits);

    assert(!again || hk_word(*to) == hk_word(x));
    (void)again;
    *to = x;
}

HK_FN void hk_model_take_a(struct hk_mma_model *m, hk_i32 lane, const struct hk_mma_a *a)
{
    const int again = lane >= HK_MMA_LANES / HK_MMA_TWICE;
    hk_i32 w;

    for (w = 0; w < HK_MMA_A_WORDS; w++) {
        float *const at = m->a[hk_mma_a_row(lane, w)] + hk_mma_a_term(lane, w);

        hk_model_half(at, a->word[w] & 0xffffu, again);
        hk_model_half(HK_MMA == 6 ? at + 16 : at + 1, a->word[w] >> 16, again);
    }
}

HK_FN void hk_model_take_b(struct hk_mma_model *m, hk_i32 lane, const struct hk_mma_b *b)
{
    const int again = lane >= HK_MMA_LANES / HK_MMA_TWICE;
    hk_i32 w;

    for (w = 0; w < HK_MMA_B_WORDS; w++) {
        float *const at = m->b[hk_mma_b_column(lane, w)] + hk_mma_b_term(lane, w);

        hk_model_half(at, b->word[w] & 0xffffu, again);
        hk_model_half(at + 1, b->word[w] >> 16, again);
    }
}

/* give 0: a lane's items go to the matrix; 1: they come from it. */
HK_FN void hk_model_items(struct hk_mma_model *m, hk_i32 lane, struct hk_mma_c *c, int give)
{
    hk_i32 i;

    for (i = 0; i < HK_MMA_ITEMS; i++) {
        float *const at = &m->c[hk_mma_row(lane, i)][hk_mma_column(lane, i)];

        if (give)
            c->x[i] = *at;
        else
            *at = c->x[i];
    }
}

/* Of every wave: what lies so many bytes from the beginning of what each thread keeps. */
HK_NOINLINE void hk_model_run(char *mine, size_t bytes, size_t a, size_t b, size_t c)
{
    struct hk_mma_model model;
    hk_i32 wave, lane;

    for (wave = 0; wave < HK_THREADS; wave += HK_MMA_LANES) {
        char *const first = mine + (size_t)wave * bytes;

        for (lane = 0; lane < HK_MMA_LANES; lane++) {
            char *const one = first + (size_t)lane * bytes;

            hk_model_take_a(&model, lane, (const struct hk_mma_a *)(void *)(one + a));
            hk_model_take_b(&model, lane, (const struct hk_mma_b *)(void *)(one + b));
            hk_model_items(&model, lane, (struct hk_mma_c *)(void *)(one + c), 0);
        }
        hk_model_mma(&model);
        for (lane = 0; lane < HK_MMA_LANES; lane++)
            hk_model_items(&model, lane,
                           (struct hk_mma_c *)(void *)(first + (size_t)lane * bytes + c), 1);
    }
}

/* Likewise: n words of every thread, and where they go. */
HK_NOINLINE void hk_model_trade(char *mine, size_t bytes, size_t from, size_t to, hk_i32 n,
                                hk_i32 step)
{
    hk_i32 id;

    assert(step < HK_MMA_LANES);
    for (id = 0; id < HK_THREADS; id++)
        memcpy(mine + (size_t)id * bytes + to, mine + (size_t)(id ^ step) * bytes + from,
               (size_t)n * sizeof(hk_u32));
}

#define HK_MMA_TRADE(mine, from, to, n, step)                                                      \
    hk_model_trade((char *)(mine), sizeof *(mine), (size_t)((char *)(mine)->from - (char *)(mine)),\
                   (size_t)((char *)(mine)->to - (char *)(mine)), n, step)
#define HK_MMA_RUN(mine, a, b, c)                                                                  \
    hk_model_run((char *)(mine), sizeof *(mine), (size_t)((char *)&(mine)->a - (char *)(mine)),    \
                 (size_t)((char *)&(mine)->b - (char *)(mine)),                                    \
                 (size_t)((char *)&(mine)->c - (char *)(mine)))

#endif
