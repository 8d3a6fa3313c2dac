/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "file.h"
#include "json.h"
#include "say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 4 << 20, ID = 1 << 24, EXTENT = 1 << 20 };

enum kind { INT, REAL, BOOL, WORD, WINDOWS, STOPPING, EOS, LSG };

/* A field, one of the names it has, and its bounds. */
static const struct field {
    const char *name;
    size_t at;
    enum kind kind;
    double low, high;
} fields[] = {
#define AT(field) offsetof(struct config, field)
    { "model_type", AT(family), WORD, 0, 0 },
    { "activation_function", AT(act), WORD, 0, 0 },
    { "hidden_act", AT(act), WORD, 0, 0 },
    { "feed_forward_proj", AT(act), WORD, 0, 0 },
    { "base_model_prefix", AT(lsg), LSG, 0, 0 },
    { "sparsity_type", AT(sparsity), WORD, 0, 0 },
    { "encoder_attention_type", AT(attention), WORD, 0, 0 },
    { "attention_type", AT(attention), WORD, 0, 0 },
    { "vocab_size", AT(vocab), INT, 1, ID },
    { "d_model", AT(model), INT, 1, EXTENT },
    { "hidden_size", AT(model), INT, 1, EXTENT },
    { "d_kv", AT(head_dim), INT, 1, EXTENT },
    { "encoder_layers", AT(layers), INT, 0, CONFIG_LAYERS },
    { "num_layers", AT(layers), INT, 0, CONFIG_LAYERS },
    { "num_hidden_layers", AT(layers), INT, 0, CONFIG_LAYERS },
    { "decoder_layers", AT(decoder_layers), INT, 0, CONFIG_LAYERS },
    { "num_decoder_layers", AT(decoder_layers), INT, 0, CONFIG_LAYERS },
    { "encoder_attention_heads", AT(heads), INT, 1, EXTENT },
    { "num_heads", AT(heads), INT, 1, EXTENT },
    { "num_attention_heads", AT(heads), INT, 1, EXTENT },
    { "decoder_attention_heads", AT(decoder_heads), INT, 1, EXTENT },
    { "encoder_ffn_dim", AT(hidden), INT, 1, EXTENT },
    { "d_ff", AT(hidden), INT, 1, EXTENT },
    { "intermediate_size", AT(hidden), INT, 1, EXTENT },
    { "decoder_ffn_dim", AT(decoder_hidden), INT, 1, EXTENT },
    { "max_position_embeddings", AT(positions), INT, 1, ID },
    { "max_encoder_position_embeddings", AT(positions), INT, 1, ID },
    { "max_decoder_position_embeddings", AT(decoder_positions), INT, 1, ID },
    { "type_vocab_size", AT(types), INT, 0, EXTENT },
    { "relative_attention_num_buckets", AT(buckets), INT, 8, EXTENT },
    { "relative_attention_max_distance", AT(max_distance), INT, 1, 1 << 16 },
    { "attention_window", AT(window), WINDOWS, 2, ID },
    { "local_radius", AT(radius), INT, 1, ID },
    { "global_block_size", AT(side_block), INT, 1, ID },
    { "block_size", AT(block), INT, 1, ID },
    { "sparse_block_size", AT(sparse_block), INT, 0, ID },
    { "sparsity_factor", AT(factor), INT, 0, ID },
    { "mask_first_token", AT(mask_first), BOOL, 0, 0 },
    { "pass_global_tokens_to_decoder", AT(pass_global), BOOL, 0, 0 },
    { "pool_with_global", AT(pool_with_global), BOOL, 0, 0 },
    { "num_global_tokens", AT(globals), INT, 0, EXTENT },
    { "num_random_blocks", AT(random_blocks), INT, 0, EXTENT },
    { "max_relative_positions", AT(relative_positions), INT, -1, 1 << 16 },
    { "position_buckets", AT(position_buckets), INT, -1, ID },
    { "pos_att_type", AT(relative), WORD, 0, 0 },
    { "norm_rel_ebd", AT(places_norm), WORD, 0, 0 },
    { "conv_kernel_size", AT(convolution), INT, 0, ID },
    { "relative_attention", AT(relative_attention), BOOL, 0, 0 },
    { "share_att_key", AT(share_keys), BOOL, 0, 0 },
    { "position_biased_input", AT(position_input), BOOL, 0, 0 },
    { "pad_token_id", AT(pad), INT, 0, ID },
    { "bos_token_id", AT(bos), INT, 0, ID },
    { "eos_token_id", AT(eos), EOS, 0, ID },
    { "decoder_start_token_id", AT(start), INT, 0, ID },
    { "forced_bos_token_id", AT(forced_bos), INT, 0, ID },
    { "forced_eos_token_id", AT(forced_eos), EOS, 0, ID },
    { "num_beams", AT(beams), INT, 1, 1024 },
    { "min_length", AT(min_length), INT, 0, ID },
    { "max_length", AT(max_length), INT, 1, ID },
    { "max_new_tokens", AT(max_new), INT, 1, ID },
    { "no_repeat_ngram_size", AT(no_repeat), INT, 0, ID },
    { "early_stopping", AT(early_stopping), STOPPING, 0, 0 },
    { "length_penalty", AT(length_penalty), REAL, -1000, 1000 },
    { "layer_norm_eps", AT(eps), REAL, 0, 1 },
    { "layer_norm_epsilon", AT(eps), REAL, 0, 1 },
    { "scale_embedding", AT(scale_embedding), BOOL, 0, 0 },
    { "scale_decoder_outputs", AT(scale_outputs), BOOL, 0, 0 },
    { "tie_word_embeddings", AT(tied), BOOL, 0, 0 },
    { "stagger_local_blocks", AT(stagger), BOOL, 0, 0 },
    { "use_bias", AT(use_bias), BOOL, 0, 0 },
#undef AT
};

