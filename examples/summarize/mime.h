/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * E-mail below its lines: header fields, encoded words, transfer encodings, parts.
 */
#ifndef HEED_EXAMPLES_SUMMARIZE_MIME_H
#define HEED_EXAMPLES_SUMMARIZE_MIME_H

#include "read.h"

enum { FIELD_BYTES = 256 };

/* What the header of a message or a part says, as far as it matters here. */
struct header {
    char from[FIELD_BYTES], subject[FIELD_BYTES], type[FIELD_BYTES], encoding[FIELD_BYTES];
    char disposition[FIELD_BYTES];
    int known;                         /* fields with a name of e-mail */
    bool machine;                      /* fields that only programs write */
};

/* Reads fields up to a blank line; returns where the body begins. */
const char *mime_header(const char *at, const char *end, struct header *header);
/* Whether the line begins with the name of a field of e-mail. */
bool mime_is_field(const char *begin, const char *end);
/* The value of a parameter of a field, "" if it has none. */
void mime_parameter(const char *field, const char *name, char value[FIELD_BYTES]);
/* "Ann Lee <ann@example.org>" to "Ann Lee". */
void mime_person(char from[FIELD_BYTES]);
/* The body in UTF-8, by its header; NULL: no memory. The caller frees. */
char *mime_decode(const struct header *header, const char *at, size_t size, size_t *length);

#endif
