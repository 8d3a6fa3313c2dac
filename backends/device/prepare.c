/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Attention on a device that runs kernels: which kernels a plan takes, one to four.
 */
#include "../kernels/dialect/mma.h"
#include "blob.h"
#include "impls.h"
#include "tune.h"

#include <assert.h>

static bool is_plain(const struct heed_plan *plan)
{
    for (uint32_t s = 0; s < heed_attn_of(plan)->n_sources; s++) {
        if (heed_attn_of(plan)->sources[s].n_biases > 0)
            return false;
    }
    return !heed_lowered_of(plan)->capped;
}

/* Do rows begin from states or end as such? */
static bool has_states(const struct heed_checked *attn)
{
    return attn->stops || attn->state_in.dtype != 0;
}

/* Work-groups have kernels of their own for rows of these types alone. */
enum { KV_TYPES = HEED_BF16 + 1 };

/* The storage type of all K and V, if there are kernels of its own, else 0: they differ, or it is
 * asked at run time. */
static uint32_t kv_dtype(const struct heed_plan *plan)
{
    uint32_t dtype = 0;

    for (uint32_t s = 0; s < heed_attn_of(plan)->n_sources; s++) {
        const struct heed_checked_source *source = &heed_attn_of(plan)->sources[s];

        if (source->k.dtype != source->v.dtype || source->k.dtype >= KV_TYPES ||
            (dtype != 0 && source->k.dtype != dtype))
            return 0;
        dtype = source->k.dtype;
    }
    return dtype;
}

/* The kernel for few rows of one type with scales, if there is one. */
static enum heed_kernel few_scaled(const struct heed_plan *plan)
{
    enum heed_kernel kernel = HEED_KERNEL_workgroup_few_scaled_any;

    for (uint32_t s = 0; s < heed_attn_of(plan)->n_sources; s++) {
        const struct heed_checked_source *source = &heed_attn_of(plan)->sources[s];
        const enum heed_kernel its = source->k.dtype != source->v.dtype
                                         ? HEED_KERNEL_workgroup_few_scaled_any
                                     : source->k.dtype == HEED_I8   ? HEED_KERNEL_workgroup_few_i8
                                     : source->k.dtype == HEED_Q8_0 ? HEED_KERNEL_workgroup_few_q8
                                     : source->k.dtype == HEED_Q4_0
                                         ? HEED_KERNEL_workgroup_few_q4
                                         : HEED_KERNEL_workgroup_few_scaled_any;

        if (s > 0 && its != kernel)
            return HEED_KERNEL_workgroup_few_scaled_any;
        kernel = its;
    }
    return kernel;
}

bool heed_plan_one_range(const struct heed_plan *plan)
{
    const struct heed_lowered *lowered = heed_lowered_of(plan);

    if (lowered->row_step > 1 || lowered->group > 0)
        return false;
    for (uint32_t s = 0; s < heed_attn_of(plan)->n_sources; s++) {
        const struct heed_lowered_source *source = &lowered->sources[s];

        const struct heed_checked_source *from = &heed_attn_of(plan)->sources[s];

        if (source->keys || source->rows || source->rows_first_n > 0 || from->mask.slot ||
            from->row_mask.slot)
            return false;
        for (uint32_t i = source->first; i < source->first + source->n; i++) {
            const struct hk_sub *sub = &lowered->subs[i];

            if ((sub->kind != HK_SUB_KEYS && sub->kind != HK_SUB_FIRST_N) || sub->n_ranges > 1 ||
                (sub->n_ranges == 1 && sub->range[0].kind == HK_RANGE_PAIRS))
                return false;
        }
    }
    return true;
}

static bool has_unit(const struct heed_plan *plan, enum heed_kernel row)
{
    const struct heed_device_state *state = plan->device->state;

    return state->driver->has_unit == NULL || state->driver->has_unit(plan->device, row);
}

/* May a unit that sums in an order of its own form this plan's products? Only where other bits
 * than those of EXACT are asked for (docs/numerics.md section 11); of halves, all of one type. BEST
 * is no such wish as long as one unit alone was measured. */
static bool takes_matrix(const struct heed_plan *plan, const struct heed_device_traits *traits,
                         uint32_t dtype)
{
    const struct heed_checked *attn = heed_attn_of(plan);

    return traits->mma != 0 && plan->numerics == HEED_NUMERICS_FAST &&
           (dtype == HEED_F16 || dtype == HEED_BF16) && attn->q.dtype == dtype &&
           attn->d <= heed_group_width(attn, traits);
}

