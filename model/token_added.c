/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Added tokens: texts that are found before anything else, the longest one of those that begin
 * leftmost. Their ids are those of the vocabulary; those that it does not have follow it, in the
 * order of the file, whatever ids the file gives, as in the public library.
 */
#include "tokens.h"

#include <stdlib.h>
#include <string.h>

enum { ADDED_MOST = 1 << 16, ADDED_BYTES_MOST = 1 << 20 };

struct entry {
    int64_t id;
    struct span content;
    bool single, left, right, normal, special;
};

#define AT(member) offsetof(struct entry, member)
static const struct field fields[] = {
    { "id", FIELD_COUNT, true, AT(id), NULL },
    { "content", FIELD_TEXT, true, AT(content), NULL },
    { "single_word", FIELD_BOOL, true, AT(single), NULL },
    { "lstrip", FIELD_BOOL, true, AT(left), NULL },
    { "rstrip", FIELD_BOOL, true, AT(right), NULL },
    { "normalized", FIELD_BOOL, true, AT(normal), NULL },
    { "special", FIELD_BOOL, true, AT(special), NULL },
    { .name = NULL }
};

/* Texts of tokens, one behind the other: those of the file first, then what they are normalized. */
static bool store(struct tokenizer *t, struct buffer *pool, const char *at, size_t bytes,
                  struct word *word)
{
    if (bytes > TOKEN_BYTES_MOST)
        return read_fail(t, HEED_E_UNSUPPORTED, "added_tokens", "a token of more than %d bytes",
                         (int)TOKEN_BYTES_MOST);
    if (pool->bytes + bytes > ADDED_BYTES_MOST)
        return read_fail(t, HEED_E_UNSUPPORTED, "added_tokens", "more than %d bytes of tokens",
                         (int)ADDED_BYTES_MOST);
    *word = (struct word){ (uint32_t)pool->bytes, (uint32_t)bytes };
    buffer_put(pool, at, bytes);
    t->memory.failed = t->memory.failed || pool->failed;
    return !pool->failed || read_memory(t, "added_tokens");
}

static bool read_entry(struct tokenizer *t, struct json *j, struct buffer *pool)
{
    struct added_tokens *const all = &t->added;
    struct entry entry = { .id = 0 };
    struct line lines[2] = { { { 0 }, 0 }, { { 0 }, 0 } };
    struct added *added;
    bool done;
    int which;

    if (!read_fields(t, j, "added_tokens", fields, &entry))
        return false;
    if (entry.content.bytes == 0)
        return true;    /* the library leaves those out */
    added = &all->at[all->n++];
    *added = (struct added){ .single = entry.single, .left = entry.left, .right = entry.right,
                             .normal = entry.normal, .special = entry.special };
    if (!store(t, pool, entry.content.at, entry.content.bytes, &added->content))
        return false;
    added->normalized = added->content;
    if (entry.normal) {
        done = normalize(&t->normalizers, entry.content.at, entry.content.bytes, lines, &which);
        if (!done) {
            t->memory.failed = true;
            read_memory(t, "added_tokens");
        }
        done = done && store(t, pool, lines[which].text.at, lines[which].text.bytes,
                             &added->normalized);
        buffer_finish(&lines[0].text);
        buffer_finish(&lines[1].text);
        if (!done)
            return false;
    }
    memory_give(&t->memory, (void *)(uintptr_t)entry.content.at);
    return true;
}

/* Ids, for which a token that is listed twice counts as it is listed last. */
static bool number(struct tokenizer *t, struct word *words)
{
    struct added_tokens *const all = &t->added;
    const struct trie *const known = &t->model.vocab.trie;
    int64_t next = t->model.vocab.count;

    for (size_t i = 0; i < all->n; i++)
        words[i] = all->at[i].content;
    if (!trie_build(&all->by_content, &t->memory, all->pool, words, all->n, NULL))
        return read_memory(t, "added_tokens");
    for (size_t i = 0; i < all->n; i++)
        all->at[i].id = -1;
    for (size_t i = 0; i < all->n; i++) {
        const struct word content = all->at[i].content;
        const char *const at = all->pool + content.at;
        struct added *const last = &all->at[trie_find(&all->by_content, at, content.bytes)];

        if (last->id >= 0)
            continue;
        last->id = trie_find(known, at, content.bytes);
        if (last->id < 0)
            last->id = (int32_t)next++;
    }
    return true;
}

/* A token is left out as a special one by the text that it is decoded to. */
static void hide(struct added_tokens *all)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct word text = all->at[i].normalized;
        const int32_t same = trie_find(&all->by_content, all->pool + text.at, text.bytes);

        all->at[i].hidden = same >= 0 && all->at[same].special;
    }
}

static int by_id(const void *a, const void *b)
{
    const struct added *const *const left = a, *const *const right = b;

    return ((*left)->id > (*right)->id) - ((*left)->id < (*right)->id);
}

static bool sort(struct tokenizer *t)
{
    struct added_tokens *const all = &t->added;

    all->by_id = memory_take(&t->memory, all->n + 1, sizeof(struct added *));
    if (!all->by_id)
        return read_memory(t, "added_tokens");
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].id >= 0)
            all->by_id[all->n_ids++] = &all->at[i];
    qsort(all->by_id, all->n_ids, sizeof(struct added *), by_id);
    return true;
}

