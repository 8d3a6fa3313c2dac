/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Relative positions that have a say in scores: Transformer-XL, Compressive Transformer, DeBERTa,
 * and the Poolingformer's fusion with DeBERTa.
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

TEST(transformer_xl)
{
    struct world_of w = world_sized("transformer-xl, relative");

    w.n_sets = 2;
    w.set[1] = (struct key_set){ .n = N_M, .has_len = true };
    w.build = xl_build;
    w.times = memory_times;
    w.extra = xl_extra;
    w.kv_heads = 1;
    relative_make(1 / sqrt((double)CHANNELS));
    mechanism_prove(&w);
}

TEST(compressive_transformer)
{
    struct world_of w = world_sized("compressive, relative");

    w.n_sets = 3;
    w.set[1] = (struct key_set){ .n = N_M, .has_len = true };
    w.set[2] = (struct key_set){ .n = N_C, .has_len = true };
    w.build = compressive_build;
    w.times = memory_times;
    w.extra = xl_extra;
    relative_make(1 / sqrt((double)CHANNELS));
    mechanism_prove(&w);
}

/* ---- He et al. 2021, section 3.1 ---- */

enum { K = 6, ROWS = 2 * K, ENTRIES = 2 * N - 1 };

struct deberta {
    bool kr, qr, mapped;
    int64_t window;
    float key_of[HEADS][ROWS][CHANNELS], query_of[HEADS][ROWS][CHANNELS];
    int32_t map[ENTRIES];
};

/* Equation (3), of the distance r = i - j: 0 for r <= -k, 2k - 1 for r >= k, else r + k. */
static int64_t delta(int64_t r)
{
    if (r <= -K)
        return 0;
    return r >= K ? 2 * K - 1 : r + K;
}

static int64_t deberta_times(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                             int64_t j)
{
    const struct deberta *p = w->p;

    (void)b, (void)h, (void)set;
    return p->window == 0 || (i - j <= p->window && j - i <= p->window);
}

/* Equation (4) without its first term; both at delta, as the authors' code has it. */
static double deberta_extra(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                            int64_t j, double *size)
{
    const struct deberta *p = w->p;
    double value = 0;

    if (p->kr)
        value += dot_of(world_row(&w->q, b, h, i), p->key_of[h][delta(i - j)], size);
    if (p->qr)
        value += dot_of(world_row(&w->set[set].k, b, h, j), p->query_of[h][delta(i - j)], size);
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

TEST(deberta)
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
            p->map[e] = (int32_t)delta(N - 1 - e);
        mechanism_prove(&w);
    }
}

/* ---- the thesis of Poolingformer, section 2.4: equations (2.18) to (2.20) for two tokens of the
 * text, (2.25) with the even mapping F for a pair with a global token ---- */

enum { G = 5, ALL = N + G, K_G = 4, ROWS_G = 2 * K_G, PAIRS = 2 * ALL - 1 };

struct fusion {
    bool kr, qr, global_rows;
    int64_t window;
    float key_of[HEADS][ROWS][CHANNELS], query_of[HEADS][ROWS][CHANNELS];
    float global_key_of[HEADS][ROWS_G][CHANNELS], global_query_of[HEADS][ROWS_G][CHANNELS];
    int32_t map[PAIRS], global_map[PAIRS];
};

/* k_g rows for the distances from 0 on, and as many for those below, evenly up to the longest. */
static int64_t even(int64_t r)
{
    const int64_t far = (r < 0 ? -r : r) * K_G / ALL, b = far < K_G - 1 ? far : K_G - 1;

    return r >= 0 ? K_G + b : K_G - 1 - b;
}

static int64_t fusion_times(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                            int64_t j)
{
    const struct fusion *p = w->p;

    (void)b, (void)h;
    return set == 1 || p->global_rows || (i - j <= p->window && j - i <= p->window);
}

