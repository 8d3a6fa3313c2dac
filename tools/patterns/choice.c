/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A pattern is a row of `kinds`, a number a row of `numbers`.
 */
#include "patterns/kinds.h"

#include "common/text.h"

#include <inttypes.h>
#include <string.h>

enum { MOST = 1 << 24, ROWS = 1 << 25, UNSET = -1 };

/* `follows`: the number that this one equals when neither the text nor the row say it. `high` ROWS:
 * a number of rows or keys, of which a picture has no room for MOST. */
static const struct {
    const char *name;
    enum pattern_number follows;
    int64_t low, high;
} numbers[PATTERN_NUMBERS] = {
    [PATTERN_N] = { "n", PATTERN_N, 1, ROWS },
    [PATTERN_H] = { "h", PATTERN_H, 1, 1024 },
    [PATTERN_HK] = { "hk", PATTERN_H, 1, 1024 },
    [PATTERN_D] = { "d", PATTERN_D, 1, 4096 },
    [PATTERN_B] = { "b", PATTERN_B, 1, 1024 },
    [PATTERN_QUERIES] = { "queries", PATTERN_QUERIES, 1, ROWS },
    [PATTERN_WINDOW] = { "window", PATTERN_WINDOW, 0, MOST },
    [PATTERN_DILATION] = { "dilation", PATTERN_DILATION, 1, 1 << 20 },
    [PATTERN_BLOCK] = { "block", PATTERN_BLOCK, 1, MOST },
    [PATTERN_FACTOR] = { "factor", PATTERN_FACTOR, 1, MOST },
    [PATTERN_SPARSE] = { "sparse", PATTERN_BLOCK, 1, ROWS },
    [PATTERN_RANDOM] = { "random", PATTERN_RANDOM, 0, 1024 },
    [PATTERN_STRIDE] = { "stride", PATTERN_STRIDE, 1, MOST },
    [PATTERN_GLOBALS] = { "globals", PATTERN_GLOBALS, 0, ROWS },
    [PATTERN_SIDE] = { "side", PATTERN_SIDE, 0, ROWS },
    [PATTERN_PREFIX] = { "prefix", PATTERN_PREFIX, 1, ROWS },
    [PATTERN_MEMORY] = { "memory", PATTERN_MEMORY, 1, ROWS },
    [PATTERN_COMPRESSED] = { "compressed", PATTERN_COMPRESSED, 1, ROWS },
    [PATTERN_BEST] = { "best", PATTERN_BEST, 1, 1024 },
};

static const struct {
    const char *name;
    uint32_t dtype;
} dtypes[] = { { "f32", HEED_F32 }, { "f16", HEED_F16 }, { "bf16", HEED_BF16 } };
enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };

const char *pattern_name(uint32_t index)
{
    return index < pattern_n_kinds ? pattern_kinds[index].name : NULL;
}

const char *pattern_title(uint32_t index)
{
    return index < pattern_n_kinds ? pattern_kinds[index].title : NULL;
}

bool pattern_find(const char *text, uint32_t *index)
{
    const size_t length = strcspn(text, ":");

    for (*index = 0; *index < pattern_n_kinds; ++*index) {
        const char *const name = pattern_kinds[*index].name;

        if (strlen(name) == length && strncmp(name, text, length) == 0)
            return true;
    }
    return false;
}

static bool takes(uint32_t kind, enum pattern_number number)
{
    const char *const keys = pattern_kinds[kind].paper, *const name = numbers[number].name;
    const size_t length = strlen(name);

    if (number <= PATTERN_B)
        return true;
    for (const char *key = keys; *key != '\0';) {
        if (strncmp(key, name, length) == 0 && key[length] == '=')
            return true;
        key += strcspn(key, ",");
        key += *key == ',';
    }
    return false;
}

static bool dtype_parse(const char *value, struct pattern_choice *to, char *error, size_t room)
{
    for (size_t i = 0; i < N_DTYPES; i++) {
        if (strcmp(dtypes[i].name, value) == 0) {
            to->dtype = dtypes[i].dtype;
            return true;
        }
    }
    snprintf(error, room, "dtype is f32, f16 or bf16, got \"%.40s\"", value);
    return false;
}

static int64_t high_of(int number, enum pattern_size size)
{
    if (numbers[number].high != ROWS)
        return numbers[number].high;
    return size == PATTERN_OF_PICTURE ? PATTERN_PICTURE_EDGE : MOST;
}

/* given: a bit for each number that was read, and one for dtype. */
static bool pair_parse(const char *key, const char *value, enum pattern_size size, uint32_t *given,
                       struct pattern_choice *to, char *error, size_t room)
{
    char keys[160];
    int number = 0;

