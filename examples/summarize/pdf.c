/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * PDF, by Poppler, which gives the text of a page in the order of reading, with the place and the
 * font of every character. pdf_page.c makes lines of that, pdf_lines.c says what they are, and
 * pages.c makes paragraphs of them, over pages and columns.
 */
#include "pdf.h"

#include <stdlib.h>
#include <string.h>

#ifdef SUMMARIZE_POPPLER

#include <dlfcn.h>
#include <poppler.h>

enum {
    MOST_PAGES = 100000,
    MOST_TITLES = 1 << 16, DEEPEST_OUTLINE = 16
};

/* ---- Poppler, where it is installed ------------------------------------ */

/* It is opened when there is a PDF, in the process that reads it: 40 libraries come with it, which
 * no other text should wait for. A row has the type that Poppler's header declares. */
#define POPPLER_CALLS(ROW) \
    ROW(g_bytes_new_static) ROW(g_bytes_unref) ROW(g_object_unref) ROW(g_free) ROW(g_error_free) \
    ROW(poppler_error_quark) ROW(poppler_document_new_from_bytes) \
    ROW(poppler_document_get_n_pages) ROW(poppler_document_get_page) ROW(poppler_page_get_text) \
    ROW(poppler_page_get_text_layout) ROW(poppler_page_get_text_attributes) \
    ROW(poppler_page_free_text_attributes) ROW(poppler_index_iter_new) \
    ROW(poppler_index_iter_get_action) ROW(poppler_index_iter_get_child) \
    ROW(poppler_index_iter_next) ROW(poppler_index_iter_free) ROW(poppler_action_free)

static struct {
#define ROW(name) __typeof__(&name) name;
    POPPLER_CALLS(ROW)
#undef ROW
} lib;

static const char *const files[] = {
    "libpoppler-glib.so.8", "libpoppler-glib.8.dylib", "libpoppler-glib.so"
};

/* False: it is not installed, or lacks a function. It stays open until the process ends. */
static bool poppler_open(void)
{
    void *library = NULL;
    bool good;

    for (size_t i = 0; i < sizeof(files) / sizeof(*files) && !library; i++)
        library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    good = library;
#define ROW(name) \
    if (good) { \
        void *const found = dlsym(library, #name); \
        memcpy(&lib.name, &found, sizeof(found)); \
        good = found; \
    }
    POPPLER_CALLS(ROW)
#undef ROW
    return good;
}

const char *pdf_library(void)
{
    static char text[64];

    snprintf(text, sizeof(text), "Poppler %d.%02d or newer, where it is installed",
             POPPLER_MAJOR_VERSION, POPPLER_MINOR_VERSION);
    return text;
}

/* ---- fonts -------------------------------------------------------------- */

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

/* ---- one page ----------------------------------------------------------- */

/* The text and what belongs to it of one page. */
struct page_text {
    char *text;
    PopplerRectangle *boxes;
    guint n;
    GList *fonts;
};

static float coordinate(double x)
{
    return x > -1e6 && x < 1e6 ? (float)x : 0;
}

static void set_box(struct pdf_glyph *g, const PopplerRectangle *box)
{
    g->left = coordinate(box->x1);
    g->top = coordinate(box->y1);
    g->right = coordinate(box->x2);
    g->bottom = coordinate(box->y2);
}

static void set_font(struct pdf_glyph *g, const PopplerTextAttributes *font)
{
    g->size = font->font_size > 0 && font->font_size < 1000 ? (float)font->font_size : 1;
    g->bold = is_bold(font->font_name);
    g->mono = is_mono(font->font_name);
    g->math = is_math(font->font_name);
}

static void read_text(struct pdf *p, const struct page_text *t)
{
    const GList *font = t->fonts;
    const char *at = t->text, *const end = at + strlen(at);
    struct pdf_glyph g = { .size = 0 };
    size_t taken;

    for (guint i = 0; at < end && i < t->n && !p->stream->failed; i++, at += taken) {
        while (font && ((const PopplerTextAttributes *)font->data)->end_index < (gint)i) {
            font = font->next;
            g.size = 0;
        }
        g.code = utf8_next(at, end, &taken);
        set_box(&g, &t->boxes[i]);
        if (font && g.size <= 0)
            set_font(&g, font->data);
        pdf_glyph(p, &g);
    }
}

static void read_page(struct pdf *p, PopplerPage *page, int32_t number)
{
    struct page_text t = { .text = lib.poppler_page_get_text(page) };

    pdf_page_begin(p, number);
    if (t.text && lib.poppler_page_get_text_layout(page, &t.boxes, &t.n)) {
        t.fonts = lib.poppler_page_get_text_attributes(page);
        read_text(p, &t);
        lib.poppler_page_free_text_attributes(t.fonts);
        lib.g_free(t.boxes);
    }
    lib.g_free(t.text);
    pdf_page_end(p);
}

/* ---- the outline -------------------------------------------------------- */

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
        PopplerAction *const action = lib.poppler_index_iter_get_action(iter);
        PopplerIndexIter *const child =
            depth < DEEPEST_OUTLINE ? lib.poppler_index_iter_get_child(iter) : NULL;
        const char *const title = action ? action->any.title : NULL;

        if (title && *title && p->n_titles < MOST_TITLES)
            p->titles[p->n_titles++] = title_key(title, title + strlen(title));
        if (action)
            lib.poppler_action_free(action);
        if (child) {
            read_outline(p, child, depth + 1);
            lib.poppler_index_iter_free(child);
        }
    } while (p->n_titles < MOST_TITLES && lib.poppler_index_iter_next(iter));
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void find_titles(struct pdf *p, PopplerDocument *doc)
{
    PopplerIndexIter *const iter = lib.poppler_index_iter_new(doc);

    if (!iter)
        return;
    p->titles = malloc(MOST_TITLES * sizeof(*p->titles));
    if (p->titles)
        read_outline(p, iter, 0);
    else
        pdf_fail(p);
    lib.poppler_index_iter_free(iter);
    if (p->n_titles > 0)
        qsort(p->titles, (size_t)p->n_titles, sizeof(*p->titles), compare);
}

