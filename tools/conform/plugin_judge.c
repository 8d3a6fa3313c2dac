/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is wrong with a plug-in's run, by name. The first word of every reason is the verdict:
 * tests/zoo has a kernel for each.
 */
#define _DEFAULT_SOURCE

#include "plugin.h"

#include <signal.h>
#include <string.h>

static const char *const stages[] = { "loading", "heed_kernel_entry", "query",  "prepare",
                                      "run",     "release",           "the end" };

/* ---- how it ended ------------------------------------------------------------ */

static void fault_judge(const struct control *control, const struct trial *t, const char *how,
                        struct verdict *v)
{
    const char *stage = stages[control->stage];
    int64_t beside = 0;
    const struct region *r =
        t && control->faulted ? plugin_memory_find(&t->memory, control->address, &beside) : NULL;

    if (r && beside)
        cf_fail(v, "beside: %s %s accessed memory %lld bytes %s %s", how, stage,
                (long long)(beside < 0 ? -beside : beside), beside < 0 ? "before" : "behind",
                r->name);
    else if (r && r->role == CONSTANT && control->stage >= STAGE_RUN)
        cf_fail(v, "kept: %s %s accessed constant data that went with the descriptor", how, stage);
    else if (r && r->role == OUTPUT)
        cf_fail(v, "late: %s %s wrote to %s when run had returned", how, stage, r->name);
    else if (r)
        cf_fail(v, "input: %s %s wrote to %s", how, stage, r->name);
    else if (control->memory_short)
        cf_fail(v, "memory: %s %s after all memory that it may have", how, stage);
    else
        cf_fail(v, "crash: %s %s at address 0x%llx", how, stage,
                (unsigned long long)control->address);
}

static void signal_judge(const struct control *control, const struct trial *t, int number,
                         const char *how, struct verdict *v)
{
    const char *stage = stages[control->stage];

    if (number == SIGSYS)
        cf_fail(v, "outside: %s acted on the process that judges it", stage);
    else if (number == SIGXFSZ)
        cf_fail(v, "disk: %s %s wrote a larger file than memory it may have", how, stage);
    else
        fault_judge(control, t, how, v);
}

static void status_judge(const struct control *control, struct verdict *v)
{
    if (control->stage == STAGE_LOAD)
        cf_fail(v, "load: %s", control->why);
    else if (control->stage == STAGE_ENTRY)
        cf_fail(v, "load: heed_kernel_entry answers %s; %s", heed_status_name(control->status),
                control->why);
    else if (control->bad_workspace)
        cf_fail(v, "memory: prepare asks for a workspace that cannot be had");
    else if (control->status == HEED_OK)
        cf_fail(v, "exit: the process ended in %s", stages[control->stage]);
    else if (control->status == HEED_E_NOMEM && control->stage != STAGE_QUERY)
        cf_fail(v, "memory: %s answers HEED_E_NOMEM", stages[control->stage]);
    else if (control->stage != STAGE_QUERY || control->status != HEED_E_UNSUPPORTED)
        cf_fail(v, "status: %s answers %s (%d), which it may not", stages[control->stage],
                heed_status_name(control->status), (int)control->status);
}

void plugin_judge_end(const struct plugin *plugin, const struct trial *t,
                      const struct outcome *outcome, struct verdict *v)
{
    const struct control *control = &plugin->copy;
    char how[64];

    switch (outcome->ending) {
    case HUNG:
        cf_fail(v, "hang: %s did not end within %lld s", stages[control->stage],
                (long long)plugin->seconds);
        break;
    case STOPPED:
        cf_fail(v, "hang: %s stopped the process (%.40s)", stages[control->stage],
                strsignal(outcome->signal));
        break;
    case NO_CHILD:
        cf_fail(v, "memory: no process can be made");
        break;
    case SIGNALLED:
        snprintf(how, sizeof how, "%.40s in", strsignal(outcome->signal));
        signal_judge(control, t, outcome->signal, how, v);
        break;
    case EXITED:
        cf_fail(v, "exit: the process ended with status %d in %s", outcome->signal,
                stages[control->stage]);
        break;
    case ENDED:
        if (control->stage != STAGE_END)
            status_judge(control, v);
        break;
    }
    if (outcome->left)
        cf_fail(v, "left: processes that it started were there when it had ended");
    if (control->float_changed)
        cf_fail(v, "float: run left another floating-point environment behind");
    if (control->changed[0])
        cf_fail(v, "changed: run left %s of the process otherwise than it was", control->changed);
}

