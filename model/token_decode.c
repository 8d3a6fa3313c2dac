/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Decoders: each turns the texts of tokens into others, which in the end stand one after another.
 */
#include "tokens.h"

#include <stdlib.h>
#include <string.h>

static struct span part(const struct parts *parts, size_t i)
{
    const size_t begin = i > 0 ? parts->ends[i - 1] : 0;

    if (parts->ends[i] == begin)
        return (struct span){ "", 0 };
    return (struct span){ parts->text.at + begin, parts->ends[i] - begin };
}

/* ---- byte level */

static bool put_bytes(struct span text, struct buffer *out)
{
    const size_t before = out->bytes;
    uint32_t code;

    for (size_t i = 0; i < text.bytes;) {
        char byte;
        int got;

        i += utf8_next(text.at + i, &code);
        got = byte_of_code(code);
        if (got < 0) {
            out->bytes = before;
            return false;
        }
        byte = (char)got;
        buffer_put(out, &byte, 1);
    }
    return true;
}

/* Characters that stand for bytes, of all tokens; a token with another one stays as it is. */
static void decode_bytes(const struct step *step, const struct parts *in, struct parts *out)
{
    struct buffer bytes = { 0 };

    (void)step;
    for (size_t i = 0; i < in->n; i++)
        if (!put_bytes(part(in, i), &bytes))
            buffer_put(&bytes, part(in, i).at, part(in, i).bytes);
    buffer_mend(&out->text, bytes.at, bytes.bytes);
    parts_end(out);
    out->failed = out->failed || bytes.failed;
    buffer_finish(&bytes);
}

/* ---- WordPiece */

/* Every `from` of a text becomes `to`, in place: it gets no longer. */
static void shorten(struct buffer *text, size_t begin, const char *from, const char *to)
{
    const size_t n = strlen(from), m = strlen(to);
    char *read, *write, *end, *found;

    if (text->bytes - begin < n)
        return;     /* also where there is no text at all yet */
    read = write = text->at + begin;
    end = text->at + text->bytes;
    for (found = read; (size_t)(end - found) >= n;) {
        if (memcmp(found, from, n) != 0) {
            found++;
            continue;
        }
        memmove(write, read, (size_t)(found - read));
        write += found - read;
        memcpy(write, to, m);
        write += m;
        read = found += n;
    }
    memmove(write, read, (size_t)(end - read));
    write += end - read;
    text->bytes = (size_t)(write - text->at);
}

