/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The subset of the levels that cases are drawn from: all of them, or what --only names, or what a
 * partial device takes. A field of which some levels are left out takes no number between levels.
 */
#include "cover.h"

#include <string.h>

static uint32_t all_of(const struct field *f)
{
    return (UINT32_C(1) << f->n_levels) - 1;
}

void cf_subset_all(void)
{
    for (int i = 0; i < cf_n_fields; i++)
        cf_fields[i].allowed = all_of(&cf_fields[i]);
}

bool cf_subset_has(int field, int64_t value)
{
    const struct field *f = &cf_fields[field];
    const int level = cf_level_of(field, value);

    return f->allowed == all_of(f) || (level >= 0 && f->allowed >> level & 1);
}

bool cf_subset_holds(const struct cs *c)
{
    for (int i = 0; i < cf_n_fields; i++) {
        if (cf_field_active(c, i) && !cf_subset_has(i, c->v[i]))
            return false;
    }
    return true;
}

int cf_subset_pick(struct rng *r, int field, uint32_t among)
{
    const struct field *f = &cf_fields[field];
    const uint32_t from = among & f->allowed ? among & f->allowed : among;
    int level;

    do
        level = (int)rng_below(r, f->n_levels);
    while (!(from >> level & 1));
    return level;
}

/* Fields may get a meaning by what is changed, so this goes on until nothing changes. */
void cf_subset_clamp(struct rng *r, struct cs *c)
{
    bool changed = true;

    for (int round = 0; round < 6 && changed; round++) {
        changed = false;
        for (int i = 0; i < cf_n_fields; i++) {
            if (!cf_field_active(c, i) || cf_subset_has(i, c->v[i]))
                continue;
            c->v[i] = cf_fields[i].level[cf_subset_pick(r, i, all_of(&cf_fields[i]))];
            changed = true;
        }
        cf_case_normalize(c);
    }
}

bool cf_subset_reaches(int field)
{
    const struct field *f = &cf_fields[field];

    for (int i = 0; i < 2 && f->parent[i] >= 0; i++) {
        if (!(cf_fields[f->parent[i]].allowed & f->mask[i]) || !cf_subset_reaches(f->parent[i]))
            return false;
    }
    return true;
}

void cf_subset_print(FILE *to)
{
    char value[32];
    bool whole = true;

    for (int i = 0; i < cf_n_fields; i++) {
        const struct field *f = &cf_fields[i];
        bool first = true;

        if (!cf_subset_reaches(i))
            continue;
        whole = whole && f->allowed == all_of(f);
        for (int l = 0; f->allowed != all_of(f) && l < f->n_levels; l++) {
            if (!(f->allowed >> l & 1))
                continue;
            cf_value_print(i, f->level[l], value, sizeof value);
            fprintf(to, first ? " %s=%s" : ",%.0s%s", f->name, value);
            first = false;
        }
    }
    fputs(whole ? " every level" : "", to);
}

/* ---- as text -------------------------------------------------------------------------- */

static void list_fields(char *out, size_t size)
{
    size_t n = strlen(out);

    for (int i = 0; i < cf_n_fields && n + 1 < size; i++)
        n += (size_t)snprintf(out + n, size - n, " %s", cf_fields[i].name);
}

static void list_levels(int field, char *out, size_t size)
{
    size_t n = strlen(out);
    char value[32];

    for (int l = 0; l < cf_fields[field].n_levels && n + 1 < size; l++) {
        cf_value_print(field, cf_fields[field].level[l], value, sizeof value);
        n += (size_t)snprintf(out + n, size - n, " %s", value);
    }
}

/* One value of "axis=value,value". */
static bool value_allow(int field, const char *text, uint32_t *levels, char *why, size_t size)
{
    char value[32];

    for (int l = 0; l < cf_fields[field].n_levels; l++) {
        cf_value_print(field, cf_fields[field].level[l], value, sizeof value);
        if (!strcmp(value, text)) {
            *levels |= UINT32_C(1) << l;
            return true;
        }
    }
    snprintf(why, size, "%s has no value '%.30s'; it has", cf_fields[field].name, text);
    list_levels(field, why, size);
    return false;
}

static bool axis_allow(char *word, char *why, size_t size)
{
    char *value = strchr(word, '=');
    uint32_t levels = 0;
    int field = 0;

    if (!value) {
        snprintf(why, size, "'%.60s' is not axis=value", word);
        return false;
    }
    *value++ = '\0';
    while (field < cf_n_fields && strcmp(cf_fields[field].name, word) != 0)
        field++;
    if (field == cf_n_fields) {
        snprintf(why, size, "op=%s has no axis '%.30s'; it has", cf_op->name, word);
        list_fields(why, size);
        return false;
    }
    for (char *end; value; value = end) {
        end = strchr(value, ',');
        if (end)
            *end++ = '\0';
        if (!value_allow(field, value, &levels, why, size))
            return false;
    }
    cf_fields[field].allowed &= levels;
    snprintf(why, size, "%s: no value is left", cf_fields[field].name);
    return cf_fields[field].allowed != 0;
}

bool cf_subset_parse(const char *text, char *why, size_t size)
{
    if (text[strspn(text, " ")] == '\0') {
        snprintf(why, size, "it names no axis");
        return false;
    }
    while (*text) {
        const size_t n = strcspn(text, " ");
        char word[256];

        if (n >= sizeof word) {
            snprintf(why, size, "a word is too long");
            return false;
        }
        memcpy(word, text, n);
        word[n] = '\0';
        if (n && !axis_allow(word, why, size))
            return false;
        text += n + strspn(text + n, " ");
    }
    return true;
}
