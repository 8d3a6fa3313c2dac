/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is JSON is read, what is none is refused, at every length; what strings and numbers mean.
 */
#include "json.h"
#include "suite.h"

#include <locale.h>
#include <string.h>

static bool whole(const char *text, size_t bytes)
{
    struct json j;

    json_begin(&j, text, bytes);
    return json_skip(&j) && json_end(&j);
}

TEST(right)
{
    static const char *const texts[] = {
        "{}", " [ ] ", "0", "-0.5e+3", "true", "null", "\"\"", "[1,2,[3,{\"a\":[]}],false]",
        "{\"a\": {\"b\": [1, null]}, \"c\": \"\\u00e9\\n\"}", "\"\\ud83d\\ude00\"", "\"\xc3\xa9\"",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(whole(texts[i], strlen(texts[i])), "%s", texts[i]);
}

TEST(wrong)
{
    static const char *const texts[] = {
        "", "{", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
        "{a:1}", "{1:2}", "01", "-",
        "1.", ".5", "1e", "+1", "tru", "nul", "\"", "\"\\x\"", "\"\\u12\"", "\"\\ud83d\"",
        "\"\\ude00\"", "\"\\ud83d\\u0041\"", "\"\n\"",
        "\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"",
        "1 1", "[]]", "[}", "{]", "NaN", "'a'", "[1}", "{\"a\":1]",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(!whole(texts[i], strlen(texts[i])), "%s", texts[i]);
}

/* A text that ends early is none, wherever it ends; the bytes behind it are never looked at. */
TEST(cut)
{
    static const char text[] = "{\"a\":[1,-2.5e3,true,null,"
                               "\"x\\u00e9\\ud83d\\ude00\xc3\xa9\"],\"b\":{}}";

    for (size_t n = 0; n + 1 < sizeof text; n++) {
        char *part = malloc(n + 1);

        ck_assert_ptr_nonnull(part);
        memcpy(part, text, n);
        ck_assert_msg(!whole(part, n), "%zu", n);
        free(part);
    }
    ck_assert(whole(text, sizeof text - 1));
}

TEST(depth)
{
    char text[2 * 65 + 1];

    for (int levels = 63; levels <= 65; levels++) {
        memset(text, '[', (size_t)levels);
        memset(text + levels, ']', (size_t)levels);
        ck_assert_int_eq(whole(text, 2 * (size_t)levels), levels <= 64);
    }
}

TEST(meanings)
{
    static const char text[] = "{\"n\": 9223372036854775807, \"x\": -1.25e-2,"
                               " \"s\": \"a\\\"\\u20ac\","
                               " \"no\": {\"deep\": [[], {}]}, \"yes\": true}";
    static const struct {
        const char *text;
        bool integer;
    } numbers[] = { { "9223372036854775808", false }, { "1.0", false }, { "1e2", false },
                    { "-9223372036854775808", true } };
    char string[16], long_number[80];
    struct json_text key, got;
    int64_t n = 0;
    double x = 0;
    bool yes = false;
    struct json j;

    json_begin(&j, text, sizeof text - 1);
    ck_assert(json_object(&j));
    while (json_member(&j, &key)) {
        if (json_is(&key, "n")) {
            ck_assert(json_integer(&j, &n));
        } else if (json_is(&key, "x")) {
            ck_assert(json_number(&j, &x));
        } else if (json_is(&key, "s")) {
            ck_assert(json_string(&j, &got));
            ck_assert_uint_eq(json_unescape(&got, string), 5);
            ck_assert_mem_eq(string, "a\"\xe2\x82\xac", 5);
        } else if (json_is(&key, "yes")) {
            ck_assert(json_bool(&j, &yes));
        } else {
            ck_assert(json_skip(&j));
        }
    }
    ck_assert(json_end(&j));
    ck_assert_int_eq(n, INT64_MAX);
    ck_assert_double_eq(x, -0.0125);
    ck_assert(yes);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        json_begin(&j, numbers[i].text, strlen(numbers[i].text));
        ck_assert_msg(json_integer(&j, &n) == numbers[i].integer, "%s", numbers[i].text);
    }
    memset(long_number, '1', sizeof long_number);
    json_begin(&j, long_number, sizeof long_number);
    ck_assert(!json_number(&j, &x));
}

/* Where numbers have a comma, a text still has points. */
TEST(locales)
{
    static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "C" };
    struct json j;
    double x;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!setlocale(LC_NUMERIC, names[i]))
            continue;
        json_begin(&j, "-13.5298433303833", 17);
        ck_assert(json_number(&j, &x));
        ck_assert_double_eq(x, -13.5298433303833);
    }
}

/* The first mistake stays, and the line is where it is. */
TEST(mistakes)
{
    struct json_text key;
    struct json j;
    int64_t n;

    json_begin(&j, "{\"a\":\n1,\n\"b\": x}", 16);
    ck_assert(json_object(&j));
    ck_assert(json_member(&j, &key) && json_integer(&j, &n));
    ck_assert(json_member(&j, &key) && !json_integer(&j, &n));
    ck_assert_int_eq(json_line(&j), 3);
    ck_assert(!json_member(&j, &key) && !json_end(&j) && !json_skip(&j));
    ck_assert_str_eq(j.error, "no number");
}

int main(void)
{
    return suite_run("json", 0, NULL, NULL);
}
