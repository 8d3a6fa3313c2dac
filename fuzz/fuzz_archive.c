/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Documents of offices and books: the first byte says which, and whether what follows is a whole
 * archive, or a part that is put into one.
 */
#include "reading.h"

#include <string.h>

enum { DOCX, ODT, EPUB, KINDS, ARCHIVE_MOST = 3 * FUZZ_INPUT_MOST, NAMES_MOST = 2048 };

struct part {
    const char *name;
    const void *data;
    size_t size;
};

struct writer {
    uint8_t bytes[ARCHIVE_MOST], names[NAMES_MOST];
    size_t used, names_used, count;
};

static void put(uint8_t *to, size_t *used, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[(*used)++] = (uint8_t)(value >> 8 * i);
}

static uint32_t crc32(const uint8_t *data, size_t size)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
    }
    return ~crc;
}

/* What a file's own header and its row in the list share. */
static void put_common(uint8_t *to, size_t *used, const struct part *p)
{
    put(to, used, 20, 2);                  /* version; no flags, stored, no time */
    for (int i = 0; i < 4; i++)
        put(to, used, 0, 2);
    put(to, used, crc32(p->data, p->size), 4);
    put(to, used, (uint32_t)p->size, 4);
    put(to, used, (uint32_t)p->size, 4);
    put(to, used, (uint32_t)strlen(p->name), 2);
    put(to, used, 0, 2);
}

/* A part, not compressed. */
static void add(struct writer *w, const struct part *p)
{
    const size_t at = w->used;

    put(w->bytes, &w->used, 0x04034B50, 4);
    put_common(w->bytes, &w->used, p);
    memcpy(w->bytes + w->used, p->name, strlen(p->name));
    w->used += strlen(p->name);
    memcpy(w->bytes + w->used, p->data, p->size);
    w->used += p->size;
    put(w->names, &w->names_used, 0x02014B50, 4);
    put(w->names, &w->names_used, 20, 2);
    put_common(w->names, &w->names_used, p);
    for (int i = 0; i < 5; i++)
        put(w->names, &w->names_used, 0, 2);
    put(w->names, &w->names_used, (uint32_t)at, 4);
    memcpy(w->names + w->names_used, p->name, strlen(p->name));
    w->names_used += strlen(p->name);
    w->count++;
}

static void finish(struct writer *w)
{
    const size_t at = w->used;

    memcpy(w->bytes + w->used, w->names, w->names_used);
    w->used += w->names_used;
    put(w->bytes, &w->used, 0x06054B50, 4);
    put(w->bytes, &w->used, 0, 4);
    put(w->bytes, &w->used, (uint32_t)w->count, 2);
    put(w->bytes, &w->used, (uint32_t)w->count, 2);
    put(w->bytes, &w->used, (uint32_t)w->names_used, 4);
    put(w->bytes, &w->used, (uint32_t)at, 4);
    put(w->bytes, &w->used, 0, 2);
}

/* ---- what is in it ---------------------------------------------------------------- */

static const char styles[] =
    "<w:styles xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'>"
    "<w:style w:styleId='H'><w:name w:val='heading 1'/></w:style></w:styles>";
static const char container[] =
    "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container'><rootfiles>"
    "<rootfile full-path='a/b.opf'/></rootfiles></container>";
static const char package[] =
    "<package xmlns='http://www.idpf.org/2007/opf'><manifest>"
    "<item id='c' href='c.xhtml' media-type='application/xhtml+xml'/></manifest>"
    "<spine><itemref idref='c'/></spine></package>";
static const char chapter[] = "<html><body><h1>One</h1><p>Two three. Four.</p></body></html>";

static const char *const parts_of[KINDS][2] = {
    { "word/document.xml", "word/styles.xml" }, { "content.xml", "styles.xml" },
    { "a/c.xhtml", "a/b.opf" }
};

