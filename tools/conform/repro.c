/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The program of a case around its arrays (repro_data.c) and its descriptor (repro_desc.c).
 */
#define _POSIX_C_SOURCE 200809L
#include "repro.h"

#include "place.h"

#include <stdlib.h>
#include <string.h>
#if defined _WIN32
#include <direct.h>
#else
#include <sys/stat.h>
#endif

/* ---- the case ---------------------------------------------------------------------------- */

static void block_add(struct repro_work *w, const struct place *place, const char *name, int number,
                      unsigned flags)
{
    struct repro_block *const block = &w->block[w->n_blocks++];
    const size_t size = cf_dtype_size(place->t.dtype);
    const size_t mis = flags & CALL_NATURAL ? 0 : (size_t)cf_g(&w->p->c, G_MIS) * size;
    int64_t low, high;

    *block = (struct repro_block){ .place = place };
    snprintf(block->name, sizeof block->name, number < 0 ? "%s" : "%s%d", name, number);
    place_span(place, &low, &high);
    block->first = place->count ? (size_t)-low + mis : 0;
    block->bytes = place->count ? block->first + (size_t)high : size;
    block->data = place->snapshot + (place->count ? place->buf.offset - block->first : 0);
}

static void blocks_find(struct repro_work *w, unsigned flags)
{
    const struct call *call = w->call;

    block_add(w, &call->q, "q", -1, flags);
    block_add(w, &call->o, "o", -1, flags);
    w->block[1].output = true;
    if (call->has_lse) {
        block_add(w, &call->lse, "lse", -1, flags);
        w->block[2].output = true;
    }
    if (call->sinks.snapshot)
        block_add(w, &call->sinks, "sinks", -1, flags);
    for (int s = 0; s < call->n_sources; s++) {
        block_add(w, &call->k[s], "k", s, flags);
        block_add(w, &call->v[s], "v", s, flags);
    }
    for (int constant = 0; constant < 2; constant++) {
        for (int i = 0; i < call->n_slots; i++) {
            if ((call->slot[i].data != NULL) != constant)
                continue;
            block_add(w, &call->aux[i], "slot", i + 1, flags);
            w->block[w->n_blocks - 1].constant = constant ? i + 1 : 0;
        }
        w->n_bound = constant ? w->n_bound : w->n_blocks;
    }
}

/* The problem that failed: all items, or the one that was computed alone. */
static struct problem *problem_of(const struct repro *r, const struct cs *c)
{
    struct problem *p = cf_problem_make(c, NULL, 0, true), *single;
    int64_t item;

    if (!p || strcmp(r->word, "alone") || p->n_items == 0)
        return p;
    item = (int64_t)(c->seed % (uint64_t)p->n_items);
    single = cf_problem_make(c, &item, 1, true);
    cf_problem_free(p);
    return single;
}

static bool shares_rows(const struct problem *p)
{
    struct item_view views[MAX_BATCH];

    for (int64_t b = 0; b < p->n_items; b++)
        cf_item_view(p, b, &views[b]);
    for (int64_t b = 0; b < p->n_items; b++) {
        for (int64_t row = 0; row < cf_rows_of(p, &views[b]); row++) {
            if (cf_row_shared(p, views, b, views[b].q_begin + row))
                return true;
        }
    }
    return false;
}

static bool is(const struct repro *r, const char *word)
{
    return strcmp(r->word, word) == 0;
}

static bool exact_on(const struct repro_work *w)
{
    struct call call = { 0 };
    heed_plan_props props = { .size = sizeof props };
    heed_plan *plan = NULL;

    if (!w->r->device)
        return w->numerics == HEED_NUMERICS_EXACT;
    call.on = w->r->device;
    call.desc = w->call->desc;
    if (cf_call_plan(&call, &plan, NULL) >= 0 && heed_plan_info(plan, &props) < 0)
        props.numerics = 0;
    heed_plan_drop(plan);
    return props.numerics != HEED_NUMERICS_REPEAT && props.numerics != HEED_NUMERICS_FAST;
}

