/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Few rows beside keys of f16, whose bits processors take as they are: the words of the reference
 * where keys are subnormal, infinite or NaN, and where queries are too large for that.
 */
#include "support/numbers.h"
#include "support/opened.h"

#include <heed/attn.h>

#include <math.h>
#include <string.h>

enum { ROWS = 4, KEYS = 200, D = 64, D_V = 32, ODD = 133 };

static const char *const devices[] = { "cpu:scalar", "cpu:avx2", "cpu:avx512", "cpu" };

static float q[ROWS * D];
static uint16_t k[KEYS * D], v[KEYS * D_V];
static float got[ROWS * D_V], want[ROWS * D_V];

/* Halves of exponents 5 to 24, or subnormal ones. */
static void halves_fill(uint16_t *to, size_t n, bool subnormal)
{
    uint32_t state = 7;

    for (size_t i = 0; i < n; i++) {
        const unsigned exponent = subnormal ? 0 : 5 + (state >> 9) % 20;

        state = state * 1664525 + 1013904223;
        to[i] = (uint16_t)((state >> 16 & 0x8000) | exponent << 10 | (state >> 20 & 1023));
    }
}

/* key: of row ODD, in place of one of its numbers; 0: none. query: likewise, of the first row. */
struct contents {
    bool subnormal;
    uint16_t key;
    float query;
};

static void attend(int rows, float *o)
{
    const heed_kv_bufs kv = { { .handle = k }, { .handle = v } };
    const heed_term term = { .kind = HEED_TERM_ALL };
    const heed_source source = {
        .k = heed_array4(HEED_F16, NULL, 1, 1, KEYS, D).t,
        .v = heed_array4(HEED_F16, NULL, 1, 1, KEYS, D_V).t,
        .terms = &term,
        .n_terms = 1,
        .term_size = sizeof term,
        .bias_size = sizeof(heed_bias),
    };
    const heed_attn_desc desc = {
        .size = sizeof desc,
        .flags = HEED_ATTN_ALIGN_END | HEED_PLAN_OWN_WORKSPACE,
        .sources = &source,
        .n_sources = 1,
        .source_size = sizeof source,
        .q = heed_array4(HEED_F32, NULL, 1, rows, 1, D).t,
        .o = heed_array4(HEED_F32, NULL, 1, rows, 1, D_V).t,
    };
    const heed_attn_args args = {
        .size = sizeof args, .kv_size = sizeof kv, .q.handle = q, .o.handle = o, .kv = &kv
    };
    heed_report why = { .size = sizeof why };
    heed_plan *plan = NULL;

    ck_assert_msg(heed_attn_plan(on.device, &desc, &plan, &why) == HEED_OK, "%s: %s", why.field,
                  why.message);
    ck_assert_msg(heed_attn_run(plan, on.queue, &args, NULL, &why) == HEED_OK, "%s: %s", why.field,
                  why.message);
    heed_plan_drop(plan);
}

static const struct contents all[] = {
    { false, 0, 0 },      { true, 0, 0 },      { false, 0x7c00, 0 },    { false, 0xfc00, 0 },
    { false, 0x7e01, 0 }, { false, 0, 65504 }, { false, 0, 65536 },     { true, 0, -1e30f },
    { true, 0, INFINITY }, { true, 0, NAN },   { false, 0x7c00, -3e38f }, { true, 0, 0x1p-149f },
};

LOOP_TEST(halves_as_they_are, sizeof all / sizeof *all)
{
    const struct contents *contents = &all[_i];

    numbers_fill(q, sizeof q / sizeof *q, 3);
    halves_fill(k, sizeof k / sizeof *k, contents->subnormal);
    halves_fill(v, sizeof v / sizeof *v, false);
    if (contents->key)
        k[ODD * D + 5] = contents->key;
    if (contents->query != 0)
        q[17] = contents->query;
    for (int rows = 1; rows <= ROWS; rows++) {
        device_open("reference");
        attend(rows, want);
        device_close();
        for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
            if (!device_try(devices[d]))
                continue;
            memset(got, 0x55, sizeof got);
            attend(rows, got);
            device_close();
            ck_assert_mem_eq(got, want, (size_t)rows * D_V * sizeof *want);
        }
    }
}

int main(void)
{
    return suite_run("few", 0, NULL, NULL);
}