/* Is K of every block that is looked at in panels, packed beforehand or in a worker's ring? */
static bool is_packed(const struct heed_plan *plan, const struct hk_source *sources)
{
    const struct heed_lowered *lowered = heed_lowered_of(plan);

    for (uint32_t s = 0; s < heed_attn_of(plan)->n_sources; s++) {
        const struct heed_lowered_source *source = &lowered->sources[s];

        if (!sources[s].packs && sources[s].ring == 0)
            return false;
        for (uint32_t i = source->first; i < source->first + source->n; i++) {
            const uint32_t kind = lowered->subs[i].kind;

            if (kind != HK_SUB_KEYS && kind != HK_SUB_FIRST_N)  /* hk_block_aligned */
                return false;
        }
    }
    return true;
}

/* Without channels rows have no scales, whatever their type, but kernels for numbers know no other
 * type. */
static bool is_scaled(uint32_t dtype, const struct hk_scaling *scaling)
{
    return scaling->group > 0 || !HK_IS_NUMBER(dtype);
}

static bool has_scales(const struct heed_plan *plan, const struct hk_source *sources)
{
    for (uint32_t s = 0; s < heed_attn_of(plan)->n_sources; s++) {
        const struct heed_checked_source *from = &heed_attn_of(plan)->sources[s];

        if (is_scaled(from->k.dtype, &sources[s].k_scaling) ||
            is_scaled(from->v.dtype, &sources[s].v_scaling))
            return true;
    }
    return false;
}

/* Of processors. Those whose kernels are compiled when a plan needs them have smaller ones. */
static enum heed_kernel lanes_choose(const struct heed_plan *plan, const struct hk_source *sources,
                                     bool late, bool plain)
{
    static const enum heed_kernel kernels[2][2][2] = {      /* scales, packed, plain */
        { { HEED_KERNEL_opencl_any, HEED_KERNEL_opencl_plain },
          { HEED_KERNEL_opencl_packed_any, HEED_KERNEL_opencl_packed_plain } },
        { { HEED_KERNEL_lanes_any, HEED_KERNEL_lanes_plain },
          { HEED_KERNEL_opencl_scaled_any, HEED_KERNEL_opencl_scaled_plain } },
    };

    return kernels[!late || has_scales(plan, sources)][late && is_packed(plan, sources)][plain];
}

bool heed_source_listed(const struct heed_plan *plan, uint32_t s)
{
    const struct heed_lowered_source *source = &heed_lowered_of(plan)->sources[s];

    return source->n == 1 && heed_lowered_of(plan)->subs[source->first].kind == HK_SUB_GATHER;
}

bool heed_plan_halves(const struct heed_plan *plan, const struct heed_device_traits *traits)
{
    const struct heed_checked *attn = heed_attn_of(plan);

    if (!traits->halves || plan->numerics != HEED_NUMERICS_FAST || has_states(attn) ||
        attn->q.dtype != HEED_BF16 || kv_dtype(plan) != HEED_BF16 ||
        (double)attn->n_q * (double)heed_lowered_of(plan)->stack < HEED_TUNE_HALVES_LEAST)
        return false;
    for (uint32_t s = 0; s < attn->n_sources; s++) {
        const struct heed_checked_source *source = &attn->sources[s];

        if (heed_source_listed(plan, s) || source->k_scale.slot || source->v_scale.slot)
            return false;
        for (uint32_t i = 0; i < source->n_biases; i++) {
            if (source->biases[i].in_score)
                return false;
        }
    }
    return true;
}

bool heed_group_lists(const struct heed_plan *plan, const struct heed_device_traits *traits)
{
    const struct heed_lowered *lowered = heed_lowered_of(plan);

    if (traits->shape != HEED_SHAPE_WORKGROUP || heed_group_few(plan, traits) ||
        lowered->group == 0 || lowered->group > HEED_TUNE_LIST_ROWS || lowered->row_step > 1 ||
        !is_plain(plan) || has_states(heed_attn_of(plan)))
        return false;
    for (uint32_t s = 0; s < heed_attn_of(plan)->n_sources; s++) {
        const struct heed_checked_source *from = &heed_attn_of(plan)->sources[s];

        if (!HK_IS_NUMBER(from->k.dtype) || !HK_IS_NUMBER(from->v.dtype) ||
            from->k_scale.slot || from->v_scale.slot)
            return false;
        if (heed_source_listed(plan, s) &&
            (from->row_mask.slot || from->n_k > INT32_MAX ||
             lowered->sources[s].items == HEED_ITEMS_PAGES))
            return false;
    }
    return true;
}

