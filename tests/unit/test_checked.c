/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a legal descriptor becomes: callers' element sizes, defaults, views, copies of constant
 * slots; and the debugging walk over run-time slots.
 */
#include "check_world.h"

#include "lib/ops/attn/slots.h"
#include "lib/ops/attn/validate.h"
#include "support/suite.h"

#include <stdlib.h>

static const struct heed_checked *accept(const heed_attn_desc *d, struct heed_arena *arena)
{
    const struct heed_checked *out = NULL;
    heed_report report = { .size = sizeof(report) };

    heed_arena_init(arena, NULL);
    ck_assert_msg(heed_check_attn(d, arena, &out, &report) == HEED_OK, "%s: %s", report.field,
                  report.message);
    return out;
}

/* Copies an array of structs to one of larger elements, each with a byte in its tail. */
static void *spread(const void *from, size_t count, size_t size, size_t wide, int tail)
{
    char *to = calloc(count, wide);

    ck_assert_ptr_nonnull(to);
    for (size_t i = 0; i < count; i++)
        memcpy(to + i * wide, (const char *)from + i * size, size);
    to[count * wide - 1] = (char)tail;
    return to;
}

TEST(newer_callers_are_understood_while_their_tails_are_zero)
{
    for (int tail = 0; tail < 2; tail++) {
        for (int which = 0; which < 5; which++) {
            static struct world w;
            heed_report report;
            void *wide = NULL;
            const heed_attn_desc *d = &w.d;
            const char *field = "";
            int64_t got = 0;

            world_fill(&w);
            if (which == 0) {
                w.d.size = 800;
                d = wide = spread(&w.d, 1, sizeof w.d, 800, tail);
                field = "size", got = 799;
            } else if (which == 1) {
                w.d.sources = wide = spread(w.sources, 3, 296, 300, tail);
                w.d.source_size = 300;
                field = "sources[2]", got = 299;
            } else if (which == 2) {
                w.d.slots = wide = spread(w.slots, S_COUNT, 112, 113, tail);
                w.d.slot_size = 113;
                field = "slots[16]", got = 112;
            } else if (which == 3) {
                w.sources[0].terms = wide = spread(w.terms, 4, 48, 96, tail);
                w.sources[0].term_size = 96;
                field = "sources[0].terms[3]", got = 95;
            } else {
                w.sources[0].biases = wide = spread(w.biases, 3, 40, 49, tail);
                w.sources[0].bias_size = 49;
                field = "sources[0].biases[2]", got = 48;
            }
            ck_assert_int_eq(ask(d, &report), tail ? HEED_E_NEWER : HEED_OK);
            ck_assert_str_eq(report.field, tail ? field : "");
            ck_assert_int_eq(report.got, tail ? got : 0);
            free(wide);
        }
    }
}

TEST(defaults_are_resolved)
{
    static struct world w;
    struct heed_arena arena;
    const struct heed_checked *c;

    world_fill(&w);
    w.d.flags = 0;
    w.d.scale = 0.5;
    c = accept(&w.d, &arena);
    ck_assert_uint_eq(c->flags, HEED_ATTN_ALIGN_START);
    ck_assert_int_eq(c->q_pos_step, 1);
    ck_assert_int_eq(c->n_batch, B);
    ck_assert_int_eq(c->batch[2], B);
    ck_assert_int_eq(c->batch[0], 1);
    ck_assert_int_eq(c->heads, H);
    ck_assert_int_eq(c->d, D);
    ck_assert_int_eq(c->d_v, D_V);
    ck_assert(c->scale == 0.5);
    ck_assert_int_eq(c->sources[0].pos_step, 1);
    ck_assert_int_eq(c->sources[0].pos_span, 1);
    ck_assert_int_eq(c->sources[0].heads, H_K);
    ck_assert_int_eq(c->sources[1].run, 2);
    ck_assert_int_eq(c->sources[1].rows, 3);
    ck_assert_uint_eq(c->sources[1].n_terms, 1);
    ck_assert_uint_eq(c->sources[1].terms[0].kind, HEED_TERM_ALL);
    ck_assert_int_eq(c->sources[1].terms[0].step, 1);
    ck_assert_uint_eq(c->sources[0].terms[1].flags, HEED_TERM_KEYS);
    ck_assert_int_eq(c->sources[0].terms[1].block, 1);
    ck_assert_int_eq(c->sources[0].terms[3].phase, -1);
    ck_assert_uint_eq(c->sources[0].biases[2].map.slot, S_MAP);
    ck_assert_int_eq(c->sources[2].n_k, TOTAL);
    heed_arena_finish(&arena);
}

