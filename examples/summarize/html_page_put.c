/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The one way from a file's text into the page. Every character is decoded and put out again, so
 * that what the page has is valid UTF-8 and valid HTML whatever the file has.
 */
#include "html_page.h"

#include <string.h>

static void put_code(FILE *to, uint32_t code)
{
    char bytes[4];

    switch (code) {
    case '&': fputs("&amp;", to); return;
    case '<': fputs("&lt;", to); return;
    case '>': fputs("&gt;", to); return;
    case '"': fputs("&quot;", to); return;
    case '\'': fputs("&#39;", to); return;
    default: break;
    }
    /* HTML has no noncharacters. */
    if ((code & 0xFFFE) == 0xFFFE || (code >= 0xFDD0 && code <= 0xFDEF))
        code = UTF8_BAD;
    fwrite(bytes, 1, utf8_put(code, bytes), to);
}

void page_put_range(FILE *to, const char *text, size_t begin, size_t end)
{
    bool space = false, any = false, wide = false;
    size_t taken;

    for (size_t i = begin; i < end; i += taken) {
        const uint32_t code = utf8_next(text + i, text + end, &taken);

        if (utf8_is_space(code)) {
            space = any;
            continue;
        }
        if (space && !(wide && utf8_is_wide(code)))
            fputc(' ', to);
        put_code(to, code);
        space = false;
        any = true;
        wide = utf8_is_wide(code);
    }
}

void page_put_lines(FILE *to, const char *text, size_t begin, size_t end)
{
    size_t taken;

    for (size_t i = begin; i < end; i += taken) {
        const uint32_t code = utf8_next(text + i, text + end, &taken);

        if (code == '\n' || code == '\t')
            fputc((int)code, to);
        else if (!utf8_is_hidden(code))
            put_code(to, code);
    }
}

void page_put_string(FILE *to, const char *text)
{
    page_put_range(to, text, 0, strlen(text));
}

void page_put_count(FILE *to, int64_t count, const char *what)
{
    fprintf(to, "%lld %s%s", (long long)count, what, count == 1 ? "" : "s");
}

void page_put_name(FILE *to, const char *file)
{
    const char *const slash = strrchr(file, '/');

    page_put_string(to, strcmp(file, "-") == 0 ? "standard input"
                        : slash && slash[1]    ? slash + 1
                                               : file);
}
