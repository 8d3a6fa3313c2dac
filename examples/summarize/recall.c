/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the encoder makes of the sentences that say most, for all parts but their own (Cao and Wang
 * 2023, section 3.2, key-value vectors). Parts are read twice: first for these.
 */
#include "part.h"

#ifdef SUMMARIZE_MODEL

#include <stdlib.h>
#include <string.h>

enum { KEPT_MOST = 1024 };             /* rows that a part gets */

/* Rows `first` to `end` of a part's states behind those that are kept. */
static bool keep(struct writer *w, struct kept *kept, const float *states, int64_t first,
                 int64_t end)
{
    const size_t row = (size_t)w->props.channels;
    const struct kept *const before = kept == w->kept ? NULL : kept - 1;
    float *grown;

    kept->first = before ? before->first + before->n : 0;
    kept->n = end > first ? end - first : 0;
    grown = realloc(w->states, (size_t)(kept->first + kept->n) * row * sizeof(*grown) + 1);
    if (!grown)
        return false;
    w->states = grown;
    memcpy(grown + (size_t)kept->first * row, states + (size_t)first * row,
           (size_t)kept->n * row * sizeof(*grown));
    return true;
}

/* Tokens of the part's text up to sentence i. */
static int tokens_to(struct writer *w, int64_t i, int64_t *n)
{
    if (!part_alone(w, i))
        return writer_no_memory();
    *n = part_tokens(w);
    return *n < 0 ? writer_failed(w) : 0;
}

/* The states of a part, malloc'd, of as many tokens as there are positions. */
static int states_of(struct writer *w, float **states)
{
    if (w->n_ids > w->props.positions)
        w->n_ids = w->props.positions;
    *states = malloc((size_t)w->n_ids * (size_t)w->props.channels * sizeof(**states));
    if (!*states)
        return writer_no_memory();
    return heed_model_encode(w->model, w->queue, w->ids, w->n_ids, *states, &w->why) < 0
         ? writer_failed(w) : 0;
}

/* Those of the sentences from w->read to `end`; `kept` has the place of the first. */
static int recall_part(struct writer *w, int64_t end, struct kept **kept)
{
    float *states = NULL;
    int64_t lead = 0, first = 0, last = 0;
    int status = part_read(w, end);

    if (!status)
        status = part_lead(w, &lead);
    if (!status)
        status = states_of(w, &states);
    for (int64_t i = part_salient(w, w->read, 1, end); i < end && !status;
         i = part_salient(w, i + 1, 1, end), ++*kept) {
        status = tokens_to(w, i, &first);
        if (!status)
            status = tokens_to(w, i + 1, &last);
        first += lead;
        last += lead;
        if (last > w->n_ids)
            last = w->n_ids;
        (*kept)->sentence = i;
        if (!status && !keep(w, *kept, states, first, last))
            status = writer_no_memory();
    }
    free(states);
    return status;
}

int recall_all(struct writer *w)
{
    struct kept *next;
    int status = 0;

    for (int64_t i = 0; i < w->doc->n; i++)
        w->n_kept += w->salient[i];
    w->kept = next = calloc((size_t)w->n_kept + 1, sizeof(*w->kept));
    w->rows = malloc(KEPT_MOST * (size_t)w->props.channels * sizeof(*w->rows));
    if (!w->kept || !w->rows)
        return writer_no_memory();
    while (w->read < w->doc->n && !status) {
        const int64_t end = part_end(w, w->props.positions);

        if (end < 0)
            return writer_failed(w);
        if (part_salient(w, w->read, 1, end) < end)
            status = recall_part(w, end, &next);
        w->read = end;
    }
    w->read = 0;
    return status;
}

int recall_others(struct writer *w, int64_t end)
{
    const size_t row = (size_t)w->props.channels;
    int64_t n = 0;

    part_others(w, end, KEPT_MOST);
    for (int64_t k = 0; k < w->n_kept; k++) {
        const struct kept *const kept = &w->kept[k];

        if (k >= w->before && k < w->n_kept - w->behind)
            continue;
        memcpy(w->rows + (size_t)n * row, w->states + (size_t)kept->first * row,
               (size_t)kept->n * row * sizeof(*w->rows));
        n += kept->n;
    }
    return heed_model_memory_set(w->memory, w->queue, w->rows, n, &w->why) < 0
         ? writer_failed(w) : 0;
}

#endif