/* ---- programs -------------------------------------------------------------------------------- */

/* No text of the kit ends a comment or a string of the program. */
static void quoted(struct buffer *b, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\' || *text == '?')
            buffer_print(b, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            buffer_print(b, "\\%03o", (unsigned)(unsigned char)*text);
        else
            buffer_add(b, text, 1);
    }
}

static void commented(struct buffer *b, const char *text)
{
    for (; *text; text++)
        buffer_add(b, *text == '/' && b->n && b->at[b->n - 1] == '*' ? " /"
                      : *text == '*' && b->n && b->at[b->n - 1] == '/' ? " *"
                      : (unsigned char)*text < 0x20                    ? " "
                                                                       : text,
                   (*text == '/' && b->n && b->at[b->n - 1] == '*') ||
                           (*text == '*' && b->n && b->at[b->n - 1] == '/')
                       ? 2
                       : 1);
}

static void title_print(struct repro_work *w, const char *stem)
{
    struct buffer *const b = &w->text;

    buffer_print(b, "/* A failed case of heed-conform, verdict \"%s\":\n *   ", w->r->word);
    commented(b, w->r->why);
    buffer_print(b, "\n * The case, and the command that runs it in the kit:\n *   ");
    commented(b, w->r->line);
    buffer_print(b, "\n *   ");
    commented(b, w->r->repeat);
    buffer_print(b, "\n * Build this program and run it; it prints what differs first, exit status "
                    "1:\n *   cc -std=c17 %s.c $(pkg-config --cflags --libs heed)%s -o %s\n */\n",
                 stem, w->r->device ? "" : " -ldl", stem);
}

static void device_print(struct repro_work *w)
{
    struct buffer *const b = &w->text;

    buffer_print(b, "\nstatic const char device_name[] = \"");
    quoted(b, w->r->device->name);
    buffer_print(b, "\";\nenum { threads_wanted = %lld };\n",
                 (long long)(strcmp(w->r->word, "layout") ? 1 : w->r->threads));
    buffer_print(b, "\nstatic unsigned char *filled(int i)\n{\n"
                    "    unsigned char *const at = malloc(blocks[i].bytes);\n\n"
                    "    if (!at)\n        exit(2);\n"
                    "    memset(at, 0xa5, blocks[i].bytes);\n    if (blocks[i].data)\n"
                    "        memcpy(at, blocks[i].data, blocks[i].bytes);\n    return at;\n}\n");
    buffer_print(b, "%s", repro_device_main);
}

/* Constant data goes into the pages of a run, and with the descriptor when that was prepared. */
static void plugin_print(struct repro_work *w)
{
    struct buffer *const b = &w->text;

    buffer_print(b, "\nstatic const char plugin_file[] = \"");
    quoted(b, w->r->plugin);
    buffer_print(b, "\";\n\nstatic void constants_place(unsigned char **at)\n{\n    (void)at;\n");
    for (int i = w->n_bound; i < w->n_blocks; i++)
        buffer_print(b, "    slots[%d].data = at[%d] + %zu;\n", w->block[i].constant - 1, i,
                     w->block[i].first);
    buffer_print(b, "}\n\nstatic void pages_protect(unsigned char *at, size_t bytes, "
                    "int protection);\n\n"
                    "/* What may go when prepare has returned goes. */\n"
                    "static void forget(unsigned char **first, unsigned char **second)\n{\n"
                    "    (void)first;\n    (void)second;\n");
    for (int i = w->n_bound; i < w->n_blocks; i++)
        buffer_print(b, "    pages_protect(first[%d], blocks[%d].bytes, PROT_NONE);\n"
                        "    pages_protect(second[%d], blocks[%d].bytes, PROT_NONE);\n",
                     i, i, i, i);
    if (w->call->n_slots)
        buffer_print(b, "    memset(slots, 0xee, sizeof slots);\n");
    for (int s = 0; s < w->call->n_sources; s++) {
        if (w->call->source[s].n_terms)
            buffer_print(b, "    memset(terms%d, 0xee, sizeof terms%d);\n", s, s);
        if (w->call->source[s].n_biases)
            buffer_print(b, "    memset(biases%d, 0xee, sizeof biases%d);\n", s, s);
    }
    if (w->call->n_sources)
        buffer_print(b, "    memset(sources, 0xee, sizeof sources);\n");
    buffer_print(b, "    memset(&desc, 0xee, sizeof desc);\n}\n");
    buffer_print(b, "%s%s%s", repro_plugin_host, repro_plugin_memory, repro_plugin_main);
}

