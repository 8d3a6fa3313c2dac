/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What drawn cases do not ask of the host's devices: an empty array without an address, tables that
 * change between runs of one plan, how much workspace a long window takes, and a copy of more than
 * caches hold.
 */
#include "support/suite.h"

#include <heed/attn.h>
#include <heed/memory.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- tables of distances ---- */

enum { HEADS = 4, N = 200, D = 8, ENTRIES = 96 };
enum { TABLE = 1, COORD, MAP, SLOTS = MAP };

static float q[HEADS][N][D], k[N][D], v[N][D], table[HEADS][ENTRIES];
static int32_t coord[N];

/* A table for each head, by the rows' coordinates; a map without entries, which has no address. */
static heed_plan *plan_of(heed_device *device, const heed_bias *bias, int64_t n)
{
    const heed_slot slots[SLOTS] = {
        { .t = { HEED_F32, bias && bias->kind == HEED_BIAS_ALIBI ? 1 : 2, { HEADS, ENTRIES },
                 { bias && bias->kind == HEED_BIAS_ALIBI ? 1 : ENTRIES, 1 } } },
        { .t = { HEED_I32, 1, { n }, { 1 } } },
        { .t = { HEED_I32, 1, { 0 }, { 1 } } },
    };
    const heed_tensor rows = heed_array4(HEED_F32, NULL, 1, 1, n, D).t;
    const heed_source source = { .k = rows, .v = rows, .biases = bias, .n_biases = bias != NULL,
                                 .bias_size = sizeof *bias };
    const heed_attn_desc desc = {
        .size = sizeof desc, .flags = HEED_ATTN_ALIGN_START | HEED_PLAN_OWN_WORKSPACE,
        .q = heed_array4(HEED_F32, NULL, 1, HEADS, n, D).t,
        .o = heed_array4(HEED_F32, NULL, 1, HEADS, n, D).t, .sources = &source, .n_sources = 1,
        .source_size = sizeof source, .slots = slots, .n_slots = SLOTS, .slot_size = sizeof *slots,
    };
    heed_report report = { .size = sizeof report };
    heed_plan *plan = NULL;

    ck_assert_msg(heed_attn_plan(device, &desc, &plan, &report) >= 0, "%s: %s", report.field,
                  report.message);
    return plan;
}

static void plan_run(const heed_plan *plan, heed_queue *queue, float *o)
{
    const heed_kv_bufs kv = { .k = { .handle = k }, .v = { .handle = v } };
    const heed_buf slots[SLOTS] = { { .handle = table }, { .handle = coord } };
    const heed_attn_args args = {
        .size = sizeof args, .q = { .handle = q }, .o = { .handle = o }, .kv = &kv,
        .kv_size = sizeof kv, .slots = slots, .n_slots = SLOTS,
    };

    ck_assert_int_ge(heed_attn_run(plan, queue, &args, NULL, NULL), 0);
}

/* Numbers that differ from call to call. */
static void numbers(void *to, size_t bytes)
{
    static uint64_t state = 1;

    for (size_t i = 0; i < bytes / sizeof(float); i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        ((float *)to)[i] = (float)((int)(state >> 54) - 512) / 512;
    }
}

/* Runs a plan twice, with another table before the second run, whose bits are those of a plan that
 * is made for it. */
static void tables_change(heed_device *device, const heed_bias *bias, int64_t n, const char *name)
{
    static float o[HEADS * N * D], want[HEADS * N * D];
    heed_plan *plans[2] = { plan_of(device, bias, n), plan_of(device, bias, n) };
    heed_queue *queue;

    ck_assert_int_eq(heed_queue_create(device, 0, &queue, NULL), HEED_OK);
    numbers(table, sizeof table);
    plan_run(plans[0], queue, o);
    numbers(table, sizeof table);
    plan_run(plans[0], queue, o);
    plan_run(plans[1], queue, want);
    ck_assert_msg(memcmp(o, want, (size_t)(HEADS * n * D) * sizeof *o) == 0,
                  "%s, kind %u, %d rows: the second run has other bits", name, bias->kind, (int)n);
    heed_queue_destroy(queue);
    heed_plan_drop(plans[0]);
    heed_plan_drop(plans[1]);
}

/* What a worker keeps of a table is what is asked for, whether coordinates go on, back, by steps or
 * jump; few rows end where the next run begins. */
