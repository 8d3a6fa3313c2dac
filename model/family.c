/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "family.h"

#include <heed/nn.h>
#include <stdio.h>
#include <string.h>

const struct role layer_roles[LAYER_ROLES] = {
    [ROLE_Q] = { OF_INNER, OF_MODEL, true },
    [ROLE_K] = { OF_INNER, OF_MODEL, true },
    [ROLE_V] = { OF_INNER, OF_MODEL, true },
    [ROLE_O] = { OF_MODEL, OF_INNER, true },
    [ROLE_NORM] = { OF_MODEL, OF_NONE, false },
    [ROLE_GLOBAL_Q] = { OF_INNER, OF_MODEL, true },
    [ROLE_GLOBAL_K] = { OF_INNER, OF_MODEL, true },
    [ROLE_GLOBAL_V] = { OF_INNER, OF_MODEL, true },
    [ROLE_SIDE_NORM] = { OF_MODEL, OF_NONE, false },
    [ROLE_PLACES_K] = { OF_INNER, OF_MODEL, true },
    [ROLE_PLACES_Q] = { OF_INNER, OF_MODEL, true },
    [ROLE_CROSS_Q] = { OF_INNER, OF_MODEL, true },
    [ROLE_CROSS_K] = { OF_INNER, OF_MODEL, true },
    [ROLE_CROSS_V] = { OF_INNER, OF_MODEL, true },
    [ROLE_CROSS_O] = { OF_MODEL, OF_INNER, true },
    [ROLE_CROSS_NORM] = { OF_MODEL, OF_NONE, false },
    [ROLE_UP] = { OF_HIDDEN, OF_MODEL, false },
    [ROLE_GATE] = { OF_HIDDEN, OF_MODEL, false },
    [ROLE_DOWN] = { OF_MODEL, OF_HIDDEN, false },
    [ROLE_LAST_NORM] = { OF_MODEL, OF_NONE, false },
};

const struct role stack_roles[STACK_ROLES] = {
    [ROLE_TOKENS] = { OF_VOCAB, OF_MODEL, false },
    [ROLE_POSITIONS] = { OF_ANY, OF_MODEL, false },
    [ROLE_TYPES] = { OF_ANY, OF_MODEL, false },
    [ROLE_FIRST_NORM] = { OF_MODEL, OF_NONE, false },
    [ROLE_FINAL_NORM] = { OF_MODEL, OF_NONE, false },
    [ROLE_TABLE] = { OF_BUCKETS, OF_HEADS, false },
    [ROLE_SIDE_TABLE] = { OF_BUCKETS, OF_HEADS, false },
    [ROLE_PLACES] = { OF_ANY, OF_MODEL, false },
    [ROLE_PLACES_NORM] = { OF_MODEL, OF_NONE, false },
    [ROLE_GLOBALS] = { OF_ANY, OF_MODEL, false },
};

/* ---- BART and what was made of it (Lewis et al. 2020) ---- */

#define BART_REST                                                                                  \
    [ROLE_NORM] = "self_attn_layer_norm", [ROLE_UP] = "fc1", [ROLE_DOWN] = "fc2",                  \
    [ROLE_LAST_NORM] = "final_layer_norm"
#define BART_SELF                                                                                  \
    [ROLE_Q] = "self_attn.q_proj", [ROLE_K] = "self_attn.k_proj", [ROLE_V] = "self_attn.v_proj",   \
    [ROLE_O] = "self_attn.out_proj", BART_REST
#define BART_CROSS                                                                                 \
    [ROLE_CROSS_Q] = "encoder_attn.q_proj", [ROLE_CROSS_K] = "encoder_attn.k_proj",                \
    [ROLE_CROSS_V] = "encoder_attn.v_proj", [ROLE_CROSS_O] = "encoder_attn.out_proj",              \
    [ROLE_CROSS_NORM] = "encoder_attn_layer_norm"
#define BART_WHOLE                                                                                 \
    [ROLE_TOKENS] = "embed_tokens", [ROLE_POSITIONS] = "embed_positions",                          \
    [ROLE_FIRST_NORM] = "layernorm_embedding"

static const struct stack_names bart_encoder = {
    "encoder.", "layers.%d.", { BART_SELF },
    { BART_WHOLE, [ROLE_GLOBALS] = "global_embeddings" }, /* LSG's */
};
static const struct stack_names bart_decoder = {
    "decoder.", "layers.%d.", { BART_SELF, BART_CROSS }, { BART_WHOLE },
};