/* ---- what it computed ---------------------------------------------------------- */

/* An element that holds the poison of both runs was not written in either. */
static void unwritten_judge(const struct problem *p, const struct array *x, const struct array *y,
                            const struct array *old_x, const struct array *old_y, const char *name,
                            struct verdict *v)
{
    const int64_t channels = x->trailing == 3 ? x->shape[3] : 1;
    struct item_view views[MAX_BATCH];

    for (int64_t i = 0; i < p->n_items; i++)
        cf_item_view(p, i, &views[i]);
    for (int64_t i = 0; i < p->n_items; i++) {
        for (int64_t h = 0; h < p->heads; h++) {
            for (int64_t row = 0; row < cf_rows_of(p, &views[i]); row++) {
                const int64_t place = views[i].q_begin + row;

                for (int64_t c = 0; c < channels && !cf_row_shared(p, views, i, place); c++) {
                    const int64_t at = x->trailing == 3 ? cf_array_at(x, i, h, place, c)
                                                        : cf_array_at(x, i, 0, h, place);

                    if (cf_array_bits(x, at) == cf_array_bits(old_x, at) &&
                        cf_array_bits(y, at) == cf_array_bits(old_y, at))
                        cf_fail(v, "unwritten: %s at b=%lld h=%lld row=%lld channel=%lld", name,
                                (long long)i, (long long)h, (long long)row, (long long)c);
                }
            }
        }
    }
}

static bool is_nan(const struct array *a, int64_t at)
{
    const float x = cf_decode(a->dtype, cf_array_bits(a, at));

    return x != x;
}

static bool is_finite(const struct array *a, int64_t at)
{
    const float x = cf_decode(a->dtype, cf_array_bits(a, at));

    return x - x == 0;
}

static bool finite_row(const struct array *a, int64_t at)
{
    for (int64_t c = 0; c < a->shape[3]; c++) {
        if (!is_finite(a, at + c))
            return false;
    }
    return true;
}

/* Is there a key that the row does not see and that holds NaN or Inf? */
static bool poison_unseen(const struct problem *p, const struct item_view *view, int64_t head,
                          int64_t row)
{
    for (int s = 0; s < p->n_sources; s++) {
        const struct source_data *source = &p->source[s];
        const int64_t key_head = head / (p->heads / source->heads);

        for (int64_t key = 0; key < view->k_n[s]; key++) {
            int64_t b;
            const int64_t at = cf_key_row(p, view, s, key, &b);

            if (!cf_key_there(p, view, s, key) || cf_times_seen(p, view, head, row, s, key) ||
                source->k.dtype == HEED_I8 || source->v.dtype == HEED_I8)
                continue;
            if (!finite_row(&source->k, cf_array_at(&source->k, b, key_head, at, 0)) ||
                !finite_row(&source->v, cf_array_at(&source->v, b, key_head, at, 0)))
                return true;
        }
    }
    return false;
}

/* NaN where the reference has a number, in a row that must not see what is NaN or Inf. That is said
 * of outputs that are wrong: beyond the range of the bound there are other reasons for NaN. */
