/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The descriptor of a case as C. Fields that are 0 are left out; names of kinds and layouts are the
 * words of the case, in capitals.
 */
#include "repro.h"
#include "conform/ops/attn/kinds.h"

#include <string.h>

struct name {
    uint32_t value;
    const char *text;
};

#define NAME(x) { x, #x }
static const struct name numerics[] = { NAME(HEED_NUMERICS_EXACT), NAME(HEED_NUMERICS_REPEAT),
                                        NAME(HEED_NUMERICS_FAST),  { 0, NULL } };
static const struct name attn_flags[] = { NAME(HEED_ATTN_ALIGN_START),
                                          NAME(HEED_ATTN_ALIGN_END),
                                          NAME(HEED_ATTN_SCALE_GIVEN),
                                          NAME(HEED_ATTN_LSE_WITH_SINK),
                                          NAME(HEED_PLAN_OWN_WORKSPACE),
                                          { 0, NULL } };
static const struct name source_flags[] = { NAME(HEED_SOURCE_CAUSAL),
                                            NAME(HEED_SOURCE_END),
                                            NAME(HEED_SOURCE_K_GROUPS),
                                            NAME(HEED_SOURCE_V_GROUPS),
                                            NAME(HEED_SOURCE_K_MINIMA),
                                            NAME(HEED_SOURCE_V_MINIMA),
                                            { 0, NULL } };
static const struct name term_flags[] = { NAME(HEED_TERM_KEYS),       NAME(HEED_TERM_ROWS),
                                          NAME(HEED_TERM_PHASE_HEAD), NAME(HEED_TERM_PHASE_QUERY),
                                          { 0, NULL } };
static const struct name layouts[] = { NAME(HEED_LAYOUT_DENSE),  NAME(HEED_LAYOUT_RAGGED),
                                       NAME(HEED_LAYOUT_PAGED),  NAME(HEED_LAYOUT_RING),
                                       NAME(HEED_LAYOUT_LISTED), { 0, NULL } };
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

