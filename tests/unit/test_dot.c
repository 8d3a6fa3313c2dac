/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Biases that join the score, as models have them: their logits, written from the papers, in
 * double, densely, and a bound on the error derived from the data (Higham, Accuracy and Stability,
 * chapter 3; Blanchard, Higham and Higham 2021). And what a table may hold where no pair looks.
 */
#include <heed/attn.h>

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/suite.h"

enum { H = 2, N = 70, D = 12, D_V = 5, MEM = 30, KEYS = MEM + N, SPAN = 16, LEN = 2 * SPAN };

static const double unit = 0x1p-24;

/* ---- data: multiples of 2^-8, so that sums of two are exact ---- */

static uint64_t state;

static float number(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)((int)(state >> 54) - 512) / 256;
}

static void numbers(float *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = number();
}

/* Memory before the text: keys 0 .. MEM - 1; models without memory leave it out. */
static struct model {
    float q[H][N][D], k[H][KEYS][D], v[H][KEYS][D_V];
    float t[H][KEYS][D], u[H][KEYS][D], values[H][KEYS];
    float shift_k[H][D], shift_r[H][D];         /* Transformer-XL's u and v */
    int32_t map[2 * KEYS];
} model;

static void model_make(uint64_t seed)
{
    state = seed;
    numbers(&model.q[0][0][0], sizeof(model.q) / sizeof(float));
    numbers(&model.k[0][0][0], sizeof(model.k) / sizeof(float));
    numbers(&model.v[0][0][0], sizeof(model.v) / sizeof(float));
    numbers(&model.t[0][0][0], sizeof(model.t) / sizeof(float));
    numbers(&model.u[0][0][0], sizeof(model.u) / sizeof(float));
    numbers(&model.shift_k[0][0], H * D);
    numbers(&model.shift_r[0][0], H * D);
}

/* ---- what a paper says: a logit, and the sum of the magnitudes that go into it ---- */

struct logit {
    double y, size;
    bool seen;
};

static void product(const float *a, const float *b, double factor, struct logit *to)
{
    for (int t = 0; t < D; t++) {
        const double x = (double)a[t] * (double)b[t] * factor;

        to->y += x;
        to->size += fabs(x);
    }
}

