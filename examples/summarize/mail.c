/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * E-mail: one message, an mbox of many, or text with header lines copied from a mail program. Of
 * alternatives the plain text is read, HTML where there is none; attachments are not. What was
 * quoted, who wrote it when, greetings and signatures are told apart (letter.c).
 */
#include "letter.h"
#include "mime.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST_PART = 6 };

struct reader {
    struct stream *stream;
    const char *base;
    const char *sender;            /* of the message at work; NULL: not told */
    bool machine;                  /* headers are a program's: others in the text are quoted */
};

/* ---- a part -------------------------------------------------------------------- */

static void read_leaf(struct reader *r, const struct header *h, const char *at, const char *end)
{
    const bool html = line_has(h->type, h->type + strlen(h->type), "text/html");
    char charset[FIELD_BYTES];
    size_t length = (size_t)(end - at);
    char *decoded = NULL;
    const char *text = at;

    mime_parameter(h->type, "charset", charset);
    if ((*h->encoding && !line_has(h->encoding, h->encoding + strlen(h->encoding), "bit")) ||
        encoding_find(at, length) != ENCODING_UTF8) {
        text = decoded = mime_decode(h, at, length, &length);
        if (!decoded) {
            r->stream->failed = true;
            return;
        }
    }
    if (html)
        html_put(r->stream, text, length, (size_t)(at - r->base), decoded != NULL);
    else
        letter_read(r->stream, &(struct letter){
            .text = text, .size = length, .origin = (size_t)(at - r->base),
            .whole = decoded != NULL, .sender = r->sender, .quotes_headers = r->machine
        });
    free(decoded);
}

/* The next line of [at, end) that is a border of parts, `end` if there is none; *last: the final
 * one. */
static const char *border(const char *at, const char *end, const char *name, bool *last,
                          const char **behind)
{
    const size_t length = strlen(name);
    struct line line = { .next = at };

    *last = true;
    while (line.next < end) {
        line = line_at(line.next, end);
        if ((size_t)(line.end - line.begin) < length + 2 || memcmp(line.begin, "--", 2) != 0 ||
            memcmp(line.begin + 2, name, length) != 0)
            continue;
        *last = (size_t)(line.end - line.begin) >= length + 4 &&
                memcmp(line.begin + 2 + length, "--", 2) == 0;
        *behind = line.next;
        return line.begin;
    }
    *behind = end;
    return end;
}

static bool is_text(const struct header *h, const char *sort)
{
    const char *const end = h->type + strlen(h->type);

    return !line_has(h->disposition, h->disposition + strlen(h->disposition), "attachment") &&
           (line_has(h->type, end, sort) || (!*h->type && strcmp(sort, "text/plain") == 0));
}

static void read_part(struct reader *r, const struct header *h, const char *at, const char *end,
                      int depth);

/* Reads the parts of a kind, "" being all that can be read; returns how many. */
static int read_parts(struct reader *r, const char *name, const char *sort, const char *at,
                      const char *end, int depth)
{
    const char *behind, *stop = border(at, end, name, &(bool){ false }, &behind);
    bool last = stop == end;
    int read = 0;

    while (!last && !r->stream->failed) {
        struct header h;
        const char *const begin = behind;
        const char *body;

        stop = border(begin, end, name, &last, &behind);
        body = mime_header(begin, stop, &h);
        if (is_text(&h, sort) || is_text(&h, "multipart/")) {
            read_part(r, &h, body, stop, depth + 1);
            read++;
        }
    }
    return read;
}

static void read_part(struct reader *r, const struct header *h, const char *at, const char *end,
                      int depth)
{
    char name[FIELD_BYTES];

    mime_parameter(h->type, "boundary", name);
    if (!line_has(h->type, h->type + strlen(h->type), "multipart/") || !*name) {
        if (is_text(h, "text/plain") || is_text(h, "text/html"))
            read_leaf(r, h, at, end);
        return;
    }
    if (depth < DEEPEST_PART && read_parts(r, name, "text/plain", at, end, depth) == 0)
        read_parts(r, name, "text/html", at, end, depth);
}

/* ---- messages -------------------------------------------------------------------- */

static bool is_mbox_line(const char *begin, const char *end)
{
    return end - begin > 5 && memcmp(begin, "From ", 5) == 0;
}

/* Where the message that begins at `at` ends: at the next "From " behind a blank line. */
static const char *message_end(const char *at, const char *end)
{
    struct line line = { .next = at };
    bool blank = false;

    while (line.next < end) {
        line = line_at(line.next, end);
        if (blank && is_mbox_line(line.begin, line.end))
            return line.begin;
        blank = line.begin == line.end;
    }
    return end;
}

static void read_message(struct reader *r, const char *at, const char *end, bool many)
{
    struct line line = line_at(at, end);
    struct header h;
    const char *body;

    if (is_mbox_line(line.begin, line.end))
        at = line.next;
    body = mime_header(at, end, &h);
    r->machine = h.machine;
    mime_person(h.from);
    r->sender = many && *h.from ? h.from : NULL;
    stream_open(r->stream, BLOCK_HEADING);
    stream_put_for(r->stream, h.subject, strlen(h.subject), (size_t)(at - r->base));
    stream_close(r->stream);
    read_part(r, &h, body, end, 0);
    stream_close(r->stream);
    r->sender = NULL;
}

void mail_read(struct stream *stream, const struct source *source)
{
    struct reader r = { .stream = stream, .base = source->text };
    const char *at = source->text, *const end = at + source->size;
    bool many = false;

    if (end - at >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0)
        at += 3;
    while (at < end && (*at == '\n' || *at == '\r'))
        at++;
    while (at < end && !stream->failed) {
        const bool mbox = is_mbox_line(at, end);
        const char *const stop = mbox ? message_end(at, end) : end;

        many = many || stop < end || letter_has_headers(at, stop);
        read_message(&r, at, stop, many);
        at = stop;
    }
}

int mail_looks_like(const struct source *source)
{
    const char *at = source->text, *const end = at + source->size;
    struct line line;
    struct header h;

    if (end - at >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0)
        at += 3;
    while (at < end && (*at == '\n' || *at == '\r'))
        at++;
    line = line_at(at, end);
    if (is_mbox_line(line.begin, line.end)) {
        at = line.next;
        line = line_at(at, end);
    }
    if (!memchr(line.begin, ':', (size_t)(line.end - line.begin)) ||
        memchr(line.begin, ' ', (size_t)(line.end - line.begin)) == line.begin)
        return 0;
    mime_header(at, end, &h);
    return h.known >= 2 && (*h.from || h.machine) ? 2 : 0;
}
