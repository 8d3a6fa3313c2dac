/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * copy: its table and its oracle (heed/memory.h).
 */
#include "operations.h"

#include <stdlib.h>

enum { X, Y, FROM, TO, AT, HEAD_PLACE, TABLE, LEN, Y_SCALE };
enum { C_ROWS = F_OWN, C_YROWS, C_N, C_D, C_HOW, C_DST, C_PAGE, C_PAGES, C_TAB, C_ZERO, C_Y_TYPE,
       C_END };
enum { HOW_PLAIN, HOW_RING, HOW_PAGED };
enum { DST_I, DST_TO, DST_AT };
enum { N_N };

static const struct cf_spec specs[] = {
    { "rows", "9 0 1 33", 1, -1, NULL },
    { "yrows", "12 0 1 40", 1, -1, NULL },
    { "n", "7 0 1 30", 1, -1, NULL },
    { "d", "8 0 1 7 16 33 64 130 32 96", 1, -1, NULL },
    { "how", "plain ring paged", 0, -1, NULL },
    { "dst", "i to at", 0, -1, NULL },
    { "page", "4 1 7 0 16", 1, C_HOW, "paged" },
    { "pages", "9 1 0 30", 1, C_HOW, "paged" },
    { "tab", "4 0 1 9", 1, C_HOW, "paged" },
    { "zero", "no yes", 0, -1, NULL },
    { "y.t", TYPE_CACHED, 0, -1, NULL }, /* an own field: y_scale depends on it */
};

/* Rows of places that differ, as far as there are so many: of a table for all items together. */
static void fill_apart(struct fixed_problem *p, struct part *part)
{
    enum { APART, GOOD };
    const int64_t n = cf_array_count(&part->a), width = part->a.shape[3];
    const bool all = part->number == TABLE;

    if (part->holds != APART || part->bound <= 0) {
        part->holds += part->holds == APART; /* nowhere to go: any place */
        fill_indices(p, part);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = width ? i / width : 0;
        const uint64_t start = part_hash(p, part, all ? -1 : row) % (uint64_t)part->bound;
        const int64_t step = all ? i : part_hash(p, part, -2 - row) & 1 ? i % width : -(i % width);

        cf_array_set_int(&part->a, i,
                         (((int64_t)start + step) % part->bound + part->bound) % part->bound);
    }
}

#define ARRAY(member) #member, offsetof(heed_copy_desc, member), offsetof(heed_copy_args, member)

static const struct fixed_array arrays[] = {
    [X] = { ARRAY(x), MUST | IN | BATCH | HEAD, TYPE_MOVED, 0, NULL, 0, NULL, fill_floats, NULL },
    [Y] = { ARRAY(y), MUST | STATE | BATCH | HEAD, "f32", 0, NULL, 0, NULL, fill_rows, NULL },
    [FROM] = { ARRAY(from), IN | BATCH | HEAD | HEAD_ONE, "i32", 0, "none good hostile", 0, NULL,
               fill_indices, NULL },
    [TO] = { ARRAY(to), IN | BATCH | HEAD | HEAD_ONE, "i32", 0, "apart good hostile", C_DST, "to",
             fill_apart, NULL },
    [AT] = { ARRAY(at), IN | BATCH | LENGTHS, "i32 i64", 0, "rt short zero hostile", C_DST, "at",
             fill_lengths, NULL },
    [HEAD_PLACE] = { ARRAY(head), IN | BATCH | LENGTHS, "i32 i64", 0, "good hostile", C_HOW, "ring",
                     fill_indices, NULL },
    [TABLE] = { ARRAY(table), IN | BATCH, "i32", 0, "apart good hostile", C_HOW, "paged",
                fill_apart, NULL },
    [LEN] = { ARRAY(len), IN | BATCH | LENGTHS, "i32 i64", 0, "none rt short zero hostile", 0, NULL,
              fill_lengths, NULL },
    [Y_SCALE] = { ARRAY(y_scale), STATE | BATCH | HEAD, "f32 f16", 0, NULL, C_Y_TYPE, TYPE_SCALED,
                  fill_floats, NULL },
};

