/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What an encoder's last layers keep of other segments of a document, and how a segment sees it
 * (Cao and Wang 2023, section 3).
 */
#ifndef MODEL_PAST_H
#define MODEL_PAST_H

#include "see.h"

enum { PAST_ROWS = 1024, PAST_RATIO = 5, PAST_LAYERS = 3, PAST_ROWS_MOST = 1 << 20 };

enum past_kind { PAST_COMPRESSIVE, PAST_ATTENTIVE, PAST_SALIENT };

struct past {
    heed_device *device;
    enum past_kind kind;
    int64_t rows, old, ratio;  /* rows: of the attentive or salient ones, or the newest ones. */
    int64_t first, layers, model; /* The first layer that keeps something; how many do. */
    int64_t filled;            /* Rows that are attentive or salient; 0: there is nothing yet. */
    heed_buf state;            /* Of all layers, one after another, */
    uint64_t stride;           /* so many bytes apart; 0: all have the same. */
};

/* HEED_E_UNSUPPORTED rows that do not see all keys alike, or the relative positions of T5. */
heed_status past_check(const struct parameters *p, const struct attention *attention,
                       heed_report *report);

/* An empty one; `past` has all but device, model, first, state and stride. */
heed_status past_open(const struct parameters *p, heed_queue *queue, struct past *past,
                      heed_report *report);
heed_status past_clear(struct past *past, heed_queue *queue, heed_report *report);
void past_close(struct past *past);

/* Salient rows: `n` of the host's. */
heed_status past_set(struct past *past, heed_queue *queue, const float *rows, int64_t n,
                     heed_report *report);

/* Does layer `which` keep something? `past` may be NULL. */
bool past_has(const struct past *past, int64_t which);

/* The memory of a layer, as arguments of its program. */
void past_bind(const struct past *past, int64_t which, heed_buf at[ARGS]);

/* Steps of a layer of n rows. Instead of see(): x are the rows that ARG_Q, ARG_K and ARG_V are maps
 * of. Behind attention and its norm: rows take from the memory. At the end. */
void past_see(struct sketch *s, const struct past *past, const struct attention *a, struct view x);
void past_read(struct sketch *s, const struct past *past, struct view rows);
void past_keep(struct sketch *s, const struct past *past, int64_t n);

/* A segment of n rows has been read. */
void past_count(struct past *past, int64_t n);

#endif