static int64_t within(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* He et al. 2021, equation 4, of query i and key j; keys are those of the text. turned: position to
 * content by the distance from the key to the query, as the paper writes it; else by that from the
 * query to the key, as both public implementations have it. */
static struct logit deberta(int h, int64_t i, int64_t j, int64_t bucket, int64_t turned_bucket)
{
    const double scale = 1 / sqrt(3.0 * D);
    struct logit out = { .seen = true };

    product(model.q[h][i], model.k[h][MEM + j], scale, &out);
    product(model.q[h][i], model.t[h][bucket], scale, &out);
    product(model.k[h][MEM + j], model.u[h][turned_bucket], scale, &out);
    return out;
}

static struct logit deberta_public(int h, int64_t i, int64_t j)
{
    const int64_t delta = within(i - j + SPAN, 0, LEN - 1);

    return deberta(h, i, j, delta, delta);
}

static struct logit deberta_turned(int h, int64_t i, int64_t j)
{
    return deberta(h, i, j, within(i - j + SPAN, 0, LEN - 1), within(j - i + SPAN, 0, LEN - 1));
}

/* Version 2: buckets of 16, the first 8 distances on each side their own. */
static struct logit deberta_buckets(int h, int64_t i, int64_t j)
{
    const int64_t r = i - j, n = r < 0 ? -r : r, mid = SPAN / 2;
    const double steps = ceil(log((double)n / (double)mid) / log((40.0 - 1) / (double)mid) *
                              (double)(mid - 1) - 1e-6);
    const int64_t b = n <= mid ? r : (r < 0 ? -1 : 1) * (mid + (int64_t)steps);
    const int64_t bucket = within(b + SPAN, 0, LEN - 1);

    return deberta(h, i, j, bucket, bucket);
}

/* Dai et al. 2019, section 3.3, of query i and key j, which count from the memory on. */
static struct logit transformer_xl(int h, int64_t i, int64_t j)
{
    const double scale = 1 / sqrt((double)D);
    const int64_t distance = MEM + i - j;
    struct logit out = { .seen = distance >= 0 };

    if (!out.seen)
        return out;
    product(model.q[h][i], model.k[h][j], scale, &out);
    product(model.shift_k[h], model.k[h][j], scale, &out);
    product(model.q[h][i], model.t[h][distance], scale, &out);
    product(model.shift_r[h], model.t[h][distance], scale, &out);
    /* what goes into heed's table instead: (shift_r - shift_k) . t, and shift_k . t in the score */
    for (int t = 0; t < D; t++)
        out.size += 2 * scale * fabs((double)model.shift_k[h][t] * (double)model.t[h][distance][t]);
    return out;
}

/* ---- judging ---- */

struct judge {
    struct logit (*logit)(int h, int64_t i, int64_t j);
    int64_t first, keys;        /* place of key 0 in v */
    int joins;                  /* sums that join the score or the logit */
    double worst;
};

/* How far exp(y - m) may be off, relatively: D products and their sums, the sums that join, scale
 * and its rounding, the split and the polynomial of exp, and the rescaling of what a block adds. */
static double loss(const struct judge *g, const struct logit *l, double most, double reach)
{
    const double roundings = D + 6 + 2 * g->joins, rescales = (double)g->keys / 16 + 2;

    return expm1(unit * (roundings * l->size + 3 * (most - l->y) + 2 * reach) +
                 unit * (4 * (rescales + 1) + rescales));
}

static void row_judge(struct judge *g, const float *o, int h, int64_t i)
{
    struct logit l[KEYS];
    double most = -INFINITY, reach = 0, sum = 0, lost = 0;
    const double n = (double)g->keys + (double)g->keys / 16 + 2, gamma = n * unit / (1 - n * unit);

    for (int64_t j = 0; j < g->keys; j++) {
        l[j] = g->logit(h, i, j);
        most = l[j].seen ? fmax(most, l[j].y) : most;
        reach = fmax(reach, l[j].size);
    }
    for (int64_t j = 0; j < g->keys; j++)
        sum += l[j].seen ? exp(l[j].y - most) : 0;
    for (int64_t j = 0; j < g->keys; j++)
        lost += l[j].seen ? exp(l[j].y - most) / sum * loss(g, &l[j], most, reach) : 0;
    for (int t = 0; t < D_V; t++) {
        double want = 0, size = 0, spread = 0, bound;

        for (int64_t j = 0; j < g->keys; j++)
            want += l[j].seen ? exp(l[j].y - most) / sum * (double)model.v[h][g->first + j][t] : 0;
        for (int64_t j = 0; j < g->keys; j++) {
            const double w = l[j].seen ? exp(l[j].y - most) / sum : 0;
            const double v = (double)model.v[h][g->first + j][t];

            spread += w * loss(g, &l[j], most, reach) * fabs(v - want);
            size += w * (1 + loss(g, &l[j], most, reach)) * fabs(v);
        }
        bound = (spread + gamma * size + (gamma + 4 * unit) * fabs(want)) / (1 - lost - gamma);
        bound += unit * (fabs(want) + bound);
        ck_assert_double_lt(lost + gamma, 0.5);
        g->worst = fmax(g->worst, fabs((double)o[t] - want) / bound);
    }
}

/* ---- the call ---- */

static heed_tensor rows(int64_t n, int64_t d, int64_t stride)
{
    return (heed_tensor){ HEED_F32, 3, { H, n, d }, { stride * d, d, 1 } };
}

/* A table whose last row of `len` comes first. */
static heed_tensor reversed(int64_t len)
{
    return (heed_tensor){ HEED_F32, 3, { H, len, D }, { KEYS * D, -D, 1 } };
}

static struct attention {
    heed_source sources[2];
    heed_bias biases[3];
    heed_slot slots[4];
    heed_attn_desc desc;
    heed_kv_bufs kv[2];
    float q[H][N][D], o[H][N][D_V];
} a;

static void attention_start(uint32_t n_sources, uint32_t n_biases)
{
    memset(&a, 0, sizeof(a));
    memcpy(a.q, model.q, sizeof(a.q));
    for (uint32_t s = 0; s < n_sources; s++)
        a.sources[s] = (heed_source){ .biases = a.biases,
                                       .n_biases = n_biases,
                                       .bias_size = sizeof(a.biases[0]) };
    a.desc = (heed_attn_desc){
        .size = sizeof(a.desc),
        .flags = HEED_ATTN_ALIGN_START | HEED_PLAN_OWN_WORKSPACE,
        .q = rows(N, D, N),
        .o = rows(N, D_V, N),
        .sources = a.sources,
        .n_sources = n_sources,
        .source_size = sizeof(a.sources[0]),
        .slots = a.slots,
        .n_slots = 4,
        .slot_size = sizeof(a.slots[0]),
    };
}

static void text_set(uint32_t s)
{
    a.sources[s].k = rows(N, D, KEYS);
    a.sources[s].v = rows(N, D_V, KEYS);
    a.kv[s] = (heed_kv_bufs){ { model.k[0][MEM], 0 }, { model.v[0][MEM], 0 } };
}

static void attention_run(heed_device *device, heed_queue *queue)
{
    const heed_buf none[4] = { { NULL, 0 } };
    const heed_attn_args args = {
        .size = sizeof(args),
        .kv_size = sizeof(a.kv[0]),
        .q = { a.q, 0 },
        .o = { a.o, 0 },
        .kv = a.kv,
        .slots = none,
        .n_slots = 4,
    };
    heed_report why = { .size = sizeof(why) };
    heed_plan *plan = NULL;

    ck_assert_msg(heed_attn_plan(device, &a.desc, &plan, &why) == HEED_OK, "%s: %s", why.field,
                  why.message);
    ck_assert_int_eq(heed_attn_run(plan, queue, &args, NULL, &why), HEED_OK);
    heed_plan_drop(plan);
}

/* On every device of the host. */
static void each_device(struct judge *g,
                        void (*also)(heed_device *, heed_queue *))
{
    static const char *const names[] = { "reference",  "cpu:scalar", "cpu:avx2",
                                         "cpu:avx512", "cpu:neon",   "emulate:workgroup" };
    heed_runtime *runtime;
    int found = 0;

    ck_assert_int_eq(heed_runtime_create(NULL, &runtime, NULL), HEED_OK);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        heed_device *device;
        heed_queue *queue;

        if (heed_device_find(runtime, names[i], &device, NULL) < 0 ||
            heed_queue_create(device, 0, &queue, NULL) < 0)
            continue;
        found++;
        attention_run(device, queue);
        for (int h = 0; g != NULL && h < H; h++) {
            for (int64_t row = 0; row < N; row++)
                row_judge(g, a.o[h][row], h, row);
        }
        if (also != NULL)
            also(device, queue);
        heed_queue_destroy(queue);
    }
    heed_runtime_destroy(runtime);
    ck_assert_int_ge(found, 2);
    if (g == NULL)
        return;
    printf("# worst error / bound %.3f\n", g->worst);
    ck_assert_double_le(g->worst, 1);
}

