/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Text that grows, and any bytes as JSON, XML and a word of a shell.
 */
#include "conform/engine/buffer.h"

#include "suite.h"

#include <string.h>

static void is(void (*escape)(struct buffer *, const char *), const char *text, const char *wanted)
{
    struct buffer b = { 0 };

    escape(&b, text);
    ck_assert_str_eq(buffer_text(&b), wanted);
    ck_assert(!b.lost);
    buffer_free(&b);
}

#define BAD "\xef\xbf\xbd" /* U+FFFD */

TEST(json_has_no_raw_control_characters)
{
    is(buffer_json, "", "\"\"");
    is(buffer_json, "a\"b\\c", "\"a\\\"b\\\\c\"");
    is(buffer_json, "\x01\n\t\x7f", "\"\\u0001\\u000a\\u0009\\u007f\"");
    is(buffer_json, "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
       "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
}

TEST(bytes_that_are_no_utf8_are_replaced_one_by_one)
{
    is(buffer_json, "\x80\xff", "\"" BAD BAD "\"");
    is(buffer_json, "\xc0\xaf", "\"" BAD BAD "\"");          /* overlong */
    is(buffer_json, "\xed\xa0\x80", "\"" BAD BAD BAD "\"");  /* a surrogate */
    is(buffer_json, "\xf4\x90\x80\x80", "\"" BAD BAD BAD BAD "\""); /* above U+10FFFF */
    is(buffer_json, "x\xe2\x82", "\"x" BAD BAD "\"");        /* cut off */
    is(buffer_json, "\xe2\x82y", "\"" BAD BAD "y\"");
    is(buffer_xml, "\xf0\x9f\x98z", BAD BAD BAD "z");
}

TEST(xml_has_only_characters_that_it_may_have)
{
    is(buffer_xml, "<a b=\"c\">&'", "&lt;a b=&quot;c&quot;&gt;&amp;&apos;");
    is(buffer_xml, "\t\n\r", "&#9;&#10;&#13;");
    is(buffer_xml, "\x01\x1b", BAD BAD);
    is(buffer_xml, "\xef\xbf\xbe\xef\xbf\xbf", BAD BAD); /* U+FFFE, U+FFFF */
    is(buffer_xml, "]]>", "]]&gt;");
}

TEST(a_word_of_a_shell_stays_one)
{
    is(buffer_shell, "build/heed-conform", "build/heed-conform");
    is(buffer_shell, "", "''");
    is(buffer_shell, "op=attn seed=1", "'op=attn seed=1'");
    is(buffer_shell, "it's $HOME", "'it'\\''s $HOME'");
}

TEST(text_grows)
{
    struct buffer b = { 0 };

    for (int i = 0; i < 5000; i++)
        buffer_print(&b, "%d,%s;", i % 10, "0123456789012345678901234567890123456789");
    ck_assert_uint_eq(b.n, 5000 * 43);
    ck_assert_uint_eq(strlen(b.at), b.n);
    ck_assert_mem_eq(b.at + 43 * 4321, "1,0123", 6);
    buffer_add(&b, "x\0y", 3);
    ck_assert_uint_eq(b.n, 5000 * 43 + 3);
    buffer_free(&b);
    ck_assert_str_eq(buffer_text(&b), "");
}

int main(void)
{
    return suite_run("buffer", 60, NULL, NULL);
}
