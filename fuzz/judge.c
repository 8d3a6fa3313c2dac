/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Outputs against the oracle of the conformance kit, which makes a problem of the descriptor.
 */
#include "fuzz.h"
#include "produce.h"

#include <math.h>
#include <string.h>

/* Scales that binary32 holds well: what others round to is not the oracle's matter. */
static bool is_plain(const heed_attn_desc *d)
{
    const double s = fabs(d->scale);

    return (s == 0 || (s > 1e-3 && s < 1e3)) &&
           (d->softcap == 0 || (d->softcap > 1e-2 && d->softcap < 1e3));
}

static bool is_small(const struct problem *p)
{
    int64_t keys = 1;

    for (int s = 0; s < p->n_sources; s++)
        keys += p->source[s].total;
    return (double)p->n_items * (double)p->heads * (double)p->n_q * (double)keys < 1 << 20;
}

void fuzz_judge(const heed_attn_desc *desc, const heed_attn_args *args, const uint8_t *o,
                const uint8_t *lse)
{
    struct call ran;
    struct problem *p = is_plain(desc) ? cf_problem_of(desc, args, &ran) : NULL;
    struct verdict v = { .failed = false };

    if (!p)
        return;
    memcpy(ran.out.data, o, (size_t)cf_array_count(&ran.out) * cf_dtype_size(ran.out.dtype));
    if (ran.has_lse)
        memcpy(ran.out_lse.data, lse, (size_t)cf_array_count(&ran.out_lse) * sizeof(float));
    if (is_small(p))
        cf_judge_bound(p, &ran, &v);
    FUZZ_REQUIRE(!v.failed, "%s", v.why);
    job_finish(&ran.job);
    cf_problem_free(p);
}