/* mBART has the norms first, and a last one (Liu et al. 2020). */
static const struct stack_names mbart_encoder = {
    "encoder.", "layers.%d.", { BART_SELF }, { BART_WHOLE, [ROLE_FINAL_NORM] = "layer_norm" },
};
static const struct stack_names mbart_decoder = {
    "decoder.", "layers.%d.", { BART_SELF, BART_CROSS },
    { BART_WHOLE, [ROLE_FINAL_NORM] = "layer_norm" },
};

/* LED has Longformer's projections (Beltagy et al. 2020, section 7). */
static const struct stack_names led_encoder = {
    "encoder.",
    "layers.%d.",
    { [ROLE_Q] = "self_attn.longformer_self_attn.query",
      [ROLE_K] = "self_attn.longformer_self_attn.key",
      [ROLE_V] = "self_attn.longformer_self_attn.value",
      [ROLE_O] = "self_attn.output",
      [ROLE_GLOBAL_Q] = "self_attn.longformer_self_attn.query_global",
      [ROLE_GLOBAL_K] = "self_attn.longformer_self_attn.key_global",
      [ROLE_GLOBAL_V] = "self_attn.longformer_self_attn.value_global",
      BART_REST },
    { BART_WHOLE },
};

/* Pegasus computes its positions (Zhang et al. 2020). */
#define PEGASUS_WHOLE                                                                              \
    [ROLE_TOKENS] = "embed_tokens", [ROLE_POSITIONS] = "embed_positions",                          \
    [ROLE_FINAL_NORM] = "layer_norm"
static const struct stack_names pegasus_encoder = {
    "encoder.", "layers.%d.", { BART_SELF }, { PEGASUS_WHOLE },
};
static const struct stack_names pegasus_decoder = {
    "decoder.", "layers.%d.", { BART_SELF, BART_CROSS }, { PEGASUS_WHOLE },
};

/* Pegasus-X has rows of its own before the text (Phang et al. 2022). */
static const struct stack_names pegasus_x_encoder = {
    "encoder.", "layers.%d.", { BART_SELF, [ROLE_SIDE_NORM] = "global_self_attn_layer_norm" },
    { [ROLE_TOKENS] = "embed_tokens", [ROLE_GLOBALS] = "embed_global",
      [ROLE_FINAL_NORM] = "layer_norm" },
};
static const struct stack_names pegasus_x_decoder = {
    "decoder.", "layers.%d.", { BART_SELF, BART_CROSS },
    { [ROLE_TOKENS] = "embed_tokens", [ROLE_FINAL_NORM] = "layer_norm" },
};

/* BigBird's encoder before BART's decoder; their first norm stands last (Zaheer et al. 2020). */
#define BIGBIRD_PEGASUS_WHOLE                                                                      \
    [ROLE_TOKENS] = "embed_tokens", [ROLE_POSITIONS] = "embed_positions",                          \
    [ROLE_FINAL_NORM] = "layernorm_embedding"
static const struct stack_names bigbird_pegasus_encoder = {
    "encoder.",
    "layers.%d.",
    { [ROLE_Q] = "self_attn.self.query", [ROLE_K] = "self_attn.self.key",
      [ROLE_V] = "self_attn.self.value", [ROLE_O] = "self_attn.output", BART_REST },
    { BIGBIRD_PEGASUS_WHOLE },
};
static const struct stack_names bigbird_pegasus_decoder = {
    "decoder.", "layers.%d.", { BART_SELF, BART_CROSS }, { BIGBIRD_PEGASUS_WHOLE },
};

/* ---- T5 (Raffel et al. 2020) ---- */

#define T5_LAYER(self, behind)                                                                     \
    [ROLE_Q] = "layer.0." self ".q", [ROLE_K] = "layer.0." self ".k",                              \
    [ROLE_V] = "layer.0." self ".v", [ROLE_O] = "layer.0." self ".o",                              \
    [ROLE_NORM] = "layer.0.layer_norm", [ROLE_UP] = behind ".DenseReluDense.wi",                   \
    [ROLE_GATE] = behind ".DenseReluDense.wi_1", [ROLE_DOWN] = behind ".DenseReluDense.wo",        \
    [ROLE_LAST_NORM] = behind ".layer_norm"
#define T5_WHOLE(self)                                                                             \
    [ROLE_TOKENS] = "embed_tokens", [ROLE_FINAL_NORM] = "final_layer_norm",                        \
    [ROLE_TABLE] = "block.0.layer.0." self ".relative_attention_bias"

