/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A case in plain words as one object of JSON.
 */
#include "dense.h"
#include "conform/ops/attn/kinds.h"

#include "common/text.h"

#include <math.h>
#include <string.h>

/* ---- members ---------------------------------------------------------------- */

static void name_print(FILE *to, const char *name)
{
    fputs(", ", to);
    text_json_string(to, name);
    fputs(": ", to);
}

static void word_print(FILE *to, const char *name, const char *word)
{
    name_print(to, name);
    text_json_string(to, word);
}

static void number_print(FILE *to, const char *name, int64_t value)
{
    name_print(to, name);
    fprintf(to, "%lld", (long long)value);
}

/* null: without a limit. */
static void reach_print(FILE *to, const char *name, int64_t value)
{
    if (value != HEED_FAR && value != -HEED_FAR) {
        number_print(to, name, value);
        return;
    }
    name_print(to, name);
    fputs("null", to);
}

static void real_print(FILE *to, const char *name, double value)
{
    name_print(to, name);
    fprintf(to, "%.17g", value);
}

static void bool_print(FILE *to, const char *name, bool value)
{
    name_print(to, name);
    fputs(value ? "true" : "false", to);
}

/* The name of the array in a slot, if there is one. */
static void slot_print(const struct plain *plain, FILE *to, const char *name, uint32_t slot)
{
    if (slot)
        word_print(to, name, plain->slot[slot - 1]);
}

/* ---- sources ------------------------------------------------------------------ */

static int64_t one_at_least(int64_t value)
{
    return value ? value : 1;
}

static void term_print(const struct plain *plain, FILE *to, const heed_term *term)
{
    fprintf(to, "{\"kind\": \"%s\"", cf_term_kinds[term->kind].word);
    if (term->kind == HEED_TERM_WINDOW) {
        reach_print(to, "left", term->left);
        reach_print(to, "right", term->right);
    }
    number_print(to, "block", one_at_least(term->block));
    number_print(to, "step", one_at_least(term->step));
    number_print(to, "phase", term->phase);
    bool_print(to, "phase_head", term->flags & HEED_TERM_PHASE_HEAD);
    bool_print(to, "phase_query", term->flags & HEED_TERM_PHASE_QUERY);
    if (term->kind == HEED_TERM_GLOBAL) {
        bool_print(to, "keys", term->flags & HEED_TERM_KEYS || !(term->flags & HEED_TERM_ROWS));
        bool_print(to, "rows", term->flags & HEED_TERM_ROWS);
    }
    slot_print(plain, to, "slot", term->slot);
    fputc('}', to);
}

static void bias_print(const struct plain *plain, FILE *to, const heed_bias *bias)
{
    fprintf(to, "{\"kind\": \"%s\"", cf_bias_kinds[cf_bias_row(bias->kind)].word);
    slot_print(plain, to, "t", bias->t);
    slot_print(plain, to, "u", bias->u);
    slot_print(plain, to, "map", bias->map);
    slot_print(plain, to, "q_coord", bias->q_coord);
    slot_print(plain, to, "k_coord", bias->k_coord);
    number_print(to, "zero", bias->zero);
    fputc('}', to);
}

static void source_print(const struct plain *plain, FILE *to, int s)
{
    const heed_source *src = &plain->desc->sources[s];
    const struct cf_layout *layout = cf_layout_kind(src->layout);
    const struct source_data *data = &plain->p->source[s];

    fprintf(to, "{\"heads\": %lld", (long long)data->heads);
    number_print(to, "keys", data->n_k);
    word_print(to, "layout", layout->word);
    if (layout->pages)
        number_print(to, "page", data->total);
    if (layout->lists) {
        number_print(to, "run", one_at_least(src->run));
        number_print(to, "list_rows", one_at_least(src->rows));
    }
    bool_print(to, "causal", src->flags & HEED_SOURCE_CAUSAL);
    bool_print(to, "end", src->flags & HEED_SOURCE_END);
    number_print(to, "pos0", src->pos0);
    number_print(to, "pos_step", one_at_least(src->pos_step));
    number_print(to, "pos_span", one_at_least(src->pos_span));
    slot_print(plain, to, "index", src->slot);
    slot_print(plain, to, "len", src->len_slot);
    slot_print(plain, to, "mask", src->mask_slot);
    slot_print(plain, to, "row_mask", src->row_mask_slot);
    bool_print(to, "k_groups", src->flags & (HEED_SOURCE_K_GROUPS | HEED_SOURCE_K_MINIMA));
    bool_print(to, "k_minima", src->flags & HEED_SOURCE_K_MINIMA);
    bool_print(to, "v_groups", src->flags & (HEED_SOURCE_V_GROUPS | HEED_SOURCE_V_MINIMA));
    bool_print(to, "v_minima", src->flags & HEED_SOURCE_V_MINIMA);
    slot_print(plain, to, "k_scale", src->k_scale_slot);
    slot_print(plain, to, "v_scale", src->v_scale_slot);
    fputs(", \"terms\": [", to);
    for (uint32_t t = 0; t < src->n_terms; t++) {
        fputs(t ? ", " : "", to);
        term_print(plain, to, &src->terms[t]);
    }
    fputs("], \"biases\": [", to);
    for (uint32_t b = 0; b < src->n_biases; b++) {
        fputs(b ? ", " : "", to);
        bias_print(plain, to, &src->biases[b]);
    }
    fputs("]}", to);
}

