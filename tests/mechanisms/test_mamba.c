/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A layer of Mamba-2 (Dao and Gu 2024, figure 6) from its convolution on, whose gate and norm by
 * group RetNet has as well (Sun et al. 2023, equation 8): calls of heed against the formulas in
 * double, with each product written out.
 */
#include "maps.h"

WORLD_OPERATION(norm)
WORLD_OPERATION(recur)

enum { B = 2, H = 3, N = 37, D = 8, V = 5 };

static const double unit = 0x1p-24, share = 2.2e-7; /* share: of an activation, heed/nn.h */

enum { TAPS = 4, INNER = H * V, MIXED = INNER + 2 * D }; /* x, B and C of a token side by side */

struct mamba {
    heed_array mixed, taps, bias; /* mixed: TAPS - 1 rows of zeros come first */
    heed_array conv, decay, beta, skip, z, weight, o;
};

/* Channels `first` on of what came of the convolution, as heads; C and B are those of all heads. */
static heed_array conv_cut(const struct mamba *m, int64_t first, int64_t heads, int64_t d)
{
    heed_array cut = m->conv;

    cut.t = (heed_tensor){ HEED_F32, 4, { B, H, N, d },
                           { N * MIXED, heads > 1 ? d : 0, MIXED, 1 } };
    cut.buf.handle = world_f32(&m->conv) + first;
    return cut;
}

/* A convolution for every channel is a map of heads of one channel; an addend of one row is their
 * bias. */
static void mamba_conv(const struct mamba *m)
{
    struct linear_call call = linear_call();
    heed_array x = m->mixed, y = m->conv, add = m->bias;

    x.t = (heed_tensor){ HEED_F32, 4, { B, MIXED, N + TAPS - 1, 1 },
                         { (N + TAPS - 1) * MIXED, 1, MIXED, 1 } };
    y.t = (heed_tensor){ HEED_F32, 4, { B, MIXED, N, 1 }, { N * MIXED, 1, MIXED, 1 } };
    add.t = (heed_tensor){ HEED_F32, 4, { B, MIXED, N, 1 }, { 0, 1, 0, 1 } };
    call.desc.act = HEED_ACT_SILU;
    call.desc.kernel = TAPS;
    GIVE(&call, x, x);
    GIVE(&call, w, m->taps);
    GIVE(&call, add, add);
    GIVE(&call, y, y);
    linear_run(&call);
}

static void mamba_run(const struct mamba *m)
{
    const heed_array x = conv_cut(m, 0, H, V);
    const heed_array state = world_array(HEED_F32, B, H, D, V, -1);
    const heed_array y = world_array(HEED_F32, B, H, N, V, -1);
    struct recur_call recur = recur_call();
    struct norm_call norm = norm_call();

    mamba_conv(m);
    fill(&state, 0);
    GIVE(&recur, v, x);
    GIVE(&recur, k, conv_cut(m, INNER, 1, D));
    GIVE(&recur, q, conv_cut(m, INNER + D, 1, D));
    GIVE(&recur, decay, m->decay);
    GIVE(&recur, beta, m->beta);
    GIVE(&recur, state, state);
    GIVE(&recur, o, m->o);
    recur_run(&recur);
    activate(HEED_ACT_NONE, &x, &m->skip, &m->o, &y);
    activate(HEED_ACT_SILU, &m->z, &y, NULL, &m->o);
    norm.desc.kind = HEED_NORM_RMS;     /* of each head's channels: a group of its own */
    norm.desc.eps = 1e-5;
    GIVE(&norm, x, m->o);
    GIVE(&norm, weight, m->weight);
    GIVE(&norm, y, m->o);
    norm_run(&norm);
}

static double silu(double x)
{
    return x / (1 + exp(-x));
}

/* Its slope is at most 1.1. */
static struct approx mamba_conv_want(const struct mamba *m)
{
    struct approx y = approx_new(B, 1, N, MIXED);

    for (int64_t at = 0; at < B * N * MIXED; at++) {
        const int64_t b = at / MIXED / N, i = at / MIXED % N, c = at % MIXED;
        double sum = (double)world_f32(&m->bias)[c], size = fabs(sum);

        for (int64_t t = 0; t < TAPS; t++) {
            const double term = (double)world_f32(&m->taps)[c * TAPS + t] *
                                (double)world_row(&m->mixed, b, 0, i + t)[c];

            sum += term;
            size += fabs(term);
        }
        y.x[at] = silu(sum);
        y.e[at] = (1.1 * (TAPS + 3) * unit + share) * size;
    }
    return y;
}

