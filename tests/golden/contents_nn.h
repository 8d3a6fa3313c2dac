/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Golden cases of heed/nn.h, order and gate, for operations.c: sections 12 to 17 and 19 of
 * docs/numerics.md.
 */
#ifndef HEED_TESTS_GOLDEN_CONTENTS_NN_H
#define HEED_TESTS_GOLDEN_CONTENTS_NN_H

#include "contents.h"

/* ---- norm ---- */

static const struct norm_row {
    const char *name;
    uint32_t dtype, y, vectors; /* vectors: weight and bias; 0: none */
    uint32_t kind;
    int64_t d;
    uint32_t residual; /* its type and that of the sum; 0: neither */
    bool special;
} norms[] = {
    { "norm_layer", HEED_F32, HEED_F32, HEED_F32, HEED_NORM_LAYER, 40, 0, false },
    { "norm_rms", HEED_F32, HEED_F32, HEED_F32, HEED_NORM_RMS, 40, 0, false },
    { "norm_plain", HEED_BF16, HEED_F32, 0, HEED_NORM_LAYER, 7, 0, false },
    { "norm_residual", HEED_F16, HEED_BF16, HEED_BF16, HEED_NORM_LAYER, 300, HEED_F32, false },
    { "norm_rms_residual", HEED_BF16, HEED_F16, HEED_F16, HEED_NORM_RMS, 1030, HEED_BF16, false },
    { "norm_one", HEED_F32, HEED_F32, HEED_F16, HEED_NORM_LAYER, 1, HEED_F16, false },
    { "norm_special", HEED_F32, HEED_F32, HEED_F32, HEED_NORM_LAYER, 33, HEED_F32, true },
    { "norm_rms_special", HEED_F32, HEED_F16, HEED_F32, HEED_NORM_RMS, 33, HEED_F32, true },
};

static void norm_make(struct golden_call *c, const void *from)
{
    const struct norm_row *row = from;
    enum { B = 2, H = 3, N = 5 };

    c->desc.norm.kind = row->kind;
    c->desc.norm.eps = 1e-5;
    input(c, FIELD(norm, x), row->dtype, DIMS(B, H, N, row->d));
    fill_floats(c, 3);
    if (row->special)
        fill_specials(c, 60, specials, SPECIALS);
    if (row->residual != 0) {
        input(c, FIELD(norm, residual), row->residual, DIMS(B, H, N, row->d));
        fill_floats(c, 2);
        output(c, FIELD(norm, sum), row->residual, DIMS(B, H, N, row->d));
    }
    if (row->vectors != 0) {
        input(c, FIELD(norm, weight), row->vectors, DIMS(row->d));
        fill_floats(c, 1);
    }
    if (row->vectors != 0 && row->kind == HEED_NORM_LAYER) {
        input(c, FIELD(norm, bias), row->vectors, DIMS(row->d));
        fill_floats(c, 1);
    }
    output(c, FIELD(norm, y), row->y, DIMS(B, H, N, row->d));
}

/* ---- rope ---- */

static const struct rope_row {
    const char *name;
    uint32_t dtype, y, kind;
    int64_t d, pairs;
    uint32_t pos; /* its type; 0: none */
    bool special;
} ropes[] = {
    { "rope_halves", HEED_F32, HEED_F32, HEED_ROPE_HALVES, 64, 32, 0, false },
    { "rope_adjacent", HEED_F32, HEED_F32, HEED_ROPE_ADJACENT, 64, 32, 0, false },
    { "rope_part", HEED_F16, HEED_BF16, HEED_ROPE_HALVES, 37, 9, HEED_I32, false },
    { "rope_part_adjacent", HEED_BF16, HEED_F16, HEED_ROPE_ADJACENT, 37, 17, HEED_I64, false },
    { "rope_special", HEED_F32, HEED_F32, HEED_ROPE_ADJACENT, 12, 5, HEED_I64, true },
};

