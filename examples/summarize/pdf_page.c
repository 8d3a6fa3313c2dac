/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Characters of a page, with their places, to lines: cells of a table that are beside each other
 * are one line, marks of notes within text go, and what stands apart at the head or the foot of a
 * page is its first and last line.
 */
#include "pdf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef SUMMARIZE_POPPLER

/* Gaps, in sizes of the text: what may be one between columns of text, and what is one between
 * those of a table. */
#define COLUMN_GAP 0.9F
#define TABLE_GAP  2.0F

enum { MOST_LINES = 4096, BINS = 512, LEAST_LINES = 3, LEAST_SIZES = 6, DEEPEST_COLUMNS = 3 };

/* ---- keeping ------------------------------------------------------------ */

void pdf_fail(struct pdf *p)
{
    stream_refuse(p->stream, "it needs more memory than such a file may");
}

/* Room for so many bytes more; false: memory is short. */
static bool reserve(struct pdf *p, size_t size)
{
    if (p->capacity - p->size < size) {
        const size_t capacity = p->size + size + p->size / 2 + 4096;
        char *const grown = realloc(p->text, capacity);

        if (!grown) {
            pdf_fail(p);
            return false;
        }
        p->text = grown;
        p->capacity = capacity;
    }
    return true;
}

static void keep(struct pdf *p, const char *bytes, size_t size)
{
    if (!reserve(p, size))
        return;
    memcpy(p->text + p->size, bytes, size);
    p->size += size;
}

static struct pdf_line *new_line(struct pdf *p)
{
    if (p->n == p->line_capacity) {
        const int64_t capacity = p->line_capacity ? p->line_capacity * 2 : 256;
        struct pdf_line *const grown = realloc(p->lines, (size_t)capacity * sizeof(*grown));

        if (!grown) {
            pdf_fail(p);
            return NULL;
        }
        p->lines = grown;
        p->line_capacity = capacity;
    }
    p->lines[p->n] = (struct pdf_line){ .begin = p->size, .kind = BLOCK_PARAGRAPH };
    return &p->lines[p->n++];
}

/* ---- lines ----------------------------------------------------------- */

/* The digits, stars and daggers of notes, raised and small behind a word. */
static bool is_note_mark(const struct pdf_work *w, const struct pdf_glyph *g)
{
    return w->size > 0 && g->size < 0.8F * w->size && (w->mark || w->letters > 2) &&
           g->bottom < w->bottom - 0.05F * w->size &&
           ((g->code >= '0' && g->code <= '9') || g->code == '*' || g->code == ',' ||
            g->code == 0x2020 || g->code == 0x2021);
}

static void keep_code(struct pdf *p, uint32_t code)
{
    static const char *const joined[] = { "ff", "fi", "fl", "ffi", "ffl", "st", "st" };
    char utf8[4];

    if (code >= 0xFB00 && code <= 0xFB06)
        keep(p, joined[code - 0xFB00], strlen(joined[code - 0xFB00]));
    else if (code == 0xF0B7 || code == 0xF0A7)     /* the list marks of symbol fonts */
        keep(p, "\xE2\x80\xA2", 3);
    else
        keep(p, utf8, utf8_put(code, utf8));
}

static void measure(struct pdf_work *w, const struct pdf_glyph *g)
{
    struct pdf_line *const l = w->line;

    l->left = l->letters == 0 || g->left < l->left ? g->left : l->left;
    l->top = l->letters == 0 || g->top < l->top ? g->top : l->top;
    l->right = l->letters == 0 || g->right > l->right ? g->right : l->right;
    l->bottom = l->letters == 0 || g->bottom > l->bottom ? g->bottom : l->bottom;
    l->letters++;
    l->bold += g->bold;
    l->mono += g->mono;
    l->math += g->math;
    /* The size of most characters, by the vote of Boyer and Moore. */
    if (fabsf(g->size - l->size) < 0.01F) {
        w->of_most++;
    } else if (--w->of_most < 0) {
        l->size = g->size;
        w->of_most = 1;
    }
    w->size = g->size;
    w->bottom = g->bottom;
}

static void put_glyph(struct pdf *p, const struct pdf_glyph *g)
{
    struct pdf_work *const w = &p->work;

    if (utf8_is_space(g->code)) {
        keep(p, " ", 1);
        w->letters = 0;
        return;
    }
    if (is_note_mark(w, g))
        return;
    if (w->line->letters > 0 && g->left - w->line->right > 0.5F * w->line->size &&
        p->text[p->size - 1] != ' ')
        keep(p, " ", 1);                   /* Poppler has none in so wide a gap */
    keep_code(p, g->code);
    measure(w, g);
    w->letters = utf8_is_lower(g->code) || utf8_is_upper(g->code) ? w->letters + 1 : 0;
    w->mark = g->code < 0x80 ? strchr(".,;:!?)\"'", (int)g->code) != NULL
                             : g->code == 0x201D || g->code == 0x2019;
}