/* What row i reads of channel c: over the tokens before, decays times beta (C_i . B_j) x_j. */
static void mamba_read(const struct mamba *m, const struct approx *conv, int64_t b, int64_t h,
                       int64_t i, int64_t c, double *sum, double *off)
{
    const float *const decay = world_f32(&m->decay) + (b * H + h) * N;
    const float *const beta = world_f32(&m->beta) + (b * H + h) * N;
    const int64_t row = (b * N + i) * MIXED;
    double g = 1;

    *sum = *off = 0;
    for (int64_t j = i; j >= 0; g *= (double)decay[j--]) {
        const int64_t at = (b * N + j) * MIXED, x = at + h * V + c;
        const double p = g * (double)beta[j];

        for (int64_t t = 0; t < D; t++) {
            const int64_t of_c = row + INNER + D + t, of_b = at + INNER + t;
            const double term = p * conv->x[of_c] * conv->x[of_b] * conv->x[x];
            const double most = p * (fabs(conv->x[of_c]) + conv->e[of_c]) *
                                (fabs(conv->x[of_b]) + conv->e[of_b]) *
                                (fabs(conv->x[x]) + conv->e[x]);

            *sum += term;
            *off += most - fabs(term) + (double)(2 * (i - j) + D + 6) * unit * most;
        }
    }
}

/* Gated rows of a head, and their norm. A mean of squares off by d is off by half of d over it in
 * its root. */
static void mamba_row(const struct mamba *m, const struct approx *conv, int64_t b, int64_t h,
                      int64_t i, struct approx *want)
{
    double y[V], e[V], mean = 0, off = 0, root;

    for (int64_t c = 0; c < V; c++) {
        const int64_t x = (b * N + i) * MIXED + h * V + c;
        const double by = (double)world_f32(&m->skip)[h], z = (double)world_row(&m->z, b, h, i)[c];

        mamba_read(m, conv, b, h, i, c, &y[c], &e[c]);
        e[c] += fabs(by) * conv->e[x] +
                3 * unit * (fabs(y[c]) + e[c] + fabs(by) * (fabs(conv->x[x]) + conv->e[x]));
        y[c] += by * conv->x[x];
        e[c] = (fabs(silu(z)) + share * fabs(z)) * (fabs(y[c]) + e[c]) * (1 + 2 * unit) -
               fabs(silu(z) * y[c]);
        y[c] *= silu(z);
        mean += y[c] * y[c] / V;
        off += (2 * fabs(y[c]) + e[c]) * e[c] / V;
    }
    root = sqrt(mean + 1e-5);
    off = 1.1 * (off + (V + 6) * unit * mean) / (2 * root * root) + 4 * unit;
    for (int64_t c = 0; c < V; c++) {
        const int64_t at = approx_at(want, b, h, i) + c;
        const double w = (double)world_f32(&m->weight)[c];

        want->x[at] = y[c] / root * w;
        want->e[at] = (1 + off) * (e[c] + (off + 3 * unit) * fabs(y[c])) / root * fabs(w);
    }
}

TEST(a_convolution_a_decay_by_head_a_gate_and_a_norm_by_group)
{
    struct mamba m;
    struct approx conv, want = (world_open(), approx_new(B, H, N, V));

    m.mixed = world_floats(B, 1, N + TAPS - 1, MIXED);
    for (int64_t b = 0; b < B; b++)
        memset(world_row(&m.mixed, b, 0, 0), 0, (TAPS - 1) * MIXED * sizeof(float));
    m.taps = world_floats(MIXED, 1, TAPS, 1);
    for (int64_t i = 0; i < world_count(&m.taps); i++)
        world_f32(&m.taps)[i] /= 16;
    m.bias = world_floats(1, 1, 1, MIXED);
    m.conv = world_array(HEED_F32, B, 1, N, MIXED, -1);
    m.decay = world_floats(1, B, H, N);
    m.beta = world_floats(1, B, H, N);
    m.decay.t = m.beta.t = heed_array_dense(HEED_F32, NULL, 3, (const int64_t[]){ B, H, N }).t;
    for (int64_t i = 0; i < B * H * N; i++) {   /* to (0, 1) */
        world_f32(&m.decay)[i] = 0.5f + world_f32(&m.decay)[i] / 17;
        world_f32(&m.beta)[i] = 0.5f + world_f32(&m.beta)[i] / 17;
    }
    m.skip = world_floats(1, H, 1, 1);
    m.skip.t = (heed_tensor){ HEED_F32, 4, { B, H, N, V }, { 0, 1, 0, 0 } };
    m.z = world_floats(B, H, N, V);
    m.weight = world_floats(1, 1, 1, V);
    m.weight.t = heed_array_dense(HEED_F32, NULL, 1, (const int64_t[]){ V }).t;
    m.o = world_array(HEED_F32, B, H, N, V, -1);
    mamba_run(&m);
    conv = mamba_conv_want(&m);
    for (int64_t at = 0; at < B * H * N; at++)
        mamba_row(&m, &conv, at / N / H, at / N % H, at % N, &want);
    approx_judge(&m.o, &want, 1e-2, "Mamba-2");
}

int main(void)
{
    return suite_run("mamba", 240, NULL, world_close);
}
