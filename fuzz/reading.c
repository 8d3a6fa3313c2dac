/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "reading.h"

#include <string.h>

enum { KEYS = 256 };

static void judge_blocks(const struct reading *r)
{
    const struct stream *const s = &r->stream;
    struct walk walk = { 0 };
    size_t end = 0;

    for (int64_t i = 0; i < s->n; i++) {
        const struct block *const b = &s->blocks[i];
        const size_t from = reading_origin(r, b->begin, &walk);
        const size_t to = reading_end(r, b->end, &(struct walk){ 0 });

        FUZZ_REQUIRE(b->begin == end && b->begin < b->end && b->end <= s->size,
                     "block %lld is [%zu, %zu) behind %zu", (long long)i, b->begin, b->end, end);
        FUZZ_REQUIRE(b->label_begin <= b->label_end && b->label_end <= b->text_begin &&
                     b->text_begin < b->end && (unsigned)b->kind < BLOCK_KINDS,
                     "block %lld has a wrong label", (long long)i);
        FUZZ_REQUIRE(from <= r->size && to <= r->size + 1,
                     "block %lld comes from [%zu, %zu) of %zu", (long long)i,
                     from, to, r->size);
        end = b->end;
    }
    FUZZ_REQUIRE(end == s->size, "%zu bytes behind the last block", s->size - end);
}

static void judge_sentences(const struct document *doc)
{
    uint64_t keys[KEYS];
    size_t end = 0;
    int64_t words = 0;

    for (int64_t i = 0; i < doc->n; i++) {
        const struct sentence *const s = &doc->sentences[i];
        const int64_t n = words_of_content(doc, i, keys, KEYS);

        FUZZ_REQUIRE(s->begin >= end && s->begin < s->end && s->end <= doc->size,
                     "sentence %lld is [%zu, %zu) behind %zu", (long long)i, s->begin, s->end, end);
        FUZZ_REQUIRE(s->label_end <= s->begin && s->words > 0 && s->turn <= i,
                     "sentence %lld has a wrong label or turn", (long long)i);
        for (int64_t k = 1; k < n; k++)
            FUZZ_REQUIRE(keys[k - 1] < keys[k], "content words of sentence %lld", (long long)i);
        words += s->words;
        end = s->end;
    }
    FUZZ_REQUIRE(words == doc->words, "%lld words", (long long)doc->words);
}

/* All that is made of a stream of blocks. */
static void judge(struct reading *r)
{
    struct document doc = { 0 };
    struct vectors vectors = { 0 };
    const struct language *language;

    judge_blocks(r);
    for (size_t i = 0; (language = language_at(i)) != NULL; i++) {
        FUZZ_REQUIRE(document_split(&doc, &r->stream, i == 0 ? NULL : language), "no memory");
        judge_sentences(&doc);
        if (i == 0)
            FUZZ_REQUIRE(vectors_build(&vectors, &doc) && document_segment(&doc, &vectors),
                         "no vectors");
        document_finish(&doc);
    }
    vectors_finish(&vectors);
}

void fuzz_reading(const char *format, const uint8_t *data, size_t size)
{
    struct reading r = { .format = format ? format_named(format) : NULL };
    struct failure why = { .usage = false };

    if (reading_do(&r, (const char *)data, size, "file.md", &why))
        judge(&r);
    else
        FUZZ_REQUIRE(why.usage && *why.text, "refused without a reason: %s", why.text);
    reading_finish(&r);
}

void fuzz_stream(struct stream *stream)
{
    struct reading r = { .stream = *stream, .size = SIZE_MAX / 2 };

    if (!stream->failed) {
        stream_outline(&r.stream);
        judge(&r);
    } else {
        FUZZ_REQUIRE(!stream->refused || *stream->refused, "refused without a reason");
    }
    reading_finish(&r);
}

size_t fuzz_reading_seed(uint32_t number, const char *const *texts, size_t n,
                         uint8_t data[FUZZ_INPUT_MOST])
{
    size_t used = 0;

    for (int i = 0; i < 3; i++) {
        const char *const text = texts[(number + (uint32_t)i * (1 + number / n)) % n];
        const size_t length = least(strlen(text), FUZZ_INPUT_MOST - used);

        memcpy(data + used, text, length);
        used += length;
    }
    return used;
}
