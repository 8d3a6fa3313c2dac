/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * heed_plan_extents and heed_plan_fits: against all indices of an array tried one by one, and a
 * run over memory that is not a byte longer.
 */
#include "support/suite.h"

#include <heed/attn.h>
#include <heed/memory.h>

#include <stdlib.h>
#include <string.h>

static heed_runtime *runtime;
static heed_device *device;
static heed_queue *queue;
static heed_report report;

static void before(void)
{
    report = (heed_report){ .size = sizeof(report) };
    ck_assert_int_ge(heed_runtime_create(NULL, &runtime, &report), 0);
    ck_assert_int_ge(heed_device_find(runtime, "reference", &device, &report), 0);
    ck_assert_int_ge(heed_queue_create(device, 0, &queue, &report), 0);
}

static void after(void)
{
    heed_queue_destroy(queue);
    heed_runtime_destroy(runtime);
}

enum { B = 2, H = 2, N = 3, NK = 5, D = 4 };

static heed_tensor tensor(uint32_t dtype, int64_t b, int64_t h, int64_t n, int64_t d)
{
    const int64_t shape[4] = { b, h, n, d };

    return heed_array_dense(dtype, NULL, 4, shape).t;
}

/* Backwards over rows, with a gap of one element behind each. */
static heed_tensor reversed(uint32_t dtype, int64_t b, int64_t h, int64_t n, int64_t d)
{
    heed_tensor t = tensor(dtype, b, h, n, d);

    t.stride[2] = -(d + 1);
    t.stride[1] = n * (d + 1);
    t.stride[0] = h * t.stride[1];
    return t;
}

/* The plan of a small attention: k runs backwards, its lengths come with the run, a mask and the
 * list of global keys are constant. */
static heed_plan *attention(heed_tensor *k)
{
    static const uint8_t mask[NK] = { 1, 1, 0, 1, 1 };
    static const int32_t list[1] = { 1 };
    static const heed_term terms[2] = { { .kind = HEED_TERM_WINDOW, .left = 1, .right = 1 },
                                        { .kind = HEED_TERM_GLOBAL, .slot = 3 } };
    const heed_slot slots[3] = {
        { .t = { .dtype = HEED_U8, .ndim = 2, .shape = { 1, NK }, .stride = { 0, 1 } },
          .data = mask },
        { .t = { .dtype = HEED_I64, .ndim = 1, .shape = { B }, .stride = { -2 } } },
        { .t = { .dtype = HEED_I32, .ndim = 2, .shape = { 1, 1 }, .stride = { 1, 1 } },
          .data = list },
    };
    heed_source source = { .v = tensor(HEED_BF16, B, 1, NK, D), .mask_slot = 1, .len_slot = 2,
                           .terms = terms, .n_terms = 2, .term_size = sizeof(*terms) };
    heed_attn_desc desc = { .size = sizeof(desc), .flags = HEED_ATTN_ALIGN_START,
                            .q = tensor(HEED_F32, B, H, N, D), .o = tensor(HEED_F16, B, H, N, D),
                            .n_sources = 1, .source_size = sizeof(source), .slots = slots,
                            .n_slots = 3, .slot_size = sizeof(*slots) };
    heed_plan *plan = NULL;

    *k = source.k = reversed(HEED_F32, B, 1, NK, D);
    desc.sources = &source;
    ck_assert_msg(heed_attn_plan(device, &desc, &plan, &report) >= 0, "%s", report.message);
    return plan;
}

/* What all indices of t reach. */
static void tried(const heed_tensor *t, int64_t element, int64_t *first, int64_t *end)
{
    *first = *end = 0;
    for (int64_t i = 0; i < t->shape[0]; i++) {
        for (int64_t j = 0; j < t->shape[1]; j++) {
            for (int64_t n = 0; n < t->shape[2]; n++) {
                for (int64_t c = 0; c < t->shape[3]; c++) {
                    const int64_t at = (i * t->stride[0] + j * t->stride[1] + n * t->stride[2] +
                                        c * t->stride[3]) * element;

                    *first = at < *first ? at : *first;
                    *end = at + element > *end ? at + element : *end;
                }
            }
        }
    }
}

TEST(arrays_are_listed_as_run_takes_them)
{
    static const char *const fields[] = { "q", "o", "kv[0].k", "kv[0].v", "slots[1]" };
    static const uint32_t flags[] = { HEED_EXTENT_READ, HEED_EXTENT_WRITTEN, HEED_EXTENT_READ,
                                      HEED_EXTENT_READ, HEED_EXTENT_READ };
    heed_extent got[8];
    heed_tensor k;
    heed_plan *plan = attention(&k);
    int64_t first, end;
    uint32_t n = 0;

    memset(got, 0x5a, sizeof(got));
    ck_assert_int_eq(heed_plan_extents(plan, got, 8, sizeof(*got), &n), HEED_OK);
    ck_assert_uint_eq(n, 5);
    for (uint32_t i = 0; i < n; i++) {
        ck_assert_str_eq(got[i].field, fields[i]);
        ck_assert_uint_eq(got[i].flags, flags[i]);
    }
    ck_assert_int_eq((unsigned char)got[5].field[0], 0x5a);     /* nothing behind them */
    ck_assert_int_eq(got[0].first, 0);
    ck_assert_int_eq(got[0].end, B * H * N * D * 4);
    ck_assert_int_eq(got[1].end, B * H * N * D * 2);
    tried(&k, 4, &first, &end);
    ck_assert_int_lt(first, 0);
    ck_assert_int_eq(got[2].first, first);
    ck_assert_int_eq(got[2].end, end);
    ck_assert_int_eq(got[4].first, -2 * 8 * (B - 1));
    ck_assert_int_eq(got[4].end, 8);
    heed_plan_drop(plan);
}

