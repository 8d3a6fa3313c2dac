/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * q.k in double, and what bounds the error of step 3 of docs/numerics.md, section 4.
 */
#include "product.h"

#include <math.h>

static const double u = 0x1p-24;

static double value(const struct array *a, int64_t index)
{
    return (double)cf_decode(a->dtype, cf_array_bits(a, index));
}

/* A block: sum and magnitudes of q times numbers, then of what is multiplied by the minimum. */
static void factor_add(struct cf_product *to, double sum, double size, double factor,
                       double roundings)
{
    to->unsure = to->unsure || (isfinite(size) && size > 0x1p120) ||
                 (isinf(factor) && size > 0 && fabs(sum) <= roundings * u * size);
    to->sum += sum * factor;
    to->size += size * fabs(factor);
    to->tiny += isfinite(factor) ? roundings * 0x1p-149 * fabs(factor) : 0;
}

/* Of `n` channels from q + t and k + t on, which have a scale in common. */
static void block_add(const struct problem *p, const struct source_data *src, int64_t q, int64_t k,
                      int64_t n, const struct cf_scales *scales, struct cf_product *to)
{
    const struct cf_stored first = cf_stored_at(&src->k, k, scales);
    double a = 0, a_size = 0, c = 0, c_size = 0;

    for (int64_t t = 0; t < n; t++) {
        const double x = value(&p->q, q + t);
        const double product = x * cf_number_at(&src->k, k + t);

        a += product;
        a_size += fabs(product);
        c += x;
        c_size += fabs(x);
    }
    factor_add(to, a, a_size, first.scale, (double)n + 2);
    if (first.minima)
        factor_add(to, c, c_size, first.minimum, (double)n + 2);
}

void cf_product_add(const struct problem *p, const struct source_data *src, int64_t q, int64_t k,
                    const struct cf_scales *scales, struct cf_product *to)
{
    const int64_t d = p->d;
    const int64_t block = d == 0 ? 0 : cf_stored_at(&src->k, k, scales).channels;

    for (int64_t t = 0; block && t < d; t += block)
        block_add(p, src, q + t, k + t, block, scales, to);
    for (int64_t t = 0; !block && t < d; t++) {
        const double x = value(&p->q, q + t) * value(&src->k, k + t);

        to->sum += x;
        to->size += fabs(x);
    }
}

double cf_product_flushed(const struct problem *p, const struct source_data *src, int64_t q,
                          int64_t k)
{
    double lost = 0;

    for (int64_t t = 0; t < p->d; t++) {
        const double a = fabs(value(&p->q, q + t)), b = fabs(value(&src->k, k + t));

        lost += (a < 0x1p-126 || b < 0x1p-126 ? a * b : 0) + 0x1p-126;
    }
    return lost;
}
