/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is wrong with a plug-in's run, by name. The first word of every reason is the verdict:
 * tests/zoo has a kernel for each.
 */
#define _DEFAULT_SOURCE

#include "plugin.h"
#include "conform/ops/attn/symptoms.h"

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
                r->x->name);
    else if (r && r->role == CONSTANT && control->stage >= STAGE_RUN)
        cf_fail(v, "kept: %s %s accessed constant data that went with the descriptor", how, stage);
    else if (r && r->role == OUTPUT)
        cf_fail(v, "late: %s %s wrote to %s when run had returned", how, stage, r->x->name);
    else if (r)
        cf_fail(v, "input: %s %s wrote to %s", how, stage, r->x->name);
    else if (control->memory_short)
        cf_fail(v, "memory: %s %s after all memory that it may have", how, stage);
    else
        cf_fail(v, "crash: %s %s at address 0x%llx", how, stage,
                (unsigned long long)control->address);
    if (t && cf_op == &cf_op_attn)
        cf_where_pages(t->job->problem, v);
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

/* No mistake in the answer, but a failure all the same. */
static bool of_vendor(const struct control *control)
{
    return control->memory && (control->status == HEED_E_DEVICE ||
                               (control->status == HEED_E_KERNEL_BUILD &&
                                control->stage == STAGE_PREPARE));
}

static void status_judge(const struct control *control, struct verdict *v)
{
    if (control->stage <= STAGE_ENTRY && !control->why[0])
        cf_fail(v, "exit: the process ended in %s", stages[control->stage]);
    else if (control->stage == STAGE_LOAD ||
             (control->stage == STAGE_ENTRY && control->status == HEED_OK))
        cf_fail(v, "load: %s", control->why);
    else if (control->stage == STAGE_ENTRY)
        cf_fail(v, "load: heed_kernel_entry answers %s; %s", heed_status_name(control->status),
                control->why);
    else if (control->bad_workspace)
        cf_fail(v, "memory: prepare asks for a workspace that cannot be had: %llu bytes at a "
                   "multiple of %llu",
                (unsigned long long)control->workspace, (unsigned long long)control->alignment);
    else if (control->status == HEED_OK)
        cf_fail(v, "exit: the process ended in %s", stages[control->stage]);
    else if (control->status == HEED_E_NOMEM && control->stage != STAGE_QUERY)
        cf_fail(v, "memory: %s answers HEED_E_NOMEM", stages[control->stage]);
    else if (control->stage != STAGE_QUERY || control->status != HEED_E_UNSUPPORTED)
        cf_fail(v, "status: %s answers %s (%d)%s", stages[control->stage],
                heed_status_name(control->status), (int)control->status,
                of_vendor(control) ? "" : ", which it may not");
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
        if (control->device[0])
            cf_fail(v, "%s", control->device);
        else if (control->stage != STAGE_END)
            status_judge(control, v);
        break;
    }
    if (outcome->left)
        cf_fail(v, "left: processes that it started were there when it had ended");
    if (control->threads_left)
        cf_fail(v, "left: a thread that it started was there when release had returned");
    if (control->float_changed)
        cf_fail(v, "float: run left another floating-point environment behind");
    if (control->changed[0])
        cf_fail(v, "changed: run left %s of the process otherwise than before", control->changed);
}