/* A line upright at the side, as on the first page of preprints, says nothing. */
static bool is_upright(const struct pdf_line *l)
{
    return l->letters > 3 && l->bottom - l->top > 2 * (l->right - l->left);
}

static void end_line(struct pdf *p)
{
    struct pdf_line *const l = p->work.line;

    p->work.line = NULL;
    if (p->stream->failed || !l)
        return;
    while (p->size > l->begin && p->text[p->size - 1] == ' ')
        p->size--;
    if (p->size - l->begin >= 2 && memcmp(p->text + p->size - 2, "\xC2\xAD", 2) == 0) {
        p->text[p->size - 2] = '-';        /* where it is soft, a line ends nowhere else */
        p->size--;
    }
    l->end = p->size;
    if (l->letters == 0 || is_upright(l)) {
        p->size = l->begin;
        p->n--;
    }
}

void pdf_glyph(struct pdf *p, const struct pdf_glyph *g)
{
    struct pdf_work *const w = &p->work;

    if (g->code == '\n') {
        end_line(p);
        return;
    }
    /* Text in another column may be on the same line. */
    if (w->line && w->line->letters > 0 && !utf8_is_space(g->code) &&
        g->left - w->line->right > COLUMN_GAP * w->line->size)
        end_line(p);
    if (!w->line) {
        *w = (struct pdf_work){ .page = w->page, .first = w->first };
        w->line = new_line(p);
        if (!w->line)
            return;
        w->line->page = w->page;
    }
    put_glyph(p, g);
}

/* ---- heads and feet of a page ------------------------------------------- */

/* Whether a line is as high, or as low, as the outermost one of its page. */
static bool at_edge(const struct pdf_line *l, const struct pdf_line *edge, bool bottom)
{
    return bottom ? l->bottom >= edge->bottom - 0.7F * edge->size
                  : l->top <= edge->top + 0.7F * edge->size;
}

/* Moves the lines at one height with the topmost one to the front of a page, or with the lowest one
 * to its end, where the others are further away than lines of a paragraph are. */
static void sort_edge(struct pdf_line *lines, int64_t n, bool bottom, struct pdf_line *room)
{
    struct pdf_line edge = lines[0];
    float nearest = INFINITY;
    int64_t used = 0;

    for (int64_t i = 1; i < n; i++) {
        if (bottom ? lines[i].bottom > edge.bottom : lines[i].top < edge.top)
            edge = lines[i];
    }
    for (int64_t i = 0; i < n; i++) {
        const float step = bottom ? edge.bottom - lines[i].bottom : lines[i].top - edge.top;

        if (!at_edge(&lines[i], &edge, bottom) && step < nearest)
            nearest = step;
    }
    if (nearest < 1.6F * edge.size)
        return;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < n; i++) {
            if (at_edge(&lines[i], &edge, bottom) == (bottom == (pass == 1)))
                room[used++] = lines[i];
        }
    }
    memcpy(lines, room, (size_t)n * sizeof(*lines));
}

/* ---- columns ------------------------------------------------------------ */

struct gutter {
    float at;                      /* between two columns */
    float left, right;             /* the outermost of the lines */
};

/* The widest range that hardly any line covers, in the middle of where they are; false: none. */
static bool find_gutter(const struct pdf_line *lines, int64_t n, struct gutter *g)
{
    int cover[BINS] = { 0 }, run = 0, best = 0, best_end = 0;
    float step, size = 0;

    g->left = INFINITY;
    g->right = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        g->left = fminf(g->left, lines[i].left);
        g->right = fmaxf(g->right, lines[i].right);
        size += lines[i].size / (float)n;
    }
    step = (g->right - g->left) / BINS;
    if (!(step > 0))
        return false;
    for (int64_t i = 0; i < n; i++) {
        const int to = (int)((lines[i].right - g->left) / step);

        for (int k = (int)((lines[i].left - g->left) / step); k <= to && k < BINS; k++)
            cover[k]++;
    }
    for (int k = BINS / 5; k < BINS * 4 / 5; k++) {
        run = cover[k] * 10 <= n ? run + 1 : 0;
        if (run > best) {
            best = run;
            best_end = k;
        }
    }
    g->at = g->left + step * ((float)best_end - (float)best / 2 + 0.5F);
    return (float)best * step > 0.7F * size;
}

/* -1, 1: beside the gutter; 0: across it. */
static int side(const struct pdf_line *l, float gutter)
{
    return l->right <= gutter ? -1 : l->left >= gutter ? 1 : 0;
}

