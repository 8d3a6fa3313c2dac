/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A model on a device: what its family computes with which extents, and its tensors by their roles.
 */
#ifndef MODEL_WEIGHTS_H
#define MODEL_WEIGHTS_H

#include "checkpoint.h"
#include "family.h"

#include <heed/nn.h>

/* A tensor on the device; ndim 0: absent. */
struct param {
    heed_buf buf;
    heed_tensor t;
};

/* Weight and bias. */
struct pair {
    struct param weight, bias;
};

struct layer {
    struct pair of[LAYER_ROLES];
};

/* Layers one after another, and what stands before and behind them. */
struct stack {
    const struct stack_names *names;
    struct layer *layers;
    int64_t n_layers, heads, head_dim, hidden;
    struct pair of[STACK_ROLES];
};

/* Tokens of a stack without a table of positions; of a decoder, whose caches grow with them. */
enum { TOKENS_MOST = INT32_MAX, DECODED_MOST = 1 << 20 };

struct parameters {
    heed_device *device;
    bool host;                 /* Memory of the device is memory of the host. */
    const struct family *family;
    struct config config;
    uint32_t act;
    bool gated, tied;
    struct stack encoder, decoder;
    struct pair head;          /* Untied logits; logits_bias is its bias. */
    heed_buf *owned;
    size_t n_owned, room_owned;
    uint64_t bytes;            /* Of the device, all weights. */
};

/* How weights are kept. */
struct weights_options {
    uint32_t dtype;            /* 0: as the files have them. */
    void (*progress)(void *context, uint64_t done, uint64_t all);
    void *context;
};

/* How many tokens a stack has positions for, or where these are not numbered, may have. */
int64_t weights_positions(const struct parameters *p, const struct stack *stack);

/* Is it a type that matrices of layers can have? */
bool weights_may_be(uint32_t dtype);

heed_status weights_load(heed_queue *queue, const char *folder,
                         const struct weights_options *options, struct parameters *out,
                         heed_report *report);
void weights_free(struct parameters *parameters);

/* Memory of the device that lives as long as the model. */
heed_status weights_keep(struct parameters *p, uint64_t bytes, heed_buf *buf, heed_report *report);

#endif
