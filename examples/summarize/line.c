/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a single line says about itself: the readers of formats without markup ask here.
 */
#include "read.h"

#include <string.h>

enum { MAX_LABEL_BYTES = 60, MAX_LABEL_WORDS = 5, MAX_LABEL_SIGNS = 6 };

struct line line_at(const char *at, const char *end)
{
    struct line line = { .begin = at, .end = at };

    while (line.end < end && *line.end != '\n' && *line.end != '\r' && *line.end != '\f')
        line.end++;
    line.next = line.end;
    if (line.next < end && *line.next == '\r')
        line.next++;
    if (line.next < end && *line.next == '\n')
        line.next++;
    if (line.next < end && *line.next == '\f') {
        line.page = true;
        line.next++;
    }
    return line;
}

const char *line_skip_space(const char *begin, const char *end)
{
    size_t taken;

    while (begin < end && utf8_is_space(utf8_next(begin, end, &taken)))
        begin += taken;
    return begin;
}

bool line_is_blank(const char *begin, const char *end)
{
    return line_skip_space(begin, end) == end;
}

const char *line_trim(const char *begin, const char *end)
{
    const char *last = begin;
    size_t taken;

    for (const char *c = begin; c < end; c += taken) {
        if (!utf8_is_space(utf8_next(c, end, &taken)))
            last = c + taken;
    }
    return last;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool line_same(const char *a, const char *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (lower(a[i]) != lower(b[i]))
            return false;
    }
    return true;
}

bool line_has(const char *begin, const char *end, const char *word)
{
    const size_t length = strlen(word);

    for (; (size_t)(end - begin) >= length; begin++) {
        if (line_same(begin, word, length))
            return true;
    }
    return false;
}

char line_rule(const char *begin, const char *end)
{
    int signs = 0;

    begin = line_skip_space(begin, end);
    end = line_trim(begin, end);
    if (begin == end || !strchr("=-*_~", *begin))
        return 0;
    for (const char *c = begin; c < end; c++) {
        if (*c != *begin && *c != ' ')
            return 0;
        signs += *c == *begin;
    }
    return signs >= 3 ? *begin : 0;
}

/* "7", "- 7 -", "[7]", "Page 7 of 9", "Seite 7", "xiv". */
bool line_is_page_number(const char *begin, const char *end)
{
    static const char *const words[] = { "page", "seite", "pagina", "página", "strana",
                                         "blz", "стр", "p" };
    int digits = 0, letters = 0, roman = 0;

    begin = line_skip_space(begin, end);
    end = line_trim(begin, end);
    if (end - begin > 24)
        return false;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        const size_t length = strlen(words[i]);

        if ((size_t)(end - begin) > length && line_same(begin, words[i], length) &&
            strchr(". 0123456789", begin[length])) {
            begin += length;
            break;
        }
    }
    for (const char *c = begin; c < end; c++) {
        digits += is_digit(*c);
        roman += *c != '\0' && strchr("ivxlc", *c) != NULL;
        letters += (unsigned char)*c >= 0x80 || (lower(*c) >= 'a' && lower(*c) <= 'z');
    }
    if (digits > 0 && digits <= 8)
        return letters == 0 || (letters <= 4 && line_has(begin, end, "of")) ||
               (letters <= 3 && (line_has(begin, end, "von") || line_has(begin, end, "de")));
    return digits == 0 && roman > 0 && roman == letters && end - begin <= 6;
}

/* Dots, or wide space, between words and a number at the end. */
bool line_is_contents(const char *begin, const char *end)
{
    const char *c;
    int dots = 0;

    begin = line_skip_space(begin, end);
    c = end = line_trim(begin, end);
    while (c > begin && (is_digit(c[-1]) || strchr("ivx", c[-1])) && end - c < 5)
        c--;
    if (c == end)
        return false;
    for (; c > begin && strchr(". \t_", c[-1]); c--)
        dots += c[-1] == '.' || c[-1] == '_';
    return dots >= 3 && c > begin;
}

bool line_is_table(const char *begin, const char *end, int gap)
{
    int gaps = 0, bars = 0, spaces = 0;

    begin = line_skip_space(begin, end);
    end = line_trim(begin, end);
    for (const char *c = begin; c < end; c++) {
        bars += *c == '|';
        if (*c == ' ') {
            spaces++;
            continue;
        }
        gaps += spaces >= gap || *c == '\t';
        spaces = 0;
    }
    return bars >= 2 || gaps >= 2 || (bars == 0 && end - begin > 3 && *begin == '+' &&
                                      end[-1] == '+' && begin[1] == '-');
}

size_t line_bullet(const char *begin, const char *end)
{
    size_t taken;
    uint32_t code;

    if (begin == end)
        return 0;
    code = utf8_next(begin, end, &taken);
    if (code != '-' && code != '*' && code != '+' && code != 0x2022 && code != 0x2023 &&
        code != 0x25CF && code != 0x25AA && code != 0xB7 && code != 0x2043 && code != 0x25B8 &&
        code != 0x25E6)
        return 0;
    if (begin + taken >= end || (begin[taken] != ' ' && begin[taken] != '\t'))
        return 0;
    return (size_t)(line_skip_space(begin + taken, end) - begin);
}

size_t line_number(const char *begin, const char *end)
{
    const char *c = begin;

    if (c < end && *c == '(')
        c++;
    if (c + 1 < end && lower(*c) >= 'a' && lower(*c) <= 'z' && c[1] == ')')
        c++;
    while (c < end && c - begin < 10 &&
           (is_digit(*c) || (*c == '.' && c > begin && c + 1 < end && is_digit(c[1]))))
        c++;
    if (c == begin || c + 1 >= end || (*c != '.' && *c != ')') || c[1] != ' ')
        return 0;
    c = line_skip_space(c + 1, end);
    return c < end ? (size_t)(c - begin) : 0; /* with nothing behind it, it is what the line says */
}

