/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The Poolingformer's fusion with DeBERTa, level 1: windows and global tokens, each with tables of
 * relative positions of their own. Written from section 2.4 of the thesis: equations (2.18) to
 * (2.20) for two tokens of the text, (2.25) with the even mapping F for a pair with a global token.
 */
#include "faults.h"

enum { HEADS = 2, N = 40, G = 5, CHANNELS = 8, ALL = N + G };
enum { K = 6, ROWS = 2 * K, K_G = 4, ROWS_G = 2 * K_G, ENTRIES = 2 * ALL - 1 };

struct fusion {
    bool kr, qr, global_rows;
    int64_t window;
    float key_of[HEADS][ROWS][CHANNELS], query_of[HEADS][ROWS][CHANNELS];
    float global_key_of[HEADS][ROWS_G][CHANNELS], global_query_of[HEADS][ROWS_G][CHANNELS];
    int32_t map[ENTRIES], global_map[ENTRIES];
};

/* Of the distance r = i - j: 0 for r <= -k, 2k - 1 for r >= k, else r + k. */
static int64_t delta(int64_t r)
{
    if (r <= -K)
        return 0;
    return r >= K ? 2 * K - 1 : r + K;
}

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

static double dot_of(const float *a, const float *b, double *size)
{
    double sum = 0;

    for (int t = 0; t < CHANNELS; t++) {
        sum += (double)a[t] * (double)b[t];
        *size += fabs((double)a[t] * (double)b[t]);
    }
    return sum;
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
        desc.map = world_slot(HEED_I32, 1, ENTRIES, 1, 1, 1, p->map);
        desc.global_map = world_slot(HEED_I32, 1, ENTRIES, 1, 1, 1, p->global_map);
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
    for (int64_t e = 0; e < ENTRIES; e++) {
        p->map[e] = (int32_t)delta(ALL - 1 - e);        /* entry j - i + zero */
        p->global_map[e] = (int32_t)even(ALL - 1 - e);
    }
}

LOOP_TEST(pairs_with_globals_have_tables_of_their_own, world_devices())
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
        mechanism_prove(&w, _i);
        world_close();
    }
}

/* What the header says writes the map of global pairs does. */
TEST(the_even_map_is_that_of_global_pairs)
{
    int32_t map[ENTRIES];

    ck_assert_int_eq(heed_map_even(map, ENTRIES, ALL - 1, K_G, ALL, HEED_MAP_REVERSED), HEED_OK);
    for (int64_t e = 0; e < ENTRIES; e++)
        ck_assert_int_eq(map[e], even(ALL - 1 - e));
}

BUILDER(heed_poolingformer_deberta)

TEST(parameters_out_of_range)
{
    static const float table[1];
    const heed_slot slot = world_slot(HEED_F32, 2, 1, 1, 1, 1, table);
    const heed_poolingformer_deberta_desc right = {
        .size = sizeof(right),
        .q = small_tensor(20),
        .o = small_tensor(20),
        .text = small_keys(20),
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
    return suite_run("fusion", 240, NULL, world_close);
}
