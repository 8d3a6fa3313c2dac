/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * pool: its table (heed/pool.h).
 */
#include "pool.h"

static const struct cf_spec specs[] = {
    { "kind", "mean sum max linear weighted dynamic bucket", 0, -1, NULL },
    { "tok", "windows ranges", 0, C_KIND, "mean sum max linear weighted" },
    { "tail", "floor ceil centre join end", 0, C_KIND, "mean sum max linear weighted dynamic" },
    { "kernel", "3 1 2 5 16 64 1030", 1, C_KIND, "mean sum max linear weighted dynamic" },
    { "stride", "2 1 3 7 16", 1, C_TAIL, "floor ceil centre" },
    { "left", "0 1 2", 1, C_TAIL, "centre" },
    { "rows", "5 0 1 12", 1, C_TOK, "ranges" },
    { "block", "8 1 3 16 64 1030", 1, C_KIND, "bucket" },
    { "buckets", "4 1 7", 1, C_KIND, "bucket" },
    { "n", "20 0 1 2 5 33 70 1100 2100", 1, -1, NULL },
    { "d", "8 0 1 7 16 33 65", 1, -1, NULL },
};

static void fill_weights(struct fixed_problem *p, struct part *part)
{
    enum { PLAIN, LABELS, FAR };
    const double inf = 1e300 * 1e300;

    fill_floats(p, part);
    for (int64_t i = 0; i < cf_array_count(&part->a) && part->holds != PLAIN; i++) {
        const uint64_t h = part_hash(p, part, i);
        const double far = (double)((int64_t)(h >> 20 & 1023) - 512) * 0.25;

        cf_array_set(&part->a, i,
                     cf_encode(part->a.dtype, (float)(part->holds == FAR ? far
                                                      : h % 3            ? 0
                                                                         : -inf)));
    }
}

/* [begin, end): near each other and in order, or whatever. */
static void fill_ranges(struct fixed_problem *p, struct part *part)
{
    enum { GOOD, HOSTILE };

    for (int64_t i = 0; i < cf_array_count(&part->a); i++) {
        const uint64_t h = part_hash(p, part, i), row = part_hash(p, part, -1 - i / 2);
        int64_t value = (int64_t)(row % (uint64_t)(part->bound + 1));

        value += i % 2 ? (int64_t)(h % 9) : 0;
        if (part->holds == HOSTILE && h >> 40 & 1)
            value = h >> 41 & 1 ? part_hostile(part, h) : (int64_t)(h % (uint64_t)(value + 1));
        cf_array_set_int(&part->a, i, value);
    }
}

#define ARRAY(member) #member, offsetof(heed_pool_desc, member), offsetof(heed_pool_args, member)
#define FLOATS TYPE_FLOATS

static const struct fixed_array arrays[] = {
    [X] = { ARRAY(x), MUST | IN | BATCH | HEAD, TYPE_NUMBERS, 0, NULL, 0, NULL, fill_floats, NULL },
    [Y] = { ARRAY(y), MUST | OUT | BATCH | HEAD, FLOATS, 0, NULL, 0, NULL, fill_nothing, NULL },
    [MASK] = { ARRAY(mask), IN | BATCH | HEAD | HEAD_ONE, "u8", 0, "none some all nothing", 0,
               NULL, fill_mask, NULL },
    [LEN] = { ARRAY(len), IN | BATCH | LENGTHS, "i32 i64", 0, "none rt short zero hostile", 0,
              NULL, fill_lengths, NULL },
    [RANGES] = { ARRAY(ranges), MUST | IN | BATCH, "i32 i64", 0, "good hostile", C_TOK, "ranges",
                 fill_ranges, NULL },
    [WEIGHTS] = { ARRAY(weights), MUST | IN | BATCH | HEAD | HEAD_ONE, FLOATS, 0,
                  "plain labels far", C_KIND, "linear weighted dynamic", fill_weights, NULL },
    [IDS] = { ARRAY(ids), MUST | IN | BATCH | HEAD | HEAD_ONE, "i32", 0, "good hostile", C_KIND,
              "bucket", fill_indices, NULL },
    [Y_MASK] = { ARRAY(y_mask), OUT | BATCH | HEAD, "u8", 0, "none yes", 0, NULL,
                 fill_nothing, NULL },
    [Y_LEN] = { ARRAY(y_len), OUT | BATCH | LENGTHS, "i32 i64", 0, "none yes", 0, NULL,
                fill_nothing, NULL },
};

/* The numbers as the descriptor has them. */
static void numbers_find(struct fixed_problem *p)
{
    const int64_t *v = p->c.v;
    const bool bucket = v[C_KIND] == KIND_BUCKET, ranges = part_is(&p->part[RANGES]);
    const bool joined = v[C_TAIL] == HEED_TAIL_JOIN || v[C_TAIL] == HEED_TAIL_END;

    if (!bucket && !ranges) {
        p->n[N_KERNEL] = v[C_KERNEL];
        p->n[N_STRIDE] = joined ? v[C_KERNEL] : v[C_STRIDE];
        p->n[N_LEFT] = v[C_TAIL] == HEED_TAIL_CENTRE ? v[C_LEFT] : 0;
        p->n[N_TAIL] = v[C_TAIL];
    }
    p->n[N_BLOCK] = bucket ? v[C_BLOCK] : 0;
    p->n[N_BUCKETS] = bucket ? v[C_BUCKETS] : 0;
}

