/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * recur: its table (heed/memory.h). The oracle is recur_oracle.c.
 */
#include "recur.h"

#include <math.h>

static const struct cf_spec specs[] = {
    { "n", "9 0 1 2 20 40", 1, -1, NULL },
    { "dk", "8 0 1 7 16 33 64 130", 1, -1, NULL },
    { "dv", "8 0 1 7 16 33 64 130", 1, -1, NULL },
    { "group", "1 2 3", 1, -1, NULL },
    { "delta", "no yes", 0, -1, NULL },
    { "dec", "none head channel", 0, -1, NULL },
    { "out", "yes no", 0, -1, NULL },
    { "scale", "one some negative tiny", 0, -1, NULL },
};

/* ---- contents ---- */

/* Of the ordinary class: keys of length about 1, which a delta rule asks for to stay finite, and
 * factors from 0 to 1. Other classes are as they are. */
static void scale_down(struct fixed_problem *p, struct part *part, float factor, bool positive)
{
    if (p->c.v[F_FILL] != DATA_NORMAL)
        return;
    for (int64_t i = 0; i < cf_array_count(&part->a); i++) {
        const float x = cf_decode(part->a.dtype, cf_array_bits(&part->a, i)) * factor;

        cf_array_set(&part->a, i, cf_encode(part->a.dtype, positive ? fabsf(x) : x));
    }
}

static void fill_keys(struct fixed_problem *p, struct part *part)
{
    float factor = 1;

    for (int64_t c = p->c.v[C_DK]; c > 2; c /= 4)
        factor *= 0.5f;
    fill_floats(p, part);
    scale_down(p, part, factor, false);
}

/* Numbers of the ordinary class lie within 2. */
static void fill_factors(struct fixed_problem *p, struct part *part)
{
    fill_floats(p, part);
    scale_down(p, part, 0.5f, true);
}

#define ARRAY(member) #member, offsetof(heed_recur_desc, member), offsetof(heed_recur_args, member)

static const struct fixed_array arrays[] = {
    [Q] = { ARRAY(q), MUST | IN | BATCH | HEAD, TYPE_FLOATS, 0, NULL, C_OUT, "yes", fill_keys,
            NULL },
    [K] = { ARRAY(k), MUST | IN | BATCH | HEAD, TYPE_FLOATS, 0, NULL, 0, NULL, fill_keys, NULL },
    [V] = { ARRAY(v), MUST | IN | BATCH | HEAD, TYPE_FLOATS, 0, NULL, 0, NULL, fill_floats, NULL },
    [DECAY] = { ARRAY(decay), IN | BATCH | HEAD, TYPE_FLOATS, 0, NULL, C_DEC, "head channel",
                fill_factors, NULL },
    [BETA] = { ARRAY(beta), IN | BATCH | HEAD, TYPE_FLOATS, 0, "none there", 0, NULL, fill_factors,
               NULL },
    [LEN] = { ARRAY(len), IN | BATCH | LENGTHS, "i32 i64", 0, "none rt short zero hostile", 0, NULL,
              fill_lengths, NULL },
    [STATE_S] = { ARRAY(state), MUST | STATE | BATCH | HEAD, "f32", 0, NULL, 0, NULL, fill_floats,
                  NULL },
    [O] = { ARRAY(o), OUT | BATCH | HEAD, TYPE_FLOATS, 0, NULL, C_OUT, "yes", fill_nothing, NULL },
};

static void shape(struct fixed_problem *p)
{
    const int64_t *v = p->c.v;
    const int64_t heads = p->heads * v[C_GROUP];

    p->n[N_HEADS] = heads;
    part_shape(&p->part[Q], p->heads, v[C_N], v[C_DK]);
    part_shape(&p->part[K], p->heads, v[C_N], v[C_DK]);
    part_shape(&p->part[V], heads, v[C_N], v[C_DV]);
    if (v[C_DEC] == BY_CHANNEL)
        part_shape(&p->part[DECAY], heads, v[C_N], v[C_DK]);
    else
        part_shape(&p->part[DECAY], -1, heads, v[C_N]);
    part_shape(&p->part[BETA], -1, heads, v[C_N]);
    part_shape(&p->part[LEN], -1, -1, -1);
    part_shape(&p->part[STATE_S], heads, v[C_DK], v[C_DV]);
    part_shape(&p->part[O], heads, v[C_N], v[C_DV]);
    p->part[LEN].bound = v[C_N];
    p->work = cf_times(cf_times(p->n_items, cf_times(heads, v[C_N])), cf_times(v[C_DK], v[C_DV]));
}

double recur_scale(const struct fixed_problem *p)
{
    static const double scales[] = { 0, 0.3, -2.5, 1e-60 };

    return scales[p->c.v[C_SCALE] % 4];
}

