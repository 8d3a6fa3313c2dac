/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The lines of a message.
 */
#ifndef HEED_EXAMPLES_SUMMARIZE_LETTER_H
#define HEED_EXAMPLES_SUMMARIZE_LETTER_H

#include "read.h"

struct letter {
    const char *text;
    size_t size, origin;
    bool whole;                        /* all of it comes from `origin` */
    const char *sender;                /* NULL: not told */
    bool quotes_headers;               /* header lines in the text are of quoted messages */
};

void letter_read(struct stream *stream, const struct letter *letter);
/* Whether header lines of another message stand in the text. */
bool letter_has_headers(const char *at, const char *end);

#endif
