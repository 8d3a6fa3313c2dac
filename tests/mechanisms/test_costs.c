/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What mechanisms cost, as plans say it: the pairs that heed/mechanisms.h states, for long texts,
 * and a workspace that does not grow with the square of the length.
 */
#include "faults.h"

enum { HEADS = 2, SHORT = 1 << 14, LONG = 1 << 16 };

struct cost {
    const char *name;
    /* Fills m for a text of n tokens; NULL or memory of its own, which the test frees. */
    void *(*build)(int64_t n, heed_mechanism *m);
    /* Pairs of one head and item. */
    double (*pairs)(double n);
    bool linear;
};

/* ---- mechanisms with the parameters of their papers ---- */

#define TEXT .q = small_tensor(n), .o = small_tensor(n), .text = small_keys(n)

static void *longformer(int64_t n, heed_mechanism *m)
{
    const heed_longformer_desc desc = { .size = sizeof(desc), TEXT, .n_globals = 16 };

    ck_assert_int_eq(heed_longformer(&desc, m, &world.why), HEED_OK);
    return NULL;
}

static double longformer_pairs(double n)
{
    return n * (2 * 256 + 1 + 2 * 16);
}

static void *bigbird(int64_t n, heed_mechanism *m)
{
    int32_t *const random = calloc((size_t)(n / 64 * 3), sizeof(*random));
    const heed_bigbird_desc desc = {
        .size = sizeof(desc), TEXT, .random = world_slot(HEED_I32, 3, 1, n / 64, 3, 1, random)
    };

    ck_assert_ptr_nonnull(random);
    ck_assert_int_eq(heed_bigbird(&desc, m, &world.why), HEED_OK);
    return random;
}

static double bigbird_pairs(double n)
{
    return n * (5 + 3) * 64 + 2 * 64 * n;     /* and the rows of two blocks */
}

static void *longt5(int64_t n, heed_mechanism *m)
{
    const heed_longt5_desc desc = { .size = sizeof(desc), TEXT, .side = small_keys(n / 16) };

    ck_assert_int_eq(heed_longt5(&desc, m, &world.why), HEED_OK);
    return NULL;
}

static double longt5_pairs(double n)
{
    return n * (2 * 127 + 1 + n / 16);
}

static void *lsg_stride(int64_t n, heed_mechanism *m)
{
    const heed_lsg_desc desc = {
        .size = sizeof(desc), TEXT, .globals = small_keys(64), .sparsity = HEED_LSG_STRIDE,
        .factor = 4
    };

    ck_assert_int_eq(heed_lsg(&desc, m, &world.why), HEED_OK);
    return NULL;
}

static void *lsg_block_stride(int64_t n, heed_mechanism *m)
{
    const int64_t room = HEADS * (n / 128) * 2 * 4;
    int32_t *const list = calloc((size_t)room, sizeof(*list));
    const heed_lsg_desc desc = {
        .size = sizeof(desc), TEXT, .globals = small_keys(64), .sparsity = HEED_LSG_BLOCK_STRIDE,
        .factor = 4, .list = list, .list_room = room
    };

    ck_assert_int_eq(heed_lsg(&desc, m, &world.why), HEED_OK);
    return list;
}

static double lsg_pairs(double n)
{
    return n * (64 + 5 * 128);
}

static void *hepos(int64_t n, heed_mechanism *m)
{
    const heed_hepos_desc desc = {
        .size = sizeof(desc), .q = small_tensor(256), .o = small_tensor(256), .text = small_keys(n)
    };

    ck_assert_int_eq(heed_hepos(&desc, m, &world.why), HEED_OK);
    return NULL;
}

static double hepos_pairs(double n)
{
    return 256 * n / 4;
}

static void *pegasus_x(int64_t n, heed_mechanism *m)
{
    const heed_pegasus_x_desc desc = {
        .size = sizeof(desc), .flags = HEED_PEGASUS_X_STAGGERED, TEXT, .globals = small_keys(128)
    };

    ck_assert_int_eq(heed_pegasus_x(&desc, m, &world.why), HEED_OK);
    return NULL;
}

static double pegasus_x_pairs(double n)
{
    return n * (128 + 512);
}

static void *poolingformer(int64_t n, heed_mechanism *m)
{
    const heed_poolingformer_desc desc = { .size = sizeof(desc), TEXT, .n_globals = 16 };

    ck_assert_int_eq(heed_poolingformer_level1(&desc, m, &world.why), HEED_OK);
    return NULL;
}

