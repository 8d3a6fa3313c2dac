/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bytes to a stream: what is no text is refused, its characters become UTF-8, and the reader of its
 * format fills the stream.
 */
#include "read.h"

#include <stdlib.h>
#include <string.h>

static bool fill_apart(struct reading *r, const struct source *source, struct failure *why)
{
    r->encoding = ENCODING_UTF8;
    r->size = source->size;
    if (!apart_read(&r->stream, r->format, source, why))
        return false;
    stream_outline(&r->stream);
    return true;
}

bool reading_do(struct reading *r, const char *bytes, size_t size, const char *name,
                struct failure *why)
{
    struct source source = { .text = size > 0 ? bytes : "", .size = size, .name = name };
    const char *refused;

    bytes = source.text;
    if (!r->format)
        r->format = format_find_apart(&source);
    if (r->format && r->format->apart)
        return fill_apart(r, &source, why);
    source.text = NULL;
    refused = encoding_refuse(bytes, size);
    if (refused) {
        snprintf(why->text, sizeof(why->text), "%s", refused);
        why->usage = true;
        return false;
    }
    r->bytes = bytes;                      /* asked for no more where they are UTF-8 */
    r->size = size;
    r->encoding = encoding_find(bytes, size);
    if (r->encoding == ENCODING_UTF8) {
        source.text = bytes;
        source.size = size;
        r->bad = utf8_count_bad(bytes, size);
    } else {
        r->text = encoding_decode(r->encoding, bytes, size, &source.size);
        source.text = r->text;
    }
    if (source.text && !r->format)
        r->format = format_find(&source);
    if (source.text)
        r->format->read(&r->stream, &source);
    stream_outline(&r->stream);
    free(r->text);
    r->text = NULL;
    if (source.text && !r->stream.failed)
        return true;
    why->usage = r->stream.crowded;
    snprintf(why->text, sizeof(why->text), "%s",
             r->stream.crowded ? text_crowded : "not enough memory for the text");
    return false;
}

size_t reading_origin(const struct reading *r, size_t at, struct walk *walk)
{
    return encoding_origin(r->encoding, r->bytes, r->size, stream_origin(&r->stream, at), walk);
}

size_t reading_end(const struct reading *r, size_t at, struct walk *walk)
{
    const size_t origin = at > 0 ? stream_origin(&r->stream, at - 1) + 1 : 0;

    return encoding_origin(r->encoding, r->bytes, r->size, origin, walk);
}

void reading_finish(struct reading *r)
{
    stream_finish(&r->stream);
    free(r->text);
    *r = (struct reading){ 0 };
}
