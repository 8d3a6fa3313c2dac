/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What documents of offices share, whatever their elements are called: paragraphs whose styles say
 * what they are, tables, notes. A paragraph that no style tells apart is read like a line of plain
 * text, so speakers, times, and marks of lists that people type count as they do there. A table of
 * one column only places text. Notes come behind all else.
 */
#define _POSIX_C_SOURCE 200809L    /* strdup */
#include "package.h"

#ifdef SUMMARIZE_PACKAGES

#include <stdlib.h>
#include <string.h>

enum { MOST_PARENTS = 16 };

/* ---- texts -------------------------------------------------------------- */

static void text_add(struct office *o, struct text *t, const char *bytes, size_t size)
{
    if (t->capacity - t->size < size) {
        const size_t capacity = t->size + size + t->size / 2 + 256;
        char *const grown = realloc(t->at, capacity);

        if (!grown) {
            stream_refuse(o->stream, "it needs more memory than such a file may");
            return;
        }
        t->at = grown;
        t->capacity = capacity;
    }
    memcpy(t->at + t->size, bytes, size);
    t->size += size;
}

static void block(struct office *o, enum block_kind kind, const struct text *t)
{
    struct stream *const s = o->stream;

    stream_open(s, kind);
    if (t->size > 0)
        stream_put(s, t->at, t->size, s->size);
    if (kind == BLOCK_PARAGRAPH || kind == BLOCK_ITEM)
        stream_speaker(s);
    stream_close(s);
}

/* ---- styles ------------------------------------------------------------- */

static const struct {
    const char *name;              /* in small letters; '*': and what begins so */
    enum block_kind kind;
} names[] = {
    { "heading*", BLOCK_HEADING }, { "title", BLOCK_HEADING }, { "subtitle", BLOCK_HEADING },
    { "author", BLOCK_FURNITURE }, { "date", BLOCK_FURNITURE }, { "toc*", BLOCK_FURNITURE },
    { "contents*", BLOCK_FURNITURE }, { "table of*", BLOCK_FURNITURE },
    { "index*", BLOCK_FURNITURE }, { "illustration*", BLOCK_FURNITURE },
    { "caption*", BLOCK_FURNITURE }, { "image caption", BLOCK_FURNITURE },
    { "table caption", BLOCK_FURNITURE }, { "figure*", BLOCK_FURNITURE },
    { "header*", BLOCK_FURNITURE }, { "footer*", BLOCK_FURNITURE },
    { "footnote*", BLOCK_FURNITURE }, { "endnote*", BLOCK_FURNITURE },
    { "bibliography*", BLOCK_FURNITURE }, { "signature*", BLOCK_FURNITURE },
    { "list*", BLOCK_ITEM }, { "numbering*", BLOCK_ITEM },
    { "quote", BLOCK_QUOTE }, { "intense quote", BLOCK_QUOTE }, { "quotations", BLOCK_QUOTE },
    { "block quot*", BLOCK_QUOTE }, { "block text", BLOCK_QUOTE },
    { "preformatted*", BLOCK_CODE }, { "html preformatted", BLOCK_CODE },
    { "source code", BLOCK_CODE }, { "code*", BLOCK_CODE }, { "macro*", BLOCK_CODE },
};

int office_kind(const char *name)
{
    const size_t length = strlen(name);

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const size_t own = strcspn(names[i].name, "*");

        if (length >= own && line_same(name, names[i].name, own) &&
            (length == own || names[i].name[own] == '*'))
            return (int)names[i].kind;
    }
    return -1;
}

void styles_add(struct office *o, const char *id, const char *parent, int kind, bool hidden)
{
    struct styles *const s = &o->styles;

    if (s->n == s->capacity) {
        const int64_t capacity = s->capacity ? s->capacity * 2 : 64;
        struct style *const grown = realloc(s->list, (size_t)capacity * sizeof(*grown));

        if (!grown) {
            stream_refuse(o->stream, "it needs more memory than such a file may");
            return;
        }
        s->list = grown;
        s->capacity = capacity;
    }
    s->list[s->n] = (struct style){
        .id = strdup(id), .parent = parent ? strdup(parent) : NULL, .kind = kind, .hidden = hidden
    };
    if (s->list[s->n].id)
        s->n++;
}

static int compare(const void *a, const void *b)
{
    const struct style *const x = a, *const y = b;

    return strcmp(x->id, y->id);
}

void styles_sort(struct styles *s)
{
    if (s->n > 0)
        qsort(s->list, (size_t)s->n, sizeof(*s->list), compare);
}

