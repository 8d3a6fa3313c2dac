/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rules of SentencePiece's normalizers ("precompiled_charsmap"): four bytes with the size of a
 * double array, that array, in which texts are found by their bytes, and what they become, each
 * with a NUL behind it. All numbers are little endian. A unit of the array is
 *
 *   bits 0 to 7   the byte that leads to it        bit 8   a text ends here
 *   bit 9         the offset is times 256          bits 10 to 30   the offset, to be xor-ed
 *   bit 31        the unit is a value, in bits 0 to 30
 */
#include "tokens.h"

#include <string.h>
#include <utf8proc.h>

struct charsmap {
    uint32_t *units;
    size_t n_units;
    char *texts;
    size_t texts_bytes;
};

enum { GRAPHEME_MOST = 6 };

static int digit(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 :
           c >= '0' && c <= '9' ? c - '0' + 52 : c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* The bytes of base64 (RFC 4648), which has no other characters and no bits too many. */
static bool unbase64(const struct json_text *text, unsigned char *to, size_t *bytes)
{
    const size_t n = text->bytes;
    size_t pad = 0, used = 0;
    uint32_t bits = 0;

    if (n % 4 != 0 || text->escaped)
        return false;
    while (pad < 2 && pad < n && text->at[n - 1 - pad] == '=')
        pad++;
    for (size_t i = 0; i < n - pad; i++) {
        const int got = digit(text->at[i]);

        if (got < 0)
            return false;
        bits = bits << 6 | (uint32_t)got;
        if (i % 4 == 1)
            to[used++] = (unsigned char)(bits >> 4);
        else if (i % 4 == 2)
            to[used++] = (unsigned char)(bits >> 2);
        else if (i % 4 == 3)
            to[used++] = (unsigned char)bits;
    }
    if ((pad == 1 && (bits & 3)) || (pad == 2 && (bits & 15)))
        return false;
    *bytes = used;
    return true;
}

static uint32_t word_at(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

struct charsmap *charsmap_read(struct memory *memory, const struct json_text *base64,
                               const char **error)
{
    struct charsmap *const map = memory_take(memory, 1, sizeof *map);
    unsigned char *const blob = memory_take(memory, base64->bytes / 4 * 3 + 1, 1);
    size_t bytes = 0, size;

    *error = NULL;
    if (!map || !blob)
        return NULL;
    if (!unbase64(base64, blob, &bytes)) {
        *error = "no base64";
        return NULL;
    }
    if (bytes < 4 || (size = word_at(blob)) > bytes - 4 || size % 4 != 0 || size == 0) {
        *error = "the size of its array is none";
        return NULL;
    }
    map->n_units = size / 4;
    map->texts_bytes = bytes - 4 - size;
    map->units = memory_take(memory, map->n_units, sizeof *map->units);
    map->texts = memory_take(memory, map->texts_bytes + 1, 1);
    if (!map->units || !map->texts)
        return NULL;
    for (size_t i = 0; i < map->n_units; i++)
        map->units[i] = word_at(blob + 4 + 4 * i);
    memcpy(map->texts, blob + 4 + size, map->texts_bytes);
    memory_give(memory, blob);
    if (!utf8_valid(map->texts, map->texts_bytes)) {
        *error = "its texts are no UTF-8";
        return NULL;
    }
    return map;
}

static size_t offset(uint32_t unit)
{
    return (size_t)(unit >> 10 & 0x1fffff) << (unit & 1u << 9 ? 8 : 0);
}

/* What the shortest beginning of a text becomes that the map has: as the whole text does. NULL: it
 * has none. What the file says wrongly, is not there. */
static const char *mapped(const struct charsmap *map, const char *text, size_t bytes)
{
    size_t node = offset(map->units[0]);

    for (size_t i = 0; i < bytes && text[i] != 0; i++) {
        uint32_t unit;

        node ^= (unsigned char)text[i];
        if (node >= map->n_units)
            return NULL;
        unit = map->units[node];
        if ((unit & (1u << 31 | 0xff)) != (unsigned char)text[i])
            return NULL;
        node ^= offset(unit);
        if (unit & 1u << 8) {
            const size_t at = node < map->n_units ? map->units[node] & 0x7fffffff : SIZE_MAX;

            /* In the middle of a character it would be no UTF-8. */
            return at < map->texts_bytes && ((unsigned char)map->texts[at] & 0xc0) != 0x80 ?
                   map->texts + at : NULL;
        }
    }
    return NULL;
}

/* The end of the grapheme cluster that begins at `at`. */
static size_t cluster(const char *text, size_t at, size_t bytes)
{
    utf8proc_int32_t state = 0;
    uint32_t before, code;

    at += utf8_next(text + at, &before);
    while (at < bytes) {
        const size_t n = utf8_next(text + at, &code);

        if (before < 0x80 && code < 0x80 && !(before == '\r' && code == '\n'))
            break;
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)code,
                                             &state))
            break;
        at += n;
        before = code;
    }
    return at;
}

/* A part of the text, of which the bytes up to `end` are done then. What is left out at the begin
 * of the text hands its place to what follows. */
static void put(const struct charsmap *map, const char *text, struct span part, size_t origin,
                struct line *out)
{
    const char *const to = mapped(map, part.at, part.bytes);
    const size_t end = (size_t)(part.at + part.bytes - text);
    uint32_t code;

    buffer_put(&out->text, to ? to : part.at, to ? strlen(to) : part.bytes);
    if (end <= origin)
        out->origin = out->text.bytes;
    else if (origin > 0 && out->origin == 0 && out->text.bytes > 0)
        out->origin = utf8_next(part.at, &code) == part.bytes ? out->text.bytes :
                      utf8_next(out->text.at, &code);
}

void charsmap_apply(const struct charsmap *map, const char *text, size_t bytes, struct line *out)
{
    const size_t origin = out->origin;
    uint32_t code;

    out->origin = 0;
    for (size_t i = 0; i < bytes && !out->text.failed;) {
        const size_t end = cluster(text, i, bytes);

        if (end - i < GRAPHEME_MOST && mapped(map, text + i, end - i)) {
            put(map, text, (struct span){ text + i, end - i }, origin, out);
            i = end;
        }
        while (i < end) {
            const size_t n = utf8_next(text + i, &code);

            put(map, text, (struct span){ text + i, n }, origin, out);
            i += n;
        }
    }
}
