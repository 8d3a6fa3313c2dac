/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention without a softmax: linear attention by positive features (Katharopoulos et al. 2020),
 * also by random ones (Choromanski et al. 2021), against the quadratic form, and the gated delta
 * rule (Yang et al. 2025) against its closed form, a triangular system over all tokens.
 */
#include "maps.h"

WORLD_OPERATION(recur)

enum { B = 2, H = 3, N = 37, D = 8, V = 5, CUT = 14 };

static const double unit = 0x1p-24, share = 2.2e-7; /* share: of an activation, heed/nn.h */

/* Rows first .. first + n - 1 of every item and head. */
static heed_array rows_cut(const heed_array *a, int64_t first, int64_t n)
{
    heed_array cut = *a;

    cut.t.shape[2] = n;
    cut.buf.handle = (float *)a->buf.handle + first * a->t.stride[2];
    return cut;
}

/* ---- linear attention ---- */

/* Features q and k; v with a column of ones, whose sum the others are divided by: a view of its own
 * channel, with stride 0, is the factor. */
static void features_run(const heed_array *q, const heed_array *k, const heed_array *v,
                         const heed_array *o)
{
    const heed_array state = world_array(HEED_F32, B, H, q->t.shape[3], V + 1, -1);
    const heed_array sums = world_array(HEED_F32, B, H, N, V + 1, -1);
    heed_array weight = array_cut(&sums, V, 1), values = array_cut(&sums, 0, V);

    fill(&state, 0);
    for (int64_t first = 0; first < N; first += first ? N - CUT : CUT) { /* two calls */
        const int64_t n = first ? N - CUT : CUT;
        struct recur_call call = recur_call();

        GIVE(&call, q, rows_cut(q, first, n));
        GIVE(&call, k, rows_cut(k, first, n));
        GIVE(&call, v, rows_cut(v, first, n));
        GIVE(&call, state, state);
        GIVE(&call, o, rows_cut(&sums, first, n));
        recur_run(&call);
    }
    activate(HEED_ACT_INVERSE, &weight, NULL, NULL, &weight);
    weight.t.shape[3] = V;
    weight.t.stride[3] = 0;
    activate(HEED_ACT_NONE, &values, &weight, NULL, o);
}

/* Features in double, and by which share those of heed may be off. */
struct features {
    int64_t m;
    double *x, share;
};

/* A row: the sum over tokens up to its own of the product of features times v, over the sum of
 * products. All of them are positive, so an error is a share: of two features, of chains over
 * tokens and features, of the division. */
static void linear_want(const struct features *q, const struct features *k, const heed_array *v,
                        struct approx *want, int64_t at)
{
    const int64_t b = at / N / H, h = at / N % H, i = at % N, m = q->m;
    const double off = q->share + k->share + (double)(m + 2 * i + 6) * unit;
    double sum[V] = { 0 }, size[V] = { 0 }, weight = 0;

    for (int64_t j = 0; j <= i; j++) {
        double p = 0;

        for (int64_t c = 0; c < m; c++)
            p += q->x[at * m + c] * k->x[(at - i + j) * m + c];
        weight += p;
        for (int64_t c = 0; c < V; c++) {
            sum[c] += p * (double)world_row(v, b, h, j)[c];
            size[c] += p * fabs((double)world_row(v, b, h, j)[c]);
        }
    }
    for (int64_t c = 0; c < V; c++) {
        want->x[at * V + c] = sum[c] / weight;
        want->e[at * V + c] = 2.1 * off * size[c] / weight + 0x1p-140;
    }
}

static void linear_judge(const struct features *q, const struct features *k, const heed_array *v,
                         const heed_array *o, const char *what)
{
    struct approx want = approx_new(B, H, N, V);

    for (int64_t at = 0; at < B * H * N; at++)
        linear_want(q, k, v, &want, at);
    approx_judge(o, &want, 1e-4, what);
}

static struct features features_new(int64_t m)
{
    return (struct features){ m, world_new((size_t)(B * H * N * m) * sizeof(double)), share };
}

