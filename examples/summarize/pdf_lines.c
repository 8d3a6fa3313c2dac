/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the lines of a PDF are, by how they are set. The size that most text has is the body's.
 * Larger or bold lines alone, and those that the outline names, are headings; small ones at the
 * foot of a column are notes; other fonts tell code and formulas.
 */
#include "pdf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef SUMMARIZE_POPPLER

enum {
    SIZES = 400,                   /* sizes of fonts that are told apart: quarters of a point */
    HEADING_WORDS = 20, BOLD_WORDS = 12,
    LEADER_DOTS = 5
};

/* ---- what most of it is like -------------------------------------------- */

static void find_body(struct pdf *p)
{
    int64_t of[SIZES] = { 0 }, all = 0, mono = 0, bold = 0, best = 0;

    for (int64_t i = 0; i < p->n; i++) {
        const struct pdf_line *const l = &p->lines[i];
        const int64_t size = (int64_t)(l->size * 4 + 0.5F);

        of[size < SIZES ? size : SIZES - 1] += l->letters;
        all += l->letters;
        mono += l->mono;
        bold += l->bold;
    }
    for (int64_t i = 1; i < SIZES; i++)
        best = of[i] > of[best] ? i : best;
    p->body = (float)best / 4;
    p->mono = mono * 2 > all;
    p->fonts_tell = of[best] * 5 >= all * 2 && bold * 3 < all;
}

/* The distance of most lines of the body from the one above, in sizes. */
static void find_pitch(struct pdf *p)
{
    int64_t of[100] = { 0 }, best = 0;     /* hundredths from 0.9 on, in steps of two */

    for (int64_t i = 1; i < p->n; i++) {
        const struct pdf_line *const l = &p->lines[i], *const last = l - 1;
        const float step = l->size > 0 ? ((l->bottom - last->bottom) / l->size - 0.9F) * 50 : -1;

        if (l->page == last->page && fabsf(l->size - p->body) < 0.3F && step >= 0 && step < 100)
            of[(int)step]++;
    }
    for (int64_t i = 1; i < 100; i++)
        best = of[i] > of[best] ? i : best;
    for (int64_t i = best - 1; i >= 0; i--)
        best = of[i] * 3 > of[best] ? i : best;    /* many paragraphs may have one line */
    p->pitch = of[best] > 0 ? 0.91F + (float)best / 50 : 1.2F;
}

/* ---- what a line is ----------------------------------------------------- */

static bool same_size(float a, float b)
{
    return fabsf(a - b) < 0.07F * (a > b ? a : b);
}

static bool ends_sentence(const struct pdf *p, const struct pdf_line *l)
{
    return line_ends_sentence(p->text + l->begin, p->text + l->end);
}

/* Whether the first word of l would have had room at the end of the line before it. */
static bool had_room(const struct pdf *p, const struct pdf_line *last, const struct pdf_line *l,
                     float right)
{
    const char *const begin = p->text + l->begin;
    const size_t size = l->end - l->begin;
    const char *const space = memchr(begin, ' ', size);
    const float share = (float)(space ? (size_t)(space - begin) : size) / (float)size;

    return last->right + (l->right - l->left) * share + 0.5F * l->size < right;
}

/* Whether a paragraph may end before line i, which has one before it in its column. */
static bool is_gap(const struct pdf *p, int64_t i, float right)
{
    const struct pdf_line *const l = &p->lines[i], *const last = l - 1;
    const struct pdf_line *const next = i + 1 < p->n && l[1].page == l->page ? l + 1 : NULL;

    if (!same_size(l->size, last->size) ||
        l->bottom - last->bottom > (p->pitch + 0.3F) * l->size)
        return true;
    if (!ends_sentence(p, last))
        return false;
    return had_room(p, last, l, right) ||
           (l->left > last->left + 0.8F * l->size &&
            (!next || next->left < l->left - 0.8F * l->size));
}

/* The right end of the column that begins with line i. */
static float column_right(const struct pdf *p, int64_t i)
{
    float right = p->lines[i].right;

    for (i++; i < p->n && p->lines[i].page == p->lines[i - 1].page && !p->lines[i].column; i++)
        right = p->lines[i].right > right ? p->lines[i].right : right;
    return right;
}

static void find_gaps(struct pdf *p)
{
    float right = 0;

    for (int64_t i = 1; i < p->n; i++) {
        struct pdf_line *const l = &p->lines[i];

        l->column = l->page == l[-1].page && l->bottom < l[-1].bottom - 0.5F * l->size;
    }
    for (int64_t i = 0; i < p->n; i++) {
        struct pdf_line *const l = &p->lines[i];
        const bool first = i == 0 || l[-1].page != l->page;

        if (first || l->column)
            right = column_right(p, i);
        l->gap = first || (!l->column && is_gap(p, i, right));
    }
}

/* The line behind i that goes on with its block; NULL: there is none. */
static const struct pdf_line *behind(const struct pdf *p, int64_t i)
{
    const struct pdf_line *const next = &p->lines[i + 1];

    return i + 1 < p->n && next->page == next[-1].page && !next->column && !next->gap ? next : NULL;
}

static bool is_bold(const struct pdf_line *l)
{
    return l->bold * 10 >= l->letters * 9;
}

