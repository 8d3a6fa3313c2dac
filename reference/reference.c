/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The reference as a device: scalar, one thread, one query row at a time, written from the
 * definition (docs/numerics.md section 4, heed/attn.h). It reads the checked descriptor alone and
 * is what every other backend is compared with, bit for bit.
 */
#include "row.h"

#include <fenv.h>
#include <string.h>

static uint32_t count(void)
{
    return 1;
}

static void describe(uint32_t index, heed_device_props *props)
{
    static const char name[] = "reference";
    static const char description[] = "scalar reference, written from the definition of the bits";

    (void)index;
    props->kind = HEED_DEVICE_REFERENCE;
    props->width = 1;
    props->exact = 1;
    props->usable = HEED_OK;
    props->memory = 0;
    memcpy(props->name, name, sizeof(name));
    memcpy(props->description, description, sizeof(description));
    props->reason[0] = '\0';
}

static heed_status bind(struct heed_plan *plan, const struct heed_services *services,
                        struct heed_error_detail *detail)
{
    const uint64_t floats = HEED_REF_ROW_SCRATCH * (uint64_t)plan->attn->d_v;

    (void)services;
    (void)detail;
    if (floats > INT64_MAX / sizeof(float))
        return HEED_E_OVERFLOW;
    plan->state = NULL;
    plan->workspace_size = floats * sizeof(float);
    plan->workspace_align = _Alignof(float);
    return HEED_OK;
}

/* DENSE: every row is written. RAGGED: the item's rows are, nothing else of the packed tensor. */
static void item_run(const struct heed_checked *attn, const struct heed_bound *bound, int64_t item,
                     const struct heed_ref_constants *constants)
{
    struct heed_ref_row row;
    int64_t rows;

    heed_ref_row_start(&row, attn, bound, item);
    rows = attn->q_layout == HEED_LAYOUT_RAGGED ? row.q_length : attn->n_q;
    for (int64_t head = 0; head < attn->heads; head++) {
        for (int64_t index = 0; index < rows; index++) {
            heed_ref_row_set(&row, head, index);
            if (index < row.q_length)
                heed_ref_row_run(&row, constants, bound->workspace);
            else
                heed_ref_row_empty(&row);
        }
    }
}

/* Any FP environment of the caller gives the same bits and is found again as it was, exception
 * flags included. The default environment rounds to nearest, keeps subnormals and traps nothing. */
static heed_status run(const struct heed_plan *plan, const struct heed_services *services,
                       const struct heed_bound *bound)
{
    struct heed_ref_constants constants;
    fenv_t caller;

    (void)services;
    if (fegetenv(&caller) != 0 || fesetenv(FE_DFL_ENV) != 0)
        return HEED_E_INTERNAL;
    constants = heed_ref_constants_of(plan->attn);
    for (int64_t item = 0; item < plan->attn->n_batch; item++)
        item_run(plan->attn, bound, item, &constants);
    return fesetenv(&caller) == 0 ? HEED_OK : HEED_E_INTERNAL;
}

static const struct heed_impl scalar = {
    .name = "scalar",
    .bind = bind,
    .run = run,
};

static const struct heed_impl *const impls[] = { &scalar, NULL };

extern const struct heed_backend heed_reference_backend;

const struct heed_backend heed_reference_backend = {
    .size = sizeof(struct heed_backend),
    .kind = HEED_DEVICE_REFERENCE,
    .host = 1,
    .lowered = 0,
    .count = count,
    .describe = describe,
    .impls = impls,
};
