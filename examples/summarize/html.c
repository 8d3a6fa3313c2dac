/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * HTML by its tokens: tags, comments, text and references, as the HTML standard's tokenizer takes
 * them (section 13.2.5), scripts and styles left out. Elements are rows of a table that says which
 * block they open; those within the elements of navigation or of the page's head and foot are
 * furniture. No tree is built: memory does not depend on the depth, and time is linear.
 */
#include "read.h"

#include <string.h>

enum { DEEPEST = 64, NAME_BYTES = 16 };

enum role {
    ROLE_INLINE,                   /* no block of its own */
    ROLE_BLOCK,                    /* opens a block of its kind */
    ROLE_BREAK,                    /* has no content; ends a block */
    ROLE_LINE,                     /* has no content; white space */
    ROLE_CELL,                     /* white space beside it */
    ROLE_RAW,                      /* its content is no text: skipped to its end tag */
    ROLE_LINK
};

struct element {
    const char *name;
    enum role role;
    enum block_kind kind;
};

static const struct element elements[] = {
    { "a", ROLE_LINK, BLOCK_PARAGRAPH },        { "address", ROLE_BLOCK, BLOCK_FURNITURE },
    { "article", ROLE_BLOCK, BLOCK_PARAGRAPH }, { "aside", ROLE_BLOCK, BLOCK_FURNITURE },
    { "blockquote", ROLE_BLOCK, BLOCK_QUOTE },  { "body", ROLE_BLOCK, BLOCK_PARAGRAPH },
    { "br", ROLE_LINE, BLOCK_PARAGRAPH },       { "button", ROLE_BLOCK, BLOCK_FURNITURE },
    { "caption", ROLE_BLOCK, BLOCK_TABLE },     { "dd", ROLE_BLOCK, BLOCK_ITEM },
    { "details", ROLE_BLOCK, BLOCK_FURNITURE }, { "div", ROLE_BLOCK, BLOCK_PARAGRAPH },
    { "dt", ROLE_BLOCK, BLOCK_HEADING },
    { "figcaption", ROLE_BLOCK, BLOCK_FURNITURE }, { "figure", ROLE_BLOCK, BLOCK_FURNITURE },
    { "footer", ROLE_BLOCK, BLOCK_FURNITURE },  { "form", ROLE_BLOCK, BLOCK_FURNITURE },
    { "h1", ROLE_BLOCK, BLOCK_HEADING },        { "h2", ROLE_BLOCK, BLOCK_HEADING },
    { "h3", ROLE_BLOCK, BLOCK_HEADING },        { "h4", ROLE_BLOCK, BLOCK_HEADING },
    { "h5", ROLE_BLOCK, BLOCK_HEADING },        { "h6", ROLE_BLOCK, BLOCK_HEADING },
    { "header", ROLE_BLOCK, BLOCK_PARAGRAPH },  { "hr", ROLE_BREAK, BLOCK_PARAGRAPH },
    { "iframe", ROLE_RAW, BLOCK_CODE },         { "li", ROLE_BLOCK, BLOCK_ITEM },
    { "main", ROLE_BLOCK, BLOCK_PARAGRAPH },    { "math", ROLE_RAW, BLOCK_CODE },
    { "nav", ROLE_BLOCK, BLOCK_FURNITURE },     { "noscript", ROLE_RAW, BLOCK_CODE },
    { "ol", ROLE_BLOCK, BLOCK_PARAGRAPH },      { "option", ROLE_BLOCK, BLOCK_FURNITURE },
    { "p", ROLE_BLOCK, BLOCK_PARAGRAPH },       { "pre", ROLE_BLOCK, BLOCK_CODE },
    { "script", ROLE_RAW, BLOCK_CODE },         { "section", ROLE_BLOCK, BLOCK_PARAGRAPH },
    { "select", ROLE_BLOCK, BLOCK_FURNITURE },  { "style", ROLE_RAW, BLOCK_CODE },
    { "summary", ROLE_BLOCK, BLOCK_HEADING },   { "svg", ROLE_RAW, BLOCK_CODE },
    { "table", ROLE_BLOCK, BLOCK_TABLE },       { "td", ROLE_CELL, BLOCK_TABLE },
    { "template", ROLE_RAW, BLOCK_CODE },       { "textarea", ROLE_RAW, BLOCK_CODE },
    { "th", ROLE_CELL, BLOCK_TABLE },           { "title", ROLE_BLOCK, BLOCK_HEADING },
    { "tr", ROLE_CELL, BLOCK_TABLE },           { "ul", ROLE_BLOCK, BLOCK_PARAGRAPH },
};