static bool is_heading(const struct pdf *p, int64_t i)
{
    const struct pdf_line *const l = &p->lines[i], *const next = behind(p, i);
    const char *const begin = p->text + l->begin, *const end = p->text + l->end;
    const int64_t words = line_words(begin, end, HEADING_WORDS + 1);
    const bool apart = l->gap || l->column;

    if (words > HEADING_WORDS || line_is_contents(begin, end))
        return false;
    if (pdf_is_title(p, l) && (apart || !ends_sentence(p, l - 1)))
        return !next || !same_size(next->size, l->size) || next->bold * 2 < next->letters;
    if (!p->fonts_tell || l->letters < 2)
        return false;
    if (l->size > 1.12F * p->body)
        return true;
    return apart && words <= BOLD_WORDS && is_bold(l) && l->size > 0.85F * p->body &&
           !line_ends_sentence(begin, end) && (!next || is_bold(next));
}

/* "Figure 3: ...", "Table 2. ..." */
static bool is_caption(const struct pdf *p, const struct pdf_line *l)
{
    static const char *const words[] = {
        "figure", "fig.", "table", "listing", "algorithm", "abbildung", "abb.", "tabelle",
        "tableau", "figura", "tabla", "tabella", "tabela", "afbeelding", "tabel", "рис.", "таблица"
    };
    const char *const begin = p->text + l->begin, *const end = p->text + l->end;

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        const size_t length = strlen(words[i]);
        const char *c = begin + length;

        if ((size_t)(end - begin) < length + 3 || !line_same(begin, words[i], length))
            continue;
        c = line_skip_space(c, end);
        if (c == end || *c < '0' || *c > '9')
            return false;
        while (c < end && ((*c >= '0' && *c <= '9') || (*c == '.' && c + 1 < end && c[1] > ' ')))
            c++;
        return c < end && (*c == ':' || *c == '.');
    }
    return false;
}

/* Of contents: dots that lead to the number of a page, which may be a line of its own. */
static bool has_leader(const struct pdf *p, const struct pdf_line *l)
{
    int dots = 0;

    for (size_t i = l->begin; i < l->end && dots < LEADER_DOTS; i++)
        dots = p->text[i] == '.' ? dots + 1 : p->text[i] == ' ' ? dots : 0;
    return dots >= LEADER_DOTS;
}

static bool is_code(const struct pdf *p, const struct pdf_line *l)
{
    return !p->mono && l->mono * 10 >= l->letters * 8;
}

/* Of a formula that stands apart, or a piece of one. */
static bool is_formula(const struct pdf_line *l)
{
    return l->math * 2 >= l->letters || (l->math > 0 && l->letters < 4);
}

/* Small lines from i on, below the others of their column, whose first has the sign of a note:
 * returns how many; 0: they are none. */
static int64_t notes_at(const struct pdf *p, int64_t i)
{
    const struct pdf_line *const l = &p->lines[i];
    const char first = p->text[l->begin];
    int64_t n = 0;

    if (i == 0 || l[-1].page != l->page || l->column || l[-1].size <= l->size * 1.05F ||
        l->size > 0.93F * p->body ||
        !((first >= '0' && first <= '9') || first == '*' || first == '\xE2'))
        return 0;
    while (i + n < p->n && l[n].page == l->page && (n == 0 || !l[n].column) &&
           l[n].size <= 0.93F * p->body)
        n++;
    /* The foot of the page may follow. */
    if (i + n < p->n && l[n].page == l->page && !l[n].column &&
        i + n + 1 < p->n && l[n + 1].page == l->page && !l[n + 1].column)
        return 0;
    return n;
}

static void find_kinds(struct pdf *p)
{
    bool caption = false;

    for (int64_t i = 0; i < p->n; i++) {
        struct pdf_line *const l = &p->lines[i];
        int64_t notes = notes_at(p, i);

        if (l->gap || l->column)
            caption = is_caption(p, l);
        if (notes > 0) {
            for (; notes > 0; notes--)
                p->lines[i++].note = true;
            i--;
        } else if (is_heading(p, i)) {
            l->kind = BLOCK_HEADING;
        } else if (caption || has_leader(p, l)) {
            l->kind = BLOCK_FURNITURE;
        } else if (is_code(p, l) || is_formula(l)) {
            l->kind = BLOCK_CODE;
        }
    }
}

static bool next_line(struct page_lines *lines, struct page_line *to)
{
    const struct pdf *const p = lines->from;
    const int64_t before = (int64_t)lines->at - 1;
    int64_t i = before + 1;
    const struct pdf_line *l;

    while (i < p->n && p->lines[i].note)
        i++;
    lines->at = (size_t)i + 1;
    if (i >= p->n)
        return false;
    l = &p->lines[i];
    *to = (struct page_line){
        .begin = p->text + l->begin, .end = p->text + l->end, .column = l->column || i > before + 1,
        .page = before < 0 || p->lines[before].page != l->page, .gap = l->gap,
        .kind = (enum block_kind)l->kind
    };
    return true;
}

static void put_notes(struct pdf *p)
{
    for (int64_t i = 0; i < p->n && !p->stream->failed; i++) {
        const struct pdf_line *const l = &p->lines[i];

        if (!l->note)
            continue;
        if (i == 0 || !l[-1].note || l->gap || l[-1].page != l->page)
            stream_open(p->stream, BLOCK_FURNITURE);
        stream_space(p->stream, p->stream->size);
        stream_put(p->stream, p->text + l->begin, l->end - l->begin, p->stream->size);
    }
    stream_close(p->stream);
}

void pdf_put(struct pdf *p)
{
    find_body(p);
    find_pitch(p);
    find_gaps(p);
    find_kinds(p);
    pages_put(p->stream, &(struct page_lines){
        .next = next_line, .from = p, .base = p->text,
        .flags = p->fonts_tell ? PROSE_NO_HEADINGS : 0
    });
    put_notes(p);
}

#endif
