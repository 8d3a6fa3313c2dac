/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading JSON (RFC 8259) that somebody else wrote, without a tree of it in memory.
 */
#include "json.h"

#include <string.h>

enum { DEPTH = 32 }; /* of values within values */

static const char *blanks(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Behind a string that begins at `at`; NULL: it is none. */
static const char *string_skip(const char *at)
{
    if (*at++ != '"')
        return NULL;
    for (; *at != '"'; at++) {
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at != '\\')
            continue;
        at++;
        if (*at == 'u') {
            for (int i = 0; i < 4; i++) {
                if (!is_hex(*++at))
                    return NULL;
            }
        } else if (*at == '\0' || !strchr("\"\\/bfnrt", *at)) {
            return NULL;
        }
    }
    return at + 1;
}

static const char *digits(const char *at)
{
    const size_t n = strspn(at, "0123456789");

    return n ? at + n : NULL;
}

static const char *number_skip(const char *at)
{
    at += *at == '-';
    if (at[0] == '0' && at[1] >= '0' && at[1] <= '9')
        return NULL;
    at = digits(at);
    if (at && *at == '.')
        at = digits(at + 1);
    if (at && (*at == 'e' || *at == 'E')) {
        at++;
        at = digits(at + (*at == '-' || *at == '+'));
    }
    return at;
}

static const char *word_skip(const char *at)
{
    static const char *const words[] = { "true", "false", "null" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!strncmp(at, words[i], strlen(words[i])))
            return at + strlen(words[i]);
    }
    return NULL;
}

static const char *value_skip(const char *at, int depth);

/* "name": and what is blank around; behind it. */
static const char *name_skip(const char *at)
{
    at = string_skip(blanks(at));
    if (!at)
        return NULL;
    at = blanks(at);
    return *at == ':' ? blanks(at + 1) : NULL;
}

/* Behind an array, or behind an object, from its bracket on. */
static const char *group_skip(const char *at, int depth)
{
    const bool object = *at == '{';
    const char end = object ? '}' : ']';

    at = blanks(at + 1);
    if (*at == end)
        return at + 1;
    for (;; at++) {
        at = object ? name_skip(at) : blanks(at);
        at = at ? value_skip(at, depth + 1) : NULL;
        if (!at)
            return NULL;
        at = blanks(at);
        if (*at == end)
            return at + 1;
        if (*at != ',')
            return NULL;
    }
}

static const char *value_skip(const char *at, int depth)
{
    if (depth > DEPTH)
        return NULL;
    if (*at == '{' || *at == '[')
        return group_skip(at, depth);
    if (*at == '"')
        return string_skip(at);
    return *at == '-' || (*at >= '0' && *at <= '9') ? number_skip(at) : word_skip(at);
}

bool json_object(const char *text)
{
    const char *end;

    text = blanks(text);
    if (*text != '{')
        return false;
    end = value_skip(text, 0);
    return end && *blanks(end) == '\0';
}

/* The characters of a string, cut to `size`. */
static void string_copy(const char *at, char *out, size_t size)
{
    static const char escapes[] = "nrtbf";
    size_t n = 0;

    for (at++; *at != '"' && n + 1 < size; at++) {
        char c = *at;

        if (c == '\\') {
            c = *++at;
            if (c == 'u')
                at += 4;
            c = c == 'u' ? '?' : strchr(escapes, c) ? ' ' : c;
        }
        out[n++] = c;
    }
    out[n] = '\0';
}

bool json_member(const char *object, const char *name, char *out, size_t size)
{
    const char *at = blanks(blanks(object) + 1);
    char word[64];

    while (*at == '"') {
        string_copy(at, word, sizeof word);
        at = name_skip(at);
        if (!strcmp(word, name)) {
            if (*at == '"')
                string_copy(at, out, size);
            return *at == '"';
        }
        at = blanks(value_skip(at, 1));
        at = *at == ',' ? blanks(at + 1) : at;
    }
    return false;
}