/* ---- times ----------------------------------------------------------------- */

static bool is_stamp_sign(char c)
{
    return is_digit(c) || c == ':' || c == '.' || c == '/' || c == '-' || c == ',';
}

/* Behind "10:02", "2024-03-01 10:02:33", "1/3/24, 10:02 PM"; `begin` if there is none. */
static const char *skip_time(const char *begin, const char *end)
{
    const char *c = begin, *good = begin;
    int colons = 0;

    while (c < end && c - begin < 40) {
        const char *const part = c;

        while (c < end && is_stamp_sign(*c)) {
            colons += *c == ':' && c > part && is_digit(c[-1]) && c + 1 < end && is_digit(c[1]);
            c++;
        }
        if (c == part || !is_digit(*part))
            break;
        good = c;
        if (end - c >= 3 && *c == ' ' && (lower(c[1]) == 'a' || lower(c[1]) == 'p') &&
            lower(c[2]) == 'm')
            good = c += 3;
        if (c < end && *c == 'T')
            c++;
        else if (c < end && *c == ' ')
            c++;
        else
            break;
    }
    while (good > begin && strchr(",-.", good[-1]))
        good--;
    if (good > begin && good[-1] == ':')
        good--;
    return colons > 0 ? good : begin;
}

size_t line_stamp(const char *begin, const char *end)
{
    const char *c = begin, *time;
    const bool bracket = c < end && (*c == '[' || *c == '(');

    c += bracket;
    time = skip_time(c, end);
    if (time == c)
        return 0;
    c = time;
    if (bracket && (c == end || (*c != ']' && *c != ')')))
        return 0;
    c += bracket;
    c = line_skip_space(c, end);
    if (end - c >= 2 && *c == '-' && c[1] == ' ')
        c = line_skip_space(c + 1, end);
    return (size_t)(c - begin);
}

/* ---- speakers -------------------------------------------------------------- */

static bool is_name_sign(uint32_t code)
{
    return code == '.' || code == '\'' || code == '-' || code == '(' || code == ')' ||
           code == '_' || code == 0x2019;
}

/* Signs of a script without spaces, then a wide colon. */
static size_t wide_speaker(const char *begin, const char *end, const char **text)
{
    int signs = 0;
    size_t taken;

    for (const char *c = begin; c < end && signs <= MAX_LABEL_SIGNS; c += taken) {
        const uint32_t code = utf8_next(c, end, &taken);

        if (code == 0xFF1A || (code == ':' && signs > 0)) {
            *text = c + taken;
            return signs > 0 ? (size_t)(c - begin) : 0;
        }
        if (!utf8_is_ideograph(code) && code != 0x30FB)
            return 0;
        signs++;
    }
    return 0;
}

/* Behind the bracket that a digit follows at `at`, or NULL. */
static const char *skip_bracket(const char *at, const char *end)
{
    if (end - at < 4 || (*at != '(' && *at != '[') || !is_digit(at[1]))
        return NULL;
    at = skip_time(at + 1, end);
    return at < end && (*at == ')' || *at == ']') ? at + 1 : NULL;
}

/* One to five words that begin with a capital or a digit, the first with a capital. */
static size_t name_length(const char *begin, const char *end, const char **text, bool alone)
{
    int words = 0;
    bool fresh = true;
    size_t taken;

    for (const char *c = begin; c < end && c - begin <= MAX_LABEL_BYTES; c += taken) {
        const uint32_t code = utf8_next(c, end, &taken);
        const char *const behind = words > 0 ? skip_bracket(c, end) : NULL;

        if (alone && fresh && words > 0 && c[-1] == ' ' && skip_time(c, end) == end)
            return (size_t)(line_trim(begin, c) - begin);
        if (code == ':' || (behind && behind < end && *behind == ':')) {
            const char *const colon = code == ':' ? c : behind;

            *text = colon + 1;
            if (alone || words == 0 ||
                (colon + 1 < end && !utf8_is_space((unsigned char)colon[1])))
                return 0;
            return (size_t)(line_trim(begin, c) - begin);
        }
        if (code == ' ' || code == 0xA0 || code == 0x202F) {
            fresh = true;
            continue;
        }
        if (fresh) {
            const bool digit = code >= '0' && code <= '9';

            if (!utf8_is_upper(code) && !(words > 0 && (digit || code == '(')))
                return 0;
            if (++words > MAX_LABEL_WORDS)
                return 0;
            fresh = false;
        } else if (!utf8_is_word(code) && !is_name_sign(code)) {
            return 0;
        }
    }
    return 0;
}

size_t line_speaker(const char *begin, const char *end, const char **text)
{
    const size_t wide = wide_speaker(begin, end, text);

    return wide > 0 ? wide : name_length(begin, end, text, false);
}

size_t line_speaker_alone(const char *begin, const char *end)
{
    const char *text;

    return name_length(begin, end, &text, true);
}

/* ---- sentences ------------------------------------------------------------- */

bool line_ends_sentence(const char *begin, const char *end)
{
    uint32_t last = 0;
    size_t taken;

    for (const char *c = begin; c < end; c += taken) {
        const uint32_t code = utf8_next(c, end, &taken);

        if (!utf8_is_space(code) && !sentence_is_closer(code))
            last = code;
    }
    return sentence_is_mark(last);
}

int64_t line_words(const char *begin, const char *end, int64_t most)
{
    /* No more bytes than so many words could have. */
    const size_t size = (size_t)(end - begin), bound = (size_t)most * 64;

    return utf8_count_words(begin, 0, size < bound ? size : bound);
}
