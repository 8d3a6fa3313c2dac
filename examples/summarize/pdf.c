/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * PDF, by Poppler, which gives the text of a page in the order of reading, with the place and the
 * font of every character. Lines are made of that, and what they are is seen by how they are set:
 * the size that most text has is the body's; larger or bold lines alone, and those that the outline
 * names, are headings; small ones at the foot of a column are notes; other fonts tell code and
 * formulas. pages.c makes paragraphs of the lines, over pages and columns.
 */
#include "read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef SUMMARIZE_POPPLER

#include <poppler.h>

enum {
    MOST_PAGES = 100000,
    MOST_TITLES = 1 << 16, DEEPEST_OUTLINE = 16,
    SIZES = 400,                   /* sizes of fonts that are told apart: quarters of a point */
    HEADING_WORDS = 20, BOLD_WORDS = 12
};

struct pdf_line {
    size_t begin, end;             /* of the text */
    float left, top, right, bottom, size;
    int32_t page;
    int32_t letters, bold, mono, math;     /* characters, without spaces; of them in such fonts */
    int8_t kind;                   /* a block_kind */
    bool column, gap, note;
};

struct pdf {
    struct stream *stream;
    char *text;
    size_t size, capacity;
    struct pdf_line *lines;
    int64_t n, line_capacity;
    uint64_t *titles;              /* of the outline, sorted: title_key() */
    int64_t n_titles;
    float body, pitch;             /* size of most text; lines of a paragraph, in sizes */
    bool fonts_tell, mono;         /* headings by fonts; the body is of a typewriter */
};

const char *pdf_library(void)
{
    static char text[64];

    snprintf(text, sizeof(text), "Poppler %s", poppler_get_version());
    return text;
}

/* ---- keeping ---------------------------------------------------------------------------------- */

static void fail(struct pdf *p)
{
    stream_refuse(p->stream, "it needs more memory than such a file may");
}

static void keep(struct pdf *p, const char *bytes, size_t size)
{
    if (p->capacity - p->size < size) {
        const size_t capacity = p->size + size + p->size / 2 + 4096;
        char *const grown = realloc(p->text, capacity);

        if (!grown) {
            fail(p);
            return;
        }
        p->text = grown;
        p->capacity = capacity;
    }
    memcpy(p->text + p->size, bytes, size);
    p->size += size;
}

static struct pdf_line *new_line(struct pdf *p)
{
    if (p->n == p->line_capacity) {
        const int64_t capacity = p->line_capacity ? p->line_capacity * 2 : 256;
        struct pdf_line *const grown = realloc(p->lines, (size_t)capacity * sizeof(*grown));

        if (!grown) {
            fail(p);
            return NULL;
        }
        p->lines = grown;
        p->line_capacity = capacity;
    }
    p->lines[p->n] = (struct pdf_line){ .begin = p->size, .kind = BLOCK_PARAGRAPH };
    return &p->lines[p->n++];
}

/* ---- fonts ---------------------------------------------------------------------------------------- */

static bool names(const char *font, const char *const *words)
{
    for (; font && *words; words++) {
        if (line_has(font, font + strlen(font), *words))
            return true;
    }
    return false;
}

static bool is_bold(const char *font)
{
    static const char *const words[] = {
        "bold", "black", "heavy", "demi", "cmbx", "cmssbx", "sfbx", "medi", NULL
    };

    return names(font, words);
}

static bool is_mono(const char *font)
{
    static const char *const words[] = {
        "mono", "courier", "typewriter", "cmtt", "cmsltt", "sftt", "consol", "menlo", "nimbusmon",
        "fixed", "inconsolata", NULL
    };

    return names(font, words);
}

static bool is_math(const char *font)
{
    static const char *const words[] = {
        "cmmi", "cmsy", "cmex", "msam", "msbm", "math", "symbol", "mtmi", "mtsy", "mtex", NULL
    };

    return names(font, words);
}

/* ---- one page ---------------------------------------------------------------------------------------- */

struct glyph {
    uint32_t code;
    const PopplerRectangle *box;
    double size;
    bool bold, mono, math;
};

/* What is known of the line at work. */
struct line_work {
    struct pdf_line *line;
    double sizes[2];               /* of the last character that is no mark of a note; of most */
    int32_t of_most;
    double bottom;                 /* of that character */
    int letters;                   /* at the end of the line so far */
    bool mark;                     /* it ends with a mark that ends sentences or their parts */
};

