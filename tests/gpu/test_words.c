/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the kernels for few rows read of a GPU's global memory, word by word: decoding reads every
 * key and value once, however many query heads share them, plain and by pages. Queries are read
 * again by each group, which is little.
 */
#include "backends/device/host.h"
#include "lib/core/context.h"
#include "support/suite.h"

#include <heed/attn.h>
#include <stdlib.h>
#include <string.h>

_Thread_local uint64_t words_read;      /* -DHK_WORDS_READ */

#define DECLARE(row) extern heed_host_kernel heed_kernel_workgroup_##row##_counted;
#define ROWS(OF) OF(few_f32) OF(few_f16) OF(few_any) OF(few_join)
ROWS(DECLARE)
#define KERNEL(row) [HEED_KERNEL_workgroup_##row] = { heed_kernel_workgroup_##row##_counted, NULL },
static heed_host_kernel *const kernels[HEED_KERNELS][2] = { ROWS(KERNEL) };

static const struct heed_backend backend = {
    .size = sizeof(backend), .kind = HEED_DEVICE_CPU, .host = 1, .impls = heed_device_impls,
};
enum { KEYS = 4096, PAGE = 64, CHANNELS = 128 };

static heed_runtime *rt;
static struct heed_event done;
static struct heed_host_device state;
static heed_device device;
static heed_queue *queue;
static heed_report why;

static void set_up(void)
{
    const heed_executor alone = { .size = sizeof(alone), .width = 1 };
    const heed_runtime_desc desc = { .size = sizeof(desc), .executor = &alone };

    why = (heed_report){ .size = sizeof(why) };
    ck_assert_int_eq(heed_runtime_create(&desc, &rt, &why), HEED_OK);
    heed_host_begin(&state, &rt->services,
                    (struct heed_device_traits){ .shape = HEED_SHAPE_WORKGROUP, .workers = 132,
                                                 .group_rows = 64, .group_sums = 64 },
                    kernels);
    device = (heed_device){ .backend = &backend, .runtime = rt, .state = &state, .done = &done,
                            .props = { .name = "counted", .exact = 1 } };
    done.device = &device;
    ck_assert_int_eq(heed_queue_create(&device, 0, &queue, &why), HEED_OK);
}

static void tear_down(void)
{
    heed_queue_destroy(queue);
    heed_runtime_destroy(rt);
}

static void *zeros(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);

    ck_assert_ptr_nonnull(memory);
    memset(memory, 0, bytes);
    return memory;
}

/* A row of `group` query heads for each of two key heads. */
static void expect_once(uint32_t dtype, int64_t group, bool paged)
{
    const int64_t heads = 2, size = dtype == HEED_F32 ? 4 : 2;
    const size_t bytes = (size_t)(heads * KEYS * CHANNELS * size);
    const heed_tensor rows = paged ? heed_array4(dtype, NULL, KEYS / PAGE, heads, PAGE, CHANNELS).t
                                   : heed_array4(dtype, NULL, 1, heads, KEYS, CHANNELS).t;
    const heed_tensor q = heed_array4(HEED_F32, NULL, 1, heads * group, 1, CHANNELS).t;
    int32_t pages[KEYS / PAGE];
    const int32_t length = KEYS;
    const heed_slot table[] = {
        { .t = { HEED_I32, 2, { 1, KEYS / PAGE }, { KEYS / PAGE, 1 } }, .data = pages },
        { .t = { HEED_I32, 1, { 1 }, { 1 } }, .data = &length },
    };
    const heed_buf constant[] = { { NULL, 0 }, { NULL, 0 } };
    const uint32_t slots = paged ? 2 : 0;
    const heed_source source = {
        .k = rows, .v = rows, .layout = paged ? HEED_LAYOUT_PAGED : HEED_LAYOUT_DENSE,
        .slot = paged ? 1 : 0, .len_slot = slots, .run = paged ? PAGE : 0,
    };
    const heed_attn_desc desc = {
        .size = sizeof(desc), .flags = HEED_PLAN_OWN_WORKSPACE, .q = q, .o = q, .sources = &source,
        .n_sources = 1, .source_size = sizeof(source), .slots = table, .n_slots = slots,
        .slot_size = sizeof(table[0]),
    };
    const heed_kv_bufs kv = { { zeros(bytes), 0 }, { zeros(bytes), 0 } };
    const heed_attn_args args = {
        .size = sizeof(args), .kv_size = sizeof(kv), .kv = &kv,
        .q = { zeros((size_t)(heads * group * CHANNELS * 4)), 0 },
        .o = { zeros((size_t)(heads * group * CHANNELS * 4)), 0 },
        .slots = constant, .n_slots = slots,
    };
    const double compulsory = 2 * (double)bytes / 4;
    heed_plan *plan = NULL;

    for (int32_t i = 0; i < KEYS / PAGE; i++)
        pages[i] = KEYS / PAGE - 1 - i;
    ck_assert_msg(heed_attn_plan(&device, &desc, &plan, &why) == HEED_OK, "%s: %s", why.field,
                  why.message);
    words_read = 0;
    ck_assert_msg(heed_attn_run(plan, queue, &args, NULL, &why) == HEED_OK, "%s", why.message);
    ck_assert_msg((double)words_read >= compulsory && (double)words_read <= 1.05 * compulsory,
                  "%llu words of %.0f", (unsigned long long)words_read, compulsory);
    heed_plan_drop(plan);
    free(kv.k.handle);
    free(kv.v.handle);
    free(args.q.handle);
    free(args.o.handle);
}

TEST(decoding_reads_keys_and_values_once)
{
    expect_once(HEED_F32, 4, false);
    expect_once(HEED_F32, 8, false);
    expect_once(HEED_F16, 4, false);
    expect_once(HEED_F16, 8, false);
    expect_once(HEED_F32, 4, true);
    expect_once(HEED_F16, 8, true);
}

int main(void)
{
    return suite_run("gpu-words", 0, set_up, tear_down);
}