static void numbers(const struct fixed_problem *p, void *desc)
{
    heed_recur_desc *const d = desc;

    d->flags |= p->c.v[C_DELTA] ? (uint32_t)HEED_RECUR_DELTA : 0;
    d->flags |= p->c.v[C_DEC] == BY_CHANNEL ? (uint32_t)HEED_RECUR_CHANNELS : 0;
    d->scale = recur_scale(p);
}

static bool shorten(struct fixed_problem *p)
{
    const struct part *len = &p->part[LEN];
    int64_t n;

    if (!part_is(len))
        return false;
    n = part_int(len, part_at(len, 0, 0, 0, 0));
    n = n < 0 ? 0 : n > p->c.v[C_N] ? p->c.v[C_N] : n;
    part_drop(&p->part[LEN]);
    part_cut(&p->part[Q], 2, n);
    part_cut(&p->part[K], 2, n);
    part_cut(&p->part[V], 2, n);
    part_cut(&p->part[DECAY], p->c.v[C_DEC] == BY_CHANNEL ? 2 : 3, n);
    part_cut(&p->part[BETA], 3, n);
    part_cut(&p->part[O], 2, n);
    return true;
}

/* ---- what is wrong ---- */

/* Of two extents that disagree the report may name either. */
#define SHAPE(member, axis) "shape[", offsetof(heed_recur_desc, member.shape[axis]), FAULT_I64
#define DTYPE(member) #member, offsetof(heed_recur_desc, member.dtype), FAULT_U32

static const struct fixed_fault faults[] = {
    { "flags", offsetof(heed_recur_desc, flags), FAULT_U32, 4, HEED_E_FLAG },
    { "reserved", offsetof(heed_recur_desc, reserved), FAULT_U32, 1, HEED_E_VALUE },
    { "scale", offsetof(heed_recur_desc, scale), FAULT_I64, 0x7ff0000000000000, HEED_E_VALUE },
    { "scale", offsetof(heed_recur_desc, scale), FAULT_I64, 0x7ff8000000000000, HEED_E_VALUE },
    { "scale", offsetof(heed_recur_desc, scale), FAULT_I64, 0x7e00000000000000, HEED_E_VALUE },
    { SHAPE(q, 3), 9, HEED_E_SHAPE },
    { SHAPE(k, 3), 9, HEED_E_SHAPE },
    { SHAPE(k, 2), 7, HEED_E_SHAPE },
    { SHAPE(v, 1), 7, HEED_E_SHAPE },
    { SHAPE(state, 2), 7, HEED_E_SHAPE },
    { SHAPE(state, 3), 7, HEED_E_SHAPE },
    { SHAPE(o, 3), 7, HEED_E_SHAPE },
    { SHAPE(o, 2), 4, HEED_E_SHAPE },
    { SHAPE(len, 0), 3, HEED_E_SHAPE },
    { DTYPE(decay), HEED_I8, HEED_E_DTYPE },
    { DTYPE(beta), HEED_F8E4M3, HEED_E_DTYPE },
    { DTYPE(state), HEED_F16, HEED_E_DTYPE },
};

static const struct fixed_number desc_numbers[] = {
    { "scale", offsetof(heed_recur_desc, scale), FAULT_F64, NULL },
};

static const struct fixed_refusal refusals[] = {
    { "op=recur dv=1 n=1", C_DK, (INT64_C(1) << 40) + 1, HEED_E_UNSUPPORTED },
};

static const char *const named[] = {
    "op=recur",
    "op=recur delta=yes beta=there dec=head n=40 dk=64 dv=64",
    "op=recur delta=yes dec=channel group=3 len=rt scale=some",
    "op=recur delta=yes out=no n=2",
    "op=recur fill=special delta=yes dec=head beta=there",
    "op=recur dk=0 scale=negative",
    "op=recur dv=130 dk=130 n=2 q.t=f16 k.t=bf16 v.t=f16 o.t=bf16",
};

FIXED_CALLS(heed_recur)
FIXED_RUN(heed_recur)

#define BIT(field) (1u << ((field)-F_OWN))

const struct fixed fixed_recur = {
    .op = FIXED_OP("recur"),
    .c_name = "recur",
    .check = check,
    .plan = plan,
    .run = run,
    .desc_size = sizeof(heed_recur_desc),
    .args_size = sizeof(heed_recur_args),
    .arrays = arrays,
    .n_arrays = sizeof arrays / sizeof *arrays,
    .specs = specs,
    .n_specs = C_END - F_OWN,
    .extents = BIT(C_N) | BIT(C_DV),
    .vast = BIT(C_N) | BIT(C_DV),
    .shape = shape,
    .numbers = numbers,
    .say = recur_say,
    .shorten = shorten,
    .desc_numbers = desc_numbers,
    .n_desc_numbers = sizeof desc_numbers / sizeof *desc_numbers,
    .faults = faults,
    .n_faults = sizeof faults / sizeof *faults,
    .refusals = refusals,
    .n_refusals = sizeof refusals / sizeof *refusals,
    .base = "op=recur dec=head beta=there len=rt",
    .named = named,
    .n_named = sizeof named / sizeof *named,
};