static void shape(struct fixed_problem *p)
{
    const struct cs *c = &p->c;
    struct part *y = &p->part[Y], *scale = &p->part[Y_SCALE];
    const bool paged = c->v[C_HOW] == HOW_PAGED, listed = part_is(&p->part[FROM]) ||
                                                          part_is(&p->part[TO]);
    const int64_t n = listed ? c->v[C_N] : c->v[C_ROWS];
    const int64_t places = paged ? cf_times(c->v[C_TAB], c->v[C_PAGE]) : c->v[C_YROWS];

    p->n[N_N] = n;
    part_shape(&p->part[X], p->heads, c->v[C_ROWS], c->v[C_D]);
    y->a.dtype = type_nth(TYPE_CACHED, c->v[C_Y_TYPE]);
    part_shape(y, p->heads, paged ? c->v[C_PAGE] : c->v[C_YROWS], c->v[C_D]);
    part_shape(scale, -1, p->heads, paged ? c->v[C_PAGE] : c->v[C_YROWS]);
    if (paged) {
        y->role = scale->role = STATE | LEAD | HEAD;
        y->a.shape[0] = scale->a.shape[0] = c->v[C_PAGES];
    }
    part_shape(&p->part[FROM], -1, part_heads(p, FROM), n);
    part_shape(&p->part[TO], -1, part_heads(p, TO), n);
    part_shape(&p->part[AT], -1, -1, -1);
    part_shape(&p->part[HEAD_PLACE], -1, -1, -1);
    part_shape(&p->part[TABLE], -1, -1, c->v[C_TAB]);
    part_shape(&p->part[LEN], -1, -1, -1);
    p->part[FROM].bound = c->v[C_ROWS];
    p->part[TO].bound = places;
    p->part[AT].bound = places;
    p->part[HEAD_PLACE].bound = c->v[C_YROWS];
    p->part[TABLE].bound = c->v[C_PAGES];
    p->part[LEN].bound = n;
}

static void numbers(const struct fixed_problem *p, void *desc)
{
    ((heed_copy_desc *)desc)->flags |= p->c.v[C_ZERO] ? (uint32_t)HEED_COPY_ZERO : 0;
}

/* ---- the oracle ------------------------------------------------------------- */

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static int64_t at_item(const struct fixed_problem *p, int array, int64_t b)
{
    return part_int(&p->part[array], part_at(&p->part[array], b, 0, 0, 0));
}

static int64_t at_row(const struct fixed_problem *p, int array, int64_t b, int64_t h, int64_t i)
{
    return part_int(&p->part[array], part_at(&p->part[array], b, 0, h, i));
}

/* First element of the row of x that i is a copy of; -1: it is absent. */
static int64_t source_of(const struct fixed_problem *p, int64_t b, int64_t h, int64_t i)
{
    const struct part *x = &p->part[X];
    const int64_t row = part_is(&p->part[FROM]) ? at_row(p, FROM, b, h, i) : i;

    return row < 0 || row >= x->a.shape[2] ? -1 : part_at(x, b, h, row, 0);
}

/* A row of y: its first element, and the element that is its scale; negative: nowhere. */
struct spot {
    int64_t at, scale_at;
};
static const struct spot nowhere = { -1, -1 };

static struct spot spot_of(const struct fixed_problem *p, int64_t page, int64_t b, int64_t h,
                           int64_t row)
{
    const struct part *y = &p->part[Y], *scale = &p->part[Y_SCALE];
    struct spot spot = { part_lead_at(y, page, b, h, row, 0), -1 };

    if (part_is(scale))
        spot.scale_at = part_lead_at(scale, page, b, 0, h, row);
    return spot;
}

static struct spot destination_of(const struct fixed_problem *p, int64_t b, int64_t h, int64_t i)
{
    const struct part *y = &p->part[Y];
    const int64_t rows = y->a.shape[2], far = INT64_C(1) << 60;
    int64_t t = i;

