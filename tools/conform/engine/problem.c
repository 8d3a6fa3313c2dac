/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * From a case to the logical arrays of an operation with fixed arrays; and from such a problem to
 * others that must have the same results: some of its items, in another order, heads reversed.
 */
#include "table.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 512 }; /* of a leading and the batch axes */
enum { FORM_FULL, FORM_ONE, FORM_SOME, FORM_DROP };

bool part_is(const struct part *part)
{
    return part->a.dtype != 0;
}

void part_shape(struct part *part, int64_t x, int64_t y, int64_t z)
{
    const int64_t axes[3] = { x, y, z };

    part->a.trailing = 0;
    for (int i = 0; i < 3; i++) {
        part->a.trailing += axes[i] >= 0;
        part->a.shape[1 + i] = axes[i] >= 0 ? axes[i] : 1;
    }
}

static void batch_set(struct fixed_problem *p)
{
    static const int64_t table[][3] = { { 1, 1, 2 }, { 1, 1, 1 }, { 1, 1, 3 }, { 1, 1, 0 },
                                        { 1, 1, 1 }, { 1, 2, 2 }, { 1, 1, 3 }, { 2, 1, 3 } };
    static const int64_t heads[] = { 2, 1, 3, 1, 0 };

    for (int i = 0; i < 3; i++)
        p->batch[i] = table[p->c.v[F_BATCH]][i];
    for (int i = 0; i < p->op->n_arrays; i++) /* a tensor has six axes at most */
        p->batch[0] = p->op->arrays[i].role & LEAD ? 1 : p->batch[0];
    p->heads = heads[p->c.v[F_HEADS]];
}

/* Batch axes that an array would have if it had all of them. */
static int batch_axes(const struct fixed_problem *p)
{
    static const int table[] = { 1, 1, 1, 1, 0, 2, 2, 3 };
    const int n = table[p->c.v[F_BATCH]];

    return n == 3 && p->batch[0] == 1 ? 2 : n;
}

static uint32_t dtype_of(const struct fixed_problem *p, int i)
{
    const struct fixed_array *a = &p->op->arrays[i];
    const int field = fixed_field(i, A_DTYPE);
    char word[16];

    if (!a->dtypes)
        return dtype_of(p, a->as);
    if (field >= 0)
        cf_value_print(field, p->c.v[field], word, sizeof word);
    else
        snprintf(word, sizeof word, "%s", a->dtypes);
    return type_named(word) ? type_named(word)->dtype : 0;
}

/* Is the array there? Its fields say so. */
static bool present(const struct fixed_problem *p, int i)
{
    const struct fixed_array *a = &p->op->arrays[i];
    const int holds = fixed_field(i, A_HOLDS), laid = fixed_field(i, A_LAID);

    if (holds >= 0 && strncmp(a->holds, "none", 4) == 0 && p->c.v[holds] == 0)
        return false;
    return cf_field_active(&p->c, laid);
}

static int64_t field_value(const struct fixed_problem *p, int i, int which)
{
    const int field = fixed_field(i, which);

    return field < 0 ? 0 : p->c.v[field];
}

int64_t part_heads(const struct fixed_problem *p, int array)
{
    return field_value(p, array, A_HEAD) ? 1 : p->heads;
}

/* Which axes of an input laid out with stride 0 repeat. */
static int zero_axes(const struct fixed_problem *p, const struct part *part)
{
    static const int choices[] = { 1, 2, 4, 8, 3, 6, 5 };
    const int zero = choices[cf_mix2(p->c.seed, (uint64_t)part->number + 77) % 7];

    return part->a.laid == LAID_ZERO ? zero : 0;
}

/* The batch extents of a part, and where its items lie. */
static void batch_form(struct fixed_problem *p, struct part *part)
{
    const uint64_t hash = cf_mix2(p->c.seed, (uint64_t)part->number + 991);
    const int64_t form = field_value(p, part->number, A_BATCH);
    const int least = part->role & LENGTHS ? 1 : 0;

    part->axes = batch_axes(p);
    for (int i = 0; i < 3; i++)
        part->extent[i] =
            form == FORM_ONE || (form == FORM_SOME && hash >> i & 1) ? 1 : p->batch[i];
    if (form == FORM_DROP)
        part->axes -= 1 + (int)(hash >> 8 & 1);
    part->axes = part->axes < least ? least : part->axes < 0 ? 0 : part->axes;
    for (int i = 0; i < 3 - part->axes; i++)
        part->extent[i] = 1;
    /* leading axes of extent 1 may always be left out */
    while (part->axes > least && part->extent[3 - part->axes] == 1 && hash >> 9 & 1)
        part->axes--;
}

static void items_place(const struct fixed_problem *p, struct part *part)
{
    for (int64_t b = 0; b < p->n_items; b++) {
        int64_t rest = b, at = 0, size = 1;

        for (int i = 2; i >= 0; i--) {
            const int64_t mine = rest % p->batch[i];

            rest /= p->batch[i];
            at += part->extent[i] == 1 ? 0 : mine * size;
            size *= part->extent[i];
        }
        part->own[b] = at;
    }
}

