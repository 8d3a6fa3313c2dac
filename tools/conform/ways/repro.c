/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The template with a case in its places.
 */
#include "repro.h"

#include "reproduction.h"
#include "common/os.h"
#include "conform/engine/subject.h"

#include <stdlib.h>
#include <string.h>

static bool is(const struct repro *r, const char *word)
{
    return strcmp(r->word, word) == 0;
}

/* ---- the case ---------------------------------------------------------------------------- */

/* The item that was computed alone; -1: all were. */
static int64_t item_alone(const struct repro *r, const struct cs *c, int64_t items)
{
    return is(r, "alone") && items > 0 ? (int64_t)(c->seed % (uint64_t)items) : -1;
}

/* The job of that item in place of the job of all. false: no memory. */
static bool alone(struct job **job, const struct repro *r, const struct cs *c, unsigned flags)
{
    const struct cf_families *const f = cf_op->families;
    const int64_t item = item_alone(r, c, f->items((*job)->problem));
    void *one;

    if (item < 0)
        return true;
    one = f->pick((*job)->problem, &item, 1, false);
    cf_close(*job);
    *job = one ? f->describe(one, flags) : NULL;
    if (!*job)
        f->problem_free(one);
    return *job != NULL;
}

static bool shares_rows(const struct problem *p)
{
    struct item_view views[MAX_BATCH];

    for (int64_t b = 0; b < p->n_items; b++)
        cf_item_view(p, b, &views[b]);
    for (int64_t b = 0; b < p->n_items; b++) {
        for (int64_t row = 0; row < cf_rows_of(p, &views[b]); row++) {
            if (cf_row_shared(p, views, b, views[b].o_begin + row))
                return true;
        }
    }
    return false;
}

static bool rows_shared(const struct job *job)
{
    return !fixed_of(cf_op) && shares_rows(job->problem);
}

static bool exact_on(const struct repro_work *w)
{
    heed_plan_props props = { .size = sizeof props };
    heed_plan *plan = NULL;

    if (!w->r->device)
        return w->numerics == HEED_NUMERICS_EXACT;
    if (w->job->plan(w->r->device->device, w->job->desc, &plan, NULL) >= 0 &&
        heed_plan_info(plan, &props) < 0)
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

/* Whom the program is for. */
static void names_print(struct repro_work *w)
{
    struct buffer *const b = &w->text;

    if (!w->r->device) {
        buffer_print(b, "\nstatic const char plugin_file[] = \"");
        quoted(b, w->r->plugin);
        buffer_print(b, "\";\n");
        return;
    }
    buffer_print(b, "\nstatic const char device_name[] = \"");
    quoted(b, w->r->device->name);
    buffer_print(b, "\";\nenum { threads_wanted = %lld };\n",
                 (long long)(strcmp(w->r->word, "layout") ? 1 : w->r->threads));
}

/* What belongs into the place of that name. */
static bool place_print(struct repro_work *w, const char *name, const char *stem)
{
    if (!strcmp(name, "title"))
        title_print(w, stem);
    else if (!strcmp(name, "data"))
        return repro_data_print(w, stem);
    else if (!strcmp(name, "blocks"))
        repro_blocks_print(w);
    else if (!strcmp(name, "operands"))
        repro_operands_print(w);
    else if (!strcmp(name, "descriptor")) {
        repro_describe(w);
        names_print(w);
    } else {
        return false;
    }
    return true;
}

static bool program_print(struct repro_work *w, const char *stem)
{
    static const char mark[] = "//@";
    bool taken = true, good = true;

    for (int i = 0; reproduction[i] && good; i++) {
        const char *const line = reproduction[i];

        if (strncmp(line, mark, strlen(mark)))
            buffer_print(&w->text, taken ? "%s\n" : "", line);
        else if (!strcmp(line, "//@end"))
            taken = true;
        else if (!strncmp(line, "//@if ", 6))
            taken = !strcmp(line + 6, w->r->device ? "device" : "plugin");
        else if (taken)
            good = place_print(w, line + strlen(mark), stem);
    }
    return good && !w->text.lost;
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
static const char *none(const struct repro *r, const struct job *job)
{
    return !job              ? "no memory"
           : is(r, "meta")   ? "two calls are at odds, and none is wrong alone"
           : is(r, "load")   ? "the plug-in cannot be loaded"
           : rows_shared(job) ? "sequences share rows, whose contents are free"
                             : NULL;
}

/* Runs the case on the reference, whose plans have the operands in their order. */
static bool reference_run(struct repro_work *w, uint64_t seed)
{
    struct job *const job = w->job;
    heed_plan *plan = NULL;

    job->on = w->r->reference;
    if (!job_upload(job, seed + 1))
        return false;
    if (job->plan(job->on->device, job->desc, &plan, NULL) >= 0)
        w->n_order = job_order(job, plan, w->order);
    heed_plan_drop(plan);
    return is(w->r, "check") || (w->n_order >= 0 && job_run(job, NULL) >= 0);
}

static bool write_all(struct repro_work *w, const struct cs *c, struct buffer *path)
{
    const struct repro *r = w->r;
    char stem[128];

    w->numerics = r->plugin ? r->numerics : *w->job->numerics_wanted;
    if (!reference_run(w, c->seed))
        return false;
    w->held = !is(r, "check") && (!r->device || is(r, "bound") || !exact_on(w));
    w->by_bits = w->held && !is(r, "bound") && exact_on(w);
    if (w->held)
        repro_cells_make(w);
    stem_make(r, stem);
    os_folder_make(r->folder);
    if (w->text.lost || !program_print(w, stem))
        return false;
    buffer_print(path, "%s/%s.c", r->folder, stem);
    return !path->lost && repro_file_write(buffer_text(path), w->text.at, w->text.n);
}

bool cf_repro_write(const struct repro *r, const struct cs *c, struct buffer *path)
{
    const unsigned flags = is(r, "layout") ? CALL_NATURAL : 0;
    struct job *job = cf_open(c, flags, true);
    struct repro_work *const w = calloc(1, sizeof *w);
    const char *why = w ? none(r, job) : "no memory";

    if (!why) {
        w->r = r;
        if (alone(&job, r, c, flags))
            w->job = job;
        if (!w->job || !write_all(w, c, path))
            why = "the program or its data cannot be written";
    }
    if (why) {
        buffer_free(path);
        buffer_print(path, "none: %s", why);
    }
    for (int i = 0; w && i < JOB_OPERANDS; i++)
        free(w->cells[i]);
    if (w)
        buffer_free(&w->text);
    free(w);
    cf_close(job);
    return !why;
}