TEST(a_short_list_and_wrong_calls_write_no_more_than_they_may)
{
    struct {
        heed_extent extent;
        uint64_t more;
    } wide[5], untouched[5];
    heed_tensor k;
    heed_plan *plan = attention(&k);
    uint32_t n = 77;

    memset(wide, 0x5a, sizeof(wide));
    memcpy(untouched, wide, sizeof(wide));
    ck_assert_int_eq(heed_plan_extents(NULL, &wide[0].extent, 5, sizeof(*wide), &n), HEED_E_NULL);
    ck_assert_int_eq(heed_plan_extents(plan, NULL, 5, sizeof(*wide), &n), HEED_E_NULL);
    ck_assert_int_eq(heed_plan_extents(plan, &wide[0].extent, 5, 8, &n), HEED_E_SIZE);
    ck_assert_uint_eq(n, 77);
    ck_assert_int_eq(memcmp(wide, untouched, sizeof(wide)), 0);
    ck_assert_int_eq(heed_plan_extents(plan, NULL, 0, sizeof(heed_extent), &n), HEED_OK);
    ck_assert_uint_eq(n, 5);
    /* A caller whose struct is longer than the library's: what is not known is 0. */
    ck_assert_int_eq(heed_plan_extents(plan, &wide[0].extent, 2, sizeof(*wide), NULL), HEED_OK);
    ck_assert_str_eq(wide[1].extent.field, "o");
    ck_assert_uint_eq(wide[1].more, 0);
    ck_assert_int_eq(memcmp(&wide[2], &untouched[2], 3 * sizeof(*wide)), 0);
    heed_plan_drop(plan);
}

TEST(memory_fits_to_the_byte)
{
    heed_tensor k;
    heed_plan *plan = attention(&k);
    int64_t first, end;

    tried(&k, 4, &first, &end);
    ck_assert_int_eq(heed_plan_fits(plan, "kv[0].k", (uint64_t)-first, (uint64_t)end, &report),
                     HEED_OK);
    ck_assert_int_eq(heed_plan_fits(plan, "kv[0].k", (uint64_t)-first, (uint64_t)end - 1, &report),
                     HEED_E_VALUE);
    ck_assert_str_eq(report.field, "kv[0].k");
    ck_assert_int_eq(report.wanted, end);
    ck_assert_int_eq(report.got, end - 1);
    ck_assert_int_eq(heed_plan_fits(plan, "kv[0].k", (uint64_t)-first - 1, UINT64_MAX, &report),
                     HEED_E_VALUE);
    ck_assert_int_eq(report.wanted, -first);
    ck_assert_int_eq(heed_plan_fits(plan, "lse", 0, UINT64_MAX, &report), HEED_E_NOT_FOUND);
    ck_assert_int_eq(heed_plan_fits(plan, "slots[0]", 0, UINT64_MAX, &report), HEED_E_NOT_FOUND);
    ck_assert_int_eq(heed_plan_fits(plan, NULL, 0, 0, &report), HEED_E_NULL);
    ck_assert_int_eq(heed_plan_fits(NULL, "q", 0, 0, NULL), HEED_E_NULL);
    heed_plan_drop(plan);
}

/* push reads and writes its rows; memory of just the bytes that are named suffices a run. */
TEST(a_run_touches_no_byte_more)
{
    heed_push_desc desc = { .size = sizeof(desc), .rows = reversed(HEED_F32, B, H, NK, D),
                            .head = { .dtype = HEED_I64, .ndim = 1, .shape = { B },
                                      .stride = { -1 } },
                            .len = { .dtype = HEED_I64, .ndim = 1, .shape = { B },
                                     .stride = { 1 } },
                            .x = reversed(HEED_F32, B, H, N, D) };
    heed_push_args args = { .size = sizeof(args) };
    heed_extent extents[8];
    void *memory[8];
    heed_plan *plan = NULL;
    uint32_t n = 0;

    desc.flags = HEED_PLAN_OWN_WORKSPACE;
    ck_assert_msg(heed_push_plan(device, &desc, &plan, &report) >= 0, "%s", report.message);
    ck_assert_int_eq(heed_plan_extents(plan, extents, 8, sizeof(*extents), &n), HEED_OK);
    ck_assert_uint_eq(n, 4);
    for (uint32_t i = 0; i < n; i++) {
        const size_t bytes = (size_t)(extents[i].end - extents[i].first);
        heed_buf buf;

        memory[i] = calloc(1, bytes);       /* not a byte longer: AddressSanitizer looks */
        buf = (heed_buf){ .handle = (char *)memory[i] - extents[i].first };
        if (strcmp(extents[i].field, "rows") == 0) {
            ck_assert_uint_eq(extents[i].flags, HEED_EXTENT_READ | HEED_EXTENT_WRITTEN);
            args.rows = buf;
        } else if (strcmp(extents[i].field, "head") == 0) {
            args.head = buf;
        } else if (strcmp(extents[i].field, "len") == 0) {
            args.len = buf;
        } else {
            ck_assert_str_eq(extents[i].field, "x");
            args.x = buf;
        }
    }
    ck_assert_msg(heed_push_run(plan, queue, &args, NULL, &report) >= 0, "%s", report.message);
    heed_plan_drop(plan);
    while (n > 0)
        free(memory[--n]);
}

int main(void)
{
    return suite_run("extents", 0, before, after);
}
