/* SPDX-FileCopyrightText: The heed authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One legal descriptor that uses nearly everything, for the tests of the check: three sources
 * (DENSE with all kinds of terms and biases, LISTED, RAGGED), constant slots throughout.
 */
#ifndef HEED_TESTS_UNIT_CHECK_WORLD_H
#define HEED_TESTS_UNIT_CHECK_WORLD_H

#include "lib/ops/attn/check.h"

#include <check.h>
#include <string.h>

enum { B = 2, H = 4, H_K = 2, N = 6, D = 3, D_V = 5, TOTAL = 14 };

/* Numbers of slots. */
enum {
    S_GLOBAL = 1,
    S_SEGMENT,
    S_DENSE,
    S_ALIBI,
    S_TABLE,
    S_MAP,
    S_K_COORD,
    S_Q_COORD,
    S_LEN,
    S_MASK,
    S_RUNS,
    S_BEGIN,
    S_RAGGED_LEN,
    S_Q_POS,
    S_Q_BEGIN,
    S_Q_LEN,
    S_ABSENT,
    S_COUNT = S_ABSENT
};

struct world {
    heed_attn_desc d;
    heed_source sources[3];
    heed_term terms[4];
    heed_bias biases[3];
    heed_slot slots[S_COUNT];
    int32_t global[B][4], segment[B][3][2], map[7], runs[B][2][3];
    int64_t begin[B], q_pos[B], k_coord[N], q_begin[B];
    int32_t len[B], ragged_len[B], q_len[B];
    uint8_t mask[B][1][N];
    float dense[H][N][N], alibi[H], table[1][9];
};

static heed_tensor tensor(uint32_t dtype, uint32_t ndim, int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t shape[4] = { a, b, c, d };
    heed_tensor t = { .dtype = dtype, .ndim = ndim };
    int64_t stride = 1;

    for (uint32_t i = ndim; i-- > 0;) {
        t.shape[i] = shape[i];
        t.stride[i] = stride;
        stride *= shape[i];
    }
    return t;
}

static void slot(struct world *w, uint32_t number, uint32_t dtype, uint32_t ndim, int64_t a,
                 int64_t b, int64_t c, const void *data)
{
    w->slots[number - 1].t = tensor(dtype, ndim, a, b, c, 1);
    w->slots[number - 1].data = data;
}

static void slots_fill(struct world *w)
{
    static const int32_t global[B][4] = { { 0, 2, -1, -1 }, { 1, 3, 4, 5 } };
    static const int32_t segment[B][3][2] = { { { 0, 2 }, { 2, 4 }, { 4, 6 } },
                                              { { 0, 0 }, { 6, 6 }, { 1, 5 } } };
    static const int32_t runs[B][2][3] = { { { 0, 2, -1 }, { 1, 1, 1 } },
                                           { { -1, -1, -1 }, { 2, 0, 1 } } };

    memcpy(w->global, global, sizeof(global));
    memcpy(w->segment, segment, sizeof(segment));
    memcpy(w->runs, runs, sizeof(runs));
    w->begin[0] = 3;
    w->ragged_len[0] = 5;
    w->begin[1] = 14;
    w->len[0] = 6;
    w->q_begin[1] = 7;
    w->q_len[0] = w->q_len[1] = 6;
    w->map[3] = 100;
    slot(w, S_GLOBAL, HEED_I32, 2, B, 4, 1, w->global);
    slot(w, S_SEGMENT, HEED_I32, 3, B, 3, 2, w->segment);
    slot(w, S_DENSE, HEED_F32, 3, H, N, N, w->dense);
    slot(w, S_ALIBI, HEED_F32, 1, H, 1, 1, w->alibi);
    slot(w, S_TABLE, HEED_F32, 2, 1, 9, 1, w->table);
    slot(w, S_MAP, HEED_I32, 1, 7, 1, 1, w->map);
    slot(w, S_K_COORD, HEED_I64, 1, N, 1, 1, w->k_coord);
    slot(w, S_Q_COORD, HEED_I32, 2, B, N, 1, NULL);
    slot(w, S_LEN, HEED_I32, 1, B, 1, 1, w->len);
    slot(w, S_MASK, HEED_U8, 3, B, 1, N, w->mask);
    w->slots[S_RUNS - 1].t = tensor(HEED_I32, 4, B, 1, 2, 3);
    w->slots[S_RUNS - 1].data = w->runs;
    slot(w, S_BEGIN, HEED_I64, 1, B, 1, 1, w->begin);
    slot(w, S_RAGGED_LEN, HEED_I32, 1, B, 1, 1, w->ragged_len);
    slot(w, S_Q_POS, HEED_I64, 1, B, 1, 1, w->q_pos);
    slot(w, S_Q_BEGIN, HEED_I64, 1, B, 1, 1, w->q_begin);
    slot(w, S_Q_LEN, HEED_I32, 1, B, 1, 1, w->q_len);
}

