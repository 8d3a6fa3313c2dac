/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Documents of Word: Office Open XML, ISO/IEC 29500-1, section 17. Styles by their names, which are
 * English whatever the language, or by their outline level say what is a heading. What was deleted,
 * text boxes, hidden text, heads and feet of pages and comments are left out; notes are furniture.
 */
#include "package.h"

#include <stdlib.h>
#include <string.h>

#ifdef SUMMARIZE_PACKAGES

enum { NAME_BYTES = 256, HEADINGS = 9 };   /* outline levels from 9 on are text */

struct docx {
    struct office office;
    char main[NAME_BYTES];         /* the name of the document's part */
    char id[NAME_BYTES], parent[NAME_BYTES];
    int kind;                      /* of the style at work; -1: none so far */
    bool listed;                   /* the style is of a list */
    bool properties;               /* within those of a paragraph */
    bool run, hidden;              /* within a run; the run is hidden */
    bool text;                     /* within text */
    int64_t columns;               /* of the open table, before its first row; -1: told */
    bool behind;                   /* notes: all is furniture */
};

static bool is(const char *name, const char *what)
{
    return strcmp(name, what) == 0;
}

static bool is_on(const char *const *attributes)
{
    const char *const value = xml_attribute(attributes, "w:val");

    return !value || (!is(value, "0") && !is(value, "false") && !is(value, "off"));
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

/* ---- which part is the document ----------------------------------------- */

static void relation(struct xml *x, const char *name, const char *const *attributes)
{
    struct docx *const d = x->to;
    const char *const type = xml_attribute(attributes, "Type");
    const char *const target = xml_attribute(attributes, "Target");
    const char *const last = type ? strrchr(type, '/') : NULL;

    if (is(name, "rel:Relationship") && last && is(last, "/officeDocument") && target)
        snprintf(d->main, sizeof(d->main), "%s", target + (*target == '/'));
}

/* Another part in the folder of the document's. */
static const char *beside(const struct docx *d, const char *name, char room[2 * NAME_BYTES])
{
    const char *const folder = strrchr(d->main, '/');

    snprintf(room, (size_t)2 * NAME_BYTES, "%.*s%s", folder ? (int)(folder + 1 - d->main) : 0,
             d->main, name);
    return room;
}

/* ---- styles ------------------------------------------------------------- */

static void style_open(struct xml *x, const char *name, const char *const *attributes)
{
    struct docx *const d = x->to;
    const char *const value = xml_attribute(attributes, "w:val");

    if (is(name, "w:style")) {
        const char *const id = xml_attribute(attributes, "w:styleId");

        snprintf(d->id, sizeof(d->id), "%s", id ? id : "");
        *d->parent = '\0';
        d->kind = -1;
    } else if (is(name, "w:name") && value && *d->id && d->kind < 0) {
        d->kind = office_kind(value);
    } else if (is(name, "w:basedOn") && value) {
        snprintf(d->parent, sizeof(d->parent), "%s", value);
    } else if (is(name, "w:outlineLvl") && value && atoi(value) < HEADINGS) {
        d->kind = BLOCK_HEADING;
    } else if (is(name, "w:numPr") && d->kind < 0) {
        d->kind = BLOCK_ITEM;
    }
}

static void style_close(struct xml *x, const char *name)
{
    struct docx *const d = x->to;

    if (!is(name, "w:style") || !*d->id)
        return;
    styles_add(&d->office, d->id, *d->parent ? d->parent : NULL, d->kind, false);
    *d->id = '\0';
}

/* ---- the document ------------------------------------------------------- */

/* Elements that are left out with all that is in them. */
static bool is_left_out(const char *name)
{
    static const char *const names[] = {
        "w:moveFrom", "w:txbxContent", "w:instrText", "w:del", "mc:Fallback", "w:rt"
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (is(name, names[i]))
            return true;
    }
    return false;
}

static void paragraph_property(struct docx *d, const char *name, const char *const *attributes)
{
    struct office *const o = &d->office;
    const char *const value = xml_attribute(attributes, "w:val");

    if (is(name, "w:pStyle")) {
        const int kind = styles_kind(&o->styles, value);

        if (kind >= 0)
            o->kind = (enum block_kind)kind;
    } else if (is(name, "w:outlineLvl") && value && atoi(value) < HEADINGS) {
        o->kind = BLOCK_HEADING;
    } else if (is(name, "w:numPr") && o->kind == BLOCK_PARAGRAPH) {
        o->kind = BLOCK_ITEM;
    } else if (is(name, "w:numId") && value && is(value, "0") && o->kind == BLOCK_ITEM) {
        o->kind = BLOCK_PARAGRAPH;         /* its list is taken away */
    }
}

static void run_part(struct docx *d, const char *name, const char *const *attributes)
{
    struct office *const o = &d->office;

    if (is(name, "w:vanish"))
        d->hidden = is_on(attributes);
    else if (is(name, "w:t"))
        d->text = !d->hidden;
    else if (is(name, "w:tab"))
        office_sign(o, '\t');
    else if (is(name, "w:br") || is(name, "w:cr"))
        office_sign(o, '\n');
    else if (is(name, "w:noBreakHyphen"))
        office_put(o, "-", 1);
}

static void part_open(struct xml *x, const char *name, const char *const *attributes)
{
    struct docx *const d = x->to;
    struct office *const o = &d->office;
    const char *const type = xml_attribute(attributes, "w:type");

    if (o->skipped > 0 || is_left_out(name) ||
        (d->behind && (is(name, "w:footnote") || is(name, "w:endnote")) && type)) {
        o->skipped++;
    } else if (is(name, "w:p")) {
        office_open(o, BLOCK_PARAGRAPH);
    } else if (is(name, "w:pPr")) {
        d->properties = true;
    } else if (is(name, "w:r")) {
        d->run = true;
        d->hidden = false;
    } else if (is(name, "w:tbl")) {
        d->columns = 0;
    } else if (is(name, "w:gridCol") && d->columns >= 0) {
        d->columns++;
    } else if (is(name, "w:tr") && d->columns >= 0) {
        office_table(o, d->columns);
        d->columns = -1;
    } else if (d->properties) {
        paragraph_property(d, name, attributes);
    } else if (d->run) {
        run_part(d, name, attributes);
    }
    if (o->stream->failed)
        x->wrong = "";
}

static void part_close(struct xml *x, const char *name)
{
    struct docx *const d = x->to;
    struct office *const o = &d->office;

    if (o->skipped > 0) {
        o->skipped--;
    } else if (is(name, "w:p")) {
        office_close(o);
    } else if (is(name, "w:pPr")) {
        d->properties = false;
    } else if (is(name, "w:r")) {
        d->run = false;
    } else if (is(name, "w:t")) {
        d->text = false;
    } else if (is(name, "w:tr")) {
        office_row(o);
    } else if (is(name, "w:tbl")) {
        if (d->columns < 0)
            office_table_end(o);
        d->columns = -1;
    }
}

static void part_text(struct xml *x, const char *text, size_t size)
{
    struct docx *const d = x->to;

    if (d->text && d->office.skipped == 0)
        office_put(&d->office, text, size);
}

static void read_parts(struct docx *d, struct archive *a)
{
    struct xml styles = { .open = style_open, .close = style_close, .text = nothing, .to = d };
    struct xml part = { .open = part_open, .close = part_close, .text = part_text, .to = d };
    static const char *const notes[] = { "footnotes.xml", "endnotes.xml" };
    char room[2 * NAME_BYTES];

    xml_read(&styles, a, beside(d, "styles.xml", room));
    styles_sort(&d->office.styles);
    d->columns = -1;
    if (!a->wrong && !xml_read(&part, a, d->main) && !a->wrong)
        a->wrong = "this is a ZIP archive without a document of Word";
    d->behind = true;
    d->office.around = BLOCK_FURNITURE;
    for (size_t i = 0; i < sizeof(notes) / sizeof(*notes) && !a->wrong; i++)
        xml_read(&part, a, beside(d, notes[i], room));
}

void docx_read(struct stream *stream, const struct source *source)
{
    struct docx d = { .office = { .stream = stream, .around = BLOCK_PARAGRAPH } };
    struct xml relations = { .open = relation, .close = no_end, .text = nothing, .to = &d };
    struct archive a;

    snprintf(d.main, sizeof(d.main), "word/document.xml");
    if (archive_open(&a, source)) {
        xml_read(&relations, &a, "_rels/.rels");
        if (!a.wrong)
            read_parts(&d, &a);
    }
    archive_close(&a);
    office_finish(&d.office);
    if (a.wrong && *a.wrong)
        stream_refuse(stream, a.wrong);
}

#else

void docx_read(struct stream *stream, const struct source *source)
{
    (void)source;
    stream_refuse(stream, "this is a document of Word, which is not read here: heed-summarize was "
                          "built without libzip and expat; try: pandoc -t plain FILE | "
                          "heed-summarize -");
}

#endif

int docx_looks_like(const struct source *source)
{
    return zip_mentions(source, "word/document") ? 2 : 0;
}
