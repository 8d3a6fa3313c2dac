/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Learnt tables are zeros: they cost what others cost, and no picture shows them.
 */
#include "patterns/kinds.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 32, T5_REACH = 128, MAP = 2 * T5_REACH + 1 };

/* ---- arrays --------------------------------------------------------------- */

static heed_tensor rows(const struct pattern_choice *c, enum pattern_number heads, int64_t n)
{
    return heed_array4(c->dtype, NULL, c->v[PATTERN_B], c->v[heads], n, c->v[PATTERN_D]).t;
}

static heed_tensor queries(const struct pattern_choice *c, int64_t n)
{
    return rows(c, PATTERN_H, n);
}

/* A set of n keys; without keys it is absent. */
static heed_keys keys(const struct pattern_choice *c, struct pattern *p, const char *label,
                      int64_t n)
{
    const heed_tensor t = rows(c, PATTERN_HK, n);

    if (n == 0)
        return (heed_keys){ 0 };
    p->labels[p->n_sets] = label;
    p->sets[p->n_sets++] = t;
    return (heed_keys){ .k = t, .v = t };
}

static heed_keys text(const struct pattern_choice *c, struct pattern *p)
{
    return keys(c, p, "text", c->v[PATTERN_N]);
}

/* Zeros that live as long as the pattern; NULL: no memory. */
static void *memory(struct pattern *p, int64_t count, size_t size)
{
    void *const own = calloc((size_t)(count > 0 ? count : 1), size);

    if (own != NULL)
        p->own[p->n_own++] = own;
    return own;
}

static heed_slot constant(uint32_t dtype, uint32_t ndim, int64_t a, int64_t b, int64_t c,
                          const void *data)
{
    const int64_t shape[] = { a, b, c };

    return (heed_slot){ .t = heed_array_dense(dtype, NULL, ndim, shape).t, .data = data };
}

/* A slot of zeros, absent where there is no memory. */
static heed_slot zeros(struct pattern *p, uint32_t ndim, int64_t a, int64_t b, int64_t c)
{
    const int64_t count = a * b * (ndim > 2 ? c : 1);
    const void *const data = memory(p, count, sizeof(float));

    return data != NULL ? constant(HEED_F32, ndim, a, b, c, data) : (heed_slot){ 0 };
}

/* ---- a window, global tokens ------------------------------------------------ */

static heed_status longformer(const struct pattern_choice *c, struct pattern *p,
                              heed_report *report)
{
    const int64_t n = c->v[PATTERN_N];
    const heed_longformer_desc desc = {
        .size = sizeof desc, .q = queries(c, n), .o = queries(c, n), .text = text(c, p),
        .n_globals = c->v[PATTERN_GLOBALS], .window = c->v[PATTERN_WINDOW],
        .dilation = c->v[PATTERN_DILATION],
    };

    return heed_longformer(&desc, &p->m, report);
}

static heed_status poolingformer(const struct pattern_choice *c, struct pattern *p,
                                 heed_report *report)
{
    const int64_t n = c->v[PATTERN_N];
    const heed_poolingformer_desc desc = {
        .size = sizeof desc, .q = queries(c, n), .o = queries(c, n), .text = text(c, p),
        .n_globals = c->v[PATTERN_GLOBALS], .window = c->v[PATTERN_WINDOW],
    };

    return heed_poolingformer_level1(&desc, &p->m, report);
}

static heed_status global_rows(const struct pattern_choice *c, struct pattern *p,
                               heed_report *report)
{
    const int64_t g = c->v[PATTERN_QUERIES];
    const heed_global_rows_desc desc = {
        .size = sizeof desc, .q = queries(c, g), .o = queries(c, g), .text = text(c, p),
        .globals = keys(c, p, "globals", c->v[PATTERN_GLOBALS]),
    };

    return heed_global_rows(&desc, &p->m, report);
}

