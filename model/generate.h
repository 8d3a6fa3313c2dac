/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Greedy and beam search over a decoder. What counts as a finished sequence, when a search ends and
 * which scores lengths have is what generate() of transformers 5 does, so that its configurations
 * mean the same here (Wolf et al. 2020; no repeated n-grams: Paulus et al. 2018, section 2.5).
 */
#ifndef MODEL_GENERATE_H
#define MODEL_GENERATE_H

#include "decoder.h"

/* Lengths count the first token, which starts every sequence. Ids: CONFIG_ABSENT is none. */
struct search {
    int64_t beams, min_length, max_length, no_repeat;
    int64_t early_stopping;    /* 0: by an estimate, 1: as soon as all are finished, 2: never. */
    double length_penalty;
    int64_t start, eos, forced_bos, forced_eos;
    bool (*progress)(void *context, int64_t done, int64_t most); /* false: stop. */
    void *context;
};

/* HEED_E_VALUE what the model cannot do: the report's field is the name of the option. */
heed_status generate_check(const struct parameters *p, const struct search *search,
                           heed_report *report);

/* The best sequence after a text of n states, malloc'd, the start token included. */
heed_status generate(const struct parameters *p, heed_queue *queue, heed_buf states, int64_t n,
                     const struct search *search, int32_t **ids, int64_t *n_ids,
                     heed_report *report);

#endif
