/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The fields of the operation in use: names, the values that are drawn, and which field must have
 * which value for another one to have a meaning.
 */
#include "cover.h"

#include <stdlib.h>
#include <string.h>

struct field cf_fields[MAX_FIELDS];
int cf_n_fields, cf_n_levels;
const struct cf_op *cf_op;

void cf_kind_add(struct cf_kinds *kinds, int row, const char *word, unsigned fields)
{
    const size_t n = strlen(kinds->words);

    snprintf(kinds->words + n, sizeof kinds->words - n, row ? " %s" : "%s", word);
    for (int i = 0; i < 32; i++)
        kinds->takers[i] |= (fields >> i & 1) << row;
}

static void add_parent(struct field *f, int parent, uint32_t mask)
{
    const int i = f->parent[0] < 0 ? 0 : 1;

    f->parent[i] = parent;
    f->mask[i] = mask;
}

/* The next blank-separated word; *rest moves behind it. */
static bool next_word(const char **rest, char word[16])
{
    size_t n = 0;

    while (**rest == ' ')
        ++*rest;
    while (**rest && **rest != ' ' && n < 15)
        word[n++] = *(*rest)++;
    word[n] = 0;
    return n > 0;
}

static uint32_t mask_of(int field, const char *need)
{
    char word[16], name[32];
    uint32_t mask = 0;

    while (next_word(&need, word)) {
        for (int i = 0; i < cf_fields[field].n_levels; i++) {
            cf_value_print(field, cf_fields[field].level[i], name, sizeof name);
            if (!strcmp(name, word))
                mask |= 1u << i;
        }
    }
    return mask;
}

/* A number may be negative, or 0, where a level is. */
static void bounds_set(struct field *f, int64_t number)
{
    int64_t least = f->level[0];

    for (int l = 1; l < f->n_levels; l++)
        least = f->level[l] < least ? f->level[l] : least;
    f->high = number > 1 ? number : number < 0 ? number : cf_op->most;
    f->low = least > 0 ? 1 : least < 0 ? -f->high : 0;
}

/* Adds a group of fields; the first of them has `parent` (level numbers from `from` on) as a need
 * of all. */
int cf_group_add(const char *prefix, const struct cf_spec *specs, int n, int parent,
                     int64_t above, const struct cf_kinds *kinds)
{
    const int at = cf_n_fields;

    for (int i = 0; i < n; i++) {
        struct field *f = &cf_fields[cf_n_fields++];
        const char *values = specs[i].values ? specs[i].values : kinds->words, *rest = values;
        char word[16];

        snprintf(f->name, sizeof f->name, "%s%s", prefix, specs[i].name);
        f->words = specs[i].number ? NULL : values;
        f->parent[0] = f->parent[1] = -1;
        while (next_word(&rest, word)) {
            f->level[f->n_levels] = !specs[i].number       ? f->n_levels
                                    : !strcmp(word, "far") ? HEED_FAR
                                                           : strtoll(word, NULL, 10);
            f->n_levels++;
        }
        bounds_set(f, specs[i].number);
        if (parent >= 0) {
            uint32_t mask = 0;

            for (int l = 0; l < cf_fields[parent].n_levels; l++)
                mask |= cf_fields[parent].level[l] > above ? 1u << l : 0;
            add_parent(f, parent, mask);
        }
    }
    for (int i = 0; i < n; i++) {
        if (specs[i].parent >= 0)
            add_parent(&cf_fields[at + i], at + specs[i].parent,
                       specs[i].need ? mask_of(at + specs[i].parent, specs[i].need)
                                     : kinds->takers[i]);
    }
    return at;
}

int cf_axes_add(const struct cf_spec *specs, int n)
{
    return cf_group_add("", specs, n, -1, 0, NULL);
}

void cf_op_use(const struct cf_op *op)
{
    if (cf_op == op)
        return;
    cf_op = op;
    cf_n_fields = 0;
    memset(cf_fields, 0, sizeof cf_fields);
    op->axes();
    cf_n_levels = 0;
    for (int i = 0; i < cf_n_fields; i++) {
        cf_fields[i].first = cf_n_levels;
        cf_n_levels += cf_fields[i].n_levels;
    }
    cf_subset_all();
}

int cf_level_of(int field, int64_t value)
{
    for (int i = 0; i < cf_fields[field].n_levels; i++) {
        if (cf_fields[field].level[i] == value)
            return i;
    }
    return -1;
}

void cf_case_default(struct cs *c)
{
    *c = (struct cs){ .seed = 1 };
    for (int i = 0; i < cf_n_fields; i++)
        c->v[i] = cf_fields[i].level[0];
}

/* Fields may stand before what they need, so needs are followed, not swept. Depth is at most 5. */
bool cf_field_active(const struct cs *c, int field)
{
    const struct field *f = &cf_fields[field];

    for (int i = 0; i < 2 && f->parent[i] >= 0; i++) {
        const int level = cf_level_of(f->parent[i], c->v[f->parent[i]]);

        if (level < 0 || !(f->mask[i] >> level & 1) || !cf_field_active(c, f->parent[i]))
            return false;
    }
    return true;
}

void cf_case_normalize(struct cs *c)
{
    const struct cs old = *c;

    for (int i = 0; i < cf_n_fields; i++) {
        if (!cf_field_active(&old, i))
            c->v[i] = cf_fields[i].level[0];
    }
}