/* ---- DeBERTa ---- */

static void deberta_start(uint32_t n_biases)
{
    model_make(1);
    attention_start(1, n_biases);
    text_set(0);
    a.desc.scale = 1 / sqrt(3.0 * D);
}

TEST(deberta_by_one_distance)
{
    struct judge g = { .logit = deberta_public, .first = MEM, .keys = N, .joins = 1 };

    deberta_start(1);
    a.slots[0] = (heed_slot){ .t = reversed(LEN), .data = model.t[0][LEN - 1] };
    a.slots[1] = (heed_slot){ .t = reversed(LEN), .data = model.u[0][LEN - 1] };
    a.biases[0] = (heed_bias){ .kind = HEED_BIAS_DOT, .t = 1, .u = 2, .zero = SPAN - 1 };
    each_device(&g, NULL);
}

TEST(deberta_by_both_distances)
{
    struct judge g = { .logit = deberta_turned, .first = MEM, .keys = N, .joins = 2 };

    deberta_start(2);
    a.slots[0] = (heed_slot){ .t = reversed(LEN), .data = model.t[0][LEN - 1] };
    a.slots[1] = (heed_slot){ .t = rows(LEN, D, KEYS), .data = model.u };
    a.biases[0] = (heed_bias){ .kind = HEED_BIAS_DOT, .t = 1, .zero = SPAN - 1 };
    a.biases[1] = (heed_bias){ .kind = HEED_BIAS_DOT, .u = 2, .zero = SPAN };
    each_device(&g, NULL);
}

TEST(deberta_by_buckets)
{
    const int64_t length = 2 * N - 1;
    struct judge g = { .logit = deberta_buckets, .first = MEM, .keys = N, .joins = 1 };

    deberta_start(1);
    ck_assert_int_eq(heed_map_log(model.map, length, N - 1, SPAN, 40, HEED_MAP_REVERSED), HEED_OK);
    a.slots[0] = (heed_slot){ .t = rows(LEN, D, KEYS), .data = model.t };
    a.slots[1] = (heed_slot){ .t = rows(LEN, D, KEYS), .data = model.u };
    a.slots[2] = (heed_slot){ .t = { HEED_I32, 1, { length }, { 1 } }, .data = model.map };
    a.biases[0] = (heed_bias){ .kind = HEED_BIAS_DOT, .t = 1, .u = 2, .map = 3, .zero = N - 1 };
    each_device(&g, NULL);
}

/* ---- Transformer-XL ---- */