static const char *type_text(uint32_t dtype)
{
    return dtype == 0 ? "0" : type_find(dtype)->constant;
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

void repro_tensor_print(struct buffer *b, const heed_tensor *t)
{
    buffer_print(b, "{ .dtype = %s, .ndim = %u", type_text(t->dtype), (unsigned)t->ndim);
    for (int stride = 0; stride < 2 && t->ndim; stride++) {
        buffer_print(b, stride ? ", .stride = { " : ", .shape = { ");
        for (uint32_t i = 0; i < t->ndim; i++)
            buffer_print(b, i ? ", %lld" : "%lld",
                         (long long)(stride ? t->stride[i] : t->shape[i]));
        buffer_print(b, " }");
    }
    buffer_print(b, " }");
}

static void tensor(struct buffer *b, const char *field, const heed_tensor *t)
{
    if (t->dtype == 0)
        return;
    buffer_print(b, "    .%s = ", field);
    repro_tensor_print(b, t);
    buffer_print(b, ",\n");
}

/* ---- what a source points to ------------------------------------------------------------- */

static void terms(struct buffer *b, const struct call *call, int s)
{
    const struct heed_source *source = &call->source[s];

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

static void biases(struct buffer *b, const struct call *call, int s)
{
    const struct heed_source *source = &call->source[s];

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

static void source_numbers(struct buffer *b, const struct call *call, int s)
{
    const struct heed_source *source = &call->source[s];

    buffer_print(b, "    .layout = %s", named(layouts, source->layout));
    flags(b, source_flags, source->flags);
    number(b, "pos0", source->pos0);
    number(b, "pos_step", source->pos_step);
    number(b, "pos_span", source->pos_span);
    number(b, "slot", source->slot);
    number(b, "len_slot", source->len_slot);
    number(b, "mask_slot", source->mask_slot);
    number(b, "row_mask_slot", source->row_mask_slot);
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

static void sources(struct buffer *b, const struct call *call)
{
    if (call->n_sources == 0)
        return;
    for (int s = 0; s < call->n_sources; s++) {
        terms(b, call, s);
        biases(b, call, s);
    }
    buffer_print(b, "static heed_source sources[] = {\n");
    for (int s = 0; s < call->n_sources; s++) {
        buffer_print(b, "  {\n");
        tensor(b, "k", &call->source[s].k);
        tensor(b, "v", &call->source[s].v);
        source_numbers(b, call, s);
        buffer_print(b, "  },\n");
    }
    buffer_print(b, "};\n");
}

static int constant_of(const struct job *job, const heed_slot *slot)
{
    for (int i = 0; i < job->n; i++) {
        if (job->operand[i].constant == &slot->data)
            return i;
    }
    return -1;
}

/* Constant data of a plug-in goes into pages of its own when the program runs. */
static void slots(struct buffer *b, const struct call *call)
{
    if (call->n_slots == 0)
        return;
    buffer_print(b, "static heed_slot slots[] = {\n");
    for (int i = 0; i < call->n_slots; i++) {
        const int n = constant_of(&call->job, &call->slot[i]);
        const unsigned char *data;
        size_t first;

        buffer_print(b, "  { /* slot %d */\n", i + 1);
        tensor(b, "t", &call->slot[i].t);
        if (n >= 0) {
            repro_bytes(&call->job.operand[n], &first, &data);
            buffer_print(b, "    .data = (const unsigned char *)data%d + %zu,\n", n, first);
        }
        buffer_print(b, "  },\n");
    }
    buffer_print(b, "};\n");
}

/* ---- attention --------------------------------------------------------------------------- */

static void attn_print(struct repro_work *w, const struct call *call)
{
    const heed_attn_desc *d = &call->desc;
    struct buffer *const b = &w->text;

    slots(b, call);
    sources(b, call);
    buffer_print(b, "static heed_attn_desc desc = {\n    .size = sizeof(heed_attn_desc)");
    flags(b, attn_flags, d->flags | (w->r->device ? (uint32_t)HEED_PLAN_OWN_WORKSPACE : 0));
    buffer_print(b, ",\n");
    tensor(b, "q", &d->q);
    tensor(b, "o", &d->o);
    tensor(b, "lse", &d->lse);
    tensor(b, "sinks", &d->sinks);
    buffer_print(b, "    .q_layout = %s", named(layouts, d->q_layout));
    number(b, "q_pos0", d->q_pos0);
    number(b, "q_pos_step", d->q_pos_step);
    number(b, "q_pos_slot", d->q_pos_slot);
    number(b, "q_slot", d->q_slot);
    number(b, "q_len_slot", d->q_len_slot);
    number(b, "o_slot", d->o_slot);
    if (call->n_sources)
        buffer_print(b, ",\n    .sources = HEED_ARRAY(sources)");
    if (call->n_slots)
        buffer_print(b, ",\n    .slots = HEED_ARRAY(slots)");
    real(b, "scale", d->scale);
    real(b, "softcap", d->softcap);
    if (w->numerics)
        buffer_print(b, ",\n    .numerics = %s", named(numerics, w->numerics));
    buffer_print(b, ",\n};\n");
}

static void attn_plugin_print(struct buffer *b, const struct call *call)
{
    buffer_print(b, "\nstatic void constants_place(unsigned char **at)\n{\n    (void)at;\n");
    for (int i = 0; i < call->n_slots; i++) {
        const int n = constant_of(&call->job, &call->slot[i]);
        const unsigned char *data;
        size_t first;

        if (n < 0)
            continue;
        repro_bytes(&call->job.operand[n], &first, &data);
        buffer_print(b, "    slots[%d].data = at[%d] + %zu;\n", i, n, first);
    }
    buffer_print(b, "}\n\nstatic void descriptor_forget(void)\n{\n");
    if (call->n_slots)
        buffer_print(b, "    memset(slots, 0xee, sizeof slots);\n");
    for (int s = 0; s < call->n_sources; s++) {
        if (call->source[s].n_terms)
            buffer_print(b, "    memset(terms%d, 0xee, sizeof terms%d);\n", s, s);
        if (call->source[s].n_biases)
            buffer_print(b, "    memset(biases%d, 0xee, sizeof biases%d);\n", s, s);
    }
    if (call->n_sources)
        buffer_print(b, "    memset(sources, 0xee, sizeof sources);\n");
    buffer_print(b, "    memset(&desc, 0xee, sizeof desc);\n}\n");
}

/* ---- operations with fixed arrays -------------------------------------------------------- */

/* Word `value` of those. */
static void constant_print(struct buffer *b, const char *words, int64_t value)
{
    for (; value > 0 && words; value--) {
        words = strchr(words, ' ');
        words = words ? words + 1 : NULL;
    }
    if (words && *words != '-')
        buffer_print(b, "%.*s", (int)strcspn(words, " "), words);
    else
        buffer_print(b, "%lld", (long long)value);
}

static void fixed_print(struct repro_work *w, struct fixed_call *call)
{
    const struct fixed *const op = call->op;
    const unsigned char *const desc = call->desc.bytes;
    struct buffer *const b = &w->text;
    uint32_t word;

    memcpy(&word, desc + sizeof word, sizeof word);
    if (w->r->device)
        word |= (uint32_t)HEED_PLAN_OWN_WORKSPACE;
    buffer_print(b, "static heed_%s_desc desc = {\n    .size = sizeof desc, .flags = 0x%xu",
                 op->c_name, (unsigned)word);
    if (w->numerics)
        buffer_print(b, ", .numerics = %s", named(numerics, w->numerics));
    buffer_print(b, ",\n");
    for (int i = 0; i < op->n_desc_numbers; i++) {
        const struct fixed_number *const n = &op->desc_numbers[i];
        int64_t value;
        double real;

        memcpy(&value, desc + n->offset, sizeof value);
        memcpy(&real, desc + n->offset, sizeof real);
        memcpy(&word, desc + n->offset, sizeof word);
        buffer_print(b, "    .%s = ", n->name);
        if (n->type == FAULT_F64)
            buffer_print(b, "%.17g", real);
        else
            constant_print(b, n->words, n->type == FAULT_U32 ? word : value);
        buffer_print(b, ",\n");
    }
    for (int i = 0; i < op->n_arrays; i++)
        tensor(b, op->arrays[i].name, fixed_tensor(call, i));
    buffer_print(b, "};\n");
}

/* ---- the whole --------------------------------------------------------------------------- */

void repro_describe(struct repro_work *w)
{
    const struct fixed *const fixed = fixed_of(cf_op);
    struct buffer *const b = &w->text;

    if (fixed)
        fixed_print(w, (struct fixed_call *)(void *)w->job);
    else
        attn_print(w, cf_call_of(w->job));
    if (w->r->device) {
        buffer_print(b, "\nstatic heed_status plan_make(heed_device *device, heed_plan **plan, "
                        "heed_report *report)\n{\n    return heed_%s_plan(device, &desc, plan, "
                        "report);\n}\n", fixed ? fixed->c_name : "attn");
        return;
    }
    buffer_print(b, "\nstatic const char op_name[] = \"%s\";\n", cf_op->name);
    if (!fixed)
        attn_plugin_print(b, cf_call_of(w->job));
    else
        buffer_print(b, "\nstatic void constants_place(unsigned char **at)\n{\n    (void)at;\n}\n\n"
                        "static void descriptor_forget(void)\n{\n"
                        "    memset(&desc, 0xee, sizeof desc);\n}\n");
}
