/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Programs ask the oracle of pool: a problem of pool over arrays of a program.
 */
#include "pool.h"
#include "program.h"

#include <stdlib.h>

static const struct {
    uint32_t public;
    int64_t kind;
} kinds[] = { { HEED_POOL_MEAN, KIND_MEAN },
              { HEED_POOL_MAX, KIND_MAX },
              { HEED_POOL_DYNAMIC, KIND_DYNAMIC },
              { HEED_POOL_BUCKET, KIND_BUCKET } };

/* The array of ids, of which each item and head has its own; false: no memory. */
static bool ids_make(struct fixed_problem *p, const int64_t *ids)
{
    struct part *part = &p->part[IDS];

    if (!ids)
        return true;
    part_shape(part, -1, p->heads, p->n[N_N]);
    part->a.dtype = HEED_I32;
    part->a.shape[0] = p->n_items;
    part->lead = 1;
    for (int64_t b = 0; b < p->n_items; b++)
        part->own[b] = b;
    if (!cf_array_alloc(&part->a))
        return false;
    for (int64_t i = 0; i < cf_array_count(&part->a); i++)
        cf_array_set_int(&part->a, i, ids[i]);
    return true;
}

static void numbers_set(struct fixed_problem *p, const struct pool_ask *ask, int64_t n)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].public == ask->kind)
            p->c.v[C_KIND] = kinds[i].kind;
    }
    p->n[N_KERNEL] = ask->kernel;
    p->n[N_STRIDE] = ask->stride;
    p->n[N_LEFT] = ask->left;
    p->n[N_TAIL] = ask->tail;
    p->n[N_BLOCK] = ask->block;
    p->n[N_BUCKETS] = ask->buckets;
    p->n[N_N] = n;
    p->n[N_M] = ask->rows;
}

bool program_pool(const struct fixed_problem *program, struct answer *a, const struct pool_ask *ask,
                  struct made *out)
{
    const struct part *x = &program->part[ask->x];
    struct fixed_problem *p = calloc(1, sizeof *p);
    struct answer own = { .p = p };
    bool good;

    *out = (struct made){ 0 };
    if (!p)
        return false;
    p->op = &fixed_pool;
    p->n_items = program->n_items;
    p->heads = program->heads;
    numbers_set(p, ask, program->n[P_N]);
    p->part[X] = *x;
    p->part[MASK] = program->part[P_TEXT_MASK];
    p->part[LEN] = program->part[P_TEXT_LEN];
    if (ask->weights >= 0)
        p->part[WEIGHTS] = program->part[ask->weights];
    good = made_make(out, p, p->heads, ask->rows, x->a.shape[3], true) && ids_make(p, ask->ids);
    p->part[Y] = out->part;
    p->part[Y_MASK] = out->mask;
    own.said[Y] = out->said;
    own.said[Y_MASK] = out->there;
    own.read[X] = a->read[ask->x];
    own.read[WEIGHTS] = ask->weights >= 0 ? a->read[ask->weights] : NULL;
    if (good)
        pool_say(p, &own);
    answer_forget(&own);
    free(p->part[IDS].a.data);
    free(p);
    return good;
}
