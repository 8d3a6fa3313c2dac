/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Text in pages, as pdftotext makes it: a form feed between pages, running heads and feet, page
 * numbers, words broken by hyphens, paragraphs that go on over a page. A line that stands, but for
 * its digits, at the edge of two pages or more is a running head or foot.
 */
#include "read.h"

#include <stdlib.h>
#include <string.h>

enum {
    EDGE = 2,                              /* lines at each end of a page */
    LEAST_PAGES = 2,
    FULL_LINE = 40                         /* bytes of a line that no heading has */
};

struct page {
    uint64_t edge[2 * EDGE];               /* of the first lines, then of the last, backwards */
    int64_t lines;                         /* not blank */
};

struct pages {
    struct page *list;
    int64_t n, capacity;
    uint64_t *edges;                       /* of all pages, sorted */
    int64_t n_edges;
};

/* Equal for lines that differ in digits and white space only. */
static uint64_t likeness(const char *begin, const char *end)
{
    uint64_t key = 1;
    bool digit = false;
    size_t taken;

    for (const char *c = begin; c < end; c += taken) {
        const uint32_t code = utf8_next(c, end, &taken);
        const bool is_digit = code >= '0' && code <= '9';

        if (!utf8_is_space(code) && !(is_digit && digit))
            key = word_mix(key + (is_digit ? '0' : code));
        digit = is_digit;
    }
    return key;
}

static bool pages_grow(struct pages *p)
{
    const int64_t capacity = p->capacity ? p->capacity * 2 : 64;
    struct page *const grown =
        p->n < p->capacity ? p->list : realloc(p->list, (size_t)capacity * sizeof(*grown));

    if (!grown)
        return false;
    if (p->n == p->capacity)
        p->capacity = capacity;
    p->list = grown;
    p->list[p->n++] = (struct page){ .lines = 0 };
    return true;
}

static void note_line(struct page *page, uint64_t key)
{
    if (page->lines < EDGE)
        page->edge[page->lines] = key;
    for (int i = EDGE - 1; i > 0; i--)
        page->edge[EDGE + i] = page->edge[EDGE + i - 1];
    page->edge[EDGE] = key;
    page->lines++;
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Each page counts once for a line that is at both its ends. */
static bool survey(struct pages *p, struct page_lines *lines)
{
    struct page_line line;

    while (lines->next(lines, &line)) {
        if (line.page && !pages_grow(p))
            return false;
        note_line(&p->list[p->n - 1], likeness(line.begin, line.end));
    }
    lines->at = 0;
    p->edges = malloc((size_t)(2 * EDGE * p->n + 1) * sizeof(*p->edges));
    if (!p->edges)
        return false;
    for (int64_t i = 0; i < p->n; i++) {
        const struct page *const page = &p->list[i];

        for (int k = 0; k < 2 * EDGE; k++) {
            bool first = page->edge[k] != 0;

            for (int j = 0; j < k; j++)
                first = first && page->edge[j] != page->edge[k];
            if (first)
                p->edges[p->n_edges++] = page->edge[k];
        }
    }
    qsort(p->edges, (size_t)p->n_edges, sizeof(*p->edges), compare);
    return true;
}

static bool is_running(const struct pages *p, uint64_t key)
{
    int64_t low = 0, high = p->n_edges;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (p->edges[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low + LEAST_PAGES <= p->n_edges && p->edges[low + LEAST_PAGES - 1] == key;
}

/* Whether the open paragraph goes on with this line of the next page. */
static bool goes_on(const struct prose *p, const char *begin, const char *end)
{
    const struct stream *const s = p->stream;
    const char *const first = line_skip_space(begin, end);
    size_t taken;

    return s->open && !s->failed && p->lines > 0 &&
           !line_ends_sentence(s->text + p->last, s->text + s->size) &&
           (s->size - p->last >= FULL_LINE || utf8_is_lower(utf8_next(first, end, &taken)));
}

void pages_put(struct stream *stream, struct page_lines *lines)
{
    struct prose prose = {
        .stream = stream, .base = lines->base, .gap = 3,
        .flags = PROSE_HYPHENS | lines->flags
    };
    struct page_line line;
    struct pages pages = { .n = 0 };
    int64_t page = -1, at = 0;
    bool turned = false, gap = false;

    stream->failed = !survey(&pages, lines);
    while (!stream->failed && lines->next(lines, &line)) {
        if (line.page) {
            page++;
            at = 0;
        }
        turned = turned || line.page || line.column;
        gap = gap || line.gap;
        at++;
        if ((at <= EDGE || at > pages.list[page].lines - EDGE) &&
            (line_is_page_number(line.begin, line.end) ||
             is_running(&pages, likeness(line.begin, line.end))))
            continue;
        if (turned ? !goes_on(&prose, line.begin, line.end) : gap)
            prose_end(&prose);
        turned = gap = false;
        if (line.kind == BLOCK_PARAGRAPH)
            prose_line(&prose, line.begin, line.end);
        else
            prose_put(&prose, line.kind, line.begin, line.end);
    }
    prose_end(&prose);
    free(pages.list);
    free(pages.edges);
}

/* Lines of a text with form feeds. */
static bool next_line(struct page_lines *lines, struct page_line *to)
{
    const struct source *const source = lines->from;
    const char *const end = source->text + source->size;
    struct line line = { .next = source->text + lines->at };

    *to = (struct page_line){ .page = lines->at == 0 || line.next[-1] == '\f' };
    while (line.next < end) {
        line = line_at(line.next, end);
        lines->at = (size_t)(line.next - source->text);
        if (!line_is_blank(line.begin, line.end)) {
            to->begin = line.begin;
            to->end = line.end;
            return true;
        }
        to->gap = true;
        to->page = to->page || line.page;
    }
    return false;
}

void pages_read(struct stream *stream, const struct source *source)
{
    pages_put(stream, &(struct page_lines){
        .next = next_line, .from = source, .base = source->text
    });
}

int pages_looks_like(const struct source *source)
{
    const char *const feed = memchr(source->text, '\f', source->size);

    return feed && feed + 1 < source->text + source->size ? 1 : 0;
}
