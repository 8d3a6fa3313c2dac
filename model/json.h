/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * JSON (RFC 8259) read from memory without a tree: what a caller wants it asks for in the order of
 * the text, and skips the rest. A tree of a vocabulary takes twenty times its bytes in the
 * libraries of the distribution; this takes none, whatever the text is.
 *
 *     if (json_object(j))
 *         while (json_member(j, &key)) {
 *             if (json_is(&key, "vocab_size"))
 *                 json_integer(j, &size);
 *             else
 *                 json_skip(j);
 *         }
 *
 * The first mistake stays: from then on every function returns false and `error` says what it was.
 * Deeper than 64 levels, control characters or what is no UTF-8 in strings, and half surrogates are
 * mistakes.
 */
#ifndef MODEL_JSON_H
#define MODEL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
    const char *begin, *at, *end;
    const char *error;         /* NULL: none so far. */
    uint64_t arrays, firsts;   /* Of each level: is it an array, is nothing of it read yet? */
    int depth;
};

/* A string as it stands in the text, without its quotes; what is escaped still is. */
struct json_text {
    const char *at;
    size_t bytes;
    bool escaped;
};

enum json_kind {
    JSON_BAD,
    JSON_OBJECT,
    JSON_ARRAY,
    JSON_STRING,
    JSON_NUMBER,
    JSON_BOOL,
    JSON_NULL
};

void json_begin(struct json *j, const char *text, size_t bytes);

/* What stands next, of which nothing is taken. */
enum json_kind json_peek(struct json *j);

/* Steps into an object, or an array; each is left by the call below it that answers false. */
bool json_object(struct json *j);
bool json_member(struct json *j, struct json_text *key);
bool json_array(struct json *j);
bool json_element(struct json *j);

bool json_string(struct json *j, struct json_text *text);
bool json_number(struct json *j, double *number);

/* A number without fraction and exponent that int64_t holds. */
bool json_integer(struct json *j, int64_t *number);

bool json_bool(struct json *j, bool *value);
bool json_null(struct json *j);
bool json_skip(struct json *j);

/* Is this all of the text, and no mistake in it? */
bool json_end(struct json *j);

/* The mistake of a caller: the text means what it cannot. Returns false. */
bool json_fail(struct json *j, const char *error);

/* The characters that the string means: at most text->bytes of UTF-8, without a NUL behind it. */
size_t json_unescape(const struct json_text *text, char *to);

/* Does it mean this? Both without escapes, as names are. */
bool json_is(const struct json_text *text, const char *name);

/* The line of the text where it stands, from 1: for messages. */
int64_t json_line(const struct json *j);

#endif