static void part_batch(struct fixed_problem *p, struct part *part)
{
    part->a.batched = part->role & (BATCH | LEAD);
    for (int i = 0; i < 3; i++)
        part->extent[i] = 1;
    if (part->role & BATCH)
        batch_form(p, part);
    if (part->role & HEAD && part->role & BATCH && part->axes == 0 &&
        part->a.shape[4 - part->a.trailing] == 1 &&
        (p->c.v[F_HEADS] == 3 || cf_mix2(p->c.seed, (uint64_t)part->number + 5) & 1)) {
        part->headless = true;
        part->a.trailing--;
    }
    part->lead = part->role & LEAD ? part->a.shape[0] : 1;
    part->a.shape[0] = part->lead;
    for (int i = 0; i < 3; i++)
        part->a.shape[0] = cf_times(part->a.shape[0], part->extent[i]);
}

/* What is common to the arrays that have the axis. */
static void batch_common(struct fixed_problem *p)
{
    for (int axis = 0; axis < 3; axis++) {
        p->batch[axis] = 1;
        for (int i = 0; i < p->op->n_arrays; i++) {
            const struct part *part = &p->part[i];

            if (part_is(part) && part->role & BATCH && part->extent[axis] != 1)
                p->batch[axis] = part->extent[axis];
        }
    }
    p->n_items = p->batch[0] * p->batch[1] * p->batch[2];
    for (int i = 0; i < p->op->n_arrays; i++)
        items_place(p, &p->part[i]);
}

static void parts_begin(struct fixed_problem *p)
{
    for (int i = 0; i < p->op->n_arrays; i++) {
        struct part *part = &p->part[i];

        part->table = &p->op->arrays[i];
        part->number = i;
        if (!present(p, i))
            continue;
        part->role = part->table->role;
        part->a.dtype = dtype_of(p, i);
        part->a.shape[0] = 1;
        part->a.laid = (int)field_value(p, i, A_LAID);
        part->holds = field_value(p, i, A_HOLDS);
    }
}

static void laid_set(struct fixed_problem *p, struct part *part)
{
    const uint64_t hash = cf_mix2(p->c.seed, (uint64_t)part->number + 5150);

    part->a.zero = zero_axes(p, part);
    if (type_elements(part->a.dtype) > 1) { /* whose channels lie beside each other */
        part->a.zero &= 7;
        part->a.laid = part->a.laid == LAID_OVERLAP ? LAID_PADDED : part->a.laid;
    }
    for (int axis = 0; axis < 4; axis++)
        part->a.step[axis] = hash >> (8 + axis) & 1 ? -1 : 1;
}

static bool contents_make(struct fixed_problem *p)
{
    for (int i = 0; i < p->op->n_arrays; i++) {
        struct part *part = &p->part[i];

        if (!part_is(part))
            continue;
        if (!cf_array_alloc(&part->a))
            return false;
        part->table->fill(p, part);
        if (!cf_array_share(&part->a, part->a.laid))
            return false;
    }
    return true;
}

struct fixed_problem *fixed_problem_make(const struct cs *c, bool data)
{
    struct fixed_problem *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->c = *c;
    p->op = fixed_of(cf_op);
    p->shapes_only = !data;
    batch_set(p);
    parts_begin(p);
    p->op->shape(p);
    for (int i = 0; i < p->op->n_arrays; i++) {
        if (!part_is(&p->part[i]))
            continue;
        part_batch(p, &p->part[i]);
        laid_set(p, &p->part[i]);
    }
    batch_common(p);
    if (!data || contents_make(p))
        return p;
    fixed_problem_free(p);
    return NULL;
}

void fixed_problem_free(struct fixed_problem *p)
{
    for (int i = 0; p && i < MAX_PARTS; i++)
        free(p->part[i].a.data);
    free(p);
}

/* ---- elements ---------------------------------------------------------------- */

int64_t part_lead_at(const struct part *part, int64_t lead, int64_t b, int64_t x, int64_t y,
                     int64_t z)
{
    const int64_t items = part->lead ? part->a.shape[0] / part->lead : 1;

    return cf_array_at(&part->a, lead * items + part->own[b], x, y, z);
}

int64_t part_at(const struct part *part, int64_t b, int64_t x, int64_t y, int64_t z)
{
    return part_lead_at(part, 0, b, x, y, z);
}

int64_t part_int(const struct part *part, int64_t index)
{
    return cf_array_int(&part->a, index);
}

int64_t part_bits(const struct part *part, int64_t index)
{
    return part->a.dtype == HEED_I64 ? cf_array_int(&part->a, index)
                                     : (int64_t)cf_array_bits(&part->a, index);
}

/* ---- other problems with the same results ------------------------------------- */

static int head_axis(const struct part *part)
{
    return 4 - part->a.trailing - part->headless;
}

bool fixed_can_pick(const struct fixed_problem *p)
{
    for (int i = 0; i < p->op->n_arrays; i++) {
        if (fixed_writes(p, i) && !(p->part[i].role & BATCH))
            return false;
    }
    return true;
}

