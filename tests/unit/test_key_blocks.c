/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What heed_attn_blocks says, against heed_attn_visible row by row: no block is left out that a row
 * sees a key of, and where nothing but terms counts none is marked that no row does.
 */
#include "conform/engine/subject.h"
#include "conform/ops/attn/attn.h"
#include "support/suite.h"

#include <heed/attn.h>

#include <stdlib.h>
#include <string.h>

enum { ROOM = 8192, WORK = 500000, N_Q = 3000, N_K = 5500 };

static heed_report report = { .size = sizeof(heed_report) };

/* Rows that look at a source with so many keys, by blocks. */
struct looking {
    const heed_attn_desc *desc;
    const heed_attn_args *args;
    int64_t items, heads, n_q; /* n_q: rows that an item may have */
    int64_t first, count;
    uint32_t source, reserved;
    int64_t room, block;
};

/* Blocks of which a row of the stretch sees a key. The begins are those of each item, where rows or
 * keys are packed; NULL: they are not. */
static void seen_find(const struct looking *l, const int64_t *q_begins, const int64_t *k_begins,
                      uint8_t *blocks)
{
    static uint8_t seen[ROOM];

    memset(blocks, 0, (size_t)((l->room + l->block - 1) / l->block));
    for (int64_t at = 0; at < l->items * l->heads * l->count; at++) {
        const int64_t head = at / l->count % l->heads, item = at / l->count / l->heads;
        const int64_t row = l->first + at % l->count - (q_begins ? q_begins[item] : 0);

        if (row < 0 || row >= l->n_q)
            continue;
        ck_assert_msg(heed_attn_visible(l->desc, l->args, item, head, row, l->source, seen,
                                        &report) == HEED_OK,
                      "%s", report.message);
        for (int64_t k = 0; k < l->room; k++) {
            if (seen[k] > 0)
                blocks[((k_begins ? k_begins[item] : 0) + k) / l->block] = 1;
        }
    }
}

/* ---- terms over several chunks ---- */

static int32_t list[2][6];
static int64_t length[2];
static int32_t ranges[2][N_Q][2];
/* Where items begin and how many rows they have, where rows or keys are packed. */
static int64_t q_begins[2], k_begins[2], rows[2];

static void term_draw(struct rng *r, heed_term *term, uint32_t kind)
{
    static const uint32_t phase[3] = { 0, HEED_TERM_PHASE_HEAD, HEED_TERM_PHASE_QUERY };

    *term = (heed_term){ .kind = kind };
    if (kind == HEED_TERM_WINDOW) {
        const int64_t wide = rng_below(r, 3) ? 2000 : 12;

        term->left = rng_below(r, wide) - wide / 6;
        term->right = rng_below(r, wide) - wide / 6;
        term->block = (int32_t)(rng_below(r, 4) * (wide / 20 + (wide < 20 ? 3 : 0)));
    }
    if (kind == HEED_TERM_GLOBAL) {
        term->block = (int32_t)rng_below(r, 1200);
        term->slot = rng_below(r, 2) ? 1 : 0;
        term->flags = HEED_TERM_KEYS;
        if (term->slot) {
            term->flags = (uint32_t)(1 + rng_below(r, 3));
            term->block = 0;
        }
    }
    if (kind == HEED_TERM_SEGMENT) {
        term->slot = 3;
        term->block = 1;
    }
    if ((kind == HEED_TERM_ALL || kind == HEED_TERM_WINDOW) && rng_below(r, 3) > 0) {
        term->step = 2 + rng_below(r, rng_below(r, 2) ? 900 : 3000);
        term->phase = (int32_t)rng_below(r, 3000) - 1500;
        term->flags = phase[rng_below(r, 3)];
    }
}

static void terms_draw(struct rng *r, heed_term *terms, uint32_t n)
{
    for (uint32_t i = 0, kind = 0; i < n; i++, kind++) {
        kind += (uint32_t)rng_below(r, 2);
        term_draw(r, &terms[i], kind % 4);
    }
}

static void slots_draw(struct rng *r)
{
    for (int b = 0; b < 2; b++) {
        int32_t entry = -1;

        for (int i = 0; i < 6; i++) {
            entry += 1 + (int32_t)rng_below(r, 450);
            list[b][i] = i < 2 + rng_below(r, 5) && entry < N_Q && (i == 0 || list[b][i - 1] >= 0)
                             ? entry
                             : -1;
        }
        length[b] = rng_below(r, 4) ? N_K - rng_below(r, N_K) : N_K;
        k_begins[b] = rng_below(r, N_K + 1 - length[b]);
        q_begins[b] = b == 0 ? rng_below(r, 50) : q_begins[0] + rows[0];
        rows[b] = rng_below(r, b == 0 ? N_Q / 2 : N_Q + 1 - q_begins[1]);
        for (int i = 0; i < N_Q; i++) {
            ranges[b][i][0] = (int32_t)rng_below(r, N_K);
            ranges[b][i][1] = ranges[b][i][0];
            if (ranges[b][i][0] < N_K && rng_below(r, 3) == 0)
                ranges[b][i][1] += (int32_t)rng_below(r, 1 + N_K - ranges[b][i][0]) / 4;
        }
    }
}