/* Positions within the tables, one before them and one behind. */
static void rope_make(struct golden_call *c, const void *from)
{
    const struct rope_row *row = from;
    enum { B = 2, H = 3, N = 5, T = 11 };

    c->desc.rope.kind = row->kind;
    c->desc.rope.pos0 = row->pos != 0 ? 0 : 4;
    input(c, FIELD(rope, x), row->dtype, DIMS(B, H, N, row->d));
    fill_floats(c, 3);
    if (row->special)
        fill_specials(c, 60, specials, SPECIALS);
    input(c, FIELD(rope, cos), HEED_F32, DIMS(T, row->pairs));
    fill_floats(c, 0);
    input(c, FIELD(rope, sin), HEED_F32, DIMS(T, row->pairs));
    fill_floats(c, 0);
    if (row->special)
        fill_specials(c, 20, specials, SPECIALS);
    if (row->pos != 0) {
        input(c, FIELD(rope, pos), row->pos, DIMS(B, 1, N));
        fill_ints(c, -1, T + 1);
    }
    output(c, FIELD(rope, y), row->y, DIMS(B, H, N, row->d));
}

/* ---- act ---- */

static const struct act_row {
    const char *name;
    uint32_t dtype, y, kind;
    uint32_t factor, add; /* their types; 0: none */
    bool special;
} acts[] = {
    { "act_relu", HEED_F32, HEED_F16, HEED_ACT_RELU, 0, HEED_BF16, true },
    { "act_gelu", HEED_F32, HEED_F32, HEED_ACT_GELU, 0, 0, false },
    { "act_gelu_special", HEED_F32, HEED_F32, HEED_ACT_GELU, 0, 0, true },
    { "act_gelu_tanh", HEED_F32, HEED_F32, HEED_ACT_GELU_TANH, HEED_F32, 0, true },
    { "act_silu", HEED_F32, HEED_BF16, HEED_ACT_SILU, HEED_F16, 0, false },
    { "act_silu_special", HEED_F32, HEED_F32, HEED_ACT_SILU, HEED_F32, HEED_F32, true },
    { "act_tanh", HEED_F32, HEED_F32, HEED_ACT_TANH, 0, 0, true },
    { "act_sigmoid", HEED_F32, HEED_F32, HEED_ACT_SIGMOID, 0, 0, true },
    { "act_exp", HEED_F32, HEED_F32, HEED_ACT_EXP, HEED_F32, HEED_F16, true },
    { "act_elu_plus_one", HEED_F32, HEED_BF16, HEED_ACT_ELU_PLUS_ONE, 0, 0, true },
    { "act_inverse", HEED_F32, HEED_F32, HEED_ACT_INVERSE, 0, 0, true },
    { "act_none", HEED_F16, HEED_F16, HEED_ACT_NONE, HEED_BF16, HEED_F32, false },
};

static void act_make(struct golden_call *c, const void *from)
{
    const struct act_row *row = from;
    enum { B = 2, H = 3, N = 5, D = 37 };

    c->desc.act.kind = row->kind;
    input(c, FIELD(act, x), row->dtype, DIMS(B, H, N, D));
    fill_floats(c, 3);
    if (row->special)
        fill_specials(c, 60, specials, SPECIALS);
    if (row->factor != 0) {
        input(c, FIELD(act, factor), row->factor, DIMS(B, H, N, D));
        fill_floats(c, 2);
    }
    if (row->add != 0) {
        input(c, FIELD(act, add), row->add, DIMS(B, H, N, D));
        fill_floats(c, 1);
    }
    output(c, FIELD(act, y), row->y, DIMS(B, H, N, D));
}

/* ---- embed ---- */

