/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys and values made few along the length by pool LINEAR, then attention to them: Linformer
 * (Wang et al. 2020, equation 7), whose projection is a whole matrix, and memory-compressed
 * attention (Liu et al. 2018, section 4.2.3), whose convolution has here one weight for each tap.
 */
#include "chain.h"

WORLD_OPERATION(pool)

enum { B = 2, H = 3, N = 37, D = 4, D_V = 6, SHORT = 5, TAPS = 3 };

struct job {
    heed_array q, k, v, weights, len;
    heed_array short_k, short_v, short_len, o;
    heed_array null_k, null_v;          /* ndim 0: no key besides */
};

/* ---- the calls ---- */

/* A matrix [SHORT][N] along the length: every row of it is a head of a view that repeats x, and
 * its one window is all of the text. Heads are batch items. */
static void project(const struct job *j, const heed_array *x, const heed_array *y)
{
    struct pool_call call = pool_call();
    heed_array from = *x, to = *y;
    const int64_t d = x->t.shape[3];

    from.t = (heed_tensor){ HEED_F32, 5, { B, H, SHORT, N, d },
                            { x->t.stride[0], x->t.stride[1], 0, x->t.stride[2], 1 } };
    to.t = (heed_tensor){ HEED_F32, 5, { B, H, SHORT, 1, d },
                          { y->t.stride[0], y->t.stride[1], y->t.stride[2], d, 1 } };
    call.desc.kind = HEED_POOL_LINEAR;
    call.desc.tail = HEED_TAIL_CEIL;
    call.desc.kernel = call.desc.stride = N;
    GIVE(&call, x, from);
    GIVE(&call, len, j->len);
    GIVE(&call, weights, j->weights);
    GIVE(&call, y, to);
    pool_run(&call);
}

/* Windows of TAPS tokens that end with the text: the first may lack some, as if they were zeros. */
static void compress(const struct job *j, const heed_array *x, const heed_array *y)
{
    struct pool_call call = pool_call();

    call.desc.kind = HEED_POOL_LINEAR;
    call.desc.tail = HEED_TAIL_END;
    call.desc.kernel = call.desc.stride = TAPS;
    GIVE(&call, x, *x);
    GIVE(&call, weights, j->weights);
    GIVE(&call, len, j->len);
    GIVE(&call, y, *y);
    GIVE(&call, y_len, j->short_len);
    pool_run(&call);
}

/* All rows see the few keys, and first the null key where there is one. */
static void attend(const struct job *j)
{
    heed_mechanism m = { .size = sizeof(m) };
    heed_buf slots[HEED_MECHANISM_SLOTS] = { { 0 } };
    const heed_kv_bufs pairs[2] = { { j->short_k.buf, j->short_v.buf },
                                    { j->null_k.buf, j->null_v.buf } };
    heed_global_rows_desc desc = {
        .size = sizeof(desc), .q = j->q.t, .o = j->o.t,
        .text = { .k = j->short_k.t, .v = j->short_v.t },
    };

    if (j->null_k.t.ndim) {
        desc.globals = (heed_keys){ .k = j->null_k.t, .v = j->null_v.t };
        desc.text.len.t = j->short_len.t;
        slots[HEED_MECHANISM_LEN - 1] = j->short_len.buf;
    }
    ck_assert_int_eq(heed_global_rows(&desc, &m, &world.why), HEED_OK);
    chain_attend(&m, &j->q, &j->o, pairs, slots);
}

/* ---- the papers ---- */

/* Row i of E x, where E [SHORT][N] is cut to the text. */
static struct approx paper_project(const struct job *j, const heed_array *x)
{
    const struct approx from = approx_of(x);
    struct approx to = approx_new(B, H, SHORT, from.d);
    int64_t row[N];
    double p[N];

    for (int64_t at = 0; at < B * H * SHORT; at++) {
        const int64_t b = at / SHORT / H, n = ((int64_t *)j->len.buf.handle)[b];

        for (int64_t t = 0; t < n; t++) {
            row[t] = approx_at(&from, b, at / SHORT % H, t);
            p[t] = (double)world_f32(&j->weights)[at % SHORT * N + t];
        }
        approx_sum(&from, row, p, n, &to, at * to.d);
    }
    return to;
}

/* A convolution with kernel and stride TAPS over a text that zeros on the left make a multiple. */
static struct approx paper_compress(const struct job *j, const heed_array *x)
{
    const struct approx from = approx_of(x);
    struct approx to = approx_new(B, H, j->short_k.t.shape[2], from.d);

