/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memories and prefixes (Transformer-XL, Compressive Transformer, AWESOME, salient keys and
 * values), Hepos, and level 1 of the Poolingformer.
 */
#include "faults.h"

static struct world_of world_sized(const char *name, int64_t n_q, int64_t n, times_fn *times,
                                   void (*build)(struct world_of *))
{
    return (struct world_of){
        .name = name,
        .batch = 2,
        .heads = 2,
        .n_q = n_q,
        .d = 8,
        .d_v = 5,
        .n_sets = 1,
        .set = { { .n = n, .has_len = true, .has_mask = true } },
        .build = build,
        .times = times,
    };
}

/* ---- Dai et al. 2019, section 3.2; Rae et al. 2020, section 3 ---- */

/* Keys are [compressed; memory; segment]; a row sees all memories, and of the segment what is not
 * after it: rows are the last ones of the segment, whose end is its length. */
static int64_t memory_times(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                            int64_t j)
{
    const int64_t length = w->set[0].has_len ? w->set[0].len[b] : w->set[0].n;
    const int64_t place = w->n_q == w->set[0].n ? i : length - w->n_q + i;

    (void)h;
    return set > 0 || j <= place;
}

static void xl_build(struct world_of *w)
{
    const heed_transformer_xl_desc desc = {
        .size = sizeof(desc),
        .q = w->q.t,
        .o = w->o.t,
        .text = world_keys(w, 0),
        .memory = world_keys(w, 1),
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
    };

    ck_assert_int_eq(heed_compressive(&desc, &w->m, &world.why), HEED_OK);
}

TEST(transformer_xl)
{
    struct world_of w = world_sized("transformer-xl", 40, 40, memory_times, xl_build);

    w.n_sets = 2;
    w.set[1] = (struct key_set){ .n = 24, .has_len = true };
    mechanism_prove(&w);
    /* decoding: the last 3 rows of a segment that grows */
    w = world_sized("transformer-xl, last rows", 3, 40, memory_times, xl_build);
    w.n_sets = 2;
    w.cross = true;
    w.set[1] = (struct key_set){ .n = 24, .has_len = true };
    mechanism_prove(&w);
}

TEST(compressive_transformer)
{
    struct world_of w = world_sized("compressive", 40, 40, memory_times, compressive_build);

    w.n_sets = 3;
    w.set[1] = (struct key_set){ .n = 24, .has_len = true };
    w.set[2] = (struct key_set){ .n = 10, .has_len = true, .has_mask = true };
    mechanism_prove(&w);
}

/* The newest row of the memory is at -1 whatever its length: a bias of distance that the caller
 * puts on the sources says so, the linear one of Press et al. 2022. */
static double distance_bias(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                            int64_t j)
{
    const int64_t place = set == 0 ? j : j - w->set[1].len[b];

    (void)h;
    return -0.25 * fabs((double)(place - i));
}

static void xl_with_distances(struct world_of *w)
{
    static const float slopes[2] = { 0.25f, 0.25f };

    xl_build(w);
    w->m.slots[HEED_MECHANISM_TABLE - 1] = world_slot(HEED_F32, 1, 2, 1, 1, 1, slopes);
    w->m.biases[0] = (heed_bias){ .kind = HEED_BIAS_ALIBI, .t = HEED_MECHANISM_TABLE };
    for (int s = 0; s < 2; s++)
        w->m.sources[s].n_biases = 1;
}

TEST(memory_ends_where_the_text_begins)
{
    struct world_of w = world_sized("distances", 20, 20, memory_times, xl_with_distances);

    w.n_sets = 2;
    w.bias = distance_bias;
    w.set[1] = (struct key_set){ .n = 12, .has_len = true };
    mechanism_prove(&w);
}

/* ---- Cao and Wang 2023, section 3.2 ---- */

static void salient_build(struct world_of *w)
{
    const heed_salient_desc desc = {
        .size = sizeof(desc),
        .q = w->q.t,
        .o = w->o.t,
        .text = world_keys(w, 0),
        .prefix = world_keys(w, 1),
    };

    ck_assert_int_eq(heed_salient(&desc, &w->m, &world.why), HEED_OK);
}

TEST(salient_keys_and_values)
{
    struct world_of w = world_sized("salient", 45, 45, all_times, salient_build);

    w.n_sets = 2;
    w.set[1] = (struct key_set){ .n = 30, .has_len = true, .has_mask = true };
    mechanism_prove(&w);
}

/* ---- Cao and Wang 2023, section 3.1 ---- */

static void awesome_build(struct world_of *w)
{
    const heed_awesome_desc desc = {
        .size = sizeof(desc),
        .flags = w->times == memory_times ? HEED_AWESOME_CAUSAL : 0,
        .q = w->q.t,
        .o = w->o.t,
        .text = world_keys(w, 0),
        .memory = world_keys(w, 1),
        .compressed = world_keys(w, 2),
    };

    ck_assert_int_eq(heed_awesome(&desc, &w->m, &world.why), HEED_OK);
}

