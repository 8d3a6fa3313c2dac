/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The formats that are read. A format is one row here and one file. The first row that is sure
 * wins, then the ending of the name, then the first that may be; the last row takes everything.
 * Rows that a process of its own reads are asked first: they are sure, or an archive that is called
 * so.
 */
#include "read.h"

#include <string.h>

/* A page is in memory as a whole, and the text of all pages; of an archive a part is. */
static const struct room pages_room = { 64, 80, 10 }, archive_room = { 16, 12, 10 };

static const struct format formats[] = {
    { "pdf", "PDF", ".pdf ", pdf_looks_like, pdf_read, &pages_room, pdf_library },
    { "docx", "a document of Word", ".docx .docm .dotx ", docx_looks_like, docx_read, &archive_room,
      archive_library },
    { "odt", "a document of OpenDocument", ".odt .ott ", odt_looks_like, odt_read, &archive_room,
      archive_library },
    { "epub", "a book", ".epub ", epub_looks_like, epub_read, &archive_room, archive_library },
    { "html", "HTML", ".html .htm .xhtml ", html_looks_like, html_read, NULL, NULL },
    { "mail", "e-mail, one or an mbox of many, and threads with header lines", ".eml .mbox ",
      mail_looks_like, mail_read, NULL, NULL },
    { "captions", "WebVTT and SRT", ".vtt .srt ", captions_looks_like, captions_read, NULL, NULL },
    { "man", "a man page as man prints it", "", man_looks_like, man_read, NULL, NULL },
    { "pages", "text with form feeds, as pdftotext makes it", "", pages_looks_like, pages_read,
      NULL, NULL },
    { "markdown", "Markdown", ".md .markdown .mkd ", markdown_looks_like, markdown_read,
      NULL, markdown_library },
    { "plain", "paragraphs, lists, speakers (\"Name: ...\"), chats with times", "",
      plain_looks_like, plain_read, NULL, NULL },
};

enum { FORMATS = sizeof(formats) / sizeof(*formats) };

const struct format *format_at(size_t index)
{
    return index < FORMATS ? &formats[index] : NULL;
}

const struct format *format_named(const char *name)
{
    for (size_t i = 0; i < FORMATS; i++) {
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    }
    return NULL;
}

static bool has_ending(const char *name, const char *endings)
{
    const char *const dot = name ? strrchr(name, '.') : NULL;

    for (const char *c = endings; dot && *c; c = strchr(c, ' ') + 1) {
        const size_t length = strcspn(c, " ");

        if (strlen(dot) == length && line_same(dot, c, length))
            return true;
    }
    return false;
}

const struct format *format_find(const struct source *source)
{
    const struct format *maybe = NULL;

    for (size_t i = 0; i < FORMATS; i++) {
        const int sure = formats[i].apart ? 0 : formats[i].looks_like(source);

        if (sure == 2)
            return &formats[i];
        if (sure == 1 && !maybe)
            maybe = &formats[i];
    }
    for (size_t i = 0; i < FORMATS; i++) {
        if (!formats[i].apart && has_ending(source->name, formats[i].endings))
            return &formats[i];
    }
    return maybe ? maybe : &formats[FORMATS - 1];
}

const struct format *format_find_apart(const struct source *source)
{
    for (size_t i = 0; i < FORMATS; i++) {
        if (formats[i].apart && formats[i].looks_like(source) == 2)
            return &formats[i];
    }
    for (size_t i = 0; i < FORMATS && source->size > 4; i++) {
        if (formats[i].apart && memcmp(source->text, "PK\3\4", 4) == 0 &&
            has_ending(source->name, formats[i].endings))
            return &formats[i];
    }
    return NULL;
}
