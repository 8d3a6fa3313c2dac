/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a model is behind heed/model.h.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "encoder.h"
#include "past.h"

#include <heed/model.h>

/* How the states of a text become its vector. */
struct pooling {
    bool first;                /* The first row; else the mean of all. */
    int64_t most;              /* Tokens of a text. */
    heed_report none;          /* Why there are no vectors. */
};

struct heed_model {
    struct parameters p;
    struct attention attention;
    struct tokenizer *tokenizer;
    heed_report no_tokenizer;  /* Why there is none. */
    struct pooling pooling;
};

struct heed_model_memory {
    const heed_model *model;
    struct past past;
};

/* A sized struct of the caller's over `to`, which has the defaults: the rules of heed/heed.h. */
heed_status model_sized(const void *from, size_t most, void *to, heed_report *report);

/* Reads the folder's tokenizer. That there is none is no mistake of the model's: ids serve. */
void model_read_tokenizer(struct heed_model *model, const char *folder);

/* Reads what the folder says of vectors. That it says what is not known is no mistake until
 * somebody asks for them. */
void model_read_pooling(struct heed_model *model, const char *folder);

#endif
