/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A man page as man prints it: bold and underlined by overstriking or by escape sequences, headings
 * at the margin, text further in, options as tags before their paragraphs.
 */
#include "read.h"

#include <stdlib.h>
#include <string.h>

/* The most that a subheading, and text, is set in; what is below a name is further in. */
enum { SUBHEADING = 4, TEXT = 8 };

struct reader {
    struct prose prose;
    char *clean;                   /* a line without overstriking */
    size_t capacity;
    size_t indent;                 /* of the line before */
    bool code;                     /* the section is left out */
};

/* The line without overstriking and escapes; the line itself if it has none. NULL: no memory. */
static const char *cleaned(struct reader *r, const char *begin, const char *end, size_t *length)
{
    size_t used = 0;

    *length = (size_t)(end - begin);
    if (!memchr(begin, '\b', *length) && !memchr(begin, 0x1B, *length))
        return begin;
    if (r->capacity < *length) {
        free(r->clean);
        r->clean = malloc(*length);
        r->capacity = r->clean ? *length : 0;
        if (!r->clean)
            return NULL;
    }
    for (const char *c = begin; c < end; c++) {
        if (*c == '\b') {
            while (used > 0 && ((unsigned char)r->clean[used - 1] & 0xC0) == 0x80)
                used--;
            used -= used > 0;
        } else if (*c == 0x1B && c + 1 < end && c[1] == '[') {
            for (c += 2; c < end && (unsigned char)*c < 0x40;)
                c++;
            if (c == end)
                break;
        } else {
            r->clean[used++] = *c;
        }
    }
    *length = used;
    return r->clean;
}

/* "LS(1)            User Commands            LS(1)", or the foot with its date. */
static bool is_margin(const char *begin, const char *end)
{
    const char *const open = memchr(begin, '(', (size_t)(end - begin));
    int gaps = 0;

    for (const char *c = begin; c + 2 < end; c++)
        gaps += c[0] != ' ' && c[1] == ' ' && c[2] == ' ';
    return begin < end && *begin != ' ' && gaps >= 1 &&
           ((open && end - open >= 3 && open[2] == ')') || gaps >= 2);
}

/* Whether a section of this heading says nothing about its subject: how to call it, who made it. */
static bool is_left_out(const char *begin, const char *end)
{
    static const char *const parts[] = {
        "synop", "ÜBERSICHT", "see also", "siehe auch", "voir aussi", "exampl", "beispiel",
        "author", "autor", "auteur", "copyright", "licen", "reporting bugs", "fehler melden"
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        if (line_has(begin, end, parts[i]))
            return true;
    }
    return false;
}

static void option(struct reader *r, const char *begin, const char *end)
{
    const char *gap = begin;

    while (gap + 1 < end && !(gap[0] == ' ' && gap[1] == ' '))
        gap++;
    prose_end(&r->prose);
    prose_put(&r->prose, BLOCK_CODE, begin, gap + 1 < end ? gap : end);
    prose_end(&r->prose);
    if (gap + 1 < end) {
        const char *const text = line_skip_space(gap, end);

        prose_line(&r->prose, text, end);
        r->indent += (size_t)(text - begin);
    }
}

static void heading(struct reader *r, const char *begin, const char *end)
{
    prose_end(&r->prose);
    prose_put(&r->prose, BLOCK_HEADING, begin, end);
    prose_end(&r->prose);
}

/* Whether a line goes on with the paragraph before it, though it begins as an option does. */
static bool goes_on(const struct reader *r, size_t indent)
{
    const struct stream *const s = r->prose.stream;

    return s->open && s->kind == BLOCK_PARAGRAPH && indent == r->indent;
}

/* How far the text behind a list mark is from it. */
static size_t bullet_columns(const char *begin, const char *end)
{
    const size_t bytes = line_bullet(begin, end);
    size_t columns = 0;

    for (size_t i = 0; i < bytes; i++)
        columns += ((unsigned char)begin[i] & 0xC0) != 0x80;
    return columns;
}

static void read_line(struct reader *r, const char *begin, const char *end)
{
    const char *const first = line_skip_space(begin, end);
    const size_t indent = (size_t)(first - begin);

    end = line_trim(first, end);
    if (first == end) {
        prose_end(&r->prose);
        return;
    }
    if (is_margin(begin, end)) {
        prose_end(&r->prose);
        prose_put(&r->prose, BLOCK_FURNITURE, begin, end);
        prose_end(&r->prose);
    } else if (indent == 0) {
        heading(r, first, end);
        r->code = is_left_out(first, end);
    } else if (r->code) {
        prose_put(&r->prose, BLOCK_CODE, first, end);
    } else if (indent <= SUBHEADING && !r->prose.stream->open) {
        heading(r, first, end);
    } else if (*first == '-' && end - first > 1 && first[1] != ' ' && !goes_on(r, indent)) {
        r->indent = indent;
        option(r, first, end);
        return;
    } else {
        if (indent != r->indent)
            prose_end(&r->prose);
        prose_line(&r->prose, begin, end);
        if (indent > TEXT && r->prose.stream->open && r->prose.stream->kind == BLOCK_PARAGRAPH)
            r->prose.stream->kind = BLOCK_ITEM;
    }
    r->indent = r->prose.hang ? r->prose.hang : indent + bullet_columns(first, end);
    r->prose.hang = 0;
}

void man_read(struct stream *stream, const struct source *source)
{
    const char *const end = source->text + source->size;
    struct reader r = {
        .prose = { .stream = stream, .gap = 4,
                   .flags = PROSE_HYPHENS | PROSE_NO_SPEAKERS | PROSE_TAGS }
    };
    struct line line = { .next = source->text };

    while (line.next < end && !stream->failed) {
        const char *text;
        size_t length;

        line = line_at(line.next, end);
        text = cleaned(&r, line.begin, line.end, &length);
        if (!text) {
            stream->failed = true;
            break;
        }
        r.prose.next = line.next < end ? line.next : NULL;
        r.prose.next_end = line_at(line.next, end).end;
        r.prose.whole = text != line.begin;
        r.prose.base = text;
        r.prose.origin = (size_t)(line.begin - source->text);
        read_line(&r, text, text + length);
    }
    prose_end(&r.prose);
    free(r.clean);
}

int man_looks_like(const struct source *source)
{
    const char *const end = source->text + source->size;
    static const char *const names[] = { "NAME", "BEZEICHNUNG", "NOM", "NOMBRE", "NOME", "NAAM" };
    struct line line = { .next = source->text };
    bool margin = false, name = false;

    for (int lines = 0; line.next < end && lines < 12; lines++) {
        size_t i = 0;
        char plain[16];

        line = line_at(line.next, end);
        margin = margin || (is_margin(line.begin, line.end) &&
                            memchr(line.begin, '(', (size_t)(line.end - line.begin)));
        for (const char *c = line.begin; c < line.end && i < sizeof(plain); c++) {
            if (*c >= 'A' && *c <= 'Z' && (c + 1 == line.end || c[1] != '\b'))
                plain[i++] = *c;
        }
        for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
            name = name || (i == strlen(names[k]) && memcmp(plain, names[k], i) == 0);
    }
    return margin && name ? 2 : 0;
}