/* Blocks that the runs have keys of, each of which is there. */
static void runs_mark(const heed_attn_desc *desc, int64_t first, int64_t count, int64_t block,
                      uint8_t *blocks)
{
    static heed_key_run runs[200000];
    const int64_t room = sizeof(runs) / sizeof(*runs);
    int64_t n = -1, again = -1;

    memset(blocks, 0, (size_t)((N_K + block - 1) / block));
    ck_assert_int_eq(heed_attn_key_runs(desc, NULL, first, count, 0, NULL, 0, &n, &report),
                     HEED_OK);
    ck_assert_int_eq(heed_attn_key_runs(desc, NULL, first, count, 0, runs, room, &again, &report),
                     HEED_OK);
    ck_assert(n == again && n >= 0 && n <= room);
    for (int64_t i = 0; i < n; i++) {
        ck_assert(runs[i].first >= 0 && runs[i].first < runs[i].end && runs[i].end <= N_K);
        ck_assert_int_ge(runs[i].step, 1);
        for (int64_t key = runs[i].first; key < runs[i].end; key += runs[i].step)
            blocks[key / block] = 1;
    }
}

/* A stretch of rows, by blocks and by runs. */
static void stretch_compare(struct rng *r, const heed_attn_desc *desc, bool packed_q, bool packed_k)
{
    const int64_t count = rng_below(r, 20), first = rng_below(r, N_Q - count + 1);
    const int64_t block = rng_below(r, 2) ? 1024 : 1 + rng_below(r, rng_below(r, 2) ? 70 : 2);
    uint8_t want[N_K], got[N_K];
    heed_status status;

    status = heed_attn_blocks(desc, NULL, first, count, 0, block, got, &report);
    if (status == HEED_E_UNSUPPORTED) /* two GLOBAL terms */
        return;
    ck_assert_msg(status == HEED_OK, "%s: %s", report.field, report.message);
    seen_find(&(struct looking){ desc, NULL, 2, 2, N_Q, first, count, .room = N_K, .block = block },
              packed_q ? q_begins : NULL, packed_k ? k_begins : NULL, want);
    ck_assert_mem_eq(got, want, (size_t)((N_K + block - 1) / block));
    runs_mark(desc, first, count, block, got);
    ck_assert_mem_eq(got, want, (size_t)((N_K + block - 1) / block));
}

static void terms_compare(struct rng *r)
{
    const bool packed_q = rng_below(r, 3) == 0, packed_k = rng_below(r, 3) == 0;
    const int64_t q_batch = packed_q ? 1 : 2, k_batch = packed_k ? 1 : 2;
    const heed_slot slots[6] = {
        { { HEED_I32, 2, { 2, 6 }, { 6, 1 } }, list },
        { { HEED_I64, 1, { 2 }, { 1 } }, length },
        { { HEED_I32, 3, { 2, N_Q, 2 }, { 2 * N_Q, 2, 1 } }, ranges },
        { { HEED_I64, 1, { 2 }, { 1 } }, k_begins },
        { { HEED_I64, 1, { 2 }, { 1 } }, q_begins },
        { { HEED_I64, 1, { 2 }, { 1 } }, rows },
    };
    heed_term terms[3];
    const uint32_t n = (uint32_t)rng_below(r, 4);
    heed_source source = {
        .k = heed_array4(HEED_F32, NULL, k_batch, 1, N_K, 4).t,
        .v = heed_array4(HEED_F32, NULL, k_batch, 1, N_K, 4).t,
        .pos0 = rng_below(r, 3000) - 1500,
        .pos_step = (int32_t)rng_below(r, 3),
        .pos_span = (int32_t)rng_below(r, 4),
        .layout = packed_k ? HEED_LAYOUT_RAGGED : HEED_LAYOUT_DENSE,
        .slot = packed_k ? 4 : 0,
        .len_slot = rng_below(r, 2) || packed_k ? 2 : 0,
        .flags =
            (rng_below(r, 2) ? HEED_SOURCE_CAUSAL : 0) | (rng_below(r, 4) ? 0 : HEED_SOURCE_END),
        .terms = terms,
        .n_terms = n,
        .term_size = sizeof(*terms),
    };
    heed_attn_desc desc = {
        .size = sizeof(desc),
        .flags = (uint32_t)(1 + rng_below(r, 2)),
        .q = heed_array4(HEED_F32, NULL, q_batch, 2, N_Q, 4).t,
        .o = heed_array4(HEED_F32, NULL, q_batch, 2, N_Q, 4).t,
        .q_layout = packed_q ? HEED_LAYOUT_RAGGED : HEED_LAYOUT_DENSE,
        .q_slot = packed_q ? 5 : 0,
        .q_pos_step = (int32_t)rng_below(r, 4),
        .q_len_slot = packed_q ? 6 : 0,
        .sources = &source,
        .n_sources = 1,
        .source_size = sizeof(source),
        .slots = slots,
        .n_slots = 6,
        .slot_size = sizeof(*slots),
    };

    slots_draw(r);
    terms_draw(r, terms, n);
    for (uint32_t i = 0; i < n; i++)
        source.pos_step = terms[i].flags & HEED_TERM_PHASE_QUERY ? 1 : source.pos_step;
    stretch_compare(r, &desc, packed_q, packed_k);
}