static void sources_fill(struct world *w)
{
    const heed_tensor k = tensor(HEED_F16, 4, B, H_K, N, D),
                      v = tensor(HEED_BF16, 4, 1, H_K, N, D_V);

    w->terms[0] = (heed_term){ .kind = HEED_TERM_WINDOW, .left = 1, .right = -1, .block = 2 };
    w->terms[1] = (heed_term){ .kind = HEED_TERM_GLOBAL, .slot = S_GLOBAL };
    w->terms[2] = (heed_term){ .kind = HEED_TERM_SEGMENT, .slot = S_SEGMENT, .block = 2 };
    w->terms[3] = (heed_term){
        .kind = HEED_TERM_ALL, .step = 3, .phase = -1, .flags = HEED_TERM_PHASE_QUERY
    };
    w->biases[0] = (heed_bias){ .kind = HEED_BIAS_DENSE, .t = S_DENSE };
    w->biases[1] = (heed_bias){ .kind = HEED_BIAS_ALIBI, .t = S_ALIBI, .k_coord = S_K_COORD };
    w->biases[2] = (heed_bias){
        .kind = HEED_BIAS_TABLE, .t = S_TABLE, .map = S_MAP, .zero = 4, .q_coord = S_Q_COORD
    };
    w->sources[0] = (heed_source){ .k = k,
                                   .v = v,
                                   .len_slot = S_LEN,
                                   .mask_slot = S_MASK,
                                   .terms = w->terms,
                                   .n_terms = 4,
                                   .term_size = sizeof(heed_term),
                                   .biases = w->biases,
                                   .n_biases = 3,
                                   .bias_size = sizeof(heed_bias) };
    w->sources[1] = (heed_source){ .k = k,
                                   .v = v,
                                   .layout = HEED_LAYOUT_LISTED,
                                   .slot = S_RUNS,
                                   .run = 2,
                                   .rows = 3,
                                   .flags = HEED_SOURCE_CAUSAL };
    w->sources[2] = (heed_source){ .k = tensor(HEED_F32, 3, H_K, TOTAL, D, 1),
                                   .v = tensor(HEED_F32, 3, H_K, TOTAL, D_V, 1),
                                   .layout = HEED_LAYOUT_RAGGED,
                                   .slot = S_BEGIN,
                                   .len_slot = S_RAGGED_LEN,
                                   .flags = HEED_SOURCE_END };
}

static inline void world_fill(struct world *w)
{
    memset(w, 0, sizeof(*w));
    slots_fill(w);
    sources_fill(w);
    w->d = (heed_attn_desc){
        .size = sizeof(w->d),
        .flags = HEED_ATTN_ALIGN_START,
        .q = tensor(HEED_F32, 4, B, H, N, D),
        .o = tensor(HEED_F16, 4, B, H, N, D_V),
        .lse = tensor(HEED_F32, 3, B, H, N, 1),
        .sinks = tensor(HEED_F32, 1, H, 1, 1, 1),
        .q_pos_slot = S_Q_POS,
        .sources = w->sources,
        .n_sources = 3,
        .source_size = sizeof(heed_source),
        .slots = w->slots,
        .n_slots = S_COUNT,
        .slot_size = sizeof(heed_slot),
    };
}

/* Packs the queries: what a row of the table may start from. */
static inline void world_pack(struct world *w)
{
    w->d.q_layout = HEED_LAYOUT_RAGGED;
    w->d.q_slot = S_Q_BEGIN;
    w->d.q_len_slot = S_Q_LEN;
    w->d.q = tensor(HEED_F32, 3, H, TOTAL, D, 1);
    w->d.o = tensor(HEED_F16, 3, H, TOTAL, D_V, 1);
    w->d.lse = tensor(HEED_F32, 2, H, TOTAL, 1, 1);
}

/* A field of the world and what is written there. */
struct patch {
    size_t at, size;
    int64_t value;
};
#define SET(member, to)                                                                            \
    { offsetof(struct world, member), sizeof(((struct world *)0)->member), to }

/* Larger members are made zero; sources[1].terms becomes the world's. */
static inline void patch(struct world *w, const struct patch *p)
{
    char *to = (char *)w + p->at;
    const int32_t narrow = (int32_t)p->value;

    if (p->at == offsetof(struct world, sources[1].terms))
        w->sources[1].terms = w->terms;
    else if (p->size == 1)
        *to = (char)p->value;
    else if (p->size == 4)
        memcpy(to, &narrow, 4);
    else if (p->size == 8)
        memcpy(to, &p->value, 8);
    else
        memset(to, 0, p->size);
}

static inline heed_status ask(const heed_attn_desc *d, heed_report *report)
{
    const struct heed_checked *out = NULL;
    struct heed_arena arena;
    heed_status status;

    memset(report, 0x55, sizeof(*report));
    report->size = sizeof(*report);
    heed_arena_init(&arena, NULL);
    status = heed_check_attn(d, &arena, &out, report);
    ck_assert_int_eq(status < 0, out == NULL);
    ck_assert_int_eq(report->status, status);
    ck_assert_ptr_nonnull(memchr(report->message, 0, sizeof(report->message)));
    ck_assert_ptr_nonnull(memchr(report->field, 0, sizeof(report->field)));
    ck_assert_ptr_null(strchr(report->message, '\n'));
    heed_arena_finish(&arena);
    return status;
}

#endif
