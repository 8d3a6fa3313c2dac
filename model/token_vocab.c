/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Vocabularies: what is in the file is counted first, so that nothing has to grow.
 */
#include "tokens.h"

#include <string.h>

struct count {
    size_t tokens, bytes, longest;
    int64_t last;
};

static bool counted(struct tokenizer *t, struct count *count, const struct json_text *text,
                    int64_t id)
{
    if (++count->tokens > TOKENS_MOST)
        return read_fail(t, HEED_E_UNSUPPORTED, "model.vocab", "more than %d tokens",
                         (int)TOKENS_MOST);
    if (id < 0 || id > INT32_MAX)
        return read_fail(t, HEED_E_VALUE, "model.vocab", "%lld is no id", (long long)id);
    count->bytes += text->bytes;
    if (text->bytes > count->longest)
        count->longest = text->bytes;
    if (id > count->last)
        count->last = id;
    return true;
}

static bool make(struct tokenizer *t, struct vocab *vocab, const struct count *count)
{
    if (count->tokens == 0)
        return read_fail(t, HEED_E_VALUE, "model.vocab", "no tokens");
    if (count->last >= (int64_t)count->tokens + HOLES_MOST)
        return read_fail(t, HEED_E_VALUE, "model.vocab", "the id %lld of %zu tokens",
                         (long long)count->last, count->tokens);
    if (count->bytes >= UINT32_MAX)
        return read_fail(t, HEED_E_UNSUPPORTED, "model.vocab", "more than 2^32 bytes of tokens");
    vocab->n = count->last + 1;
    vocab->pool = memory_take(&t->memory, count->bytes + 1, 1);
    vocab->words = memory_take(&t->memory, (size_t)vocab->n, sizeof *vocab->words);
    if (!vocab->pool || !vocab->words)
        return read_memory(t, "model.vocab");
    for (int64_t i = 0; i < vocab->n; i++)
        vocab->words[i].at = WORD_HOLE;
    return true;
}

static bool add(struct tokenizer *t, struct vocab *vocab, const struct json_text *text,
                int64_t id, size_t *used)
{
    struct word *const word = &vocab->words[id];

    if (word->at != WORD_HOLE)
        return read_fail(t, HEED_E_VALUE, "model.vocab", "two tokens of the id %lld",
                         (long long)id);
    word->at = (uint32_t)*used;
    word->bytes = (uint32_t)json_unescape(text, vocab->pool + *used);
    if (word->bytes > TOKEN_BYTES_MOST)
        return read_fail(t, HEED_E_UNSUPPORTED, "model.vocab", "a token of more than %d bytes",
                         (int)TOKEN_BYTES_MOST);
    if (word->bytes == 0 && vocab->empty)
        return read_fail(t, HEED_E_VALUE, "model.vocab", "the empty token is there twice");
    vocab->empty = vocab->empty || word->bytes == 0;
    *used += word->bytes;
    vocab->count++;
    return true;
}

static bool finish(struct tokenizer *t, struct vocab *vocab, bool unique)
{
    bool twice = false;

    if (!trie_build(&vocab->trie, &t->memory, vocab->pool, vocab->words, (size_t)vocab->n,
                    unique ? &twice : NULL))
        return read_memory(t, "model.vocab");
    return !twice || read_fail(t, HEED_E_VALUE, "model.vocab", "a token is there twice");
}

bool vocab_of_object(struct tokenizer *t, struct json *j)
{
    struct vocab *const vocab = &t->model.vocab;
    struct count count = { .last = -1 };
    struct json again = *j;
    struct json_text text;
    size_t used = 0;
    int64_t id;

    if (json_object(j))
        while (json_member(j, &text))
            if (json_integer(j, &id) && !counted(t, &count, &text, id))
                return false;
    if (j->error)
        return read_wrong(t, j, "model.vocab");
    if (!make(t, vocab, &count))
        return false;
    (void)json_object(&again);
    while (json_member(&again, &text))
        if (!json_integer(&again, &id) || !add(t, vocab, &text, id, &used))
            return false;
    return finish(t, vocab, true);
}

/* One of the pairs ["token", score]. */
static bool pair(struct json *j, struct json_text *text, double *score)
{
    if (!json_array(j) || !json_element(j) || !json_string(j, text) || !json_element(j) ||
        !json_number(j, score))
        return json_fail(j, "no pair of a token and its score");
    return !json_element(j) && !j->error ? true : json_fail(j, "more than a token and its score");
}

bool vocab_of_pairs(struct tokenizer *t, struct json *j)
{
    struct vocab *const vocab = &t->model.vocab;
    struct count count = { .last = -1 };
    struct json again = *j;
    struct json_text text;
    size_t used = 0;
    double score;

    if (json_array(j))
        while (json_element(j))
            if (pair(j, &text, &score) && !counted(t, &count, &text, (int64_t)count.tokens))
                return false;
    if (j->error)
        return read_wrong(t, j, "model.vocab");
    if (!make(t, vocab, &count))
        return false;
    vocab->scores = memory_take(&t->memory, (size_t)vocab->n, sizeof *vocab->scores);
    if (!vocab->scores)
        return read_memory(t, "model.vocab");
    (void)json_array(&again);
    for (int64_t id = 0; json_element(&again); id++) {
        if (!pair(&again, &text, &score) || !add(t, vocab, &text, id, &used))
            return false;
        if (!(score >= -1e30 && score <= 1e30))
            return read_fail(t, HEED_E_VALUE, "model.vocab", "the score of the id %lld",
                             (long long)id);
        vocab->scores[id] = score;
    }
    return finish(t, vocab, false);
}

void vocab_bytes(struct model *model)
{
    static const char digits[] = "0123456789ABCDEF";

    for (int i = 0; i < 256; i++) {
        const char name[] = { '<', '0', 'x', digits[i >> 4], digits[i & 15], '>' };

        model->bytes[i] = trie_find(&model->vocab.trie, name, sizeof name);
    }
}
