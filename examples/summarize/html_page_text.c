/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The document of the page, block by block: what the readers left out is there too, told apart.
 * Every sentence has an id; those that the summary has are marked, and lead back to it.
 */
#include "html_page.h"

enum { MOST_LEFT_OUT = 2000 };     /* bytes of a block without sentences */

/* How a kind of block begins and ends. */
static const struct {
    const char *open, *close;
} tags[BLOCK_KINDS] = {
    [BLOCK_PARAGRAPH] = { "<p>", "</p>\n" },
    [BLOCK_TURN] = { "<p>", "</p>\n" },
    [BLOCK_ITEM] = { "<li>", "</li>\n" },
    [BLOCK_HEADING] = { "<h3>", "</h3>\n" },
    [BLOCK_QUOTE] = { "<blockquote>", "</blockquote>\n" },
    [BLOCK_CODE] = { "<pre>", "</pre>\n" },
    [BLOCK_TABLE] = { "<pre>", "</pre>\n" },
    [BLOCK_FURNITURE] = { "<p class=\"x\">", "</p>\n" }
};

/* Where the walk through blocks and sentences is. */
struct place {
    int64_t block, sentence, end;  /* the block's sentences: [sentence, end) */
    int64_t part;                  /* the next one */
    int64_t file;                  /* of the last block; -1: none yet */
    int64_t segment;               /* of the last sentence; -1: none yet */
    size_t label;                  /* of the last speaker */
    int64_t gap;                   /* sentences not shown since the last block */
    bool list;                     /* a list is open */
};

static void close_list(const struct page *p, struct place *at)
{
    if (at->list)
        fputs("</ul>\n", p->to);
    at->list = false;
}

/* What is not shown since the last block. */
static void put_gap(const struct page *p, struct place *at)
{
    if (at->gap > 0) {
        close_list(p, at);
        fputs("<p class=\"o\" lang=\"en\">", p->to);
        page_put_count(p->to, at->gap, "sentence");
        fputs(" not shown</p>\n", p->to);
    }
    at->gap = 0;
}

/* An item with a number needs no bullet. */
static bool is_numbered(const struct page *p, int64_t block)
{
    const char first = p->r->doc->text[p->r->reading->stream.blocks[block].text_begin];

    return first >= '0' && first <= '9';
}

static void open_block(const struct page *p, struct place *at, enum block_kind kind)
{
    put_gap(p, at);
    if (kind != BLOCK_ITEM)
        close_list(p, at);
    else if (!at->list)
        fputs("<ul>\n", p->to);
    at->list = kind == BLOCK_ITEM;
    if (kind == BLOCK_HEADING && p->headed && at->part < p->n_parts &&
        p->parts[at->part].block == at->block)
        fprintf(p->to, "<h3 id=\"h%lld\">", (long long)at->part);
    else if (kind == BLOCK_ITEM && is_numbered(p, at->block))
        fputs("<li class=\"n\">", p->to);
    else
        fputs(tags[kind].open, p->to);
}

/* The speaker, where another one begins. */
static void put_speaker(const struct page *p, struct place *at, const struct block *b)
{
    if (b->label_end > b->label_begin && b->label_begin != at->label) {
        at->label = b->label_begin;
        fputs("<b><bdi>", p->to);
        page_put_range(p->to, p->r->doc->text, b->label_begin, b->label_end);
        fputs("</bdi></b> ", p->to);
    }
}

static void put_sentence(const struct page *p, struct place *at, int64_t i)
{
    const struct sentence *const s = &p->r->doc->sentences[i];
    const struct written *const w = p->r->written;

    if (s->segment != at->segment && at->segment >= 0)
        fprintf(p->to, "<i class=\"g\" data-n=\"%lld\"></i>", (long long)s->segment + 1);
    at->segment = s->segment;
    if (p->r->summary->chosen[i])
        fprintf(p->to, "<mark id=\"s%lld\"><a href=\"#c%lld\">", (long long)i,
                (long long)(w ? w->back[i] : i));
    else
        fprintf(p->to, "<span id=\"s%lld\">", (long long)i);
    page_put_range(p->to, p->r->doc->text, s->begin, s->end);
    fputs(p->r->summary->chosen[i] ? "</a></mark>" : "</span>", p->to);
}

