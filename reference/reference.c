/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The reference as a device: scalar, one thread, one row at a time, written from the definition
 * (docs/numerics.md, the public headers). It reads the checked descriptor alone and is what every
 * other backend is compared with, bit for bit. Here is attention; the other operations have a file
 * each.
 */
#include "operations.h"
#include "row.h"
#include "softmax.h"

#include <assert.h>
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

/* Rows of more channels than `most` are in no memory: no run gets as far as its workspace. */
void heed_ref_accumulators_prepare(struct heed_plan *plan, int64_t d)
{
    const int64_t size = HEED_REF_SOFTMAX_SCRATCH * sizeof(float), most = INT64_MAX / size;

    plan->workspace_size = (uint64_t)(size * (d < most ? d : most));
    plan->workspace_align = _Alignof(float);
}

static heed_status prepare(struct heed_plan *plan, const struct heed_services *services,
                           struct heed_error_detail *detail)
{
    const struct heed_checked *attn = plan->checked;

    (void)services;
    (void)detail;
    heed_ref_accumulators_prepare(plan,
                                  attn->n_batch * attn->heads * attn->n_q > 0 ? attn->d_v : 0);
    return HEED_OK;
}

/* DENSE: every row is written. RAGGED: the item's rows are, nothing else of the packed tensor. */
static void item_run(const struct heed_checked *attn, const struct heed_launch *launch,
                     int64_t item, const struct heed_ref_constants *constants)
{
    struct heed_ref_row row;
    int64_t rows;

    heed_ref_row_start(&row, attn, launch, item);
    rows = attn->q_layout == HEED_LAYOUT_RAGGED ? row.q_length : attn->n_q;
    for (int64_t head = 0; head < attn->heads; head++) {
        for (int64_t index = 0; index < rows; index++) {
            heed_ref_row_set(&row, head, index);
            heed_ref_row_run(&row, constants, heed_address(launch->workspace));
        }
    }
}

static void compute(const struct heed_plan *plan, const struct heed_launch *launch)
{
    const struct heed_checked *attn = heed_attn_of(plan);
    struct heed_ref_constants constants = heed_ref_constants_of(attn);

    assert(plan->n_operands == heed_attn_slot(attn, attn->n_slots + 1));
    for (int64_t item = 0; item < attn->n_batch; item++)
        item_run(attn, launch, item, &constants);
}

/* Any FP environment of the caller gives the same bits and is found again as it was, exception
 * flags included. The default environment rounds to nearest, keeps subnormals and traps nothing. */
heed_status heed_ref_compute(void (*body)(const struct heed_plan *, const struct heed_launch *),
                             const struct heed_plan *plan, const struct heed_launch *launch)
{
    fenv_t caller;

    assert(plan->workspace_size == 0 || launch->workspace.handle != NULL);
    if (fegetenv(&caller) != 0 || fesetenv(FE_DFL_ENV) != 0)
        return HEED_E_INTERNAL;
    body(plan, launch);
    return fesetenv(&caller) == 0 ? HEED_OK : HEED_E_INTERNAL;
}

heed_status heed_ref_prepare_nothing(struct heed_plan *plan, const struct heed_services *services,
                                     struct heed_error_detail *detail)
{
    (void)services;
    (void)detail;
    plan->workspace_size = 0;
    plan->workspace_align = 1;
    return HEED_OK;
}

static heed_status run(const struct heed_plan *plan, const struct heed_services *services,
                       const struct heed_launch *launch)
{
    (void)services;
    return heed_ref_compute(compute, plan, launch);
}

static const struct heed_impl scalar = {
    .op = HEED_OP_ATTN,
    .name = "scalar",
    .prepare = prepare,
    .run = run,
};

#define IMPL(name) &heed_ref_##name,

static const struct heed_impl *const impls[] = { &scalar, HEED_REF_OPERATIONS(IMPL) NULL };

extern const struct heed_backend heed_reference_backend;

const struct heed_backend heed_reference_backend = {
    .size = sizeof(struct heed_backend),
    .kind = HEED_DEVICE_REFERENCE,
    .host = 1,
    .count = count,
    .describe = describe,
    .impls = impls,
};
