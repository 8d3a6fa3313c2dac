/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Documents of OpenDocument, ISO/IEC 26300: texts. Headings and lists are elements, other kinds of
 * paragraphs are told by their styles' names, or those of the styles that theirs come from. Frames,
 * comments, what was deleted, and heads and feet of pages are left out; tables of contents and
 * notes are furniture.
 */
#include "package.h"

#include <stdlib.h>
#include <string.h>

#ifdef SUMMARIZE_PACKAGES

enum { NAME_BYTES = 256 };

struct odt {
    struct office office;
    char id[NAME_BYTES], parent[NAME_BYTES];
    int kind;                      /* of the style at work; -1: none so far */
    bool hidden;
    bool body;                     /* within the text */
    int paragraphs;                /* open ones */
    int lists, furniture;          /* open elements of lists, of what is furniture */
    int64_t columns;               /* of the open table, before its first row; -1: told */
    bool encrypted;
};

static bool is(const char *name, const char *what)
{
    return strcmp(name, what) == 0;
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++) {
        if (is(name, *names))
            return true;
    }
    return false;
}

/* ---- styles ------------------------------------------------------------- */

/* "Heading_20_1": a name whose other signs are numbers. */
static int kind_of(const char *name)
{
    char plain[NAME_BYTES];
    size_t used = 0;

    for (const char *c = name; *c && used + 1 < sizeof(plain); c++) {
        const bool space = strncmp(c, "_20_", 4) == 0;

        plain[used++] = space ? ' ' : *c;
        c += space ? 3 : 0;
    }
    plain[used] = '\0';
    return office_kind(plain);
}

static bool style_open(struct odt *d, const char *name, const char *const *attributes)
{
    if (is(name, "style:style")) {
        const char *const family = xml_attribute(attributes, "style:family");
        const char *const id = xml_attribute(attributes, "style:name");
        const char *const parent = xml_attribute(attributes, "style:parent-style-name");
        const char *const level = xml_attribute(attributes, "style:default-outline-level");

        *d->id = '\0';
        if (!family || !id || (!is(family, "paragraph") && !is(family, "text")))
            return true;
        snprintf(d->id, sizeof(d->id), "%s", id);
        snprintf(d->parent, sizeof(d->parent), "%s", parent ? parent : "");
        d->kind = level && *level ? BLOCK_HEADING : kind_of(id);
        d->hidden = false;
        return true;
    }
    if (is(name, "style:text-properties")) {
        const char *const display = xml_attribute(attributes, "text:display");

        d->hidden = display && is(display, "none");
        return true;
    }
    return false;
}

static void style_close(struct odt *d, const char *name)
{
    if (!is(name, "style:style") || !*d->id)
        return;
    styles_add(&d->office, d->id, *d->parent ? d->parent : NULL, d->kind, d->hidden);
    *d->id = '\0';
}

/* ---- the text ----------------------------------------------------------- */

static const char *const left_out[] = {
    "office:annotation", "text:tracked-changes", "draw:frame", "draw:custom-shape", "draw:g",
    "text:note-citation", "text:ruby-text", "office:forms", "text:sequence-decls",
    "text:variable-decls", "text:user-field-decls", "text:hidden-text", "text:bookmark-ref", NULL
};

static const char *const furniture[] = {
    "text:table-of-content", "text:illustration-index", "text:table-index", "text:object-index",
    "text:user-index", "text:alphabetical-index", "text:bibliography", NULL
};

static enum block_kind paragraph_kind(const struct odt *d, const char *name,
                                      const char *const *attributes)
{
    const int kind = styles_kind(&d->office.styles, xml_attribute(attributes, "text:style-name"));

    if (is(name, "text:h"))
        return BLOCK_HEADING;
    if (kind >= 0 && kind != BLOCK_ITEM)
        return (enum block_kind)kind;
    return d->lists > 0 || kind == BLOCK_ITEM ? BLOCK_ITEM : BLOCK_PARAGRAPH;
}

static void paragraph(struct odt *d, const char *name, const char *const *attributes)
{
    const struct style *const style =
        styles_find(&d->office.styles, xml_attribute(attributes, "text:style-name"));

    office_open(&d->office, paragraph_kind(d, name, attributes));
    d->paragraphs++;
    d->office.skipped += style && style->hidden;
}

static void span(struct odt *d, const char *const *attributes)
{
    const struct style *const style =
        styles_find(&d->office.styles, xml_attribute(attributes, "text:style-name"));

    d->office.skipped += style && style->hidden;
}

/* Elements around paragraphs; false: it is none. */
static bool structure(struct odt *d, const char *name, const char *const *attributes)
{
    struct office *const o = &d->office;

    if (is_one_of(name, furniture)) {
        d->furniture++;
        o->around = BLOCK_FURNITURE;
    } else if (is(name, "text:list")) {
        d->lists++;
    } else if (is(name, "table:table")) {
        d->columns = 0;
    } else if (is(name, "table:table-column") && d->columns >= 0) {
        const char *const times = xml_attribute(attributes, "table:number-columns-repeated");
        const int more = times ? atoi(times) : 1;

        d->columns += more > 0 && more < INT16_MAX ? more : 1;
    } else if (is(name, "table:table-row") && d->columns >= 0) {
        office_table(o, d->columns);
        d->columns = -1;
    } else {
        return false;
    }
    return true;
}

