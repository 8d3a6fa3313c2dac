/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Relative positions that have a say in scores: Transformer-XL, Compressive Transformer, DeBERTa.
 */
#include "faults.h"

enum { HEADS = 2, N = 30, N_M = 18, N_C = 7, CHANNELS = 8, DISTANCES = N + N_M + N_C };

static float r_of[HEADS][DISTANCES][CHANNELS]; /* row y: distance DISTANCES - 1 - y */
static float v_less_u[HEADS][CHANNELS], shift[HEADS][DISTANCES];

static void relative_make(double scale)
{
    for (int h = 0; h < HEADS; h++) {
        for (int t = 0; t < CHANNELS; t++)
            v_less_u[h][t] = world_float() * 0.125f;
        for (int y = 0; y < DISTANCES; y++) {
            double sum = 0;

            for (int t = 0; t < CHANNELS; t++) {
                r_of[h][y][t] = world_float() * 0.25f;
                sum += (double)v_less_u[h][t] * (double)r_of[h][y][t];
            }
            shift[h][y] = (float)(sum * scale);
        }
    }
}

static double dot_of(const float *a, const float *b, double *size)
{
    double sum = 0;

    for (int t = 0; t < CHANNELS; t++) {
        sum += (double)a[t] * (double)b[t];
        *size += fabs((double)a[t] * (double)b[t]);
    }
    return sum;
}

/* ---- Dai et al. 2019, section 3.3; Rae et al. 2020, section 3 ---- */

static int64_t memory_times(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                            int64_t j)
{
    (void)w, (void)b, (void)h;
    return set > 0 || j <= i;
}

/* Terms (b) and (d) of the paper; (a) and (c), q . k and u . k, are in the given q. The position of
 * a key counts back from the first token of the segment through the memories. */
static double xl_extra(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                       int64_t j, double *size)
{
    const int64_t end[3] = { 0, w->set[1].len[b], w->n_sets == 3 ? N_M + w->set[2].len[b] : 0 };
    const int64_t distance = i - (j - end[set]);
    const float *row = r_of[h][DISTANCES - 1 - distance];
    const double scale = 1 / sqrt((double)w->d);
    double value;

    ck_assert(distance >= 0 && distance < DISTANCES);
    value = dot_of(world_row(&w->q, b, h, i), row, size);
    value += dot_of(v_less_u[h], row, size);
    *size *= scale;
    return value * scale;
}

static heed_relative relative(struct world_of *w)
{
    w->slot_buf[HEED_MECHANISM_TABLE - 1].handle = r_of;
    return (heed_relative){
        .r = world_slot(HEED_F32, 3, HEADS, DISTANCES, CHANNELS, 1, NULL),
        .shift = world_slot(HEED_F32, 2, HEADS, DISTANCES, 1, 1, shift),
        .zero = DISTANCES - 1,
    };
}

static void xl_build(struct world_of *w)
{
    const heed_transformer_xl_desc desc = {
        .size = sizeof(desc),
        .q = w->q.t,
        .o = w->o.t,
        .text = world_keys(w, 0),
        .memory = world_keys(w, 1),
        .relative = relative(w),
    };

    ck_assert_int_eq(heed_transformer_xl(&desc, &w->m, &world.why), HEED_OK);
}

static void compressive_build(struct world_of *w)
{
    const heed_compressive_desc desc = {
        .size = sizeof(desc),
        .q = w->q.t,
        .o = w->o.t,
        .text = world_keys(w, 0),
        .memory = world_keys(w, 1),
        .compressed = world_keys(w, 2),
        .relative = relative(w),
    };

    ck_assert_int_eq(heed_compressive(&desc, &w->m, &world.why), HEED_OK);
}

static struct world_of world_sized(const char *name)
{
    return (struct world_of){
        .name = name,
        .batch = 2,
        .heads = HEADS,
        .n_q = N,
        .d = CHANNELS,
        .d_v = 5,
        .n_sets = 1,
        .set = { { .n = N, .has_len = true, .has_mask = true } },
    };
}

LOOP_TEST(transformer_xl, world_devices())
{
    struct world_of w = world_sized("transformer-xl, relative");

    w.n_sets = 2;
    w.set[1] = (struct key_set){ .n = N_M, .has_len = true };
    w.build = xl_build;
    w.times = memory_times;
    w.extra = xl_extra;
    w.kv_heads = 1;
    relative_make(1 / sqrt((double)CHANNELS));
    mechanism_prove(&w, _i);
}

LOOP_TEST(compressive_transformer, world_devices())
{
    struct world_of w = world_sized("compressive, relative");

    w.n_sets = 3;
    w.set[1] = (struct key_set){ .n = N_M, .has_len = true };
    w.set[2] = (struct key_set){ .n = N_C, .has_len = true };
    w.build = compressive_build;
    w.times = memory_times;
    w.extra = xl_extra;
    relative_make(1 / sqrt((double)CHANNELS));
    mechanism_prove(&w, _i);
}

/* ---- He et al. 2021, section 3.1 ---- */

enum { K = 6, ROWS = 2 * K, ENTRIES = 2 * N - 1 };

struct deberta {
    bool kr, qr, mapped;
    int64_t window;
    float key_of[HEADS][ROWS][CHANNELS], query_of[HEADS][ROWS][CHANNELS];
    int32_t map[ENTRIES];
};

/* Equation (3): 0 for i - j <= -k, 2k - 1 for i - j >= k, else i - j + k. */
static int64_t delta(int64_t i, int64_t j)
{
    if (i - j <= -K)
        return 0;
    return i - j >= K ? 2 * K - 1 : i - j + K;
}

