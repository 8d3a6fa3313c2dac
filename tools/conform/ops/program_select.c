/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Programs ask the oracle of select: a problem of select over the keys of a program's text.
 */
#include "program.h"
#include "select.h"

#include <stdlib.h>

static struct fixed_problem *problem_of(const struct fixed_problem *program, struct answer *a,
                                        int64_t block, struct answer *own)
{
    struct fixed_problem *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->op = &fixed_select;
    p->n_items = program->n_items;
    p->heads = p->n[N_HEADS] = program->heads;
    p->n[N_N] = program->n[P_N];
    p->c.v[C_BLOCK] = block;
    p->part[X] = program->part[P_TEXT_K];
    p->part[MASK] = program->part[P_TEXT_MASK];
    p->part[LEN] = program->part[P_TEXT_LEN];
    *own = (struct answer){ .p = p };
    own->read[X] = a->read[P_TEXT_K];
    return p;
}

bool program_choose(const struct fixed_problem *program, struct answer *a, int64_t block,
                    int64_t count, int64_t *chosen, unsigned char *doubt)
{
    const int64_t blocks = (program->n[P_N] + block - 1) / block;
    struct answer own;
    struct fixed_problem *p = problem_of(program, a, block, &own);
    bool good = p != NULL;

    if (good)
        p->c.v[C_COUNT] = count;
    for (int64_t i = 0; good && i < p->n_items * p->heads; i++)
        good = select_chosen(p, &own, i / p->heads, i % p->heads, chosen + i * blocks * count,
                             doubt + i * blocks);
    if (p)
        answer_forget(&own);
    free(p);
    return good;
}

bool program_hash(const struct fixed_problem *program, struct answer *a, int64_t block, int rounds,
                  int64_t n_rounds, int64_t *bucket, unsigned char *doubt)
{
    const int64_t n = program->n[P_N];
    struct answer own;
    struct fixed_problem *p = problem_of(program, a, block, &own);

    if (!p)
        return false;
    p->c.v[C_KIND] = KIND_HASH;
    p->c.v[C_R] = n_rounds;
    for (int64_t r = 0; r < n_rounds; r++) {
        p->part[ROUNDS + r] = program->part[rounds + r];
        own.read[ROUNDS + r] = a->read[rounds + r];
        for (int64_t i = 0; i < cf_array_count(&p->part[ROUNDS + r].a); i++)
            answer_bits(&own, ROUNDS + (int)r, i);      /* those beyond a doubtful round, too */
    }
    for (int64_t i = 0; i < p->n_items * p->heads; i++)
        select_buckets(p, &own, i / p->heads, i % p->heads, bucket + i * n, doubt + i * n);
    answer_forget(&own);
    free(p);
    return true;
}
