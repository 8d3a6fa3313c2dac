/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * embed: its table and its oracle (heed/nn.h): a product and two sums, each rounded; a token alone
 * is the bits of its row.
 */
#include "operations.h"

#include <math.h>

enum { TABLE, IDS, POSITIONS, POS, TYPES, TYPE_IDS, Y };
enum { C_N = F_OWN, C_D, C_TOKENS, C_SUM, C_POSITIONS, C_TYPES, C_FIRST, C_SCALE, C_END };

static const double u = 0x1p-24;

static const struct cf_spec specs[] = {
    { "n", "5 0 1 4 33", 1, -1, NULL },
    { "d", "8 0 1 7 16 33 130 520", 1, -1, NULL },
    { "tokens", "40 0 1 5", 1, -1, NULL },
    { "sum", "tokens positions types both", 0, -1, NULL },
    { "npos", "40 0 1 5", 1, C_SUM, "positions both" },
    { "ntypes", "2 0 1", 1, C_SUM, "types both" },
    { "first", "0 3 -2 39", 1, C_SUM, "positions both" },
    { "scale", "none one root minus", 0, -1, NULL },
};
#define OF_POSITIONS C_SUM, "positions both"
#define OF_TYPES C_SUM, "types both"

#define ARRAY(member) #member, offsetof(heed_embed_desc, member), offsetof(heed_embed_args, member)
#define FLOATS "f32 f16 bf16"

static const struct fixed_array arrays[] = {
    [TABLE] = { ARRAY(table), MUST | IN, FLOATS, 0, NULL, 0, NULL, fill_floats, NULL },
    [IDS] = { ARRAY(ids), MUST | IN | BATCH | HEAD | HEAD_ONE | ROWWISE_LAST, "i32 i64", 0,
              "good hostile", 0, NULL, fill_indices, NULL },
    [POSITIONS] = { ARRAY(positions), IN, FLOATS, 0, NULL, OF_POSITIONS, fill_floats, NULL },
    [POS] = { ARRAY(pos), IN | BATCH | HEAD | HEAD_ONE | ROWWISE_LAST, "i32 i64", 0,
              "none good hostile", OF_POSITIONS, fill_indices, NULL },
    [TYPES] = { ARRAY(types), IN, FLOATS, 0, NULL, OF_TYPES, fill_floats, NULL },
    [TYPE_IDS] = { ARRAY(type_ids), IN | BATCH | HEAD | HEAD_ONE | ROWWISE_LAST, "i32 i64", 0,
                   "none good hostile", OF_TYPES, fill_indices, NULL },
    [Y] = { ARRAY(y), MUST | OUT | BATCH | HEAD | ROWWISE, FLOATS, 0, NULL, 0, NULL, fill_nothing,
            NULL },
};

static void shape(struct fixed_problem *p)
{
    const int64_t *v = p->c.v;

    part_shape(&p->part[TABLE], -1, v[C_TOKENS], v[C_D]);
    part_shape(&p->part[IDS], -1, part_heads(p, IDS), v[C_N]);
    part_shape(&p->part[POSITIONS], -1, v[C_POSITIONS], v[C_D]);
    part_shape(&p->part[POS], -1, part_heads(p, POS), v[C_N]);
    part_shape(&p->part[TYPES], -1, v[C_TYPES], v[C_D]);
    part_shape(&p->part[TYPE_IDS], -1, part_heads(p, TYPE_IDS), v[C_N]);
    part_shape(&p->part[Y], p->heads, v[C_N], v[C_D]);
    p->part[IDS].bound = v[C_TOKENS];
    p->part[POS].bound = v[C_POSITIONS];
    p->part[TYPE_IDS].bound = v[C_TYPES];
}

static int64_t first_of(const struct fixed_problem *p)
{
    return part_is(&p->part[POSITIONS]) && !part_is(&p->part[POS]) ? p->c.v[C_FIRST] : 0;
}

static double scale_of(const struct fixed_problem *p)
{
    static const double scales[] = { 0, 1, 22.627416997969522, -0.3 };

    return scales[p->c.v[C_SCALE] & 3];
}

static void numbers(const struct fixed_problem *p, void *desc)
{
    heed_embed_desc *const embed = desc;

    embed->scale = scale_of(p);
    embed->pos0 = first_of(p);
}

/* ---- the oracle ------------------------------------------------------------------ */

struct row {
    int64_t b, h, i;
    int64_t token, position, type; /* first elements of their rows; -1: a term that is absent */
    bool found;
};

/* The first element of the row of a table that entry i names. */
static int64_t row_at(const struct fixed_problem *p, struct row *r, int table, int ids,
                      int64_t otherwise)
{
    int64_t id = otherwise;

    if (!part_is(&p->part[table]))
        return -1;
    if (part_is(&p->part[ids]))
        id = part_int(&p->part[ids], part_at(&p->part[ids], r->b, 0, r->h, r->i));
    if (id >= 0 && id < p->part[table].a.shape[2])
        return part_at(&p->part[table], 0, 0, id, 0);
    r->found = false;
    return -1;
}

/* A sum of two numbers of binary32, whose double is rounded once more without harm. */
static float plus(struct answer *a, int table, int64_t at, float to, double *size)
{
    const double term = at < 0 ? 0 : answer_real(a, table, at);

    *size += fabs(term);
    return at < 0 ? to : (float)((double)to + term);
}