/* The terms of relative positions. Global tokens stand in front of the text. */
static double fusion_extra(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                           int64_t j, double *size)
{
    const struct fusion *p = w->p;
    const int64_t r = (p->global_rows ? i - G : i) - (set == 1 ? j - G : j);
    const bool global = set == 1 || p->global_rows;
    const int64_t x = global ? even(r) : delta(r);
    double value = 0;

    if (p->kr)
        value += dot_of(world_row(&w->q, b, h, i),
                        global ? p->global_key_of[h][x] : p->key_of[h][x], size);
    if (p->qr)
        value += dot_of(world_row(&w->set[set].k, b, h, j),
                        global ? p->global_query_of[h][x] : p->query_of[h][x], size);
    *size *= w->scale;
    return value * w->scale;
}

static void fusion_build(struct world_of *w)
{
    struct fusion *p = (struct fusion *)w->p;
    const heed_slot table = world_slot(HEED_F32, 3, HEADS, ROWS, CHANNELS, 1, NULL);
    const heed_slot of_globals = world_slot(HEED_F32, 3, HEADS, ROWS_G, CHANNELS, 1, NULL);
    const bool tables = p->kr || p->qr;
    heed_poolingformer_deberta_desc desc = {
        .size = sizeof(desc),
        .flags = p->global_rows ? (uint32_t)HEED_POOLINGFORMER_GLOBAL_ROWS : 0,
        .q = w->q.t,
        .o = w->o.t,
        .text = world_keys(w, 0),
        .globals = world_keys(w, 1),
        .zero = ALL - 1,
        .global_zero = ALL - 1,
        .window = p->window,
    };

    if (p->kr) {
        desc.kr = table;
        desc.global_kr = of_globals;
    }
    if (p->qr) {
        desc.qr = table;
        desc.global_qr = of_globals;
    }
    if (tables) {
        desc.map = world_slot(HEED_I32, 1, PAIRS, 1, 1, 1, p->map);
        desc.global_map = world_slot(HEED_I32, 1, PAIRS, 1, 1, 1, p->global_map);
    }
    w->slot_buf[HEED_MECHANISM_TABLE - 1].handle = p->key_of;
    w->slot_buf[HEED_MECHANISM_TABLE_2 - 1].handle = p->query_of;
    w->slot_buf[HEED_MECHANISM_GLOBAL_TABLE - 1].handle = p->global_key_of;
    w->slot_buf[HEED_MECHANISM_GLOBAL_TABLE_2 - 1].handle = p->global_query_of;
    ck_assert_int_eq(heed_poolingformer_deberta(&desc, &w->m, &world.why), HEED_OK);
}

static void floats_make(float *x, int64_t n, float unit)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = world_float() * unit;
}

static void tables_make(struct fusion *p)
{
    floats_make(&p->key_of[0][0][0], HEADS * ROWS * CHANNELS, 0.25f);
    floats_make(&p->query_of[0][0][0], HEADS * ROWS * CHANNELS, 0.0625f);
    floats_make(&p->global_key_of[0][0][0], HEADS * ROWS_G * CHANNELS, 0.25f);
    floats_make(&p->global_query_of[0][0][0], HEADS * ROWS_G * CHANNELS, 0.0625f);
    for (int64_t e = 0; e < PAIRS; e++) {
        p->map[e] = (int32_t)delta(ALL - 1 - e);        /* entry j - i + zero */
        p->global_map[e] = (int32_t)even(ALL - 1 - e);
    }
}

TEST(pairs_with_globals_have_tables_of_their_own)
{
    static struct fusion cases[] = {
        { .kr = true, .qr = true, .window = 4 },
        { .kr = true, .qr = true, .window = 4, .global_rows = true },
        { .qr = true, .window = 11 },
        { .kr = true, .window = 1, .global_rows = true },
        { .window = 3 },
    };

    for (size_t x = 0; x < sizeof(cases) / sizeof(cases[0]); x++) {
        struct fusion *p = &cases[x];
        struct world_of w = {
            .name = p->global_rows ? "fusion, global rows" : "fusion",
            .batch = 2,
            .heads = HEADS,
            .n_q = p->global_rows ? G : N,
            .cross = p->global_rows,
            .d = CHANNELS,
            .d_v = 5,
            .n_sets = 2,
            .set = { { .n = N, .has_len = true, .has_mask = true }, { .n = G, .has_mask = true } },
            .build = fusion_build,
            .times = fusion_times,
            .extra = fusion_extra,
            .scale = 1 / sqrt((1.0 + p->kr + p->qr) * CHANNELS),
            .p = p,
        };

        tables_make(p);
        mechanism_prove(&w);
    }
}

