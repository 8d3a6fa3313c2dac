/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The descriptor of a case as C. Fields that are 0 are left out; names of kinds and layouts are the
 * words of the case, in capitals.
 */
#include "kinds.h"
#include "repro.h"

#include <string.h>

struct name {
    uint32_t value;
    const char *text;
};

#define NAME(x) { x, #x }
static const struct name dtypes[] = { NAME(HEED_F32), NAME(HEED_F16), NAME(HEED_BF16),
                                      NAME(HEED_U8),  NAME(HEED_I32), NAME(HEED_I64),
                                      NAME(HEED_I8),  { 0, NULL } };
static const struct name numerics[] = { NAME(HEED_NUMERICS_EXACT), NAME(HEED_NUMERICS_REPEAT),
                                        NAME(HEED_NUMERICS_FAST),  { 0, NULL } };
static const struct name attn_flags[] = { NAME(HEED_ATTN_ALIGN_START),
                                          NAME(HEED_ATTN_ALIGN_END),
                                          NAME(HEED_ATTN_SCALE_GIVEN),
                                          NAME(HEED_ATTN_LSE_WITH_SINK),
                                          NAME(HEED_PLAN_OWN_WORKSPACE),
                                          { 0, NULL } };
static const struct name source_flags[] = { NAME(HEED_SOURCE_CAUSAL), NAME(HEED_SOURCE_END),
                                            { 0, NULL } };
static const struct name term_flags[] = { NAME(HEED_TERM_KEYS),       NAME(HEED_TERM_ROWS),
                                          NAME(HEED_TERM_PHASE_HEAD), NAME(HEED_TERM_PHASE_QUERY),
                                          { 0, NULL } };
#undef NAME

static void number(struct buffer *b, const char *field, int64_t value)
{
    if (value == HEED_FAR)
        buffer_print(b, ", .%s = HEED_FAR", field);
    else if (value != 0)
        buffer_print(b, ", .%s = %lld", field, (long long)value);
}

static void real(struct buffer *b, const char *field, double value)
{
    if (value != 0)
        buffer_print(b, ", .%s = %a /* %g */", field, value, value);
}

static const char *named(const struct name *names, uint32_t value)
{
    for (; names->text; names++) {
        if (names->value == value)
            return names->text;
    }
    return "0";
}

static void flags(struct buffer *b, const struct name *names, uint32_t value)
{
    const char *before = ", .flags = ";

    for (; names->text; names++) {
        if (value & names->value) {
            buffer_print(b, "%s(uint32_t)%s", before, names->text);
            before = " | ";
        }
    }
}

/* PREFIX_WORD in capitals. */
static void word(struct buffer *b, const char *field, const char *prefix, const char *text)
{
    buffer_print(b, "%s%s", field, prefix);
    for (; *text; text++)
        buffer_print(b, "%c", *text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text);
}

static void tensor(struct buffer *b, const char *field, const heed_tensor *t)
{
    if (t->dtype == 0)
        return;
    buffer_print(b, "    .%s = { .dtype = %s, .ndim = %u", field, named(dtypes, t->dtype),
                 (unsigned)t->ndim);
    for (int stride = 0; stride < 2 && t->ndim; stride++) {
        buffer_print(b, stride ? ", .stride = { " : ", .shape = { ");
        for (uint32_t i = 0; i < t->ndim; i++)
            buffer_print(b, i ? ", %lld" : "%lld",
                         (long long)(stride ? t->stride[i] : t->shape[i]));
        buffer_print(b, " }");
    }
    buffer_print(b, " },\n");
}

/* ---- what a source points to ------------------------------------------------------------- */

static void terms(struct repro_work *w, int s)
{
    const struct heed_source *source = &w->call->source[s];
    struct buffer *const b = &w->text;

    if (source->n_terms == 0)
        return;
    buffer_print(b, "static heed_term terms%d[] = {\n", s);
    for (uint32_t i = 0; i < source->n_terms; i++) {
        const heed_term *t = &source->terms[i];

        word(b, "    { .kind = ", "HEED_TERM_", cf_term_kinds[t->kind].word);
        flags(b, term_flags, t->flags);
        number(b, "left", t->left);
        number(b, "right", t->right);
        number(b, "step", t->step);
        number(b, "block", t->block);
        number(b, "phase", t->phase);
        number(b, "slot", t->slot);
        buffer_print(b, " },\n");
    }
    buffer_print(b, "};\n");
}

static void biases(struct repro_work *w, int s)
{
    const struct heed_source *source = &w->call->source[s];
    struct buffer *const b = &w->text;

    if (source->n_biases == 0)
        return;
    buffer_print(b, "static heed_bias biases%d[] = {\n", s);
    for (uint32_t i = 0; i < source->n_biases; i++) {
        const heed_bias *bias = &source->biases[i];

        word(b, "    { .kind = ", "HEED_BIAS_", cf_bias_kinds[cf_bias_row(bias->kind)].word);
        number(b, "zero", bias->zero);
        number(b, "t", bias->t);
        number(b, "u", bias->u);
        number(b, "map", bias->map);
        number(b, "q_coord", bias->q_coord);
        number(b, "k_coord", bias->k_coord);
        buffer_print(b, " },\n");
    }
    buffer_print(b, "};\n");
}

