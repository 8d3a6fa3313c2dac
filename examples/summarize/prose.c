/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lines of text without markup to blocks. A paragraph ends at a blank line; a speaker, a time, a
 * list mark, a row of a table or of contents begins a block too. A short line alone that ends no
 * sentence is a heading. What stands before a wide gap, or before text that goes on below itself
 * and not below the start of the line, is the name of an item: "-v   Say more." A line that ends
 * far before the others, and no sentence, is none of a paragraph: an address, a setting.
 */
#include "read.h"

#include <string.h>

enum {
    HEADING_WORDS = 12,
    NAME_WORDS = 4, NAME_BYTES = 32,       /* of an item: at most */
    MOST_WIDTH = 80,
    SAMPLE_LINES = 400                     /* that tell how wide lines are */
};

size_t prose_origin(const struct prose *p, const char *at)
{
    return p->whole ? p->origin : p->origin + (size_t)(at - p->base);
}

static void put(struct prose *p, const char *begin, const char *end)
{
    if (p->whole)
        stream_put_for(p->stream, begin, (size_t)(end - begin), p->origin);
    else
        stream_put(p->stream, begin, (size_t)(end - begin), prose_origin(p, begin));
}

/* The character before `end`. */
static uint32_t last_code(const char *begin, const char *end)
{
    const char *c = end - 1;
    size_t taken;

    while (c > begin && ((unsigned char)*c & 0xC0) == 0x80 && end - c < 4)
        c--;
    return utf8_next(c, end, &taken);
}

/* Whether a hyphen at the end of a line broke a word of small letters. Programs that set text
 * break one of capitals with a sign of its own, U+2010; "XML-" is none of theirs. */
static bool is_broken(uint32_t before, uint32_t hyphen, uint32_t next)
{
    return (utf8_is_lower(before) && utf8_is_lower(next)) ||
           (hyphen == 0x2010 && utf8_is_upper(before) && utf8_is_upper(next));
}

/* Between the block's text and the next line at [begin, end): a space, nothing between signs of
 * scripts without spaces, and a hyphen goes that only broke a word. */
static void join(struct prose *p, const char *begin, const char *end)
{
    struct stream *const s = p->stream;
    const char *const from = s->text + p->last, *const to = s->text + s->size;
    size_t taken;
    uint32_t last, next = utf8_next(begin, end, &taken);

    if (from == to)
        return;
    last = last_code(from, to);
    if (utf8_is_wide(last) && utf8_is_wide(next))
        return;
    if (p->flags & PROSE_HYPHENS && (last == '-' || last == 0x2010) && to - from >= 3) {
        const size_t size = last == '-' ? 1 : 3;

        if ((size_t)(to - from) > size && is_broken(last_code(from, to - size), last, next)) {
            s->size -= size;
            return;
        }
    }
    if (!p->whole && begin > p->base && begin[-1] == '\n')    /* goes on in the same piece */
        stream_put(s, begin - 1, 1, prose_origin(p, begin - 1));
    else
        stream_put_for(s, "\n", 1, prose_origin(p, begin) - !p->whole);
}

static void add(struct prose *p, const char *begin, const char *end)
{
    if (p->stream->failed)
        return;
    if (p->lines > 0)
        join(p, begin, end);
    p->last = p->stream->size;
    put(p, begin, end);
    p->lines++;
}

static void open_block(struct prose *p, enum block_kind kind)
{
    prose_end(p);
    stream_open(p->stream, kind);
    p->lines = 0;
    p->last = p->stream->size;
}

void prose_end(struct prose *p)
{
    struct stream *const s = p->stream;

    if (s->open && s->kind == BLOCK_PARAGRAPH && p->lines == 1 && !s->failed &&
        !(p->flags & PROSE_NO_HEADINGS)) {
        const char *const begin = s->text + p->last, *const end = s->text + s->size;

        if (!line_ends_sentence(begin, end) &&
            line_words(begin, end, HEADING_WORDS + 1) <= HEADING_WORDS)
            s->kind = p->flags & PROSE_TAGS ? BLOCK_CODE : BLOCK_HEADING;
    }
    if (s->open && s->kind == BLOCK_TABLE && p->lines == 1 && !s->failed &&
        !memchr(s->text + p->last, '|', s->size - p->last))
        s->kind = BLOCK_PARAGRAPH;         /* a row alone has wide spaces, no more */
    stream_close(s);
    p->lines = 0;
}