TEST(blocks_are_those_of_keys_that_rows_see)
{
    struct rng r = rng_of(7);

    for (int i = 0; i < 400; i++)
        terms_compare(&r);
}

/* Half of 2^40 rows: found at once, as few runs. */
TEST(runs_of_many_rows_are_few)
{
    const int64_t n = (int64_t)1 << 40;
    const heed_term terms[] = { { .kind = HEED_TERM_WINDOW, .left = 5000, .right = 100 },
                                { .kind = HEED_TERM_GLOBAL, .block = 64, .flags = HEED_TERM_KEYS },
                                { .kind = HEED_TERM_ALL, .step = 509, .phase = 3 } };
    const heed_source source = { .k = heed_array4(HEED_F32, NULL, 1, 1, n, 4).t,
                                 .v = heed_array4(HEED_F32, NULL, 1, 1, n, 4).t,
                                 .flags = HEED_SOURCE_CAUSAL,
                                 .terms = HEED_ARRAY(terms) };
    const heed_attn_desc desc = {
        .size = sizeof(desc),
        .q = heed_array4(HEED_F32, NULL, 1, 1, n, 4).t,
        .o = heed_array4(HEED_F32, NULL, 1, 1, n, 4).t,
        .sources = &source,
        .n_sources = 1,
        .source_size = sizeof(source),
    };
    heed_key_run runs[8];
    int64_t found = -1, ends = 0;

    ck_assert_int_eq(heed_attn_key_runs(&desc, NULL, n / 4, n / 2, 0, runs, 8, &found, &report),
                     HEED_OK);
    ck_assert_int_le(found, 4);
    for (int64_t i = 0; i < found; i++) {
        if (runs[i].step == 509)
            ck_assert(runs[i].first % 509 == 3 && runs[i].end <= n / 4 * 3);
        else if (runs[i].first == 0)
            ck_assert_int_eq(runs[i].end, 64);
        else if (runs[i].first == n / 4 - 5000)
            ends += runs[i].end == n / 4 * 3;
    }
    ck_assert_int_eq(ends, 1);
}

/* ---- every layout ---- */

static int64_t blocks_compare(struct rng *r, const struct problem *p, const struct job *job, int s)
{
    const bool packed = p->q_begin != 0;
    const int64_t all = packed ? p->q_total : p->n_q, first = rng_below(r, all);
    const int64_t count = rng_below(r, 3), most = all - first;
    int64_t q_at[MAX_BATCH], k_at[MAX_BATCH], marked = 0;
    const struct looking looking = {
        .desc = &cf_call_of(job)->desc,
        .args = &cf_call_of(job)->args,
        .items = p->n_items,
        .heads = p->heads,
        .n_q = p->n_q,
        .first = first,
        .count = count < most ? count : most,
        .source = (uint32_t)s,
        .room = p->source[s].k.pages ? p->source[s].n_k : p->source[s].total,
        .block = 1 + rng_below(r, 40),
    };
    uint8_t want[ROOM], got[ROOM];

    for (int b = 0; b < p->n_items; b++) {
        struct item_view view;

        cf_item_view(p, b, &view);
        q_at[b] = view.q_begin;
        k_at[b] = view.k_begin[s];
    }
    memset(got, 0, sizeof(got));
    ck_assert_msg(heed_attn_blocks(looking.desc, looking.args, first, looking.count, (uint32_t)s,
                                   looking.block, got, &report) == HEED_OK,
                  "%s: %s", report.field, report.message);
    seen_find(&looking, packed ? q_at : NULL,
              looking.desc->sources[s].layout == HEED_LAYOUT_RAGGED ? k_at : NULL, want);
    for (int64_t k = 0; k * looking.block < looking.room; k++) {
        ck_assert_int_ge(got[k], want[k]);
        marked += got[k];
    }
    return marked;
}