static bool same_height(const struct pdf_line *a, const struct pdf_line *b)
{
    return fabsf(a->bottom - b->bottom) < 0.3F * a->size;
}

/* Whether the lines of a side are text and no cells of a table: they fill most of its width. */
static bool is_text(const struct pdf_line *lines, int64_t n, const struct gutter *g, int which)
{
    const float width = which < 0 ? g->at - g->left : g->right - g->at;
    const struct pdf_line *last = NULL;
    float count = 0, filled = 0, sizes = 0;

    for (int64_t i = 0; i < n; i++) {
        const struct pdf_line *const l = &lines[i];

        if (side(l, g->at) != which)
            continue;
        if (last && same_height(last, l) && l->left > last->right) {
            filled += l->right - last->right;      /* a piece of the line before */
        } else {
            filled += l->right - l->left;
            sizes += l->size;
            count++;
        }
        last = l;
    }
    return count >= LEAST_LINES && filled >= LEAST_SIZES * sizes && filled >= 0.5F * width * count;
}

/* Lines across the gutter part a page in bands. Within each, what is left comes before what is
 * right; beyond that the order of Poppler stays. */
static void sort_columns(struct pdf_line *lines, int64_t n, struct pdf_line *room, int depth)
{
    struct gutter g;
    int64_t used = 0, most = 0;

    if (n < 2 * LEAST_LINES || n > MOST_LINES || depth == 0 || !find_gutter(lines, n, &g) ||
        !is_text(lines, n, &g, -1) || !is_text(lines, n, &g, 1))
        return;
    for (int64_t i = 0; i < n; i++) {
        const int where = side(&lines[i], g.at);
        int32_t above = 0;

        for (int64_t k = 0; k < n; k++)
            above += side(&lines[k], g.at) == 0 && lines[k].top < lines[i].top;
        lines[i].order = 3 * above + (where < 0 ? 0 : where > 0 ? 1 : 2);
        most = lines[i].order > most ? lines[i].order : most;
    }
    for (int64_t order = 0; order <= most; order++) {
        const int64_t first = used;

        for (int64_t i = 0; i < n; i++) {
            if (lines[i].order == order)
                room[used++] = lines[i];
        }
        if (order % 3 < 2)
            sort_columns(room + first, used - first, room + n, depth - 1);
    }
    memcpy(lines, room, (size_t)n * sizeof(*lines));
}

/* ---- lines of tables ---------------------------------------------------- */

/* Whether a line goes on, behind a gap, with the last one. */
static bool is_beside(const struct pdf_line *last, const struct pdf_line *l)
{
    return same_height(last, l) && l->left > last->right;
}

static void append(struct pdf *p, struct pdf_line *last, const struct pdf_line *l)
{
    const size_t begin = p->size, own = last->end - last->begin, more = l->end - l->begin;
    const bool wide = l->left - last->right > TABLE_GAP * last->size;

    if (!reserve(p, own + 3 + more))
        return;
    if (begin != last->end) {              /* else its text is the last one, and grows */
        keep(p, p->text + last->begin, own);
        last->begin = begin;
    }
    keep(p, "   ", wide ? 3 : 1);
    keep(p, p->text + l->begin, more);
    last->end = p->size;
    last->right = l->right;
    last->letters += l->letters;
    last->bold += l->bold;
    last->mono += l->mono;
    last->math += l->math;
}

static void join_lines(struct pdf *p)
{
    int64_t n = p->work.first;

    for (int64_t i = n; i < p->n && !p->stream->failed; i++) {
        if (n > p->work.first && is_beside(&p->lines[n - 1], &p->lines[i]))
            append(p, &p->lines[n - 1], &p->lines[i]);
        else
            p->lines[n++] = p->lines[i];
    }
    p->n = p->stream->failed ? p->n : n;
}

void pdf_page_begin(struct pdf *p, int32_t number)
{
    p->work = (struct pdf_work){ .page = number, .first = p->n };
}

void pdf_page_end(struct pdf *p)
{
    const int64_t first = p->work.first;
    struct pdf_line *room;

    end_line(p);
    if (p->n == first || p->stream->failed)
        return;
    room = malloc((size_t)(p->n - first) * DEEPEST_COLUMNS * sizeof(*room));
    if (!room) {
        pdf_fail(p);
        return;
    }
    sort_columns(p->lines + first, p->n - first, room, DEEPEST_COLUMNS);
    join_lines(p);
    for (int bottom = 0; bottom < 2; bottom++)
        sort_edge(p->lines + first, p->n - first, bottom == 1, room);
    free(room);
}

#endif
