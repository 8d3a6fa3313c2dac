/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Families of models as tables: what their tensors are called and what they compute. What one of
 * them has and another has not is a row or a trait here, never a program of its own.
 */
#ifndef MODEL_FAMILY_H
#define MODEL_FAMILY_H

#include "config.h"

/* Parts of a layer; each has a weight and perhaps a bias. */
enum layer_role {
    ROLE_Q,
    ROLE_K,
    ROLE_V,
    ROLE_O,
    ROLE_NORM,                 /* Of attention: before it or behind it. */
    ROLE_GLOBAL_Q,             /* Of the global tokens of Longformer. */
    ROLE_GLOBAL_K,
    ROLE_GLOBAL_V,
    ROLE_SIDE_NORM,            /* Of the sums of LongT5, of the own rows of Pegasus-X. */
    ROLE_PLACES_K,             /* Of DeBERTa's relative positions. */
    ROLE_PLACES_Q,
    ROLE_CROSS_Q,
    ROLE_CROSS_K,
    ROLE_CROSS_V,
    ROLE_CROSS_O,
    ROLE_CROSS_NORM,
    ROLE_UP,
    ROLE_GATE,                 /* What the activation of UP is multiplied by. */
    ROLE_DOWN,
    ROLE_LAST_NORM,            /* Of the hidden layer. */
    LAYER_ROLES
};

/* Parts of a stack of layers. */
enum stack_role {
    ROLE_TOKENS,
    ROLE_POSITIONS,
    ROLE_TYPES,
    ROLE_FIRST_NORM,           /* Of the embedded tokens. */
    ROLE_FINAL_NORM,           /* Behind the last layer. */
    ROLE_TABLE,                /* Of relative positions, [buckets][heads]. */
    ROLE_SIDE_TABLE,
    ROLE_PLACES,               /* Rows for relative positions, and their norm. */
    ROLE_PLACES_NORM,
    ROLE_GLOBALS,              /* Rows that stand before the text. */
    STACK_ROLES
};

enum extent { OF_NONE, OF_MODEL, OF_INNER, OF_HIDDEN, OF_VOCAB, OF_BUCKETS, OF_HEADS, OF_ANY };

/* The extents of a weight; those of its bias are `rows`. */
struct role {
    enum extent rows, columns;
    bool attends;              /* A map of attention. */
};
extern const struct role layer_roles[LAYER_ROLES], stack_roles[STACK_ROLES];

/* Which keys the rows of an encoder see. */
enum mechanism {
    SEES_ALL,
    SEES_LONGFORMER,
    SEES_LONGT5,               /* Windows, with `transient-global` sums besides. */
    SEES_PEGASUS_X,
    SEES_BIGBIRD,
    SEES_LSG,
    SEES_DEBERTA
};

enum {
    TRAIT_NORM_FIRST = 1u,     /* Norms before attention and hidden layer, else behind the sums. */
    TRAIT_RMS = 2u,
    TRAIT_BIASES = 4u,         /* Linear maps and norms have biases. */
    TRAIT_SINUSOIDS = 8u,      /* Positions that are computed. */
    TRAIT_RELATIVE = 16u,      /* Buckets of T5, and no scale of the scores. */
    TRAIT_SCALED = 32u,        /* Tied logits are scaled by 1 / sqrt(model). */
    TRAIT_TYPES = 64u,
    TRAIT_PLAIN_MAPS = 128u,   /* Those of attention have no biases. */
    TRAIT_SLOWEST = 256u       /* The slowest sinusoid turns by exactly 1 / 10000. */
};

struct stack_names {
    const char *prefix, *layer;      /* Of the stack; of a layer within it, with its number. */
    const char *parts[LAYER_ROLES];  /* Of the layer; NULL: the family has none. */
    const char *whole[STACK_ROLES];  /* Of the model, not of the stack. */
};

struct family {
    const char *name;                /* model_type of config.json */
    const char *roots[4];            /* Before all names: those that are in the files are meant. */
    uint32_t traits;                 /* TRAIT_* */
    enum mechanism mechanism;
    int64_t first_position;          /* The row of position 0. */
    const struct stack_names *encoder, *decoder;
    const char *head, *logits_bias;  /* Of the whole; of the second one the name of the tensor. */
    double eps;                      /* Of norms, where config.json says nothing. */
};

/* NULL: the family is not known. */
const struct family *family_find(const char *name);

/* The names of all, with commas between them: for messages. */
void family_list(char *text, size_t bytes);

/* The names of an encoder with transient-global attention; NULL: the family has none. */
const struct stack_names *family_global(const struct family *family);

/* HEED_ACT_* of a name in config.json; *gated: is there a second projection? False: unknown. */
bool family_act(const char *name, uint32_t *act, bool *gated);

#endif