void config_defaults(struct config *config)
{
    *config = (struct config){
        .head_dim = CONFIG_ABSENT, .decoder_layers = CONFIG_ABSENT, .decoder_heads = CONFIG_ABSENT,
        .decoder_hidden = CONFIG_ABSENT, .positions = CONFIG_ABSENT,
        .decoder_positions = CONFIG_ABSENT, .n_windows = CONFIG_ABSENT, .buckets = 32,
        .max_distance = 128, .radius = 127, .side_block = 16, .block = CONFIG_ABSENT,
        .globals = 0, .random_blocks = 3, .relative_positions = CONFIG_ABSENT,
        .position_buckets = CONFIG_ABSENT, .pad = CONFIG_ABSENT, .bos = CONFIG_ABSENT,
        .eos = CONFIG_ABSENT, .start = CONFIG_ABSENT, .forced_bos = CONFIG_ABSENT,
        .forced_eos = CONFIG_ABSENT, .beams = 1, .max_length = CONFIG_ABSENT,
        .max_new = CONFIG_ABSENT, .eps = CONFIG_ABSENT, .length_penalty = 1, .tied = true,
        .scale_outputs = true, .stagger = true, .position_input = true,
        .sparse_block = CONFIG_ABSENT, .factor = 2,
        .pass_global = true, .pool_with_global = true,
    };
}

/* ---- values ---- */

static bool integer(struct json *j, const struct field *field, int64_t *to)
{
    int64_t got;

    if (!json_integer(j, &got))
        return false;
    if ((double)got < field->low || (double)got > field->high)
        return json_fail(j, "out of its range");
    *to = got;
    return true;
}

static bool word(struct json *j, char to[CONFIG_WORD])
{
    struct json_text text;

    if (!json_string(j, &text))
        return false;
    if (text.bytes >= CONFIG_WORD || text.escaped)
        return json_fail(j, "a word of more than 63 characters");
    memcpy(to, text.at, text.bytes);
    to[text.bytes] = 0;
    return true;
}

/* Words of an array, one behind the other with '|' between them. */
static bool words(struct json *j, char to[CONFIG_WORD])
{
    char all[CONFIG_WORD] = "";

    if (json_peek(j) == JSON_STRING)
        return word(j, to);
    if (!json_array(j))
        return false;
    while (json_element(j)) {
        char one[CONFIG_WORD];

        if (!word(j, one))
            return false;
        if (strlen(all) + strlen(one) + 2 > CONFIG_WORD)
            return json_fail(j, "words of more than 62 characters");
        if (*all)
            strcat(all, "|");
        strcat(all, one);
    }
    memcpy(to, all, sizeof all);
    return !j->error;
}

