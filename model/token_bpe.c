/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Byte-pair encoding (Sennrich et al. 2016, section 3.2): a word is its characters, of which the
 * pair that comes first in the list of merges becomes one, the leftmost of equal ones, until there
 * is none. Pairs wait in a heap, so that a word of n characters takes n log n steps.
 */
#include "tokens.h"

#include <string.h>

enum { PROBES = 256, TRIES = 32 };

/* ---- the list of merges, by pair */

static uint32_t place(const struct model *m, int32_t left, int32_t right)
{
    const uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    const uint64_t mixed = (pair ^ (uint64_t)m->merges_seed << 20) * 0x9e3779b97f4a7c15u;

    return (uint32_t)(((mixed ^ mixed >> 32) * 0xbf58476d1ce4e5b9u >> 32) * m->merges_room >> 32);
}

/* The slot of a pair or the empty one where it may go; NULL: it is too far from its place. */
static struct merge *slot_of(const struct model *m, int32_t left, int32_t right)
{
    uint32_t at;

    if (m->merges_room == 0)
        return NULL;
    at = place(m, left, right);
    for (int i = 0; i < PROBES; i++) {
        struct merge *const slot = &m->merges[at];

        if (slot->left < 0 || (slot->left == left && slot->right == right))
            return slot;
        if (++at == m->merges_room)
            at = 0;
    }
    return NULL;
}

static const struct merge *merge_of(const struct model *m, int32_t left, int32_t right)
{
    const struct merge *const slot = slot_of(m, left, right);

    return slot && slot->left >= 0 ? slot : NULL;
}

/* A merge as the file has it: "left right" or ["left", "right"], in two buffers of its length. */
struct written {
    char *left, *right;
    size_t left_bytes, right_bytes;
    bool comment;
};

static bool pair(struct json *j, struct written *w)
{
    struct json_text text;

    if (!json_array(j) || !json_element(j) || !json_string(j, &text))
        return json_fail(j, "no pair of tokens");
    w->left_bytes = json_unescape(&text, w->left);
    if (!json_element(j) || !json_string(j, &text))
        return json_fail(j, "no pair of tokens");
    w->right_bytes = json_unescape(&text, w->right);
    return !json_element(j) && !j->error ? true : json_fail(j, "more than a pair");
}

/* Where merges stand: in an array of a tokenizer.json, or in the lines of a merges.txt. */
struct source {
    struct json j;
    bool lines;
};

/* The bytes of a line, of which the newline is taken as well. */
static size_t line(struct json *j)
{
    const char *const from = j->at, *const end = memchr(from, '\n', (size_t)(j->end - from));

    j->at = end ? end + 1 : j->end;
    return (size_t)((end ? end : j->end) - from);
}

static bool another(struct source *s)
{
    return s->lines ? s->j.at < s->j.end : json_element(&s->j);
}

static bool next_merge(struct source *s, struct written *w)
{
    struct json *const j = &s->j;
    struct json_text text = { .at = j->at };
    char *space;
    size_t bytes;

    w->comment = false;
    if (s->lines) {
        bytes = line(j);
        bytes -= bytes > 0 && text.at[bytes - 1] == '\r';
        memcpy(w->left, text.at, bytes);
    } else if (json_peek(j) == JSON_ARRAY) {
        return pair(j, w);
    } else if (json_string(j, &text)) {
        bytes = json_unescape(&text, w->left);
    } else {
        return false;
    }
    w->comment = bytes >= 8 && memcmp(w->left, "#version", 8) == 0;
    if (w->comment)
        return true;
    space = memchr(w->left, ' ', bytes);
    if (!space || memchr(space + 1, ' ', bytes - (size_t)(space + 1 - w->left)))
        return json_fail(j, "no two tokens with a space between them");
    w->left_bytes = (size_t)(space - w->left);
    w->right_bytes = bytes - w->left_bytes - 1;
    memcpy(w->right, space + 1, w->right_bytes);
    return true;
}

/* The ids of a merge; negative: one of the three is not in the vocabulary. */
static struct merge merge_read(const struct model *m, const struct written *w)
{
    const struct trie *const trie = &m->vocab.trie;
    const int64_t left = trie_walk(trie, trie_root(trie), w->left, w->left_bytes);
    const size_t skip = m->prefix.bytes;
    struct merge merge = { .left = trie_value(trie, left), .id = -1,
                           .right = trie_find(trie, w->right, w->right_bytes) };

    if (w->right_bytes >= skip)
        merge.id = trie_value(trie, trie_walk(trie, left, w->right + skip, w->right_bytes - skip));
    return merge;
}

static bool fill(struct tokenizer *t, struct source *s, struct written *w, bool *fits)
{
    struct model *const m = &t->model;
    int32_t rank = 0;

    for (uint32_t i = 0; i < m->merges_room; i++)
        m->merges[i].left = -1;
    *fits = true;
    while (another(s)) {
        struct merge *slot, merge;

        if (!next_merge(s, w))
            return read_wrong(t, &s->j, "model.merges");
        if (w->comment)
            continue;
        merge = merge_read(m, w);
        if (merge.left < 0 || merge.right < 0 || merge.id < 0)
            return read_fail(t, HEED_E_VALUE, "model.merges",
                             "merge %lld, or what it makes, is not in the vocabulary",
                             (long long)rank);
        slot = slot_of(m, merge.left, merge.right);
        if (!slot) {
            *fits = false;
            return true;
        }
        merge.rank = rank++;
        *slot = merge;
    }
    return true;
}

