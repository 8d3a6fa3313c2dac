/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * XML from an archive, by expat, in pieces: no tree, and memory does not depend on the length.
 * Documents of offices and books declare no entities, so one that does is refused; nothing outside
 * of the file is ever opened.
 */
#include "package.h"

#ifdef SUMMARIZE_PACKAGES

#include <expat.h>
#include <string.h>

enum { PIECE = 1 << 15, DEEPEST = 512, NAME_BYTES = 64 };

static const struct { const char *uri, *prefix; } spaces[] = {
    { "http://schemas.openxmlformats.org/wordprocessingml/2006/main", "w" },
    { "http://purl.oclc.org/ooxml/wordprocessingml/main", "w" },
    { "http://schemas.openxmlformats.org/markup-compatibility/2006", "mc" },
    { "http://schemas.openxmlformats.org/package/2006/relationships", "rel" },
    { "urn:oasis:names:tc:opendocument:xmlns:office:1.0", "office" },
    { "urn:oasis:names:tc:opendocument:xmlns:style:1.0", "style" },
    { "urn:oasis:names:tc:opendocument:xmlns:text:1.0", "text" },
    { "urn:oasis:names:tc:opendocument:xmlns:table:1.0", "table" },
    { "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0", "draw" },
    { "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0", "manifest" },
    { "urn:oasis:names:tc:opendocument:xmlns:container", "ocf" },
    { "http://www.idpf.org/2007/opf", "opf" },
    { "http://purl.org/dc/elements/1.1/", "dc" },
    { "http://www.w3.org/2001/04/xmlenc#", "enc" },
};

/* What expat gives before the name, and behind it. */
#define BORDER '|'

struct work {
    struct xml *xml;
    XML_Parser parser;
    int depth;
};

static const char *prefix_of(const char *uri, size_t length)
{
    for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++) {
        if (strlen(spaces[i].uri) == length && memcmp(spaces[i].uri, uri, length) == 0)
            return spaces[i].prefix;
    }
    return NULL;
}

/* "uri|name" to "prefix:name"; a name without a namespace stays. */
static const char *short_name(const char *full, char room[NAME_BYTES])
{
    const char *const border = strrchr(full, BORDER);
    const char *const prefix = border ? prefix_of(full, (size_t)(border - full)) : NULL;
    int n;

    if (!border)
        return full;
    if (!prefix)
        return "";
    n = snprintf(room, NAME_BYTES, "%s:%s", prefix, border + 1);
    return n > 0 && n < NAME_BYTES ? room : "";
}

const char *xml_attribute(const char *const *attributes, const char *name)
{
    char room[NAME_BYTES];

    for (; *attributes; attributes += 2) {
        if (strcmp(short_name(*attributes, room), name) == 0)
            return attributes[1];
    }
    return NULL;
}

/* Nothing more comes from a parser that is stopped. */
static void stop(struct work *w, const char *why)
{
    if (why && !w->xml->wrong)
        w->xml->wrong = why;
    if (w->xml->wrong)
        XML_StopParser(w->parser, XML_FALSE);
}

static void on_open(void *data, const char *name, const char **attributes)
{
    struct work *const w = data;
    char room[NAME_BYTES];

    if (++w->depth > DEEPEST) {
        stop(w, "its XML is nested too deeply");
        return;
    }
    w->xml->open(w->xml, short_name(name, room), attributes);
    stop(w, NULL);
}

static void on_close(void *data, const char *name)
{
    struct work *const w = data;
    char room[NAME_BYTES];

    w->depth--;
    w->xml->close(w->xml, short_name(name, room));
    stop(w, NULL);
}

static void on_text(void *data, const char *text, int size)
{
    struct work *const w = data;

    w->xml->text(w->xml, text, (size_t)size);
    stop(w, NULL);
}

static void on_entity(void *data, const char *name, int is_parameter, const char *value, int size,
                      const char *base, const char *system, const char *public,
                      const char *notation)
{
    (void)name;
    (void)is_parameter;
    (void)value;
    (void)size;
    (void)base;
    (void)system;
    (void)public;
    (void)notation;
    stop(data, "its XML declares entities, which no such document has");
}

static const char *parse(struct work *w, struct entry *e)
{
    size_t n = 1;

    while (n > 0) {
        void *const to = XML_GetBuffer(w->parser, PIECE);

        if (!to)
            return "a part of it needs more memory than such a file may";
        n = entry_read(e, to, PIECE);
        if (e->archive->wrong)
            return NULL;
        if (XML_ParseBuffer(w->parser, (int)n, n == 0) != XML_STATUS_OK)
            return w->xml->wrong ? w->xml->wrong
                   : XML_GetErrorCode(w->parser) == XML_ERROR_NO_MEMORY
                   ? "a part of it needs more memory than such a file may"
                   : "its XML is damaged";
    }
    return NULL;
}

bool xml_read(struct xml *x, struct archive *a, const char *name)
{
    struct work w = { .xml = x };
    const char *wrong;
    struct entry e;

    if (!entry_open(&e, a, name))
        return false;
    w.parser = XML_ParserCreateNS(NULL, BORDER);
    if (w.parser) {
        XML_SetUserData(w.parser, &w);
        XML_SetElementHandler(w.parser, on_open, on_close);
        XML_SetCharacterDataHandler(w.parser, on_text);
        XML_SetEntityDeclHandler(w.parser, on_entity);
    }
    wrong = w.parser ? parse(&w, &e) : "not enough memory for its XML";
    if (w.parser)
        XML_ParserFree(w.parser);
    entry_close(&e);
    if (!a->wrong)
        a->wrong = wrong;
    return !a->wrong;
}

#endif
