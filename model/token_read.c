/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Members of objects by tables of fields, and lists of steps by tables of kinds. What a file has
 * and a table does not, is skipped: it is for training, or for other languages.
 */
#include "tokens.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FIELDS_MOST = 32, STEPS_MOST = 64 };

bool read_fail(struct tokenizer *t, heed_status status, const char *field, const char *format, ...)
{
    va_list list;

    if (t->status != HEED_OK)
        return false;
    t->status = status;
    snprintf(t->field, sizeof t->field, "%s", field);
    va_start(list, format);
    vsnprintf(t->message, sizeof t->message, format, list);
    va_end(list);
    /* What the file says goes to terminals: no characters of control, no half of a character. */
    for (char *at = t->message; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    return false;
}

bool read_wrong(struct tokenizer *t, const struct json *j, const char *field)
{
    return read_fail(t, HEED_E_VALUE, field, "line %lld: %s", (long long)json_line(j),
                     j->error ? j->error : "not what it should be");
}

bool read_memory(struct tokenizer *t, const char *field)
{
    if (t->memory.failed)
        return read_fail(t, HEED_E_NOMEM, field, "no memory");
    return read_fail(t, HEED_E_UNSUPPORTED, field,
                     "the file takes more memory than 1.2 times its size and 16 MiB");
}

struct span read_text(struct tokenizer *t, const struct json_text *text)
{
    char *const at = memory_take(&t->memory, text->bytes + 1, 1);

    return at ? (struct span){ at, json_unescape(text, at) } : (struct span){ 0 };
}

static bool read_bool(struct json *j, bool *to)
{
    return json_bool(j, to);
}

static bool read_maybe(struct json *j, int *to)
{
    bool value;

    if (json_peek(j) == JSON_NULL) {
        *to = -1;
        return json_null(j);
    }
    if (!json_bool(j, &value))
        return false;
    *to = value;
    return true;
}

static bool read_count(struct json *j, int64_t *to)
{
    return json_integer(j, to) && ((*to >= 0 && *to <= INT32_MAX) ||
                                   json_fail(j, "a number beyond 0 to 2^31 - 1"));
}

static bool read_string(struct tokenizer *t, struct json *j, struct span *to)
{
    struct json_text text;

    if (json_peek(j) == JSON_NULL) {
        *to = (struct span){ 0 };
        return json_null(j);
    }
    if (!json_string(j, &text))
        return false;
    *to = read_text(t, &text);
    return to->at || json_fail(j, "no memory");
}

static bool read_character(struct json *j, uint32_t *to)
{
    struct json_text text;
    char bytes[16];

    if (!json_string(j, &text))
        return false;
    return text.bytes > 0 && text.bytes < sizeof bytes &&
           json_unescape(&text, bytes) == utf8_next(bytes, to) ? true :
           json_fail(j, "not one character");
}

static bool read_choice(struct json *j, const char *const *names, int *to)
{
    struct json_text text;

    if (!json_string(j, &text))
        return false;
    for (*to = 0; names[*to]; ++*to)
        if (json_is(&text, names[*to]))
            return true;
    return json_fail(j, "none of the names that are known here");
}

/* {"String": "text"} or {"Regex": "expression"}. */
static bool read_pattern(struct tokenizer *t, struct json *j, struct pattern *to)
{
    struct json_text key, text = { 0 };
    bool regular;
    struct span span;

    if (!json_object(j) || !json_member(j, &key))
        return json_fail(j, "no pattern");
    regular = json_is(&key, "Regex");
    if ((!regular && !json_is(&key, "String")) || !json_string(j, &text) || json_member(j, &key))
        return json_fail(j, "no pattern");
    span = read_text(t, &text);
    if (!span.at)
        return json_fail(j, "no memory");
    return pattern_read(to, regular, span) ||
           read_fail(t, HEED_E_UNSUPPORTED, "pattern",
                     "a pattern that is not known here: line %lld", (long long)json_line(j));
}

static bool read_charsmap(struct tokenizer *t, struct json *j, struct charsmap **to)
{
    struct json_text text;
    const char *error;

    if (!json_string(j, &text))
        return false;
    *to = charsmap_read(&t->memory, &text, &error);
    return *to || json_fail(j, error ? error : "no memory");
}

/* ["text", id] */
static bool read_token(struct json *j, int32_t *to)
{
    struct json_text text;
    int64_t id;

    if (!json_array(j) || !json_element(j) || !json_string(j, &text) || !json_element(j) ||
        !read_count(j, &id))
        return json_fail(j, "no pair of a token and its id");
    *to = (int32_t)id;
    return !json_element(j) && !j->error ? true : json_fail(j, "more than a token and its id");
}

static bool read_field(struct tokenizer *t, struct json *j, const struct field *field, void *to)
{
    switch (field->kind) {
        case FIELD_BOOL: return read_bool(j, to);
        case FIELD_MAYBE: return read_maybe(j, to);
        case FIELD_COUNT: return read_count(j, to);
        case FIELD_TEXT: return read_string(t, j, to);
        case FIELD_CHARACTER: return read_character(j, to);
        case FIELD_CHOICE: return read_choice(j, field->names, to);
        case FIELD_PATTERN: return read_pattern(t, j, to);
        case FIELD_CHARSMAP: return read_charsmap(t, j, to);
        case FIELD_TOKEN: return read_token(j, to);
        case FIELD_PLACE: break;
    }
    memcpy(to, j, sizeof *j);
    return json_skip(j);
}

/* "model" and "vocab" as "model.vocab". */
static bool fail_at(struct tokenizer *t, const struct json *j, const char *place, const char *name)
{
    char field[sizeof t->field];

    snprintf(field, sizeof field, "%s.%s", place, name);
    if (t->memory.failed || t->memory.refused)
        return read_memory(t, field);
    return read_wrong(t, j, field);
}

bool read_fields(struct tokenizer *t, struct json *j, const char *place,
                 const struct field *fields, void *to)
{
    bool seen[FIELDS_MOST] = { false };
    struct json_text key;
    char field[sizeof t->field];

    if (!json_object(j))
        return read_wrong(t, j, place);
    while (json_member(j, &key)) {
        int i = 0;

        while (fields[i].name && !json_is(&key, fields[i].name))
            i++;
        if (!fields[i].name) {
            if (!json_skip(j))
                break;
            continue;
        }
        if (seen[i])
            return json_fail(j, "it is there twice") || fail_at(t, j, place, fields[i].name);
        seen[i] = true;
        if (!read_field(t, j, &fields[i], (char *)to + fields[i].offset))
            return fail_at(t, j, place, fields[i].name);
    }
    if (j->error)
        return read_wrong(t, j, place);
    for (int i = 0; fields[i].name; i++) {
        snprintf(field, sizeof field, "%s.%s", place, fields[i].name);
        if (fields[i].needed && !seen[i])
            return read_fail(t, HEED_E_VALUE, field, "it is not there");
    }
    return true;
}

/* ---- steps */

/* The text of "type" of the object that stands next, of which nothing is taken. */
static bool type_of(struct tokenizer *t, const struct json *j, const char *place,
                    struct json_text *type)
{
    struct json look = *j;
    struct json_text key;
    int found = 0;

    if (json_object(&look))
        while (json_member(&look, &key)) {
            const bool named = json_is(&key, "type");

            found += named;
            if (!(named ? json_string(&look, type) : json_skip(&look)))
                break;
        }
    if (look.error || found != 1) {
        json_fail(&look, found == 0 ? "no type" : "more than one type");
        return fail_at(t, &look, place, "type");
    }
    return true;
}

static bool read_step(struct tokenizer *t, struct json *j, const char *place,
                      const struct step_kind *kinds, const struct json_text *type,
                      struct steps *steps)
{
    const struct step_kind *kind = kinds;
    char field[sizeof t->field];
    struct step *step;

    snprintf(field, sizeof field, "%s.type", place);
    while (kind->name && !json_is(type, kind->name))
        kind++;
    if (!kind->name)
        return read_fail(t, HEED_E_UNSUPPORTED, field, "line %lld: \"%.*s\" is not known here",
                         (long long)json_line(j), (int)(type->bytes < 40 ? type->bytes : 40),
                         type->at);
    if (steps->n == STEPS_MOST)
        return read_fail(t, HEED_E_UNSUPPORTED, place, "more than %d steps", (int)STEPS_MOST);
    step = &steps->at[steps->n];
    *step = (struct step){ .kind = kind, .maybes = { -1, -1 }, .choice = -1 };
    if (!read_fields(t, j, place, kind->fields, step) || (kind->prepare && !kind->prepare(t, step)))
        return false;
    steps->n++;
    return true;
}

/* Goes to the list of a Sequence, whose members before it are skipped. */
static bool enter(struct json *j, const char *list)
{
    struct json_text key;

    if (!json_object(j))
        return false;
    while (json_member(j, &key)) {
        if (json_is(&key, list))
            return json_array(j);
        if (!json_skip(j))
            return false;
    }
    return json_fail(j, "a sequence without its list");
}

/* Leaves the lists that end here; true: another step follows. */
static bool follow(struct json *j, const char *list, int *depth)
{
    struct json_text key;

    while (*depth > 0 && !json_element(j) && !j->error) {
        while (json_member(j, &key))
            if (json_is(&key, list) ? !json_fail(j, "it is there twice") : !json_skip(j))
                return false;
        --*depth;
    }
    return *depth > 0 && !j->error;
}

bool read_steps(struct tokenizer *t, struct json *j, const char *place,
                const struct step_kind *kinds, const char *list, struct steps *steps)
{
    struct json_text type;
    int depth = 0;

    if (json_peek(j) == JSON_NULL)
        return true;
    steps->at = memory_take(&t->memory, STEPS_MOST, sizeof *steps->at);
    if (!steps->at)
        return read_memory(t, place);
    do {
        if (!type_of(t, j, place, &type))
            return false;
        if (json_is(&type, "Sequence")) {
            if (!enter(j, list))
                return read_wrong(t, j, place);
            depth++;
            continue;
        }
        if (!read_step(t, j, place, kinds, &type, steps))
            return false;
    } while (follow(j, list, &depth));
    return !j->error || read_wrong(t, j, place);
}
