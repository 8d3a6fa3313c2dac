/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What heed_attn_visible says: drawn cases against the oracle of the kit, and packed keys.
 */
#include "conform/engine/subject.h"
#include "conform/ops/attn/attn.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM = 4096, WORK = 500000 }; /* keys of a source; work of a case */

static struct {
    int64_t rows, keys, repeated;
} met;

/* One row of one source, asked for by the caller's descriptor. */
static void row_compare(const struct problem *p, const struct call *call,
                        const struct item_view *view, int64_t head, int64_t row, int s)
{
    static uint8_t seen[ROOM];
    char line[LINE];

    const struct source_data *src = &p->source[s];
    const int64_t room = src->k.pages ? src->n_k : src->total;

    ck_assert_int_le(room, ROOM);
    memset(seen, 0xa5, sizeof(seen));
    ck_assert_int_eq(heed_attn_visible(&call->desc, &call->args, view->b, head, row, (uint32_t)s,
                                       seen, NULL),
                     HEED_OK);
    for (int64_t k = 0; k < room; k++) {
        const int64_t times = cf_times_seen(p, view, head, row, s, k), want = times > 255 ? 255
                                                                                          : times;

        if (seen[k] != want) {
            cf_case_print(&p->c, line);
            ck_abort_msg("%s: item %d head %d row %d source %d key %d: %d, wanted %d", line,
                         (int)view->b, (int)head, (int)row, s, (int)k, seen[k], (int)want);
        }
        met.keys += want > 0;
        met.repeated += want > 1;
    }
    met.rows++;
}

static void case_compare(struct rng *r, const struct target *on, int64_t dense)
{
    struct problem *p;
    struct job *job;
    struct cs c;

    cf_case_draw(r, on->device, dense, WORK, &c);
    p = cf_problem_make(&c, NULL, 0, true);
    ck_assert_ptr_nonnull(p);
    job = cf_job_make(&cf_attn_families, p, on, 0, 1);
    ck_assert_ptr_nonnull(job);
    for (int i = 0; i < 20 && p->n_items && p->n_q; i++) {
        struct item_view view;
        const int64_t head = rng_below(r, p->heads), row = rng_below(r, p->n_q);

        cf_item_view(p, rng_below(r, p->n_items), &view);
        for (int s = 0; s < p->n_sources; s++)
            row_compare(p, cf_call_of(job), &view, head, row, s);
    }
    job_drop(job);
    cf_problem_free(p);
}

TEST(rows_see_what_the_definition_says)
{
    struct rng r = rng_of(1);
    struct target on;

    cf_op_use(cf_ops[0]);
    ck_assert(cf_target_open(&on, "reference", 1, NULL));
    for (int i = 0; i < 2000; i++)
        case_compare(&r, &on, 15 + i % 3 * 15);
    cf_target_close(&on);
    ck_assert_int_gt(met.rows, 5000);
    ck_assert_int_gt(met.keys, 20000);
    ck_assert_int_gt(met.repeated, 100);
}

/* Two packed sequences of 5 keys, a mask of 3 keys, one dense query row: counts are written for all
 * 5 keys of the tensor, and slots without memory are named. */
TEST(every_key_of_a_ragged_tensor_gets_a_count)
{
    static const int32_t begins[2] = { 0, 2 }, lengths[2] = { 3, 3 };
    static const uint8_t mask[3] = { 1, 0, 1 };
    heed_slot slots[3] = {
        { { HEED_I32, 1, { 2 }, { 1 } }, begins },
        { { HEED_I32, 1, { 2 }, { 1 } }, lengths },
        { { HEED_U8, 1, { 3 }, { 1 } }, mask },
    };
    const heed_tensor one = { HEED_F32, 4, { 2, 1, 1, 1 }, { 1, 1, 1, 1 } };
    const heed_tensor packed = { HEED_F32, 2, { 5, 1 }, { 1, 1 } };
    const heed_source source = { .k = packed, .v = packed, .layout = HEED_LAYOUT_RAGGED,
                                 .slot = 1, .len_slot = 2, .mask_slot = 3 };
    const heed_attn_desc d = { .size = sizeof(d), .q = one, .o = one,
                               .sources = &source, .n_sources = 1, .source_size = sizeof(source),
                               .slots = slots, .n_slots = 3, .slot_size = sizeof(*slots) };
    heed_report report = { .size = sizeof(report) };
    uint8_t seen[5];

    for (int64_t batch = 0; batch < 2; batch++) {
        memset(seen, 0xee, sizeof(seen));
        ck_assert_msg(heed_attn_visible(&d, NULL, batch, 0, 0, 0, seen, &report) == HEED_OK, "%s",
                      report.message);
        ck_assert_mem_eq(seen, ((const uint8_t[5]){ 1, 0, 1, 0, 0 }), sizeof(seen));
    }
    slots[1].data = NULL;
    ck_assert_int_eq(heed_attn_visible(&d, NULL, 0, 0, 0, 0, seen, &report), HEED_E_NULL);
}

int main(void)
{
    return suite_run("visible", 240, NULL, NULL);
}
