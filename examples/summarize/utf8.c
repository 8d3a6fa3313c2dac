/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8 as Unicode defines it (chapter 3, table 3-7: no overlong forms, no
 * surrogates, nothing above 10FFFF), and the few character classes the splitter
 * needs. Text is never rewritten: it is decoded wherever it is read, so offsets
 * stay those of the input. No locale is involved.
 */
#include "summarize.h"

#include <string.h>

uint32_t utf8_next(const char *at, const char *end, size_t *taken)
{
    const unsigned char *const p = (const unsigned char *)at;
    const size_t left = (size_t)(end - at);
    const uint32_t first = p[0];
    uint32_t code, low;
    size_t length;

    *taken = 1;
    if (first < 0x80)
        return first;
    if (first >= 0xC2 && first <= 0xDF) {
        length = 2; code = first & 0x1F; low = 0x80;
    } else if (first >= 0xE0 && first <= 0xEF) {
        length = 3; code = first & 0x0F; low = 0x800;
    } else if (first >= 0xF0 && first <= 0xF4) {
        length = 4; code = first & 0x07; low = 0x10000;
    } else {
        return UTF8_BAD;
    }
    if (left < length)
        return UTF8_BAD;
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return UTF8_BAD;
        code = code << 6 | (p[i] & 0x3Fu);
    }
    if (code < low || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        return UTF8_BAD;
    *taken = length;
    return code;
}

