/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * select: its table (heed/pool.h).
 */
#include "select.h"

static const struct cf_spec specs[] = {
    { "kind", "norm topk hash", 0, -1, NULL },
    { "block", "8 1 3 16 64 1030", 1, C_KIND, "norm hash" },
    { "count", "2 1 3 9 40", 1, C_KIND, "norm topk" },
    { "front", "0 1 3", 1, C_KIND, "norm" },
    { "back", "0 1 3", 1, C_KIND, "norm" },
    { "group", "1 2 3", 1, C_KIND, "topk" },
    { "nq", "5 0 1 17 65", 1, C_KIND, "topk" },
    { "r", "1 2 3 4", 1, C_KIND, "hash" },
    { "m", "4 1 2 7 16", 1, C_KIND, "hash" },
    { "n", "20 0 1 5 33 70 300 1100", 1, -1, NULL },
    { "d", "8 0 1 7 16 17 33 65", 1, -1, NULL },
};

#define ARRAY(member) \
    #member, offsetof(heed_select_desc, member), offsetof(heed_select_args, member)
#define FLOATS TYPE_FLOATS
#define ROUND(i, must, need, with)                                                 \
    { "rounds[" #i "]", offsetof(heed_select_desc, rounds[i]),                     \
      offsetof(heed_select_args, rounds[i]), (must) | IN | HEAD | HEAD_ONE, "f32", \
      0, NULL, need, with, fill_floats, NULL }

static const struct fixed_array arrays[] = {
    [X] = { ARRAY(x), MUST | IN | BATCH | HEAD, TYPE_NUMBERS, 0, NULL, 0, NULL, fill_floats, NULL },
    [Q] = { ARRAY(q), MUST | IN | BATCH | HEAD | ROWWISE, FLOATS, 0, NULL, C_KIND, "topk",
            fill_floats, NULL },
    [Y] = { ARRAY(y), MUST | OUT | BATCH | HEAD | ROWWISE, "i32", 0, NULL, 0, NULL, fill_nothing,
            NULL },
    [MASK] = { ARRAY(mask), IN | BATCH | HEAD | HEAD_ONE, "u8", 0, "none some all nothing", 0,
               NULL, fill_mask, NULL },
    [LEN] = { ARRAY(len), IN | BATCH | LENGTHS, "i32 i64", 0, "none rt short zero hostile", 0,
              NULL, fill_lengths, NULL },
    [ROUNDS] = ROUND(0, MUST, C_KIND, "hash"),
    [ROUNDS + 1] = ROUND(1, 0, C_R, "2 3 4"),
    [ROUNDS + 2] = ROUND(2, 0, C_R, "3 4"),
    [ROUNDS + 3] = ROUND(3, 0, C_R, "4"),
};

static int64_t blocks_of(int64_t n, int64_t block)
{
    return n / block + (n % block != 0);
}

static int64_t places(const struct cs *c)
{
    const int64_t *v = c->v;

    if (v[C_KIND] == KIND_HASH || v[C_BLOCK] < 1)
        return v[C_N];
    return cf_plus(cf_times(blocks_of(v[C_N], v[C_BLOCK]), v[C_COUNT]),
                   cf_plus(v[C_FRONT], v[C_BACK]));
}

static void shape(struct fixed_problem *p)
{
    const int64_t *v = p->c.v;
    const bool topk = v[C_KIND] == KIND_TOPK;

    p->n[N_N] = v[C_N];
    p->n[N_HEADS] = topk ? p->heads * v[C_GROUP] : p->heads;
    part_shape(&p->part[X], p->heads, v[C_N], v[C_D]);
    part_shape(&p->part[Q], p->n[N_HEADS], v[C_NQ], v[C_D]);
    if (topk)
        part_shape(&p->part[Y], p->n[N_HEADS], v[C_NQ], v[C_COUNT]);
    else
        part_shape(&p->part[Y], -1, p->heads, places(&p->c));
    part_shape(&p->part[MASK], -1, part_heads(p, MASK), v[C_N]);
    part_shape(&p->part[LEN], -1, -1, -1);
    for (int i = 0; i < HEED_SELECT_ROUNDS; i++)
        part_shape(&p->part[ROUNDS + i], part_heads(p, ROUNDS + i), v[C_D],
                   v[C_M] > 2 * i ? v[C_M] - 2 * i : 1);
    p->part[LEN].bound = v[C_N];
    p->work = topk ? cf_times(cf_times(p->n[N_HEADS], v[C_NQ]), cf_times(v[C_N], v[C_D]))
                   : cf_times(cf_times(p->heads, v[C_N]), cf_times(v[C_D], cf_plus(v[C_M], 1)));
    p->work = p->work / 4;
}

/* Each row of q has its own list. */
static bool rows_apart(const struct fixed_problem *p)
{
    return p->c.v[C_KIND] == KIND_TOPK;
}

static void numbers(const struct fixed_problem *p, void *desc)
{
    static const uint32_t kinds[] = { HEED_SELECT_NORM, HEED_SELECT_TOPK, HEED_SELECT_HASH };
    const int64_t *v = p->c.v;
    heed_select_desc *d = desc;

    d->kind = kinds[v[C_KIND]];
    d->block = v[C_KIND] == KIND_TOPK ? 0 : v[C_BLOCK];
    d->count = v[C_KIND] == KIND_HASH ? 0 : v[C_COUNT];
    d->pad_front = v[C_KIND] == KIND_NORM ? v[C_FRONT] : 0;
    d->pad_back = v[C_KIND] == KIND_NORM ? v[C_BACK] : 0;
}