static int64_t deberta_times(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                             int64_t j)
{
    const struct deberta *p = w->p;

    (void)b, (void)h, (void)set;
    return p->window == 0 || (i - j <= p->window && j - i <= p->window);
}

/* Equation (4) without its first term; both at delta(i, j), as the authors' code has it. */
static double deberta_extra(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                            int64_t j, double *size)
{
    const struct deberta *p = w->p;
    double value = 0;

    if (p->kr)
        value += dot_of(world_row(&w->q, b, h, i), p->key_of[h][delta(i, j)], size);
    if (p->qr)
        value += dot_of(world_row(&w->set[set].k, b, h, j), p->query_of[h][delta(i, j)], size);
    *size *= w->scale;
    return value * w->scale;
}

/* The rows of a table from the last to the first: without a map they go by j - i. */
static heed_slot backwards(void)
{
    heed_slot slot = world_slot(HEED_F32, 3, HEADS, ROWS, CHANNELS, 1, NULL);

    slot.t.stride[1] = -CHANNELS;
    return slot;
}

static void deberta_build(struct world_of *w)
{
    struct deberta *p = (struct deberta *)w->p;
    const heed_slot table = p->mapped ? world_slot(HEED_F32, 3, HEADS, ROWS, CHANNELS, 1, NULL)
                                      : backwards();
    const int first = p->mapped ? 0 : ROWS - 1;
    heed_deberta_desc desc = {
        .size = sizeof(desc),
        .q = w->q.t,
        .o = w->o.t,
        .text = world_keys(w, 0),
        .zero = p->mapped ? N - 1 : K - 1,
        .window = p->window,
    };

    if (p->kr)
        desc.kr = table;
    if (p->qr)
        desc.qr = table;
    if (p->mapped)
        desc.map = world_slot(HEED_I32, 1, ENTRIES, 1, 1, 1, p->map);
    w->slot_buf[HEED_MECHANISM_TABLE - 1].handle = p->key_of[0][first];
    w->slot_buf[HEED_MECHANISM_TABLE_2 - 1].handle = p->query_of[0][first];
    ck_assert_int_eq(heed_deberta(&desc, &w->m, &world.why), HEED_OK);
}

LOOP_TEST(deberta, world_devices())
{
    static struct deberta cases[] = {
        { .kr = true, .qr = true },
        { .kr = true, .qr = true, .mapped = true, .window = 4 },
        { .kr = true, .mapped = true },
        { .qr = true, .window = 9 },
    };

    for (size_t x = 0; x < sizeof(cases) / sizeof(cases[0]); x++) {
        struct deberta *p = &cases[x];
        struct world_of w = world_sized("deberta");

        w.build = deberta_build;
        w.times = deberta_times;
        w.extra = deberta_extra;
        w.scale = 1 / sqrt((1.0 + p->kr + p->qr) * CHANNELS);
        w.p = p;
        for (int h = 0; h < HEADS; h++) {
            for (int y = 0; y < ROWS * CHANNELS; y++) {
                p->key_of[h][y / CHANNELS][y % CHANNELS] = world_float() * 0.25f;
                p->query_of[h][y / CHANNELS][y % CHANNELS] = world_float() * 0.0625f;
            }
        }
        for (int e = 0; e < ENTRIES; e++)
            p->map[e] = (int32_t)delta(N - 1, e);
        mechanism_prove(&w, _i);
        world_close();
    }
}

/* ---- what the builders refuse ---- */

BUILDER(heed_deberta)
BUILDER(heed_transformer_xl)
BUILDER(heed_compressive)

TEST(parameters_out_of_range)
{
    static const float table[1];
    const heed_slot slot = world_slot(HEED_F32, 2, 1, 1, 1, 1, table);
    const heed_deberta_desc right = {
        .size = sizeof(right),
        .q = small_tensor(20),
        .o = small_tensor(20),
        .text = small_keys(20),
        .kr = slot,
        .map = slot,
    };
    const heed_transformer_xl_desc xl = {
        .size = sizeof(xl),
        .q = small_tensor(20),
        .o = small_tensor(20),
        .text = small_keys(20),
        .memory = small_keys(4),
        .relative = { .r = slot, .shift = slot },
    };
    const heed_compressive_desc compressive = {
        .size = sizeof(compressive),
        .q = small_tensor(20),
        .o = small_tensor(20),
        .text = small_keys(20),
        .memory = small_keys(4),
        .compressed = small_keys(4),
        .relative = { .r = slot, .shift = slot },
    };
    static const struct fault faults[] = {
        FAULT(heed_deberta_desc, flags, 1, HEED_E_FLAG, "flags", 0, 1),
        FAULT(heed_deberta_desc, window, -1, HEED_E_VALUE, "window", 0, -1),
        FAULT(heed_deberta_desc, kr.t.ndim, 0, HEED_E_VALUE, "map", 0, 2),
        FAULT(heed_deberta_desc, q.shape[2], 3, HEED_E_SHAPE, "text.k", 3, 20),
    };
    static const struct fault xl_faults[] = {
        FAULT(heed_transformer_xl_desc, relative.r.t.ndim, 0, HEED_E_VALUE, "relative.shift", 0, 2),
    };
    static const struct fault compressive_faults[] = {
        FAULT(heed_compressive_desc, relative.r.t.ndim, 0, HEED_E_VALUE, "relative.shift", 0, 2),
    };

    FAULTS_REFUSED(heed_deberta_of, right, faults);
    FAULTS_REFUSED(heed_transformer_xl_of, xl, xl_faults);
    FAULTS_REFUSED(heed_compressive_of, compressive, compressive_faults);
}

int main(void)
{
    return suite_run("relative", 240, NULL, world_close);
}
