/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kind is a row: its name, its operation, the keys it takes with their defaults, and what it
 * costs. A key is a row, too: where its number is kept, its range, and which key it follows when
 * nobody says it.
 */
#include "bench/workload.h"

#include "bench/cost.h"
#include "common/text.h"
#include "common/types.h"

#include <heed/heed.h>

#include <inttypes.h>
#include <string.h>

#define ROWS "n=65536,h=1,d=64,b=1"
#define LSG "n=16384,h=1,hk,d=64,b=1,block=128,factor=4,sparse,globals=64"
#define LEVEL2 "n=16384,h=1,hk,d=64,b=1,window=512,kernel=5,stride=4"

static const struct {
    const char *name, *keys;
    enum workload_operation operation;
    cost_form *cost;
} kinds[] = {
#define ROW(NAME, name, keys, operation, cost)                                                     \
    [WORKLOAD_##NAME] = { name, keys, OPERATION_##operation, cost_##cost },
    WORKLOAD_KINDS(ROW)
#undef ROW
        [WORKLOAD_MECHANISM] = { "", "", OPERATION_ATTN, cost_mechanism }, /* named by patterns */
};
enum { N_KINDS = WORKLOAD_MECHANISM };

#define AT(field) offsetof(struct workload, field)
enum { NUMBER_MOST = 1 << 20 };

/* `follows`: where the number is that this one equals when neither text nor row say it. */
static const struct {
    const char *name;
    size_t offset, follows;
    int64_t low, high;
} numbers[] = {
    { "n", AT(n), AT(n), 1, INT64_C(1) << 30 },
    { "h", AT(h), AT(h), 1, NUMBER_MOST },
    { "hk", AT(hk), AT(h), 1, NUMBER_MOST },
    { "d", AT(d), AT(d), 1, NUMBER_MOST },
    { "b", AT(b), AT(b), 1, NUMBER_MOST },
    { "w", AT(w), AT(w), 0, INT64_C(1) << 30 },
    { "keys", AT(keys), AT(keys), 1, INT64_C(1) << 30 },
    { "own", AT(own), AT(own), 0, INT64_C(1) << 30 },
    { "token", AT(token), AT(token), 0, 1 },
    { "panels", AT(panels), AT(panels), 0, 1 },
    { "kernel", AT(kernel), AT(kernel), 1, 1 << 24 },
    { "stride", AT(stride), AT(kernel), 1, INT64_C(1) << 30 },
    { "page", AT(page), AT(page), 0, NUMBER_MOST },
    { "block", AT(block), AT(block), 2, INT64_C(1) << 30 },
    { "buckets", AT(buckets), AT(buckets), 2, NUMBER_MOST },
    { "queries", AT(queries), AT(queries), 1, NUMBER_MOST },
    { "count", AT(count), AT(count), 1, NUMBER_MOST },
    { "rows", AT(rows), AT(n), 1, INT64_C(1) << 30 },
    { "run", AT(run), AT(run), 1, NUMBER_MOST },
    { "parts", AT(parts), AT(parts), 1, 4096 },
    { "out", AT(out), AT(d), 1, NUMBER_MOST },
    { "residual", AT(residual), AT(residual), 0, 1 },
    { "gated", AT(gated), AT(gated), 0, 1 },
    { "window", AT(window), AT(window), 1, INT64_C(1) << 30 },
    { "factor", AT(factor), AT(factor), 1, INT64_C(1) << 30 },
    { "sparse", AT(sparse), AT(block), 1, 1 << 28 },
    { "globals", AT(globals), AT(globals), 0, NUMBER_MOST },
};
#undef AT
enum { N_NUMBERS = sizeof numbers / sizeof *numbers };
static const int64_t unset = -1;

static const char *const defaults[] = {
    "dense:n=4096,d=64", "dense:n=4096,d=128", "dense:n=4096,d=64,dtype=bf16",
    "causal:n=4096,d=64", "window:n=16384,d=64,w=256", "window:n=16384,d=64,w=512",
};

const char *workload_default(size_t index)
{
    return index < sizeof defaults / sizeof *defaults ? defaults[index] : NULL;
}

const char *workload_kind_name(size_t index)
{
    return index < N_KINDS ? kinds[index].name : pattern_name((uint32_t)(index - N_KINDS));
}

void workload_kind_keys(size_t index, char *to, size_t room)
{
    if (index < N_KINDS)
        snprintf(to, room, "%s", kinds[index].keys);
    else
        pattern_keys((uint32_t)(index - N_KINDS), PATTERN_OF_PAPER, to, room);
}

const char *workload_name(const struct workload *load)
{
    return load->kind == WORKLOAD_MECHANISM ? pattern_name(load->pattern.kind)
                                            : kinds[load->kind].name;
}

enum workload_operation workload_operation(const struct workload *load)
{
    return kinds[load->kind].operation;
}

bool workload_is_program(const struct workload *load)
{
    return workload_operation(load) == OPERATION_LSG ||
           workload_operation(load) == OPERATION_POOLINGFORMER;
}

struct workload_cost workload_cost(const struct workload *load)
{
    return kinds[load->kind].cost(load);
}

const char *workload_dtype(const struct workload *load)
{
    return type_find(load->dtype)->name;
}

bool workload_bytes(const struct workload *load)
{
    return type_find(load->dtype)->bytes == 1 || type_elements(load->dtype) > 1;
}

bool workload_scaled(const struct workload *load)
{
    return load->dtype == HEED_I8 || load->dtype == HEED_I4;
}

static int64_t *number_at(struct workload *load, size_t offset)
{
    return (int64_t *)(void *)((char *)load + offset);
}

static int64_t number_of(const struct workload *load, size_t offset)
{
    int64_t value;

    memcpy(&value, (const char *)load + offset, sizeof value);
    return value;
}

/* Whether `name` is one of "key,key=value,...". */
static bool takes(const char *keys, const char *name)
{
    const size_t length = strlen(name);

    for (;; keys++) {
        const size_t key = strcspn(keys, "=,");

        if (key == length && strncmp(keys, name, length) == 0)
            return true;
        keys += strcspn(keys, ",");
        if (*keys == '\0')
            return false;
    }
}

const char *workload_number(const struct workload *load, size_t index, int64_t *value)
{
    if (load->kind == WORKLOAD_MECHANISM)
        return pattern_number(&load->pattern, index, value);
    for (size_t i = 0; i < N_NUMBERS; i++) {
        if (!takes(kinds[load->kind].keys, numbers[i].name) || index-- > 0)
            continue;
        *value = number_of(load, numbers[i].offset);
        return numbers[i].name;
    }
    return NULL;
}

/* Numbers that are what they would be anyway, because they follow another, are left out. */
static void write_text(struct workload *load)
{
    size_t length = (size_t)snprintf(load->text, sizeof load->text, "%s:", workload_name(load));

    for (size_t i = 0; i < N_NUMBERS; i++) {
        const int64_t value = number_of(load, numbers[i].offset);
        const bool follows = numbers[i].follows != numbers[i].offset
                          && value == number_of(load, numbers[i].follows);

        if (takes(kinds[load->kind].keys, numbers[i].name) && !follows)
            length += (size_t)snprintf(load->text + length, sizeof load->text - length,
                                       "%s=%" PRId64 ",", numbers[i].name, value);
    }
    snprintf(load->text + length, sizeof load->text - length, "dtype=%s", workload_dtype(load));
}

/* Those of linear alone: x and y are of f32 then. */
static bool weights_in_blocks(const struct workload *load)
{
    return (load->kind == WORKLOAD_LINEAR_1024 || load->kind == WORKLOAD_LINEAR_DECODE) &&
           type_elements(load->dtype) > 1 && load->dtype != HEED_I4 &&
           load->d % type_elements(load->dtype) == 0;
}

static bool parse_dtype(const char *value, struct workload *load, char *error, size_t size)
{
    static const char words[] = TYPE_FLOATS " i8 " TYPE_NIBBLES " " TYPE_SMALL " " TYPE_BLOCKS;
    const struct type *type = type_named(value);

    for (const char *word = words; type != NULL; word = strchr(word, ' ') + 1) {
        if (strcspn(word, " ") == strlen(value) && strncmp(word, value, strlen(value)) == 0) {
            load->dtype = type->dtype;
            return true;
        }
        if (strchr(word, ' ') == NULL)
            break;
    }
    snprintf(error, size,
             "dtype is one of " TYPE_FLOATS ", of decode and ragged also i8 " TYPE_NIBBLES
             " " TYPE_SMALL " " TYPE_BLOCKS ", of linear " TYPE_BLOCKS ", got \"%s\"",
             value);
    return false;
}

/* One "key=value". */
static bool parse_pair(char *pair, struct workload *load, char *error, size_t size)
{
    const char *const keys = kinds[load->kind].keys;
    char *value = strchr(pair, '=');

    if (value == NULL) {
        snprintf(error, size, "\"%s\" is not key=value", pair);
        return false;
    }
    *value++ = '\0';
    if (strcmp(pair, "dtype") == 0)
        return parse_dtype(value, load, error, size);
    for (size_t i = 0; i < N_NUMBERS; i++) {
        if (strcmp(numbers[i].name, pair) != 0 || !takes(keys, pair))
            continue;
        if (text_integer(value, numbers[i].low, numbers[i].high,
                         number_at(load, numbers[i].offset)))
            return true;
        snprintf(error, size, "%s is a whole number from %" PRId64 " to %" PRId64 ", got \"%s\"",
                 pair, numbers[i].low, numbers[i].high, value);
        return false;
    }
    snprintf(error, size, "%s has no key \"%.40s\" (%s,dtype)", workload_name(load), pair, keys);
    return false;
}

/* "key=value,..."; of the row of a kind also keys alone. */
static bool parse_pairs(char *next, struct workload *load, bool is_row, char *error, size_t size)
{
    while (next != NULL) {
        char *const pair = next;

        next = strchr(pair, ',');
        if (next != NULL)
            *next++ = '\0';
        if (is_row && strchr(pair, '=') == NULL)
            continue;
        if (!parse_pair(pair, load, error, size))
            return false;
    }
    return true;
}

static void prepare(struct workload *load)
{
    char keys[128] = "", error[1];

    for (size_t i = 0; i < N_NUMBERS; i++) {
        if (takes(kinds[load->kind].keys, numbers[i].name))
            *number_at(load, numbers[i].offset) = unset;
    }
    snprintf(keys, sizeof keys, "%s", kinds[load->kind].keys);
    parse_pairs(keys, load, true, error, sizeof error);
}

/* So that no product of extents and element size leaves 63 bits. */
static bool is_small_enough(const struct workload *load)
{
    const struct workload_cost cost = workload_cost(load);
    const int64_t some = load->rows > load->n ? load->rows : load->n;
    const int64_t rows = load->keys > some ? load->keys : some;

    return (double)load->b * (double)load->h * (double)rows * (double)load->d <= 0x1p40
        && cost.read + cost.written <= 0x1p43;
}

/* Does every item of `ragged` have a key for each of its rows? */
static bool has_long_items(const struct workload *load)
{
    for (int64_t item = 0; item < load->b; item++) {
        if (workload_rows(load->n, item) > workload_ragged(load->keys, load->b, item))
            return false;
    }
    return true;
}

/* Numbers that follow others, and what must hold between the keys. */
static bool complete(struct workload *load, char *error, size_t size)
{
    for (size_t i = 0; i < N_NUMBERS; i++) {
        int64_t *const number = number_at(load, numbers[i].offset);

        if (*number == unset)
            *number = number_of(load, numbers[i].follows);
    }
    if (load->hk > 0 && load->h % load->hk != 0) {
        snprintf(error, size, "h=%" PRId64 " is not a multiple of hk=%" PRId64, load->h,
                 load->hk);
        return false;
    }
    if (workload_bytes(load) && load->kind != WORKLOAD_DECODE && load->kind != WORKLOAD_RAGGED &&
        !weights_in_blocks(load)) {
        snprintf(error, size, "dtype %s belongs to decode and ragged, not to %s",
                 workload_dtype(load), workload_name(load));
        return false;
    }
    if (load->kind == WORKLOAD_PREFIX && load->page > 0 && load->keys % load->page != 0) {
        snprintf(error, size, "keys=%" PRId64 " are no whole pages of %" PRId64, load->keys,
                 load->page);
        return false;
    }
    if (load->panels && (load->page == 0 || load->token)) {
        snprintf(error, size, "panels are pages, and not token-major");
        return false;
    }
    if (load->kind == WORKLOAD_COPY_PAGED && load->page == 0) {
        snprintf(error, size, "page of copy-paged is at least 1");
        return false;
    }
    if (load->kind == WORKLOAD_PREFILL_CHUNK && load->n > load->keys) {
        snprintf(error, size, "n=%" PRId64 " is more than keys=%" PRId64, load->n, load->keys);
        return false;
    }
    if (load->kind == WORKLOAD_RAGGED && !has_long_items(load)) {
        snprintf(error, size, "n=%" PRId64 " is more than a prefill has keys", load->n);
        return false;
    }
    if (load->kind == WORKLOAD_LISTED && load->run > load->keys) {
        snprintf(error, size, "run=%" PRId64 " is more than keys=%" PRId64, load->run, load->keys);
        return false;
    }
    if (load->kernel > load->n) {
        snprintf(error, size, "kernel=%" PRId64 " is more than n=%" PRId64, load->kernel, load->n);
        return false;
    }
    if (load->kind == WORKLOAD_SELECT_HASH && (load->block % 2 != 0 || load->buckets % 2 != 0)) {
        snprintf(error, size, "block and buckets of select-hash are even");
        return false;
    }
    if (!is_small_enough(load)) {
        snprintf(error, size, "more than 2^40 elements");
        return false;
    }
    write_text(load);
    return true;
}

static bool find_kind(const char *name, struct workload *load, char *error, size_t size)
{
    for (size_t kind = 0; kind < N_KINDS; kind++) {
        if (strcmp(kinds[kind].name, name) == 0) {
            load->kind = (enum workload_kind)kind;
            return true;
        }
    }
    snprintf(error, size, "wanted one that heed-bench --help lists, got \"%.40s\"", name);
    return false;
}

/* The numbers that all kinds have are those of the pattern. */
static bool parse_mechanism(const char *text, struct workload *out, char *error, size_t size)
{
    struct workload load = { .kind = WORKLOAD_MECHANISM };
    const int64_t *const v = load.pattern.v;

    if (!pattern_parse(text, PATTERN_OF_PAPER, &load.pattern, error, size))
        return false;
    load.dtype = load.pattern.dtype;
    load.n = v[PATTERN_N];
    load.h = v[PATTERN_H];
    load.hk = v[PATTERN_HK];
    load.d = v[PATTERN_D];
    load.b = v[PATTERN_B];
    memcpy(load.text, load.pattern.text, sizeof load.text);
    *out = load;
    return true;
}

bool workload_parse(const char *text, struct workload *out, char *error, size_t error_size)
{
    struct workload load = { .dtype = HEED_F32 };
    char copy[256], *next;
    uint32_t pattern;

    if (pattern_find(text, &pattern))
        return parse_mechanism(text, out, error, error_size);
    if (strlen(text) >= sizeof copy) {
        snprintf(error, error_size, "longer than %zu characters", sizeof copy - 1);
        return false;
    }
    strcpy(copy, text);
    next = strchr(copy, ':');
    if (next != NULL)
        *next++ = '\0';
    if (!find_kind(copy, &load, error, error_size))
        return false;
    prepare(&load);
    if (!parse_pairs(next, &load, false, error, error_size)
        || !complete(&load, error, error_size))
        return false;
    *out = load;
    return true;
}
