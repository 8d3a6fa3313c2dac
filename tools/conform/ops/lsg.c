/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * LSG with computed sparse keys: its table and its oracle (heed/programs.h).
 */
#include "program.h"

#include <stdlib.h>

enum { GLOBAL_K = P_OWN, GLOBAL_V, GLOBAL_LEN, GLOBAL_MASK, ROUNDS };
enum {
    C_KIND = F_OWN, C_CAUSAL, C_BLOCK, C_FACTOR, C_SPARSE, C_R, C_GLOBALS, C_GROUP, C_N, C_D, C_DV,
    C_END
};
enum { KIND_NORM, KIND_POOLING, KIND_LSH, KIND_BOS };

static const struct cf_spec specs[] = {
    { "kind", "norm pooling lsh bos", 0, -1, NULL },
    { "causal", "no yes", 0, -1, NULL },
    { "block", "8 4 16 24 64", 1, -1, NULL },
    { "factor", "2 1 4 8 3", 1, -1, NULL },
    { "sparse", "8 4 16 24 64", 1, -1, NULL },
    { "r", "1 2 3", 1, C_KIND, "lsh" },
    { "globals", "1 0 5 33", 1, -1, NULL },
    { "group", "1 2 3", 1, -1, NULL },
    { "n", "40 0 1 7 64 100 200", 1, -1, NULL },
    { "d", "8 0 1 7 16 33", 1, -1, NULL },
    { "dv", "8 0 1 7 16 33", 1, -1, NULL },
};

