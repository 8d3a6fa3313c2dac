/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * order: its table and its oracle (heed/pool.h): the tokens of one id behind those of another.
 */
#include "operations.h"

enum { IDS, LEN, ORDER, PLACE, STARTS };
enum { C_N = F_OWN, C_COUNT, C_OUT, C_END };

static const struct cf_spec specs[] = {
    { "n", "20 0 1 5 33 70 300 1100", 1, -1, NULL },
    { "count", "8 1 2 65 700", 1, -1, NULL },
    { "out", "all order place starts both", 0, -1, NULL },
};

#define ARRAY(member) #member, offsetof(heed_order_desc, member), offsetof(heed_order_args, member)
#define INTS "i32 i64"

static const struct fixed_array arrays[] = {
    [IDS] = { ARRAY(ids), MUST | IN | BATCH | HEAD | HEAD_ONE, INTS, 0, "good hostile", 0, NULL,
              fill_indices, NULL },
    [LEN] = { ARRAY(len), IN | BATCH | LENGTHS, INTS, 0, "none rt short zero hostile", 0, NULL,
              fill_lengths, NULL },
    [ORDER] = { ARRAY(order), OUT | BATCH | HEAD, INTS, 0, NULL, C_OUT, "all order both",
                fill_nothing, NULL },
    [PLACE] = { ARRAY(place), OUT | BATCH | HEAD, INTS, 0, NULL, C_OUT, "all place both",
                fill_nothing, NULL },
    [STARTS] = { ARRAY(starts), OUT | BATCH | HEAD, INTS, 0, NULL, C_OUT, "all starts",
                 fill_nothing, NULL },
};

static void shape(struct fixed_problem *p)
{
    const int64_t *v = p->c.v;

    part_shape(&p->part[IDS], -1, part_heads(p, IDS), v[C_N]);
    part_shape(&p->part[LEN], -1, -1, -1);
    part_shape(&p->part[ORDER], -1, p->heads, v[C_N]);
    part_shape(&p->part[PLACE], -1, p->heads, v[C_N]);
    part_shape(&p->part[STARTS], -1, p->heads, cf_plus(v[C_COUNT], 1));
    p->part[IDS].bound = v[C_COUNT];
    p->part[LEN].bound = v[C_N];
}

static void numbers(const struct fixed_problem *p, void *desc)
{
    heed_order_desc *const order = desc;

    order->count = p->c.v[C_COUNT];
}

/* ---- the oracle ------------------------------------------------------------------ */

static void say_int(const struct fixed_problem *p, struct answer *a, int array, int64_t b,
                    int64_t h, int64_t i, int64_t value)
{
    if (part_is(&p->part[array]))
        say_bits(a, array, part_at(&p->part[array], b, 0, h, i),
                 p->part[array].a.dtype == HEED_I64 ? value : (int64_t)(uint32_t)value);
}

static int64_t length_of(const struct fixed_problem *p, int64_t b)
{
    const int64_t n = p->c.v[C_N];
    int64_t len;

    if (!part_is(&p->part[LEN]))
        return n;
    len = part_int(&p->part[LEN], part_at(&p->part[LEN], b, 0, 0, 0));
    return len < 0 ? 0 : len > n ? n : len;
}

/* The tokens whose id is k, or none of them all (k is count), from place `next` on. */
static int64_t say_id(const struct fixed_problem *p, struct answer *a, int64_t b, int64_t h,
                      int64_t k, int64_t next)
{
    const int64_t len = length_of(p, b), count = p->c.v[C_COUNT];

    for (int64_t i = 0; i < len; i++) {
        const int64_t id = part_int(&p->part[IDS], part_at(&p->part[IDS], b, 0, h, i));

        if (k < count ? id != k : id >= 0 && id < count)
            continue;
        say_int(p, a, ORDER, b, h, next, i);
        say_int(p, a, PLACE, b, h, i, next);
        next++;
    }
    return next;
}

static void say_head(const struct fixed_problem *p, struct answer *a, int64_t b, int64_t h)
{
    int64_t next = 0;

    for (int64_t k = 0; k <= p->c.v[C_COUNT]; k++) {
        say_int(p, a, STARTS, b, h, k, next);
        next = say_id(p, a, b, h, k, next);
    }
    for (; next < p->c.v[C_N]; next++) {
        say_int(p, a, ORDER, b, h, next, -1);
        say_int(p, a, PLACE, b, h, next, -1);
    }
}

static void say(const struct fixed_problem *p, struct answer *a)
{
    for (int64_t b = 0; b < p->n_items; b++) {
        for (int64_t h = 0; h < p->heads; h++)
            say_head(p, a, b, h);
    }
}

/* ---- what is wrong ----------------------------------------------------------------- */

#define FIELD(member) offsetof(heed_order_desc, member)

static const struct fixed_fault faults[] = {
    { "flags", FIELD(flags), FAULT_U32, 1, HEED_E_FLAG },
    { "reserved", FIELD(reserved), FAULT_U32, 1, HEED_E_VALUE },
    { "count", FIELD(count), FAULT_I64, 0, HEED_E_VALUE },
    { "count", FIELD(count), FAULT_I64, INT64_MIN, HEED_E_VALUE },
    { "count", FIELD(count), FAULT_I64, (INT64_C(1) << 30) + 1, HEED_E_VALUE },
    { "starts.shape[", FIELD(count), FAULT_I64, 7, HEED_E_SHAPE },
    { "shape[", FIELD(place.shape[2]), FAULT_I64, 7, HEED_E_SHAPE },
    { "ids", FIELD(ids.dtype), FAULT_U32, HEED_F32, HEED_E_DTYPE },
    { "order", FIELD(order.dtype), FAULT_U32, HEED_U8, HEED_E_DTYPE },
};

static const struct fixed_refusal refusals[] = {
    { "op=order", C_N, INT64_C(1) << 31, HEED_E_UNSUPPORTED },
    { "op=order out=order", C_COUNT, INT64_MAX, HEED_E_VALUE },
};

static const struct fixed_number desc_numbers[] = {
    { "count", FIELD(count), FAULT_I64, NULL },
};

static const char *const named[] = {
    "op=order",
    "op=order n=1100 count=65 ids=hostile",
    "op=order n=1100 count=700 len=rt",
    "op=order n=0",
    "op=order out=starts len=zero",
    "op=order count=1 n=300 order.t=i64",
};

FIXED_CALLS(heed_order)
FIXED_RUN(heed_order)

const struct fixed fixed_order = {
    .op = FIXED_OP("order"),
    .c_name = "order",
    .check = check,
    .plan = plan,
    .run = run,
    .desc_size = sizeof(heed_order_desc),
    .args_size = sizeof(heed_order_args),
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .specs = specs,
    .n_specs = C_END - F_OWN,
    .vast = 1u << (C_N - F_OWN) | 1u << (C_COUNT - F_OWN),
    .shape = shape,
    .numbers = numbers,
    .say = say,
    .desc_numbers = desc_numbers,
    .n_desc_numbers = sizeof desc_numbers / sizeof *desc_numbers,
    .faults = faults,
    .n_faults = sizeof faults / sizeof *faults,
    .refusals = refusals,
    .n_refusals = sizeof refusals / sizeof *refusals,
    .base = "op=order",
    .named = named,
    .n_named = sizeof named / sizeof *named,
};
