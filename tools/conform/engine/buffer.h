/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Text that grows, and any bytes as text of JSON and of XML.
 */
#ifndef HEED_TOOLS_CONFORM_ENGINE_BUFFER_H
#define HEED_TOOLS_CONFORM_ENGINE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Zero is empty. Where memory ends nothing is added any more, and `lost` says so. */
struct buffer {
    char *at; /* ends with NUL; NULL: empty */
    size_t n, room;
    bool lost;
};

void buffer_add(struct buffer *, const char *bytes, size_t n);
void buffer_print(struct buffer *, const char *format, ...);
void buffer_free(struct buffer *);
const char *buffer_text(const struct buffer *);

/* A string with its quotes. Bytes that are no UTF-8 become U+FFFD, one each. */
void buffer_json(struct buffer *, const char *text);
/* Contents of an attribute or of an element. Characters that XML 1.0 has not become U+FFFD, too. */
void buffer_xml(struct buffer *, const char *text);
/* As one word of a POSIX shell. */
void buffer_shell(struct buffer *, const char *text);

#endif
