/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What drawn cases do not ask of the host's devices: empty arrays without an address, how much
 * workspace a long window takes, and a copy of more than caches hold.
 */
#include "support/suite.h"

#include <heed/attn.h>
#include <heed/memory.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { N = 5, D = 3, KEYS = N * D };

static heed_runtime *runtime;

static void begin(void)
{
    const heed_executor two = { .size = sizeof two, .width = 2 };
    const heed_runtime_desc desc = { .size = sizeof desc, .executor = &two };

    ck_assert_int_eq(heed_runtime_create(&desc, &runtime, NULL), HEED_OK);
}

static void end(void)
{
    heed_runtime_destroy(runtime);
}

/* Host device number i that can be used, counted from the first one; NULL: no more. */
static heed_device *host_device(uint32_t number, heed_device_props *props)
{
    heed_device *device;

    for (uint32_t i = 0; (device = heed_device_get(runtime, i)) != NULL; i++) {
        *props = (heed_device_props){ .size = sizeof *props };
        ck_assert_int_eq(heed_device_info(device, props), HEED_OK);
        if (props->kind <= HEED_DEVICE_CPU && props->usable >= 0 && number-- == 0)
            return device;
    }
    return NULL;
}

/* ---- a map without entries ---- */

/* Outputs with a TABLE bias, whose map has no entries and no address, or without any. */
static void attend(heed_device *device, uint32_t biased, float *o)
{
    static const float table[2] = { 3.0f, -2.0f };
    float q[KEYS], k[KEYS], v[KEYS];
    heed_slot slots[2] = {
        { .t = { .dtype = HEED_F32, .ndim = 1, .shape = { 2 }, .stride = { 1 } } },
        { .t = { .dtype = HEED_I32, .ndim = 1, .shape = { 0 }, .stride = { 1 } } },
    };
    const heed_bias bias = { .kind = HEED_BIAS_TABLE, .t = 1, .map = 2 };
    heed_source source = {
        .k = heed_array4(HEED_F32, NULL, 1, 1, N, D).t,
        .v = heed_array4(HEED_F32, NULL, 1, 1, N, D).t,
        .biases = biased ? &bias : NULL, .n_biases = biased, .bias_size = sizeof bias,
    };
    const heed_attn_desc desc = {
        .size = sizeof desc, .flags = HEED_ATTN_ALIGN_START | HEED_PLAN_OWN_WORKSPACE,
        .q = source.k, .o = source.k, .sources = &source, .n_sources = 1,
        .source_size = sizeof source, .slots = slots, .n_slots = 2 * biased,
        .slot_size = sizeof *slots,
    };
    const heed_kv_bufs kv = { .k = { .handle = k }, .v = { .handle = v } };
    const heed_buf at[2] = { { .handle = (void *)(uintptr_t)table }, { .handle = NULL } };
    const heed_attn_args args = {
        .size = sizeof args, .q = { .handle = q }, .o = { .handle = o }, .kv = &kv,
        .kv_size = sizeof kv, .slots = at, .n_slots = 2 * biased,
    };
    heed_report report = { .size = sizeof report };
    heed_queue *queue;
    heed_plan *plan;

    for (int i = 0; i < KEYS; i++) {
        q[i] = (float)(i % 7) - 3.0f;
        k[i] = (float)(i % 5) * 0.5f;
        v[i] = (float)(i * i % 11);
    }
    ck_assert_int_eq(heed_queue_create(device, 0, &queue, &report), HEED_OK);
    ck_assert_msg(heed_attn_plan(device, &desc, &plan, &report) >= 0, "%s", report.message);
    ck_assert_msg(heed_attn_run(plan, queue, &args, NULL, &report) >= 0, "%s", report.message);
    heed_plan_drop(plan);
    heed_queue_destroy(queue);
}

TEST(a_map_without_entries_adds_nothing)
{
    heed_device_props props;
    heed_device *device;

    for (uint32_t i = 0; (device = host_device(i, &props)) != NULL; i++) {
        float with[KEYS] = { 0 }, without[KEYS] = { 1.0f };

        attend(device, 1, with);
        attend(device, 0, without);
        ck_assert_msg(memcmp(with, without, sizeof with) == 0, "%s: %g, without the bias %g",
                      props.name, (double)with[0], (double)without[0]);
    }
}

/* ---- workspace ---- */

/* A million keys of 16 heads with a window of 129: 4 GiB as packed K. */
TEST(a_windows_workspace_does_not_grow_with_the_keys)
{
    const heed_term window = { .kind = HEED_TERM_WINDOW, .left = 64, .right = 64 };
    const heed_tensor all = heed_array4(HEED_BF16, NULL, 1, 16, 1 << 20, 64).t;
    const heed_source source = {
        .k = all, .v = all, .terms = &window, .n_terms = 1, .term_size = sizeof window,
    };
    const heed_attn_desc desc = {
        .size = sizeof desc, .flags = HEED_ATTN_ALIGN_START, .q = all, .o = all,
        .sources = &source, .n_sources = 1, .source_size = sizeof source,
    };
    heed_report report = { .size = sizeof report };
    heed_device_props props;
    heed_device *device;

    for (uint32_t i = 0; (device = host_device(i, &props)) != NULL; i++) {
        heed_plan_props plan_props = { .size = sizeof plan_props };
        heed_plan *plan;

        ck_assert_msg(heed_attn_plan(device, &desc, &plan, &report) >= 0, "%s: %s", props.name,
                      report.message);
        ck_assert_int_eq(heed_plan_info(plan, &plan_props), HEED_OK);
        ck_assert_msg(plan_props.workspace_size < 2 << 20, "%s: %llu bytes", props.name,
                      (unsigned long long)plan_props.workspace_size);
        heed_plan_drop(plan);
    }
}

/* ---- more than caches hold ---- */

enum { LINES = 2100, WIDTH = 8191 };    /* 66 MiB, of rows that begin at any place of a line */

/* Stores that leave the caches alone (backends/kernels/copy.cl, HK_FAR) write what others do. */
TEST(a_large_copy_arrives_whole)
{
    const size_t n = (size_t)LINES * WIDTH;
    uint32_t *const from = malloc(n * sizeof *from), *const to = malloc((n + 2) * sizeof *to);
    const heed_array x = heed_array4(HEED_F32, from, 1, 1, LINES, WIDTH);
    const heed_array y = heed_array4(HEED_F32, to + 1, 1, 1, LINES, WIDTH);
    heed_report report = { .size = sizeof report };
    heed_device_props props;
    heed_device *device;
    heed_queue *queue;

    ck_assert(from != NULL && to != NULL);
    for (size_t i = 0; i < n; i++)
        from[i] = (uint32_t)i * 2654435761u;
    for (uint32_t i = 0; (device = host_device(i, &props)) != NULL; i++) {
        memset(to, 0x5a, (n + 2) * sizeof *to);
        ck_assert_int_eq(heed_queue_create(device, 0, &queue, &report), HEED_OK);
        ck_assert_msg(heed_copy_simple(queue, &x, NULL, &y, &report) >= 0, "%s: %s", props.name,
                      report.message);
        heed_queue_destroy(queue);
        ck_assert_msg(memcmp(to + 1, from, n * sizeof *to) == 0, "%s: y is not x", props.name);
        ck_assert_msg(to[0] == 0x5a5a5a5au && to[n + 1] == 0x5a5a5a5au, "%s: more than y",
                      props.name);
    }
    free(from);
    free(to);
}

int main(void)
{
    return suite_run("host", 0, begin, end);
}
