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
    struct prose prose = {
        .stream = stream, .base = source->text, .gap = 3, .flags = PROSE_NAMES
    };

    prose_lines(&prose, source->text, source->size);
}