/* Spaces that English does not have before punctuation, in the order of the public library. */
static void clean(struct buffer *text, size_t begin)
{
    static const char *const pairs[][2] = {
        { " .", "." }, { " ?", "?" }, { " !", "!" }, { " ,", "," }, { " ' ", "'" },
        { " n't", "n't" }, { " 'm", "'m" }, { " do not", " don't" }, { " 's", "'s" },
        { " 've", "'ve" }, { " 're", "'re" },
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        shorten(text, begin, pairs[i][0], pairs[i][1]);
}

static void decode_wordpiece(const struct step *step, const struct parts *in, struct parts *out)
{
    const struct span prefix = step->text;

    for (size_t i = 0; i < in->n; i++) {
        const struct span text = part(in, i);
        const size_t begin = out->text.bytes;
        const bool inside = i > 0 && text.bytes >= prefix.bytes &&
                            (prefix.bytes == 0 || memcmp(text.at, prefix.at, prefix.bytes) == 0);
        const size_t skip = inside ? prefix.bytes : 0;

        if (i > 0 && !inside)
            buffer_put(&out->text, " ", 1);
        buffer_put(&out->text, text.at + skip, text.bytes - skip);
        if (step->flags[0] && !out->text.failed)
            clean(&out->text, begin);
        parts_end(out);
    }
}

/* ---- Metaspace */

enum { NEVER = 1 };

/* The first token has no spaces, unless none is put before a text. */
static void decode_metaspace(const struct step *step, const struct parts *in, struct parts *out)
{
    uint32_t code;

    for (size_t i = 0; i < in->n; i++) {
        const struct span text = part(in, i);

        for (size_t k = 0; k < text.bytes; ) {
            k += utf8_next(text.at + k, &code);
            if (code != step->character)
                buffer_code(&out->text, code);
            else if (i > 0 || step->choice == NEVER)
                buffer_put(&out->text, " ", 1);
        }
        parts_end(out);
    }
}

/* ---- pieces of a pipeline */

static void decode_replace(const struct step *step, const struct parts *in, struct parts *out)
{
    struct span match;

    for (size_t i = 0; i < in->n; i++) {
        const struct span text = part(in, i);
        const char *at = text.at, *const end = at + text.bytes;

        while (step->pattern.find(step, at, end, &match)) {
            buffer_put(&out->text, at, (size_t)(match.at - at));
            buffer_put(&out->text, step->text.at, step->text.bytes);
            at = match.at + match.bytes;
        }
        buffer_put(&out->text, at, (size_t)(end - at));
        parts_end(out);
    }
}

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
           c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte of a token like <0x0A>; negative: it is none. */
static int byte_of(struct span text)
{
    if (text.bytes != 6 || memcmp(text.at, "<0x", 3) != 0 || text.at[5] != '>' ||
        hex(text.at[3]) < 0 || hex(text.at[4]) < 0)
        return -1;
    return hex(text.at[3]) * 16 + hex(text.at[4]);
}

/* Bytes that follow each other are characters, or one U+FFFD each. */
static void flush(struct buffer *bytes, struct parts *out)
{
    if (bytes->bytes == 0)
        return;
    if (utf8_valid(bytes->at, bytes->bytes)) {
        buffer_put(&out->text, bytes->at, bytes->bytes);
        parts_end(out);
    } else {
        for (size_t i = 0; i < bytes->bytes; i++) {
            buffer_code(&out->text, 0xfffd);
            parts_end(out);
        }
    }
    bytes->bytes = 0;
}

static void decode_fallback(const struct step *step, const struct parts *in, struct parts *out)
{
    struct buffer bytes = { 0 };

    (void)step;
    for (size_t i = 0; i < in->n; i++) {
        const struct span text = part(in, i);
        const int byte = byte_of(text);
        const char value = (char)byte;

        if (byte >= 0) {
            buffer_put(&bytes, &value, 1);
            continue;
        }
        flush(&bytes, out);
        buffer_put(&out->text, text.at, text.bytes);
        parts_end(out);
    }
    flush(&bytes, out);
    out->failed = out->failed || bytes.failed;
    buffer_finish(&bytes);
}

static void decode_fuse(const struct step *step, const struct parts *in, struct parts *out)
{
    (void)step;
    buffer_put(&out->text, in->text.at, in->text.bytes);
    parts_end(out);
}

/* Up to so many of a character go from the begin and the end of each token. */
static void decode_strip(const struct step *step, const struct parts *in, struct parts *out)
{
    uint32_t code;

    for (size_t i = 0; i < in->n; i++) {
        const struct span text = part(in, i);
        const char *begin = text.at, *end = begin + text.bytes;

        for (int64_t k = 0; k < step->counts[0] && begin < end; k++) {
            const size_t n = utf8_next(begin, &code);

            if (code != step->character)
                break;
            begin += n;
        }
        for (int64_t k = 0; k < step->counts[1] && begin < end; k++) {
            const size_t n = utf8_last(begin, end, &code);

            if (code != step->character)
                break;
            end -= n;
        }
        buffer_put(&out->text, begin, (size_t)(end - begin));
        parts_end(out);
    }
}

/* The suffix at the end of words becomes a space, but in the last token. */
static void decode_suffix(const struct step *step, const struct parts *in, struct parts *out)
{
    struct step replace = { .text = { " ", 1 } };

    if (!pattern_read(&replace.pattern, false, step->text)) {
        buffer_put(&out->text, in->text.at, in->text.bytes);
        parts_end(out);
        return;
    }
    for (size_t i = 0; i < in->n; i++) {
        const struct span text = part(in, i);
        const char *at = text.at, *const end = at + text.bytes;
        struct span match;

        while (replace.pattern.find(&replace, at, end, &match)) {
            buffer_put(&out->text, at, (size_t)(match.at - at));
            buffer_put(&out->text, " ", i + 1 < in->n);
            at = match.at + match.bytes;
        }
        buffer_put(&out->text, at, (size_t)(end - at));
        parts_end(out);
    }
}

static bool prepare_suffix(struct tokenizer *t, struct step *step)
{
    struct pattern pattern;

    return pattern_read(&pattern, false, step->text) ||
           read_fail(t, HEED_E_UNSUPPORTED, "decoder.suffix", "a suffix of %zu bytes",
                     step->text.bytes);
}

static const char *const schemes[] = { "first", "never", "always", NULL };

static bool prepare_metaspace(struct tokenizer *t, struct step *step)
{
    (void)t;
    if (step->choice < 0)
        step->choice = step->maybes[0] == 0 ? NEVER : NEVER + 1;
    return true;
}

#define AT(member) offsetof(struct step, member)
static const struct field no_fields[] = { { .name = NULL } },
    wordpiece_fields[] = { { "prefix", FIELD_TEXT, true, AT(text), NULL },
                           { "cleanup", FIELD_BOOL, true, AT(flags[0]), NULL },
                           { .name = NULL } },
    metaspace_fields[] = { { "replacement", FIELD_CHARACTER, true, AT(character), NULL },
                           { "add_prefix_space", FIELD_MAYBE, false, AT(maybes[0]), NULL },
                           { "prepend_scheme", FIELD_CHOICE, false, AT(choice), schemes },
                           { .name = NULL } },
    replace_fields[] = { { "pattern", FIELD_PATTERN, true, AT(pattern), NULL },
                         { "content", FIELD_TEXT, true, AT(text), NULL },
                         { .name = NULL } },
    strip_fields[] = { { "content", FIELD_CHARACTER, true, AT(character), NULL },
                       { "start", FIELD_COUNT, true, AT(counts[0]), NULL },
                       { "stop", FIELD_COUNT, true, AT(counts[1]), NULL },
                       { .name = NULL } },
    suffix_fields[] = { { "suffix", FIELD_TEXT, true, AT(text), NULL }, { .name = NULL } };

const struct step_kind decoder_kinds[] = {
    { "ByteLevel", no_fields, .decode = decode_bytes },
    { "WordPiece", wordpiece_fields, .decode = decode_wordpiece },
    { "Metaspace", metaspace_fields, .decode = decode_metaspace, .prepare = prepare_metaspace },
    { "Replace", replace_fields, .decode = decode_replace },
    { "ByteFallback", no_fields, .decode = decode_fallback },
    { "Fuse", no_fields, .decode = decode_fuse },
    { "Strip", strip_fields, .decode = decode_strip },
    { "BPEDecoder", suffix_fields, .decode = decode_suffix, .prepare = prepare_suffix },
    { .name = NULL }
};

/* ---- ids to texts */

static void put_token(const struct tokenizer *t, int32_t id, bool special, struct parts *out)
{
    const struct added *const added = added_of_id(t, id);
    const struct vocab *const vocab = &t->model.vocab;

    if (added) {
        if (added->hidden && !special)
            return;
        buffer_put(&out->text, t->added.pool + added->normalized.at, added->normalized.bytes);
    } else if (id >= 0 && id < vocab->n && vocab->words[id].at != WORD_HOLE) {
        buffer_put(&out->text, vocab->pool + vocab->words[id].at, vocab->words[id].bytes);
    } else {
        return;
    }
    parts_end(out);
}

static bool put_tokens(const struct tokenizer *t, const int32_t *ids, size_t n, bool special,
                       struct parts lists[2], int *which)
{
    *which = 0;
    for (size_t i = 0; i < n; i++)
        put_token(t, ids[i], special, &lists[0]);
    for (size_t i = 0; i < t->decoders.n; i++) {
        struct parts *const in = &lists[*which], *const out = &lists[*which ^ 1];

        if (in->failed || in->text.failed)
            return false;
        parts_clear(out);
        t->decoders.at[i].kind->decode(&t->decoders.at[i], in, out);
        *which ^= 1;
    }
    return !lists[*which].failed && !lists[*which].text.failed;
}

/* Without a decoder there is a space between tokens. */
static bool join(const struct tokenizer *t, const struct parts *parts, struct buffer *out)
{
    if (t->decoders.n > 0)
        buffer_put(out, parts->text.at, parts->text.bytes);
    else
        for (size_t i = 0; i < parts->n; i++) {
            buffer_put(out, " ", i > 0);
            buffer_put(out, part(parts, i).at, part(parts, i).bytes);
        }
    buffer_put(out, "", 1);
    return !out->failed;
}

bool decode(const struct tokenizer *t, const int32_t *ids, size_t n, bool special,
            struct buffer *out)
{
    struct parts lists[2] = { { .n = 0 }, { .n = 0 } };
    int which;
    const bool done = put_tokens(t, ids, n, special, lists, &which) &&
                      join(t, &lists[which], out);

    parts_finish(&lists[0]);
    parts_finish(&lists[1]);
    return done;
}
