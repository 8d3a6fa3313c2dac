/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What rows see: drawn cases against the oracle of the kit, and a few cases written down.
 */
#include "lib/ops/attn/visible.h"

#include "conform/conform.h"
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
    struct call call;
    struct cs c;

    cf_case_draw(r, on->device, dense, WORK, &c);
    p = cf_problem_make(&c, NULL, 0, true);
    ck_assert(p != NULL && cf_call_make(&call, on, p, 0, 1));
    for (int i = 0; i < 20 && p->n_items && p->n_q; i++) {
        struct item_view view;
        const int64_t head = rng_below(r, p->heads), row = rng_below(r, p->n_q);

        cf_item_view(p, rng_below(r, p->n_items), &view);
        for (int s = 0; s < p->n_sources; s++)
            row_compare(p, &call, &view, head, row, s);
    }
    cf_call_finish(&call);
    cf_problem_free(p);
}

TEST(rows_see_what_the_definition_says)
{
    struct rng r = rng_of(1);
    struct target on;

    cf_axes_init();
    ck_assert(cf_target_open(&on, "reference", 1, NULL));
    for (int i = 0; i < 2000; i++)
        case_compare(&r, &on, 15 + i % 3 * 15);
    cf_target_close(&on);
    ck_assert_int_gt(met.rows, 5000);
    ck_assert_int_gt(met.keys, 20000);
    ck_assert_int_gt(met.repeated, 100);
}

/* One item, one head, 6 rows and 6 keys. */
struct small {
    struct heed_checked attn;
    struct heed_checked_source source;
    struct heed_checked_term terms[2];
};

static void small_start(struct small *s)
{
    memset(s, 0, sizeof(*s));
    s->attn = (struct heed_checked){
        .batch = { 1, 1, 1 },
        .n_batch = 1,
        .heads = 1,
        .d = 1,
        .d_v = 1,
        .n_q = 6,
        .q = { HEED_F32, 0, { 1, 1, 1, 1, 6, 1 }, { 0 } },
        .flags = HEED_ATTN_ALIGN_START,
        .q_pos_step = 1,
        .n_sources = 1,
        .sources = &s->source,
    };
    s->source = (struct heed_checked_source){
        .k = { HEED_F32, 0, { 1, 1, 1, 1, 6, 1 }, { 0 } },
        .heads = 1,
        .n_k = 6,
        .pos_step = 1,
        .pos_span = 1,
        .run = 1,
        .rows = 1,
        .n_terms = 1,
        .terms = s->terms,
    };
    s->terms[0] = (struct heed_checked_term){ .kind = HEED_TERM_ALL, .step = 1, .block = 1 };
}

static void sees(const struct small *s, int64_t row, const char *want)
{
    uint8_t seen[6];
    char got[7] = "";

    ck_assert_int_eq(heed_visible_row(&s->attn, NULL, 0, 0, row, 0, seen, NULL), HEED_OK);
    for (int k = 0; k < 6; k++)
        got[k] = (char)('0' + seen[k]);
    ck_assert_str_eq(got, want);
}

TEST(windows_written_down)
{
    struct small s;

    small_start(&s);
    sees(&s, 3, "111111");
    s.source.flags = HEED_SOURCE_CAUSAL;
    sees(&s, 3, "111100");
    s.attn.flags = HEED_ATTN_ALIGN_END;
    s.source.flags = HEED_SOURCE_CAUSAL | HEED_SOURCE_END;
    sees(&s, 3, "111100");
    s.source.flags = 0;
    s.attn.flags = HEED_ATTN_ALIGN_START;
    s.terms[0].kind = HEED_TERM_WINDOW;
    s.terms[0].left = s.terms[0].right = 1;
    sees(&s, 0, "110000");
    sees(&s, 3, "001110");
    s.terms[0].block = 2;
    s.terms[0].left = s.terms[0].right = 0;
    sees(&s, 2, "001100");
    sees(&s, 3, "001100");
    s.terms[0].left = 2;
    s.terms[0].right = -2;
    sees(&s, 2, "110000");
    s.terms[0].block = 1;
    s.terms[0].left = HEED_FAR;
    s.terms[0].right = HEED_FAR;
    s.terms[0].step = 3;
    s.terms[0].phase = 1;
    sees(&s, 2, "010010");
    s.terms[0].flags = HEED_TERM_PHASE_QUERY;
    s.terms[0].phase = 0;
    sees(&s, 2, "001001");
    s.source.pos_span = 2;
    s.terms[0] = (struct heed_checked_term){ .kind = HEED_TERM_WINDOW, .step = 1, .block = 1 };
    sees(&s, 2, "011000");
}

TEST(lists_written_down)
{
    static const int32_t list[] = { 1, 4, 4, 5 }, runs[] = { 2, 0, 2, -1, 3, 9 };
    struct small s;

    small_start(&s);
    s.terms[0].kind = HEED_TERM_GLOBAL;
    s.terms[0].flags = HEED_TERM_KEYS;
    s.terms[0].slot = (struct heed_aux){
        .slot = 1,
        .dtype = HEED_I32,
        .shape = { 1, 1, 1, 1, 1, 4 },
        .stride = { 0, 0, 0, 0, 0, 1 },
        .data = list,
    };
    sees(&s, 0, "010010");
    s.terms[0].flags = HEED_TERM_ROWS;
    sees(&s, 0, "000000");
    sees(&s, 1, "111111");
    sees(&s, 5, "000000");
    small_start(&s);
    s.source.layout = HEED_LAYOUT_LISTED;
    s.source.run = 2;
    s.source.index = (struct heed_aux){
        .slot = 1,
        .dtype = HEED_I32,
        .shape = { 1, 1, 1, 1, 6, 6 },
        .stride = { 0, 0, 0, 0, 0, 1 },
        .data = runs,
    };
    sees(&s, 0, "110022");
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
