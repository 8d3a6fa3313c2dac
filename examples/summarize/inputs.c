/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Several files as one: their streams become one stream, and a byte of it is asked for its origin
 * in the file that it came from. One file stays as it was read.
 */
#include "read.h"

#include <stdlib.h>
#include <string.h>

bool inputs_add(struct inputs *in, const char *name, const struct format *format, char *bytes,
                size_t size, struct failure *why)
{
    struct input *one;

    if (in->n == in->capacity) {
        const int64_t capacity = in->capacity ? in->capacity * 2 : 4;
        struct input *const grown = realloc(in->list, (size_t)capacity * sizeof(*grown));

        if (!grown) {
            snprintf(why->text, sizeof(why->text), "not enough memory for the files");
            free(bytes);
            return false;
        }
        in->list = grown;
        in->capacity = capacity;
    }
    one = &in->list[in->n++];
    *one = (struct input){ .name = name, .bytes = bytes, .reading.format = format };
    if (!reading_do(&one->reading, bytes, size, name, why))
        return false;
    if (one->reading.encoding == ENCODING_UTF8) {
        free(one->bytes);                  /* the stream has them, and knows where they were */
        one->bytes = NULL;
        one->reading.bytes = NULL;
    }
    return true;
}

static struct block moved(struct block b, size_t by)
{
    b.begin += by;
    b.end += by;
    b.label_begin += by;
    b.label_end += by;
    b.text_begin += by;
    return b;
}

/* Text and blocks of every file, one after another. */
static bool join(struct stream *to, const struct inputs *in)
{
    for (int64_t i = 0; i < in->n; i++) {
        to->capacity += in->list[i].reading.stream.size;
        to->block_capacity += in->list[i].reading.stream.n;
    }
    to->text = malloc(to->capacity + 1);
    to->blocks = malloc(((size_t)to->block_capacity + 1) * sizeof(*to->blocks));
    if (!to->text || !to->blocks)
        return false;
    for (int64_t i = 0; i < in->n; i++) {
        struct stream *const from = &in->list[i].reading.stream;

        in->list[i].begin = to->size;
        if (from->size > 0)
            memcpy(to->text + to->size, from->text, from->size);
        for (int64_t k = 0; k < from->n; k++)
            to->blocks[to->n++] = moved(from->blocks[k], to->size);
        if (from->n > 0)
            to->blocks[to->n - from->n].first = true;
        to->size += from->size;
        free(from->text);
        free(from->blocks);
        from->text = NULL;
        from->blocks = NULL;
    }
    return true;
}

bool inputs_join(struct inputs *in, struct failure *why)
{
    if (in->n == 1) {
        in->all = in->list[0].reading;
        in->list[0].reading = (struct reading){ .format = NULL };
        return true;
    }
    in->all.format = in->list[0].reading.format;
    in->all.encoding = in->list[0].reading.encoding;
    for (int64_t i = 0; i < in->n; i++) {
        in->all.size += in->list[i].reading.size;
        in->all.bad += in->list[i].reading.bad;
    }
    if (join(&in->all.stream, in))
        return true;
    snprintf(why->text, sizeof(why->text), "not enough memory for the files");
    return false;
}

void inputs_finish(struct inputs *in)
{
    for (int64_t i = 0; i < in->n; i++) {
        reading_finish(&in->list[i].reading);
        free(in->list[i].bytes);
    }
    free(in->list);
    reading_finish(&in->all);
    *in = (struct inputs){ .n = 0 };
}

/* The last file that begins at or before the byte: empty ones have none. */
int64_t inputs_file(const struct inputs *in, size_t at)
{
    int64_t low = 0, high = in->n;         /* the file is in [low, high) */

    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;

        if (in->list[middle].begin <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static const struct reading *reading_of(const struct inputs *in, int64_t file)
{
    return in->n == 1 ? &in->all : &in->list[file].reading;
}

size_t inputs_origin(const struct inputs *in, int64_t file, size_t at, struct walk *walk)
{
    return reading_origin(reading_of(in, file), at - in->list[file].begin, walk);
}

size_t inputs_end(const struct inputs *in, int64_t file, size_t at, struct walk *walk)
{
    return reading_end(reading_of(in, file), at - in->list[file].begin, walk);
}