TEST(views_are_broadcast_and_right_aligned)
{
    static struct world w;
    struct heed_arena arena;
    const struct heed_checked *c;

    world_fill(&w);
    c = accept(&w.d, &arena);
    ck_assert_int_eq(c->q.stride[2], H * N * D);
    ck_assert_int_eq(c->sources[0].v.shape[2], B); /* extent 1 in the descriptor */
    ck_assert_int_eq(c->sources[0].v.stride[2], 0);
    ck_assert_int_eq(c->sources[2].k.shape[2], B); /* RAGGED */
    ck_assert_int_eq(c->sources[2].k.stride[2], 0);
    ck_assert_int_eq(c->sources[2].k.shape[4], TOTAL);
    ck_assert_int_eq(c->lse.shape[5], 1);
    ck_assert_int_eq(c->lse.stride[4], 1);
    ck_assert_int_eq(c->lse.stride[3], N);
    ck_assert_int_eq(c->sinks.shape[5], H);
    ck_assert_int_eq(c->sources[0].len.shape[2], B);
    ck_assert_int_eq(c->sources[0].len.stride[2], 1);
    ck_assert_int_eq(c->sources[0].mask.shape[4], 1);
    ck_assert_int_eq(c->sources[0].mask.stride[4], 0);
    ck_assert_int_eq(c->sources[0].biases[0].t.shape[3], H);
    ck_assert_int_eq(c->sources[0].biases[0].t.shape[2], B);
    ck_assert_int_eq(c->sources[0].biases[0].t.stride[2], 0);
    ck_assert_int_eq(c->sources[0].biases[1].t.shape[5], H);
    ck_assert_int_eq(c->sources[0].biases[2].t.shape[4], 1);
    ck_assert_int_eq(c->sources[0].biases[2].t.shape[5], 9);
    ck_assert_ptr_null(c->sources[0].biases[2].q_coord.data);
    heed_arena_finish(&arena);
}

TEST(ragged_bounds_are_cut_by_slots)
{
    static struct world w;
    struct heed_arena arena;
    const struct heed_checked *c;

    world_fill(&w);
    world_pack(&w);
    c = accept(&w.d, &arena);
    ck_assert_int_eq(c->n_q, N); /* q_coord and the DENSE bias have 6 rows, the segments 3 * 2 */
    ck_assert_int_eq(c->q.shape[4], TOTAL);
    ck_assert_int_eq(c->o.shape[2], 1);
    heed_arena_finish(&arena);

    w.slots[S_MASK - 1].t.shape[2] = 5;
    w.slots[S_MASK - 1].t.stride[0] = 5;
    w.sources[2].mask_slot = S_MASK;
    w.sources[0].mask_slot = 0;
    c = accept(&w.d, &arena);
    ck_assert_int_eq(c->sources[2].n_k, 5);
    ck_assert_int_eq(c->sources[2].k.shape[4], TOTAL);
    heed_arena_finish(&arena);
}