static const struct stack_names t5_encoder = {
    "encoder.", "block.%d.", { T5_LAYER("SelfAttention", "layer.1") },
    { T5_WHOLE("SelfAttention") },
};
static const struct stack_names t5_decoder = {
    "decoder.",
    "block.%d.",
    { T5_LAYER("SelfAttention", "layer.2"),
      [ROLE_CROSS_Q] = "layer.1.EncDecAttention.q", [ROLE_CROSS_K] = "layer.1.EncDecAttention.k",
      [ROLE_CROSS_V] = "layer.1.EncDecAttention.v", [ROLE_CROSS_O] = "layer.1.EncDecAttention.o",
      [ROLE_CROSS_NORM] = "layer.1.layer_norm" },
    { T5_WHOLE("SelfAttention") },
};

/* LongT5 (Guo et al. 2022). */
static const struct stack_names longt5_local = {
    "encoder.", "block.%d.", { T5_LAYER("LocalSelfAttention", "layer.1") },
    { T5_WHOLE("LocalSelfAttention") },
};
static const struct stack_names longt5_global = {
    "encoder.",
    "block.%d.",
    { T5_LAYER("TransientGlobalSelfAttention", "layer.1"),
      [ROLE_SIDE_NORM] = "layer.0.TransientGlobalSelfAttention.global_input_layer_norm" },
    { T5_WHOLE("TransientGlobalSelfAttention"),
      [ROLE_SIDE_TABLE] =
          "block.0.layer.0.TransientGlobalSelfAttention.global_relative_attention_bias" },
};

/* ---- BERT and its kin (Devlin et al. 2019) ---- */

#define BERT_REST                                                                                  \
    [ROLE_O] = "attention.output.dense", [ROLE_NORM] = "attention.output.LayerNorm",               \
    [ROLE_UP] = "intermediate.dense", [ROLE_DOWN] = "output.dense",                                \
    [ROLE_LAST_NORM] = "output.LayerNorm"
#define BERT_LAYER                                                                                 \
    [ROLE_Q] = "attention.self.query", [ROLE_K] = "attention.self.key",                            \
    [ROLE_V] = "attention.self.value", BERT_REST
#define BERT_WHOLE                                                                                 \
    [ROLE_TOKENS] = "embeddings.word_embeddings",                                                  \
    [ROLE_POSITIONS] = "embeddings.position_embeddings",                                           \
    [ROLE_TYPES] = "embeddings.token_type_embeddings",                                             \
    [ROLE_FIRST_NORM] = "embeddings.LayerNorm"

static const struct stack_names bert_encoder = {
    "", "encoder.layer.%d.", { BERT_LAYER },
    { BERT_WHOLE, [ROLE_GLOBALS] = "embeddings.global_embeddings" }, /* LSG's */
};
static const struct stack_names longformer_encoder = {
    "",
    "encoder.layer.%d.",
    { BERT_LAYER, [ROLE_GLOBAL_Q] = "attention.self.query_global",
      [ROLE_GLOBAL_K] = "attention.self.key_global",
      [ROLE_GLOBAL_V] = "attention.self.value_global" },
    { BERT_WHOLE },
};

/* He et al. 2021, version 2 of their code. */
static const struct stack_names deberta_encoder = {
    "",
    "encoder.layer.%d.",
    { BERT_REST, [ROLE_Q] = "attention.self.query_proj", [ROLE_K] = "attention.self.key_proj",
      [ROLE_V] = "attention.self.value_proj", [ROLE_PLACES_K] = "attention.self.pos_key_proj",
      [ROLE_PLACES_Q] = "attention.self.pos_query_proj" },
    { BERT_WHOLE, [ROLE_PLACES] = "encoder.rel_embeddings",
      [ROLE_PLACES_NORM] = "encoder.LayerNorm" },
};

/* ---- the families ---- */