static void shape(struct fixed_problem *p)
{
    const int64_t *v = p->c.v;
    int64_t rows, heads = 1;

    numbers_find(p);
    p->n[N_N] = v[C_N];
    p->n[N_M] = rows = part_is(&p->part[RANGES]) ? v[C_ROWS] : pool_rows(p, v[C_N]);
    part_shape(&p->part[X], p->heads, v[C_N], v[C_D]);
    part_shape(&p->part[Y], p->heads, rows, v[C_D]);
    part_shape(&p->part[MASK], -1, part_heads(p, MASK), v[C_N]);
    part_shape(&p->part[LEN], -1, -1, -1);
    part_shape(&p->part[RANGES], -1, rows, 2);
    if (v[C_KIND] == KIND_DYNAMIC)
        part_shape(&p->part[WEIGHTS], part_heads(p, WEIGHTS), rows, v[C_KERNEL]);
    else
        part_shape(&p->part[WEIGHTS], -1, part_heads(p, WEIGHTS), v[C_N]);
    part_shape(&p->part[IDS], -1, part_heads(p, IDS), v[C_N]);
    if (part_is(&p->part[MASK]) && part_heads(p, MASK) != 1)
        heads = p->heads;
    if (part_is(&p->part[IDS]) && part_heads(p, IDS) != 1)
        heads = p->heads;
    part_shape(&p->part[Y_MASK], -1, heads, rows);
    part_shape(&p->part[Y_LEN], -1, -1, -1);
    p->part[LEN].bound = p->part[RANGES].bound = v[C_N];
    p->part[IDS].bound = v[C_BUCKETS];
    p->work = cf_times(cf_times(p->heads, v[C_D]), cf_times(rows, cf_plus(p->n[N_KERNEL], 1))) / 4;
}

static void numbers(const struct fixed_problem *p, void *desc)
{
    static const uint32_t kinds[] = { HEED_POOL_MEAN,     HEED_POOL_SUM,     HEED_POOL_MAX,
                                      HEED_POOL_LINEAR,   HEED_POOL_WEIGHTED,
                                      HEED_POOL_DYNAMIC,  HEED_POOL_BUCKET };
    heed_pool_desc *d = desc;

    d->kind = kinds[p->c.v[C_KIND]];
    d->tail = (uint32_t)p->n[N_TAIL];
    d->kernel = p->n[N_KERNEL];
    d->stride = p->n[N_STRIDE];
    d->left = p->n[N_LEFT];
    d->block = p->n[N_BLOCK];
    d->buckets = p->n[N_BUCKETS];
}

static bool shorten(struct fixed_problem *p)
{
    int64_t n;

    if (!part_is(&p->part[LEN]))
        return false;
    n = pool_length(p, 0);
    part_drop(&p->part[LEN]);
    p->n[N_N] = n;
    for (int i = 0; i < p->op->n_arrays; i++) {
        if (i == X)
            part_cut(&p->part[i], 2, n);
        else if (i == MASK || i == IDS || (i == WEIGHTS && p->c.v[C_KIND] != KIND_DYNAMIC))
            part_cut(&p->part[i], 3, n);
    }
    if (part_is(&p->part[RANGES]))
        return true;
    p->n[N_M] = pool_rows(p, n);
    part_cut(&p->part[Y], 2, p->n[N_M]);
    part_cut(&p->part[Y_MASK], 3, p->n[N_M]);
    if (p->c.v[C_KIND] == KIND_DYNAMIC)
        part_cut(&p->part[WEIGHTS], 2, p->n[N_M]);
    return true;
}

/* Of two extents that disagree the report may name either. */
#define SHAPE(member, axis) "shape[", offsetof(heed_pool_desc, member.shape[axis]), FAULT_I64
#define NUMBER(member) #member, offsetof(heed_pool_desc, member), FAULT_I64

static const struct fixed_number desc_numbers[] = {
    { "kind", offsetof(heed_pool_desc, kind), FAULT_U32,
      "HEED_POOL_SUM HEED_POOL_MEAN HEED_POOL_MAX HEED_POOL_LINEAR HEED_POOL_WEIGHTED "
      "HEED_POOL_DYNAMIC HEED_POOL_BUCKET" },
    { "tail", offsetof(heed_pool_desc, tail), FAULT_U32,
      "HEED_TAIL_FLOOR HEED_TAIL_CEIL HEED_TAIL_CENTRE HEED_TAIL_JOIN HEED_TAIL_END" },
    { "kernel", offsetof(heed_pool_desc, kernel), FAULT_I64, NULL },
    { "stride", offsetof(heed_pool_desc, stride), FAULT_I64, NULL },
    { "left", offsetof(heed_pool_desc, left), FAULT_I64, NULL },
    { "block", offsetof(heed_pool_desc, block), FAULT_I64, NULL },
    { "buckets", offsetof(heed_pool_desc, buckets), FAULT_I64, NULL },
};