void prose_put(struct prose *p, enum block_kind kind, const char *begin, const char *end)
{
    if (!p->stream->open || p->stream->kind != kind)
        open_block(p, kind);
    add(p, begin, end);
}

/* A line that begins a turn; false: it does not. */
static bool turn(struct prose *p, const char *begin, const char *end)
{
    const char *text = NULL;
    const size_t alone = line_speaker_alone(begin, end);
    const size_t name = alone ? alone : line_speaker(begin, end, &text);

    if (p->flags & PROSE_NO_SPEAKERS || name == 0)
        return false;
    open_block(p, BLOCK_TURN);
    put(p, begin, begin + name);
    stream_label(p->stream);
    p->last = p->stream->size;
    if (!alone)
        text = line_skip_space(text, end);
    if (!alone && text < end)
        add(p, text, end);
    return true;
}

/* A line that is a block of its own kind; false: it is not. */
static bool special(struct prose *p, const char *begin, const char *end)
{
    const char rule = line_rule(begin, end);

    if (*begin == '>') {
        prose_put(p, BLOCK_QUOTE, begin, end);
    } else if (rule) {
        if ((rule == '=' || rule == '-') && p->stream->open && p->lines == 1 &&
            p->stream->kind == BLOCK_PARAGRAPH)
            p->stream->kind = BLOCK_HEADING;
        prose_end(p);
    } else if (line_is_contents(begin, end) || line_is_page_number(begin, end)) {
        prose_put(p, BLOCK_FURNITURE, begin, end);
    } else if (line_is_table(begin, end, p->gap)) {
        prose_put(p, BLOCK_TABLE, begin, end);
    } else {
        return false;
    }
    return true;
}

/* The marks at the start of a heading of text that knows "# Heading". */
static size_t hashes(const char *begin, const char *end)
{
    const char *c = begin;

    while (c < end && *c == '#')
        c++;
    return c > begin && c < end && *c == ' ' ? (size_t)(line_skip_space(c, end) - begin) : 0;
}

/* Whether the open block is in the middle of a sentence, so that "1951. " is no list mark. */
static bool is_within(const struct prose *p)
{
    const struct stream *const s = p->stream;

    return s->open && !s->failed && p->lines > 0 && s->size > p->last &&
           (s->kind == BLOCK_PARAGRAPH || s->kind == BLOCK_TURN) && s->text[s->size - 1] != ':' &&
           !line_ends_sentence(s->text + p->last, s->text + s->size);
}

/* ---- lines and the next ones ------------------------------------------------------ */

/* Columns before the first letter of a line; *bytes: 0 for one with tabs. */
static size_t indent_of(const char *begin, const char *end, size_t *bytes)
{
    const char *c = begin;
    size_t columns = 0;

    *bytes = 0;
    for (; c < end && (*c == ' ' || *c == '\t'); c++)
        columns += *c == ' ' ? 1 : 8 - columns % 8;
    if (c == end)
        return 0;
    *bytes = columns == (size_t)(c - begin) ? columns : 0;
    return columns;
}

/* Whether a line begins what a colon announces, or goes on behind it: it is set further in than
 * the line with the colon, or no further. */
static bool changes_depth(const struct prose *p, size_t indent)
{
    const struct stream *const s = p->stream;

    return s->open && !s->failed && s->size > p->last && p->flags & PROSE_NAMES &&
           (p->announced ? indent < p->indent
                         : s->text[s->size - 1] == ':' && indent >= p->indent + 2);
}

/* Whether [begin, end) may be the name of an item. */
static bool is_name(const char *begin, const char *end)
{
    return end > begin && end - begin <= NAME_BYTES && end[-1] != ':' && end[-1] != ',' &&
           line_bullet(begin, end + 1) == 0 && !line_ends_sentence(begin, end) &&
           line_words(begin, end, NAME_WORDS + 1) <= NAME_WORDS;
}

/* Whether so many spaces, or a tab, are at `at`. */
static bool is_gap(const char *at, const char *end, int spaces)
{
    if (at < end && *at == '\t')
        return true;
    for (int i = 0; i < spaces; i++) {
        if (at + i >= end || at[i] != ' ')
            return false;
    }
    return true;
}

/* Where the text behind the name of an item begins in a line, of which `from` is the first letter;
 * NULL: it has no name. */
