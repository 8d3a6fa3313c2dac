/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * From the bytes of a file to one stream of blocks. encoding.c makes UTF-8 of the bytes, a reader
 * for each format (formats.c has the table) puts the text into a stream and says what each block
 * is, and every byte of the stream knows where in the file it came from.
 */
#ifndef HEED_EXAMPLES_SUMMARIZE_READ_H
#define HEED_EXAMPLES_SUMMARIZE_READ_H

#include "summarize.h"

/* ---- stream.c: text in blocks --------------------------------------------- */

enum block_kind {
    BLOCK_PARAGRAPH,
    BLOCK_TURN,                    /* what one speaker says at a time */
    BLOCK_ITEM,                    /* of a list */
    BLOCK_HEADING,
    BLOCK_QUOTE,                   /* of another message or text */
    BLOCK_CODE,
    BLOCK_TABLE,
    BLOCK_FURNITURE,               /* page numbers, running heads, contents, signatures */
    BLOCK_KINDS
};

/* Offsets are bytes of the stream's text. */
struct block {
    size_t begin, end;
    size_t label_begin, label_end; /* the speaker; empty: none */
    size_t text_begin;             /* behind the speaker, or the number of an item */
    enum block_kind kind;
    bool first;                    /* of several files, the first of one */
};

/* From text[at] on, up to the next piece, bytes come from origin and what follows it; or all of
 * them stand for what is at the origin, like a character for its name. */
struct piece {
    size_t at;
    uint64_t origin;               /* times 2; odd: all from one place */
};

struct stream;
/* Takes the last block of a stream, which is its only one and is dropped then; false: it fails. */
typedef bool stream_taker(struct stream *s, void *to);

struct stream {
    char *text;
    size_t size, capacity;
    struct block *blocks;          /* in order, disjoint, not empty */
    int64_t n, block_capacity;
    struct piece *pieces;
    int64_t n_pieces, piece_capacity;
    size_t label_begin, label_end, text_begin; /* of the open block */
    enum block_kind kind;          /* of the open block */
    bool open;
    bool failed;                   /* memory was short: nothing is added any more */
    bool crowded;                  /* failed: TEXT_CROWDED blocks of too few bytes */
    const char *refused;           /* failed: what is wrong with the file; NULL: nothing */
    stream_taker *take;            /* NULL: blocks stay */
    void *to;
};

/* Opens a block; the one before is closed. */
void stream_open(struct stream *s, enum block_kind kind);
/* Closes the open block, if any; nothing remains of one without text. */
void stream_close(struct stream *s);
/* Adds text that stands at `origin`; without what utf8_unread() leaves out. */
void stream_put(struct stream *s, const char *text, size_t size, size_t origin);
/* Adds text that stands for what is at `origin`; the same. */
void stream_put_for(struct stream *s, const char *text, size_t size, size_t origin);
/* Adds white space unless there is some, or nothing yet, before it. */
void stream_space(struct stream *s, size_t origin);
/* What the open block has so far becomes its label. */
void stream_label(struct stream *s);
/* The name before a colon with which the open block begins becomes its label. */
void stream_speaker(struct stream *s);
/* Where the byte text[at] came from; at == size: the end. */
size_t stream_origin(const struct stream *s, size_t at);
/* The file is wrong: nothing is added any more. The line is not owned. */
void stream_refuse(struct stream *s, const char *why);
void stream_finish(struct stream *s);

/* ---- encoding.c: bytes to UTF-8 ------------------------------------------- */

enum encoding { ENCODING_UTF8, ENCODING_UTF16LE, ENCODING_UTF16BE, ENCODING_LATIN1, ENCODINGS };

const char *encoding_name(enum encoding encoding);

/* A line that says why these bytes are no text, and what helps; NULL: they may be text. */
const char *encoding_refuse(const char *bytes, size_t size);
enum encoding encoding_find(const char *bytes, size_t size);

/* Text in UTF-8; NULL when memory is short. The caller frees. */
char *encoding_decode(enum encoding encoding, const char *bytes, size_t size, size_t *length);

/* Where in the bytes the text's byte `at` came from. Asked in ascending order, all answers together
 * cost one walk. */
struct walk {
    size_t text, bytes;
};

size_t encoding_origin(enum encoding encoding, const char *bytes, size_t size, size_t at,
                       struct walk *walk);

/* Text of a named character set in UTF-8, like encoding_decode(); an unknown one is found. */
char *encoding_convert(const char *charset, const char *bytes, size_t size, size_t *length);
/* By what the system knows of the set. false: nothing. *text NULL: no memory. */
bool encoding_by_name(const char *charset, const char *bytes, size_t size, char **text,
                      size_t *length);

/* ---- formats.c: which reader ---------------------------------------------- */

struct source {
    const char *text;              /* UTF-8, or nearly */
    size_t size;
    const char *name;              /* of the file; NULL: unknown */
};

