/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The decoder of a model over one text's states: rows of several sequences that go on together.
 * Keys and values of a token are a page of their own, and a sequence is a list of pages: one that
 * begins like another shares its pages, and nothing is moved when sequences are chosen anew.
 */
#ifndef MODEL_DECODER_H
#define MODEL_DECODER_H

#include "weights.h"

struct decoder;

/* What rows of one sequence give to groups of the text's tokens. */
struct watch {
    int64_t groups;
    heed_buf values, shares;   /* [n][groups], 1 or 0; of a layer, [heads][rows][groups] */
    float *layer;              /* The same, of the host. */
    double *sum;               /* Of layers and heads, [rows][groups]. */
};

/* Adds what a layer has left in watch->shares. */
heed_status watch_take(struct watch *watch, const struct decoder *decoder, heed_report *report);

struct decoder {
    const struct parameters *p;
    heed_queue *queue;
    int64_t batch, most;       /* Sequences; tokens of one. */
    int64_t rows;              /* Tokens of a sequence that a step takes. */
    heed_plan *begin, *end, *layer;
    heed_buf *cross;           /* Keys and values of the text, of each layer. */
    heed_buf *caches;          /* Those of the tokens, of each layer: pages. */
    heed_buf x, ids, places, at, lengths, pages, logits;
    int32_t *table;            /* [batch][most] of the host. */
    struct watch *watch;       /* NULL: nobody asks. */
};

/* HEED_E_VALUE ids that the model does not have, or more than it has positions. */
heed_status decoder_check(const struct parameters *p, const int32_t *ids, int64_t n,
                          heed_report *report);

/* For `batch` sequences of up to `most` tokens, `rows` in a step, after a text of `n` states.
 * `watch`: of one sequence; NULL. */
heed_status decoder_open(struct decoder *decoder, const struct parameters *p, heed_queue *queue,
                         heed_buf states, int64_t n, int64_t batch, int64_t rows, int64_t most,
                         struct watch *watch, heed_report *report);
void decoder_close(struct decoder *decoder);

/* The next tokens ids [batch][rows] of all sequences, which are at `first`: logits [batch][rows]
 * [vocab] of what follows each; NULL: nobody asks. */
heed_status decoder_step(struct decoder *decoder, const int32_t *ids, int64_t first,
                         float *logits, heed_report *report);

/* Sequence i goes on from what sequence parents[i] was up to `length` tokens. */
heed_status decoder_choose(struct decoder *decoder, const int32_t *parents, int64_t length,
                           heed_report *report);

#endif