/* What the header says writes the map of global pairs does. */
TEST(the_even_map_is_that_of_global_pairs)
{
    int32_t map[PAIRS];

    ck_assert_int_eq(heed_map_even(map, PAIRS, ALL - 1, K_G, ALL, HEED_MAP_REVERSED), HEED_OK);
    for (int64_t e = 0; e < PAIRS; e++)
        ck_assert_int_eq(map[e], even(ALL - 1 - e));
}

/* ---- what the builders refuse ---- */

#define SELF .q = small_tensor(20), .o = small_tensor(20), .text = small_keys(20)

BUILDER(heed_deberta)
BUILDER(heed_transformer_xl)
BUILDER(heed_compressive)

TEST(parameters_out_of_range)
{
    static const float table[1];
    const heed_slot slot = world_slot(HEED_F32, 2, 1, 1, 1, 1, table);
    const heed_deberta_desc right = {
        .size = sizeof(right), SELF,
        .kr = slot,
        .map = slot,
    };
    const heed_transformer_xl_desc xl = {
        .size = sizeof(xl), SELF,
        .memory = small_keys(4),
        .relative = { .r = slot, .shift = slot },
    };
    const heed_compressive_desc compressive = {
        .size = sizeof(compressive), SELF,
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

BUILDER(heed_poolingformer_deberta)

TEST(fusions_out_of_range)
{
    static const float table[1];
    const heed_slot slot = world_slot(HEED_F32, 2, 1, 1, 1, 1, table);
    const heed_poolingformer_deberta_desc right = {
        .size = sizeof(right), SELF,
        .globals = small_keys(4),
        .kr = slot,
        .global_kr = slot,
        .map = slot,
        .global_map = slot,
    };
    heed_poolingformer_deberta_desc rows = right, plain = right;
    static const struct fault faults[] = {
        FAULT(heed_poolingformer_deberta_desc, flags, 2, HEED_E_FLAG, "flags", 1, 2),
        FAULT(heed_poolingformer_deberta_desc, window, -1, HEED_E_VALUE, "window", 1, -1),
        FAULT(heed_poolingformer_deberta_desc, global_kr.t.ndim, 0, HEED_E_NULL, "global_kr", 2, 0),
        FAULT(heed_poolingformer_deberta_desc, kr.t.ndim, 0, HEED_E_VALUE, "global_kr", 0, 2),
        FAULT(heed_poolingformer_deberta_desc, qr.t.ndim, 2, HEED_E_NULL, "global_qr", 2, 0),
        FAULT(heed_poolingformer_deberta_desc, q.shape[2], 3, HEED_E_SHAPE, "text.k", 3, 20),
        FAULT(heed_poolingformer_deberta_desc, globals.k.ndim, 0, HEED_E_NULL, "globals.k", 0, 0),
    };
    static const struct fault rows_faults[] = {
        FAULT(heed_poolingformer_deberta_desc, q.shape[2], 3, HEED_E_SHAPE, "globals.k", 3, 4),
    };
    static const struct fault plain_faults[] = {
        FAULT(heed_poolingformer_deberta_desc, map.t.ndim, 1, HEED_E_VALUE, "map", 0, 1),
        FAULT(heed_poolingformer_deberta_desc, global_map.t.ndim, 1, HEED_E_VALUE, "global_map", 0,
              1),
    };

    rows.flags = HEED_POOLINGFORMER_GLOBAL_ROWS;
    rows.q = rows.o = small_tensor(4);
    plain.kr = plain.global_kr = plain.map = plain.global_map = (heed_slot){ .data = NULL };
    FAULTS_REFUSED(heed_poolingformer_deberta_of, right, faults);
    FAULTS_REFUSED(heed_poolingformer_deberta_of, rows, rows_faults);
    FAULTS_REFUSED(heed_poolingformer_deberta_of, plain, plain_faults);
}

int main(void)
{
    return suite_run("relative", 240, NULL, world_close);
}
