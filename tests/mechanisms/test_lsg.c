/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * LSG with sparse keys that are chosen by place.
 */
#include "faults.h"

enum { HEADS = 5, MOST_LIST = 4096 };

struct lsg {
    uint32_t sparsity, flags;
    int64_t block, factor, sparse_block, n_list;
};

static int32_t list[MOST_LIST];

/* ---- Condevaux and Harispe 2022, sections 3.1 to 3.3 ---- */

/* The token that is entry t of the sparse sequence of a head. A block of b tokens gives c = b / f
 * entries, in the order of the blocks: those of stride f that begin at the head's place (Figure 2),
 * or c on end, of which the head has its own (Figure 3). */
static int64_t sparse_token(const struct lsg *p, int64_t h, int64_t t)
{
    const int64_t c = p->block / p->factor;

    if (p->sparsity == HEED_LSG_STRIDE)
        return t * p->factor + h % p->factor;
    return t / c * p->block + (t % c + h * c) % p->block;
}

/* Set 0 is the text, set 1 the globals, which all tokens see. */
static int64_t lsg_times(const struct world_of *w, int64_t b, int64_t h, int64_t i, int set,
                         int64_t j)
{
    const struct lsg *p = w->p;
    const int64_t mine = i / p->block, other = j / p->block, c = p->block / p->factor;
    int64_t times = 0;

    (void)b;
    if (set == 1)
        return 1;
    /* "the tokens inside the block, and those of the block before and after" */
    times += other == mine - 1 || other == mine || other == mine + 1;
    if (p->flags & HEED_LSG_CAUSAL && j > i)
        return 0;
    if (p->sparsity == HEED_LSG_NONE)
        return times;
    /* two blocks of sparse keys next to the local context, no connection computed twice */
    for (int64_t x = 0; x < p->sparse_block; x++) {
        const int64_t left = (mine - 1) * c - p->sparse_block + x, right = (mine + 2) * c + x;

        times += left >= 0 && sparse_token(p, h, left) == j;
        times += sparse_token(p, h, right) == j && !(p->flags & HEED_LSG_CAUSAL);
    }
    return times;
}

static void lsg_build(struct world_of *w)
{
    const struct lsg *p = w->p;
    heed_lsg_desc desc = {
        .size = sizeof(desc),
        .flags = p->flags,
        .q = w->q.t,
        .o = w->o.t,
        .text = world_keys(w, 0),
        .sparsity = p->sparsity,
        .block = p->block,
        .factor = p->factor,
        .sparse_block = p->sparse_block,
    };

    if (w->n_sets == 2)
        desc.globals = world_keys(w, 1);
    if (p->sparsity == HEED_LSG_BLOCK_STRIDE) {
        desc.list = list;
        desc.list_room = p->n_list;
    }
    ck_assert_int_eq(heed_lsg(&desc, &w->m, &world.why), HEED_OK);
}

static void lsg_prove(const char *name, const struct lsg *p, int64_t n, int64_t n_globals)
{
    struct world_of w = {
        .name = name,
        .batch = 2,
        .heads = HEADS,
        .kv_heads = n_globals == 3 ? 1 : HEADS,
        .n_q = n,
        .d = 4,
        .d_v = 3,
        .n_sets = n_globals ? 2 : 1,
        .set = { { .n = n, .has_len = true, .has_mask = true }, { .n = n_globals } },
        .build = lsg_build,
        .times = lsg_times,
        .p = p,
    };

    mechanism_prove(&w);
}

TEST(local_and_global_keys)
{
    const struct lsg p = { .block = 8, .factor = 2, .sparse_block = 8 };

    lsg_prove("lsg, none", &p, 45, 3);
    lsg_prove("lsg, none, no globals", &p, 16, 0);
}

TEST(strides_by_head)
{
    static const struct lsg cases[] = {
        { HEED_LSG_STRIDE, 0, 8, 4, 4, 0 },        /* c = 2, half as many sparse keys */
        { HEED_LSG_STRIDE, 0, 8, 2, 8, 0 },        /* s = b: 5 b + g keys */
        { HEED_LSG_STRIDE, 0, 6, 3, 5, 0 },        /* s no multiple of c */
        { HEED_LSG_STRIDE, 0, 8, 8, 2, 0 },        /* c = 1 */
        { HEED_LSG_STRIDE, 0, 4, 1, 8, 0 },        /* all tokens */
    };

    for (size_t x = 0; x < sizeof(cases) / sizeof(cases[0]); x++)
        lsg_prove("lsg, stride", &cases[x], 53, x % 2 ? 3 : 2);
}

TEST(block_strides_by_head)
{
    static const struct lsg cases[] = {
        { HEED_LSG_BLOCK_STRIDE, 0, 8, 4, 4, HEADS * 7 * 4 },
        { HEED_LSG_BLOCK_STRIDE, 0, 8, 2, 8, HEADS * 7 * 4 },
        { HEED_LSG_BLOCK_STRIDE, 0, 6, 3, 6, HEADS * 9 * 6 },
        { HEED_LSG_BLOCK_STRIDE, 0, 8, 8, 3, HEADS * 7 * 6 },
        { HEED_LSG_BLOCK_STRIDE, 0, 4, 1, 8, HEADS * 14 * 4 },
    };

    for (size_t x = 0; x < sizeof(cases) / sizeof(cases[0]); x++)
        lsg_prove("lsg, block stride", &cases[x], 53, x % 2 ? 3 : 2);
}