    for (int64_t b = 0; b < B; b++) {
        const int64_t n = ((int64_t *)j->len.buf.handle)[b], zeros = (TAPS - n % TAPS) % TAPS;

        for (int64_t h = 0; h < H; h++) {
            for (int64_t i = 0; i * TAPS < n + zeros; i++) {
                int64_t row[TAPS], taps = 0;
                double p[TAPS];

                for (int64_t x_at = i * TAPS - zeros; x_at < (i + 1) * TAPS - zeros; x_at++) {
                    if (x_at < 0)
                        continue;
                    row[taps] = approx_at(&from, b, h, x_at);
                    p[taps++] = (double)world_f32(&j->weights)[b * N + x_at];
                }
                approx_sum(&from, row, p, taps, &to, approx_at(&to, b, h, i));
            }
        }
    }
    return to;
}

static bool short_sees(const void *p, int64_t b, int64_t h, int64_t i, int set, int64_t j)
{
    const struct job *job = p;

    (void)h, (void)i;
    if (set == 1 || !job->null_k.t.ndim)
        return true;
    return j * TAPS < ((int64_t *)job->len.buf.handle)[b];
}

static void job_judge(const struct job *j, struct approx k, struct approx v, const char *what)
{
    const struct approx q = approx_of(&j->q);
    struct approx_keys sets[2] = { { k, v } };
    struct approx o;

    if (j->null_k.t.ndim)
        sets[1] = (struct approx_keys){ approx_of(&j->null_k), approx_of(&j->null_v) };
    o = approx_attend(&q, sets, j->null_k.t.ndim ? 2 : 1, short_sees, j);
    approx_judge(&j->o, &o, 1e-3, what);
}

/* ---- the tests ---- */

static struct job job_new(int64_t rows)
{
    static const int64_t length[B] = { N, 32 };
    struct job j = {
        .len = world_array(HEED_I64, B, 1, -1, -1, -1),
        .q = world_floats(B, H, N, D),
        .k = world_floats(B, H, N, D),
        .v = world_floats(B, H, N, D_V),
        .short_k = world_array(HEED_F32, B, H, rows, D, -1),
        .short_v = world_array(HEED_F32, B, H, rows, D_V, -1),
        .o = world_array(HEED_F32, B, H, N, D_V, -1),
    };

    for (int64_t i = 0; i < world_count(&j.q); i++)
        world_f32(&j.q)[i] *= 0.125f;
    memcpy(j.len.buf.handle, length, sizeof(length));
    return j;
}

/* One matrix for keys and values of all heads, the paper's most economical sharing. */
TEST(linformer)
{
    struct job j;

    world_open();
    j = job_new(SHORT);
    j.weights = world_floats(1, SHORT, N, 1);
    j.weights.t = heed_array_dense(HEED_F32, NULL, 2, (int64_t[]){ SHORT, N }).t;
    for (int64_t i = 0; i < SHORT * N; i++)
        world_f32(&j.weights)[i] *= 0.03125f;
    project(&j, &j.k, &j.short_k);
    project(&j, &j.v, &j.short_v);
    attend(&j);
    job_judge(&j, paper_project(&j, &j.k), paper_project(&j, &j.v), "Linformer");
}

/* Tap t of a window has weight taps[t]; windows end with the text, so a token's tap depends on the
 * length of its item. */
TEST(memory_compressed)
{
    static const float taps[TAPS] = { 0.5f, -0.25f, 0.375f };
    struct job j;

    world_open();
    j = job_new((N + TAPS - 1) / TAPS);
    j.len.t = heed_array_dense(HEED_I64, NULL, 1, &(int64_t){ B }).t;
    j.null_k = world_floats(1, H, 1, D);
    j.null_v = world_floats(1, H, 1, D_V);
    j.short_len = world_array(HEED_I64, B, -1, -1, -1, -1);
    j.weights = world_array(HEED_F32, B, 1, N, -1, -1);
    for (int64_t b = 0; b < B; b++) {
        const int64_t n = ((int64_t *)j.len.buf.handle)[b];

        for (int64_t t = 0; t < N; t++)
            world_f32(&j.weights)[b * N + t] = t < n ? taps[(t + TAPS * N - n) % TAPS] : NAN;
    }
    compress(&j, &j.k, &j.short_k);
    compress(&j, &j.v, &j.short_v);
    attend(&j);
    /* the null key is shared by the batch */
    j.null_k.t.shape[0] = j.null_v.t.shape[0] = B;
    j.null_k.t.stride[0] = j.null_v.t.stride[0] = 0;
    job_judge(&j, paper_compress(&j, &j.k), paper_compress(&j, &j.v), "memory-compressed");
}

int main(void)
{
    return suite_run("short keys", 120, NULL, world_close);
}