/* Those of the block's sentences that are shown, with what stands between them. */
static void put_sentences(const struct page *p, struct place *at, const struct block *b)
{
    const struct document *const doc = p->r->doc;
    int64_t gap = 0, before = -1;

    for (int64_t i = at->sentence; i < at->end; i++) {
        if (!p->shown[i]) {
            gap++;
            continue;
        }
        if (before >= 0 && doc->sentences[before].end < doc->sentences[i].begin)
            fputc(' ', p->to);
        if (gap > 0)
            fputs("<i class=\"o\">[&hellip;]</i> ", p->to);
        if (before < 0)
            put_speaker(p, at, b);
        gap = 0;
        put_sentence(p, at, i);
        before = i;
    }
    if (gap > 0)
        fputs(" <i class=\"o\">[&hellip;]</i>", p->to);
}

static void put_left_out(const struct page *p, const struct block *b)
{
    const bool lines = b->kind == BLOCK_CODE || b->kind == BLOCK_TABLE;
    const bool cut = b->end - b->begin > MOST_LEFT_OUT;

    (lines ? page_put_lines : page_put_range)(p->to, p->r->doc->text, b->begin,
                                              cut ? b->begin + MOST_LEFT_OUT : b->end);
    if (cut)
        fputs("<i class=\"o\">[&hellip;]</i>", p->to);
}

static bool any_shown(const struct page *p, const struct place *at)
{
    for (int64_t i = at->sentence; i < at->end; i++) {
        if (p->shown[i])
            return true;
    }
    return false;
}

/* What has no sentences is shown between sentences that are. */
static bool neighbours_shown(const struct page *p, int64_t next)
{
    return (next == 0 || p->shown[next - 1]) && (next == p->r->doc->n || p->shown[next]);
}

static void put_block(const struct page *p, struct place *at)
{
    const struct block *const b = &p->r->reading->stream.blocks[at->block];
    const int64_t n = at->end - at->sentence;

    if (n > 0 ? !any_shown(p, at) : !neighbours_shown(p, at->sentence)) {
        at->gap += n;
        return;
    }
    open_block(p, at, b->kind);
    if (n > 0)
        put_sentences(p, at, b);
    else
        put_left_out(p, b);
    fputs(tags[b->kind].close, p->to);
}

/* The name of each of several files. */
static void put_file(const struct page *p, struct place *at)
{
    const struct inputs *const in = p->r->inputs;
    const int64_t file = inputs_file(in, p->r->reading->stream.blocks[at->block].begin);

    if (in->n < 2 || file == at->file)
        return;
    at->file = file;
    put_gap(p, at);
    close_list(p, at);
    fprintf(p->to, "<h2 id=\"f%lld\"><bdi>", (long long)file);
    page_put_name(p->to, in->list[file].name);
    fputs("</bdi></h2>\n", p->to);
}

void page_put_document(const struct page *p)
{
    const struct document *const doc = p->r->doc;
    const struct stream *const stream = &p->r->reading->stream;
    struct place at = { .segment = -1, .label = SIZE_MAX, .file = -1 };

    for (at.block = 0; at.block < stream->n; at.block++) {
        at.end = at.sentence;
        while (at.end < doc->n && doc->sentences[at.end].begin < stream->blocks[at.block].end)
            at.end++;
        while (p->headed && at.part < p->n_parts &&
               p->parts[at.part].block < at.block)
            at.part++;
        put_file(p, &at);
        put_block(p, &at);
        at.sentence = at.end;
    }
    put_gap(p, &at);
    close_list(p, &at);
}
