/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the generator of cases asks of attention.
 */
#include "kinds.h"
#include "conform/engine/cover.h"
#include "conform/engine/subject.h"

#include <stdlib.h>
#include <string.h>

static bool of_memory(int field)
{
    static const int globals[] = { G_QS, G_OS, G_LS, G_MIS, G_SHARE, G_SS, G_NUM, G_WS };
    static const int of_source[] = { S_KS, S_VS, S_KB, S_PAD };

    for (size_t i = 0; i < sizeof globals / sizeof *globals; i++) {
        if (field == globals[i])
            return true;
    }
    for (int s = 0; s < MAX_SOURCES; s++) {
        for (size_t i = 0; i < sizeof of_source / sizeof *of_source; i++) {
            if (field == cf_at_source(s) + of_source[i])
                return true;
        }
    }
    return false;
}

static void attn_smallest(struct cs *c)
{
    cf_case_default(c);
    c->v[G_BATCH] = 1;
    c->v[G_H] = 1;
    c->v[G_NQ] = 7;
    c->v[G_D] = 8;
    c->v[G_DV] = 7;
}

static void attn_shrink(struct cs *c)
{
    c->v[G_BATCH] = c->v[G_H] = 1;
}

/* Takes what a value asks of others, where that is left open. */
static void wish(struct cover *cover, struct cs *c, const int *pins, int n, int field,
                 int64_t value)
{
    if (!cf_draw_pinned(cover, pins, n, field))
        c->v[field] = value;
}

static void wish_slot(struct cover *cover, struct cs *c, const int *pins, int n, int field)
{
    if (c->v[field] == HAVE_NONE)
        wish(cover, c, pins, n, field, 1 + rng_below(&cover->r, 3));
}

/* One GLOBAL term for keys and one for rows; PHASE_QUERY goes with one step and single positions.
 */
static void wish_terms(struct cover *cover, struct cs *c, const int *pins, int n, int s,
                       int64_t *query_step)
{
    bool keys = false, rows = false;

    for (int t = 0; t < cf_s(c, s, S_NT); t++) {
        const int at = cf_at_term(s, t);
        const int64_t kind = cf_t(c, s, t, T_KIND), gf = cf_t(c, s, t, T_GF),
                      ph = cf_t(c, s, t, T_PH);

        if (cf_term_kinds[kind].slot_must)
            wish_slot(cover, c, pins, n, at + T_SLOT);
        if (cf_term_takes(kind, T_GF)) {
            const bool k = gf != GF_ROWS, r = gf == GF_ROWS || gf == GF_BOTH;

            if ((k && keys) || (r && rows)) {
                wish(cover, c, pins, n, at + T_GF, keys && !rows ? GF_ROWS : GF_KEYS);
                if (keys && rows)
                    wish(cover, c, pins, n, at + T_KIND, HEED_TERM_WINDOW);
            }
            keys = keys || k;
            rows = rows || r;
        }
        if (cf_term_takes(kind, T_STEP) && cf_t(c, s, t, T_STEP) > 1 && ph >= PH_QUERY) {
            wish(cover, c, pins, n, cf_at_source(s) + S_PSTEP, 1);
            if (*query_step)
                wish(cover, c, pins, n, at + T_STEP, *query_step);
            *query_step = cf_t(c, s, t, T_STEP);
        }
    }
}

/* What the channels of a type are to be a multiple of: blocks are not cut, and of groups there are
 * to be several. */
static int64_t multiple(int64_t word, int64_t group)
{
    const int64_t elements = type_elements(type_nth(TYPE_KEYS, word));

    return elements == 32 || (type_scaled(TYPE_KEYS, word) && group >= GROUPS_32) ? 32 : elements;
}

static void wish_widths(struct cover *cover, struct cs *c, const int *pins, int n, int s)
{
    static const int64_t widths[] = { 64, 96, 128, 64 };

    if (cf_g(c, G_D) % multiple(cf_s(c, s, S_K), cf_s(c, s, S_KG)) != 0)
        wish(cover, c, pins, n, G_D, widths[rng_below(&cover->r, 4)]);
    if (cf_g(c, G_DV) % multiple(cf_s(c, s, S_V), cf_s(c, s, S_VG)) != 0)
        wish(cover, c, pins, n, G_DV, widths[rng_below(&cover->r, 4)]);
}

