/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Markdown, by md4c: its text is the file's own bytes, so origins cost nothing. Without md4c it
 * is read as plain text, which knows headings, lists, quotes and rules, but leaves marks within a
 * line.
 */
#include "read.h"

#include <stdlib.h>
#include <string.h>

/* ---- recognition ------------------------------------------------------------ */

enum { LINES = 400 };

/* A line's share of evidence, in tenths. */
static int evidence(const char *begin, const char *end)
{
    const char *const first = line_skip_space(begin, end);
    size_t hashes = 0;

    if (first == end)
        return 0;
    while (first + hashes < end && first[hashes] == '#')
        hashes++;
    if (hashes >= 1 && hashes <= 6 && first + hashes < end && first[hashes] == ' ')
        return 10;
    if (line_has(first, end, "](http") || line_has(first, end, "](#"))
        return 10;
    if (end - first >= 3 && (memcmp(first, "```", 3) == 0 || memcmp(first, "~~~", 3) == 0))
        return 10;
    if (*first == '|' && line_has(first, end, "---"))
        return 10;
    return line_has(first, end, "**") || line_has(first, end, "`") ? 4 : 0;
}

int markdown_looks_like(const struct source *source)
{
    const char *const end = source->text + source->size;
    struct line line = { .next = source->text };
    int found = 0, lines = 0;

    while (line.next < end && lines < LINES) {
        line = line_at(line.next, end);
        found += evidence(line.begin, line.end);
        lines += !line_is_blank(line.begin, line.end);
    }
    return found >= 20 && found * 3 >= lines;
}

#ifdef SUMMARIZE_MD4C

#include <md4c.h>

/* Longer ones are read as plain text: md4c keeps up to 30 bytes for each mark. md4c 0.4.8 looks, at
 * some marks, a few bytes behind the end: it is given a copy with lines behind it. */
enum { MARKDOWN_MOST = 1 << 25, BEHIND = 64 };

struct reader {
    struct stream *stream;
    const char *copy;              /* of the file */
    size_t size;
    size_t at;                     /* behind what was read last */
    int quotes, items, links;      /* depth */
    size_t linked;                 /* bytes of the open block that lead to other places */
};

static enum block_kind kind_in(const struct reader *r, enum block_kind kind)
{
    if (r->quotes > 0)
        return BLOCK_QUOTE;
    return r->items > 0 && kind == BLOCK_PARAGRAPH ? BLOCK_ITEM : kind;
}

static void open_kind(struct reader *r, enum block_kind kind)
{
    stream_open(r->stream, kind_in(r, kind));
    r->linked = 0;
}

/* Blocks that are nothing but links are contents or navigation; a name before a colon speaks. */
static void close_block(struct reader *r)
{
    struct stream *const s = r->stream;
    const size_t begin = s->n > 0 ? s->blocks[s->n - 1].end : 0;

    if (s->open && (s->kind == BLOCK_ITEM || s->kind == BLOCK_PARAGRAPH)) {
        if (r->linked * 10 >= (s->size - begin) * 9 && r->linked > 0)
            s->kind = BLOCK_FURNITURE;
        else
            stream_speaker(s);
    }
    stream_close(s);
    r->linked = 0;
}

static void break_line(struct reader *r)
{
    if (r->stream->open)
        stream_space(r->stream, r->at);
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *context)
{
    struct reader *const r = context;

    (void)detail;
    r->quotes += type == MD_BLOCK_QUOTE;
    r->items += type == MD_BLOCK_LI;
    if (type == MD_BLOCK_P || type == MD_BLOCK_LI)
        open_kind(r, BLOCK_PARAGRAPH);
    else if (type == MD_BLOCK_H)
        open_kind(r, BLOCK_HEADING);
    else if (type == MD_BLOCK_CODE || type == MD_BLOCK_HTML)
        open_kind(r, BLOCK_CODE);
    else if (type == MD_BLOCK_TABLE)
        open_kind(r, BLOCK_TABLE);
    else if (type == MD_BLOCK_THEAD || type == MD_BLOCK_TBODY || type == MD_BLOCK_TH ||
             type == MD_BLOCK_TD || type == MD_BLOCK_TR)
        break_line(r);
    else
        close_block(r);
    return r->stream->failed;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *context)
{
    struct reader *const r = context;

    (void)detail;
    if (type != MD_BLOCK_TH && type != MD_BLOCK_TD && type != MD_BLOCK_TR &&
        type != MD_BLOCK_THEAD && type != MD_BLOCK_TBODY)
        close_block(r);
    r->quotes -= type == MD_BLOCK_QUOTE;
    r->items -= type == MD_BLOCK_LI;
    return r->stream->failed;
}

