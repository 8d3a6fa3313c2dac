/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as HTML.
 */
#include "reading.h"

static const char *const texts[] = {
    "<!DOCTYPE html><html><head><title>T &amp; t</title><style>p{}</style></head><body>",
    "<p>One <b>bold</b> word. <a href=\"x>y\">Link</a>.<br/>More&#228;&nbsp;&bad;</p>",
    "<ul><li>First item here.<li>Ann: second &#x41;</ul><blockquote><p>Quoted.</blockquote>",
    "<table><tr><td>1<td>2</table><!-- a comment --><script>if (a<b) {}</script>",
    "<div><div><nav><h1>Home</h1></nav></div><pre> x  y </pre><![CDATA[z]]></div></body></html>"
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_reading("html", data, size);
    return 0;
}

size_t fuzz_seed(uint32_t number, uint8_t data[FUZZ_INPUT_MOST])
{
    return fuzz_reading_seed(number, texts, sizeof(texts) / sizeof(*texts), data);
}