/* Encoder, decoder, and a decoder's last rows; test_awesome.c has memories that are rings. */
TEST(awesome)
{
    for (int x = 0; x < 3; x++) {
        struct world_of w = world_sized("awesome", x < 2 ? 31 : 2, 31,
                                        x > 0 ? memory_times : all_times, awesome_build);

        w.cross = x == 2;
        w.n_sets = 3;
        w.set[1] = (struct key_set){ .n = 16, .has_len = true };
        w.set[2] = (struct key_set){ .n = 12, .has_len = true, .has_mask = true };
        mechanism_prove(&w);
    }
}

/* The newest row of the memory is at -1, that of the compressed one before all the room of it. */
static double memories_bias(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                            int64_t j)
{
    const int64_t end[3] = { 0, 0, -w->set[1].n };
    const int64_t place = set == 0 ? j : end[set] + j - w->set[set].len[b];

    (void)h;
    return -0.25 * fabs((double)(place - i));
}

static void awesome_with_distances(struct world_of *w)
{
    static const float slopes[2] = { 0.25f, 0.25f };

    awesome_build(w);
    w->m.slots[HEED_MECHANISM_TABLE - 1] = world_slot(HEED_F32, 1, 2, 1, 1, 1, slopes);
    w->m.biases[0] = (heed_bias){ .kind = HEED_BIAS_ALIBI, .t = HEED_MECHANISM_TABLE };
    for (int s = 0; s < 3; s++)
        w->m.sources[s].n_biases = 1;
}

TEST(both_memories_end_before_the_text)
{
    struct world_of w = world_sized("awesome, distances", 20, 20, memory_times,
                                    awesome_with_distances);

    w.n_sets = 3;
    w.bias = memories_bias;
    w.set[1] = (struct key_set){ .n = 12, .has_len = true };
    w.set[2] = (struct key_set){ .n = 6, .has_len = true };
    mechanism_prove(&w);
}

/* ---- Huang et al. 2021 ---- */

/* Of every s positions each head has one, and heads take turns. */
static int64_t hepos_times(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                           int64_t j)
{
    const int64_t s = *(const int64_t *)w->p;
    int64_t times = 0;

    (void)b, (void)i, (void)set;
    for (int64_t x = h % s; x < w->set[0].n; x += s)
        times += x == j;
    return times;
}

static void hepos_build(struct world_of *w)
{
    const int64_t stride = *(const int64_t *)w->p;
    const heed_hepos_desc desc = {
        .size = sizeof(desc),
        .q = w->q.t,
        .o = w->o.t,
        .text = world_keys(w, 0),
        .stride = stride == 4 ? 0 : stride,
    };

    ck_assert_int_eq(heed_hepos(&desc, &w->m, &world.why), HEED_OK);
}

TEST(hepos)
{
    static const int64_t strides[] = { 4, 3, 1, 7 };

    for (size_t x = 0; x < sizeof(strides) / sizeof(strides[0]); x++) {
        struct world_of w = world_sized("hepos", 9, 59, hepos_times, hepos_build);

        w.heads = 6;
        w.kv_heads = x % 2 ? 2 : 6;     /* the turns are those of query heads */
        w.cross = true;
        w.p = &strides[x];
        mechanism_prove(&w);
    }
}

/* ---- Zhang et al. 2021, the first level ---- */

struct poolingformer {
    int64_t window, n_globals;
};

static int64_t poolingformer_times(const struct world_of *w, int64_t b, int64_t h, int64_t i,
                                   int set, int64_t j)
{
    const struct poolingformer *p = w->p;

    (void)b, (void)h, (void)set;
    if (i < p->n_globals || j < p->n_globals)
        return 1;
    return j >= i - p->window && j <= i + p->window;
}

static void poolingformer_build(struct world_of *w)
{
    const struct poolingformer *p = w->p;
    const heed_poolingformer_desc desc = {
        .size = sizeof(desc),
        .q = w->q.t,
        .o = w->o.t,
        .text = world_keys(w, 0),
        .n_globals = p->n_globals,
        .window = p->window == 128 ? 0 : p->window,
    };

    ck_assert_int_eq(heed_poolingformer_level1(&desc, &w->m, &world.why), HEED_OK);
}

TEST(poolingformer_level1)
{
    const struct poolingformer p = { 6, 2 };
    struct world_of w =
        world_sized("poolingformer 1", 66, 66, poolingformer_times, poolingformer_build);

    w.p = &p;
    mechanism_prove(&w);
}

TEST(poolingformer_default)
{
    const struct poolingformer p = { 128, 0 };
    struct world_of w =
        world_sized("poolingformer 1, default", 200, 200, poolingformer_times, poolingformer_build);

    w.p = &p;
    w.batch = w.heads = 1;
    mechanism_prove(&w);
}

/* ---- what the builders refuse ---- */

BUILDER(heed_transformer_xl)
BUILDER(heed_compressive)
BUILDER(heed_salient)
BUILDER(heed_awesome)
BUILDER(heed_hepos)
BUILDER(heed_poolingformer_level1)