bool pdf_is_title(const struct pdf *p, const struct pdf_line *l)
{
    const uint64_t key = title_key(p->text + l->begin, p->text + l->end);

    return key != 1 && p->n_titles > 0 &&
           bsearch(&key, p->titles, (size_t)p->n_titles, sizeof(key), compare);
}

/* ---- the document ------------------------------------------------------- */

static PopplerDocument *open_document(struct stream *stream, const struct source *source)
{
    GBytes *const bytes = lib.g_bytes_new_static(source->text, source->size);
    GError *error = NULL;
    PopplerDocument *const doc = lib.poppler_document_new_from_bytes(bytes, NULL, &error);

    lib.g_bytes_unref(bytes);
    if (doc)
        return doc;
    stream_refuse(stream, error && error->domain == lib.poppler_error_quark() &&
                          error->code == POPPLER_ERROR_ENCRYPTED
                          ? "it is encrypted, and nobody is asked for a password here"
                          : "this is a damaged PDF file, or none");
    if (error)
        lib.g_error_free(error);
    return NULL;
}

static void read_document(struct pdf *p, PopplerDocument *doc)
{
    const int pages = lib.poppler_document_get_n_pages(doc);
    int read = 0;

    find_titles(p, doc);
    for (int i = 0; i < pages && i < MOST_PAGES && !p->stream->failed; i++) {
        PopplerPage *const page = lib.poppler_document_get_page(doc, i);

        if (!page)
            continue;
        read++;
        read_page(p, page, i);
        lib.g_object_unref(page);
    }
    if (read == 0)
        stream_refuse(p->stream, "this is a damaged PDF file: it has no pages");
    else if (p->n == 0)
        stream_refuse(p->stream, "this PDF has no text, perhaps only pictures of pages; try: "
                                 "ocrmypdf FILE with-text.pdf");
}

void pdf_read(struct stream *stream, const struct source *source)
{
    PopplerDocument *const doc = poppler_open() ? open_document(stream, source) : NULL;
    struct pdf p = { .stream = stream };

    if (!doc) {
        stream_refuse(stream, "this is a PDF file, which is not read here: Poppler is not "
                              "installed (libpoppler-glib); try: pdftotext FILE - | "
                              "heed-summarize -");
        return;
    }
    read_document(&p, doc);
    lib.g_object_unref(doc);
    if (!stream->failed)
        pdf_put(&p);
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