static heed_status pegasus(const struct pattern_choice *c, struct pattern *p, uint32_t flags,
                           heed_report *report)
{
    const int64_t n = c->v[PATTERN_N];
    const heed_pegasus_x_desc desc = {
        .size = sizeof desc, .flags = flags, .q = queries(c, n), .o = queries(c, n),
        .text = text(c, p), .globals = keys(c, p, "globals", c->v[PATTERN_GLOBALS]),
        .block = c->v[PATTERN_BLOCK],
    };

    return heed_pegasus_x(&desc, &p->m, report);
}

static heed_status pegasus_x(const struct pattern_choice *c, struct pattern *p,
                             heed_report *report)
{
    return pegasus(c, p, 0, report);
}

static heed_status pegasus_x_staggered(const struct pattern_choice *c, struct pattern *p,
                                       heed_report *report)
{
    return pegasus(c, p, HEED_PEGASUS_X_STAGGERED, report);
}

/* ---- blocks ------------------------------------------------------------------ */

/* For each head and block some blocks that the window and the global ones are not; the first and
 * the last block see all, and where no other block is left there is none. */
static void blocks_choose(int32_t *list, int64_t heads, int64_t blocks, int64_t random)
{
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

    for (int64_t i = 0; i < heads * blocks * random; i++) {
        const int64_t block = i / random % blocks;
        int64_t chosen = -1;

        for (int tries = 0; tries < 64 && block > 0 && block < blocks - 1; tries++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
            chosen = (int64_t)((state >> 33) % (uint64_t)blocks);
            if (chosen > 0 && chosen < blocks - 1 && llabs(chosen - block) > 1)
                break;
            chosen = -1;
        }
        list[i] = (int32_t)chosen;
    }
}

static heed_status bigbird(const struct pattern_choice *c, struct pattern *p, heed_report *report)
{
    const int64_t n = c->v[PATTERN_N], h = c->v[PATTERN_H], r = c->v[PATTERN_RANDOM];
    const int64_t blocks = (n - 1) / c->v[PATTERN_BLOCK] + 1;
    int32_t *const list = memory(p, h * blocks * r, sizeof *list);
    heed_bigbird_desc desc = {
        .size = sizeof desc, .q = queries(c, n), .o = queries(c, n), .text = text(c, p),
        .block = c->v[PATTERN_BLOCK],
    };

    if (list == NULL)
        return HEED_E_NOMEM;
    if (r > 0) {
        blocks_choose(list, h, blocks, r);
        desc.random = constant(HEED_I32, 3, h, blocks, r, list);
    }
    return heed_bigbird(&desc, &p->m, report);
}

static heed_status lsg_of(const struct pattern_choice *c, struct pattern *p, uint32_t sparsity,
                          heed_report *report)
{
    const int64_t n = c->v[PATTERN_N];
    heed_lsg_desc desc = {
        .size = sizeof desc, .q = queries(c, n), .o = queries(c, n), .text = text(c, p),
        .globals = keys(c, p, "globals", c->v[PATTERN_GLOBALS]), .sparsity = sparsity,
        .block = c->v[PATTERN_BLOCK],
    };

    if (sparsity != HEED_LSG_NONE) {
        desc.factor = c->v[PATTERN_FACTOR];
        desc.sparse_block = c->v[PATTERN_SPARSE];
    }
    if (sparsity == HEED_LSG_BLOCK_STRIDE) {
        const int64_t block = c->v[PATTERN_BLOCK];
        const int64_t run = block / c->v[PATTERN_FACTOR];

        desc.list_room = run > 0 ? c->v[PATTERN_H] * ((n - 1) / block + 1) * 2 *
                                       (c->v[PATTERN_SPARSE] / run)
                                 : 1;
        desc.list = memory(p, desc.list_room, sizeof *desc.list);
        if (desc.list == NULL)
            return HEED_E_NOMEM;
    }
    return heed_lsg(&desc, &p->m, report);
}

static heed_status lsg(const struct pattern_choice *c, struct pattern *p, heed_report *report)
{
    return lsg_of(c, p, HEED_LSG_NONE, report);
}

static heed_status lsg_stride(const struct pattern_choice *c, struct pattern *p,
                              heed_report *report)
{
    return lsg_of(c, p, HEED_LSG_STRIDE, report);
}