static bool program_print(struct repro_work *w, const char *stem)
{
    bool files = false;

    title_print(w, stem);
    buffer_print(&w->text, "%s", w->r->device ? repro_device_head : repro_plugin_head);
    if (w->judge == REPRO_BOUND)
        buffer_print(&w->text, "#include <math.h>\n");
    if (!repro_data_print(w, stem, &files))
        return false;
    repro_loads_print(w, stem, files);
    repro_describe(w);
    repro_blocks_print(w);
    repro_judges_print(w);
    if (w->r->device)
        device_print(w);
    else
        plugin_print(w);
    return !w->text.lost;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* "failure-1-cpu-bits" */
static void stem_make(const struct repro *r, char stem[128])
{
    const char *name = r->device ? r->device->name : "plugin";

    snprintf(stem, 128, "failure-%lld-%.40s-%.20s", (long long)r->number, name, r->word);
    for (char *at = stem; *at; at++) {
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", *at))
            *at = '-';
    }
}

/* NULL: there can be a program. */
static const char *none(const struct repro *r, const struct problem *p)
{
    return !p               ? "no memory"
           : is(r, "meta")  ? "two calls are at odds, and none is wrong alone"
           : is(r, "load")  ? "the plug-in cannot be loaded"
           : shares_rows(p) ? "sequences share rows, whose contents are free"
                            : NULL;
}

/* If there is none, its files cannot be written. */
static void folder_make(const char *path)
{
#if defined _WIN32
    _mkdir(path);
#else
    mkdir(path, 0777);
#endif
}

static bool write_all(struct repro_work *w, struct call *call, unsigned flags, struct buffer *path)
{
    const struct repro *r = w->r;
    char stem[128];

    if (!cf_call_make(call, r->reference, w->p, flags, w->p->c.seed + 1))
        return false;
    w->numerics = r->plugin ? r->numerics : call->desc.numerics;
    if (cf_call_run(call, NULL) < 0 && !is(r, "check"))
        return false;
    blocks_find(w, flags);
    w->judge = is(r, "bound") || !exact_on(w) ? REPRO_BOUND
               : r->device                    ? REPRO_REFERENCE
                                              : REPRO_BITS;
    if (is(r, "check"))
        w->judge = REPRO_REFERENCE;
    if (w->judge == REPRO_BOUND)
        repro_cells_make(w);
    stem_make(r, stem);
    folder_make(r->folder);
    if (!program_print(w, stem))
        return false;
    buffer_print(path, "%s/%s.c", r->folder, stem);
    return !path->lost && repro_file_write(buffer_text(path), w->text.at, w->text.n);
}

bool cf_repro_write(const struct repro *r, const struct cs *c, struct buffer *path)
{
    struct problem *const p = problem_of(r, c);
    struct call *const call = calloc(1, sizeof *call);
    struct repro_work *const w = calloc(1, sizeof *w);
    const char *why = call && w ? none(r, p) : "no memory";
    const unsigned flags = is(r, "layout") ? CALL_NATURAL : 0;

    if (!why) {
        p->weights = r->weights;
        w->r = r;
        w->p = p;
        w->call = call;
        if (!write_all(w, call, flags, path))
            why = "the program or its data cannot be written";
    }
    if (why) {
        buffer_free(path);
        buffer_print(path, "none: %s", why);
    }
    if (w) {
        buffer_free(&w->text);
        free(w->cells[0]);
        free(w->cells[1]);
    }
    if (call)
        cf_call_finish(call);
    free(w);
    free(call);
    cf_problem_free(p);
    return !why;
}