/* The digits, stars and daggers of notes, raised and small behind a word. */
static bool is_note_mark(const struct line_work *w, const struct glyph *g)
{
    return w->sizes[0] > 0 && g->size < 0.8 * w->sizes[0] && (w->mark || w->letters > 2) &&
           g->box->y2 < w->bottom - 0.05 * w->sizes[0] &&
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

static void measure(struct line_work *w, const struct glyph *g)
{
    struct pdf_line *const l = w->line;

    if (l->letters == 0 || g->box->x1 < (double)l->left)
        l->left = (float)g->box->x1;
    if (l->letters == 0 || g->box->y1 < (double)l->top)
        l->top = (float)g->box->y1;
    if (l->letters == 0 || g->box->x2 > (double)l->right)
        l->right = (float)g->box->x2;
    if (l->letters == 0 || g->box->y2 > (double)l->bottom)
        l->bottom = (float)g->box->y2;
    l->letters++;
    l->bold += g->bold;
    l->mono += g->mono;
    l->math += g->math;
    /* The size of most characters, by the vote of Boyer and Moore. */
    if (fabs(g->size - w->sizes[1]) < 0.01) {
        w->of_most++;
    } else if (--w->of_most < 0) {
        w->sizes[1] = g->size;
        w->of_most = 1;
    }
    l->size = (float)w->sizes[1];
    w->sizes[0] = g->size;
    w->bottom = g->box->y2;
}

static void put_glyph(struct pdf *p, struct line_work *w, const struct glyph *g)
{
    const bool space = utf8_is_space(g->code);

    if (space) {
        const bool wide = w->sizes[0] > 0 && g->box->x2 - g->box->x1 > 1.5 * w->sizes[0];

        keep(p, "   ", wide ? 3 : 1);
        w->letters = 0;
        return;
    }
    if (is_note_mark(w, g))
        return;
    keep_code(p, g->code);
    measure(w, g);
    w->letters = utf8_is_lower(g->code) || utf8_is_upper(g->code) ? w->letters + 1 : 0;
    w->mark = g->code < 0x80 ? strchr(".,;:!?)\"'", (int)g->code) != NULL
                             : g->code == 0x201D || g->code == 0x2019;
}

/* A line upright at the side, as on the first page of preprints, says nothing. */
static bool is_upright(const struct pdf_line *l)
{
    return l->letters > 3 && (double)(l->bottom - l->top) > 2.0 * (double)(l->right - l->left);
}

/* Whether a line goes on, behind a gap, with the last one: cells of a table. */
static bool is_beside(const struct pdf_line *last, const struct pdf_line *l)
{
    return last->page == l->page && fabsf(l->bottom - last->bottom) < 0.3F * last->size &&
           l->left > last->right;
}

static void end_line(struct pdf *p, struct line_work *w)
{
    struct pdf_line *const l = w->line;
    struct pdf_line *const last = p->n > 1 ? l - 1 : NULL;

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
    } else if (last && is_beside(last, l)) {
        last->right = l->right;
        last->end = l->end;
        last->letters += l->letters;
        last->bold += l->bold;
        last->mono += l->mono;
        last->math += l->math;
        p->n--;
    }
}

/* The text and what belongs to it of one page. */
struct page_text {
    char *text;
    PopplerRectangle *boxes;
    guint n;
    GList *fonts;
};

static void read_lines(struct pdf *p, const struct page_text *t, int32_t page)
{
    struct line_work w = { .line = NULL };
    const GList *font = t->fonts;
    const char *at = t->text, *const end = at + strlen(at);
    struct glyph g = { .code = 0 };
    size_t taken;

    for (guint i = 0; at < end && i < t->n && !p->stream->failed; i++, at += taken) {
        const PopplerTextAttributes *a;

        g.code = utf8_next(at, end, &taken);
        g.box = &t->boxes[i];
        if (g.code == '\n') {
            end_line(p, &w);
            w.line = NULL;
            continue;
        }
        while (font && ((const PopplerTextAttributes *)font->data)->end_index < (gint)i) {
            font = font->next;
            g.size = 0;
        }
        a = font ? font->data : NULL;
        if (a && g.size <= 0) {
            g.size = a->font_size > 0 && a->font_size < 1000 ? a->font_size : 1;
            g.bold = is_bold(a->font_name);
            g.mono = is_mono(a->font_name);
            g.math = is_math(a->font_name);
        }
        if (!w.line) {
            w = (struct line_work){ .line = NULL };
            if (p->n > 0 && p->lines[p->n - 1].page == page)
                keep(p, "   ", 3);         /* in case the line goes on with the last one */
            w.line = new_line(p);
            if (!w.line)
                return;
            w.line->page = page;
        }
        put_glyph(p, &w, &g);
    }
    end_line(p, &w);
}

