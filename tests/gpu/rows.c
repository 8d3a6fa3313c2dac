/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which kernels plans of attention ask a CUDA device for: a line `row;large` on standard output for
 * each, of plans of all kinds, types and numbers of sources.
 */
#include "planning.h"

enum { MANY = 15 };                     /* sources: more operands than small kernels have */

struct kind {
    const char *name;
    bool masked, capped, global, listed, fast, scaled;
    bool begins, ends;                  /* from a state, with a state */
};

static const struct kind kinds[] = {
    { .name = "one range" },
    { .name = "ranges", .masked = true },
    { .name = "cap", .capped = true },
    { .name = "global rows", .global = true },
    { .name = "global rows of a list", .global = true, .listed = true },
    { .name = "matrix unit", .fast = true },
    { .name = "scales", .scaled = true },
    { .name = "goes on", .begins = true },
    { .name = "goes on, with a mask", .begins = true, .masked = true },
    { .name = "leaves a state", .ends = true },
    { .name = "goes on and leaves a state", .begins = true, .ends = true },
};
static bool seen[HEED_KERNELS][2];
static heed_report why = { .size = sizeof(why) };

static void see(enum heed_kernel row, uint32_t large)
{
    seen[row][large != 0] = true;
}

/* May refuse: not every type has scales, nor K and V of every two. */
static void plan_once(heed_device *device, const struct kind *of, int sources, uint32_t k,
                      uint32_t v, int64_t n, int64_t d)
{
    const int64_t heads = 8, keys = 4096;
    const heed_term terms[] = {
        { .kind = HEED_TERM_WINDOW, .left = 64, .right = 64 },
        { .kind = HEED_TERM_GLOBAL, .flags = HEED_TERM_ROWS | HEED_TERM_KEYS,
          .block = of->listed ? 0 : 1, .slot = of->listed ? 3 : 0 },
    };
    const heed_slot slots[] = {
        { .t = { HEED_U8, 2, { 1, keys }, { keys, 1 } } },
        { .t = { HEED_F32, 3, { 1, heads, keys }, { heads * keys, keys, 1 } } },
        { .t = { HEED_I32, 2, { 1, 2 }, { 2, 1 } } },
    };
    const heed_source one = {
        .k = heed_array4(k, NULL, 1, heads, keys, d).t,
        .v = heed_array4(v, NULL, 1, heads, keys, d).t,
        .terms = terms,
        .n_terms = of->global ? 2 : 0,
        .term_size = sizeof(terms[0]),
        .mask_slot = of->masked ? 1 : 0,
        .k_scale_slot = of->scaled ? 2 : 0,
        .v_scale_slot = of->scaled ? 2 : 0,
    };
    const uint32_t q = of->fast ? k : (uint32_t)HEED_F32;
    const heed_tensor state = heed_array4(HEED_F32, NULL, 1, heads, n, HEED_STATE_SUMS + d).t;
    heed_source all[MANY];
    heed_attn_desc desc = {
        .size = sizeof(desc),
        .flags = HEED_ATTN_ALIGN_START,
        .q = heed_array4(q, NULL, 1, heads, n, d).t,
        .sources = all,
        .n_sources = (uint32_t)sources,
        .source_size = sizeof(all[0]),
        .slots = slots,
        .n_slots = 3,
        .slot_size = sizeof(slots[0]),
        .softcap = of->capped ? 30 : 0,
        .numerics = of->fast ? HEED_NUMERICS_FAST : HEED_NUMERICS_EXACT,
    };
    heed_plan *plan = NULL;

    if (of->ends)
        desc.state_out = state;
    else
        desc.o = heed_array4(q, NULL, 1, heads, n, d).t;
    if (of->begins)
        desc.state_in = state;
    for (int i = 0; i < sources; i++)
        all[i] = one;
    if (heed_attn_plan(device, &desc, &plan, &why) >= 0)
        heed_plan_drop(plan);
}

static void plan_all(heed_device *device, const struct kind *of, int sources)
{
    static const int64_t rows[] = { 1, 8192 }, channels[] = { 64, 128, 256 };
    static const uint32_t types[] = { HEED_F32, HEED_F16, HEED_BF16, HEED_F8E4M3, HEED_I8, HEED_I4,
                                      HEED_Q8_0, HEED_Q4_0, HEED_Q4_1 };
    const int n = sizeof(types) / sizeof(types[0]);

    for (int i = 0; i < 6 * n; i++) {
        const uint32_t k = types[i / 6];
        const int64_t n_q = rows[i % 2], d = channels[i / 2 % 3];

        plan_once(device, of, sources, k, k, n_q, d);
        plan_once(device, of, sources, k, HEED_F16, n_q, d);
    }
}

int main(void)
{
    heed_runtime *rt = NULL;

    if (heed_runtime_create(NULL, &rt, NULL) < 0)
        return 1;
    planned = see;
    for (size_t i = 0; i < 2 * sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct heed_device_state state = {
            .driver = &planning_driver,
            .services = &rt->services,
            .traits = { .shape = HEED_SHAPE_WORKGROUP, .workers = 132, .tile_rows = 6,
                        .group_rows = 64, .group_sums = 64, .mma = 1 },
        };
        heed_device device = {
            .runtime = rt, .backend = &planning_backend, .state = &state,
            .props = { .exact = 1, .usable = HEED_OK },
        };

        plan_all(&device, &kinds[i / 2], i % 2 ? MANY : 1);
    }
    for (int i = 0; i < 2 * HEED_KERNELS; i++) {
        if (seen[i / 2][i % 2])
            printf("%s;%d\n", heed_kernel_rows[i / 2].name, i % 2);
    }
    heed_runtime_destroy(rt);
    return 0;
}