static heed_array values_with_ones(void)
{
    const heed_array v = world_floats(B, H, N, V + 1);

    for (int64_t i = 0; i < B * H * N; i++)
        world_f32(&v)[i * (V + 1) + V] = 1;
    return v;
}

/* x + 1 above 0, else e^x. */
static struct features elu_features(const heed_array *x)
{
    const struct features f = features_new(D);

    for (int64_t i = 0; i < B * H * N * D; i++) {
        const double value = (double)world_f32(x)[i];

        f.x[i] = value > 0 ? value + 1 : exp(value);
    }
    activate(HEED_ACT_ELU_PLUS_ONE, x, NULL, NULL, x);
    return f;
}

TEST(linear_attention_by_positive_features)
{
    struct features of_q, of_k;
    heed_array q, k, v, o;

    world_open();
    q = world_floats(B, H, N, D);
    k = world_floats(B, H, N, D);
    v = values_with_ones();
    o = world_array(HEED_F32, B, H, N, V, -1);
    of_q = elu_features(&q);
    of_k = elu_features(&k);
    features_run(&q, &k, &v, &o);
    linear_judge(&of_q, &of_k, &v, &o, "linear attention");
}

/* ---- random features ---- */

enum { M = 24 };

/* e^(w x - |x|^2 / 2) for each row w of a matrix: x^2 by a product, its half sum by a map with one
 * output, which is the addend of every feature. */
static struct features random_features(const heed_array *x, const heed_array *w,
                                       const heed_array *out)
{
    const heed_array squares = world_array(HEED_F32, B, H, N, D, -1);
    const heed_array minus = world_array(HEED_F32, 1, D, -1, -1, -1);
    heed_array half = world_array(HEED_F32, B, H, N, 1, -1);
    struct features f = features_new(M);
    double widest = 0;

    fill(&minus, -0.5f);
    activate(HEED_ACT_NONE, x, x, NULL, &squares);
    project(&squares, &minus, NULL, HEED_ACT_NONE, &half);
    half.t.shape[3] = M;
    half.t.stride[3] = 0;
    project(x, w, &half, HEED_ACT_EXP, out);
    for (int64_t i = 0; i < B * H * N * M; i++) {
        const float *const row = world_f32(x) + i / M * D, *const by = world_f32(w) + i % M * D;
        double sum = 0, size = 0;

        for (int64_t c = 0; c < D; c++) {
            const double a = (double)row[c] * (double)by[c];
            const double b = (double)row[c] * (double)row[c] / 2;

            sum += a - b;
            size += fabs(a) + b;
        }
        f.x[i] = exp(sum);
        widest = fmax(widest, size);
    }
    f.share += 1.01 * (D + 3) * unit * widest; /* of the exponent */
    return f;
}

TEST(linear_attention_by_random_features)
{
    const heed_array q = (world_open(), world_floats(B, H, N, D)), k = world_floats(B, H, N, D);
    const heed_array w = world_array(HEED_F32, M, D, -1, -1, -1), v = values_with_ones();
    const heed_array fq = world_array(HEED_F32, B, H, N, M, -1);
    const heed_array fk = world_array(HEED_F32, B, H, N, M, -1);
    const heed_array o = world_array(HEED_F32, B, H, N, V, -1);
    struct features of_q, of_k;

    for (int64_t i = 0; i < M * D; i++)
        world_f32(&w)[i] = world_float() / 4;
    for (int64_t i = 0; i < B * H * N * D; i++) {
        world_f32(&q)[i] /= 8;
        world_f32(&k)[i] /= 8;
    }
    of_q = random_features(&q, &w, &fq);
    of_k = random_features(&k, &w, &fk);
    features_run(&fq, &fk, &v, &o);
    linear_judge(&of_q, &of_k, &v, &o, "random features");
}

/* ---- the gated delta rule ---- */

/* Keys and queries of length 1, as models have them; decay and strength in (0, 1). */
static void normalise(const heed_array *a)
{
    for (int64_t i = 0; i < world_count(a) / D; i++) {
        float *const row = world_f32(a) + i * D;
        double sum = 0;

        for (int64_t c = 0; c < D; c++)
            sum += (double)row[c] * (double)row[c];
        for (int64_t c = 0; c < D; c++)
            row[c] = (float)((double)row[c] / sqrt(sum));
    }
}

