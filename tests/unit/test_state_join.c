/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What states of calls of attention have to do with one call over all keys, bit for bit.
 */
#include "support/suite.h"

#include <heed/attn.h>

#include <math.h>
#include <string.h>

enum { H = 2, N_Q = 3, N_K = 2500, D = 5, D_V = 7, CHUNK = 1024, MOST = 4, ROWS = H * N_Q };
enum { WIDTH = HEED_STATE_SUMS + D_V };

static const char *const devices[] = { "reference", "cpu:scalar", "cpu" };
static float q[ROWS][D], k[H][N_K][D], v[H][N_K][D_V], sinks[H];

static heed_runtime *runtime;
static heed_queue *queue;
static heed_report report;

static void fill(float *to, size_t n, float scale, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = ((float)(seed >> 8) * 0x1p-24f - 0.5f) * scale;
    }
}

static void before(void)
{
    report = (heed_report){ .size = sizeof(report) };
    ck_assert_int_ge(heed_runtime_create(NULL, &runtime, &report), 0);
    fill(&q[0][0], sizeof(q) / sizeof(float), 9, 1);
    fill(&k[0][0][0], sizeof(k) / sizeof(float), 9, 2);
    fill(&v[0][0][0], sizeof(v) / sizeof(float), 2, 3);
    fill(sinks, H, 30, 4);
}

static void after(void)
{
    heed_runtime_destroy(runtime);
}

static void device_open(const char *name)
{
    heed_device *device;

    ck_assert_int_ge(heed_device_find(runtime, name, &device, &report), 0);
    ck_assert_int_ge(heed_queue_create(device, 0, &queue, &report), 0);
}

static heed_tensor rows(int64_t width)
{
    return heed_array4(HEED_F32, NULL, 1, H, N_Q, width).t;
}

/* Keys first .. end - 1: to a state, or to o and lse with the sinks. */
static void attend(int64_t first, int64_t end, float *state, float *o, float *lse)
{
    heed_source source = {
        .k = heed_array4(HEED_F32, NULL, 1, H, end - first, D).t,
        .v = heed_array4(HEED_F32, NULL, 1, H, end - first, D_V).t,
    };
    const heed_kv_bufs kv = { { &k[0][first][0], 0 }, { &v[0][first][0], 0 } };
    heed_attn_desc desc = {
        .size = sizeof(desc),
        .flags = HEED_PLAN_OWN_WORKSPACE,
        .numerics = HEED_NUMERICS_EXACT,
        .q = rows(D),
        .sources = &source,
        .n_sources = 1,
        .source_size = sizeof(source),
    };
    const heed_attn_args args = {
        .size = sizeof(args),
        .kv_size = sizeof(kv),
        .kv = &kv,
        .q = { q, 0 },
        .sinks = { sinks, 0 },
        .o = { o, 0 },
        .lse = { lse, 0 },
        .state_out = { state, 0 },
    };
    heed_plan *plan = NULL;

    source.k.stride[1] = (int64_t)N_K * D;
    source.v.stride[1] = (int64_t)N_K * D_V;
    if (state) {
        desc.state_out = rows(WIDTH);
    } else {
        desc.o = rows(D_V);
        desc.lse = heed_array_dense(HEED_F32, NULL, 3, desc.o.shape).t;
        desc.sinks = heed_array_dense(HEED_F32, NULL, 1, (const int64_t[]){ H }).t;
    }
    ck_assert_msg(heed_attn_plan(heed_queue_device(queue), &desc, &plan, &report) >= 0, "%s",
                  report.message);
    ck_assert_msg(heed_attn_run(plan, queue, &args, NULL, &report) >= 0, "%s", report.message);
    heed_plan_drop(plan);
}

/* The first n of the states: to o and lse with the sinks, and joined. */
static void join(float states[MOST][ROWS][WIDTH], int64_t n, float *o, float *lse, float *state)
{
    const int64_t extents[] = { n, 1, H, N_Q, WIDTH };
    const heed_state_desc desc = {
        .size = sizeof(desc),
        .flags = HEED_PLAN_OWN_WORKSPACE,
        .numerics = HEED_NUMERICS_EXACT,
        .states = heed_array_dense(HEED_F32, NULL, 5, extents).t,
        .sinks = heed_array_dense(HEED_F32, NULL, 1, (const int64_t[]){ H }).t,
        .o = rows(D_V),
        .lse = heed_array_dense(HEED_F32, NULL, 3, extents + 1).t,
        .state = rows(WIDTH),
    };
    const heed_state_args args = {
        .size = sizeof(args),
        .states = { states, 0 },
        .sinks = { sinks, 0 },
        .o = { o, 0 },
        .lse = { lse, 0 },
        .state = { state, 0 },
    };
    heed_plan *plan = NULL;

    ck_assert_msg(heed_state_plan(heed_queue_device(queue), &desc, &plan, &report) >= 0, "%s",
                  report.message);
    ck_assert_msg(heed_state_run(plan, queue, &args, NULL, &report) >= 0, "%s", report.message);
    heed_plan_drop(plan);
}

struct ends {
    float o[ROWS][D_V], lse[ROWS], state[ROWS][WIDTH];
};

static struct ends one_call(void)
{
    struct ends all;

    attend(0, N_K, NULL, &all.o[0][0], all.lse);
    attend(0, N_K, &all.state[0][0], NULL, NULL);
    return all;
}

/* States of the keys between two neighbours of cuts[0 .. n], joined. */
static struct ends of_states(const int64_t *cuts, int64_t n)
{
    static float states[MOST][ROWS][WIDTH];
    struct ends all;

    for (int64_t p = 0; p < n; p++)
        attend(cuts[p], cuts[p + 1], &states[p][0][0], NULL, NULL);
    join(states, n, &all.o[0][0], all.lse, &all.state[0][0]);
    return all;
}

static bool same(const struct ends *a, const struct ends *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

TEST(states_of_a_chunk_each_have_the_bits_of_one_call)
{
    static const int64_t cuts[] = { 0, CHUNK, CHUNK, 2 * CHUNK, N_K }; /* one saw nothing */

    for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++) {
        struct ends one, joined;

        device_open(devices[i]);
        one = one_call();
        joined = of_states(cuts, 4);
        ck_assert_msg(same(&one, &joined), "%s", devices[i]);
        joined = of_states((const int64_t[]){ 0, N_K }, 1);
        ck_assert_msg(same(&one, &joined), "%s: one state", devices[i]);
        heed_queue_destroy(queue);
    }
}

/* Joined after chunks that were joined apart: other bits, of the same values. Each of the two has
 * two joins of s and of L, the four additions of L's tree and the sink's, and two roundings of o,
 * where |o| is at most 1. */
TEST(states_of_several_chunks_are_near)
{
    static const int64_t cuts[] = { 0, CHUNK, N_K };
    struct ends one, joined;

    device_open("cpu");
    one = one_call();
    joined = of_states(cuts, 2);
    ck_assert(!same(&one, &joined));
    for (int i = 0; i < ROWS; i++) {
        for (int t = 0; t < D_V; t++)
            ck_assert_float_le(fabsf(one.o[i][t] - joined.o[i][t]), 2 * 11 * 0x1p-24f);
    }
    heed_queue_destroy(queue);
}

int main(void)
{
    return suite_run("state_join", 0, before, after);
}
