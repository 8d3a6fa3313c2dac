/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as JSON: who skips a text and who reads all of it find the same mistakes.
 */
#include "fuzz.h"

#include "model/json.h"

#include <stdlib.h>
#include <string.h>

static void read_string(const struct json_text *text)
{
    char *const to = malloc(text->bytes + 1);
    size_t bytes;

    FUZZ_REQUIRE(to != NULL, "no memory");
    bytes = json_unescape(text, to);
    FUZZ_REQUIRE(bytes <= text->bytes && (text->escaped || bytes == text->bytes),
                 "%zu bytes of %zu", bytes, text->bytes);
    free(to);
}

static bool read_plain(struct json *j, enum json_kind kind)
{
    const struct json before = *j;
    struct json_text text;
    int64_t integer;
    double number;
    bool value;

    switch (kind) {
        case JSON_STRING:
            if (!json_string(j, &text))
                return false;
            read_string(&text);
            return true;
        case JSON_NUMBER:
            if (json_integer(j, &integer))
                return true;
            *j = before;
            return json_number(j, &number);
        case JSON_BOOL: return json_bool(j, &value);
        case JSON_NULL: return json_null(j);
        default: return false;
    }
}

/* Reads every value by its kind. */
static bool read_all(struct json *j)
{
    bool arrays[64];
    int depth = 0;

    do {
        struct json_text key = { .at = NULL };
        enum json_kind kind;

        if (depth > 0 && !(arrays[depth - 1] ? json_element(j) : json_member(j, &key))) {
            depth--;
            continue;
        }
        if (key.at)
            read_string(&key);
        kind = json_peek(j);
        if (kind == JSON_OBJECT || kind == JSON_ARRAY) {
            if (!(kind == JSON_ARRAY ? json_array(j) : json_object(j)))
                return false;
            arrays[depth++] = kind == JSON_ARRAY;
        } else if (!read_plain(j, kind)) {
            return false;
        }
    } while (depth > 0 && !j->error);
    return !j->error;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json skipped, read;
    bool right;

    json_begin(&skipped, (const char *)data, size);
    json_begin(&read, (const char *)data, size);
    right = json_skip(&skipped) && json_end(&skipped);
    FUZZ_REQUIRE((read_all(&read) && json_end(&read)) == right, "%s, %s",
                 skipped.error ? skipped.error : "right", read.error ? read.error : "right");
    FUZZ_REQUIRE(right || (skipped.error && *skipped.error), "refused without a reason");
    FUZZ_REQUIRE(json_line(&read) >= 1 && (size_t)json_line(&read) <= size + 1, "no line");
    return 0;
}

size_t fuzz_seed(uint32_t number, uint8_t data[FUZZ_INPUT_MOST])
{
    static const char *const texts[] = {
        "{\"a\":[1,-2.5e3,true,false,null],\"b\":{}}", "[[[[]]],\"\\u00e9\\ud83d\\ude00\\n\", 0]",
        "\n{ \"key\" : \"\xc3\xa9\xf0\x9f\x98\x80\" }\n", "[9223372036854775807,1E-400,-0.0]",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "[1,]", "{\"a\" 1}", "\"\\ud800\"",
    };
    size_t bytes;

    if (number >= sizeof texts / sizeof *texts)
        return 0;
    bytes = strlen(texts[number]);
    memcpy(data, texts[number], bytes);
    return bytes;
}