static enum heed_kernel attend_choose(const struct heed_plan *plan,
                                      const struct hk_source *sources,
                                      const struct heed_device_traits *traits, uint32_t large)
{
    static const enum heed_kernel workgroup[2][KV_TYPES] = {
        { HEED_KERNEL_workgroup_64_ranges, HEED_KERNEL_workgroup_64_f32,
          HEED_KERNEL_workgroup_64_f16, HEED_KERNEL_workgroup_64_bf16 },
        { HEED_KERNEL_workgroup_128_ranges, HEED_KERNEL_workgroup_128_f32,
          HEED_KERNEL_workgroup_128_f16, HEED_KERNEL_workgroup_128_bf16 },
    };
    static const enum heed_kernel few[KV_TYPES] = {
        HEED_KERNEL_workgroup_few_any, HEED_KERNEL_workgroup_few_f32,
        HEED_KERNEL_workgroup_few_f16, HEED_KERNEL_workgroup_few_bf16,
    };
    static const enum heed_kernel matrix[2][2] = {
        { HEED_KERNEL_matrix_64_f16, HEED_KERNEL_matrix_64_bf16 },
        { HEED_KERNEL_matrix_128_f16, HEED_KERNEL_matrix_128_bf16 },
    };
    const bool plain = is_plain(plan),
               one_range = !large && heed_plan_one_range(plan),
               wide = heed_group_width(heed_attn_of(plan), traits) > 64;
    const uint32_t dtype = kv_dtype(plan);

    assert(dtype < KV_TYPES);
    if (heed_plan_halves(plan, traits))
        return plain ? HEED_KERNEL_halves_plain : HEED_KERNEL_halves_any;
    if (traits->shape == HEED_SHAPE_LANES)
        return lanes_choose(plan, sources, traits->late, plain);
    if (heed_group_few(plan, traits) && has_scales(plan, sources))
        return plain && one_range ? few_scaled(plan) : HEED_KERNEL_workgroup_few_scaled_any;
    if (heed_group_few(plan, traits))
        return few[plain && one_range ? dtype : 0];
    if (has_scales(plan, sources))
        return wide ? HEED_KERNEL_workgroup_128_scaled_any : HEED_KERNEL_workgroup_64_scaled_any;
    if (!plain || has_states(heed_attn_of(plan)))
        return wide ? HEED_KERNEL_workgroup_128_any : HEED_KERNEL_workgroup_64_any;
    if (!one_range)
        return workgroup[wide][0];
    if (takes_matrix(plan, traits, dtype) && has_unit(plan, matrix[wide][dtype == HEED_BF16]))
        return matrix[wide][dtype == HEED_BF16];
    return workgroup[wide][dtype];
}

/* Threads of a group that attends. */
static uint32_t attend_threads(const struct heed_plan *plan, enum heed_kernel kernel,
                               const struct heed_device_traits *traits)
{
    if (traits->shape == HEED_SHAPE_LANES)
        return 1;
    if (heed_group_few(plan, traits))
        return HK_PART_THREADS;
    return heed_kernel_is_matrix(kernel) ? traits->group_rows * HK_MMA_SHARE(traits->mma)
                             : heed_group_threads(heed_attn_of(plan), traits);
}

uint32_t heed_plan_large(const struct heed_plan *plan, const struct heed_device_traits *traits)
{
    uint32_t large = traits->large | (plan->n_operands >= HEED_BUFFERS_SMALL);

    for (uint32_t s = 0; s < heed_attn_of(plan)->n_sources; s++)
        large |= heed_lowered_of(plan)->sources[s].n > HEED_SMALL_SUBS;
    return large;
}

/* Work-groups that attend: one for every strip or part of one. */
static uint64_t groups_count(const struct hk_plan *blob)
{
    const int64_t whole = blob->cut_tasks > 0 ? blob->tasks - blob->cut_tasks : 0;
    const int64_t cut = blob->cut_tasks > 0 ? blob->cut_tasks : blob->tasks;

    return (uint64_t)((cut * blob->parts + whole) * blob->passes);
}

