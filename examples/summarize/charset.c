/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Character sets by name, by the system's iconv.
 */
#define _POSIX_C_SOURCE 200809L    /* iconv */
#include "read.h"

#include <iconv.h>
#include <stdlib.h>

/* Bytes that are not of the set become U+FFFD. */
static char *convert(iconv_t set, const char *bytes, size_t size, size_t *length)
{
    const size_t capacity = size * 4 + 16;
    char *const text = malloc(capacity);
    char *in = (char *)(uintptr_t)bytes, *out = text;
    size_t in_left = size, out_left = capacity - 8;

    while (text && in_left > 0) {
        if (iconv(set, &in, &in_left, &out, &out_left) != (size_t)-1 || in_left == 0)
            break;
        if (out_left < 8)
            break;
        out += utf8_put(UTF8_BAD, out);
        out_left -= 3;
        in++;
        in_left--;
    }
    *length = text ? (size_t)(out - text) : 0;
    return text;
}

bool encoding_by_name(const char *charset, const char *bytes, size_t size, char **text,
                      size_t *length)
{
    const iconv_t set = iconv_open("UTF-8", charset);

    if (set == (iconv_t)-1)
        return false;
    *text = convert(set, bytes, size, length);
    iconv_close(set);
    return true;
}
