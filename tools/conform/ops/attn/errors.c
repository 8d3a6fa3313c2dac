/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the families of errors ask of attention.
 */
#include "errors.h"

#include <string.h>

static void *place(struct job *job, int where)
{
    const struct problem *const p = job->problem;
    struct call *const call = cf_call_of(job);
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
    const struct place *at = &call->aux[data[where - W_DATA_LEN] - 1];

    return at->snapshot + at->buf.offset;
}

static bool at_run(int where)
{
    return where >= W_ARGS;
}

static bool same_place(const struct job *job, const struct fault *a, const struct fault *b)
{
    (void)job;
    return a->where == b->where && a->offset == b->offset;
}

static int list(struct job *job, struct fault *faults)
{
    (void)job;
    memcpy(faults, cf_faults, (size_t)cf_n_faults * sizeof *faults);
    return cf_n_faults;
}

static const char *base(void)
{
    return cf_fault_base;
}

static void *args(struct job *job)
{
    return &cf_call_of(job)->args;
}

static void workspace(struct job *job, heed_buf at, uint64_t size)
{
    cf_call_of(job)->args.workspace = at;
    cf_call_of(job)->args.workspace_size = size;
}

/* ---- statuses ---------------------------------------------------------------------- */

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

static void more(const void *problem, const struct target *targets, int n, struct tally *tally,
                 struct reached *reached)
{
    bool busy = false;

    for (int i = 0; i < n; i++)
        busy = busy || strncmp(targets[i].name, "cpu", 3) == 0;
    cf_errors_api(problem, targets, n, tally, reached);
    statuses_reached(reached, busy, tally);
}

const struct cf_errors cf_attn_errors = {
    .base = base,
    .list = list,
    .place = place,
    .at_run = at_run,
    .same_place = same_place,
    .args = args,
    .workspace = workspace,
    .no_device = true,
    .more = more,
    .vast = cf_attn_vast,
};
