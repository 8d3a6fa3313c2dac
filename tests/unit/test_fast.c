/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Who gets matrix units (docs/numerics.md section 11): on every device of the host, FAST on
 * models of units, and nobody else.
 */
#include "support/suite.h"

#include "heed/attn.h"

#include <stdbool.h>
#include <string.h>

enum { ROWS = 80, KEYS = 70, D = 80 };

struct asked {
    uint32_t numerics, q, kv;
    int64_t d;
    bool unit;                  /* goes through a unit where there is one */
};

static const struct asked asked[] = {
    { HEED_NUMERICS_FAST, HEED_F16, HEED_F16, D, true },
    { HEED_NUMERICS_FAST, HEED_BF16, HEED_BF16, D, true },
    { HEED_NUMERICS_BEST, HEED_BF16, HEED_BF16, D, false },
    { HEED_NUMERICS_EXACT, HEED_F16, HEED_F16, D, false },
    { HEED_NUMERICS_REPEAT, HEED_BF16, HEED_BF16, D, false },
    { HEED_NUMERICS_FAST, HEED_F32, HEED_F32, D, false },
    { HEED_NUMERICS_FAST, HEED_F32, HEED_F16, D, false },
    { HEED_NUMERICS_FAST, HEED_F16, HEED_BF16, D, false },
    { HEED_NUMERICS_FAST, HEED_F16, HEED_F16, 130, false },
};
enum { ASKED = sizeof asked / sizeof asked[0] };

static heed_plan_props plan_of(heed_device *device, const struct asked *a)
{
    const heed_tensor k = heed_array4(a->kv, NULL, 1, 2, KEYS, a->d).t;
    const heed_source source = { .k = k, .v = k };
    const heed_tensor q = heed_array4(a->q, NULL, 1, 2, ROWS, a->d).t;
    const heed_attn_desc desc = { .size = sizeof desc, .numerics = a->numerics, .q = q,
                                  .o = heed_array4(HEED_F32, NULL, 1, 2, ROWS, a->d).t,
                                  .sources = &source, .n_sources = 1,
                                  .source_size = sizeof source };
    heed_plan_props props = { .size = sizeof props };
    heed_report why = { .size = sizeof why };
    heed_plan *plan = NULL;

    ck_assert_msg(heed_attn_plan(device, &desc, &plan, &why) >= 0, "%s: %s", why.field,
                  why.message);
    ck_assert_int_eq(heed_plan_info(plan, &props), HEED_OK);
    heed_plan_drop(plan);
    return props;
}

/* Is it a processor that multiplies pairs of bf16, or the model of one? "cpu" is what it says. */
static bool has_pairs(const heed_device_props *props)
{
    return strcmp(props->name, "emulate:halves") == 0 ||
           (strncmp(props->name, "cpu", 3) == 0 &&
            (strncmp(props->description, "amx ", 4) == 0 ||
             strncmp(props->description, "avx512bf16 ", 11) == 0));
}

/* May such a plan go through a unit? Beside those there are the models of matrix units. */
static bool has_unit(const heed_device_props *props, const struct asked *a)
{
    if (has_pairs(props))
        return a->q == HEED_BF16;
    return strncmp(props->name, "emulate:", 8) == 0 &&
           strcmp(props->name, "emulate:workgroup") != 0;
}

TEST(matrix_units_are_for_fast_alone)
{
    heed_runtime *runtime = NULL;
    uint32_t exact = 0;

    ck_assert_int_ge(heed_runtime_create(NULL, &runtime, NULL), 0);
    for (uint32_t i = 0; i < heed_device_count(runtime); i++) {
        heed_device *device = heed_device_get(runtime, i);
        heed_device_props props = { .size = sizeof props };

        ck_assert_int_eq(heed_device_info(device, &props), HEED_OK);
        if (props.kind != HEED_DEVICE_CPU || props.usable < 0 || !props.exact)
            continue;
        for (int n = 0; n < ASKED; n++) {
            const heed_plan_props plan = plan_of(device, &asked[n]);
            const bool unit = asked[n].unit && has_unit(&props, &asked[n]);
            const char *const row = has_pairs(&props) ? "halves_" : "matrix_";

            ck_assert_msg((strstr(plan.implementation, row) != NULL) == unit, "%s, %d: %s",
                          props.name, n, plan.implementation);
            ck_assert_uint_eq(plan.numerics, unit ? HEED_NUMERICS_FAST : HEED_NUMERICS_EXACT);
            exact += !unit;
        }
    }
    ck_assert_uint_gt(exact, 0);
    heed_runtime_destroy(runtime);
}

int main(void)
{
    return suite_run("fast", 0, NULL, NULL);
}