/* How many merges there are, and the bytes of the longest. */
static size_t count_merges(struct source s, size_t *longest, const char **error)
{
    size_t n = 0;

    while (another(&s)) {
        const char *const from = s.j.at;

        if (s.lines)
            (void)line(&s.j);
        else if (!json_skip(&s.j))
            break;
        if ((size_t)(s.j.at - from) > *longest)
            *longest = (size_t)(s.j.at - from);
        n++;
    }
    *error = s.j.error;
    return n;
}

static bool read_merges(struct tokenizer *t, struct source source)
{
    struct model *const m = &t->model;
    struct written w = { 0 };
    size_t n, longest = 0;
    bool fits = false;

    if (!source.lines && !json_array(&source.j))
        return read_wrong(t, &source.j, "model.merges");
    n = count_merges(source, &longest, &source.j.error);
    if (source.j.error)
        return read_wrong(t, &source.j, "model.merges");
    if (n > MERGES_MOST)
        return read_fail(t, HEED_E_UNSUPPORTED, "model.merges", "more than %d",
                         (int)MERGES_MOST);
    w.left = memory_take(&t->memory, longest + 1, 1);
    w.right = memory_take(&t->memory, longest + 1, 1);
    if (!w.left || !w.right)
        return read_memory(t, "model.merges");
    for (uint32_t seed = 0; !fits && seed < TRIES; seed++) {
        struct source again = source;

        memory_give(&t->memory, m->merges);
        m->merges_seed = seed;
        m->merges_room = (uint32_t)(n + n / 2 + n / 8 * seed + 8);
        m->merges = memory_take(&t->memory, m->merges_room, sizeof *m->merges);
        if (!m->merges)
            return read_memory(t, "model.merges");
        if (!fill(t, &again, &w, &fits))
            return false;
    }
    memory_give(&t->memory, w.left);
    memory_give(&t->memory, w.right);
    return fits || read_fail(t, HEED_E_UNSUPPORTED, "model.merges", "no table holds them");
}

bool bpe_of_lines(struct tokenizer *t, const char *merges, size_t bytes)
{
    struct source source = { .lines = true };

    json_begin(&source.j, merges, bytes);
    t->model.kind = &model_bpe;
    t->model.unknown = -1;
    return read_merges(t, source);
}

static bool read(struct tokenizer *t, struct json *j)
{
    struct values {
        struct json vocab, merges;
        struct span unknown, prefix, suffix;
        int fuse, bytes, whole;
    } values = { .fuse = 0 };
    static const struct field fields[] = {
        { "vocab", FIELD_PLACE, true, offsetof(struct values, vocab), NULL },
        { "merges", FIELD_PLACE, true, offsetof(struct values, merges), NULL },
        { "unk_token", FIELD_TEXT, false, offsetof(struct values, unknown), NULL },
        { "continuing_subword_prefix", FIELD_TEXT, false, offsetof(struct values, prefix), NULL },
        { "end_of_word_suffix", FIELD_TEXT, false, offsetof(struct values, suffix), NULL },
        { "fuse_unk", FIELD_MAYBE, false, offsetof(struct values, fuse), NULL },
        { "byte_fallback", FIELD_MAYBE, false, offsetof(struct values, bytes), NULL },
        { "ignore_merges", FIELD_MAYBE, false, offsetof(struct values, whole), NULL },
        { .name = NULL }
    };
    struct model *const m = &t->model;

    if (!read_fields(t, j, "model", fields, &values) || !vocab_of_object(t, &values.vocab))
        return false;
    m->prefix = values.prefix;
    m->suffix = values.suffix;
    m->fuse = values.fuse > 0;
    m->byte_fallback = values.bytes > 0;
    m->whole_words = values.whole > 0;
    m->unknown = -1;
    vocab_bytes(m);
    if (values.unknown.at) {
        m->unknown = trie_find(&m->vocab.trie, values.unknown.at, values.unknown.bytes);
        if (m->unknown < 0)
            return read_fail(t, HEED_E_VALUE, "model.unk_token", "it is not in the vocabulary");
    }
    return read_merges(t, (struct source){ .j = values.merges });
}

/* ---- words */

static bool later(const struct candidate *a, const struct candidate *b)
{
    return a->order > b->order;
}