static void launches_choose(struct heed_plan *plan, const struct hk_plan *blob,
                            const struct hk_source *sources, struct heed_device_plan *state)
{
    const enum heed_kernel attend = attend_choose(plan, sources, &state->device->traits,
                                                  state->large);
    const struct heed_device_traits *traits = &state->device->traits;
    const bool lanes = traits->shape == HEED_SHAPE_LANES;
    const struct heed_lowered *lowered = plan->params;
    bool lists = false;

    for (uint32_t s = 0; s < heed_attn_of(plan)->n_sources; s++)
        lists = lists || lowered->sources[s].keys || lowered->sources[s].rows ||
                sources[s].alike_at > 0;
    plan->loose = heed_kernel_is_loose(attend);
    plan->kernel = heed_kernel_rows[attend].name;
    if (blob->tasks == 0)
        return;
    if (lanes || lists)
        state->launches[state->n_launches++] = (struct heed_kernel_launch){
            .kernel = lanes ? HEED_KERNEL_prepare : HEED_KERNEL_workgroup_prepare,
            .threads = heed_kernel_threads(lanes ? HEED_KERNEL_prepare
                                                 : HEED_KERNEL_workgroup_prepare),
            .groups = lists ? (uint64_t)blob->n_batch * blob->n_sources : 1,
        };
    if (blob->kept_at > 0)
        state->launches[state->n_launches++] = (struct heed_kernel_launch){
            .kernel = HEED_KERNEL_workgroup_keep,
            .threads = 1,
            .groups = (uint64_t)(lowered->q_packed ? 1 : blob->n_batch) * (uint64_t)blob->heads *
                      ((uint64_t)heed_attn_of(plan)->o.shape[4] + HK_KEEP_ROWS - 1) / HK_KEEP_ROWS,
        };
    if (blob->pack_tasks > 0)
        state->launches[state->n_launches++] = (struct heed_kernel_launch){
            .kernel = HEED_KERNEL_lanes_pack,
            .threads = 1,
            .groups = blob->workers,
        };
    state->launches[state->n_launches++] = (struct heed_kernel_launch){
        .kernel = attend,
        .threads = attend_threads(plan, attend, traits),
        .groups = lanes ? blob->workers : groups_count(blob),
    };
    assert(blob->parts == 1 || blob->pack_tasks == 0);      /* both count with one counter */
    assert(blob->items == 1 || (blob->batch_strips == 1 && blob->list_tasks == 0));
    if (blob->chunk_bytes > 0 && !lanes)
        state->launches[state->n_launches++] = (struct heed_kernel_launch){
            .kernel = blob->cut_tasks > 0 ? HEED_KERNEL_workgroup_cut_join
                                          : HEED_KERNEL_workgroup_few_join,
            .threads = HK_PART_THREADS,
            .groups = (uint64_t)(blob->cut_tasks > 0
                                     ? blob->cut_tasks * HK_CUT_TASKS(traits->group_rows) *
                                           HK_PART_ROWS
                                     : blob->tasks * hk_part_rows(blob)),
        };
    else if (blob->parts > 1)
        state->launches[state->n_launches++] = (struct heed_kernel_launch){
            .kernel = blob->halves ? HEED_KERNEL_halves_join : HEED_KERNEL_lanes_join,
            .threads = 1,
            .groups = blob->workers,
        };
}

/* Everything that prepare would lay out, without the memory for it. */
static bool accepts(const struct heed_plan *plan, const struct heed_services *services,
                    struct heed_refusal *why)
{
    const struct heed_device_state *device = plan->device->state;
    struct hk_source sources[HEED_MAX_SOURCES];
    struct hk_plan to;
    uint64_t workspace;

    (void)services;
    if (heed_blob_plan(plan, &device->traits, &to, sources, &workspace))
        return true;
    why->reason = "its strips or its workspace are more than the device can number";
    return false;
}

static heed_status fill(struct heed_plan *plan, const struct heed_services *services,
                        struct heed_device_plan *state, struct heed_blob *blob,
                        struct heed_error_detail *detail)
{
    struct hk_source sources[HEED_MAX_SOURCES];
    struct hk_plan to;
    bool ok;

    (void)detail;
    ok = heed_blob_plan(plan, &state->device->traits, &to, sources, &plan->workspace_size);
    assert(ok);                     /* accepts has asked */
    if (!ok)
        return HEED_E_INTERNAL;
    if (!heed_frame_blob(services, heed_blob_size(plan, &to), blob))
        return HEED_E_NOMEM;
    heed_blob_write(plan, &to, sources, blob->data);
    state->large = heed_plan_large(plan, &state->device->traits);
    launches_choose(plan, &to, sources, state);
    return HEED_OK;
}

static heed_status prepare(struct heed_plan *plan, const struct heed_services *services,
                           struct heed_error_detail *detail)
{
    return heed_frame_prepare(plan, services, fill, detail);
}

const struct heed_impl heed_attend_impl = {
    .op = HEED_OP_ATTN,
    .name = "attend-kernel",
    .accepts = accepts,
    .prepare = prepare,
    .run = heed_frame_run,
    .release = heed_frame_release,
};
