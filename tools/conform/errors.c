/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The error family: every fault of the table alone and in pairs, on every device. The status is the
 * documented one and the same everywhere, the report names the field, and neither outputs nor
 * out-parameters are written.
 */
#include "errors.h"

#include <stdlib.h>
#include <string.h>

/* What one attempt answered. */
struct answer {
    heed_status status;
    char field[64];
    bool wrote; /* outputs or the plan's out-parameter */
};

static void *place_of(struct call *call, const struct problem *p, int where)
{
    const struct source_data *s0 = &p->source[0], *s1 = &p->source[1], *s2 = &p->source[2];
    const int slots[] = { s0->len,       s0->mask,        s0->term[1],
                          s0->term[2],   s1->index,       s0->bias[0].t,
                          s0->bias[1].t, s0->bias[1].map, s0->bias[1].k_coord,
                          p->q_pos,      p->q_len,        s2->index,
                          s2->v_scale };
    const int data[] = { s0->len, s0->term[1], s0->term[2], s1->index, s2->index };

    switch (where) {
    case W_DESC:
        return &call->desc;
    case W_SOURCE0:
    case W_SOURCE1:
    case W_SOURCE2:
        return &call->source[where - W_SOURCE0];
    case W_WINDOW:
    case W_GLOBAL:
    case W_SEGMENT:
        return &call->term[0][where - W_WINDOW];
    case W_DENSE:
    case W_TABLE:
        return &call->bias[0][where - W_DENSE];
    case W_ALIBI:
        return &call->bias[1][0];
    case W_ARGS:
        return &call->args;
    case W_KV0:
        return &call->kv[0];
    default:
        break;
    }
    if (where <= W_SLOT_SCALES)
        return &call->slot[slots[where - W_SLOT_LEN] - 1];
    const struct place *place = &call->aux[data[where - W_DATA_LEN] - 1];

    return place->snapshot + place->buf.offset;
}

static void fault_apply(struct call *call, const struct problem *p, const struct fault *f)
{
    unsigned char *at = (unsigned char *)place_of(call, p, f->where) + f->offset;
    const int32_t narrow = (int32_t)f->value;
    const double real = (double)f->value;

    switch (f->type) {
    case U32:
    case I32:
        memcpy(at, &narrow, 4);
        break;
    case F64:
        memcpy(at, &real, 8);
        break;
    case PTR:
        memset(at, 0, sizeof(void *));
        break;
    default:
        memcpy(at, &f->value, 8);
        break;
    }
}

static void run_faulty(struct call *call, const struct problem *p, heed_plan *plan,
                       const struct fault *const *faults, int n, struct answer *answer,
                       heed_report *report)
{
    heed_plan_props props = { .size = sizeof props };
    heed_buf work = { 0 };

    answer->status = heed_plan_info(plan, &props);
    if (answer->status >= 0)
        answer->status = heed_buf_create(call->on->device, props.workspace_size + 64, &work, NULL);
    if (answer->status < 0)
        return;
    call->args.workspace = work;
    call->args.workspace_size = props.workspace_size;
    for (int i = 0; i < n; i++) {
        if (faults[i]->where >= W_ARGS)
            fault_apply(call, p, faults[i]);
    }
    answer->status = heed_attn_run(plan, call->on->queue, &call->args, NULL, report);
    heed_buf_destroy(call->on->device, work);
}

/* Plans and runs the base case with the faults in it. */
static bool attempt(const struct target *on, const struct problem *p,
                    const struct fault *const *faults, int n, struct answer *answer)
{
    static unsigned char untouched;
    heed_plan *const none = (heed_plan *)(void *)&untouched;
    heed_plan *plan = none;
    heed_report report = { .size = sizeof report };
    struct call *call = calloc(1, sizeof *call);
    char why[128];
    bool ok = call && cf_call_make(call, on, p, 0, 99);

    memset(answer, 0, sizeof *answer);
    for (int i = 0; ok && i < n; i++) {
        if (faults[i]->where < W_ARGS)
            fault_apply(call, p, faults[i]);
    }
    if (ok) {
        answer->status = cf_call_plan(call, &plan, &report);
        if (answer->status < 0) {
            answer->wrote = plan != none;
        } else {
            run_faulty(call, p, plan, faults, n, answer, &report);
            heed_plan_drop(plan);
        }
        memcpy(answer->field, report.field, sizeof answer->field);
        answer->wrote = answer->wrote || (answer->status < 0 && !cf_call_outputs_same(call, why)) ||
                        report.status != answer->status;
    }
    if (call)
        cf_call_finish(call);
    free(call);
    return ok;
}

static bool one_of(const struct fault *const *faults, int n, heed_status status)
{
    for (int i = 0; i < n; i++) {
        if (faults[i]->status == status)
            return true;
    }
    return false;
}

static bool field_of(const struct fault *const *faults, int n, const struct answer *answer)
{
    for (int i = 0; i < n; i++) {
        if (faults[i]->status == answer->status && strstr(answer->field, faults[i]->field))
            return true;
    }
    return false;
}

