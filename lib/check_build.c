/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The checked form without its shapes: defaults resolved, terms and biases copied, and the list of
 * all places where slots are used, in the order of the fields.
 */
#include "check_state.h"

static int64_t or_one(int64_t value)
{
    return value == 0 ? 1 : value;
}

static void use_add(struct heed_check *c, struct heed_check_use use)
{
    if (use.slot == 0)
        return;
    use.aux->slot = use.slot;
    use.aux->dtype = c->slots[use.slot - 1].t.dtype;
    c->uses[c->n_uses++] = use;
}

static void desc_uses(struct heed_check *c)
{
    const heed_attn_desc *d = &c->d;

    use_add(c, (struct heed_check_use){ .slot = d->q_pos_slot,
                                        .kind = HEED_USE_Q_POS,
                                        .name = "q_pos_slot",
                                        .aux = &c->out->q_pos });
    use_add(c, (struct heed_check_use){ .slot = d->q_slot,
                                        .kind = HEED_USE_BEGINS,
                                        .name = "q_slot",
                                        .aux = &c->out->q_begin });
    use_add(c, (struct heed_check_use){ .slot = d->q_len_slot,
                                        .kind = HEED_USE_LENGTHS,
                                        .name = "q_len_slot",
                                        .aux = &c->out->q_len });
}

static void source_uses(struct heed_check *c, uint32_t s)
{
    const struct heed_check_source *source = &c->sources[s];

    use_add(c, (struct heed_check_use){ .slot = source->s.slot,
                                        .kind = source->s.layout == HEED_LAYOUT_LISTED
                                                    ? HEED_USE_LISTED
                                                    : HEED_USE_BEGINS,
                                        .level = HEED_LEVEL_SOURCE,
                                        .source = s,
                                        .name = "slot",
                                        .block = source->to->rows,
                                        .aux = &source->to->index });
    use_add(c, (struct heed_check_use){ .slot = source->s.len_slot,
                                        .kind = HEED_USE_LENGTHS,
                                        .level = HEED_LEVEL_SOURCE,
                                        .source = s,
                                        .name = "len_slot",
                                        .aux = &source->to->len });
    use_add(c, (struct heed_check_use){ .slot = source->s.mask_slot,
                                        .kind = HEED_USE_MASK,
                                        .level = HEED_LEVEL_SOURCE,
                                        .source = s,
                                        .name = "mask_slot",
                                        .aux = &source->to->mask });
}

static void term_build(struct heed_check *c, uint32_t s, uint32_t t)
{
    const heed_term *term = &c->sources[s].terms[t];
    struct heed_checked_term *to = &c->sources[s].to_terms[t];
    const uint32_t both = HEED_TERM_KEYS | HEED_TERM_ROWS;

    *to = (struct heed_checked_term){
        .kind = term->kind,
        .flags = term->flags,
        .left = term->left,
        .right = term->right,
        .step = or_one(term->step),
        .block = or_one(term->block),
        .phase = term->phase,
    };
    if (to->kind == HEED_TERM_GLOBAL && !(to->flags & both))
        to->flags |= HEED_TERM_KEYS;
    use_add(c, (struct heed_check_use){ .slot = term->slot,
                                        .kind = term->kind == HEED_TERM_SEGMENT ? HEED_USE_SEGMENT
                                                                                : HEED_USE_GLOBAL,
                                        .level = HEED_LEVEL_TERM,
                                        .source = s,
                                        .index = t,
                                        .name = "slot",
                                        .block = to->block,
                                        .aux = &to->slot });
}