static void source_numbers(struct repro_work *w, int s)
{
    const struct heed_source *source = &w->call->source[s];
    struct buffer *const b = &w->text;
    char layout[32];

    cf_value_print(cf_at_source(s) + S_LAY, cf_s(&w->p->c, s, S_LAY), layout, sizeof layout);
    word(b, "    .layout = ", "HEED_LAYOUT_", layout);
    flags(b, source_flags, source->flags);
    number(b, "pos0", source->pos0);
    number(b, "pos_step", source->pos_step);
    number(b, "pos_span", source->pos_span);
    number(b, "slot", source->slot);
    number(b, "len_slot", source->len_slot);
    number(b, "mask_slot", source->mask_slot);
    number(b, "run", source->run);
    number(b, "rows", source->rows);
    number(b, "k_scale_slot", source->k_scale_slot);
    number(b, "v_scale_slot", source->v_scale_slot);
    if (source->n_terms)
        buffer_print(b, ",\n    .terms = HEED_ARRAY(terms%d)", s);
    if (source->n_biases)
        buffer_print(b, ",\n    .biases = HEED_ARRAY(biases%d)", s);
    buffer_print(b, ",\n");
}

static void sources(struct repro_work *w)
{
    struct buffer *const b = &w->text;

    if (w->call->n_sources == 0)
        return;
    for (int s = 0; s < w->call->n_sources; s++) {
        terms(w, s);
        biases(w, s);
    }
    buffer_print(b, "static heed_source sources[] = {\n");
    for (int s = 0; s < w->call->n_sources; s++) {
        buffer_print(b, "  {\n");
        tensor(b, "k", &w->call->source[s].k);
        tensor(b, "v", &w->call->source[s].v);
        source_numbers(w, s);
        buffer_print(b, "  },\n");
    }
    buffer_print(b, "};\n");
}

/* Constant data of a plug-in goes into pages of its own when the program runs. */
static void slots(struct repro_work *w)
{
    struct buffer *const b = &w->text;

    if (w->call->n_slots == 0)
        return;
    buffer_print(b, "static heed_slot slots[] = {\n");
    for (int i = 0; i < w->call->n_slots; i++) {
        buffer_print(b, "  { /* slot %d */\n", i + 1);
        tensor(b, "t", &w->call->slot[i].t);
        for (int n = 0; n < w->n_blocks; n++) {
            const struct repro_block *block = &w->block[n];

            if (block->constant == i + 1)
                buffer_print(b, "    .data = (const unsigned char *)%s_data + %zu,\n", block->name,
                             block->first);
        }
        buffer_print(b, "  },\n");
    }
    buffer_print(b, "};\n");
}

/* ---- the whole --------------------------------------------------------------------------- */

static void descriptor(struct repro_work *w)
{
    const heed_attn_desc *d = &w->call->desc;
    struct buffer *const b = &w->text;
    char layout[32];

    buffer_print(b, "static heed_attn_desc desc = {\n    .size = sizeof(heed_attn_desc)");
    flags(b, attn_flags, d->flags | (w->r->device ? (uint32_t)HEED_PLAN_OWN_WORKSPACE : 0));
    buffer_print(b, ",\n");
    tensor(b, "q", &d->q);
    tensor(b, "o", &d->o);
    tensor(b, "lse", &d->lse);
    tensor(b, "sinks", &d->sinks);
    cf_value_print(G_QL, cf_g(&w->p->c, G_QL), layout, sizeof layout);
    word(b, "    .q_layout = ", "HEED_LAYOUT_", layout);
    number(b, "q_pos0", d->q_pos0);
    number(b, "q_pos_step", d->q_pos_step);
    number(b, "q_pos_slot", d->q_pos_slot);
    number(b, "q_slot", d->q_slot);
    number(b, "q_len_slot", d->q_len_slot);
    if (w->call->n_sources)
        buffer_print(b, ",\n    .sources = HEED_ARRAY(sources)");
    if (w->call->n_slots)
        buffer_print(b, ",\n    .slots = HEED_ARRAY(slots)");
    real(b, "scale", d->scale);
    real(b, "softcap", d->softcap);
    if (w->numerics)
        buffer_print(b, ",\n    .numerics = %s", named(numerics, w->numerics));
    buffer_print(b, ",\n};\n\n/* The outputs again: a plug-in may not keep the descriptor. */\n"
                    "static const struct {\n    heed_tensor o, lse;\n} outputs = {\n");
    tensor(b, "o", &d->o);
    tensor(b, "lse", &d->lse);
    buffer_print(b, "};\n");
}

static void binding(struct repro_work *w)
{
    struct buffer *const b = &w->text;
    const int n_kv = w->call->n_sources, n_slots = w->call->n_slots;

    buffer_print(b, "\n/* Where the arrays of a run are; `at` counts as the blocks do. */\n"
                    "static heed_kv_bufs kv[%d];\nstatic heed_buf slot_at[%d];\n\n"
                    "static heed_attn_args arguments(const heed_buf *at)\n{\n"
                    "    heed_attn_args args = { .size = sizeof args, "
                    ".kv_size = sizeof *kv, .kv = kv, .slots = slot_at };\n\n"
                    "    args.n_slots = %d;\n",
                 n_kv ? n_kv : 1, n_slots ? n_slots : 1, n_slots);
    for (int i = 0; i < w->n_bound; i++) {
        const struct repro_block *block = &w->block[i];
        int n = -1;

        if (sscanf(block->name, "k%d", &n) == 1 || sscanf(block->name, "v%d", &n) == 1)
            buffer_print(b, "    kv[%d].%c = at[%d];\n", n, block->name[0], i);
        else if (sscanf(block->name, "slot%d", &n) == 1)
            buffer_print(b, "    slot_at[%d] = at[%d];\n", n - 1, i);
        else
            buffer_print(b, "    args.%s = at[%d];\n", block->name, i);
    }
    buffer_print(b, "    return args;\n}\n");
}

void repro_describe(struct repro_work *w)
{
    buffer_print(&w->text, "\n/* ---- what is computed, as heed/attn.h has it ---- */\n\n");
    slots(w);
    sources(w);
    descriptor(w);
    binding(w);
}
