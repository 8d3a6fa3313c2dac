/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * WordPiece: the longest token that a word begins with, then the longest that goes on, with the
 * prefix of those inside a word (Wu et al. 2016, section 4.1; Devlin et al. 2019).
 */
#include "tokens.h"

#include <string.h>

static bool read(struct tokenizer *t, struct json *j)
{
    struct values {
        struct json vocab;
        struct span unknown, prefix;
        int64_t most;
    } values = { .most = 100, .prefix = { "##", 2 }, .unknown = { "[UNK]", 5 } };
    static const struct field fields[] = {
        { "vocab", FIELD_PLACE, true, offsetof(struct values, vocab), NULL },
        { "unk_token", FIELD_TEXT, true, offsetof(struct values, unknown), NULL },
        { "continuing_subword_prefix", FIELD_TEXT, true, offsetof(struct values, prefix), NULL },
        { "max_input_chars_per_word", FIELD_COUNT, true, offsetof(struct values, most), NULL },
        { .name = NULL }
    };
    struct model *const m = &t->model;

    if (!read_fields(t, j, "model", fields, &values) || !vocab_of_object(t, &values.vocab))
        return false;
    m->prefix = values.prefix;
    m->word_most = values.most;
    m->unknown = trie_find(&m->vocab.trie, values.unknown.at, values.unknown.bytes);
    return m->unknown >= 0 ||
           read_fail(t, HEED_E_VALUE, "model.unk_token", "it is not in the vocabulary");
}

static size_t characters(const char *text, size_t bytes)
{
    size_t n = 0;

    for (size_t i = 0; i < bytes; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

static void encode(const struct tokenizer *t, const char *text, size_t bytes, struct scratch *s,
                   struct ids *ids)
{
    const struct model *const m = &t->model;
    const struct trie *const trie = &m->vocab.trie;
    const size_t from = ids->n;
    const int64_t inside = trie_walk(trie, trie_root(trie), m->prefix.at, m->prefix.bytes);

    (void)s;
    if (characters(text, bytes) > (uint64_t)m->word_most) {
        ids_put(ids, m->unknown);
        return;
    }
    for (size_t i = 0; i < bytes;) {
        int64_t node = i > 0 ? inside : trie_root(trie);
        int32_t best = -1;
        size_t end = i;

        for (size_t k = i; k < bytes && node >= 0; k++) {
            node = trie_step(trie, node, (unsigned char)text[k]);
            if (trie_value(trie, node) >= 0) {
                best = trie_value(trie, node);
                end = k + 1;
            }
        }
        if (best < 0) {
            ids->n = from;
            ids_put(ids, m->unknown);
            return;
        }
        ids_put(ids, best);
        i = end;
    }
}

const struct model_kind model_wordpiece = { "WordPiece", read, encode };