/* What a process of its own may take, which reads a file whose text is its bytes: so many MiB, and
 * so many tenths of the file, of memory; so many seconds of a processor, and one each 256 KiB. */
struct room {
    unsigned mib, tenths, seconds;
};

struct format {
    const char *name, *what;       /* `what` is for people */
    const char *endings;           /* of file names, each with a space behind */
    /* How sure the text is of this format: 0 not, 1 it may be, 2 it is. */
    int (*looks_like)(const struct source *source);
    void (*read)(struct stream *stream, const struct source *source);
    const struct room *apart;      /* NULL: it is read here */
    const char *(*library)(void);  /* by which it is read, for people; NULL: none is needed */
};

/* Format `index`; NULL behind the last one. */
const struct format *format_at(size_t index);
const struct format *format_named(const char *name);
const struct format *format_find(const struct source *source);
/* Of those that a process of its own reads, the one that the bytes of a file are; NULL: none. */
const struct format *format_find_apart(const struct source *source);

int plain_looks_like(const struct source *source);
void plain_read(struct stream *stream, const struct source *source);
int markdown_looks_like(const struct source *source);
void markdown_read(struct stream *stream, const struct source *source);
/* What people should know of this build's reader; NULL: nothing. */
const char *markdown_remark(void);
int html_looks_like(const struct source *source);
void html_read(struct stream *stream, const struct source *source);
int mail_looks_like(const struct source *source);
void mail_read(struct stream *stream, const struct source *source);
int captions_looks_like(const struct source *source);
void captions_read(struct stream *stream, const struct source *source);
int man_looks_like(const struct source *source);
void man_read(struct stream *stream, const struct source *source);
int pages_looks_like(const struct source *source);
void pages_read(struct stream *stream, const struct source *source);
int pdf_looks_like(const struct source *source);
void pdf_read(struct stream *stream, const struct source *source);
int docx_looks_like(const struct source *source);
void docx_read(struct stream *stream, const struct source *source);
int odt_looks_like(const struct source *source);
void odt_read(struct stream *stream, const struct source *source);
int epub_looks_like(const struct source *source);
void epub_read(struct stream *stream, const struct source *source);
/* The libraries of others by which this build reads them; NULL: it does without. */
const char *markdown_library(void);
const char *pdf_library(void);
const char *archive_library(void);

/* ---- apart.c, confine.c: a process that reads what may harm -------------------- */

/* A file has at most so much text, TEXT_FREE + TEXT_TIMES times its bytes. */
#define TEXT_FREE  ((size_t)1 << 20)
#define TEXT_TIMES ((size_t)100)

/* Reads a file in a process of its own. Origins are bytes of the text that is read. False: the file
 * is refused, or memory is short. */
bool apart_read(struct stream *stream, const struct format *format, const struct source *source,
                struct failure *why);
/* Processor seconds that reading so many bytes may take. */
unsigned confine_seconds(const struct room *room, size_t size);
/* From here on the process can write to `to` and read files, and has so much memory besides what it
 * has; the seconds end it. */
void confine(int to, uint64_t memory, unsigned seconds);

/* ---- pages.c: lines of pages --------------------------------------------------- */

struct page_line {
    const char *begin, *end;
    bool page, column;             /* the first one of a page, of a column */
    bool gap;                      /* a paragraph may end before it */
    enum block_kind kind;          /* BLOCK_PARAGRAPH: its text says what it is */
};

/* Lines that are not blank, which are asked for twice. */
struct page_lines {
    bool (*next)(struct page_lines *lines, struct page_line *line);
    const void *from;
    size_t at;                     /* 0: before the first one */
    const char *base;              /* where the text begins, for origins */
    unsigned flags;                /* PROSE_ ones, besides hyphens */
};

void pages_put(struct stream *stream, struct page_lines *lines);

/* ---- outline.c: what blocks are beside others --------------------------------- */

void stream_outline(struct stream *s);

/* ---- source.c: all of it ---------------------------------------------------- */

struct reading {
    struct stream stream;
    const struct format *format;   /* NULL before: to be found */
    enum encoding encoding;
    const char *bytes;             /* not owned */
    size_t size, bad;              /* bad: bytes that are not of the encoding */
    char *text;                    /* while it is read */
};

/* false: the file is refused, or memory is short; `why` says which. */
bool reading_do(struct reading *r, const char *bytes, size_t size, const char *name,
                struct failure *why);
/* The byte of the file that the stream's byte came from; ask in ascending order. */
size_t reading_origin(const struct reading *r, size_t at, struct walk *walk);
/* The same for the end of a range, which is behind its last byte. */
size_t reading_end(const struct reading *r, size_t at, struct walk *walk);
void reading_finish(struct reading *r);

/* ---- inputs.c: several files ------------------------------------------------ */

struct input {
    const char *name;              /* as the caller calls it; not owned */
    char *bytes;                   /* owned */
    struct reading reading;        /* of several files, without text and blocks */
    size_t begin;                  /* where its text begins in that of all */
};

