/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * May a processor's unit for pairs of bf16 be used? As selftest_matrix.c has it, but threads trade
 * nothing there, and subnormals may be flushed (docs/numerics.md section 11).
 */
#define HK_VECTORS 0
#include "../kernels/selftest/selftest_matrix.h"

#include "../kernels/attn/blob.h"
#include "host.h"
#include "selftest_unit.h"

#include <fenv.h>
#include <string.h>

/* Scores begin with nothing. */
static int is_allowed(uint32_t set, const struct hk_unit_input *in,
                      const struct hk_unit_output *got)
{
    static const struct heed_unit_shape whole = { HK_UNIT_SIDE, HK_UNIT_SIDE };
    struct hk_unit_input bare = *in;

    if (heed_unit_kind_of(set) == HEED_UNIT_WEIGHTS)
        return heed_unit_weights_right(HEED_BF16, whole, in, got->weighed);
    memset(bare.c, 0, sizeof(bare.c));
    return heed_unit_sums_allowed(HEED_BF16, whole, set, in, got->sum) &&
           heed_unit_sums_allowed(HEED_BF16, whole, set, &bare, got->top);
}

const char *heed_host_halves_test(heed_host_kernel *halves_test)
{
    struct {
        struct hk_plan plan;
        struct hk_unit_input in;
    } blob = { .plan = { .n_sources = 0 } };
    struct hk_unit_output got;
    char *buffers[HEED_BUFFERS_LARGE] = { [1] = (char *)&got };
    const char *reason = "";
    uint32_t random = 0;
    fenv_t caller;

    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    for (uint32_t set = 0; set < HEED_UNIT_SETS && reason[0] == '\0'; set++) {
        const enum heed_unit_kind kind = heed_unit_kind_of(set);

        heed_unit_input(HEED_BF16, set, &random, &blob.in);
        if (kind == HEED_UNIT_SUBNORMAL || kind == HEED_UNIT_TRADE)
            continue;
        halves_test((const char *)&blob, buffers, 0);
        if (!is_allowed(set, &blob.in, &got))
            reason = heed_unit_reason(set);
    }
    fesetenv(&caller);
    return reason;
}
