/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * WebVTT and SRT: lines of speech under the times when they are shown. A caption breaks sentences
 * anywhere, so all of them are one text until the speaker changes or it pauses for long.
 */
#include "read.h"

#include <string.h>

enum { PAUSE = 4 };                /* seconds */

struct reader {
    struct stream *stream;
    const char *base;
    char speaker[64];
    double end;                    /* of the last caption, in seconds */
    bool text;                     /* the open block has some */
};

/* "01:02:03.500" at `at` in seconds; -1 if it is none. */
static double seconds(const char *at, const char *end)
{
    double total = 0, part = 0, scale = 1;
    bool fraction = false, any = false;

    for (at = line_skip_space(at, end); at < end; at++) {
        if (*at >= '0' && *at <= '9') {
            any = true;
            if (fraction)
                part += (*at - '0') * (scale /= 10);
            else
                part = part * 10 + (*at - '0');
        } else if (*at == ':' && !fraction) {
            total = (total + part) * 60;
            part = 0;
        } else if ((*at == '.' || *at == ',') && !fraction) {
            fraction = true;
        } else {
            break;
        }
    }
    return any ? total + part : -1;
}

static const char *arrow(const char *begin, const char *end)
{
    for (; end - begin >= 3; begin++) {
        if (memcmp(begin, "-->", 3) == 0)
            return begin;
    }
    return NULL;
}

static void change_speaker(struct reader *r, const char *name, size_t length, size_t origin)
{
    length = length < sizeof(r->speaker) ? length : sizeof(r->speaker) - 1;
    if (strlen(r->speaker) == length && memcmp(r->speaker, name, length) == 0)
        return;
    memcpy(r->speaker, name, length);
    r->speaker[length] = '\0';
    stream_open(r->stream, BLOCK_TURN);
    stream_put_for(r->stream, name, length, origin);
    stream_label(r->stream);
    r->text = false;
}

/* A line of speech; tags name speakers or are left out. */
static void speech(struct reader *r, const char *at, const char *end)
{
    const char *text;
    size_t name = line_speaker(at, end, &text);

    if (name > 0) {
        change_speaker(r, at, name, (size_t)(at - r->base));
        at = text;
    } else if (end - at > 2 && memcmp(at, "- ", 2) == 0) {
        stream_open(r->stream, BLOCK_TURN);
        r->speaker[0] = '\0';
        r->text = false;
        at += 2;
    }
    if (!r->stream->open) {
        stream_open(r->stream, BLOCK_TURN);
        stream_put_for(r->stream, r->speaker, strlen(r->speaker), (size_t)(at - r->base));
        stream_label(r->stream);
        r->text = false;
    }
    if (r->text)
        stream_space(r->stream, (size_t)(at - r->base));
    while (at < end) {
        const char *const less = memchr(at, '<', (size_t)(end - at));
        const char *const more = less ? memchr(less, '>', (size_t)(end - less)) : NULL;
        const char *const stop = more ? less : end;

        if (stop > at) {
            stream_put(r->stream, at, (size_t)(stop - at), (size_t)(at - r->base));
            r->text = true;
        }
        if (more && more - less > 3 && less[1] == 'v' && less[2] == ' ')
            change_speaker(r, less + 3, (size_t)(more - less - 3), (size_t)(less + 3 - r->base));
        at = more ? more + 1 : end;
    }
}

void captions_read(struct stream *stream, const struct source *source)
{
    const char *const end = source->text + source->size;
    struct reader r = { .stream = stream, .base = source->text };
    struct line line = { .next = source->text };
    bool shown = false;

    while (line.next < end && !stream->failed) {
        const char *to, *begin, *stop;

        line = line_at(line.next, end);
        begin = line_skip_space(line.begin, line.end);
        stop = line_trim(begin, line.end);
        to = arrow(begin, stop);
        if (to) {
            const double from = seconds(begin, to);

            if (from - r.end > PAUSE)
                stream_close(stream);
            r.end = seconds(to + 3, stop);
            shown = true;
        } else if (begin == stop) {
            shown = false;
        } else if (shown) {
            speech(&r, begin, stop);
        }
    }
    stream_close(stream);
}

int captions_looks_like(const struct source *source)
{
    const char *at = source->text, *const end = at + (source->size < 4096 ? source->size : 4096);
    struct line line;

    if (end - at >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0)
        at += 3;
    if (end - at >= 6 && memcmp(at, "WEBVTT", 6) == 0)
        return 2;
    line = line_at(at, end);
    if (line.next >= end || !line_is_page_number(line.begin, line.end))
        return 0;
    line = line_at(line.next, end);
    return arrow(line.begin, line.end) && seconds(line.begin, line.end) >= 0 ? 2 : 0;
}