static void say_channel(const struct fixed_problem *p, struct answer *a, const struct row *r,
                        int64_t t)
{
    const double factor = scale_of(p) == 0 ? 1 : (double)(float)scale_of(p);
    const int64_t index = part_at(&p->part[Y], r->b, r->h, r->i, t);
    const double token = answer_real(a, TABLE, r->token + t) * factor;
    double size = fabs(token);
    float y = (float)token;

    y = plus(a, POSITIONS, r->position < 0 ? -1 : r->position + t, y, &size);
    y = plus(a, TYPES, r->type < 0 ? -1 : r->type + t, y, &size);
    if (isfinite(y))
        say_rounded(a, Y, index, (double)y, 4 * u * size + 0x1p-147);
    else
        say_float(a, Y, index, (double)y);
}

static bool is_alone(const struct fixed_problem *p)
{
    return p->c.v[C_SCALE] < 2 && !part_is(&p->part[POSITIONS]) && !part_is(&p->part[TYPES]) &&
           p->part[TABLE].a.dtype == p->part[Y].a.dtype;
}

static void say_row(const struct fixed_problem *p, struct answer *a, struct row *r)
{
    r->found = true;
    r->token = row_at(p, r, TABLE, IDS, 0);
    r->position = row_at(p, r, POSITIONS, POS, first_of(p) + r->i);
    r->type = row_at(p, r, TYPES, TYPE_IDS, 0);
    for (int64_t t = 0; t < p->part[Y].a.shape[3]; t++) {
        const int64_t index = part_at(&p->part[Y], r->b, r->h, r->i, t);

        if (!r->found)
            say_float(a, Y, index, (double)NAN);
        else if (is_alone(p))
            say_bits(a, Y, index, answer_bits(a, TABLE, r->token + t));
        else
            say_channel(p, a, r, t);
    }
}

static void say(const struct fixed_problem *p, struct answer *a)
{
    struct row r;

    for (r.b = 0; r.b < p->n_items; r.b++) {
        for (r.h = 0; r.h < p->heads; r.h++) {
            for (r.i = 0; r.i < p->part[Y].a.shape[2] && p->part[Y].a.shape[3] > 0; r.i++)
                say_row(p, a, &r);
        }
    }
}

/* ---- what is wrong ----------------------------------------------------------------- */

#define FIELD(member) offsetof(heed_embed_desc, member)
/* Of two extents that disagree the report may name either. */
#define SHAPE(member, axis) "shape[", FIELD(member.shape[axis]), FAULT_I64

static const struct fixed_fault faults[] = {
    { "flags", FIELD(flags), FAULT_U32, 1, HEED_E_FLAG },
    { "reserved", FIELD(reserved), FAULT_U32, 1, HEED_E_VALUE },
    { "scale", FIELD(scale), FAULT_I64, 0x7ff0000000000000, HEED_E_VALUE },
    { "scale", FIELD(scale), FAULT_I64, 0x7ff8000000000000, HEED_E_VALUE },
    { "scale", FIELD(scale), FAULT_I64, 0x7fe0000000000000, HEED_E_VALUE },
    { "pos0", FIELD(pos0), FAULT_I64, 7, HEED_E_VALUE },
    { "pos", FIELD(positions.ndim), FAULT_U32, 0, HEED_E_VALUE },
    { "type_ids", FIELD(types.ndim), FAULT_U32, 0, HEED_E_VALUE },
    { SHAPE(positions, 1), 5, HEED_E_SHAPE },
    { SHAPE(types, 1), 5, HEED_E_SHAPE },
    { SHAPE(y, 3), 6, HEED_E_SHAPE },
    { "table", FIELD(table.dtype), FAULT_U32, HEED_I8, HEED_E_DTYPE },
    { "ids", FIELD(ids.dtype), FAULT_U32, HEED_F32, HEED_E_DTYPE },
    { "pos", FIELD(pos.dtype), FAULT_U32, HEED_U8, HEED_E_DTYPE },
};

static const struct fixed_number desc_numbers[] = {
    { "scale", FIELD(scale), FAULT_F64, NULL },
    { "pos0", FIELD(pos0), FAULT_I64, NULL },
};

static const char *const named[] = {
    "op=embed",
    "op=embed sum=both scale=root d=520",
    "op=embed ids=hostile fill=special d=33",
    "op=embed sum=both ids=hostile pos=hostile type_ids=hostile npos=5",
    "op=embed sum=positions first=39 table.t=bf16 positions.t=bf16 y.t=bf16",
    "op=embed sum=types table.t=f16 types.t=f16 d=130",
    "op=embed tokens=0",
    "op=embed table.t=f16 y.t=f16 fill=bits d=130",
};

FIXED_CALLS(heed_embed)
FIXED_RUN(heed_embed)

const struct fixed fixed_embed = {
    .op = FIXED_OP("embed"),
    .c_name = "embed",
    .check = check,
    .plan = plan,
    .run = run,
    .desc_size = sizeof(heed_embed_desc),
    .args_size = sizeof(heed_embed_args),
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .specs = specs,
    .n_specs = C_END - F_OWN,
    .extents = 1u << (C_N - F_OWN) | 1u << (C_D - F_OWN),
    .vast = 1u << (C_N - F_OWN) | 1u << (C_D - F_OWN) | 1u << (C_TOKENS - F_OWN) |
            1u << (C_POSITIONS - F_OWN) | 1u << (C_TYPES - F_OWN),
    .shape = shape,
    .rows_first = C_FIRST,
    .numbers = numbers,
    .say = say,
    .desc_numbers = desc_numbers,
    .n_desc_numbers = sizeof desc_numbers / sizeof *desc_numbers,
    .faults = faults,
    .n_faults = sizeof faults / sizeof *faults,
    .base = "op=embed sum=both pos=good type_ids=good",
    .named = named,
    .n_named = sizeof named / sizeof *named,
};