static void to_factors(const heed_array *a)
{
    for (int64_t i = 0; i < world_count(a); i++)
        world_f32(a)[i] = 0.5f + world_f32(a)[i] / 17;
}

static double inner(const float *a, const float *b)
{
    double sum = 0;

    for (int64_t c = 0; c < D; c++)
        sum += (double)a[c] * (double)b[c];
    return sum;
}

/* With g(i, j) the product of the decays of tokens j + 1 .. i, token i writes
 *     u_i = beta_i (v_i - sum over j < i of g(i, j) (k_i . k_j) u_j)
 * and reads the sum over j <= i of g(i, j) (q_i . k_j) u_j. A step takes a state of norm s to one
 * of at most s + |v| and rounds D + 6 times; decays and I - beta k k^T make no error larger. */
static void delta_want(const struct recur_call *call, struct approx *want, int64_t b, int64_t h)
{
    const heed_array q = { .t = call->desc.q, .buf = call->args.q };
    const heed_array k = { .t = call->desc.k, .buf = call->args.k };
    const heed_array v = { .t = call->desc.v, .buf = call->args.v };
    const float *const decay = (const float *)call->args.decay.handle + (b * H + h) * N;
    const float *const beta = (const float *)call->args.beta.handle + (b * H + h) * N;
    double u[N][V], norm = 0, off = 0;

    for (int64_t i = 0; i < N; i++) {
        double g = 1, read[V] = { 0 }, length = 0;

        for (int64_t c = 0; c < V; c++) {
            u[i][c] = (double)world_row(&v, b, h, i)[c];
            length += u[i][c] * u[i][c];
        }
        for (int64_t j = i; j-- > 0;) {
            const double kk = inner(world_row(&k, b, h, i), world_row(&k, b, h, j));
            const double qk = inner(world_row(&q, b, h, i), world_row(&k, b, h, j));

            g *= (double)decay[j + 1];
            for (int64_t c = 0; c < V; c++) {
                u[i][c] -= g * kk * u[j][c];
                read[c] += g * qk * u[j][c];
            }
        }
        norm += 2 * sqrt(length);
        off += (double)(D + 6) * unit * norm;
        for (int64_t c = 0; c < V; c++) {
            const int64_t at = ((b * H + h) * N + i) * V + c;

            u[i][c] *= (double)beta[i];
            want->x[at] =
                read[c] + inner(world_row(&q, b, h, i), world_row(&k, b, h, i)) * u[i][c];
            want->e[at] = off;
        }
    }
}

TEST(the_gated_delta_rule)
{
    struct recur_call call = recur_call();
    struct approx want;
    heed_array state, o, factors[2];

    world_open();
    call.desc.flags |= HEED_RECUR_DELTA;
    state = world_array(HEED_F32, B, H, D, V, -1);
    o = world_array(HEED_F32, B, H, N, V, -1);
    for (int i = 0; i < 2; i++) {
        const heed_array rows = world_floats(B, H, N, D);

        normalise(&rows);
        if (i)
            GIVE(&call, q, rows);
        else
            GIVE(&call, k, rows);
        factors[i] = world_floats(1, B, H, N);
        factors[i].t = heed_array_dense(HEED_F32, NULL, 3, (const int64_t[]){ B, H, N }).t;
        to_factors(&factors[i]);
    }
    GIVE(&call, v, world_floats(B, H, N, V));
    GIVE(&call, decay, factors[0]);
    GIVE(&call, beta, factors[1]);
    GIVE(&call, state, state);
    GIVE(&call, o, o);
    fill(&state, 0);
    recur_run(&call);
    want = approx_new(B, H, N, V);
    for (int64_t i = 0; i < B * H; i++)
        delta_want(&call, &want, i / H, i % H);
    approx_judge(&o, &want, 1e-2, "gated delta rule");
}

int main(void)
{
    return suite_run("recurrent", 240, NULL, world_close);
}
