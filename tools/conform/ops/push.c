/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * push: its table and its oracle (heed/memory.h).
 */
#include "operations.h"

enum { ROWS, PLACE, LEN, X, X_LEN, FELL, FELL_LEN, ROWS_SCALE };
enum { C_CAP = F_OWN, C_NEW, C_D, C_TYPE, C_X_TYPE, C_END };

static const struct cf_spec specs[] = {
    { "cap", "9 0 1 4 33", 1, -1, NULL },
    { "new", "5 0 1 9 20 40", 1, -1, NULL },
    { "d", "8 0 1 7 16 33 64 130 32 96", 1, -1, NULL },
    { "rows.t", TYPE_CACHED, 0, -1, NULL }, /* own fields: other arrays depend on it */
    { "x.t", TYPE_MOVED, 0, C_TYPE,
      TYPE_SMALL " " TYPE_SCALED " " TYPE_QUANTISED }, /* else that of the rows */
};

#define ARRAY(member) #member, offsetof(heed_push_desc, member), offsetof(heed_push_args, member)
#define LENGTH "rt short zero hostile"

static const struct fixed_array arrays[] = {
    [ROWS] = { ARRAY(rows), MUST | STATE | BATCH | HEAD, "f32", 0, NULL, 0, NULL, fill_rows, NULL },
    [PLACE] = { ARRAY(head), MUST | STATE | BATCH | LENGTHS, "i64", 0, "good hostile", 0, NULL,
                fill_indices, NULL },
    [LEN] = { ARRAY(len), MUST | STATE | BATCH | LENGTHS, "i64", 0, LENGTH, 0, NULL, fill_lengths,
              NULL },
    [X] = { ARRAY(x), MUST | IN | BATCH | HEAD, "f32", 0, NULL, 0, NULL, fill_floats, NULL },
    [X_LEN] = { ARRAY(x_len), IN | BATCH | LENGTHS, "i32 i64", 0, "none " LENGTH, 0, NULL,
                fill_lengths, NULL },
    [FELL] = { ARRAY(out), OUT | BATCH | HEAD, "f32", 0, "none yes", C_TYPE, TYPE_MOVED,
               fill_nothing, NULL },
    [FELL_LEN] = { ARRAY(out_len), OUT | BATCH | LENGTHS, "i64", 0, "none yes", 0, NULL,
                   fill_nothing, NULL },
    [ROWS_SCALE] = { ARRAY(rows_scale), STATE | BATCH | HEAD, "f32 f16", 0, NULL, C_TYPE,
                     TYPE_SCALED, fill_floats, NULL },
};

static void types(struct fixed_problem *p)
{
    const uint32_t rows = type_nth(TYPE_CACHED, p->c.v[C_TYPE]);

    p->part[ROWS].a.dtype = rows;
    p->part[X].a.dtype =
        cf_field_active(&p->c, C_X_TYPE) ? type_nth(TYPE_MOVED, p->c.v[C_X_TYPE]) : rows;
    if (part_is(&p->part[FELL]))
        p->part[FELL].a.dtype = rows;
}

static void shape(struct fixed_problem *p)
{
    const int64_t *v = p->c.v;

    types(p);
    part_shape(&p->part[ROWS], p->heads, v[C_CAP], v[C_D]);
    part_shape(&p->part[X], p->heads, v[C_NEW], v[C_D]);
    part_shape(&p->part[FELL], p->heads, v[C_NEW], v[C_D]);
    part_shape(&p->part[ROWS_SCALE], -1, p->heads, v[C_CAP]);
    part_shape(&p->part[PLACE], -1, -1, -1);
    part_shape(&p->part[LEN], -1, -1, -1);
    part_shape(&p->part[X_LEN], -1, -1, -1);
    part_shape(&p->part[FELL_LEN], -1, -1, -1);
    p->part[PLACE].bound = p->part[LEN].bound = v[C_CAP];
    p->part[X_LEN].bound = v[C_NEW];
}