/* ---- what the case needs of a kernel ------------------------------------------ */

static bool types_mixed(const struct plain *plain)
{
    const uint32_t type = plain->p->q.dtype;
    bool mixed = plain->call->out.dtype != type;

    for (int s = 0; s < plain->p->n_sources; s++)
        mixed = mixed || plain->p->source[s].k.dtype != type || plain->p->source[s].v.dtype != type;
    return mixed;
}

static bool layout_other(const struct plain *plain)
{
    bool other = plain->desc->q_layout != HEED_LAYOUT_DENSE;

    for (int s = 0; s < plain->p->n_sources; s++)
        other = other || plain->desc->sources[s].layout != HEED_LAYOUT_DENSE;
    return other;
}

static bool heads_grouped(const struct plain *plain)
{
    bool grouped = false;

    for (int s = 0; s < plain->p->n_sources; s++)
        grouped = grouped || plain->p->source[s].heads != plain->p->heads;
    return grouped;
}

static bool has_array(const struct plain *plain, const char *begin)
{
    const size_t n = strlen(begin);

    for (int i = 0; i < plain->n; i++) {
        if (!strncmp(plain->array[i].name, begin, n) && !strchr(plain->array[i].name, '_'))
            return true;
    }
    return false;
}

static bool array_finite(const struct array *a)
{
    for (int64_t i = 0; type_find(a->dtype)->exponent && i < cf_array_count(a); i++) {
        if (!isfinite(cf_decode(a->dtype, cf_array_bits(a, i))))
            return false;
    }
    return true;
}

static bool all_finite(const struct plain *plain)
{
    bool finite =
        array_finite(&plain->p->q) && (!plain->p->sinks.data || array_finite(&plain->p->sinks));

    for (int s = 0; s < plain->p->n_sources && finite; s++)
        finite = array_finite(&plain->p->source[s].k) && array_finite(&plain->p->source[s].v);
    return finite;
}

static bool extents_empty(const struct plain *plain)
{
    const struct problem *p = plain->p;
    bool empty = p->n_items * p->heads * p->n_q * p->d * p->dv == 0;

    for (int s = 0; s < p->n_sources; s++)
        empty = empty || p->source[s].n_k == 0;
    return empty;
}

static const char *const sees_words[] = {
    [SEES_EVERYTHING] = "everything",
    [SEES_CAUSAL] = "causal",
    [SEES_CAUSAL_END] = "causal_end",
    [SEES_BAND] = "band",
    [SEES_OTHER] = "mask",
};

static void needs_print(const struct plain *plain, FILE *to)
{
    const heed_attn_desc *desc = plain->desc;
    const struct {
        const char *name;
        bool needed;
    } needs[] = {
        { "sources", plain->p->n_sources != 1 },
        { "layout", layout_other(plain) },
        { "types", types_mixed(plain) },
        { "grouped", heads_grouped(plain) },
        { "d_v", plain->p->d != plain->p->dv },
        { "empty", extents_empty(plain) },
        { "scale", desc->flags & HEED_ATTN_SCALE_GIVEN },
        { "softcap", desc->softcap > 0 },
        { sees_words[plain->sees], plain->sees != SEES_EVERYTHING },
        { "bias", has_array(plain, "bias") },
        { "joined", has_array(plain, "joined") },
        { "sinks", plain->p->sinks.data != NULL },
        { "lse", plain->call->has_lse },
        { "blank", plain->blank },
        { "nonfinite", !all_finite(plain) },
    };
    bool first = true;

    fputs(", \"needs\": [", to);
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        if (needs[i].needed)
            fprintf(to, first ? "\"%s\"" : ", \"%s\"", needs[i].name);
        first = first && !needs[i].needed;
    }
    fputc(']', to);
}

/* ---- all ----------------------------------------------------------------------- */

