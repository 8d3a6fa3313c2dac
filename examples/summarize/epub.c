/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Books: EPUB 2 and 3. The container names the package, the package lists the files and the order
 * of reading, its spine, and each file of that is read as HTML without its head. What the spine
 * says is not linear, and navigation, are left out.
 */
#include "package.h"

#include <stdlib.h>
#include <string.h>

#ifdef SUMMARIZE_PACKAGES

enum { NAME_BYTES = 1024 };

struct item {
    char *id, *href;               /* owned */
    bool text;                     /* XHTML, and no navigation */
};

struct epub {
    struct stream *stream;
    struct archive archive;
    char package[NAME_BYTES];      /* the name of its part */
    struct item *items;            /* sorted once the spine begins */
    int64_t n, capacity;
    const char **spine;            /* names of parts, of the items */
    int64_t n_spine, spine_capacity;
    struct text title;
    bool titled, sorted, drm;
};

static bool is(const char *name, const char *what)
{
    return strcmp(name, what) == 0;
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

static bool grow(struct xml *x, void **list, int64_t n, int64_t *capacity, size_t size)
{
    const int64_t more = *capacity ? *capacity * 2 : 64;
    void *const grown = n < *capacity ? *list : realloc(*list, (size_t)more * size);

    if (!grown) {
        x->wrong = "it needs more memory than such a file may";
        return false;
    }
    *list = grown;
    *capacity = n < *capacity ? *capacity : more;
    return true;
}

/* ---- names of parts ----------------------------------------------------- */

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Adds the steps of a path to a name of `used` bytes; false: it leads out of the archive, or is too
 * long. */
static bool walk(char name[NAME_BYTES], size_t used, const char *path)
{
    while (*path && *path != '#') {
        const size_t length = strcspn(path, "/#");

        if (length == 2 && memcmp(path, "..", 2) == 0) {
            if (used == 0)
                return false;
            for (used--; used > 0 && name[used - 1] != '/'; used--)
                ;
        } else if (length > 0 && !(length == 1 && *path == '.')) {
            if (used + length + 2 > NAME_BYTES)
                return false;
            for (size_t i = 0; i < length; i++) {
                const bool coded = path[i] == '%' && hex(path[i + 1]) >= 0 && hex(path[i + 2]) >= 0;

                name[used++] = coded ? (char)(hex(path[i + 1]) * 16 + hex(path[i + 2])) : path[i];
                i += coded ? 2 : 0;
            }
            if (path[length] == '/')
                name[used++] = '/';
        }
        path += length + (path[length] == '/');
    }
    name[used] = '\0';
    return used > 0;
}

/* The name of a part that the package calls `href`; NULL: there can be none. */
static char *part_name(const struct epub *e, const char *href)
{
    const char *const folder = strrchr(e->package, '/');
    const size_t used = folder ? (size_t)(folder + 1 - e->package) : 0;
    char name[NAME_BYTES], *copy;

    memcpy(name, e->package, used);
    if (!walk(name, used, href))
        return NULL;
    copy = malloc(strlen(name) + 1);
    return copy ? strcpy(copy, name) : NULL;
}

/* ---- container, encryption, package ------------------------------------- */

static void container(struct xml *x, const char *name, const char *const *attributes)
{
    struct epub *const e = x->to;
    const char *const path = xml_attribute(attributes, "full-path");

    if (is(name, "ocf:rootfile") && path && !*e->package && strlen(path) < NAME_BYTES)
        strcpy(e->package, path);
}

/* Fonts may be hidden from copying; text that is encrypted cannot be read. */
static void encryption(struct xml *x, const char *name, const char *const *attributes)
{
    struct epub *const e = x->to;
    const char *const method = xml_attribute(attributes, "Algorithm");

    if (is(name, "enc:EncryptionMethod") && method &&
        !is(method, "http://www.idpf.org/2008/embedding") &&
        !is(method, "http://ns.adobe.com/pdf/enc#RC"))
        e->drm = true;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct item *)a)->id, ((const struct item *)b)->id);
}

static void add_item(struct xml *x, const char *const *attributes)
{
    struct epub *const e = x->to;
    const char *const id = xml_attribute(attributes, "id");
    const char *const href = xml_attribute(attributes, "href");
    const char *const type = xml_attribute(attributes, "media-type");
    const char *const more = xml_attribute(attributes, "properties");
    struct item item;

    if (!id || !href || !grow(x, (void **)&e->items, e->n, &e->capacity, sizeof(*e->items)))
        return;
    item = (struct item){
        .id = malloc(strlen(id) + 1), .href = part_name(e, href),
        .text = type && (is(type, "application/xhtml+xml") || is(type, "text/html")) &&
                !(more && line_has(more, more + strlen(more), "nav"))
    };
    if (!item.id || !item.href) {
        free(item.id);
        free(item.href);
        return;
    }
    strcpy(item.id, id);
    e->items[e->n++] = item;
}