/* One window for all layers, or one for each. */
static bool windows(struct json *j, const struct field *field, struct config *config)
{
    int64_t n = 0;

    if (json_peek(j) == JSON_NUMBER) {
        config->n_windows = 1;
        return integer(j, field, &config->window[0]);
    }
    if (!json_array(j))
        return false;
    while (json_element(j)) {
        if (n == CONFIG_LAYERS)
            return json_fail(j, "more than 256 windows");
        if (!integer(j, field, &config->window[n]))
            return false;
        n++;
    }
    config->n_windows = n;
    return !j->error;
}

/* An id, or an array with one: several of them mean the same to no family here. */
static bool id(struct json *j, const struct field *field, int64_t *to)
{
    if (json_peek(j) != JSON_ARRAY)
        return integer(j, field, to);
    if (!json_array(j) || !json_element(j) || !integer(j, field, to))
        return false;
    return (!json_element(j) && !j->error) || json_fail(j, "more than one id");
}

static bool stopping(struct json *j, int64_t *to)
{
    struct json_text text;
    bool yes;

    if (json_peek(j) == JSON_STRING) {
        if (!json_string(j, &text))
            return false;
        *to = 2;
        return json_is(&text, "never") || json_fail(j, "neither true, false nor \"never\"");
    }
    if (!json_bool(j, &yes))
        return false;
    *to = yes;
    return true;
}

/* LSG's models say "lsg" here, and else what they were made of. */
static bool lsg(struct json *j, bool *to)
{
    struct json_text text;

    if (!json_string(j, &text))
        return false;
    *to = json_is(&text, "lsg");
    return true;
}

static bool real(struct json *j, const struct field *field, double *to)
{
    double got;

    if (!json_number(j, &got))
        return false;
    if (!(got >= field->low && got <= field->high))
        return json_fail(j, "out of its range");
    *to = got;
    return true;
}

static bool value(struct json *j, const struct field *field, struct config *config)
{
    char *const at = (char *)config + field->at;

    if (json_peek(j) == JSON_NULL)      /* what is null is as good as absent */
        return json_null(j);
    switch (field->kind) {
        case INT: return integer(j, field, (int64_t *)(void *)at);
        case REAL: return real(j, field, (double *)(void *)at);
        case BOOL: return json_bool(j, (bool *)at);
        case WORD: return words(j, at);
        case WINDOWS: return windows(j, field, config);
        case STOPPING: return stopping(j, (int64_t *)(void *)at);
        case EOS: return id(j, field, (int64_t *)(void *)at);
        case LSG: return lsg(j, (bool *)at);
    }
    return false;
}

heed_status config_parse(const char *name, const char *text, size_t bytes, struct config *config,
                         heed_report *report)
{
    bool seen[sizeof fields / sizeof *fields] = { false };
    const struct field *field = NULL;
    struct json_text key;
    struct json j;

    json_begin(&j, text, bytes);
    if (json_object(&j))
        while (json_member(&j, &key)) {
            field = NULL;
            for (size_t i = 0; i < sizeof fields / sizeof *fields && !field; i++)
                if (json_is(&key, fields[i].name)) {
                    field = &fields[i];
                    if (seen[i])
                        json_fail(&j, "said twice");
                    seen[i] = true;
                }
            if (!(field ? value(&j, field, config) : json_skip(&j)))
                break;
            field = NULL;
        }
    if (json_end(&j))
        return HEED_OK;
    return say(report, HEED_E_VALUE, field ? field->name : name, field ? (int64_t)field->high : 0,
               json_line(&j), "%s, line %lld: %s", name, (long long)json_line(&j), j.error);
}

heed_status config_read(const char *folder, struct config *config, heed_report *report)
{
    static const char *const names[] = { "config.json", "generation_config.json" };
    struct config got;

    config_defaults(&got);
    for (int i = 0; i < 2; i++) {
        heed_report why = { .size = sizeof why };
        heed_status status;
        size_t bytes;
        char *text;

        status = file_load(folder, names[i], TEXT, &text, &bytes, &why);
        if (status == HEED_E_NOT_FOUND && i == 1)
            continue;
        if (status < 0)
            return say(report, status, why.field, why.wanted, why.got, "%s", why.message);
        status = config_parse(names[i], text, bytes, &got, report);
        free(text);
        if (status < 0)
            return status;
    }
    *config = got;
    return HEED_OK;
}