    if (part_is(&p->part[TO]))
        t = at_row(p, TO, b, h, i);
    if (part_is(&p->part[AT]))
        t = clamp(at_item(p, AT, b), -far, far) + i;
    if (t < 0)
        return nowhere;
    if (part_is(&p->part[HEAD_PLACE])) {
        const int64_t head = at_item(p, HEAD_PLACE, b);

        return head < 0 || head >= rows ? nowhere : spot_of(p, 0, b, h, (head + t % rows) % rows);
    }
    if (part_is(&p->part[TABLE])) {
        const struct part *table = &p->part[TABLE];
        int64_t page;

        if (rows == 0 || t / rows >= table->a.shape[3])
            return nowhere;
        page = part_int(table, part_at(table, b, 0, 0, t / rows));
        return page < 0 || page >= y->lead ? nowhere : spot_of(p, page, b, h, t % rows);
    }
    return t >= rows ? nowhere : spot_of(p, 0, b, h, t);
}

/* What a row becomes: of bytes the scale, else nothing. source: its first element, -1: zeros. */
static struct cf_scaled scaled_of(const struct fixed_problem *p, int64_t source)
{
    const struct array *x = &p->part[X].a;

    return cf_scaled_of(x, source, source < 0 ? 0 : x->shape[3], p->part[Y].a.dtype,
                        p->part[Y_SCALE].a.dtype);
}

/* The bits that element c of a row becomes. */
static int64_t moved(const struct fixed_problem *p, int64_t source, const struct cf_scaled *scaled,
                     int64_t c)
{
    const struct array *x = &p->part[X].a, *y = &p->part[Y].a;

    if (source < 0)
        return cf_zero_of(y->dtype);
    if (part_is(&p->part[Y_SCALE]))
        return cf_byte_of(scaled, cf_decode(x->dtype, cf_array_bits(x, source + c)));
    if (x->dtype == y->dtype)
        return cf_array_bits(x, source + c);
    if (type_elements(y->dtype) > 1)
        return cf_block_of(x, source, y->dtype, c);
    return cf_round_out(y->dtype, cf_array_value(x, source + c));
}

/* Every pair of a destination and its source. */
static void each_row(const struct fixed_problem *p,
                     void (*visit)(const struct fixed_problem *, struct spot to, int64_t from,
                                   void *),
                     void *context)
{
    for (int64_t b = 0; b < p->n_items; b++) {
        int64_t n = p->n[N_N];

        if (part_is(&p->part[LEN]))
            n = clamp(at_item(p, LEN, b), 0, n);
        for (int64_t h = 0; h < p->heads; h++) {
            for (int64_t i = 0; i < n; i++) {
                const int64_t from = source_of(p, b, h, i);
                const struct spot to = destination_of(p, b, h, i);

                if (to.at >= 0 && (from >= 0 || p->c.v[C_ZERO]))
                    visit(p, to, from, context);
            }
        }
    }
}

static void say_element(struct answer *a, int array, int64_t at, int64_t bits)
{
    const struct said *s = &a->said[array][at];

    if (s->kind == SAID_NOTHING)
        say_bits(a, array, at, bits);
    else if (s->kind == SAID_BITS && s->bits != bits)
        say_kind(a, array, at, SAID_ANY);
}

static void say_row(const struct fixed_problem *p, struct spot to, int64_t from, void *context)
{
    const struct cf_scaled scaled = scaled_of(p, from);
    struct answer *a = context;

    for (int64_t c = 0; c < p->part[Y].a.shape[3]; c++) {
        if (from >= 0)
            answer_bits(a, X, from + c);
        say_element(a, Y, to.at + c, moved(p, from, &scaled, c));
    }
    if (to.scale_at >= 0)
        say_element(a, Y_SCALE, to.scale_at, scaled.bits);
}

static void say(const struct fixed_problem *p, struct answer *a)
{
    each_row(p, say_row, a);
}

/* Of each element of y and y_scale: is it that of one of the rows that go there? */
struct choices {
    const struct fixed_call *call;
    unsigned char *right, *scale_right;
};

enum { LOW = 1, HIGH = 2, ALL = LOW | HIGH };