static const struct embed_row {
    const char *name;
    uint32_t table, y, positions, types; /* 0: there are none */
    int64_t d;
    double scale;
    uint32_t pos; /* its type and that of type_ids; 0: none */
    bool special;
} embeds[] = {
    { "embed_token", HEED_F32, HEED_F32, 0, 0, 40, 0, 0, true },
    { "embed_token_f16", HEED_BF16, HEED_F16, 0, 0, 37, 1, 0, false },
    { "embed_scaled", HEED_F32, HEED_F32, 0, 0, 40, 1.7, 0, true },
    { "embed_positions", HEED_F32, HEED_F32, HEED_F32, 0, 40, 6.3, 0, true },
    { "embed_all", HEED_F32, HEED_F32, HEED_F32, HEED_F32, 33, 1, HEED_I32, false },
    { "embed_all_mixed", HEED_F16, HEED_BF16, HEED_BF16, HEED_F32, 70, 0.3, HEED_I64, false },
    { "embed_types", HEED_BF16, HEED_BF16, 0, HEED_BF16, 64, 0, 0, false },
};

/* Ids within the tables, one before them and one behind. */
static void embed_make(struct golden_call *c, const void *from)
{
    const struct embed_row *row = from;
    enum { B = 2, H = 3, N = 5, V = 11, P = 9, T = 3 };

    c->desc.embed.scale = row->scale;
    input(c, FIELD(embed, table), row->table, DIMS(V, row->d));
    fill_floats(c, 0);
    if (row->special)
        fill_specials(c, 30, specials, SPECIALS);
    input(c, FIELD(embed, ids), row->pos == 0 ? HEED_I32 : HEED_I64, DIMS(B, H, N));
    fill_ints(c, -1, V);
    if (row->positions != 0) {
        c->desc.embed.pos0 = row->pos != 0 ? 0 : 5;
        input(c, FIELD(embed, positions), row->positions, DIMS(P, row->d));
        fill_floats(c, 3);
    }
    if (row->types != 0) {
        input(c, FIELD(embed, types), row->types, DIMS(T, row->d));
        fill_floats(c, -4);
    }
    if (row->pos != 0) {
        input(c, FIELD(embed, pos), row->pos, DIMS(B, 1, N));
        fill_ints(c, -1, P);
        input(c, FIELD(embed, type_ids), row->pos, DIMS(B, 1, N));
        fill_ints(c, 0, T);
    }
    output(c, FIELD(embed, y), row->y, DIMS(B, H, N, row->d));
}

/* ---- order ---- */

static const struct order_row {
    const char *name;
    uint32_t ids, outputs;
    int64_t n, count;
    bool len;
} orders[] = {
    { "order", HEED_I32, HEED_I32, 100, 7, false },
    { "order_ragged", HEED_I64, HEED_I32, 33, 3, true },
    { "order_sparse", HEED_I32, HEED_I64, 40, 150, false },
};

/* Ids of a token, one before them and one behind. */
static void order_make(struct golden_call *c, const void *from)
{
    const struct order_row *row = from;
    enum { B = 2, H = 3 };

    c->desc.order.count = row->count;
    input(c, FIELD(order, ids), row->ids, DIMS(B, row->len ? 1 : H, row->n));
    fill_ints(c, -1, row->count);
    if (row->len) {
        input(c, FIELD(order, len), HEED_I64, DIMS(B));
        fill_ints(c, row->n / 2, row->n);
    }
    output(c, FIELD(order, order), row->outputs, DIMS(B, H, row->n));
    output(c, FIELD(order, place), row->outputs, DIMS(B, H, row->n));
    output(c, FIELD(order, starts), row->outputs, DIMS(B, H, row->count + 1));
}

/* ---- linear ---- */