static double poolingformer_pairs(double n)
{
    return n * (2 * 128 + 1 + 2 * 16);
}

static void *salient(int64_t n, heed_mechanism *m)
{
    const heed_salient_desc desc = { .size = sizeof(desc), TEXT, .prefix = small_keys(1024) };

    ck_assert_int_eq(heed_salient(&desc, m, &world.why), HEED_OK);
    return NULL;
}

static double salient_pairs(double n)
{
    return n * (1024 + n);
}

static void *transformer_xl(int64_t n, heed_mechanism *m)
{
    const heed_transformer_xl_desc desc = {
        .size = sizeof(desc), TEXT, .memory = small_keys(512)
    };

    ck_assert_int_eq(heed_transformer_xl(&desc, m, &world.why), HEED_OK);
    return NULL;
}

static double transformer_xl_pairs(double n)
{
    return n * (512 + n / 2);
}

/* Windows of 1024 tokens and units of 24 of them; what is counted is the last step. */
static void *top_down(int64_t n, heed_mechanism *m)
{
    const heed_top_down_desc desc = {
        .size = sizeof(desc), .q = small_tensor(n), .o = small_tensor(n), .top = small_keys(n / 24)
    };

    ck_assert_int_eq(heed_top_down(&desc, m, &world.why), HEED_OK);
    return NULL;
}

static double top_down_pairs(double n)
{
    return n * (n / 24);
}

/* Each state of a page is an item of one row, whose keys are its pages: half as many pairs as two
 * heads have. */
static void *pagesum(int64_t n, heed_mechanism *m)
{
    const int64_t pages[3] = { 8, n, 4 }, channels = 4;
    const heed_pagesum_desc desc = {
        .size = sizeof(desc),
        .pages = heed_array_dense(HEED_F32, NULL, 3, pages).t,
        .w = heed_array_dense(HEED_F32, NULL, 1, &channels).t,
        .o = heed_array_dense(HEED_F32, NULL, 2, pages + 1).t,
    };

    ck_assert_int_eq(heed_pagesum(&desc, m, &world.why), HEED_OK);
    return NULL;
}

static double pagesum_pairs(double n)
{
    return n * 8 / HEADS;
}

/* A million tokens go by in segments: what does not grow is the rest. */
static void *awesome(int64_t n, heed_mechanism *m)
{
    const heed_awesome_desc desc = {
        .size = sizeof(desc), TEXT, .memory = small_keys(512), .compressed = small_keys(512)
    };

    ck_assert_int_eq(heed_awesome(&desc, m, &world.why), HEED_OK);
    return NULL;
}

static double awesome_pairs(double n)
{
    return n * (1024 + n);
}

static void *retrieval(int64_t n, heed_mechanism *m)
{
    const heed_retrieval_desc desc = {
        .size = sizeof(desc), TEXT, .memory = small_keys(n), .window = 255,
        .list = world_slot(HEED_I32, 4, 1, HEADS, n, 32, NULL),
    };

    ck_assert_int_eq(heed_retrieval(&desc, m, &world.why), HEED_OK);
    return NULL;
}

static double retrieval_pairs(double n)
{
    return n * (32 + 256);
}

static void *compressive(int64_t n, heed_mechanism *m)
{
    const heed_compressive_desc desc = {
        .size = sizeof(desc), TEXT, .memory = small_keys(512), .compressed = small_keys(512)
    };

    ck_assert_int_eq(heed_compressive(&desc, m, &world.why), HEED_OK);
    return NULL;
}

static double compressive_pairs(double n)
{
    return n * (1024 + n / 2);
}

static void *global_rows(int64_t n, heed_mechanism *m)
{
    const heed_global_rows_desc desc = {
        .size = sizeof(desc), .q = small_tensor(64), .o = small_tensor(64), .text = small_keys(n),
        .globals = small_keys(64),
    };

    ck_assert_int_eq(heed_global_rows(&desc, m, &world.why), HEED_OK);
    return NULL;
}

static double global_rows_pairs(double n)
{
    return 64 * (64 + n);
}

/* Tables of 512 distances on each side, of the model's first version. */
static heed_slot distances(void)
{
    return world_slot(HEED_F32, 3, 1, 1024, 4, 1, NULL);
}