const struct style *styles_find(const struct styles *s, const char *id)
{
    const struct style key = { .id = (char *)(uintptr_t)id };

    return id && s->n > 0
           ? bsearch(&key, s->list, (size_t)s->n, sizeof(*s->list), compare) : NULL;
}

int styles_kind(const struct styles *s, const char *id)
{
    const struct style *style = styles_find(s, id);

    for (int i = 0; i < MOST_PARENTS && style; i++) {
        if (style->kind >= 0)
            return style->kind;
        style = styles_find(s, style->parent);
    }
    return -1;
}

/* ---- paragraphs --------------------------------------------------------- */

void office_open(struct office *o, enum block_kind kind)
{
    o->paragraph.size = 0;
    o->space = false;
    o->kind = kind;
}

void office_put(struct office *o, const char *text, size_t size)
{
    const char *const end = text + size;

    while (text < end && !o->stream->failed) {
        const char *stop = text;

        while (stop < end && (unsigned char)*stop > ' ')
            stop++;
        if (stop > text) {
            if (o->space && o->paragraph.size > 0)
                text_add(o, &o->paragraph, " ", 1);
            o->space = false;
            text_add(o, &o->paragraph, text, (size_t)(stop - text));
        }
        o->space = o->space || stop < end;
        text = stop < end ? stop + 1 : stop;
    }
}

void office_sign(struct office *o, char sign)
{
    o->space = false;
    if (o->paragraph.size > 0)
        text_add(o, &o->paragraph, &sign, 1);
}

static void close_prose(struct office *o)
{
    struct prose prose = {
        .stream = o->stream, .base = o->paragraph.at, .gap = 3
    };

    prose_lines(&prose, o->paragraph.at, o->paragraph.size);
}

static bool in_table(const struct office *o)
{
    for (int i = 1; i <= o->tables && i < DEEPEST_TABLE; i++) {
        if (o->data[i])
            return true;
    }
    return false;
}

void office_close(struct office *o)
{
    struct text *const p = &o->paragraph;

    o->space = false;
    if (p->size == 0)
        return;
    if (o->noting) {
        text_add(o, p, "\n", 1);
        text_add(o, &o->notes, p->at, p->size);
    } else if (in_table(o)) {
        if (o->row.size > 0)
            text_add(o, &o->row, " ", 1);
        text_add(o, &o->row, p->at, p->size);
    } else if (o->around != BLOCK_PARAGRAPH || o->kind != BLOCK_PARAGRAPH) {
        block(o, o->around != BLOCK_PARAGRAPH ? o->around : o->kind, p);
    } else {
        close_prose(o);
    }
    p->size = 0;
}

/* ---- tables ------------------------------------------------------------- */

void office_table(struct office *o, int64_t columns)
{
    o->tables++;
    if (o->tables < DEEPEST_TABLE)
        o->data[o->tables] = columns != 1;
}

void office_row(struct office *o)
{
    if (o->row.size > 0 && !o->noting)
        block(o, o->around != BLOCK_PARAGRAPH ? o->around : BLOCK_TABLE, &o->row);
    o->row.size = 0;
}

void office_table_end(struct office *o)
{
    if (o->tables > 0)
        o->tables--;
    if (!in_table(o))
        office_row(o);
}

/* ---- notes -------------------------------------------------------------- */

void office_note(struct office *o)
{
    if (o->noting)                         /* a note has none */
        return;
    o->outer = o->paragraph;
    o->outer_kind = o->kind;
    o->paragraph = (struct text){ .at = NULL };
    o->noting = true;
}

void office_note_end(struct office *o)
{
    if (!o->noting)
        return;
    office_close(o);
    free(o->paragraph.at);
    o->paragraph = o->outer;
    o->kind = o->outer_kind;
    o->outer = (struct text){ .at = NULL };
    o->noting = false;
}

static void put_notes(struct office *o)
{
    const char *at = o->notes.at, *const end = at ? at + o->notes.size : at;

    while (at < end && !o->stream->failed) {
        const char *const stop = memchr(at, '\n', (size_t)(end - at));

        stream_open(o->stream, BLOCK_FURNITURE);
        stream_put(o->stream, at, (size_t)(stop - at), o->stream->size);
        stream_close(o->stream);
        at = stop + 1;
    }
}

void office_finish(struct office *o)
{
    put_notes(o);
    for (int64_t i = 0; i < o->styles.n; i++) {
        free(o->styles.list[i].id);
        free(o->styles.list[i].parent);
    }
    free(o->styles.list);
    free(o->paragraph.at);
    free(o->outer.at);
    free(o->row.at);
    free(o->notes.at);
}

#endif
