/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the outputs of a program must be: bits of the reference, or what the oracle says of them.
 */
#include "repro.h"

#include "conform/ops/attn/cell.h"

#include <stdlib.h>
#include <string.h>

static struct repro_cell bits_cell(const struct array *a, int64_t i)
{
    const size_t size = cf_dtype_size(a->dtype);
    struct repro_cell c = { .kind = REPRO_BITS };

    memcpy(&c.bits, (const unsigned char *)a->data + (size_t)i * size, size);
    return c;
}

/* ---- attention ------------------------------------------------------------------------------- */

/* Packed rows of no sequence stay as the program fills them. */
static void attn_bits(struct repro_cell *to, const struct problem *p, const struct array *out)
{
    const int64_t channels = out->trailing == 3 ? out->shape[3] : 1;
    struct item_view view;

    for (int64_t i = 0; i < cf_array_count(out); i++) {
        to[i] = (struct repro_cell){ .kind = REPRO_BITS };
        memset(&to[i].bits, 0xa5, cf_dtype_size(out->dtype));
    }
    for (int64_t i = 0; i < p->n_items * p->heads; i++) {
        const int64_t b = i / p->heads, h = i % p->heads;

        cf_item_view(p, b, &view);
        for (int64_t row = 0; row < cf_rows_of(p, &view); row++) {
            const int64_t place = view.o_begin + row;
            const int64_t at = out->trailing == 3 ? cf_array_at(out, b, h, place, 0)
                                                  : cf_array_at(out, b, 0, h, place);

            for (int64_t c = 0; c < channels; c++)
                to[at + c] = bits_cell(out, at + c);
        }
    }
}

static void attn_bounds(struct repro_work *w)
{
    static const int kinds[] = { [CELL_ANYTHING] = REPRO_ANYTHING, [CELL_WITHIN] = REPRO_WITHIN,
                                 [CELL_NAN] = REPRO_NAN, [CELL_NOT_FINITE] = REPRO_NOT_FINITE };
    struct problem *const p = w->job->problem;
    const struct call *const call = cf_call_of(w->job);
    const struct array *const outs[2] = { &call->out, &call->out_lse };
    struct verdict v = { 0 };

    for (int i = 0; i < 2; i++)
        v.cells[i] = calloc((size_t)cf_array_count(outs[i]) + 1, sizeof *v.cells[i]);
    p->weights = w->r->weights;
    if (v.cells[0] && v.cells[1])
        cf_judge_bound(p, call, &v);
    else
        w->text.lost = true;
    for (int i = 0; i < w->job->n && !w->text.lost; i++) {
        const struct operand *const x = &w->job->operand[i];
        const struct cf_cell *const from = v.cells[x->out == outs[1]];

        for (int64_t e = 0; x->out && e < cf_array_count(x->out); e++)
            w->cells[i][e] = (struct repro_cell){ kinds[from[e].kind], 0, from[e].want,
                                                  from[e].bound };
    }
    free(v.cells[0]);
    free(v.cells[1]);
}

/* ---- operations with fixed arrays ------------------------------------------------------------ */

/* Where the operation's own judge decides, the reference's element stands for what is right. */
static struct repro_cell said_cell(const struct said *said, const struct operand *x, int64_t i)
{
    switch (said->kind) {
    case SAID_BITS:
        return (struct repro_cell){ .kind = REPRO_BITS, .bits = (uint64_t)said->bits };
    case SAID_NEAR:
        return (struct repro_cell){ REPRO_WITHIN, 0, said->value, said->bound };
    case SAID_NAN:
    case SAID_INFINITE:
        return (struct repro_cell){ .kind = REPRO_NOT_FINITE };
    case SAID_NOTHING:
        return bits_cell(x->old, i);
    case SAID_OWN:
        return bits_cell(x->out, i);
    default:
        return (struct repro_cell){ .kind = REPRO_ANYTHING };
    }
}

int64_t repro_cells_count(const struct array *a)
{
    return type_elements(a->dtype) > 1 ? (int64_t)cf_array_bytes(a) : cf_array_count(a);
}

/* Of an output in blocks each byte is a cell; where an element of a block may be anything, all of
 * it may. */
static bool blocks_cells(struct repro_cell *to, const struct said *said, const struct operand *x,
                         bool by_bits)
{
    const size_t size = cf_dtype_size(x->out->dtype);
    struct array want = *x->out;

    if (!cf_array_alloc(&want))
        return false;
    for (int64_t e = 0; e < cf_array_count(&want); e++)
        cf_array_set(&want, e,
                     by_bits || said[e].kind == SAID_OWN ? cf_array_bits(x->out, e)
                     : said[e].kind == SAID_NOTHING      ? cf_array_bits(x->old, e)
                                                         : (uint32_t)said[e].bits);
    for (size_t i = 0; i < cf_array_bytes(&want); i++)
        to[i] = (struct repro_cell){ .kind = REPRO_BITS,
                                     .bits = ((const unsigned char *)want.data)[i] };
    for (int64_t e = 0; e < cf_array_count(&want); e++) {
        const size_t at = (size_t)((char *)cf_array_piece(&want, e) - (char *)want.data);

        for (size_t i = 0; said[e].kind == SAID_ANY && i < size; i++)
            to[at + i].kind = REPRO_ANYTHING;
    }
    free(want.data);
    return true;
}

static void fixed_cells(struct repro_work *w)
{
    const struct fixed_call *const call = (const struct fixed_call *)(const void *)w->job;
    struct answer a = { 0 };

    if (!answer_make(&a, w->job->problem)) {
        w->text.lost = true;
        return;
    }
    if (!w->by_bits)
        answer_loosen(&a);
    for (int i = 0; i < w->job->n; i++) {
        const struct operand *const x = &w->job->operand[i];
        const int64_t array = x->place - call->place;

        if (x->out && type_elements(x->out->dtype) > 1) {
            w->text.lost = !blocks_cells(w->cells[i], a.said[array], x, w->by_bits) || w->text.lost;
            continue;
        }
        for (int64_t e = 0; x->out && e < cf_array_count(x->out); e++)
            w->cells[i][e] = w->by_bits && a.said[array][e].kind != SAID_ANY
                                 ? bits_cell(x->out, e)
                                 : said_cell(&a.said[array][e], x, e);
    }
    answer_finish(&a);
}

void repro_cells_make(struct repro_work *w)
{
    for (int i = 0; i < w->job->n; i++) {
        const struct operand *const x = &w->job->operand[i];

        if (!x->out)
            continue;
        w->cells[i] = calloc((size_t)repro_cells_count(x->out) + 1, sizeof *w->cells[i]);
        if (!w->cells[i])
            w->text.lost = true;
    }
    if (w->text.lost)
        return;
    if (fixed_of(cf_op))
        fixed_cells(w);
    else if (!w->by_bits)
        attn_bounds(w);
    for (int i = 0; i < w->job->n && !fixed_of(cf_op) && w->by_bits; i++) {
        if (w->job->operand[i].out)
            attn_bits(w->cells[i], w->job->problem, w->job->operand[i].out);
    }
}