static void add_to_spine(struct xml *x, const char *const *attributes)
{
    struct epub *const e = x->to;
    const char *const id = xml_attribute(attributes, "idref");
    const char *const linear = xml_attribute(attributes, "linear");
    const struct item key = { .id = (char *)(uintptr_t)id };
    const struct item *item;

    if (!e->sorted && e->n > 0)
        qsort(e->items, (size_t)e->n, sizeof(*e->items), compare);
    e->sorted = true;
    item = id && e->n > 0
           ? bsearch(&key, e->items, (size_t)e->n, sizeof(*e->items), compare) : NULL;
    if (!item || !item->text || (linear && is(linear, "no")) ||
        !grow(x, (void **)&e->spine, e->n_spine, &e->spine_capacity, sizeof(*e->spine)))
        return;
    e->spine[e->n_spine++] = item->href;
}

static void package_open(struct xml *x, const char *name, const char *const *attributes)
{
    struct epub *const e = x->to;

    if (is(name, "dc:title"))
        e->titled = e->title.size == 0;
    else if (is(name, "opf:item") && !e->sorted)
        add_item(x, attributes);
    else if (is(name, "opf:itemref"))
        add_to_spine(x, attributes);
}

static void package_close(struct xml *x, const char *name)
{
    struct epub *const e = x->to;

    if (is(name, "dc:title"))
        e->titled = false;
}

static void package_text(struct xml *x, const char *text, size_t size)
{
    struct epub *const e = x->to;
    struct text *const t = &e->title;

    if (!e->titled || t->size + size > NAME_BYTES)
        return;
    if (!t->at)
        t->at = malloc(NAME_BYTES);
    if (!t->at)
        return;
    memcpy(t->at + t->size, text, size);
    t->size += size;
}

/* ---- chapters ----------------------------------------------------------- */

/* Behind the head, whose title is most often the book's. */
static const char *behind_head(const char *text, const char *end)
{
    for (const char *at = text; (at = memchr(at, '<', (size_t)(end - at))) != NULL; at++) {
        if (end - at >= 7 && line_same(at, "</head>", 7))
            return at + 7;
        if (end - at >= 5 && line_same(at, "<body", 5))
            break;
    }
    return text;
}

static bool read_chapter(struct epub *e, const char *name)
{
    struct stream *const s = e->stream;
    size_t size, length;
    char *const bytes = archive_load(&e->archive, name, &size);
    enum encoding encoding;
    char *decoded = NULL;
    const char *text = bytes, *body;

    if (!bytes)
        return !e->archive.wrong;          /* a chapter that is not there says nothing */
    encoding = encoding_find(bytes, size);
    length = size;
    if (encoding != ENCODING_UTF8)
        text = decoded = encoding_decode(encoding, bytes, size, &length);
    if (text) {
        body = behind_head(text, text + length);
        html_put(s, body, length - (size_t)(body - text), s->size, true);
    } else {
        e->archive.wrong = "a part of it needs more memory than such a file may";
    }
    free(decoded);
    free(bytes);
    return !e->archive.wrong && !s->failed;
}

static void read_package(struct epub *e)
{
    struct archive *const a = &e->archive;
    struct xml where = { .open = container, .close = no_end, .text = nothing, .to = e };
    struct xml keys = { .open = encryption, .close = no_end, .text = nothing, .to = e };
    struct xml package = {
        .open = package_open, .close = package_close, .text = package_text, .to = e
    };

    xml_read(&where, a, "META-INF/container.xml");
    xml_read(&keys, a, "META-INF/encryption.xml");
    if (a->wrong)
        return;
    if (e->drm)
        a->wrong = "it is encrypted, and nobody is asked for a key here";
    else if (!*e->package || (!xml_read(&package, a, e->package) && !a->wrong))
        a->wrong = "this is a ZIP archive without a book: it names no package";
    else if (!a->wrong && e->n_spine == 0)
        a->wrong = "this book has no chapters: its package lists none";
}

void epub_read(struct stream *stream, const struct source *source)
{
    struct epub e = { .stream = stream };

    if (archive_open(&e.archive, source))
        read_package(&e);
    if (!e.archive.wrong && e.title.size > 0) {
        stream_open(stream, BLOCK_HEADING);
        stream_put(stream, e.title.at, e.title.size, stream->size);
        stream_close(stream);
    }
    for (int64_t i = 0; !e.archive.wrong && i < e.n_spine && read_chapter(&e, e.spine[i]); i++)
        ;
    archive_close(&e.archive);
    for (int64_t i = 0; i < e.n; i++) {
        free(e.items[i].id);
        free(e.items[i].href);
    }
    free(e.items);
    free(e.spine);
    free(e.title.at);
    if (e.archive.wrong)
        stream_refuse(stream, e.archive.wrong);
}

#else

void epub_read(struct stream *stream, const struct source *source)
{
    (void)source;
    stream_refuse(stream, "this is a book in EPUB, which is not read here: heed-summarize was "
                          "built without libzip and expat; try: pandoc -t plain FILE | "
                          "heed-summarize -");
}

#endif

int epub_looks_like(const struct source *source)
{
    return zip_is(source, "application/epub+zip") ||
           zip_mentions(source, "META-INF/container.xml") ? 2 : 0;
}