static const struct linear_row {
    const char *name;
    uint32_t x, w, y, vectors, add; /* types; vectors: of the bias, add: 0, none */
    int64_t n, m, in, out;          /* m: rows that the windows give */
    int64_t kernel, stride;
    uint32_t tail;
    bool by_head, exchanged, special; /* exchanged: w is laid out [out][in][kernel] */
} linears[] = {
    { "linear_plain", HEED_F32, HEED_F32, HEED_F32, 0, 0, 5, 5, 40, 7, 0, 0, 0, false, false,
      false },
    { "linear_blocks", HEED_F32, HEED_F32, HEED_F32, HEED_F32, HEED_F32, 13, 13, 600, 70, 0, 0, 0,
      false, false, false },
    { "linear_few", HEED_F16, HEED_F16, HEED_F16, HEED_F32, 0, 1, 1, 530, 33, 0, 0, 0, true, false,
      false },
    { "linear_halves", HEED_BF16, HEED_BF16, HEED_F32, HEED_BF16, HEED_F16, 9, 9, 300, 40, 0, 0, 0,
      true, false, false },
    { "linear_centre", HEED_F32, HEED_BF16, HEED_BF16, HEED_F32, 0, 9, 8, 130, 20, 5, 1,
      HEED_TAIL_CENTRE, false, false, false },
    { "linear_end", HEED_F32, HEED_F32, HEED_F32, 0, HEED_F32, 7, 3, 150, 20, 3, 3, HEED_TAIL_END,
      false, true, false },
    { "linear_special", HEED_F32, HEED_F32, HEED_F32, HEED_F32, HEED_F32, 9, 4, 33, 17, 2, 2, 0,
      true, false, true },
};

static void linear_make(struct golden_call *c, const void *from)
{
    const struct linear_row *row = from;
    heed_tensor *const w = &c->desc.linear.w;
    const int64_t heads = row->by_head ? 3 : 1;
    enum { B = 2, H = 3 };

    c->desc.linear.kernel = row->kernel;
    c->desc.linear.stride = row->stride;
    c->desc.linear.tail = row->tail;
    c->desc.linear.left = row->tail == HEED_TAIL_CENTRE ? 1 : 0;
    input(c, FIELD(linear, x), row->x, DIMS(B, H, row->n, row->in));
    fill_floats(c, 1);
    if (row->special)
        fill_specials(c, 90, specials, SPECIALS);
    if (row->kernel == 0)
        input(c, FIELD(linear, w), row->w, DIMS(heads, row->out, row->in));
    else if (row->exchanged)
        input(c, FIELD(linear, w), row->w, DIMS(heads, row->out, row->in, row->kernel));
    else
        input(c, FIELD(linear, w), row->w, DIMS(heads, row->out, row->kernel, row->in));
    fill_floats(c, 1);
    if (row->exchanged) {
        w->shape[2] = row->kernel;
        w->shape[3] = row->in;
        w->stride[2] = 1;
        w->stride[3] = row->kernel;
    }
    if (row->vectors != 0) {
        input(c, FIELD(linear, bias), row->vectors, DIMS(row->out));
        fill_floats(c, 1);
    }
    if (row->add != 0) {
        input(c, FIELD(linear, add), row->add, DIMS(B, H, row->m, row->out));
        fill_floats(c, 2);
    }
    output(c, FIELD(linear, y), row->y, DIMS(B, H, row->m, row->out));
}

/* ---- gate ---- */

static const struct gate_row {
    const char *name;
    uint32_t memory, update, gate, y, flags;
    bool special;
} gates[] = {
    { "gate", HEED_F32, HEED_F32, HEED_F32, HEED_F32, 0, false },
    { "gate_keeps", HEED_F16, HEED_F32, HEED_BF16, HEED_F32, HEED_GATE_KEEPS, false },
    { "gate_special", HEED_F32, HEED_F32, HEED_F32, HEED_BF16, 0, true },
    { "gate_keeps_special", HEED_F32, HEED_F32, HEED_F32, HEED_F32, HEED_GATE_KEEPS, true },
};

static void gate_make(struct golden_call *c, const void *from)
{
    const struct gate_row *row = from;
    enum { B = 2, H = 3, N = 5, D = 37 };

    c->desc.gate.flags |= row->flags;
    input(c, FIELD(gate, memory), row->memory, DIMS(B, H, N, D));
    fill_floats(c, 2);
    input(c, FIELD(gate, update), row->update, DIMS(B, H, N, D));
    fill_floats(c, 2);
    if (row->special)
        fill_specials(c, 60, specials, SPECIALS);
    input(c, FIELD(gate, gate), row->gate, DIMS(B, H, N, D));
    fill_floats(c, 3);
    output(c, FIELD(gate, y), row->y, DIMS(B, H, N, D));
}

#endif