/* For decoders: what is after a row is not there, nor are the sparse keys on the right. */
TEST(causal)
{
    static const struct lsg cases[] = {
        { HEED_LSG_NONE, HEED_LSG_CAUSAL, 8, 2, 8, 0 },
        { HEED_LSG_STRIDE, HEED_LSG_CAUSAL, 8, 4, 4, 0 },
        { HEED_LSG_BLOCK_STRIDE, HEED_LSG_CAUSAL, 8, 4, 4, HEADS * 7 * 2 },
    };

    for (size_t x = 0; x < sizeof(cases) / sizeof(cases[0]); x++)
        lsg_prove("lsg, causal", &cases[x], 53, 2);
}

/* "Q in nb x b x d, K and V in nb x (5 b + g) x d" (section 5), in the middle of a text. */
LOOP_TEST(as_many_keys_as_the_paper_has, 2)
{
    const int64_t n = 800;
    const heed_lsg_desc desc = {
        .size = sizeof(desc),
        .q = small_tensor(n),
        .o = small_tensor(n),
        .text = small_keys(n),
        .globals = small_keys(3),
        .sparsity = _i ? HEED_LSG_STRIDE : HEED_LSG_BLOCK_STRIDE,
        .block = 32,
        .factor = 4,
        .list = _i ? NULL : list,
        .list_room = _i ? 0 : MOST_LIST,
    };
    heed_mechanism m = { .size = sizeof(m) };
    int64_t keys = 0;

    ck_assert_int_eq(heed_lsg(&desc, &m, NULL), HEED_OK);
    for (uint32_t s = 0; s < m.desc.n_sources; s++) {
        uint8_t seen[800] = { 0 };

        ck_assert_int_eq(heed_attn_visible(&m.desc, NULL, 0, 1, 400, s, seen, NULL), HEED_OK);
        for (int64_t j = 0; j < n; j++)
            keys += seen[j];
    }
    ck_assert_int_eq(keys, 5 * 32 + 3);
}

BUILDER(heed_lsg)

TEST(parameters_out_of_range)
{
    const heed_lsg_desc right = {
        .size = sizeof(right),
        .q = small_tensor(20),
        .o = small_tensor(20),
        .text = small_keys(20),
        .globals = small_keys(1),
        .sparsity = HEED_LSG_BLOCK_STRIDE,
        .block = 8,
        .factor = 4,
        .sparse_block = 4,
        .list = list,
        .list_room = 2 * 3 * 4,
    };
#define LSG(member, value, status, field, wanted, got)                                             \
    FAULT(heed_lsg_desc, member, value, status, field, wanted, got)
    static const struct fault faults[] = {
        LSG(flags, 2, HEED_E_FLAG, "flags", 1, 2),
        LSG(text.v, 0, HEED_E_NULL, "text.v", 0, 0),
        LSG(globals.v, 0, HEED_E_NULL, "globals.v", 0, 0),
        LSG(text.k.shape[2], 21, HEED_E_SHAPE, "text.k", 20, 21),
        LSG(sparsity, 3, HEED_E_VALUE, "sparsity", 2, 3),
        LSG(reserved, 3, HEED_E_VALUE, "reserved", 0, 3),
        LSG(block, -8, HEED_E_VALUE, "block", 1, -8),
        LSG(block, INT64_C(1) << 31, HEED_E_VALUE, "block", INT32_MAX, INT64_C(1) << 31),
        LSG(factor, 9, HEED_E_VALUE, "factor", 8, 9),
        LSG(factor, 3, HEED_E_VALUE, "factor", 8, 3),
        LSG(sparse_block, 3, HEED_E_VALUE, "sparse_block", 2, 3),
        LSG(sparse_block, 1 << 29, HEED_E_VALUE, "sparse_block", 1 << 28, 1 << 29),
        LSG(list, 0, HEED_E_NULL, "list", 0, 0),
        LSG(list_room, 23, HEED_E_VALUE, "list_room", 24, 23),
        LSG(q.shape[1], -3, HEED_E_VALUE, "q", 0, -3),
        LSG(sparsity, HEED_LSG_STRIDE, HEED_E_VALUE, "list", 0, 1),
    };
#undef LSG
    const int32_t before = list[0] = 77;

    for (size_t f = 0; f < sizeof(faults) / sizeof(faults[0]); f++) {
        unsigned char desc[sizeof(right)];

        memcpy(desc, &right, sizeof(right));
        fault_try(heed_lsg_of, desc, &faults[f]);
    }
    ck_assert_int_eq(list[0], before);
    FAULTS_REFUSED(heed_lsg_of, right, faults);
}

int main(void)
{
    return suite_run("lsg", 240, NULL, world_close);
}