LOOP_TEST(tables_are_those_of_the_run, 4)
{
    const heed_bias biases[] = {
        { .kind = HEED_BIAS_TABLE, .t = TABLE, .q_coord = COORD, .zero = ENTRIES / 2 },
        { .kind = HEED_BIAS_ALIBI, .t = TABLE, .q_coord = COORD },
    };
    heed_device_props props;
    heed_device *device;

    for (int i = 0; i < N; i++)
        coord[i] = _i == 0 ? i : _i == 1 ? N - i : _i == 2 ? i / 16 : i * 7919 % 1009 - 500;
    numbers(q, sizeof q);
    numbers(k, sizeof k);
    numbers(v, sizeof v);
    for (uint32_t i = 0; (device = host_device(i, &props)) != NULL; i++) {
        for (int64_t n = N; n > 0 && props.kind == HEED_DEVICE_CPU; n /= 6) {
            tables_change(device, &biases[0], n, props.name);
            tables_change(device, &biases[1], n, props.name);
        }
    }
}

TEST(a_map_without_entries_adds_nothing)
{
    const heed_bias bias = { .kind = HEED_BIAS_TABLE, .t = TABLE, .map = MAP };
    static float with[HEADS * N * D], without[HEADS * N * D];
    heed_device_props props;
    heed_device *device;

    numbers(q, sizeof q);
    numbers(k, sizeof k);
    numbers(v, sizeof v);
    numbers(table, sizeof table);
    for (uint32_t i = 0; (device = host_device(i, &props)) != NULL; i++) {
        heed_plan *const biased = plan_of(device, &bias, N);
        heed_plan *const plain = plan_of(device, NULL, N);
        heed_queue *queue;

        ck_assert_int_eq(heed_queue_create(device, 0, &queue, NULL), HEED_OK);
        plan_run(biased, queue, with);
        plan_run(plain, queue, without);
        ck_assert_msg(memcmp(with, without, sizeof with) == 0, "%s: %g, without the bias %g",
                      props.name, (double)with[0], (double)without[0]);
        heed_queue_destroy(queue);
        heed_plan_drop(biased);
        heed_plan_drop(plain);
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

/* Stores that leave the caches alone (kernels/ops/copy.cl, HK_FAR) write what others do. */
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

/* The same of rows that a list names, of 64 elements and not; y begins with a line of the caches or
 * within one. */
LOOP_TEST(rows_of_a_large_copy_are_those_of_their_list, 3)
{
    enum { SOURCES = 50, MOST = 1 << 25 };
    const int64_t d = _i < 2 ? 64 : 48, n = MOST / (d * 4) + 1;
    const size_t bytes = (size_t)d * sizeof(uint32_t);
    uint32_t *const rows = malloc((SOURCES + 1) * bytes); /* the last one: not written */
    uint32_t *const block = malloc((size_t)MOST + 4096);
    uint32_t *const to = block + (64 - (uintptr_t)block % 64) / 4 + (_i == 1);
    int32_t *const list = malloc((size_t)n * sizeof *list);
    const heed_array x = heed_array4(HEED_F32, rows, 1, 1, SOURCES, d);
    const heed_array y = heed_array4(HEED_F32, to, 1, 1, n, d);
    const heed_array from = heed_array_dense(HEED_I32, list, 1, &n);
    heed_report report = { .size = sizeof report };
    heed_device_props props;
    heed_device *device;
    heed_queue *queue;

    ck_assert(rows != NULL && block != NULL && list != NULL);
    for (int64_t i = 0; i < SOURCES * d; i++)
        rows[i] = (uint32_t)i * 2654435761u;
    memset(rows + SOURCES * d, 0x5a, bytes);
    for (int64_t i = 0; i < n; i++)
        list[i] = (int32_t)(i * 7919 % (SOURCES + 2) - 1); /* some are not there */
    for (uint32_t i = 0; (device = host_device(i, &props)) != NULL; i++) {
        memset(to, 0x5a, (size_t)n * bytes);
        ck_assert_int_eq(heed_queue_create(device, 0, &queue, &report), HEED_OK);
        ck_assert_msg(heed_copy_simple(queue, &x, &from, &y, &report) >= 0, "%s: %s", props.name,
                      report.message);
        heed_queue_destroy(queue);
        for (int64_t row = 0; row < n; row++) {
            const bool there = list[row] >= 0 && list[row] < SOURCES;

            if (memcmp(to + row * d, rows + (there ? list[row] : SOURCES) * d, bytes) != 0)
                ck_abort_msg("%s, way %d: row %lld", props.name, _i, (long long)row);
        }
    }
    free(rows);
    free(block);
    free(list);
}

int main(void)
{
    return suite_run("host", 0, begin, end);
}