static bool shorten(struct fixed_problem *p)
{
    const struct part *len = &p->part[LEN];
    int64_t n;

    if (!part_is(len))
        return false;
    n = part_int(len, part_at(len, 0, 0, 0, 0));
    n = n < 0 ? 0 : n > p->n[N_N] ? p->n[N_N] : n;
    part_drop(&p->part[LEN]);
    p->n[N_N] = p->c.v[C_N] = n;
    part_cut(&p->part[X], 2, n);
    part_cut(&p->part[MASK], 3, n);
    if (p->c.v[C_KIND] != KIND_TOPK)
        part_cut(&p->part[Y], 3, places(&p->c));
    return true;
}

/* Of two extents that disagree the report may name either. */
#define SHAPE(member, axis) "shape[", offsetof(heed_select_desc, member.shape[axis]), FAULT_I64
#define NUMBER(member) #member, offsetof(heed_select_desc, member), FAULT_I64

static const struct fixed_number desc_numbers[] = {
    { "kind", offsetof(heed_select_desc, kind), FAULT_U32,
      "HEED_SELECT_NORM HEED_SELECT_TOPK HEED_SELECT_HASH" },
    { "block", offsetof(heed_select_desc, block), FAULT_I64, NULL },
    { "count", offsetof(heed_select_desc, count), FAULT_I64, NULL },
    { "pad_front", offsetof(heed_select_desc, pad_front), FAULT_I64, NULL },
    { "pad_back", offsetof(heed_select_desc, pad_back), FAULT_I64, NULL },
};

static const struct fixed_fault faults[] = {
    { "kind", offsetof(heed_select_desc, kind), FAULT_U32, 3, HEED_E_VALUE },
    { NUMBER(block), 0, HEED_E_VALUE },
    { NUMBER(block), -1, HEED_E_VALUE },
    { NUMBER(count), 0, HEED_E_VALUE },
    { NUMBER(count), -1, HEED_E_VALUE },
    { NUMBER(pad_front), -1, HEED_E_VALUE },
    { NUMBER(pad_back), -1, HEED_E_VALUE },
    { "q", offsetof(heed_select_desc, q), FAULT_TENSOR, 20, HEED_E_VALUE },
    { "rounds", offsetof(heed_select_desc, rounds), FAULT_TENSOR, 8, HEED_E_VALUE },
    { SHAPE(y, 1), 1, HEED_E_SHAPE },
    { SHAPE(y, 2), 5, HEED_E_SHAPE },
    { SHAPE(mask, 2), 19, HEED_E_SHAPE },
    { SHAPE(len, 0), 3, HEED_E_SHAPE },
    { "y", offsetof(heed_select_desc, y.dtype), FAULT_U32, HEED_I64, HEED_E_DTYPE },
};

static const struct fixed_refusal refusals[] = {
    { "op=select kind=topk count=1 nq=1", C_N, INT64_C(1) << 31, HEED_E_UNSUPPORTED },
    { "op=select kind=hash m=1", C_N, INT64_C(1) << 31, HEED_E_UNSUPPORTED },
    { "op=select", C_N, (INT64_C(1) << 31) + 1, HEED_E_UNSUPPORTED },
    { "op=select", C_FRONT, -1, HEED_E_VALUE },
    { "op=select kind=topk", C_COUNT, INT64_MAX, HEED_E_VALUE },
};

static const char *const named[] = {
    "op=select",
    "op=select kind=topk count=40 fill=special mask=some",
    "op=select kind=hash r=4 m=7 fill=ties mask=some len=rt",
    "op=select fill=bits count=9 front=3 back=1 mask=some",
};

FIXED_CALLS(heed_select)
FIXED_RUN(heed_select)

#define BIT(field) (1u << ((field) - F_OWN))

const struct fixed fixed_select = {
    .op = FIXED_OP("select"),
    .c_name = "select",
    .check = check,
    .plan = plan,
    .run = run,
    .desc_size = sizeof(heed_select_desc),
    .args_size = sizeof(heed_select_args),
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .specs = specs,
    .n_specs = C_END - F_OWN,
    .extents = BIT(C_NQ) | BIT(C_N),
    .vast = BIT(C_BLOCK) | BIT(C_COUNT) | BIT(C_FRONT) | BIT(C_BACK) | BIT(C_NQ) | BIT(C_M) |
            BIT(C_N) | BIT(C_D),
    .shape = shape,
    .rows_apart = rows_apart,
    .numbers = numbers,
    .say = select_say,
    .judge = select_judge,
    .shorten = shorten,
    .desc_numbers = desc_numbers,
    .n_desc_numbers = sizeof desc_numbers / sizeof *desc_numbers,
    .faults = faults,
    .n_faults = sizeof faults / sizeof *faults,
    .refusals = refusals,
    .n_refusals = sizeof refusals / sizeof *refusals,
    .base = "op=select mask=some len=rt",
    .named = named,
    .n_named = sizeof named / sizeof *named,
};