static void bias_build(struct heed_check *c, uint32_t s, uint32_t b)
{
    static const uint32_t kinds[] = {
        [HEED_BIAS_DENSE] = HEED_USE_DENSE,
        [HEED_BIAS_ALIBI] = HEED_USE_ALIBI,
        [HEED_BIAS_TABLE] = HEED_USE_TABLE,
    };
    const heed_bias *bias = &c->sources[s].biases[b];
    struct heed_checked_bias *to = &c->sources[s].to_biases[b];
    const struct heed_check_use at = { .level = HEED_LEVEL_BIAS, .source = s, .index = b };
    struct heed_check_use t = at, map = at, q = at, k = at;

    to->kind = bias->kind;
    to->zero = bias->zero;
    t.slot = bias->t, t.kind = kinds[bias->kind], t.name = "t", t.aux = &to->t;
    map.slot = bias->map, map.kind = HEED_USE_MAP, map.name = "map", map.aux = &to->map;
    q.slot = bias->q_coord, q.kind = HEED_USE_Q_COORD, q.name = "q_coord", q.aux = &to->q_coord;
    k.slot = bias->k_coord, k.kind = HEED_USE_K_COORD, k.name = "k_coord", k.aux = &to->k_coord;
    use_add(c, t);
    use_add(c, map);
    use_add(c, q);
    use_add(c, k);
}

/* No term becomes one ALL. */
static bool arrays_take(struct heed_check *c, struct heed_check_source *source)
{
    struct heed_checked_source *to = source->to;

    to->n_terms = source->s.n_terms ? source->s.n_terms : 1;
    to->n_biases = source->s.n_biases;
    to->terms = source->to_terms = heed_arena_array(c->arena, to->n_terms, sizeof(*to->terms), 8);
    if (to->n_biases != 0)
        to->biases = source->to_biases = heed_arena_array(c->arena, to->n_biases,
                                                          sizeof(*to->biases), 8);
    return to->terms && (to->biases || to->n_biases == 0);
}

static bool source_build(struct heed_check *c, uint32_t s)
{
    struct heed_check_source *source = &c->sources[s];
    const heed_source *from = &source->s;
    struct heed_checked_source *to = source->to;

    to->pos0 = from->pos0;
    to->pos_step = or_one(from->pos_step);
    to->pos_span = or_one(from->pos_span);
    to->layout = from->layout;
    to->flags = from->flags;
    to->run = or_one(from->run);
    to->rows = or_one(from->rows);
    if (!arrays_take(c, source))
        return false;
    source_uses(c, s);
    if (from->n_terms == 0)
        source->to_terms[0] = (struct heed_checked_term){ .kind = HEED_TERM_ALL,
                                                          .step = 1,
                                                          .block = 1 };
    for (uint32_t t = 0; t < from->n_terms; t++)
        term_build(c, s, t);
    for (uint32_t b = 0; b < from->n_biases; b++)
        bias_build(c, s, b);
    return true;
}

heed_status heed_check_build(struct heed_check *c)
{
    const heed_attn_desc *d = &c->d;
    struct heed_checked_source *to = NULL;
    uint64_t uses = 3;

    for (uint32_t s = 0; s < d->n_sources; s++)
        uses += 3 + (uint64_t)c->sources[s].s.n_terms + 4 * (uint64_t)c->sources[s].s.n_biases;
    c->uses = heed_arena_array(c->scratch, uses, sizeof(*c->uses), 8);
    c->out = heed_arena_take(c->arena, sizeof(*c->out), 8);
    if (d->n_sources != 0)
        to = heed_arena_array(c->arena, d->n_sources, sizeof(*to), 8);
    if (!c->uses || !c->out || (d->n_sources != 0 && !to))
        return heed_check_nomem(c);
    *c->out = (struct heed_checked){
        .q_layout = d->q_layout,
        .flags = d->flags,
        .q_pos0 = d->q_pos0,
        .q_pos_step = or_one(d->q_pos_step),
        .scale = d->scale,
        .softcap = d->softcap,
        .numerics = d->numerics,
        .n_sources = d->n_sources,
        .sources = to,
        .n_slots = d->n_slots,
    };
    desc_uses(c);
    for (uint32_t s = 0; s < d->n_sources; s++) {
        c->sources[s].to = &to[s];
        if (!source_build(c, s))
            return heed_check_nomem(c);
    }
    return HEED_OK;
}