/* One stream of blocks, whatever the number of files. */
struct inputs {
    struct input *list;
    int64_t n, capacity;
    struct reading all;            /* of one file: its reading */
};

/* Reads bytes, which are the inputs' from now on, as another file. False: the file is refused, or
 * memory is short. */
bool inputs_add(struct inputs *in, const char *name, const struct format *format, char *bytes,
                size_t size, struct failure *why);
/* When all are added: makes `all`. */
bool inputs_join(struct inputs *in, struct failure *why);
void inputs_finish(struct inputs *in);

/* The file that the stream's byte `at` came from. */
int64_t inputs_file(const struct inputs *in, size_t at);

/* Like reading_origin() and reading_end(), of byte `at` of the stream of all, which came from
 * `file`; a walk goes over one file. */
size_t inputs_origin(const struct inputs *in, int64_t file, size_t at, struct walk *walk);
size_t inputs_end(const struct inputs *in, int64_t file, size_t at, struct walk *walk);

/* ---- entity.c: character references of HTML and Markdown -------------------- */

/* Reads the reference at `at`, an ampersand, and stores its UTF-8; returns the bytes it takes, 0 if
 * there is none. */
size_t entity_read(const char *at, const char *end, char utf8[8], size_t *length);

/* ---- html.c: a piece of HTML in another file -------------------------------- */

/* Like html_read(); what is at text[i] comes from origin + i, or all of it from `origin`. */
void html_put(struct stream *stream, const char *text, size_t size, size_t origin, bool whole);

/* ---- line.c: what a line is ------------------------------------------------- */

/* A line [begin, end) of a text, without its end; `next` is where the one behind it begins. */
struct line {
    const char *begin, *end, *next;
    bool page;                     /* a form feed ends it */
};

struct line line_at(const char *at, const char *end);
bool line_is_blank(const char *begin, const char *end);
const char *line_skip_space(const char *begin, const char *end);
const char *line_trim(const char *begin, const char *end);
/* Only one sign, three times or more: '=', '-', '*', '_', '~'; else 0. */
char line_rule(const char *begin, const char *end);
bool line_is_page_number(const char *begin, const char *end);
bool line_is_contents(const char *begin, const char *end);     /* "Title ...... 12" */
bool line_is_table(const char *begin, const char *end, int gap);
/* Bytes of a list mark and the space behind it, 0 if there is none. */
size_t line_bullet(const char *begin, const char *end);
size_t line_number(const char *begin, const char *end);        /* "12. ", "a) " */
/* Bytes of a point in time and what surrounds it: "[10:02:33] ", "12.03.24, 10:02 - ". */
size_t line_stamp(const char *begin, const char *end);
/* "Name: text", "Name (0:12): text": where the name ends; *text is what follows. 0: no speaker. */
size_t line_speaker(const char *begin, const char *end, const char **text);
/* "Name  0:12" alone on a line. */
size_t line_speaker_alone(const char *begin, const char *end);
bool line_ends_sentence(const char *begin, const char *end);
int64_t line_words(const char *begin, const char *end, int64_t most);
bool line_has(const char *begin, const char *end, const char *word);   /* ASCII, any case */
bool line_same(const char *a, const char *b, size_t size);              /* ASCII, any case */

/* ---- prose.c: lines to blocks ----------------------------------------------- */

enum {
    PROSE_HYPHENS = 1,             /* a hyphen at the end of a line was put there to break it */
    PROSE_NO_SPEAKERS = 2,
    PROSE_NO_HEADINGS = 4,
    PROSE_TAGS = 8,                /* a short line alone is a tag, which is left out */
    PROSE_NAMES = 16               /* lines that are set in, or stop short, say what they are */
};

struct prose {
    struct stream *stream;
    const char *base;              /* where the text begins, for origins */
    size_t origin;
    unsigned flags;
    int gap;                       /* spaces between columns of a table */
    bool whole;                    /* all of it comes from `origin` */
    int64_t lines;                 /* of the open block */
    size_t last;                   /* where the last line of it begins in the stream */
    const char *next, *next_end;   /* the line behind; NULL: unknown */
    size_t indent;                 /* columns, of the last line */
    size_t hang;                   /* bytes before its text, behind the name of an item; or 0 */
    bool announced;                /* that line is below one with a colon, and further in */
    ptrdiff_t width;               /* bytes of the longest line, up to 80; 0: unknown */
};

void prose_line(struct prose *p, const char *begin, const char *end);
void prose_end(struct prose *p);
/* All lines of a text. */
void prose_lines(struct prose *p, const char *text, size_t size);
/* A line that is a block, or goes on with one, of this kind. */
void prose_put(struct prose *p, enum block_kind kind, const char *begin, const char *end);
size_t prose_origin(const struct prose *p, const char *at);

#endif