/* The faults on all devices; `why` when something is wrong. */
static bool judge(const struct target *targets, int n_targets, const struct problem *p,
                  const struct fault *const *faults, int n, struct reached *reached, char why[512])
{
    struct answer first = { 0 }, answer;

    for (int i = 0; i < n_targets; i++) {
        if (!attempt(&targets[i], p, faults, n, &answer)) {
            snprintf(why, 512, "%s: no memory", targets[i].name);
            return false;
        }
        if (i == 0)
            first = answer;
        cf_reach(reached, answer.status);
        snprintf(why, 512, "%s: wanted %s in %s, got %s in '%s'%s; the first device: %s",
                 targets[i].name, heed_status_name(faults[0]->status), faults[0]->field,
                 heed_status_name(answer.status), answer.field,
                 answer.wrote ? ", outputs written or report wrong" : "",
                 heed_status_name(first.status));
        if (answer.wrote || answer.status != first.status || strcmp(answer.field, first.field) ||
            !one_of(faults, n, answer.status) || !field_of(faults, n, &answer))
            return false;
    }
    return true;
}

static bool same_place(const struct fault *a, const struct fault *b)
{
    return a->where == b->where && a->offset == b->offset;
}

static void faults_alone(const struct target *targets, int n, const struct problem *p,
                         struct tally *tally, struct reached *reached)
{
    for (int i = 0; i < cf_n_faults; i++) {
        const struct fault *f = &cf_faults[i];
        char why[512], line[128];
        const bool ok = judge(targets, n, p, &f, 1, reached, why);

        snprintf(line, sizeof line, "%s in %s, fault %d", heed_status_name(f->status), f->field, i);
        cf_tap(tally, ok, NULL, "all", "error", line, why);
    }
}

/* One point of the report for all pairs with the same first fault. */
static void faults_paired(const struct target *targets, int n, const struct problem *p,
                          struct tally *tally, struct reached *reached)
{
    for (int i = 0; i < cf_n_faults; i++) {
        char why[512] = "", line[160], first[700] = "";
        int wrong = 0, tried = 0;

        for (int j = i + 1; j < cf_n_faults; j++) {
            const struct fault *pair[2] = { &cf_faults[i], &cf_faults[j] };

            if (same_place(pair[0], pair[1]) ||
                (pair[0]->where >= W_ARGS) != (pair[1]->where >= W_ARGS))
                continue;
            tried++;
            if (!judge(targets, n, p, pair, 2, reached, why) && wrong++ == 0)
                snprintf(first, sizeof first, "with %s in %s: %s",
                         heed_status_name(pair[1]->status), pair[1]->field, why);
        }
        snprintf(line, sizeof line, "%s in %s, fault %d, paired with %d others",
                 heed_status_name(cf_faults[i].status), cf_faults[i].field, i, tried);
        if (tried)
            cf_tap(tally, wrong == 0, NULL, "all", "error", line, first);
    }
}

void cf_reach(struct reached *reached, heed_status status)
{
    if (status < 0 && status > -128)
        reached->bits[-status / 64] |= UINT64_C(1) << -status % 64;
}

/* Why a status that was not seen need not have been; NULL: it should have. */
static const char *excuse(heed_status status, bool busy)
{
    if (status == HEED_E_BUSY && !busy)
        return "no device here whose runs can meet";
    return status == HEED_E_NOT_BUILT ? "every backend is built" : NULL;
}

/* Every status that this build can return has been seen. busy: some device has a workspace that a
 * second run could meet in use: not the reference, nor devices whose runs queue up. */
static void statuses_reached(const struct reached *reached, bool busy, struct tally *tally)
{
    static const heed_status wanted[] = {
        HEED_E_NULL,        HEED_E_SIZE,      HEED_E_NEWER,     HEED_E_FLAG,      HEED_E_VALUE,
        HEED_E_SHAPE,       HEED_E_STRIDE,    HEED_E_DTYPE,     HEED_E_ALIGN,     HEED_E_ALIAS,
        HEED_E_OVERFLOW,    HEED_E_AMBIGUOUS, HEED_E_INDEX,     HEED_E_WORKSPACE, HEED_E_MISMATCH,
        HEED_E_UNSUPPORTED, HEED_E_NOT_BUILT, HEED_E_NOT_FOUND, HEED_E_NOMEM,     HEED_E_BUSY,
    };

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const bool seen = reached->bits[-wanted[i] / 64] >> -wanted[i] % 64 & 1;
        const char *skip = seen ? NULL : excuse(wanted[i], busy);

        cf_tap(tally, seen || skip, skip, "all", "status", heed_status_name(wanted[i]),
               "never returned in this family");
    }
}

void cf_family_error(const struct target *targets, int n, struct tally *tally)
{
    struct reached reached = { { 0 } };
    struct problem *p = NULL;
    struct answer answer;
    struct cs c;
    char why[128] = "";
    bool busy = false;

    for (int i = 0; i < n; i++)
        busy = busy || strncmp(targets[i].name, "cpu", 3) == 0;
    if (cf_case_parse(cf_fault_base, &c, why))
        p = cf_problem_make(&c, NULL, 0, true);
    if (!p || !attempt(&targets[0], p, NULL, 0, &answer) || answer.status < 0) {
        cf_tap(tally, false, NULL, "all", "error", cf_fault_base, p ? answer.field : why);
    } else {
        faults_alone(targets, n, p, tally, &reached);
        faults_paired(targets, n, p, tally, &reached);
        cf_errors_api(targets, n, tally, &reached);
        statuses_reached(&reached, busy, tally);
    }
    cf_problem_free(p);
}
