/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The axes of an operation with fixed arrays: what all have, its own ones, and those that follow
 * from its table of arrays; and what else the generator of cases asks of it.
 */
#include "table.h"

#include <string.h>

enum { MAX_SPECS = F_OWN + 24 + MAX_PARTS * A_COUNT };

const char fixed_fills[] = "normal exact ties huge over subnormal special bits alike";

static const struct cf_spec common[F_OWN] = {
    [F_BATCH] = { "batch", "2 1 3 0 none 2x2 1x3 2x1x3", 0, -1, NULL },
    [F_HEADS] = { "h", "2 1 3 none 0", 0, -1, NULL },
    [F_FILL] = { "fill", fixed_fills, 0, -1, NULL },
    [F_MIS] = { "mis", "0 1 3", 1, -1, NULL },
    [F_NUM] = { "num", "exact best repeat fast", 0, -1, NULL },
    [F_WS] = { "ws", "given own", 0, -1, NULL },
};

static int fields[MAX_PARTS][A_COUNT]; /* of the operation in use */

const struct fixed *fixed_of(const struct cf_op *op)
{
    return op->tabled ? (const struct fixed *)(const void *)op : NULL;
}

static const struct fixed *in_use(void)
{
    return fixed_of(cf_op);
}

int fixed_field(int array, int which)
{
    return fields[array][which];
}

/* The specs of one array, behind the n there are. Returns how many there are then. */
static int array_specs(const struct fixed_array *a, int i, struct cf_spec *specs, int n,
                       char names[MAX_SPECS][16])
{
    static const char *const suffixes[A_COUNT] = { "", ".t", ".s", ".b", ".h" };
    const char *values[A_COUNT] = {
        a->holds,
        a->dtypes && strchr(a->dtypes, ' ') ? a->dtypes : NULL,
        a->role & IN ? "natural padded transposed negative zero overlap"
                     : "natural padded transposed negative",
        a->role & IN && a->role & BATCH ? "full one some drop" : NULL,
        a->role & HEAD_ONE ? "h 1" : NULL,
    };
    const bool may = a->holds && strncmp(a->holds, "none", 4) == 0;
    int parent = a->need ? a->need : -1;
    const char *with = a->with;

    for (int which = 0; which < A_COUNT; which++) {
        fields[i][which] = values[which] ? n : -1;
        if (!values[which])
            continue;
        snprintf(names[n], 16, "%s%s", a->name, suffixes[which]);
        specs[n] = (struct cf_spec){ names[n], values[which], 0, parent, with };
        n++;
        if (which == A_HOLDS && may) {
            parent = fields[i][A_HOLDS];
            with = strchr(a->holds, ' ') + 1;
        }
    }
    return n;
}

void fixed_axes(void)
{
    const struct fixed *op = in_use();
    struct cf_spec specs[MAX_SPECS];
    char names[MAX_SPECS][16];
    int n = F_OWN;

    memcpy(specs, common, sizeof common);
    for (int i = 0; i < op->n_specs; i++)
        specs[n++] = op->specs[i];
    for (int i = 0; i < op->n_arrays; i++)
        n = array_specs(&op->arrays[i], i, specs, n, names);
    cf_axes_add(specs, n);
}

int64_t fixed_own(const struct fixed_problem *p, int field)
{
    return p->c.v[field];
}

int64_t fixed_work(const struct cs *c)
{
    struct fixed_problem *p = fixed_problem_make(c, false);
    int64_t work = p ? p->work : 0;

    for (int i = 0; p && i < p->op->n_arrays; i++)
        work += 4 * (part_is(&p->part[i]) ? cf_array_count(&p->part[i].a) : 0);
    fixed_problem_free(p);
    return work;
}

void fixed_smallest(struct cs *c)
{
    cf_case_default(c);
    fixed_shrink(c);
}

void fixed_shrink(struct cs *c)
{
    c->v[F_BATCH] = c->v[F_HEADS] = 1;
}

bool fixed_empties(int field, int64_t value)
{
    if (field == F_BATCH || field == F_HEADS)
        return value == (field == F_BATCH ? 3 : 4);
    return field >= F_OWN && field < F_OWN + in_use()->n_specs && value == 0 &&
           in_use()->extents >> (field - F_OWN) & 1;
}

bool fixed_telling(const struct cs *c, int a, int b)
{
    bool empty = false;

    for (int i = 0; i < F_OWN + in_use()->n_specs; i++) {
        if (!cf_field_active(c, i) || !fixed_empties(i, c->v[i]))
            continue;
        if (a == i || b == i)
            return true;
        empty = true;
    }
    return !empty;
}

int fixed_first(void)
{
    return F_OWN;
}

bool fixed_of_memory(int field)
{
    const struct fixed *const op = fixed_of(cf_op);
    bool laid = field == F_MIS || field == F_NUM || field == F_WS;

    for (int i = 0; i < op->n_arrays; i++)
        laid = laid || field == fixed_field(i, A_LAID);
    return laid;
}

const char *fixed_line(int i)
{
    return i < in_use()->n_named ? in_use()->named[i] : NULL;
}
