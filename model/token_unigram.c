/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Unigram: of all ways to cut a text into tokens the one of the greatest sum of scores (Kudo 2018,
 * section 3.2), found from the left: for each place the best token that ends there. Of equal sums
 * the first one found stays. What no token begins with costs ten less than the least score, and
 * neighbours of that kind are one unknown token.
 */
#include "tokens.h"

static const double PENALTY = 10;

static bool read(struct tokenizer *t, struct json *j)
{
    struct values {
        struct json vocab;
        int64_t unknown;
        bool bytes;
    } values = { .unknown = -1 };
    static const struct field fields[] = {
        { "vocab", FIELD_PLACE, true, offsetof(struct values, vocab), NULL },
        { "unk_id", FIELD_COUNT, true, offsetof(struct values, unknown), NULL },
        { "byte_fallback", FIELD_BOOL, false, offsetof(struct values, bytes), NULL },
        { .name = NULL }
    };
    struct model *const m = &t->model;
    double least;

    if (!read_fields(t, j, "model", fields, &values) || !vocab_of_pairs(t, &values.vocab))
        return false;
    if (values.unknown >= m->vocab.n)
        return read_fail(t, HEED_E_VALUE, "model.unk_id", "%lld of %lld tokens",
                         (long long)values.unknown, (long long)m->vocab.n);
    m->unknown = (int32_t)values.unknown;
    m->byte_fallback = values.bytes;
    vocab_bytes(m);
    least = m->vocab.scores[0];
    for (int64_t i = 1; i < m->vocab.n; i++)
        if (m->vocab.scores[i] < least)
            least = m->vocab.scores[i];
    m->unknown_score = least - PENALTY;
    return true;
}

static void reach(struct reached *to, double score, int32_t id, size_t bytes)
{
    if (to->bytes == 0 || score > to->score)
        *to = (struct reached){ score, id, (uint32_t)bytes };
}

static void forward(const struct model *m, const char *text, size_t bytes, struct reached *ends)
{
    const struct trie *const trie = &m->vocab.trie;
    uint32_t code;

    for (size_t i = 0, n; i < bytes; i += n) {
        const double before = ends[i].score;
        int64_t node = trie_root(trie);
        bool whole = false;

        n = utf8_next(text + i, &code);
        for (size_t k = i; k < bytes; k++) {
            int32_t id;

            node = trie_step(trie, node, (unsigned char)text[k]);
            if (node < 0)
                break;
            id = trie_value(trie, node);
            if (id < 0)
                continue;
            reach(&ends[k + 1], m->vocab.scores[id] + before, id, k + 1 - i);
            whole = whole || k + 1 - i == n;
        }
        if (!whole)
            reach(&ends[i + n], m->unknown_score + before, m->unknown, n);
    }
}

static bool put_bytes(const struct model *m, const char *text, size_t bytes, struct ids *ids)
{
    for (size_t i = 0; i < bytes; i++)
        if (m->bytes[(unsigned char)text[i]] < 0)
            return false;
    for (size_t i = 0; i < bytes; i++)
        ids_put(ids, m->bytes[(unsigned char)text[i]]);
    return true;
}

/* What the model does not know, at once: it may still be a token when it is taken together. */
static void put_unknown(const struct model *m, const char *text, size_t bytes, struct ids *ids)
{
    const int32_t id = trie_find(&m->vocab.trie, text, bytes);

    if (id >= 0)
        ids_put(ids, id);
    else if (!m->byte_fallback || !put_bytes(m, text, bytes, ids))
        ids_put(ids, m->unknown);
}

/* The way back, on which the begin of each token learns what its token is. */
static void turn(struct reached *reached, size_t bytes)
{
    struct reached here = reached[bytes];

    for (size_t end = bytes; end > 0;) {
        const size_t begin = end - here.bytes;
        const struct reached before = reached[begin];

        reached[begin] = here;
        here = before;
        end = begin;
    }
}

static void encode(const struct tokenizer *t, const char *text, size_t bytes, struct scratch *s,
                   struct ids *ids)
{
    const struct model *const m = &t->model;
    size_t known = 0;

    if (!array_room(&s->reached, &s->reached_room, bytes + 1, sizeof *s->reached)) {
        s->failed = true;
        return;
    }
    for (size_t i = 0; i <= bytes; i++)
        s->reached[i] = (struct reached){ .id = -1 };
    forward(m, text, bytes, s->reached);
    turn(s->reached, bytes);
    for (size_t i = 0; i < bytes; i += s->reached[i].bytes) {
        if (s->reached[i].id == m->unknown)
            continue;
        if (known < i)
            put_unknown(m, text + known, i - known, ids);
        ids_put(ids, s->reached[i].id);
        known = i + s->reached[i].bytes;
    }
    if (known < bytes)
        put_unknown(m, text + known, bytes - known, ids);
}

const struct model_kind model_unigram = { "Unigram", read, encode };