TEST(row_blocks_cut_ragged_queries)
{
    static struct world w;
    struct heed_arena arena;
    const struct heed_checked *c;

    world_fill(&w);
    world_pack(&w);
    w.slots[S_Q_LEN - 1].data = NULL;
    w.slots[S_SEGMENT - 1].t.shape[1] = 2; /* of 2 rows */
    c = accept(&w.d, &arena);
    ck_assert_int_eq(c->n_q, 4);
    heed_arena_finish(&arena);
    w.slots[S_RUNS - 1].t.shape[2] = 1; /* of 3 rows */
    c = accept(&w.d, &arena);
    ck_assert_int_eq(c->n_q, 3);
    heed_arena_finish(&arena);
}

/* A bias that depends on the distance alone: one row of memory, n * n entries. */
TEST(toeplitz_bias_is_kept_as_one_row)
{
    enum { LONG = 4096 };
    static float row[2 * LONG - 1];
    heed_slot slot = { tensor(HEED_F32, 2, LONG, LONG, 1, 1), row + LONG - 1 };
    const heed_bias bias = { .kind = HEED_BIAS_DENSE, .t = 1 };
    heed_source source = { .k = tensor(HEED_F32, 2, LONG, 1, 1, 1),
                           .biases = &bias,
                           .n_biases = 1,
                           .bias_size = sizeof(bias) };
    heed_attn_desc d = { .size = sizeof(d),
                         .sources = &source,
                         .n_sources = 1,
                         .source_size = sizeof(source),
                         .slots = &slot,
                         .n_slots = 1,
                         .slot_size = sizeof(slot) };
    struct heed_arena arena;
    const struct heed_aux *t;

    for (int i = 0; i < 2 * LONG - 1; i++)
        row[i] = (float)i;
    source.v = d.q = d.o = source.k;
    slot.t.stride[0] = -1;
    t = &accept(&d, &arena)->sources[0].biases[0].t;
    ck_assert_uint_lt(arena.bytes, 100000);
    for (int64_t q = 0; q < LONG; q += 455) {
        for (int64_t k = 0; k < LONG; k += 455) {
            const float *at = (const float *)t->data + q * t->stride[4] + k * t->stride[5];

            ck_assert(*at == (float)(LONG - 1 - q + k));
        }
    }
    heed_arena_finish(&arena);
}

/* Reads the checked slot at every index and compares with the caller's array. */
static void same_entries(const struct heed_aux *aux, const void *from, const int64_t stride[6])
{
    int64_t index[6] = { 0 };
    struct heed_aux given = *aux;

    memcpy(given.stride, stride, sizeof(given.stride));
    ck_assert_ptr_nonnull(aux->data);
    do {
        ck_assert_int_eq(heed_slots_get(aux, aux->data, index),
                         heed_slots_get(&given, from, index));
    } while (heed_slots_next(index, aux->shape));
}

TEST(constants_are_copied_with_any_strides)
{
    static struct world w;
    struct heed_arena arena;
    const struct heed_checked *c;
    uint8_t line[64];
    int64_t coord[11];

    for (int i = 0; i < 64; i++)
        line[i] = (uint8_t)(i * 7);
    for (int i = 0; i < 11; i++)
        coord[i] = i * i;
    world_fill(&w);
    /* heads read each other's bytes: fewer bytes than elements */
    w.slots[S_MASK - 1].t = tensor(HEED_U8, 3, B, H, N, 1);
    w.slots[S_MASK - 1].t.stride[0] = 3;
    w.slots[S_MASK - 1].t.stride[1] = 1;
    w.slots[S_MASK - 1].t.stride[2] = -1;
    w.slots[S_MASK - 1].data = line + 10;
    w.slots[S_K_COORD - 1].t.stride[0] = -2;
    w.slots[S_K_COORD - 1].data = coord + 10;
    c = accept(&w.d, &arena);
    same_entries(&c->sources[0].mask, line + 10, (const int64_t[6]){ 0, 0, 3, 0, 1, -1 });
    same_entries(&c->sources[0].biases[1].k_coord, coord + 10,
                 (const int64_t[6]){ 0, 0, 0, 0, 0, -2 });
    same_entries(&c->sources[0].terms[1].slot, w.global, (const int64_t[6]){ 0, 0, 4, 0, 0, 1 });
    same_entries(&c->sources[1].index, w.runs, (const int64_t[6]){ 0, 0, 6, 0, 3, 1 });
    ck_assert(c->sources[0].terms[1].slot.data != (const void *)w.global);
    w.global[0][0] = 5; /* the copy is the plan's */
    ck_assert_int_eq(heed_slots_get(&c->sources[0].terms[1].slot, c->sources[0].terms[1].slot.data,
                                    (const int64_t[6]){ 0 }),
                     0);
    heed_arena_finish(&arena);
}

