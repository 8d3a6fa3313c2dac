/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "layer.h"

#include <string.h>

struct view view_param(const struct param *param, uint32_t array)
{
    return (struct view){ array, 0, param->t };
}

void layer_bind(const struct layer *layer, heed_buf at[LAYER_ARGS])
{
    for (int role = 0; role < LAYER_ROLES; role++) {
        at[2 * role] = layer->of[role].weight.buf;
        at[2 * role + 1] = layer->of[role].bias.buf;
    }
}

static struct view weight(const struct sketch *s, enum layer_role role)
{
    return view_param(&s->stack->layers[0].of[role].weight, s->weights + 2 * (uint32_t)role);
}

static struct view bias(const struct sketch *s, enum layer_role role)
{
    return view_param(&s->stack->layers[0].of[role].bias, s->weights + 2 * (uint32_t)role + 1);
}

void layer_map(struct sketch *s, enum layer_role role, struct view x, uint32_t act,
               struct view add, struct view y)
{
    draft_linear(&s->draft, x, weight(s, role), bias(s, role), act, add, y);
}

void layer_norm(struct sketch *s, enum layer_role role, struct view x, struct view y)
{
    draft_norm(&s->draft, s->p->family->traits & TRAIT_RMS ? HEED_NORM_RMS : HEED_NORM_LAYER,
               s->p->config.eps, x, weight(s, role), bias(s, role), y);
}

static void hidden_slice(struct sketch *s, struct view x)
{
    const bool first = s->p->family->traits & TRAIT_NORM_FIRST;
    const int64_t batch = x.t.shape[0], rows = x.t.shape[2];
    const struct view normed = view_rows(s->temps[0], batch, rows, x.t.shape[3]);
    const struct view up = view_rows(s->temps[1], batch, rows, s->stack->hidden);
    const struct view gate = view_rows(s->temps[2], batch, rows, s->stack->hidden);

    if (first)
        layer_norm(s, ROLE_LAST_NORM, x, normed);
    if (s->p->gated) {
        layer_map(s, ROLE_UP, first ? normed : x, HEED_ACT_NONE, NO_VIEW, up);
        layer_map(s, ROLE_GATE, first ? normed : x, HEED_ACT_NONE, NO_VIEW, gate);
        draft_act(&s->draft, s->p->act, up, gate, NO_VIEW, up);
    } else {
        layer_map(s, ROLE_UP, first ? normed : x, s->p->act, NO_VIEW, up);
    }
    layer_map(s, ROLE_DOWN, up, HEED_ACT_NONE, x, x);
    if (!first)
        layer_norm(s, ROLE_LAST_NORM, x, x);
}

void layer_hidden(struct sketch *s, struct view x)
{
    const int64_t rows = x.t.shape[2];

    for (int64_t i = 0; i < rows; i += SLICE)
        hidden_slice(s, view_part(x, i, rows - i < SLICE ? rows - i : SLICE));
}

/* ---- attention ---- */

/* What the step of an attention points to. */
struct attending {
    heed_attn_desc desc;
    heed_attn_args args;
    heed_source source;
    heed_bias bias;
    heed_slot slots[4];
    heed_buf bufs[4];
    heed_kv_bufs kv;
};

static heed_buf place(struct view view)
{
    return heed_program_array(view.array, view.offset);
}

static uint32_t slot(struct attending *a, heed_tensor t, const void *data, struct view view)
{
    a->slots[a->desc.n_slots] = (heed_slot){ t, data };
    if (!data)
        a->bufs[a->desc.n_slots] = place(view);
    return ++a->desc.n_slots;
}

static void table_bias(struct attending *a, const struct seeing *seeing)
{
    struct view table = seeing->table;
    const int64_t heads = table.t.shape[1], buckets = table.t.shape[0];
    const int64_t extents[2] = { heads, buckets }, strides[2] = { 1, table.t.stride[0] };

    for (int i = 0; i < 2; i++) {
        table.t.shape[i] = extents[i];
        table.t.stride[i] = strides[i];
    }
    a->bias = (heed_bias){ .kind = HEED_BIAS_TABLE, .zero = seeing->map_length / 2 };
    a->bias.t = slot(a, table.t, NULL, table);
    a->bias.map = slot(a, heed_array_dense(HEED_I32, NULL, 1, &seeing->map_length).t, seeing->map,
                       table);
    a->source.biases = &a->bias;
    a->source.n_biases = 1;
    a->source.bias_size = sizeof a->bias;
}

/* Numbers of texts that last as long as the draft. */
static const int32_t *kept(struct sketch *s, const int32_t *numbers, int64_t n)
{
    int32_t *const to = draft_memory(&s->draft, (size_t)n * sizeof *to);

    if (to)
        memcpy(to, numbers, (size_t)n * sizeof *to);
    return to;
}