static const char *behind_name(const struct prose *p, const char *begin, const char *from,
                               const char *end)
{
    const char *text = from;
    size_t below = 0;

    if (p->next)
        indent_of(p->next, p->next_end, &below);
    if (line_bullet(from, end) > 0 || line_number(from, end) > 0)
        return NULL;
    while (text < end && text - from <= NAME_BYTES && !is_gap(text, end, p->gap))
        text++;
    if (p->flags & (PROSE_NAMES | PROSE_TAGS) && text < end && text - from <= NAME_BYTES &&
        is_name(from, text))
        return line_skip_space(text, end);
    text = begin + below;
    if (below <= (size_t)(from - begin) + 1 || text >= end || *text == ' ' || text[-1] != ' ')
        return NULL;
    return (text[-2] == ' ' || p->flags & PROSE_TAGS) && is_name(from, line_trim(from, text))
           ? text : NULL;
}

/* A line that begins an item with a name; false: it does not. */
static bool named(struct prose *p, const char *begin, const char *from, const char *end)
{
    const char *const text = is_within(p) ? NULL : behind_name(p, begin, from, end);

    if (!text)
        return false;
    open_block(p, BLOCK_CODE);
    add(p, from, line_trim(from, text));
    open_block(p, BLOCK_ITEM);
    add(p, text, end);
    p->hang = (size_t)(text - begin);
    return true;
}

/* Whether the first line of a paragraph ends far before the others, so that a word more would have
 * had room, though no sentence ends there and none goes on. */
static bool stops_short(const struct prose *p, const char *from, const char *end)
{
    const char *const next = p->next ? line_skip_space(p->next, p->next_end) : NULL;
    const char *word = next;
    size_t taken;

    if (!(p->flags & PROSE_NAMES) || p->lines != 1 || !next || next == p->next_end ||
        !utf8_is_upper(utf8_next(next, p->next_end, &taken)))
        return false;
    while (word < p->next_end && *word != ' ')
        word++;
    return end - from + 1 + (word - next) < p->width * 3 / 4 && end[-1] != ',' &&
           end[-1] != ':' && !line_ends_sentence(from, end);
}

void prose_line(struct prose *p, const char *begin, const char *end)
{
    const char *const start = begin;
    size_t mark;
    const size_t indent = indent_of(begin, end, &mark);

    begin = line_skip_space(begin, end);
    end = line_trim(begin, end);
    if (begin == end) {
        prose_end(p);
        p->announced = false;
        return;
    }
    if (changes_depth(p, indent)) {
        p->announced = !p->announced;
        prose_end(p);
    }
    p->indent = indent;
    p->hang = 0;
    if (special(p, begin, end))
        return;
    mark = line_stamp(begin, end);
    if (mark > 0 && begin + mark < end) {
        open_block(p, BLOCK_PARAGRAPH);
        begin += mark;
        if (!turn(p, begin, end))
            add(p, begin, end);
        return;
    }
    if (turn(p, begin, end))
        return;
    mark = hashes(begin, end);
    if (mark > 0) {
        open_block(p, BLOCK_HEADING);
        add(p, begin + mark, end);
        prose_end(p);
        return;
    }
    if (named(p, start, begin, end))
        return;
    mark = line_bullet(begin, end);
    if (mark > 0 || (line_number(begin, end) > 0 && !is_within(p)))
        open_block(p, BLOCK_ITEM);
    else if (!p->stream->open || (p->stream->kind != BLOCK_PARAGRAPH &&
                                  p->stream->kind != BLOCK_ITEM &&
                                  p->stream->kind != BLOCK_TURN))
        open_block(p, p->announced ? BLOCK_ITEM : BLOCK_PARAGRAPH);
    if (begin + mark < end)
        add(p, begin + mark, end);
    if (p->stream->kind == BLOCK_PARAGRAPH && stops_short(p, begin, end)) {
        p->stream->kind = BLOCK_CODE;
        prose_end(p);
    }
}

void prose_lines(struct prose *p, const char *text, size_t size)
{
    const char *const end = text + size;
    struct line line = { .next = text };

    for (int i = 0; i < SAMPLE_LINES && line.next < end; i++) {
        line = line_at(line.next, end);
        p->width = line.end - line.begin > p->width ? line.end - line.begin : p->width;
    }
    p->width = p->width < MOST_WIDTH ? p->width : MOST_WIDTH;
    line = line_at(text, end);
    while (line.begin < end) {
        const struct line next = line_at(line.next, end);

        p->next = line.next < end && !line.page ? next.begin : NULL;
        p->next_end = next.end;
        prose_line(p, line.begin, line.end);
        if (line.page)
            prose_end(p);
        line = next;
    }
    p->next = NULL;
    prose_end(p);
}
