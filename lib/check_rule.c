/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Points 10 and 12 of the check: must the alignment be stated, and can the combination of terms be
 * served?
 */
#include "check_state.h"

static bool run_time_lengths(const struct heed_check *c, uint32_t slot)
{
    return slot != 0 && !c->slots[slot - 1].data;
}

/* Does anything in this source depend on where the queries lie? */
static bool by_position(const struct heed_check_source *source)
{
    if (source->s.flags & HEED_SOURCE_CAUSAL)
        return true;
    for (uint32_t t = 0; t < source->s.n_terms; t++) {
        if (source->terms[t].kind == HEED_TERM_WINDOW)
            return true;
    }
    for (uint32_t b = 0; b < source->s.n_biases; b++) {
        if (source->biases[b].kind != HEED_BIAS_DENSE && source->biases[b].q_coord == 0)
            return true;
    }
    return false;
}

heed_status heed_check_ambiguity(struct heed_check *c)
{
    const heed_attn_desc *d = &c->d;
    const bool q_open = d->q_layout == HEED_LAYOUT_RAGGED || run_time_lengths(c, d->q_len_slot);

    if (d->flags & (HEED_ATTN_ALIGN_START | HEED_ATTN_ALIGN_END))
        return HEED_OK;
    for (uint32_t s = 0; s < d->n_sources; s++) {
        const struct heed_check_source *source = &c->sources[s];
        const int64_t n_k = source->to->n_k;

        if (!by_position(source))
            continue;
        if (n_k != c->out->n_q)
            return heed_report_fill(
                c->report, HEED_E_AMBIGUOUS, "flags", c->out->n_q, n_k,
                "source %u compares positions and has %lld keys for %lld rows: state ALIGN_START "
                "or ALIGN_END",
                (unsigned)s, (long long)n_k, (long long)c->out->n_q);
        if (q_open || source->s.layout == HEED_LAYOUT_RAGGED ||
            run_time_lengths(c, source->s.len_slot))
            return heed_report_fill(
                c->report, HEED_E_AMBIGUOUS, "flags", 0, 0,
                "source %u compares positions and lengths are known only to run: state "
                "ALIGN_START or ALIGN_END",
                (unsigned)s);
    }
    c->out->flags |= HEED_ATTN_ALIGN_START;
    return HEED_OK;
}

static heed_status listed_support(struct heed_check *c, uint32_t s)
{
    const struct heed_check_source *source = &c->sources[s];

    if (source->s.n_terms > 1)
        return heed_report_fill(c->report, HEED_E_UNSUPPORTED,
                                heed_check_at(c, "sources[%u].n_terms", (unsigned)s), 1,
                                source->s.n_terms, "the only term of a LISTED source is ALL");
    if (source->s.n_terms == 1 && source->terms[0].kind != HEED_TERM_ALL)
        return heed_report_fill(c->report, HEED_E_UNSUPPORTED,
                                heed_check_at(c, "sources[%u].terms[0].kind", (unsigned)s),
                                HEED_TERM_ALL, source->terms[0].kind,
                                "the only term of a LISTED source is ALL");
    if (source->s.n_terms == 1 && source->terms[0].step > 1)
        return heed_report_fill(c->report, HEED_E_UNSUPPORTED,
                                heed_check_at(c, "sources[%u].terms[0].step", (unsigned)s), 1,
                                source->terms[0].step, "the term of a LISTED source takes no step");
    if (source->s.n_terms == 1) /* phase has no meaning without a step */
        source->to_terms[0] = (struct heed_checked_term){ .kind = HEED_TERM_ALL,
                                                          .step = 1,
                                                          .block = 1 };
    return HEED_OK;
}

static heed_status global_support(struct heed_check *c, uint32_t s)
{
    static const struct {
        uint32_t flag;
        const char *name;
    } roles[] = {
        { HEED_TERM_KEYS, "KEYS" },
        { HEED_TERM_ROWS, "ROWS" },
    };
    const struct heed_check_source *source = &c->sources[s];

    for (size_t r = 0; r < sizeof(roles) / sizeof(*roles); r++) {
        uint32_t found = 0;

        for (uint32_t t = 0; t < source->s.n_terms; t++) {
            const struct heed_checked_term *term = &source->to_terms[t];

            if (term->kind != HEED_TERM_GLOBAL || !(term->flags & roles[r].flag) || found++ == 0)
                continue;
            return heed_report_fill(
                c->report, HEED_E_UNSUPPORTED,
                heed_check_at(c, "sources[%u].terms[%u].flags", (unsigned)s, (unsigned)t), 1, 2,
                "one GLOBAL %s term per source at most", roles[r].name);
        }
    }
    return HEED_OK;
}

heed_status heed_check_support(struct heed_check *c)
{
    int64_t dilation = 0;
    heed_status status = HEED_OK;

    for (uint32_t s = 0; s < c->d.n_sources; s++) {
        const struct heed_check_source *source = &c->sources[s];

        status = heed_check_is_listed(source) ? listed_support(c, s) : global_support(c, s);
        if (status < 0)
            return status;
        for (uint32_t t = 0; t < source->s.n_terms; t++) {
            const struct heed_checked_term *term = &source->to_terms[t];

            if (!(term->flags & HEED_TERM_PHASE_QUERY) || term->step == 1)
                continue;
            if (dilation != 0 && term->step != dilation)
                return heed_report_fill(
                    c->report, HEED_E_UNSUPPORTED,
                    heed_check_at(c, "sources[%u].terms[%u].step", (unsigned)s, (unsigned)t),
                    dilation, term->step, "all PHASE_QUERY steps of a descriptor must be equal");
            dilation = term->step;
        }
    }
    return status;
}