static void attn_wishes(struct cover *cover, struct cs *c, const int *pins, int n)
{
    int64_t query_step = 0;

    if (cf_queries_packed(c))
        wish_slot(cover, c, pins, n, G_QLEN);
    for (int s = 0; s < cf_g(c, G_NS); s++) {
        const struct cf_layout *layout = cf_layout_of(c, s);
        const int at = cf_at_source(s);

        if (layout->needs_len)
            wish_slot(cover, c, pins, n, at + S_LEN);
        if (layout->axes == 0 && !layout->packed && cf_s(c, s, S_NK) == 0 &&
            cf_s(c, s, S_IDX) == SLOT_CONST)        /* no row to name */
            wish(cover, c, pins, n, at + S_IDX, SLOT_RT);
        if (layout->lists) {
            wish_slot(cover, c, pins, n, at + S_LH);
            if (cf_s(c, s, S_NT) > 1)
                wish(cover, c, pins, n, at + S_NT, cf_s(c, s, S_NT) % 2);
            if (cf_s(c, s, S_NT) > 0) {
                wish(cover, c, pins, n, cf_at_term(s, 0) + T_KIND, HEED_TERM_ALL);
                wish(cover, c, pins, n, cf_at_term(s, 0) + T_STEP, 1);
            }
        }
        wish_terms(cover, c, pins, n, s, &query_step);
        wish_widths(cover, c, pins, n, s);
    }
    cf_case_normalize(c);
}

/* Which fields a report is about: from the group its path names. */
static void attn_blame(struct cover *cover, struct cs *c, const int *pins, int n,
                       const heed_report *report, int *from, int *to)
{
    int s = 0, i = 0;

    if (report->status == HEED_E_AMBIGUOUS && !cf_draw_pinned(cover, pins, n, G_ALIGN)) {
        c->v[G_ALIGN] = rng_below(&cover->r, 2) ? ALIGN_START : ALIGN_END;
        *to = *from;
        return;
    }
    if (sscanf(report->field, "sources[%d].terms[%d]", &s, &i) == 2 && s < MAX_SOURCES &&
        i < cf_s(c, s, S_NT)) {
        *from = cf_at_term(s, i);
        *to = *from + T_COUNT;
    } else if (sscanf(report->field, "sources[%d].biases[%d]", &s, &i) == 2 && s < MAX_SOURCES &&
               i < cf_s(c, s, S_NB)) {
        *from = cf_at_bias(s, i);
        *to = *from + B_COUNT;
    } else if (sscanf(report->field, "sources[%d]", &s) == 1 && s < MAX_SOURCES) {
        *from = cf_at_source(s);
        *to = *from + S_COUNT;
    }
}

static int source_of(int field)
{
    int s = -1;

    for (int i = 0; i < MAX_SOURCES; i++)
        s = field >= cf_at_source(i) ? i : s;
    return s;
}

/* Does the case say anything about the two fields together? Without a row to compute it says
 * something only about there being none; a source without keys likewise. */
static bool attn_telling(const struct cs *c, int a, int b)
{
    const bool no_batch = cf_batch_count(c) == 0, no_rows = cf_g(c, G_NQ) == 0;
    const int sources[2] = { source_of(a), source_of(b) };

    if ((no_batch || no_rows) && !(no_batch && (a == G_BATCH || b == G_BATCH)) &&
        !(no_rows && (a == G_NQ || b == G_NQ)))
        return false;
    for (int i = 0; i < 2; i++) {
        const int s = sources[i], nk = s < 0 ? -1 : cf_at_source(s) + S_NK;

        if (s >= 0 && c->v[nk] == 0 && a != nk && b != nk)
            return false;
    }
    return true;
}

static bool is_nk(int field)
{
    for (int s = 0; s < MAX_SOURCES; s++) {
        if (field == cf_at_source(s) + S_NK)
            return true;
    }
    return false;
}

static bool attn_empties(int field, int64_t value)
{
    return (value == 0 && (field == G_NQ || is_nk(field))) || (field == G_BATCH && value == 3);
}

/* The rarely used fields first: any case has the global ones. */
static int attn_first(void)
{
    return cf_at_source(0);
}