/* Which parts of an element agree: of blocks its code and a byte of the scale lie apart. */
static unsigned char agreement(const struct fixed_problem *p, int64_t a, int64_t b)
{
    const bool low = (a & 255) == (b & 255), high = a >> 8 == b >> 8;

    if (type_elements(p->part[Y].a.dtype) == 1)
        return a == b ? ALL : 0;
    return (unsigned char)((low ? LOW : 0) | (high ? HIGH : 0));
}

static void choice_row(const struct fixed_problem *p, struct spot to, int64_t from, void *context)
{
    const struct cf_scaled scaled = scaled_of(p, from);
    struct choices *choices = context;

    for (int64_t c = 0; c < p->part[Y].a.shape[3]; c++) {
        choices->right[to.at + c] |=
            agreement(p, moved(p, from, &scaled, c),
                      (int64_t)cf_array_bits(&choices->call->out[Y], to.at + c));
    }
    if (to.scale_at >= 0 &&
        scaled.bits == (int64_t)cf_array_bits(&choices->call->out[Y_SCALE], to.scale_at))
        choices->scale_right[to.scale_at] = ALL;
}

static void choices_judge(const struct fixed_problem *p, const struct answer *a, int array,
                          const unsigned char *right, struct verdict *v)
{
    for (int64_t i = 0; part_is(&p->part[array]) && i < cf_array_count(&p->part[array].a); i++) {
        v->exact += a->said[array][i].kind == SAID_ANY;
        if (a->said[array][i].kind == SAID_ANY && right[i] != ALL)
            cf_fail(v, "%s: element %lld is of none of the rows that go there", arrays[array].name,
                    (long long)i);
    }
}

/* Elements that several rows go to are those of one of them. */
static void judge(const struct fixed_problem *p, const struct answer *a,
                  const struct fixed_call *call, struct verdict *v)
{
    const size_t n = (size_t)cf_array_count(&p->part[Y].a) + 1;
    const size_t scales = (size_t)cf_array_count(&p->part[Y_SCALE].a) + 1;
    struct choices choices = { call, calloc(n, 1), calloc(scales, 1) };

    if (choices.right && choices.scale_right) {
        each_row(p, choice_row, &choices);
        choices_judge(p, a, Y, choices.right, v);
        choices_judge(p, a, Y_SCALE, choices.scale_right, v);
    } else {
        cf_fail(v, "no memory for the oracle");
    }
    free(choices.right);
    free(choices.scale_right);
}

static bool shorten(struct fixed_problem *p)
{
    const int64_t most = p->n[N_N];

    if (!part_is(&p->part[LEN]))
        return false;
    p->n[N_N] = clamp(at_item(p, LEN, 0), 0, most);
    part_drop(&p->part[LEN]);
    if (!part_is(&p->part[FROM]) && !part_is(&p->part[TO]))
        part_cut(&p->part[X], 2, p->n[N_N]);
    part_cut(&p->part[FROM], 3, p->n[N_N]);
    part_cut(&p->part[TO], 3, p->n[N_N]);
    return true;
}

/* Of two extents that disagree the report may name either. */
#define SHAPE(member, axis) "shape[", offsetof(heed_copy_desc, member.shape[axis]), FAULT_I64

static const struct fixed_fault faults[] = {
    { "reserved", offsetof(heed_copy_desc, reserved), FAULT_U32, 1, HEED_E_VALUE },
    { SHAPE(x, 3), 7, HEED_E_SHAPE },
    { SHAPE(y, 1), 1, HEED_E_SHAPE },
    { "y.shape[3]", offsetof(heed_copy_desc, y.dtype), FAULT_U32, HEED_Q4_0, HEED_E_SHAPE },
    { SHAPE(from, 2), 6, HEED_E_SHAPE },
    { SHAPE(to, 1), 3, HEED_E_SHAPE },
    { SHAPE(len, 0), 3, HEED_E_SHAPE },
    { SHAPE(head, 0), 3, HEED_E_SHAPE },
    { "from", offsetof(heed_copy_desc, from.dtype), FAULT_U32, HEED_I64, HEED_E_DTYPE },
    { "len", offsetof(heed_copy_desc, len.dtype), FAULT_U32, HEED_F32, HEED_E_DTYPE },
    { "at", offsetof(heed_copy_desc, at), FAULT_TENSOR, 2, HEED_E_VALUE },
    { "table", offsetof(heed_copy_desc, table), FAULT_TENSOR, 2, HEED_E_VALUE },
    { SHAPE(y_scale, 1), 1, HEED_E_SHAPE },
    { SHAPE(y_scale, 2), 5, HEED_E_SHAPE },
    { "y_scale", offsetof(heed_copy_desc, y_scale.ndim), FAULT_U32, 0, HEED_E_NULL },
    { "y_scale", offsetof(heed_copy_desc, y_scale.dtype), FAULT_U32, HEED_BF16, HEED_E_DTYPE },
};