static void arrays_print(const struct plain *plain, const char *folder, bool outputs, FILE *to)
{
    bool first = true;

    fprintf(to, ", \"%s\": {", outputs ? "outputs" : "inputs");
    for (int i = 0; i < plain->n; i++) {
        const struct plain_array *a = &plain->array[i];
        char path[4096];

        if (a->output != outputs)
            continue;
        fprintf(to, "%s\"%s\": {\"dtype\": \"%s\", \"shape\": [", first ? "" : ", ", a->name,
                npy_dtype_name(a->npy.dtype));
        for (int k = 0; k < a->npy.ndim; k++)
            fprintf(to, k ? ", %lld" : "%lld", (long long)a->npy.shape[k]);
        fputc(']', to);
        if (folder) {
            snprintf(path, sizeof path, "%s%s%s.npy", folder, *folder ? "/" : "", a->name);
            word_print(to, "file", path);
        }
        fputc('}', to);
        first = false;
    }
    fputc('}', to);
}

static void attn_print(const struct plain *plain, bool ask, FILE *to)
{
    static const char *const lses[] = { "none", "plain", "with_sink" };
    const heed_attn_desc *desc = plain->desc;
    const struct problem *p = plain->p;
    const double width = p->d ? 1 / sqrt((double)p->d) : 0;
    char line[LINE];

    cf_case_print(&p->c, line);
    fputs("{\"heed\": 1, \"op\": \"attn\"", to);
    if (ask)
        bool_print(to, "ask", true);
    word_print(to, "line", plain->line ? plain->line : line);
    if (plain->form)
        word_print(to, "form", plain->form);
    needs_print(plain, to);
    number_print(to, "items", p->n_items);
    number_print(to, "heads", p->heads);
    number_print(to, "rows", p->n_q);
    number_print(to, "d", p->d);
    number_print(to, "d_v", p->dv);
    real_print(to, "scale", desc->flags & HEED_ATTN_SCALE_GIVEN ? p->scale : width);
    real_print(to, "softcap", desc->softcap);
    word_print(to, "sees", sees_words[plain->sees]);
    reach_print(to, "low", plain->low);
    reach_print(to, "high", plain->high);
    word_print(to, "lse", lses[cf_g(&p->c, G_LSE)]);
    word_print(to, "align", desc->flags & HEED_ATTN_ALIGN_END ? "end" : "start");
    number_print(to, "q_pos0", desc->q_pos0);
    number_print(to, "q_pos_step", one_at_least(desc->q_pos_step));
    word_print(to, "q_layout", cf_layout_kind(desc->q_layout)->word);
    slot_print(plain, to, "q_begin", desc->q_slot);
    slot_print(plain, to, "o_begin", desc->o_slot);
    slot_print(plain, to, "q_len", desc->q_len_slot);
    slot_print(plain, to, "q_pos", desc->q_pos_slot);
    fputs(", \"sources\": [", to);
    for (int s = 0; s < p->n_sources; s++) {
        fputs(s ? ", " : "", to);
        source_print(plain, to, s);
    }
    fputc(']', to);
}

/* ---- operations with fixed arrays ------------------------------------------------ */

static void desc_number_print(FILE *to, const unsigned char *desc,
                              const struct fixed_number *number)
{
    uint32_t word;
    int64_t value;
    double real;

    memcpy(&word, desc + number->offset, sizeof word);
    memcpy(&value, desc + number->offset, sizeof value);
    memcpy(&real, desc + number->offset, sizeof real);
    if (number->type == FAULT_F64)
        real_print(to, number->name, real);
    else
        number_print(to, number->name, number->type == FAULT_U32 ? word : value);
}

static void fixed_print(const struct plain *plain, bool ask, FILE *to)
{
    const struct fixed_problem *const p = plain->job->problem;
    const unsigned char *const desc = plain->job->desc;
    const struct fixed *const op = p->op;
    uint32_t flags;
    char line[LINE];

    memcpy(&flags, desc + sizeof flags, sizeof flags);
    cf_case_print(&p->c, line);
    fputs("{\"heed\": 1", to);
    word_print(to, "op", op->op.name);
    if (ask)
        bool_print(to, "ask", true);
    word_print(to, "line", plain->line ? plain->line : line);
    if (plain->form)
        word_print(to, "form", plain->form);
    number_print(to, "flags", flags & ~(uint32_t)HEED_PLAN_OWN_WORKSPACE);
    for (int i = 0; i < op->n_desc_numbers; i++)
        desc_number_print(to, desc, &op->desc_numbers[i]);
}

void plain_print(const struct plain *plain, const char *folder, bool ask, FILE *to)
{
    if (fixed_of(cf_op))
        fixed_print(plain, ask, to);
    else
        attn_print(plain, ask, to);
    arrays_print(plain, folder, false, to);
    arrays_print(plain, folder, true, to);
    fputc('}', to);
}
