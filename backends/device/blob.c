/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The blob of a plan: struct hk_plan, then sources, sub-sources, their slots, biases, and copies
 * of the constant slots, each where it is used. Nothing here decides anything: layout.c has done
 * that.
 */
#include "blob.h"

#include "../../lib/types/types.h"

#include <assert.h>
#include <string.h>

/* A part of the blob being written: constants go behind all else, at `end`. */
struct writer {
    const struct heed_checked *attn;
    char *blob;                /* NULL: only counting */
    uint64_t end;
};

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

/* What kernels and the library count the same way. */
#define SAME(kernel, host)                                                                         \
    static_assert((int64_t)(kernel) == (int64_t)(host), #kernel " is not " #host)
#define SAME_TYPE(NAME, name, number, elements, bytes, arg) SAME(HK_##NAME, HEED_##NAME);
HK_TYPES(SAME_TYPE, 0)
#undef SAME_TYPE
#define SAME_BIAS(name, number) SAME(HK_BIAS_##name, HEED_BIAS_##name);
HK_BIAS_KINDS(SAME_BIAS)
#undef SAME_BIAS
SAME(HK_POSITION_MAX, HEED_POSITION_MAX);
#undef SAME

/* Elements of a constant copy, and the offset of its lowest one from element [0,...,0]. */
static int64_t constant_span(const struct heed_aux *aux, int64_t *low)
{
    int64_t high = 0;

    *low = 0;
    for (int i = 0; i < 6; i++) {
        const int64_t far = (aux->shape[i] - 1) * aux->stride[i];

        if (aux->shape[i] == 0)
            return 0;
        *(far < 0 ? low : &high) += far;
    }
    return high - *low + 1;
}

static struct hk_aux aux_write(struct writer *w, const struct heed_aux *from)
{
    struct hk_aux to = { .slot = 0 };

    if (from == NULL || from->slot == 0)
        return to;
    to.slot = 1 + heed_attn_slot(w->attn, from->slot);
    to.dtype = from->dtype;
    memcpy(to.shape, from->shape + 3, sizeof to.shape);
    memcpy(to.stride, from->stride, sizeof to.stride);
    if (from->inner != 0) /* struct hk_scaling has it */
        to.stride[from->inner] = 0;
    if (from->data != NULL) {
        const int64_t size = heed_dtype_size(from->dtype);
        int64_t low;
        const uint64_t bytes = (uint64_t)(constant_span(from, &low) * size);

        to.at = (int64_t)w->end - low * size;
        if (w->blob != NULL && bytes > 0)
            memcpy(w->blob + w->end, (const char *)from->data + low * size, (size_t)bytes);
        w->end += round_up(bytes);
    }
    return to;
}

/* Strides of axes of one element count for nothing and may be anything: 1 is the plain case. */
static struct hk_view view_write(const struct heed_view *from, enum heed_items items)
{
    struct hk_view to = { .dtype = from->dtype, .length = from->shape[4] };

    memcpy(to.stride, from->stride, sizeof to.stride);
    if (from->shape[5] <= 1)
        to.stride[5] = 1;
    if (items == HEED_ITEMS_PAGES) {
        to.page = to.stride[2];
        to.stride[2] = 0;
    }
    return to;
}

static void put(struct writer *w, int64_t at, const void *from, size_t bytes)
{
    if (w->blob != NULL)
        memcpy(w->blob + at, from, bytes);
}

static struct hk_lookup lookup_write(struct writer *w, const struct heed_checked_bias *from)
{
    return (struct hk_lookup){
        .zero = from->zero,
        .map = aux_write(w, &from->map),
        .q_coord = aux_write(w, &from->q_coord),
        .k_coord = aux_write(w, &from->k_coord),
    };
}

/* The biases of a source by what they join: the logit or the score. */
static void biases_write(struct writer *w, const struct hk_plan *to, const struct hk_source *source,
                         const struct heed_checked_source *from)
{
    int64_t bias_at = to->biases_at + (int64_t)(source->first_bias * sizeof(struct hk_bias));
    int64_t dot_at = to->dots_at + (int64_t)(source->first_dot * sizeof(struct hk_dot));

    for (uint32_t i = 0; i < from->n_biases; i++) {
        const struct heed_checked_bias *bias = &from->biases[i];

        if (bias->in_score) {
            const struct hk_dot dot = { .from = lookup_write(w, bias),
                                        .t = aux_write(w, &bias->t),
                                        .u = aux_write(w, &bias->u) };

            put(w, dot_at, &dot, sizeof dot);
            dot_at += (int64_t)sizeof dot;
        } else {
            const struct hk_bias value = { .from = lookup_write(w, bias),
                                           .t = aux_write(w, &bias->t),
                                           .u = aux_write(w, &bias->u),
                                           .kind = bias->kind };

            put(w, bias_at, &value, sizeof value);
            bias_at += (int64_t)sizeof value;
        }
    }
}

static void source_write(struct writer *w, const struct heed_plan *plan, const struct hk_plan *to,
                         uint32_t s, struct hk_source source)
{
    const struct heed_checked_source *from = &heed_attn_of(plan)->sources[s];
    const struct heed_lowered_source *lowered = &heed_lowered_of(plan)->sources[s];

    source.k = view_write(&from->k, lowered->items);
    source.v = view_write(&from->v, lowered->items);
    source.index = aux_write(w, lowered->index);
    source.len = aux_write(w, &from->len);
    source.mask = aux_write(w, &from->mask);
    source.row_mask = aux_write(w, &from->row_mask);
    source.k_scale = aux_write(w, &from->k_scale);
    source.v_scale = aux_write(w, &from->v_scale);
    source.keys = aux_write(w, lowered->keys);
    source.rows = aux_write(w, lowered->rows);
    put(w, to->sources_at + (int64_t)(s * sizeof source), &source, sizeof source);
    biases_write(w, to, &source, from);
}

static void plan_write(struct writer *w, const struct heed_plan *plan, struct hk_plan to)
{
    const struct heed_checked *attn = plan->checked;

    to.q = view_write(&attn->q, HEED_ITEMS_BATCH);
    to.o = view_write(&attn->o, HEED_ITEMS_BATCH);
    to.lse = view_write(&attn->lse, HEED_ITEMS_BATCH);
    to.state = view_write(&attn->state_in, HEED_ITEMS_BATCH);
    to.sinks = view_write(&attn->sinks, HEED_ITEMS_BATCH);
    to.sinks.stride[5] = attn->sinks.stride[5];
    to.q_pos = aux_write(w, &attn->q_pos);
    to.q_begin = aux_write(w, &attn->q_begin);
    to.q_len = aux_write(w, &attn->q_len);
    to.o_begin = aux_write(w, &attn->o_begin);
    put(w, 0, &to, sizeof to);
}

static void write_all(struct writer *w, const struct heed_plan *plan, const struct hk_plan *to,
                      const struct hk_source *sources)
{
    const struct heed_lowered *lowered = plan->params;

    for (uint32_t s = 0; s < to->n_sources; s++)
        source_write(w, plan, to, s, sources ? sources[s] : (struct hk_source){ .first_bias = 0 });
    for (uint32_t i = 0; i < lowered->n_subs; i++) {
        struct hk_sub_slots slots = {
            .list = aux_write(w, lowered->slots[i].list),
            .first_chunk = to->chunk_bytes > 0 ? (int64_t)heed_blob_chunks(plan, i) : 0,
        };

        for (int r = 0; r < HK_RANGES; r++)
            slots.pairs[r] = aux_write(w, lowered->slots[i].pairs[r]);
        put(w, to->subs_at + (int64_t)(i * sizeof(struct hk_sub)), &lowered->subs[i],
            sizeof(struct hk_sub));
        put(w, to->slots_at + (int64_t)(i * sizeof slots), &slots, sizeof slots);
    }
    plan_write(w, plan, *to);
}

uint64_t heed_blob_size(const struct heed_plan *plan, struct hk_plan *to)
{
    struct writer w = { .attn = heed_attn_of(plan), .end = round_up(sizeof(struct hk_plan)) };

    to->sources_at = (int64_t)w.end;
    /* And an empty one, which kernels may look at when there is nothing else. */
    w.end += round_up(((uint64_t)to->n_sources + 1) * sizeof(struct hk_source));
    to->subs_at = (int64_t)w.end;
    w.end += round_up((uint64_t)heed_lowered_of(plan)->n_subs * sizeof(struct hk_sub));
    to->slots_at = (int64_t)w.end;
    w.end += round_up((uint64_t)heed_lowered_of(plan)->n_subs * sizeof(struct hk_sub_slots));
    to->biases_at = (int64_t)w.end;
    w.end += round_up((uint64_t)to->n_biases * sizeof(struct hk_bias));
    to->dots_at = (int64_t)w.end;
    w.end += round_up((uint64_t)to->n_dots * sizeof(struct hk_dot));
    to->constants_at = (int64_t)w.end;
    write_all(&w, plan, to, NULL);
    to->bytes = (int64_t)w.end;
    return w.end;
}

void heed_blob_write(const struct heed_plan *plan, const struct hk_plan *to,
                      const struct hk_source *sources, char *blob)
{
    struct writer w = {
        .attn = plan->checked, .blob = blob, .end = (uint64_t)to->constants_at
    };

    write_all(&w, plan, to, sources);
}
