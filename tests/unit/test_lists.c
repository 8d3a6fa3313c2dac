/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lists of whole blocks beside a source of the same keys, whose panels serve both on processors:
 * the words of the reference, whether K and V are one array, copies, or others.
 */
#include "support/numbers.h"
#include "support/opened.h"

#include <heed/attn.h>

#include <math.h>
#include <string.h>

enum { HEADS = 2, ROWS = 450, KEYS = ROWS, D = 24, D_V = 40, RUN = 64, LISTS = 8, ENTRIES = 3 };
/* Keys whose V is not finite: one that lists have not, in array 2 another, which early rows of its
 * block see not. */
enum { POISON = 400, LATER = 102 };

static const char *const devices[] = { "cpu:scalar", "cpu:avx2", "cpu" };

static float q[HEADS * ROWS * D], k[3][HEADS * KEYS * D], v[3][HEADS * KEYS * D_V];
static uint8_t bytes[HEADS * KEYS * D]; /* K as f8e4m3 */
static float scales[HEADS * KEYS];
static float got[HEADS * ROWS * D_V], want[HEADS * ROWS * D_V];
static uint8_t mask[KEYS];

/* Repeats, the block at the end, one that nobody has, and blocks that are not there. */
static const int32_t lists[HEADS][LISTS][ENTRIES] = {
    { { 0, 3, 6 }, { 6, 6, 1 }, { -1, 7, 2 }, { 5, 4, 0 }, { 7, 7, 7 }, { 9, 2, -7 }, { 1, 1, 0 } },
    { { 6, 0, 0 }, { 2, 7, 6 }, { 8, -1, -1 }, { 3, 2, 1 }, { 0, 6, 5 }, { 4, 4, 3 }, { 6, 5, 4 } },
};

/* Array 1 is a copy of array 0, array 2 has other numbers. */
static void inputs_fill(void)
{
    numbers_fill(q, sizeof q / sizeof *q, 1);
    for (int a = 0; a < 3; a += 2) {
        numbers_fill(k[a], sizeof k[a] / sizeof **k, (uint64_t)a + 2);
        numbers_fill(v[a], sizeof v[a] / sizeof **v, (uint64_t)a + 12);
    }
    for (int h = 0; h < HEADS; h++) {
        v[0][(h * KEYS + POISON) * D_V + 3] = h ? NAN : INFINITY;
        v[2][(h * KEYS + LATER) * D_V] = NAN;
    }
    for (int i = 0; i < HEADS * KEYS * D; i++)
        bytes[i] = (uint8_t)((i * 37 & 0x80) | (0x30 + i * 11 % 16));
    for (int i = 0; i < HEADS * KEYS; i++)
        scales[i] = 1 + (float)(i % 7) / 8;
    memcpy(k[1], k[0], sizeof *k);
    memcpy(v[1], v[0], sizeof *v);
    memset(mask, 1, sizeof mask);
    mask[POISON] = 0;
}

/* Of K and V each, the arrays that the lists read; the source before them reads array 0. scaled:
 * both read K as bytes, of which that source alone has scales. */
struct reads {
    int k, v;
    bool scaled;
};

static heed_source source_of(const struct reads *reads, uint32_t scale_slot)
{
    return (heed_source){
        .k = heed_array4(reads->scaled ? HEED_F8E4M3 : HEED_F32, NULL, 1, HEADS, KEYS, D).t,
        .v = heed_array4(HEED_F32, NULL, 1, HEADS, KEYS, D_V).t,
        .flags = HEED_SOURCE_CAUSAL,
        .k_scale_slot = reads->scaled ? scale_slot : 0,
        .term_size = sizeof(heed_term),
        .bias_size = sizeof(heed_bias),
    };
}

/* On the device that is open. */
static void attend(const struct reads *reads, float *o)
{
    const heed_buf scaled = { .handle = bytes };
    const heed_kv_bufs kv[] = {
        { reads->scaled ? scaled : (heed_buf){ .handle = k[0] }, { .handle = v[0] } },
        { reads->scaled ? scaled : (heed_buf){ .handle = k[reads->k] }, { .handle = v[reads->v] } },
    };
    const heed_slot slots[] = {
        { .t = heed_array4(HEED_I32, NULL, 1, HEADS, LISTS, ENTRIES).t },
        { .t = { HEED_U8, 2, { 1, KEYS }, { KEYS, 1 } } },
        { .t = { HEED_F32, 3, { 1, HEADS, KEYS }, { HEADS * KEYS, KEYS, 1 } } },
    };
    const heed_buf bound[] = { { .handle = (void *)lists },
                               { .handle = mask },
                               { .handle = scales } };
    heed_source sources[] = { source_of(reads, 3), source_of(reads, 0) };
    const heed_attn_desc desc = {
        .size = sizeof desc,
        .flags = HEED_ATTN_ALIGN_START | HEED_PLAN_OWN_WORKSPACE,
        .sources = sources,
        .n_sources = 2,
        .source_size = sizeof *sources,
        .slots = slots,
        .n_slots = reads->scaled ? 3 : 2,
        .slot_size = sizeof *slots,
        .q = heed_array4(HEED_F32, NULL, 1, HEADS, ROWS, D).t,
        .o = heed_array4(HEED_F32, NULL, 1, HEADS, ROWS, D_V).t,
    };
    const heed_attn_args args = { .size = sizeof args,
                                  .kv_size = sizeof *kv,
                                  .q.handle = q,
                                  .o.handle = o,
                                  .kv = kv,
                                  .slots = bound,
                                  .n_slots = desc.n_slots };
    heed_report why = { .size = sizeof why };
    heed_plan *plan = NULL;

    sources[1].layout = HEED_LAYOUT_LISTED;
    sources[1].slot = 1;
    sources[1].mask_slot = 2;
    sources[1].run = sources[1].rows = RUN;
    ck_assert_msg(heed_attn_plan(on.device, &desc, &plan, &why) == HEED_OK, "%s: %s", why.field,
                  why.message);
    ck_assert_msg(heed_attn_run(plan, on.queue, &args, NULL, &why) == HEED_OK, "%s: %s", why.field,
                  why.message);
    heed_plan_drop(plan);
}

static const struct reads all[] = {
    { 0, 0, false }, { 1, 1, false }, { 2, 2, false }, { 0, 2, false },
    { 2, 0, false }, { 0, 1, false }, { 0, 0, true },
};

LOOP_TEST(lists_of_whole_blocks, sizeof all / sizeof *all)
{
    const struct reads *reads = &all[_i];
    const int first = reads->v == 2 ? LATER : POISON;

    inputs_fill();
    device_open("reference");
    attend(reads, want);
    device_close();
    /* The key that lists have not reaches no row before it; rows behind it do see it. */
    for (int i = 0; i < first * D_V; i++)
        ck_assert(isfinite(want[i]));
    ck_assert(!isfinite(want[POISON * D_V + 3]));
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        if (!device_try(devices[d]))
            continue;
        memset(got, 0, sizeof got);
        attend(reads, got);
        device_close();
        ck_assert_mem_eq(got, want, sizeof want);
    }
}

int main(void)
{
    return suite_run("lists", 0, NULL, NULL);
}