static const struct element *element_of(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(elements) / sizeof(*elements); i++) {
        if (strlen(elements[i].name) == length && line_same(elements[i].name, name, length))
            return &elements[i];
    }
    return NULL;
}

/* ---- the reader ------------------------------------------------------------- */

struct reader {
    struct stream *stream;
    const char *text, *end;
    size_t origin;
    bool whole;                            /* all of it comes from `origin` */
    const struct element *open[DEEPEST];   /* those that are blocks; deeper ones count only */
    int depth;
    bool link;
    size_t linked;                         /* bytes of the open block in links */
};

static size_t origin_of(const struct reader *r, const char *at)
{
    return r->whole ? r->origin : r->origin + (size_t)(at - r->text);
}

/* Elements that have text as no cell of a table of data has it: the table only places them. */
static bool is_prose(const struct element *element)
{
    return element->kind == BLOCK_HEADING || element->kind == BLOCK_ITEM ||
           strcmp(element->name, "p") == 0;
}

/* What is open decides, from the outside on: furniture, quotes, code; tables without paragraphs;
 * else the innermost, and a paragraph in an item is an item. */
static enum block_kind kind_here(const struct reader *r)
{
    enum block_kind kind = BLOCK_PARAGRAPH;
    const int depth = r->depth < DEEPEST ? r->depth : DEEPEST;

    for (int i = 0; i < depth; i++) {
        const enum block_kind here = r->open[i]->kind;

        if (here == BLOCK_FURNITURE || here == BLOCK_QUOTE || here == BLOCK_CODE)
            return here;
        if (kind == BLOCK_TABLE ? is_prose(r->open[i])
                                : here != BLOCK_PARAGRAPH || kind != BLOCK_ITEM)
            kind = here;
    }
    return kind;
}

static void close_block(struct reader *r)
{
    struct stream *const s = r->stream;
    const size_t begin = s->n > 0 ? s->blocks[s->n - 1].end : 0;

    if (s->open && (s->kind == BLOCK_ITEM || s->kind == BLOCK_PARAGRAPH)) {
        const char *const from = s->text + begin, *const to = s->text + s->size;

        if (r->linked > 0 && r->linked * 10 >= (s->size - begin) * 8)
            s->kind = BLOCK_FURNITURE;
        else if (!s->failed && s->size > begin && line_is_contents(from, to))
            s->kind = BLOCK_FURNITURE;
        else
            stream_speaker(s);
    }
    stream_close(s);
    r->linked = 0;
}

/* Adds [at, end), with white space made one space and references resolved. */
static void put_text(struct reader *r, const char *at, const char *end)
{
    const bool code = kind_here(r) == BLOCK_CODE;

    while (at < end && !r->stream->failed) {
        const char *stop = at;
        char utf8[8];
        size_t length = 0;

        while (stop < end && *stop != '&' && (code || (unsigned char)*stop > ' '))
            stop++;
        if (stop > at) {
            if (!r->stream->open)
                stream_open(r->stream, kind_here(r));
            if (r->whole)
                stream_put_for(r->stream, at, (size_t)(stop - at), r->origin);
            else
                stream_put(r->stream, at, (size_t)(stop - at), origin_of(r, at));
            r->linked += r->link ? (size_t)(stop - at) : 0;
            at = stop;
        } else if (*at == '&') {
            const size_t taken = entity_read(at, end, utf8, &length);

            if (!r->stream->open)
                stream_open(r->stream, kind_here(r));
            stream_put_for(r->stream, taken ? utf8 : "&", taken ? length : 1, origin_of(r, at));
            at += taken ? taken : 1;
        } else {
            if (r->stream->open)
                stream_space(r->stream, origin_of(r, at));
            at++;
        }
    }
}

/* ---- tags -------------------------------------------------------------------- */

/* Behind the tag that begins at `at`; quotes keep what is in them. */
static const char *tag_end(const char *at, const char *end)
{
    char quote = 0;

    for (; at < end; at++) {
        if (quote) {
            quote = *at == quote ? 0 : quote;
        } else if ((*at == '"' || *at == '\'') && at[-1] == '=') {
            quote = *at;
        } else if (*at == '>') {
            return at + 1;
        }
    }
    return end;
}

static const char *find(const char *at, const char *end, const char *what)
{
    const size_t length = strlen(what);

    while (at < end) {
        at = memchr(at, what[0], (size_t)(end - at));
        if (!at || (size_t)(end - at) < length)
            return end;
        if (line_same(at, what, length))
            return at + length;
        at++;
    }
    return end;
}

