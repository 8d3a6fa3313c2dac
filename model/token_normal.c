/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Normalizers: each turns a text into another.
 */
#include "tokens.h"

#include <string.h>
#include <utf8proc.h>

typedef void each(const struct step *step, uint32_t code, struct buffer *out);

static void characters(const struct step *step, each *put, const char *text, size_t bytes,
                       struct line *out)
{
    const size_t origin = out->origin;
    uint32_t code;

    out->origin = 0;
    for (size_t i = 0; i < bytes && !out->text.failed;) {
        i += utf8_next(text + i, &code);
        put(step, code, &out->text);
        if (i <= origin)
            out->origin = out->text.bytes;
    }
}

static void by_character(const struct step *step, const char *text, size_t bytes,
                         struct line *out)
{
    characters(step, step->kind->each, text, bytes, out);
}

/* Only one character becomes two: the capital I with a dot. */
static void lower(const struct step *step, uint32_t code, struct buffer *out)
{
    (void)step;
    if (code == 0x130) {
        buffer_code(out, 'i');
        buffer_code(out, 0x307);
    } else if (code < 0x80) {
        buffer_code(out, code >= 'A' && code <= 'Z' ? code + 'a' - 'A' : code);
    } else {
        buffer_code(out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)code));
    }
}

static bool mark(uint32_t code)
{
    switch (utf8proc_category((utf8proc_int32_t)code)) {
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_ME: return true;
        default: return false;
    }
}

static void no_marks(const struct step *step, uint32_t code, struct buffer *out)
{
    (void)step;
    if (code < 0x80 || !mark(code))
        buffer_code(out, code);
}

/* The rules of SentencePiece's "nmt" normalizer. */
static void nmt(const struct step *step, uint32_t code, struct buffer *out)
{
    (void)step;
    if ((code >= 1 && code <= 8) || code == 0xb || (code >= 0xe && code <= 0x1f) ||
        code == 0x7f || code == 0x8f || code == 0x9f)
        return;
    if (code == 9 || code == 0xa || code == 0xc || code == 0xd || code == 0x1680 ||
        (code >= 0x200b && code <= 0x200f) || code == 0x2028 || code == 0x2029 ||
        code == 0x2581 || code == 0xfeff || code == 0xfffd)
        code = ' ';
    buffer_code(out, code);
}

static void nfc(const struct step *step, const char *text, size_t bytes, struct line *out)
{
    (void)step;
    normal_form(text, bytes, true, false, out);
}

static void nfd(const struct step *step, const char *text, size_t bytes, struct line *out)
{
    (void)step;
    normal_form(text, bytes, false, false, out);
}

static void nfkc(const struct step *step, const char *text, size_t bytes, struct line *out)
{
    (void)step;
    normal_form(text, bytes, true, true, out);
}

static void nfkd(const struct step *step, const char *text, size_t bytes, struct line *out)
{
    (void)step;
    normal_form(text, bytes, false, true, out);
}

static void strip(const struct step *step, const char *text, size_t bytes, struct line *out)
{
    size_t begin = 0, end = bytes, n;
    uint32_t code;

    while (step->flags[0] && begin < end) {
        n = utf8_next(text + begin, &code);
        if (!unicode_white(code))
            break;
        begin += n;
    }
    while (step->flags[1] && begin < end) {
        n = utf8_last(text, text + end, &code);
        if (!unicode_white(code))
            break;
        end -= n;
    }
    buffer_put(&out->text, text + begin, end - begin);
    out->origin = begin < out->origin ? out->origin - begin : 0;
}

static void replace(const struct step *step, const char *text, size_t bytes, struct line *out)
{
    const char *at = text, *const end = text + bytes;
    const size_t origin = out->origin;
    struct span match;

    while (step->pattern.find(step, at, end, &match)) {
        buffer_put(&out->text, at, (size_t)(match.at - at));
        buffer_put(&out->text, step->text.at, step->text.bytes);
        at = match.at + match.bytes;
        if (match.at == text && origin > 0)
            out->origin = match.bytes <= origin ? out->text.bytes : 0;
    }
    buffer_put(&out->text, at, (size_t)(end - at));
}

static void prepend(const struct step *step, const char *text, size_t bytes, struct line *out)
{
    if (bytes == 0)
        return;
    buffer_put(&out->text, step->text.at, step->text.bytes);
    buffer_put(&out->text, text, bytes);
    out->origin += out->origin > 0 ? step->text.bytes : 0;
}

static void precompiled(const struct step *step, const char *text, size_t bytes, struct line *out)
{
    charsmap_apply(step->charsmap, text, bytes, out);
}

static void byte_level(const struct step *step, const char *text, size_t bytes, struct line *out)
{
    const size_t origin = out->origin < bytes ? out->origin : bytes;

    (void)step;
    bytes_as_codes(text, origin, &out->text);
    out->origin = out->text.bytes;
    bytes_as_codes(text + origin, bytes - origin, &out->text);
}

enum { CLEAN, CHINESE, LOWER };

/* The blocks of Chinese characters that BERT's tokenizer lists. */
static bool chinese(uint32_t code)
{
    return (code >= 0x4e00 && code <= 0x9fff) || (code >= 0x3400 && code <= 0x4dbf) ||
           (code >= 0x20000 && code <= 0x2a6df) || (code >= 0x2a700 && code <= 0x2b73f) ||
           (code >= 0x2b740 && code <= 0x2b81f) || (code >= 0x2b920 && code <= 0x2ceaf) ||
           (code >= 0xf900 && code <= 0xfaff) || (code >= 0x2f800 && code <= 0x2fa1f);
}