/* ---- heads and feet of a page -------------------------------------------------------------------------- */

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

static void read_page(struct pdf *p, PopplerPage *page, int32_t number)
{
    const int64_t first = p->n;
    struct page_text t = { .text = poppler_page_get_text(page) };
    struct pdf_line *room;

    if (t.text && poppler_page_get_text_layout(page, &t.boxes, &t.n)) {
        t.fonts = poppler_page_get_text_attributes(page);
        read_lines(p, &t, number);
        poppler_page_free_text_attributes(t.fonts);
        g_free(t.boxes);
    }
    g_free(t.text);
    room = malloc((size_t)(p->n - first + 1) * sizeof(*room));
    if (!room) {
        fail(p);
        return;
    }
    for (int bottom = 0; bottom < 2 && p->n > first; bottom++)
        sort_edge(p->lines + first, p->n - first, bottom == 1, room);
    free(room);
}

/* ---- the outline ------------------------------------------------------------------------------------------- */

/* Equal for titles whose letters are, in any case: numbers and signs do not count. */
static uint64_t title_key(const char *begin, const char *end)
{
    uint64_t key = 1;
    size_t taken;

    for (const char *c = begin; c < end; c += taken) {
        const uint32_t code = utf8_next(c, end, &taken);

        if (utf8_is_word(code) && !(code >= '0' && code <= '9'))
            key = word_mix(key + utf8_lower(code));
    }
    return key;
}

static void read_outline(struct pdf *p, PopplerIndexIter *iter, int depth)
{
    do {
        PopplerAction *const action = poppler_index_iter_get_action(iter);
        PopplerIndexIter *const child =
            depth < DEEPEST_OUTLINE ? poppler_index_iter_get_child(iter) : NULL;
        const char *const title = action ? action->any.title : NULL;

        if (title && *title && p->n_titles < MOST_TITLES)
            p->titles[p->n_titles++] = title_key(title, title + strlen(title));
        if (action)
            poppler_action_free(action);
        if (child) {
            read_outline(p, child, depth + 1);
            poppler_index_iter_free(child);
        }
    } while (p->n_titles < MOST_TITLES && poppler_index_iter_next(iter));
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void find_titles(struct pdf *p, PopplerDocument *doc)
{
    PopplerIndexIter *const iter = poppler_index_iter_new(doc);

    if (!iter)
        return;
    p->titles = malloc(MOST_TITLES * sizeof(*p->titles));
    if (p->titles)
        read_outline(p, iter, 0);
    else
        fail(p);
    poppler_index_iter_free(iter);
    if (p->n_titles > 0)
        qsort(p->titles, (size_t)p->n_titles, sizeof(*p->titles), compare);
}

static bool is_title(const struct pdf *p, const struct pdf_line *l)
{
    const uint64_t key = title_key(p->text + l->begin, p->text + l->end);

    return key != 1 && p->n_titles > 0 &&
           bsearch(&key, p->titles, (size_t)p->n_titles, sizeof(key), compare);
}

/* ---- what most of it is like ----------------------------------------------------------------------------- */

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
    p->pitch = of[best] > 0 ? 0.91F + (float)best / 50 : 1.2F;
}

/* ---- what a line is ----------------------------------------------------------------------------------------- */

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

static void find_gaps(struct pdf *p)
{
    float right = 0;

    for (int64_t i = 0; i < p->n; i++) {
        struct pdf_line *const l = &p->lines[i];
        const struct pdf_line *const last = i > 0 && l[-1].page == l->page ? l - 1 : NULL;

        if (!last)
            right = l->right;
        l->column = last && l->bottom < last->bottom - 0.5F * l->size;
        if (l->column)
            right = l->right;
        l->gap = !last || (!l->column && is_gap(p, i, l->right > right ? l->right : right));
        right = l->gap || l->right > right ? l->right : right;
    }
}