static void apart(struct sketch *s, struct attending *a, const struct texts *texts)
{
    const heed_tensor t = heed_array_dense(HEED_I32, NULL, 1, &texts->n).t;
    const int32_t *const begins = kept(s, texts->begins, texts->n);
    const int32_t *const lengths = kept(s, texts->lengths, texts->n);

    if (!begins || !lengths)
        return;
    a->desc.q_layout = a->source.layout = HEED_LAYOUT_RAGGED;
    a->desc.q_slot = a->source.slot = slot(a, t, begins, NO_VIEW);
    a->desc.q_len_slot = a->source.len_slot = slot(a, t, lengths, NO_VIEW);
}

void layer_attend(struct sketch *s, const struct seeing *seeing)
{
    struct attending *a = draft_memory(&s->draft, sizeof *a);

    if (!a)
        return;
    a->source = (heed_source){ .k = seeing->k.t, .v = seeing->v.t };
    a->desc = (heed_attn_desc){ .size = sizeof a->desc, .q = seeing->q.t, .o = seeing->o.t,
                                .sources = &a->source, .n_sources = 1,
                                .source_size = sizeof a->source, .slots = a->slots,
                                .slot_size = sizeof *a->slots };
    a->desc.flags = seeing->causal ? HEED_ATTN_ALIGN_END : HEED_ATTN_ALIGN_START;
    if (seeing->causal)
        a->source.flags = HEED_SOURCE_CAUSAL;
    if (seeing->pages.t.ndim) {
        a->source.layout = HEED_LAYOUT_PAGED;
        a->source.slot = slot(a, seeing->pages.t, NULL, seeing->pages);
    }
    if (seeing->lengths.t.ndim)
        a->source.len_slot = slot(a, seeing->lengths.t, NULL, seeing->lengths);
    if (seeing->texts)
        apart(s, a, seeing->texts);
    if (seeing->table.t.ndim)
        table_bias(a, seeing);
    if (seeing->table.t.ndim || seeing->unscaled) {
        a->desc.scale = 1;
        a->desc.flags |= HEED_ATTN_SCALE_GIVEN;
    }
    a->kv = (heed_kv_bufs){ place(seeing->k), place(seeing->v) };
    a->args = (heed_attn_args){ .size = sizeof a->args, .kv_size = sizeof a->kv, .kv = &a->kv,
                                .q = place(seeing->q), .o = place(seeing->o), .slots = a->bufs,
                                .n_slots = a->desc.n_slots };
    draft_step(&s->draft, "attn", &a->desc, &a->args);
}

/* What the step of a mechanism points to. */
struct built {
    heed_mechanism mechanism;
    heed_attn_args args;
    heed_kv_bufs kv[HEED_MECHANISM_SOURCES];
    heed_buf slots[HEED_MECHANISM_SLOTS];
};

void layer_mechanism(struct sketch *s, const heed_mechanism *mechanism, struct view q,
                     struct view o, const struct view (*keys)[2],
                     const struct view slots[HEED_MECHANISM_SLOTS + 1])
{
    struct built *b = draft_memory(&s->draft, sizeof *b);
    heed_kv_bufs sets[HEED_MECHANISM_KEYS] = { { { NULL, 0 }, { NULL, 0 } } };

    if (!b)
        return;
    b->mechanism = *mechanism;
    heed_mechanism_link(&b->mechanism);
    for (uint32_t i = 0; i < mechanism->desc.n_sources; i++)
        sets[mechanism->keys[i]] = (heed_kv_bufs){ place(keys[mechanism->keys[i]][0]),
                                                   place(keys[mechanism->keys[i]][1]) };
    heed_mechanism_kv(&b->mechanism, sets, b->kv);
    for (int i = 1; slots && i <= HEED_MECHANISM_SLOTS; i++)
        if (slots[i].t.ndim)
            b->slots[i - 1] = place(slots[i]);
    b->args = (heed_attn_args){ .size = sizeof b->args, .kv_size = sizeof *b->kv, .kv = b->kv,
                                .q = place(q), .o = place(o), .slots = b->slots,
                                .n_slots = HEED_MECHANISM_SLOTS };
    draft_step(&s->draft, "attn", &b->mechanism.desc, &b->args);
}

const int32_t *layer_buckets(struct sketch *s, bool one_sided, int64_t *length)
{
    const int64_t far = s->p->config.max_distance;
    int32_t *map;

    *length = 2 * far + 1;
    map = draft_memory(&s->draft, (size_t)*length * sizeof *map);
    if (map)
        s->draft.status = heed_map_t5(map, *length, far, (int32_t)s->p->config.buckets,
                                      (int32_t)far, one_sided ? HEED_MAP_ONE_SIDED : 0);
    return map;
}