static void write_archive(struct writer *w, int kind, bool other, const uint8_t *data, size_t size)
{
    const struct part part = { parts_of[kind][other], data, size };

    if (kind == DOCX && !other)
        add(w, &(struct part){ "word/styles.xml", styles, sizeof(styles) - 1 });
    if (kind == EPUB)
        add(w, &(struct part){ "META-INF/container.xml", container, sizeof(container) - 1 });
    if (kind == EPUB && other)
        add(w, &(struct part){ "a/c.xhtml", chapter, sizeof(chapter) - 1 });
    if (kind == EPUB && !other)
        add(w, &(struct part){ "a/b.opf", package, sizeof(package) - 1 });
    add(w, &part);
    finish(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[KINDS] = { "docx", "odt", "epub" };
    struct writer w = { .used = 0 };
    struct stream stream = { 0 };
    struct source source = { .name = NULL };
    const int kind = size > 0 ? data[0] % KINDS : DOCX;

    if (size == 0 || size > FUZZ_INPUT_MOST)
        return 0;
    source.text = (const char *)data + 1;
    source.size = size - 1;
    if (data[0] / KINDS % 4 < 3) {
        write_archive(&w, kind, data[0] / KINDS % 4 == 2, data + 1, size - 1);
        source.text = (const char *)w.bytes;
        source.size = w.used;
    }
    format_named(formats[kind])->read(&stream, &source);
    stream_close(&stream);
    fuzz_stream(&stream);
    return 0;
}

/* ---- seeds ------------------------------------------------------------------------ */

static const struct {
    int first;                     /* the first byte */
    const char *text;
} seeds[] = {
    { DOCX, "<w:document xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'>"
            "<w:body><w:p><w:pPr><w:pStyle w:val='H'/></w:pPr><w:r><w:t>One</w:t></w:r></w:p>"
            "<w:p><w:r><w:t>Two three.</w:t><w:br/><w:tab/><w:t xml:space='preserve'> Ann: four."
            "</w:t></w:r><w:del><w:r><w:delText>x</w:delText></w:r></w:del></w:p></w:body>"
            "</w:document>" },
    { DOCX, "<w:document xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'>"
            "<w:body><w:tbl><w:tblGrid><w:gridCol/><w:gridCol/></w:tblGrid><w:tr><w:tc><w:p><w:r>"
            "<w:t>One</w:t></w:r></w:p></w:tc></w:tr></w:tbl><w:p><w:pPr><w:numPr/></w:pPr><w:r>"
            "<w:rPr><w:vanish/></w:rPr><w:t>a</w:t></w:r></w:p></w:body></w:document>" },
    { DOCX + 2 * KINDS, styles },
    { ODT, "<o:document-content xmlns:o='urn:oasis:names:tc:opendocument:xmlns:office:1.0' "
           "xmlns:t='urn:oasis:names:tc:opendocument:xmlns:text:1.0'><o:body><o:text><t:h>One</t:h>"
           "<t:p>Two<t:s t:c='9'/>three.<t:note><t:note-citation>1</t:note-citation><t:note-body>"
           "<t:p>A note.</t:p></t:note-body></t:note> Four.</t:p><t:list><t:list-item><t:p>Five."
           "</t:p></t:list-item></t:list></o:text></o:body></o:document-content>" },
    { ODT, "<o:document-content xmlns:o='urn:oasis:names:tc:opendocument:xmlns:office:1.0' "
           "xmlns:t='urn:oasis:names:tc:opendocument:xmlns:text:1.0' "
           "xmlns:b='urn:oasis:names:tc:opendocument:xmlns:table:1.0'><o:body><o:text>"
           "<t:table-of-content><t:p>x</t:p></t:table-of-content><b:table>"
           "<b:table-column b:number-columns-repeated='2'/><b:table-row><b:table-cell><t:p>One."
           "</t:p></b:table-cell></b:table-row></b:table></o:text></o:body></o:document-content>" },
    { EPUB, chapter },
    { EPUB, "<html><head><title>x</title></head><body><p>One. <b>Two</b>.<ul><li>three</ul>" },
    { EPUB + 2 * KINDS, package },
};

size_t fuzz_seed(uint32_t number, uint8_t data[FUZZ_INPUT_MOST])
{
    const size_t n = sizeof(seeds) / sizeof(*seeds), which = number % n;
    const size_t size = strlen(seeds[which].text);
    struct writer w = { .used = 0 };

    data[0] = (uint8_t)seeds[which].first;
    memcpy(data + 1, seeds[which].text, size);
    if (number < n)
        return size + 1;
    write_archive(&w, seeds[which].first % KINDS, seeds[which].first >= KINDS,
                  (const uint8_t *)seeds[which].text, size);
    if (w.used + 1 > FUZZ_INPUT_MOST)
        return 0;
    data[0] = (uint8_t)(seeds[which].first % KINDS + 3 * KINDS);
    memcpy(data + 1, w.bytes, w.used);
    return w.used + 1;
}
