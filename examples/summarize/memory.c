/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A memory of rows in a few rings: push, compress what falls out, push that, as in the
 * Compressive Transformer (Rae et al. 2020, algorithm 1) and in AWESOME (Cao and Wang
 * 2023, section 3.1). The first tier holds rows as they are; each row of the second stands
 * for GROUP of them, each of the third for GROUP * GROUP. Memory and time of a push do
 * not depend on what was pushed before, and nothing comes back to the host.
 *
 * A row has a bias, the logarithm of its weight: what it adds to a sum is
 * exp(q . row + bias). A group's row is the mean of its rows by weight, and its bias is
 * the logarithm of the sum of the weights: the tangent of that sum's logarithm at q = 0.
 * With biases of 0 that is the plain mean and ln(GROUP), and groups of groups are what one
 * larger group would be. Rows of bias -Inf count in neither.
 */
#include "attend.h"

static int64_t group_of(const struct tier *t)
{
    return t->fresh.rows < GROUP ? t->fresh.rows : GROUP;
}

static bool tier_create(struct attend *a, struct tier *t, int64_t step, int64_t capacity,
                        bool last, struct failure *why)
{
    const int64_t width = a->width;

    return ring_create(a, &t->rows, capacity, width, why) &&
           ring_create(a, &t->bias, capacity, 1, why) &&
           matrix_create(a, &t->fresh, step, width, why) &&
           matrix_create(a, &t->fresh_bias, step, 1, why) &&
           (last || (matrix_create(a, &t->out, step, width, why) &&
                     matrix_create(a, &t->out_bias, step, 1, why)));
}

/* chunk: a power of two. near: rows of the first tier, a multiple of it. capacity: rows of
 * the others, a multiple of what enters them at a time. */
bool memory_create(struct attend *a, struct memory *m, int64_t chunk, int64_t near,
                   int64_t capacity, struct failure *why)
{
    int64_t step = chunk;

    for (int i = 0; i < TIERS; i++) {
        struct tier *const t = &m->tier[i];

        if (!tier_create(a, t, step, i == 0 ? near : capacity, i + 1 == TIERS, why))
            return false;
        step /= group_of(t);
    }
    return true;
}

void memory_destroy(struct attend *a, struct memory *m)
{
    for (int i = 0; i < TIERS; i++) {
        struct tier *const t = &m->tier[i];

        ring_destroy(a, &t->rows);
        ring_destroy(a, &t->bias);
        matrix_destroy(a, &t->fresh);
        matrix_destroy(a, &t->fresh_bias);
        matrix_destroy(a, &t->out);
        matrix_destroy(a, &t->out_bias);
    }
}

bool memory_clear(struct attend *a, struct memory *m, struct failure *why)
{
    for (int i = 0; i < TIERS; i++) {
        struct tier *const t = &m->tier[i];

        t->held = 0;
        if (!ring_clear(a, &t->rows, why) || !ring_clear(a, &t->bias, why))
            return false;
    }
    return true;
}

/* What fell out of t becomes what enters `next`. */
static bool compress(struct attend *a, const struct tier *t, const struct tier *next,
                     struct failure *why)
{
    const int64_t group = group_of(t);
    const struct parts parts = {
        .buf = t->out_bias.buf, .n = group, .part_stride = 1, .row_stride = group
    };

    return call_pool_groups(a, &t->out, &t->out_bias, group, &next->fresh, why) &&
           call_merge(a, &parts, &next->fresh_bias, why);
}

/* Pushes what is fresh in tier i; `spilled`: something fell out. */
static bool tier_push(struct attend *a, struct tier *t, bool *spilled, struct failure *why)
{
    *spilled = t->held == t->rows.rows.rows;
    if (!*spilled)
        t->held += t->fresh.rows;
    return call_push(a, &t->rows, &t->fresh, &t->out, why) &&
           call_push(a, &t->bias, &t->fresh_bias, &t->out_bias, why);
}

bool memory_push(struct attend *a, struct memory *m, const float *rows, const float *bias,
                 struct failure *why)
{
    bool spilled = true;

    if (!matrix_write(a, &m->tier[0].fresh, rows, why) ||
        !matrix_write(a, &m->tier[0].fresh_bias, bias, why))
        return false;
    for (int i = 0; i < TIERS && spilled; i++) {
        if (i > 0 && !compress(a, &m->tier[i - 1], &m->tier[i], why))
            return false;
        if (!tier_push(a, &m->tier[i], &spilled, why))
            return false;
    }
    return true;
}

/* All rows are seen and a sum does not mind their order, so a ring needs no turning. */
static struct keys tier_keys(const struct tier *t)
{
    return (struct keys){
        .k = t->rows.rows, .v = matrix_no_channels(t->rows.rows), .bias = t->bias.rows,
        .len = t->rows.len
    };
}

struct keys memory_near(const struct memory *m)
{
    return tier_keys(&m->tier[0]);
}

uint32_t memory_far(const struct memory *m, struct keys keys[TIERS - 1])
{
    uint32_t n = 0;

    for (int i = 1; i < TIERS && m->tier[i].held > 0; i++)
        keys[n++] = tier_keys(&m->tier[i]);
    return n;
}
