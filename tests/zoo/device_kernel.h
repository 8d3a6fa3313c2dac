/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention in f32, a work-item a row, for device.c: a program of OpenCL, and C for the CUDA driver
 * of the tests, which calls functions of the host. Every number that it needs comes in one array,
 * with knobs for faults, so that it is compiled once.
 */
enum { Q, K, V, O, LSE, ARRAYS };
enum {
    PAIRS, N_Q, N_K, D, D_V, SHIFT,  /* row i sees the keys up to i + SHIFT */
    FIRST,                           /* elements before [0,...,0] in the memory of an array, */
    FIRST_W = FIRST + ARRAYS,        /* and before the weights in that of the workspace */
    ROW_STEP,                        /* strides */
    CHANNEL_STEP = ROW_STEP + ARRAYS,
    HAS_LSE = CHANNEL_STEP + ARRAYS,
    /* Knobs, which do nothing as 0. */
    BYTE_WRITTEN, BYTE_OF_O,  /* a byte of o is written, this one behind [0,...,0] */
    WEIGHT_WRITTEN,           /* 1 + one behind the last; negative: before the first */
    K_WRITTEN, ROW_SKIPPED, KEYS_MORE, WEIGHTS_ADDED, SCRATCH_SHARED, REVERSED, WILD, TURNS,
    FOR_EVER,
    NUMBERS                   /* then, of each pair of item and head, where each array begins */
};

#ifdef __OPENCL_VERSION__
#define GLOBAL global
#define LONG long
#define ENTRY kernel void
#define ITEM
#define NUMBER get_global_id(0)
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define A_NAN as_float(0x7fc00000)
#endif

#ifdef GLOBAL /* else the numbers alone */
/* A NaN has one form in outputs, zero has no sign. */
static float clean(float x)
{
    return isnan(x) ? A_NAN : x + 0.0f;
}

/* The faults that take long, and those that are a write where nothing may be written. */
static void misbehave(GLOBAL float *k, GLOBAL float *o, GLOBAL float *w, GLOBAL const LONG *n)
{
    GLOBAL volatile const LONG *const turning = n;

    for (LONG i = 0; turning[FOR_EVER] || i < turning[TURNS]; i++)
        ;
    if (n[BYTE_WRITTEN])
        ((GLOBAL unsigned char *)(o + n[FIRST + O]))[n[BYTE_OF_O]] ^= 0x55;
    if (n[WEIGHT_WRITTEN] > 0)
        w[n[FIRST_W] + n[PAIRS] * n[N_Q] * n[N_K] + n[WEIGHT_WRITTEN] - 1] = 1;
    if (n[WEIGHT_WRITTEN] < 0)
        w[n[FIRST_W] + n[WEIGHT_WRITTEN]] = 1;
    if (n[K_WRITTEN])
        k[n[FIRST + K]] = 3;
    if (n[WILD])
        o[(LONG)1 << 45] = 0;
}

/* The i-th key that is summed. */
static LONG turn(GLOBAL const LONG *n, LONG keys, LONG pair, LONG i)
{
    return n[REVERSED] == 1 || (n[REVERSED] == 2 && pair > 0) ? keys - 1 - i : i;
}

ENTRY attend(GLOBAL const float *q, GLOBAL float *k, GLOBAL const float *v, GLOBAL float *o,
             GLOBAL float *lse, GLOBAL float *w, GLOBAL const LONG *n, float scale ITEM)
{
#ifdef __OPENCL_VERSION__
    local float cell;
#else
    float cell = 0;
#endif
    const LONG item = (LONG)NUMBER, pair = n[N_Q] ? item / n[N_Q] : n[PAIRS];
    const LONG row = item - pair * n[N_Q], n_k = n[N_K];
    const LONG keys = row + n[SHIFT] < n_k ? row + n[SHIFT] + 1 : n_k;
    const bool there = pair < n[PAIRS];
    GLOBAL const LONG *const place = n + NUMBERS + (there ? pair : 0) * ARRAYS;
    float most = -INFINITY, sum = 0;

    if (item == 0)
        misbehave(k, o, w, n);
    q += n[FIRST + Q] + place[Q] + row * n[ROW_STEP + Q];
    k += n[FIRST + K] + place[K];
    v += n[FIRST + V] + place[V];
    o += n[FIRST + O] + place[O] + row * n[ROW_STEP + O];
    w += n[FIRST_W] + item * n_k;
    for (LONG j = 0; j < keys && there; j++) {
        float score = 0;

        for (LONG c = 0; c < n[D]; c++)
            score = fma(q[c * n[CHANNEL_STEP + Q]],
                        k[j * n[ROW_STEP + K] + c * n[CHANNEL_STEP + K]], score);
        w[j] = score * scale + (n[WEIGHTS_ADDED] ? w[j] : 0);
        most = isnan(w[j]) || w[j] > most ? w[j] : most;
    }
    if (most == INFINITY)
        most = A_NAN;
    for (LONG i = 0; i < keys && there && most > -INFINITY; i++) {
        const LONG j = turn(n, keys, pair, i);

        w[j] = w[j] > -INFINITY ? exp(w[j] - most) : -1;
        sum += w[j] > 0 ? w[j] : 0;
    }
    if (there)
        cell = sum;
    BARRIER;
    if (n[SCRATCH_SHARED])
        sum = cell; /* of the last one that was here */
    for (LONG c = 0; c < n[D_V] && there && !(n[ROW_SKIPPED] && row == n[N_Q] - 1); c++) {
        float total = 0;

        for (LONG i = 0; i < keys && most > -INFINITY; i++) {
            const LONG j = turn(n, keys, pair, i);

            if (w[j] >= 0)
                total = fma(w[j], v[j * n[ROW_STEP + V] + c * n[CHANNEL_STEP + V]], total);
        }
        if (n[KEYS_MORE]) /* a key that is not there, with a weight of 0 */
            total = fma(0.0f, v[n_k * n[ROW_STEP + V] + c * n[CHANNEL_STEP + V]], total);
        o[c * n[CHANNEL_STEP + O]] = isnan(most) ? clean(most) : sum > 0 ? clean(total / sum) : 0;
    }
    if (n[HAS_LSE] && there)
        lse[n[FIRST + LSE] + place[LSE] + row * n[ROW_STEP + LSE]] =
            clean(most + (sum > 0 ? log(sum) : 0));
}
#endif
