/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of properties, and a case judged by them.
 *
 * All properties but `threads` are judged with workers that follow each other, first one first, so
 * that a race or a split by workers shows as what it is. What depends on addresses changes with
 * the items and the rows of a call, too: so `layout` comes before `batch` and `chunk`.
 */
#include "invariance.h"

#include "session.h"

#include <stdlib.h>
#include <string.h>

static const struct conditions plain = { .width = 3, .order = WORKERS_FIRST_FIRST };

static int64_t items_of(const struct subject *s)
{
    return s->op->families->apart(s->problem) ? s->op->families->items(s->problem) : 0;
}

static void same_problem(const struct subject *s, struct form *f, const char *what)
{
    snprintf(f->what, sizeof f->what, "%s", what);
    f->problem = s->problem;
}

/* A problem of the form's own; NULL: the case has no such form. */
static int other_problem(struct form *f, void *own)
{
    f->problem = f->own = own;
    return own ? FORM_MADE : FORM_NONE;
}

/* ---- repeat ------------------------------------------------------------------------ */

static int repeat_form(const struct subject *s, int i, struct form *f)
{
    if (i > 1)
        return FORM_END;
    f->how.again = i == 1;
    same_problem(s, f, i == 0 ? "a second run" : "a second run of the same state");
    return FORM_MADE;
}

/* ---- batch --------------------------------------------------------------------------- */

static int picked(const struct subject *s, struct form *f, int64_t n)
{
    f->relation.items = f->items;
    return other_problem(f, s->op->families->pick(s->problem, f->items, n, false));
}

static int batch_form(const struct subject *s, int i, struct form *f)
{
    const int64_t n = items_of(s), item = n ? (int64_t)(s->seed % (uint64_t)n) : 0;
    const int64_t other = n ? (item + 1) % n : 0;

    if (i > 4)
        return FORM_END;
    if (n < 2 || n > MAX_BATCH)
        return FORM_NONE;
    switch (i) {
    case 0:
    case 1:
        f->items[0] = i == 0 ? item : other;
        snprintf(f->what, sizeof f->what, "item %lld alone", (long long)f->items[0]);
        return picked(s, f, 1);
    case 2:
        for (int64_t b = 0; b < n; b++)
            f->items[b] = n - 1 - b;
        snprintf(f->what, sizeof f->what, "items in reverse order");
        return picked(s, f, n);
    case 3:
        f->items[0] = other;
        f->items[1] = item;
        snprintf(f->what, sizeof f->what, "items %lld and %lld alone", (long long)other,
                 (long long)item);
        return n > 2 && item < other ? picked(s, f, 2) : FORM_NONE;
    }
    f->items[0] = f->items[1] = f->items[2] = item;
    snprintf(f->what, sizeof f->what, "item %lld three times", (long long)item);
    return s->op->families->repeats && s->op->families->repeats(s->problem) ? picked(s, f, 3)
                                                                            : FORM_NONE;
}

/* ---- rows ---------------------------------------------------------------------------- */

/* Another problem with the same results that the operation knows of, for the property. */
static int alike_form(const struct subject *s, const char *property, int i, struct form *f)
{
    const struct cf_alike *const all = s->op->families->alikes;
    int number = 0;

    for (int a = 0; all && all[a].what; a++) {
        if (strcmp(all[a].property, property) || number++ != i)
            continue;
        snprintf(f->what, sizeof f->what, "%s", all[a].what);
        return other_problem(f, all[a].make(s->problem));
    }
    return FORM_END;
}

