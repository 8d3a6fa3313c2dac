/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the page that --html writes: html_page.c has the frame, the summary and the list of
 * sections, html_page_text.c the document, html_page_draw.c the pictures, html_page_put.c what is
 * safe to write, html_page_style.c the style. The page has no script and asks no network.
 */
#ifndef HEED_EXAMPLES_SUMMARIZE_HTML_PAGE_H
#define HEED_EXAMPLES_SUMMARIZE_HTML_PAGE_H

#include "read.h"

/* A heading and what stands below it; of several files, the start of one; or, in a text without
 * headings, a segment. */
struct part {
    int64_t block;                 /* of the heading; -1: none */
    int64_t file;                  /* that begins here; -1: none does, or there is only one */
    int64_t first, end;            /* its sentences */
    int64_t chosen;                /* how many of them the summary has */
    bool listed;
};

struct page {
    FILE *to;
    const struct report *r;
    struct part *parts;            /* they cover the document; at least one */
    int64_t n_parts;
    bool headed;                   /* they are no segments */
    bool *shown;                   /* [n]: sentence is on the page */
    int64_t n_hidden;
};

/* ---- html_page_put.c --------------------------------------------------------- */

/* Text of a file as text of HTML: markup, controls and direction marks do not get through. White
 * space of any sort becomes one space, or nothing between ideographs. */
void page_put_range(FILE *to, const char *text, size_t begin, size_t end);
/* The same, with the lines of the text and the spaces in them. */
void page_put_lines(FILE *to, const char *text, size_t begin, size_t end);
void page_put_string(FILE *to, const char *text);
/* "1 sentence", "2 sentences". */
void page_put_count(FILE *to, int64_t count, const char *what);

/* The name of a file, without its folder: a page need not tell that. */
void page_put_name(FILE *to, const char *file);

/* ---- html_page_text.c -------------------------------------------------------- */

void page_put_document(const struct page *p);

/* ---- html_page_draw.c -------------------------------------------------------- */

void page_put_strip(const struct page *p);
void page_put_pattern(const struct page *p);

/* ---- html_page_style.c ------------------------------------------------------- */

/* Strings up to a NULL. */
extern const char *const page_style[];
/* SHA-256 of all of them in base64: the only style that a browser takes. */
extern const char page_style_hash[];

#endif
