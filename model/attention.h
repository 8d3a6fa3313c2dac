/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which keys the rows of an encoder see: what the checkpoint says, or what a caller wants of a
 * checkpoint that was made for less.
 */
#ifndef MODEL_ATTENTION_H
#define MODEL_ATTENTION_H

#include "weights.h"

struct tokenizer;

enum { OWN_ROWS = 512, OWN_STEP = 64 };

struct attention {
    enum mechanism mechanism;
    int64_t window;            /* SEES_LONGFORMER: on each side; 0: the layers' own. */
    int64_t globals;           /* First tokens that see and are seen by all. */
    int64_t block, sparse_block, factor; /* SEES_LSG, SEES_PEGASUS_X, SEES_BIGBIRD. */
    int64_t random;            /* SEES_BIGBIRD: random blocks of a block. */
    uint32_t sparsity;         /* HEED_LSG_*. */
    int64_t rows;              /* Rows of the encoder's own, before the text. */
    bool made;                 /* They are embedded tokens: `first` and then `mask`. */
    int32_t first, mask;
    bool shown;                /* The decoder sees them. */
    bool pooled;               /* The first one takes the place of the text's first row. */
    bool repeated;             /* Texts may have more tokens than positions, which begin anew. */
};

/* As the checkpoint says. */
heed_status attention_own(const struct parameters *p, struct attention *out, heed_report *report);

/* As a caller says (heed_model_options); `tokenizer` may be NULL. */
heed_status attention_parse(const struct parameters *p, const struct tokenizer *tokenizer,
                            const char *text, struct attention *out, heed_report *report);

#endif