static heed_status lsg_block_stride(const struct pattern_choice *c, struct pattern *p,
                                    heed_report *report)
{
    return lsg_of(c, p, HEED_LSG_BLOCK_STRIDE, report);
}

/* ---- other sets of keys -------------------------------------------------------- */

static heed_status hepos(const struct pattern_choice *c, struct pattern *p, heed_report *report)
{
    const heed_hepos_desc desc = {
        .size = sizeof desc, .q = queries(c, c->v[PATTERN_QUERIES]),
        .o = queries(c, c->v[PATTERN_QUERIES]), .text = text(c, p),
        .stride = c->v[PATTERN_STRIDE],
    };

    return heed_hepos(&desc, &p->m, report);
}

static heed_status salient(const struct pattern_choice *c, struct pattern *p, heed_report *report)
{
    const int64_t n = c->v[PATTERN_N];
    const heed_salient_desc desc = {
        .size = sizeof desc, .q = queries(c, n), .o = queries(c, n), .text = text(c, p),
        .prefix = keys(c, p, "prefix", c->v[PATTERN_PREFIX]),
    };

    return heed_salient(&desc, &p->m, report);
}

/* Rows see units of `side` tokens each. */
static heed_status top_down(const struct pattern_choice *c, struct pattern *p, heed_report *report)
{
    const int64_t n = c->v[PATTERN_N], side = c->v[PATTERN_SIDE] > 0 ? c->v[PATTERN_SIDE] : 1;
    const heed_top_down_desc desc = {
        .size = sizeof desc, .q = queries(c, n), .o = queries(c, n),
        .top = keys(c, p, "units", (n - 1) / side + 1),
    };

    return heed_top_down(&desc, &p->m, report);
}

static heed_status awesome(const struct pattern_choice *c, struct pattern *p, heed_report *report)
{
    const int64_t n = c->v[PATTERN_N];
    const heed_awesome_desc desc = {
        .size = sizeof desc, .q = queries(c, n), .o = queries(c, n), .text = text(c, p),
        .memory = keys(c, p, "memory", c->v[PATTERN_MEMORY]),
        .compressed = keys(c, p, "compressed", c->v[PATTERN_COMPRESSED]),
    };

    return heed_awesome(&desc, &p->m, report);
}

/* Lists that name keys of all the memory, ascending, in every row others. */
static heed_status retrieval(const struct pattern_choice *c, struct pattern *p,
                             heed_report *report)
{
    const int64_t n = c->v[PATTERN_N], most = c->v[PATTERN_MEMORY];
    const int64_t best = c->v[PATTERN_BEST] < most ? c->v[PATTERN_BEST] : most;
    int32_t *const list = memory(p, n * best, sizeof *list);
    const heed_retrieval_desc desc = {
        .size = sizeof desc, .q = queries(c, n), .o = queries(c, n), .text = text(c, p),
        .memory = keys(c, p, "memory", most), .window = c->v[PATTERN_WINDOW],
        .list = constant(HEED_I32, 3, 1, n, best, list),
    };

    if (list == NULL)
        return HEED_E_NOMEM;
    for (int64_t i = 0; i < n * best; i++) {
        const int64_t first = i % best * most / best, next = (i % best + 1) * most / best;

        list[i] = (int32_t)(first + i / best * 5 % (next - first));
    }
    return heed_retrieval(&desc, &p->m, report);
}

/* Sums of `side` tokens each; the last one has the rest. */
static heed_status longt5(const struct pattern_choice *c, struct pattern *p, heed_report *report)
{
    const int64_t n = c->v[PATTERN_N], per = c->v[PATTERN_SIDE], h = c->v[PATTERN_H];
    const int64_t sums = per > 0 ? n / per : 0;
    int32_t *const map = memory(p, MAP, sizeof *map), *const ids = memory(p, n, sizeof *ids);
    heed_longt5_desc desc = {
        .size = sizeof desc, .q = queries(c, n), .o = queries(c, n), .text = text(c, p),
        .side = keys(c, p, "sums", sums), .radius = c->v[PATTERN_WINDOW], .zero = T5_REACH,
        .table = zeros(p, 2, h, BUCKETS, 1),
    };

    if (map == NULL || ids == NULL)
        return HEED_E_NOMEM;
    const heed_status made = heed_map_t5(map, MAP, T5_REACH, BUCKETS, T5_REACH, 0);

    if (made < 0)
        return made;
    desc.map = constant(HEED_I32, 1, MAP, 0, 0, map);
    for (int64_t i = 0; i < n && sums > 0; i++)
        ids[i] = (int32_t)(i / per < sums ? i / per : sums - 1);
    if (sums > 0) {
        desc.block_ids = constant(HEED_I32, 1, n, 0, 0, ids);
        desc.side_table = zeros(p, 2, h, BUCKETS, 1);
    }
    return heed_longt5(&desc, &p->m, report);
}