/* 2^40 rows that repeat one: neither copied nor walked one by one. */
TEST(repeated_axes_cost_nothing)
{
    const int64_t n = INT64_C(1) << 40;
    static const int32_t zero = 0, two[2] = { 0, 1 };
    heed_slot slots[2] = { { tensor(HEED_I32, 2, n, 3, 1, 1), &zero },
                           { tensor(HEED_I32, 2, n, 2, 1, 1), two } };
    const heed_term terms[2] = { { .kind = HEED_TERM_SEGMENT, .slot = 2 },
                                 { .kind = HEED_TERM_ALL } };
    heed_source source = { .k = tensor(HEED_F32, 2, 4, 1, 1, 1),
                           .v = tensor(HEED_F32, 2, 4, 1, 1, 1),
                           .layout = HEED_LAYOUT_LISTED,
                           .slot = 1 };
    const heed_attn_desc d = { .size = sizeof(d),
                               .q = tensor(HEED_F32, 2, n, 1, 1, 1),
                               .o = tensor(HEED_F32, 2, n, 1, 1, 1),
                               .sources = &source,
                               .n_sources = 1,
                               .source_size = sizeof(source),
                               .slots = slots,
                               .n_slots = 2,
                               .slot_size = sizeof(heed_slot) };
    struct heed_arena arena;
    const struct heed_checked *c;

    slots[0].t.stride[0] = slots[0].t.stride[1] = slots[1].t.stride[0] = 0;
    c = accept(&d, &arena);
    ck_assert_int_eq(c->sources[0].index.shape[4], n);
    ck_assert_int_eq(c->sources[0].index.stride[4], 0);
    ck_assert_uint_lt(arena.bytes, 65536);
    heed_arena_finish(&arena);
    source.layout = HEED_LAYOUT_DENSE;
    source.slot = 0;
    source.terms = terms;
    source.n_terms = 2;
    source.term_size = sizeof(heed_term);
    c = accept(&d, &arena);
    ck_assert_int_eq(c->sources[0].terms[0].slot.stride[5], 1);
    heed_arena_finish(&arena);
}

TEST(check_without_a_report)
{
    static struct world w;
    const struct heed_checked *out = NULL;
    struct heed_arena arena;

    world_fill(&w);
    heed_arena_init(&arena, NULL);
    ck_assert_int_eq(heed_check_attn(&w.d, &arena, &out, NULL), HEED_OK);
    heed_arena_finish(&arena);
    w.d.q.dtype = 0;
    heed_arena_init(&arena, NULL);
    ck_assert_int_eq(heed_check_attn(&w.d, &arena, &out, NULL), HEED_E_DTYPE);
    heed_arena_finish(&arena);
}

