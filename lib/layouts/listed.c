/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * LISTED: rows as DENSE has them, and for every `rows` query rows a list of runs of keys, which is
 * a multiset.
 */
#include "layouts.h"

#include "../core/alloc.h"
#include "../ops/attn/check_state.h"
#include "../terms/terms.h"

/* A negative entry leaves its place empty: constant ones are -1. */
static heed_status run_entry(const struct heed_entries *e, const struct heed_entry *entry,
                             struct heed_fault *fault)
{
    const int64_t keys = e->source->n_k, last = keys > 0 ? (keys - 1) / e->source->run : -1;

    if (entry->value <= last && (entry->value >= -1 || !e->constant))
        return HEED_OK;
    fault->wanted = entry->value < 0 ? -1 : last;
    fault->why = "entries name a run of keys, or are -1";
    return HEED_E_INDEX;
}

/* The only term shows everything. A list has fewer places than 63 bits count, also one whose
 * entries are all the same one. */
static heed_status check(struct heed_check *c, uint32_t s)
{
    static const char why[] = "the only term of a LISTED source is ALL";
    const heed_source *source = &c->sources[s];
    const heed_tensor *list = &c->slots[source->slot - 1].t;
    const int64_t entries = list->shape[list->ndim - 1];
    const int64_t run = source->run == 0 ? 1 : source->run;
    const struct heed_term_kind *kind;
    int64_t places;

    c->to[s].run = (int32_t)run;
    if (!heed_mul_i64(entries, run, &places))
        return heed_check_fail(c, HEED_E_OVERFLOW, "slot", INT64_MAX / run, entries,
                               "entries times keys of a run leave 63 bits");
    if (source->n_terms > 1)
        return heed_check_fail(c, HEED_E_UNSUPPORTED, "n_terms", 1, source->n_terms, "%s", why);
    if (source->n_terms == 0)
        return HEED_OK;
    kind = heed_term_kind_find(source->terms[0].kind);
    if (kind && !kind->whole)
        return heed_check_fail(c, HEED_E_UNSUPPORTED, "terms[0].kind", heed_term_default.kind,
                               kind->kind, "%s", why);
    if (source->terms[0].step > 1)
        return heed_check_fail(c, HEED_E_UNSUPPORTED, "terms[0].step", 1, source->terms[0].step,
                               "the term of a LISTED source takes no step");
    return HEED_OK;
}

static int64_t times(const struct heed_look *look, int64_t key)
{
    const struct heed_checked_source *source = look->source;
    const struct heed_aux *list = &source->index;
    int64_t n = 0;

    for (int64_t i = 0; i < list->shape[5]; i++)
        n += heed_look_entry(look, list, heed_look_head(look, list->shape[3]),
                             look->row / source->rows, i) == key / source->run;
    return n;
}

static const struct heed_use use_runs = {
    HEED_BATCH_MAY, HEED_SET_I32, 3, { HEED_AXIS_GROUPS, HEED_AXIS_BLOCKS, HEED_AXIS_ANY },
    run_entry
};

const struct heed_layout heed_layout_listed = {
    .kind = HEED_LAYOUT_LISTED,
    .name = "LISTED",
    .items = HEED_ITEMS_BATCH,
    .lowered = HK_LAYOUT_EVEN,
    .lists = true,
    .takes_run = true,
    .takes_rows = true,
    .source = {
        [HEED_SOURCE_SLOT] = { HEED_NEED_MUST, &use_runs },
        HEED_SOURCE_SLOTS_OF(HEED_NEED_MAY, &heed_use_scales),
    },
    .check = check,
    .times = times,
};