/* (q + shift_k) . (k + t) is the score; (shift_r - shift_k) . t is a number of each distance. */
TEST(transformer_xl_of_memory_and_text)
{
    struct judge g = { .logit = transformer_xl, .keys = KEYS, .joins = 2 };

    model_make(2);
    attention_start(2, 2);
    a.sources[0].k = rows(MEM, D, KEYS);
    a.sources[0].v = rows(MEM, D_V, KEYS);
    a.sources[0].flags = HEED_SOURCE_END;
    a.kv[0] = (heed_kv_bufs){ { model.k, 0 }, { model.v, 0 } };
    text_set(1);
    a.sources[1].flags = HEED_SOURCE_CAUSAL;
    for (int h = 0; h < H; h++) {
        for (int i = 0; i < N * D; i++)
            a.q[h][i / D][i % D] += model.shift_k[h][i % D];
        for (int r = 0; r < KEYS; r++) {
            double sum = 0;

            for (int t = 0; t < D; t++)
                sum += ((double)model.shift_r[h][t] - (double)model.shift_k[h][t]) *
                       (double)model.t[h][r][t];
            model.values[h][r] = (float)(sum / sqrt((double)D));
        }
    }
    a.slots[0] = (heed_slot){ .t = reversed(KEYS), .data = model.t[0][KEYS - 1] };
    a.slots[1] = (heed_slot){ .t = { HEED_F32, 2, { H, KEYS }, { KEYS, -1 } },
                              .data = &model.values[0][KEYS - 1] };
    a.biases[0] = (heed_bias){ .kind = HEED_BIAS_DOT, .t = 1, .zero = KEYS - 1 };
    a.biases[1] = (heed_bias){ .kind = HEED_BIAS_TABLE, .t = 2, .zero = KEYS - 1 };
    each_device(&g, NULL);
}

/* ---- what no pair looks at ---- */

static float tables[2][H][KEYS][D];

static void poison_and_compare(heed_device *device, heed_queue *queue)
{
    float before[H][N][D_V];

    memcpy(before, a.o, sizeof(before));
    memcpy(tables[0], model.t, sizeof(tables[0]));
    memcpy(tables[1], model.u, sizeof(tables[1]));
    for (int h = 0; h < H; h++) {
        for (int r = 0; r < KEYS; r++) {
            if (r >= 20 && r <= 40) /* the distances that are seen, beside zero = 40 */
                continue;
            for (int t = 0; t < D; t++)
                tables[0][h][r][t] = tables[1][h][r][t] = r % 2 ? NAN : INFINITY;
        }
    }
    a.slots[0].data = tables[0];
    a.slots[1].data = tables[1];
    attention_run(device, queue);
    ck_assert_mem_eq(before, a.o, sizeof(before));
    a.slots[0].data = model.t;
    a.slots[1].data = model.u;
}

TEST(rows_that_no_visible_key_has_are_not_consulted)
{
    const heed_term window = { .kind = HEED_TERM_WINDOW, .left = 20, .right = 20 };

    deberta_start(1);
    a.sources[0].terms = &window;
    a.sources[0].n_terms = 1;
    a.sources[0].term_size = sizeof(window);
    a.sources[0].flags = HEED_SOURCE_CAUSAL;
    a.slots[0] = (heed_slot){ .t = rows(KEYS, D, KEYS), .data = model.t };
    a.slots[1] = (heed_slot){ .t = rows(KEYS, D, KEYS), .data = model.u };
    a.biases[0] = (heed_bias){ .kind = HEED_BIAS_DOT, .t = 1, .u = 2, .zero = 40 };
    each_device(NULL, poison_and_compare);
}

/* With a softcap an infinite product is finite again; a query times a row that is not there, taken
 * for zeros, would be NaN. */
static void without_bias(heed_device *device, heed_queue *queue)
{
    float before[H][N][D_V];

    memcpy(before, a.o, sizeof(before));
    ck_assert(isfinite(before[0][1][0]));
    a.sources[0].n_biases = 0;
    attention_run(device, queue);
    ck_assert_mem_eq(before, a.o, sizeof(before));
    a.sources[0].n_biases = 1;
}

TEST(an_index_outside_the_table_adds_nothing_to_infinities)
{
    static const int32_t outside[1] = { LEN };

    deberta_start(1);
    a.desc.softcap = 5;
    for (int i = 0; i < H * N; i++)
        a.q[i / N][i % N][0] = i % 3 != 0 ? INFINITY : 1;
    for (int i = 0; i < H * KEYS; i++)
        model.k[i / KEYS][i % KEYS][0] = i % 2 ? -1 : 1;
    a.slots[0] = (heed_slot){ .t = rows(LEN, D, KEYS), .data = model.t };
    a.slots[2] = (heed_slot){ .t = { HEED_I32, 1, { 1 }, { 1 } }, .data = outside };
    a.biases[0] = (heed_bias){ .kind = HEED_BIAS_DOT, .t = 1, .u = 1, .map = 3 };
    each_device(NULL, without_bias);
}

int main(void)
{
    return suite_run("dot", 0, NULL, NULL);
}