/* Closes the innermost open block of this name, and what is open in it. */
static void leave(struct reader *r, const struct element *element)
{
    int depth = r->depth < DEEPEST ? r->depth : DEEPEST;

    if (r->depth > DEEPEST) {              /* not kept: only counted */
        r->depth--;
        return;
    }
    while (depth > 0 && r->open[depth - 1] != element)
        depth--;
    if (depth > 0)
        r->depth = depth - 1;
}

/* A paragraph or an item ends where the next one begins; end tags of them are optional. */
static void leave_implied(struct reader *r, const struct element *element)
{
    const struct element *const last =
        r->depth > 0 && r->depth <= DEEPEST ? r->open[r->depth - 1] : NULL;

    if (last && (strcmp(last->name, "p") == 0 || (last == element && element->kind == BLOCK_ITEM) ||
                 (last->kind == BLOCK_HEADING && element->kind != BLOCK_PARAGRAPH)))
        r->depth--;
}

static void enter(struct reader *r, const struct element *element)
{
    leave_implied(r, element);
    if (r->depth < DEEPEST)
        r->open[r->depth] = element;
    r->depth += r->depth < INT32_MAX;
}

/* A tag [at, end) whose name begins at `name`; returns where the text goes on. */
static const char *tag(struct reader *r, const char *at, const char *name, const char *end)
{
    const bool closing = at[1] == '/';
    size_t length = 0;
    const struct element *element;

    while (name + length < end && length < NAME_BYTES &&
           ((name[length] >= 'a' && name[length] <= 'z') ||
            (name[length] >= 'A' && name[length] <= 'Z') ||
            (name[length] >= '0' && name[length] <= '9')))
        length++;
    element = element_of(name, length);
    if (!element || element->role == ROLE_INLINE)
        return end;
    if (element->role == ROLE_LINK) {
        r->link = !closing;
        return end;
    }
    if (element->role == ROLE_LINE || element->role == ROLE_CELL) {
        if (r->stream->open)
            stream_space(r->stream, origin_of(r, at));
        return end;
    }
    if (element->role == ROLE_RAW) {
        char stop[NAME_BYTES + 4] = "</";

        if (closing || end[-2] == '/')
            return end;
        strcat(stop, element->name);
        return tag_end(find(end, r->end, stop), r->end);
    }
    close_block(r);
    r->link = false;
    if (element->role == ROLE_BLOCK && closing)
        leave(r, element);
    else if (element->role == ROLE_BLOCK)
        enter(r, element);
    return end;
}

/* What begins at '<'; returns where the text goes on, or `at` where it is text. */
static const char *markup(struct reader *r, const char *at)
{
    const char *const name = at + (at + 1 < r->end && at[1] == '/' ? 2 : 1);

    if (name >= r->end)
        return at;
    if (r->end - at >= 4 && memcmp(at, "<!--", 4) == 0)
        return find(at + 4, r->end, "-->");
    if (r->end - at >= 9 && memcmp(at, "<![CDATA[", 9) == 0)
        return find(at + 9, r->end, "]]>");
    if (*name == '!' || *name == '?')
        return find(name, r->end, ">");
    if (!((*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z')))
        return at;
    return tag(r, at, name, tag_end(name, r->end));
}

void html_put(struct stream *stream, const char *text, size_t size, size_t origin, bool whole)
{
    struct reader r = {
        .stream = stream, .text = text, .end = text + size, .origin = origin, .whole = whole
    };

    for (const char *at = text; at < r.end && !stream->failed;) {
        const char *next = memchr(at, '<', (size_t)(r.end - at));

        put_text(&r, at, next ? next : r.end);
        if (!next)
            break;
        at = markup(&r, next);
        if (at == next) {
            put_text(&r, next, next + 1);
            at++;
        }
    }
    close_block(&r);
}

void html_read(struct stream *stream, const struct source *source)
{
    html_put(stream, source->text, source->size, 0, false);
}

int html_looks_like(const struct source *source)
{
    const char *at = source->text, *const end = at + (source->size < 2048 ? source->size : 2048);

    if (end - at >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0)
        at += 3;
    at = line_skip_space(at, end);
    if (at == end || *at != '<')
        return 0;
    if (line_has(at, end, "<!doctype html") || line_has(at, end, "<html"))
        return 2;
    return line_has(at, end, "<p") || line_has(at, end, "<div") || line_has(at, end, "<h1") ||
           line_has(at, end, "<body");
}
