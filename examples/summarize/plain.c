/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Plain text: paragraphs, lists, and who says what at which time.
 */
#include "read.h"

int plain_looks_like(const struct source *source)
{
    (void)source;
    return 1;
}

void plain_read(struct stream *stream, const struct source *source)
{
    struct prose prose = { .stream = stream, .base = source->text, .gap = 3 };
    const char *const end = source->text + source->size;
    struct line line = { .next = source->text };

    while (line.next < end) {
        line = line_at(line.next, end);
        prose_line(&prose, line.begin, line.end);
        if (line.page)
            prose_end(&prose);
    }
    prose_end(&prose);
    prose_number_headings(stream);
}