    while (number < PATTERN_NUMBERS && (strcmp(numbers[number].name, key) != 0 ||
                                        !takes(to->kind, (enum pattern_number)number)))
        number++;
    if (number == PATTERN_NUMBERS && strcmp(key, "dtype") != 0) {
        pattern_keys(to->kind, size, keys, sizeof keys);
        snprintf(error, room, "%s has no key \"%.40s\" (%s,hk,dtype)", pattern_name(to->kind), key,
                 keys);
        return false;
    }
    if (*given & 1u << number) {
        snprintf(error, room, "%s is given twice", key);
        return false;
    }
    *given |= 1u << number;
    if (number == PATTERN_NUMBERS)
        return dtype_parse(value, to, error, room);
    if (text_integer(value, numbers[number].low, high_of(number, size), &to->v[number]))
        return true;
    snprintf(error, room, "%s is a whole number from %" PRId64 " to %" PRId64 ", got \"%.40s\"",
             key, numbers[number].low, high_of(number, size), value);
    return false;
}

/* "key=value,..." */
static bool pairs_parse(const char *text, enum pattern_size size, struct pattern_choice *to,
                        char *error, size_t room)
{
    char copy[256], *next = copy;
    uint32_t given = 0;

    if (strlen(text) >= sizeof copy) {
        snprintf(error, room, "longer than %zu characters", sizeof copy - 1);
        return false;
    }
    strcpy(copy, text);
    while (next != NULL) {
        char *const key = next, *value;

        next = strchr(key, ',');
        if (next != NULL)
            *next++ = '\0';
        value = strchr(key, '=');
        if (value == NULL) {
            snprintf(error, room, "\"%.40s\" is not key=value", key);
            return false;
        }
        *value++ = '\0';
        if (!pair_parse(key, value, size, &given, to, error, room))
            return false;
    }
    return true;
}

static const char *presets(uint32_t kind, enum pattern_size size)
{
    return size == PATTERN_OF_PAPER ? pattern_kinds[kind].paper : pattern_kinds[kind].picture;
}

static const char *common(enum pattern_size size)
{
    return size == PATTERN_OF_PAPER ? "n=16384,h=1,d=64,b=1" : "n=48,h=4,d=8,b=1";
}

void pattern_keys(uint32_t index, enum pattern_size size, char *to, size_t room)
{
    const char *const own = presets(index, size);

    snprintf(to, room, "%s%s%s", common(size), own[0] != '\0' ? "," : "", own);
}

const char *pattern_number(const struct pattern_choice *c, size_t index, int64_t *value)
{
    for (int i = 0; i < PATTERN_NUMBERS; i++) {
        if (!takes(c->kind, (enum pattern_number)i) || index-- > 0)
            continue;
        *value = c->v[i];
        return numbers[i].name;
    }
    return NULL;
}

/* Numbers that are what they would be anyway, because they follow another, are left out. */
static void text_write(struct pattern_choice *c)
{
    size_t length = (size_t)snprintf(c->text, sizeof c->text, "%s:", pattern_name(c->kind));

    for (int i = 0; i < PATTERN_NUMBERS && length < sizeof c->text; i++) {
        const bool follows = (int)numbers[i].follows != i && c->v[i] == c->v[numbers[i].follows];

        if (takes(c->kind, (enum pattern_number)i) && !follows)
            length += (size_t)snprintf(c->text + length, sizeof c->text - length, "%s=%" PRId64 ",",
                                       numbers[i].name, c->v[i]);
    }
    for (size_t i = 0; i < N_DTYPES && length < sizeof c->text; i++) {
        if (dtypes[i].dtype == c->dtype)
            snprintf(c->text + length, sizeof c->text - length, "dtype=%s", dtypes[i].name);
    }
}

bool pattern_parse(const char *text, enum pattern_size size, struct pattern_choice *out,
                   char *error, size_t room)
{
    struct pattern_choice c = { .dtype = HEED_F32 };
    const char *const rest = strchr(text, ':');

    if (!pattern_find(text, &c.kind)) {
        snprintf(error, room, "there is no pattern \"%.40s\"", text);
        return false;
    }
    for (int i = 0; i < PATTERN_NUMBERS; i++)
        c.v[i] = UNSET;
    if (!pairs_parse(common(size), size, &c, error, room) ||
        (presets(c.kind, size)[0] != '\0' &&
         !pairs_parse(presets(c.kind, size), size, &c, error, room)))
        return false;
    if (rest != NULL && !pairs_parse(rest + 1, size, &c, error, room))
        return false;
    for (int i = 0; i < PATTERN_NUMBERS; i++)
        c.v[i] = c.v[i] == UNSET ? c.v[numbers[i].follows] : c.v[i];
    if (c.v[PATTERN_H] % c.v[PATTERN_HK] != 0) {
        snprintf(error, room, "h=%" PRId64 " is not a multiple of hk=%" PRId64, c.v[PATTERN_H],
                 c.v[PATTERN_HK]);
        return false;
    }
    if ((double)c.v[PATTERN_B] * (double)c.v[PATTERN_H] * (double)c.v[PATTERN_N] *
            (double)c.v[PATTERN_D] > 0x1p32) {
        snprintf(error, room, "more than 2^32 elements");
        return false;
    }
    text_write(&c);
    *out = c;
    return true;
}