TEST(no_block_of_any_layout_is_left_out)
{
    struct rng r = rng_of(3);
    struct target on;
    int64_t marked = 0;

    cf_op_use(cf_ops[0]);
    ck_assert(cf_target_open(&on, "reference", 1, NULL));
    for (int i = 0; i < 300; i++) {
        struct problem *p;
        struct job *job;
        struct cs c;

        cf_case_draw(&r, on.device, 30, WORK, &c);
        p = cf_problem_make(&c, NULL, 0, true);
        job = cf_job_make(&cf_attn_families, p, &on, 0, 1);
        ck_assert(p && job);
        for (int s = 0; s < p->n_sources && p->n_items && p->n_q; s++)
            marked += blocks_compare(&r, p, job, s);
        job_drop(job);
        cf_problem_free(p);
    }
    cf_target_close(&on);
    ck_assert_int_gt(marked, 100);
}

/* ---- mistakes ---- */

TEST(rows_and_sources_that_are_not_there_are_named)
{
    const heed_source source = { .k = heed_array4(HEED_F32, NULL, 1, 1, 3000, 4).t,
                                 .v = heed_array4(HEED_F32, NULL, 1, 1, 3000, 4).t };
    heed_attn_desc desc = {
        .size = sizeof(desc),
        .q = heed_array4(HEED_F32, NULL, 1, 1, 10, 4).t,
        .o = heed_array4(HEED_F32, NULL, 1, 1, 10, 4).t,
        .sources = &source,
        .n_sources = 1,
        .source_size = sizeof(source),
    };
    uint8_t got[3] = { 7, 7, 7 };
    heed_key_run run = { 5, 5, 5 };
    int64_t n = 5;

    ck_assert_int_eq(heed_attn_key_runs(&desc, NULL, 0, 1, 0, NULL, 1, &n, &report), HEED_E_NULL);
    ck_assert_str_eq(report.field, "runs");
    ck_assert_int_eq(heed_attn_key_runs(&desc, NULL, 0, 1, 0, &run, -1, &n, &report), HEED_E_VALUE);
    ck_assert_str_eq(report.field, "capacity");
    ck_assert_int_eq(heed_attn_key_runs(&desc, NULL, 0, 1, 0, &run, 1, NULL, &report), HEED_E_NULL);
    ck_assert_str_eq(report.field, "n_runs");
    ck_assert_int_eq(heed_attn_key_runs(&desc, NULL, 0, 1, 9, &run, 1, &n, &report), HEED_E_VALUE);
    ck_assert(n == 5 && run.first == 5);
    ck_assert_int_eq(heed_attn_key_runs(&desc, NULL, 0, 0, 0, &run, 1, &n, &report), HEED_OK);
    ck_assert_int_eq(n, 0);
    ck_assert_int_eq(heed_attn_blocks(&desc, NULL, 11, 0, 0, 1024, got, &report), HEED_E_VALUE);
    ck_assert_str_eq(report.field, "first");
    ck_assert_int_eq(heed_attn_blocks(&desc, NULL, 4, 7, 0, 1024, got, &report), HEED_E_VALUE);
    ck_assert_str_eq(report.field, "count");
    ck_assert_int_eq(report.wanted, 6);
    ck_assert_int_eq(heed_attn_blocks(&desc, NULL, 0, 1, 1, 1024, got, &report), HEED_E_VALUE);
    ck_assert_int_eq(heed_attn_blocks(&desc, NULL, 0, 1, 0, 1024, NULL, &report), HEED_E_NULL);
    ck_assert_int_eq(heed_attn_blocks(NULL, NULL, 0, 1, 0, 1024, got, &report), HEED_E_NULL);
    ck_assert_int_eq(heed_attn_blocks(&desc, NULL, 0, 1, 0, 0, got, &report), HEED_E_VALUE);
    ck_assert_str_eq(report.field, "block");
    ck_assert_mem_eq(got, ((const uint8_t[3]){ 7, 7, 7 }), sizeof(got));
    ck_assert_int_eq(heed_attn_blocks(&desc, NULL, 10, 0, 0, 1024, got, &report), HEED_OK);
    ck_assert_mem_eq(got, ((const uint8_t[3]){ 0, 0, 0 }), sizeof(got));
    ck_assert_int_eq(heed_attn_blocks(&desc, NULL, 9, 1, 0, 1024, got, &report), HEED_OK);
    ck_assert_mem_eq(got, ((const uint8_t[3]){ 1, 1, 1 }), sizeof(got));
}

int main(void)
{
    return suite_run("key_blocks", 240, NULL, NULL);
}