/* ---- relative positions ---------------------------------------------------------- */

/* Rows for all distances from the last row to the oldest key. */
static heed_relative relative(const struct pattern_choice *c, struct pattern *p, int64_t distances)
{
    return (heed_relative){
        .r = zeros(p, 3, 1, distances, c->v[PATTERN_D]), .shift = zeros(p, 2, 1, distances, 1),
        .zero = distances - 1,
    };
}

static heed_status transformer_xl(const struct pattern_choice *c, struct pattern *p,
                                  heed_report *report)
{
    const int64_t n = c->v[PATTERN_N];
    const heed_transformer_xl_desc desc = {
        .size = sizeof desc, .q = queries(c, n), .o = queries(c, n), .text = text(c, p),
        .memory = keys(c, p, "memory", c->v[PATTERN_MEMORY]),
        .relative = relative(c, p, n + c->v[PATTERN_MEMORY]),
    };

    return heed_transformer_xl(&desc, &p->m, report);
}

static heed_status compressive(const struct pattern_choice *c, struct pattern *p,
                               heed_report *report)
{
    const int64_t n = c->v[PATTERN_N];
    const heed_compressive_desc desc = {
        .size = sizeof desc, .q = queries(c, n), .o = queries(c, n), .text = text(c, p),
        .memory = keys(c, p, "memory", c->v[PATTERN_MEMORY]),
        .compressed = keys(c, p, "compressed", c->v[PATTERN_COMPRESSED]),
        .relative = relative(c, p, n + c->v[PATTERN_MEMORY] + c->v[PATTERN_COMPRESSED]),
    };

    return heed_compressive(&desc, &p->m, report);
}

/* Logarithmic buckets, as of the second version of the model. */
static heed_status deberta(const struct pattern_choice *c, struct pattern *p, heed_report *report)
{
    const int64_t n = c->v[PATTERN_N], h = c->v[PATTERN_H];
    int32_t *const map = memory(p, 2 * n - 1, sizeof *map);
    heed_deberta_desc desc = {
        .size = sizeof desc, .q = queries(c, n), .o = queries(c, n), .text = text(c, p),
        .kr = zeros(p, 3, h, 2 * BUCKETS, c->v[PATTERN_D]),
        .qr = zeros(p, 3, h, 2 * BUCKETS, c->v[PATTERN_D]), .zero = n - 1,
        .window = c->v[PATTERN_WINDOW],
    };

    if (map == NULL)
        return HEED_E_NOMEM;
    const heed_status made = heed_map_log(map, 2 * n - 1, n - 1, BUCKETS, 512, HEED_MAP_REVERSED);

    if (made < 0)
        return made;
    desc.map = constant(HEED_I32, 1, 2 * n - 1, 0, 0, map);
    return heed_deberta(&desc, &p->m, report);
}

