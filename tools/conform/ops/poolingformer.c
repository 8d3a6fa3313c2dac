/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Poolingformer, level 2: its table and its oracle (heed/programs.h).
 */
#include "program.h"

enum { TAPS_K = P_OWN, TAPS_V };
enum {
    C_POOL = F_OWN, C_GRID, C_WINDOW, C_KERNEL, C_STRIDE, C_GROUP, C_N, C_D, C_DV, C_END
};
enum { POOL_MEAN, POOL_MAX, POOL_LDCONV };

static const struct cf_spec specs[] = {
    { "pool", "mean max ldconv", 0, -1, NULL },
    { "grid", "moving fixed", 0, -1, NULL },
    { "window", "9 1 2 4 30", 1, -1, NULL },
    { "kernel", "3 1 2 5 8", 1, -1, NULL },
    { "stride", "2 1 3 5 12", 1, -1, NULL },
    { "group", "1 2 3", 1, -1, NULL },
    { "n", "20 0 1 3 33 70 130", 1, -1, NULL },
    { "d", "8 0 1 7 16 33", 1, -1, NULL },
    { "dv", "8 0 1 7 16 33", 1, -1, NULL },
};

#define ARRAY(member, name) PROGRAM_ARRAY(heed_poolingformer_level2_desc, member, name)

static const struct fixed_array arrays[] = {
    PROGRAM_COMMON(heed_poolingformer_level2_desc),
    [TAPS_K] = { ARRAY(taps_k, "taps_k"), MUST | IN | BATCH | HEAD | HEAD_ONE, PROGRAM_FLOATS, 0,
                 NULL, C_POOL, "ldconv", fill_floats, "weights" },
    [TAPS_V] = { ARRAY(taps_v, "taps_v"), MUST | IN | BATCH | HEAD | HEAD_ONE, PROGRAM_FLOATS, 0,
                 NULL, C_POOL, "ldconv", fill_floats, "weights" },
};

/* The token of a pooling window that is its centre: ceil((1 + x) / 2) - 1. */
static int64_t centre_of(int64_t kernel)
{
    return kernel / 2;
}

/* Rows of pooled keys: a window for every token, or those of the grid whose centre is one. */
static int64_t rows_of(const struct cs *c)
{
    const int64_t n = c->v[C_N], kernel = c->v[C_KERNEL], stride = c->v[C_STRIDE];

    if (!c->v[C_GRID])
        return n;
    if (kernel < 1 || stride < 1 || n <= centre_of(kernel))
        return 0;
    return (n - 1 - centre_of(kernel)) / stride + 1;
}

static void shape(struct fixed_problem *p)
{
    const int64_t *v = p->c.v, rows = rows_of(&p->c);
    const int64_t seen = v[C_STRIDE] > 0 ? cf_plus(cf_times(2, v[C_WINDOW]), 1) / v[C_STRIDE] : 1;

    program_shape(p, v[C_N], v[C_GROUP], v[C_D], v[C_DV]);
    for (int i = TAPS_K; i <= TAPS_V; i++)
        part_shape(&p->part[i], part_heads(p, i), rows, v[C_KERNEL]);
    p->work = cf_times(cf_times(p->heads * v[C_GROUP], v[C_N]),
                       cf_times(cf_plus(seen, v[C_KERNEL]), cf_plus(v[C_D], v[C_DV])));
}

static void numbers(const struct fixed_problem *p, void *desc)
{
    static const uint32_t kinds[] = { HEED_POOLINGFORMER_MEAN, HEED_POOLINGFORMER_MAX,
                                      HEED_POOLINGFORMER_LDCONV };
    heed_poolingformer_level2_desc *d = desc;

    d->pooling = kinds[p->c.v[C_POOL]];
    d->flags |= p->c.v[C_GRID] ? (uint32_t)HEED_POOLINGFORMER_FIXED_GRID : 0;
    d->window = p->c.v[C_WINDOW];
    d->kernel = p->c.v[C_KERNEL];
    d->stride = p->c.v[C_STRIDE];
}

/* ---- the oracle ----------------------------------------------------------------------- */

