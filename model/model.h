/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a model is behind heed/model.h.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "encoder.h"

#include <heed/model.h>

struct heed_model {
    struct parameters p;
    struct attention attention;
    struct tokenizer *tokenizer;
    heed_report no_tokenizer;  /* Why there is none. */
};

/* Reads the folder's tokenizer. That there is none is no mistake of the model's: ids serve. */
void model_read_tokenizer(struct heed_model *model, const char *folder);

#endif