static void nan_judge(const struct problem *p, const struct call *ref, const struct call *got,
                      struct verdict *v)
{
    for (int64_t b = 0; b < p->n_items; b++) {
        struct item_view view;

        cf_item_view(p, b, &view);
        for (int64_t h = 0; h < p->heads; h++) {
            for (int64_t row = 0; row < cf_rows_of(p, &view); row++) {
                const int64_t at = cf_array_at(&got->out, b, h, view.q_begin + row, 0);

                for (int64_t c = 0; c < p->dv && !v->failed; c++) {
                    if (is_nan(&got->out, at + c) && is_finite(&ref->out, at + c) &&
                        poison_unseen(p, &view, h, row))
                        cf_fail(v,
                                "nan: o at b=%lld h=%lld row=%lld channel=%lld is NaN, from keys "
                                "that the row does not see",
                                (long long)b, (long long)h, (long long)row, (long long)c);
                }
            }
        }
    }
}

uint32_t plugin_families(const struct session *session)
{
    const uint32_t judged = FAMILY_EXACT | FAMILY_BITS | FAMILY_BOUND;

    return session->o.families & judged ? session->o.families & judged : judged;
}

static void numbers_judge(struct session *session, uint32_t numerics, const struct problem *p,
                          const struct call *ref, const struct call *got, const struct call *again,
                          struct verdict *v)
{
    const uint32_t families = plugin_families(session);
    const bool exact = numerics == HEED_NUMERICS_EXACT;
    struct verdict nan = { 0 };

    if (exact && families & FAMILY_BITS)
        cf_same_bits(p, ref, p, got, "bits: against the reference", v);
    if (exact && families & FAMILY_EXACT && cf_g(&p->c, G_FILL) == FILL_EXACT && !v->failed)
        cf_judge_exact(p, got, v);
    if (families & FAMILY_BOUND && !v->failed)
        cf_judge_bound(p, got, v);
    if (families & FAMILY_BOUND && !v->failed && again && numerics == HEED_NUMERICS_FAST)
        cf_judge_bound(p, again, v); /* which may have other bits */
    if (v->failed)
        nan_judge(p, ref, got, &nan);
    if (nan.failed)
        memcpy(v->why, nan.why, sizeof v->why);
    session_count(session, v);
    session_evidence(session, p);
    if (v->failed)
        cf_where_add(&session->where, p, ref, got);
}

/* Both runs, in other memory: what was written, and whether it is the same. */
static void runs_judge(const struct session *session, uint32_t numerics, const struct problem *p,
                       struct call *x, struct call *y, struct verdict *v)
{
    unwritten_judge(p, &x->out, &y->out, &x->old, &y->old, "o", v);
    if (!v->failed && x->has_lse)
        unwritten_judge(p, &x->out_lse, &y->out_lse, &x->old_lse, &y->old_lse, "lse", v);
    if (!v->failed)
        cf_judge_unowned(p, x, v);
    if (!v->failed && numerics != HEED_NUMERICS_FAST && plugin_families(session) & FAMILY_BITS)
        cf_same_bits(p, x, p, y, "repeat: second runs, in another process and place", v);
}

void plugin_judge_values(struct session *session, uint32_t numerics, const struct problem *p,
                         struct call *x, struct call *y, struct verdict *v)
{
    struct call ref = { 0 };

    x->numerics = numerics;
    if (y) {
        y->numerics = numerics;
        runs_judge(session, numerics, p, x, y, v);
    }
    if (v->failed)
        return;
    if (!cf_call_make(&ref, &session->reference, p, 0, p->c.seed))
        cf_fail(v, "no memory");
    else if (cf_run_ok(&ref, v, "reference"))
        numbers_judge(session, numerics, p, &ref, x, y, v);
    cf_call_finish(&ref);
}

void plugin_judge_outputs(struct session *session, const struct plugin *plugin, struct trial *first,
                          struct trial *second, struct verdict *v)
{
    if (!v->failed)
        plugin_judge_values(session, plugin->numerics, first->p, &first->call, &second->call, v);
}
