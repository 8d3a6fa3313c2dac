/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Buckets of relative distances, as maps of TABLE biases take them (Raffel et al. 2020, section
 * 2.1). Logarithms are compared as powers, so that no result hangs on a library's logarithm.
 */
#include "build.h"

#include "../core/error.h"

struct buckets {
    int64_t half, exact, most;  /* of one direction; buckets of one distance each; last distance */
};

static double power(double x, int64_t n)
{
    double y = 1;

    while (n-- > 0)
        y *= x;
    return y;
}

/* exact + the largest k with (most / exact)^k <= (x / exact)^(half - exact). Neither power is above
 * (2^15 / 64)^64 = 2^576. */
static int64_t bucket_of(const struct buckets *g, int64_t x)
{
    const double near = 1 + 1e-9, e = (double)g->exact;
    const int64_t steps = g->half - g->exact;
    int64_t k = 0;

    if (x < g->exact)
        return x;
    if (x >= g->most)
        return g->half - 1;
    while (k + 1 < steps &&
           power((double)g->most / e, k + 1) <= power((double)x / e, steps) * near)
        k++;
    return g->exact + k;
}

heed_status heed_map_t5(int32_t *map, int64_t entries, int64_t zero, int64_t buckets, int64_t most,
                        uint32_t flags, heed_report *report)
{
    const struct heed_builder b = { .report = report };
    const bool causal = (flags & HEED_MAP_CAUSAL) != 0;
    struct buckets g;
    heed_status status = heed_builder_within(&b, "entries", entries, 0, INT32_MAX);

    if (status >= 0)
        status = heed_builder_within(&b, "zero", zero, 0, INT32_MAX);
    if (status >= 0)
        status = heed_builder_within(&b, "buckets", buckets, 0, 128);
    if (buckets == 0)
        buckets = 32;
    g = (struct buckets){ .half = causal ? buckets : buckets / 2, .most = most ? most : 128 };
    g.exact = g.half / 2;
    if (status >= 0 && (buckets < 4 || buckets % 2 != 0))
        status = heed_report_fill(report, HEED_E_VALUE, "buckets", 4, buckets,
                                  "%lld buckets: an even number from 4 to 128 is wanted",
                                  (long long)buckets);
    if (status >= 0)
        status = heed_builder_within(&b, "most", g.most, g.exact + 1, 1 << 15);
    if (status < 0)
        return status;
    if (flags & ~(uint32_t)HEED_MAP_CAUSAL)
        return heed_report_fill(report, HEED_E_FLAG, "flags", HEED_MAP_CAUSAL, flags,
                                "an unknown flag");
    if (!map)
        return heed_report_fill(report, HEED_E_NULL, "map", 0, 0, "there is nothing to fill");
    for (int64_t i = 0; i < entries; i++) {
        const int64_t delta = i - zero;

        if (causal)
            map[i] = (int32_t)(delta > 0 ? 0 : bucket_of(&g, -delta));
        else
            map[i] = (int32_t)(delta > 0 ? g.half + bucket_of(&g, delta) : bucket_of(&g, -delta));
    }
    return heed_report_ok(report);
}