/* Numbers that may be anything about a level, and the least they may be. */
static const struct {
    int group, field; /* of globals (0), a source (1), a term (2) */
    int64_t least;
} loose[] = {
    { 0, G_NQ, 1 },           { 0, G_QPOS0, -9 },       { 1, S_NK, 1 },
    { 1, S_RUN, 1 },          { 1, S_ROWS, 1 },         { 1, S_POS0, -99 },
    { 1, S_PSPAN, 1 },        { 2, T_LEFT, -99 },       { 2, T_RIGHT, -99 },
    { 2, T_BLOCK, 1 },        { 2, T_PHASE, -9 },
};

static void number_vary(struct rng *r, struct cs *c, int field, int64_t least)
{
    if (rng_below(r, 3) || !cf_field_active(c, field) || c->v[field] == HEED_FAR ||
        c->v[field] < least)
        return;
    c->v[field] += rng_range(r, -3, 3);
    c->v[field] = c->v[field] < least ? least : c->v[field];
}

static void attn_vary(struct rng *r, struct cs *c)
{
    for (size_t i = 0; i < sizeof loose / sizeof *loose; i++) {
        if (loose[i].group == 0)
            number_vary(r, c, loose[i].field, loose[i].least);
        for (int s = 0; loose[i].group && s < cf_g(c, G_NS); s++) {
            if (loose[i].group == 1)
                number_vary(r, c, cf_at_source(s) + loose[i].field, loose[i].least);
            for (int t = 0; loose[i].group == 2 && t < cf_s(c, s, S_NT); t++)
                number_vary(r, c, cf_at_term(s, t) + loose[i].field, loose[i].least);
        }
    }
}

/* ---- parts ------------------------------------------------------------------------- */

/* n groups from `first` on, of which number i goes and the later ones move down. */
static void group_leave(struct cs *c, int (*at)(int s, int i), int s, int fields, int i, int n)
{
    for (; i + 1 < n; i++)
        memmove(&c->v[at(s, i)], &c->v[at(s, i + 1)], (size_t)fields * sizeof *c->v);
}

static void source_move(struct cs *c, int from, int to)
{
    memmove(&c->v[cf_at_source(to)], &c->v[cf_at_source(from)], S_COUNT * sizeof *c->v);
    for (int t = 0; t < cf_s(c, to, S_NT); t++)
        memmove(&c->v[cf_at_term(to, t)], &c->v[cf_at_term(from, t)], T_COUNT * sizeof *c->v);
    for (int b = 0; b < cf_s(c, to, S_NB); b++)
        memmove(&c->v[cf_at_bias(to, b)], &c->v[cf_at_bias(from, b)], B_COUNT * sizeof *c->v);
}

/* Sources, then the terms and biases of each. */
static bool attn_without(const struct cs *c, int i, struct cs *out)
{
    const int sources = (int)cf_g(c, G_NS);

    *out = *c;
    if (sources > 1 && i < sources) {
        for (int s = i; s + 1 < sources; s++)
            source_move(out, s + 1, s);
        out->v[G_NS]--;
        return true;
    }
    i -= sources > 1 ? sources : 0;
    for (int s = 0; s < sources; s++) {
        const int terms = (int)cf_s(c, s, S_NT), biases = (int)cf_s(c, s, S_NB);

        if (i < terms) {
            group_leave(out, cf_at_term, s, T_COUNT, i, terms);
            out->v[cf_at_source(s) + S_NT]--;
            return true;
        }
        if (i < terms + biases) {
            group_leave(out, cf_at_bias, s, B_COUNT, i - terms, biases);
            out->v[cf_at_source(s) + S_NB]--;
            return true;
        }
        i -= terms + biases;
    }
    return false;
}

const struct cf_op cf_op_attn = {
    .name = "attn",
    .families = &cf_attn_families,
    .errors = &cf_attn_errors,
    .named = cf_family_named,
    .axes = cf_attn_axes,
    .work = cf_case_work,
    .most = 65536,
    .smallest = attn_smallest,
    .shrink = attn_shrink,
    .telling = attn_telling,
    .empties = attn_empties,
    .fill = G_FILL,
    .numerics = G_NUM,
    .of_memory = of_memory,
    .idle = cf_attn_idle,
    .first = attn_first,
    .wishes = attn_wishes,
    .blame = attn_blame,
    .vary = attn_vary,
    .without = attn_without,
    .edges = cf_attn_edges,
    .single = cf_attn_single,
    .singles = cf_attn_singles,
    .ties = cf_attn_ties,
    .vital = cf_attn_vital,
    .line = cf_attn_line,
    .summary = cf_attn_summary,
    .vain = cf_attn_vain,
};
