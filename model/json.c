/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64, NUMBER = 64 };

bool json_fail(struct json *j, const char *error)
{
    if (!j->error)
        j->error = error;
    return false;
}

void json_begin(struct json *j, const char *text, size_t bytes)
{
    *j = (struct json){ .begin = text, .at = text, .end = text + bytes };
}

static void blanks(struct json *j)
{
    while (j->at < j->end &&
           (*j->at == ' ' || *j->at == '\n' || *j->at == '\t' || *j->at == '\r'))
        j->at++;
}

/* Where a value may stand, blanks aside. */
static bool value(struct json *j)
{
    if (j->error)
        return false;
    blanks(j);
    return j->at < j->end || json_fail(j, "the text ends too early");
}

enum json_kind json_peek(struct json *j)
{
    if (!value(j))
        return JSON_BAD;
    switch (*j->at) {
        case '{': return JSON_OBJECT;
        case '[': return JSON_ARRAY;
        case '"': return JSON_STRING;
        case 't':
        case 'f': return JSON_BOOL;
        case 'n': return JSON_NULL;
        default: break;
    }
    if (*j->at == '-' || (*j->at >= '0' && *j->at <= '9'))
        return JSON_NUMBER;
    json_fail(j, "no value");
    return JSON_BAD;
}

static bool enter(struct json *j, char open, bool array)
{
    const uint64_t level = (uint64_t)1 << (j->depth & (DEEPEST - 1));

    if (!value(j))
        return false;
    if (*j->at != open)
        return json_fail(j, array ? "no array" : "no object");
    if (j->depth == DEEPEST)
        return json_fail(j, "more than 64 levels");
    j->arrays = array ? j->arrays | level : j->arrays & ~level;
    j->firsts |= level;
    j->depth++;
    j->at++;
    return true;
}

bool json_object(struct json *j)
{
    return enter(j, '{', false);
}

bool json_array(struct json *j)
{
    return enter(j, '[', true);
}

/* Is there another one in the innermost object or array? Else it is left. */
static bool another(struct json *j, bool array)
{
    const uint64_t level = (uint64_t)1 << ((j->depth - 1) & (DEEPEST - 1));
    bool comma = false;

    if (!value(j))
        return false;
    if (j->depth == 0 || ((j->arrays & level) != 0) != array)
        return json_fail(j, "an object is read as an array, or the other way round");
    if (!(j->firsts & level) && *j->at == ',') {
        comma = true;
        j->at++;
        if (!value(j))
            return false;
    }
    if (*j->at == (array ? ']' : '}')) {
        if (comma)
            return json_fail(j, "a comma before the end");
        j->depth--;
        j->at++;
        return false;
    }
    if (!comma && !(j->firsts & level))
        return json_fail(j, "no comma");
    j->firsts &= ~level;
    return true;
}

bool json_element(struct json *j)
{
    return another(j, true);
}

bool json_member(struct json *j, struct json_text *key)
{
    if (!another(j, false) || !json_string(j, key) || !value(j))
        return false;
    if (*j->at != ':')
        return json_fail(j, "no colon");
    j->at++;
    return true;
}

/* How many bytes the character of UTF-8 takes that begins here; 0: it is none (RFC 3629). */
static size_t utf8(const unsigned char *at, const unsigned char *end)
{
    const size_t left = (size_t)(end - at);
    const size_t n = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 :
                     *at < 0xf5 ? 4 : 0;

    if (n == 0 || left < n)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] >= 0xa0) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] >= 0x90))
        return 0;
    return n;
}

