/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Patterns of splits and replacements: a text, or one of the regular expressions that published
 * tokenizers have, written by hand, since an expression from a file may take any time. And the
 * characters that stand for bytes in byte-level vocabularies.
 */
#include "tokens.h"

#include <string.h>

enum { PATTERN_MOST = 256 };

static bool find_text(const struct step *step, const char *at, const char *end,
                      struct span *match)
{
    const struct span text = step->pattern.text;

    while ((size_t)(end - at) >= text.bytes) {
        at = memchr(at, text.at[0], (size_t)(end - at) - text.bytes + 1);
        if (!at)
            return false;
        if (memcmp(at, text.at, text.bytes) == 0) {
            *match = (struct span){ at, text.bytes };
            return true;
        }
        at++;
    }
    return false;
}

static bool is_space(uint32_t code)
{
    return code == ' ';
}

static bool is_line(uint32_t code)
{
    return code == '\n';
}

static bool is_break(uint32_t code)
{
    return code == '\n' || code == '\r' || code == '\t';
}

/* The first run of at least `least` characters of a kind, or a shorter one that begins with one of
 * the kind `short_too`. */
static bool find_run(const char *at, const char *end, size_t least, bool (*is)(uint32_t code),
                     bool (*short_too)(uint32_t code), struct span *match)
{
    while (at < end) {
        const char *const from = at;
        uint32_t code, first = 0;
        size_t n = 0;

        while (at < end) {
            const size_t bytes = utf8_next(at, &code);

            if (!is(code))
                break;
            first = n++ == 0 ? code : first;
            at += bytes;
        }
        if (n >= least || (n > 0 && short_too && short_too(first))) {
            *match = (struct span){ from, (size_t)(at - from) };
            return true;
        }
        if (at < end && n == 0)
            at += utf8_next(at, &code);
    }
    return false;
}

/* One character of a kind. */
static bool find_one(const char *at, const char *end, bool (*is)(uint32_t code),
                     struct span *match)
{
    uint32_t code;

    for (size_t n; at < end; at += n) {
        n = utf8_next(at, &code);
        if (is(code)) {
            *match = (struct span){ at, n };
            return true;
        }
    }
    return false;
}

#define FINDER(name, call)                                                                        \
    static bool name(const struct step *step, const char *at, const char *end,                    \
                     struct span *match)                                                          \
    {                                                                                             \
        (void)step;                                                                               \
        return call;                                                                              \
    }
FINDER(find_spaces, find_run(at, end, 1, is_space, NULL, match))
FINDER(find_two_spaces, find_run(at, end, 2, is_space, NULL, match))
FINDER(find_white, find_run(at, end, 1, unicode_white, NULL, match))
FINDER(find_two_white, find_run(at, end, 2, unicode_white, is_break, match))
FINDER(find_line, find_one(at, end, is_line, match))
FINDER(find_break, find_one(at, end, is_break, match))

enum class { WHITE, LETTER, NUMBER, OTHER };

static enum class class_of(uint32_t code)
{
    return unicode_white(code) ? WHITE : unicode_letter(code) ? LETTER :
           unicode_number(code) ? NUMBER : OTHER;
}

/* The end of the characters of a class. */
static const char *run_of(enum class class, const char *at, const char *end)
{
    uint32_t code;

    while (at < end) {
        const size_t n = utf8_next(at, &code);

        if (class_of(code) != class)
            break;
        at += n;
    }
    return at;
}

/* 's, 't, 're, 've, 'm, 'll and 'd, which GPT-2 takes off words; 0: none of them is here. */
static size_t contraction(const char *at, const char *end)
{
    static const char *const ends[] = { "s", "t", "re", "ve", "m", "ll", "d" };

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t n = strlen(ends[i]);

        if ((size_t)(end - at) > n && memcmp(at + 1, ends[i], n) == 0)
            return n + 1;
    }
    return 0;
}

/* Every character is in a match: words, numbers and all else with one space before them, and white
 * characters but the last one, which belongs to what follows if it is a space. */
static bool find_gpt2(const struct step *step, const char *at, const char *end,
                      struct span *match)
{
    const char *to = at;
    uint32_t code;
    size_t n;

    (void)step;
    if (at == end)
        return false;
    n = *at == '\'' ? contraction(at, end) : 0;
    if (n > 0) {
        *match = (struct span){ at, n };
        return true;
    }
    if (*at == ' ' && at + 1 < end)
        to++;
    (void)utf8_next(to, &code);
    if (class_of(code) != WHITE) {
        *match = (struct span){ at, (size_t)(run_of(class_of(code), to, end) - at) };
        return true;
    }
    to = run_of(WHITE, at, end);
    n = utf8_last(at, to, &code);
    if (to < end && (size_t)(to - at) > n)
        to -= n;
    *match = (struct span){ at, (size_t)(to - at) };
    return true;
}

const char gpt2_expression[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

static const struct {
    const char *expression;
    bool (*find)(const struct step *step, const char *at, const char *end, struct span *match);
} expressions[] = {
    { " {2,}", find_two_spaces },
    { " +", find_spaces },
    { "\\s+", find_white },
    { "\\n", find_line },
    { "[\\n\\r\\t]", find_break },
    { "\\s{2,}|[\\n\\r\\t]", find_two_white },
    { gpt2_expression, find_gpt2 },
};

bool pattern_read(struct pattern *pattern, bool regular, struct span text)
{
    *pattern = (struct pattern){ .text = text };
    if (!regular) {
        pattern->find = find_text;
        return text.bytes > 0 && text.bytes <= PATTERN_MOST;
    }
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        const char *const expression = expressions[i].expression;

        if (text.bytes == strlen(expression) && memcmp(text.at, expression, text.bytes) == 0)
            pattern->find = expressions[i].find;
    }
    return pattern->find != NULL;
}

/* Bytes that are printed as they are stand for themselves, the others from U+0100 on. */
uint32_t byte_code(unsigned char byte)
{
    return byte < '!' ? 0x100u + byte : byte <= '~' ? byte : byte < 0xa1 ? 0x121u + (byte - 0x7fu) :
           byte == 0xad ? 0x143 : byte;
}

int byte_of_code(uint32_t code)
{
    if (code < 0x100)
        return byte_code((unsigned char)code) == code ? (int)code : -1;
    return code < 0x121 ? (int)(code - 0x100) : code < 0x143 ? (int)(code - 0x121 + 0x7f) :
           code == 0x143 ? 0xad : -1;
}

void bytes_as_codes(const char *at, size_t bytes, struct buffer *out)
{
    for (size_t i = 0; i < bytes && !out->failed; i++)
        buffer_code(out, byte_code((unsigned char)at[i]));
}