static void *deberta(int64_t n, heed_mechanism *m)
{
    const heed_deberta_desc desc = {
        .size = sizeof(desc), TEXT, .kr = distances(), .qr = distances(), .zero = 512,
        .window = 128,
    };

    ck_assert_int_eq(heed_deberta(&desc, m, &world.why), HEED_OK);
    return NULL;
}

/* Each of both tables adds 2 d flops: a pair counts twice. */
static double deberta_pairs(double n)
{
    return 2 * n * (2 * 128 + 1);
}

static void *fusion(int64_t n, heed_mechanism *m)
{
    const heed_poolingformer_deberta_desc desc = {
        .size = sizeof(desc), TEXT, .globals = small_keys(16), .kr = distances(),
        .qr = distances(), .global_kr = distances(), .global_qr = distances(), .zero = 512,
        .global_zero = 512,
    };

    ck_assert_int_eq(heed_poolingformer_deberta(&desc, m, &world.why), HEED_OK);
    return NULL;
}

static double fusion_pairs(double n)
{
    return 2 * n * (16 + 2 * 128 + 1);
}

static const struct cost costs[] = {
    { "compressive", compressive, compressive_pairs, false },
    { "global rows", global_rows, global_rows_pairs, true },
    { "deberta", deberta, deberta_pairs, true },
    { "fusion", fusion, fusion_pairs, true },
    { "longformer", longformer, longformer_pairs, true },
    { "bigbird", bigbird, bigbird_pairs, true },
    { "longt5", longt5, longt5_pairs, false },
    { "lsg stride", lsg_stride, lsg_pairs, true },
    { "lsg block stride", lsg_block_stride, lsg_pairs, true },
    { "hepos", hepos, hepos_pairs, true },
    { "pegasus-x", pegasus_x, pegasus_x_pairs, true },
    { "poolingformer", poolingformer, poolingformer_pairs, true },
    { "salient", salient, salient_pairs, false },
    { "transformer-xl", transformer_xl, transformer_xl_pairs, false },
    { "top-down", top_down, top_down_pairs, false },
    { "pagesum", pagesum, pagesum_pairs, true },
    { "awesome", awesome, awesome_pairs, false },
    { "retrieval", retrieval, retrieval_pairs, true },
};

static heed_plan_props props_of(const struct cost *cost, int64_t n)
{
    heed_plan_props props = { .size = sizeof(props) };
    heed_mechanism m = { .size = sizeof(m) };
    heed_plan *plan = NULL;
    void *const own = cost->build(n, &m);

    ck_assert_msg(heed_attn_plan(world.device, &m.desc, &plan, &world.why) == HEED_OK,
                  "%s: %s: %s", cost->name, world.why.field, world.why.message);
    free(own);
    ck_assert_int_eq(heed_plan_info(plan, &props), HEED_OK);
    heed_plan_drop(plan);
    return props;
}

/* 2 (d + d_v) = 16 flops a pair. Borders are 2 % of the shorter text at most. */
LOOP_TEST(pairs_are_as_stated, sizeof(costs) / sizeof(costs[0]))
{
    const struct cost *cost = &costs[_i];

    world_open_name("cpu");
    for (int64_t n = SHORT; n <= LONG; n *= 4) {
        const double got = (double)props_of(cost, n).flops / (16 * HEADS),
                     want = cost->pairs((double)n);

        printf("# %s, n = %lld: %.4g pairs, %.4g stated\n", cost->name, (long long)n, got, want);
        ck_assert_msg(got <= want * 1.001 && got >= want * 0.97, "%s: %g pairs, %g are stated",
                      cost->name, got, want);
    }
}

/* Not even a bit for each pair: packed keys take n d, lists of global keys a bit a key. */
LOOP_TEST(workspaces_are_linear, sizeof(costs) / sizeof(costs[0]))
{
    const struct cost *cost = &costs[_i];
    heed_plan_props small, large;

    world_open_name("cpu");
    small = props_of(cost, LONG);
    large = props_of(cost, 16 * LONG);
    printf("# %s: workspace of %llu bytes at n = 65536, %llu at 1048576\n", cost->name,
           (unsigned long long)small.workspace_size, (unsigned long long)large.workspace_size);
    ck_assert_uint_le(large.workspace_size, 16 * small.workspace_size);
    ck_assert_uint_lt(large.workspace_size, UINT64_C(256) << 20);
    ck_assert_uint_lt(large.host_bytes, UINT64_C(64) << 20);
}

int main(void)
{
    return suite_run("costs", 120, NULL, world_close);
}
