/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Documents that are XML in a ZIP archive. What is wrong is a line that stays valid for ever.
 */
#ifndef HEED_EXAMPLES_SUMMARIZE_PACKAGE_H
#define HEED_EXAMPLES_SUMMARIZE_PACKAGE_H

#include "read.h"

/* ---- archive.c ------------------------------------------------------------------ */

/* Bytes that may be unpacked of a file: UNPACKED_FREE + UNPACKED_TIMES times its own. */
#define UNPACKED_FREE  ((size_t)16 << 20)
#define UNPACKED_TIMES ((size_t)100)

struct archive {
    struct zip *zip;
    size_t left;                   /* bytes that may still be unpacked */
    const char *wrong;             /* NULL: nothing so far */
};

/* An archive of bytes that stay the caller's; false: `wrong` says why. */
bool archive_open(struct archive *a, const struct source *source);
void archive_close(struct archive *a);
bool archive_has(const struct archive *a, const char *name);

/* An entry, to be read once from its start to its end. */
struct entry {
    struct archive *archive;
    struct zip_file *file;
};

/* False: there is none, and nothing is wrong; or `wrong` of the archive says why. */
bool entry_open(struct entry *e, struct archive *a, const char *name);
/* At most `size` bytes more; 0: the end, or `wrong` says why. */
size_t entry_read(struct entry *e, void *to, size_t size);
void entry_close(struct entry *e);
/* All of an entry; NULL: as for entry_open(). The caller frees. */
char *archive_load(struct archive *a, const char *name, size_t *size);

/* Without the archive's library: does a ZIP file have this text, such as a name, in it? */
bool zip_mentions(const struct source *source, const char *text);
/* Is it a ZIP file whose first entry is a stored "mimetype" that begins so? */
bool zip_is(const struct source *source, const char *type);

/* ---- xml.c ---------------------------------------------------------------------- */

/* Names are "prefix:name" by the table of namespaces in xml.c, whatever the file's prefixes are;
 * those of other namespaces are "". */
struct xml {
    void (*open)(struct xml *x, const char *name, const char *const *attributes);
    void (*close)(struct xml *x, const char *name);
    void (*text)(struct xml *x, const char *text, size_t size);
    void *to;
    const char *wrong;             /* set by anybody: reading stops */
};

/* The value of an attribute, "prefix:name", or "name" without a namespace; NULL: it has none. */
const char *xml_attribute(const char *const *attributes, const char *name);
/* Reads an entry. False: there is none, or `wrong` of the archive says why. */
bool xml_read(struct xml *x, struct archive *a, const char *name);

/* ---- office.c: what documents of offices share ------------------------------------- */

struct text {
    char *at;
    size_t size, capacity;
};

struct style {
    char *id, *parent;             /* owned */
    int kind;                      /* a block_kind; -1: the parent's */
    bool hidden;
};

struct styles {
    struct style *list;            /* sorted once styles_sort() is called */
    int64_t n, capacity;
};

enum { DEEPEST_TABLE = 32 };

struct office {
    struct stream *stream;
    struct archive *archive;
    struct styles styles;
    struct text paragraph, row, notes;
    struct text outer;             /* the paragraph that a note interrupts */
    enum block_kind kind, outer_kind;
    bool noting;                   /* within a note: what is put goes to it until it ends */
    enum block_kind around;        /* FURNITURE: all is; else PARAGRAPH */
    int skipped;                   /* open elements of what is left out */
    bool space;                    /* white space is to come */
    int tables;                    /* open ones */
    bool data[DEEPEST_TABLE];      /* [tables]: of several columns */
    bool failed;                   /* memory is short */
};

/* What a style of this name, in English, makes of a paragraph; -1: nothing of its own. */
int office_kind(const char *name);
/* Copies the names. */
void styles_add(struct office *o, const char *id, const char *parent, int kind, bool hidden);
void styles_sort(struct styles *s);
/* NULL: unknown. */
const struct style *styles_find(const struct styles *s, const char *id);
/* The kind of a style, or of the first parent that has one; -1: none. */
int styles_kind(const struct styles *s, const char *id);

void office_open(struct office *o, enum block_kind kind);
/* White space becomes one space, and none at the start. */
void office_put(struct office *o, const char *text, size_t size);
/* A tab, or the end of a line. */
void office_sign(struct office *o, char sign);
void office_close(struct office *o);
void office_table(struct office *o, int64_t columns);
void office_row(struct office *o);
void office_table_end(struct office *o);
void office_note(struct office *o);
void office_note_end(struct office *o);
/* Puts the notes behind all else, and frees what the document had. */
void office_finish(struct office *o);

#endif