/* The four digits at `at`; negative: they are none. */
static int32_t hex4(const char *at, const char *end)
{
    int32_t code = 0;

    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const char c = at[i];
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
                          c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;

        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

/* The escape at `at`, where the backslash is: its character, and its bytes; 0: it is none. */
static size_t escape(const char *at, const char *end, uint32_t *code)
{
    static const char letters[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    const char *letter;
    int32_t high, low;

    if (end - at < 2 || at[1] == 0)
        return 0;
    if (at[1] != 'u') {
        letter = strchr(letters, at[1]);
        *code = letter ? (uint32_t)(unsigned char)means[letter - letters] : 0;
        return letter ? 2 : 0;
    }
    high = hex4(at + 2, end);
    if (high < 0 || (high >= 0xdc00 && high < 0xe000))
        return 0;
    *code = (uint32_t)high;
    if (high < 0xd800 || high >= 0xe000)
        return 6;
    if (end - at < 8 || at[6] != '\\' || at[7] != 'u')
        return 0;
    low = hex4(at + 8, end);
    if (low < 0xdc00 || low >= 0xe000)
        return 0;
    *code = 0x10000u + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
    return 12;
}

bool json_string(struct json *j, struct json_text *text)
{
    if (!value(j))
        return false;
    if (*j->at != '"')
        return json_fail(j, "no string");
    *text = (struct json_text){ .at = j->at + 1 };
    for (const char *at = text->at; at < j->end;) {
        uint32_t code;
        size_t n;

        if (*at == '"') {
            text->bytes = (size_t)(at - text->at);
            j->at = at + 1;
            return true;
        }
        if ((unsigned char)*at < 0x20)
            return json_fail(j, "a control character in a string");
        if (*at == '\\') {
            n = escape(at, j->end, &code);
            text->escaped = true;
        } else {
            n = utf8((const unsigned char *)at, (const unsigned char *)j->end);
        }
        if (n == 0)
            return json_fail(j, "a string with a wrong escape, or that is no UTF-8");
        at += n;
    }
    return json_fail(j, "the text ends in a string");
}

static size_t put(uint32_t code, char *to)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3f));
    to[2] = (char)(0x80 | (code >> 6 & 0x3f));
    to[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

size_t json_unescape(const struct json_text *text, char *to)
{
    const char *at = text->at, *const end = text->at + text->bytes;
    char *begin = to;

    while (at < end) {
        uint32_t code = 0;

        if (*at == '\\') {
            at += escape(at, end, &code);
            to += put(code, to);
        } else {
            *to++ = *at++;
        }
    }
    return (size_t)(to - begin);
}

bool json_is(const struct json_text *text, const char *name)
{
    return text->bytes == strlen(name) && memcmp(text->at, name, text->bytes) == 0;
}

static const char *digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

/* Takes a number as it stands into `to`, with a NUL behind it. */
static bool number(struct json *j, char to[NUMBER], bool *whole)
{
    const char *at, *from;
    size_t bytes;

    if (!value(j))
        return false;
    at = j->at + (*j->at == '-');
    from = at;
    at = digits(at, j->end);
    if (at == from || (*from == '0' && at - from > 1))
        return json_fail(j, "no number");
    *whole = true;
    if (at < j->end && *at == '.') {
        from = ++at;
        at = digits(at, j->end);
        *whole = false;
        if (at == from)
            return json_fail(j, "a number that ends with a point");
    }
    if (at < j->end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < j->end && (*at == '+' || *at == '-');
        from = at;
        at = digits(at, j->end);
        *whole = false;
        if (at == from)
            return json_fail(j, "a number without the digits of its exponent");
    }
    bytes = (size_t)(at - j->at);
    if (bytes >= NUMBER)
        return json_fail(j, "a number of more than 63 characters");
    memcpy(to, j->at, bytes);
    to[bytes] = 0;
    j->at = at;
    return true;
}

/* strtod() reads the point of the program's locale: the text gets that one. */
static void localise(char text[NUMBER])
{
    char half[16], changed[NUMBER + 16], *point = strchr(text, '.');
    int bytes;

    if (!point || snprintf(half, sizeof half, "%.1f", 0.5) < 3)
        return;
    half[strlen(half) - 1] = 0;         /* "0.5": what stands between its digits */
    bytes = snprintf(changed, sizeof changed, "%.*s%s%s", (int)(point - text), text, half + 1,
                     point + 1);
    if (bytes > 0 && bytes < NUMBER)
        memcpy(text, changed, (size_t)bytes + 1);
}

bool json_number(struct json *j, double *to)
{
    char text[NUMBER];
    bool whole;

    if (!number(j, text, &whole))
        return false;
    localise(text);
    *to = strtod(text, NULL);
    return true;
}

bool json_integer(struct json *j, int64_t *to)
{
    char text[NUMBER];
    bool whole;
    long long got;

    if (!number(j, text, &whole))
        return false;
    errno = 0;
    got = strtoll(text, NULL, 10);
    if (!whole || errno != 0)
        return json_fail(j, "a number that is no integer, or too large for one");
    *to = got;
    return true;
}

static bool word(struct json *j, const char *name)
{
    const size_t bytes = strlen(name);

    if (!value(j) || (size_t)(j->end - j->at) < bytes || memcmp(j->at, name, bytes) != 0)
        return false;
    j->at += bytes;
    return true;
}

bool json_bool(struct json *j, bool *to)
{
    *to = word(j, "true");
    return *to || word(j, "false") || json_fail(j, "neither true nor false");
}

bool json_null(struct json *j)
{
    return word(j, "null") || json_fail(j, "not null");
}

/* A value that opens nothing. */
static bool skip_plain(struct json *j)
{
    struct json_text text;
    double number;
    bool value;

    switch (json_peek(j)) {
        case JSON_STRING: return json_string(j, &text);
        case JSON_NUMBER: return json_number(j, &number);
        case JSON_BOOL: return json_bool(j, &value);
        case JSON_NULL: return json_null(j);
        default: return json_fail(j, "no value");
    }
}

bool json_skip(struct json *j)
{
    const int depth = j->depth;
    struct json_text key;
    enum json_kind kind;

    do {
        bool more = true;

        if (j->depth > depth)
            more = j->arrays >> (j->depth - 1) & 1 ? json_element(j) : json_member(j, &key);
        if (j->error)
            return false;
        if (!more)
            continue;
        kind = json_peek(j);
        if (!(kind == JSON_OBJECT ? json_object(j) : kind == JSON_ARRAY ? json_array(j) :
              skip_plain(j)))
            return false;
    } while (j->depth > depth);
    return true;
}

bool json_end(struct json *j)
{
    if (j->error)
        return false;
    blanks(j);
    return (j->depth == 0 && j->at == j->end) || json_fail(j, "more than one value");
}

int64_t json_line(const struct json *j)
{
    int64_t line = 1;

    for (const char *at = j->begin; at < j->at; at++)
        line += *at == '\n';
    return line;
}