static int chunk_form(const struct subject *s, int i, struct form *f)
{
    enum { CHUNKS = 5 };
    const struct cf_families *const op = s->op->families;
    const int64_t n = op->rows ? op->rows(s->problem) : 0;
    const int64_t chunk[CHUNKS][2] = { { 0, 1 },
                                       { n - 1, 1 },
                                       { n / 2, 1 },
                                       { 0, (n + 1) / 2 },
                                       { (n + 1) / 2, n - (n + 1) / 2 } };

    if (i >= CHUNKS)
        return alike_form(s, "chunk", i - CHUNKS, f);
    if (n < 2 || (n < 3 && i >= 2))
        return FORM_NONE;
    f->relation.row = chunk[i][0];
    f->relation.n_rows = chunk[i][1];
    if (f->relation.n_rows == 1)
        snprintf(f->what, sizeof f->what, "row %lld alone", (long long)f->relation.row);
    else
        snprintf(f->what, sizeof f->what, "rows %lld to %lld alone", (long long)f->relation.row,
                 (long long)(f->relation.row + f->relation.n_rows - 1));
    return other_problem(f, op->cut(s->problem, f->relation.row, f->relation.n_rows));
}

/* ---- threads ---------------------------------------------------------------------------- */

static const struct conditions crews[] = {
    { .width = 3, .order = WORKERS_LAST_FIRST }, { .width = 1, .order = WORKERS_FIRST_FIRST },
    { .width = 2, .order = WORKERS_SHUFFLED },   { .width = 8, .order = WORKERS_SHUFFLED },
    { .width = 3, .order = WORKERS_TOGETHER },   { .width = 8, .order = WORKERS_STIRRED },
    { .width = 3, .order = WORKERS_STIRRED },
};
enum { CREWS = sizeof crews / sizeof *crews };

static int threads_form(const struct subject *s, int i, struct form *f)
{
    static const char *const orders[] = { "first one first", "last one first", "in another order",
                                          "at once", "at once with waits in between" };

    if (i >= CREWS)
        return FORM_END;
    f->how.width = crews[i].width;
    f->how.order = crews[i].order;
    same_problem(s, f, "one worker");
    if (f->how.width > 1)
        snprintf(f->what, sizeof f->what, "%u workers, %s", (unsigned)f->how.width,
                 orders[f->how.order]);
    return FORM_MADE;
}

/* ---- layout ------------------------------------------------------------------------------ */

static int layout_form(const struct subject *s, int i, struct form *f)
{
    static const struct {
        const char *what;
        unsigned flags;
    } places[] = { { "dense, aligned arrays", CALL_NATURAL },
                   { "arrays with other strides", CALL_STRIDES },
                   { "dense arrays with another alignment", CALL_NATURAL | CALL_SHIFTED },
                   { "exchanged axes, another alignment", CALL_STRIDES | CALL_SHIFTED },
                   { "arrays at the other ends of their pages", 0 } };
    enum { PLACES = sizeof places / sizeof *places };

    if (i >= PLACES)
        return alike_form(s, "layout", i - PLACES, f);
    f->flags = places[i].flags;
    f->how.other_ends = places[i].flags == 0;
    same_problem(s, f, places[i].what);
    return FORM_MADE;
}

/* ---- the table ------------------------------------------------------------------------------ */

const struct property cf_properties[] = {
    { "repeat", "a second run has the same words, and a run leaves nothing for the next one",
      repeat_form },
    { "threads", "the number of workers, their order and their timing change nothing",
      threads_form },
    { "layout", "strides, alignment, pages and shared rows change nothing", layout_form },
    { "batch", "an item has the same words alone, at another place, with other neighbours",
      batch_form },
    { "chunk", "rows have the same words alone, in chunks, and with a longer cache", chunk_form },
};
const int cf_n_properties = sizeof cf_properties / sizeof *cf_properties;

uint32_t cf_properties_without_workers(void)
{
    uint32_t all = 0;

    for (int i = 0; i < cf_n_properties; i++)
        all |= cf_properties[i].form != threads_form ? 1u << i : 0;
    return all;
}

/* ---- a form --------------------------------------------------------------------------------- */

static void form_begin(struct form *f, uint64_t poison)
{
    *f = (struct form){ .how = plain };
    f->how.poison = poison;
    f->relation.what = f->what;
}

static void form_end(const struct subject *s, struct form *f)
{
    if (f->own)
        s->op->families->problem_free(f->own);
}

