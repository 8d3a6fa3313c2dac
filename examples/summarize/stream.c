/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The stream of blocks that every reader fills. Text is copied once; the map back to the file is a
 * list of pieces, of which a run of copied bytes needs one.
 */
#include "read.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more element of `size` bytes behind `n`; NULL: no memory. */
static void *grown(void *list, int64_t n, int64_t *capacity, size_t size)
{
    const int64_t more = *capacity ? *capacity * 2 : 64;
    void *const bigger = n < *capacity ? list : realloc(list, (size_t)more * size);

    if (bigger && n >= *capacity)
        *capacity = more;
    return bigger;
}

static void add_block(struct stream *s, struct block block)
{
    struct block *blocks;

    if (s->n >= TEXT_CROWDED && s->size / TEXT_BYTES < (size_t)s->n) {
        s->failed = s->crowded = true;
        return;
    }
    blocks = grown(s->blocks, s->n, &s->block_capacity, sizeof(*blocks));

    if (!blocks) {
        s->failed = true;
        return;
    }
    s->blocks = blocks;
    s->blocks[s->n++] = block;
}

/* Text added from here on comes from `origin`. A single byte that stands for the byte of the file
 * that follows, a space for the end of a line, goes on with the piece. */
static void add_piece(struct stream *s, size_t size, uint64_t origin)
{
    struct piece *pieces;

    if (s->n_pieces > 0) {
        const struct piece last = s->pieces[s->n_pieces - 1];
        const uint64_t next = last.origin + (last.origin % 2 ? 0 : 2 * (s->size - last.at));

        if (next == origin || (size == 1 && last.origin % 2 == 0 && next + 1 == origin))
            return;
    }
    pieces = grown(s->pieces, s->n_pieces, &s->piece_capacity, sizeof(*pieces));
    if (!pieces) {
        s->failed = true;
        return;
    }
    s->pieces = pieces;
    s->pieces[s->n_pieces++] = (struct piece){ .at = s->size, .origin = origin };
}

static void add_text(struct stream *s, const char *text, size_t size)
{
    if (!s->text || s->capacity - s->size < size) {
        const size_t capacity = s->size + size + s->size / 2 + 4096;
        char *const bigger = realloc(s->text, capacity);

        if (!bigger) {
            s->failed = true;
            return;
        }
        s->text = bigger;
        s->capacity = capacity;
    }
    memcpy(s->text + s->size, text, size);
    s->size += size;
}

/* Adds text without what is not read; `whole`: all of it comes from `origin`. */
static void put(struct stream *s, const char *text, size_t size, size_t origin, bool whole)
{
    const char *const end = text + size;

    while (text < end && !s->failed) {
        const char *stop = text;
        size_t step, unread = 0;

        while (stop < end && (unread = utf8_unread(stop, end)) == 0)
            stop++;
        step = (size_t)(stop - text);
        if (step > 0) {
            add_piece(s, step, 2 * (uint64_t)origin + whole);
            add_text(s, text, step);
        }
        text = stop + unread;
        origin += whole ? 0 : step + unread;
    }
}

void stream_put(struct stream *s, const char *text, size_t size, size_t origin)
{
    put(s, text, size, origin, false);
}

void stream_put_for(struct stream *s, const char *text, size_t size, size_t origin)
{
    put(s, text, size, origin, true);
}

static size_t block_begin(const struct stream *s)
{
    return s->n > 0 ? s->blocks[s->n - 1].end : 0;
}

void stream_space(struct stream *s, size_t origin)
{
    if (s->size > block_begin(s) && (unsigned char)s->text[s->size - 1] > ' ')
        stream_put_for(s, " ", 1, origin);
}

void stream_label(struct stream *s)
{
    s->label_begin = block_begin(s);
    s->label_end = s->text_begin = s->size;
}

void stream_speaker(struct stream *s)
{
    const size_t begin = block_begin(s);
    const char *text;
    size_t name;

    if (s->failed || !s->open || s->size == begin || s->label_end > begin)
        return;
    name = line_speaker(s->text + begin, s->text + s->size, &text);
    if (name == 0 || line_skip_space(text, s->text + s->size) == s->text + s->size)
        return;
    s->label_begin = begin;
    s->label_end = begin + name;
    s->text_begin = (size_t)(line_skip_space(text, s->text + s->size) - s->text);
}

void stream_open(struct stream *s, enum block_kind kind)
{
    stream_close(s);
    add_text(s, "", 0);                    /* so that there is a text */
    s->open = !s->failed;
    s->kind = kind;
    s->label_begin = s->label_end = s->text_begin = s->size;
}

void stream_close(struct stream *s)
{
    const size_t begin = block_begin(s);

    if (!s->open || s->failed)
        return;
    assert(s->text);
    s->open = false;
    if (line_is_blank(s->text + s->text_begin, s->text + s->size) && s->label_end > begin) {
        s->label_end = s->label_begin = s->text_begin = begin;     /* a name with nothing said */
        s->kind = s->kind == BLOCK_TURN ? BLOCK_HEADING : s->kind;
    }
    if (line_is_blank(s->text + s->text_begin, s->text + s->size)) {
        s->size = begin;                   /* the pieces behind `begin` go with the text */
        while (s->n_pieces > 0 && s->pieces[s->n_pieces - 1].at >= begin)
            s->n_pieces--;
        return;
    }
    add_block(s, (struct block){
        .begin = begin, .end = s->size, .kind = s->kind,
        .label_begin = s->label_begin, .label_end = s->label_end, .text_begin = s->text_begin
    });
    if (s->take && !s->failed) {
        s->failed = !s->take(s, s->to);
        s->n = s->n_pieces = 0;
        s->size = 0;
    }
}

void stream_refuse(struct stream *s, const char *why)
{
    if (!s->failed)
        s->refused = why;
    s->failed = true;
}

size_t stream_origin(const struct stream *s, size_t at)
{
    int64_t low = 0, high = s->n_pieces;   /* the piece is in [low, high) */
    uint64_t origin;

    if (s->n_pieces == 0)
        return at;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;

        if (s->pieces[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    origin = s->pieces[low].origin / 2;
    return (size_t)origin + (s->pieces[low].origin % 2 ? 0 : at - s->pieces[low].at);
}

void stream_finish(struct stream *s)
{
    free(s->text);
    free(s->blocks);
    free(s->pieces);
    *s = (struct stream){ 0 };
}
