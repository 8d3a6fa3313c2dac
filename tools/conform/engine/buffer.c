/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Text that grows, and its escapes. UTF-8 is decoded as RFC 3629 has it: no overlong forms, no
 * surrogates, nothing above U+10FFFF.
 */
#include "buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool room_for(struct buffer *b, size_t n)
{
    size_t room = b->room ? b->room : 256;
    char *at;

    if (b->lost || n > SIZE_MAX / 4 - b->n) {
        b->lost = true;
        return false;
    }
    while (room < b->n + n + 1)
        room *= 2;
    if (room == b->room)
        return true;
    at = realloc(b->at, room);
    if (!at) {
        b->lost = true;
        return false;
    }
    b->at = at;
    b->room = room;
    return true;
}

void buffer_add(struct buffer *b, const char *bytes, size_t n)
{
    if (!room_for(b, n))
        return;
    memcpy(b->at + b->n, bytes, n);
    b->n += n;
    b->at[b->n] = '\0';
}

void buffer_print(struct buffer *b, const char *format, ...)
{
    va_list list, again;
    int n;

    va_start(list, format);
    va_copy(again, list);
    n = vsnprintf(NULL, 0, format, list);
    va_end(list);
    if (n >= 0 && room_for(b, (size_t)n)) {
        vsnprintf(b->at + b->n, (size_t)n + 1, format, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

void buffer_free(struct buffer *b)
{
    free(b->at);
    *b = (struct buffer){ 0 };
}

const char *buffer_text(const struct buffer *b)
{
    return b->at ? b->at : "";
}

/* ---- escapes ------------------------------------------------------------------------- */

static const char replacement[] = "\xef\xbf\xbd";

/* The length of the character at `s`, and in *code what it is; 0: it is no UTF-8. */
static size_t character(const unsigned char *s, uint32_t *code)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const size_t n = s[0] < 0x80       ? 1
                     : s[0] >> 5 == 6  ? 2
                     : s[0] >> 4 == 14 ? 3
                     : s[0] >> 3 == 30 ? 4
                                       : 0;

    if (n == 0)
        return 0;
    *code = n == 1 ? s[0] : s[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if (s[i] >> 6 != 2) /* NUL, too */
            return 0;
        *code = *code << 6 | (s[i] & 0x3f);
    }
    return *code < least[n] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000) ? 0 : n;
}

/* Each character as it is, as `escape` writes it (NULL: as it is), or as U+FFFD. */
static void escaped(struct buffer *b, const char *text,
                    const char *(*escape)(uint32_t code, char room[16]))
{
    while (*text) {
        uint32_t code = 0;
        const size_t n = character((const unsigned char *)text, &code);
        char room[16];
        const char *other = n ? escape(code, room) : replacement;

        if (other)
            buffer_add(b, other, strlen(other));
        else
            buffer_add(b, text, n);
        text += n ? n : 1;
    }
}

static const char *json_escape(uint32_t code, char room[16])
{
    if (code == '"' || code == '\\')
        snprintf(room, 16, "\\%c", (int)code);
    else if (code < 0x20 || code == 0x7f)
        snprintf(room, 16, "\\u%04x", (unsigned)code);
    else
        return NULL;
    return room;
}

void buffer_json(struct buffer *b, const char *text)
{
    buffer_add(b, "\"", 1);
    escaped(b, text, json_escape);
    buffer_add(b, "\"", 1);
}

static const char *xml_escape(uint32_t code, char room[16])
{
    switch (code) {
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '&': return "&amp;";
    case '"': return "&quot;";
    case '\'': return "&apos;";
    default: break; /* any other character */
    }
    if (code == '\t' || code == '\n' || code == '\r')
        snprintf(room, 16, "&#%u;", (unsigned)code);
    else if (code < 0x20 || code == 0xfffe || code == 0xffff)
        return replacement;
    else
        return NULL;
    return room;
}

void buffer_xml(struct buffer *b, const char *text)
{
    escaped(b, text, xml_escape);
}

void buffer_shell(struct buffer *b, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "./_-+:@%,";

    if (*text && text[strspn(text, plain)] == '\0') {
        buffer_add(b, text, strlen(text));
        return;
    }
    buffer_add(b, "'", 1);
    for (; *text; text++) {
        if (*text == '\'')
            buffer_add(b, "'\\''", 4);
        else
            buffer_add(b, text, 1);
    }
    buffer_add(b, "'", 1);
}
