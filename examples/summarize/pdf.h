/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lines of a PDF: pdf.c asks Poppler for characters, pdf_page.c makes lines of them, pdf_lines.c
 * says what they are.
 */
#ifndef HEED_EXAMPLES_SUMMARIZE_PDF_H
#define HEED_EXAMPLES_SUMMARIZE_PDF_H

#include "read.h"

struct pdf_line {
    size_t begin, end;             /* of the text */
    float left, top, right, bottom, size;
    int32_t page, order;           /* order: of columns, while they are sorted */
    int32_t letters, bold, mono, math;     /* characters, without spaces; of them in such fonts */
    int8_t kind;                   /* a block_kind */
    bool column, gap, note;
};

/* The line at work, of a page. */
struct pdf_work {
    struct pdf_line *line;         /* NULL: none so far */
    int32_t page;
    int64_t first;                 /* of the lines of the page */
    float size, bottom;            /* of the last character that is no mark of a note */
    int32_t of_most;
    int letters;                   /* at the end of the line so far */
    bool mark;                     /* it ends with a mark that ends sentences or their parts */
};

struct pdf {
    struct stream *stream;
    char *text;
    size_t size, capacity;
    struct pdf_line *lines;
    int64_t n, line_capacity;
    uint64_t *titles;              /* of the outline, sorted: title_key() */
    int64_t n_titles;
    struct pdf_work work;
    float body, pitch;             /* size of most text; lines of a paragraph, in sizes */
    bool fonts_tell, mono;         /* headings by fonts; the body is of a typewriter */
};

struct pdf_glyph {
    uint32_t code;                 /* '\n': the line ends */
    float left, top, right, bottom, size;  /* in points, from the top left corner; size > 0 */
    bool bold, mono, math;
};

/* Memory is short. */
void pdf_fail(struct pdf *p);
void pdf_page_begin(struct pdf *p, int32_t number);
void pdf_glyph(struct pdf *p, const struct pdf_glyph *glyph);
void pdf_page_end(struct pdf *p);
/* Does the outline have this line, in its letters? */
bool pdf_is_title(const struct pdf *p, const struct pdf_line *l);
/* Fills the stream from the lines, of which there is one at least. */
void pdf_put(struct pdf *p);

#endif
