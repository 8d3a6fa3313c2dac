/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A picture of the local attention: how much a sentence gives to which others. Cells stand for runs
 * of sentences. Where the value of a sentence is a one in the column of its cell, what attention
 * makes of the values are the weights themselves, summed over each cell. What a sentence gives to
 * itself, exp(score - LSE), would outshine the rest and is taken out.
 */
#include "attend.h"

#include <math.h>
#include <stdlib.h>

/* Less is rounding. */
#define NOTHING 1e-6

bool pattern_create(struct pattern *p, int64_t n)
{
    *p = (struct pattern){ .step = (n + PATTERN_CELLS - 1) / PATTERN_CELLS };
    if (p->step < 1)
        p->step = 1;
    p->cells = (n + p->step - 1) / p->step;
    p->sum = calloc((size_t)(p->cells * p->cells) + 1, sizeof(*p->sum));
    return p->sum != NULL;
}

void pattern_finish(struct pattern *p)
{
    free(p->sum);
    *p = (struct pattern){ .step = 1 };
}

double pattern_weight(const struct pattern *p, int64_t row, int64_t column)
{
    const int64_t rows = p->rows[row];

    return rows > 0 ? p->sum[row * p->cells + column] / (double)rows : 0;
}

void attend_tell_pattern(struct attend *a, struct pattern *pattern)
{
    a->pattern = pattern;
}

/* Columns [first, first + width) of the picture. */
struct columns {
    int64_t first, width;
};

/* Adds a sentence's weights, y, less what it gives to itself. */
static void add(struct pattern *p, const float *y, const struct columns *c, int64_t sentence,
                double self)
{
    const int64_t row = sentence / p->step;
    double *const sum = p->sum + row * p->cells + c->first;
    double others = 0;

    for (int64_t j = 0; j < c->width; j++)
        others += (double)y[j];
    others -= self;
    if (others < NOTHING)
        return;
    p->rows[row]++;
    for (int64_t j = 0; j < c->width; j++) {
        const bool own = c->first + j == row;
        const double weight = (double)y[j] - (own ? self : 0);

        if (!own || (p->step > 1 && weight > NOTHING))
            sum[j] += weight / others;
    }
}

static double square(const float *x, int64_t width)
{
    double sum = 0;

    for (int64_t k = 0; k < width; k++)
        sum += (double)x[k] * (double)x[k];
    return sum;
}

bool pattern_take(struct attend *a, const struct matrix *x, const float *rows, const int32_t *kept,
                  int64_t begin, int64_t count, struct failure *why)
{
    struct pattern *const p = a->pattern;
    const struct columns c = {
        .first = kept[0] / p->step, .width = kept[x->rows - 1] / p->step - kept[0] / p->step + 1
    };
    struct matrix v = { .rows = 0 }, y = { .rows = 0 }, lse = { .rows = 0 };
    float *const host = calloc((size_t)(x->rows * (c.width + 1)), sizeof(*host));
    float *host_lse;
    bool good = false;

    if (!host) {
        snprintf(why->text, sizeof(why->text), "not enough memory for the attention pattern");
        return false;
    }
    host_lse = host + x->rows * c.width;
    for (int64_t i = 0; i < x->rows; i++)
        host[i * c.width + kept[i] / p->step - c.first] = 1;
    if (matrix_create(a, &v, x->rows, c.width, why) &&
        matrix_create(a, &y, x->rows, c.width, why) &&
        matrix_create(a, &lse, x->rows, 1, why) && matrix_write(a, &v, host, why) &&
        encoder_run(a, x, &v, &y, &lse, why) && matrix_read(a, host, &y, why) &&
        matrix_read(a, host_lse, &lse, why)) {
        for (int64_t i = begin; i < begin + count; i++)
            add(p, host + i * c.width, &c, kept[i],
                exp(SHARPNESS * square(rows + i * a->width, a->width) - (double)host_lse[i]));
        good = true;
    }
    matrix_destroy(a, &v);
    matrix_destroy(a, &y);
    matrix_destroy(a, &lse);
    free(host);
    return good;
}