size_t utf8_put(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

size_t utf8_count_bad(const char *text, size_t size)
{
    size_t bad = 0, taken;

    for (size_t i = 0; i < size; i += taken) {
        if (utf8_next(text + i, text + size, &taken) == UTF8_BAD && taken == 1)
            bad++;
    }
    return bad;
}

/* Behind the bytes from `low` to `high` at `at`. */
static const char *skip_bytes(const char *at, const char *end, char low, char high)
{
    while (at < end && *at >= low && *at <= high)
        at++;
    return at;
}

/* Behind a title or another text for the terminal. One that is left open ends with its line, or
 * before the next sequence. */
static const char *skip_string(const char *at, const char *end)
{
    for (; at < end && *at != '\n'; at++) {
        if (*at == '\a')
            return at + 1;
        if (end - at >= 2 && (memcmp(at, "\x1B\\", 2) == 0 || memcmp(at, "\xC2\x9C", 2) == 0))
            return at + 2;
        if (*at == '\x1B' || (end - at >= 2 && *at == '\xC2' && (unsigned char)at[1] < 0xA0))
            break;
    }
    return at;
}

size_t utf8_unread(const char *at, const char *end)
{
    const unsigned char first = (unsigned char)*at;
    const unsigned char next = at + 1 < end ? (unsigned char)at[1] : 0;
    const char *behind = at + 2;
    unsigned char kind = next;

    if (first == 0xC2 && next == 0xAD)
        return 2;
    if (first == 0xC2 && next >= 0x80 && next < 0xA0)
        kind = next - 0x40;                /* C1 is ESC and what follows it, in one */
    else if (first != 0x1B)
        return 0;
    if (kind == '[') {
        behind = skip_bytes(skip_bytes(behind, end, '0', '?'), end, ' ', '/');
        return (size_t)(skip_bytes(behind, behind < end ? behind + 1 : end, '@', '~') - at);
    }
    if (kind != 0 && strchr("]PX^_", kind))
        return (size_t)(skip_string(behind, end) - at);
    if (first != 0x1B)
        return 0;
    behind = skip_bytes(at + 1, end, '!', '/');
    return (size_t)(skip_bytes(behind, behind < end ? behind + 1 : end, '0', '~') - at);
}

bool utf8_is_hidden(uint32_t code)
{
    if (code >= 0x20 && code < 0x7F)           /* most of what is asked */
        return false;
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x61C || code == 0x200E ||
           code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF ||
           (code >= 0xE0000 && code <= 0xE007F);
}

bool utf8_is_space(uint32_t code)
{
    if (code < 0x7F)
        return code <= 0x20;
    return utf8_is_hidden(code) || code == 0xA0 || code == 0x1680 ||
           (code >= 0x2000 && code <= 0x200B) || code == 0x202F || code == 0x205F ||
           code == 0x3000;
}

bool utf8_is_word(uint32_t code)
{
    if (code < 0x80)
        return (code >= '0' && code <= '9') || (code >= 'a' && code <= 'z') ||
               (code >= 'A' && code <= 'Z');
    if (code < 0xC0)
        return code == 0xAA || code == 0xB5 || code == 0xBA;
    /* Everything that is not known to be punctuation, a symbol or a space. */
    return code != 0xD7 && code != 0xF7 && !utf8_is_space(code) &&
           !(code >= 0x2010 && code <= 0x2BFF) && !(code >= 0x2E00 && code <= 0x2E7F) &&
           !(code >= 0x3000 && code <= 0x303F) && !(code >= 0xFE10 && code <= 0xFE6F) &&
           !(code >= 0xFF00 && code <= 0xFF0F) && !(code >= 0xFF1A && code <= 0xFF20) &&
           !(code >= 0xFF5B && code <= 0xFF65) && code != 0x30FB &&
           !(code >= 0x1F000 && code <= 0x1FFFF) && code != UTF8_BAD;
}

bool utf8_is_ideograph(uint32_t code)
{
    return (code >= 0x3041 && code <= 0x30FF && code != 0x30FB) ||
           (code >= 0x3400 && code <= 0x9FFF) || (code >= 0xF900 && code <= 0xFAFF) ||
           (code >= 0x20000 && code <= 0x3FFFF);
}

bool utf8_is_wide(uint32_t code)
{
    return utf8_is_ideograph(code) || (code > 0x3000 && code <= 0x303F) || code == 0x30FB ||
           (code >= 0xFF00 && code <= 0xFF65);
}

uint32_t utf8_lower(uint32_t code)
{
    if (code >= 'A' && code <= 'Z')
        return code + 32;
    if (code < 0xC0)
        return code;
    if (code <= 0xDE)
        return code == 0xD7 ? code : code + 32;
    if ((code >= 0x100 && code <= 0x137) || (code >= 0x14A && code <= 0x177))
        return code | 1u;
    if ((code >= 0x139 && code <= 0x148) || (code >= 0x179 && code <= 0x17E))
        return code + (code & 1u);
    if (code >= 0x391 && code <= 0x3AB)
        return code + 32;
    if (code >= 0x400 && code <= 0x40F)
        return code + 80;
    if (code >= 0x410 && code <= 0x42F)
        return code + 32;
    return code;
}

bool utf8_is_upper(uint32_t code)
{
    return utf8_lower(code) != code;
}

bool utf8_is_lower(uint32_t code)
{
    if (code >= 'a' && code <= 'z')
        return true;
    if (code < 0xDF)
        return false;
    if (code <= 0xFF)
        return code != 0xF7;
    if (code <= 0x17F)
        return utf8_lower(code) == code;
    return (code >= 0x3AC && code <= 0x3CE) || (code >= 0x430 && code <= 0x45F);
}

int utf8_columns(uint32_t code)
{
    if ((code >= 0x300 && code <= 0x36F) || (code >= 0x20D0 && code <= 0x20FF) ||
        (code >= 0xFE00 && code <= 0xFE0F) || code == 0x200C || code == 0x200D)
        return 0;
    if ((code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
        (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
        (code >= 0xFF01 && code <= 0xFF60) || (code >= 0x1F300 && code <= 0x1FAFF) ||
        (code >= 0x20000 && code <= 0x3FFFF))
        return 2;
    return 1;
}

int64_t utf8_count_words(const char *text, size_t begin, size_t end)
{
    int64_t words = 0;
    bool inside = false;
    size_t taken;

    for (size_t i = begin; i < end; i += taken) {
        const uint32_t code = utf8_next(text + i, text + end, &taken);

        if (utf8_is_space(code)) {
            inside = false;
        } else if (utf8_is_ideograph(code)) {
            words++;
            inside = false;
        } else if (!inside) {
            words++;
            inside = true;
        }
    }
    return words;
}