static const struct fixed_fault faults[] = {
    { "reserved", offsetof(heed_pool_desc, reserved), FAULT_U32, 1, HEED_E_VALUE },
    { "kind", offsetof(heed_pool_desc, kind), FAULT_U32, 7, HEED_E_VALUE },
    { "tail", offsetof(heed_pool_desc, tail), FAULT_U32, 5, HEED_E_VALUE },
    { NUMBER(kernel), 0, HEED_E_VALUE },
    { NUMBER(kernel), -3, HEED_E_VALUE },
    { NUMBER(stride), 0, HEED_E_VALUE },
    { NUMBER(left), 1, HEED_E_VALUE },
    { NUMBER(left), -1, HEED_E_VALUE },
    { NUMBER(block), 1, HEED_E_VALUE },
    { NUMBER(buckets), 1, HEED_E_VALUE },
    { "ids", offsetof(heed_pool_desc, ids), FAULT_TENSOR, 20, HEED_E_VALUE },
    { SHAPE(x, 3), 9, HEED_E_SHAPE },
    { SHAPE(y, 1), 1, HEED_E_SHAPE },
    { SHAPE(y, 2), 8, HEED_E_SHAPE },
    { SHAPE(mask, 2), 19, HEED_E_SHAPE },
    { SHAPE(weights, 2), 19, HEED_E_SHAPE },
    { SHAPE(len, 0), 3, HEED_E_SHAPE },
    { SHAPE(y_mask, 2), 8, HEED_E_SHAPE },
    { SHAPE(y_len, 0), 1, HEED_E_SHAPE },
    { "len", offsetof(heed_pool_desc, len.dtype), FAULT_U32, HEED_F32, HEED_E_DTYPE },
};

static const struct fixed_refusal refusals[] = {
    { "op=pool kind=dynamic tail=join", 0, 0, HEED_E_VALUE },
    { "op=pool tail=ceil kernel=3 stride=7", 0, 0, HEED_E_VALUE },
    { "op=pool tail=centre kernel=1 left=2", 0, 0, HEED_E_VALUE },
    { "op=pool tail=centre kernel=5 left=2 stride=1", C_LEFT, 3, HEED_E_VALUE },
    { "op=pool", C_STRIDE, -1, HEED_E_VALUE },
    { "op=pool kind=bucket", C_BLOCK, 0, HEED_E_VALUE },
    { "op=pool kind=bucket", C_BUCKETS, -1, HEED_E_VALUE },
    { "op=pool", C_KERNEL, (1 << 24) + 1, HEED_E_UNSUPPORTED },
    { "op=pool tail=end", C_KERNEL, INT64_C(1) << 40, HEED_E_UNSUPPORTED },
    { "op=pool d=1", C_N, INT64_MAX, HEED_E_OVERFLOW },
};

static const char *const named[] = {
    "op=pool",
    "op=pool kind=sum tok=ranges ranges=hostile y_mask=yes y_len=yes",
    "op=pool kind=weighted weights=labels fill=exact len=rt y_mask=yes",
    "op=pool tail=end kernel=5 n=33 len=rt mask=some y_mask=yes y_len=yes",
    "op=pool kind=dynamic tail=centre kernel=5 left=2 mask=some y_mask=yes",
    "op=pool kind=bucket buckets=7 ids=hostile ids.h=1 y_mask=yes len=hostile",
};

FIXED_CALLS(heed_pool)
FIXED_RUN(heed_pool)

#define BIT(field) (1u << ((field) - F_OWN))

const struct fixed fixed_pool = {
    .op = FIXED_OP("pool"),
    .c_name = "pool",
    .check = check,
    .plan = plan,
    .run = run,
    .desc_size = sizeof(heed_pool_desc),
    .args_size = sizeof(heed_pool_args),
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .specs = specs,
    .n_specs = C_END - F_OWN,
    .extents = BIT(C_ROWS) | BIT(C_N) | BIT(C_D),
    .vast = BIT(C_KERNEL) | BIT(C_STRIDE) | BIT(C_LEFT) | BIT(C_ROWS) | BIT(C_BLOCK) |
            BIT(C_BUCKETS) | BIT(C_N) | BIT(C_D),
    .shape = shape,
    .numbers = numbers,
    .say = pool_say,
    .relate = pool_relate,
    .shorten = shorten,
    .desc_numbers = desc_numbers,
    .n_desc_numbers = sizeof desc_numbers / sizeof *desc_numbers,
    .faults = faults,
    .n_faults = sizeof faults / sizeof *faults,
    .refusals = refusals,
    .n_refusals = sizeof refusals / sizeof *refusals,
    .base = "op=pool kind=weighted mask=some len=rt y_mask=yes y_len=yes",
    .named = named,
    .n_named = sizeof named / sizeof *named,
};
