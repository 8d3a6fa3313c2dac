/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The canonical line of a case: "op=" and its operation, then name=value of every field that is
 * not at its default, then the seed. Printing and parsing are inverse to each other on normalized
 * cases.
 */
#include "operation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WORK_MOST (INT64_C(1) << 32) /* of a line: minutes, and what memory may have */

void cf_value_print(int field, int64_t value, char *out, size_t size)
{
    const char *word = cf_fields[field].words;

    if (!word) {
        if (value == HEED_FAR)
            snprintf(out, size, "far");
        else
            snprintf(out, size, "%" PRId64, value);
        return;
    }
    for (int64_t i = 0; i < value && word; i++) {
        word = strchr(word, ' ');
        word = word ? word + 1 : NULL;
    }
    snprintf(out, size, "%.*s", word ? (int)strcspn(word, " ") : 1, word ? word : "?");
}

static bool value_parse(int field, const char *text, int64_t *value)
{
    const struct field *f = &cf_fields[field];
    char name[32], *end;

    if (!f->words) {
        if (!strcmp(text, "far")) {
            *value = HEED_FAR;
            return true;
        }
        errno = 0;
        *value = strtoll(text, &end, 10);
        return *text && !*end && !errno;
    }
    for (int i = 0; i < f->n_levels; i++) {
        cf_value_print(field, i, name, sizeof name);
        if (!strcmp(name, text)) {
            *value = i;
            return true;
        }
    }
    return false;
}

void cf_case_print(const struct cs *c, char line[LINE])
{
    size_t n = (size_t)snprintf(line, LINE, "op=%s", cf_op->name);

    for (int i = 0; i < cf_n_fields && n < LINE; i++) {
        char value[32];

        if (c->v[i] == cf_fields[i].level[0])
            continue;
        cf_value_print(i, c->v[i], value, sizeof value);
        n += (size_t)snprintf(line + n, LINE - n, " %s=%s", cf_fields[i].name, value);
    }
    if (n < LINE)
        snprintf(line + n, LINE - n, " seed=%" PRIu64, c->seed);
}

/* Numbers a case may have: outside, building it would not be the library's fault. Levels are always
 * allowed. */
static bool value_sane(int field, int64_t value)
{
    const struct field *f = &cf_fields[field];

    return f->words || cf_level_of(field, value) >= 0 || (value >= f->low && value <= f->high);
}

static bool pair_parse(struct cs *c, char *word, char why[128])
{
    char *value = strchr(word, '='), *end;

    if (!value) {
        snprintf(why, 128, "'%.60s' is not name=value", word);
        return false;
    }
    *value++ = 0;
    if (!strcmp(word, "op")) {
        snprintf(why, 128, "op=%.40s: there is none such, or it does not come first", value);
        return !strcmp(value, cf_op->name);
    }
    if (!strcmp(word, "seed")) {
        errno = 0;
        c->seed = strtoull(value, &end, 10);
        snprintf(why, 128, "seed=%.40s is not a number", value);
        return *value >= '0' && *value <= '9' && !*end && !errno;
    }
    for (int i = 0; i < cf_n_fields; i++) {
        if (strcmp(cf_fields[i].name, word))
            continue;
        snprintf(why, 128, "%.20s has no value '%.40s'", word, value);
        if (!value_parse(i, value, &c->v[i]))
            return false;
        if (cf_fields[i].low <= cf_fields[i].high)
            snprintf(why, 128, "%.20s: wanted a number from %lld to %lld, got %.40s", word,
                     (long long)cf_fields[i].low, (long long)cf_fields[i].high, value);
        return value_sane(i, c->v[i]);
    }
    snprintf(why, 128, "there is no field '%.60s'", word);
    return false;
}

/* The fields are those of the operation that the line begins with; attention's, if it says none. */
static void op_parse(const char *line)
{
    char name[32] = "attn";
    const struct cf_op *op;

    sscanf(line, " op=%31s", name);
    op = cf_op_find(name);
    if (op)
        cf_op_use(op);
}

bool cf_case_parse(const char *line, struct cs *c, char why[128])
{
    struct cs plain;

    op_parse(line);
    cf_case_default(c);
    while (*line) {
        char word[96];
        size_t n = strcspn(line, " ");

        if (n >= sizeof word) {
            snprintf(why, 128, "a word is too long");
            return false;
        }
        memcpy(word, line, n);
        word[n] = 0;
        if (n && !pair_parse(c, word, why))
            return false;
        line += n;
        line += strspn(line, " ");
    }
    plain = *c;
    cf_case_normalize(&plain);
    for (int i = 0; i < cf_n_fields; i++) {
        if (plain.v[i] != c->v[i]) {
            snprintf(why, 128, "%s has no meaning in this case", cf_fields[i].name);
            return false;
        }
    }
    snprintf(why, 128, "it is too large: its work is more than %lld", (long long)WORK_MOST);
    return cf_op->work(c) <= WORK_MOST;
}

void cf_axes_print(FILE *to)
{
    for (int i = 0; i < cf_n_fields; i++) {
        char value[32];

        fprintf(to, "%s:", cf_fields[i].name);
        for (int l = 0; l < cf_fields[i].n_levels; l++) {
            cf_value_print(i, cf_fields[i].level[l], value, sizeof value);
            fprintf(to, " %s", value);
        }
        for (int p = 0; p < 2 && cf_fields[i].parent[p] >= 0; p++)
            fprintf(to, "%s %s", p ? "," : "   (with", cf_fields[cf_fields[i].parent[p]].name);
        fprintf(to, "%s\n", cf_fields[i].parent[0] >= 0 ? ")" : "");
    }
    fprintf(to, "# %d axes, %d levels; the first level of each is its default\n", cf_n_fields,
            cf_n_levels);
}
