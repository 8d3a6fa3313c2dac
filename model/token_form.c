/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The four normal forms (UAX 15). utf8proc decomposes and composes; marks are ordered here, since
 * its way of doing it takes the square of the length of a run of marks.
 */
#include "tokens.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

struct codes {
    utf8proc_int32_t *at;
    size_t n, room;
};

/* Up to so many marks in a run are inserted, more are counted. */
enum { INSERTED = 24, CLASSES = 256, DECOMPOSED_MOST = 32 };

static int class_of(utf8proc_int32_t code)
{
    return (int)utf8proc_get_property(code)->combining_class;
}

static void insert(utf8proc_int32_t *at, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const utf8proc_int32_t code = at[i];
        const int class = class_of(code);
        size_t k = i;

        for (; k > 0 && class_of(at[k - 1]) > class; k--)
            at[k] = at[k - 1];
        at[k] = code;
    }
}

static bool count(utf8proc_int32_t *at, size_t n)
{
    size_t begins[CLASSES + 1] = { 0 };
    utf8proc_int32_t *const copy = malloc(n * sizeof *copy);

    if (!copy)
        return false;
    memcpy(copy, at, n * sizeof *copy);
    for (size_t i = 0; i < n; i++)
        begins[(class_of(at[i]) & (CLASSES - 1)) + 1]++;
    for (size_t i = 1; i <= CLASSES; i++)
        begins[i] += begins[i - 1];
    for (size_t i = 0; i < n; i++)
        at[begins[class_of(copy[i]) & (CLASSES - 1)]++] = copy[i];
    free(copy);
    return true;
}

/* The canonical order: runs of marks, by class, equal ones as they stand. */
static bool order(struct codes *codes)
{
    for (size_t i = 0; i < codes->n;) {
        size_t end = i;

        while (end < codes->n && class_of(codes->at[end]) != 0)
            end++;
        if (end - i <= INSERTED)
            insert(codes->at + i, end - i);
        else if (!count(codes->at + i, end - i))
            return false;
        i = end + 1;
    }
    return true;
}

static bool decompose(struct codes *codes, const char *text, size_t bytes, bool compatible)
{
    const utf8proc_option_t how =
        UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : (utf8proc_option_t)0);

    codes->n = 0;
    for (size_t i = 0; i < bytes;) {
        utf8proc_ssize_t got;
        uint32_t code;
        int unused = 0;

        i += utf8_next(text + i, &code);
        if (!array_room(&codes->at, &codes->room, codes->n + DECOMPOSED_MOST, sizeof *codes->at))
            return false;
        got = utf8proc_decompose_char((utf8proc_int32_t)code, codes->at + codes->n,
                                      DECOMPOSED_MOST, how, &unused);
        if (got < 0 || got > DECOMPOSED_MOST)
            return false;
        codes->n += (size_t)got;
    }
    return order(codes);
}

static bool ascii(char c)
{
    return (unsigned char)c < 0x80;
}

/* No character of ASCII goes into the one before it: each chunk begins with one. */
void normal_form(const char *text, size_t bytes, bool compose, bool compatible, struct line *out)
{
    struct codes codes = { 0 };
    uint32_t code;

    for (size_t i = 0; i < bytes;) {
        size_t from = i, begin;

        while (i < bytes && ascii(text[i]))
            i++;
        begin = i < bytes && i > from ? i - 1 : i;
        buffer_put(&out->text, text + from, begin - from);
        if (begin == bytes)
            break;
        while (i < bytes && !ascii(text[i]))
            i++;
        if (!decompose(&codes, text + begin, i - begin, compatible)) {
            out->text.failed = true;
            break;
        }
        if (compose) {
            const utf8proc_ssize_t n = utf8proc_normalize_utf32(
                codes.at, (utf8proc_ssize_t)codes.n, UTF8PROC_STABLE | UTF8PROC_COMPOSE);

            codes.n = n < 0 ? 0 : (size_t)n;
        }
        for (size_t k = 0; k < codes.n; k++)
            buffer_code(&out->text, (uint32_t)codes.at[k]);
    }
    if (out->origin > 0 && out->text.bytes > 0)
        out->origin = utf8_next(out->text.at, &code);
    free(codes.at);
}