static void body_open(struct odt *d, const char *name, const char *const *attributes)
{
    struct office *const o = &d->office;

    if (structure(d, name, attributes))
        return;
    if (is(name, "text:p") || is(name, "text:h")) {
        paragraph(d, name, attributes);
    } else if (is(name, "text:span")) {
        span(d, attributes);
    } else if (is(name, "text:s")) {
        office_put(o, " ", 1);
    } else if (is(name, "text:tab")) {
        office_sign(o, '\t');
    } else if (is(name, "text:line-break")) {
        office_sign(o, '\n');
    } else if (is(name, "text:note-body")) {
        office_note(o);
    }
}

static void on_open(struct xml *x, const char *name, const char *const *attributes)
{
    struct odt *const d = x->to;

    if (d->office.skipped > 0 || (d->body && is_one_of(name, left_out))) {
        d->office.skipped++;
    } else if (is(name, "office:text")) {
        d->body = true;
        styles_sort(&d->office.styles);
    } else if (d->body) {
        body_open(d, name, attributes);
    } else {
        style_open(d, name, attributes);
    }
    if (d->office.stream->failed)
        x->wrong = "";
}

static void body_close(struct odt *d, const char *name)
{
    struct office *const o = &d->office;

    if (is(name, "text:p") || is(name, "text:h")) {
        office_close(o);
        d->paragraphs -= d->paragraphs > 0;
    } else if (is(name, "text:note-body")) {
        office_note_end(o);
    } else if (is(name, "text:list")) {
        d->lists -= d->lists > 0;
    } else if (is(name, "table:table-row")) {
        office_row(o);
    } else if (is(name, "table:table")) {
        if (d->columns < 0)
            office_table_end(o);
        d->columns = -1;
    } else if (is_one_of(name, furniture) && d->furniture > 0 && --d->furniture == 0) {
        o->around = BLOCK_PARAGRAPH;
    }
}

static void on_close(struct xml *x, const char *name)
{
    struct odt *const d = x->to;

    /* The end of a hidden paragraph is one all the same. */
    if (d->office.skipped > 1 || (d->office.skipped == 1 && !is(name, "text:p") &&
                                  !is(name, "text:h") && !is(name, "text:span"))) {
        d->office.skipped--;
        return;
    }
    d->office.skipped = 0;
    if (is(name, "office:text"))
        d->body = false;
    else if (d->body)
        body_close(d, name);
    else
        style_close(d, name);
}

static void on_text(struct xml *x, const char *text, size_t size)
{
    struct odt *const d = x->to;

    if (d->body && d->office.skipped == 0 && d->paragraphs > 0)
        office_put(&d->office, text, size);
}

/* ---- all of it ---------------------------------------------------------- */

static void manifest(struct xml *x, const char *name, const char *const *attributes)
{
    struct odt *const d = x->to;

    (void)attributes;
    d->encrypted = d->encrypted || is(name, "manifest:encryption-data");
}

static void nothing(struct xml *x, const char *text, size_t size)
{
    (void)x;
    (void)text;
    (void)size;
}

static void no_end(struct xml *x, const char *name)
{
    (void)x;
    (void)name;
}

void odt_read(struct stream *stream, const struct source *source)
{
    struct odt d = {
        .office = { .stream = stream, .around = BLOCK_PARAGRAPH }, .columns = -1
    };
    struct xml parts = { .open = on_open, .close = on_close, .text = on_text, .to = &d };
    struct xml list = { .open = manifest, .close = no_end, .text = nothing, .to = &d };
    struct archive a;

    if (archive_open(&a, source)) {
        xml_read(&list, &a, "META-INF/manifest.xml");
        if (d.encrypted && !a.wrong)
            a.wrong = "it is encrypted, and nobody is asked for a password here";
        xml_read(&parts, &a, "styles.xml");
        d.office.skipped = 0;
        d.body = false;
        if (!a.wrong && !xml_read(&parts, &a, "content.xml") && !a.wrong)
            a.wrong = "this is a ZIP archive without a text of OpenDocument";
    }
    archive_close(&a);
    office_finish(&d.office);
    if (a.wrong && *a.wrong)
        stream_refuse(stream, a.wrong);
}

#else

void odt_read(struct stream *stream, const struct source *source)
{
    (void)source;
    stream_refuse(stream, "this is a document of OpenDocument, which is not read here: "
                          "heed-summarize was built without libzip and expat; try: pandoc -t plain "
                          "FILE | heed-summarize -");
}

#endif

int odt_looks_like(const struct source *source)
{
    return zip_is(source, "application/vnd.oasis.opendocument.text") ? 2 : 0;
}