static bool index_of(struct tokenizer *t, struct word *words, bool normal, struct trie *trie)
{
    struct added_tokens *const all = &t->added;
    bool twice = false;

    for (size_t i = 0; i < all->n; i++) {
        const struct added *const added = &all->at[i];
        const struct word text = normal ? added->normalized : added->content;

        words[i] = text;
        if (added->id < 0 || added->normal != normal)
            words[i].at = WORD_HOLE;
        else if (text.bytes == 0)
            return read_fail(t, HEED_E_VALUE, "added_tokens",
                             "nothing of the token %lld is left when it is normalized",
                             (long long)added->id);
        else
            all->begins[normal][(unsigned char)all->pool[text.at]] = true;
    }
    if (!trie_build(trie, &t->memory, all->pool, words, all->n, &twice))
        return read_memory(t, "added_tokens");
    return !twice || read_fail(t, HEED_E_VALUE, "added_tokens",
                               "two tokens are the same when they are normalized");
}

bool added_read(struct tokenizer *t, struct json *j)
{
    struct added_tokens *const all = &t->added;
    struct json counting = *j;
    struct buffer pool = { 0 };
    struct word *words;
    bool done = true;
    size_t n = 0;

    if (json_array(&counting))
        while (json_element(&counting) && n <= ADDED_MOST && json_skip(&counting))
            n++;
    if (counting.error)
        return read_wrong(t, &counting, "added_tokens");
    if (n > ADDED_MOST)
        return read_fail(t, HEED_E_UNSUPPORTED, "added_tokens", "more than %d", (int)ADDED_MOST);
    all->at = memory_take(&t->memory, n + 1, sizeof *all->at);
    words = memory_take(&t->memory, n + 1, sizeof *words);
    if (!all->at || !words)
        return read_memory(t, "added_tokens");
    (void)json_array(j);
    while (done && json_element(j))
        done = read_entry(t, j, &pool);
    all->pool = done ? memory_take(&t->memory, pool.bytes + 1, 1) : NULL;
    if (all->pool && pool.bytes > 0)
        memcpy(all->pool, pool.at, pool.bytes);
    buffer_finish(&pool);
    if (!done || !all->pool)
        return done && read_memory(t, "added_tokens");
    if (!number(t, words) || !index_of(t, words, false, &all->as_is) ||
        !index_of(t, words, true, &all->in_normal) || !sort(t))
        return false;
    hide(all);
    memory_give(&t->memory, words);
    return true;
}

static void put(struct founds *out, size_t begin, size_t end, const struct added *token)
{
    if (!array_room(&out->at, &out->room, out->n + 1, sizeof *out->at)) {
        out->failed = true;
        return;
    }
    out->at[out->n++] = (struct found){ begin, end, token };
}

static bool alone(const char *text, size_t begin, size_t end, size_t bytes)
{
    uint32_t code;

    if (begin > 0) {
        (void)utf8_last(text, text + begin, &code);
        if (unicode_word(code))
            return false;
    }
    if (end == bytes)
        return true;
    (void)utf8_next(text + end, &code);
    return !unicode_word(code);
}

/* The longest token that begins at a place; NULL: none does. */
static const struct added *longest(const struct added_tokens *all, const struct trie *trie,
                                   const char *text, size_t bytes, size_t *length)
{
    int64_t node = trie_root(trie);
    int32_t best = -1;

    for (size_t i = 0; i < bytes; i++) {
        node = trie_step(trie, node, (unsigned char)text[i]);
        if (node < 0)
            break;
        if (trie_value(trie, node) >= 0) {
            best = trie_value(trie, node);
            *length = i + 1;
        }
    }
    return best < 0 ? NULL : &all->at[best];
}

/* White characters around a token belong to it where it says so, each run looked at once. */
static size_t white_before(const char *text, size_t begin, size_t least)
{
    uint32_t code;

    while (begin > least) {
        const size_t n = utf8_last(text, text + begin, &code);

        if (!unicode_white(code))
            break;
        begin -= n;
    }
    return begin > least ? begin : least;
}

static size_t white_behind(const char *text, size_t end, size_t bytes, size_t run[2])
{
    uint32_t code;
    size_t at = end;

    if (end >= run[0] && end <= run[1])
        return run[1];
    while (at < bytes) {
        const size_t n = utf8_next(text + at, &code);

        if (!unicode_white(code))
            break;
        at += n;
    }
    run[0] = end;
    run[1] = at;
    return at;
}

void added_find(const struct tokenizer *t, bool normal, const char *text, size_t bytes,
                struct founds *out)
{
    const struct added_tokens *const all = &t->added;
    const struct trie *const trie = normal ? &all->in_normal : &all->as_is;
    size_t from = 0, run[2] = { 1, 0 };

    out->n = 0;
    for (size_t i = 0; i < bytes && !out->failed;) {
        const struct added *token;
        size_t begin = i, end, length = 0;

        if (!all->begins[normal][(unsigned char)text[i]] ||
            !(token = longest(all, trie, text + i, bytes - i, &length))) {
            i++;
            continue;
        }
        i += length;
        end = i;
        if (token->single && !alone(text, begin, end, bytes))
            continue;
        if (token->left)
            begin = white_before(text, begin, from);
        if (token->right)
            end = white_behind(text, end, bytes, run);
        if (from < begin)
            put(out, from, begin, NULL);
        put(out, begin, end, token);
        from = end;
    }
    if (from != bytes)
        put(out, from, bytes, NULL);
}

const struct added *added_of_id(const struct tokenizer *t, int32_t id)
{
    const struct added_tokens *const all = &t->added;
    size_t low = 0, high = all->n_ids;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (all->by_id[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < all->n_ids && all->by_id[low]->id == id ? all->by_id[low] : NULL;
}