static void push(const struct model *m, struct scratch *s, int32_t at)
{
    const struct symbol *const left = &s->symbols[at];
    const struct merge *merge;
    struct candidate added;
    size_t i;

    if (left->behind < 0)
        return;
    merge = merge_of(m, left->id, s->symbols[left->behind].id);
    if (!merge)
        return;
    if (!array_room(&s->heap, &s->heap_room, s->n_heap + 1, sizeof *s->heap)) {
        s->failed = true;
        return;
    }
    added = (struct candidate){ (uint64_t)(uint32_t)merge->rank << 32 | (uint32_t)at, merge->id };
    for (i = s->n_heap++; i > 0 && later(&s->heap[(i - 1) / 2], &added); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = added;
}

static struct candidate pop(struct scratch *s)
{
    const struct candidate first = s->heap[0], last = s->heap[--s->n_heap];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= s->n_heap)
            break;
        if (child + 1 < s->n_heap && later(&s->heap[child], &s->heap[child + 1]))
            child++;
        if (!later(&last, &s->heap[child]))
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return first;
}

static void merge_all(const struct model *m, struct scratch *s, int32_t n)
{
    s->n_heap = 0;
    for (int32_t i = 0; i + 1 < n; i++)
        push(m, s, i);
    while (s->n_heap > 0 && !s->failed) {
        const struct candidate top = pop(s);
        struct symbol *const left = &s->symbols[(uint32_t)top.order], *right;
        const struct merge *merge;

        if (left->id < 0 || left->behind < 0)
            continue;
        right = &s->symbols[left->behind];
        merge = merge_of(m, left->id, right->id);
        if (!merge || merge->id != top.id)
            continue;   /* one of the two has been merged since */
        left->id = top.id;
        left->behind = right->behind;
        right->id = -1;
        if (right->behind >= 0)
            s->symbols[right->behind].before = (int32_t)(uint32_t)top.order;
        if (left->before >= 0)
            push(m, s, left->before);
        push(m, s, (int32_t)(uint32_t)top.order);
    }
}

static void symbol(struct scratch *s, int32_t *n, int32_t id)
{
    if (*n == INT32_MAX ||
        !array_room(&s->symbols, &s->symbols_room, (size_t)*n + 1, sizeof *s->symbols)) {
        s->failed = true;
        return;
    }
    if (*n > 0)
        s->symbols[*n - 1].behind = *n;
    s->symbols[*n] = (struct symbol){ id, *n - 1, -1 };
    ++*n;
}

/* The id of a character, with the affixes of its place in the word. */
static int32_t character(const struct model *m, const char *at, size_t bytes, bool first,
                         bool last)
{
    const struct trie *const trie = &m->vocab.trie;
    int64_t node = trie_root(trie);

    if (!first)
        node = trie_walk(trie, node, m->prefix.at, m->prefix.bytes);
    node = trie_walk(trie, node, at, bytes);
    if (last)
        node = trie_walk(trie, node, m->suffix.at, m->suffix.bytes);
    return trie_value(trie, node);
}

static bool all_bytes(const struct model *m, struct span text)
{
    for (size_t i = 0; i < text.bytes; i++)
        if (m->bytes[(unsigned char)text.at[i]] < 0)
            return false;
    return true;
}

static void put_bytes(const struct model *m, struct scratch *s, int32_t *n, struct span text)
{
    for (size_t i = 0; i < text.bytes; i++)
        symbol(s, n, m->bytes[(unsigned char)text.at[i]]);
}

/* The characters of a word as symbols. An unknown one waits for the next that is known: bytes go
 * before it, and with "fuse_unk" unknown neighbours become one. */
static int32_t symbols(const struct model *m, struct scratch *s, const char *text, size_t bytes)
{
    bool waits = false;
    int32_t n = 0;
    uint32_t code;

    for (size_t i = 0, size; i < bytes && !s->failed; i += size) {
        const bool first = i == 0;
        bool last;
        int32_t id;

        size = utf8_next(text + i, &code);
        last = i + size == bytes;
        id = character(m, text + i, size, first, last);
        if (id >= 0) {
            if (waits)
                symbol(s, &n, m->unknown);
            waits = false;
            symbol(s, &n, id);
        } else {
            const struct span parts[] = { first ? (struct span){ 0 } : m->prefix,
                                          { text + i, size },
                                          last ? m->suffix : (struct span){ 0 } };

            if (m->byte_fallback && all_bytes(m, parts[0]) && all_bytes(m, parts[1]) &&
                all_bytes(m, parts[2])) {
                for (int k = 0; k < 3; k++)
                    put_bytes(m, s, &n, parts[k]);
            } else if (m->unknown >= 0) {
                if (waits && !m->fuse)
                    symbol(s, &n, m->unknown);
                waits = true;
            }
        }
    }
    if (waits)
        symbol(s, &n, m->unknown);
    return n;
}

static void encode(const struct tokenizer *t, const char *text, size_t bytes, struct scratch *s,
                   struct ids *ids)
{
    const struct model *const m = &t->model;
    const int32_t whole = m->whole_words ? trie_find(&m->vocab.trie, text, bytes) : -1;
    int32_t n;

    if (whole >= 0) {
        ids_put(ids, whole);
        return;
    }
    n = symbols(m, s, text, bytes);
    merge_all(m, s, n);
    for (int32_t i = 0; i >= 0 && i < n; i = s->symbols[i].behind)
        ids_put(ids, s->symbols[i].id);
}

const struct model_kind model_bpe = { "BPE", read, encode };
