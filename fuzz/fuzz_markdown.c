/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as Markdown.
 */
#include "reading.h"

static const char *const texts[] = {
    "---\ntitle: x\n---\n# Title\n\nSome **bold** and *thin* `code`. More [link](http://a.b).\n\n",
    "- one\n- two is a sentence.\n  1. deep\n\n> quoted\n> text\n\n",
    "```c\nint x;\n```\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n\n",
    "Ann: says &auml; <b>html</b> \\* ![pic](x.png) https://x.y ~~gone~~\n\nHead\n====\n\n"
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_reading("markdown", data, size);
    return 0;
}

size_t fuzz_seed(uint32_t number, uint8_t data[FUZZ_INPUT_MOST])
{
    return fuzz_reading_seed(number, texts, sizeof(texts) / sizeof(*texts), data);
}
