/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * LongT5, local and transient-global.
 */
#include "faults.h"

enum { BUCKETS = 32, HEADS = 3, MOST_DISTANCE = 128, ENTRIES = 2 * MOST_DISTANCE + 1, SIDE = 16 };

struct longt5 {
    int64_t radius;
    bool biased;
    float table[HEADS][BUCKETS], side_table[HEADS][BUCKETS];
    int32_t map[ENTRIES];
    int32_t block_ids[400];
};

/* Raffel et al. 2020, section 2.1, as its code has it: half of the buckets for keys after the
 * query, half of a direction's for one distance each, the rest logarithmically up to 128. The
 * addend keeps logarithms that are integers on their side. */
static int64_t bucket(int64_t delta)
{
    const int64_t far = delta < 0 ? -delta : delta, base = delta > 0 ? 16 : 0;
    const double place = far >= 8 ? 8 + floor(log((double)far / 8) / log(16) * 8 + 1e-9) : 0;

    if (far < 8)
        return base + far;
    return base + (place < 15 ? (int64_t)place : 15);
}

/* ---- Guo et al. 2022, sections 3.1.1 and 3.1.2 ---- */

/* "attend to r tokens to the left and right"; every token also sees every block's sum. */
static int64_t longt5_times(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                            int64_t j)
{
    const struct longt5 *p = w->p;

    (void)b;
    (void)h;
    return set == 1 || (j - i <= p->radius && i - j <= p->radius);
}

/* Of tokens in blocks of 16, the last of which also has what is left over. */
static double longt5_bias(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                          int64_t j)
{
    const struct longt5 *p = w->p;
    const int64_t last = w->n_q / SIDE - 1, mine = i / SIDE < last ? i / SIDE : last;

    (void)b;
    if (!p->biased)
        return 0;
    return (double)(set == 0 ? p->table[h][bucket(j - i)] : p->side_table[h][bucket(j - mine)]);
}

static void longt5_build(struct world_of *w)
{
    struct longt5 *p = (struct longt5 *)w->p;
    heed_longt5_desc desc = {
        .size = sizeof(desc),
        .q = w->q.t,
        .o = w->o.t,
        .text = world_keys(w, 0),
        .radius = p->radius == 127 ? 0 : p->radius,
    };

    if (p->biased) {
        desc.table = world_slot(HEED_F32, 2, HEADS, BUCKETS, 1, 1, NULL);
        desc.map = world_slot(HEED_I32, 1, ENTRIES, 1, 1, 1, p->map);
        desc.zero = MOST_DISTANCE;
        w->slot_buf[HEED_MECHANISM_TABLE - 1].handle = p->table;
    }
    if (w->n_sets == 2)
        desc.side = world_keys(w, 1);
    if (w->n_sets == 2 && p->biased) {
        desc.side_table = world_slot(HEED_F32, 2, HEADS, BUCKETS, 1, 1, p->side_table);
        desc.block_ids = world_slot(HEED_I32, 1, w->n_q, 1, 1, 1, NULL);
        w->slot_buf[HEED_MECHANISM_COORD - 1].handle = p->block_ids;
    }
    ck_assert_int_eq(heed_longt5(&desc, &w->m, &world.why), HEED_OK);
}

static void longt5_prove(const char *name, int64_t n, int n_sets, bool biased, int64_t radius)
{
    static struct longt5 p;
    struct world_of w = {
        .name = name,
        .batch = 2,
        .heads = HEADS,
        .n_q = n,
        .d = 8,
        .d_v = 5,
        .n_sets = n_sets,
        .scale = 1,
        .set = { { .n = n, .has_len = n_sets == 1, .has_mask = true }, { .n = n / SIDE } },
        .build = longt5_build,
        .times = longt5_times,
        .bias = biased ? longt5_bias : NULL,
        .p = &p,
    };

    p.biased = biased;
    p.radius = radius;
    for (int h = 0; h < HEADS; h++) {
        for (int x = 0; x < BUCKETS; x++) {
            p.table[h][x] = world_float() * 0.25f;
            p.side_table[h][x] = world_float() * 0.25f;
        }
    }
    for (int64_t i = 0; i < n; i++)
        p.block_ids[i] = (int32_t)(i / SIDE < n / SIDE - 1 ? i / SIDE : n / SIDE - 1);
    ck_assert_int_eq(heed_map_t5(p.map, ENTRIES, MOST_DISTANCE, BUCKETS, MOST_DISTANCE, 0),
                     HEED_OK);
    mechanism_prove(&w);
}

TEST(local_attention)
{
    longt5_prove("longt5, local", 61, 1, true, 20);
    longt5_prove("longt5, local, no bias", 61, 1, false, 7);
}

/* 77 = 4 * 16 + 13 tokens: the last block has 29. */
TEST(transient_global_attention)
{
    longt5_prove("longt5, transient-global", 77, 2, true, 9);
}

/* Distances beyond the last bucket, and the default radius. */
TEST(far_keys)
{
    longt5_prove("longt5, default radius", 300, 1, true, 127);
}

/* ---- what the builder refuses ---- */

BUILDER(heed_longt5)

TEST(parameters_out_of_range)
{
    static const float table[2][BUCKETS];
    static const int32_t ids[20];
    const heed_longt5_desc right = {
        .size = sizeof(right),
        .q = small_tensor(20),
        .o = small_tensor(20),
        .text = small_keys(20),
        .side = small_keys(1),
        .table = world_slot(HEED_F32, 2, 2, BUCKETS, 1, 1, table),
        .side_table = world_slot(HEED_F32, 2, 2, BUCKETS, 1, 1, table),
        .map = world_slot(HEED_I32, 1, 20, 1, 1, 1, ids),
        .block_ids = world_slot(HEED_I32, 1, 20, 1, 1, 1, ids),
        .radius = 4,
    };
#define T5(member, value, status, field, wanted, got)                                              \
    FAULT(heed_longt5_desc, member, value, status, field, wanted, got)
    static const struct fault faults[] = {
        T5(flags, 1, HEED_E_FLAG, "flags", 0, 1),
        T5(radius, -1, HEED_E_VALUE, "radius", 1, -1),
        T5(q.shape[2], 19, HEED_E_SHAPE, "text.k", 19, 20),
        T5(side.v, 0, HEED_E_NULL, "side.v", 0, 0),
        T5(side.k.ndim, 0, HEED_E_VALUE, "side_table", 0, 2),
        T5(side_table.t.ndim, 0, HEED_E_VALUE, "block_ids", 0, 1),
        T5(block_ids.t.ndim, 0, HEED_E_NULL, "block_ids", 0, 0),
    };
#undef T5
    static const struct fault no_table[] = {
        FAULT(heed_longt5_desc, table.t.ndim, 0, HEED_E_VALUE, "map", 0, 1),
    };
    heed_longt5_desc local = right;

    FAULTS_REFUSED(heed_longt5_of, right, faults);
    memset(&local.side, 0, sizeof(local.side));
    memset(&local.side_table, 0, sizeof(local.side_table));
    memset(&local.block_ids, 0, sizeof(local.block_ids));
    FAULTS_REFUSED(heed_longt5_of, local, no_table);
}

int main(void)
{
    return suite_run("longt5", 240, NULL, world_close);
}