static void numbers(const struct fixed_problem *p, void *desc)
{
    (void)p;
    (void)desc;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static int64_t of_item(const struct fixed_problem *p, int array, int64_t b)
{
    return part_int(&p->part[array], part_at(&p->part[array], b, 0, 0, 0));
}

/* What an item is before the push, and how many rows fall out of it. */
struct memory {
    int64_t b, head, len, x_len, out_len;
};

static struct memory memory_of(const struct fixed_problem *p, int64_t b)
{
    const int64_t cap = p->part[ROWS].a.shape[2], most = p->part[X].a.shape[2];
    struct memory m = { .b = b, .head = of_item(p, PLACE, b), .x_len = most };

    m.head = m.head < 0 || m.head >= cap ? 0 : m.head;
    m.len = clamp(of_item(p, LEN, b), 0, cap);
    if (part_is(&p->part[X_LEN]))
        m.x_len = clamp(of_item(p, X_LEN, b), 0, most);
    m.out_len = m.len + m.x_len > cap ? m.len + m.x_len - cap : 0;
    return m;
}

/* Row `i` of the sequence becomes a row of an array, bit for bit. */
static void say_row(const struct fixed_problem *p, struct answer *a, const struct memory *m,
                    int64_t h, int64_t i, int array, int64_t row)
{
    const struct part *rows = &p->part[ROWS], *x = &p->part[X], *to = &p->part[array];
    const int64_t cap = rows->a.shape[2];

    for (int64_t c = 0; c < x->a.shape[3]; c++) {
        const int64_t bits =
            i < m->len
                ? (int64_t)cf_array_bits(&rows->a,
                                         part_at(rows, m->b, h, (m->head + i) % cap, c))
                : (int64_t)answer_bits(a, X, part_at(x, m->b, h, i - m->len, c));

        say_bits(a, array, part_at(to, m->b, h, row, c), bits);
    }
}

/* Row i of x, which stays at `row` of a memory, quantised. */
static void say_bytes(const struct fixed_problem *p, struct answer *a, const struct memory *m,
                      int64_t h, int64_t i, int64_t row)
{
    const struct part *x = &p->part[X], *rows = &p->part[ROWS], *scale = &p->part[ROWS_SCALE];
    const int64_t from = part_at(x, m->b, h, i, 0), to = part_at(rows, m->b, h, row, 0);
    const struct cf_scaled scaled =
        cf_scaled_of(&x->a, from, x->a.shape[3], rows->a.dtype, scale->a.dtype);

    for (int64_t c = 0; c < x->a.shape[3]; c++) {
        const uint32_t bits = answer_bits(a, X, from + c);

        say_bits(a, ROWS, to + c,
                 type_elements(rows->a.dtype) > 1
                     ? cf_block_of(&x->a, from, rows->a.dtype, c)
                     : cf_byte_of(&scaled, cf_decode(x->a.dtype, bits)));
    }
    if (part_is(scale))
        say_bits(a, ROWS_SCALE, part_at(scale, m->b, 0, h, row), scaled.bits);
}

static void say_out(const struct fixed_problem *p, struct answer *a, const struct memory *m,
                    int64_t h)
{
    const struct part *out = &p->part[FELL];

    for (int64_t i = 0; i < out->a.shape[2]; i++) {
        if (i < m->out_len)
            say_row(p, a, m, h, i, FELL, i);
        for (int64_t c = 0; c < out->a.shape[3] && i >= m->out_len; c++)
            say_bits(a, FELL, part_at(out, m->b, h, i, c), cf_zero_of(out->a.dtype));
    }
}

static void say_item(const struct fixed_problem *p, struct answer *a, const struct memory *m)
{
    const int64_t cap = p->part[ROWS].a.shape[2], total = m->len + m->x_len;
    const bool bits = p->part[X].a.dtype == p->part[ROWS].a.dtype && !part_is(&p->part[ROWS_SCALE]);

    for (int64_t h = 0; h < p->heads; h++) {
        for (int64_t i = m->out_len; i < total; i++) {
            if (i >= m->len && !bits)
                say_bytes(p, a, m, h, i - m->len, (m->head + i) % cap);
            else if (i >= m->len)
                say_row(p, a, m, h, i, ROWS, (m->head + i) % cap);
        }
        if (part_is(&p->part[FELL]))
            say_out(p, a, m, h);
    }
    say_bits(a, PLACE, part_at(&p->part[PLACE], m->b, 0, 0, 0),
             cap ? (m->head + m->out_len) % cap : 0);
    say_bits(a, LEN, part_at(&p->part[LEN], m->b, 0, 0, 0), total < cap ? total : cap);
    if (part_is(&p->part[FELL_LEN]))
        say_bits(a, FELL_LEN, part_at(&p->part[FELL_LEN], m->b, 0, 0, 0), m->out_len);
}

static void say(const struct fixed_problem *p, struct answer *a)
{
    for (int64_t b = 0; b < p->n_items; b++) {
        const struct memory m = memory_of(p, b);

        say_item(p, a, &m);
    }
}

static bool shorten(struct fixed_problem *p)
{
    int64_t n;

    if (!part_is(&p->part[X_LEN]))
        return false;
    n = clamp(of_item(p, X_LEN, 0), 0, p->part[X].a.shape[2]);
    part_drop(&p->part[X_LEN]);
    part_cut(&p->part[X], 2, n);
    part_cut(&p->part[FELL], 2, n);
    return true;
}

/* Of two extents that disagree the report may name either. */
#define SHAPE(member, axis) "shape[", offsetof(heed_push_desc, member.shape[axis]), FAULT_I64

static const struct fixed_fault faults[] = {
    { "reserved", offsetof(heed_push_desc, reserved), FAULT_U32, 1, HEED_E_VALUE },
    { SHAPE(x, 3), 9, HEED_E_SHAPE },
    { SHAPE(x, 1), 3, HEED_E_SHAPE },
    { SHAPE(out, 2), 4, HEED_E_SHAPE },
    { SHAPE(out, 3), 4, HEED_E_SHAPE },
    { SHAPE(len, 0), 3, HEED_E_SHAPE },
    { SHAPE(out_len, 0), 1, HEED_E_SHAPE },
    { "x", offsetof(heed_push_desc, x.dtype), FAULT_U32, HEED_F16, HEED_E_DTYPE },
    { "out", offsetof(heed_push_desc, out.dtype), FAULT_U32, HEED_BF16, HEED_E_DTYPE },
    { "x.shape[3]", offsetof(heed_push_desc, x.dtype), FAULT_U32, HEED_IQ4_NL, HEED_E_SHAPE },
    { "head", offsetof(heed_push_desc, head.dtype), FAULT_U32, HEED_I32, HEED_E_DTYPE },
    { "len", offsetof(heed_push_desc, len.dtype), FAULT_U32, HEED_I32, HEED_E_DTYPE },
    { "rows_scale", offsetof(heed_push_desc, rows.dtype), FAULT_U32, HEED_I8, HEED_E_NULL },
    { "rows_scale", offsetof(heed_push_desc, rows_scale), FAULT_TENSOR, 2, HEED_E_DTYPE },
};

static const char *const named[] = {
    "op=push",
    "op=push cap=0 out=yes out_len=yes",
    "op=push cap=1 new=40 len=hostile head=hostile x_len=hostile out=yes",
    "op=push fill=bits len=short out=yes",
    "op=push rows.t=i8 rows_scale.t=f16 x.t=bf16 new=40 len=short",
    "op=push rows.t=i8 d=0 out_len=yes",
    "op=push rows.t=f8e4m3 x.t=f8e4m3 fill=bits len=short out=yes",
    "op=push rows.t=f8e4m3 x.t=f32 fill=special new=40 len=short",
    "op=push rows.t=f8e4m3-s rows_scale.t=f16 x.t=f8e4m3 new=40 len=short",
    "op=push rows.t=q8_0 x.t=f32 d=64 new=40 len=short",
    "op=push rows.t=q4_0 x.t=f16 d=96 fill=special",
    "op=push rows.t=q8_0 x.t=q8_0 d=64 fill=bits len=short out=yes",
    "op=push rows.t=q5_1 d=64 new=40 fill=bits len=short out=yes",
};

FIXED_CALLS(heed_push)
FIXED_RUN(heed_push)

const struct fixed fixed_push = {
    .op = FIXED_OP("push"),
    .c_name = "push",
    .check = check,
    .plan = plan,
    .run = run,
    .desc_size = sizeof(heed_push_desc),
    .args_size = sizeof(heed_push_args),
    .desc_least = offsetof(heed_push_desc, rows_scale),
    .args_least = offsetof(heed_push_args, rows_scale),
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .specs = specs,
    .n_specs = C_END - F_OWN,
    .extents = 1u << (C_D - F_OWN),
    .vast = 1u << (C_CAP - F_OWN) | 1u << (C_NEW - F_OWN) | 1u << (C_D - F_OWN),
    .shape = shape,
    .numbers = numbers,
    .say = say,
    .shorten = shorten,
    .faults = faults,
    .n_faults = sizeof faults / sizeof *faults,
    .base = "op=push x_len=rt out=yes out_len=yes",
    .named = named,
    .n_named = sizeof named / sizeof *named,
};