struct level {
    struct made k, v;
    struct attend row;
};

static bool pool_both(const struct fixed_problem *p, struct answer *a, struct level *l)
{
    static const uint32_t kinds[] = { HEED_POOL_MEAN, HEED_POOL_MAX, HEED_POOL_DYNAMIC };
    const int64_t *v = p->c.v;
    struct pool_ask ask = {
        .x = P_TEXT_K,
        .weights = v[C_POOL] == POOL_LDCONV ? TAPS_K : -1,
        .kind = kinds[v[C_POOL]],
        .tail = HEED_TAIL_CENTRE,
        .kernel = v[C_KERNEL],
        .stride = v[C_GRID] ? v[C_STRIDE] : 1,
        .left = v[C_GRID] ? 0 : centre_of(v[C_KERNEL]),
        .rows = rows_of(&p->c),
    };

    if (!program_pool(p, a, &ask, &l->k))
        return false;
    ask.x = P_TEXT_V;
    ask.weights = v[C_POOL] == POOL_LDCONV ? TAPS_V : -1;
    return program_pool(p, a, &ask, &l->v);
}

static void key_add(struct level *l, int64_t j)
{
    const struct attend_key key = { -1, -1, &l->k, &l->v, l->row.g, j };

    if (j >= 0 && j < l->k.mask.a.shape[3] &&
        l->k.there[part_at(&l->k.mask, l->row.b, 0, l->row.g, j)].bits)
        attend_add(&l->row, &key);
}

/* The windows that begin with the row's window and lie a stride apart; or those of the grid that
 * lie within it. Row j of the pooled keys has the centre j, or j z + m. */
static void row_add(const struct fixed_problem *p, struct level *l)
{
    const int64_t *v = p->c.v, w = v[C_WINDOW], x = v[C_KERNEL], z = v[C_STRIDE], i = l->row.i;

    if (!v[C_GRID]) {
        for (int64_t n = 0; n <= (2 * w + 1 - x) / z; n++)
            key_add(l, i - w + centre_of(x) + z * n);
        return;
    }
    for (int64_t j = 0; j < l->k.mask.a.shape[3]; j++) {
        if (i - w <= j * z && j * z + x - 1 <= i + w)
            key_add(l, j);
    }
}

static void say(const struct fixed_problem *p, struct answer *a)
{
    const int64_t *v = p->c.v, heads = p->heads * p->n[P_GROUP], n = p->n[P_N];
    struct level l = { .row = { .p = p, .a = a } };
    const bool legal = v[C_KERNEL] > 0 && v[C_STRIDE] > 0 && v[C_KERNEL] <= 2 * v[C_WINDOW] + 1;
    const bool good = legal && pool_both(p, a, &l);

    for (int64_t i = 0; good && i < p->n_items * heads * n; i++) {
        attend_begin(&l.row, i / n / heads, i / n % heads, i % n);
        if (l.row.i < program_length(p, P_TEXT_LEN, l.row.b, n))
            row_add(p, &l);
        attend_say(&l.row, a, P_O, l.row.h, l.row.i);
    }
    attend_finish(&l.row);
    made_finish(&l.k);
    made_finish(&l.v);
}

static bool shorten(struct fixed_problem *p)
{
    if (!program_shorten(p))
        return false;
    p->c.v[C_N] = p->n[P_N];
    for (int i = TAPS_K; i <= TAPS_V; i++)
        part_cut(&p->part[i], 2, rows_of(&p->c));
    return true;
}

/* ---- faults -------------------------------------------------------------------------------- */

/* Of two extents that disagree the report may name either. */
#define SHAPE(member, axis, words) \
    words, offsetof(heed_poolingformer_level2_desc, member.shape[axis]), FAULT_I64
#define NUMBER(member) #member, offsetof(heed_poolingformer_level2_desc, member), FAULT_I64

