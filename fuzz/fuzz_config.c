/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as config.json, and once more as generation_config.json over it: what is taken is
 * within bounds that a loader counts on.
 */
#include "fuzz.h"
#include "memory.h"

#include "model/config.h"

#include <string.h>

static void bounded(const char *name, int64_t value, int64_t most)
{
    FUZZ_REQUIRE(value >= CONFIG_ABSENT && value <= most, "%s is %lld", name, (long long)value);
}

static void word(const char *name, const char *text)
{
    FUZZ_REQUIRE(memchr(text, 0, CONFIG_WORD), "%s has no end", name);
}

static void judge(const struct config *c)
{
    const struct {
        const char *name;
        int64_t value, most;
    } rows[] = {
        { "vocab", c->vocab, 1 << 24 }, { "model", c->model, 1 << 20 },
        { "head_dim", c->head_dim, 1 << 20 }, { "layers", c->layers, CONFIG_LAYERS },
        { "decoder_layers", c->decoder_layers, CONFIG_LAYERS }, { "heads", c->heads, 1 << 20 },
        { "decoder_heads", c->decoder_heads, 1 << 20 }, { "hidden", c->hidden, 1 << 20 },
        { "decoder_hidden", c->decoder_hidden, 1 << 20 }, { "positions", c->positions, 1 << 24 },
        { "decoder_positions", c->decoder_positions, 1 << 24 }, { "types", c->types, 1 << 20 },
        { "buckets", c->buckets, 1 << 20 }, { "max_distance", c->max_distance, 1 << 16 },
        { "n_windows", c->n_windows, CONFIG_LAYERS }, { "radius", c->radius, 1 << 24 },
        { "side_block", c->side_block, 1 << 24 }, { "pad", c->pad, 1 << 24 },
        { "bos", c->bos, 1 << 24 }, { "eos", c->eos, 1 << 24 }, { "start", c->start, 1 << 24 },
        { "forced_bos", c->forced_bos, 1 << 24 }, { "forced_eos", c->forced_eos, 1 << 24 },
        { "beams", c->beams, 1024 }, { "early_stopping", c->early_stopping, 2 },
        { "min_length", c->min_length, 1 << 24 }, { "max_length", c->max_length, 1 << 24 },
        { "no_repeat", c->no_repeat, 1 << 24 }, { "max_new", c->max_new, 1 << 24 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        bounded(rows[i].name, rows[i].value, rows[i].most);
    for (int64_t i = 0; i < c->n_windows; i++)
        FUZZ_REQUIRE(c->window[i] >= 2 && c->window[i] <= 1 << 24, "a window of %lld",
                     (long long)c->window[i]);
    FUZZ_REQUIRE(c->length_penalty >= -1000 && c->length_penalty <= 1000, "a penalty");
    FUZZ_REQUIRE(c->eps >= CONFIG_ABSENT && c->eps <= 1, "an eps");
    word("family", c->family);
    word("act", c->act);
    word("attention", c->attention);
    word("places_norm", c->places_norm);
    word("relative", c->relative);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    heed_report why = { .size = sizeof why };
    struct config config;
    uint8_t *const text = fuzz_place(0, size + 1, true);

    if (!text)
        return 0;
    /* One byte more, so that an empty text has a place; the last byte is at the border. */
    memcpy(text + 1, data, size);
    config_defaults(&config);
    judge(&config);
    for (int i = 0; i < 2; i++) {
        const heed_status status = config_parse("config.json", (const char *)text + 1, size,
                                                &config, &why);

        FUZZ_REQUIRE(status == HEED_OK || (status == HEED_E_VALUE && *why.field && *why.message),
                     "status %d, %s: %s", (int)status, why.field, why.message);
        if (status < 0)
            return 0;
        judge(&config);
    }
    return 0;
}

size_t fuzz_seed(uint32_t number, uint8_t data[FUZZ_INPUT_MOST])
{
    static const char *const texts[] = {
        "{\"model_type\":\"led\",\"d_model\":16,\"encoder_layers\":2,\"vocab_size\":40,"
        "\"attention_window\":[8,4],\"activation_function\":\"gelu\",\"eos_token_id\":[2],"
        "\"decoder_start_token_id\":2,\"tie_word_embeddings\":true,\"pad_token_id\":null}",
        "{\"model_type\":\"longt5\",\"d_kv\":6,\"relative_attention_num_buckets\":32,"
        "\"relative_attention_max_distance\":128,\"layer_norm_epsilon\":1e-06,\"local_radius\":5,"
        "\"feed_forward_proj\":\"gated-gelu\",\"encoder_attention_type\":\"transient-global\"}",
        "{\"hidden_size\":4,\"num_attention_heads\":2,\"hidden_act\":\"gelu_new\","
        "\"layer_norm_eps\":1E-12,\"pos_att_type\":[\"p2c\",\"c2p\"],\"id2label\":{\"0\":[{}]}}",
        "{\"num_beams\":4,\"early_stopping\":\"never\",\"length_penalty\":-2.0,\"max_length\":142,"
        "\"no_repeat_ngram_size\":3,\"forced_bos_token_id\":0,\"attention_window\":512}",
        "{\"early_stopping\":true,\"num_beams\":1024,\"max_new_tokens\":16777216,"
        "\"d_model\":1048577}",
    };

    if (number >= sizeof texts / sizeof *texts)
        return 0;
    memcpy(data, texts[number], strlen(texts[number]));
    return strlen(texts[number]);
}
