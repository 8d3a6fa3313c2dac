/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Biases that depend on distances, on every device of the host against the reference: tables that
 * change between runs of one plan, rows whose coordinates go backwards or jump, heads of one strip
 * with tables of their own. What a worker keeps of a table must be what is asked for.
 */
#include <heed/attn.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/suite.h"

enum { HEADS = 4, N = 200, D = 8, ENTRIES = 96, DEVICES = 16 };

static float q[HEADS][N][D], k[N][D], v[N][D], o[HEADS][N][D], table[HEADS][ENTRIES];
static int32_t coordinates[N];
static heed_runtime *runtime;
static uint64_t state = 1;

static float number(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)((int)(state >> 54) - 512) / 512;
}

static void numbers(void *to, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(float); i++)
        ((float *)to)[i] = number();
}

/* ---- a plan ---- */

struct made {
    heed_device *device;
    heed_queue *queue;
    heed_plan *plan;
    void *workspace;
    uint64_t size;
};

static struct made plan_make(const char *device, uint32_t kind, int64_t n)
{
    const int64_t shape[] = { HEADS, ENTRIES };
    heed_slot slots[2] = { { .t = heed_array_dense(HEED_F32, NULL, 2, shape).t },
                           { .t = heed_array_dense(HEED_I32, NULL, 1, &n).t } };
    const heed_bias bias = {
        .kind = kind, .t = 1, .q_coord = 2, .zero = kind == HEED_BIAS_TABLE ? ENTRIES / 2 : 0,
    };
    const heed_source source = {
        .k = heed_array4(HEED_F32, NULL, 1, 1, n, D).t,
        .v = heed_array4(HEED_F32, NULL, 1, 1, n, D).t,
        .biases = &bias, .n_biases = 1, .bias_size = sizeof(bias),
    };
    heed_attn_desc desc = {
        .size = sizeof(desc), .flags = HEED_ATTN_ALIGN_START,
        .q = heed_array4(HEED_F32, NULL, 1, HEADS, n, D).t,
        .o = heed_array4(HEED_F32, NULL, 1, HEADS, n, D).t,
        .sources = &source, .n_sources = 1, .source_size = sizeof(source),
        .slots = slots, .n_slots = 2, .slot_size = sizeof(*slots),
    };
    heed_plan_props props = { .size = sizeof(props) };
    heed_report why = { .size = sizeof(why) };
    struct made m;

    if (kind == HEED_BIAS_ALIBI)
        slots[0].t = heed_array_dense(HEED_F32, NULL, 1, shape).t;
    ck_assert_int_eq(heed_device_find(runtime, device, &m.device, &why), HEED_OK);
    ck_assert_int_eq(heed_queue_create(m.device, 0, &m.queue, &why), HEED_OK);
    ck_assert_msg(heed_attn_plan(m.device, &desc, &m.plan, &why) == HEED_OK, "%s: %s", why.field,
                  why.message);
    ck_assert_int_eq(heed_plan_info(m.plan, &props), HEED_OK);
    m.size = props.workspace_size;
    m.workspace = aligned_alloc(4096, (m.size + 4095) / 4096 * 4096 + 4096);
    ck_assert_ptr_nonnull(m.workspace);
    return m;
}

static void plan_run(const struct made *m)
{
    const heed_kv_bufs kv = { { k, 0 }, { v, 0 } };
    const heed_buf slots[] = { { table, 0 }, { coordinates, 0 } };
    const heed_attn_args args = {
        .size = sizeof(args), .q = { q, 0 }, .o = { o, 0 },
        .kv = &kv, .kv_size = sizeof(kv), .slots = slots, .n_slots = 2,
        .workspace = { m->workspace, 0 }, .workspace_size = m->size,
    };
    heed_report why = { .size = sizeof(why) };

    memset(o, 0xff, sizeof(o));
    ck_assert_msg(heed_attn_run(m->plan, m->queue, &args, NULL, &why) == HEED_OK, "%s: %s",
                  why.field, why.message);
    ck_assert_int_eq(heed_queue_wait(m->queue, NULL), HEED_OK);
}

static void plan_free(struct made *m)
{
    heed_plan_drop(m->plan);
    heed_queue_destroy(m->queue);
    free(m->workspace);
}

/* ---- coordinates of the rows ---- */

static void forwards(void)
{
    for (int i = 0; i < N; i++)
        coordinates[i] = i;
}

static void backwards(void)
{
    for (int i = 0; i < N; i++)
        coordinates[i] = N - i;
}

/* As the block numbers of LongT5: rows on end that are the same, then a step. */
static void steps(void)
{
    for (int i = 0; i < N; i++)
        coordinates[i] = i / 16;
}

static void jumps(void)
{
    for (int i = 0; i < N; i++)
        coordinates[i] = i * 7919 % 1009 - 500;
}

static const struct {
    const char *name;
    void (*set)(void);
} orders[] = { { "forwards", forwards }, { "backwards", backwards },
               { "steps", steps }, { "jumps", jumps } };
enum { N_ORDERS = sizeof(orders) / sizeof(*orders) };

/* Twice with other tables by one plan and one workspace, each as the reference has it. */
static void order_prove(const char *device, uint32_t kind, int order, int64_t n)
{
    static float wanted[HEADS][N][D];
    struct made reference = plan_make("reference", kind, n), own = plan_make(device, kind, n);

    orders[order].set();
    for (int run = 0; run < 2; run++) {
        numbers(table, sizeof(table));
        plan_run(&reference);
        memcpy(wanted, o, sizeof(o));
        plan_run(&own);
        ck_assert_msg(memcmp(wanted, o, sizeof(o)) == 0, "%s, %s, %d rows, run %d: other bits",
                      device, orders[order].name, (int)n, run);
    }
    plan_free(&reference);
    plan_free(&own);
}

LOOP_TEST(tables_are_those_of_the_run, N_ORDERS)
{
    const heed_runtime_desc desc = { .size = sizeof(desc) };
    heed_report why = { .size = sizeof(why) };
    int tried = 0;

    ck_assert_int_eq(heed_runtime_create(&desc, &runtime, &why), HEED_OK);
    numbers(q, sizeof(q));
    numbers(k, sizeof(k));
    numbers(v, sizeof(v));
    for (uint32_t i = 0; i < heed_device_count(runtime) && i < DEVICES; i++) {
        heed_device_props props = { .size = sizeof(props) };

        ck_assert_int_eq(heed_device_info(heed_device_get(runtime, i), &props), HEED_OK);
        if (props.usable < 0 || props.kind != HEED_DEVICE_CPU)
            continue;
        /* Few rows end where the next run begins. */
        for (int64_t n = N; n > 0; n /= 6) {
            order_prove(props.name, HEED_BIAS_TABLE, _i, n);
            order_prove(props.name, HEED_BIAS_ALIBI, _i, n);
        }
        tried++;
    }
    ck_assert_int_gt(tried, 0);
    heed_runtime_destroy(runtime);
}

int main(void)
{
    return suite_run("bias", 120, NULL, NULL);
}