static const struct fixed_number desc_numbers[] = {
    { "pooling", offsetof(heed_poolingformer_level2_desc, pooling), FAULT_U32,
      "HEED_POOLINGFORMER_MEAN HEED_POOLINGFORMER_MAX HEED_POOLINGFORMER_LDCONV" },
    { "window", offsetof(heed_poolingformer_level2_desc, window), FAULT_I64, NULL },
    { "kernel", offsetof(heed_poolingformer_level2_desc, kernel), FAULT_I64, NULL },
    { "stride", offsetof(heed_poolingformer_level2_desc, stride), FAULT_I64, NULL },
};

static const struct fixed_fault faults[] = {
    { "pooling", offsetof(heed_poolingformer_level2_desc, pooling), FAULT_U32, 3, HEED_E_VALUE },
    { NUMBER(window), -1, HEED_E_VALUE },
    { NUMBER(window), (INT64_C(1) << 40) + 1, HEED_E_VALUE },
    { NUMBER(kernel), 20, HEED_E_VALUE },
    { NUMBER(kernel), -1, HEED_E_VALUE },
    { NUMBER(stride), -1, HEED_E_VALUE },
    { NUMBER(stride), INT64_C(1) << 31, HEED_E_VALUE },
    { SHAPE(text.k, 2, "text.k shape"), 21, HEED_E_SHAPE },
    { SHAPE(text.v, 2, "text.v shape"), 21, HEED_E_SHAPE },
    { SHAPE(taps_k, 3, "weights shape"), 4, HEED_E_SHAPE },
    { SHAPE(taps_v, 2, "weights shape"), 3, HEED_E_SHAPE },
    { SHAPE(o, 3, "o shape"), 7, HEED_E_SHAPE },
    { "text.len", offsetof(heed_poolingformer_level2_desc, text.len.data), FAULT_I64, 64,
      HEED_E_VALUE },
};

static const struct fixed_refusal refusals[] = {
    { "op=poolingformer2 window=2 kernel=8", 0, 0, HEED_E_VALUE },
    { "op=poolingformer2 window=1 kernel=5 grid=fixed", 0, 0, HEED_E_VALUE },
    { "op=poolingformer2", C_KERNEL, (1 << 24) + 1, HEED_E_VALUE },
    { "op=poolingformer2", C_STRIDE, INT64_MAX, HEED_E_VALUE },
};

static const char *const named[] = {
    "op=poolingformer2",
    "op=poolingformer2 pool=ldconv grid=fixed kernel=5 stride=3 text.mask=some text.len=rt",
    "op=poolingformer2 pool=max fill=special kernel=8 text.mask=some",
    "op=poolingformer2 pool=mean stride=5 kernel=2 n=70 group=3 text.mask=some text.mask.h=1",
    "op=poolingformer2 pool=ldconv window=1 kernel=3 n=1 text.len=hostile",
    "op=poolingformer2 stride=12 window=2 n=33 text.len=short",
};

FIXED_CALLS(heed_poolingformer_level2)

#define BIT(field) (1u << ((field) - F_OWN))

const struct fixed fixed_poolingformer2 = {
    .op = FIXED_PROGRAM("poolingformer2"),
    .c_name = "poolingformer_level2",
    .check = check,
    .plan = plan,
    .run = program_run,
    .desc_size = sizeof(heed_poolingformer_level2_desc),
    .args_size = sizeof(heed_program_args),
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .specs = specs,
    .n_specs = C_END - F_OWN,
    .extents = BIT(C_N) | BIT(C_DV),
    .vast = BIT(C_WINDOW) | BIT(C_KERNEL) | BIT(C_STRIDE) | BIT(C_N) | BIT(C_D) | BIT(C_DV),
    .shape = shape,
    .numbers = numbers,
    .say = say,
    .shorten = shorten,
    .desc_numbers = desc_numbers,
    .n_desc_numbers = sizeof desc_numbers / sizeof *desc_numbers,
    .faults = faults,
    .n_faults = sizeof faults / sizeof *faults,
    .refusals = refusals,
    .n_refusals = sizeof refusals / sizeof *refusals,
    .base = "op=poolingformer2 pool=ldconv text.mask=some text.len=rt",
    .named = named,
    .n_named = sizeof named / sizeof *named,
};