#define RIGHT .size = sizeof(right), .q = small_tensor(20), .o = small_tensor(20),                 \
              .text = small_keys(20)

TEST(memories_out_of_range)
{
    static const struct fault faults[] = {
        FAULT(heed_compressive_desc, flags, 1, HEED_E_FLAG, "flags", 0, 1),
        FAULT(heed_compressive_desc, q.shape[2], 21, HEED_E_SHAPE, "text.k", 21, 20),
        FAULT(heed_compressive_desc, memory.k, 0, HEED_E_NULL, "memory.k", 0, 0),
        FAULT(heed_compressive_desc, compressed.v, 0, HEED_E_NULL, "compressed.v", 0, 0),
    };
    static const struct fault xl_faults[] = {
        FAULT(heed_transformer_xl_desc, flags, 1, HEED_E_FLAG, "flags", 0, 1),
        FAULT(heed_transformer_xl_desc, q.shape[2], 21, HEED_E_SHAPE, "text.k", 21, 20),
        FAULT(heed_transformer_xl_desc, memory.v, 0, HEED_E_NULL, "memory.v", 0, 0),
    };
    const heed_compressive_desc right = { RIGHT, .memory = small_keys(4),
                                          .compressed = small_keys(3) };
    heed_transformer_xl_desc xl = { .memory = small_keys(4) };

    xl.size = sizeof(xl);
    xl.q = right.q;
    xl.o = right.o;
    xl.text = right.text;
    FAULTS_REFUSED(heed_compressive_of, right, faults);
    FAULTS_REFUSED(heed_transformer_xl_of, xl, xl_faults);
}

TEST(prefixes_out_of_range)
{
    static const struct fault faults[] = {
        FAULT(heed_salient_desc, flags, 1, HEED_E_FLAG, "flags", 0, 1),
        FAULT(heed_salient_desc, q.shape[2], 3, HEED_E_SHAPE, "text.k", 3, 20),
        FAULT(heed_salient_desc, prefix.k, 0, HEED_E_NULL, "prefix.k", 0, 0),
    };
    const heed_salient_desc right = { RIGHT, .prefix = small_keys(4) };

    FAULTS_REFUSED(heed_salient_of, right, faults);
}

TEST(rings_out_of_range)
{
    static const struct fault faults[] = {
        FAULT(heed_awesome_desc, flags, 2, HEED_E_FLAG, "flags", 1, 2),
        FAULT(heed_awesome_desc, q.shape[2], 3, HEED_E_SHAPE, "text.k", 3, 20),
        FAULT(heed_awesome_desc, memory.k, 0, HEED_E_NULL, "memory.k", 0, 0),
        FAULT(heed_awesome_desc, compressed.v, 0, HEED_E_NULL, "compressed.v", 0, 0),
        FAULT(heed_awesome_desc, memory.len, 0, HEED_E_NULL, "memory.len", 0, 0),
        FAULT(heed_awesome_desc, compressed.len, 0, HEED_E_NULL, "compressed.len", 0, 0),
    };
    static const struct fault causal_faults[] = {
        FAULT(heed_awesome_desc, q.shape[2], 21, HEED_E_SHAPE, "text.k", 21, 20),
    };
    const heed_slot each = world_slot(HEED_I64, 1, 1, 1, 1, 1, NULL);
    heed_awesome_desc right = { RIGHT, .memory = small_keys(4), .compressed = small_keys(3),
                                .memory_head = each, .compressed_head = each };

    right.memory.len = right.compressed.len = each;
    FAULTS_REFUSED(heed_awesome_of, right, faults);
    right.flags = HEED_AWESOME_CAUSAL;
    FAULTS_REFUSED(heed_awesome_of, right, causal_faults);
}

TEST(strides_out_of_range)
{
    static const struct fault faults[] = {
        FAULT(heed_hepos_desc, flags, 1, HEED_E_FLAG, "flags", 0, 1),
        FAULT(heed_hepos_desc, stride, -4, HEED_E_VALUE, "stride", 1, -4),
        FAULT(heed_hepos_desc, text.k, 0, HEED_E_NULL, "text.k", 0, 0),
    };
    const heed_hepos_desc right = { RIGHT };

    FAULTS_REFUSED(heed_hepos_of, right, faults);
}

TEST(windows_out_of_range)
{
    static const struct fault faults[] = {
        FAULT(heed_poolingformer_desc, flags, 1, HEED_E_FLAG, "flags", 0, 1),
        FAULT(heed_poolingformer_desc, window, -4, HEED_E_VALUE, "window", 1, -4),
        FAULT(heed_poolingformer_desc, n_globals, 21, HEED_E_VALUE, "n_globals", 20, 21),
        FAULT(heed_poolingformer_desc, q.shape[2], 3, HEED_E_SHAPE, "text.k", 3, 20),
    };
    const heed_poolingformer_desc right = { RIGHT };

    FAULTS_REFUSED(heed_poolingformer_level1_of, right, faults);
}

int main(void)
{
    return suite_run("memory", 240, NULL, world_close);
}