/* Fails `v` where the words of the job are others than those of base. */
static void compare(const struct subject *s, struct job *base, const struct form *f,
                    const struct job *job, struct verdict *v)
{
    struct subject own = *s;

    own.got = base;
    own.v = v;
    s->op->families->same(&own, f->problem, job, &f->relation);
}

static bool equal(const struct subject *s, struct job *base, const struct form *f,
                  const struct job *job)
{
    struct verdict v = { 0 };

    if (base && job)
        compare(s, base, f, job, &v);
    return base && job && !v.failed;
}

/* What is the matter with threads. A race: two runs of the form differ. Passes: two runs with one
 * worker do not. */
static const char *threads_hint(const struct subject *s, struct runner *runner,
                                const struct form *f, const struct job *got)
{
    struct verdict v = { 0 };
    struct form again = *f, one = *f;
    struct job *other, *first, *second;
    bool race, single;

    other = runner->compute(runner, &again, &v);
    race = other && !equal(s, other, &again, got);
    one.how.width = 1;
    one.how.order = WORKERS_FIRST_FIRST;
    first = runner->compute(runner, &one, &v);
    one.how.poison++;
    second = runner->compute(runner, &one, &v);
    single = equal(s, first, &one, second);
    job_drop(other);
    job_drop(first);
    job_drop(second);
    return race && single ? "; two such runs differ, a race; passes with one worker"
           : race         ? "; two such runs differ"
           : single       ? "; passes with one worker"
                          : "";
}

/* ---- a property --------------------------------------------------------------------- */

struct judging {
    const struct subject *s;
    struct runner *runner;
    struct job *base;
    struct form base_form;
    int property, forms; /* forms that were judged */
};

/* Where two runs of the case itself differ, no form of it can be to blame. */
static bool repeats(const struct judging *j, struct verdict *v)
{
    enum { AGAIN = 2 };
    const struct property *const repeat = &cf_properties[0];
    struct form f = j->base_form;

    snprintf(f.name, sizeof f.name, "again");
    for (int i = 0; i < AGAIN && !v->failed; i++) {
        struct verdict differs = { 0 };
        struct job *job;

        f.how.poison += 77;
        job = j->runner->compute(j->runner, &f, v);
        if (job && !v->failed)
            compare(j->s, j->base, &f, job, &differs);
        if (differs.failed) {
            cf_step(v, repeat->name);
            cf_fail(v, "%s: %.380s", repeat->name, differs.why);
        }
        job_drop(job);
    }
    return !v->failed;
}

/* The verdict on one form, whose first word is the property. */
static void form_judge(struct judging *j, struct form *f, struct verdict *v)
{
    const struct property *const p = &cf_properties[j->property];
    struct verdict differs = { 0 };
    struct job *const job = j->runner->compute(j->runner, f, v);

    if (!job || v->failed) {
        if (v->failed)
            snprintf(v->why + strlen(v->why), sizeof v->why - strlen(v->why), "; in the form: %s",
                     f->what);
        job_drop(job);
        return;
    }
    j->forms++;
    compare(j->s, j->base, f, job, &differs);
    if (differs.failed && p->form == repeat_form)
        j->s->op->families->unwritten(&(struct subject){ .session = j->s->session, .op = j->s->op,
                                                         .problem = j->s->problem,
                                                         .answer = j->s->answer, .got = j->base,
                                                         .v = v },
                                      job);
    if (differs.failed && !v->failed && (p->form == repeat_form || repeats(j, v))) {
        cf_step(v, p->name);
        cf_fail(v, "%s: %.380s%s", p->name, differs.why,
                p->form == threads_form ? threads_hint(j->s, j->runner, f, job) : "");
    }
    job_drop(job);
}

/* Is the form about where arrays lie, or about a state? */
static bool of_places(const struct form *f)
{
    return f->flags || f->how.other_ends || f->how.again;
}

static int property_of(const char *word)
{
    for (int i = 0; i < cf_n_properties; i++) {
        if (!strcmp(cf_properties[i].name, word))
            return i;
    }
    return -1;
}