static const char *const named[] = {
    "op=copy",
    "op=copy how=paged page=0",
    "op=copy how=paged pages=1 table=good dst=at seed=7",
    "op=copy how=ring yrows=1 dst=at at=hostile at.t=i64",
    "op=copy y.t=i8 y_scale.t=f16 fill=subnormal",
    "op=copy y.t=f8e4m3 fill=special rows=33 yrows=40 d=64",
    "op=copy y.t=f8e4m3 x.t=f8e4m3 fill=bits rows=33 yrows=40 d=64",
    "op=copy y.t=f8e4m3-s x.t=bf16 fill=over how=ring dst=at",
    "op=copy x.t=f8e4m3 y.t=f16 fill=bits rows=33 yrows=40 d=64",
    "op=copy y.t=i8 x.t=f16 how=paged dst=at d=0 zero=yes from=hostile",
    "op=copy y.t=q8_0 d=64 rows=33 yrows=40",
    "op=copy y.t=q8_0 x.t=f16 d=96 rows=33 how=paged fill=special",
    "op=copy y.t=q8_0 x.t=f8e4m3 d=32 fill=bits",
    "op=copy y.t=q4_0 x.t=f32 d=64 fill=ties rows=33",
    "op=copy y.t=q4_0 x.t=bf16 d=64 rows=33 how=ring dst=at fill=subnormal",
    "op=copy y.t=q4_0 x.t=f16 d=64 rows=33 fill=over to=hostile dst=to",
    "op=copy y.t=q5_0 x.t=q5_0 d=64 zero=yes from=hostile fill=bits",
    "op=copy y.t=iq4_nl x.t=iq4_nl d=32 zero=yes from=hostile how=paged",
    "op=copy y.t=f32 x.t=q5_1 d=64 fill=special",
    "op=copy y.t=bf16 x.t=iq4_nl d=64 fill=bits rows=33",
    "op=copy y.t=f16 x.t=q4_1 d=96 fill=over rows=33",
};

FIXED_CALLS(heed_copy)
FIXED_RUN(heed_copy)

const struct fixed fixed_copy = {
    .op = FIXED_OP("copy"),
    .c_name = "copy",
    .check = check,
    .plan = plan,
    .run = run,
    .desc_size = sizeof(heed_copy_desc),
    .args_size = sizeof(heed_copy_args),
    .desc_least = offsetof(heed_copy_desc, y_scale),
    .args_least = offsetof(heed_copy_args, y_scale),
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .specs = specs,
    .n_specs = C_END - F_OWN,
    .extents = 1u << (C_YROWS - F_OWN) | 1u << (C_N - F_OWN) | 1u << (C_D - F_OWN),
    .vast = 1u << (C_ROWS - F_OWN) | 1u << (C_YROWS - F_OWN) | 1u << (C_N - F_OWN) |
            1u << (C_D - F_OWN) | 1u << (C_PAGE - F_OWN) | 1u << (C_PAGES - F_OWN) |
            1u << (C_TAB - F_OWN),
    .shape = shape,
    .numbers = numbers,
    .say = say,
    .judge = judge,
    .open = true,
    .shorten = shorten,
    .faults = faults,
    .n_faults = sizeof faults / sizeof *faults,
    .base = "op=copy dst=to how=ring from=good len=rt head=good y.t=i8",
    .named = named,
    .n_named = sizeof named / sizeof *named,
};