#define ARRAY(member, name) PROGRAM_ARRAY(heed_lsg_program_desc, member, name)
#define SLOT(member, name) PROGRAM_SLOT(heed_lsg_program_desc, member, name)
#define ROUND(i, must, need, with)                                                            \
    { ARRAY(rounds[i], "rounds[" #i "]"), (must) | IN | HEAD | HEAD_ONE, "f32", 0, NULL, need, \
      with, fill_floats, NULL }
#define SOME "1 5 33"

static const struct fixed_array arrays[] = {
    PROGRAM_COMMON(heed_lsg_program_desc),
    [GLOBAL_K] = { ARRAY(globals.k, "globals.k"), IN | BATCH | HEAD, PROGRAM_FLOATS, 0, NULL,
                   C_GLOBALS, SOME, fill_floats, PROGRAM_K },
    [GLOBAL_V] = { ARRAY(globals.v, "globals.v"), MUST | IN | BATCH | HEAD, PROGRAM_FLOATS, 0, NULL,
                   C_GLOBALS, SOME, fill_floats, PROGRAM_V },
    [GLOBAL_LEN] = { SLOT(globals.len, "globals.len"), IN | BATCH | LENGTHS, "i32 i64", 0,
                     "none rt short zero hostile", C_GLOBALS, SOME, fill_lengths, PROGRAM_LEN },
    [GLOBAL_MASK] = { SLOT(globals.mask, "globals.mask"), IN | BATCH | HEAD | HEAD_ONE, "u8", 0,
                      "none some all nothing", C_GLOBALS, SOME, fill_mask, PROGRAM_MASK },
    [ROUNDS] = ROUND(0, MUST, C_KIND, "lsh"),
    [ROUNDS + 1] = ROUND(1, 0, C_R, "2 3"),
    [ROUNDS + 2] = ROUND(2, 0, C_R, "3"),
};

/* ---- numbers -------------------------------------------------------------------------- */

struct lsg {
    const struct fixed_problem *p;
    struct answer *a;
    int64_t kind, n, b, f, s, u, c; /* as in heed/programs.h */
    int64_t places;                 /* of the sequence of sparse keys */
    bool causal;
    int64_t *chosen;                /* NORM: [item][key head][places] */
    int64_t *bucket;                /* LSH: [item][key head][n] */
    unsigned char *doubt;           /* of those, by blocks of u; LSH: by tokens */
    struct made k, v;               /* of the others */
    struct attend row;
};

/* false: a case that check refuses. */
static bool lsg_numbers(const struct fixed_problem *p, struct lsg *l)
{
    const int64_t *v = p->c.v;

    *l = (struct lsg){ .p = p, .kind = v[C_KIND], .n = p->n[P_N], .b = v[C_BLOCK],
                       .f = v[C_FACTOR], .s = v[C_SPARSE], .causal = v[C_CAUSAL] != 0 };
    if (l->b < 1 || l->f < 1 || l->s < 1 || l->b % l->f != 0)
        return false;
    l->u = l->s < l->b ? l->s : l->b;
    l->c = l->b / l->f;
    if ((l->kind == KIND_NORM || l->kind == KIND_LSH) && (l->b % l->u != 0 || l->u % l->f != 0))
        return false;
    if (l->kind == KIND_LSH && (l->u / l->f < 2 || l->u / l->f % 2 != 0))
        return false;
    if (l->kind == KIND_NORM || l->kind == KIND_LSH)
        l->places = (l->n + l->u - 1) / l->u * (l->u / l->f);
    else
        l->places = (l->n + l->f - 1) / l->f;
    return true;
}

static void shape(struct fixed_problem *p)
{
    const int64_t *v = p->c.v, u = v[C_SPARSE] < v[C_BLOCK] ? v[C_SPARSE] : v[C_BLOCK];
    const int64_t last = v[C_FACTOR] > 0 ? u / v[C_FACTOR] / 2 : 1;

    program_shape(p, v[C_N], v[C_GROUP], v[C_D], v[C_DV]);
    part_shape(&p->part[GLOBAL_K], p->heads, v[C_GLOBALS], v[C_D]);
    part_shape(&p->part[GLOBAL_V], p->heads, v[C_GLOBALS], v[C_DV]);
    part_shape(&p->part[GLOBAL_LEN], -1, -1, -1);
    part_shape(&p->part[GLOBAL_MASK], -1, part_heads(p, GLOBAL_MASK), v[C_GLOBALS]);
    p->part[GLOBAL_LEN].bound = v[C_GLOBALS];
    for (int i = 0; i < 3; i++)
        part_shape(&p->part[ROUNDS + i], part_heads(p, ROUNDS + i), v[C_D],
                   last > 0 ? cf_plus(last, 2 * (v[C_R] - 1 - i)) : 1);
    p->work = cf_times(cf_times(p->heads * v[C_GROUP], v[C_N]),
                       cf_times(cf_plus(v[C_GLOBALS],
                                        cf_plus(cf_times(3, v[C_BLOCK]), cf_times(2, v[C_SPARSE]))),
                                cf_plus(v[C_D], v[C_DV])));
}

static void numbers(const struct fixed_problem *p, void *desc)
{
    static const uint32_t kinds[] = { HEED_LSG_NORM, HEED_LSG_POOLING, HEED_LSG_LSH,
                                      HEED_LSG_BOS_POOLING };
    heed_lsg_program_desc *d = desc;

    d->sparsity = kinds[p->c.v[C_KIND]];
    d->flags |= p->c.v[C_CAUSAL] ? (uint32_t)HEED_LSG_CAUSAL : 0;
    d->block = p->c.v[C_BLOCK];
    d->factor = p->c.v[C_FACTOR];
    d->sparse_block = p->c.v[C_SPARSE];
}

/* ---- the sequence of sparse keys ------------------------------------------------------ */

static bool choose(struct lsg *l)
{
    const size_t of_heads = (size_t)(l->p->n_items * l->p->heads);

    l->chosen = calloc(of_heads * (size_t)l->places + 1, sizeof *l->chosen);
    l->doubt = calloc(of_heads * (size_t)((l->n + l->u - 1) / l->u) + 1, 1);
    return l->chosen && l->doubt &&
           program_choose(l->p, l->a, l->u, l->u / l->f, l->chosen, l->doubt);
}

static bool pool_both(struct lsg *l, struct pool_ask ask)
{
    ask.weights = -1;
    ask.rows = l->places;
    ask.x = P_TEXT_K;
    if (!program_pool(l->p, l->a, &ask, &l->k))
        return false;
    ask.x = P_TEXT_V;
    return program_pool(l->p, l->a, &ask, &l->v);
}

static bool hash(struct lsg *l)
{
    const size_t tokens = (size_t)(l->p->n_items * l->p->heads * l->n);
    struct pool_ask ask = { .kind = HEED_POOL_BUCKET, .block = l->u, .buckets = l->u / l->f };

    l->bucket = calloc(tokens + 1, sizeof *l->bucket);
    l->doubt = calloc(tokens + 1, 1);
    if (!l->bucket || !l->doubt ||
        !program_hash(l->p, l->a, l->u, ROUNDS, l->p->c.v[C_R], l->bucket, l->doubt))
        return false;
    ask.ids = l->bucket;
    return pool_both(l, ask);
}

/* Means of f tokens by the weights of the first row, for every query head. */
static bool weigh(struct lsg *l)
{
    const struct fixed_problem *p = l->p;
    const int64_t heads = p->heads * p->n[P_GROUP], rows = l->places;
    const int64_t d = p->part[P_TEXT_K].a.shape[3], dv = p->part[P_TEXT_V].a.shape[3];
    struct fixed_problem *own = calloc(1, sizeof *own);
    struct answer to = { .p = own };

    if (!own || !made_make(&l->k, p, heads, rows, d, true) ||
        !made_make(&l->v, p, heads, rows, dv, false)) {
        free(own);
        return false;
    }
    own->part[0] = l->k.part;
    own->part[1] = l->v.part;
    to.said[0] = l->k.said;
    to.said[1] = l->v.said;
    for (int64_t i = 0; i < p->n_items * heads * rows; i++) {
        const int64_t b = i / rows / heads, h = i / rows % heads, j = i % rows;
        struct attend_key key = { P_TEXT_K, P_TEXT_V, NULL, NULL, h / p->n[P_GROUP], 0 };

        attend_begin(&l->row, b, h, 0);
        for (key.j = j * l->f; key.j < (j + 1) * l->f && key.j < l->n; key.j++) {
            if (!program_present(p, P_TEXT_LEN, P_TEXT_MASK, b, key.head, key.j, l->n))
                continue;
            attend_add(&l->row, &key);
            l->k.there[part_at(&l->k.mask, b, 0, h, j)].bits = 1;
        }
        attend_say(&l->row, &to, 1, h, j);
        for (int64_t n = 0; n < l->row.n; n++)
            l->row.key[n].v = P_TEXT_K;
        attend_say(&l->row, &to, 0, h, j);
    }
    free(own);
    return true;
}

static bool sequence(struct lsg *l)
{
    const struct pool_ask mean = { .kind = HEED_POOL_MEAN, .tail = HEED_TAIL_CEIL,
                                   .kernel = l->f, .stride = l->f };

    switch (l->kind) {
    case KIND_NORM:
        return choose(l);
    case KIND_POOLING:
        return pool_both(l, mean);
    case KIND_LSH:
        return hash(l);
    case KIND_BOS:
        return weigh(l);
    }
    return false;               /* there is no other kind */
}

/* ---- rows ----------------------------------------------------------------------------- */

static void globals_add(struct lsg *l)
{
    const int64_t n = l->p->c.v[C_GLOBALS];
    struct attend_key key = { GLOBAL_K, GLOBAL_V, NULL, NULL, l->row.g, 0 };

    for (key.j = 0; key.j < n; key.j++) {
        if (program_present(l->p, GLOBAL_LEN, GLOBAL_MASK, l->row.b, l->row.g, key.j, n))
            attend_add(&l->row, &key);
    }
}

static void local_add(struct lsg *l)
{
    const int64_t block = l->row.i / l->b;
    const int64_t end = l->causal ? l->row.i + 1 : (block + 2) * l->b;
    struct attend_key key = { P_TEXT_K, P_TEXT_V, NULL, NULL, l->row.g, 0 };

    for (key.j = block > 0 ? (block - 1) * l->b : 0; key.j < end && key.j < l->n; key.j++) {
        if (program_present(l->p, P_TEXT_LEN, P_TEXT_MASK, l->row.b, l->row.g, key.j, l->n))
            attend_add(&l->row, &key);
    }
}

/* Place t of the sequence, if it is there. */
static void place_add(struct lsg *l, int64_t t)
{
    const int64_t b = l->row.b, per = l->u / l->f, of_head = b * l->p->heads + l->row.g;
    const int64_t blocks = l->kind == KIND_NORM || l->kind == KIND_LSH ? l->places / per : 1;
    const int64_t made_head = l->kind == KIND_BOS ? l->row.h : l->row.g;
    struct attend_key key = { P_TEXT_K, P_TEXT_V, NULL, NULL, l->row.g, 0 };

    if (t < 0 || t >= l->places)
        return;
    if (l->kind == KIND_NORM) {
        l->row.soft.vague = l->row.soft.vague || l->doubt[of_head * blocks + t / per];
        key.j = l->chosen[of_head * l->places + t];
        if (key.j >= 0 && !l->doubt[of_head * blocks + t / per])
            attend_add(&l->row, &key);
        return;
    }
    if (l->kind == KIND_LSH)
        l->row.soft.vague = l->row.soft.vague || l->doubt[of_head * l->n + t / per * l->u];
    key = (struct attend_key){ -1, -1, &l->k, &l->v, made_head, t };
    if (l->k.there[part_at(&l->k.mask, b, 0, made_head, t)].bits)
        attend_add(&l->row, &key);
}

static void sparse_add(struct lsg *l)
{
    const int64_t block = l->row.i / l->b, left = (block - 1) * l->c, right = (block + 2) * l->c;

    for (int64_t t = left - l->s; t < left; t++)
        place_add(l, t);
    for (int64_t t = right; t < right + l->s && !l->causal; t++)
        place_add(l, t);
}

static void say(const struct fixed_problem *p, struct answer *a)
{
    const int64_t heads = p->heads * p->n[P_GROUP];
    struct lsg l;
    bool good = lsg_numbers(p, &l);

    l.a = a;
    l.row = (struct attend){ .p = p, .a = a };
    good = good && sequence(&l);
    for (int64_t i = 0; good && i < p->n_items * heads * l.n; i++) {
        attend_begin(&l.row, i / l.n / heads, i / l.n % heads, i % l.n);
        if (l.row.i < program_length(p, P_TEXT_LEN, l.row.b, l.n)) {
            globals_add(&l);
            sparse_add(&l);
            local_add(&l);
        }
        attend_say(&l.row, a, P_O, l.row.h, l.row.i);
    }
    attend_finish(&l.row);
    made_finish(&l.k);
    made_finish(&l.v);
    free(l.chosen);
    free(l.bucket);
    free(l.doubt);
}

/* ---- faults --------------------------------------------------------------------------- */

/* Of two extents that disagree the report may name either. */
#define SHAPE(member, axis, words) \
    words, offsetof(heed_lsg_program_desc, member.shape[axis]), FAULT_I64
#define NUMBER(member) #member, offsetof(heed_lsg_program_desc, member), FAULT_I64

static const struct fixed_number desc_numbers[] = {
    { "sparsity", offsetof(heed_lsg_program_desc, sparsity), FAULT_U32,
      "- - - HEED_LSG_NORM HEED_LSG_POOLING HEED_LSG_LSH HEED_LSG_BOS_POOLING" },
    { "block", offsetof(heed_lsg_program_desc, block), FAULT_I64, NULL },
    { "factor", offsetof(heed_lsg_program_desc, factor), FAULT_I64, NULL },
    { "sparse_block", offsetof(heed_lsg_program_desc, sparse_block), FAULT_I64, NULL },
};

static const struct fixed_fault faults[] = {
    { "sparsity", offsetof(heed_lsg_program_desc, sparsity), FAULT_U32, 2, HEED_E_VALUE },
    { "sparsity", offsetof(heed_lsg_program_desc, sparsity), FAULT_U32, 7, HEED_E_VALUE },
    { NUMBER(block), -1, HEED_E_VALUE },
    { NUMBER(block), INT64_C(1) << 31, HEED_E_VALUE },
    { NUMBER(factor), 3, HEED_E_VALUE },
    { NUMBER(factor), -2, HEED_E_VALUE },
    { NUMBER(sparse_block), -8, HEED_E_VALUE },
    { NUMBER(sparse_block), 3, HEED_E_VALUE },
    { NUMBER(sparse_block), (INT64_C(1) << 28) + 1, HEED_E_VALUE },
    { "rounds", offsetof(heed_lsg_program_desc, rounds), FAULT_TENSOR, 8, HEED_E_VALUE },
    { SHAPE(text.k, 2, "text.k shape"), 41, HEED_E_SHAPE },
    { SHAPE(text.v, 2, "text.v shape"), 41, HEED_E_SHAPE },
    { SHAPE(globals.v, 2, "globals shape"), 2, HEED_E_SHAPE },
    { SHAPE(o, 3, "o shape"), 7, HEED_E_SHAPE },
    { "text.len", offsetof(heed_lsg_program_desc, text.len.data), FAULT_I64, 64, HEED_E_VALUE },
    { "globals.mask", offsetof(heed_lsg_program_desc, globals.mask.data), FAULT_I64, 64,
      HEED_E_VALUE },
};

static const struct fixed_refusal refusals[] = {
    { "op=lsg factor=3", 0, 0, HEED_E_VALUE },
    { "op=lsg kind=pooling factor=3", 0, 0, HEED_E_VALUE },
    { "op=lsg block=24 sparse=16", 0, 0, HEED_E_VALUE },
    { "op=lsg kind=lsh block=24 sparse=16", 0, 0, HEED_E_VALUE },
    { "op=lsg block=16 sparse=4 factor=8", 0, 0, HEED_E_VALUE },
    { "op=lsg block=64 sparse=8 factor=3", 0, 0, HEED_E_VALUE },
    { "op=lsg kind=lsh factor=8", 0, 0, HEED_E_UNSUPPORTED },
    { "op=lsg kind=lsh block=24 sparse=24 factor=8", 0, 0, HEED_E_SHAPE },
    { "op=lsg", C_N, INT64_C(1) << 31, HEED_E_VALUE },
    { "op=lsg kind=bos group=2 h=2 text.mask=some", 0, 0, HEED_E_UNSUPPORTED },
};

static const char *const named[] = {
    "op=lsg",
    "op=lsg kind=norm fill=ties sparse=16 text.mask=some text.len=rt causal=yes",
    "op=lsg kind=pooling fill=exact n=100 text.mask=some group=2",
    "op=lsg kind=lsh r=3 n=100 block=16 sparse=16 text.mask=some text.len=short",
    "op=lsg kind=bos n=100 text.mask=some text.mask.h=1 group=3 globals=5 globals.mask=some",
    "op=lsg kind=pooling block=24 factor=3 sparse=4 n=200 fill=special globals=0",
    "op=lsg kind=norm text.mask=nothing globals=33 globals.len=hostile",
};

FIXED_CALLS(heed_lsg_program)

#define BIT(field) (1u << ((field) - F_OWN))

const struct fixed fixed_lsg = {
    .op = FIXED_PROGRAM("lsg"),
    .c_name = "lsg_program",
    .check = check,
    .plan = plan,
    .run = program_run,
    .desc_size = sizeof(heed_lsg_program_desc),
    .args_size = sizeof(heed_program_args),
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .specs = specs,
    .n_specs = C_END - F_OWN,
    .extents = BIT(C_N) | BIT(C_DV),
    .vast = BIT(C_BLOCK) | BIT(C_FACTOR) | BIT(C_SPARSE) | BIT(C_N) | BIT(C_D) | BIT(C_DV),
    .shape = shape,
    .numbers = numbers,
    .say = say,
    .shorten = program_shorten,
    .desc_numbers = desc_numbers,
    .n_desc_numbers = sizeof desc_numbers / sizeof *desc_numbers,
    .faults = faults,
    .n_faults = sizeof faults / sizeof *faults,
    .refusals = refusals,
    .n_refusals = sizeof refusals / sizeof *refusals,
    .base = "op=lsg text.mask=some text.len=rt globals=5 globals.len=rt globals.mask=some",
    .named = named,
    .n_named = sizeof named / sizeof *named,
};