/* One entry of a run-time slot and what the walk says of it. */
static const struct {
    struct patch entry;
    const char *field;
    int64_t wanted, got;
    heed_status status;
} walked[] = {
    { { 0, 0, 0 }, "", 0, 0, HEED_OK },
    { SET(global[1][3], 6), "slots[0]", 6, 6, HEED_E_INDEX },
    { SET(global[1][3], 4), "slots[0]", 5, 4, HEED_E_INDEX },
    { SET(global[0][3], 99), "", 0, 0, HEED_OK },
    { SET(segment[1][2][1], 7), "slots[1]", 6, 7, HEED_E_INDEX },
    { SET(segment[1][2][0], -1), "slots[1]", 0, -1, HEED_E_INDEX },
    { SET(segment[1][2][1], 0), "", 0, 0, HEED_OK },
    { SET(len[1], -1), "slots[8]", 0, -1, HEED_E_VALUE },
    { SET(len[1], 7), "slots[8]", 6, 7, HEED_E_INDEX },
    { SET(runs[1][1][1], 3), "slots[10]", 2, 3, HEED_E_INDEX },
    { SET(runs[1][1][1], -9), "", 0, 0, HEED_OK },
    { SET(begin[1], 15), "slots[11]", 14, 15, HEED_E_INDEX },
    { SET(ragged_len[1], 1), "slots[11]", 13, 14, HEED_E_INDEX },
    { SET(q_pos[0], INT64_MIN), "slots[13]", -HEED_POSITION_MAX, INT64_MIN, HEED_E_OVERFLOW },
    { SET(q_begin[0], 4), "slots[14]", 10, 7, HEED_E_INDEX },
    { SET(q_begin[1], 9), "slots[14]", 8, 9, HEED_E_INDEX },
    { SET(k_coord[2], INT64_MAX), "slots[6]", HEED_POSITION_MAX, INT64_MAX, HEED_E_OVERFLOW },
    { SET(map[0], -1), "", 0, 0, HEED_OK },
};

LOOP_TEST(run_time_slots_are_walked, sizeof(walked) / sizeof(walked[0]))
{
    static struct world w;
    static int32_t q_coord[B][N];
    const void *bound_slots[S_COUNT] = { NULL };
    const struct heed_checked *c;
    heed_report report = { .size = sizeof(report) };
    struct heed_arena arena;

    world_fill(&w);
    world_pack(&w);
    for (int s = 0; s < S_COUNT; s++) {
        bound_slots[s] = w.slots[s].data;
        w.slots[s].data = NULL;
    }
    bound_slots[S_Q_COORD - 1] = q_coord;
    c = accept(&w.d, &arena);
    patch(&w, &walked[_i].entry);
    ck_assert_int_eq(heed_validate_slots(c, bound_slots, &report), walked[_i].status);
    ck_assert_str_eq(report.field, walked[_i].field);
    ck_assert_int_eq(report.wanted, walked[_i].wanted);
    ck_assert_int_eq(report.got, walked[_i].got);
    bound_slots[S_LEN - 1] = NULL;
    if (_i == 0) {
        ck_assert_int_eq(heed_validate_slots(c, bound_slots, &report), HEED_E_NULL);
        ck_assert_str_eq(report.field, "sources[0].len_slot");
    }
    heed_arena_finish(&arena);
}

/* Lengths above the bound: the first is named, the others are counted. */
TEST(faults_of_a_slot_are_counted)
{
    static struct world w;
    const void *bound_slots[S_COUNT] = { NULL };
    const struct patch first = SET(len[0], 1000), last = SET(len[1], 1000);
    heed_report report = { .size = sizeof(report) };
    struct heed_arena arena;
    const struct heed_checked *c;

    world_fill(&w);
    world_pack(&w);
    for (int s = 0; s < S_COUNT; s++)
        bound_slots[s] = w.slots[s].data;
    w.slots[S_LEN - 1].data = NULL;
    c = accept(&w.d, &arena);
    patch(&w, &last);
    ck_assert_int_eq(heed_validate_slots(c, bound_slots, &report), HEED_E_INDEX);
    ck_assert_ptr_null(strstr(report.message, "more such"));
    patch(&w, &first);
    ck_assert_int_eq(heed_validate_slots(c, bound_slots, &report), HEED_E_INDEX);
    ck_assert_ptr_nonnull(strstr(report.message, "; more such entries: 1"));
    heed_arena_finish(&arena);
}

int main(void)
{
    return suite_run("checked", 0, NULL, NULL);
}
