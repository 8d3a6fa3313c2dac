/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What config.json and generation_config.json say of a model. Families name the same thing
 * differently ("d_model", "hidden_size"): a field has all its names in one table, whose bounds hold
 * for every family.
 */
#ifndef MODEL_CONFIG_H
#define MODEL_CONFIG_H

#include <heed/heed.h>

#include <stdbool.h>

enum { CONFIG_LAYERS = 256, CONFIG_WORD = 64, CONFIG_ABSENT = -1 };

struct config {
    char family[CONFIG_WORD], act[CONFIG_WORD], attention[CONFIG_WORD];
    char sparsity[CONFIG_WORD];     /* Of LSG. */
    char relative[CONFIG_WORD], places_norm[CONFIG_WORD]; /* "p2c|c2p", "layer_norm" of DeBERTa. */
    int64_t vocab, model, head_dim; /* head_dim: CONFIG_ABSENT: model / heads. */
    int64_t layers, decoder_layers, heads, decoder_heads, hidden, decoder_hidden;
    int64_t positions, decoder_positions, types;
    int64_t buckets, max_distance;  /* Of relative positions. */
    int64_t window[CONFIG_LAYERS];  /* Longformer, LED: whole windows, of each layer. */
    int64_t n_windows;              /* 1: of all layers. */
    int64_t radius, side_block, block, sparse_block, factor, globals, random_blocks;
    int64_t relative_positions, position_buckets, convolution;
    int64_t pad, bos, eos, start;   /* Ids; CONFIG_ABSENT: none. */
    int64_t forced_bos, forced_eos;
    int64_t beams, min_length, max_length, no_repeat, max_new;
    int64_t early_stopping;         /* 0, 1; 2: "never". */
    double eps, length_penalty;     /* eps: CONFIG_ABSENT: as the family has it. */
    bool scale_embedding, tied, scale_outputs, stagger, relative_attention, share_keys;
    bool position_input, use_bias, lsg, mask_first, pass_global, pool_with_global;
};

/* Reads both files of a folder, the second one if it is there. HEED_E_NOT_FOUND there is no
 * config.json; HEED_E_VALUE a field has no sense: the report's field is its name. */
heed_status config_read(const char *folder, struct config *config, heed_report *report);

/* One file's text over what `config` has; `name` is for reports. */
heed_status config_parse(const char *name, const char *text, size_t bytes, struct config *config,
                         heed_report *report);

/* What a model has of which no file says anything. */
void config_defaults(struct config *config);

#endif