/* Is it a control character, one of format, for private use, or what stands for none? */
static bool dirty(uint32_t code)
{
    if (code == '\t' || code == '\n' || code == '\r')
        return false;
    if (code < 0x80)
        return code < 0x20 || code == 0x7f;
    if (code == 0xfffd)
        return true;
    switch (utf8proc_category((utf8proc_int32_t)code)) {
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_CO: return true;
        default: return false;
    }
}

static void bert_clean(const struct step *step, uint32_t code, struct buffer *out)
{
    if (step->flags[CLEAN]) {
        if (dirty(code))
            return;
        if (unicode_white(code))
            code = ' ';
    }
    if (code >= 0x3400 && step->flags[CHINESE] && chinese(code)) {
        buffer_code(out, ' ');
        buffer_code(out, code);
        buffer_code(out, ' ');
    } else {
        buffer_code(out, code);
    }
}

static void bert_lower(const struct step *step, uint32_t code, struct buffer *out)
{
    if (step->flags[LOWER])
        lower(step, code, out);
    else
        buffer_code(out, code);
}

static void bert_bare(const struct step *step, uint32_t code, struct buffer *out)
{
    if (code < 0x80 ||
        utf8proc_category((utf8proc_int32_t)code) != UTF8PROC_CATEGORY_MN)
        bert_lower(step, code, out);
}

static void bert(const struct step *step, const char *text, size_t bytes, struct line *out)
{
    const bool bare = step->maybes[0] < 0 ? step->flags[LOWER] : step->maybes[0];
    struct line clean = { .origin = out->origin }, form = { 0 };

    characters(step, bert_clean, text, bytes, &clean);
    form.origin = clean.origin;
    if (bare)
        normal_form(clean.text.at, clean.text.bytes, false, false, &form);
    out->origin = form.origin;
    if (bare)
        characters(step, bert_bare, form.text.at, form.text.bytes, out);
    else
        characters(step, bert_lower, clean.text.at, clean.text.bytes, out);
    out->text.failed = out->text.failed || clean.text.failed || form.text.failed;
    buffer_finish(&clean.text);
    buffer_finish(&form.text);
}

#define AT(member) offsetof(struct step, member)
static const struct field no_fields[] = { { .name = NULL } },
    bert_fields[] = { { "clean_text", FIELD_BOOL, true, AT(flags[CLEAN]), NULL },
                      { "handle_chinese_chars", FIELD_BOOL, true, AT(flags[CHINESE]), NULL },
                      { "strip_accents", FIELD_MAYBE, false, AT(maybes[0]), NULL },
                      { "lowercase", FIELD_BOOL, true, AT(flags[LOWER]), NULL },
                      { .name = NULL } },
    strip_fields[] = { { "strip_left", FIELD_BOOL, true, AT(flags[0]), NULL },
                       { "strip_right", FIELD_BOOL, true, AT(flags[1]), NULL },
                       { .name = NULL } },
    replace_fields[] = { { "pattern", FIELD_PATTERN, true, AT(pattern), NULL },
                         { "content", FIELD_TEXT, true, AT(text), NULL },
                         { .name = NULL } },
    prepend_fields[] = { { "prepend", FIELD_TEXT, true, AT(text), NULL }, { .name = NULL } },
    charsmap_fields[] = { { "precompiled_charsmap", FIELD_CHARSMAP, true, AT(charsmap), NULL },
                          { .name = NULL } };

const struct step_kind normalizer_kinds[] = {
    { "BertNormalizer", bert_fields, .normalize = bert },
    { "NFC", no_fields, .normalize = nfc },
    { "NFD", no_fields, .normalize = nfd },
    { "NFKC", no_fields, .normalize = nfkc },
    { "NFKD", no_fields, .normalize = nfkd },
    { "Lowercase", no_fields, .normalize = by_character, .each = lower },
    { "StripAccents", no_fields, .normalize = by_character, .each = no_marks },
    { "Nmt", no_fields, .normalize = by_character, .each = nmt },
    { "Strip", strip_fields, .normalize = strip },
    { "Replace", replace_fields, .normalize = replace },
    { "Prepend", prepend_fields, .normalize = prepend },
    { "Precompiled", charsmap_fields, .normalize = precompiled },
    { "ByteLevel", no_fields, .normalize = byte_level },
    { .name = NULL }
};

/* The text in lines[*which]; false: no memory. */
bool normalize(const struct steps *steps, const char *text, size_t bytes, struct line lines[2],
               int *which)
{
    *which = 0;
    lines[0].text.bytes = 0;
    buffer_put(&lines[0].text, text, bytes);
    for (size_t i = 0; i < steps->n; i++) {
        const struct line *const in = &lines[*which];
        struct line *const out = &lines[*which ^ 1];

        out->text.bytes = 0;
        out->origin = in->origin;
        steps->at[i].kind->normalize(&steps->at[i], in->text.at ? in->text.at : "",
                                     in->text.bytes, out);
        if (in->text.failed || out->text.failed)
            return false;
        *which ^= 1;
    }
    return !lines[*which].text.failed;
}