/* false: the run failed otherwise than by other words. */
static bool property_judge(struct judging *j, struct verdict *v)
{
    struct form f;
    int made = FORM_MADE;

    for (int i = 0; made != FORM_END && !v->failed; i++) {
        form_begin(&f, j->s->seed + 1000 * (uint64_t)(j->property + 1) + (uint64_t)i);
        snprintf(f.name, sizeof f.name, "%.16s-%d", cf_properties[j->property].name, i);
        made = cf_properties[j->property].form(j->s, i, &f);
        if (made == FORM_MADE && !(j->runner->dense && of_places(&f)))
            form_judge(j, &f, v);
        form_end(j->s, &f);
    }
    return !v->failed || (v->word && property_of(v->word) >= 0);
}

static void count(struct session *session, int property, int forms)
{
    session->kept[property].cases += forms > 0;
    session->kept[property].forms += forms;
}

/* A property that is the reason, or is said already, is not said again. */
static void also_add(const struct verdict *v, char *also, size_t size, const char *word)
{
    const size_t n = strlen(also);

    if (!(v->word && !strcmp(v->word, word)) && !strstr(also, word))
        snprintf(also + n, size - n, "%s %s", n ? "," : "", word);
}

/* Each property is judged, whatever another one gave; the first that is broken is the reason. */
static void properties_judge(struct judging *j, int *judged)
{
    struct session *const session = j->s->session;
    const uint32_t wanted = session->o.properties ? session->o.properties : UINT32_MAX;
    char also[64] = "";
    bool go_on = true;

    for (int i = 0; i < cf_n_properties && go_on; i++) {
        struct verdict v = { 0 };

        if (!(wanted & j->runner->properties & 1u << i))
            continue;
        j->property = i;
        j->forms = 0;
        go_on = property_judge(j, &v);
        count(session, i, j->forms);
        if (v.failed && go_on)
            session->kept[property_of(v.word)].broken++;
        *judged += j->forms;
        if (v.failed && j->s->v->failed) {
            also_add(j->s->v, also, sizeof also, v.word ? v.word : "run");
        } else if (v.failed) {
            j->s->v->word = v.word;
            cf_fail(j->s->v, "%s", v.why);
        }
    }
    if (also[0]) {
        char *const why = j->s->v->why;

        snprintf(why + strlen(why), sizeof j->s->v->why - strlen(why), "; also broken:%s", also);
    }
}

const char *cf_invariance(const struct subject *s, struct runner *runner)
{
    struct judging j = { .s = s, .runner = runner };
    int judged = 0;

    form_begin(&j.base_form, s->seed + 1);
    same_problem(s, &j.base_form, "the case itself, run again");
    j.base = runner->compute(runner, &j.base_form, s->v);
    if (s->v->failed || !j.base) {
        job_drop(j.base);
        return s->v->failed ? NULL : runner->absent ? runner->absent : "it was refused";
    }
    if (!runner->claims && !s->session->o.properties &&
        j.base->numerics == HEED_NUMERICS_FAST) {
        job_drop(j.base);
        return "FAST promises no bits, unless --property names some";
    }
    properties_judge(&j, &judged);
    job_drop(j.base);
    return judged || s->v->failed ? NULL : "the case has no other form";
}

/* ---- the end of a run --------------------------------------------------------------- */

void cf_invariance_summary(const struct session *session)
{
    for (int i = 0; i < cf_n_properties && session->o.families & FAMILY_INVARIANCE; i++) {
        if (session->kept[i].forms || session->kept[i].broken)
            printf("# %-7s %s: %lld cases in %lld forms (%s)\n", cf_properties[i].name,
                   session->kept[i].broken ? "broken" : "kept", (long long)session->kept[i].cases,
                   (long long)session->kept[i].forms, cf_properties[i].says);
        else if (!session->o.properties || session->o.properties & 1u << i)
            printf("# %-7s not judged\n", cf_properties[i].name);
    }
}

const char *cf_invariance_vain(const struct session *session)
{
    for (int i = 0; i < cf_n_properties; i++) {
        if (session->o.properties & 1u << i && session->kept[i].forms == 0)
            return "a property that was asked for was in no case judged";
    }
    return NULL;
}