/* The fusion: DeBERTa's scores in a window, an even table for pairs with a global token. */
static heed_status poolingformer_deberta(const struct pattern_choice *c, struct pattern *p,
                                         heed_report *report)
{
    const int64_t n = c->v[PATTERN_N], g = c->v[PATTERN_GLOBALS], h = c->v[PATTERN_H];
    const int64_t far = n + g, entries = 2 * far - 1, d = c->v[PATTERN_D];
    int32_t *const map = memory(p, entries, sizeof *map);
    int32_t *const even = memory(p, entries, sizeof *even);
    heed_poolingformer_deberta_desc desc = {
        .size = sizeof desc, .q = queries(c, n), .o = queries(c, n), .text = text(c, p),
        .globals = keys(c, p, "globals", g), .window = c->v[PATTERN_WINDOW],
        .kr = zeros(p, 3, h, 2 * BUCKETS, d), .qr = zeros(p, 3, h, 2 * BUCKETS, d),
        .global_kr = zeros(p, 3, h, 2 * BUCKETS, d), .global_qr = zeros(p, 3, h, 2 * BUCKETS, d),
        .zero = far - 1, .global_zero = far - 1,
    };

    if (map == NULL || even == NULL)
        return HEED_E_NOMEM;
    heed_status made = heed_map_log(map, entries, far - 1, BUCKETS, 512, HEED_MAP_REVERSED);

    if (made >= 0)
        made = heed_map_even(even, entries, far - 1, BUCKETS, (int32_t)far, HEED_MAP_REVERSED);
    if (made < 0)
        return made;
    desc.map = constant(HEED_I32, 1, entries, 0, 0, map);
    desc.global_map = constant(HEED_I32, 1, entries, 0, 0, even);
    return heed_poolingformer_deberta(&desc, &p->m, report);
}

const struct pattern_kind pattern_kinds[] = {
    { "longformer", "Longformer", "window=256,dilation=1,globals=16",
      "window=5,dilation=1,globals=2", longformer },
    { "global-rows", "Rows of global tokens", "queries=16,globals=0", "queries=6,globals=6",
      global_rows },
    { "bigbird", "BigBird", "block=64,random=3", "block=4,random=2", bigbird },
    { "longt5", "LongT5, transient-global", "window=127,side=16", "window=5,side=8", longt5 },
    { "lsg", "LSG, local and global keys", "block=128,globals=64", "block=4,globals=3", lsg },
    { "lsg-stride", "LSG, stride", "block=128,factor=4,sparse=128,globals=64",
      "block=4,factor=4,sparse=4,globals=3", lsg_stride },
    { "lsg-block-stride", "LSG, block stride", "block=128,factor=4,sparse=128,globals=64",
      "block=4,factor=2,sparse=4,globals=3", lsg_block_stride },
    { "hepos", "Hepos", "queries=256,stride=4", "queries=24,stride=4", hepos },
    { "pegasus-x", "Pegasus-X", "block=512,globals=128", "block=8,globals=4", pegasus_x },
    { "pegasus-x-staggered", "Pegasus-X, staggered", "block=512,globals=128", "block=8,globals=4",
      pegasus_x_staggered },
    { "salient", "Salient keys and values (AWESOME)", "prefix=1024", "prefix=12", salient },
    { "poolingformer", "Poolingformer, level 1", "window=128,globals=16", "window=4,globals=2",
      poolingformer },
    { "transformer-xl", "Transformer-XL", "memory=512", "memory=16", transformer_xl },
    { "compressive", "Compressive Transformer", "memory=512,compressed=512",
      "memory=12,compressed=6", compressive },
    { "deberta", "DeBERTa", "window=128", "window=6", deberta },
    { "poolingformer-deberta", "Poolingformer with DeBERTa, level 1", "window=128,globals=16",
      "window=4,globals=4", poolingformer_deberta },
    { "top-down", "Top-down inference", "side=24", "side=4", top_down },
    { "awesome", "AWESOME, compressive memory", "memory=512,compressed=512",
      "memory=12,compressed=12", awesome },
    { "retrieval", "Retrieved keys beside a text", "memory=65536,best=32,window=512",
      "memory=32,best=4,window=7", retrieval },
};
const uint32_t pattern_n_kinds = sizeof pattern_kinds / sizeof *pattern_kinds;

heed_status pattern_make(const struct pattern_choice *c, struct pattern *p, heed_report *report)
{
    heed_status status;

    memset(p, 0, sizeof *p);
    p->m.size = sizeof p->m;
    status = pattern_kinds[c->kind].make(c, p, report);
    if (status < 0)
        pattern_free(p);
    return status;
}

void pattern_free(struct pattern *p)
{
    while (p->n_own > 0)
        free(p->own[--p->n_own]);
}