/* to[b][x][y][z] = from[rows[b]][x][y][z], heads reversed or not. */
static void rows_take(const struct part *from, struct part *to, const int64_t *rows, bool turned)
{
    const size_t size = cf_dtype_size(from->a.dtype);
    const bool blocks = type_elements(from->a.dtype) > 1;
    const int64_t *s = to->a.shape;
    const int axis = from->role & HEAD && turned ? head_axis(from) : 0;
    int64_t out = 0;

    for (int64_t b = 0; b < s[0]; b++) {
        for (int64_t x = 0; x < s[1]; x++) {
            for (int64_t y = 0; y < s[2]; y++) {
                for (int64_t z = 0; z < s[3]; z++, out++) {
                    const int64_t at = cf_array_at(&from->a, rows[b], axis == 1 ? s[1] - 1 - x : x,
                                                   axis == 2 ? s[2] - 1 - y : y,
                                                   axis == 3 ? s[3] - 1 - z : z);

                    if (blocks)
                        cf_array_set(&to->a, out, cf_array_bits(&from->a, at));
                    else
                        memcpy((unsigned char *)to->a.data + (size_t)out * size,
                               (const unsigned char *)from->a.data + (size_t)at * size, size);
                }
            }
        }
    }
}

/* Contents may repeat along axes no longer: then the strides may not. */
static void plain_strides(struct part *part)
{
    if (part->a.laid >= LAID_ZERO)
        part->a.laid = LAID_PADDED;
    part->a.zero = 0;
}

static bool part_pick(const struct part *from, struct part *to, const int64_t *items, int64_t n,
                      bool turned)
{
    const int64_t all = from->lead ? from->a.shape[0] / from->lead : 1;
    const bool one = all == 1 || !(from->role & BATCH);
    const int64_t rows_of = one ? 1 : n;
    int64_t rows[ROWS_MOST];

    if (from->lead * rows_of > ROWS_MOST)
        return false;
    for (int64_t lead = 0; lead < from->lead; lead++) {
        for (int64_t i = 0; i < rows_of; i++)
            rows[lead * rows_of + i] = lead * all + (one ? 0 : from->own[items[i]]);
    }
    to->a.shape[0] = from->lead * rows_of;
    to->extent[0] = to->extent[1] = 1;
    to->extent[2] = rows_of;
    if (from->role & BATCH && from->axes == 0 && rows_of != 1)
        return false;
    to->axes = from->axes == 0 ? 0 : 1;
    plain_strides(to);
    if (!cf_array_alloc(&to->a))
        return false;
    rows_take(from, to, rows, turned);
    return true;
}

struct fixed_problem *fixed_problem_pick(const struct fixed_problem *p, const int64_t *items,
                                         int64_t n, bool turned)
{
    struct fixed_problem *q = calloc(1, sizeof *q);
    bool ok = q != NULL;

    if (!q)
        return NULL;
    *q = *p;
    q->batch[0] = q->batch[1] = 1;
    q->batch[2] = q->n_items = n;
    for (int i = 0; i < MAX_PARTS; i++)
        q->part[i].a.data = NULL;
    for (int i = 0; ok && i < p->op->n_arrays; i++) {
        if (!part_is(&p->part[i]))
            continue;
        ok = part_pick(&p->part[i], &q->part[i], items, n, turned);
        items_place(q, &q->part[i]);
    }
    if (ok)
        return q;
    fixed_problem_free(q);
    return NULL;
}

struct fixed_problem *fixed_problem_copy(const struct fixed_problem *p, bool turned)
{
    struct fixed_problem *q = calloc(1, sizeof *q);
    int64_t rows[ROWS_MOST];
    bool ok = q != NULL;

    for (int64_t i = 0; i < ROWS_MOST; i++)
        rows[i] = i;
    if (!q)
        return NULL;
    *q = *p;
    for (int i = 0; i < MAX_PARTS; i++)
        q->part[i].a.data = NULL;
    for (int i = 0; ok && i < p->op->n_arrays; i++) {
        if (!part_is(&p->part[i]))
            continue;
        plain_strides(&q->part[i]);
        ok = p->part[i].a.shape[0] <= ROWS_MOST && cf_array_alloc(&q->part[i].a);
        if (ok)
            rows_take(&p->part[i], &q->part[i], rows, turned);
    }
    if (ok)
        return q;
    fixed_problem_free(q);
    return NULL;
}

void part_drop(struct part *part)
{
    free(part->a.data);
    part->a.data = NULL;
    part->a.dtype = 0;
}

void part_cut(struct part *part, int axis, int64_t n)
{
    const struct part from = *part;
    int64_t rows[ROWS_MOST];

    if (!part_is(part) || part->a.shape[axis] <= n || part->a.shape[0] > ROWS_MOST)
        return;
    for (int64_t i = 0; i < ROWS_MOST; i++)
        rows[i] = i;
    part->a.shape[axis] = n;
    if (cf_array_alloc(&part->a)) {
        rows_take(&from, part, rows, false);
        free(from.a.data);
    } else {
        part->a = from.a;
    }
}