/* The line behind i that goes on with its block; NULL: there is none. */
static const struct pdf_line *behind(const struct pdf *p, int64_t i)
{
    const struct pdf_line *const next = &p->lines[i + 1];

    return i + 1 < p->n && next->page == next[-1].page && !next->column && !next->gap ? next : NULL;
}

static bool is_heading(const struct pdf *p, int64_t i)
{
    const struct pdf_line *const l = &p->lines[i], *const next = behind(p, i);
    const char *const begin = p->text + l->begin, *const end = p->text + l->end;
    const int64_t words = line_words(begin, end, HEADING_WORDS + 1);
    const bool apart = l->gap || l->column;

    if (words > HEADING_WORDS || line_is_contents(begin, end))
        return false;
    if (is_title(p, l) && (apart || !ends_sentence(p, l - 1)))
        return !next || !same_size(next->size, l->size) || next->bold * 2 < next->letters;
    if (!p->fonts_tell || l->letters < 2)
        return false;
    if (l->size > 1.12F * p->body)
        return true;
    return apart && words <= BOLD_WORDS && l->bold * 10 >= l->letters * 9 && l->size > 0.95F * p->body &&
           !line_ends_sentence(begin, end) && (!next || next->bold * 10 >= next->letters * 9);
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
        } else if (caption) {
            l->kind = BLOCK_FURNITURE;
        } else if (is_code(p, l) || is_formula(l)) {
            l->kind = BLOCK_CODE;
        }
    }
}

/* ---- the document ------------------------------------------------------------------------------------------------ */

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

static PopplerDocument *open_document(struct stream *stream, const struct source *source)
{
    GBytes *const bytes = g_bytes_new_static(source->text, source->size);
    GError *error = NULL;
    PopplerDocument *const doc = poppler_document_new_from_bytes(bytes, NULL, &error);

    g_bytes_unref(bytes);
    if (doc)
        return doc;
    stream_refuse(stream, error && g_error_matches(error, POPPLER_ERROR, POPPLER_ERROR_ENCRYPTED)
                          ? "it is encrypted, and nobody is asked for a password here"
                          : "this is a damaged PDF file, or none");
    g_clear_error(&error);
    return NULL;
}

static void read_document(struct pdf *p, PopplerDocument *doc)
{
    const int pages = poppler_document_get_n_pages(doc);
    int read = 0;

    find_titles(p, doc);
    for (int i = 0; i < pages && i < MOST_PAGES && !p->stream->failed; i++) {
        PopplerPage *const page = poppler_document_get_page(doc, i);

        if (!page)
            continue;
        read++;
        read_page(p, page, i);
        g_object_unref(page);
    }
    if (read == 0)
        stream_refuse(p->stream, "this is a damaged PDF file: it has no pages");
    else if (p->n == 0)
        stream_refuse(p->stream, "this PDF has no text, only pictures of pages; try: "
                                 "ocrmypdf FILE with-text.pdf");
}

void pdf_read(struct stream *stream, const struct source *source)
{
    PopplerDocument *const doc = open_document(stream, source);
    struct pdf p = { .stream = stream };

    if (!doc)
        return;
    read_document(&p, doc);
    g_object_unref(doc);
    if (!stream->failed) {
        find_body(&p);
        find_pitch(&p);
        find_gaps(&p);
        find_kinds(&p);
        pages_put(stream, &(struct page_lines){ .next = next_line, .from = &p, .base = p.text });
        put_notes(&p);
    }
    free(p.text);
    free(p.lines);
    free(p.titles);
}

#else

const char *pdf_library(void)
{
    return NULL;
}

void pdf_read(struct stream *stream, const struct source *source)
{
    (void)source;
    stream_refuse(stream, "this is a PDF file, which is not read here: heed-summarize was built "
                          "without Poppler; try: pdftotext FILE - | heed-summarize -");
}

#endif

int pdf_looks_like(const struct source *source)
{
    return source->size >= 5 && memcmp(source->text, "%PDF-", 5) == 0 ? 2 : 0;
}