static const struct family families[] = {
    { "bart", { "model.", "" }, TRAIT_BIASES, SEES_ALL, 2, &bart_encoder, &bart_decoder,
      "lm_head", "final_logits_bias", 1e-5 },
    { "led", { "led.", "" }, TRAIT_BIASES, SEES_LONGFORMER, 0, &led_encoder, &bart_decoder,
      "lm_head", "final_logits_bias", 1e-5 },
    { "mbart", { "model.", "" }, TRAIT_BIASES | TRAIT_NORM_FIRST, SEES_ALL, 2, &mbart_encoder,
      &mbart_decoder, "lm_head", "final_logits_bias", 1e-5 },
    { "pegasus", { "model.", "" }, TRAIT_BIASES | TRAIT_NORM_FIRST | TRAIT_SINUSOIDS, SEES_ALL, 0,
      &pegasus_encoder, &pegasus_decoder, "lm_head", "final_logits_bias", 1e-5 },
    { "pegasus_x", { "model.", "" }, TRAIT_BIASES | TRAIT_NORM_FIRST | TRAIT_SINUSOIDS |
      TRAIT_PLAIN_MAPS | TRAIT_SLOWEST, SEES_PEGASUS_X, 0, &pegasus_x_encoder, &pegasus_x_decoder,
      "lm_head", NULL, 1e-5 },
    { "t5", { "" }, TRAIT_NORM_FIRST | TRAIT_RMS | TRAIT_RELATIVE | TRAIT_SCALED, SEES_ALL, 0,
      &t5_encoder, &t5_decoder, "lm_head", NULL, 1e-6 },
    { "longt5", { "" }, TRAIT_NORM_FIRST | TRAIT_RMS | TRAIT_RELATIVE | TRAIT_SCALED, SEES_LONGT5,
      0, &longt5_local, &t5_decoder, "lm_head", NULL, 1e-6 },
    { "bert", { "bert.", "" }, TRAIT_BIASES | TRAIT_TYPES, SEES_ALL, 0, &bert_encoder, NULL, NULL,
      NULL, 1e-12 },
    { "roberta", { "roberta.", "" }, TRAIT_BIASES | TRAIT_TYPES, SEES_ALL, 2, &bert_encoder, NULL,
      NULL, NULL, 1e-12 },
    { "longformer", { "longformer.", "" }, TRAIT_BIASES | TRAIT_TYPES, SEES_LONGFORMER, 2,
      &longformer_encoder, NULL, NULL, NULL, 1e-12 },
    { "big_bird", { "bert.", "" }, TRAIT_BIASES | TRAIT_TYPES, SEES_BIGBIRD, 0, &bert_encoder,
      NULL, NULL, NULL, 1e-12 },
    { "bigbird_pegasus", { "model.", "" }, TRAIT_BIASES | TRAIT_NORM_FIRST | TRAIT_PLAIN_MAPS,
      SEES_BIGBIRD, 0, &bigbird_pegasus_encoder, &bigbird_pegasus_decoder, "lm_head",
      "final_logits_bias", 1e-5 },
    { "deberta-v2", { "deberta.", "" }, TRAIT_BIASES | TRAIT_TYPES, SEES_DEBERTA, 0,
      &deberta_encoder, NULL, NULL, NULL, 1e-7 },
};

const struct family *family_find(const char *name)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strcmp(families[i].name, name) == 0)
            return &families[i];
    return NULL;
}

void family_list(char *text, size_t bytes)
{
    size_t used = 0;

    *text = 0;
    for (size_t i = 0; i < sizeof families / sizeof *families && used < bytes; i++) {
        const int n = snprintf(text + used, bytes - used, "%s%s", i ? ", " : "", families[i].name);

        used += n > 0 ? (size_t)n : 0;
    }
}

const struct stack_names *family_global(const struct family *family)
{
    return family->encoder == &longt5_local ? &longt5_global : NULL;
}

bool family_act(const char *name, uint32_t *act, bool *gated)
{
    static const struct {
        const char *name;
        uint32_t act;
    } acts[] = {
        { "gelu", HEED_ACT_GELU },
        { "gelu_new", HEED_ACT_GELU_TANH },
        { "gelu_pytorch_tanh", HEED_ACT_GELU_TANH },
        { "gelu_fast", HEED_ACT_GELU_TANH },
        { "relu", HEED_ACT_RELU },
        { "silu", HEED_ACT_SILU },
        { "swish", HEED_ACT_SILU },
        { "tanh", HEED_ACT_TANH },
    };

    *gated = strncmp(name, "gated-", 6) == 0;
    if (*gated)
        name += 6;
    /* T5 1.1 says "gated-gelu" of the form with tanh. */
    if (*gated && strcmp(name, "gelu") == 0)
        name = "gelu_new";
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        if (strcmp(acts[i].name, name) == 0) {
            *act = acts[i].act;
            return true;
        }
    return false;
}