static int enter_span(MD_SPANTYPE type, void *detail, void *context)
{
    struct reader *const r = context;

    (void)detail;
    r->links += type == MD_SPAN_A || type == MD_SPAN_IMG;
    return 0;
}

static int leave_span(MD_SPANTYPE type, void *detail, void *context)
{
    struct reader *const r = context;

    (void)detail;
    r->links -= type == MD_SPAN_A || type == MD_SPAN_IMG;
    return 0;
}

/* Text is the file's, unless md4c puts in some of its own. What it says of bytes behind the end is
 * cut. */
static void put(struct reader *r, const char *text, size_t size)
{
    const uintptr_t base = (uintptr_t)r->copy, at = (uintptr_t)text;
    const bool ours = at >= base && at <= base + r->size + BEHIND;

    if (ours && at >= base + r->size)
        return;
    if (ours && size > base + r->size - at)
        size = base + r->size - at;
    if (!r->stream->open)
        open_kind(r, BLOCK_PARAGRAPH);
    if (ours) {
        r->at = at - base;
        stream_put(r->stream, text, size, r->at);
        r->at += size;
    } else {
        stream_put_for(r->stream, text, size, r->at);
    }
    r->linked += r->links > 0 ? size : 0;
}

static int text(MD_TEXTTYPE type, const MD_CHAR *at, MD_SIZE size, void *context)
{
    struct reader *const r = context;
    char utf8[8];
    size_t length;

    switch (type) {
    case MD_TEXT_BR:
    case MD_TEXT_SOFTBR:
        break_line(r);
        break;
    case MD_TEXT_NULLCHAR:
        put(r, "\xEF\xBF\xBD", 3);
        break;
    case MD_TEXT_HTML:                     /* tags between words; blocks of it are code */
        if (r->stream->open && r->stream->kind == BLOCK_CODE)
            put(r, at, size);
        break;
    case MD_TEXT_ENTITY:
        if (at < r->copy || (size_t)(at - r->copy) + size > r->size)
            break;
        r->at = (size_t)(at - r->copy);
        if (entity_read(at, at + size, utf8, &length) > 0)
            put(r, utf8, length);
        else
            put(r, at, size);
        break;
    case MD_TEXT_NORMAL:
    case MD_TEXT_CODE:
    case MD_TEXT_LATEXMATH:
        put(r, at, size);
        break;
    }
    return r->stream->failed;
}

/* Behind what a file says of itself before its text: "---", lines of "name: value", "---". */
static size_t skip_front(const struct source *source)
{
    const char *const end = source->text + source->size;
    struct line line = line_at(source->text, end);

    if (line.end - line.begin != 3 || memcmp(line.begin, "---", 3) != 0)
        return 0;
    for (int lines = 0; line.next < end && lines < 100; lines++) {
        line = line_at(line.next, end);
        if (line_is_blank(line.begin, line.end))
            return 0;
        if (line.end - line.begin == 3 && memcmp(line.begin, "---", 3) == 0)
            return (size_t)(line.next - source->text);
    }
    return 0;
}

void markdown_read(struct stream *stream, const struct source *source)
{
    static const MD_PARSER parser = {
        .flags = MD_DIALECT_GITHUB | MD_FLAG_COLLAPSEWHITESPACE,
        .enter_block = enter_block, .leave_block = leave_block,
        .enter_span = enter_span, .leave_span = leave_span, .text = text
    };
    const size_t front = skip_front(source);
    struct reader r = { .stream = stream, .size = source->size, .at = front };
    char *copy;

    if (source->size > MARKDOWN_MOST) {
        plain_read(stream, source);
        return;
    }
    copy = malloc(source->size + BEHIND);
    if (copy == NULL) {
        stream->failed = true;
        return;
    }
    if (source->size > 0)
        memcpy(copy, source->text, source->size);
    memset(copy + source->size, '\n', BEHIND);
    r.copy = copy;
    if (md_parse(copy + front, (MD_SIZE)(source->size - front), &parser, &r) != 0)
        stream->failed = true;
    close_block(&r);
    free(copy);
}

const char *markdown_remark(void)
{
    return NULL;
}

const char *markdown_library(void)
{
    return "md4c";
}

#else

const char *markdown_remark(void)
{
    return "built without md4c: Markdown is read as plain text, with its marks";
}

const char *markdown_library(void)
{
    return NULL;
}

void markdown_read(struct stream *stream, const struct source *source)
{
    plain_read(stream, source);
}

#endif
