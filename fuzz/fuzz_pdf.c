/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Characters that Poppler might give, five bytes each: which, how far from the last one, how large,
 * in which font.
 */
#include "reading.h"

#include "examples/summarize/pdf.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 5, PAGE = 0xFF, LINE = 0xFE };

static struct pdf_glyph next_glyph(const uint8_t *data, struct pdf_glyph last)
{
    static const uint32_t rare[] = { 0xAD, 0x2022, 0x2010, 0xFB03, 0xF0B7, 0x4E00, 0x2020, 0x7F };
    struct pdf_glyph g = { .code = data[0] };

    if (data[0] >= 0x80)
        g.code = rare[data[0] % (sizeof(rare) / sizeof(*rare))];
    g.size = (float)(data[3] % 64) / 2 + 0.5F;
    g.left = last.right + (float)(int8_t)data[1] * (data[4] & 8 ? 10 : 0.5F);
    g.top = last.top + (float)(int8_t)data[2];
    g.right = g.left + g.size / 2;
    g.bottom = g.top + g.size;
    g.bold = data[4] & 1;
    g.mono = data[4] & 2;
    g.math = data[4] & 4;
    return g;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stream stream = { 0 };
    struct pdf p = { .stream = &stream };
    struct pdf_glyph g = { .size = 1 };
    int32_t page = 0;

    pdf_page_begin(&p, page);
    for (; size >= BYTES; data += BYTES, size -= BYTES) {
        if (data[0] == PAGE) {
            pdf_page_end(&p);
            pdf_page_begin(&p, ++page);
            g = (struct pdf_glyph){ .size = 1 };
            continue;
        }
        g = next_glyph(data, g);
        if (data[0] == LINE)
            g.code = '\n';
        pdf_glyph(&p, &g);
    }
    pdf_page_end(&p);
    if (p.n > 0 && !stream.failed)
        pdf_put(&p);
    free(p.text);
    free(p.lines);
    fuzz_stream(&stream);
    return 0;
}

/* Two columns of lines, with a heading and notes, on some pages. */
size_t fuzz_seed(uint32_t number, uint8_t data[FUZZ_INPUT_MOST])
{
    static const char *const texts[] = {
        "A line of words that goes", "on and ends here. Then an-", "other one begins. It is",
        "Title", "1 A note of a few words.", "Figure 1: shown", "\x80 item one", "x . . . . . . 7"
    };
    size_t used = 0;

    for (uint32_t i = 0; i < 4 + number % 12; i++) {
        const char *const text = texts[(i + number) % 8];

        for (size_t k = 0; k <= strlen(text) && used + BYTES <= FUZZ_INPUT_MOST; k++) {
            const uint8_t glyph[BYTES] = {
                text[k] ? (uint8_t)text[k] : i % 7 == 6 ? PAGE : LINE, text[k] || k == 0 ? 0 : 0x90,
                text[k] ? 0 : number % 2 && i == 5 ? 0x88 : 12,
                i % 8 == 4 ? 14 : i % 8 == 3 ? 28 : 20, i % 8 == 3
            };

            memcpy(data + used, glyph, BYTES);
            used += BYTES;
        }
    }
    return used;
}
